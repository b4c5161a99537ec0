//! The key and the token of a profile: whether they can be had, what they look like, and where they are sent.

use super::{Check, Desk, Fault};
use crate::Http;
use crate::answer::Plane;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use runtail_core::config::{Profile, SecretError, SecretSource};
use runtail_core::text;
use secrecy::{ExposeSecret, SecretString};
use std::time::Duration;

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

/// What came of fetching one.
struct Fetched {
    which: Which,
    source: SecretSource,
    result: Result<SecretString, SecretError>,
}

/// The key and the token of a profile, as far as it has them.
pub(super) struct Credentials(Vec<Fetched>);

/// Fetches both, each once, and gives the profile with what was fetched in it: a command that prints a key may ask a person
/// to unlock something. Nothing can be written with that profile.
pub(super) async fn fetch(profile: &Profile) -> (Credentials, Profile) {
    let sources = [(Which::Key, profile.key.clone()), (Which::Token, profile.bearer.clone())];
    let all = tokio::task::spawn_blocking(move || {
        let named = sources.into_iter().filter_map(|(which, source)| Some((which, source?)));
        named.map(|(which, source)| Fetched { which, result: source.resolve(), source }).collect()
    });
    // The task neither panics nor is cancelled.
    let credentials = Credentials(all.await.unwrap_or_default());
    let given = |which| {
        let found = credentials.0.iter().find(|f| f.which == which)?.result.as_ref().ok()?;
        Some(SecretSource::Given(found.clone()))
    };
    let (key, bearer) = (given(Which::Key), given(Which::Token));
    let sealed = Some("the doctor only reads".to_string());
    let profile = Profile { key, bearer, sealed, ..profile.clone() };
    (credentials, profile)
}

impl Credentials {
    /// What was fetched.
    pub fn secrets(&self) -> impl Iterator<Item = &SecretString> {
        self.0.iter().filter_map(|fetched| fetched.result.as_ref().ok())
    }

