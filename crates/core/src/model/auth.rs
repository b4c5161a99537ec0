//! The authentication call of the control plane: an OAuth token of a third party for an agent (contract §2).

use super::{Secrets, mask_record};
use crate::config::{ConfigError, Document, Field, Form, Format};
use serde::{Deserialize, Serialize};
use serde_json::Value;

const FIELDS: &[Field] = &[
    Field::new("provider", Form::Text).needed(),
    Field::new("scopes", Form::Texts).needed(),
    Field::new("user_id", Form::Text),
    Field::new("ls_user_id", Form::Text),
    Field::new("agent_id", Form::Text),
    Field::new("force_new", Form::Bool),
    Field::new("token_id", Form::Uuid),
    Field::new("redirect_uri", Form::Text),
    Field::new("is_default", Form::Bool),
    Field::new("use_agent_builder_public_oauth", Form::Bool),
    Field::new("check_only", Form::Bool),
];

/// Body of `POST /v2/auth/authenticate`. What is `None` is left out, so that the server's defaults hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AuthAuthenticateRequest {
    /// The provider, by its slug.
    pub provider: String,
    /// The scopes asked for.
    pub scopes: Vec<String>,
    /// The user, as the caller names them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
    /// The user, as the service names them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ls_user_id: Option<String>,
    /// The agent that the token is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Ask anew even where a token exists. The server's default is false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force_new: Option<bool>,
    /// One token among several (a UUID).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_id: Option<String>,
    /// Where the browser goes afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect_uri: Option<String>,
    /// Whether the token becomes the default one. The server's default is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_default: Option<bool>,
    /// Not in the published schema. The server's default is false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub use_agent_builder_public_oauth: Option<bool>,
    /// Not in the published schema. The server's default is false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_only: Option<bool>,
}

impl AuthAuthenticateRequest {
    /// Reads a document, as [`AuthAuthenticateRequest::example`] writes it.
    ///
    /// # Errors
    /// See [`Document::parse`].
    pub fn read(text: &str) -> Result<AuthAuthenticateRequest, ConfigError> {
        let document = Document::parse(text, Format::Toml, None, FIELDS)?;
        serde_json::from_value(document.fields.into()).map_err(|e| ConfigError::new(e.to_string()))
    }

    /// A document with every field, to be filled in.
    pub fn example(provider: &str) -> String {
        let provider = Value::from(provider);
        format!(
            "# Ask for a token of a third party. What stays behind a # is not sent, and the server's default holds.\n\
             provider = {provider}\n\
             scopes = []\n\
             # user_id = \"…\"          # the user, as you name them\n\
             # ls_user_id = \"…\"       # the user, as LangSmith names them\n\
             # agent_id = \"…\"         # the agent that the token is for\n\
             # force_new = true         # ask anew even where a token exists\n\
             # token_id = \"…\"         # one token among several (a UUID)\n\
             # redirect_uri = \"…\"     # where the browser goes afterwards\n\
             # is_default = false       # whether the token becomes the default one\n\
             # check_only = true        # only look, begin nothing (not in the published schema)\n\
             # use_agent_builder_public_oauth = true    # (not in the published schema)\n"
        )
    }
}

/// How far an authentication is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthStatus {
    /// The token is there.
    Completed,
    /// Somebody has to agree at the provider's.
    Pending,
    /// There is no connection that may be used.
    ConnectionRequired,
    /// The token that was there is over.
    TokenExpired,
    /// The wait call ended before anybody agreed. Only that call says so.
    Timeout,
    /// The server does not know what was waited for. Only the wait call says so.
    NotFound,
    /// A word that Runtail does not know.
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

    /// What it means, in a sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            AuthStatus::Completed => "The connection is there and can be used.",
            AuthStatus::Pending => "Somebody has to open the link and agree at the provider's.",
            AuthStatus::ConnectionRequired => {
                "There is no connection that may be used: the user, or the agent, has to be connected first."
            }
            AuthStatus::TokenExpired => "The token that was there has expired, and could not be renewed.",
            AuthStatus::Timeout => "Nobody agreed while it was waited for.",
            AuthStatus::NotFound => {
                "The server knows nothing of this authentication: it is over, or of another workspace."
            }
            AuthStatus::Unknown => "This is not a status that Runtail knows.",
        }
    }
}

/// An answer of the authentication call, or of the one that waits for it (`AuthAuthenticateResponse`, `AuthWaitResponse`).
///
/// The token is taken out as the answer is read: nothing in Runtail needs it, so nothing can show it.
#[derive(Debug, Clone, PartialEq)]
pub struct AuthAnswer {
    /// All that the server said, the token masked wherever it stands.
    pub row: Value,
    /// Whether a token came.
    pub has_token: bool,
}

