//! Server text never reaches a terminal as anything but text: every screen of the dashboard with hostile text in every field of
//! every response, and the binary in a pseudo-terminal with a set of escape sequences.
#[path = "../../fuzz/entries/hostile.rs"]
#[allow(dead_code)]
mod hostile_inputs;

use hostile_inputs::{HOSTILE, World, is_dangerous};
use runtail_testkit::common::{Seen, Server, json, response};
use runtail_testkit::process;
use runtail_testkit::term::Term;
use serde_json::{Value, json as value};
use std::time::Duration;

/// Keys that lead from the deployments list to a screen.
const PLACES: [&str; 7] = ["", "<Tab>", "l", "b", "<Enter>", "<Enter>2", "<Enter>v"];

/// Palette commands that open a list or a page.
const COMMANDS: [&str; 10] = [
    "profiles",
    "doctor",
    "integrations",
    "listeners",
    "providers",
    "tokens x",
    "journal",
    "messages",
    "keys",
    "authenticate x",
];

/// Keys that do something on some screen. Enter and Esc are pressed between them.
const KEYS: &str = "?:!cdlbewmaunDsS/&123456789|}{[]()'\"vwTYzRMoLHfx=-+ i";

/// Presses every key on every screen, each time with different text in the fields of the responses.
#[test]
fn no_screen_shows_control_characters() {
    let mut marked = 0;
    for (n, place) in PLACES.iter().enumerate() {
        let mut world = World::new((130, 36));
        for (m, key) in KEYS.chars().enumerate() {
            let text = HOSTILE[(n + m) % HOSTILE.len()];
            // A new dashboard now and then, in case a key closed it.
            if m % 6 == 0 || world.dash.has_ended() {
                world = World::new((130, 36));
                world.keys(place);
                world.answer_all(text, m % 4 > 0);
            }
            world.keys(&key.to_string());
            world.answer_all(text, true);
            marked += usize::from(world.look());
            world.keys("<Enter>");
            world.answer_all(text, m % 3 > 0);
            marked += usize::from(world.look());
            world.keys("<Esc>");
        }
    }
    assert!(
        marked > 50,
        "too few screens showed marked characters: {marked}"
    );
}

#[test]
fn no_page_or_list_shows_control_characters() {
    for (n, command) in COMMANDS.iter().enumerate() {
        for text in [HOSTILE[n % HOSTILE.len()], HOSTILE[6]] {
            let mut world = World::new((130, 36));
            world.keys(&format!(":{command}<Enter>"));
            for keys in ["", "<Enter>", "c<Down>d", "<Esc>!", "<Enter>c"] {
                world.keys(keys);
                world.answer_all(text, true);
                world.look();
            }
            world.answer_all(text, false);
            world.look();
        }
    }
}

/// Shows each view of a stream of such events, with details and filter, and checks its exports.
#[test]
fn no_view_or_export_contains_control_characters() {
    for text in HOSTILE {
        let mut world = World::new((130, 36));
        world.keys("<Enter>");
        world.answer_all("plain", true);
        world.keys("<Enter>");
        world.answer_all(text, true);
        for view in 1..=8 {
            for keys in [
                view.to_string().as_str(),
                "<Home>",
                "<Enter>",
                "cY<Esc>",
                "<End>",
                "w",
                "v",
                "d",
            ] {
                world.keys(keys);
                world.answer_once(text, true);
                world.look();
            }
            for format in ["text", "jsonl", "md"] {
                world.keys(&format!(":export {format} x<Enter>"));
                // Exports are written in parts and checked part by part.
                for _ in 0..3 {
                    world.answer_once(text, true);
                }
            }
            world.look();
        }
    }
}

