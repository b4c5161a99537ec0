use super::*;
use crate::model::{RunFacts, StateFacts, ThreadRecords};

const THREAD: &str = "11111111-1111-4111-8111-111111111111";

/// The row of a captured thread, with everything that the server recorded of it.
fn captured(name: &str) -> Option<InboxThread> {
    let path = format!(
        "{}/../../tests/fixtures/threads/{name}.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let case: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let facts = ThreadFacts::read(&case["thread"].to_string()).unwrap_or_default();
    let state = StateFacts::read(&case["state"].to_string()).ok();
    let runs = RunFacts::read_all(&case["runs"].to_string()).ok();
    let records = ThreadRecords {
        thread: Some(&facts),
        state: state.as_ref(),
        runs: runs.as_deref(),
    };
    InboxThread::new(THREAD, &facts, &ThreadStatus::derive(records))
}

fn asking(value: Value, response_schema: Option<Value>) -> InboxThread {
    let question = Question {
        id: Some("0a".into()),
        value,
        response_schema,
        ..Question::default()
    };
    InboxThread {
        thread_id: THREAD.into(),
        cause: Some(InboxCause::Question),
        questions: vec![question],
        ..InboxThread::default()
    }
}

fn at(text: &str) -> Option<Timestamp> {
    Some(text.parse().unwrap())
}

#[test]
fn causes_are_derived_from_captured_records() {
    let cause = |name: &str| captured(name).map(|thread| thread.cause.map(InboxCause::word));
    for (name, expected) in [
        ("question", Some("question")),
        ("questions-parallel", Some("question")),
        ("question-with-schema", Some("question")),
        ("copy-of-waiting", Some("question")),
        ("js-questions", Some("question")),
        ("cancelled", Some("cancelled")),
        ("failed", Some("error")),
        // The capture has no state, which alone says why.
        ("breakpoint", None),
    ] {
        assert_eq!(cause(name), Some(expected), "{name}");
    }
    assert_eq!(
        captured("failed").unwrap().detail,
        "ValueError: n must not be 0"
    );
    let facts = ThreadFacts {
        status: "interrupted".into(),
        ..ThreadFacts::default()
    };
    let next = vec!["pay".to_string(), "log".to_string()];
    let paused = ThreadStatus::Paused {
        since: None,
        next: next.clone(),
        after: false,
    };
    let row = |status: &ThreadStatus| InboxThread::new(THREAD, &facts, status);
    assert_eq!(
        row(&paused).map(|thread| thread.detail).as_deref(),
        Some("before pay, log")
    );
    let edited = row(&ThreadStatus::Edited { at: None, next });
    assert_eq!(
        edited.and_then(|thread| thread.cause),
        Some(InboxCause::Edited)
    );
    // Nothing is left to run, so nothing waits.
    assert_eq!(
        row(&ThreadStatus::Edited {
            at: None,
            next: Vec::new()
        }),
        None
    );
    let stuck = row(&ThreadStatus::BusyWithoutRun { since: None });
    assert_eq!(
        stuck.and_then(|thread| thread.cause),
        Some(InboxCause::Stuck)
    );
    // It was answered, or is gone, since the list was read.
    assert_eq!(
        row(&ThreadStatus::Idle {
            ended: None,
            began: None
        }),
        None
    );
    assert_eq!(row(&ThreadStatus::Deleted), None);
}

#[test]
fn waiting_rows_precede_failed_and_unfinished_ones_and_the_oldest_is_first() {
    let thread = |id: &str, cause: Option<InboxCause>, since: Option<Timestamp>| {
        let thread = InboxThread {
            thread_id: id.into(),
            cause,
            since,
            ..InboxThread::default()
        };
        InboxRow::thread("p", None, "bot", thread, "")
    };
    let revision = FailedRevision {
        since: at("2026-11-21T08:00:00Z"),
        ..FailedRevision::default()
    };
    let mut rows = [
        thread(
            "edited",
            Some(InboxCause::Edited),
            at("2026-11-21T05:00:00Z"),
        ),
        thread(
            "cancelled",
            Some(InboxCause::Cancelled),
            at("2026-11-21T04:00:00Z"),
        ),
        thread(
            "failed",
            Some(InboxCause::Error),
            at("2026-11-21T09:00:00Z"),
        ),
        thread("no time", Some(InboxCause::Question), None),
        InboxRow::revision("p", None, ("bot", "bot"), revision, ""),
        thread(
            "young",
            Some(InboxCause::Breakpoint),
            at("2026-11-21T11:00:00Z"),
        ),
        thread("stuck", Some(InboxCause::Stuck), at("2026-11-21T07:00:00Z")),
        thread("old", None, at("2026-11-21T10:00:00Z")),
    ];
    sort_inbox(&mut rows);
    let ids = rows.each_ref().map(|row| match &row.item {
        InboxItem::Thread(thread) => thread.thread_id.as_str(),
        InboxItem::Revision(_) => "revision",
    });
    assert_eq!(
        ids,
        [
            "old",
            "young",
            "no time",
            "stuck",
            "revision",
            "failed",
            "cancelled",
            "edited"
        ]
    );
}

#[test]
fn commands_fit_the_question_and_the_cause() {
    let command = |thread: &InboxThread| thread.command(" -p p -d bot");
    let answer = format!("runtail -p p -d bot answer {THREAD} --interrupt 0a");
    for (value, schema, option) in [
        (
            json!("Approve this payment?"),
            None,
            "<--approve|--reject|--text TEXT>",
        ),
        (
            json!("Go"),
            Some(json!({"type": "boolean"})),
            "<--approve|--reject>",
        ),
        (json!("Which city?"), None, "--text <TEXT>"),
        (
            json!({"question": "Which city?", "n": 1}),
            None,
            "--text <TEXT>",
        ),
        (
            json!("Review"),
            Some(json!({"type": "object"})),
            "--json <JSON>",
        ),
        (
            json!({"action_requests": [{"name": "f", "args": {}}],
                   "review_configs": [{"action_name": "f", "allowed_decisions": ["reject"]}]}),
            None,
            "<--reject>",
        ),
        (
            json!({"action_requests": [{"name": "f", "args": {}}],
                   "review_configs": [{"action_name": "f", "allowed_decisions": ["respond"]}]}),
            None,
            "--text <TEXT>",
        ),
        (
            json!({"action_requests": [{"name": "f", "args": {}}]}),
            None,
            "<--approve|--reject>",
        ),
        (
            json!({"actionRequests": [{"name": "f", "args": {}}]}),
            None,
            "<--approve|--reject>",
        ),
        (
            json!({"type": "tool_approval", "name": "f", "args": {}}),
            None,
            "<--approve|--reject>",
        ),
        (json!({"action_requests": []}), None, "--json <JSON>"),
        (json!({"tool_calls": []}), None, "--json <JSON>"),
    ] {
        assert_eq!(
            command(&asking(value, schema)),
            format!("{answer} {option}")
        );
    }
    // One decision answers all calls, unless one of them doesn't allow it.
    let schema = json!({"properties": {"type": {"const": "respond"}}});
    let call = |id: &str, schema: Option<Value>| Question {
        id: Some(id.repeat(32)),
        ..asking(
            json!({"type": "tool_approval", "name": "f", "args": {}}),
            schema,
        )
        .questions
        .remove(0)
    };
    let mut thread = asking(Value::Null, None);
    thread.questions = vec![call("a", None), call("b", None)];
    assert_eq!(
        command(&thread),
        format!("runtail -p p -d bot answer {THREAD} <--approve|--reject>")
    );
    thread.questions[0] = call("a", Some(schema));
    let first = "a".repeat(32);
    assert_eq!(
        command(&thread),
        format!("runtail -p p -d bot answer {THREAD} --interrupt {first} --text <TEXT>")
    );
    // Of several, one with an id is named.
    thread.questions[0].id = None;
    assert!(
        command(&thread).contains(&format!("--interrupt {} <", "b".repeat(32))),
        "{}",
        command(&thread)
    );
    let mut thread = asking(json!("Which city?"), None);
    thread.questions[0].id = None;
    assert_eq!(
        command(&thread),
        format!("runtail -p p -d bot answer {THREAD} --text <TEXT>")
    );
    thread.questions.clear();
    thread.assistant_id = Some("it's mine".into());
    thread.cause = Some(InboxCause::Breakpoint);
    let expected =
        format!(r"runtail -p p -d bot run 'it'\''s mine' --thread {THREAD} <--input null>");
    assert_eq!(command(&thread), expected);
    // What a person cancelled is not started again by a copied command.
    for cause in [Some(InboxCause::Cancelled), Some(InboxCause::Error), None] {
        thread.cause = cause;
        assert_eq!(
            command(&thread),
            format!("runtail -p p -d bot threads get {THREAD}")
        );
    }
}

#[test]
fn a_shell_rejects_every_command_that_answers_or_continues() {
    let reject = |command: &str| {
        let script = format!("runtail() {{ echo sent \"$@\"; }}\n{command}\necho next");
        let output = std::process::Command::new("sh")
            .arg("-c")
            .arg(script)
            .output()
            .unwrap();
        assert!(
            !output.status.success() && output.stdout.is_empty(),
            "{command}: {output:?}"
        );
    };
    let hitl = |words: &[&str]| {
        json!({"action_requests": [{"name": "f", "args": {}}],
               "review_configs": [{"action_name": "f", "allowed_decisions": words}]})
    };
    for (value, schema) in [
        (json!("Approve this payment?"), None),
        (json!("Which city?"), None),
        (json!("Go"), Some(json!({"type": "boolean"}))),
        (hitl(&["approve", "reject"]), None),
        (hitl(&["approve"]), None),
        (hitl(&["respond"]), None),
        (json!({"action_requests": []}), None),
    ] {
        reject(&asking(value, schema).command(" -p p -d bot"));
    }
    for cause in [InboxCause::Breakpoint, InboxCause::Edited] {
        let thread = InboxThread {
            cause: Some(cause),
            assistant_id: Some("a".into()),
            ..asking(json!("x"), None)
        };
        reject(&thread.command(" -p p -d bot"));
    }
}

#[test]
fn names_that_look_like_options_are_not_taken_for_options() {
    assert_eq!(
        (shell_option(" -p", "-x y"), shell_option(" -p", "x")),
        (" -p='-x y'".into(), " -p x".into())
    );
    let mut thread = InboxThread {
        thread_id: "-t".into(),
        ..asking(json!("Which city?"), None)
    };
    thread.questions[0].id = Some("-i".into());
    assert_eq!(
        thread.command(" -d bot"),
        "runtail -d bot answer --interrupt='-i' --text <TEXT> -- '-t'"
    );
    thread.cause = Some(InboxCause::Error);
    assert_eq!(
        thread.command(" -d bot"),
        "runtail -d bot threads get -- '-t'"
    );
    thread.cause = Some(InboxCause::Breakpoint);
    thread.graph = Some("-g".into());
    assert_eq!(
        thread.command(""),
        "runtail run --thread='-t' <--input null> -- '-g'"
    );
    let row = InboxRow::revision(
        "p",
        None,
        ("-d", "-d"),
        FailedRevision {
            revision_id: "r".into(),
            ..FailedRevision::default()
        },
        "",
    );
    assert_eq!(row.command, "runtail revisions explain -- '-d' r");
}

#[test]
fn commands_are_quoted_for_a_shell() {
    let hostile = "-x; $(touch /tmp/x) `id`'\u{1b}[31m\n&";
    assert_eq!(shell_word("bot-1.a/b:c@d"), "bot-1.a/b:c@d");
    assert_eq!(
        (shell_word(""), shell_word("-p"), shell_word("a b")),
        ("''".into(), "'-p'".into(), "'a b'".into())
    );
    let output = std::process::Command::new("sh")
        .arg("-c")
        .arg(format!("printf %s {}", shell_word(hostile)))
        .output();
    assert_eq!(
        String::from_utf8(output.unwrap().stdout).unwrap(),
        text::clean(hostile)
    );
}

#[test]
fn rows_have_the_documented_fields() {
    let thread = InboxThread {
        since: at("2026-11-21T10:00:00Z"),
        status: "interrupted".into(),
        ..asking(json!("Really?\nyes"), None)
    };
    let row = InboxRow::thread("p", Some("us"), "bot", thread, " -p p -d bot");
    let expected = format!(
        r#"{{"kind":"thread","profile":"p","region":"us","deployment":"bot","thread_id":"{THREAD}","revision_id":null,"graph":null,"assistant_id":null,"status":"interrupted","cause":"question","since":"2026-11-21T10:00:00Z","question":"Really? yes","interrupts":[{{"id":"0a","value":"Really?\nyes","response_schema":null}}],"detail":null,"command":"runtail -p p -d bot answer {THREAD} --interrupt 0a --text <TEXT>"}}"#
    );
    assert_eq!(row.to_json().to_string(), expected);
    let revision = FailedRevision {
        revision_id: "r1".into(),
        status: "BUILD_FAILED".into(),
        since: at("2026-11-21T10:00:00Z"),
    };
    let row = InboxRow::revision("p", None, ("my bot", "my bot"), revision, " -p p");
    let expected = r#"{"kind":"revision","profile":"p","region":null,"deployment":"my bot","thread_id":null,"revision_id":"r1","graph":null,"assistant_id":null,"status":"BUILD_FAILED","cause":"error","since":"2026-11-21T10:00:00Z","question":null,"interrupts":[],"detail":null,"command":"runtail -p p revisions explain 'my bot' r1"}"#;
    assert_eq!(row.to_json().to_string(), expected);
}

#[test]
fn errors_are_one_short_line() {
    assert_eq!(first_line("\n  ValueError: no \n  at x"), "ValueError: no");
    assert_eq!(first_line(&"é".repeat(1000)).chars().count(), MAX_ERROR + 1);
}

#[test]
fn a_list_of_threads_and_the_inbox_say_the_same_of_a_stopped_thread() {
    let next = || vec!["pay".to_string(), "log".to_string()];
    let cases = [
        (
            ThreadStatus::Paused {
                since: None,
                next: next(),
                after: false,
            },
            "Breakpoint before pay, log",
        ),
        (
            ThreadStatus::Cancelled {
                at: None,
                next: next(),
            },
            "Cancelled before pay, log",
        ),
        (
            ThreadStatus::Edited {
                at: None,
                next: next(),
            },
            "Edited before pay, log, not continued",
        ),
        (
            ThreadStatus::Stopped {
                since: None,
                next: next(),
            },
            "Interrupted before pay, log; the cause is not known",
        ),
    ];
    for (status, words) in cases {
        assert_eq!(stopped_in_words(&status).as_deref(), Some(words));
        let row = InboxThread::new("t", &ThreadFacts::default(), &status).unwrap();
        assert_eq!(row.needs_in_words(), words);
    }
    assert_eq!(
        stopped_in_words(&ThreadStatus::Cancelled {
            at: None,
            next: Vec::new()
        }),
        None
    );
}
