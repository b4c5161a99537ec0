//! Each view of one thread at both sizes, and what it looks like in colours, without them, in ASCII and in every theme.

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use runtail_stream::projection::Role;
use runtail_stream::{Event, Item, Outcome, Record, Seq};
use runtail_testkit::dash::{Dash, demo_like};
use runtail_tui::features::stream::viewer::VIEWS;
use runtail_tui::session::msg::Msg;

/// Runs of one thread: a model with a tool, parallel branches with a subgraph, one that waits for an answer, one that failed.
const THREAD: [&str; 4] = ["agent-messages-tuple", "fanout-many-subgraphs", "approval-interrupt", "broken-values"];
fn thread(size: (u16, u16)) -> Dash {
    let mut dash = demo_like(size);
    dash.open_thread();
    let at = dash.app.session.now;
    dash.items(vec![Item::Record(Record::Open { at, conn: 1, status: 200, resumed_after: None })]);
    for capture in THREAD {
        dash.goes_on_now(capture);
        dash.run_done();
    }
    if size.0 >= 120 {
        dash.keys("f");
    }
    dash
}

/// At its end, which is followed, and in the middle of it, where a node of the subgraph has written.
fn places() -> [(&'static str, Dash); 2] {
    let followed = thread((140, 40));
    let mut read = thread((80, 24));
    let wrote = |event: &Event| &*event.name == "updates" && !event.ns.is_empty();
    let middle = read.app.viewer().unwrap().tape.iter_from(Seq(1)).find(wrote).unwrap().seq;
    read.feed(Msg::Paste(format!("#{middle}")));
    assert_eq!(read.app.viewer().unwrap().anchor(), Some(middle));
    [("140x40", followed), ("80x24", read)]
}

/// The places, and whatever else may be on the screen of a stream: halves, tabs, what is marked, searched for and filtered,
/// what changed in a state, each state of the connection, a dialog and a page over it.
fn scenes() -> Vec<(&'static str, Dash)> {
    let mut scenes = Vec::from(places());
    let mut scene = |name, change: fn(&mut Dash)| {
        let mut dash = thread((120, 36));
        change(&mut dash);
        let is_over_the_stream = ["modes", "json", "help"].contains(&name);
        assert_eq!(!dash.app.overlays.is_empty(), is_over_the_stream, "{name}: {}", dash.screen());
        scenes.push((name, dash));
    };
    scene("halves", |dash| drop(dash.keys("|<Tab>m")));
    scene("tabs", |dash| drop(dash.keys("<Esc><Down><Enter>{")));
    scene("found", |dash| drop(dash.keys("/sub|boom<Enter>]&!node:left<Enter>")));
    scene("typed", |dash| drop(dash.keys("/[")));
    scene("changes", |dash| drop(dash.keys("3=")));
    scene("compared", |dash| drop(dash.keys("3<Home>[m[[=")));
    scene("wrapped", |dash| drop(dash.keys("wTTv")));
    scene("folded", |dash| drop(dash.keys("4<Home><Down><Down><Down><Left>")));
    scene("modes", |dash| drop(dash.keys("M")));
    scene("json", |dash| drop(dash.keys("7<Enter>")));
    scene("help", |dash| drop(dash.keys("?")));
    scene("lost", |dash| dash.retrying(3, 4, "connection reset by peer"));
    scene("silent", |dash| {
        dash.event("metadata", r#"{"run_id":"r","attempt":1}"#);
        dash.pass(45);
    });
    for (name, outcome) in [
        ("ended", Outcome::Success),
        ("failed", Outcome::Error),
        ("asks", Outcome::Interrupted),
        ("unknown", Outcome::Unknown),
    ] {
        let mut dash = thread((120, 36));
        dash.end(outcome);
        scenes.push((name, dash));
    }
    let mut empty = demo_like((120, 36));
    empty.open_thread();
    scenes.push(("empty", empty));
    scenes
}

/// The key and the name of each view.
fn views() -> impl Iterator<Item = (String, String)> {
    (1..).zip(VIEWS).map(|(key, view)| (format!("{key}"), view.title().to_lowercase()))
}

/// What a cell looks like, apart from its letter.
fn look(cell: &Cell) -> String {
    let ways = [
        (Modifier::BOLD, "bold"),
        (Modifier::DIM, "dim"),
        (Modifier::ITALIC, "italic"),
        (Modifier::UNDERLINED, "underline"),
        (Modifier::REVERSED, "reverse"),
    ];
    let mut words: Vec<String> = ways
        .into_iter()
        .filter(|(modifier, _)| cell.modifier.contains(*modifier))
        .map(|(_, word)| word.to_string())
        .collect();
    let inks = [(cell.fg, ""), (cell.bg, "on ")].into_iter().filter(|(ink, _)| *ink != Color::Reset);
    words.extend(inks.map(|(ink, on)| format!("{on}{ink}").to_lowercase()));
    words.join(" ")
}

/// What is not plain in the pane of a stream, from its tabs on: for each line its runs of one look.
fn looks(buffer: &Buffer) -> String {
    let mut out = String::new();
    let (width, height) = (usize::from(buffer.area.width), usize::from(buffer.area.height));
    for (number, row) in buffer.content.chunks(width).enumerate().take(height - 2).skip(3) {
        let mut runs: Vec<(String, String)> = Vec::new();
        for cell in row {
            let look = look(cell);
            match runs.last_mut().filter(|run| run.0 == look) {
                Some(run) => run.1.push_str(cell.symbol()),
                None => runs.push((look, cell.symbol().to_string())),
            }
        }
        runs.retain(|(look, text)| !look.is_empty() && !text.trim().is_empty());
        if runs.is_empty() {
            continue;
        }
        let runs: Vec<String> = runs.iter().map(|(look, text)| format!("{look} ‹{}›", text.trim())).collect();
        out.push_str(&format!("{number:>2} {}\n", runs.join("  ")));
    }
    out
}

#[test]
fn every_view_at_both_sizes() {
    for (place, mut dash) in places() {
        for (key, name) in views() {
            dash.keys(&key);
            insta::assert_snapshot!(format!("{name}_{place}"), dash.screen());
        }
    }
}

#[test]
fn every_view_in_colour_and_without() {
    let [_, (_, mut dash)] = places();
    for (key, name) in views() {
        dash.keys(&key);
        let coloured = dash.buffer();
        insta::assert_snapshot!(format!("{name}_looks"), looks(&coloured));
        dash.color = false;
        insta::assert_snapshot!(format!("{name}_looks_no_colour"), looks(&dash.buffer()));
        dash.color = true;
    }
}

/// The same signs stand in the same cells in every theme and without colour. What a dark and a light terminal must both
/// show is drawn in colours that both have made readable, on their own ground.
#[test]
fn themes_change_colours_and_nothing_else() {
    let own = [
        Color::Reset,
        Color::Red,
        Color::Green,
        Color::Yellow,
        Color::Blue,
        Color::Magenta,
        Color::Cyan,
        Color::LightBlue,
        Color::LightMagenta,
        Color::LightCyan,
    ];
    let symbols = |buffer: &Buffer| buffer.content.iter().map(|c| c.symbol().to_string()).collect::<Vec<_>>();
    for (place, mut dash) in scenes() {
        for (key, name) in views() {
            dash.keys(&key);
            let buffer = dash.buffer();
            for cell in &buffer.content {
                assert!(own.contains(&cell.fg) && cell.bg == Color::Reset, "{name}, {place}: {cell:?}");
            }
            let signs = symbols(&buffer);
            for theme in ["colour-blind", "high-contrast", "mono"] {
                dash.app.session.prefs.theme = theme.into();
                let buffer = dash.buffer();
                assert_eq!(symbols(&buffer), signs, "{name}, {place}, {theme}");
                let grounds = buffer.content.iter().all(|cell| cell.bg == Color::Reset);
                assert!(grounds, "{name}, {place}, {theme}: a ground of its own");
            }
            // Without colour every theme looks like the one that has none.
            let mono = dash.buffer();
            dash.app.session.prefs.theme = "terminal".into();
            dash.color = false;
            let plain = dash.buffer();
            dash.color = true;
            assert_eq!(plain, mono, "{name}, {place}");
            assert!(plain.content.iter().all(|cell| cell.fg == Color::Reset), "{name}, {place}: a colour");
        }
    }
}

/// With `--ascii` everything is ASCII, in the same cells with the same looks. A `?` stands only for what others wrote.
#[test]
fn every_sign_has_an_ascii_one() {
    let written: String = THREAD
        .into_iter()
        .map(|capture| std::fs::read_to_string(format!("tests/captures/{capture}.sse")).unwrap())
        .map(|body| unescaped(&body))
        .collect();
    for (place, mut dash) in scenes() {
        for (key, name) in views() {
            dash.keys(&key);
            dash.ascii = false;
            let rich = dash.buffer();
            dash.ascii = true;
            let plain = dash.buffer();
            for (rich, plain) in rich.content.iter().zip(&plain.content) {
                assert!(plain.symbol().is_ascii(), "{name}, {place}: {plain:?}");
                assert_eq!(look(rich), look(plain), "{name}, {place}");
                let is_lost = plain.symbol() == "?" && rich.symbol() != "?";
                assert!(!is_lost || written.contains(rich.symbol()), "{name}, {place}: {:?}", rich.symbol());
            }
        }
    }
}

/// JSON with its `\u` escapes resolved, as far as text is concerned.
fn unescaped(body: &str) -> String {
    let mut strings = String::new();
    let mut rest = body;
    while let Some(at) = rest.find('"') {
        let mut json = serde_json::Deserializer::from_str(&rest[at..]).into_iter::<String>();
        match json.next() {
            Some(Ok(text)) => {
                strings.push_str(&text);
                rest = &rest[at + json.byte_offset()..];
            }
            _ => rest = &rest[at + 1..],
        }
    }
    strings
}

/// What the thread is about is what the views of it tell.
#[test]
fn the_thread_is_a_rich_one() {
    let dash = thread((80, 24));
    let viewer = dash.app.viewer().unwrap();
    let told = &viewer.projections;
    let roles: Vec<&Role> = told.messages.items().iter().map(|message| &message.role).collect();
    assert!(roles.contains(&&Role::Ai) && roles.contains(&&Role::Tool), "{roles:?}");
    for view in VIEWS.into_iter().take(7) {
        assert!(viewer.count(view) > 3, "{}: {}", view.title(), viewer.count(view));
    }
}

#[test]
fn no_view_of_an_empty_stream_has_a_cursor() {
    for view in 1..=VIEWS.len() {
        for keys in ["g", "j", "k", "G"] {
            let mut dash = demo_like((120, 30));
            dash.open_thread();
            dash.keys(&format!("{view}{keys}"));
            dash.screen();
            assert_eq!(dash.app.viewer().unwrap().anchor(), None, "view {view}, key {keys}");
        }
    }
}
