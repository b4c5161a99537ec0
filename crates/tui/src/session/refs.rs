//! How servers, threads, revisions, logs and streams are named.

use runtail_core::model::RunCreate;
use runtail_stream::Target;
use std::path::PathBuf;
use std::sync::Arc;

/// An agent server that the dashboard can talk to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServerRef {
    /// The profile whose key goes there.
    pub profile: Arc<str>,
    /// Name of the deployment, or of the server in the profile.
    pub name: Arc<str>,
    /// Base address.
    pub url: Arc<str>,
}

/// A thread of an agent server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ThreadRef {
    pub server: ServerRef,
    /// The thread's id.
    pub id: String,
}

/// What came of a change that was sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Made {
    /// What to tell the person.
    pub said: String,
    /// The revision that this change made, where it made one.
    pub revision: Option<RevisionRef>,
    /// The deployment that is being deleted by it: its profile, its id, its name.
    pub vanishing: Option<(Arc<str>, Arc<str>, String)>,
}

/// A revision of a deployment of a profile.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RevisionRef {
    pub profile: Arc<str>,
    /// The deployment's id.
    pub deployment: Arc<str>,
    /// The revision's id.
    pub revision: Arc<str>,
}

/// A log to read.
#[derive(Debug, Clone, PartialEq)]
pub struct LogRef {
    pub profile: Arc<str>,
    /// The name before its lines.
    pub name: String,
    /// The deployment's id.
    pub deployment: String,
    /// The revision's id, where the log of one revision is meant.
    pub revision: Option<String>,
}

impl LogRef {
    /// The log of a revision; `name` names its deployment.
    pub fn of_revision(of: &RevisionRef, name: &str) -> LogRef {
        LogRef {
            profile: of.profile.clone(),
            name: format!("{name} › {}", runtail_core::text::short_id(&of.revision)),
            deployment: of.deployment.to_string(),
            revision: Some(of.revision.to_string()),
        }
    }
}

/// A record that is shown whole.
#[derive(Debug, Clone, PartialEq)]
pub enum Described {
    /// A thread of an agent server.
    Thread(ServerRef, String),
    /// A deployment: its profile, its id, and its name.
    Deployment(Arc<str>, Arc<str>, String),
    Revision(RevisionRef),
    /// A Forge installation session: its profile and its id.
    ForgeSession(Arc<str>, String),
}

impl Described {
    /// The profile whose key is used for it.
    pub fn profile(&self) -> &str {
        match self {
            Described::Thread(server, _) => &server.profile,
            Described::Deployment(profile, ..) => profile,
            Described::Revision(of) => &of.profile,
            Described::ForgeSession(profile, _) => profile,
        }
    }

    /// What it is called.
    pub fn title(&self) -> String {
        match self {
            Described::Thread(_, id) => format!("thread {}", runtail_core::text::short_id(id)),
            Described::Deployment(_, _, name) => format!("deployment {name}"),
            Described::Revision(of) => format!("revision {}", runtail_core::text::short_id(&of.revision)),
            Described::ForgeSession(_, id) => format!("session {}", runtail_core::text::short_id(id)),
        }
    }
}

/// What a stream is of.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamTarget {
    /// A run that we start.
    Start {
        /// On which thread.
        on: Target,
        /// The request.
        body: Arc<RunCreate>,
    },
    /// A run that somebody started.
    Join { thread: String, run: String },
    /// All runs of a thread, without end.
    Tail { thread: String },
    /// A file that a stream was recorded to: nothing is asked of any server.
    Recording {
        /// Its path.
        file: PathBuf,
    },
}

impl StreamTarget {
    /// Whether opening it changes anything on the server.
    pub fn is_write(&self) -> bool {
        matches!(self, StreamTarget::Start { .. })
    }
}
