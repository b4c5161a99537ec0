//! Reads what the inbox shows of a row besides what lists say.

use super::effects::card;
use super::services::Services;
use crate::boxed;
use crate::session::msg::{InboxTarget, RowDetail};
use crate::widgets::markdown::plain;
use runtail_api::{ApiError, Kind};
use runtail_core::json;
use runtail_core::model::FailureCard;
use runtail_core::text;
use runtail_stream::projection::Role;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Maximum size of a state in bytes. Larger ones are not read, because this is only an aside.
const MAX_STATE: usize = 4 << 20;
/// Maximum bytes of a text, and number of fields.
const MAX_TEXT: usize = 8 << 10;
const MAX_FIELDS: usize = 12;

/// Reads the details of a row. A state that is not offered or too large has none.
#[boxed]
pub async fn read(services: &Services, of: &InboxTarget) -> Result<RowDetail, ApiError> {
    match of {
        InboxTarget::Thread(thread) => {
            let client = services.agent_server(&thread.server).await?;
            match client.thread_state_raw(&thread.id, MAX_STATE).await {
                Ok(state) => Ok(of_state(state.get())),
                Err(error) if error.may_lack_call() || matches!(error.kind, Kind::TooLarge(_)) => {
                    Ok(RowDetail::default())
                }
                Err(error) => Err(error),
            }
        }
        InboxTarget::Revision(of, address) => {
            Ok(of_card(&*card(services, of, address, &[]).await?))
        }
    }
}

/// Returns the last message of a state, else its fields.
fn of_state(state: &str) -> RowDetail {
    #[derive(Deserialize)]
    struct State {
        #[serde(default)]
        values: Value,
    }
    let Ok(State {
        values: Value::Object(values),
    }) = json::from_str(state)
    else {
        return RowDetail::default();
    };
    let is_message = |value: &Value| {
        let word = value["type"]
            .as_str()
            .or_else(|| value["role"].as_str())
            .unwrap_or_default();
        value.get("content").is_some() && !matches!(Role::of(word), Role::Other(_))
    };
    let lists = || values.values().filter_map(Value::as_array);
    let other = || lists().find(|list| list.first().is_some_and(is_message));
    let messages = values
        .get("messages")
        .and_then(Value::as_array)
        .or_else(other);
    match messages.and_then(|messages| messages.last()?.as_object()) {
        Some(message) => RowDetail {
            title: "last message".into(),
            rows: vec![of_message(message)],
            hidden: 0,
        },
        None if values.is_empty() => RowDetail::default(),
        None => {
            let present = || values.iter().filter(|(_, value)| !value.is_null());
            let row = |(name, value): (&String, &Value)| (name.clone(), text_of(value));
            let rows = present().take(MAX_FIELDS).map(row).collect();
            RowDetail {
                title: "state".into(),
                rows,
                hidden: present().count().saturating_sub(MAX_FIELDS),
            }
        }
    }
}

/// Returns who wrote a message, and its text: the calls of tools where it has none.
fn of_message(message: &Map<String, Value>) -> (String, String) {
    let word = |key: &str| {
        message
            .get(key)
            .and_then(Value::as_str)
            .filter(|word| !word.is_empty())
    };
    let role = match word("type").or_else(|| word("role")).unwrap_or("message") {
        "human" => "user",
        "assistant" | "AIMessageChunk" => "ai",
        role => role,
    };
    let role = word("name").map_or_else(|| role.to_string(), |name| format!("{role} · {name}"));
    let said = match message.get("content") {
        Some(Value::String(said)) => said.clone(),
        Some(Value::Array(blocks)) => {
            let of_block = |block: &Value| {
                block
                    .as_str()
                    .or_else(|| block["text"].as_str())
                    .map(str::to_string)
            };
            blocks.iter().filter_map(of_block).collect()
        }
        _ => String::new(),
    };
    let said = plain(text::head(&said, MAX_TEXT));
    let calls: Vec<String> = message
        .get("tool_calls")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .take(MAX_FIELDS)
        .filter_map(|call| Some(format!("{}({})", call["name"].as_str()?, call["args"])))
        .collect();
    let calls = if calls.is_empty() {
        String::new()
    } else {
        format!("calls {}", calls.join(", "))
    };
    let parts: Vec<&str> = [said.trim(), &calls]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect();
    (role, text::head(&parts.join("\n"), MAX_TEXT).to_string())
}

