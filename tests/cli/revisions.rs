//! `revisions list`, `diff` and `explain`, and the newest revisions in `deployments list`.

use runtail_testkit::process::{Args, Done, run};
use runtail_testkit::scripted::{Reply, Scripted, config, refuse, status};
use serde_json::{Value, json};

fn runtail(server: &Scripted, args: impl Args) -> Done {
    let (_folder, path) = config(&[("one", server)]);
    let done = run(["--config".into(), path].into_iter().chain(args.words()));
    let all = format!("{}{}", done.stdout, done.stderr);
    assert!(!all.contains("canary"), "{all}");
    done
}

fn answer(body: Value) -> Reply {
    Reply::Http(200, "", body.to_string())
}

fn row(id: &str, status: &str, hour: u32, commit: &str) -> Value {
    json!({"id": id, "status": status, "created_at": format!("2026-11-20T{hour:02}:00:00Z"), "updated_at": format!("2026-11-20T{hour:02}:02:10Z"),
           "novel": {"b": 1, "a": 2}, "source_revision_config": {"repo_ref": "main", "repo_commit_sha": commit, "image_uri": null}})
}

/// Starts a server with this history, newest first. `active` is the revision that serves, if the server reports one.
fn history(active: Option<&str>) -> Scripted {
    let rows = [
        row("r6", "BUILDING", 16, "ffffffffff"),
        row("r5", "BUILD_FAILED", 15, "eeeeeeeeee"),
        row("r4", "SKIPPED", 14, "dddddddddd"),
        row("r3", "DEPLOYED", 13, "cccccccccc"),
        row("r2", "INTERRUPTED", 12, "bbbbbbbbbb"),
        row("r1", "DEPLOYED", 11, "aaaaaaaaaa"),
    ];
    let server = Scripted::control_plane(&[("bot", &[])]);
    let mut deployment = json!({"id": "bot", "name": "bot", "latest_revision_id": "r6", "secrets": [{"name": "K", "value": "canary-in-the-log"}]});
    if let Some(active) = active {
        deployment["active_revision_id"] = json!(active);
    }
    server.reply("/bot", &[answer(deployment.clone())]);
    server.reply("", &[answer(json!({"resources": [deployment]}))]);
    server.reply("/bot/revisions", &[answer(json!({"resources": rows}))]);
    for row in rows {
        server.reply(
            &format!("/bot/revisions/{}", row["id"].as_str().expect("an id")),
            &[answer(row)],
        );
    }
    server
}

#[test]
fn revisions_list_shows_the_role_of_each_revision() {
    let roles = |server: &Scripted| -> Vec<String> {
        let rows = runtail(server, "revisions list bot").expect(0).json_lines();
        assert!(
            rows.iter()
                .all(|row| row["profile"] == "one" && row["novel"] == json!({"b": 1, "a": 2}))
        );
        rows.iter()
            .map(|row| {
                format!(
                    "{}{}",
                    row["role"].as_str().expect("a role"),
                    if row["role_derived"] == true { "?" } else { "" }
                )
            })
            .collect()
    };
    assert_eq!(
        roles(&history(Some("r1"))),
        [
            "candidate",
            "failed",
            "skipped",
            "superseded",
            "interrupted",
            "serving"
        ]
    );
    assert_eq!(
        roles(&history(None)),
        [
            "candidate?",
            "failed?",
            "skipped?",
            "serving?",
            "interrupted?",
            "superseded?"
        ]
    );
    let table = runtail(&history(None), "revisions list bot -o table")
        .expect(0)
        .stdout;
    let lines: Vec<Vec<&str>> = table
        .lines()
        .map(|line| {
            line.split("  ")
                .map(str::trim)
                .filter(|s| !s.is_empty())
                .collect()
        })
        .collect();
    assert_eq!(
        lines[0],
        [
            "PROFILE", "REVISION", "ROLE", "STATUS", "CREATED", "AGE", "TOOK", "FROM"
        ]
    );
    assert_eq!(
        (lines[4][2], lines[4][6], lines[4][7]),
        ("serving (derived)", "2m10s", "main@ccccccc")
    );
    assert_eq!(
        (lines[1].len(), lines[1][5]),
        (8, lines[1][6]),
        "a revision in progress has its time so far: {table}"
    );
}

