//! `inbox`, `answer` and `answer --rules` against all real agent servers: what is listed, what the graph receives, and what the
//! server's own records say before and after.
//!
//! Ignored without the servers: `tests/real/serve -- cargo test --test real answers -- --ignored`.

use runtail_testkit::process::{Done, run_at};
use runtail_testkit::server::{self, all_urls};
use serde_json::{Value, json};

#[track_caller]
fn read(url: &str, args: &[&str]) -> Value {
    run_at(url, &[args, &["-o", "json"]].concat())
        .expect(0)
        .json()
}

/// A thread whose graph has asked these payloads.
struct Asked<'a> {
    url: &'a str,
    thread: String,
}

impl Asked<'_> {
    #[track_caller]
    fn new<'a>(url: &'a str, graph: &str, input: &Value) -> Asked<'a> {
        let thread = server::text(&read(url, &["threads", "create"]), "thread_id");
        let done = run_at(
            url,
            &[
                "run",
                graph,
                "--thread",
                &thread,
                "--input",
                &input.to_string(),
            ],
        )
        .expect(0);
        let end = done.json_lines().pop().expect("an end");
        assert_eq!(
            end["outcome"], "interrupted",
            "{url}: {end}\n{}",
            done.stderr
        );
        Asked { url, thread }
    }

    #[track_caller]
    fn payloads<'a>(url: &'a str, payloads: &[Value]) -> Asked<'a> {
        Asked::new(url, "ask", &json!({"asks": payloads}))
    }

    /// Its row in the inbox, if it has one.
    #[track_caller]
    fn row(&self) -> Option<Value> {
        let rows = read(self.url, &["inbox"]);
        rows.as_array()
            .expect("a list")
            .iter()
            .find(|row| row["thread_id"] == self.thread.as_str())
            .cloned()
    }

    /// The ids of the questions that the inbox lists.
    #[track_caller]
    fn ids(&self) -> Vec<String> {
        let row = self
            .row()
            .unwrap_or_else(|| panic!("{} is not in the inbox", self.thread));
        row["interrupts"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|asked| server::text(asked, "id"))
            .collect()
    }

    #[track_caller]
    fn answer(&self, args: &[&str]) -> Done {
        run_at(self.url, &[&["answer", &self.thread], args].concat())
    }

    #[track_caller]
    fn runs(&self) -> Vec<Value> {
        read(self.url, &["runs", "list", &self.thread])
            .as_array()
            .expect("a list")
            .clone()
    }

    #[track_caller]
    fn status(&self) -> String {
        server::text(&read(self.url, &["threads", "get", &self.thread]), "status")
    }

    #[track_caller]
    fn values(&self) -> Value {
        read(self.url, &["threads", "state", &self.thread])["values"].clone()
    }

    /// What the graph received, in the order of the payloads.
    #[track_caller]
    fn received(&self) -> Vec<Value> {
        let mut answers = self.values()["answers"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        answers.sort_by_key(|answer| answer["at"].as_u64());
        answers
            .iter()
            .map(|answer| answer["answer"].clone())
            .collect()
    }
}

fn hitl(actions: &[(&str, &[&str])]) -> Value {
    let requests: Vec<Value> = actions
        .iter()
        .map(|(name, _)| json!({"name": name, "args": {"to": "ann"}}))
        .collect();
    let configs: Vec<Value> = actions
        .iter()
        .map(|(name, allowed)| json!({"action_name": name, "allowed_decisions": allowed}))
        .collect();
    json!({"action_requests": requests, "review_configs": configs})
}

fn inbox_request(name: &str) -> Value {
    let config = json!({"allow_accept": true, "allow_edit": true, "allow_ignore": true, "allow_respond": true});
    json!({"action_request": {"action": name, "args": {"to": "ann"}}, "config": config, "description": "Send it?"})
}