/// Shows each view of events of 100,000 levels, folded and unfolded, from both ends, with details.
#[test]
fn deeply_nested_json_is_shown_in_every_view() {
    const LEVELS: usize = 100_000;
    let lists = "[".repeat(LEVELS) + &"]".repeat(LEVELS);
    let objects = r#"{"a":"#.repeat(LEVELS) + "1" + &"}".repeat(LEVELS);
    let token = r#"[{"type":"ai","id":"m","content":LISTS,"tool_calls":[{"id":"1","name":"n","args":OBJECTS}]},{"x":LISTS}]"#;
    let mut stream = String::from("event: metadata\ndata: {\"run_id\":\"r\",\"attempt\":1}\n\n");
    for (name, data) in [
        (
            "values",
            r#"{"messages":[{"type":"human","content":OBJECTS}],"x":LISTS}"#,
        ),
        (
            "updates",
            r#"{"node":{"x":OBJECTS},"__interrupt__":[{"id":"i","value":LISTS}]}"#,
        ),
        ("messages", token),
        (
            "tasks",
            r#"{"id":"1","name":"n","input":LISTS,"triggers":OBJECTS}"#,
        ),
        (
            "tasks",
            r#"{"id":"1","name":"n","result":OBJECTS,"interrupts":[{"value":LISTS}]}"#,
        ),
        (
            "checkpoints",
            r#"{"config":OBJECTS,"values":LISTS,"tasks":LISTS}"#,
        ),
        (
            "events",
            r#"{"event":"on_tool_start","data":OBJECTS,"tags":LISTS}"#,
        ),
        ("custom", "OBJECTS"),
        ("error", "LISTS"),
        ("values", r#"{"messages":LISTS,"x":[OBJECTS]}"#),
    ] {
        let data = data.replace("LISTS", &lists).replace("OBJECTS", &objects);
        stream += &format!("event: {name}\ndata: {data}\n\n");
    }
    let mut world = World::new((130, 36));
    world.open_thread();
    world.dash.receive(stream.into_bytes());
    for view in "12345678".chars() {
        for keys in [&view.to_string()[..], "<Home><Enter>", "+<End>", "-d"] {
            world.keys(keys);
            world.answer_once("plain", true);
            world.look();
        }
        while world.dash.dialog().is_some() {
            world.keys("<Esc>");
        }
    }
}

/// All harmful sequences together.
fn bomb() -> String {
    HOSTILE.join(" ~ ")
}

/// The same on one line, for event names.
fn bomb_line() -> String {
    bomb().replace(['\n', '\r'], "")
}

fn stream() -> String {
    let bomb = bomb();
    let mut out = String::new();
    for (name, data) in [
        ("metadata", value!({"run_id": bomb, "attempt": 1})),
        (
            "values",
            value!({"messages": [{"type": "human", "content": bomb}, {"type": "ai", "id": "1", "content": bomb, "name": bomb}], bomb.as_str(): bomb}),
        ),
        ("updates", value!({bomb.as_str(): {bomb.as_str(): [bomb]}})),
        (
            "messages/partial",
            value!([{"type": "ai", "id": "2", "content": bomb, "tool_calls": [{"id": bomb, "name": bomb, "args": {bomb.as_str(): bomb}}]}]),
        ),
        ("custom", value!(bomb)),
        ("error", value!({"error": bomb, "message": bomb})),
    ] {
        // Written unescaped wherever JSON allows it.
        let data = data.to_string().replace("\\u007f", "\u{7f}");
        out.push_str(&format!(
            "event: {name}|{}\ndata: {data}\nid: {}\n\n",
            bomb_line(),
            bomb_line()
        ));
        out.push_str(&format!("event: {name}\ndata: {data}\n\n"));
    }
    out.push_str(&format!(
        "event: {}\ndata: {}\n\n: {}\n\n",
        bomb_line(),
        bomb_line(),
        bomb_line()
    ));
    out
}

/// Starts a control plane and an agent server that send nothing else.
fn act(seen: &Seen, url: &str) -> axum::response::Response {
    let bomb = bomb();
    let id = "11111111-1111-4111-8111-111111111111";
    let row = value!({
        "id": id, "thread_id": id, "run_id": id, "assistant_id": id, "graph_id": bomb, "name": bomb, "status": bomb,
        "source": bomb, "url": format!("{url}agent"), "latest_revision_id": id, "created_at": "2026-11-21T10:00:00Z",
        "updated_at": bomb, "status_message": bomb, "metadata": {"graph_id": bomb, bomb.as_str(): bomb},
        "values": {"messages": [{"type": "human", "content": bomb}]}, "version": bomb, "message": bomb, "level": bomb,
        "timestamp": "2026-11-21T10:00:00Z", "source_config": {"repo_url": bomb}, "error": bomb,
        "source_revision_config": {"repo_ref": bomb, "repo_commit_sha": bomb},
    });
    match seen.path.as_str() {
        path if path.ends_with("/stream") => response(200, "text/event-stream", stream()),
        path if path.ends_with("/graph") => json(
            200,
            value!({"nodes": [{"id": bomb}], "edges": [{"source": bomb, "target": bomb}]}),
        ),
        path if path.ends_with("/search") || path.ends_with("/runs") => json(200, value!([row])),
        path if path.ends_with("_logs") => json(200, value!({"logs": [row, bomb], "items": [row]})),
        path if path.ends_with("/deployments") || path.ends_with("/revisions") => {
            json(200, value!({"resources": [row]}))
        }
        path if path.ends_with("/info") => {
            json(200, value!({"version": bomb, "langgraph_py_version": bomb}))
        }
        path if path.ends_with("/state") => {
            json(200, value!({"values": row, "next": [bomb], "tasks": []}))
        }
        path if path.contains("/deployments/")
            || path.contains("/threads/")
            || path.contains("/assistants/") =>
        {
            json(200, row)
        }
        _ => json(500, value!({"detail": bomb})),
    }
}

struct Bomb {
    _runtime: tokio::runtime::Runtime,
    url: String,
    folder: tempfile::TempDir,
}

impl Bomb {
    fn new() -> Bomb {
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let url = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
        let own = url.clone();
        let server = runtime.block_on(Server::start(move |seen| act(seen, &own.lock().unwrap())));
        *url.lock().unwrap() = server.url.to_string();
        let folder = tempfile::tempdir().unwrap();
        let config = format!(
            "[ui]\nnotify = \"osc9\"\n[profiles.p]\ncontrol_plane = \"{}api-host\"\n",
            server.url
        );
        std::fs::write(folder.path().join("config.toml"), config).unwrap();
        Bomb {
            _runtime: runtime,
            url: server.url.to_string(),
            folder,
        }
    }

    fn config(&self) -> String {
        self.folder
            .path()
            .join("config.toml")
            .to_string_lossy()
            .into_owned()
    }
}

/// Returns the terminal output that Runtail itself does not send: everything but its cursor, color and mode sequences, its query of
/// the background, and text.
fn foreign(raw: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(raw).replace("\u{1b}]11;?\u{1b}\\", "");
    let mut found = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '\u{1b}' {
            if is_dangerous(c) && !matches!(c, '\n' | '\r' | '\u{7}') {
                found.push(format!("{c:?}"));
            }
            continue;
        }
        match rest.next() {
            Some('[') => {
                let parameters: String =
                    std::iter::from_fn(|| rest.next_if(|c| !('@'..='~').contains(c))).collect();
                let end = rest.next().unwrap_or_default();
                let modes = [
                    "?25", "?1000", "?1002", "?1003", "?1004", "?1006", "?1015", "?1049", "?2004",
                    "?2026",
                ];
                let known = match end {
                    'h' | 'l' => modes.contains(&parameters.as_str()),
                    'm' | 'H' | 'J' | 'K' | 'A' | 'B' | 'C' | 'D' | 'G' => {
                        parameters.chars().all(|c| c.is_ascii_digit() || c == ';')
                    }
                    _ => false,
                };
                if !known {
                    found.push(format!("CSI {parameters}{end}"));
                }
            }
            other => found.push(format!("ESC {other:?}")),
        }
    }
    found
}

