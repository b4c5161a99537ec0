//! Failure cards for every final status.

use super::*;
use serde_json::json;

fn row(id: &str, status: &str, minute: u32, commit: &str) -> Value {
    json!({"id": id, "status": status, "created_at": format!("2026-11-20T10:{minute:02}:00Z"),
           "updated_at": format!("2026-11-20T10:{minute:02}:26Z"), "source": "github",
           "source_revision_config": {"repo_ref": "main", "repo_commit_sha": commit}})
}

fn card(history: &[Value], at: usize, log: LogEvidence<'_>) -> FailureCard {
    card_of(
        json!({"id": "d", "name": "bot", "secrets": [{"name": "KEY", "value": "canary-secret"}]}),
        history,
        at,
        log,
    )
}

fn card_of(deployment: Value, history: &[Value], at: usize, log: LogEvidence<'_>) -> FailureCard {
    FailureCard::new(&Evidence {
        revision: &history[at],
        history,
        log,
        ..nothing(&deployment)
    })
}

/// Empty records of this deployment.
fn nothing(deployment: &Value) -> Evidence<'_> {
    Evidence {
        address: "prod-us/bot",
        options: "",
        deployment,
        revision: &Value::Null,
        history: &[],
        times: &[],
        now: "2026-11-21T14:00:00Z".parse().unwrap(),
        log: LogEvidence::None,
    }
}

#[track_caller]
fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part}\n---\n{text}");
    }
}

fn line(second: i64, message: &str) -> LogText<'_> {
    LogText {
        at: Timestamp::from_second(1_790_000_000 + second).ok(),
        level: None,
        message,
    }
}

#[test]
fn failed_build_card() {
    let mut failed = row("r3", "BUILD_FAILED", 30, "ccccccccc");
    failed["status_message"] = json!("build exited with canary-secret\u{1b}[31m");
    let history = [
        failed,
        row("r2", "BUILD_FAILED", 20, "bbbbbbbbb"),
        row("r1", "DEPLOYED", 10, "aaaaaaaaa"),
    ];
    let log = [
        line(0, "pip install canary-secret"),
        line(
            9,
            "\u{1b}[31mERROR: No matching distribution found for canary-secret\u{1b}[0m",
        ),
        line(20, "ERROR: failed to solve: exit code: 1"),
    ];
    let card = card(&history, 0, LogEvidence::Read(CardLog::Build, &log));
    let text = card.text();
    let expected = "\
prod-us/bot r3 (main@ccccccc): BUILD_FAILED
  Build failed. No image was produced and nothing was deployed.
  The newest deployed revision should still be serving traffic.
  The server says: build exited with ***
  Time: 26s in total; log covers 20s
  First error (build log, line 2 of 3):
    ERROR: No matching distribution found for ***
  Last good revision before this one: r1, created 2026-11-20 10:10Z from main@aaaaaaa; changed since:
    source_revision_config.repo_commit_sha: aaaaaaaaa → ccccccccc
  End of the build log (3 lines):
    pip install ***
    ERROR: No matching distribution found for ***
    ERROR: failed to solve: exit code: 1
  What to do:
    Check the package's name and version: the index has no match for this Python version
    Read the whole build log
      runtail logs prod-us/bot --build --revision r3
    See all changes since the last good revision
      runtail revisions diff prod-us/bot r1 r3
    Roll back to the last good revision
      runtail revisions rollback prod-us/bot r1
";
    assert_eq!(text, expected);
    let json = serde_json::to_value(&card).unwrap();
    assert_eq!(
        json["times"],
        json!({"seen": [], "recorded_seconds": 26.0, "elapsed_seconds": null, "log_seconds": 20.0, "steps": []})
    );
    assert_eq!(
        (
            &json["error"]["line"],
            &json["log"]["log"],
            &json["last_good"]["id"]
        ),
        (&json!(2), &json!("build"), &json!("r1"))
    );
    assert!(!format!("{json}{}", card.markdown()).contains("canary"));
}