#[test]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real answers -- --ignored"]
fn each_kind_of_answer_reaches_the_graph_once() {
    let two = || {
        hitl(&[
            ("send", &["approve", "edit", "reject"]),
            ("pay", &["approve", "reject"]),
        ])
    };
    let one = || hitl(&[("send", &["approve", "edit", "reject", "respond"])]);
    let approve = json!({"type": "approve"});
    let no = json!({"type": "reject", "message": "no"});
    let edited = json!({"type": "edit", "edited_action": {"name": "send", "args": {"to": "bob"}}});
    let old = || json!([inbox_request("send")]);
    let schema_like = json!({"question": "Which city?", "n": 1});
    let mixed = json!({"decisions": [approve, no]}).to_string();
    let cases = [
        (
            two(),
            "<--approve|--reject>",
            vec!["--approve"],
            json!({"decisions": [approve, approve]}),
        ),
        (
            two(),
            "<--approve|--reject>",
            vec!["--reject", "no"],
            json!({"decisions": [no, no]}),
        ),
        (
            two(),
            "<--approve|--reject>",
            vec!["--json", &mixed],
            json!({"decisions": [approve, no]}),
        ),
        (
            one(),
            "<--approve|--reject>",
            vec!["--edit", r#"{"to": "bob"}"#],
            json!({"decisions": [edited]}),
        ),
        (
            hitl(&[("ask_user", &["respond"])]),
            "--text <TEXT>",
            vec!["--text", "Monday"],
            json!({"decisions": [{"type": "respond", "message": "Monday"}]}),
        ),
        (
            old(),
            "<--approve|--reject>",
            vec!["--approve"],
            json!([{"type": "accept", "args": null}]),
        ),
        (
            old(),
            "<--approve|--reject>",
            vec!["--reject"],
            json!([{"type": "ignore", "args": null}]),
        ),
        (
            old(),
            "<--approve|--reject>",
            vec!["--text", "later"],
            json!([{"type": "response", "args": "later"}]),
        ),
        (
            json!(old().to_string()),
            "<--approve|--reject>",
            vec!["--edit", r#"{"to": "bob"}"#],
            json!([{"type": "edit", "args": {"action": "send", "args": {"to": "bob"}}}]),
        ),
        (
            json!("Approve it?"),
            "<--approve|--reject|--text TEXT>",
            vec!["--approve"],
            json!(true),
        ),
        (
            json!("Approve it?"),
            "<--approve|--reject|--text TEXT>",
            vec!["--reject"],
            json!(false),
        ),
        (
            schema_like,
            "--text <TEXT>",
            vec!["--text", "-5 °C in Kraków"],
            json!("-5 °C in Kraków"),
        ),
        (
            json!([inbox_request("a"), inbox_request("b")]),
            "--json <JSON>",
            vec!["--json", "[1, {\"a\": false}, 0.1, 9007199254740991]"],
            json!([1, {"a": false}, 0.1, 9007199254740991u64]),
        ),
    ];
    for url in all_urls() {
        for (payload, placeholder, given, expected) in &cases {
            let what = format!("{url} {payload} {given:?}");
            let asked = Asked::payloads(&url, std::slice::from_ref(payload));
            let row = asked
                .row()
                .unwrap_or_else(|| panic!("not in the inbox: {what}"));
            assert_eq!(
                (&row["cause"], &row["interrupts"][0]["value"]),
                (&json!("question"), payload),
                "{what}"
            );
            let id = server::text(&row["interrupts"][0], "id");
            let command = format!(
                "runtail --url {url} answer {} --interrupt {id} {placeholder}",
                asked.thread
            );
            assert_eq!(row["command"], command, "{what}");
            let before = (asked.status(), asked.runs().len());
            assert_eq!(before, ("interrupted".to_string(), 1), "{what}");

            let preview = asked
                .answer(&[given.as_slice(), &["--dry-run"]].concat())
                .expect(0)
                .json();
            assert_eq!(
                preview["request"]["body"]["command"]["resume"][&id], *expected,
                "{what}"
            );
            assert_eq!(
                (asked.status(), asked.runs().len()),
                before,
                "a dry run sends nothing: {what}"
            );

            let done = asked
                .answer(&[given.as_slice(), &["--wait"]].concat())
                .expect(0);
            let result = done.json();
            assert_eq!(
                (&result["outcome"], &result["interrupt_id"]),
                (&json!("success"), &json!(id)),
                "{what}"
            );
            assert_eq!(asked.received(), std::slice::from_ref(expected), "{what}");
            let runs = asked.runs();
            assert_eq!(
                (asked.status(), runs.len()),
                ("idle".to_string(), 2),
                "{what}"
            );
            assert!(
                runs.iter().any(|run| run["run_id"] == result["run_id"]),
                "{what}"
            );
            assert_eq!(asked.row(), None, "{what}");
            // The question is closed: nothing more is sent.
            asked
                .answer(&["--interrupt", &id, "--json", "1"])
                .expect(1)
                .says("is not waiting for an answer");
            assert_eq!(asked.runs().len(), 2, "{what}");
        }
    }
}

/// An agent of langchain that waits for the approval of two calls: send_email and delete_file.
#[track_caller]
fn approval<'a>(url: &'a str, graph: &str) -> Asked<'a> {
    Asked::new(
        url,
        graph,
        &json!({"messages": [{"role": "user", "content": "Hi"}]}),
    )
}

