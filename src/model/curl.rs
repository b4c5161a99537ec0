//! A request as a command line for curl, with `$KEY` where the key would stand.

use serde_json::Value;

/// A request without any secret in it.
#[derive(Debug, Clone, PartialEq)]
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
    /// The command. The shell puts the key in: `KEY=… ` before it, or exported. Secrets of the body stay `***`, so a request
    /// that carries some has to be completed by hand.
    pub fn curl(&self) -> String {
        let mut words = vec!["curl -sS".to_string()];
        if self.method != "GET" {
            words.push(format!("-X {}", self.method));
        }
        words.push(quoted(&self.url));
        words.extend(self.headers.iter().map(|(name, value)| match value.contains('$') {
            // Placeholders are ours and need the shell.
            true => format!("-H \"{name}: {value}\""),
            false => format!("-H {}", quoted(&format!("{name}: {value}"))),
        }));
        if let Some(body) = &self.body {
            words.push("-H 'Content-Type: application/json'".into());
            words.push(format!("--data {}", quoted(&body.to_string())));
        }
        words.join(" \\\n  ")
    }
}

/// A word that a POSIX shell takes as it is.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_shell_reads_back_what_was_meant() {
        let request = PlainRequest {
            method: "PATCH".into(),
            url: "https://h/v2/deployments/1?a=b&c=it's".into(),
            headers: vec![("X-Api-Key".into(), "$KEY".into()), ("X-Tenant-Id".into(), "w 1".into())],
            body: Some(json!({"name": "it's $HOME `x`"})),
        };
        let echo = request.curl().replacen("curl", "printf '%s\\n'", 1);
        let told = std::process::Command::new("sh").arg("-c").arg(echo).env("KEY", "k-1").output().unwrap();
        let told = String::from_utf8(told.stdout).unwrap();
        let words: Vec<&str> = told.lines().collect();
        let expected = [
            "-sS",
            "-X",
            "PATCH",
            "https://h/v2/deployments/1?a=b&c=it's",
            "-H",
            "X-Api-Key: k-1",
            "-H",
            "X-Tenant-Id: w 1",
            "-H",
            "Content-Type: application/json",
            "--data",
            r#"{"name":"it's $HOME `x`"}"#,
        ];
        assert_eq!(words, expected);
    }
}
