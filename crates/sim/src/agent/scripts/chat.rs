//! `agent` and `support`: a chat that uses tools and answers in Markdown.

use crate::agent::prelude::*;

/// The model's turn: first a tool call, then the answer from the results.
pub async fn chat(node: &Node<'_>) -> Result<Value, Stop> {
    let question = message::last_question(node.get("messages"));
    let newest = node.messages().iter().rev();
    let found = newest.take_while(|message| message["type"] != "human");
    let found: Vec<&Value> = found.filter(|message| message["type"] == "tool").collect();
    let reply = match refund(node, question, &found) {
        Some(refund) => refund,
        None if found.is_empty() => look_up(question),
        None => answer(question, &found),
    };
    node.answer(&reply).await
}

/// Runs the tool calls of the last message.
pub async fn tools(node: &Node<'_>) -> Result<Value, Stop> {
    let mut answers = Vec::new();
    for call in message::open_calls(node.get("messages")) {
        let (name, id) = (text_of(&call["name"]), text_of(&call["id"]));
        node.custom(&json!({"tool": name, "status": "running"}));
        node.wait(550.0).await;
        answers.push(message::tool(name, id, result(name, &call["args"])));
    }
    Ok(json!({"messages": answers}))
}

fn call(name: &str, args: Value, question: &str) -> Call {
    let number = stable_number(&format!("{name}{question}")) as u32;
    Call {
        name: name.into(),
        args,
        id: format!("call_{number:08x}"),
    }
}

/// The tools that a question needs.
fn look_up(question: &str) -> Reply {
    let asked = question.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| asked.contains(word));
    let call = |name: &str, args: Value| call(name, args, question);
    let (text, calls) = if has(&["weather", "wetter", "天気"]) {
        let words = question.trim_end_matches(['?', '？', '!', '.']).rsplit(' ');
        let city = words.take(1).collect::<String>();
        (
            "Let me check the weather.",
            vec![call("get_weather", json!({"city": city}))],
        )
    } else if has(&["order", "parcel", "deliver", "shipping"]) {
        let order = format!("A-{:05}", stable_number(question) % 90_000 + 10_000);
        let found = json!({"order_id": order, "include": ["items", "shipment"]});
        let tracked = json!({"carrier": "DHL", "order_id": order});
        let calls = vec![call("find_order", found), call("track_parcel", tracked)];
        ("I look up the order and its parcel.", calls)
    } else if has(&["refund", "invoice", "charge", "pay", "bill"]) {
        let args = json!({"customer": "c_8841", "period": "2026-10", "currency": "EUR"});
        (
            "I look at the account first.",
            vec![call("list_invoices", args)],
        )
    } else if has(&["password", "login", "log in", "sign in", "2fa"]) {
        let args = json!({"user": "m.kowalska", "last": 5});
        (
            "Let me look at the sign-in log.",
            vec![call("auth_log", args)],
        )
    } else {
        let args = json!({"query": question, "top_k": 3});
        (
            "Let me search the handbook.",
            vec![call("search_docs", args)],
        )
    };
    Reply {
        text: text.into(),
        calls,
    }
}

/// The support bot of the demo's European region already has the version that pays a double charge back by itself. Elsewhere
/// the same input only leads to an answer.
fn refund(node: &Node<'_>, question: &str, found: &[&Value]) -> Option<Reply> {
    let is_newer = node.out.graph == Graph::Support && node.out.agent.name == "support-bot-eu";
    let is_result_of = |name: &str| found.iter().any(|message| message["name"] == name);
    if !is_newer || !is_result_of("list_invoices") {
        return None;
    }
    if is_result_of("send_refund") {
        return Some(Reply::text(
            "October was charged **twice**. I sent the 49.00 € of `2026-10-0194` back to your card; it arrives within 3–5 days.",
        ));
    }
    let args = json!({"customer": "c_8841", "invoice": "2026-10-0194", "amount": "49.00 EUR"});
    Some(Reply {
        text: "The second charge is a duplicate: I send it back.".into(),
        calls: vec![call("send_refund", args, question)],
    })
}

/// The result of a tool.
fn result(name: &str, args: &Value) -> String {
    match name {
        "get_weather" => format!("21 °C, sunny in {}", text_of(&args["city"])),
        "find_order" => json!({
            "order_id": args["order_id"], "status": "shipped", "items": [{"sku": "日傘-02", "qty": 1}, {"sku": "MUG-11", "qty": 2}],
            "total": "64.80 EUR",
        })
        .to_string(),
        "track_parcel" => json!({"carrier": "DHL", "last_scan": "Leipzig", "eta": "tomorrow 10:00–12:00"}).to_string(),
        "list_invoices" => json!([
            {"id": "2026-10-0193", "amount": "49.00 EUR", "status": "paid"},
            {"id": "2026-10-0194", "amount": "49.00 EUR", "status": "paid", "note": "duplicate of 0193"},
        ])
        .to_string(),
        "send_refund" => json!({"refund": "r_2026-0031", "status": "sent"}).to_string(),
        "auth_log" => "4 failed sign-ins from Kraków since 08:12, wrong code; the phone was changed on Monday".into(),
        _ => "1. Opening hours (score 0.91)\n2. Returning goods (score 0.77)\n3. 返品について (score 0.64)".into(),
    }
}

/// The answer from the results of the tools.
fn answer(question: &str, found: &[&Value]) -> Reply {
    let name = |message: &&&Value| {
        ["get_weather", "find_order", "list_invoices", "auth_log"]
            .contains(&text_of(&message["name"]))
    };
    let known = found.iter().find(name);
    Reply::text(match known.map_or("", |message| text_of(&message["name"])) {
        "get_weather" => {
            let weather = known.map_or("", |message| text_of(&message["content"]));
            format!("It is {weather} ☀️ — bring 日焼け止め.")
        }
        "find_order" => "Your order is on its way 📦\n\n| item | pieces |\n|------|-------:|\n| 日傘 (parasol) | 1 |\n| mug, blue | 2 \
             |\n\n- last seen in **Leipzig**\n- comes **tomorrow, 10:00–12:00**\n\nI can send you a message when the \
             driver is near; just say *yes*.".into(),
        "list_invoices" => "You are right: October was charged **twice**.\n\n1. `2026-10-0193` – 49.00 € ✓\n2. `2026-10-0194` – 49.00 \
             € – the duplicate\n\nThe second one goes back to your card, usually within 3–5 days. Sorry for the trouble!".into(),
        "auth_log" => "Your new phone does not have the old sign-in codes. Do this:\n\n```sh\nacme login --recovery\n```\n\nThen \
             scan the QR code again. **Nobody else** signed in meanwhile. 安心してください。".into(),
        _ => {
            let topic = if question.is_empty() { "that" } else { question };
            format!(
                "About *{topic}*, this is what the handbook says:\n\n- we are there **Mon–Fri, 8–18 h** (CET)\n- goods can come \
                 back within 30 days, 送料無料\n- the rest is under `help.acme.example`\n\nDoes that help? 😊"
            )
        }
    })
}
