//! References to servers, threads, revisions, logs and streams.

use runtail_core::model::RunCreate;
use runtail_core::text;
use runtail_stream::Target;
use std::path::PathBuf;
use std::sync::Arc;

/// An agent server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServerRef {
    /// The profile whose key is sent to it.
    pub profile: Arc<str>,
    /// Name of the deployment, or of the server in the profile.
    pub name: Arc<str>,
    /// Base URL.
    pub url: Arc<str>,
}

/// A thread of an agent server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ThreadRef {
    pub server: ServerRef,
    /// The thread's id.
    pub id: String,
}

/// The result of a sent change.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Applied {
    /// The notice to show.
    pub said: String,
    /// The revision that the change created, if any.
    pub revision: Option<RevisionRef>,
    /// The deployment that the change deletes, if any: its profile, id and name.
    pub deleting: Option<(Arc<str>, Arc<str>, String)>,
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

impl RevisionRef {
    /// Returns the id of its deployment's row in the list.
    pub fn row_id(&self) -> String {
        format!("{}/{}", self.profile, self.deployment)
    }
}

/// What a row of the inbox leads to.
#[derive(Debug, Clone, PartialEq)]
pub enum InboxTarget {
    Thread(ThreadRef),
    /// A revision, and its deployment as `PROFILE/NAME` for the command line.
    Revision(RevisionRef, String),
}

impl InboxTarget {
    /// Returns its profile.
    pub fn profile(&self) -> &str {
        match self {
            InboxTarget::Thread(thread) => &thread.server.profile,
            InboxTarget::Revision(of, _) => &of.profile,
        }
    }
}

/// What the inbox shows of a row besides what lists say: a thread's last message, or a revision's first error.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RowDetail {
    pub title: String,
    /// Labels, which may be empty, and their texts.
    pub rows: Vec<(String, String)>,
    /// Number of rows that were left out.
    pub hidden: usize,
}

/// A log to read.
#[derive(Debug, Clone, PartialEq)]
pub struct LogRef {
    pub profile: Arc<str>,
    /// The name shown before its lines.
    pub name: String,
    /// The deployment's id.
    pub deployment: String,
    /// The revision's id, for the log of one revision.
    pub revision: Option<String>,
}

/// Says why an agent server has no logs.
pub const NO_LOGS: &str = "No logs: this server has no control plane.";

/// Says why a deployment from an external image has no build log.
pub fn no_build_log(name: &str) -> String {
    format!(
        "{} has no build log: its image was built elsewhere.",
        text::clean(name)
    )
}

impl LogRef {
    /// Returns the log of a revision. `name`: of its deployment.
    pub fn of_revision(of: &RevisionRef, name: &str) -> LogRef {
        LogRef {
            profile: of.profile.clone(),
            name: format!("{name} › {}", runtail_core::text::short_id(&of.revision)),
            deployment: of.deployment.to_string(),
            revision: Some(of.revision.to_string()),
        }
    }
}

/// A record that can be shown in full.
#[derive(Debug, Clone, PartialEq)]
pub enum Described {
    /// A thread of an agent server.
    Thread(ServerRef, String),
    /// A deployment: its profile, its id, and its name.
    Deployment(Arc<str>, Arc<str>, String),
    Revision(RevisionRef),
    /// A run: its server, its thread and its id.
    Run(ServerRef, String, String),
    /// The schemas of an assistant, by its id.
    Schemas(ServerRef, Arc<str>),
    /// The graph of an assistant, by its id.
    Graph(ServerRef, Arc<str>),
}

impl Described {
    /// Returns the profile whose key is used to request it.
    pub fn profile(&self) -> &str {
        match self {
            Described::Thread(server, _)
            | Described::Run(server, ..)
            | Described::Schemas(server, _)
            | Described::Graph(server, _) => &server.profile,
            Described::Deployment(profile, ..) => profile,
            Described::Revision(of) => &of.profile,
        }
    }

    /// Returns its title.
    pub fn title(&self) -> String {
        match self {
            Described::Thread(_, id) => format!("thread {}", runtail_core::text::short_id(id)),
            Described::Run(_, _, id) => format!("run {}", runtail_core::text::short_id(id)),
            Described::Schemas(_, id) => {
                format!("schemas of assistant {}", runtail_core::text::short_id(id))
            }
            Described::Graph(_, id) => {
                format!("graph of assistant {}", runtail_core::text::short_id(id))
            }
            Described::Deployment(_, _, name) => format!("deployment {name}"),
            Described::Revision(of) => {
                format!("revision {}", runtail_core::text::short_id(&of.revision))
            }
        }
    }
}

/// The target of a stream.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamTarget {
    /// A new run.
    Start {
        /// Where to start it.
        on: Target,
        /// The request.
        body: Arc<RunCreate>,
    },
    /// An existing run.
    Join { thread: String, run: String },
    /// All runs of a thread, present and future.
    Tail { thread: String },
    /// A recording. No server is contacted.
    Recording {
        /// Its path.
        file: PathBuf,
    },
}

impl StreamTarget {
    /// Returns whether opening it changes anything on the server.
    pub fn is_write(&self) -> bool {
        matches!(self, StreamTarget::Start { .. })
    }
}
