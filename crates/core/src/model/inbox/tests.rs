use super::*;
use crate::fixtures;
use crate::model::{RunFacts, StateFacts, ThreadRecords};

const THREAD: &str = "11111111-1111-4111-8111-111111111111";

/// The row of a captured thread, with everything that the server recorded of it.
fn captured(name: &str) -> Option<InboxThread> {
    let case = fixtures::json(&format!("fixtures/threads/{name}"));
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
        response_schema,
        ..fixtures::asking(value)
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
        let cause = captured(name).map(|thread| thread.cause.map(InboxCause::word));
        assert_eq!(cause, Some(expected), "{name}");
    }
    assert_eq!(
        captured("failed").unwrap().detail,
        "ValueError: n must not be 0"
    );
}

#[test]
fn a_list_of_threads_and_the_inbox_say_the_same_of_a_stopped_thread() {
    let (since, at) = (None, None);
    let next = || vec!["pay".to_string(), "log".to_string()];
    let words = |status: &ThreadStatus| {
        let row = InboxThread::new("t", &ThreadFacts::default(), status)?;
        Some(row.needs_in_words())
    };
    for (status, expected) in [
        (
            ThreadStatus::Paused {
                since,
                next: next(),
                after: false,
            },
            "Breakpoint before pay, log",
        ),
        (
            ThreadStatus::Cancelled { at, next: next() },
            "Cancelled before pay, log",
        ),
        (
            ThreadStatus::Edited { at, next: next() },
            "Edited before pay, log, not continued",
        ),
        (
            ThreadStatus::Stopped {
                since,
                next: next(),
            },
            "Interrupted before pay, log; the cause is not known",
        ),
    ] {
        assert_eq!(stopped_in_words(&status).as_deref(), Some(expected));
        assert_eq!(words(&status).as_deref(), Some(expected));
    }
    for (status, expected) in [
        (
            ThreadStatus::BusyWithoutRun { since },
            Some("Busy, but no run is active"),
        ),
        (
            ThreadStatus::Cancelled {
                at,
                next: Vec::new(),
            },
            Some("Cancelled"),
        ),
        // Nothing is left to run, so nothing waits.
        (
            ThreadStatus::Edited {
                at,
                next: Vec::new(),
            },
            None,
        ),
        // It was answered, or is gone, since the list was read.
        (
            ThreadStatus::Idle {
                ended: at,
                began: None,
            },
            None,
        ),
        (ThreadStatus::Deleted, None),
    ] {
        assert_eq!(words(&status).as_deref(), expected);
        assert_eq!(stopped_in_words(&status), None);
    }
}

#[test]
fn waiting_rows_are_oldest_first_and_failed_ones_newest_first() {
    use InboxCause::{Breakpoint, Cancelled, Edited, Error, Question, Stuck};
    let hour = |hour: u8| at(&format!("2026-11-21T{hour:02}:00:00Z"));
    let thread = |(id, cause, since): (&str, Option<InboxCause>, u8)| {
        let thread = InboxThread {
            thread_id: id.into(),
            cause,
            since: hour(since).filter(|_| since > 0),
            ..InboxThread::default()
        };
        InboxRow::thread("p", None, "bot", thread, "")
    };
    let threads = [
        ("edited", Some(Edited), 5),
        ("cancelled", Some(Cancelled), 4),
        ("failed", Some(Error), 9),
        ("no time", Some(Question), 0),
        ("young", Some(Breakpoint), 11),
        ("stuck", Some(Stuck), 7),
        ("old", None, 10),
    ];
    let revision = FailedRevision {
        since: hour(8),
        ..FailedRevision::default()
    };
    let mut rows: Vec<InboxRow> = threads.into_iter().map(thread).collect();
    rows.push(InboxRow::revision("p", None, ("bot", "bot"), revision, ""));
    sort_inbox(&mut rows);
    let id = |row: &InboxRow| match &row.item {
        InboxItem::Thread(thread) => thread.thread_id.clone(),
        InboxItem::Revision(_) => "revision".into(),
    };
    let ids: Vec<String> = rows.iter().map(id).collect();
    assert_eq!(
        ids.join(", "),
        "old, young, no time, failed, revision, stuck, cancelled, edited"
    );
}

