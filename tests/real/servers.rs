//! The real servers that run.

use runtail_api::{AgentServer, Http, ServerKind};
use runtail_core::config::Profile;
use runtail_core::model::Assistant;
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

    /// Returns the id of the assistant that the server made for a graph. Other tests make more.
    pub async fn assistant(&self, graph: &str) -> String {
        let all = self.agent.assistants(100, 0).await.expect("a list").items;
        let own = |one: &Assistant| one.graph_id == graph && one.name.as_deref() == Some(graph);
        let found = all.into_iter().find(own);
        found.expect("its assistant").assistant_id
    }

    pub fn runtail(&self, args: impl Args) -> Done {
        run_at(&self.url, args)
    }

    pub async fn delete(&self, thread: &str) {
        self.agent.delete_thread(thread).await.expect("a deletion");
    }
}
