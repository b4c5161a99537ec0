//! Recordings in a terminal: replayed without requests to servers, unreadable or damaged, and written while the dashboard
//! ends.

use runtail_stream::{Chain, Data, End, Event, Head, Outcome, Reader, Record, Seq, write_record};
use runtail_testkit::process;
use runtail_testkit::term::Term;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Creates a recording of this many events, 0.1s apart.
fn recording(events: u64) -> Vec<u8> {
    let at = |tenths: u64| {
        jiff::Timestamp::from_millisecond(1_795_224_332_000 + tenths as i64 * 100).unwrap()
    };
    let head = Head {
        at: at(0),
        server: "http://127.0.0.1:1".into(),
        ..Head::default()
    };
    let mut records = vec![
        Record::Head(head),
        Record::Open {
            at: at(0),
            conn: 1,
            status: 200,
            resumed_after: None,
        },
    ];
    records.extend((1..=events).map(|seq| {
        let data = Data::Json(format!(r#"{{"number":"n{seq}."}}"#).into());
        Record::Event(Event {
            seq: Seq(seq),
            at: at(seq),
            conn: 1,
            replayed: false,
            name: "custom".into(),
            ns: [].into(),
            id: None,
            data,
        })
    }));
    let end = End {
        at: at(events),
        outcome: Outcome::Success,
        events,
        connections: 1,
        ..End::default()
    };
    records.push(Record::End(end));
    let (mut lines, mut chain) = (Vec::new(), Chain::default());
    for record in &records {
        let from = lines.len();
        write_record(&mut lines, record).unwrap();
        chain.seal(&mut lines, from);
    }
    lines
}

fn write_file(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

#[track_caller]
fn assert_exit(mut term: Term, code: u32) {
    assert_eq!(term.exit_status().exit_code(), code, "{}", term.screen());
    assert!(
        term.unrestored_modes().is_empty(),
        "left behind: {:?}",
        term.unrestored_modes()
    );
}

#[test]
fn recording_is_replayed_without_requests_to_servers() {
    let folder = tempfile::tempdir().unwrap();
    let file = write_file(folder.path(), "a.jsonl", &recording(40));
    // All servers in the configuration have this address.
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let url = format!("http://{}", server.local_addr().unwrap());
    let config = format!(
        "[profiles.a]\nurl = \"{url}\"\napi_key = {{ env = \"NOWHERE\" }}\n\n[profiles.b]\nagent_server = \"{url}\"\n"
    );
    let config = write_file(folder.path(), "config.toml", config.as_bytes());
    let args = [
        "--config",
        config.to_str().unwrap(),
        "--replay",
        file.to_str().unwrap(),
    ];
    let term = Term::spawn(&args, 120, 30);
    term.wait_for("ended: success");
    term.keys("6");
    term.wait_for("n40.");
    term.keys(" ");
    term.wait_for("event 40 of 40");
    term.keys(",,");
    term.wait_for("event 38 of 40");
    assert!(!term.screen().contains("n39."), "{}", term.screen());
    term.keys("<");
    term.wait_for("event 36 of 40");
    term.keys(">.");
    term.wait_for("event 39 of 40");
    // Twenty jumps cover the whole stream.
    term.keys(&"<".repeat(30));
    term.wait_for(" 0 of 40");
    term.wait_for("Before the first event.");
    assert!(!term.screen().contains("n1."), "{}", term.screen());
    term.keys("SSSR");
    term.wait_until("the live view after playback", |term| {
        !term.screen().contains("PAST") && term.screen().contains("n40.")
    });
    term.keys(",G");
    term.wait_until("the live view", |term| !term.screen().contains("PAST"));
    // Actions that need a server report that there is none.
    for keys in ["a", ":state\r"] {
        term.keys(keys);
        term.wait_for("there is no server");
        // Another notice replaces it.
        term.keys(":wrap on\r");
        term.wait_until("another notice", |term| {
            !term.screen().contains("there is no server")
        });
    }
    term.keys("\x03");
    assert_exit(term, 0);
    let request = server.accept();
    assert!(request.is_err(), "a server was contacted: {request:?}");
}

#[test]
fn unreadable_recordings_are_reported_on_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("nowhere.jsonl");
    for (path, code, message) in [
        (missing.as_path(), 1, "No such file"),
        (folder.path(), 2, "directory"),
    ] {
        let mut term = Term::spawn(&["--replay", path.to_str().unwrap()], 120, 30);
        assert_eq!(term.exit_status().exit_code(), code, "{}", term.screen());
        assert!(
            term.screen().contains("cannot read") && term.screen().contains(message),
            "{}",
            term.screen()
        );
        let raw = String::from_utf8_lossy(&term.raw_output()).into_owned();
        assert!(
            !raw.contains("\x1b[?1049h"),
            "no dashboard was started: {raw:?}"
        );
    }
}

#[test]
fn damaged_recordings_show_intact_records_and_report_damage() {
    let folder = tempfile::tempdir().unwrap();
    let whole = recording(9);
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    let cut = [&lines[..6].concat()[..], &lines[6][..20]].concat();
    let broken = [
        &lines[..4].concat()[..],
        b"nonsense\n",
        &lines[4..].concat()[..],
    ]
    .concat();
    for (name, bytes, message) in [
        ("cut.jsonl", cut, "cut off in the middle of a line"),
        ("open.jsonl", lines[..6].concat(), "has no end record"),
        ("broken.jsonl", broken, "possible gaps"),
        (
            "noise.jsonl",
            b"\x00\xff\x1b[31mnoise\n".repeat(5),
            "the file contains no records",
        ),
        ("empty.jsonl", Vec::new(), "the file contains no records"),
    ] {
        let file = write_file(folder.path(), name, &bytes);
        let term = Term::spawn(&["--replay", file.to_str().unwrap()], 120, 30);
        term.wait_until("the end", |term| {
            ["recording ended", "recording truncated", "not a recording"]
                .iter()
                .any(|end| term.screen().contains(end))
        });
        match name {
            "broken.jsonl" => {
                term.keys("6d");
                term.wait_for("1 damaged line skipped");
                term.keys("\x1b");
                term.wait_until("the events", |term| !term.screen().contains("Delivery ·"));
            }
            _ => term.wait_for(message),
        }
        // Without events the keys have no effect.
        term.keys(", <R G");
        term.wait_until("the end", |term| {
            ["recording ended", "recording truncated", "not a recording"]
                .iter()
                .any(|end| term.screen().contains(end))
        });
        if name == "cut.jsonl" {
            term.keys("6");
            term.wait_for("n4.");
        }
        term.keys("\x03");
        assert_exit(term, 0);
    }
}

/// Starts recording an active stream.
/// Records a run from its start. `place`: the keys that choose where it runs.
fn start_recording(folder: &Path, place: &str) -> (Term, PathBuf) {
    let term = Term::spawn(&["--demo"], 120, 30);
    term.select_first_by_name("contract-review");
    term.keys("\r");
    term.wait_for("Assistants ");
    term.compose("support");
    term.wait_for("New run ·");
    term.keys("hello");
    term.wait_for("hello");
    term.keys(place);
    term.keys("\x13");
    let file = folder.join("r.jsonl");
    term.wait_for("● live");
    term.keys(&format!(":record {}\r", file.display()));
    term.wait_for("REC ");
    (term, file)
}

#[test]
fn recording_is_complete_when_the_dashboard_ends() {
    for (how, signal) in [
        ("TERM", Some(libc::SIGTERM)),
        ("HUP", Some(libc::SIGHUP)),
        ("q", None),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (mut term, file) = start_recording(folder.path(), "");
        match signal {
            Some(signal) => term.signal(signal),
            None => term.keys("\x03"),
        }
        term.exit_status();
        let records: Vec<Record> = Reader::open(&file)
            .unwrap()
            .map(|read| read.expect("complete lines"))
            .collect();
        let is_event =
            |record: &&Record| matches!(record, Record::Event(event) if !event.is_snapshot());
        let events = records.iter().filter(is_event).count() as u64;
        let Some(Record::End(end)) = records.last() else {
            panic!("{how}: {:?}", records.last())
        };
        assert_eq!(end.events, events, "{how}");
        let verified = process::run(["verify", file.to_str().unwrap()]).expect(0);
        assert!(
            verified.stdout.contains(": sound; "),
            "{how}: {}",
            verified.stdout
        );
    }
}

#[test]
fn recording_ends_with_its_stream() {
    let folder = tempfile::tempdir().unwrap();
    // The page of a run without a thread has nothing to follow after the run.
    let stateless = "\x1b[Z ";
    let (term, file) = start_recording(folder.path(), stateless);
    term.wait_for("Recorded ");
    assert!(!term.screen().contains("REC "), "{}", term.screen());
    let verified = process::run(["verify", file.to_str().unwrap()]).expect(0);
    assert!(
        verified
            .stdout
            .contains(", success; every line matches its hash"),
        "{}",
        verified.stdout
    );
    // Opened next to its stream, the recording shows the same messages.
    term.keys(&format!(":replay {}\r", file.display()));
    term.wait_for("r.jsonl");
    term.wait_for("ended: success");
    term.wait_for_quiet(Duration::from_millis(300));
    let messages = |term: &Term| {
        let screen = term.screen();
        screen
            .lines()
            .filter(|line| line.contains("human") || line.contains("ai · "))
            .map(str::to_string)
            .collect::<Vec<_>>()
    };
    let replayed = messages(&term);
    term.keys("{");
    term.wait_until("the stream itself", |term| {
        term.screen().contains(" › new run")
    });
    term.wait_until("the same messages", |term| messages(term) == replayed);
    term.keys("\x03");
    assert_exit(term, 0);
}
