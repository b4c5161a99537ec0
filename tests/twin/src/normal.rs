//! What may differ between two runs of the same binary, and is replaced before two are compared.

use crate::world::World;
use jiff::{SignedDuration, Timestamp};
use regex::{Captures, Regex};
use serde_json::{Map, Value};
use std::sync::LazyLock;

fn regex(text: &str) -> Regex {
    Regex::new(text).expect("a regex")
}

static MASKS: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    [
        (r"/tmp/twin\w*", "<dir>"),
        (r"<id>[-0-9a-f]+", "<id>"),
        // The commit and the date of a build.
        (r"\b(v?\d+\.\d+\.\d+) \([^)]*\)", "$1 (build)"),
        // Without those of several units, which the world's records have.
        (r" *\b\d+(\.\d+)? ?(µs|ms|s)\b *", " 0s "),
        ("reconnecting (now |in 0s )", "reconnecting "),
        // Chained over times, and how much of a silent stream was read.
        (r#"(hash":"|seal":"|seal )[0-9a-f]{32}"#, "${1}<hash>"),
        (r#"("detached","events":\d+,"bytes":)\d+"#, "${1}0"),
        (r#"("waited_seconds": ?)[\d.]+"#, "${1}0"),
        // The time in the name of an export.
        (r"-\d{6}\.(txt|jsonl|md|svg|mmd)", "-000000.$1"),
        (r"[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]", "⠋"),
        (r"(events/s +)[▁▂▃▄▅▆▇█]+", "${1}▇"),
        (r"127\.0\.0\.1:\d{1,5}", "127.0.0.1:00000"),
    ]
    .map(|(pattern, text)| (regex(pattern), text))
    .into()
});

/// The end of a line of the screen and the start of the next, with borders and marks of colors.
const WRAP_PATTERN: &str = "(?:⟨[^⟩]*⟩|[ │])*\n(?:⟨[^⟩]*⟩|[ │])*";
static WRAP: LazyLock<Regex> = LazyLock::new(|| regex(WRAP_PATTERN));
/// An id, a UUID, which may be on two lines.
static WRAPPED_ID: LazyLock<Regex> = LazyLock::new(|| {
    let digits = |n| format!("(?:[0-9a-f](?:{WRAP_PATTERN})?){{{n}}}");
    regex(
        &[8, 4, 4, 4, 12]
            .map(digits)
            .join(&format!("-(?:{WRAP_PATTERN})?")),
    )
});
static SPACES: LazyLock<Regex> = LazyLock::new(|| regex(" {2,}"));

/// A time. Those of other days are the world's, and stay.
static TIME: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(\d{4}-\d\d-\d\d)?([T ]?)\d\d:\d\d(:\d\d(\.\d+)?|Z)"));

fn time(found: &Captures<'_>) -> String {
    let now = Timestamp::now();
    let today =
        [now, now - SignedDuration::from_mins(5)].map(|time| time.strftime("%F").to_string());
    match found.get(1) {
        Some(day) if !today.iter().any(|today| today == day.as_str()) => found[0].to_owned(),
        _ => format!("{}00:00:00", &found[2]),
    }
}

/// Returns the lines without ids of the client, ports and times.
pub fn normal(world: &World, lines: &[String]) -> Vec<String> {
    let mut text = lines.join("\n").replace(&world.port.to_string(), "00000");
    text = WRAPPED_ID
        .replace_all(&text, |found: &Captures<'_>| {
            let wrap = WRAP.find(&found[0]).map_or("", |wrap| wrap.as_str());
            match world.client_id(&found[0].replacen(wrap, "", 1)) {
                Some(at) => format!("<id {at}>{wrap}"),
                None => found[0].to_owned(),
            }
        })
        .into_owned();
    for (at, id) in world.client_ids().iter().enumerate() {
        let short = format!("{}…{}", &id[..8], &id[32..]);
        // Ids of the same minute begin alike.
        text = text
            .replace(&short, &format!("<id {at}>"))
            .replace(&id[..8], "<id>");
    }
    text = TIME.replace_all(&text, time).into_owned();
    for (mask, with) in MASKS.iter() {
        text = mask.replace_all(&text, *with).into_owned();
    }
    // What is right of a span moves with its number of digits.
    let line = |line: &str| match line.contains(" 0s ") {
        true => SPACES.replace_all(line, "  ").into_owned(),
        false => line.to_owned(),
    };
    text.lines().map(line).collect()
}

/// Returns the value with the keys of its objects in order.
pub fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(fields) => {
            let mut keys: Vec<_> = fields.iter().collect();
            keys.sort_unstable_by_key(|(key, _)| *key);
            Value::Object(
                keys.into_iter()
                    .map(|(key, value)| (key.clone(), sorted(value)))
                    .collect::<Map<_, _>>(),
            )
        }
        other => other.clone(),
    }
}