#[test]
fn no_revision_of_an_unused_deployment_is_said_to_serve() {
    let server = history(Some("r3"));
    let deployment = json!({"id": "bot", "name": "bot", "status": "UNUSED", "latest_revision_id": "r6",
                            "active_revision_id": "r3"});
    server.reply("/bot", &[answer(deployment.clone())]);
    server.reply("", &[answer(json!({"resources": [deployment]}))]);
    let done = runtail(&server, "revisions list bot -o table").expect(0);
    let sentence = "Unused: the control plane counts the deployment as idle, and doesn't report whether its server runs.";
    done.says(sentence);
    assert!(done.stdout.contains("serving (derived)"), "{}", done.stderr);
    for revision in ["r3", "r5"] {
        let card = runtail(&server, format!("revisions explain bot '{revision}'"))
            .expect(0)
            .stdout;
        assert!(
            card.contains(sentence) && card.contains("It has no URL, so"),
            "{card}"
        );
        assert!(!card.contains("serving"), "{card}");
    }
    let card = runtail(&server, "revisions explain bot r1")
        .expect(0)
        .stdout;
    assert!(
        card.contains("the control plane names another revision as the active one"),
        "{card}"
    );
    assert!(
        card.contains("The active revision is r3") && !card.contains("serving"),
        "{card}"
    );
}

#[test]
fn ages_are_computed_with_the_servers_clock() {
    let now = jiff::Timestamp::now();
    let server = history(None);
    for (ahead, made) in [(3600, 3600), (3600, 3270), (-3600, -3930), (0, 7), (0, -30)] {
        let at = |seconds: i64| now + jiff::SignedDuration::from_secs(seconds);
        server.set_clock(at(ahead));
        let row = json!({"id": "r6", "status": "QUEUED", "created_at": at(made).to_string()});
        server.reply("/bot/revisions", &[answer(json!({"resources": [row]}))]);
        let table = runtail(&server, "revisions list bot -o table")
            .expect(0)
            .stdout;
        let age = cells(&table, "AGE").remove(0);
        let seconds = match age.strip_suffix('m') {
            Some(minutes) => minutes.parse::<i64>().expect("a number") * 60,
            None => age
                .strip_suffix('s')
                .expect("an age")
                .parse()
                .expect("a number"),
        };
        // The command's own time may be added. The table rounds down to minutes, and a `Date` header to seconds.
        let expected = (ahead - made).max(0);
        assert!(
            seconds >= expected - 60 && seconds < expected + 120,
            "{expected}: {table}"
        );
    }
}

#[test]
fn revisions_diff_lists_changed_fields() {
    let server = history(None);
    // By default, the newest revision is compared with the last good one before it.
    let done = runtail(&server, "revisions diff bot").expect(0);
    assert_eq!(done.stderr, "one/bot: r3 (DEPLOYED) → r6 (BUILDING)\n");
    let path = "source_revision_config.repo_commit_sha";
    assert_eq!(
        done.json_lines(),
        [json!({"path": path, "before": "cccccccccc", "after": "ffffffffff"})]
    );
    let done = runtail(&server, "revisions diff bot r1 r5 -o table").expect(0);
    let expected = format!(
        "{:38}  BEFORE      AFTER\n{path}  aaaaaaaaaa  eeeeeeeeee\n",
        "FIELD"
    );
    assert_eq!(done.stdout, expected);
    runtail(&server, "revisions diff bot r1")
        .expect(0)
        .says("r1 (DEPLOYED) → r6 (BUILDING)");
    let done = runtail(&server, "revisions diff bot r1 r1 -o json").expect(0);
    assert_eq!(
        (done.json(), done.stderr.contains("no differences")),
        (json!([]), true)
    );
    runtail(&server, "revisions diff bot r1 none").expect(1);
    server.reply(
        "",
        &[answer(json!({"resources": [{"id": "bot", "name": "bot"}]}))],
    );
    server.reply(
        "/bot/revisions",
        &[answer(
            json!({"resources": [row("r2", "BUILDING", 2, "b"), row("r1", "SKIPPED", 1, "a")]}),
        )],
    );
    runtail(&server, "revisions diff bot")
        .expect(1)
        .says("one/bot: no revision before the newest, r2, was deployed");
    server.reply("/bot/revisions", &[answer(json!({}))]);
    runtail(&server, "revisions diff bot")
        .expect(1)
        .says("one/bot has no revision");
}

