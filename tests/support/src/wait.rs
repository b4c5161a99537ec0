//! Running `revisions wait`, and reading what it printed.

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

/// What kind of line each is.
pub fn kinds(rows: &[Value]) -> Vec<&str> {
    rows.iter().map(|row| row["kind"].as_str().expect("a kind")).collect()
}

/// The rows that say how the waits ended: those with the revision's `id`, as readers always looked for them.
pub fn results(rows: &[Value]) -> Vec<&Value> {
    rows.iter().filter(|row| row["kind"] == "result").collect()
}
