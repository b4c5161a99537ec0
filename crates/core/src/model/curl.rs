//! A request as a command line for curl, with `$KEY` where the key would stand.

use crate::json;
use crate::secret::is_masked;
use serde_json::Value;

/// The placeholder of a key.
pub const KEY_PLACE: &str = "$KEY";
/// The placeholder of a bearer token.
pub const TOKEN_PLACE: &str = "Bearer $TOKEN";

/// A request without any secret in it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlainRequest {
    /// HTTP method.
    pub method: String,
    /// The whole address, query included.
    pub url: String,
    /// Headers beside those of the body; the values of secret ones are placeholders such as `$KEY`.
    pub headers: Vec<(String, String)>,
    /// The body, its secrets masked.
    pub body: Option<Value>,
}

impl PlainRequest {
    /// Returns the command. The shell inserts the key: `KEY=… ` before it, or exported. If secrets of the body are masked, the
    /// command is a comment, because it would send the masks.
    pub fn curl(&self) -> String {
        let mut words = vec!["curl -sS".to_string()];
        if self.method != "GET" {
            words.push(format!("-X {}", self.method));
        }
        words.push(quoted(&self.url));
        words.extend(self.headers.iter().map(|(name, value)| {
            match [KEY_PLACE, TOKEN_PLACE].contains(&value.as_str()) {
                // The shell puts these in.
                true => format!("-H \"{name}: {value}\""),
                false => format!("-H {}", quoted(&format!("{name}: {value}"))),
            }
        }));
        if let Some(body) = &self.body {
            words.push("-H 'Content-Type: application/json'".into());
            words.push(format!(
                "--data {}",
                quoted(&json::written(&body.to_string()))
            ));
        }
        let command = words.join(" \\\n  ");
        match self.body.as_ref().is_some_and(is_masked) {
            true => format!(
                "# Replace *** with the secrets, then remove the #.\n# {}",
                command.replace('\n', "\n# ")
            ),
            false => command,
        }
    }
}

/// Quotes a word for a POSIX shell.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn curl_command_is_quoted_for_the_shell() {
        let request = PlainRequest {
            method: "PATCH".into(),
            url: "https://h/v2/deployments/1?a=b&c=it's".into(),
            headers: vec![
                ("X-Api-Key".into(), "$KEY".into()),
                ("X-Tenant-Id".into(), "w $(id) 1".into()),
            ],
            body: Some(json!({"name": "it's $HOME `x`"})),
        };
        let echo = request.curl().replacen("curl", "printf '%s\\n'", 1);
        let output = std::process::Command::new("sh")
            .arg("-c")
            .arg(echo)
            .env("KEY", "k-1")
            .output()
            .unwrap();
        let output = String::from_utf8(output.stdout).unwrap();
        let words: Vec<&str> = output.lines().collect();
        let expected = [
            "-sS",
            "-X",
            "PATCH",
            "https://h/v2/deployments/1?a=b&c=it's",
            "-H",
            "X-Api-Key: k-1",
            "-H",
            "X-Tenant-Id: w $(id) 1",
            "-H",
            "Content-Type: application/json",
            "--data",
            r#"{"name":"it's $HOME `x`"}"#,
        ];
        assert_eq!(words, expected);
    }

    #[test]
    fn curl_command_with_masked_secrets_is_commented_out() {
        let request = PlainRequest {
            method: "PATCH".into(),
            url: "https://h/v2/deployments/1".into(),
            headers: vec![("X-Api-Key".into(), "$KEY".into())],
            body: Some(json!({"secrets": [{"name": "A", "value": "***"}]})),
        };
        let curl = request.curl();
        assert!(
            curl.contains("curl -sS") && curl.lines().all(|line| line.starts_with('#')),
            "{curl}"
        );
    }
}
