//! The authentication call of the control plane: an OAuth token of a third party for an agent (contract §2).

use super::{Extra, lenient};
use secrecy::SecretString;
use serde::{Deserialize, Deserializer, Serialize};

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

/// Answer of `POST /v2/auth/authenticate`. It is not written anywhere as a whole: the token would go with it.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct AuthAuthenticateResponse {
    /// `completed`, `pending`, `connection_required` or `token_expired`; open text all the same.
    #[serde(default, deserialize_with = "lenient")]
    pub status: String,
    /// Where a person has to go and agree.
    #[serde(default, deserialize_with = "lenient")]
    pub url: Option<String>,
    /// By which the flow is waited for.
    #[serde(default, deserialize_with = "lenient")]
    pub auth_id: Option<String>,
    /// The token. Never shown.
    #[serde(default, deserialize_with = "secret")]
    pub token: Option<SecretString>,
    /// The user that the token belongs to.
    #[serde(default, deserialize_with = "lenient")]
    pub user_id: Option<String>,
    /// Free-form notes.
    #[serde(default, deserialize_with = "lenient")]
    pub metadata: Option<Extra>,
}

fn secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SecretString>, D::Error> {
    let text: Option<String> = lenient(deserializer)?;
    Ok(text.map(SecretString::from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret;

    #[test]
    fn the_token_is_kept_and_not_shown() {
        let text = r#"{"status":"completed","token":"canary","url":null,"metadata":{"a":1},"novel":[]}"#;
        let answer: AuthAuthenticateResponse = serde_json::from_str(text).unwrap();
        assert_eq!(answer.token.as_ref().unwrap().expose_secret(), "canary");
        assert!(!format!("{answer:?}").contains("canary"));
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
