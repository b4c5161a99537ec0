//! The dashboard under load, as its user sees it: in a pseudo-terminal of 140x40, with a stream that arrives at a steady pace or
//! as fast as it is read. `cargo bench --bench dashboard`, or with the names of measurements: `paced`, `whole`, `memory`, `big`.
//! `brief` only shows that the bench still finds what it waits for on the screens: its numbers mean nothing.
//!
//! The time of a key is from writing it to the bytes that complete the expected screen. The time of a frame is logged by the
//! program (layout, drawing, writing). The emulator that reads the screen shares the cores.

mod support;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::bodies::Body;
use support::server::{RUN, Stream, THREAD, serve};
use support::terminal::Terminal;
use support::{ms, quantile};

/// The views with their keys. The last one shows how many events were received.
const VIEWS: [(usize, &str); 7] = [
    (1, "Messages"),
    (2, "Steps"),
    (3, "State"),
    (4, "Timeline"),
    (5, "Graph"),
    (7, "Runs"),
    (6, "Events"),
];

fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
    let is_brief = wanted.iter().any(|wanted| wanted == "brief");
    println!("| stream | events | key p50 | p99 | max | frame p50 | p99 | max | resident MiB |");
    println!("|---|---|---|---|---|---|---|---|---|");
    if is_brief {
        under_load(
            "Tokens, few",
            Stream {
                body: Body::Tokens,
                events: 20_000,
                pace: Some(50_000),
            },
        );
        under_load(
            "States, one of 1 MB",
            Stream {
                body: Body::States(1_000_000),
                events: 1,
                pace: None,
            },
        );
    }
    if wants("paced") {
        for body in [Body::Tokens, Body::Custom] {
            let stream = Stream {
                body,
                events: 1_000_000,
                pace: Some(50_000),
            };
            under_load(&format!("{body:?}, 50,000 per second"), stream);
        }
    }
    if wants("memory") {
        let stream = Stream {
            body: Body::Tokens,
            events: 1_000_000,
            pace: None,
        };
        under_load("Tokens, as fast as they are read", stream);
        let stream = Stream {
            body: Body::Tokens,
            events: 2_000_000,
            pace: None,
        };
        under_load("Tokens, twice as many", stream);
    }
    if wants("big") {
        for (name, size, events) in [
            ("one of 50 MB", 50_000_000, 1),
            ("ten of 5 MB", 5_000_000, 10),
        ] {
            under_load(
                &format!("States, {name}"),
                Stream {
                    body: Body::States(size),
                    events,
                    pace: None,
                },
            );
        }
    }
    if wants("whole") {
        println!("\n| stream | headless, s | on the screen, s | ratio |\n|---|---|---|---|");
        whole_stream(
            "Tokens, 200 MB",
            Stream {
                body: Body::Tokens,
                events: 181_597,
                pace: None,
            },
        );
        whole_stream(
            "Custom, 50 MB",
            Stream {
                body: Body::Custom,
                events: 863_985,
                pace: None,
            },
        );
        whole_stream(
            "States, one of 50 MB",
            Stream {
                body: Body::States(50_000_000),
                events: 1,
                pace: None,
            },
        );
        whole_stream(
            "States, ten of 5 MB",
            Stream {
                body: Body::States(5_000_000),
                events: 10,
                pace: None,
            },
        );
    }
}

/// A number as the screen shows it.
fn count(number: u64) -> String {
    let digits = number.to_string();
    let parts: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|part| std::str::from_utf8(part).unwrap())
        .collect();
    parts.join(",")
}

/// Opens the stream in a dashboard. Returns it, its log file, and the time at which the stream was requested.
fn open(url: &str, name: &str) -> (Terminal, std::path::PathBuf, Instant) {
    let log = std::env::temp_dir().join(format!("runtail-bench-{}-{name}.log", std::process::id()));
    let mut terminal = Terminal::start(&["--url", url, "--log", &log.to_string_lossy()]);
    terminal.until("a connected server", |screen| {
        screen.contents().contains("No threads yet")
    });
    terminal.keys(":");
    terminal.until("the command line", |screen| {
        screen.contents().contains(" :")
    });
    terminal.keys(&format!("{url}/threads/{THREAD}/runs/{RUN}"));
    terminal.until("the address", |screen| {
        screen.contents().contains(&RUN[..30])
    });
    terminal.rest(Duration::from_millis(50));
    let began = Instant::now();
    terminal.keys("\r");
    (terminal, log, began)
}

