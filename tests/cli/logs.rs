//! `runtail logs` as other programs see it: stdout, stderr, exit codes, and the requests.

use crate::ended::{self, Ended, ended, write_config};
use jiff::{SignedDuration, Timestamp};
use runtail_sim::{Logs, Options, Rule, Scenario, Sim};
use runtail_testkit::common::{Seen, Server, json};
use runtail_testkit::process::Args;
use runtail_testkit::server::text;
use serde_json::{Value, json as value};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

/// Maximum wait, long enough for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);
/// 2026-11-21T10:00:00Z in milliseconds.
const TEN: i64 = 1_795_255_200_000;

fn command(home: &Path, args: impl Args) -> Command {
    let mut command = ended::command(home, args);
    command.env("RUNTAIL_SIM_KEY", runtail_sim::KEY);
    command
}

async fn runtail(home: &Path, args: impl Args) -> Ended {
    ended(command(home, args)).await
}

/// Returns the messages of the printed log lines.
fn messages(ended: &Ended) -> Vec<String> {
    ended
        .rows()
        .iter()
        .map(|row| text(row, "message"))
        .collect()
}

/// Creates a folder with a configuration of these control planes.
fn configured(profiles: &[(&str, &str)]) -> tempfile::TempDir {
    let text: String = profiles
        .iter()
        .map(|(name, url)| {
            let key = if *name == "sim" {
                "RUNTAIL_SIM_KEY"
            } else {
                "RUNTAIL_TEST_KEY"
            };
            format!("[profiles.{name}]\nurl = \"{url}\"\napi_key_env = \"{key}\"\n")
        })
        .collect();
    write_config(&text)
}

/// The log of one deployment, `bot`. Tests append to it.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<Value>>>);

impl Log {
    fn add(&self, rows: impl IntoIterator<Item = Value>) {
        self.0.lock().unwrap().extend(rows);
    }

    /// Starts a server of the older calls that honors bounds and limits, ignores filters and returns no cursor.
    async fn serve(&self) -> Server {
        let log = self.clone();
        Server::start(move |seen| match seen.path.strip_prefix("/api-host/") {
            Some("v1/projects/d-1/deploy_logs") => {
                json(200, value!({"logs": log.page(seen), "next_offset": null}))
            }
            Some("v2/deployments") => {
                json(200, value!({"resources": [{"id": "d-1", "name": "bot"}]}))
            }
            Some("v2/deployments/d-1") => json(200, value!({"id": "d-1", "name": "bot"})),
            _ => json(404, r#"{"detail":"Not Found"}"#),
        })
        .await
    }

    fn page(&self, seen: &Seen) -> Vec<Value> {
        let asked = seen.json();
        let bound = |name: &str| {
            asked[name]
                .as_str()
                .map(|at| at.parse::<Timestamp>().unwrap().as_millisecond())
        };
        let (start, end) = (
            bound("start_time").unwrap_or(i64::MIN),
            bound("end_time").unwrap_or(i64::MAX),
        );
        let time = |row: &Value| {
            runtail_core::model::LogLine::time(row).map_or(TEN, |at| at.as_millisecond())
        };
        let mut rows = self.0.lock().unwrap().clone();
        rows.retain(|row| (start..=end).contains(&time(row)));
        if asked["order"] == "desc" {
            rows.reverse();
        }
        rows.truncate(asked["limit"].as_u64().unwrap() as usize);
        rows
    }
}

fn row(at: i64, message: &str) -> Value {
    value!({"timestamp": at, "level": "INFO", "message": message})
}

async fn log_of(rows: impl IntoIterator<Item = Value>) -> (Log, Server) {
    let log = Log::default();
    log.add(rows);
    let server = log.serve().await;
    (log, server)
}

/// A command that keeps running, and its lines as they arrive.
struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    fn start(folder: &Path, args: &[&str]) -> Running {
        let mut child = command(folder, args).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Running { child, lines }
    }

    async fn line(&mut self) -> String {
        tokio::time::timeout(TIMEOUT, self.lines.next_line())
            .await
            .expect("a line")
            .unwrap()
            .expect("no end yet")
    }

