//! What the parts of the agent server use of each other.

pub use super::check::{body, check_id, check_run_ids, number, optional_body};
pub use super::emit::{Burst, Output, Position};
pub use super::exec::{Node, Stop};
pub use super::feed::{Ended, Feed, Item, Kind, Reader};
pub use super::graphs::Graph;
pub use super::message::{self, Call, Piece, Reply};
pub use super::message_stream::MessageStream;
pub use super::python::{python_repr, python_type};
pub use super::state::{
    Assistant, Cancel, Checkpoint, Cron, Interrupt, Memory, Run, StoreItem, Task, Thread, Version,
    contains, select,
};
pub use super::{Agent, ThisAgent, rows};
pub use crate::clock::Clock;
pub use crate::http::{bad_json, failed, invalid, no_thread, property, violation, wrong_type};
pub use crate::ids::{IdClock, Ids, checkpoint_id};
pub use crate::prelude::*;
pub use futures::future::{BoxFuture, FutureExt};
pub use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
pub use std::sync::OnceLock;
pub use tokio_util::sync::CancellationToken;
