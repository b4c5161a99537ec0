//! Sources of keys, and fetching them. A key is never in the configuration itself and never an argument.

use super::keyring::Keyring;
use super::secret_command::run;
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
        use SecretSource::*;
        match (self, other) {
            (Env(a), Env(b)) => a == b,
            (File(a), File(b)) => a == b,
            (Entry(a, x), Entry(b, y)) => (a, x) == (b, y),
            (Command(a), Command(b)) => a == b,
            (Keyring(a), Keyring(b)) => a == b,
            (Given(a), Given(b)) => a.expose_secret() == b.expose_secret(),
            _ => false,
        }
    }
}

/// Why a key could not be read. Never contains any part of one.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SecretError {
    /// The environment variable is not set or is empty.
    #[error("the environment variable {0} is not set")]
    NotSet(String),
    /// The file could not be read.
    #[error("cannot read the file {}: {why}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        why: String,
    },
    /// Others than the owner could read the file.
    #[error("the file {} can be read by others (mode {mode:03o}); run: chmod 600 {}", path.display(), path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The file doesn't have the value.
    #[error("cannot read {entry} in the file {}: {why}", path.display())]
    Entry {
        /// The file.
        path: PathBuf,
        /// The variable or the JSON pointer.
        entry: String,
        /// What is wrong with it.
        why: String,
    },
    /// No program here reads the keychain; names the missing one, if there is one for this system.
    #[error("{}; use …_file or …_command instead", match .0 {
        Some(program) => format!("the program {program}, which reads the keychain, is not installed (Debian and Ubuntu: \
                                  libsecret-tools, elsewhere: libsecret)"),
        None => "on this system, no program that Runtail knows reads the keychain".to_string(),
    })]
    NoKeychain(Option<&'static str>),
    /// The keychain doesn't have the entry.
    #[error("the keychain has no entry {entry}; store it with: {store}")]
    NoEntry {
        /// The service and the account.
        entry: String,
        /// The command that stores it, which asks for the key.
        store: String,
    },
    /// The command could not be started, failed, or took too long.
    #[error("the command {program:?} {why}{}", said.as_ref().map(|said| format!(": {said}")).unwrap_or_default())]
    Command {
        /// The program, without its arguments.
        program: String,
        /// What happened.
        why: String,
        /// The plain words of the last line that it wrote to stderr. Words that could be a secret are left out.
        said: Option<String>,
    },
    /// The source is empty.
    #[error("{0} is empty")]
    Empty(String),
    /// It contains characters that are not allowed in a header.
    #[error("{0} contains a line break, a space or another character that is not allowed in a key")]
    Odd(String),
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
        match (self, other) {
            (SecretRef::Env(a), SecretRef::Env(b)) => a == b,
            (SecretRef::File(a), SecretRef::File(b)) => a == b,
            (SecretRef::Entry(a, x), SecretRef::Entry(b, y)) => (a, x) == (b, y),
            (SecretRef::Literal(a), SecretRef::Literal(b)) => {
                a.expose_secret() == b.expose_secret()
            }
            _ => false,
        }
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

/// Whether a text can be the name of an environment variable. A pasted key usually can't.
pub(super) fn is_variable(name: &str) -> bool {
    let rest_fits = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    rest_fits
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && !name.starts_with("lsv2_")
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
    if let (Some(rest), Some(home)) = (text.strip_prefix("~/"), directories::BaseDirs::new()) {
        return home.home_dir().join(rest);
    }
    match folder {
        Some(folder) => folder.join(text),
        None => PathBuf::from(text),
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

    fn command(words: &[&str]) -> SecretSource {
        SecretSource::Command(words.iter().map(|w| w.to_string()).collect())
    }

    #[test]
    fn given_secrets_are_resolved_and_missing_ones_reported() {
        let given = SecretSource::Given(SecretString::from("canary\n".to_string()));
        assert_eq!(given.resolve().unwrap().expose_secret(), "canary");
        assert!(!format!("{given:?} {given}").contains("canary"));
        let env = SecretSource::Env("RUNTAIL_TEST_NO_SUCH_VARIABLE".into());
        assert_eq!(
            env.resolve().unwrap_err(),
            SecretError::NotSet("RUNTAIL_TEST_NO_SUCH_VARIABLE".into())
        );
        for (text, is_invalid) in [
            ("can ary", true),
            ("can\nary", true),
            ("cañary", true),
            ("\n", false),
        ] {
            let error = SecretSource::Given(SecretString::from(text.to_string()))
                .resolve()
                .unwrap_err();
            assert_eq!(matches!(error, SecretError::Odd(_)), is_invalid);
            assert!(!format!("{error} {error:?}").contains("ary"));
        }
    }

    #[cfg(unix)]
    #[test]
    fn key_files_readable_by_others_are_refused() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        std::fs::write(&path, "canary\r\n").unwrap();
        let set =
            |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let source = SecretSource::File(path.clone());
        for mode in [0o644, 0o640, 0o604, 0o620] {
            set(mode);
            let error = source.resolve().unwrap_err();
            assert_eq!(
                error,
                SecretError::Exposed {
                    path: path.clone(),
                    mode
                }
            );
            assert!(error.to_string().contains("chmod 600"), "{error}");
            assert!(!error.to_string().contains("canary"));
        }
        set(0o600);
        assert_eq!(source.resolve().unwrap().expose_secret(), "canary");
        let missing = SecretSource::File(dir.path().join("none"))
            .resolve()
            .unwrap_err();
        assert!(matches!(missing, SecretError::File { .. }), "{missing}");
    }

    #[test]
    fn keys_are_recognized_where_a_name_is_expected() {
        for key in [
            "lsv2_pt_x",
            "ls__0a",
            "sk-proj-canary012345",
            "=sk-ant-canary01234567",
            "pass lsv2_",
        ] {
            assert!(looks_like_key(key), "{key}");
        }
        assert!(looks_like_key(&format!("Bearer eyJ{}.x", "a".repeat(40))));
        for name in [
            "LANGSMITH_API_KEY",
            "~/.keys/sk-eu",
            "tools__x",
            "ask-first-thing",
            "~/sk-project-files/k",
            "~/keys/lsv2_pt",
            "sk-production",
            "langsmith/eu",
            "eyJ",
            "",
        ] {
            assert!(!looks_like_key(name), "{name}");
        }
    }

    #[test]
    fn references_are_distinguished_from_secrets() {
        let at = |text| SecretRef::parse(text, Some(Path::new("/etc/x")));
        assert_eq!(
            at("env:OPENAI_API_KEY"),
            Some(SecretRef::Env("OPENAI_API_KEY".into()))
        );
        assert_eq!(
            at("file:keys/openai"),
            Some(SecretRef::File("/etc/x/keys/openai".into()))
        );
        assert_eq!(
            SecretRef::parse("file:k", None),
            Some(SecretRef::File("k".into()))
        );
        assert_eq!(
            at("file:.env#A_1"),
            Some(SecretRef::Entry("/etc/x/.env".into(), "A_1".into()))
        );
        assert_eq!(
            at("file:c.json#/a/b"),
            Some(SecretRef::Entry("/etc/x/c.json".into(), "/a/b".into()))
        );
        for path in ["c#/key", "my#key", "#A", "c.json#/", "a#lsv2_pt_canary"] {
            let parsed = SecretRef::parse(&format!("file:{path}"), Some(Path::new("/etc/x")));
            assert_eq!(
                parsed,
                Some(SecretRef::File(Path::new("/etc/x").join(path))),
                "{path}"
            );
        }
        assert!(
            matches!(at("file:~/k"), Some(SecretRef::File(path)) if path.is_absolute() && !path.starts_with("/etc"))
        );
        for none in [
            "sk-canary",
            "env:",
            "env:sk-canary",
            "env:A=B",
            "env:lsv2_pt_canary",
            "file:",
            "https://x",
            "ENV:A",
            "",
        ] {
            assert_eq!(at(none), None, "{none}");
        }
        let missing = SecretRef::Env("RUNTAIL_TEST_NO_SUCH_VARIABLE".into())
            .resolve()
            .unwrap_err();
        assert!(
            missing
                .to_string()
                .contains("RUNTAIL_TEST_NO_SUCH_VARIABLE is not set")
        );
    }

    #[cfg(unix)]
    #[test]
    fn referenced_files_may_contain_any_text() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let write = |text: &str| {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
            SecretRef::File(path.clone()).resolve()
        };
        assert_eq!(
            write("-----BEGIN\n two words\n-----END\n")
                .unwrap()
                .expose_secret(),
            "-----BEGIN\n two words\n-----END"
        );
        assert!(matches!(write("\n").unwrap_err(), SecretError::Empty(_)));
        assert!(
            write(&"x".repeat(64 * 1024 + 1))
                .unwrap_err()
                .to_string()
                .contains("larger than 64 KiB")
        );
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(
            SecretRef::File(path.clone()).resolve().unwrap_err(),
            SecretError::Exposed { .. }
        ));
    }

    #[cfg(unix)]
    #[test]
    fn key_commands_are_run() {
        assert_eq!(
            command(&["echo", "canary"])
                .resolve()
                .unwrap()
                .expose_secret(),
            "canary"
        );
        let error = command(&["sh", "-c", "echo locked >&2; exit 3", "canary"])
            .resolve()
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "the command \"sh\" failed with exit code 3: locked"
        );
        let error = command(&["runtail-no-such-program"]).resolve().unwrap_err();
        assert!(
            error.to_string().contains("could not be started"),
            "{error}"
        );
        assert!(matches!(
            command(&["true"]).resolve().unwrap_err(),
            SecretError::Empty(_)
        ));
        assert!(!format!("{:?}", command(&["pass", "canary"])).contains("canary"));
    }
}
