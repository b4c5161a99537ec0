//! Commands as processes: their output, errors and exit codes, and attacks on them.
#![cfg(unix)]

mod adversity;
mod answer;
mod answer_rules;
mod attacks;
mod budgets;
mod canaries;
mod changes;
mod commands;
mod doctor;
mod documents;
mod ended;
mod fork;
mod hidden_keys;
mod history;
mod hostile;
mod inbox;
mod logs;
mod redact;
mod resources;
mod revisions;
mod services;
mod streams;
mod wait;
mod wait_end;