/// Asserts that the tools of an agent answered with these texts, in any order.
#[track_caller]
fn assert_results(asked: &Asked<'_>, expected: [&str; 2]) {
    let messages = asked.values()["messages"]
        .as_array()
        .expect("a list")
        .clone();
    let results: Vec<String> = messages
        .iter()
        .filter(|message| message["type"] == "tool")
        .map(|tool| tool["content"].to_string())
        .collect();
    let found = expected
        .iter()
        .all(|text| results.iter().any(|result| result.contains(text)));
    assert!(found && results.len() == 2, "{}: {results:?}", asked.url);
}

#[test]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real answers -- --ignored"]
fn approvals_of_langchain_do_what_was_decided() {
    let (sent, deleted) = (
        "sent to ann@example.com: Lunch at 12?",
        "deleted /app/old.txt",
    );
    for url in all_urls() {
        let is_javascript =
            std::env::var("RUNTAIL_JS_URL").is_ok_and(|other| other.trim_end_matches('/') == url);
        let (graph, key) = if is_javascript {
            ("hitl", "editedAction")
        } else {
            ("batch", "edited_action")
        };
        let edited = json!({"name": "send_email", "args": {"to": "bob", "body": "Hey"}});
        let edited =
            json!({"decisions": [{"type": "edit", key: edited}, {"type": "approve"}]}).to_string();
        for (given, results) in [
            (vec!["--approve"], [sent, deleted]),
            (vec!["--reject", "not today"], ["not today"; 2]),
            (vec!["--json", &edited], ["sent to bob: Hey", deleted]),
        ] {
            let asked = approval(&url, graph);
            let row = asked.row().expect("a row");
            assert!(
                server::text(&row, "question").starts_with("Approve 2 actions: send_email(to="),
                "{row}"
            );
            assert!(
                server::text(&row, "command").ends_with(" <--approve|--reject>"),
                "{row}"
            );
            // What the graph would fail of is not sent.
            for wrong in [
                ["--text", "approve"],
                ["--json", "\"approve\""],
                ["--json", r#"{"decisions": []}"#],
            ] {
                asked.answer(&wrong).expect(2);
            }
            let done = asked.answer(&[&given[..], &["--wait"]].concat()).expect(0);
            assert_eq!(
                done.json()["outcome"],
                "success",
                "{url} {given:?}: {}",
                done.stderr
            );
            assert_results(&asked, results);
        }
        let mixed = r#"{"decisions": [{"type": "approve"}, {"type": "reject"}]}"#;
        let preview = approval(&url, graph)
            .answer(&["--json", mixed, "--dry-run"])
            .expect(0);
        assert_eq!(
            preview.stdout.contains("may drop the approved actions"),
            is_javascript,
            "{}",
            preview.stdout
        );
    }
}

#[test]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real answers -- --ignored"]
fn calls_with_a_question_each_are_answered_together_or_one_by_one() {
    let (sent, deleted) = (
        "sent to ann@example.com: Lunch at 12?",
        "deleted /app/old.txt",
    );
    let is_javascript = |url: &String| {
        std::env::var("RUNTAIL_JS_URL").is_ok_and(|other| other.trim_end_matches('/') == url)
    };
    for url in all_urls().iter().filter(|url| !is_javascript(url)) {
        for (given, results) in [
            (vec!["--approve"], [sent, deleted]),
            (vec!["--reject", "no"], ["no"; 2]),
        ] {
            let asked = approval(url, "percall");
            assert!(
                server::text(&asked.row().expect("a row"), "question")
                    .starts_with("Approve 2 actions: ")
            );
            let done = asked.answer(&[&given[..], &["--wait"]].concat()).expect(0);
            assert_eq!(
                done.json()["outcome"],
                "success",
                "{url} {given:?}: {}",
                done.stderr
            );
            assert_results(&asked, results);
        }
        let asked = approval(url, "percall");
        let row = asked.row().expect("a row");
        let id = |name: &str| {
            let asks = row["interrupts"].as_array().expect("a list");
            server::text(
                asks.iter()
                    .find(|asked| asked["value"]["name"] == name)
                    .expect("the call"),
                "id",
            )
        };
        for wrong in [["--text", "approve"], ["--json", "\"approve\""]] {
            asked.answer(&wrong).expect(2);
        }
        asked
            .answer(&["--interrupt", &id("send_email"), "--json", "\"approve\""])
            .expect(2);
        let first = asked
            .answer(&[
                "--interrupt",
                &id("delete_file"),
                "--reject",
                "keep it",
                "--wait",
            ])
            .expect(0);
        assert_eq!(
            first.json()["outcome"],
            "interrupted",
            "{url}: {}",
            first.stderr
        );
        assert_eq!(asked.ids(), [id("send_email")], "{url}");
        let edit = r#"{"to": "bob", "body": "Hey"}"#;
        let last = asked.answer(&["--edit", edit, "--wait"]).expect(0);
        assert_eq!(last.json()["outcome"], "success", "{url}: {}", last.stderr);
        assert_results(&asked, ["sent to bob: Hey", "keep it"]);
    }
}

#[test]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real answers -- --ignored"]
fn of_two_answers_at_once_the_graph_receives_one() {
    for url in all_urls() {
        let asked = Asked::payloads(&url, &[json!("Which?")]);
        let send = |text: &'static str| {
            let (url, thread) = (url.clone(), asked.thread.clone());
            std::thread::spawn(move || {
                run_at(&url, format!("answer {thread} --text '{text}' --wait"))
            })
        };
        let both = [send("one"), send("two")].map(|thread| thread.join().expect("an end"));
        let mut codes = both.each_ref().map(|done| done.code);
        codes.sort();
        let received = asked.received();
        assert!(
            received == [json!("one")] || received == [json!("two")],
            "{url}: {received:?}"
        );
        let is_aegra = std::env::var("RUNTAIL_AEGRA_URL")
            .is_ok_and(|other| other.trim_end_matches('/') == url);
        let warns = |done: &Done| {
            done.stderr
                .contains("doesn't refuse a second answer that is sent at the same moment")
        };
        assert!(
            both.iter()
                .filter(|done| done.code == Some(0))
                .all(|done| warns(done) == is_aegra),
            "{url}: {both:?}"
        );
        // Aegra ignores `multitask_strategy`, and both runs use one of the answers.
        if !is_aegra {
            assert_eq!(codes, [Some(0), Some(1)], "{url}: {both:?}");
            // A second answer that is received after the first one's run ended isn't refused: its run does nothing.
            let is_late = both.iter().any(|done| {
                done.stderr
                    .contains("someone started another one just before")
            });
            assert_eq!(
                asked.runs().len(),
                2 + usize::from(is_late),
                "{url}: {both:?}"
            );
        }
    }
}

