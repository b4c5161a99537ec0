//! Graphs that do jobs: a release in stages, a loop, a crawl that takes hours, a nightly synchronization, and a failure in parallel
//! with other work.

use crate::agent::prelude::*;

/// `release`: a stage that takes some time.
pub async fn stage(node: &Node<'_>) -> Result<Value, Stop> {
    let name = node.position.node.as_str();
    node.custom(&json!({"stage": name, "progress": 0.0}));
    let seconds = match name {
        "build" => 42.0,
        "test" => 95.0,
        _ => 12.0,
    };
    node.wait(node.number("seconds", seconds) * 1000.0).await;
    node.custom(&json!({"stage": name, "progress": 1.0}));
    Ok(json!({"log": [name]}))
}

/// `counter`: counts `n` down to zero. A smaller recursion limit fails the run.
pub async fn step(node: &Node<'_>) -> Result<Value, Stop> {
    node.wait(node.number("pace_ms", 0.0)).await;
    let n = node.number("n", 0.0) as i64;
    Ok(json!({"n": n - 1, "log": [format!("n={n}")]}))
}

/// `failing`: `maybe` fails while `n` is 0, which cancels `par`, its parallel node.
pub async fn failing(node: &Node<'_>) -> Result<Value, Stop> {
    let n = node.number("n", 0.0);
    match node.position.node.as_str() {
        "before" => Ok(json!({"log": ["before"]})),
        "maybe" => {
            node.wait(200.0).await;
            if n == 0.0 {
                return Err(Stop::failed("ValueError", "n must not be 0"));
            }
            Ok(json!({"log": [format!("n was {n}")]}))
        }
        _ => {
            node.wait(2000.0).await;
            Ok(json!({"log": ["par"]}))
        }
    }
}

/// `crawl`: plans, then fetches and indexes page after page, and reports at the end.
pub async fn crawl(node: &Node<'_>) -> Result<Value, Stop> {
    let (page, pages) = (
        node.number("page", 0.0) as i64,
        node.number("pages", 400.0) as i64,
    );
    let pace = node.number("seconds", 50.0) * 1000.0;
    match node.position.node.as_str() {
        "plan" => {
            node.wait(8_000.0).await;
            Ok(json!({"page": 0, "pages": pages, "log": [format!("{pages} pages to read")]}))
        }
        "fetch" => {
            let url = format!("https://docs.acme.example/page/{}", page + 1);
            node.custom(&json!({"fetching": url, "progress": page as f64 / pages.max(1) as f64}));
            node.wait(pace * 0.8).await;
            Ok(json!({"page": page + 1, "current": url}))
        }
        "index" => {
            node.wait(pace * 0.2).await;
            Ok(json!({"indexed": page}))
        }
        _ => Ok(json!({"log": [format!("indexed {page} pages")]})),
    }
}

/// `sync`: fetches, transforms and saves. The source needs 24 seconds; with a shorter `timeout` in the input the first
/// node fails.
pub async fn sync(node: &Node<'_>) -> Result<Value, Stop> {
    const ANSWERS_AFTER: f64 = 24.0;
    let name = node.position.node.as_str();
    let timeout = node.number("timeout", 30.0);
    if name == "fetch" && timeout < ANSWERS_AFTER {
        node.wait(timeout * 1000.0).await;
        let source = node
            .text("source")
            .unwrap_or("https://erp.acme.example/stock");
        let message = format!("GET {source}: no answer after {timeout}s");
        return Err(Stop::failed("ConnectTimeout", message));
    }
    let seconds = match name {
        "fetch" => ANSWERS_AFTER,
        "transform" => 47.0,
        _ => 9.0,
    };
    node.custom(&json!({"job": name, "rows": 4812}));
    node.wait(seconds * 1000.0).await;
    Ok(json!({"log": [format!("{name}: 4812 rows")]}))
}
