//! The simulator responds like the real Python server, whose responses were recorded with `tests/fixtures/acting/record.py`.

use crate::sim::{World, events, world};
use regex::{Captures, Regex};
use reqwest::Method;
use runtail_sim::Options;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

const STEPS: &str = include_str!("../../fixtures/acting/steps.json");

type KnownIds = BTreeMap<String, String>;

/// Values that differ between runs and servers, and their placeholders.
static RULES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (r"http://(127\.0\.0\.1|localhost):\d+", "<url>"),
        (
            r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
            "<uuid>",
        ),
        (r"\b[0-9a-f]{32}\b", "<hex>"),
        (
            r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00",
            "<time+00:00>",
        ),
        (r"registered graphs: .*", "registered graphs: …"),
        (r"in schema(\[[^\]]*\])*", "in schema"),
        (r"\b1[789]\d{11}\b", "<millis>"),
    ]
    .into_iter()
    .map(|(rule, word)| (Regex::new(rule).expect("a regular expression"), word))
    .collect()
});

fn normalized(value: &Value, known_ids: &KnownIds) -> Value {
    let text = |text: &str| {
        let mut text = text.to_owned();
        for (name, id) in known_ids {
            text = text.replace(id, &format!("<{name}>"));
        }
        for (rule, word) in RULES.iter() {
            text = rule.replace_all(&text, *word).into_owned();
        }
        text
    };
    match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, item)| (text(key), normalized(item, known_ids)))
            .collect(),
        Value::Array(list) => list
            .iter()
            .map(|item| normalized(item, known_ids))
            .collect(),
        Value::String(string) => json!(text(string)),
        Value::Number(number) => match number.as_f64() {
            Some(large) if large > 1e12 => json!("<millis>"),
            // 5 and 5.0 are the same in JSON.
            Some(whole) if whole.fract() == 0.0 => json!(whole as i64),
            _ => value.clone(),
        },
        other => other.clone(),
    }
}

/// Fills in the ids of earlier responses.
fn filled(value: &Value, known_ids: &KnownIds) -> Value {
    static PLACE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\{(\w+)\}").expect("a regular expression"));
    let text = |text: &str| {
        let id = |found: &Captures<'_>| {
            known_ids
                .get(&found[1])
                .cloned()
                .unwrap_or_else(|| found[0].to_owned())
        };
        PLACE.replace_all(text, id).into_owned()
    };
    match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, item)| (text(key), filled(item, known_ids)))
            .collect(),
        Value::Array(list) => list.iter().map(|item| filled(item, known_ids)).collect(),
        Value::String(string) => json!(text(string)),
        other => other.clone(),
    }
}

async fn send(world: &World, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let method: Method = method.parse().expect("a method");
    let mut request = world.http.request(method, format!("{}{path}", world.agent));
    if !body.is_null() {
        request = request
            .header("content-type", "application/json")
            .body(body.to_string());
    }
    let response = request.send().await.expect("a response");
    let status = response.status().as_u16();
    let streamed = response
        .headers()
        .get("content-type")
        .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event"));
    let text = response.text().await.expect("a clean end");
    if streamed {
        return (
            status,
            events(&text)
                .into_iter()
                .map(|event| json!([event.name, event.data]))
                .collect(),
        );
    }
    let text = text.trim();
    (
        status,
        if text.is_empty() {
            Value::Null
        } else {
            serde_json::from_str(text).unwrap_or_else(|_| json!(text))
        },
    )
}

/// Sends a sequence of requests and returns the differences of the responses.
async fn play(world: &World, family: &str, steps: &[Value], recorded: &[Value]) -> Vec<String> {
    let (mut known_ids, mut differences) = (KnownIds::new(), Vec::new());
    let mut recorded = recorded.iter();
    for (n, step) in steps.iter().enumerate() {
        let path = filled(&step["path"], &known_ids);
        let (path, body) = (
            path.as_str().expect("a path"),
            filled(&step["body"], &known_ids),
        );
        let method = step["method"].as_str().expect("a method");
        let (status, response) = loop {
            let (status, response) = send(world, method, path, &body).await;
            match step["until"].as_array().map(Vec::as_slice) {
                Some([Value::String(at), expected @ ..])
                    if !response.pointer(at).is_some_and(|is| expected.contains(is)) => {}
                _ => break (status, response),
            }
        };
        for (name, place) in step["keep"].as_object().into_iter().flatten() {
            let id = place
                .as_str()
                .and_then(|place| response.pointer(place))
                .and_then(Value::as_str);
            known_ids.insert(
                name.clone(),
                id.unwrap_or_else(|| panic!("{family}: {name} in {response}"))
                    .to_owned(),
            );
        }
        if step["until"].is_null() {
            let real = recorded.next().expect("a recorded response");
            let own = json!({"status": status, "body": normalized(&response, &known_ids)});
            let mut found = Vec::new();
            compare(&normalized(real, &KnownIds::new()), &own, "", &mut found);
            differences.extend(
                found
                    .into_iter()
                    .map(|what| format!("{family}, step {n}, {method} {path}: {what}")),
            );
        }
    }
    differences
}

fn compare(real: &Value, own: &Value, at: &str, found: &mut Vec<String>) {
    match (real, own) {
        (Value::Object(a), Value::Object(b)) => {
            let keys = |a: &Map<String, Value>, b: &Map<String, Value>| -> Vec<String> {
                a.keys()
                    .filter(|key| !b.contains_key(*key))
                    .cloned()
                    .collect()
            };
            found.extend(
                keys(a, b)
                    .iter()
                    .map(|key| format!("{at}.{key} is missing")),
            );
            found.extend(
                keys(b, a)
                    .iter()
                    .map(|key| format!("{at}.{key} is unexpected")),
            );
            for (key, real) in a {
                b.get(key)
                    .into_iter()
                    .for_each(|own| compare(real, own, &format!("{at}.{key}"), found));
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter()
                .zip(b)
                .enumerate()
                .for_each(|(n, (real, own))| compare(real, own, &format!("{at}[{n}]"), found));
        }
        _ if real == own => {}
        _ => found.push(format!("{at} is {own} instead of {real}")),
    }
}

#[tokio::test]
async fn responses_match_the_real_server() {
    let world = world(Options {
        speed: 50.0,
        ..Options::default()
    })
    .await;
    let recorded = include_str!("../../fixtures/acting/python.json");
    let [steps, recorded]: [BTreeMap<String, Vec<Value>>; 2] =
        [STEPS, recorded].map(|text| serde_json::from_str(text).expect("JSON"));
    let plays = steps
        .iter()
        .map(|(name, steps)| play(&world, name, steps, &recorded[name]));
    let all = tokio::time::timeout(Duration::from_secs(50), futures::future::join_all(plays));
    let differences: Vec<String> = all
        .await
        .expect("every wait ends")
        .into_iter()
        .flatten()
        .collect();
    assert!(
        differences.is_empty(),
        "{} differences:\n{}",
        differences.len(),
        differences.join("\n")
    );
}
