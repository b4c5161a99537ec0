//! The driver of `tests/twin`: it finds a difference, finds none where there is none, and knows every command.

use runtail_testkit::process::binary;
use runtail_twin::script::{Action, Script};
use runtail_twin::{Difference, Subject, compare};

const SCRIPT: &str = "$ crons list --url ${base} -o json
open --url ${base}
wait Threads 5
key j
key Enter
wait Messages
key 5";

/// Runs a script twice with this binary; the second world has these answers, too.
fn differences(answers: &str) -> Vec<Difference> {
    let script = Script::parse("self", SCRIPT).expect("a script");
    let binary = binary();
    compare(
        &script,
        (120, 40),
        [
            Subject {
                binary: &binary,
                answers: "",
            },
            Subject {
                binary: &binary,
                answers,
            },
        ],
        false,
    )
    .expect("both run")
}

#[test]
fn twin_finds_no_difference_between_equal_binaries() {
    let found = differences("");
    assert!(found.is_empty(), "{}", found[0]);
}

#[test]
fn twin_finds_one_changed_answer() {
    let found = differences("a.react := 166c0d22-706c-5a5b-9027-ea37f7308a86");
    assert!(found[0].to_string().contains("\n    - "), "{}", found[0]);
}

#[test]
fn twin_runs_every_command() {
    let scripts = Script::all().expect("scripts");
    let steps = scripts.iter().flat_map(|script| &script.steps);
    let ran: Vec<_> = steps
        .filter(|step| matches!(step.action, Action::Command { .. }))
        .map(|step| &step.text)
        .collect();
    let usages = include_str!("../../docs/cli.md")
        .lines()
        .filter_map(|line| line.strip_prefix("`runtail "));
    for usage in usages.filter(|usage| usage.ends_with('`') && !usage.contains("<COMMAND>")) {
        let words: Vec<_> = usage
            .trim_end_matches('`')
            .split(' ')
            .take_while(|word| !word.starts_with(['<', '[', '-']))
            .collect();
        let command = words.join(" ");
        assert!(
            ran.iter().any(|text| text.starts_with(&command)),
            "no script of tests/twin runs {command}"
        );
    }
}