#[test]
fn explain_shows_the_first_error_of_the_build_log() {
    // The demo has a failed build and a server that did not start.
    let done = run(["--demo", "revisions", "explain", "prod-us/invoice-agent"]).expect(0);
    for part in [
        ": BUILD_FAILED\n  Build failed. No image was produced and nothing was deployed.\n",
        "build log, line 18 of 22):\n    × No solution found when resolving dependencies:\n      ╰─▶ Because app==0.4.0 depends",
        "source_revision_config.repo_commit_sha: ",
        "    Loosen or align the version pins",
        "      runtail --demo logs prod-us/invoice-agent --build --revision ",
        "\n  The previous revision is still serving traffic.\n",
    ] {
        assert!(done.stdout.contains(part), "{part}: {}", done.stdout);
    }
    let card = run([
        "--demo",
        "revisions",
        "explain",
        "prod-us/pr-482-support-bot",
        "-o",
        "json",
    ])
    .expect(0)
    .json();
    assert_eq!(
        card["error"]["text"],
        "ModuleNotFoundError: No module named 'app.graph'"
    );
    assert_eq!(
        (&card["log"]["log"], &card["status"]),
        (&json!("server"), &json!("DEPLOY_FAILED"))
    );
    let text = run([
        "--demo",
        "revisions",
        "explain",
        "prod-us/pr-482-support-bot",
        "-o",
        "markdown",
    ])
    .expect(0)
    .stdout;
    assert!(
        text.contains("```text\nModuleNotFoundError: No module named 'app.graph'\n```"),
        "{text}"
    );
}

#[test]
fn explain_shows_which_revision_serves_after_a_rollback() {
    let rows = [
        row("r3", "DEPLOYED", 13, "cccccccccc"),
        row("r2", "DEPLOYED", 12, "bbbbbbbbbb"),
    ];
    let server = Scripted::control_plane(&[("bot", &[])]);
    server.reply("/bot/revisions", &[answer(json!({"resources": rows}))]);
    // The serving revision may be older than the end of the list.
    let rows = rows
        .into_iter()
        .chain([row("r1", "DEPLOYED", 11, "aaaaaaaaaa")]);
    for row in rows {
        server.reply(
            &format!("/bot/revisions/{}", row["id"].as_str().expect("an id")),
            &[answer(row)],
        );
    }
    for (active, commit) in [("r2", "bbbbbbbbbb"), ("r1", "aaaaaaaaaa")] {
        let record = json!({"id": "bot", "name": "bot", "latest_revision_id": "r3", "active_revision_id": active});
        server.reply("", &[answer(json!({"resources": [record]}))]);
        server.reply("/bot", &[answer(record)]);
        let done = runtail(&server, "revisions explain bot").expect(0);
        for part in [
            "one/bot r3 (main@ccccccc): DEPLOYED\n  Deployed, but not serving: an older revision is.\n",
            &format!("  The serving revision is {active}, created "),
            &format!("    source_revision_config.repo_commit_sha: {commit} → cccccccccc\n"),
            &format!(" revisions diff one/bot {active} r3\n"),
        ] {
            assert!(done.stdout.contains(part), "{part}: {}", done.stdout);
        }
    }
}

