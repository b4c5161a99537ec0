//! What the first-run screen needs from outside: the simulated servers of the demo, and an agent server on this machine.

use crate::boxed;
use crate::session::first_run::LocalServer;
use futures::future::{BoxFuture, join_all};
use runtail_api::{AgentServer, Connections, Http, Journal};
use runtail_core::config::{Config, Profile};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// The ports on which agent servers usually listen: `langgraph dev`, `langgraph up`, Aegra.
pub const LOCAL_PORTS: [u16; 3] = [2024, 8123, 2026];
/// How long a server on this machine may take to respond.
const LOCAL_TIMEOUT: Duration = Duration::from_millis(300);
/// Maximum number of assistants that are counted.
const MAX_ASSISTANTS: usize = 1000;

type StartDemo = dyn Fn() -> BoxFuture<'static, Result<Config, String>> + Send + Sync;

/// Starts the simulated servers of the demo. The binary provides it, because the dashboard doesn't depend on the simulator.
#[derive(Clone, Default)]
pub struct Demo(Option<Arc<StartDemo>>);

impl Demo {
    /// Creates a demo from a function that starts the servers, keeps them running as long as it exists, and returns their
    /// configuration.
    pub fn new(
        start: impl Fn() -> BoxFuture<'static, Result<Config, String>> + Send + Sync + 'static,
    ) -> Demo {
        Demo(Some(Arc::new(start)))
    }

    /// Starts the servers and returns their configuration.
    pub(super) async fn start(&self) -> Result<Box<Config>, String> {
        match &self.0 {
            Some(start) => start().await.map(Box::new),
            None => Err("the demo can't start here; run `runtail --demo`".into()),
        }
    }
}

impl fmt::Debug for Demo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Demo")
    }
}

/// Asks the ports of this machine at once, and returns the first one in their order with a healthy agent server. No key is
/// sent.
#[boxed]
pub async fn find_local_server(ports: &[u16], connections: &Connections) -> Option<LocalServer> {
    let profile = Profile {
        name: "local".into(),
        only_local: true,
        ..Profile::default()
    };
    let http = Http::sharing(&profile, Journal::default(), connections.clone()).ok()?;
    let urls = ports
        .iter()
        .filter_map(|port| Url::parse(&format!("http://127.0.0.1:{port}")).ok());
    let found = join_all(urls.map(|url| probe(&http, url))).await;
    found.into_iter().flatten().next()
}

/// Returns the agent server at an address, if one responds in time.
async fn probe(http: &Http, url: Url) -> Option<LocalServer> {
    let server = AgentServer::new(http.clone(), url.clone());
    let is_up = tokio::time::timeout(LOCAL_TIMEOUT, server.is_up()).await;
    if !is_up.unwrap_or(false) {
        return None;
    }
    let assistants =
        tokio::time::timeout(LOCAL_TIMEOUT, server.assistants(MAX_ASSISTANTS, 0)).await;
    let assistants = assistants
        .ok()
        .and_then(Result::ok)
        .map(|assistants| assistants.items.len());
    Some(LocalServer {
        url: url.to_string(),
        assistants,
    })
}
