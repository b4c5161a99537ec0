//! Runs `revisions wait` and reads its output.

use crate::process::{Args, Done, run};
use crate::scripted::{Scripted, config};
use serde_json::Value;

/// Runs a wait with short intervals against these profiles.
pub fn wait(profiles: &[(&str, &Scripted)], args: &str) -> Done {
    let (_folder, path) = config(profiles);
    let mut line = format!("--config {path} revisions wait {args}");
    for (option, quick) in [("--interval", "100ms"), ("--timeout", "60s")] {
        if !args.contains(option) {
            line = format!("{line} {option} {quick}");
        }
    }
    let done = run(line.as_str().words());
    let all = format!("{}{}", done.stdout, done.stderr);
    assert!(!all.contains("canary"), "{all}");
    done
}

/// Returns the kind of each row, with spaces between.
pub fn kinds(rows: &[Value]) -> String {
    let kinds = rows.iter().map(|row| row["kind"].as_str().expect("a kind"));
    kinds.collect::<Vec<_>>().join(" ")
}

/// Returns the rows with the results of waits.
pub fn results(rows: &[Value]) -> Vec<&Value> {
    rows.iter().filter(|row| row["kind"] == "result").collect()
}
