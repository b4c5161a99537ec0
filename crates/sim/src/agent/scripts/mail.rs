//! `mailer`: writes a mail and asks before it sends it, in the older shape that agent-inbox reads: a list of one request with
//! the permitted answers. The answer is a list of one, too.

use crate::agent::prelude::*;

fn text<'a>(node: &'a Node<'_>, key: &str, usual: &'a str) -> &'a str {
    node.text(key).unwrap_or(usual)
}

/// Writes the draft.
pub async fn write(node: &Node<'_>) -> Result<Value, Stop> {
    node.wait(2600.0).await;
    let (to, subject) = (
        text(node, "to", "ann@acme.example"),
        text(node, "subject", "Your order"),
    );
    let body = text(
        node,
        "body",
        "Dear Ann,\n\nyour order left our warehouse this morning.\n\nKind regards",
    );
    Ok(json!({"to": to, "subject": subject, "body": body, "log": ["wrote the draft"]}))
}

/// Asks about the draft.
pub fn ask(node: &Node<'_>) -> Result<Value, Stop> {
    let (to, subject, body) = (
        text(node, "to", ""),
        text(node, "subject", ""),
        text(node, "body", ""),
    );
    let request = json!({
        "action_request": {"action": "send_email", "args": {"to": to, "subject": subject, "body": body}},
        "config": {"allow_ignore": true, "allow_respond": true, "allow_edit": true, "allow_accept": true},
        "description": format!("# Mail to {to}\n\nA *draft* is ready: **{subject}**"),
    });
    let answer = node.ask(&json!([request]), None)?;
    let kind = first(&answer)?["type"].clone();
    if !["accept", "edit", "response", "ignore"]
        .iter()
        .any(|known| kind == *known)
    {
        return Err(Stop::failed(
            "ValueError",
            format!("unknown response type: {}", python_repr(&kind)),
        ));
    }
    Ok(json!({"answers": [answer], "log": [format!("got {}", python_repr(&answer))]}))
}

/// The first entry of an answer, which must be a list.
fn first(answer: &Value) -> Result<&Value, Stop> {
    match answer {
        Value::Array(list) => list
            .first()
            .ok_or_else(|| Stop::failed("IndexError", "list index out of range")),
        Value::Object(_) => Err(Stop::failed("KeyError", "0")),
        other => Err(Stop::failed(
            "TypeError",
            format!("'{}' object is not subscriptable", python_type(other)),
        )),
    }
}

/// Sends the mail, with the edits of the answer, or not.
pub async fn send(node: &Node<'_>) -> Result<Value, Stop> {
    node.wait(700.0).await;
    let answer = items_of(node.get("answers"))
        .last()
        .map(first)
        .transpose()?;
    let answer = answer.cloned().unwrap_or_default();
    let sent = |to: &str| format!("sent to {to}");
    let did = match answer["type"].as_str() {
        Some("accept") => sent(text(node, "to", "")),
        Some("edit") => sent(
            answer["args"]["args"]["to"]
                .as_str()
                .unwrap_or(text(node, "to", "")),
        ),
        Some("response") => format!("not sent: {}", text_of(&answer["args"])),
        _ => "not sent".to_owned(),
    };
    Ok(json!({"log": [did], "text": did}))
}