#[test]
fn explain_reports_parts_that_could_not_be_read() {
    // Four cases: the newest revision is in progress, an older one is named, the log calls are missing, the list fails.
    let server = history(Some("r3"));
    let done = runtail(&server, "revisions explain bot").expect(0);
    assert!(
        done.stdout.contains("Still in progress.")
            && done.stdout.contains("revisions wait one/bot --revision r6"),
        "{}",
        done.stdout
    );
    let done = runtail(&server, "revisions explain bot r5").expect(0);
    assert!(
        done.stdout
            .contains("The build log could not be read: one: "),
        "{}",
        done.stdout
    );
    assert!(
        done.stdout.contains(
            "changed since:\n    source_revision_config.repo_commit_sha: cccccccccc → eeeeeeeeee"
        ),
        "{}",
        done.stdout
    );
    server.reply("/bot/revisions", &[refuse(403)]);
    runtail(&server, "revisions explain bot r5")
        .expect(0)
        .says("warning: the revisions could not be listed: one: ");
    server.reply("/bot/revisions/r6", &[refuse(403)]);
    runtail(&server, "revisions explain bot").expect(3);
    runtail(&server, "revisions explain bot none").expect(1);
}

#[test]
fn deployments_list_adds_newest_revisions_on_request() {
    let building = [status("BUILDING")];
    let server = Scripted::control_plane(&[
        ("a", &building),
        ("b", &[]),
        ("c", &building),
        ("d", &building),
    ]);
    server.reply("/b/revisions", &[answer(json!({"resources": []}))]);
    // Newest revisions cost requests, so they are not read by default.
    let rows = runtail(&server, "deployments list").expect(0).json_lines();
    assert!(rows.iter().all(|row| row.get("latest_revision").is_none()));
    assert_eq!(server.requests().len(), 1);
    let rows = runtail(&server, "deployments list --revisions")
        .expect(0)
        .json_lines();
    assert_eq!(
        server.requests().len(),
        1 + 1 + 4 + 1,
        "one request per deployment, and a list for the one whose newest is missing"
    );
    let statuses: Vec<&Value> = rows
        .iter()
        .map(|row| &row["latest_revision"]["status"])
        .collect();
    assert_eq!(
        statuses,
        [
            &json!("BUILDING"),
            &json!(null),
            &json!("BUILDING"),
            &json!("BUILDING")
        ]
    );
    assert_eq!(rows[1].get("latest_revision"), Some(&json!(null)));
    // A failure is reported and counted; the other rows have their revisions.
    server.reply("/c/revisions/r-c", &[refuse(403)]);
    let done = runtail(&server, "deployments list --revisions -o table").expect(3);
    done.says("/v2/deployments/c/revisions/r-c: 403: status 403");
    let lines: Vec<Vec<&str>> = done
        .stdout
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(lines[0][2..6], ["NAME", "STATUS", "NEWEST", "LIVE"]);
    assert_eq!(lines.len(), 5);
    assert_eq!(lines[1][2..5], ["a", "READY", "BUILDING"]);
}