fn text_of(value: &Value) -> String {
    let said = match value {
        Value::String(said) => said.clone(),
        other => other.to_string(),
    };
    text::head(&said, MAX_TEXT).to_string()
}

/// Returns the first error of a revision's log, else what its record says.
fn of_card(card: &FailureCard) -> RowDetail {
    let log = card
        .log
        .as_ref()
        .map_or("log".to_string(), |end| format!("{} log", end.log.word()));
    if let Some(error) = &card.error {
        let rows = std::iter::once(&error.text)
            .chain(&error.more)
            .map(|line| (String::new(), line.clone()));
        let title = format!("first error ({log}, line {})", error.line);
        return RowDetail {
            title,
            rows: rows.collect(),
            hidden: 0,
        };
    }
    let unread = card.log.as_ref().and_then(|end| end.unread.clone());
    let said = card
        .message
        .iter()
        .chain([&card.meaning])
        .map(|line| (String::new(), line.clone()));
    let unread = unread.map(|why| (String::new(), format!("The {log} could not be read: {why}")));
    let rows = said
        .chain(unread)
        .filter(|(_, said)| !said.is_empty())
        .collect();
    RowDetail {
        title: "status".into(),
        rows,
        hidden: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rows(values: Value) -> (String, Vec<(String, String)>) {
        let detail = of_state(&json!({"values": values, "next": ["tools"]}).to_string());
        (detail.title, detail.rows)
    }

    #[test]
    fn messages_under_another_key_are_found() {
        let case = include_str!(
            "../../../../tests/fixtures/cases/08-messages-under-another-key/state.json"
        );
        let detail = of_state(case);
        assert_eq!(
            (detail.title.as_str(), detail.rows),
            (
                "last message",
                vec![("ai".into(), "Done, refunded.".into())]
            )
        );
        assert_eq!(rows(json!({"notes": [{"content": "x"}]})).0, "state");
    }

    #[test]
    fn the_last_message_is_read_in_every_format() {
        let said = |message: Value| {
            rows(json!({"messages": [{"type": "human", "content": "hi"}, message]}))
                .1
                .remove(0)
        };
        let row = |role: &str, text: &str| (role.to_string(), text.to_string());
        assert_eq!(
            said(json!({"type": "ai", "content": "Pay it?"})),
            row("ai", "Pay it?")
        );
        assert_eq!(
            said(json!({"role": "assistant", "name": "draft", "content": "x"})),
            row("ai · draft", "x")
        );
        let blocks = json!([{"type": "text", "text": "a"}, {"type": "image_url"}, "b"]);
        assert_eq!(
            said(json!({"type": "human", "content": blocks})),
            row("user", "ab")
        );
        let marked = json!({"type": "ai", "content": "## Refund\n**49 €** by `send_refund`"});
        assert_eq!(said(marked), row("ai", "Refund\n49 € by send_refund"));
        let calls = json!([{"name": "send", "args": {"to": "x"}, "id": "1"}]);
        assert_eq!(
            said(json!({"type": "ai", "content": "", "tool_calls": calls})),
            row("ai", r#"calls send({"to":"x"})"#)
        );
        assert_eq!(
            said(json!({"type": 7, "content": null})),
            row("message", "")
        );
    }

    #[test]
    fn a_state_without_messages_shows_its_fields() {
        let (title, fields) = rows(json!({"draft": "Dear", "amount": 5, "none": null}));
        let expected = [("amount", "5"), ("draft", "Dear")]
            .map(|(name, text)| (name.to_string(), text.to_string()));
        assert_eq!(title, "state");
        assert!(
            expected.iter().all(|row| fields.contains(row)) && fields.len() == 2,
            "{fields:?}"
        );
        for odd in ["[]", "{}", "", r#"{"values":[1]}"#, r#"{"values":{}}"#] {
            assert_eq!(of_state(odd), RowDetail::default(), "{odd}");
        }
    }
}
