//! Joining a run, and following a thread.

use super::ThisAgent;
use super::feed::{Ended, Feed, Item, Kind, Reader};
use super::refuse::{Problem, Refusal};
use super::runs::cancel_on_leave;
use super::state::Run;
use super::streams::{Filter, Source, count_of, locate, respond, run_ids};
use super::{Agent, query_pairs};
use crate::Dialect;
use crate::ids::Ids;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use serde_json::{Value, json};
use std::collections::VecDeque;
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
) -> Response {
    let joined = agent
        .check_run_ids(&thread, &run)
        .and_then(|()| join(&agent, &thread, &run, &uri, &headers));
    match joined {
        Ok(mut response) => {
            if agent.dialect != Dialect::JavaScript {
                locate(&agent, &mut response, &thread, &run, "stream");
            }
            response
        }
        Err(refusal) => *refusal,
    }
}

/// `GET /runs/{r}/stream`. The JavaScript server only.
pub async fn stateless(
    State(agent): ThisAgent,
    Path(run): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let thread = agent
        .memory()
        .threads
        .values()
        .find(|thread| thread.run(&run).is_some())
        .map_or_else(String::new, |thread| thread.id.clone());
    let joined = agent
        .check_run_id(&run)
        .and_then(|()| join(&agent, &thread, &run, &uri, &headers));
    joined.unwrap_or_else(|refusal| *refusal)
}

