//! `revisions wait` as a CI job sees it: exit codes, rows, stderr and the summary under every kind of server and network fault.

use runtail_testkit::process::{Args, Done, run};
use runtail_testkit::scripted::{CANARY, Reply, Scripted, config, refuse, revision, status};
use runtail_testkit::wait::{kinds, results, wait};
use serde_json::{Value, json};

#[test]
fn wait_survives_temporary_errors() {
    let replies = [
        status("QUEUED"),
        refuse(503),
        refuse(503),
        Reply::Reset,
        Reply::Http(429, "1", json!({"detail": "slow down"}).to_string()),
        Reply::Http(429, "Sat, 21 Nov 2020 10:01:00 GMT", "not even JSON".into()),
        refuse(500),
        refuse(408),
        Reply::Page,
        status("BUILDING"),
        status("DEPLOYED"),
    ];
    let server = Scripted::control_plane(&[("bot", &replies)]);
    let done = wait(&[("one", &server)], "bot").expect(0);
    let rows = done.json_lines();
    let expected = "status trouble trouble trouble trouble trouble trouble trouble recovered status status result";
    assert_eq!(kinds(&rows), expected, "{}", done.stdout);
    let codes: Vec<&Value> = rows[1..8].iter().map(|row| &row["http_status"]).collect();
    assert_eq!(
        codes,
        [
            &json!(503),
            &json!(null),
            &json!(429),
            &json!(429),
            &json!(500),
            &json!(408),
            &json!(null)
        ]
    );
    let asked: Vec<&Value> = rows[1..8]
        .iter()
        .map(|row| &row["retry_after_seconds"])
        .collect();
    assert_eq!(
        asked,
        [
            &json!(null),
            &json!(null),
            &json!(1.0),
            &json!(null),
            &json!(null),
            &json!(null),
            &json!(null)
        ]
    );
    assert_eq!(rows[8]["failed"], 8, "all eight failures are counted");
    assert_eq!(rows[9]["after"]["status"], "QUEUED");
    let polls = server
        .requests()
        .iter()
        .filter(|path| path.ends_with("/revisions/r-bot"))
        .count();
    assert_eq!(polls, replies.len());
    for line in [
        "one/bot r-bot: QUEUED\n",
        "one/bot r-bot: status 503 (503); retrying\n",
        "one/bot r-bot: slow down (429); the server asked to wait 1s; retrying then\n",
        "one/bot r-bot: not even JSON (429); retrying\n",
        "one/bot r-bot: the connection was reset; retrying\n",
        "one/bot r-bot: the server answers again, after 8 failed requests\n",
        "s BUILDING)\n",
        "one/bot r-bot: done after ",
    ] {
        done.says(line);
    }
}

#[test]
fn wait_survives_errors_while_it_looks_up_the_revision() {
    let server = Scripted::control_plane(&[("bot", &[status("DEPLOYED")])]);
    let row = json!({"id": "bot", "name": "bot", "latest_revision_id": null});
    let list = Reply::Http(200, "", json!({"resources": [row]}).to_string());
    server.reply("", &[refuse(503), Reply::Reset, list]);
    let newest = json!({"resources": [revision("bot", &json!("DEPLOYED"))]}).to_string();
    server.reply(
        "/bot/revisions",
        &[refuse(502), Reply::Http(200, "", newest)],
    );
    let done = wait(&[("one", &server)], "bot").expect(0);
    assert_eq!(results(&done.json_lines())[0]["revision_id"], "r-bot");
    // The deployment has no revisions.
    let empty = Reply::Http(200, "", json!({"resources": []}).to_string());
    server.reply("/bot/revisions", &[empty]);
    wait(&[("one", &server)], "bot")
        .expect(1)
        .says("one/bot: one/bot has no revision");
}

