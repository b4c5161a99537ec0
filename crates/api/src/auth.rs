//! The authentication call and the wait for authorization (contract §2 and §4, control-plane reference §2 "Auth
//! service").

use crate::prelude::*;
use runtail_core::backoff::Backoff;
use runtail_core::model::{AuthAnswer, AuthAuthenticateRequest, AuthStatus};
use tokio::time::Instant;

/// How long the server should hold one wait call; its own default.
const HOLD: Duration = Duration::from_secs(30);
/// How much longer its response may take, as in the vendor's SDK.
const GRACE: Duration = Duration::from_secs(10);
/// How long an active call may continue after the deadline.
const LATE: Duration = Duration::from_secs(1);
/// Minimum time between two wait calls, for servers that don't hold them.
const SHORTEST: Duration = Duration::from_secs(2);
/// Maximum pause after a temporary error.
const LONGEST: Duration = Duration::from_secs(20);

/// The result of a wait.
#[derive(Debug, Clone, PartialEq)]
pub enum AuthWaited {
    /// The server reported a final status.
    Ended(AuthAnswer),
    /// The deadline was reached; the link may still be valid.
    Deadline,
}

impl ControlPlane {
    /// Requests a third-party token. Sent once. A returned token is dropped at once.
    #[boxed]
    pub async fn authenticate(
        &self,
        request: &AuthAuthenticateRequest,
    ) -> Result<AuthAnswer, ApiError> {
        let body = Value::Object(request.fields.clone());
        let answer = self
            .send(
                Method::POST,
                &["v2", "auth", "authenticate"],
                Some(&body),
                &[200],
            )
            .await?;
        Ok(AuthAnswer::new(answer.json::<Value>()?))
    }

    /// Waits for the end of an authentication until the deadline, with as many wait calls as needed. Temporary errors are
    /// reported and retried.
    ///
    /// A `timeout` status means the end of one call, not of the link.
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
            let answer =
                tokio::time::timeout(left().saturating_add(LATE), self.auth_wait(auth_id, asked))
                    .await;
            let (pause, quiet) = match answer {
                Err(_) => return Ok(AuthWaited::Deadline),
                Ok(Ok(answer)) => {
                    failures = 0;
                    if !matches!(
                        answer.status(),
                        AuthStatus::Pending | AuthStatus::Timeout | AuthStatus::Unknown
                    ) {
                        return Ok(AuthWaited::Ended(answer));
                    }
                    (SHORTEST.saturating_sub(asked_at.elapsed()), Duration::ZERO)
                }
                Ok(Err(error)) if error.is_transient() => {
                    trouble(&error);
                    failures += 1;
                    let pause = Backoff {
                        base: SHORTEST,
                        cap: LONGEST,
                    }
                    .wait(failures, fastrand::f64())
                    .max(SHORTEST / 2);
                    (pause, error.quiet())
                }
                Ok(Err(error)) => return Err(error),
            };
            // The last call is made at the deadline itself.
            if left().is_zero() || quiet > left() {
                return Ok(AuthWaited::Deadline);
            }
            tokio::time::sleep(pause.max(quiet).min(left())).await;
        }
    }

    /// Makes one wait call, which the server holds.
    async fn auth_wait(&self, auth_id: &str, asked: Duration) -> Result<AuthAnswer, ApiError> {
        let mut url = self.url(&Method::GET, &["v2", "auth", "wait", auth_id])?;
        url.query_pairs_mut()
            .append_pair("timeout", &asked.as_secs().to_string());
        let call = Call {
            timeout: asked + GRACE,
            ..Call::new(Service::Control, Method::GET, url)
        };
        Ok(AuthAnswer::new(
            self.http.call(call).await?.json::<Value>()?,
        ))
    }
}
