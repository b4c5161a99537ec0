//! The connections to all servers: how they are made, how long they are kept, and who shares them.

use reqwest::{Client, ClientBuilder, Url, Version, retry};
use runtail_core::config;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

/// How long a connection may take to come about.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(7);
/// How long an HTTP/2 connection is kept for what only reads: longer than the pause between two polls (60 s), so that a poll
/// does not begin with a handshake.
const KEPT: Duration = Duration::from_secs(90);
/// How long every other connection is kept: shorter than uvicorn keeps it (5 s), or a request could meet one that is just
/// being closed. HTTP/1.1 does not tell whether such a request was heard.
const KEPT_SHORTLY: Duration = Duration::from_secs(4);
/// An HTTP/2 connection on which somebody waits, and nothing came for so long, is asked whether it is still there. Without
/// an answer all who wait on it would wait in vain, and those who come after them too.
const QUIET: Duration = Duration::from_secs(15);
const NO_PONG: Duration = Duration::from_secs(10);
/// What a server may send on an HTTP/2 connection before it is read: more than the streams that are open together can hold,
/// 2 MB each. So one that waits for a slow screen does not hold up what else goes over its connection.
const UNREAD: u32 = 128 << 20;

/// The HTTP clients, made when they are first needed. Profiles that share them read the store of certificates once, and have
/// one connection to a server that speaks HTTP/2. No key is in here: these are put on each request.
#[derive(Clone, Default)]
pub struct Connections(Arc<Clients>);

#[derive(Default)]
struct Clients {
    /// For plain http on this machine: no proxy, no certificate store to load.
    local: Mutex<Option<Client>>,
    /// For what only reads, where connections can be kept.
    lasting: Mutex<Option<Client>>,
    /// For everything else.
    brief: Mutex<Option<Client>>,
    /// Origins that do not speak HTTP/2.
    plain: Mutex<HashSet<String>>,
}

impl Connections {
    /// The client for a request: where to, and whether it only reads.
    pub(super) fn client(&self, url: &Url, reads: bool) -> Result<Client, reqwest::Error> {
        let Clients { local, lasting, brief, plain } = &*self.0;
        if url.scheme() == "http" && config::is_loopback(url) {
            return made(local, || common().retry(retry::never()).no_proxy().tls_certs_only([]));
        }
        if reads && !lock(plain).contains(&url.origin().ascii_serialization()) {
            // Who closes an HTTP/2 connection names the requests that were not looked at. These are sent again.
            return made(lasting, || common().pool_idle_timeout(KEPT));
        }
        made(brief, || common().retry(retry::never()))
    }

    /// Notes how a server answered.
    pub(super) fn note(&self, url: &Url, version: Version) {
        if version < Version::HTTP_2 {
            lock(&self.0.plain).insert(url.origin().ascii_serialization());
        }
    }
}

/// Makes a client once. Several may want it at the same time, and wait for the one who makes it.
fn made(cell: &Mutex<Option<Client>>, builder: impl FnOnce() -> ClientBuilder) -> Result<Client, reqwest::Error> {
    let mut cell = lock(cell);
    match &*cell {
        Some(client) => Ok(client.clone()),
        None => Ok(cell.insert(builder().build()?).clone()),
    }
}

/// What all clients have in common: no redirect is followed, and there is no limit on a whole answer.
fn common() -> ClientBuilder {
    static PROVIDER: Once = Once::new();
    // Fails only where somebody installed a provider before us, which is as good.
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    Client::builder()
        .user_agent(concat!("runtail/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(KEPT_SHORTLY)
        .tcp_keepalive(Duration::from_secs(30))
        .http2_keep_alive_interval(QUIET)
        .http2_keep_alive_timeout(NO_PONG)
        .http2_initial_connection_window_size(UNREAD)
        .referer(false)
}

/// What is held is never left half changed, so a panic elsewhere does not matter.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