#[test]
fn wait_maps_every_status_to_an_exit_code() {
    let ends = [
        ("DEPLOYED", "deployed", 0),
        ("DEPLOYED_WITH_WARNINGS", "deployed", 0),
        ("CREATE_FAILED", "failed", 1),
        ("BUILD_FAILED", "failed", 1),
        ("DEPLOY_FAILED", "failed", 1),
        ("ROLLBACK_FAILED_DEPLOYED", "failed", 1),
        ("SKIPPED", "skipped", 1),
        ("INTERRUPTED", "interrupted", 1),
    ];
    for (word, outcome, code) in ends {
        let server = Scripted::control_plane(&[("bot", &[status("CREATING"), status(word)])]);
        let done = wait(&[("one", &server)], "bot").expect(code);
        let rows = done.json_lines();
        let result = results(&rows)[0];
        assert_eq!(
            (&result["outcome"], &result["exit"], &result["status"]),
            (&json!(outcome), &json!(code), &json!(word))
        );
        // The explanation is part of the row.
        assert_eq!(result["card"].is_null(), code == 0, "{word}");
        assert_eq!(
            done.stderr.contains("What to do:"),
            code != 0,
            "{word}: {}",
            done.stderr
        );
    }
    // Any other status is waited on, including those that sound like success.
    let others = [
        "CREATING",
        "QUEUED",
        "AWAITING_BUILD",
        "BUILDING",
        "AWAITING_DEPLOY",
        "DEPLOYING",
        "UNKNOWN",
        "NOT_DEPLOYED_YET",
        "UNDEPLOYED",
        "deployed",
        "READY",
        "AWAITING_DATABASE",
        "UNUSED",
        "AWAITING_DELETE",
        "BUILD_SUCCEEDED",
    ];
    let replies: Vec<[Reply; 1]> = others.iter().map(|word| [status(word)]).collect();
    let names: Vec<String> = (0..others.len()).map(|n| format!("bot-{n:02}")).collect();
    let deployments: Vec<(&str, &[Reply])> = names
        .iter()
        .map(String::as_str)
        .zip(replies.iter().map(|r| &r[..]))
        .collect();
    let server = Scripted::control_plane(&deployments);
    let args = format!("--timeout 2s --interval 60s {}", names.join(" "));
    let done = wait(&[("one", &server)], &args).expect(4);
    let rows = done.json_lines();
    assert_eq!(results(&rows).len(), others.len());
    for result in results(&rows) {
        assert_eq!(
            (&result["outcome"], &result["exit"]),
            (&json!("deadline"), &json!(4)),
            "{result}"
        );
    }
    done.says("r-bot-08: UNDEPLOYED; unknown status");
    done.says("the deadline was reached at QUEUED");
}

#[test]
fn wait_continues_on_a_status_that_is_not_a_string() {
    let odd = [
        json!(null),
        json!({"word": "BUILD_FAILED"}),
        json!(7),
        json!(""),
        json!("DEPLOYED"),
    ];
    let replies: Vec<Reply> = odd.iter().cloned().map(Reply::Status).collect();
    let server = Scripted::control_plane(&[("bot", &replies)]);
    let done = wait(&[("one", &server)], "bot").expect(0);
    let rows = done.json_lines();
    let told: Vec<&Value> = rows
        .iter()
        .filter(|r| r["kind"] == "status")
        .map(|r| &r["status"])
        .collect();
    assert_eq!(told, odd.iter().collect::<Vec<_>>());
    done.says("r-bot: no status; still waiting\n");
    done.says("no status ({\"word\":\"BUILD_FAILED\"}) (after ");
}

