//! One file per command. What several commands share is here too: `collections` and `records` (the small lists of the control
//! plane), `change` (changes of deployments), `wait` (following revisions) and `waiting` (a run that waits for input). How a change is
//! previewed, confirmed and sent is in `crate::act`.

pub mod answer;
mod answer_rules;
pub mod assistants;
pub mod auth;
pub mod bisect;
mod bulk;
pub mod cancel;
pub mod change;
pub mod collections;
pub mod compare;
pub mod completions;
pub mod config;
mod config_import;
pub mod crons;
pub mod dashboard;
pub mod deployments;
pub mod doctor;
pub mod fork;
pub mod graph;
pub mod history_tree;
pub mod inbox;
pub mod integrations;
pub mod join;
pub mod listeners;
pub mod logs;
pub mod man;
mod records;
pub mod redact;
pub mod replay;
pub mod reproduce;
pub mod rerun;
pub mod revisions;
pub mod run;
pub mod run_options;
pub mod runs;
pub mod sim;
pub mod skill;
pub mod state;
pub mod store;
pub mod tail;
pub mod threads;
pub mod verify;
pub mod wait;
pub mod waiting;
