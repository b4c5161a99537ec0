//! Sources of keys, and fetching them. A key is never in the configuration itself and never an argument.

use super::env_file::is_variable;
use super::keyring::Keyring;
use super::secret_command::run;
use super::secret_error::SecretError;
use super::secret_file::{read_entry, read_file};
use secrecy::{ExposeSecret, SecretString};
use std::fmt;
use std::path::{Path, PathBuf};

/// The source of a key.
#[derive(Clone)]
pub enum SecretSource {
    /// An environment variable, by its name.
    Env(String),
    /// A file that only its owner can read.
    File(PathBuf),
    /// One value of such a file: a variable of an env file, or a JSON pointer such as `/profiles/prod/api_key`.
    Entry(PathBuf, String),
    /// A program and its arguments; the key is what it prints.
    Command(Vec<String>),
    /// An entry of the operating system's keychain.
    Keyring(Keyring),
    /// The key itself (for the demo).
    Given(SecretString),
}

/// Two sources are equal if they name the same place, even if its content has changed.
impl PartialEq for SecretSource {
    fn eq(&self, other: &SecretSource) -> bool {
        // What its name doesn't show.
        let hidden = |one: &SecretSource| match one {
            SecretSource::Command(words) => words.clone(),
            SecretSource::Given(key) => vec![key.expose_secret().to_string()],
            _ => Vec::new(),
        };
        self.to_string() == other.to_string() && hidden(self) == hidden(other)
    }
}

impl SecretSource {
    /// Fetches the key. May read a file or wait for a command (up to a minute), so don't call it on an async thread.
    pub fn resolve(&self) -> Result<SecretString, SecretError> {
        let secret = self.fetch()?;
        match secret.expose_secret() {
            "" => Err(SecretError::Empty(self.to_string())),
            key if key.bytes().all(|b| b.is_ascii_graphic()) => Ok(secret),
            _ => Err(SecretError::Odd(self.to_string())),
        }
    }

    /// Returns the content without the line break at its end.
    fn fetch(&self) -> Result<SecretString, SecretError> {
        let text = match self {
            SecretSource::Env(name) => std::env::var(name)
                .ok()
                .filter(|v| !v.is_empty())
                .ok_or_else(|| SecretError::NotSet(name.clone()))?,
            SecretSource::File(path) => read_file(path)?,
            SecretSource::Entry(path, entry) => read_entry(path, entry)?,
            SecretSource::Command(words) => run(words)?,
            SecretSource::Keyring(entry) => entry.lookup()?,
            SecretSource::Given(secret) => secret.expose_secret().to_string(),
        };
        Ok(SecretString::from(
            text.trim_end_matches(['\r', '\n']).to_string(),
        ))
    }
}

/// A reference to a secret for a server, from a document or an argument.
#[derive(Debug, Clone)]
pub enum SecretRef {
    /// An environment variable, by its name.
    Env(String),
    /// A file that only its owner can read.
    File(PathBuf),
    /// One value of such a file; see [`SecretSource::Entry`].
    Entry(PathBuf, String),
    /// The secret itself. Only documents in the service's own JSON shape may contain it.
    Literal(SecretString),
}

impl PartialEq for SecretRef {
    fn eq(&self, other: &SecretRef) -> bool {
        let literal = |one: &SecretRef| match one {
            SecretRef::Literal(secret) => secret.expose_secret().to_string(),
            other => other.to_string(),
        };
        std::mem::discriminant(self) == std::mem::discriminant(other)
            && literal(self) == literal(other)
    }
}

impl SecretRef {
    /// The format of a reference, for messages.
    pub const FORM: &str = "\"env:VARIABLE\" or \"file:PATH\"";

    /// Parses a reference; nothing if the text is not one, as it may be the secret itself. Relative paths start at the folder,
    /// or at the working directory; `~/` is the home directory.
    pub fn parse(text: &str, folder: Option<&Path>) -> Option<SecretRef> {
        let (kind, rest) = text.split_once(':')?;
        match kind {
            "env" if is_variable(rest) => Some(SecretRef::Env(rest.to_string())),
            "file" if !rest.trim().is_empty() => Some(match file_and_entry(rest, folder) {
                (path, Some(entry)) => SecretRef::Entry(path, entry),
                (path, None) => SecretRef::File(path),
            }),
            _ => None,
        }
    }

    /// Returns the secret: any text that is not empty. Line breaks at the end of a variable or a file are removed. May read a
    /// file, so don't call it on an async task's thread.
    ///
    /// # Errors
    /// The variable or the file is missing or empty, or others can read the file.
    pub fn resolve(&self) -> Result<SecretString, SecretError> {
        let source = match self {
            SecretRef::Env(name) => SecretSource::Env(name.clone()),
            SecretRef::File(path) => SecretSource::File(path.clone()),
            SecretRef::Entry(path, entry) => SecretSource::Entry(path.clone(), entry.clone()),
            SecretRef::Literal(secret) => return Ok(secret.clone()),
        };
        let secret = source.fetch()?;
        if secret.expose_secret().is_empty() {
            Err(SecretError::Empty(source.to_string()))
        } else {
            Ok(secret)
        }
    }
}