#[test]
fn wait_stops_at_permanent_errors() {
    for (code, exit, outcome) in [
        (401, 3, "unauthorized"),
        (403, 3, "forbidden"),
        (405, 1, "error"),
        (400, 1, "error"),
    ] {
        // From the first request.
        let server = Scripted::control_plane(&[("bot", &[status("BUILDING")])]);
        server.reply("", &[refuse(code)]);
        let done = wait(&[("one", &server)], "bot").expect(exit);
        assert_eq!(results(&done.json_lines())[0]["outcome"], outcome);
        assert!(
            done.stderr.starts_with("bot: one: GET http://127.0.0.1"),
            "{}",
            done.stderr
        );
        assert_eq!(server.requests().len(), 1);
        // Later, when a key expires.
        let server = Scripted::control_plane(&[("bot", &[status("BUILDING"), refuse(code)])]);
        let done = wait(&[("one", &server)], "bot").expect(exit);
        let rows = done.json_lines();
        let result = results(&rows)[0];
        assert_eq!(
            (&result["outcome"], &result["status"]),
            (&json!(outcome), &json!("BUILDING"))
        );
        done.says("; the last status was BUILDING");
    }
    // HTML at the first request means a wrong address.
    let server = Scripted::control_plane(&[("bot", &[])]);
    server.reply("", &[Reply::Page]);
    wait(&[("one", &server)], "bot").expect(1);
    // A failing key command is run only once.
    let (folder, path) = config(&[]);
    let count = folder.path().join("count");
    let text = format!(
        "[profiles.one]\nurl = \"{}\"\napi_key_command = [\"sh\", \"-c\", \"echo x >> {}; exit 7\"]\n",
        server.url(),
        count.display()
    );
    std::fs::write(&path, text).expect("written");
    run(format!("--config {path} revisions wait a b").words()).expect(2);
    assert_eq!(std::fs::read_to_string(count).expect("it ran"), "x\n");
}

#[test]
fn wait_reports_missing_and_deleted_revisions() {
    let server = Scripted::control_plane(&[("bot", &[status("BUILDING"), refuse(404)])]);
    wait(&[("one", &server)], "none")
        .expect(1)
        .says("none: there is no deployment \"none\"");
    let done = wait(&[("one", &server)], "bot --revision r-other").expect(1);
    done.says("there is no revision r-other of one/bot");
    assert_eq!(results(&done.json_lines())[0]["outcome"], "error");
    // The revision disappears, and then the deployment too.
    let done = wait(&[("one", &server)], "bot").expect(1);
    let said = "r-bot: the revision is gone: its deployment no longer has r-bot; the last status was BUILDING (status 404)";
    done.says(said);
    let server = Scripted::control_plane(&[("bot", &[status("BUILDING"), refuse(404)])]);
    server.reply("/bot", &[refuse(404)]);
    let done = wait(&[("one", &server)], "bot").expect(1);
    done.says("r-bot: the deployment is gone: it was deleted; the last status was BUILDING");
    assert_eq!(results(&done.json_lines())[0]["outcome"], "vanished");
}

#[test]
fn wait_continues_when_a_newer_revision_supersedes() {
    let newest = |id: &str, made: &str| json!({"id": id, "status": "QUEUED", "created_at": made});
    let answer = |body: Value| Reply::Http(200, "", body.to_string());
    let record =
        |latest: Value| answer(json!({"id": "bot", "name": "bot", "latest_revision_id": latest}));
    let building = || status("BUILDING");
    let replies = [
        building(),
        building(),
        building(),
        building(),
        building(),
        status("DEPLOYED"),
    ];
    let server = Scripted::control_plane(&[("bot", &replies)]);
    // A failed check for a newer revision is ignored, and so is an older revision that an outdated record names.
    let older = newest("r-older", "2026-11-20T08:00:00Z");
    server.reply(
        "/bot",
        &[
            refuse(500),
            Reply::Reset,
            record(json!("r-older")),
            record(json!(null)),
        ],
    );
    server.reply("/bot/revisions/r-older", &[answer(older.clone())]);
    let unsorted = json!([
        older,
        newest("r-newer", "2026-11-20T09:30:00Z"),
        revision("bot", &json!("BUILDING"))
    ]);
    server.reply("/bot/revisions", &[answer(json!({"resources": unsorted}))]);
    let done = wait(&[("one", &server)], "bot").expect(0);
    let rows = done.json_lines();
    assert_eq!(kinds(&rows), "status overtaken status result");
    assert_eq!(
        (&rows[1]["newer_revision_id"], &rows[1]["newer_status"]),
        (&json!("r-newer"), &json!("QUEUED"))
    );
    assert_eq!(
        (&rows[3]["overtaken_by"], &rows[3]["id"]),
        (&json!("r-newer"), &json!("r-bot"))
    );
    done.says("r-bot: a newer revision exists, r-newer (QUEUED); still waiting for the older one");
    let looks = server
        .requests()
        .iter()
        .filter(|path| *path == "/bot")
        .count();
    assert_eq!(looks, 4, "no more checks once a newer revision is known");
    // `--revision` selects the revision even if another is newer.
    let server = Scripted::control_plane(&[("bot", &[])]);
    server.reply(
        "/bot/revisions/r-mine",
        &[Reply::Http(
            200,
            "",
            revision("mine", &json!("DEPLOYED")).to_string(),
        )],
    );
    let done = wait(&[("one", &server)], "bot --revision r-mine").expect(0);
    assert_eq!(results(&done.json_lines())[0]["id"], "r-mine");
}

