//! Entries of the operating system's keychain, read by its own program: a library for it would bring a hundred others.

use super::secret_command::{Ended, start};
use super::secret_error::SecretError;
use crate::model::shell_word;
use std::fmt;

/// Maximum length of a service or an account, in bytes.
const MAX_NAME: usize = 200;
/// The exit code of `security` for an entry that doesn't exist.
const SECURITY_NOT_FOUND: i32 = 44;

/// An entry of the keychain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keyring {
    pub service: String,
    pub account: String,
}

/// The program that reads and stores entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Program {
    /// The keychain of macOS.
    Security,
    /// The Secret Service of Linux and BSD desktops.
    SecretTool,
}

impl Program {
    /// Returns that of this system.
    fn here() -> Option<Program> {
        match () {
            () if cfg!(target_os = "macos") => Some(Program::Security),
            () if cfg!(unix) => Some(Program::SecretTool),
            () => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Program::Security => "security",
            Program::SecretTool => "secret-tool",
        }
    }

    /// Returns the arguments that print an entry. The key is never among them.
    fn lookup(self, entry: &Keyring) -> Vec<String> {
        let Keyring { service, account } = entry;
        match self {
            Program::Security => {
                words(&["find-generic-password", "-s", service, "-a", account, "-w"])
            }
            Program::SecretTool => words(&["lookup", "service", service, "account", account]),
        }
    }

    /// Returns the command for a shell that stores an entry. It asks for the key.
    fn store(self, entry: &Keyring) -> String {
        let (service, account) = (shell_word(&entry.service), shell_word(&entry.account));
        match self {
            Program::Security => {
                format!("security add-generic-password -U -s {service} -a {account} -w")
            }
            Program::SecretTool => {
                format!("secret-tool store --label=LangSmith service {service} account {account}")
            }
        }
    }

    /// Whether the program ended because there is no such entry.
    fn found_nothing(self, ended: &Ended) -> bool {
        match self {
            Program::Security => ended.code() == Some(SECURITY_NOT_FOUND),
            Program::SecretTool => ended.is_silent(),
        }
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| word.to_string()).collect()
}

impl Keyring {
    /// The format of the setting, for messages.
    pub const FORM: &str = "\"SERVICE\" or \"SERVICE/ACCOUNT\"";

    /// Parses `SERVICE` or `SERVICE/ACCOUNT`; without an account, it is the profile's name.
    ///
    /// # Errors
    /// What is wrong. The text is not repeated, because it may be a pasted key.
    pub fn parse(text: &str, profile: &str) -> Result<Keyring, &'static str> {
        let (service, account) = text.rsplit_once('/').unwrap_or((text, profile));
        for name in [service, account] {
            // The names become arguments of a program, where everyone on this machine can read them.
            if name.contains("lsv2_") || name.contains("ls__") {
                return Err("this is a key, not the name of a keychain entry");
            }
            if name.trim().is_empty() || name.len() > MAX_NAME || name.starts_with('-') {
                return Err(
                    "a service and an account have 1 to 200 characters, and don't begin with a hyphen",
                );
            }
            if name.chars().any(char::is_control) {
                return Err("a service and an account have no control characters");
            }
        }
        Ok(Keyring {
            service: service.to_string(),
            account: account.to_string(),
        })
    }

    /// Returns the shortest setting that means this entry in a profile.
    pub fn setting(&self, profile: &str) -> String {
        if self.account == profile && !self.service.contains('/') {
            self.service.clone()
        } else {
            self.to_string()
        }
    }

    /// Returns the command for a shell that stores the key, which it asks for; nothing where Runtail can't read a keychain.
    pub fn store_command(&self) -> Option<String> {
        Program::here().map(|program| program.store(self))
    }

    /// Reads the key. The user may have to unlock the keychain first.
    pub(super) fn lookup(&self) -> Result<String, SecretError> {
        let program = Program::here().ok_or(SecretError::NoKeychain(None))?;
        let Ok(ended) = start(program.name(), &program.lookup(self))? else {
            return Err(SecretError::NoKeychain(Some(program.name())));
        };
        if program.found_nothing(&ended) {
            return Err(SecretError::NoEntry {
                entry: self.to_string(),
                store: program.store(self),
            });
        }
        ended.text(program.name())
    }
}

/// The service and the account.
impl fmt::Display for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.service, self.account)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_a_service_and_an_account() {
        let entry = |service: &str, account: &str| Keyring {
            service: service.into(),
            account: account.into(),
        };
        assert_eq!(
            Keyring::parse("langsmith", "prod").unwrap(),
            entry("langsmith", "prod")
        );
        assert_eq!(
            Keyring::parse("langsmith/eu", "prod").unwrap(),
            entry("langsmith", "eu")
        );
        assert_eq!(
            Keyring::parse("my/app/eu", "prod").unwrap(),
            entry("my/app", "eu")
        );
        for setting in ["langsmith", "langsmith/eu", "a b/c", "my/app/prod"] {
            assert_eq!(
                Keyring::parse(setting, "prod").unwrap().setting("prod"),
                setting
            );
        }
        assert_eq!(entry("langsmith", "prod").setting("prod"), "langsmith");
        for (text, why) in [
            ("", "1 to 200"),
            ("/x", "1 to 200"),
            ("x/", "1 to 200"),
            ("-s", "hyphen"),
            ("x/-w", "hyphen"),
            ("a\nb", "control"),
            ("lsv2_pt_canary", "this is a key"),
            ("x/lsv2_pt_canary", "this is a key"),
        ] {
            let error = Keyring::parse(text, "prod").unwrap_err();
            assert!(
                error.contains(why) && !error.contains("canary"),
                "{text:?}: {error}"
            );
        }
    }

    #[test]
    fn commands_of_both_systems_name_the_entry_and_never_the_key() {
        let entry = Keyring {
            service: "Lang Smith".into(),
            account: "prod".into(),
        };
        assert_eq!(
            Program::Security.lookup(&entry),
            [
                "find-generic-password",
                "-s",
                "Lang Smith",
                "-a",
                "prod",
                "-w"
            ]
        );
        assert_eq!(
            Program::SecretTool.lookup(&entry),
            ["lookup", "service", "Lang Smith", "account", "prod"]
        );
        assert_eq!(
            Program::Security.store(&entry),
            "security add-generic-password -U -s 'Lang Smith' -a prod -w"
        );
        assert_eq!(
            Program::SecretTool.store(&entry),
            "secret-tool store --label=LangSmith service 'Lang Smith' account prod"
        );
    }
}