#[test]
fn newest_revisions_are_not_requested_after_a_final_error() {
    let names: Vec<String> = (0..12).map(|n| format!("d{n:02}")).collect();
    let building = [status("BUILDING")];
    let deployments: Vec<(&str, &[Reply])> = names
        .iter()
        .map(|name| (name.as_str(), &building[..]))
        .collect();
    // The server rejects the key or rate-limits from the sixth request on, or refuses every request.
    let busy = Reply::Http(429, "9999999999999999999", "{}".into());
    for (reply, from, code, said) in [
        (refuse(401), 5, 3, "401: status 401"),
        (busy, 5, 5, ": 429: "),
        (refuse(403), 0, 3, "403: status 403"),
    ] {
        let server = Scripted::control_plane(&deployments);
        let newest = |name: &String| format!("/{name}/revisions/r-{name}");
        names[from..]
            .iter()
            .for_each(|name| server.reply(&newest(name), std::slice::from_ref(&reply)));
        let done = runtail(&server, "deployments list --revisions").expect(code);
        let rows = done.json_lines();
        assert_eq!(rows.len(), 12);
        let read = rows
            .iter()
            .take_while(|row| row["latest_revision"]["status"] == "BUILDING")
            .count();
        assert_eq!(read, from, "{said}");
        assert!(
            rows[from..]
                .iter()
                .all(|row| row.get("latest_revision") == Some(&json!(null)))
        );
        assert_eq!(done.stderr.matches(said).count(), 1, "{}", done.stderr);
        let missing = format!(
            "runtail: one: {} of 12 newest revisions could not be read\n",
            12 - from
        );
        assert!(done.stderr.ends_with(&missing), "{}", done.stderr);
        // Four requests run at a time.
        let asked = server
            .requests()
            .iter()
            .filter(|path| path.contains("/revisions"))
            .count();
        assert!(asked < 10, "{asked} requests after {said}");
    }
    // An error for one row leaves the other rows intact.
    let server = Scripted::control_plane(&deployments);
    server.reply("/d03/revisions/r-d03", &[refuse(500)]);
    server.reply("/d07/revisions/r-d07", &[refuse(403)]);
    let done = runtail(&server, "deployments list --revisions").expect(5);
    assert_eq!(
        done.json_lines()
            .iter()
            .filter(|row| row["latest_revision"].is_object())
            .count(),
        10
    );
    assert_eq!(
        done.stderr.matches("2 of 12 newest revisions").count(),
        1,
        "{}",
        done.stderr
    );
}

/// Returns the cells of a table's column.
fn cells(table: &str, title: &str) -> Vec<String> {
    let titles = table.lines().next().expect("titles");
    let at = titles.find(title).expect("the column");
    let cell = |line: &str| {
        line.chars()
            .skip(at)
            .collect::<String>()
            .split("  ")
            .next()
            .unwrap_or_default()
            .to_string()
    };
    table.lines().skip(1).map(cell).collect()
}

#[test]
fn deployments_table_explains_a_missing_newest_revision() {
    let building = [status("BUILDING")];
    let names = ["fine", "gone", "leaving", "empty", "closed"];
    let deployments: Vec<(&str, &[Reply])> = names.map(|name| (name, &building[..])).to_vec();
    let server = Scripted::control_plane(&deployments);
    for name in ["gone", "leaving", "closed"] {
        server.reply(&format!("/{name}/revisions"), &[refuse(404)]);
        server.reply(&format!("/{name}/revisions/r-{name}"), &[refuse(404)]);
    }
    // Two deployments were deleted after the list was read, which is not a failure. The server marks a deployment before it deletes
    // it.
    server.reply("/gone", &[refuse(404)]);
    server.reply(
        "/leaving",
        &[answer(
            json!({"id": "leaving", "name": "leaving", "status": "AWAITING_DELETE"}),
        )],
    );
    server.reply("/empty/revisions", &[answer(json!({}))]);
    server.reply("/empty/revisions/r-empty", &[refuse(404)]);
    server.reply("/closed/revisions", &[answer(json!({"resources": []}))]);
    let done = runtail(&server, "deployments list --revisions -o table").expect(0);
    assert_eq!(
        cells(&done.stdout, "NEWEST"),
        ["BUILDING", "gone", "gone", "none", "none"],
        "{}",
        done.stdout
    );
    let notes = ["gone", "leaving"]
        .map(|name| format!("note: one/{name} was deleted after the list was read\n"));
    assert_eq!(done.stderr, notes.concat());
    let rows = runtail(&server, "deployments list --revisions")
        .expect(0)
        .json_lines();
    assert!(
        rows[1..]
            .iter()
            .all(|row| row.get("latest_revision") == Some(&json!(null)))
    );
    // This deployment exists, but the call is missing.
    server.reply("/closed/revisions", &[refuse(404)]);
    let done = runtail(&server, "deployments list --revisions -o table").expect(1);
    assert_eq!(cells(&done.stdout, "NEWEST")[4], "unread");
    done.says("runtail: one: GET ")
        .says("/closed/revisions: 404: status 404");
    assert!(
        done.stderr
            .ends_with("one: 1 of 5 newest revisions could not be read\n"),
        "{}",
        done.stderr
    );
}

