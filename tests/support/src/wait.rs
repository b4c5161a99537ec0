//! Runs `revisions wait` and reads its output.

use crate::process::{Done, run};
use crate::scripted::{Scripted, config};
use serde_json::Value;

/// Runs a wait with short intervals against these profiles.
pub fn wait(profiles: &[(&str, &Scripted)], args: &[&str]) -> Done {
    let (_folder, path) = config(profiles);
    let mut all = vec!["--config", &path, "revisions", "wait"];
    for quick in [["--interval", "100ms"], ["--timeout", "60s"]] {
        if !args.contains(&quick[0]) {
            all.extend(quick);
        }
    }
    let done = run(all.iter().chain(args));
    let all = format!("{}{}", done.stdout, done.stderr);
    assert!(!all.contains("canary"), "{all}");
    done
}

/// Returns the kind of each row.
pub fn kinds(rows: &[Value]) -> Vec<&str> {
    rows.iter()
        .map(|row| row["kind"].as_str().expect("a kind"))
        .collect()
}

/// Returns the rows with the results of waits.
pub fn results(rows: &[Value]) -> Vec<&Value> {
    rows.iter().filter(|row| row["kind"] == "result").collect()
}
