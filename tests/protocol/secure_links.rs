//! The connections of commands: certificates are verified, configured authorities are trusted, proxies are used without
//! seeing keys, and keys are never sent to another machine in plaintext.

use runtail_testkit::common::CANARY;
use runtail_testkit::common::tls::server_config;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;

/// The received bytes as text.
type Received = Arc<Mutex<String>>;

fn received(by: &Received) -> String {
    by.lock().unwrap().clone()
}

/// Lists deployments with a key. Returns the exit code and the output.
async fn list(url: &str, more: &str, env: &[(&str, &str)]) -> (i32, String) {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("config.toml");
    let text = format!("[profiles.p]\nurl = \"{url}\"\napi_key_env = \"RUNTAIL_TEST_KEY\"\n{more}");
    std::fs::write(&config, text).unwrap();
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_runtail"));
    command
        .env_clear()
        .env("HOME", home.path())
        .env("RUNTAIL_TEST_KEY", CANARY)
        .envs(env.iter().copied());
    command
        .stdin(Stdio::null())
        .arg("--config")
        .arg(&config)
        .args(["deployments", "list"]);
    let done = command.output().await.unwrap();
    let told = format!(
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
    assert!(!told.contains("canary"), "{told}");
    (done.status.code().unwrap_or(-1), told)
}

/// Records one request and responds with an empty list.
async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, notes: Received) {
    let mut head = vec![0; 8192];
    let Ok(read @ 1..) = stream.read(&mut head).await else {
        return;
    };
    notes
        .lock()
        .unwrap()
        .push_str(&String::from_utf8_lossy(&head[..read]));
    let answer = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 16\r\nconnection: close\r\n\r\n{\"resources\":[]}";
    let _ = stream.write_all(answer).await;
    let _ = stream.shutdown().await;
}

/// Starts a server on localhost with a certificate for this name by its own authority.
async fn tls_server(name: &str) -> (String, String, Received) {
    let (root, config) = server_config(name, &[]);
    let acceptor = TlsAcceptor::from(config);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!(
        "https://localhost:{}",
        listener.local_addr().unwrap().port()
    );
    let received = Received::default();
    let notes = received.clone();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (acceptor, notes) = (acceptor.clone(), notes.clone());
            tokio::spawn(async move {
                if let Ok(stream) = acceptor.accept(socket).await {
                    serve(stream, notes).await;
                }
            });
        }
    });
    (root, url, received)
}

#[tokio::test]
async fn certificates_are_verified_and_custom_authorities_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("root.pem");
    let (root, url, heard_by) = tls_server("localhost").await;
    std::fs::write(&store, root).unwrap();
    let (code, told) = list(&url, "", &[]).await;
    assert_eq!(code, 5, "{told}");
    assert!(told.to_lowercase().contains("certificate"), "{told}");
    assert_eq!(
        received(&heard_by),
        "",
        "a request was sent to an untrusted server"
    );
    let (code, told) = list(&url, "", &[("SSL_CERT_FILE", store.to_str().unwrap())]).await;
    assert_eq!(code, 0, "{told}");
    assert!(
        received(&heard_by).contains(CANARY),
        "{}",
        received(&heard_by)
    );
    // The right authority, but a certificate for another name.
    let (root, url, heard_by) = tls_server("elsewhere.example").await;
    std::fs::write(&store, root).unwrap();
    let (code, told) = list(&url, "", &[("SSL_CERT_FILE", store.to_str().unwrap())]).await;
    assert_eq!((code, received(&heard_by).as_str()), (5, ""), "{told}");
}

/// Starts a plain server that records requests and responds.
async fn plain_server() -> (String, Received) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let received = Received::default();
    let notes = received.clone();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(serve(socket, notes.clone()));
        }
    });
    (address, received)
}

#[tokio::test]
async fn proxies_are_used_without_seeing_keys() {
    let (address, heard_by) = plain_server().await;
    let proxy = format!("http://user:canary-proxy@{address}");
    let (code, told) = list("https://ls.example.com", "", &[("HTTPS_PROXY", &proxy)]).await;
    assert_eq!(
        code, 5,
        "the proxy answers, but does not connect to the server: {told}"
    );
    let asked = received(&heard_by);
    assert!(asked.starts_with("CONNECT ls.example.com:443 "), "{asked}");
    assert!(
        asked.to_lowercase().contains("proxy-authorization: basic"),
        "{asked}"
    );
    assert!(
        !asked.contains(CANARY) && !asked.to_lowercase().contains("x-api-key"),
        "{asked}"
    );
    // Exceptions are respected, and loopback addresses never use a proxy.
    let before = received(&heard_by).len();
    let env = [("HTTPS_PROXY", proxy.as_str()), ("NO_PROXY", "ls.invalid")];
    assert_eq!(list("https://ls.invalid", "", &env).await.0, 5);
    let (own, heard_by_own) = plain_server().await;
    let (code, told) = list(
        &format!("http://{own}"),
        "",
        &[("HTTP_PROXY", &proxy), ("ALL_PROXY", &proxy)],
    )
    .await;
    assert_eq!(code, 0, "{told}");
    assert!(received(&heard_by_own).contains(CANARY));
    assert_eq!(received(&heard_by).len(), before);
}

#[tokio::test]
async fn plaintext_keys_are_sent_to_localhost_only() {
    let (address, heard_by) = plain_server().await;
    let proxy = [("HTTP_PROXY", format!("http://{address}"))];
    let proxy = proxy
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()));
    let (code, told) = list("http://ls.example.com", "", &proxy).await;
    assert!(code != 0 && told.contains("allow_http"), "{code} {told}");
    assert_eq!(received(&heard_by), "");
    let (code, told) = list("http://ls.example.com", "allow_http = true\n", &proxy).await;
    assert_eq!(code, 0, "{told}");
    assert!(
        received(&heard_by).starts_with("GET http://ls.example.com/"),
        "{}",
        received(&heard_by)
    );
}
