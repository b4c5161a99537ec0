//! The auth service: OAuth providers and the user's tokens.
//!
//! Every region begins with four providers, one for each answer of `authenticate` (see [`TokenStore::new`]). A client secret is
//! taken and forgotten; a token's own text leaves only by `authenticate` and `wait`.

use super::ThisControl;
use super::query::{required, text};
use super::shape::{Field, Shape, body, may, must, null};
use super::{ControlServer, now};
use crate::http::{Handled, Refusal, bad, conflict, done, missing, ok, query_pairs};
use crate::ids::{before, iso_z, stable_hex, stable_uuid, uuid4};
use crate::values::{Object, object_of, text_of};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::Uri;
use axum::response::Response;
use axum::routing::{delete, get, post};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) const CREATE: &[Field] = &[
    must("provider_id", Shape::Text),
    must("name", Shape::Text),
    must("client_id", Shape::Text),
    null("client_secret", Shape::Text),
    must("auth_url", Shape::Text),
    must("token_url", Shape::Text),
    may("uses_pkce", Shape::Flag),
    may("code_challenge_method", Shape::Text),
    null(
        "provider_type",
        Shape::Word(&["microsoft", "salesforce", "slack"]),
    ),
    may(
        "token_endpoint_auth_method",
        Shape::Word(&["none", "client_secret_basic", "client_secret_post"]),
    ),
];
pub(super) const DISCOVER: &[Field] = &[
    must("provider_id", Shape::Text),
    must("name", Shape::Text),
    must("mcp_server_url", Shape::Text),
];
pub(super) const PATCH: &[Field] = &[
    null("name", Shape::Text),
    null("client_id", Shape::Text),
    null("client_secret", Shape::Text),
    null("auth_url", Shape::Text),
    null("token_url", Shape::Text),
    null("uses_pkce", Shape::Flag),
    null("code_challenge_method", Shape::Text),
];

/// A token of the user for a provider.
#[derive(Debug, Clone)]
pub struct Token {
    pub id: String,
    /// Whose it is.
    pub provider: String,
    /// The account's name.
    pub label: Option<String>,
    /// Its scopes.
    pub scopes: Value,
    /// When it expires.
    pub expires_at: Option<Timestamp>,
    /// Whether it is the default.
    pub is_default: bool,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl Token {
    /// A token that begins now.
    pub fn new(provider: &str, label: Option<String>, scopes: Value, is_default: bool) -> Self {
        let at = now();
        let (id, provider) = (uuid4(), provider.to_owned());
        Token {
            id,
            provider,
            label,
            scopes,
            expires_at: None,
            is_default,
            created_at: at,
            updated_at: at,
        }
    }

    /// The token itself.
    pub fn secret(&self) -> String {
        format!("simulated-{}", stable_hex(&self.id, 24))
    }

    /// Whether it can be used.
    pub fn lives(&self) -> bool {
        self.expires_at.is_none_or(|end| end > now())
    }

    /// Its public record.
    fn summary(&self) -> Value {
        json!({
            "id": self.id, "provider_id": self.provider, "provider_account_label": self.label, "scopes": self.scopes,
            "expires_at": self.expires_at.map(iso_z), "is_default": self.is_default,
            "created_at": iso_z(self.created_at), "updated_at": iso_z(self.updated_at),
        })
    }
}

/// A started sign-in.
#[derive(Debug)]
pub struct SignIn {
    pub provider: String,
    pub scopes: Value,
    pub is_default: bool,
    pub since: Timestamp,
    /// The resulting token.
    pub token: Option<String>,
}

/// The state of a region's auth service.
#[derive(Debug)]
pub struct TokenStore {
    /// The providers' public records.
    pub providers: Vec<Object>,
    /// The tokens of the only user.
    pub tokens: Vec<Token>,
    /// Started sign-ins.
    pub sign_ins: BTreeMap<String, SignIn>,
}

impl TokenStore {
    /// Four providers: `github` has a token (`completed`), `google` waits for authorization (`pending`), `slack` wants a
    /// connection of the whole workspace (`connection_required`), the token of `linear` has expired (`token_expired`).
    pub fn new() -> Self {
        let mut vault = TokenStore {
            providers: Vec::new(),
            tokens: Vec::new(),
            sign_ins: BTreeMap::new(),
        };
        for (id, name, host, kind) in [
            ("github", "GitHub", "github.com/login/oauth", Value::Null),
            (
                "google",
                "Google",
                "accounts.google.com/o/oauth2",
                Value::Null,
            ),
            ("slack", "Slack", "slack.com/oauth/v2", json!("slack")),
            ("linear", "Linear", "linear.app/oauth", Value::Null),
        ] {
            let provider = json!({
                "provider_id": id, "name": name, "client_id": stable_hex(id, 20), "provider_type": kind,
                "auth_url": format!("https://{host}/authorize"), "token_url": format!("https://{host}/token"),
                "uses_pkce": id == "google",
            });
            vault.providers.push(shown(&provider));
        }
        for (provider, label, scopes) in [
            ("github", "octo-lea", json!(["repo", "read:user"])),
            ("linear", "lea", json!(["read"])),
        ] {
            let mut token = Token::new(provider, Some(label.to_owned()), scopes, true);
            token.id = stable_uuid(&format!("token {provider}"));
            token.created_at = before(now(), 90.0 * 86_400.0);
            token.expires_at = (provider == "linear").then(|| before(now(), 3.0 * 86_400.0));
            vault.tokens.push(token);
        }
        vault
    }