    /// Tells of each; says whether all that the profile names could be had.
    pub fn tell(&self, desk: &Desk) -> bool {
        if self.0.is_empty() {
            desk.tell(Check::skipped("key", "the profile names neither a key nor a token"));
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

/// Why one cannot be had, and what to do.
fn missing(which: Which, error: &SecretError) -> Check {
    let word = which.word();
    let name = word;
    // What a program wrote is its own, and may be anything, a part of a key too.
    let error = match error.clone() {
        SecretError::Command { program, why, .. } => SecretError::Command { program, why, said: None },
        other => other,
    };
    let check = Check::bad(Fault::Configuration, name, error.to_string());
    match &error {
        SecretError::NotSet(variable) => check
            .likely("the variable is set in another shell, or was not exported")
            .to_do(format!("export {variable}=…, or name a file or a command that holds the {word} in the profile")),
        SecretError::File { .. } => {
            check.to_do(format!("put the {word} into that file, readable by you alone (chmod 600)"))
        }
        SecretError::Exposed { .. } => check
            .likely("whoever has an account on this machine can read it, so it is not used")
            .to_do(format!("take the rights away as said; if others may have read it, replace the {word}")),
        SecretError::Command { .. } => {
            check.to_do("run the command by hand: it must print the secret and nothing else")
        }
        SecretError::Empty(_) | SecretError::Odd(_) => check.to_do(format!("store the {word} alone, on one line")),
    }
}

/// What one looks like, without showing any of it.
fn shape(which: Which, source: &SecretSource, secret: &str, now: Timestamp) -> Check {
    let token = token(secret);
    let kind = match secret {
        s if s.starts_with("lsv2_pt_") => "a personal access token (lsv2_pt_)",
        s if s.starts_with("lsv2_sk_") => "a service key (lsv2_sk_)",
        s if s.starts_with("ls__") => "a LangSmith key of the old form (ls__)",
        _ if token.is_some() => "a token in the form of a JWT",
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
        SecretSource::File(path) => super::machine::mode(path).map(|mode| format!(" (mode {mode:03o})")),
        _ => None,
    };
    let found = format!("{source}{}: {kind}, {length}", mode.unwrap_or_default());
    let word = which.word();
    if secret.starts_with(['"', '\'']) {
        return Check::warn(word, found)
            .likely("it begins with a quotation mark, which was taken as a part of it")
            .to_do("take the quotation marks away where it is stored");
    }
    match which {
        Which::Key if token.is_some() => Check::warn(word, found)
            .likely("this is an access token and not an API key")
            .to_do("name it with bearer_env, bearer_file or bearer_command instead of api_key_…"),
        Which::Token if is_key => Check::warn(word, found)
            .likely("this is an API key and not a token")
            .to_do("name it with api_key_env, api_key_file or api_key_command instead of bearer_…"),
        Which::Key if is_key && secret.len() < 20 => {
            Check::warn(word, found).likely("it was cut off when it was copied")
        }
        // Any text may be a token, and gateways have keys of their own: only the server knows whether it is good.
        _ if !is_key && token.is_none() => Check::skipped(word, format!("{found}; could not be checked here")),
        _ => match token.flatten() {
            Some(ends) => lifetime(word, found, ends, now),
            None => Check::good(word, found),
        },
    }
}

/// How long a token is still good for.
fn lifetime(name: &'static str, found: String, ends: Timestamp, now: Timestamp) -> Check {
    let far = text::age(Duration::try_from((ends - now).abs()).unwrap_or_default());
    if ends > now {
        return Check::good(name, format!("{found}, good for another {far}"));
    }
    Check::bad(Fault::Access, name, format!("{found}, expired {far} ago"))
        .likely("access tokens live for a short while only")
        .to_do("get a new one, for example with `langsmith auth login`; an API key does not expire so soon")
}

/// Whether a text is a JSON Web Token (RFC 7519), and until when it is good, where it says so.
fn token(secret: &str) -> Option<Option<Timestamp>> {
    let [_, claims, _] = secret.split('.').collect::<Vec<_>>().try_into().ok()?;
    let claims: serde_json::Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
    claims.is_object().then(|| claims["exp"].as_i64().and_then(|at| Timestamp::from_second(at).ok()))
}

/// Which headers go where, from the client that sends them.
pub(super) fn headers(http: &Http, profile: &Profile) -> Check {
    let of = |plane| {
        let names: Vec<String> = http.identity(plane).iter().map(|(name, _)| written(name)).collect();
        if names.is_empty() { "none".to_string() } else { names.join(", ") }
    };
    let mut parts = Vec::new();
    if profile.control_plane.is_some() {
        parts.push(format!("to the control plane: {}", of(Plane::Control)));
    }
    parts.push(format!("to agent servers: {}", of(Plane::Agent)));
    Check::good("headers", parts.join("; "))
}

/// A header's name as the documentation writes it: `X-Api-Key`.
pub(super) fn written(header: &str) -> String {
    let part = |part: &str| part[..1].to_ascii_uppercase() + &part[1..];
    header.split('-').map(part).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::State;

    fn jwt(claims: &str) -> String {
        format!("eyJhbGciOiJIUzI1NiJ9.{}.c2lnbmF0dXJlLWNhbmFyeQ", URL_SAFE_NO_PAD.encode(claims))
    }

    #[test]
    fn shapes_are_told_and_nothing_else() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let source = SecretSource::Env("K".into());
        let good = |hex: &str| format!("lsv2_pt_{hex}");
        for (which, secret, state, told) in [
            (Which::Key, good("canary0123456789canary0123456789_canary"), State::Good, "lsv2_pt_), 40 to 99"),
            (Which::Key, "lsv2_sk_canary0123456789canary012".into(), State::Good, "a service key (lsv2_sk_), 20 to 39"),
            (Which::Key, good("canary"), State::Warn, "under 20"),
            (Which::Key, "\"lsv2_pt_canary\"".into(), State::Warn, "unrecognized format"),
            (Which::Key, jwt(r#"{"sub":"canary"}"#), State::Warn, "JWT"),
            (Which::Token, good("canary0123456789canary0123456789_canary"), State::Warn, "lsv2_pt_"),
            (Which::Token, jwt(r#"{"exp":1800003700,"sub":"canary"}"#), State::Good, "good for another 1h"),
            (Which::Token, jwt(r#"{"exp":1799999700}"#), State::Bad(Fault::Access), "expired 5m ago"),
            (Which::Token, jwt(r#"{"exp":"canary"}"#), State::Good, "JWT"),
            (Which::Token, "opaque-canary-token".into(), State::Skipped, "unrecognized format, under 20 characters"),
            (Which::Key, "canary-key".into(), State::Skipped, "unrecognized format, under 20 characters"),
        ] {
            let check = shape(which, &source, &secret, now);
            assert_eq!(check.state, state, "{check:?}");
            assert!(check.found.starts_with("the environment variable K: ") && check.found.contains(told), "{check:?}");
            assert!(!format!("{check:?}").contains("canary"), "{check:?}");
        }
    }

    #[test]
    fn what_a_command_says_is_not_repeated() {
        let said = Some("no, lsv2_pt_canary is not it".to_string());
        let error = SecretError::Command { program: "pass".into(), why: "failed with exit code 1".into(), said };
        let check = missing(Which::Key, &error);
        assert_eq!(check.found, "the command \"pass\" failed with exit code 1");
        assert!(!format!("{check:?}").contains("canary"));
    }
}
