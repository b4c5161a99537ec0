//! The tones and the words of a thread status, and ages.

use super::line::{Line, Tone};
use jiff::{SignedDuration, Timestamp};
use runtail_core::model::{StatusRole, ThreadStatus};
use runtail_core::text;
use std::time::Duration;

/// Maximum number of nodes in a badge.
const MAX_NODES: usize = 2;

/// Younger ages are shown in seconds.
const SECONDS_BELOW: Duration = Duration::from_secs(600);

/// Returns the tones of a status glyph and of its word.
pub fn tones(role: StatusRole) -> (Tone, Tone) {
    match role {
        StatusRole::Good => (Tone::Good, Tone::Plain),
        StatusRole::Moving | StatusRole::Queued => (Tone::Moving, Tone::Plain),
        StatusRole::Waiting => (Tone::Waiting, Tone::Waiting),
        StatusRole::Failed => (Tone::Bad, Tone::Bad),
        StatusRole::Ended => (Tone::Plain, Tone::Dim),
        StatusRole::Unknown => (Tone::Dim, Tone::Dim),
    }
}

/// The tones of the glyph and the word of a stuck run. Its state is unknown, and it needs attention.
pub const STUCK: (Tone, Tone) = (Tone::Dim, Tone::Strong);

/// Formats an age: in seconds below ten minutes, then in whole units.
pub fn since(now: Timestamp, then: Timestamp) -> String {
    let age = Duration::try_from(now.duration_since(then)).unwrap_or_default();
    if age < SECONDS_BELOW {
        text::duration(Duration::from_secs(age.as_secs()))
    } else {
        text::age(age)
    }
}

/// Returns a status as text with its glyph first: `◆ waiting for you 6m · tools`.
pub fn badge(status: &ThreadStatus, now: Timestamp) -> Line {
    let role = status.role();
    let (glyph, word) = tones(role);
    let mut line = Line::new();
    if *status != ThreadStatus::Loading {
        line.push(glyph, &format!("{} ", role.glyph()));
    }
    let (text, more) = status_words(status, now);
    line.push(word, &text);
    for part in more {
        line.push_plain(&format!(" · {part}"));
    }
    line
}

/// Returns what a status says, and what else is known.
fn status_words(status: &ThreadStatus, now: Timestamp) -> (String, Vec<String>) {
    let timed = |word: &str, span: Option<String>| match span {
        Some(span) => format!("{word} {span}"),
        None => word.to_string(),
    };
    let age = |at: &Option<Timestamp>| at.map(|at| text::age_since(at, now));
    let ago = |at: &Option<Timestamp>| age(at).map(|age| format!("{age} ago"));
    let (mut text, mut more): (String, Vec<String>) = (status.word().to_string(), Vec::new());
    match status {
        ThreadStatus::Loading | ThreadStatus::Deleted => {}
        ThreadStatus::Unknown { why } => {
            if !why.is_empty() {
                text = format!("status unknown: {why}");
            }
        }
        ThreadStatus::Queued {
            since: Some(at), ..
        } if *at > now => {
            text = format!("queued, starts in {}", since(*at, now));
        }
        ThreadStatus::Queued {
            since: at, waiting, ..
        } => {
            text = timed("queued", at.map(|at| since(now, at)));
            more.extend((*waiting > 1).then(|| format!("{waiting} runs waiting")));
        }
        ThreadStatus::Running {
            since: at,
            nodes,
            step,
            queued,
            ..
        } => {
            text = timed("running", at.map(|at| since(now, at)));
            more.extend(name_list(nodes));
            more.extend(step.map(|step| format!("step {step}")));
            more.extend((*queued > 0).then(|| format!("{queued} queued")));
        }
        ThreadStatus::Waiting {
            since: at,
            questions,
        } => {
            text = timed("waiting for you", age(at));
            match questions.as_slice() {
                [question] => more.extend(question.node.clone()),
                several => more.push(format!("{} questions", several.len())),
            }
        }
        ThreadStatus::Paused {
            since: at,
            next,
            after,
        } => {
            let place = name_list(next).unwrap_or_else(|| "a node".into());
            let stop = if *after {
                format!("paused, next is {place}")
            } else {
                format!("paused before {place}")
            };
            text = timed(&stop, age(at));
        }
        ThreadStatus::Stopped { since: at, next } => {
            text = timed("interrupted, cause unknown", age(at));
            more.extend(name_list(next).map(|names| format!("next {names}")));
        }
        ThreadStatus::Cancelled { at, .. } => {
            text = timed("cancelled", ago(at));
        }
        ThreadStatus::Edited { at, next } => {
            text = timed("state edited", ago(at));
            if !next.is_empty() {
                text.push_str(", not continued");
            }
        }
        ThreadStatus::Failed { at, nodes, .. } => {
            text = timed(status.word(), ago(at));
            more.extend(name_list(nodes));
        }
        ThreadStatus::Idle { ended, began } => {
            if let Some(ended) = ended {
                let took = began
                    .map(|began| ended.duration_since(began))
                    .filter(|took| !took.is_negative());
                let took = took
                    .map(|took| format!(", took {}", run_duration(took)))
                    .unwrap_or_default();
                more.push(format!(
                    "last run finished {} ago{took}",
                    text::age_since(*ended, now)
                ));
            }
        }
        ThreadStatus::BusyWithoutRun { since: at } => {
            text = format!("{}, no active run", timed("busy", age(at)));
        }
    }
    (text, more)
}

/// Returns up to two names, and the number of the others.
pub fn name_list(all: &[String]) -> Option<String> {
    let named = all
        .iter()
        .take(MAX_NODES)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    match all.len() {
        0 => None,
        n if n > MAX_NODES => Some(format!("{named} +{}", n - MAX_NODES)),
        _ => Some(named),
    }
}

/// Formats the duration of a run: below 100 ms to the millisecond, below a minute to a tenth of a second.
pub fn run_duration(took: SignedDuration) -> String {
    match took.as_millis() {
        ..100 => precise(took),
        100..59_950 => format!("{:.1}s", took.as_secs_f64()),
        _ => span(took),
    }
}

/// Formats a span of time.
pub fn span(span: SignedDuration) -> String {
    text::duration(Duration::try_from(span).unwrap_or_default())
}

/// Formats a wait with suitable precision: `18ms`, `0.37s`, `12s`.
pub fn precise(wait: SignedDuration) -> String {
    let wait = wait.max(SignedDuration::ZERO);
    match wait.as_millis() {
        milliseconds @ 0..100 => format!("{milliseconds}ms"),
        100..10_000 => format!("{:.2}s", wait.as_secs_f64()),
        _ => span(wait),
    }
}
