//! The authentication call and the wait for a person to agree (contract §2 and §4, control-plane reference §2 "Auth
//! service").

use super::answer::Plane;
use super::http::{Call, MAX_BODY};
use super::{ApiError, ControlPlane, Retry};
use reqwest::Method;
use runtail_core::backoff::Backoff;
use runtail_core::model::{AuthAnswer, AuthAuthenticateRequest, AuthStatus};
use serde_json::Value;
use std::time::Duration;
use tokio::time::Instant;

/// How long one wait call is asked to hold; the server's own default.
const HOLD: Duration = Duration::from_secs(30);
/// How much longer its answer may take, as in the vendor's SDK.
const GRACE: Duration = Duration::from_secs(10);
/// How much longer than there is time a call that is under way may bring what was waited for.
const LATE: Duration = Duration::from_secs(1);
/// Shortest time between two wait calls, for servers that do not hold them.
const SHORTEST: Duration = Duration::from_secs(2);
/// Longest pause after a failure that may pass.
const LONGEST: Duration = Duration::from_secs(20);

/// How a wait ended.
#[derive(Debug, Clone, PartialEq)]
pub enum AuthWaited {
    /// The server said so.
    Ended(AuthAnswer),
    /// The time that there was is over; the link may still be good.
    Deadline,
}

impl ControlPlane {
    /// Asks for a token of a third party. Sent once. The token that may come is let go at once.
    pub async fn authenticate(&self, body: &AuthAuthenticateRequest) -> Result<AuthAnswer, ApiError> {
        let body = serde_json::to_value(body).map_err(|e| {
            let at = self.http.place(&Method::POST, &self.base);
            self.http.refuse(&at, e.to_string(), None)
        })?;
        let answer = self.send(Method::POST, &["v2", "auth", "authenticate"], Some(&body), &[200]).await?;
        Ok(AuthAnswer::new(answer.json::<Value>()?))
    }

    /// Waits for the end of an authentication for so long, by as many wait calls as it takes. Failures that may pass are
    /// told and survived.
    ///
    /// A `timeout` is the end of one call, whatever the server holds it for, and not of the link.
    pub async fn wait_for_auth(
        &self,
        auth_id: &str,
        patience: Duration,
        mut trouble: impl FnMut(&ApiError),
    ) -> Result<AuthWaited, ApiError> {
        let began = Instant::now();
        let left = || patience.saturating_sub(began.elapsed());
        let mut failures = 0;
        loop {
            let asked = left().min(HOLD).max(Duration::from_secs(1));
            let asked_at = Instant::now();
            let answer = tokio::time::timeout(left().saturating_add(LATE), self.auth_wait(auth_id, asked)).await;
            let (pause, quiet) = match answer {
                Err(_) => return Ok(AuthWaited::Deadline),
                Ok(Ok(answer)) => {
                    failures = 0;
                    if !matches!(answer.status(), AuthStatus::Pending | AuthStatus::Timeout | AuthStatus::Unknown) {
                        return Ok(AuthWaited::Ended(answer));
                    }
                    (SHORTEST.saturating_sub(asked_at.elapsed()), Duration::ZERO)
                }
                Ok(Err(error)) if error.is_transient() => {
                    trouble(&error);
                    failures += 1;
                    let pause =
                        Backoff { base: SHORTEST, cap: LONGEST }.wait(failures, fastrand::f64()).max(SHORTEST / 2);
                    (pause, error.quiet())
                }
                Ok(Err(error)) => return Err(error),
            };
            // The last question is asked at the deadline itself.
            if left().is_zero() || quiet > left() {
                return Ok(AuthWaited::Deadline);
            }
            tokio::time::sleep(pause.max(quiet).min(left())).await;
        }
    }

    /// One wait call, held by the server for as long as asked.
    async fn auth_wait(&self, auth_id: &str, asked: Duration) -> Result<AuthAnswer, ApiError> {
        let mut url = self.url(&Method::GET, &["v2", "auth", "wait", auth_id])?;
        url.query_pairs_mut().append_pair("timeout", &asked.as_secs().to_string());
        let call = Call {
            plane: Plane::Control,
            method: Method::GET,
            url,
            body: None,
            about: None,
            expect: &[200],
            is_list: false,
            reads: true,
            // Failures are told and survived above.
            retry: Retry::NONE,
            timeout: asked + GRACE,
            max_body: MAX_BODY,
        };
        Ok(AuthAnswer::new(self.http.call(call).await?.json::<Value>()?))
    }
}
