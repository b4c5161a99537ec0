//! The dashboard in a real terminal: startup, and that every exit restores the terminal.

use runtail_testkit::process;
use runtail_testkit::term::Term;
use runtail_testkit::tmux::Tmux;
use runtail_tui::input::key::{Code, Key};
use runtail_tui::input::keymap::BINDINGS;
use std::time::Duration;

/// Starts the dashboard with the simulator and waits for its first frame.
#[track_caller]
fn demo(cols: u16, rows: u16) -> Term {
    let term = Term::spawn(&["--demo"], cols, rows);
    term.wait_for("DEMO");
    term
}

#[track_caller]
fn assert_restored(term: &Term) {
    let left = term.unrestored_modes();
    let raw = term.raw_output();
    let end = String::from_utf8_lossy(&raw[raw.len().saturating_sub(200)..]).into_owned();
    assert!(
        left.is_empty(),
        "left behind: {left:?}; the last output: {end:?}"
    );
}

#[test]
fn selected_row_has_a_background_near_the_terminals_own() {
    use vt100::Color;
    for (env, color) in [
        (("COLORTERM", "truecolor"), Some(Color::Rgb(48, 48, 48))),
        (("COLORTERM", ""), Some(Color::Idx(236))),
        (("NO_COLOR", "1"), None),
    ] {
        let term = Term::spawn_with(&[env], &["--demo"], 140, 40);
        term.select_first_by_name("contract-review");
        let row = |term: &Term| {
            term.screen()
                .lines()
                .position(|line| line.contains("▌ contract-review"))
                .unwrap_or(0) as u16
        };
        term.wait_until("the background of the selected row", |term| {
            term.background(60, row(term)) == color
        });
        let row = row(&term);
        assert_eq!(term.background(60, row + 1), None);
        // The reply was not typed: no digit has opened a view, and `:` has not opened the palette.
        assert!(
            !term.screen().contains("rgb:") && !term.screen().contains("> "),
            "{}",
            term.screen()
        );
    }
}

#[test]
fn a_late_background_reply_is_not_typed_into_the_shell() {
    let script = r#""$@"; echo "ended"; read -r line; echo "typed <$line>"; read -r line"#;
    for is_in_pieces in [false, true] {
        let term = Term::spawn_slow_under(script, &["--demo"], 100, 30);
        term.wait_for("support-bot");
        term.keys(if is_in_pieces {
            "\x1b]11;rgb:1c\x03"
        } else {
            "q"
        });
        term.wait_until("a query of the attributes", |term| {
            String::from_utf8_lossy(&term.raw_output()).contains("\x1b[c")
        });
        match is_in_pieces {
            true => term.keys("1c/1c1c/1c1c\x1b\\\x1b[?62;22c"),
            false => term.reply(),
        }
        term.wait_for("ended");
        term.keys("x\r");
        term.wait_for("typed <x>");
        assert_restored(&term);
    }
}

#[test]
fn a_late_background_reply_is_not_typed_after_a_termination_signal() {
    let script = r#"exec 3<&0; "$@" <&3 & echo "pid <$!>"; wait $!; echo "ended"; read -r line; echo "typed <$line>"; read -r line"#;
    let term = Term::spawn_slow_under(script, &["--demo"], 100, 30);
    term.wait_for("support-bot");
    let output = String::from_utf8_lossy(&term.raw_output()).into_owned();
    let pid = output
        .split_once("pid <")
        .and_then(|(_, rest)| rest.split_once('>')?.0.parse().ok())
        .unwrap();
    // SAFETY: kill has no memory effects; the process is the dashboard that the shell has not waited for yet.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGTERM) }, 0);
    term.wait_until("a query of the attributes", |term| {
        String::from_utf8_lossy(&term.raw_output()).contains("\x1b[c")
    });
    term.reply();
    term.wait_for("ended");
    term.keys("x\r");
    term.wait_for("typed <x>");
    assert_restored(&term);
}

