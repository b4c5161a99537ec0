//! Commands as processes: their output, errors and exit codes, and attacks on them.
#![cfg(unix)]

mod adversity;
mod answer;
mod answer_rules;
mod attacks;
mod bisect;
mod budgets;
mod canaries;
mod cases;
mod causes;
mod changes;
mod commands;
mod compare;
mod doctor;
mod documents;
mod ended;
mod every_change;
mod find;
mod fork;
mod hidden_keys;
mod history;
mod hostile;
mod inbox;
mod logs;
mod odd_json;
mod profiles;
mod redact;
mod reproduce;
mod resources;
mod retry_edited;
mod revisions;
mod run_options;
mod services;
mod streams;
mod wait;
mod wait_end;
