//! Graphs that ask the user: two questions at once, a question with a schema, and approvals in the shape of langchain's
//! human-in-the-loop middleware. They validate answers as the real ones do, so an invalid answer fails the node.

use crate::agent::exec::{Node, Stop};
use crate::agent::message::{self, Call, Reply};
use crate::agent::python::{python_repr, python_type};
use crate::values::{items_of, text_of};
use serde_json::{Value, json};

/// `two`: one of two nodes that ask in parallel.
pub fn side(node: &Node<'_>) -> Result<Value, Stop> {
    let side = node.position.node.as_str();
    let question = match node.text(side) {
        Some(text) => json!({"question": text, "side": side}),
        None => json!({"question": format!("Go {side}?"), "side": side}),
    };
    let answer = node.ask(&question, None)?;
    Ok(json!({"answers": [{"side": side, "answer": answer}]}))
}

/// `two`: after both answers.
pub fn done(node: &Node<'_>) -> Value {
    let answers = node
        .state
        .get("answers")
        .and_then(Value::as_array)
        .map_or(0, Vec::len);
    json!({"answers": [{"side": "done", "answer": answers}]})
}

/// `clarify`: finds more than one order.
pub async fn look_up(node: &Node<'_>) -> Result<Value, Stop> {
    node.custom(&json!({"tool": "find_orders", "progress": 0.5}));
    node.wait(1800.0).await;
    Ok(json!({"orders": ["A-20931", "A-20944"]}))
}

/// `clarify`: asks which one, in plain text.
pub fn which(node: &Node<'_>) -> Result<Value, Stop> {
    let answer = node.ask(
        &json!("Which order do you mean: A-20931 (kettle) or A-20944 (two mugs)?"),
        None,
    )?;
    Ok(json!({"order": answer}))
}

/// `clarify`: answers for the chosen order.
pub async fn reply(node: &Node<'_>) -> Result<Value, Stop> {
    let order = node.state.get("order").cloned().unwrap_or_default();
    let order = order
        .as_str()
        .map_or_else(|| order.to_string(), str::to_owned);
    let text =
        format!("Order **{order}** left Gdańsk this morning and arrives tomorrow before noon.");
    Ok(json!({"messages": [node.say(&Reply::text(text)).await]}))
}

/// `schema`: the JSON schema of the answer.
fn review_schema() -> Value {
    json!({
        "title": "Review", "description": "The reviewer's decision.", "type": "object", "required": ["approve"],
        "properties": {
            "approve": {"title": "Approve", "type": "boolean", "description": "Send the draft?"},
            "score": {"title": "Score", "type": "integer", "default": 5, "minimum": 0, "maximum": 10},
            "colour": {"title": "Colour", "type": "string", "enum": ["red", "green", "blue"], "default": "green"},
            "note": {"title": "Note", "anyOf": [{"type": "string"}, {"type": "null"}], "default": null},
        },
    })
}

/// `schema`: asks. An answer that does not match is refused before it is stored.
pub fn review(node: &Node<'_>) -> Result<Value, Stop> {
    let text = node.text("question").unwrap_or("Review the draft");
    let answer = node.ask(
        &json!({"question": text}),
        Some((review_schema(), check_review)),
    )?;
    let or = |key: &str, default: Value| answer.get(key).cloned().unwrap_or(default);
    Ok(
        json!({"review": {"approve": answer["approve"], "score": or("score", json!(5)),
        "colour": or("colour", json!("green")), "note": or("note", Value::Null)}}),
    )
}