#[test]
fn first_frame_is_drawn_before_key_commands_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.toml");
    // The dashboard and the key command write to the same terminal, which shows their order.
    let text = r#"
        [profiles.slow]
        url = "http://127.0.0.1:9"
        api_key_command = ["sh", "-c", "printf 'key requested' > /dev/tty; echo key"]
    "#;
    std::fs::write(&file, text).unwrap();
    let term = Term::spawn(&["--config", &file.to_string_lossy()], 140, 40);
    let at = |text: &str| String::from_utf8_lossy(&term.raw_output()).find(text);
    term.wait_until("the key command", |_| at("key requested").is_some());
    assert!(at("Loading…") < at("key requested"), "{}", term.screen());
    assert!(at("Loading…").is_some(), "{}", term.screen());
}

#[test]
fn q_quits_and_restores_the_terminal() {
    for (cols, rows) in [(140, 40), (80, 24)] {
        let mut term = demo(cols, rows);
        term.keys("q");
        let status = term.exit_status();
        assert_eq!(status.exit_code(), 0, "{status:?}: {}", term.screen());
        assert_restored(&term);
    }
}

#[test]
fn termination_signals_restore_the_terminal() {
    for (name, signal, code) in [
        ("INT", libc::SIGINT, 130),
        ("TERM", libc::SIGTERM, 143),
        ("HUP", libc::SIGHUP, 129),
        ("QUIT", libc::SIGQUIT, 131),
    ] {
        let mut term = demo(100, 30);
        term.signal(signal);
        let status = term.exit_status();
        // Either the signal itself (after cleaning up) or the shell's exit code for it is fine.
        let by_signal = status.signal().is_some();
        assert!(
            by_signal || status.exit_code() == code,
            "SIG{name}: {status:?}"
        );
        assert_restored(&term);
    }
}

/// Signals that only a fault, an abort or a limit sends.
#[test]
fn fatal_signals_restore_the_terminal() {
    let signals = [
        libc::SIGABRT,
        libc::SIGSEGV,
        libc::SIGBUS,
        libc::SIGFPE,
        libc::SIGILL,
        libc::SIGSYS,
        libc::SIGTRAP,
        libc::SIGUSR1,
        libc::SIGUSR2,
        libc::SIGALRM,
        libc::SIGVTALRM,
        libc::SIGPROF,
        libc::SIGXCPU,
        libc::SIGXFSZ,
    ];
    for signal in signals {
        let mut term = demo(100, 30);
        term.signal(signal);
        let status = term.exit_status();
        assert!(
            status.signal().is_some(),
            "{signal}: the process ends by the signal: {status:?}"
        );
        assert_restored(&term);
    }
}

#[test]
fn failed_allocation_restores_the_terminal() {
    let mut term = Term::spawn_with(&[("RUNTAIL_TEST_PANIC", "memory")], &["--demo"], 100, 30);
    term.wait_for("support-bot");
    term.keys("\x1b[24~");
    assert!(term.exit_status().signal().is_some());
    assert_restored(&term);
    assert!(
        String::from_utf8_lossy(&term.raw_output()).contains("memory allocation of 8 bytes failed")
    );
}

#[test]
fn a_terminal_without_utf8_gets_ascii_only() {
    let mut term = Term::spawn_with(&[("LC_ALL", "C")], &["--demo"], 140, 40);
    term.wait_for("invoice-agent");
    assert!(term.screen().is_ascii(), "{}", term.screen());
    term.keys("q");
    assert!(term.exit_status().success());
}

#[test]
fn closed_terminal_ends_the_dashboard() {
    let mut term = demo(100, 30);
    term.hang_up();
    let status = term.exit_status();
    assert!(
        status.signal().is_some() || status.exit_code() == 129,
        "{status:?}"
    );
}

#[test]
fn ctrl_z_restores_the_terminal_and_fg_redraws() {
    let term = Term::spawn_as_job(&["--demo"], 100, 30);
    term.wait_for("DEMO");
    term.keys("\x1a");
    term.wait_for("job stopped");
    assert_restored(&term);
    term.keys("\r");
    term.wait_for("DEMO");
    assert!(
        term.unrestored_modes().contains(&"the alternate screen"),
        "the dashboard is back"
    );
    assert!(
        !term.screen().contains("job stopped"),
        "the whole screen is redrawn:\n{}",
        term.screen()
    );
    term.keys("q");
    term.wait_for("job ended 0");
    assert_restored(&term);
}