#[test]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real answers -- --ignored"]
fn answered_questions_that_the_threads_row_lists_again_are_not_shown() {
    // Only Python's rows list answered questions again.
    let url = server::url();
    let asked = Asked::payloads(&url, &[json!("Left?"), json!("Right?"), json!("Up?")]);
    let answered = asked.ids()[0].clone();
    asked
        .answer(&["--interrupt", &answered, "--text", "x", "--wait"])
        .expect(0);
    let body = json!({"assistant_id": "ask", "command": {"resume": {"0123456789abcdef0123456789abcdef": 1}}});
    let run = server::text(
        &server::post(&format!("/threads/{}/runs", asked.thread), &body),
        "run_id",
    );
    assert_eq!(server::run_end(&asked.thread, &run), "success");
    let listed = server::get(&format!("/threads/{}", asked.thread))["interrupts"].to_string();
    assert!(
        listed.contains(&answered),
        "the server's row is stale: {listed}"
    );
    let open = asked.ids();
    assert!(open.len() == 2 && !open.contains(&answered), "{open:?}");
    asked
        .answer(&["--interrupt", &answered, "--text", "again"])
        .expect(1);
    assert_eq!(
        asked.received(),
        [json!("x")],
        "only the first answer counts"
    );
}

#[test]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real answers -- --ignored"]
fn a_breakpoint_before_a_join_of_several_edges_is_listed_and_continues() {
    // Python lists no next node there; what the run was started with names it.
    let body =
        json!({"assistant_id": "fanout", "input": {"topic": "x"}, "interrupt_before": ["join"]});
    let thread = server::new_thread();
    let run = server::text(
        &server::post(&format!("/threads/{thread}/runs"), &body),
        "run_id",
    );
    assert_eq!(server::run_end(&thread, &run), "success");
    let paused = Asked {
        url: &server::url(),
        thread,
    };
    let row = paused.row().expect("a row");
    assert_eq!(
        (&row["cause"], &row["detail"]),
        (&json!("breakpoint"), &json!("before join"))
    );
    run_at(
        paused.url,
        &[
            "run",
            "fanout",
            "--thread",
            &paused.thread,
            "--input",
            "null",
        ],
    )
    .expect(0);
    assert_eq!(paused.row(), None);
    assert_eq!(
        paused.values()["notes"][3],
        "joined: deep thoughts on x",
        "{}",
        paused.values()
    );
}
