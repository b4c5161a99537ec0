//! Small graphs: one asks before it acts, one fails, one sends nothing for a long time.

use crate::agent::prelude::*;

fn amount(node: &Node<'_>) -> f64 {
    node.number("amount", 1250.0)
}

fn number(value: f64) -> Value {
    if value.fract() == 0.0 {
        json!(value as i64)
    } else {
        json!(value)
    }
}

/// `approval`: writes the draft of a payment.
pub async fn draft(node: &Node<'_>) -> Result<Value, Stop> {
    let to = node.text("to").unwrap_or("Hoffmann & Söhne GmbH");
    node.custom(&json!({"phase": "looking up the account", "progress": 0.3}));
    node.wait(700.0).await;
    node.custom(&json!({"phase": "checking the limit", "progress": 0.8}));
    node.wait(500.0).await;
    let amount = number(amount(node));
    Ok(json!({"draft": format!("send {amount} EUR to {to}"), "amount": amount, "log": ["drafted"]}))
}

/// `approval`: stops until the user answers.
pub fn ask(node: &Node<'_>) -> Result<Value, Stop> {
    let question = json!({"question": "Approve this payment?", "draft": node.get("draft"), "amount": number(amount(node))});
    let answer = node.ask(&question, None)?;
    Ok(json!({"decision": answer, "log": ["asked"]}))
}

/// `approval`: pays, or declines.
pub async fn act(node: &Node<'_>) -> Result<Value, Stop> {
    node.wait(400.0).await;
    let yes = match node.get("decision") {
        Value::Bool(yes) => *yes,
        Value::String(text) => matches!(
            text.to_lowercase().as_str(),
            "yes" | "y" | "ok" | "approve" | "approved"
        ),
        Value::Object(object) => ["ok", "approved", "approve"]
            .iter()
            .any(|key| object.get(*key) == Some(&json!(true))),
        Value::Null => false,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::Array(list) => !list.is_empty(),
    };
    Ok(json!({"log": [if yes { "paid" } else { "put aside" }]}))
}

/// `broken`: succeeds.
pub async fn ok(node: &Node<'_>) -> Result<Value, Stop> {
    node.wait(300.0).await;
    Ok(json!({"log": ["fine"]}))
}

/// `broken`: raises.
pub async fn boom(node: &Node<'_>) -> Result<Value, Stop> {
    node.wait(600.0).await;
    let message = node
        .text("message")
        .unwrap_or("boom: the node failed — détails");
    let error = node.text("error").unwrap_or("ValueError");
    Err(Stop::failed(error, message))
}

/// `slow`: sends one event and then nothing for 12 seconds, or for `seconds`, or until the test releases `hold`.
pub async fn nap(node: &Node<'_>) -> Result<Value, Stop> {
    node.custom(&json!({"tick": 0}));
    match node.text("hold") {
        Some(name) => node.out.agent.held(name).await,
        None => node.wait(node.number("seconds", 12.0) * 1000.0).await,
    }
    Ok(json!({"log": ["napped"]}))
}
