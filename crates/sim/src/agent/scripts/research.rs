//! `research`: a plan, two parallel searches and a critic, and a report.

use crate::agent::prelude::*;

fn topic<'n>(node: &'n Node<'_>) -> &'n str {
    let asked = message::last_question(node.get("messages"));
    let asked = Some(asked).filter(|asked| !asked.is_empty());
    let topic = node.text("topic").or(asked);
    topic.unwrap_or("tidal power in the Bay of Fundy")
}

/// Announces what will be searched for.
pub async fn plan(node: &Node<'_>) -> Result<Value, Stop> {
    let topic = topic(node);
    node.custom(
        &json!({"phase": "plan", "progress": 0.05, "text": format!("three angles on {topic}")}),
    );
    let text = format!(
        "Plan for **{topic}**: 1. recent news 2. papers since 2020 3. doubts and counter-arguments."
    );
    let message = node.say(&Reply::text(text)).await;
    Ok(
        json!({"messages": [message], "notes": ["planned"], "queries": [topic, "recent results", "open problems"]}),
    )
}

/// Two nodes of this type run in parallel and report their progress.
pub async fn search(node: &Node<'_>) -> Result<Value, Stop> {
    let name = node.position.node.as_str();
    let (pages, pace) = if name == "web" {
        (6, 420.0)
    } else {
        (4, 650.0)
    };
    const HITS: [&str; 6] = [
        "nature.example/energy/2026/11",
        "arxiv.example/2609.04417",
        "エネルギー白書 2026 — 第三章",
        "tidal-news.example/fundy-array",
        "journal.example/10.1000/182",
        "gov.example/reports/marine",
    ];
    for page in 0..pages {
        node.wait(pace).await;
        let hit = HITS[(page * 5 + name.len()) % HITS.len()];
        let progress = (page + 1) as f64 / pages as f64;
        node.custom(
            &json!({"node": name, "page": page + 1, "of": pages, "progress": progress, "hit": hit}),
        );
    }
    Ok(json!({"notes": [format!("{name}: {pages} sources read")]}))
}

/// A node that is a subgraph.
pub async fn inside(node: &Node<'_>, graph: Graph) -> Result<Value, Stop> {
    let state = node.subgraph(graph).await?;
    let added = |key: &str| {
        let all = items_of(&state[key]).skip(items_of(node.get(key)).count());
        all.cloned().collect::<Vec<Value>>()
    };
    Ok(json!({"notes": added("notes"), "messages": added("messages")}))
}

/// The critic reads the plan.
pub async fn read(node: &Node<'_>) -> Result<Value, Stop> {
    node.custom(&json!({"phase": "critic", "progress": 0.5}));
    let text = "The plan leans on press releases; costs per MWh must come from the operators' own reports.";
    let message = node.say(&Reply::text(text)).await;
    Ok(json!({"messages": [message], "notes": ["critic: read the plan"]}))
}

/// Two levels down: checks the sources.
pub async fn check(node: &Node<'_>) -> Result<Value, Stop> {
    for n in 1..=3 {
        node.wait(300.0).await;
        node.custom(&json!({"checked": n, "of": 3, "progress": f64::from(n) / 3.0}));
    }
    let message = node
        .say(&Reply::text(
            "Two of three sources hold; the third quotes the first. 出典を要確認。",
        ))
        .await;
    Ok(json!({"messages": [message], "notes": ["sources: 2 of 3 hold"]}))
}

/// The report.
pub async fn write(node: &Node<'_>) -> Result<Value, Stop> {
    let topic = topic(node);
    let notes = texts_of(node.get("notes"));
    let mut text = format!("# {topic}\n\nWhat the sources agree on:\n\n");
    for note in &notes {
        text.push_str(&format!("- {note}\n"));
    }
    text.push_str(
        "\n| year | installed | cost |\n|------|----------:|-----:|\n| 2024 | 38 MW | 210 €/MWh |\n| 2026 | 71 MW | 164 \
         €/MWh |\n\n> 結論: the price falls about 12 % a year; storage, not turbines, is what holds it back. 🌊\n",
    );
    let message = node.say(&Reply::text(text.clone())).await;
    node.custom(&json!({"phase": "done", "progress": 1.0}));
    Ok(
        json!({"messages": [message], "report": text, "notes": [format!("wrote from {} notes", notes.len())]}),
    )
}