#[test]
fn escape_sequences_do_not_change_screen_title_or_clipboard() {
    let bomb = Bomb::new();
    let script = r#"printf 'before\n'; "$@"; printf 'after %s\n' $?; read -r line"#;
    for args in [vec!["--config", &bomb.config()], vec!["--url", &bomb.url]] {
        let term = Term::spawn_under(script, &args, 130, 40);
        let first = if args[0] == "--url" {
            "THREAD"
        } else {
            "Deployments"
        };
        term.wait_for(first);
        for keys in [
            "\t", "d", "\x1b", "e", "\x1b", "l", "\x1b", "\r", "2", "1", "\r", "8", "1", "2", "3",
            "4", "5", "6", "7", "g\r",
        ] {
            term.keys(keys);
            // Each key is drawn before the next one. A lone Esc is a key too.
            term.wait_for_quiet(Duration::from_millis(150));
        }
        term.keys("\x1b");
        term.wait_for_quiet(Duration::from_millis(150));
        let file = bomb
            .folder
            .path()
            .join(format!("raw-{}.txt", first.to_lowercase()));
        term.keys(&format!(":export text {}\r", file.display()));
        term.wait_for_quiet(Duration::from_millis(300));
        term.keys("!");
        term.wait_for_quiet(Duration::from_millis(150));
        term.keys("\x03");
        term.wait_for("after 0");
        assert!(term.screen().contains("before"), "{}", term.screen());
        assert!(
            term.unrestored_modes().is_empty(),
            "{:?}",
            term.unrestored_modes()
        );
        let raw = term.raw_output();
        assert!(
            String::from_utf8_lossy(&raw).contains("<U+202E>"),
            "the hostile text was not shown"
        );
        assert_eq!(
            foreign(&raw),
            [""; 0],
            "no titles, clipboard writes or modes except our own"
        );
        if let Ok(written) = std::fs::read_to_string(&file) {
            assert!(
                !written.replace('\n', "").contains(is_dangerous),
                "{written:?}"
            );
        }
        term.keys("\r");
    }
}