    async fn message(&mut self) -> String {
        let line = self.line().await;
        let row: Value = serde_json::from_str(&line).unwrap();
        text(&row, "message")
    }

    /// Waits for its end. Returns the exit code, the unread lines, and stderr.
    async fn end(mut self) -> (i32, Vec<String>, String) {
        let mut rest = Vec::new();
        while let Some(line) = tokio::time::timeout(TIMEOUT, self.lines.next_line())
            .await
            .expect("an end")
            .unwrap()
        {
            rest.push(line);
        }
        let mut err = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut err)
            .await
            .unwrap();
        (
            self.child.wait().await.unwrap().code().unwrap_or(-1),
            rest,
            err,
        )
    }

    #[cfg(unix)]
    async fn interrupt(self) -> (i32, Vec<String>, String) {
        let id = i32::try_from(self.child.id().unwrap()).unwrap();
        // SAFETY: the signal goes to a child that has not been waited for.
        assert_eq!(unsafe { libc::kill(id, libc::SIGINT) }, 0);
        self.end().await
    }
}

const FOLLOW: [&str; 5] = ["--follow", "--interval", "100ms", "-o", "jsonl"];

#[tokio::test]
async fn several_logs_are_merged_by_time() {
    let second = value!({"timestamp": "2026-11-21T10:00:02Z", "level": "warn", "message": "second", "novel": {"z": 1, "a": null}});
    let (_, one) = log_of([row(TEN, "first"), second, value!("bare")]).await;
    let (_, two) = log_of([row(TEN + 1000, "between"), row(TEN + 9000, "last")]).await;
    let folder = configured(&[("one", one.url.as_str()), ("two", two.url.as_str())]);
    let both = "logs one/bot two/d-1 one/d-1";
    let ended = runtail(folder.path(), both).await;
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    let region = format!("127.0.0.1:{}", one.url.port().unwrap());
    let head = format!(
        r#"{{"profile":"one","region":"{region}","deployment":"bot","deployment_id":"d-1","#
    );
    let lines: Vec<&str> = ended.out.lines().collect();
    assert_eq!(
        lines[0],
        format!("{head}\"timestamp\":{TEN},\"level\":\"INFO\",\"message\":\"first\"}}")
    );
    assert_eq!(
        lines[2],
        head.clone()
            + r#""timestamp":"2026-11-21T10:00:02Z","level":"warn","message":"second","novel":{"z":1,"a":null}}"#
    );
    assert_eq!(
        lines[3],
        head + r#""value":"bare"}"#,
        "a line without a time follows the previous line"
    );
    let of = |n: usize| serde_json::from_str::<Value>(lines[n]).unwrap()["message"].clone();
    assert_eq!(
        (lines.len(), of(1), of(4)),
        (5, value!("between"), value!("last"))
    );
    let text = runtail(folder.path(), format!("{both} -o text")).await;
    assert_eq!(
        text.out,
        "2026-11-21T10:00:00.000Z one/bot │ INFO     first\n\
         2026-11-21T10:00:01.000Z two/bot │ INFO     between\n\
         2026-11-21T10:00:02.000Z one/bot │ warn     second\n\
         \x20                        one/bot │ bare\n\
         2026-11-21T10:00:09.000Z two/bot │ INFO     last\n"
    );
    let ascii = runtail(
        folder.path(),
        "logs one/bot two/bot --tail 1 -o text --ascii",
    )
    .await;
    assert!(
        ascii
            .out
            .ends_with("2026-11-21T10:00:09.000Z two/bot | INFO     last\n"),
        "{}",
        ascii.out
    );
    let alone = runtail(folder.path(), "logs two/bot -o text --tail 1").await;
    assert_eq!(alone.out, "2026-11-21T10:00:09.000Z INFO     last\n");
    let whole = runtail(folder.path(), "logs one/bot -o json").await;
    assert_eq!(
        serde_json::from_str::<Value>(&whole.out)
            .unwrap()
            .as_array()
            .map(Vec::len),
        Some(3)
    );
}

