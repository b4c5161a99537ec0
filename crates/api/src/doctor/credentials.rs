//! Checks of a profile's key and token: whether they can be read, their format, and where they are sent.

use super::{Check, Fault, Reporter};
use crate::Http;
use crate::prelude::*;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use runtail_core::config::{Profile, SecretError, SecretSource};
use secrecy::{ExposeSecret, SecretString};

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    Key,
    Token,
}

impl Which {
    fn word(self) -> &'static str {
        if self == Which::Key { "key" } else { "token" }
    }
}

/// The result of fetching one.
struct Fetched {
    which: Which,
    source: SecretSource,
    result: Result<SecretString, SecretError>,
}

/// The key and the token of a profile, if it has them.
pub(super) struct Credentials(Vec<Fetched>);

/// Fetches both, each once because a command may ask the user to unlock something, and returns a read-only profile that
/// contains them.
pub(super) async fn fetch(profile: &Profile) -> (Credentials, Profile) {
    let sources = [
        (Which::Key, profile.key.clone()),
        (Which::Token, profile.bearer.clone()),
    ];
    let all = tokio::task::spawn_blocking(move || {
        let named = sources
            .into_iter()
            .filter_map(|(which, source)| Some((which, source?)));
        named
            .map(|(which, source)| Fetched {
                which,
                result: source.resolve(),
                source,
            })
            .collect()
    });
    // The task neither panics nor is cancelled.
    let credentials = Credentials(all.await.unwrap_or_default());
    let given = |which| {
        let found = credentials
            .0
            .iter()
            .find(|f| f.which == which)?
            .result
            .as_ref()
            .ok()?;
        Some(SecretSource::Given(found.clone()))
    };
    let (key, bearer) = (given(Which::Key), given(Which::Token));
    let sealed = Some("the doctor only reads".to_string());
    let profile = Profile {
        key,
        bearer,
        sealed,
        ..profile.clone()
    };
    (credentials, profile)
}

impl Credentials {
    /// Returns the fetched secret.
    pub fn secrets(&self) -> impl Iterator<Item = &SecretString> {
        self.0
            .iter()
            .filter_map(|fetched| fetched.result.as_ref().ok())
    }

    /// Reports on each; returns whether all could be read.
    pub fn tell(&self, desk: &Reporter) -> bool {
        if self.0.is_empty() {
            desk.tell(Check::skipped(
                "key",
                "the profile has neither a key nor a token",
            ));
        }
        let now = Timestamp::now();
        for fetched in &self.0 {
            desk.tell(match &fetched.result {
                Ok(secret) => shape(fetched.which, &fetched.source, secret.expose_secret(), now),
                Err(error) => missing(fetched.which, error),
            });
        }
        self.0.iter().all(|fetched| fetched.result.is_ok())
    }
}

/// Returns why one can't be read, and the fix.
fn missing(which: Which, error: &SecretError) -> Check {
    let word = which.word();
    let name = word;
    // The output of a command may contain anything, even a part of a key.
    let error = match error.clone() {
        SecretError::Command { program, why, .. } => SecretError::Command {
            program,
            why,
            said: None,
        },
        other => other,
    };
    let found = match &error {
        // The fix has the command.
        SecretError::NoEntry { entry, .. } => format!("the keychain has no entry {entry}"),
        error => error.to_string(),
    };
    let check = Check::bad(Fault::Configuration, name, found);
    match &error {
        SecretError::NotSet(variable) => check
            .likely("the variable is not exported, or set in another shell")
            .to_do(format!(
                "export {variable}=…, or use a file or a command for the {word} in the profile"
            )),
        SecretError::File { .. } => check.to_do(format!(
            "put the {word} into that file, readable only by you (chmod 600)"
        )),
        SecretError::Exposed { .. } => check
            .likely("other users of this machine can read it, so it is not used")
            .to_do(format!(
                "restrict the permissions; if others may have read it, replace the {word}"
            )),
        SecretError::Entry { path, .. } => check.to_do(format!(
            "put the {word} there, or name another value of {} in the profile",
            path.display()
        )),
        SecretError::NoEntry { store, .. } => check
            .likely("the entry has another service or account, or was never stored")
            .to_do(format!("store the {word}: {store}")),
        SecretError::NoKeychain(Some(program)) => check.to_do(format!(
            "install {program}, or use a file or a command for the {word} in the profile"
        )),
        SecretError::NoKeychain(None) => check.to_do(format!(
            "use a file or a command for the {word} in the profile"
        )),
        SecretError::Command { program, .. }
            if program == "security" || program == "secret-tool" =>
        {
            check.to_do("unlock the keychain, or look up the entry by hand")
        }
        SecretError::Command { .. } => {
            check.to_do("run the command by hand: it must print the secret and nothing else")
        }
        SecretError::Empty(_) | SecretError::Odd(_) => {
            check.to_do(format!("store only the {word}, on one line"))
        }
    }
}