/// Whether this view's tab is selected.
fn shows(screen: &vt100::Screen, (key, title): (usize, &str)) -> bool {
    let tab = format!("{key} {title}");
    let (rows, cols) = screen.size();
    (0..6.min(rows)).any(|row| {
        let line: String = screen.rows(0, cols).nth(row.into()).unwrap_or_default();
        line.find(&tab).is_some_and(|at| {
            let column = line[..at].chars().count() as u16 + 2;
            screen.cell(row, column).is_some_and(vt100::Cell::bold)
        })
    })
}

fn under_load(title: &str, stream: Stream) {
    let url = serve(stream);
    let (mut terminal, log, _) = open(&url, "load");
    terminal.until("the stream", |screen| {
        screen.contents().contains("6 Events")
    });
    let mut times = Vec::new();
    let total = format!("{} event", count(stream.events));
    let is_over = |screen: &vt100::Screen| screen.contents().contains(&total);
    let mut turn = 0;
    while !is_over(terminal.screen()) || turn < VIEWS.len() {
        let mut press = |terminal: &mut Terminal,
                         keys: &str,
                         what: &str,
                         holds: &dyn Fn(&vt100::Screen) -> bool| {
            let pressed = Instant::now();
            terminal.keys(keys);
            times.push(
                terminal
                    .until(what, holds)
                    .saturating_duration_since(pressed),
            );
            terminal.rest(Duration::from_millis(10 + fastrand::u64(0..25)));
        };
        let view = VIEWS[turn % VIEWS.len()];
        press(&mut terminal, &view.0.to_string(), "the view", &|screen| {
            shows(screen, view)
        });
        let has =
            |text: &'static str| move |screen: &vt100::Screen| screen.contents().contains(text);
        if view.1 == "Events" {
            // The hint of the key that follows the stream again, after `paused` or the number of new events.
            press(&mut terminal, "g", "a pause", &has(" · G  "));
            press(&mut terminal, "G", "following", &|screen| {
                !has(" · G  ")(screen)
            });
        }
        press(&mut terminal, "?", "help", &has("╭ Help"));
        press(&mut terminal, "\x1b", "no help", &|screen| {
            !has("╭ Help")(screen)
        });
        turn += 1;
    }
    terminal.keys("6");
    terminal.until("every event in the events", is_over);
    let resident = terminal.status("VmHWM") / 1024;
    terminal.quit();
    let [p50, p99, longest] = frames(&log);
    println!(
        "| {title} | {} | {} | {} | {} | {p50} | {p99} | {longest} | {resident} |",
        count(stream.events),
        ms(quantile(&mut times, 0.5)),
        ms(quantile(&mut times, 0.99)),
        ms(quantile(&mut times, 1.0)),
    );
}

/// Frame times in the log: median, 99th percentile and maximum, in milliseconds.
fn frames(log: &std::path::Path) -> [String; 3] {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let _ = std::fs::remove_file(log);
    let line = text
        .lines()
        .rev()
        .find(|line| line.contains("frames drawn"))
        .unwrap_or_default()
        .to_string();
    let micros = |name: &str| {
        let value = line
            .split_once(&format!("{name}="))
            .map(|(_, rest)| rest.split(' ').next().unwrap_or_default());
        value
            .and_then(|value| value.parse().ok())
            .map_or("?".into(), |micros| ms(Duration::from_micros(micros)))
    };
    [micros("p50"), micros("p99"), micros("longest")]
}

fn whole_stream(title: &str, stream: Stream) {
    let url = serve(stream);
    let mut headless = Vec::new();
    let mut shown = Vec::new();
    for _ in 0..5 {
        let began = Instant::now();
        let status = Command::new(env!("CARGO_BIN_EXE_runtail"))
            .args(["--url", &url, "join", THREAD, RUN, "-o", "jsonl"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert!(status.is_ok_and(|status| status.success()), "join succeeds");
        headless.push(began.elapsed());
        let (mut terminal, log, began) = open(&url, "complete");
        let at = terminal.until("the complete stream", |screen| {
            screen.contents().contains("■ stream ended")
        });
        terminal.keys("6");
        let total = format!("{} event", count(stream.events));
        terminal.until("every event in the events", |screen| {
            screen.contents().contains(&total)
        });
        shown.push(at - began);
        terminal.quit();
        let _ = std::fs::remove_file(log);
    }
    let (headless, shown) = (
        quantile(&mut headless, 0.5).as_secs_f64(),
        quantile(&mut shown, 0.5).as_secs_f64(),
    );
    println!(
        "| {title} | {headless:.2} | {shown:.2} | {:.2} |",
        shown / headless
    );
}
