//! The nodes of the simulator's graphs.

pub mod asking;
pub mod chat;
pub mod firehose;
pub mod jobs;
pub mod mail;
pub mod research;
pub mod small;

use super::graphs::REVIEW;
use crate::agent::prelude::*;

/// Runs one node of a graph.
pub fn play<'a>(graph: Graph, node: &'a Node<'_>) -> BoxFuture<'a, Result<Value, Stop>> {
    use Graph::*;
    let name = node.position.node.clone();
    async move {
        match (graph, name.as_str()) {
            (Agent | Support, "chat") => chat::chat(node).await,
            (Agent | Support, "tools") => chat::tools(node).await,
            (Research, "plan") => research::plan(node).await,
            (Research, "web" | "papers") => research::search(node).await,
            (Research, "critic") => research::inside(node, Critic).await,
            (Research, "write") => research::write(node).await,
            (Critic, "read") => research::read(node).await,
            (Critic, "sources") => research::inside(node, Sources).await,
            (Sources, "check") => research::check(node).await,
            (Approval, "draft") => small::draft(node).await,
            (Approval, "ask") => small::ask(node),
            (Approval, "act") => small::act(node).await,
            (Broken, "ok") => small::ok(node).await,
            (Broken, "boom") => small::boom(node).await,
            (Slow, "nap") => small::nap(node).await,
            (Slow, "wake") => Ok(json!({"log": ["woke"]})),
            (Firehose, "burst") => firehose::burst(node).await,
            (Two, "left" | "right") => asking::side(node),
            (Two, "done") => Ok(asking::done(node)),
            (Schema, "ask") => asking::review(node),
            (Mailer, "write") => mail::write(node).await,
            (Mailer, "ask") => mail::ask(node),
            (Mailer, "send") => mail::send(node).await,
            (Clarify, "look_up") => asking::look_up(node).await,
            (Clarify, "ask") => asking::which(node),
            (Clarify, "reply") => asking::reply(node).await,
            (Hitl, "model") => asking::model(node).await,
            (Hitl, REVIEW) => asking::approve(node),
            (Hitl, "tools") => asking::tools(node).await,
            (Release, "build" | "test" | "release") => jobs::stage(node).await,
            (Counter, "step") => jobs::step(node).await,
            (Failing, "before" | "maybe" | "par") => jobs::failing(node).await,
            (Crawl, "plan" | "fetch" | "index" | "report") => jobs::crawl(node).await,
            (Sync, "fetch" | "transform" | "save") => jobs::sync(node).await,
            (_, unknown) => Err(Stop::failed("KeyError", format!("'{unknown}'"))),
        }
    }
    .boxed()
}
