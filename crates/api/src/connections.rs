//! Connections to all servers: creation, lifetime and sharing.

use crate::prelude::*;
use reqwest::{Client, ClientBuilder, Version, retry};
use runtail_core::config;
use std::sync::{Mutex, MutexGuard, Once, OnceLock, PoisonError};

/// Timeout of connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(7);
/// How long an idle HTTP/2 connection for reads is kept: longer than the poll interval (60 s), so that a poll needs no new
/// handshake.
const KEEP_ALIVE: Duration = Duration::from_secs(90);
/// How long every other idle connection is kept: shorter than uvicorn's 5 s, because a request could be sent on a connection
/// that is being closed, and HTTP/1.1 does not show whether it was received.
const KEPT_SHORTLY: Duration = Duration::from_secs(4);
/// After this time without data, an HTTP/2 connection with open requests is checked with a PING. Otherwise a dead
/// connection would block all current and later requests.
const PING_AFTER: Duration = Duration::from_secs(15);
const NO_PONG: Duration = Duration::from_secs(10);
/// The HTTP/2 connection window: more than all open streams can hold (2 MB each), so that a stream that waits for a slow
/// screen does not block other streams of its connection.
const UNREAD: u32 = 128 << 20;

/// The HTTP clients, created on first use. Profiles that share them load the certificate store once, and share one
/// connection per HTTP/2 server. Keys are added to each request, not here.
#[derive(Clone, Default)]
pub struct Connections(Arc<Clients>);

#[derive(Default)]
struct Clients {
    /// For plain http on this machine: without proxy and certificate store.
    local: Mutex<Option<Client>>,
    /// For reads, with long-lived connections.
    lasting: Mutex<Option<Client>>,
    /// For everything else.
    brief: Mutex<Option<Client>>,
    /// Origins that do not speak HTTP/2.
    plain: Mutex<HashSet<String>>,
}

impl Connections {
    /// Returns the client for a request, by its target and whether it only reads.
    pub(super) fn client(&self, url: &Url, reads: bool) -> Result<Client, reqwest::Error> {
        let Clients {
            local,
            lasting,
            brief,
            plain,
        } = &*self.0;
        if url.scheme() == "http" && config::is_loopback(url) {
            return made(local, || {
                common().retry(retry::never()).no_proxy().tls_certs_only([])
            });
        }
        if reads && !lock(plain).contains(&url.origin().ascii_serialization()) {
            // When an HTTP/2 connection is closed, the peer names the requests that it did not process. These are sent again.
            return made(lasting, || common().pool_idle_timeout(KEEP_ALIVE));
        }
        made(brief, || common().retry(retry::never()))
    }

    /// Records the HTTP version of a server.
    pub(super) fn note(&self, url: &Url, version: Version) {
        if version < Version::HTTP_2 {
            lock(&self.0.plain).insert(url.origin().ascii_serialization());
        }
    }
}

/// Creates a client once; concurrent callers wait for it.
fn made(
    cell: &Mutex<Option<Client>>,
    builder: impl FnOnce() -> ClientBuilder,
) -> Result<Client, reqwest::Error> {
    let mut cell = lock(cell);
    match &*cell {
        Some(client) => Ok(client.clone()),
        None => Ok(cell.insert(builder().build()?).clone()),
    }
}

static USER_AGENT: OnceLock<String> = OnceLock::new();

/// Sets the `User-Agent` of this process, once, before its first request.
pub fn identify_as(user_agent: String) {
    let _ = USER_AGENT.set(user_agent);
}

/// Returns the common settings of all clients: no redirects, and no timeout for a whole response.
fn common() -> ClientBuilder {
    static PROVIDER: Once = Once::new();
    // Fails only if a provider was installed before, which is fine.
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    Client::builder()
        .user_agent(USER_AGENT.get().map_or(
            concat!("runtail/", env!("CARGO_PKG_VERSION")),
            String::as_str,
        ))
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(KEPT_SHORTLY)
        .tcp_keepalive(Duration::from_secs(30))
        .http2_keep_alive_interval(PING_AFTER)
        .http2_keep_alive_timeout(NO_PONG)
        .http2_initial_connection_window_size(UNREAD)
        .referer(false)
}

/// The value is never left half changed, so a poisoned lock does not matter.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
