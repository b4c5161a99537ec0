//! What most calls and plans use.

pub(crate) use crate::act::{
    Acted, Condition, Draft, Guard, Plan, PlanError, StartError, StartFailure, StartGuard, Step,
    StepKind, and_more, listed, nothing, refuse, unfit, wrong,
};
pub(crate) use crate::answer::Service;
pub(crate) use crate::boxed;
pub(crate) use crate::http::{Call, Http};
pub(crate) use crate::response::Answer;
pub(crate) use crate::rows::text_of;
pub(crate) use crate::{
    AgentServer, ApiError, ControlPlane, Kind, Listing, LoadedThread, Place, ServerKind,
};
pub(crate) use jiff::Timestamp;
pub(crate) use reqwest::{Method, Url};
pub(crate) use runtail_core::json;
pub(crate) use runtail_core::model::{
    Note, Question, Rerun, RunCreate, RunFacts, Secrets, StateFacts, Target, ThreadFacts,
    ThreadStatus, compare,
};
pub(crate) use runtail_core::text::{self, short_id};
pub(crate) use serde_json::value::RawValue;
pub(crate) use serde_json::{Map, Value, json};
pub(crate) use std::collections::{BTreeSet, HashMap, HashSet};
pub(crate) use std::sync::Arc;
pub(crate) use std::time::Duration;
