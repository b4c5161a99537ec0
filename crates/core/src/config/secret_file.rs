//! Reads a secret from a file: all of it, or one value of an env file or of a JSON document.

use super::secret_error::SecretError;
use super::{env_file, files};
use serde_json::Value;
use std::io::Read;
use std::path::Path;

/// Maximum size of a key, in bytes.
pub(super) const MAX_SECRET: u64 = 64 * 1024;
/// Maximum size of a file of which one value is read, in bytes.
pub(super) const MAX_DOCUMENT: u64 = 1 << 20;

/// Returns the text of a file that only its owner can read.
pub(super) fn read_file(path: &Path) -> Result<String, SecretError> {
    read(path, MAX_SECRET, "64 KiB")
}

/// Returns one value of a file that only its owner can read: that of a JSON pointer (`/…`), else that of a variable.
pub(super) fn read_entry(path: &Path, entry: &str) -> Result<String, SecretError> {
    let text = read(path, MAX_DOCUMENT, "1 MiB")?;
    let failed = |why: String| SecretError::Entry {
        path: path.to_path_buf(),
        entry: entry.to_string(),
        why,
    };
    if !entry.starts_with('/') {
        let variables = env_file::variables(&text);
        let variable = variables.into_iter().rfind(|one| one.name == entry);
        let variable = variable
            .filter(|one| !one.value.is_empty())
            .ok_or_else(|| failed("it is not set there".into()))?;
        return match variable.is_literal {
            true => Ok(variable.value),
            false => Err(failed(
                "its value refers to another variable; name that one".into(),
            )),
        };
    }
    let document: Value = serde_json::from_str(text.strip_prefix('\u{feff}').unwrap_or(&text))
        .map_err(|e| failed(format!("the file is not JSON ({e})")))?;
    match document.pointer(entry) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(failed("it is not a text".into())),
        None => Err(failed("it is not there".into())),
    }
}

fn read(path: &Path, most: u64, most_shown: &str) -> Result<String, SecretError> {
    let failed = |e: std::io::Error| SecretError::File {
        path: path.to_path_buf(),
        why: e.to_string(),
    };
    let file = files::open(path).map_err(failed)?;
    // Check the open file, not the path, which could be swapped in between.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = file.metadata().map_err(failed)?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(SecretError::Exposed {
                path: path.to_path_buf(),
                mode,
            });
        }
    }
    let mut text = String::new();
    file.take(most + 1)
        .read_to_string(&mut text)
        .map_err(failed)?;
    match text.len() as u64 > most {
        true => Err(SecretError::File {
            path: path.to_path_buf(),
            why: format!("it is larger than {most_shown}"),
        }),
        false => Ok(text),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::config::SecretSource;
    use secrecy::ExposeSecret;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn one_value_of_a_file_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let (env, json) = (dir.path().join(".env"), dir.path().join("config.json"));
        let write = |path: &Path, text: &str| {
            std::fs::write(path, text).unwrap();
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
        };
        let read = |path: &Path, entry: &str| {
            SecretSource::Entry(path.to_path_buf(), entry.into()).resolve()
        };
        write(&env, "A=old\nexport A=\"canary-a\"\r\nB=${A}\nC=\n");
        assert_eq!(read(&env, "A").unwrap().expose_secret(), "canary-a");
        let place = format!("in the file {}", env.display());
        for (entry, why) in [
            ("B", "its value refers to another variable; name that one"),
            ("C", "it is not set there"),
            ("D", "it is not set there"),
        ] {
            let error = read(&env, entry).unwrap_err().to_string();
            assert_eq!(error, format!("cannot read {entry} {place}: {why}"));
        }
        write(
            &json,
            "\u{feff}{\"profiles\": {\"a/b\": {\"api_key\": \"canary-j\", \"n\": 1}}}",
        );
        assert_eq!(
            read(&json, "/profiles/a~1b/api_key")
                .unwrap()
                .expose_secret(),
            "canary-j"
        );
        assert!(
            read(&json, "/profiles/a~1b/n")
                .unwrap_err()
                .to_string()
                .ends_with("it is not a text")
        );
        assert!(
            read(&json, "/profiles/x/api_key")
                .unwrap_err()
                .to_string()
                .ends_with("it is not there")
        );
        write(&json, "{\"api_key\": \"canary-j\"");
        let error = read(&json, "/api_key").unwrap_err().to_string();
        assert!(
            error.contains("the file is not JSON (EOF while parsing") && !error.contains("canary"),
            "{error}"
        );
        // A file that others can read is refused, as a key file is.
        std::fs::set_permissions(&env, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(
            read(&env, "A").unwrap_err(),
            SecretError::Exposed { mode: 0o644, .. }
        ));
        write(&env, &format!("A=1\n{}", "#".repeat(1 << 20)));
        assert!(
            read(&env, "A")
                .unwrap_err()
                .to_string()
                .ends_with("it is larger than 1 MiB")
        );
    }
}
