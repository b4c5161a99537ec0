//! Joining a run, and following a thread.

use super::runs::{cancel_on_leave, is};
use super::streams::{Filter, Source, locate, respond, run_ids};
use crate::agent::prelude::*;
use axum::http::HeaderMap;

fn last_event_id(headers: &HeaderMap) -> Option<&str> {
    headers.get("last-event-id")?.to_str().ok()
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
    let after = last_event_id(headers).filter(|id| !id.is_empty());
    let cancels = is(&pairs, "cancel_on_disconnect", &["true", "yes", "1"]);
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
    let given = pairs
        .iter()
        .filter(|(key, value)| key == "stream_mode" && !value.is_empty());
    let names = given.flat_map(|(_, value)| match serde_json::from_str(value) {
        Ok(list @ Value::Array(_)) => texts_of(&list),
        _ => vec![value.clone()],
    });
    let names: Vec<String> = names.collect();
    match names.is_empty() {
        true => Filter::All,
        false => Filter::Names(names),
    }
}

/// `GET /threads/{t}/stream`. For a thread that does not exist the answer is 200 and silence.
pub async fn thread(
    State(agent): ThisAgent,
    Path(thread): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Handled {
    check_id("thread", &thread)?;
    let modes = agent.thread_modes(&query_pairs(&uri))?;
    let after = last_event_id(&headers);
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
    let source = Source {
        ids: agent.ids.kind() != Ids::Absent,
        ..Source::new(reader, Filter::Modes(modes))
    };
    Ok(respond(&agent, source))
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