#[test]
fn wait_handles_several_deployments_of_two_profiles() {
    let good = Scripted::control_plane(&[
        ("quick", &[status("DEPLOYED")]),
        ("slow", &[status("BUILDING")]),
    ]);
    let bad = Scripted::control_plane(&[("bot", &[status("DEPLOY_FAILED")])]);
    let both = [("good", &good), ("bad", &bad)];
    // The worst outcome sets the exit code: failure, then deadline, then success.
    let outcomes = |done: &Done| -> String {
        let all: Vec<Value> = serde_json::from_str(&done.stdout).expect("a document");
        all.iter()
            .map(|r| {
                format!(
                    "{}/{} {}",
                    r["profile"].as_str().unwrap_or("-"),
                    r["deployment"].as_str().unwrap_or("-"),
                    r["outcome"].as_str().unwrap_or("-")
                )
            })
            .collect::<Vec<_>>()
            .join(", ")
    };
    let done = wait(&both, "slow quick --timeout 2s -o json").expect(4);
    assert_eq!(
        outcomes(&done),
        "good/slow deadline, good/quick deployed",
        "in the order of the arguments"
    );
    let done = wait(&both, "bad/bot slow quick --timeout 2s -o json").expect(1);
    assert_eq!(
        outcomes(&done),
        "bad/bot failed, good/slow deadline, good/quick deployed"
    );
    let done = wait(&both, "quick nowhere bot quick -o json").expect(1);
    assert_eq!(
        outcomes(&done),
        "good/quick deployed, -/nowhere error, bad/bot failed",
        "duplicates are dropped"
    );
    // One profile's key is rejected: deployments of the other profile are still found and waited for.
    bad.reply("", &[refuse(401)]);
    wait(&both, "quick -o json")
        .expect(0)
        .says("warning: bad: GET");
    let done = wait(&both, "quick bad/bot slow --timeout 2s -o json").expect(3);
    assert_eq!(
        outcomes(&done),
        "good/quick deployed, -/bad/bot unauthorized, good/slow deadline"
    );
    let done = wait(&both, "quick -o table").expect(0);
    assert!(
        done.stdout.starts_with("PROFILE  DEPLOYMENT  REVISION  OUTCOME   STATUS    WAITED\ngood     quick       r-quick   deployed  DEPLOYED"),
        "{}",
        done.stdout
    );
}