/// `npx` is such a wrapper.
#[test]
fn ctrl_z_stops_a_wrapper_too() {
    let wrapper = r#"sh -c '"$0" "$@"; exit $?' "$@""#;
    let job =
        r#"echo "job stopped"; read -r line; fg >/dev/null; echo "job ended $?"; read -r line"#;
    let term = Term::spawn_under(&format!("set -m; {wrapper}; {job}"), &["--demo"], 100, 30);
    term.wait_for("DEMO");
    term.keys("\x1a");
    term.wait_for("job stopped");
    assert_restored(&term);
    term.keys("\r");
    term.wait_for("DEMO");
    term.keys("q");
    term.wait_for("job ended 0");
}

#[test]
fn resizing_to_any_size_works() {
    let mut term = demo(120, 36);
    for (cols, rows) in [
        (1, 1),
        (300, 5),
        (2, 80),
        (80, 24),
        (79, 23),
        (1000, 200),
        (60, 15),
        (140, 40),
    ] {
        term.resize(cols, rows);
        std::thread::sleep(Duration::from_millis(60));
    }
    term.wait_for("Deployments");
    term.keys("q");
    assert_eq!(term.exit_status().exit_code(), 0);
    assert_restored(&term);
}

#[test]
fn pasted_text_is_not_a_command() {
    let mut term = demo(120, 36);
    term.keys("\x1b[200~q\x03q\x1b[201~");
    term.keys("?"); // still running and responding
    term.wait_for("HERE: DEPLOYMENTS");
    term.keys("\x1b");
    term.wait_until("the help is closed", |term| {
        !term.screen().contains("HERE: DEPLOYMENTS")
    });
    term.keys("q");
    assert_eq!(term.exit_status().exit_code(), 0);
    assert_restored(&term);
}

#[test]
fn missing_terminal_is_reported() {
    let done = process::run(["--demo"]).expect(2);
    assert!(done.stderr.contains("terminal"), "{done:?}");
    assert!(
        done.stdout.is_empty(),
        "no escape sequences are written to a pipe: {done:?}"
    );
}

#[test]
fn panic_in_the_loop_restores_the_terminal_before_its_message() {
    let mut term = Term::spawn_with(&[("RUNTAIL_TEST_PANIC", "loop")], &["--demo"], 100, 30);
    term.wait_for("support-bot");
    term.keys("\x1b[24~");
    assert_eq!(term.exit_status().exit_code(), 101);
    assert_restored(&term);
    let raw = String::from_utf8_lossy(&term.raw_output()).into_owned();
    let (left, message) = (
        raw.rfind("\x1b[?1049l").unwrap(),
        raw.rfind("a test asked the loop to panic").unwrap(),
    );
    assert!(
        left < message,
        "the message is written after the alternate screen is left"
    );
}

#[test]
fn panic_in_a_task_is_reported_and_the_dashboard_continues() {
    let mut term = Term::spawn_with(&[("RUNTAIL_TEST_PANIC", "task")], &["--demo"], 120, 30);
    term.wait_for("support-bot");
    term.keys("\x1b[24~");
    term.wait_for("A background task failed");
    term.keys("!");
    term.wait_for("╭ Notices");
    assert!(
        term.screen().contains("a test asked this task to panic"),
        "{}",
        term.screen()
    );
    term.keys("\x1b");
    term.wait_until("the notices are closed", |term| {
        !term.screen().contains("╭ Notices")
    });
    term.keys("q");
    assert_eq!(term.exit_status().exit_code(), 0);
    assert_restored(&term);
}

/// Opens the composer of a run from the deployments list, via the assistants.
#[track_caller]
fn compose(term: &Term, assistant: &str) {
    term.select_first_by_name("contract-review");
    term.keys("\r");
    term.wait_for("Assistants ");
    term.compose(assistant);
    term.wait_for("New run ·");
}

#[test]
fn run_is_started_from_the_deployments_list() {
    let mut term = demo(120, 36);
    compose(&term, "support");
    term.keys("where is my order?");
    term.wait_for("where is my order?");
    term.keys("\x13");
    term.wait_for("● idle");
    term.keys("g");
    term.wait_for("▌human");
    let screen = term.screen();
    assert!(
        screen.contains("where is my order?") && screen.contains("human"),
        "{screen}"
    );
    // The first entry is the snapshot of the server's records at the start of the run.
    term.keys("6g");
    term.wait_for("metadata");
    term.keys("\r");
    term.wait_for("loaded from the server's records");
    term.keys("\x1b");
    term.wait_until("the event is closed", |term| {
        !term.screen().contains("loaded from the server's records")
    });
    term.keys("\x1b[B\r");
    let is_in_list = |term: &Term| term.screen().contains("⏎ event");
    term.wait_until("the event is open", |term| !is_in_list(term));
    term.keys("q");
    term.wait_until("the event is closed", is_in_list);
    term.keys("q");
    term.wait_for("› assistants");
    term.keys("\x03");
    assert_eq!(term.exit_status().exit_code(), 0);
    assert_restored(&term);
}