/// Describes its format without showing any of it.
fn shape(which: Which, source: &SecretSource, secret: &str, now: Timestamp) -> Check {
    let token = token(secret);
    let kind = match secret {
        s if s.starts_with("lsv2_pt_") => "a personal access token (lsv2_pt_)",
        s if s.starts_with("lsv2_sk_") => "a service key (lsv2_sk_)",
        s if s.starts_with("ls__") => "a LangSmith key of the old format (ls__)",
        _ if token.is_some() => "a JWT",
        _ => "unrecognized format",
    };
    let is_key = secret.starts_with("lsv2_") || secret.starts_with("ls__");
    let length = match secret.len() {
        0..20 => "under 20 characters",
        20..40 => "20 to 39 characters",
        40..100 => "40 to 99 characters",
        _ => "100 characters or more",
    };
    let mode = match source {
        SecretSource::File(path) | SecretSource::Entry(path, _) => {
            super::machine::mode(path).map(|mode| format!(" (mode {mode:03o})"))
        }
        _ => None,
    };
    let found = format!("{source}{}: {kind}, {length}", mode.unwrap_or_default());
    let word = which.word();
    if secret.starts_with(['"', '\'']) {
        return Check::warn(word, found)
            .likely("it starts with a quotation mark, which became a part of it")
            .to_do("remove the quotation marks where it is stored");
    }
    match which {
        Which::Key if token.is_some() => Check::warn(word, found)
            .likely("this is an access token and not an API key")
            .to_do("use bearer_env, bearer_file, bearer_command or bearer_keyring instead of api_key_…"),
        Which::Token if is_key => Check::warn(word, found)
            .likely("this is an API key and not a token")
            .to_do("use api_key_env, api_key_file, api_key_command or api_key_keyring instead of bearer_…"),
        Which::Key if is_key && secret.len() < 20 => {
            Check::warn(word, found).likely("it was truncated when it was copied")
        }
        // Any text may be a token, and gateways have their own keys, so only the server can check it.
        _ if !is_key && token.is_none() => Check::skipped(word, format!("{found}; can't be checked locally")),
        _ => match token.flatten() {
            Some(ends) => lifetime(word, found, ends, now),
            None => Check::good(word, found),
        },
    }
}

/// Reports how long a token is valid.
fn lifetime(name: &'static str, found: String, ends: Timestamp, now: Timestamp) -> Check {
    let far = text::age(Duration::try_from((ends - now).abs()).unwrap_or_default());
    if ends > now {
        return Check::good(name, format!("{found}, valid for another {far}"));
    }
    Check::bad(Fault::Access, name, format!("{found}, expired {far} ago"))
        .likely("access tokens are short-lived")
        .to_do("get a new one, for example with `langsmith auth login`; an API key does not expire so soon")
}