#[test]
fn wait_result_contains_the_servers_record() {
    let server = Scripted::control_plane(&[("bot", &[status("BUILDING"), status("BUILD_FAILED")])]);
    let history = [
        revision("bot", &json!("BUILD_FAILED")),
        json!({"id": "r-good", "status": "DEPLOYED", "created_at": "2026-11-19T09:00:00Z",
        "source_revision_config": {"repo_ref": "main", "repo_commit_sha": "0123456"}}),
    ];
    server.reply(
        "/bot/revisions",
        &[Reply::Http(
            200,
            "",
            json!({"resources": history}).to_string(),
        )],
    );
    let done = wait(&[("one", &server)], "bot").expect(1);
    let rows = done.json_lines();
    let result = results(&rows)[0];
    let expected = json!({"kind": "result", "profile": "one", "deployment": "bot", "deployment_id": "bot", "revision_id": "r-bot",
        "id": "r-bot", "status": "BUILD_FAILED", "novel": {"z": 1}, "outcome": "failed", "exit": 1, "error": null, "overtaken_by": null});
    for (field, value) in expected.as_object().expect("fields") {
        assert_eq!(&result[field], value, "{field}");
    }
    assert_eq!(result["times"][0]["status"], "BUILDING");
    assert!(
        result["waited_seconds"].as_f64().is_some()
            && result["at"]
                .as_str()
                .is_some_and(|at| at.parse::<jiff::Timestamp>().is_ok())
    );
    assert_eq!(
        result["card"]["last_good"]["changes"][0]["path"],
        "source_revision_config.repo_commit_sha"
    );
    done.says("    source_revision_config.repo_commit_sha: 0123456 → 9fceb02");
    assert!(
        done.stderr.contains("runtail --config '") || done.stderr.contains("runtail --config /"),
        "{}",
        done.stderr
    );
}

#[test]
fn wait_appends_to_the_summary_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("summary.md");
    std::fs::write(&file, "before\n").expect("written");
    let path = file.to_string_lossy().into_owned();
    let wild = json!({"id": "r-wild", "status": "BUILD_FAILED|<b>`", "status_message": "<script>alert(1)</script> | canary-of-the-deployment"});
    let server = Scripted::control_plane(&[
        ("fine", &[status("BUILDING"), status("DEPLOYED")]),
        ("wild", &[Reply::Http(200, "", wild.to_string())]),
        ("slow", &[status("QUEUED")]),
    ]);
    wait(&[("one", &server)], &format!("fine --summary-file {path}")).expect(0);
    wait(
        &[("one", &server)],
        &format!("fine wild slow --timeout 2s --summary-file {path}"),
    )
    .expect(1);
    let text = std::fs::read_to_string(&file).expect("a summary");
    assert!(
        text.starts_with("before\n## Revisions: 1 of 1 deployed\n"),
        "{text}"
    );
    assert!(
        !text.contains("canary") && !text.contains(CANARY) && !text.contains("<script>"),
        "{text}"
    );
    for part in [
        "## Revisions: 1 of 3 deployed\n",
        "| ✅ | one/fine | `r-fine` | deployed | `DEPLOYED` | ",
        "| ❌ | one/wild | `r-wild` | failed | `` BUILD_FAILED\\|<b>` `` | ",
        "| ❌ | one/slow | `r-slow` | deadline | `QUEUED` | ",
        " | QUEUED ≥",
        "- **one/slow**: the deadline was reached at QUEUED\n",
        "### one/wild `r-wild`: ``",
        "> \\<script\\>alert\\(1\\)\\</script\\> \\| \\*\\*\\*",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // An unwritable file is reported before any request.
    let asked = server.requests().len();
    wait(
        &[("one", &server)],
        "fine --summary-file /nowhere/at/all.md",
    )
    .expect(2)
    .says("the summary file /nowhere/at/all.md cannot be written");
    assert_eq!(server.requests().len(), asked);
}

#[test]
fn wait_usage_errors() {
    let server = Scripted::control_plane(&[("bot", &[status("DEPLOYED")])]);
    for args in [
        "bot other --revision r",
        "bot --interval 10ms",
        "bot --timeout soon",
        "",
    ] {
        let done = wait(&[("one", &server)], args).expect(2);
        assert!(!done.stderr.contains("multiple times"), "{}", done.stderr);
    }
    assert!(server.requests().is_empty());
    let help = run("revisions wait --help".words()).expect(0).stdout;
    assert!(
        help.contains("Append a summary as Markdown")
            && help.contains("4 the deadline was reached"),
        "{help}"
    );
}
