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
    let name = node.position.node.clone();
    async move {
        match (graph, name.as_str()) {
            (Graph::Agent | Graph::Support, "chat") => chat::chat(node).await,
            (Graph::Agent | Graph::Support, "tools") => chat::tools(node).await,
            (Graph::Research, "plan") => research::plan(node).await,
            (Graph::Research, "web" | "papers") => research::search(node).await,
            (Graph::Research, "critic") => research::inside(node, Graph::Critic).await,
            (Graph::Research, "write") => research::write(node).await,
            (Graph::Critic, "read") => research::read(node).await,
            (Graph::Critic, "sources") => research::inside(node, Graph::Sources).await,
            (Graph::Sources, "check") => research::check(node).await,
            (Graph::Approval, "draft") => small::draft(node).await,
            (Graph::Approval, "ask") => small::ask(node),
            (Graph::Approval, "act") => small::act(node).await,
            (Graph::Broken, "ok") => small::ok(node).await,
            (Graph::Broken, "boom") => small::boom(node).await,
            (Graph::Slow, "nap") => small::nap(node).await,
            (Graph::Slow, "wake") => Ok(json!({"log": ["woke"]})),
            (Graph::Firehose, "burst") => firehose::burst(node).await,
            (Graph::Two, "left" | "right") => asking::side(node),
            (Graph::Two, "done") => Ok(asking::done(node)),
            (Graph::Schema, "ask") => asking::review(node),
            (Graph::Mailer, "write") => mail::write(node).await,
            (Graph::Mailer, "ask") => mail::ask(node),
            (Graph::Mailer, "send") => mail::send(node).await,
            (Graph::Clarify, "look_up") => asking::look_up(node).await,
            (Graph::Clarify, "ask") => asking::which(node),
            (Graph::Clarify, "reply") => asking::reply(node).await,
            (Graph::Hitl, "model") => asking::model(node).await,
            (Graph::Hitl, REVIEW) => asking::approve(node),
            (Graph::Hitl, "tools") => asking::tools(node).await,
            (Graph::Release, "build" | "test" | "release") => jobs::stage(node).await,
            (Graph::Counter, "step") => jobs::step(node).await,
            (Graph::Failing, "before" | "maybe" | "par") => jobs::failing(node).await,
            (Graph::Crawl, "plan" | "fetch" | "index" | "report") => jobs::crawl(node).await,
            (Graph::Sync, "fetch" | "transform" | "save") => jobs::sync(node).await,
            (_, unknown) => Err(Stop::failed("KeyError", format!("'{unknown}'"))),
        }
    }
    .boxed()
}
