//! The real servers that run.

use runtail_api::{AgentServer, Http, ServerKind};
use runtail_core::config::Profile;
use runtail_testkit::process::{Args, Done, run_at};
use runtail_testkit::server;

/// One of the servers.
pub struct Real {
    pub url: String,
    pub agent: AgentServer,
    pub kind: ServerKind,
    /// A metadata value that only the threads of one test have.
    pub mark: String,
}

impl Real {
    pub async fn all() -> Vec<Real> {
        let mut all = Vec::new();
        for url in server::all_urls() {
            let http = Http::new(&Profile::default()).expect("a client");
            let agent = AgentServer::new(http, url.parse().expect("an address"));
            let kind = agent.info().await.expect("a server").kind;
            let mark = uuid::Uuid::new_v4().to_string();
            all.push(Real {
                url,
                agent,
                kind,
                mark,
            });
        }
        all
    }

    pub fn runtail(&self, args: impl Args) -> Done {
        run_at(&self.url, args)
    }

    pub async fn delete(&self, thread: &str) {
        self.agent.delete_thread(thread).await.expect("a deletion");
    }
}
