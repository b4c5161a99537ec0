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
        // Without those of several units, which the world's records have.
        (r" *\b\d+(\.\d+)? ?(µs|ms|s)\b *", " 0s "),
        ("reconnecting (now |in 0s )", "reconnecting "),
        // Chained over times, and how much of a silent stream was read.
        (r#"(hash":"|seal":"|seal )[0-9a-f]{32}"#, "${1}<hash>"),
        (r#"("detached","events":\d+,"bytes":)\d+"#, "${1}0"),
        (r#"("waited_seconds":)[\d.]+"#, "${1}0"),
        (r"[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]", "⠋"),
        (r"127\.0\.0\.1:\d{1,5}", "127.0.0.1:00000"),
    ]
    .map(|(pattern, text)| (regex(pattern), text))
    .into()
});

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

/// Returns the text without ids of the client, ports and times.
pub fn normal(world: &World, text: &str) -> String {
    let mut text = text.replace(&world.port.to_string(), "00000");
    let ids = world.client_ids(&text);
    for (at, id) in ids.iter().enumerate() {
        let short = format!("{}…{}", &id[..8], &id[32..]);
        text = text
            .replace(id, &format!("<id {at}>"))
            .replace(&short, &format!("<id {at}>"));
    }
    // Ids of the same minute begin alike.
    for id in &ids {
        text = text.replace(&id[..8], "<id>");
    }
    text = TIME.replace_all(&text, time).into_owned();
    for (mask, with) in MASKS.iter() {
        text = mask.replace_all(&text, *with).into_owned();
    }
    text
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
