//! Signing in with a provider: `authenticate`, the wait, the provider's page, and the callbacks.

use super::ThisControl;
use super::auth::{SignIn, Token, TokenStore};
use super::query::whole;
use super::shape::{Field, Shape, body, may, must, null};
use super::{ControlServer, now};
use crate::http::{Handled, Refusal, bad, ok, query_pairs};
use crate::ids::{before, uuid4};
use crate::values::text_of;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Seconds after which an unvisited sign-in is completed automatically.
const BY_ITSELF: f64 = 15.0;
/// Seconds that a wait lasts at most.
const LONGEST: i64 = 300;

pub(super) const AUTHENTICATE: &[Field] = &[
    must("provider", Shape::Text),
    must("scopes", Shape::List(&Shape::Text)),
    null("user_id", Shape::Text),
    null("ls_user_id", Shape::Text),
    null("agent_id", Shape::Text),
    may("force_new", Shape::Flag),
    null("token_id", Shape::Uuid),
    null("redirect_uri", Shape::Text),
    may("is_default", Shape::Flag),
    may("use_agent_builder_public_oauth", Shape::Flag),
    may("check_only", Shape::Flag),
];
pub(super) const FINALIZE: &[Field] = &[must("code", Shape::Text), must("state", Shape::Text)];

impl TokenStore {
    /// Completes a sign-in by creating a token. Returns false if there is none with this id.
    fn complete(&mut self, id: &str) -> bool {
        let Some(sign_in) = self.sign_ins.get_mut(id) else {
            return false;
        };
        if sign_in.token.is_none() {
            let label = Some(format!("lea@{}", sign_in.provider));
            let token = Token::new(
                &sign_in.provider,
                label,
                sign_in.scopes.clone(),
                sign_in.is_default,
            );
            sign_in.token = Some(token.secret());
            self.add_token(token);
        }
        true
    }

    /// Completes those that are due.
    fn settle(&mut self, speed: f64) {
        let since = before(now(), BY_ITSELF / speed.max(1e-6));
        let due = self
            .sign_ins
            .iter()
            .filter(|(_, one)| one.token.is_none() && one.since <= since);
        for id in due.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            self.complete(&id);
        }
    }
}

/// The routes that need a key.
pub fn routes() -> Router<Arc<ControlServer>> {
    Router::new()
        .route("/v2/auth/authenticate", post(authenticate))
        .route("/v2/auth/wait/{id}", get(wait))
        .route(
            "/v2/auth/callback/{provider}",
            get(called_back).post(finalize),
        )
        .route("/v2/auth/setup/{provider}", get(called_back))
}

/// `POST /v2/auth/authenticate`. `check_only` begins nothing; `force_new` always does.
pub async fn authenticate(State(plane): ThisControl, bytes: Bytes) -> Handled {
    let asked = body(&bytes, AUTHENTICATE)?;
    begun(&plane, &asked)
}

fn begun(plane: &ControlServer, asked: &Value) -> Handled {
    let provider = text_of(&asked["provider"]);
    let mut vault = plane.vault();
    vault.settle(plane.speed);
    vault.provider(provider)?;
    let wanted = asked["token_id"].as_str();
    let mut tokens: Vec<&Token> = vault
        .tokens
        .iter()
        .filter(|token| token.provider == provider)
        .collect();
    tokens.retain(|token| wanted.is_none_or(|id| token.id.eq_ignore_ascii_case(id)));
    tokens.sort_by_key(|token| !token.is_default);
    let found = tokens.first().filter(|_| asked["force_new"] != true);
    let mut answer = json!({"status": "pending", "url": null, "auth_id": null, "token": null, "user_id": null, "metadata": null});
    match found {
        Some(token) if token.lives() => {
            answer["status"] = json!("completed");
            answer["token"] = json!(token.secret());
            answer["user_id"] = asked["user_id"].clone();
            answer["metadata"] =
                json!({"scopes": token.scopes, "provider_account_label": token.label});
        }
        Some(_) => answer["status"] = json!("token_expired"),
        // The workspace's own Slack connection is made by an administrator, elsewhere.
        None if asked["check_only"] == true
            || (provider == "slack" && asked["force_new"] != true) =>
        {
            answer["status"] = json!("connection_required");
        }
        None => {
            let id = uuid4();
            answer["url"] = json!(page_of(plane, provider, &id));
            answer["auth_id"] = json!(id);
            let sign_in = SignIn {
                provider: provider.to_owned(),
                scopes: asked["scopes"].clone(),
                is_default: asked["is_default"] != false,
                since: now(),
                token: None,
            };
            vault.sign_ins.insert(id, sign_in);
        }
    }
    Ok(ok(&answer))
}