fn join(
    agent: &Arc<Agent>,
    thread: &str,
    run: &str,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<Response, Refusal> {
    let pairs = query_pairs(uri);
    let found = agent
        .memory()
        .threads
        .get(thread)
        .and_then(|thread| thread.run(run))
        .cloned();
    let Some(found) = found else {
        return unknown_run(agent, run);
    };
    let after = last_event_id(headers);
    let wants = |(key, value): &(String, String)| {
        key == "cancel_on_disconnect"
            && matches!(value.to_lowercase().as_str(), "true" | "yes" | "1")
    };
    let cancels = agent.dialect != Dialect::Aegra && pairs.iter().any(wants);
    let (reader, filter) = match agent.dialect {
        Dialect::Python => (python(agent, &found.feed, after), join_filter(&pairs)),
        // The contract: joining a run sends later events only.
        Dialect::Contract => (found.feed.reader(|_| false), join_filter(&pairs)),
        Dialect::JavaScript => (javascript(&found.feed, after), Filter::All),
        Dialect::Aegra if !found.is_active() => return Ok(aegra_end(agent)),
        Dialect::Aegra => (
            aegra(&found, after),
            Filter::After(after.map_or(0, count_of)),
        ),
    };
    let source = Source {
        ids: run_ids(agent, found.resumable()),
        leave: cancels.then(|| cancel_on_leave(agent, thread, run)),
        linger: Duration::from_millis(500),
        run: true,
        ..Source::new(reader, filter)
    };
    Ok(respond(agent, source))
}

fn python(agent: &Agent, feed: &Arc<Feed>, after: Option<&str>) -> Reader {
    feed.reader(|item| {
        after.is_some_and(|after| after == "-" || later(agent, feed, &item.id, after))
    })
}

/// A resumable run replays from an index on; the log of another run hands each event to one reader.
fn javascript(feed: &Arc<Feed>, after: Option<&str>) -> Reader {
    // The first client creates the log, and makes it resumable by sending an id.
    feed.share(after.is_none());
    let after: Option<i64> = after
        .and_then(|after| after.parse().ok())
        .filter(|after| *after >= -1);
    feed.reader(|item| after.is_some_and(|after| item.id.parse::<i64>().is_ok_and(|id| id > after)))
}

/// Sends stored events first, then those waiting in the log, including some that were sent before.
fn aegra(run: &Run, after: Option<&str>) -> Reader {
    let after = after.map_or(0, count_of);
    let stored = run.feed.archive();
    let past: VecDeque<Arc<Item>> = stored
        .iter()
        .filter(|item| count_of(&item.id) > after)
        .filter_map(|item| restored(item))
        .collect();
    run.feed.reader_after(past)
}

/// An event from Aegra's store: without its namespace, some types with an envelope, some missing.
fn restored(item: &Item) -> Option<Arc<Item>> {
    let base = item.name.split('|').next().unwrap_or_default();
    let data = || serde_json::from_str(&item.data).unwrap_or(Value::Null);
    let (name, data) = match base {
        "values" | "updates" => ("values", item.data.clone()),
        "messages" => ("messages", item.data.clone()),
        "messages/metadata" => (
            base,
            json!({"type": "messages_metadata", "metadata": data(), "node_path": null}).to_string(),
        ),
        "messages/partial" | "messages/complete" => {
            let kind = base.replace('/', "_");
            (
                base,
                json!({"type": kind, "messages": data(), "node_path": null}).to_string(),
            )
        }
        "events" => (
            "events",
            json!({"type": "langchain_event", "event": data()}).to_string(),
        ),
        _ => return None,
    };
    Some(Arc::new(Item {
        id: item.id.clone(),
        name: name.into(),
        data,
        kind: item.kind,
        stored: true,
        ended: item.ended.clone(),
    }))
}

/// A stream of one event.
fn single(agent: &Arc<Agent>, name: &str, data: &Value) -> Response {
    let feed = Arc::new(Feed::new(agent.kept));
    let reader = feed.reader(|_| false);
    let (id, name, data) = (String::new(), name.to_owned(), data.to_string());
    let item = Item {
        id,
        name,
        data,
        kind: Kind::Output,
        stored: false,
        ended: Ended::default(),
    };
    feed.push(&[Arc::new(item)]);
    feed.close();
    respond(agent, Source::new(reader, Filter::All))
}

/// Everything that Aegra sends about a finished run, however it ended.
fn aegra_end(agent: &Arc<Agent>) -> Response {
    single(agent, "end", &json!({"status": "success"}))
}

/// Most servers report an unknown run inside the stream and not by the status code.
fn unknown_run(agent: &Arc<Agent>, run: &str) -> Result<Response, Refusal> {
    match agent.dialect {
        Dialect::Python => Ok(single(
            agent,
            "error",
            &json!({"error": "HTTPException", "message": "404: Run not found"}),
        )),
        Dialect::JavaScript => Ok(single(agent, "error", &json!("Run not found"))),
        Dialect::Contract | Dialect::Aegra => Err(agent.refuse(Problem::NoRun(run.to_owned()))),
    }
}

/// Whether an event follows an id. Python compares text; on servers with unique ids the parts are numbers.
fn later(agent: &Agent, feed: &Feed, id: &str, after: &str) -> bool {
    match agent.ids.kind() {
        Ids::PerMillisecond => id > after,
        Ids::Unique | Ids::Ordinal if after == "-1" || after == "0" || after == "0-0" => true,
        Ids::Unique | Ids::Ordinal => feed.knows(after) && parts(id) > parts(after),
        Ids::Count | Ids::RunCount | Ids::Absent => false,
    }
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
) -> Response {
    follow(&agent, &thread, &uri, &headers).unwrap_or_else(|refusal| *refusal)
}

fn follow(
    agent: &Arc<Agent>,
    thread: &str,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<Response, Refusal> {
    agent.check_thread_id(thread, false)?;
    let modes = agent.thread_modes(&query_pairs(uri))?;
    let after = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    if after.is_some_and(|after| !is_stream_id(after)) {
        let text = "Invalid last-event-id: must be a valid Redis stream ID".to_owned();
        return Err(agent.refuse(Problem::Python(StatusCode::UNPROCESSABLE_ENTITY, text)));
    }
    let feed = agent.thread_feed(thread);
    let reader = feed.reader(|item| match after {
        None => false,
        Some("-" | "0" | "0-0") => true,
        Some(after) if agent.ids.kind() == Ids::PerMillisecond => item.id.as_str() > after,
        Some(after) => parts(&item.id) > parts(after),
    });
    let ids = agent.ids.kind() != Ids::Absent;
    Ok(respond(
        agent,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_ids_have_the_redis_format() {
        for good in ["-", "0", "0-0", "1795224332619-0", "17-*"] {
            assert!(is_stream_id(good), "{good}");
        }
        for bad in ["", "-1", "$", "zzz", "1-", "1-2-3"] {
            assert!(!is_stream_id(bad), "{bad}");
        }
    }

    #[test]
    fn joins_can_filter_modes() {
        let pairs = |value: &str| vec![("stream_mode".to_owned(), value.to_owned())];
        assert_eq!(
            join_filter(&pairs("values")),
            Filter::Names(vec!["values".into()])
        );
        assert_eq!(
            join_filter(&pairs(r#"["values","custom"]"#)),
            Filter::Names(vec!["values".into(), "custom".into()])
        );
        assert_eq!(join_filter(&pairs("")), Filter::All);
    }
}
