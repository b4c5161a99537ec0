//! Drives the simulator over HTTP, as a client would, and compares it with the observed behavior of the real servers.
//!
//! No test here sleeps: a run that must pause waits for a gate that the test opens.

mod acting;
mod demo;
mod find;
mod real_requests;
mod shapes;
mod streams;

use futures::StreamExt;
use runtail_sim::{Options, Sim};
use serde_json::{Value, json};
use std::time::Duration;

/// An event of a stream as received.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub name: String,
    pub data: Value,
    pub id: Option<String>,
}

/// A started simulator and a client.
pub struct World {
    pub sim: Sim,
    pub http: reqwest::Client,
    pub agent: String,
}

pub async fn world(options: Options) -> World {
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let sim = Sim::start(options).await.expect("servers on loopback");
    let http = reqwest::Client::builder()
        .no_proxy()
        .timeout(Duration::from_secs(60))
        .build()
        .expect("a client");
    let agent = sim.agents()[0].url.clone();
    World { sim, http, agent }
}

pub fn fast() -> Options {
    Options {
        speed: 1000.0,
        ..Options::default()
    }
}

/// Parses the events of a stream with any line endings.
pub fn events(text: &str) -> Vec<Event> {
    let mut found = Vec::new();
    let text = text.replace("\r\n", "\n");
    for block in text
        .split_inclusive("\n\n")
        .filter(|block| block.ends_with("\n\n"))
    {
        let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
        let Some(name) = field("event: ") else {
            continue;
        };
        let data = field("data: ").unwrap_or("null");
        found.push(Event {
            name: name.to_owned(),
            data: serde_json::from_str(data).unwrap_or_else(|_| panic!("JSON in {data}")),
            id: field("id: ").map(str::to_owned),
        });
    }
    found
}

/// A stream that is read incrementally.
pub struct Live {
    response: futures::stream::BoxStream<'static, reqwest::Result<bytes::Bytes>>,
    pub text: String,
}

impl Live {
    pub fn new(response: reqwest::Response) -> Self {
        assert_eq!(response.status(), 200);
        Live {
            response: response.bytes_stream().boxed(),
            text: String::new(),
        }
    }

    /// Reads until an event matches.
    pub async fn until(&mut self, matches: impl Fn(&Event) -> bool) -> Vec<Event> {
        self.until_text(|text| text.ends_with('\n') && events(text).iter().any(&matches))
            .await;
        events(&self.text)
    }

    /// Reads until the whole text matches.
    pub async fn until_text(&mut self, matches: impl Fn(&str) -> bool) {
        while !matches(&self.text) {
            let part = self
                .response
                .next()
                .await
                .expect("the stream continues")
                .expect("the connection stays open");
            self.text.push_str(&String::from_utf8_lossy(&part));
        }
    }
}

impl World {
    pub async fn post(&self, path: &str, body: Value) -> reqwest::Response {
        self.http
            .post(format!("{}{path}", self.agent))
            .body(body.to_string())
            .send()
            .await
            .expect("a response")
    }

    pub async fn get(&self, path: &str) -> reqwest::Response {
        self.http
            .get(format!("{}{path}", self.agent))
            .send()
            .await
            .expect("a response")
    }

    pub async fn json(&self, path: &str) -> Value {
        self.get(path).await.json().await.expect("JSON")
    }

    pub async fn thread(&self) -> String {
        let thread: Value = self
            .post("/threads", json!({}))
            .await
            .json()
            .await
            .expect("JSON");
        thread["thread_id"].as_str().expect("an id").to_owned()
    }

    /// Runs to the end and returns the run's id and all events.
    pub async fn run(&self, thread: &str, body: Value) -> (String, Vec<Event>) {
        let response = self
            .post(&format!("/threads/{thread}/runs/stream"), body)
            .await;
        assert_eq!(response.status(), 200);
        let all = events(&response.text().await.expect("a clean end"));
        (
            all[0].data["run_id"].as_str().expect("an id").to_owned(),
            all,
        )
    }

    pub async fn join(&self, thread: &str, run: &str, after: Option<&str>) -> Vec<Event> {
        let mut request = self
            .http
            .get(format!("{}/threads/{thread}/runs/{run}/stream", self.agent));
        if let Some(after) = after {
            request = request.header("Last-Event-ID", after);
        }
        events(
            &request
                .send()
                .await
                .expect("a response")
                .text()
                .await
                .expect("a clean end"),
        )
    }

    pub async fn tail(&self, thread: &str, query: &str, after: Option<&str>) -> reqwest::Response {
        let mut request = self
            .http
            .get(format!("{}/threads/{thread}/stream{query}", self.agent));
        if let Some(after) = after {
            request = request.header("Last-Event-ID", after);
        }
        request.send().await.expect("a response")
    }
}