/// Whether a text is a JSON Web Token (RFC 7519), and when it expires, if it says so.
fn token(secret: &str) -> Option<Option<Timestamp>> {
    let [_, claims, _] = secret.split('.').collect::<Vec<_>>().try_into().ok()?;
    let claims: serde_json::Value =
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
    claims.is_object().then(|| {
        claims["exp"]
            .as_i64()
            .and_then(|at| Timestamp::from_second(at).ok())
    })
}

/// Reports which headers go where, from the client itself.
pub(super) fn headers(http: &Http, profile: &Profile) -> Check {
    let of = |plane| header_names(http, plane).unwrap_or_else(|| "none".into());
    let control = profile.control_plane.is_some().then_some(Service::Control);
    let control = control.map(|plane| format!("to the control plane: {}; ", of(plane)));
    let agent = format!("to agent servers: {}", of(Service::Agent));
    Check::good("headers", control.unwrap_or_default() + &agent)
}

/// Returns the names of the headers with credentials, if any are sent.
pub(super) fn header_names(http: &Http, plane: Service) -> Option<String> {
    let sent = http.identity(plane);
    let names: Vec<String> = sent.iter().map(|(name, _)| written(name)).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Returns a header's name as documented: `X-Api-Key`.
fn written(header: &str) -> String {
    let part = |part: &str| part[..1].to_ascii_uppercase() + &part[1..];
    header.split('-').map(part).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::State;

    fn jwt(claims: &str) -> String {
        format!(
            "eyJhbGciOiJIUzI1NiJ9.{}.c2lnbmF0dXJlLWNhbmFyeQ",
            URL_SAFE_NO_PAD.encode(claims)
        )
    }

    #[test]
    fn credential_formats_are_reported_without_the_secret() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let source = SecretSource::Env("K".into());
        let good = |hex: &str| format!("lsv2_pt_{hex}");
        for (which, secret, state, expected) in [
            (
                Which::Key,
                good("canary0123456789canary0123456789_canary"),
                State::Good,
                "lsv2_pt_), 40 to 99",
            ),
            (
                Which::Key,
                "lsv2_sk_canary0123456789canary012".into(),
                State::Good,
                "a service key (lsv2_sk_), 20 to 39",
            ),
            (Which::Key, good("canary"), State::Warn, "under 20"),
            (
                Which::Key,
                "\"lsv2_pt_canary\"".into(),
                State::Warn,
                "unrecognized format",
            ),
            (Which::Key, jwt(r#"{"sub":"canary"}"#), State::Warn, "JWT"),
            (
                Which::Token,
                good("canary0123456789canary0123456789_canary"),
                State::Warn,
                "lsv2_pt_",
            ),
            (
                Which::Token,
                jwt(r#"{"exp":1800003700,"sub":"canary"}"#),
                State::Good,
                "valid for another 1h",
            ),
            (
                Which::Token,
                jwt(r#"{"exp":1799999700}"#),
                State::Bad(Fault::Access),
                "expired 5m ago",
            ),
            (Which::Token, jwt(r#"{"exp":"canary"}"#), State::Good, "JWT"),
            (
                Which::Token,
                "opaque-canary-token".into(),
                State::Skipped,
                "unrecognized format, under 20 characters",
            ),
            (
                Which::Key,
                "canary-key".into(),
                State::Skipped,
                "unrecognized format, under 20 characters",
            ),
        ] {
            let check = shape(which, &source, &secret, now);
            assert_eq!(check.state, state, "{check:?}");
            assert!(
                check.found.starts_with("the environment variable K: ")
                    && check.found.contains(expected),
                "{check:?}"
            );
            assert!(!format!("{check:?}").contains("canary"), "{check:?}");
        }
    }

    #[test]
    fn output_of_key_commands_is_not_repeated() {
        let said = Some("no, lsv2_pt_canary is not it".to_string());
        let error = SecretError::Command {
            program: "pass".into(),
            why: "failed with exit code 1".into(),
            said,
        };
        let check = missing(Which::Key, &error);
        assert_eq!(check.found, "the command \"pass\" failed with exit code 1");
        assert!(!format!("{check:?}").contains("canary"));
    }
}
