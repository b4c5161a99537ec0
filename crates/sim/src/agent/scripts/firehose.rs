//! `firehose`: any number of events, as fast as the readers accept them.

use crate::agent::prelude::*;

/// Maximum number of events that the slowest reader may be behind.
const AHEAD: u64 = 20_000;

/// Input: `n` custom events with `size` bytes of padding, or `tokens` tokens; `per_ms` of them share an id (default 7). With `hold`
/// it stops after `hold_after` events until the test releases it.
pub async fn burst(node: &Node<'_>) -> Result<Value, Stop> {
    let number = |key: &str| node.state.get(key).and_then(Value::as_u64);
    let group = number("per_ms").unwrap_or(7).max(1);
    let hold = node.text("hold");
    let hold_after = number("hold_after").unwrap_or(0);
    if let Some(tokens) = number("tokens") {
        return tokens_out(node, tokens, group).await;
    }
    let count = number("n").unwrap_or(500);
    let pad = "x".repeat(number("size").unwrap_or(0) as usize);
    let mut burst = node.out.burst();
    for n in 0..count {
        if n == hold_after
            && let Some(name) = hold
        {
            burst.send();
            node.out.agent.held(name).await;
        }
        burst.add("custom", &node.position.ns, &json!({"i": n, "pad": pad}));
        if (n + 1) % group == 0 {
            burst.send();
            give_way(node, n / group).await;
        }
    }
    burst.send();
    Ok(json!({"done": count}))
}

async fn tokens_out(node: &Node<'_>, tokens: u64, group: u64) -> Result<Value, Stop> {
    const WORDS: [&str; 12] = [
        "the ", "wide ", "river ", "流れ ", "runs ", "slowly ", "past ", "Kraków ", "and ",
        "then ", "on ", "— ",
    ];
    let id = format!("lc_run--{}", uuid7(node.out.clock.now()));
    let mut stream = MessageStream::new(node.out, &node.position, id.clone());
    let mut text = String::new();
    let mut burst = node.out.burst();
    for n in 0..tokens {
        let word = WORDS[(n % WORDS.len() as u64) as usize];
        text.push_str(word);
        stream.piece(&mut burst, &Piece::Text(word.to_owned()));
        if (n + 1) % group == 0 {
            burst.send();
            give_way(node, n / group).await;
        }
    }
    let reply = Reply::text(text);
    let usage = json!({"input_tokens": 3, "output_tokens": tokens, "total_tokens": tokens + 3});
    stream.piece(
        &mut burst,
        &Piece::Ending {
            ending: reply.ending(),
            usage: usage.clone(),
        },
    );
    stream.piece(&mut burst, &Piece::Last);
    burst.send();
    let message = message::ai(
        &node.out.shown_id(&id),
        &reply.text,
        &[],
        reply.ending(),
        usage,
    );
    Ok(json!({"messages": [message], "done": tokens}))
}

/// Yields now and then, and waits for readers that are far behind.
async fn give_way(node: &Node<'_>, group: u64) {
    if group % 16 == 15 {
        tokio::task::yield_now().await;
        node.out.feed.caught_up(AHEAD).await;
    }
}