impl AuthAnswer {
    /// Takes an answer as it came.
    pub fn new(mut row: Value) -> AuthAnswer {
        let token = row["token"].as_str().filter(|token| !token.is_empty()).map(str::to_string);
        if let Some(token) = &token {
            // Also out of fields that are never looked into otherwise, such as the link.
            let secret = Secrets::new([token.as_str()], MIN_TOKEN);
            map_texts(&mut row, &|text| secret.scrub(text));
        }
        mask_record(&mut row);
        AuthAnswer { row, has_token: token.is_some() }
    }

    /// The status word as the server wrote it.
    pub fn word(&self) -> &str {
        self.row["status"].as_str().unwrap_or_default()
    }

    /// What it stands for.
    pub fn status(&self) -> AuthStatus {
        AuthStatus::of(self.word())
    }

    /// Where a person has to go and agree.
    pub fn url(&self) -> Option<&str> {
        self.row["url"].as_str().filter(|url| !url.is_empty())
    }

    /// Takes what was said later of the same authentication; what is left out there stays as it was.
    pub fn follow(&mut self, later: AuthAnswer) {
        self.has_token |= later.has_token;
        if let (Value::Object(fields), Value::Object(news)) = (&mut self.row, later.row) {
            fields.extend(news.into_iter().filter(|(_, value)| !value.is_null()));
        }
    }

    /// By which it is waited for.
    pub fn auth_id(&self) -> Option<&str> {
        self.row["auth_id"].as_str().filter(|id| !id.is_empty())
    }
}

/// Shortest token that is looked for in other texts, in bytes.
const MIN_TOKEN: usize = 6;

fn map_texts(value: &mut Value, change: &impl Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| map_texts(item, change)),
        Value::Object(fields) => fields.iter_mut().for_each(|(_, value)| map_texts(value, change)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_token_goes_no_further_than_the_answer() {
        let answer =
            AuthAnswer::new(json!({"status": "completed", "token": "canary-1", "url": "https://x/?t=canary-1",
            "metadata": {"note": ["canary-1"], "access_token": "canary-2"}, "user_id": "u", "novel": [1]}));
        assert!(answer.has_token && answer.status() == AuthStatus::Completed);
        let shown = format!("{answer:?}{}", answer.row);
        assert!(!shown.contains("canary"), "{shown}");
        assert_eq!(answer.row["novel"], json!([1]), "what is not known is kept");
        assert_eq!(answer.url(), Some("https://x/?t=***"));
    }

    #[test]
    fn every_status_has_its_own_words() {
        let words = ["completed", "pending", "connection_required", "token_expired", "timeout", "not_found", "novel"];
        let mut meanings: Vec<&str> = words.iter().map(|word| AuthStatus::of(word).meaning()).collect();
        meanings.sort_unstable();
        meanings.dedup();
        assert_eq!(meanings.len(), words.len());
        let odd = AuthAnswer::new(json!({"status": null, "token": null, "url": "", "auth_id": 3}));
        assert_eq!((odd.word(), odd.status(), odd.url(), odd.auth_id()), ("", AuthStatus::Unknown, None, None));
        assert!(!odd.has_token);
        assert_eq!(AuthAnswer::new(json!("pending")).word(), "", "an answer that is no object");
    }

    #[test]
    fn a_document_holds_every_field() {
        let example = AuthAuthenticateRequest::example("go\"ogle");
        let read = AuthAuthenticateRequest::read(&example).unwrap();
        assert_eq!((read.provider.as_str(), read.scopes.len(), read.force_new), ("go\"ogle", 0, None));
        let uuid = "token_id = \"11111111-1111-4111-8111-111111111111\"";
        let all: String = example.lines().skip(1).map(|line| format!("{}\n", line.trim_start_matches("# "))).collect();
        let all = AuthAuthenticateRequest::read(&all.replace("token_id = \"…\"", uuid)).unwrap();
        let Value::Object(written) = serde_json::to_value(all).unwrap() else { panic!() };
        assert!(FIELDS.iter().all(|field| written.contains_key(field.name)), "{written:?}");
        assert_eq!(written.len(), FIELDS.len());
    }

    #[test]
    fn defaults_are_the_servers() {
        let body = AuthAuthenticateRequest {
            provider: "github".into(),
            scopes: vec!["repo".into()],
            ..AuthAuthenticateRequest::default()
        };
        assert_eq!(serde_json::to_string(&body).unwrap(), r#"{"provider":"github","scopes":["repo"]}"#);
    }
}