    /// A provider that there is.
    pub fn provider(&self, id: &str) -> Result<&Object, Refusal> {
        self.providers
            .iter()
            .find(|one| one["provider_id"] == id)
            .ok_or_else(|| unknown("OAuth provider", id))
    }

    fn drop_tokens(&mut self, gone: impl Fn(&Token) -> bool) {
        self.tokens.retain(|token| !gone(token));
    }

    /// Adds a token, which may become its provider's default.
    pub fn add_token(&mut self, token: Token) {
        self.tokens.push(token);
        let last = self.tokens.len() - 1;
        if self.tokens[last].is_default {
            self.make_default(last);
        }
    }

    fn make_default(&mut self, chosen: usize) {
        let provider = self.tokens[chosen].provider.clone();
        for (n, token) in self
            .tokens
            .iter_mut()
            .enumerate()
            .filter(|(_, token)| token.provider == provider)
        {
            token.is_default = n == chosen;
        }
    }
}

fn unknown(what: &str, id: &str) -> Refusal {
    missing(&format!("{what} '{id}' not found"))
}

/// A provider's public record, without its client secret.
fn shown(asked: &Value) -> Object {
    let at = iso_z(now());
    let or = |key: &str, default: Value| {
        Some(&asked[key])
            .filter(|one| !one.is_null())
            .cloned()
            .unwrap_or(default)
    };
    let provider = json!({
        "id": uuid4(), "organization_id": stable_uuid("runtail demo organization"), "provider_id": asked["provider_id"],
        "name": asked["name"], "client_id": asked["client_id"], "auth_url": asked["auth_url"],
        "token_url": asked["token_url"], "uses_pkce": or("uses_pkce", json!(false)),
        "code_challenge_method": or("code_challenge_method", json!("S256")), "provider_type": asked["provider_type"],
        "mcp_server_url": asked["mcp_server_url"],
        "token_endpoint_auth_method": or("token_endpoint_auth_method", json!("client_secret_post")),
        "is_dynamic_client": !asked["mcp_server_url"].is_null(), "created_at": at, "updated_at": at,
    });
    object_of(&provider)
}

/// The routes of this group, without those of signing in.
pub fn routes() -> Router<Arc<ControlServer>> {
    Router::new()
        .route("/v2/auth/providers", get(providers).post(create))
        .route("/v2/auth/providers/mcp-discover", post(discover))
        .route(
            "/v2/auth/providers/{provider}",
            get(provider).patch(change).delete(remove),
        )
        .route("/v2/auth/tokens", get(tokens).delete(revoke))
        .route("/v2/auth/tokens/{token}", delete(forget))
}

async fn providers(State(plane): ThisControl) -> Response {
    ok(&json!(plane.vault().providers))
}

fn add_provider(plane: &ControlServer, asked: &Value) -> Handled {
    let id = text_of(&asked["provider_id"]);
    let mut vault = plane.vault();
    if vault.provider(id).is_ok() {
        return Err(conflict(&format!("OAuth provider '{id}' already exists")));
    }
    vault.providers.push(shown(asked));
    // 200, not 201, as the real one.
    Ok(ok(&json!(vault.providers.last())))
}

async fn create(State(plane): ThisControl, bytes: Bytes) -> Handled {
    let mut asked = body(&bytes, CREATE)?;
    asked["mcp_server_url"] = Value::Null;
    add_provider(&plane, &asked)
}

/// Reads an MCP server's metadata. Here every http address has some.
async fn discover(State(plane): ThisControl, bytes: Bytes) -> Handled {
    let mut asked = body(&bytes, DISCOVER)?;
    let address = asked["mcp_server_url"]
        .as_str()
        .and_then(|text| url::Url::parse(text).ok());
    let Some(address) = address.filter(|url| url.scheme().starts_with("http") && url.has_host())
    else {
        let text = "No OAuth metadata could be discovered at this MCP server URL";
        return Err(bad(text));
    };
    let origin = address.origin().ascii_serialization();
    asked["client_id"] = json!(format!("dyn-{}", stable_hex(&origin, 16)));
    asked["auth_url"] = json!(format!("{origin}/authorize"));
    asked["token_url"] = json!(format!("{origin}/token"));
    asked["uses_pkce"] = json!(true);
    asked["token_endpoint_auth_method"] = json!("none");
    asked["code_challenge_method"] = json!("S256");
    asked["provider_type"] = Value::Null;
    add_provider(&plane, &asked)
}

async fn provider(State(plane): ThisControl, Path(id): Path<String>) -> Handled {
    Ok(ok(&json!(plane.vault().provider(&id)?)))
}

async fn change(State(plane): ThisControl, Path(id): Path<String>, bytes: Bytes) -> Handled {
    let asked = body(&bytes, PATCH)?;
    let mut vault = plane.vault();
    let found = vault
        .providers
        .iter_mut()
        .find(|one| one["provider_id"] == id.as_str());
    let found = found.ok_or_else(|| unknown("OAuth provider", &id))?;
    for (key, value) in asked.as_object().into_iter().flatten() {
        if PATCH.iter().any(|field| field.name == key) && key != "client_secret" && !value.is_null()
        {
            found.insert(key.clone(), value.clone());
        }
    }
    found.insert("updated_at".into(), json!(iso_z(now())));
    Ok(ok(&json!(found)))
}

async fn remove(State(plane): ThisControl, Path(id): Path<String>) -> Handled {
    let mut vault = plane.vault();
    vault.provider(&id)?;
    vault
        .providers
        .retain(|one| one["provider_id"] != id.as_str());
    vault.drop_tokens(|token| token.provider == id);
    Ok(ok(
        &json!({"message": format!("OAuth provider '{id}' deleted successfully")}),
    ))
}

async fn tokens(State(plane): ThisControl, uri: Uri) -> Response {
    let pairs = query_pairs(&uri);
    let wanted = text(&pairs, "provider_id");
    let vault = plane.vault();
    let fits = |token: &&Token| wanted.is_none_or(|provider| token.provider == provider);
    ok(&json!(
        vault
            .tokens
            .iter()
            .filter(fits)
            .map(Token::summary)
            .collect::<Vec<_>>()
    ))
}

async fn revoke(State(plane): ThisControl, uri: Uri) -> Handled {
    let pairs = query_pairs(&uri);
    let provider = required(&pairs, "provider_id")?;
    plane
        .vault()
        .drop_tokens(|token| token.provider == provider);
    Ok(ok(
        &json!({"message": "OAuth tokens revoked", "provider_id": provider}),
    ))
}

async fn forget(State(plane): ThisControl, Path(id): Path<String>) -> Handled {
    let mut vault = plane.vault();
    if vault.tokens.iter().all(|token| token.id != id) {
        return Err(unknown("OAuth token", &id));
    }
    vault.drop_tokens(|token| token.id == id);
    Ok(done())
}
