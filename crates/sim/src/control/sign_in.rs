//! Signing in with a provider: `authenticate`, the wait, and the provider's page.

use super::auth::{SignIn, Token, TokenStore};
use super::query::body;
use super::{ControlServer, ThisControl};
use crate::prelude::*;
use axum::response::Html;

/// Seconds after which an unvisited sign-in is completed automatically.
const BY_ITSELF: f64 = 15.0;
/// Seconds that a wait lasts at most.
const LONGEST: f64 = 300.0;

impl TokenStore {
    /// Completes a sign-in by creating a token. Returns false if there is none with this id.
    fn complete(&mut self, id: &str) -> bool {
        let Some(sign_in) = self.sign_ins.get_mut(id) else {
            return false;
        };
        if sign_in.token.is_none() {
            let label = format!("lea@{}", sign_in.provider);
            let scopes = sign_in.scopes.clone();
            let token = Token::new(&sign_in.provider, label, scopes, sign_in.is_default);
            sign_in.token = Some(token.secret());
            self.add_token(token);
        }
        true
    }

    /// Completes those that are due.
    fn settle(&mut self, speed: f64) {
        let since = before(now(), BY_ITSELF / speed);
        let due = self.sign_ins.iter().filter(|(_, one)| one.since <= since);
        for id in due.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            self.complete(&id);
        }
    }
}

/// `POST /v2/auth/authenticate`. `check_only` begins nothing; `force_new` always does.
pub async fn authenticate(State(plane): ThisControl, bytes: Bytes) -> Handled {
    let asked = body(&bytes, &["provider", "scopes"])?;
    let provider = text_of(&asked["provider"]);
    let mut vault = plane.vault();
    vault.settle(plane.speed);
    vault.provider(provider)?;
    let wanted = asked["token_id"].as_str();
    let fits = |token: &&Token| {
        token.provider == provider && wanted.is_none_or(|id| token.id.eq_ignore_ascii_case(id))
    };
    let found = vault
        .tokens
        .iter()
        .filter(fits)
        .min_by_key(|token| !token.is_default);
    let is_new = asked["force_new"] == true;
    let mut answer = json!({"status": "pending", "url": null, "auth_id": null, "token": null, "user_id": null, "metadata": null});
    match found.filter(|_| !is_new) {
        Some(token) if token.lives() => {
            answer["status"] = json!("completed");
            answer["token"] = json!(token.secret());
            answer["user_id"] = asked["user_id"].clone();
            answer["metadata"] =
                json!({"scopes": token.scopes, "provider_account_label": token.label});
        }
        Some(_) => answer["status"] = json!("token_expired"),
        // The workspace's own Slack connection is made by an administrator, elsewhere.
        None if asked["check_only"] == true || (provider == "slack" && !is_new) => {
            answer["status"] = json!("connection_required");
        }
        None => {
            let id = uuid4();
            answer["url"] = json!(page_of(&plane, provider, &id));
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
pub async fn wait(State(plane): ThisControl, Path(id): Path<String>, uri: Uri) -> Response {
    let pairs = query_pairs(&uri);
    let asked = last_of(&pairs, "timeout").and_then(|text| text.parse().ok());
    let seconds = asked.unwrap_or(30.0_f64).clamp(0.0, LONGEST);
    let told = |status: &str, token: Option<&str>| ok(&json!({"status": status, "token": token}));
    let deadline = tokio::time::sleep(Duration::from_secs_f64(seconds / plane.speed.max(1.0)));
    tokio::pin!(deadline);
    loop {
        // Registered first, so that a sign-in that completes in between is not missed.
        let signed = plane.signed.notified();
        let since = {
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
        if seconds == 0.0 {
            return told("pending", None);
        }
        let left = BY_ITSELF / plane.speed - now().duration_since(since).as_secs_f64();
        tokio::select! {
            () = signed => {}
            () = tokio::time::sleep(Duration::from_secs_f64(left.clamp(0.001, LONGEST))) => {}
            () = &mut deadline => return told("timeout", None),
        }
    }
}

/// `GET /oauth/{provider}?state=…`: the provider's own page, where a visit is consent.
pub async fn consent(State(plane): ThisControl, uri: Uri) -> Response {
    let pairs = query_pairs(&uri);
    let found = plane
        .vault()
        .complete(last_of(&pairs, "state").unwrap_or_default());
    plane.signed.notify_waiters();
    let (status, title, text) = match found {
        true => (
            StatusCode::OK,
            "Signed in",
            "Signed in. You may close this window.",
        ),
        false => (StatusCode::NOT_FOUND, "Not found", "This link has expired."),
    };
    let page = format!("<!DOCTYPE html>\n<title>{title}</title><p>{text}");
    (status, Html(page)).into_response()
}
