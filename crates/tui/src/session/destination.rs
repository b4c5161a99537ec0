//! Navigation targets, and the kinds of names that commands take.

use super::msg::{Described, ServerRef, StreamTarget};

/// The panes, in the order of Tab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pane {
    /// The deployments of all profiles.
    Deployments,
    /// The revisions of the selected deployment.
    Revisions,
    /// The threads, runs and assistants of an agent server, a stream, or logs.
    Stream,
}

/// A navigation target.
#[derive(Debug, Clone, PartialEq)]
pub enum Destination {
    Pane(Pane),
    /// A deployment, by its name.
    Deployment(String),
    /// A thread of the open server.
    Thread(String),
    /// A run of the open thread.
    Run(String),
    /// An assistant of this server, or of the open one.
    Assistant(Option<ServerRef>, String),
    /// The graph of an assistant of the open server, by id or name; empty for that of the shown thread or selected assistant.
    Graph(String),
    /// A view of the stream.
    View(String),
    /// An open stream, by the number of its tab.
    Tab(String),
    /// A stream of a server.
    Stream(ServerRef, StreamTarget),
    /// A listed deployment by its id, and optionally one of its revisions.
    Row {
        deployment: String,
        revision: Option<String>,
        /// The record to show if the deployment is not listed.
        or: Described,
        /// The notice to show with the record; empty for none.
        told: String,
    },
    /// The target of a text: an id, a URL, an event or a time.
    Address(String),
}
