//! The auth service: OAuth providers and the user's tokens.
//!
//! Every region begins with four providers, one for each answer of `authenticate` (see [`TokenStore::new`]). A client secret is
//! taken and forgotten; a token's own text leaves only by `authenticate` and `wait`.

use super::query::{body, required, text};
use super::{ControlServer, ThisControl};
use crate::prelude::*;
use std::collections::BTreeMap;

/// The fields of a provider that can be changed.
const CHANGEABLE: [&str; 6] = [
    "name",
    "client_id",
    "auth_url",
    "token_url",
    "uses_pkce",
    "code_challenge_method",
];

/// A token of the user for a provider.
#[derive(Debug, Clone)]
pub struct Token {
    pub id: String,
    /// Whose it is.
    pub provider: String,
    /// The account's name.
    pub label: String,
    pub scopes: Value,
    pub expires_at: Option<Timestamp>,
    pub is_default: bool,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl Token {
    /// A token that begins now.
    pub fn new(provider: &str, label: String, scopes: Value, is_default: bool) -> Self {
        let at = now();
        Token {
            id: uuid4(),
            provider: provider.to_owned(),
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
#[derive(Debug, Default)]
pub struct TokenStore {
    /// The providers' public records.
    providers: Vec<Value>,
    /// The tokens of the only user.
    pub tokens: Vec<Token>,
    /// Started sign-ins.
    pub sign_ins: BTreeMap<String, SignIn>,
}

impl TokenStore {
    /// Four providers: `github` has a token (`completed`), `google` waits for authorization (`pending`), `slack` wants a
    /// connection of the whole workspace (`connection_required`), the token of `linear` has expired (`token_expired`).
    pub fn new() -> Self {
        let mut vault = TokenStore::default();
        for (id, name, host) in [
            ("github", "GitHub", "github.com/login/oauth"),
            ("google", "Google", "accounts.google.com/o/oauth2"),
            ("slack", "Slack", "slack.com/oauth/v2"),
            ("linear", "Linear", "linear.app/oauth"),
        ] {
            vault.providers.push(shown(&json!({
                "provider_id": id, "name": name, "client_id": stable_hex(id, 20),
                "provider_type": (id == "slack").then_some(id), "auth_url": format!("https://{host}/authorize"),
                "token_url": format!("https://{host}/token"), "uses_pkce": id == "google",
            })));
        }
        for (provider, label, scopes) in [
            ("github", "octo-lea", json!(["repo", "read:user"])),
            ("linear", "lea", json!(["read"])),
        ] {
            let mut token = Token::new(provider, label.to_owned(), scopes, true);
            token.id = stable_uuid(&format!("token {provider}"));
            token.created_at = before(now(), 90.0 * 86_400.0);
            token.expires_at = (provider == "linear").then(|| before(now(), 3.0 * 86_400.0));
            vault.tokens.push(token);
        }
        vault
    }

    /// A provider that there is.
    pub fn provider(&mut self, id: &str) -> Result<&mut Value, Refusal> {
        let found = self
            .providers
            .iter_mut()
            .find(|one| one["provider_id"] == id);
        found.ok_or_else(|| unknown("OAuth provider", id))
    }

    fn add_provider(&mut self, asked: &Value) -> Handled {
        let id = text_of(&asked["provider_id"]);
        if self.provider(id).is_ok() {
            return Err(conflict(&format!("OAuth provider '{id}' already exists")));
        }
        let made = shown(asked);
        self.providers.push(made.clone());
        // 200, not 201, as the real one.
        Ok(ok(&made))
    }

    /// Adds a token, which may become its provider's default.
    pub fn add_token(&mut self, token: Token) {
        let others = self
            .tokens
            .iter_mut()
            .filter(|one| one.provider == token.provider);
        others.for_each(|one| one.is_default &= !token.is_default);
        self.tokens.push(token);
    }
}

fn unknown(what: &str, id: &str) -> Refusal {
    missing(&format!("{what} '{id}' not found"))
}

/// A provider's public record, without its client secret.
fn shown(asked: &Value) -> Value {
    let at = iso_z(now());
    let or = |key: &str, default: Value| match &asked[key] {
        Value::Null => default,
        given => given.clone(),
    };
    json!({
        "id": uuid4(), "organization_id": stable_uuid("runtail demo organization"), "provider_id": asked["provider_id"],
        "name": asked["name"], "client_id": asked["client_id"], "auth_url": asked["auth_url"],
        "token_url": asked["token_url"], "uses_pkce": or("uses_pkce", json!(false)),
        "code_challenge_method": or("code_challenge_method", json!("S256")), "provider_type": asked["provider_type"],
        "mcp_server_url": asked["mcp_server_url"],
        "token_endpoint_auth_method": or("token_endpoint_auth_method", json!("client_secret_post")),
        "is_dynamic_client": !asked["mcp_server_url"].is_null(), "created_at": at, "updated_at": at,
    })
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

async fn create(State(plane): ThisControl, bytes: Bytes) -> Handled {
    let required = ["provider_id", "name", "client_id", "auth_url", "token_url"];
    let mut asked = body(&bytes, &required)?;
    asked["mcp_server_url"] = Value::Null;
    plane.vault().add_provider(&asked)
}

/// Reads an MCP server's metadata. Here every http address has some.
async fn discover(State(plane): ThisControl, bytes: Bytes) -> Handled {
    let asked = body(&bytes, &["provider_id", "name", "mcp_server_url"])?;
    let address = &asked["mcp_server_url"];
    let url = url::Url::parse(text_of(address)).ok();
    let Some(url) = url.filter(|url| url.scheme().starts_with("http") && url.has_host()) else {
        return Err(bad(
            "No OAuth metadata could be discovered at this MCP server URL",
        ));
    };
    let origin = url.origin().ascii_serialization();
    plane.vault().add_provider(&json!({
        "provider_id": asked["provider_id"], "name": asked["name"], "mcp_server_url": address,
        "client_id": format!("dyn-{}", stable_hex(&origin, 16)), "auth_url": format!("{origin}/authorize"),
        "token_url": format!("{origin}/token"), "uses_pkce": true, "token_endpoint_auth_method": "none",
    }))
}

async fn provider(State(plane): ThisControl, Path(id): Path<String>) -> Handled {
    Ok(ok(plane.vault().provider(&id)?))
}

async fn change(State(plane): ThisControl, Path(id): Path<String>, bytes: Bytes) -> Handled {
    let asked = body(&bytes, &[])?;
    let mut vault = plane.vault();
    let found = vault.provider(&id)?;
    for key in CHANGEABLE.iter().filter(|key| !asked[**key].is_null()) {
        found[*key] = asked[*key].clone();
    }
    found["updated_at"] = json!(iso_z(now()));
    Ok(ok(found))
}

async fn remove(State(plane): ThisControl, Path(id): Path<String>) -> Handled {
    let mut vault = plane.vault();
    vault.provider(&id)?;
    vault
        .providers
        .retain(|one| one["provider_id"] != id.as_str());
    vault.tokens.retain(|token| token.provider != id);
    let text = format!("OAuth provider '{id}' deleted successfully");
    Ok(ok(&json!({"message": text})))
}

async fn tokens(State(plane): ThisControl, uri: Uri) -> Response {
    let pairs = query_pairs(&uri);
    let fits = |token: &&Token| text(&pairs, "provider_id").is_none_or(|one| token.provider == one);
    let vault = plane.vault();
    ok(&vault
        .tokens
        .iter()
        .filter(fits)
        .map(Token::summary)
        .collect())
}

async fn revoke(State(plane): ThisControl, uri: Uri) -> Handled {
    let pairs = query_pairs(&uri);
    let provider = required(&pairs, "provider_id")?;
    plane
        .vault()
        .tokens
        .retain(|token| token.provider != provider);
    Ok(ok(
        &json!({"message": "OAuth tokens revoked", "provider_id": provider}),
    ))
}

async fn forget(State(plane): ThisControl, Path(id): Path<String>) -> Handled {
    let mut vault = plane.vault();
    let count = vault.tokens.len();
    vault.tokens.retain(|token| token.id != id);
    match vault.tokens.len() == count {
        true => Err(unknown("OAuth token", &id)),
        false => Ok(done()),
    }
}
