//! Small servers for tests of the HTTP clients.

pub mod follow;
pub mod tls;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use runtail_api::{AgentServer, ControlPlane, Http};
use runtail_core::config::{Profile, SecretSource};
use secrecy::SecretString;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use url::Url;

/// A key that must never appear in a message.
pub const CANARY: &str = "lsv2_pt_canary0123456789";
/// A bearer token that must never appear in a message.
pub const BEARER: &str = "bearer-canary-abcdef";

/// A request that a server received.
#[derive(Debug, Clone)]
pub struct Seen {
    pub method: String,
    pub path: String,
    pub query: String,
    pub headers: HeaderMap,
    pub body: String,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|v| v.to_str().ok())
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).expect("a JSON body")
    }
}

/// A test server's response to a request.
pub type Handler = Arc<dyn Fn(&Seen) -> Response + Send + Sync>;

/// A server that records every request and responds with a function.
pub struct Server {
    pub url: Url,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    pub async fn start(handler: impl Fn(&Seen) -> Response + Send + Sync + 'static) -> Server {
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let (handler, record): (Handler, _) = (Arc::new(handler), seen.clone());
        let app = Router::new().fallback(move |request: Request| {
            let (handler, record) = (handler.clone(), record.clone());
            async move {
                let (head, body) = request.into_parts();
                let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
                let seen = Seen {
                    method: head.method.to_string(),
                    path: head.uri.path().to_string(),
                    query: head.uri.query().unwrap_or_default().to_string(),
                    headers: head.headers,
                    body: String::from_utf8(body.to_vec()).unwrap(),
                };
                let response = handler(&seen);
                record.lock().unwrap().push(seen);
                response
            }
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Server { url, seen }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub fn control(&self) -> ControlPlane {
        ControlPlane::new(
            Http::new(&profile()).unwrap(),
            self.url.join("/api-host").unwrap(),
        )
    }

    pub fn agent(&self) -> AgentServer {
        AgentServer::new(Http::new(&profile()).unwrap(), self.url.clone())
    }
}

/// An address that refuses connections. Its port is bound as long as this lives, so that no other process can listen on it.
pub struct Closed(tokio::net::TcpSocket);

impl Closed {
    pub fn bind() -> Closed {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        Closed(socket)
    }

    /// Returns its host and port.
    pub fn address(&self) -> String {
        self.0.local_addr().unwrap().to_string()
    }

    pub fn url(&self) -> Url {
        Url::parse(&format!("http://{}", self.address())).unwrap()
    }
}

/// A profile with a key.
pub fn profile() -> Profile {
    Profile {
        name: "test".into(),
        workspace: Some("w-1".into()),
        key: Some(SecretSource::Given(SecretString::from(CANARY.to_string()))),
        ..Profile::default()
    }
}

/// Returns a response with this type and body.
pub fn response(status: u16, kind: &str, body: impl Into<Body>) -> Response {
    let status = StatusCode::from_u16(status).unwrap();
    Response::builder()
        .status(status)
        .header("content-type", kind)
        .body(body.into())
        .unwrap()
}

/// Returns a JSON response.
pub fn json(status: u16, body: impl ToString) -> Response {
    response(status, "application/json", body.to_string())
}

/// Starts a server that reads one request, writes these bytes and closes. Returns its URL.
pub async fn raw(bytes: &'static [u8]) -> Url {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    tokio::spawn(async move {
        loop {
            let Ok((mut socket, _)) = listener.accept().await else {
                return;
            };
            tokio::spawn(async move {
                let mut buffer = [0; 4096];
                let _ = socket.read(&mut buffer).await;
                let _ = socket.write_all(bytes).await;
                let _ = socket.shutdown().await;
            });
        }
    });
    url
}
