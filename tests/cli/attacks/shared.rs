//! Several processes that record to one file.

use runtail_sim::{Options, Scenario, Sim};
use runtail_testkit::process::{self, spawn};
use runtail_testkit::server::text;
use tokio::runtime::Runtime;

/// A simulated agent server, and a thread on it.
fn server() -> (Runtime, Sim, String, String) {
    let runtime = Runtime::new().unwrap();
    let options = Options {
        scenario: Scenario::Demo,
        ..Options::default()
    };
    let sim = runtime.block_on(Sim::start(options)).unwrap();
    let url = sim.agents()[0].url.to_string();
    let made = process::run(["--url", &url, "threads", "create", "-o", "json"])
        .expect(0)
        .json();
    (runtime, sim, url, text(&made, "thread_id"))
}

#[test]
fn a_file_with_an_active_recording_is_not_overwritten() {
    let (_runtime, _sim, url, thread) = server();
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.jsonl", "a.jsonl.gz"] {
        let file = folder.path().join(name);
        let file = file.to_str().unwrap();
        let mut first = spawn([
            "--url", &url, "tail", &thread, "-o", "jsonl", "--record", file,
        ]);
        first.line_where("an open connection", |line| line.contains("\"open\""));
        let second = process::run([
            "--url", &url, "tail", &thread, "-o", "jsonl", "--record", file,
        ])
        .expect(2);
        let said = [
            "already exists and was not changed",
            "another process is recording to it",
        ];
        assert!(
            said.iter().any(|said| second.stderr.contains(said)),
            "{name}: {}",
            second.stderr
        );
        assert_eq!(second.stdout, "", "{name}: nothing was followed");
        first.signal(libc::SIGINT);
        first.wait().expect(130);
        let verified = process::run(["verify", file]).expect(0);
        assert!(
            verified.stdout.contains("sound"),
            "{name}: {}",
            verified.stdout
        );
    }
}

#[test]
fn only_one_of_several_processes_records_to_a_file() {
    let (_runtime, _sim, url, thread) = server();
    let folder = tempfile::tempdir().unwrap();
    for name in ["new.jsonl", "new.jsonl.gz", "empty.jsonl", "empty.jsonl.gz"] {
        let file = folder.path().join(name);
        if name.starts_with("empty") {
            std::fs::write(&file, "").unwrap();
        }
        let file = file.to_str().unwrap();
        let args = [
            "--url", &url, "tail", &thread, "-o", "jsonl", "--record", file,
        ];
        let mut all: Vec<_> = (0..6).map(|_| spawn(args)).collect();
        let recording: Vec<_> = all.iter_mut().filter_map(|one| one.line_or_end()).collect();
        assert_eq!(recording.len(), 1, "{name}");
        all.iter().for_each(|one| one.signal(libc::SIGINT));
        let codes: Vec<_> = all.into_iter().map(|one| one.wait().code).collect();
        assert_eq!(
            codes.iter().filter(|code| **code == Some(2)).count(),
            5,
            "{name}: {codes:?}"
        );
        let verified = process::run(["verify", file]).expect(0);
        assert!(
            verified.stdout.contains("sound"),
            "{name}: {}",
            verified.stdout
        );
    }
}