#[tokio::test]
async fn log_lines_are_colored_on_request() {
    let (_, one) = log_of([
        row(TEN, "fine"),
        value!({"timestamp": TEN, "level": "ERROR", "message": "bad"}),
    ])
    .await;
    let (_, two) = log_of([row(TEN, "also")]).await;
    let folder = configured(&[("one", one.url.as_str()), ("two", two.url.as_str())]);
    let args = |color| ["logs", "one/bot", "two/bot", "-o", "text", "--color", color];
    let painted = runtail(folder.path(), &args("always")).await.out;
    let lines: Vec<&str> = painted.lines().collect();
    let title = |line: &str, name: &str| {
        line[..line.find(name).unwrap()]
            .rsplit('\x1b')
            .next()
            .unwrap()
            .to_string()
    };
    assert_eq!(title(lines[0], "one/bot"), title(lines[1], "one/bot"));
    assert_ne!(
        title(lines[0], "one/bot"),
        title(lines[2], "two/bot"),
        "the two names have different colors"
    );
    assert!(
        lines[0].starts_with("\x1b[2m2026") && lines[1].contains("\x1b[31mERROR\x1b[0m"),
        "{painted:?}"
    );
    assert_eq!(runtail(folder.path(), &args("always")).await.out, painted);
    // A pipe is not a terminal, but --color requests colors and overrides NO_COLOR.
    assert!(
        !runtail(folder.path(), &args("auto"))
            .await
            .out
            .contains('\x1b')
    );
    assert!(
        !runtail(folder.path(), &args("never"))
            .await
            .out
            .contains('\x1b')
    );
    let mut asked = command(folder.path(), &args("always"));
    asked.env("NO_COLOR", "1");
    assert_eq!(ended(asked).await.out, painted);
}

#[tokio::test]
async fn hostile_and_huge_log_lines_are_sanitized() {
    let huge = "x".repeat(1 << 20);
    let (_, server) = log_of([
        row(TEN, "a\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7}b\u{202e}c"),
        row(TEN, "Traceback:\r\n  line 1\n    boom\n"),
        value!({"timestamp": TEN, "level": "W\u{1b}[2JARN", "message": huge}),
        value!({"event": "no message"}),
    ])
    .await;
    let folder = configured(&[("p", server.url.as_str())]);
    let text = runtail(folder.path(), "logs bot -o text").await;
    let lines: Vec<&str> = text.out.lines().collect();
    assert_eq!(
        lines[..4],
        [
            "2026-11-21T10:00:00.000Z INFO     ared b<U+202E>c",
            "2026-11-21T10:00:00.000Z INFO     Traceback:",
            "                                    line 1",
            "                                      boom",
        ]
    );
    assert_eq!(
        lines[4],
        format!("2026-11-21T10:00:00.000Z WARN     {huge}")
    );
    assert_eq!(
        lines[5],
        "                         {\"event\":\"no message\"}"
    );
    assert!(!text.out.contains('\x1b'));
    let rows = runtail(folder.path(), "logs bot").await.rows();
    assert_eq!(
        (rows[2]["message"].as_str(), &rows[3]["event"]),
        (Some(huge.as_str()), &value!("no message"))
    );
}

