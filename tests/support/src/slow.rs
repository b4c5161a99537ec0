//! A server that sends one byte per second and never finishes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Responds to every request with these bytes, then an `a` per second until the client disconnects. Counts the requests.
pub async fn drip(listener: TcpListener, begin: &'static str, requests: Arc<AtomicUsize>) {
    while let Ok((mut socket, _)) = listener.accept().await {
        let requests = requests.clone();
        tokio::spawn(async move {
            let mut head = [0; 64 << 10];
            let _ = socket.read(&mut head).await;
            requests.fetch_add(1, SeqCst);
            let mut next = begin.as_bytes();
            while socket.write_all(next).await.is_ok() {
                next = b"a";
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        });
    }
}