impl fmt::Display for SecretRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SecretRef::Env(name) => write!(f, "env:{name}"),
            SecretRef::File(path) => write!(f, "file:{}", path.display()),
            SecretRef::Entry(path, entry) => write!(f, "file:{}#{entry}", path.display()),
            SecretRef::Literal(_) => f.write_str("a literal value"),
        }
    }
}

/// Returns whether a text looks like a key, of LangSmith or another service, so that it is refused where a variable or a path is
/// expected. A few letters are enough, because a key may be typed.
pub fn looks_like_key(text: &str) -> bool {
    let has = |word: &str, start: &str, more: usize| {
        word.strip_prefix(start)
            .is_some_and(|rest| rest.len() >= more)
    };
    has_langsmith_key(text) || words(text).any(|word| has(word, "sk-", 16) || has(word, "eyJ", 40))
}

/// Returns whether a text has a key of LangSmith in it.
pub fn has_langsmith_key(text: &str) -> bool {
    words(text).any(|word| word.contains("lsv2_") || word.starts_with("ls__"))
}

/// Returns the words of a text that may be keys. A path is none: a file may be named after its key.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-./\\~".contains(c);
    text.split(move |c| !is_part(c))
        .filter(|word| !word.contains(['/', '\\']))
}

/// Parses `PATH`, `PATH#VARIABLE` or `PATH.json#/POINTER`. Any other `#` is a part of the path: folders may have one.
pub(super) fn file_and_entry(text: &str, folder: Option<&Path>) -> (PathBuf, Option<String>) {
    let is_entry = |path: &str, entry: &str| match entry.strip_prefix('/') {
        Some(pointer) => path.ends_with(".json") && !pointer.is_empty(),
        None => {
            !path.is_empty()
                && is_variable(entry)
                && !entry.contains(|c: char| c.is_ascii_lowercase())
        }
    };
    match text.rsplit_once('#') {
        Some((path, entry)) if is_entry(path, entry) => {
            (expand(path, folder), Some(entry.to_string()))
        }
        _ => (expand(text, folder), None),
    }
}

/// Resolves a path: `~/` is the home directory; other relative paths start at the folder.
pub(super) fn expand(text: &str, folder: Option<&Path>) -> PathBuf {
    let path = expand_home(Path::new(text));
    folder.map_or_else(|| path.clone(), |folder| folder.join(&path))
}

/// Expands `~/` to the home directory, as a shell does.
pub fn expand_home(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), directories::BaseDirs::new()) {
        (Ok(rest), Some(home)) => home.home_dir().join(rest),
        _ => path.to_path_buf(),
    }
}

/// Names the source, without the key and without a command's arguments.
impl fmt::Display for SecretSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SecretSource::Env(name) => write!(f, "the environment variable {name}"),
            SecretSource::File(path) => write!(f, "the file {}", path.display()),
            SecretSource::Entry(path, entry) => write!(f, "{entry} in the file {}", path.display()),
            SecretSource::Keyring(entry) => write!(f, "the keychain entry {entry}"),
            SecretSource::Command(words) => {
                write!(
                    f,
                    "the output of the command {:?}",
                    words.first().map_or("", |w| w)
                )
            }
            SecretSource::Given(_) => f.write_str("the built-in demo key"),
        }
    }
}