#[tokio::test]
async fn logs_options_limit_what_is_requested() {
    let levels = ["DEBUG", "INFO", "WARNING", "ERROR"];
    let line = |n: i64| value!({"timestamp": TEN + n * 1000, "level": levels[n as usize % 4], "message": n.to_string()});
    let (_, server) = log_of((0..250).map(line)).await;
    let folder = configured(&[("p", server.url.as_str())]);
    let numbers = |from: usize, by: usize| {
        (from..250)
            .step_by(by)
            .map(|n| n.to_string())
            .collect::<Vec<_>>()
    };
    let messages =
        async |args: &str| messages(&runtail(folder.path(), format!("logs bot {args}")).await);
    assert_eq!(
        messages("").await,
        numbers(150, 1),
        "the default is a hundred lines"
    );
    assert_eq!(
        messages("--tail all").await,
        numbers(0, 1),
        "three pages without a cursor"
    );
    assert_eq!(messages("--tail 3").await, numbers(247, 1));
    assert_eq!(
        messages("--since 2026-11-21T10:02:00Z").await,
        numbers(120, 1),
        "all lines since then"
    );
    assert_eq!(
        messages("--level error").await,
        numbers(3, 4),
        "although the server has no filter"
    );
    let ended = runtail(folder.path(), "logs bot --tail 0").await;
    assert_eq!(
        (ended.code, ended.out.as_str(), ended.err.as_str()),
        (0, "", "runtail: no matching lines\n")
    );
    let asked = async |args: &str| {
        let ended = runtail(folder.path(), format!("logs bot {args}")).await;
        ended.expect(0);
        server.seen().last().unwrap().json()
    };
    let body = asked("--level warn --query 'a b' --tail 5").await;
    assert_eq!(
        body,
        value!({"order": "desc", "limit": 100, "level": "WARNING", "query": "a b"})
    );
    let since: Timestamp = asked("--since 1h").await["start_time"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let ago = Timestamp::now().duration_since(since);
    assert!(
        ago >= SignedDuration::from_hours(1) && ago < SignedDuration::from_mins(65),
        "{ago}"
    );
}

#[tokio::test]
async fn logs_usage_errors() {
    let folder = configured(&[("p", "http://127.0.0.1:9")]);
    for (args, says) in [
        (
            &["a", "b", "--revision", "r"][..],
            "--revision needs exactly one deployment",
        ),
        (&["a", "--follow", "-o", "json"], "use -o jsonl"),
        (
            &["a", "--level", "loud"],
            "debug, info, warning, error or critical",
        ),
        (&["a", "--since", "soon"], "2026-11-21T10:00:00Z"),
        (&["a", "--tail", "some"], "a number or `all`"),
        (&["a", "--interval", "1ms"], "at least 100ms"),
        (&[], "<D>"),
    ] {
        let ended = runtail(folder.path(), &[&["logs"], args].concat()).await;
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{args:?}");
        ended.says(says);
    }
}

#[tokio::test]
async fn an_unreadable_log_does_not_stop_the_others() {
    let (_, good) = log_of([row(TEN, "here")]).await;
    let resource = || json(200, value!({"resources": [{"id": "d-9", "name": "gone"}]}));
    let vanished = Server::start(move |seen| match seen.path.as_str() {
        "/api-host/v2/deployments" => resource(),
        path if path.contains("/v1/") => json(404, r#"{"detail":"Deployment ID d-9 not found."}"#),
        _ => json(404, r#"{"detail":"Not Found"}"#),
    })
    .await;
    let refused = Server::start(move |seen| match seen.path.as_str() {
        "/api-host/v2/deployments" => resource(),
        _ => json(403, r#"{"detail":"no"}"#),
    })
    .await;
    let folder = configured(&[
        ("good", good.url.as_str()),
        ("vanished", vanished.url.as_str()),
        ("refused", refused.url.as_str()),
    ]);
    let ended = runtail(folder.path(), "logs vanished/gone good/bot").await;
    assert_eq!(
        (ended.code, messages(&ended)),
        (1, vec!["here".to_string()])
    );
    assert!(
        ended.err.starts_with("runtail: vanished/gone: vanished: "),
        "{}",
        ended.err
    );
    ended.says("404: Deployment ID d-9 not found.");
    let ended = runtail(folder.path(), "logs good/bot refused/gone").await;
    assert_eq!((ended.code, ended.rows().len()), (3, 1));
    let ended = runtail(folder.path(), "logs good/bot good/none").await;
    assert_eq!((ended.code, ended.rows().len()), (1, 1));
    ended.says("there is no deployment \"good/none\"");
    let ended = runtail(folder.path(), "logs vanished/gone -o json").await;
    assert_eq!((ended.code, ended.out.as_str()), (1, ""));
    // With --follow: the unreadable log ends, the others continue.
    let args = [&["logs", "vanished/gone", "good/bot"], &FOLLOW[..]].concat();
    let mut running = Running::start(folder.path(), &args);
    assert_eq!(running.message().await, "here");
    let (code, rest, err) = running.interrupt().await;
    assert!(
        code == 130 && rest.is_empty() && err.contains("Deployment ID d-9 not found."),
        "{code} {rest:?} {err}"
    );
    // Nothing is left to follow.
    for (name, expected) in [("vanished/gone", 1), ("refused/gone", 3)] {
        runtail(folder.path(), &[&["logs", name], &FOLLOW[..]].concat())
            .await
            .expect(expected);
    }
}

async fn simulated(logs: Logs, speed: f64) -> (Sim, tempfile::TempDir) {
    let scenario = Scenario::Fleet { deployments: 3 };
    let sim = Sim::start(Options {
        scenario,
        speed,
        logs,
        ..Options::default()
    })
    .await
    .unwrap();
    let folder = configured(&[("sim", &sim.regions()[0].url)]);
    (sim, folder)
}

/// The position of a line in the simulator's log, in milliseconds.
fn position(line: &str) -> i64 {
    let row: Value = serde_json::from_str(line).unwrap();
    row["timestamp"].as_i64().unwrap()
}

/// Checks that lines are neither missing nor repeated. The simulator writes one every four seconds of its time: a larger distance
/// means a missing line, and the same position twice means a repeated one.
#[track_caller]
fn assert_each_once(positions: &[i64], speed: f64) {
    let pace = (4000.0 / speed) as i64;
    let gaps: Vec<i64> = positions.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(
        gaps.iter().all(|gap| (pace - 1..=pace + 1).contains(gap)),
        "{gaps:?}"
    );
}

#[tokio::test]
async fn failed_log_polls_are_reported_once_and_lose_no_line() {
    let (sim, folder) = simulated(Logs::default(), 40.0).await;
    let mut running = Running::start(
        folder.path(),
        &[&["logs", "amber-agent-0000", "--tail", "5"], &FOLLOW[..]].concat(),
    );
    let mut positions = vec![position(&running.line().await)];
    let polls = || Rule::on("POST", "deploy_logs");
    for trouble in [
        polls().times(3).status(503),
        polls().times(1).status(429).header("retry-after", "1"),
        polls().times(2).cut_after_bytes(10),
    ] {
        sim.rule(trouble);
        sim.forget_requests();
        // The lines of polls after the errors.
        while sim.requests().len() < 6 {
            positions.push(position(&running.line().await));
        }
    }
    sim.clear_rules();
    sim.rule(polls().status(401));
    let (code, rest, err) = running.end().await;
    positions.extend(rest.iter().map(|line| position(line)));
    assert_each_once(&positions, 40.0);
    let told: Vec<&str> = err.lines().collect();
    assert_eq!(code, 3, "{err}");
    let again = "reading the log again";
    let expected = [
        "Service Unavailable (503); retrying",
        again,
        "Too Many Requests (429); retrying",
        again,
        "(no connection); retrying",
        again,
        "401: Invalid token",
    ];
    for (line, expected) in told.iter().zip(expected) {
        assert!(
            line.starts_with("runtail: sim/amber-agent-0000: ") && line.ends_with(expected),
            "{err}"
        );
    }
}

#[tokio::test]
async fn logs_of_an_unreachable_server_fail() {
    let folder = configured(&[("p", "http://127.0.0.1:9")]);
    for more in [&[][..], &FOLLOW[..]] {
        let ended = runtail(folder.path(), &[&["logs", "bot"], more].concat()).await;
        assert_eq!((ended.code, ended.out.as_str()), (5, ""), "{}", ended.err);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_closed_pipe_ends_logs_follow_quietly() {
    let (_, server) = log_of([row(TEN, "only")]).await;
    let folder = configured(&[("p", server.url.as_str())]);
    let mut running = Running::start(folder.path(), &[&["logs", "bot"], &FOLLOW[..]].concat());
    assert_eq!(running.message().await, "only");
    let Running { mut child, lines } = running;
    drop(lines);
    let status = tokio::time::timeout(TIMEOUT, child.wait())
        .await
        .expect("an end")
        .unwrap();
    let mut err = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut err)
        .await
        .unwrap();
    assert_eq!((status.code(), err.as_str()), (Some(0), ""));
}