#[test]
fn commands_print_no_escape_sequences_of_servers() {
    let bomb = Bomb::new();
    let config = bomb.config();
    let id = "11111111-1111-4111-8111-111111111111";
    let mut lines: Vec<Vec<&str>> = Vec::new();
    for format in ["table", "json", "jsonl"] {
        for what in [
            ["deployments", "list"],
            ["deployments", "get"],
            ["revisions", "list"],
            ["threads", "list"],
            ["assistants", "list"],
        ] {
            let mut line = if what[0] == "deployments" || what[0] == "revisions" {
                vec!["--config", &config]
            } else {
                vec!["--url", &bomb.url]
            };
            line.extend(what);
            if what[1] == "get" || what[0] == "revisions" {
                line.push(id);
            }
            line.extend(["-o", format]);
            lines.push(line);
        }
    }
    for format in ["text", "jsonl", "raw"] {
        lines.push(vec![
            "--url",
            &bomb.url,
            "run",
            "a",
            "--input",
            "{}",
            "--stateless",
            "-o",
            format,
        ]);
        lines.push(vec!["--url", &bomb.url, "join", id, id, "-o", format]);
    }
    for format in ["text", "json", "jsonl"] {
        lines.push(vec!["--config", &config, "logs", id, "-o", format]);
    }
    lines.push(vec!["--config", &config, "doctor"]);
    // File names may contain such sequences, too.
    let folder = tempfile::tempdir().expect("a folder");
    let odd = folder
        .path()
        .join("a\u{1b}]0;owned\u{7}\u{202e}\u{9b}2J.jsonl");
    std::fs::write(&odd, "{\"kind\":\"event\"}\nno record\n").expect("written");
    let (odd, missing) = (
        odd.to_str().expect("text"),
        format!("{}.not", odd.display()),
    );
    for file in [odd, &missing] {
        lines.extend([
            vec!["verify", file],
            vec!["replay", file, "-o", "text"],
            vec!["redact", file, "--path", "a"],
        ]);
        lines.extend([
            vec!["--config", file, "config", "show"],
            vec!["--config", file, "config", "path"],
        ]);
    }
    for line in lines {
        let mut term = Term::spawn(&line, 130, 40);
        let _ = term.exit_status();
        let raw = term.raw_output();
        assert_eq!(
            foreign(&raw),
            [""; 0],
            "{line:?}\n{}",
            String::from_utf8_lossy(&raw)
        );
        // The same in a pipe. Only `-o raw`, which is exact, and `config path`, whose output a shell opens, print them unchanged.
        if !line.contains(&"raw") && !line.ends_with(&["path"]) {
            let done = process::run(&line);
            let printed = format!("{}{}", done.stdout, done.stderr);
            assert!(
                !printed.replace('\n', "").contains(is_dangerous),
                "{line:?} {printed:?}"
            );
        }
    }
    let _: Value = process::run(["--config", &config, "deployments", "list", "-o", "json"])
        .expect(0)
        .json();
}