#[test]
fn failure_card_contains_no_part_of_a_secret() {
    // One secret is a prefix of another, and a log of JSON lines escapes them.
    let deployment = json!({"secrets": [{"name": "A", "value": "canary-1"}, {"name": "B", "value": "say \"canary\"\nc:\\canary"}]});
    let mut failed = row("r1", "BUILD_FAILED", 30, "c");
    failed["env_vars"] = json!({"LONGER": "canary-1-and-its-tail"});
    let log = [
        LogText {
            message: "KEY=canary-1-and-its-tail",
            ..LogText::default()
        },
        LogText {
            message: r#"{"event": "say \"canary\"\nc:\\canary", "key": "canary-1"}"#,
            ..LogText::default()
        },
    ];
    let card = FailureCard::new(&Evidence {
        address: "prod-us/bot",
        options: "",
        deployment: &deployment,
        revision: &failed,
        history: &[],
        times: &[],
        now: "2026-11-21T14:00:00Z".parse().unwrap(),
        log: LogEvidence::Read(CardLog::Build, &log),
    });
    assert_eq!(
        card.log.expect("a log").tail,
        ["KEY=***", r#"{"event": "***", "key": "***"}"#]
    );
}

#[test]
fn markdown_card_is_escaped() {
    let mut failed = row("r`2|", "DEPLOY_FAILED", 20, "b");
    failed["status_message"] = json!("<script>x</script> | *bold*\n# title");
    let log = [LogText {
        message: "ERROR: ```\n</details>",
        ..LogText::default()
    }];
    let history = [failed, row("r1", "DEPLOYED", 10, "a|`<b>")];
    let card = card(&history, 0, LogEvidence::Read(CardLog::Server, &log));
    let expected = "\
### prod-us/bot ``r`2|`` (`main@b`): `DEPLOY_FAILED`

The server did not become ready and the rollout was aborted. The newest deployed revision should still be serving traffic.

> \\<script\\>x\\</script\\> \\| \\*bold\\*⏎\\# title

**Time:** 26s in total

**First error (server log, line 1 of 1)**

````text
ERROR: ```
````

Last good revision before this one: r1, created 2026-11-20 10:10Z from main@a\\|\\`\\<b\\>; changed since:

- ``source_revision_config.repo_commit_sha: a|`<b> → b``

**What to do**

- Read the server log: ``runtail logs prod-us/bot --revision 'r`2|'``
- Check that all secrets and variables that the new code needs are set: `runtail deployments get prod-us/bot`
- See all changes since the last good revision: ``runtail revisions diff prod-us/bot r1 'r`2|'``
- Roll back to the last good revision: `runtail revisions rollback prod-us/bot r1`

<details><summary>End of the server log (2 lines)</summary>

````text
ERROR: ```
</details>
````

</details>

";
    assert_eq!(card.markdown(), expected);
}

#[test]
fn every_status_has_a_meaning_and_next_steps() {
    let ended = |status: &str| {
        let history = [
            row("r4", "BUILDING", 40, "d"),
            row("r3", "SKIPPED", 30, "c"),
            row("r2", status, 20, "b"),
            row("r1", "DEPLOYED", 10, "a"),
        ];
        let card = card(&history, 2, LogEvidence::None);
        let steps: Vec<String> = card
            .next
            .iter()
            .map(|s| format!("{} {}", s.text, s.command.clone().unwrap_or_default()))
            .collect();
        let meaning = [Some(card.meaning), card.service]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" ");
        (meaning, steps.join("\n"))
    };
    for (status, meaning, step) in [
        (
            "CREATE_FAILED",
            "Setup failed",
            "runtail deployments get prod-us/bot",
        ),
        (
            "BUILD_FAILED",
            "No image",
            "runtail logs prod-us/bot --build --revision r2",
        ),
        (
            "DEPLOY_FAILED",
            "did not become ready",
            "runtail logs prod-us/bot --revision r2",
        ),
        (
            "ROLLBACK_FAILED_DEPLOYED",
            "does not know",
            "--build --revision r2",
        ),
        (
            "SKIPPED",
            "Superseded",
            "See the newer revision, r4 (BUILDING) runtail revisions wait prod-us/bot --revision r4",
        ),
        (
            "INTERRUPTED",
            "Interrupted before it finished.",
            "Redeploy the same source",
        ),
        (
            "BUILDING",
            "Still in progress",
            "runtail revisions wait prod-us/bot --revision r2",
        ),
        (
            "NOT_DEPLOYED_YET",
            "Unknown status",
            "runtail revisions wait",
        ),
        ("", "reports no status", "runtail revisions wait"),
    ] {
        let (shown, steps) = ended(status);
        assert!(shown.contains(meaning), "{status}: {shown}");
        assert!(steps.contains(step), "{status}: {steps}");
        assert_eq!(
            status.contains("FAILED"),
            shown.contains("serving traffic"),
            "{status}: {shown}"
        );
    }
    assert_eq!(
        ended("DEPLOYED"),
        ("Deployed. No failure.".into(), String::new())
    );
}

/// Returns the text of the card of a revision, with this active revision in the deployment's record.
fn card_with(active: Value, history: &[Value], at: usize) -> FailureCard {
    card_of(
        json!({"active_revision_id": active}),
        history,
        at,
        LogEvidence::None,
    )
}

#[test]
fn deployed_revision_that_is_not_serving_is_explained() {
    let history = [
        row("r4", "DEPLOYED", 40, "dddddddd"),
        row("r3", "BUILD_FAILED", 30, "c"),
        row("r2", "DEPLOYED", 20, "bbbbbbbb"),
        row("r1", "DEPLOYED", 10, "bbbbbbbb"),
    ];
    // The deployment was rolled back.
    let expected = "\
prod-us/bot r4 (main@ddddddd): DEPLOYED
  Deployed, but not serving: an older revision is.
  Time: 26s in total
  The serving revision is r2, created 2026-11-20 10:20Z from main@bbbbbbb; differences of this one:
    source_revision_config.repo_commit_sha: bbbbbbbb → dddddddd
  What to do:
    See all differences from the serving revision
      runtail revisions diff prod-us/bot r2 r4
    Read the server log for why it was rolled back
      runtail logs prod-us/bot --revision r4
    Redeploy its source as a new revision if it should be live; otherwise nothing to do
      runtail revisions redeploy prod-us/bot r4
";
    let card = card_with(json!("r2"), &history, 0);
    assert_eq!(card.text(), expected);
    let markdown = card.markdown();
    let expected = "The serving revision is r2, created 2026-11-20 10:20Z from main@bbbbbbb; differences of this one:\n\n\
                - `source_revision_config.repo_commit_sha: bbbbbbbb → dddddddd`\n";
    assert!(markdown.contains(expected), "{markdown}");
    let json = serde_json::to_value(&card).unwrap();
    assert_eq!(
        (
            &json["serves_instead"]["id"],
            &json["serves_instead"]["is_older"]
        ),
        (&json!("r2"), &json!(true))
    );
    // Superseded, according to the server's record, or to the order of revisions if it has none.
    let text = card_with(json!("r4"), &history, 2).text();
    has(
        &text,
        &[
            "Deployed, but no longer serving: a newer revision is.\n",
            "  The serving revision is r4, created 2026-11-20 10:40Z from main@ddddddd; its changes:\n    source_",
            "bbbbbbbb → dddddddd\n",
            "      runtail revisions diff prod-us/bot r2 r4\n",
            "  Last good revision before this one: r1,",
        ],
    );
    assert!(!text.contains("rolled back"), "{text}");
    has(
        &card_with(json!(null), &history, 2).text(),
        &[
            "Deployed, but presumably no longer serving: a newer revision was deployed.",
            "The newest deployed revision (presumably serving) is r4,",
        ],
    );
    // A serving revision without differences, and one without a record.
    has(
        &card_with(json!("r1"), &history, 2).text(),
        &[
            "The serving revision is r1, created 2026-11-20 10:10Z from main@bbbbbbb; no recorded differences",
        ],
    );
    has(
        &card_with(json!("r0"), &history, 0).text(),
        &[
            "Deployed, but not serving: another revision is.\n",
            "  The serving revision is r0; its record could not be read\n",
        ],
    );
    // The serving revision, and one that was never deployed.
    for at in [0, 1] {
        assert_eq!(card_with(json!("r4"), &history, at).serves_instead, None);
    }
}

#[test]
fn only_failures_get_advice_on_errors() {
    let log = [line(0, "ModuleNotFoundError: No module named 'app'")];
    for status in ["BUILD_FAILED", "BUILDING", "INTERRUPTED", "SOMETHING_NEW"] {
        let log = LogEvidence::Read(CardLog::Build, &log);
        let card = card(&[row("r1", status, 10, "a")], 0, log);
        assert!(card.error.is_some(), "{status}");
        let is_advised = card.next[0].text.starts_with("Add the missing module");
        assert_eq!(
            is_advised,
            status == "BUILD_FAILED",
            "{status}: {:?}",
            card.next
        );
    }
}

#[test]
fn unknown_parts_are_reported() {
    let alone = [row("r1", "DEPLOY_FAILED", 10, "a")];
    let unread = LogEvidence::Unread(CardLog::Server, "404: no such route");
    has(
        &card(&alone, 0, unread).text(),
        &[
            "No earlier successful revision is known",
            "The server log could not be read: 404: no such route",
            "No revision is serving: the deployment is down",
            "Redeploy the same source if the cause",
        ],
    );
    // A revision that is not in the list, and a last good revision without differences.
    let history = [
        row("r9", "DEPLOYED", 50, "x"),
        row("r1", "DEPLOYED", 10, "same"),
    ];
    let old = row("r2", "BUILD_FAILED", 20, "same");
    let deployment = json!({"active_revision_id": "r9"});
    let evidence = Evidence {
        address: "$(reboot)",
        options: " --config c.toml",
        revision: &old,
        history: &history,
        times: &[StatusTime {
            status: "BUILDING".into(),
            spent: Duration::from_secs(130),
            from_start: false,
        }],
        log: LogEvidence::Read(CardLog::Build, &[]),
        ..nothing(&deployment)
    };
    has(
        &FailureCard::new(&evidence).text(),
        &[
            "Last good revision before this one: r1, created 2026-11-20 10:10Z from main@same; no recorded changes",
            "Time: BUILDING ≥2m10s; 26s in total",
            "The build log is empty",
            "The previous revision is still serving traffic",
            "runtail --config c.toml logs '$(reboot)' --build",
        ],
    );
    has(
        &FailureCard::new(&nothing(&Value::Null)).text(),
        &["no status"],
    );
}

#[test]
fn long_logs_are_cut_from_the_front() {
    let long = "x".repeat(1 << 20);
    let lines: Vec<String> = (0..100)
        .map(|n| format!("line {n}"))
        .chain([long])
        .collect();
    let log: Vec<LogText> = lines.iter().map(|text| line(0, text)).collect();
    let history = [row("r1", "BUILD_FAILED", 10, "a")];
    let end = card(&history, 0, LogEvidence::Read(CardLog::Build, &log))
        .log
        .unwrap();
    assert_eq!(
        (end.lines, end.tail.len(), end.tail[0].as_str()),
        (101, 30, "line 71")
    );
    assert_eq!(text::width(&end.tail[29]), MAX_COLUMNS);
}

#[test]
fn only_a_build_log_has_its_time_beside_the_total() {
    let log = [line(0, "started"), line(1596, "GET /ok 200")];
    let history = [row("r1", "DEPLOYED", 10, "same")];
    for (of, covers) in [(CardLog::Server, false), (CardLog::Build, true)] {
        let card = card(&history, 0, LogEvidence::Read(of, &log));
        for text in [card.text(), card.markdown()] {
            assert!(text.contains("26s in total"), "{text}");
            assert_eq!(text.contains("; log covers 26m36s"), covers, "{text}");
        }
    }
}

#[test]
fn a_status_that_was_first_seen_late_is_not_timed_beside_the_time_so_far() {
    let explained = |times: &[StatusTime]| {
        let revision = row("r1", "DEPLOYING", 10, "same");
        let mut card = FailureCard::new(&Evidence {
            revision: &revision,
            times,
            now: "2026-11-20T10:13:38Z".parse().unwrap(),
            ..nothing(&Value::Null)
        });
        card.add_time(Duration::from_secs(2));
        card.text()
    };
    let time = |status: &str, from_start| StatusTime {
        status: status.into(),
        spent: Duration::ZERO,
        from_start,
    };
    let late = explained(&[time("DEPLOYING", false)]);
    assert!(late.contains("Time: 3m40s so far"), "{late}");
    // With a second one, it shows what was before that. The time that passes belongs to the last one.
    let both = explained(&[time("BUILDING", false), time("DEPLOYING", true)]);
    assert!(
        both.contains("Time: BUILDING ≥0s ▸ DEPLOYING 2s; 3m40s so far"),
        "{both}"
    );
}
