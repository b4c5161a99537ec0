//! The errors of reading a key.

use std::path::PathBuf;

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
