//! Graphs that ask the user: two questions at once, a question with a schema, and approvals in the shape of langchain's
//! human-in-the-loop middleware. They validate answers as the real ones do, so an invalid answer fails the node.

use crate::agent::prelude::*;

/// `two`: one of two nodes that ask in parallel.
pub fn side(node: &Node<'_>) -> Result<Value, Stop> {
    let side = node.position.node.as_str();
    let usual = format!("Go {side}?");
    let question = json!({"question": node.text(side).unwrap_or(&usual), "side": side});
    let answer = node.ask(&question, None)?;
    Ok(json!({"answers": [{"side": side, "answer": answer}]}))
}

/// `two`: after both answers.
pub fn done(node: &Node<'_>) -> Value {
    let count = items_of(node.get("answers")).count();
    json!({"answers": [{"side": "done", "answer": count}]})
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
    let order = node.get("order");
    let order = order
        .as_str()
        .map_or_else(|| order.to_string(), str::to_owned);
    let text =
        format!("Order **{order}** left Gdańsk this morning and arrives tomorrow before noon.");
    node.answer(&Reply::text(text)).await
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
    let (approve, score, colour) = (
        answer.get("approve"),
        answer.get("score"),
        answer.get("colour"),
    );
    let number = score.and_then(Value::as_i64);
    let is = |value: &Value| ["red", "green", "blue"].iter().any(|one| value == one);
    let wrong = [
        (
            "approve",
            "Field required",
            "missing",
            approve.is_none().then_some(answer),
        ),
        (
            "approve",
            "Input should be a valid boolean",
            "bool_type",
            approve.filter(|given| !given.is_boolean()),
        ),
        (
            "score",
            "Input should be a valid integer",
            "int_type",
            score.filter(|_| number.is_none()),
        ),
        (
            "score",
            "Input should be less than or equal to 10",
            "less_than_equal",
            score.filter(|_| number > Some(10)),
        ),
        (
            "score",
            "Input should be greater than or equal to 0",
            "greater_than_equal",
            score.filter(|_| number.is_some_and(|n| n < 0)),
        ),
        (
            "colour",
            "Input should be 'red', 'green' or 'blue'",
            "literal_error",
            colour.filter(|given| !is(given)),
        ),
    ];
    let wrong = wrong.into_iter().filter_map(|(field, what, kind, input)| {
        let (shown, class) = (python_repr(input?), python_type(input?));
        Some(format!(
            "{field}\n  {what} [type={kind}, input_value={shown}, input_type={class}]\n    For further information visit \
             https://errors.pydantic.dev/2.14/v/{kind}"
        ))
    });
    let wrong: Vec<String> = wrong.collect();
    let plural = match wrong.len() {
        0 => return Ok(()),
        1 => "",
        _ => "s",
    };
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
    let last = node.messages().iter().rev();
    let answers = last.take_while(|message| message["type"] == "tool");
    let mut said: Vec<String> = answers
        .map(|one| format!("- {}", text_of(&one["content"])))
        .collect();
    said.reverse();
    let call = |(name, args, id): (&str, Value, &str)| Call {
        name: name.into(),
        args,
        id: id.into(),
    };
    let email = json!({"to": "ana@acme.example", "body": "The October export is ready."});
    let reply = if said.is_empty() {
        Reply {
            text: "I'll tell Ana, remove the old export, and read the new one.".into(),
            calls: [
                ("send_email", email, "c1"),
                ("delete_file", json!({"path": "/exports/2026-09.csv"}), "c2"),
                ("read_file", json!({"path": "/exports/2026-10.csv"}), "c3"),
            ]
            .map(call)
            .to_vec(),
        }
    } else {
        Reply::text(format!("Done:\n\n{}", said.join("\n")))
    };
    node.answer(&reply).await
}