impl fmt::Debug for SecretSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretSource({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(secret: Result<SecretString, SecretError>) -> Result<String, String> {
        let secret = secret.map(|secret| secret.expose_secret().to_string());
        secret.map_err(|error| error.to_string())
    }

    #[cfg(unix)]
    fn command(words: &[&str]) -> SecretSource {
        SecretSource::Command(words.iter().map(|w| w.to_string()).collect())
    }

    #[cfg(unix)]
    fn set_mode(path: &Path, mode: u32) {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn given_secrets_are_resolved_and_missing_ones_reported() {
        let given = |text: &str| SecretSource::Given(SecretString::from(text.to_string()));
        assert_eq!(shown(given("canary\n").resolve()), Ok("canary".into()));
        assert!(!format!("{0:?} {0}", given("canary")).contains("canary"));
        let odd = "the built-in demo key contains a line break, a space or another character that is not allowed in a key";
        let unset = "the environment variable RUNTAIL_TEST_NO_SUCH_VARIABLE is not set";
        for (source, why) in [
            (
                SecretSource::Env("RUNTAIL_TEST_NO_SUCH_VARIABLE".into()),
                unset,
            ),
            (given("can ary"), odd),
            (given("can\nary"), odd),
            (given("cañary"), odd),
            (given("\n"), "the built-in demo key is empty"),
        ] {
            assert_eq!(shown(source.resolve()), Err(why.into()));
        }
        let missing = SecretRef::Env("RUNTAIL_TEST_NO_SUCH_VARIABLE".into());
        assert_eq!(shown(missing.resolve()), Err(unset.into()));
    }

    #[cfg(unix)]
    #[test]
    fn key_files_readable_by_others_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let write = |text: &str| {
            std::fs::write(&path, text).unwrap();
            set_mode(&path, 0o600);
        };
        write("canary\r\n");
        let source = SecretSource::File(path.clone());
        assert_eq!(shown(source.resolve()), Ok("canary".into()));
        for mode in [0o644, 0o640, 0o604, 0o620] {
            set_mode(&path, mode);
            let error = shown(source.resolve()).unwrap_err();
            let why = format!("can be read by others (mode {mode:03o}); run: chmod 600 ");
            assert!(error.contains(&why) && !error.contains("canary"), "{error}");
        }
        let missing = shown(SecretSource::File(dir.path().join("none")).resolve());
        assert!(missing.unwrap_err().starts_with("cannot read the file "));
        // A reference may lead to any text.
        let reference = SecretRef::File(path.clone());
        write("-----BEGIN\n two words\n-----END\n");
        assert_eq!(
            shown(reference.resolve()),
            Ok("-----BEGIN\n two words\n-----END".into())
        );
        for (text, why) in [
            ("\n".to_string(), "is empty"),
            ("x".repeat(64 * 1024 + 1), "it is larger than 64 KiB"),
        ] {
            write(&text);
            assert!(shown(reference.resolve()).unwrap_err().ends_with(why));
        }
        set_mode(&path, 0o644);
        assert!(
            shown(reference.resolve())
                .unwrap_err()
                .contains("chmod 600")
        );
    }

    #[test]
    fn keys_are_recognized_where_a_name_is_expected() {
        let jwt = format!("Bearer eyJ{}.x", "a".repeat(40));
        for (text, expected) in [
            ("lsv2_pt_x", true),
            ("ls__0a", true),
            ("sk-proj-canary012345", true),
            ("=sk-ant-canary01234567", true),
            ("pass lsv2_", true),
            (&jwt, true),
            ("LANGSMITH_API_KEY", false),
            ("~/.keys/sk-eu", false),
            ("tools__x", false),
            ("ask-first-thing", false),
            ("~/sk-project-files/k", false),
            ("~/keys/lsv2_pt", false),
            ("sk-production", false),
            ("langsmith/eu", false),
            ("eyJ", false),
            ("", false),
        ] {
            assert_eq!(looks_like_key(text), expected, "{text}");
        }
    }

    #[test]
    fn references_are_distinguished_from_secrets() {
        let entry = |path: &str, name: &str| Some(SecretRef::Entry(path.into(), name.into()));
        let file = |path: &str| Some(SecretRef::File(path.into()));
        for (text, expected) in [
            (
                "env:OPENAI_API_KEY",
                Some(SecretRef::Env("OPENAI_API_KEY".into())),
            ),
            ("file:keys/openai", file("/etc/x/keys/openai")),
            ("file:.env#A_1", entry("/etc/x/.env", "A_1")),
            ("file:c.json#/a/b", entry("/etc/x/c.json", "/a/b")),
            ("file:c#/key", file("/etc/x/c#/key")),
            ("file:my#key", file("/etc/x/my#key")),
            ("file:#A", file("/etc/x/#A")),
            ("file:c.json#/", file("/etc/x/c.json#/")),
            ("file:a#lsv2_pt_canary", file("/etc/x/a#lsv2_pt_canary")),
            ("sk-canary", None),
            ("env:", None),
            ("env:sk-canary", None),
            ("env:A=B", None),
            ("env:lsv2_pt_canary", None),
            ("file:", None),
            ("https://x", None),
            ("ENV:A", None),
            ("", None),
        ] {
            assert_eq!(
                SecretRef::parse(text, Some(Path::new("/etc/x"))),
                expected,
                "{text}"
            );
        }
        assert_eq!(SecretRef::parse("file:k", None), file("k"));
        let home = SecretRef::parse("file:~/k", Some(Path::new("/etc/x")));
        assert!(
            matches!(home, Some(SecretRef::File(path)) if path.is_absolute() && !path.starts_with("/etc"))
        );
    }

    #[cfg(unix)]
    #[test]
    fn key_commands_are_run() {
        for (words, expected) in [
            (&["echo", "canary"][..], Ok("canary")),
            (
                &["sh", "-c", "echo locked >&2; exit 3", "canary"],
                Err("the command \"sh\" failed with exit code 3: locked"),
            ),
            (
                &["true"],
                Err("the output of the command \"true\" is empty"),
            ),
        ] {
            let printed = shown(command(words).resolve());
            assert_eq!(printed.as_deref().map_err(|why| &**why), expected);
        }
        let missing = shown(command(&["runtail-no-such-program"]).resolve()).unwrap_err();
        assert!(missing.contains("could not be started"), "{missing}");
        assert!(!format!("{:?}", command(&["pass", "canary"])).contains("canary"));
    }
}