#[test]
fn tables_show_a_missing_status() {
    let odd = [json!(null), json!(""), json!(" "), json!(7), json!("READY")];
    let record =
        |(n, status): (usize, &Value)| json!({"id": n.to_string(), "name": "x", "status": status});
    let records: Vec<Value> = odd.iter().enumerate().map(record).collect();
    let server = Scripted::control_plane(&[]);
    server.reply("", &[answer(json!({"resources": records}))]);
    for row in &records {
        server.reply(
            &format!("/{}/revisions", row["id"].as_str().expect("an id")),
            &[answer(json!([row]))],
        );
    }
    server.reply("/0/revisions", &[answer(json!({"resources": records}))]);
    let expected = [
        "no status",
        "no status",
        "no status",
        "no status (7)",
        "READY",
    ];
    let done = runtail(&server, "deployments list --revisions -o table").expect(0);
    assert_eq!(cells(&done.stdout, "STATUS"), expected, "{}", done.stdout);
    assert_eq!(cells(&done.stdout, "NEWEST"), expected, "{}", done.stdout);
    let table = runtail(&server, "revisions list 0 -o table")
        .expect(0)
        .stdout;
    assert_eq!(cells(&table, "STATUS"), expected, "{table}");
    // JSON is passed through as the server sent it.
    let rows = runtail(&server, "deployments list").expect(0).json_lines();
    assert!(rows.iter().map(|row| &row["status"]).eq(&odd));
}

#[test]
fn records_without_an_id_are_skipped_and_reported() {
    let server = Scripted::control_plane(&[]);
    let odd = json!([null, 3, "x", {"id": null, "name": "bot"}, {"id": "", "name": "bot"}, {"id": "d", "name": "bot"}]);
    server.reply("", &[answer(json!({"resources": odd}))]);
    server.reply("/d/revisions", &[answer(odd)]);
    let told = "runtail: one: 5 rows of the list of deployments couldn't be read: a row is not a record: null\n";
    for format in ["json", "jsonl", "table"] {
        let done = runtail(&server, format!("deployments list -o '{format}'")).expect(1);
        assert_eq!(done.stderr, told);
        let lines: Vec<&str> = done
            .stdout
            .lines()
            .filter(|line| line.contains("bot"))
            .collect();
        assert_eq!(
            (lines.len(), done.stdout.contains("null,")),
            (1, false),
            "{}",
            done.stdout
        );
    }
    let done = runtail(&server, "deployments list --revisions").expect(1);
    assert_eq!(done.json_lines()[0]["latest_revision"]["id"], "d");
    // A record without an id does not make a name ambiguous.
    let done = runtail(&server, "revisions list bot").expect(1);
    assert_eq!(
        (done.json_lines().len(), done.stderr.as_str()),
        (1, &*told.replace("deployments", "revisions"))
    );
    server.reply("", &[answer(json!([{}, {"id": "d", "name": "bot"}]))]);
    let done = runtail(&server, "deployments list").expect(1);
    assert_eq!(
        done.stderr,
        "runtail: one: 1 row of the list of deployments couldn't be read: it has no id\n"
    );
}

