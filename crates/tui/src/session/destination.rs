//! Navigation targets, and the kinds of names that commands take.

use super::msg::{Described, ServerRef, StreamTarget};

/// The panes, in the order of Tab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pane {
    /// The deployments of all profiles.
    Deployments,
    /// The revisions of the selected one.
    Revisions,
    /// Its agent server: threads, runs, assistants, and the stream that is open.
    Stream,
}

/// A navigation target.
#[derive(Debug, Clone, PartialEq)]
pub enum Destination {
    Pane(Pane),
    /// A deployment, by its name.
    Deployment(String),
    /// A thread of the server that is open.
    Thread(String),
    /// A run of the thread that is open.
    Run(String),
    /// An assistant of the server that is open, or of this one.
    Assistant(Option<ServerRef>, String),
    /// A view of the stream.
    View(String),
    /// An open stream, by the number of its tab.
    Tab(String),
    /// A stream of a server.
    Stream(ServerRef, StreamTarget),
    /// A listed deployment, by its id, and one of its revisions; its record, where it is not listed.
    Row {
        deployment: String,
        revision: Option<String>,
        /// The record.
        or: Described,
        /// What to say where the record is shown; empty for nothing.
        told: String,
    },
    /// What a text points at: an id, an address, an event, a time.
    Address(String),
}

/// The argument of a command, which determines its completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    Nothing,
    /// Free text, by its placeholder.
    Text(&'static str),
    /// A deployment, by its name.
    Deployment,
    /// A profile, by its name.
    Profile,
    /// A thread of the server that is open.
    Thread,
    /// A run of the thread that is open.
    Run,
    /// An assistant of the server that is open.
    Assistant,
    /// A view of the stream.
    View,
    /// One of the open streams, by the number of its tab.
    Stream,
    Theme,
    /// How the view is written, and where to.
    Export,
    /// One of several words.
    Word(&'static [&'static str]),
}

impl Takes {
    /// Returns the placeholder in capitals; empty if there is no argument.
    pub fn name(self) -> &'static str {
        match self {
            Takes::Nothing => "",
            Takes::Text(name) => name,
            Takes::Deployment => "NAME",
            Takes::Profile => "PROFILE",
            Takes::Thread | Takes::Run | Takes::Assistant => "ID",
            Takes::View => "VIEW",
            Takes::Stream => "TAB",
            Takes::Export => "HOW PATH",
            Takes::Theme => "THEME",
            Takes::Word(_) => "HOW",
        }
    }
}
