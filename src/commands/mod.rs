//! One file per command. What several commands share is here too: `collections` and `records` (the small lists of the control
//! plane), `change` (preview, confirmation, request; `change/threads` and `change/acting` act on
//! threads, `change/resources` on assistants, crons and the store), `wait` (following revisions) and
//! `waiting` (a run that waits for input).

pub(crate) mod answer;
mod answer_rules;
pub(crate) mod assistants;
pub(crate) mod auth;
pub(crate) mod bisect;
mod bulk;
pub(crate) mod cancel;
pub(crate) mod change;
pub(crate) mod collections;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod config;
mod config_import;
pub(crate) mod crons;
pub(crate) mod dashboard;
pub(crate) mod deployments;
pub(crate) mod doctor;
pub(crate) mod fork;
pub(crate) mod graph;
pub(crate) mod history_tree;
pub(crate) mod inbox;
pub(crate) mod integrations;
pub(crate) mod join;
pub(crate) mod listeners;
pub(crate) mod logs;
pub(crate) mod man;
mod records;
pub(crate) mod redact;
pub(crate) mod replay;
pub(crate) mod reproduce;
pub(crate) mod rerun;
pub(crate) mod revisions;
pub(crate) mod run;
pub mod run_options;
pub(crate) mod runs;
pub(crate) mod sim;
pub(crate) mod state;
pub(crate) mod store;
pub(crate) mod tail;
pub(crate) mod threads;
pub(crate) mod verify;
pub(crate) mod wait;
pub(crate) mod waiting;
