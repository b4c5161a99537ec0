//! The authentication call of the control plane: an OAuth token of a third party for an agent (contract §2).

use super::{Secrets, filled, mask_record};
use crate::catalog::{AUTHENTICATION, Field, Verb, template};
use crate::config::{ConfigError, Document, Format};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Body of `POST /v2/auth/authenticate`. What is missing is not sent, so the server's defaults apply.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct AuthAuthenticateRequest {
    pub fields: Map<String, Value>,
}

impl AuthAuthenticateRequest {
    /// Parses a document in the format of [`AuthAuthenticateRequest::example`].
    ///
    /// # Errors
    /// See [`Document::parse`].
    pub fn read(text: &str) -> Result<AuthAuthenticateRequest, ConfigError> {
        let Document { mut fields, .. } =
            Document::parse(text, Format::Toml, None, AUTHENTICATION)?;
        let given = |field: &Field| fields.remove_entry(field.name);
        Ok(AuthAuthenticateRequest {
            fields: AUTHENTICATION.iter().filter_map(given).collect(),
        })
    }

    /// Returns a template with every field.
    pub fn example(provider: &str) -> String {
        let given = json!({"provider": provider, "scopes": []});
        let head = "# Request a third-party token. Lines that start with # are not sent; the server's defaults apply.\n";
        head.to_string() + &template(AUTHENTICATION, Verb::Create, &given)
    }
}

/// The status of an authentication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthStatus {
    /// There is a token.
    Completed,
    /// Someone has to authorize at the provider.
    Pending,
    /// There is no usable connection.
    ConnectionRequired,
    /// The token has expired.
    TokenExpired,
    /// The wait call ended without authorization. Only that call returns it.
    Timeout,
    /// The server does not know the authentication. Only the wait call returns it.
    NotFound,
    /// An unknown word.
    Unknown,
}

impl AuthStatus {
    fn of(word: &str) -> AuthStatus {
        match word {
            "completed" => AuthStatus::Completed,
            "pending" => AuthStatus::Pending,
            "connection_required" => AuthStatus::ConnectionRequired,
            "token_expired" => AuthStatus::TokenExpired,
            "timeout" => AuthStatus::Timeout,
            "not_found" => AuthStatus::NotFound,
            _ => AuthStatus::Unknown,
        }
    }

    /// Returns its meaning in a sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            AuthStatus::Completed => "The connection is ready.",
            AuthStatus::Pending => "Open the link and authorize at the provider.",
            AuthStatus::ConnectionRequired => {
                "There is no usable connection: connect the user or the agent first."
            }
            AuthStatus::TokenExpired => "The token has expired and could not be renewed.",
            AuthStatus::Timeout => "Not authorized within the wait.",
            AuthStatus::NotFound => {
                "The server does not know this authentication: it has ended, or belongs to another workspace."
            }
            AuthStatus::Unknown => "Unknown status.",
        }
    }
}

/// A response of the authentication call or of the wait call (`AuthAuthenticateResponse`, `AuthWaitResponse`).
///
/// The token is removed when the response is parsed, because Runtail doesn't need it.
#[derive(Debug, Clone, PartialEq)]
pub struct AuthAnswer {
    /// The whole response, with the token masked everywhere.
    pub row: Value,
    /// Whether there was a token.
    pub has_token: bool,
}

impl AuthAnswer {
    /// Parses a response.
    pub fn new(mut row: Value) -> AuthAnswer {
        let token = filled(&row["token"]);
        if let Some(token) = &token {
            // From all fields, such as the link.
            Secrets::new([token.as_str()], MIN_TOKEN).take_out(&mut row);
        }
        mask_record(&mut row);
        AuthAnswer {
            row,
            has_token: token.is_some(),
        }
    }

    /// The status word as the server wrote it.
    pub fn word(&self) -> &str {
        self.row["status"].as_str().unwrap_or_default()
    }

    /// Returns its meaning.
    pub fn status(&self) -> AuthStatus {
        AuthStatus::of(self.word())
    }

    /// Returns the authorization link.
    pub fn url(&self) -> Option<&str> {
        self.row["url"].as_str().filter(|url| !url.is_empty())
    }

    /// Merges a later response for the same authentication; missing fields are kept.
    pub fn follow(&mut self, later: AuthAnswer) {
        self.has_token |= later.has_token;
        if let (Value::Object(fields), Value::Object(news)) = (&mut self.row, later.row) {
            fields.extend(news.into_iter().filter(|(_, value)| !value.is_null()));
        }
    }

    /// Returns the id for the wait call.
    pub fn auth_id(&self) -> Option<&str> {
        self.row["auth_id"].as_str().filter(|id| !id.is_empty())
    }
}

/// Minimum length, in bytes, of a token to search for in other texts.
const MIN_TOKEN: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tokens_are_removed_from_auth_responses() {
        let answer = AuthAnswer::new(
            json!({"status": "completed", "token": "canary-1", "url": "https://x/?t=canary-1",
            "metadata": {"note": ["canary-1"], "access_token": "canary-2"}, "user_id": "u", "novel": [1]}),
        );
        assert!(answer.has_token && answer.status() == AuthStatus::Completed);
        let shown = format!("{answer:?}{}", answer.row);
        assert!(!shown.contains("canary"), "{shown}");
        assert_eq!(answer.row["novel"], json!([1]), "unknown fields are kept");
        assert_eq!(answer.url(), Some("https://x/?t=***"));
    }

    #[test]
    fn every_auth_status_has_a_description() {
        let words = [
            "completed",
            "pending",
            "connection_required",
            "token_expired",
            "timeout",
            "not_found",
            "novel",
        ];
        let mut meanings: Vec<&str> = words
            .iter()
            .map(|word| AuthStatus::of(word).meaning())
            .collect();
        meanings.sort_unstable();
        meanings.dedup();
        assert_eq!(meanings.len(), words.len());
        let malformed =
            AuthAnswer::new(json!({"status": null, "token": null, "url": "", "auth_id": 3}));
        assert_eq!(
            (
                malformed.word(),
                malformed.status(),
                malformed.url(),
                malformed.auth_id()
            ),
            ("", AuthStatus::Unknown, None, None)
        );
        assert!(!malformed.has_token);
        assert_eq!(
            AuthAnswer::new(json!("pending")).word(),
            "",
            "a response that is not an object"
        );
    }

    #[test]
    fn authenticate_example_contains_every_field() {
        let example = AuthAuthenticateRequest::example("go\"ogle");
        let read = AuthAuthenticateRequest::read(&example).unwrap();
        assert_eq!(json!(read), json!({"provider": "go\"ogle", "scopes": []}));
        let uuid = "token_id = \"11111111-1111-4111-8111-111111111111\"";
        let all: String = example
            .lines()
            .skip(1)
            .map(|line| format!("{}\n", line.trim_start_matches("# ")))
            .collect();
        let all = AuthAuthenticateRequest::read(&all.replace("token_id = \"…\"", uuid)).unwrap();
        let names: Vec<&str> = AUTHENTICATION.iter().map(|field| field.name).collect();
        let written: Vec<&String> = all.fields.keys().collect();
        assert_eq!(written, names);
    }
}