/// A shell must reject every command that answers or continues: a person has to decide first.
#[track_caller]
fn assert_command(thread: &InboxThread, expected: &str) {
    let command = thread.command(" -p p -d bot");
    assert_eq!(command, format!("runtail -p p -d bot {expected}"));
    let script = format!("runtail() {{ echo sent \"$@\"; }}\n{command}\necho next");
    let sh = std::process::Command::new("sh")
        .arg("-c")
        .arg(script)
        .output()
        .unwrap();
    assert!(
        !command.contains('<') || !sh.status.success() && sh.stdout.is_empty(),
        "{command}: {sh:?}"
    );
}

#[test]
fn commands_fit_the_question_and_the_cause() {
    let calls = |key: &str| json!({key: [{"name": "f", "args": {}}]});
    let allowing = |word: &str| {
        json!({"action_requests": [{"name": "f", "args": {}}],
            "review_configs": [{"action_name": "f", "allowed_decisions": [word]}]})
    };
    let per_call = || json!({"type": "tool_approval", "name": "f", "args": {}});
    for (value, schema, option) in [
        (
            json!("Approve this payment?"),
            Value::Null,
            "<--approve|--reject|--text TEXT>",
        ),
        (
            json!("Go"),
            json!({"type": "boolean"}),
            "<--approve|--reject>",
        ),
        (json!("Which city?"), Value::Null, "--text <TEXT>"),
        (
            json!({"question": "Which city?", "n": 1}),
            Value::Null,
            "--text <TEXT>",
        ),
        (json!("Review"), json!({"type": "object"}), "--json <JSON>"),
        (allowing("reject"), Value::Null, "<--reject>"),
        (allowing("approve"), Value::Null, "<--approve>"),
        (allowing("respond"), Value::Null, "--text <TEXT>"),
        (
            calls("action_requests"),
            Value::Null,
            "<--approve|--reject>",
        ),
        (calls("actionRequests"), Value::Null, "<--approve|--reject>"),
        (per_call(), Value::Null, "<--approve|--reject>"),
        (json!({"action_requests": []}), Value::Null, "--json <JSON>"),
        (json!({"tool_calls": []}), Value::Null, "--json <JSON>"),
    ] {
        let thread = asking(value, Some(schema).filter(|schema| !schema.is_null()));
        assert_command(&thread, &format!("answer {THREAD} --interrupt 0a {option}"));
    }
    // One decision answers all calls, unless one of them doesn't allow it.
    let call = |id: &str, response_schema: Option<Value>| Question {
        id: Some(id.repeat(32)),
        response_schema,
        ..fixtures::asking(per_call())
    };
    let (first, second) = ("a".repeat(32), "b".repeat(32));
    let mut thread = asking(Value::Null, None);
    thread.questions = vec![call("a", None), call("b", None)];
    assert_command(&thread, &format!("answer {THREAD} <--approve|--reject>"));
    thread.questions[0] = call(
        "a",
        Some(json!({"properties": {"type": {"const": "respond"}}})),
    );
    assert_command(
        &thread,
        &format!("answer {THREAD} --interrupt {first} --text <TEXT>"),
    );
    // Of several, one with an id is named.
    thread.questions[0].id = None;
    assert_command(
        &thread,
        &format!("answer {THREAD} --interrupt {second} <--approve|--reject>"),
    );
    let mut thread = asking(json!("Which city?"), None);
    thread.questions[0].id = None;
    assert_command(&thread, &format!("answer {THREAD} --text <TEXT>"));
    thread.questions.clear();
    thread.assistant_id = Some("it's mine".into());
    let run = format!(r"run 'it'\''s mine' --thread {THREAD} <--input null>");
    // What a person cancelled is not started again by a copied command.
    let get = format!("threads get {THREAD}");
    for (cause, expected) in [
        (Some(InboxCause::Breakpoint), &run),
        (Some(InboxCause::Edited), &run),
        (Some(InboxCause::Cancelled), &get),
        (Some(InboxCause::Error), &get),
        (None, &get),
    ] {
        thread.cause = cause;
        assert_command(&thread, expected);
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