#[test]
fn newest_revision_does_not_depend_on_list_order() {
    let rows = [
        row("r2", "SKIPPED", 12, "b"),
        row("r3", "BUILD_FAILED", 13, "c"),
        row("r1", "DEPLOYED", 11, "a"),
    ];
    let server = Scripted::control_plane(&[("bot", &[])]);
    server.reply("/bot/revisions", &[answer(json!({"resources": rows}))]);
    for row in rows {
        server.reply(
            &format!("/bot/revisions/{}", row["id"].as_str().expect("an id")),
            &[answer(row)],
        );
    }
    // The newest revision is the one that the record names. If the record names none, or a deleted one, it is the one with the
    // latest date.
    for (latest, newest, is_sorted) in [
        (json!("r2"), "r2", true),
        (json!(null), "r3", false),
        (json!("r0"), "r3", false),
    ] {
        let record = json!({"id": "bot", "name": "bot", "latest_revision_id": latest});
        server.reply("", &[answer(json!({"resources": [record]}))]);
        server.reply("/bot", &[answer(record)]);
        let asks: [(&[&str], &str); 4] = [
            (
                &["revisions", "explain", "bot", "-o", "json"],
                "/revision_id",
            ),
            (
                &["deployments", "list", "--revisions", "-o", "json"],
                "/0/latest_revision/id",
            ),
            (
                &["revisions", "wait", "bot", "-o", "json"],
                "/0/revision_id",
            ),
            (&["revisions", "diff", "bot", "r1", "-o", "json"], ""),
        ];
        for (args, at) in asks {
            if latest == "r0" && args[1] == "wait" {
                continue; // `wait` waits for the named revision and reports that it is missing.
            }
            let done = runtail(&server, args);
            match at {
                "" => assert!(
                    done.stderr
                        .contains(&format!("one/bot: r1 (DEPLOYED) → {newest} (")),
                    "{}",
                    done.stderr
                ),
                at => assert_eq!(
                    done.json().pointer(at),
                    Some(&json!(newest)),
                    "{args:?}: {}",
                    done.stdout
                ),
            }
            assert_eq!(
                !done.stderr.contains("did not sort"),
                is_sorted,
                "{args:?}: {}",
                done.stderr
            );
        }
        runtail(&server, "revisions diff bot")
            .expect(0)
            .says(&format!("one/bot: r1 (DEPLOYED) → {newest} ("));
    }
    // The newest revision is beyond the limit.
    let record = json!({"id": "bot", "name": "bot", "latest_revision_id": "r3"});
    server.reply("", &[answer(json!({"resources": [record]}))]);
    server.reply(
        "/bot/revisions",
        &[answer(
            json!({"resources": [row("r2", "SKIPPED", 12, "b")]}),
        )],
    );
    let done = runtail(&server, "revisions list bot --limit 1").expect(0);
    assert_eq!(
        done.stderr,
        "warning: the newest revision, r3, is not in this list\n"
    );
    // A limit of zero is refused.
    let asked = server.requests().len();
    let done = runtail(&server, "revisions list bot --limit 0").expect(2);
    done.says("'0' for '--limit <LIMIT>'");
    assert!(server.requests().len() == asked, "{}", done.stderr);
}

#[test]
fn deployments_table_shows_the_live_revision() {
    let server = Scripted::control_plane(&[("x", &[status("DEPLOYED")])]);
    let row = |id: &str, latest: &str, active: Value| json!({"id": id, "name": id, "latest_revision_id": latest, "active_revision_id": active});
    let mut silent = row("silent", "r1", json!(null));
    silent
        .as_object_mut()
        .expect("fields")
        .remove("active_revision_id");
    let all = [
        row("same", "r2", json!("r2")),
        row("older", "r2", json!("r1")),
        row("none", "r1", json!(null)),
        silent,
    ];
    server.reply("", &[answer(json!({"resources": all}))]);
    let done = runtail(&server, "deployments list -o table").expect(0);
    assert_eq!(
        cells(&done.stdout, "LIVE"),
        ["newest", "r1", "none", ""],
        "{}",
        done.stdout
    );
}