/// Returns the end of the thread's id in the breadcrumb, which is all that fits after the graph's name.
fn shown_thread(term: &Term) -> Option<String> {
    let screen = term.screen();
    let id = screen
        .split(" › support ")
        .nth(1)?
        .split_whitespace()
        .next()?;
    id.get(id.len().checked_sub(4)?..).map(str::to_owned)
}

#[test]
fn leaving_a_stream_does_not_cancel_its_run() {
    let mut term = demo(120, 36);
    compose(&term, "support");
    term.keys("hello");
    term.wait_for("hello");
    term.keys("\x13");
    term.wait_until("the new thread's id", |term| shown_thread(term).is_some());
    let thread = shown_thread(&term).unwrap();
    term.keys("\x1b");
    term.wait_for("› assistants");
    term.keys("1");
    term.wait_for("› threads");
    // The thread of the closed stream is selected, so its runs are shown.
    term.wait_until("the thread, selected", |term| {
        term.screen()
            .lines()
            .any(|l| l.contains('▌') && l.contains(&thread))
    });
    term.keys("v");
    term.wait_for("TOOK");
    term.wait_until("the run, finished", |term| {
        term.screen()
            .lines()
            .any(|l| l.contains("● finished") && l.contains("support"))
    });
    term.keys("\x03");
    assert_eq!(term.exit_status().exit_code(), 0);
    assert_restored(&term);
}

#[test]
fn terminal_resized_while_stopped_is_drawn_at_its_new_size() {
    let term = Term::spawn_as_job(&["--demo"], 160, 50);
    term.wait_for("vendor-intake");
    term.keys("G\x1a");
    term.wait_for("job stopped");
    term.resize(100, 14);
    term.keys("\r");
    term.wait_for("DEMO");
    term.wait_for("vendor-intake");
    term.keys("q");
    term.wait_for("job ended 0");
    assert_restored(&term);
}

/// Starts the dashboard in tmux from a shell that has printed a line, which must be there again at the end.
#[track_caller]
fn demo_in_tmux(term: &str) -> Option<Tmux> {
    let tmux = Tmux::start(term, 120, 36)?;
    tmux.line("echo before the dashboard");
    tmux.wait_for("\nbefore the dashboard");
    tmux.start_binary("--demo");
    tmux.wait_for("support-bot");
    let screen = tmux.screen();
    assert!(
        screen.contains("DEMO") && screen.contains("Deployments") && screen.contains('│'),
        "{screen}"
    );
    assert!(!screen.contains("before the dashboard"), "{screen}");
    assert_eq!(
        (tmux.variable("alternate_on"), tmux.variable("cursor_flag")),
        ("1".into(), "0".into())
    );
    Some(tmux)
}

#[track_caller]
fn assert_restored_in_tmux(tmux: &Tmux, code: &str) {
    tmux.wait_for(&format!("ended {code}"));
    let screen = tmux.screen();
    assert!(
        screen.contains("\nbefore the dashboard") && !screen.contains("Deployments"),
        "{screen}"
    );
    for (name, normal) in [
        ("alternate_on", "0"),
        ("cursor_flag", "1"),
        ("mouse_any_flag", "0"),
        ("keypad_flag", "0"),
    ] {
        assert_eq!(tmux.variable(name), normal, "{name}: {screen}");
    }
    // Only a terminal in its normal modes echoes input and accepts a line.
    tmux.line("stty -a | grep -o ' icanon' && echo typed");
    tmux.wait_for(" icanon\ntyped");
    assert!(tmux.screen().contains("grep -o"), "{}", tmux.screen());
}