fn check_review(answer: &Value) -> Result<(), Stop> {
    let mut wrong = Vec::new();
    let mut say = |field: &str, what: &str, kind: &str, input: &Value| {
        wrong.push(format!(
            "{field}\n  {what} [type={kind}, input_value={}, input_type={}]\n    For further information visit \
             https://errors.pydantic.dev/2.14/v/{kind}",
            python_repr(input),
            python_type(input)
        ));
    };
    match answer.get("approve") {
        None => say("approve", "Field required", "missing", answer),
        Some(Value::Bool(_)) => {}
        Some(other) => say(
            "approve",
            "Input should be a valid boolean",
            "bool_type",
            other,
        ),
    }
    match answer.get("score").map(|score| (score, score.as_i64())) {
        None => {}
        Some((score, None)) => say(
            "score",
            "Input should be a valid integer",
            "int_type",
            score,
        ),
        Some((score, Some(n))) if n > 10 => {
            say(
                "score",
                "Input should be less than or equal to 10",
                "less_than_equal",
                score,
            );
        }
        Some((score, Some(n))) if n < 0 => {
            say(
                "score",
                "Input should be greater than or equal to 0",
                "greater_than_equal",
                score,
            );
        }
        Some(_) => {}
    }
    if let Some(colour) = answer
        .get("colour")
        .filter(|colour| !["red", "green", "blue"].iter().any(|c| colour == c))
    {
        say(
            "colour",
            "Input should be 'red', 'green' or 'blue'",
            "literal_error",
            colour,
        );
    }
    if wrong.is_empty() {
        return Ok(());
    }
    let plural = if wrong.len() == 1 { "" } else { "s" };
    let message = format!(
        "{} validation error{plural} for Review\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    Err(Stop::failed("ValidationError", message))
}

/// The tools that need approval, and the decisions that each allows.
const GATED: [(&str, &[&str]); 2] = [
    ("send_email", &["approve", "edit", "reject", "respond"]),
    ("delete_file", &["approve", "reject"]),
];

/// `hitl`: the model calls tools, and summarizes their results.
pub async fn model(node: &Node<'_>) -> Result<Value, Stop> {
    let messages = node.messages();
    let answers: Vec<&str> = messages
        .iter()
        .rev()
        .take_while(|message| message["type"] == "tool")
        .filter_map(|message| message["content"].as_str())
        .collect();
    let reply = if answers.is_empty() {
        let call = |name: &str, args: Value, id: &str| Call {
            name: name.into(),
            args,
            id: id.into(),
        };
        Reply {
            text: "I'll tell Ana, remove the old export, and read the new one.".into(),
            calls: vec![
                call(
                    "send_email",
                    json!({"to": "ana@acme.example", "body": "The October export is ready."}),
                    "c1",
                ),
                call("delete_file", json!({"path": "/exports/2026-09.csv"}), "c2"),
                call("read_file", json!({"path": "/exports/2026-10.csv"}), "c3"),
            ],
        }
    } else {
        let said: Vec<String> = answers
            .iter()
            .rev()
            .map(|answer| format!("- {answer}"))
            .collect();
        Reply::text(format!("Done:\n\n{}", said.join("\n")))
    };
    Ok(json!({"messages": [node.say(&reply).await]}))
}

/// `hitl`: the middleware asks about all gated calls of the last message at once.
pub fn approve(node: &Node<'_>) -> Result<Value, Stop> {
    let last = node.messages().last().cloned();
    let mut last = last.unwrap_or_default();
    let gated = |call: &Value| GATED.iter().find(|(name, _)| call["name"] == *name);
    let asked: Vec<Value> = items_of(&last["tool_calls"])
        .filter(|call| gated(call).is_some())
        .cloned()
        .collect();
    let requests: Vec<Value> = asked
        .iter()
        .map(|call| {
            let name = text_of(&call["name"]);
            let args = call["args"].to_string();
            let text = format!("Tool execution requires approval\n\nTool: {name}\nArgs: {args}");
            json!({"name": name, "args": call["args"], "description": text})
        })
        .collect();
    let configs: Vec<Value> = asked
        .iter()
        .filter_map(gated)
        .map(|(name, allowed)| json!({"action_name": name, "allowed_decisions": allowed}))
        .collect();
    let answer = node.ask(
        &json!({"action_requests": requests, "review_configs": configs}),
        None,
    )?;
    let Some(decisions) = answer["decisions"].as_array() else {
        return Err(match answer {
            Value::Object(_) => Stop::failed("KeyError", "'decisions'"),
            Value::Array(_) => Stop::failed(
                "TypeError",
                "list indices must be integers or slices, not str",
            ),
            Value::String(_) => {
                Stop::failed("TypeError", "string indices must be integers, not 'str'")
            }
            other => Stop::failed(
                "TypeError",
                format!("'{}' object is not subscriptable", python_type(&other)),
            ),
        });
    };
    if decisions.len() != asked.len() {
        let text = format!(
            "Number of human decisions ({}) does not match number of hanging tool calls ({}).",
            decisions.len(),
            asked.len()
        );
        return Err(Stop::failed("ValueError", text));
    }
    let mut answers = Vec::new();
    for (call, decision) in asked.iter().zip(decisions) {
        let (name, allowed) = gated(call).copied().unwrap_or_default();
        let kind = text_of(&decision["type"]);
        if !allowed.contains(&kind) {
            let text = format!("Decision '{kind}' is not allowed for tool '{name}' ({allowed:?}).");
            return Err(Stop::failed("ValueError", text));
        }
        answers.extend(decide(&mut last, call, name, decision));
    }
    let mut messages = vec![last];
    messages.extend(answers);
    Ok(json!({"messages": messages}))
}

/// Applies a decision: edits the call in the message, or adds a result in place of the tool's.
fn decide(last: &mut Value, call: &Value, name: &str, decision: &Value) -> Option<Value> {
    let id = text_of(&call["id"]);
    let text = text_of(&decision["message"]);
    match decision["type"].as_str() {
        Some("edit") => {
            for one in last["tool_calls"]
                .as_array_mut()
                .into_iter()
                .flatten()
                .filter(|one| one["id"] == id)
            {
                one["name"] = decision["edited_action"]["name"].clone();
                one["args"] = decision["edited_action"]["args"].clone();
            }
            None
        }
        Some("reject") => {
            let why = if text.is_empty() {
                String::new()
            } else {
                format!(" with reason: {text}")
            };
            let mut answer = message::tool(
                name,
                id,
                format!("User rejected the tool call for `{name}`{why}"),
            );
            answer["status"] = json!("error");
            Some(answer)
        }
        Some("respond") => Some(message::tool(name, id, text)),
        _ => None,
    }
}

/// `hitl`: runs the calls that have no result from a decision.
pub async fn tools(node: &Node<'_>) -> Result<Value, Stop> {
    let messages = node.messages();
    let answered: Vec<&Value> = messages
        .iter()
        .rev()
        .take_while(|message| message["type"] == "tool")
        .map(|message| &message["tool_call_id"])
        .collect();
    let asked = messages
        .iter()
        .rev()
        .find(|message| message["type"] == "ai");
    let mut answers = Vec::new();
    for call in asked
        .and_then(|asked| asked["tool_calls"].as_array())
        .into_iter()
        .flatten()
    {
        if answered.contains(&&call["id"]) {
            continue;
        }
        node.wait(400.0).await;
        let args = &call["args"];
        let text = |key: &str| text_of(&args[key]).to_owned();
        let did = match call["name"].as_str() {
            Some("send_email") => format!("sent to {}: {}", text("to"), text("body")),
            Some("delete_file") => format!("deleted {}", text("path")),
            _ => format!("{}: 4,812 rows, no errors", text("path")),
        };
        let name = text_of(&call["name"]);
        answers.push(message::tool(name, text_of(&call["id"]), did));
    }
    Ok(json!({"messages": answers}))
}