/// `hitl`: the middleware asks about all gated calls of the last message at once.
pub fn approve(node: &Node<'_>) -> Result<Value, Stop> {
    let mut last = node.messages().last().cloned().unwrap_or_default();
    let gated = |call: &Value| GATED.iter().find(|(name, _)| call["name"] == *name);
    let asked: Vec<(Value, &str, &[&str])> = items_of(&last["tool_calls"])
        .filter_map(|call| gated(call).map(|(name, allowed)| (call.clone(), *name, *allowed)))
        .collect();
    let request = |(call, name, _): &(Value, &str, &[&str])| {
        let args = &call["args"];
        let text = format!("Tool execution requires approval\n\nTool: {name}\nArgs: {args}");
        json!({"name": name, "args": args, "description": text})
    };
    let requests: Vec<Value> = asked.iter().map(request).collect();
    let configs = asked
        .iter()
        .map(|(_, name, allowed)| json!({"action_name": name, "allowed_decisions": allowed}));
    let configs: Vec<Value> = configs.collect();
    let question = json!({"action_requests": requests, "review_configs": configs});
    let answer = node.ask(&question, None)?;
    let Some(decisions) = answer["decisions"].as_array() else {
        let text = match &answer {
            Value::Object(_) => return Err(Stop::failed("KeyError", "'decisions'")),
            Value::Array(_) => "list indices must be integers or slices, not str".to_owned(),
            Value::String(_) => "string indices must be integers, not 'str'".to_owned(),
            other => format!("'{}' object is not subscriptable", python_type(other)),
        };
        return Err(Stop::failed("TypeError", text));
    };
    let (given, wanted) = (decisions.len(), asked.len());
    if given != wanted {
        let text = format!(
            "Number of human decisions ({given}) does not match number of hanging tool calls ({wanted})."
        );
        return Err(Stop::failed("ValueError", text));
    }
    let mut messages = Vec::new();
    for ((call, name, allowed), decision) in asked.iter().zip(decisions) {
        let kind = text_of(&decision["type"]);
        if !allowed.contains(&kind) {
            let text = format!("Decision '{kind}' is not allowed for tool '{name}' ({allowed:?}).");
            return Err(Stop::failed("ValueError", text));
        }
        messages.extend(decide(&mut last, call, name, decision));
    }
    messages.insert(0, last);
    Ok(json!({"messages": messages}))
}

/// Applies a decision: edits the call in the message, or adds a result in place of the tool's.
fn decide(last: &mut Value, call: &Value, name: &str, decision: &Value) -> Option<Value> {
    let id = text_of(&call["id"]);
    let text = text_of(&decision["message"]);
    match decision["type"].as_str() {
        Some("edit") => {
            let calls = last["tool_calls"].as_array_mut().into_iter().flatten();
            for one in calls.filter(|one| one["id"] == id) {
                one["name"] = decision["edited_action"]["name"].clone();
                one["args"] = decision["edited_action"]["args"].clone();
            }
            None
        }
        Some("reject") => {
            let mut said = format!("User rejected the tool call for `{name}`");
            if !text.is_empty() {
                said.push_str(&format!(" with reason: {text}"));
            }
            let mut answer = message::tool(name, id, said);
            answer["status"] = json!("error");
            Some(answer)
        }
        Some("respond") => Some(message::tool(name, id, text)),
        _ => None,
    }
}

/// `hitl`: runs the calls that have no result from a decision.
pub async fn tools(node: &Node<'_>) -> Result<Value, Stop> {
    let open = message::open_calls(node.get("messages"));
    let mut answers = Vec::new();
    for call in open {
        node.wait(400.0).await;
        let text = |key: &str| text_of(&call["args"][key]);
        let name = text_of(&call["name"]);
        let did = match name {
            "send_email" => format!("sent to {}: {}", text("to"), text("body")),
            "delete_file" => format!("deleted {}", text("path")),
            _ => format!("{}: 4,812 rows, no errors", text("path")),
        };
        answers.push(message::tool(name, text_of(&call["id"]), did));
    }
    Ok(json!({"messages": answers}))
}