#[test]
fn tmux_shows_the_dashboard_and_restores_its_screen() {
    for term in ["screen-256color", "tmux-256color"] {
        let Some(tmux) = demo_in_tmux(term) else {
            return;
        };
        tmux.resize(50, 10);
        tmux.wait_for("too small");
        tmux.resize(90, 28);
        tmux.wait_for("support-bot");
        assert!(
            tmux.screen().lines().all(|line| line.chars().count() <= 90),
            "{}",
            tmux.screen()
        );
        tmux.key("?");
        tmux.wait_for("HERE: DEPLOYMENTS");
        tmux.key("Escape");
        // A key right behind Esc would be read as Alt and that key.
        tmux.wait_until("the help is closed", |tmux| {
            !tmux.screen().contains("HERE: DEPLOYMENTS")
        });
        tmux.wait_for("support-bot");
        tmux.key("q");
        assert_restored_in_tmux(&tmux, "0");
    }
}

#[test]
fn signals_restore_the_pane_in_tmux() {
    for (term, signal, code) in [
        ("screen-256color", libc::SIGTERM, "143"),
        ("tmux-256color", libc::SIGSEGV, "139"),
    ] {
        let Some(tmux) = demo_in_tmux(term) else {
            return;
        };
        tmux.signal(signal);
        assert_restored_in_tmux(&tmux, code);
    }
}

/// Returns the bytes that a terminal sends for a key.
fn bytes_of(key: Key) -> String {
    let alt = if key.alt { "\x1b" } else { "" };
    let text = match key.code {
        Code::Char(c) if key.ctrl => char::from(c as u8 & 0x1f).to_string(),
        Code::Char(c) => c.to_string(),
        Code::F(n @ 1..=4) => format!("\x1bO{}", char::from(b'O' + n)),
        Code::F(_) => "\x1b[15~".into(),
        Code::Enter => "\r".into(),
        Code::Esc => "\x1b".into(),
        Code::Tab => "\t".into(),
        Code::BackTab => "\x1b[Z".into(),
        Code::Backspace => "\x7f".into(),
        Code::Delete => "\x1b[3~".into(),
        Code::Up => "\x1b[A".into(),
        Code::Down => "\x1b[B".into(),
        Code::Right => "\x1b[C".into(),
        Code::Left => "\x1b[D".into(),
        Code::Home => "\x1b[H".into(),
        Code::End => "\x1b[F".into(),
        Code::PageUp => "\x1b[5~".into(),
        Code::PageDown => "\x1b[6~".into(),
    };
    format!("{alt}{text}")
}

/// Random keys as in `tests/monkey/main.rs`, with the binary in a terminal. `RUNTAIL_MONKEY_SEED` repeats a run.
#[test]
fn random_keys_restore_the_terminal() {
    let seed = std::env::var("RUNTAIL_MONKEY_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(7);
    println!("RUNTAIL_MONKEY_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let folder = tempfile::tempdir().unwrap();
    // Exports go to the folder, and no browser or editor is found.
    let script = format!(
        "cd '{}' && PATH=/nonexistent exec \"$@\"",
        folder.path().display()
    );
    let mut term = Term::spawn_under(&script, &["--demo"], 120, 36);
    term.wait_for("support-bot");
    // These keys quit, stop the process, or start a command that may quit.
    let is_harmless = |key: &Key| !matches!(bytes_of(*key).as_str(), "q" | "\x03" | "\x1a" | ":");
    let keys = BINDINGS
        .iter()
        .flat_map(|row| row.keys())
        .map(|key| key.parse::<Key>().unwrap());
    let keys: Vec<Key> = keys.filter(is_harmless).collect();
    for _ in 0..300 {
        match random.u8(0..12) {
            0 => term.resize(random.u16(1..200), random.u16(1..60)),
            1 => term.keys(&format!(
                "\x1b[200~{}\x1b[201~",
                ["hello", "q\x1b:quit\r", "日本語"][random.usize(0..3)]
            )),
            2 => term.keys(&format!(
                "\x1b[<{};{};{}M",
                random.u8(0..3),
                random.u16(1..200),
                random.u16(1..60)
            )),
            3 => term.keys("\r"),
            _ => term.keys(&bytes_of(keys[random.usize(0..keys.len())])),
        }
        term.wait_for_quiet(Duration::from_millis(5));
    }
    term.wait_for_quiet(Duration::from_millis(200));
    term.keys("\x03");
    assert_eq!(term.exit_status().exit_code(), 0);
    assert_restored(&term);
}