/// The sign-in page.
fn page_of(plane: &ControlServer, provider: &str, id: &str) -> Option<String> {
    let mut page = url::Url::parse(&plane.url).ok()?;
    page.path_segments_mut()
        .ok()?
        .clear()
        .extend(["oauth", provider]);
    page.query_pairs_mut().append_pair("state", id);
    Some(page.to_string())
}

/// `GET /v2/auth/wait/{id}`: a long poll. The wait is scaled by the simulator's speed, but never longer than requested.
/// `pending` is the answer where no time was given to wait in.
async fn wait(State(plane): ThisControl, Path(id): Path<String>, uri: Uri) -> Handled {
    let seconds = whole(&query_pairs(&uri), "timeout", 30)?.clamp(0, LONGEST);
    let told =
        |status: &str, token: Option<&str>| Ok(ok(&json!({"status": status, "token": token})));
    let deadline =
        tokio::time::sleep(Duration::from_secs(seconds as u64).div_f64(plane.speed.max(1.0)));
    tokio::pin!(deadline);
    loop {
        // Registered first, so that a sign-in that completes in between is not missed.
        let signed = plane.signed.notified();
        let due = {
            let mut vault = plane.vault();
            vault.settle(plane.speed);
            match vault.sign_ins.get(&id) {
                None => return told("not_found", None),
                Some(SignIn {
                    token: Some(token), ..
                }) => return told("completed", Some(token)),
                Some(waiting) => waiting.since,
            }
        };
        if seconds == 0 {
            return told("pending", None);
        }
        let left = BY_ITSELF / plane.speed.max(1e-6) - now().duration_since(due).as_secs_f64();
        tokio::select! {
            () = signed => {}
            () = tokio::time::sleep(Duration::from_secs_f64(left.clamp(0.001, LONGEST as f64))) => {}
            () = &mut deadline => return told("timeout", None),
        }
    }
}

/// Completes a sign-in and wakes its waits.
fn complete(plane: &ControlServer, id: &str) -> Result<(), Refusal> {
    let done = plane.vault().complete(id);
    plane.signed.notify_waiters();
    if done {
        Ok(())
    } else {
        Err(bad("Invalid or expired state"))
    }
}

/// `GET /oauth/{provider}?state=…`: the provider's own page, where a visit is consent.
pub async fn consent(State(plane): ThisControl, uri: Uri) -> Response {
    let pairs = query_pairs(&uri);
    match complete(
        &plane,
        super::query::text(&pairs, "state").unwrap_or_default(),
    ) {
        Ok(()) => Html(
            "<!DOCTYPE html>\n<title>Signed in</title><p>Signed in. You may close this window.",
        )
        .into_response(),
        Err(_) => (
            StatusCode::NOT_FOUND,
            Html("<!DOCTYPE html>\n<title>Not found</title><p>This link has expired."),
        )
            .into_response(),
    }
}

/// `GET /v2/auth/callback/{provider}` and `…/setup/{provider}`: where a provider sends the browser back to.
async fn called_back(State(plane): ThisControl, Path(provider): Path<String>, uri: Uri) -> Handled {
    let pairs = query_pairs(&uri);
    let text = |name: &str| super::query::text(&pairs, name);
    whole(&pairs, "installation_id", 0)?;
    plane.vault().provider(&provider)?;
    if let Some(error) = text("error") {
        plane
            .vault()
            .sign_ins
            .remove(text("state").unwrap_or_default());
        plane.signed.notify_waiters();
        return Ok(ok(&json!({"status": "failed", "error": error})));
    }
    complete(&plane, text("state").unwrap_or_default())?;
    Ok(ok(&json!({"status": "completed"})))
}

/// `POST /v2/auth/callback/{provider}`: the same, called by the web application.
async fn finalize(
    State(plane): ThisControl,
    Path(provider): Path<String>,
    bytes: Bytes,
) -> Handled {
    let asked = body(&bytes, FINALIZE)?;
    plane.vault().provider(&provider)?;
    complete(&plane, text_of(&asked["state"]))?;
    Ok(ok(&json!({"status": "completed"})))
}
