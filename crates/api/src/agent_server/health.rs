//! The health of an agent server and the load of its queue: `GET /ok` or `/health`, and `GET /metrics?format=json`. Both are
//! optional; a server that has answered that it lacks one is not asked for it again.

use crate::prelude::*;

/// The calls that report whether a server is healthy: that of Python and JavaScript, and that of Aegra.
const HEALTH_CALLS: [&str; 2] = ["ok", "health"];

/// What a server reports about its health.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ServerHealth {
    /// Whether it says that it is healthy; `None` if it has no such call.
    pub is_healthy: Option<bool>,
    /// Its queue; `None` if it doesn't report it.
    pub load: Option<ServerLoad>,
}

impl ServerHealth {
    /// Returns whether it reports anything.
    pub fn is_offered(&self) -> bool {
        self.is_healthy.is_some() || self.load.is_some()
    }
}

/// The queue of a server. Numbers that the server doesn't send are `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ServerLoad {
    /// Runs that wait.
    pub pending: Option<u64>,
    /// Runs that are executed.
    pub running: Option<u64>,
    /// How long the oldest pending run has waited.
    pub oldest: Option<Duration>,
    /// Workers that execute a run, and all.
    pub workers: Option<(u64, u64)>,
}

impl ServerLoad {
    /// Reads a response; `None` if it has no numbers of a queue or of workers.
    fn read(metrics: &Value) -> Option<ServerLoad> {
        let queue = &metrics["queue"];
        let seconds = queue["pending_runs_wait_time_max_secs"].as_f64();
        let workers = &metrics["workers"];
        let load = ServerLoad {
            pending: queue["n_pending"].as_u64(),
            running: queue["n_running"].as_u64(),
            oldest: seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            workers: workers["active"].as_u64().zip(workers["max"].as_u64()),
        };
        (load != ServerLoad::default()).then_some(load)
    }
}

impl AgentServer {
    /// Returns what the server reports about its health and its queue.
    ///
    /// # Errors
    /// Fails if the server can't be reached or doesn't respond in time.
    #[boxed]
    pub async fn health(&self) -> Result<ServerHealth, ApiError> {
        Ok(ServerHealth {
            is_healthy: self.reported_health().await?,
            load: self.load().await?,
        })
    }

    /// Checks that the server answers, with any status.
    ///
    /// # Errors
    /// Fails if it can't be reached or doesn't respond in time.
    #[boxed]
    pub async fn check_answers(&self) -> Result<(), ApiError> {
        match self.get(&["runs", "stream"], &[]).await {
            Err(error) if is_fatal(&error) && error.is_transient() => Err(error),
            _ => Ok(()),
        }
    }

    async fn reported_health(&self) -> Result<Option<bool>, ApiError> {
        for path in HEALTH_CALLS {
            match self.reported(path, &[]).await {
                Ok(said) => match (&said["ok"], &said["status"]) {
                    (Value::Bool(is_healthy), _) => return Ok(Some(*is_healthy)),
                    (_, Value::String(status)) => {
                        return Ok(Some(matches!(&**status, "healthy" | "ok")));
                    }
                    _ => self.note_unusable(path),
                },
                // The call exists and fails.
                Err(error) if matches!(error.kind, Kind::Server(code) if code != 501) => {
                    return Ok(Some(false));
                }
                Err(error) if is_fatal(&error) => return Err(error),
                Err(_) => {}
            }
        }
        Ok(None)
    }

    async fn load(&self) -> Result<Option<ServerLoad>, ApiError> {
        match self
            .reported("metrics", &[("format", "json".to_string())])
            .await
        {
            Ok(metrics) => {
                let load = ServerLoad::read(&metrics);
                if load.is_none() {
                    self.note_unusable("metrics");
                }
                Ok(load)
            }
            Err(error) if is_fatal(&error) => Err(error),
            // Another answer, text of Prometheus, or not allowed: nothing to show.
            Err(_) => Ok(None),
        }
    }

    /// Asks an optional call. An answer that will not become another one is remembered.
    async fn reported(
        &self,
        path: &'static str,
        query: &[(&str, String)],
    ) -> Result<Value, ApiError> {
        let answer = self
            .get(&[path], query)
            .await
            .and_then(|answer| answer.json::<Value>());
        if let Err(error) = &answer
            && !is_fatal(error)
            && !matches!(error.kind, Kind::Server(_))
        {
            self.quirks
                .note_missing(&format!("GET {path}"), error.clone());
        }
        answer
    }

    fn note_unusable(&self, path: &str) {
        let error = self.http.refuse(
            &self.http.place(&Method::GET, &self.base),
            "an unknown answer".into(),
            None,
        );
        self.quirks.note_missing(
            &format!("GET {path}"),
            ApiError {
                kind: Kind::NotOffered,
                ..error
            },
        );
    }
}

/// Returns whether an error says nothing about what the server offers.
fn is_fatal(error: &ApiError) -> bool {
    matches!(
        error.kind,
        Kind::NoConnection
            | Kind::Network
            | Kind::Timeout
            | Kind::Refused
            | Kind::NoKey
            | Kind::RateLimited(_)
            | Kind::Unauthorized
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_that_a_server_does_not_send_are_unknown() {
        // As langgraph-api 0.16.7 sends it while a run waits.
        let real = json!({"queue": {"n_pending": 1, "n_running": 1, "pending_runs_wait_time_max_secs": 1.017083,
            "pending_runs_wait_time_med_secs": 1.017083, "pending_unblocked_runs_wait_time_max_secs": null},
            "api": {"http_requests_total": []}, "workers": {"max": 10, "active": 1, "available": 9}});
        let load = ServerLoad::read(&real).unwrap();
        assert_eq!(
            (load.pending, load.running, load.workers),
            (Some(1), Some(1), Some((1, 10)))
        );
        assert_eq!(load.oldest.unwrap().as_millis(), 1017);
        let some = json!({"queue": {"n_running": 0, "pending_runs_wait_time_max_secs": -1}, "workers": {"max": 10}});
        assert_eq!(
            ServerLoad::read(&some),
            Some(ServerLoad {
                running: Some(0),
                ..ServerLoad::default()
            })
        );
        for other in [json!({}), json!(null), json!([1]), json!({"queue": "none"})] {
            assert_eq!(ServerLoad::read(&other), None);
        }
    }
}
