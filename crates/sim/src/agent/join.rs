//! Joining a run, and following a thread.

use super::Agent;
use super::ThisAgent;
use super::check::{check_run_ids, check_thread_id};
use super::feed::{Feed, Item, Kind};
use super::runs::cancel_on_leave;
use super::streams::{Filter, Source, locate, respond, run_ids};
use crate::http::{Handled, invalid, missing, query_pairs};
use crate::ids::Ids;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

fn last_event_id(headers: &HeaderMap) -> Option<&str> {
    headers
        .get("last-event-id")
        .and_then(|id| id.to_str().ok())
        .filter(|id| !id.is_empty())
}

/// `GET /threads/{t}/runs/{r}/stream`.
pub async fn run(
    State(agent): ThisAgent,
    Path((thread, run)): Path<(String, String)>,
    uri: Uri,
    headers: HeaderMap,
) -> Handled {
    check_run_ids(&thread, &run)?;
    let mut response = join(&agent, &thread, &run, &uri, &headers)?;
    locate(&agent, &mut response, &thread, &run, "stream");
    Ok(response)
}

fn join(agent: &Arc<Agent>, thread: &str, run: &str, uri: &Uri, headers: &HeaderMap) -> Handled {
    let pairs = query_pairs(uri);
    let Some(found) = agent.run(thread, run) else {
        // The Python server reports it inside the stream and not by the status code.
        let error = json!({"error": "HTTPException", "message": "404: Run not found"});
        return match agent.contract {
            true => Err(missing("Not Found")),
            false => Ok(single(agent, "error", &error)),
        };
    };
    let after = last_event_id(headers);
    let wants = |(key, value): &(String, String)| {
        key == "cancel_on_disconnect"
            && matches!(value.to_lowercase().as_str(), "true" | "yes" | "1")
    };
    let cancels = pairs.iter().any(wants);
    // The contract: joining a run sends later events only.
    let replayed = |item: &Item| {
        !agent.contract && after.is_some_and(|after| after == "-" || item.id.as_str() > after)
    };
    let reader = found.feed.reader(replayed);
    let source = Source {
        ids: run_ids(agent, found.resumable()),
        leave: cancels.then(|| cancel_on_leave(agent, thread, run)),
        linger: Duration::from_millis(500),
        ..Source::new(reader, join_filter(&pairs))
    };
    Ok(respond(agent, source))
}

/// A stream of one event.
fn single(agent: &Arc<Agent>, name: &str, data: &Value) -> Response {
    let feed = Arc::new(Feed::new(agent.kept));
    let reader = feed.reader(|_| false);
    feed.push(&[Arc::new(Item::new(name, data, Kind::Output))]);
    feed.close();
    respond(agent, Source::new(reader, Filter::All))
}

fn parts(id: &str) -> (u64, u64) {
    let (millis, n) = id.split_once('-').unwrap_or((id, "0"));
    (millis.parse().unwrap_or(0), n.parse().unwrap_or(0))
}

fn join_filter(pairs: &[(String, String)]) -> Filter {
    let names: Vec<String> = pairs
        .iter()
        .filter(|(key, value)| key == "stream_mode" && !value.is_empty())
        .flat_map(|(_, value)| match serde_json::from_str::<Value>(value) {
            Ok(Value::Array(list)) => list
                .iter()
                .filter_map(|name| name.as_str().map(str::to_owned))
                .collect(),
            _ => vec![value.clone()],
        })
        .collect();
    if names.is_empty() {
        Filter::All
    } else {
        Filter::Names(names)
    }
}

/// `GET /threads/{t}/stream`. For a thread that does not exist the answer is 200 and silence.
pub async fn thread(
    State(agent): ThisAgent,
    Path(thread): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Handled {
    check_thread_id(&thread)?;
    let modes = agent.thread_modes(&query_pairs(&uri))?;
    let after = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    if after.is_some_and(|after| !is_stream_id(after)) {
        return Err(invalid(
            "Invalid last-event-id: must be a valid Redis stream ID",
        ));
    }
    let feed = agent.thread_feed(&thread);
    let reader = feed.reader(|item| match after {
        None => false,
        Some("-" | "0" | "0-0") => true,
        Some(after) if agent.ids.kind() == Ids::PerMillisecond => item.id.as_str() > after,
        Some(after) => parts(&item.id) > parts(after),
    });
    let ids = agent.ids.kind() != Ids::Absent;
    Ok(respond(
        &agent,
        Source {
            ids,
            ..Source::new(reader, Filter::Modes(modes))
        },
    ))
}

/// `-`, or digits with an optional sequence number.
fn is_stream_id(id: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match id.split_once('-') {
        Some(("", "")) => true,
        Some((millis, n)) => digits(millis) && (n == "*" || digits(n)),
        None => digits(id),
    }
}
