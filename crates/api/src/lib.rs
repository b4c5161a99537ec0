//! The HTTP clients of both services.

mod act;
mod agent_server;
mod answer;
mod auth;
mod body;
mod change;
mod collections;
mod connections;
mod control_plane;
pub mod doctor;
mod error;
mod evidence;
mod http;
mod inbox;
mod journal;
mod keyless;
mod log_tail;
mod logs;
mod lost_start;
mod network;
mod newest;
mod pages;
mod prelude;
mod quirks;
mod reach;
mod reproduce;
mod resources;
mod response;
mod retry;
mod rows;
mod stream;
mod thread_actions;

/// Boxes a public call, so that its code is made once, in this crate, and not again in each crate that awaits it.
pub(crate) use async_recursion::async_recursion as boxed;

pub use act::{Acted, Applied, Choice, Plan, PlanError, StartError, StartFailure, StartGuard};
use agent_server::server_info;
pub use agent_server::{
    AgentServer, CancelAction, CancelState, CancelTarget, FoundThread, FoundThreads, GraphFacts,
    PastInput, ServerHealth, ServerInfo, ServerKind, ServerLoad, ThreadPage, ThreadQuery,
};
pub use auth::AuthWaited;
#[doc(hidden)]
pub use body::read_answer;
pub use connections::{Connections, identify_as};
pub use control_plane::{ControlPlane, DeploymentQuery, Listing, Revisions};
pub use error::{ApiError, Kind, Place};
pub use evidence::CardOf;
pub use http::Http;
pub use inbox::{InboxMemory, ServerInbox};
pub use journal::{Journal, Outcome, SentRequest};
pub use log_tail::LogFollower;
pub use logs::{LogAsk, LogFilter, LogKind, LogPage, LogScope};
pub use lost_start::{FoundStart, mark_start};
pub use newest::{Newest, named_newest};
pub use pages::Pages;
pub use reproduce::{ReproduceIntent, Reproduced, StateDifference};
pub use resources::{ResourceIntent, assistant_changes, assistant_fields};
pub use retry::Retry;
pub use rows::{UnreadRows, text_of};
pub use stream::EventStream;
pub use thread_actions::{
    BULK_CONCURRENCY, BulkAction, BulkOutcome, ForkChange, LoadedThread, MAX_BULK, MAX_RULED_PLANS,
    MAX_RULED_THREADS, RuledPlan, RuledQuestion, RunStart, Started, StateEdit, ThreadIntent,
    ThreadLabel, WriteKind, Writer, Written,
};
