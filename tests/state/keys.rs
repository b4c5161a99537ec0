//! The keys that the footer and the help show do something on the screen that shows them.

use runtail_stream::SnapshotPart;
use runtail_testkit::dash::{Dash, Dialog, demo_like, demo_server, demo_thread};
use runtail_tui::features::stream::views::View;
use runtail_tui::input::help::HelpItem;
use runtail_tui::session::msg::Effect;
use serde_json::json;
use std::collections::BTreeSet;

/// A screen: its name, and how it is opened.
type Screen = (&'static str, fn((u16, u16)) -> Dash);

/// Sizes at which screens are checked.
const SIZES: [(u16, u16); 2] = [(140, 40), (80, 24)];

/// A thread with messages, tasks and a failure, with the cursor among its events.
fn thread((w, h): (u16, u16), view: &str) -> Dash {
    let mut dash = demo_thread((w, h));
    let record = json!({"thread_id": "t", "status": "busy", "metadata": {"assistant_id": "a-1", "graph_id": "agent"}});
    dash.snapshot(vec![(SnapshotPart::Thread, record)]);
    dash.capture_now("agent-tasks");
    dash.continue_capture_now("agent-messages");
    dash.keys(view);
    dash.relayout();
    dash.keys("<PageUp>");
    dash.relayout();
    dash
}

fn with_keys(size: (u16, u16), keys: &str) -> Dash {
    let mut dash = demo_like(size);
    dash.keys(keys);
    dash
}

fn server(size: (u16, u16), keys: &str) -> Dash {
    let mut dash = demo_server(size);
    dash.keys(keys);
    dash
}

fn graph(size: (u16, u16)) -> Dash {
    let mut dash = crate::graph::thread(size);
    crate::graph::run(&mut dash);
    dash.keys("5");
    dash.relayout();
    crate::graph::load(&mut dash);
    dash.relayout();
    dash
}

/// The streams.
const STREAMS: [Screen; 14] = [
    ("Messages", |size| thread(size, "1")),
    ("Steps", |size| thread(size, "2")),
    ("State", |size| thread(size, "3")),
    ("changes of a state", |size| thread(size, "3=")),
    ("Timeline", |size| thread(size, "4")),
    ("Runs", |size| thread(size, "7")),
    ("Events", |size| thread(size, "6")),
    ("Delivery report", |size| thread(size, "6d")),
    ("Graph", graph),
    ("observed graph", |size| thread(size, "5")),
    ("Steps with branches", |size| {
        crate::steps::opened(size, &crate::steps::capture("fork-history"))
    }),
    ("Steps without checkpoints", |size| {
        crate::steps::opened(size, &[])
    }),
    ("split", |size| thread(size, "2|")),
    ("a waiting thread", |size| {
        let mut dash = demo_thread(size);
        dash.capture("approval-interrupt");
        dash
    }),
];

/// Streams without events.
const EMPTY_STREAMS: [Screen; 5] = [
    ("Messages, empty", |size| empty(size, "1")),
    ("State, empty", |size| empty(size, "3")),
    ("Timeline, empty", |size| empty(size, "4")),
    ("Events, empty", |size| empty(size, "6")),
    ("Graph, empty", |size| empty(size, "5")),
];

fn empty(size: (u16, u16), view: &str) -> Dash {
    let mut dash = demo_thread(size);
    dash.keys(view);
    dash
}

/// The lists, pages and dialogs.
const OTHERS: [Screen; 26] = [
    ("deployments", demo_like),
    ("a failed deployment", |size| with_keys(size, "<Home>")),
    ("no deployment", |size| with_keys(size, "/nothing<Enter>")),
    ("revisions", |size| with_keys(size, "<Tab>")),
    ("logs", |size| {
        let mut dash = with_keys(size, "l");
        dash.log_lines();
        dash
    }),
    ("threads", |size| server(size, "")),
    ("assistants", |size| server(size, "2")),
    ("runs", |size| {
        let mut dash = server(size, "v");
        dash.runs();
        dash
    }),
    ("inbox", |size| {
        let mut dash = crate::inbox::full(size);
        dash.keys("i");
        dash
    }),
    ("empty inbox", |size| with_keys(size, "i")),
    ("comparison", crate::compare::compared),
    ("why", |size| {
        let mut dash = thread(size, "1");
        dash.keys("e");
        dash
    }),
    ("card", |size| {
        let mut dash = with_keys(size, "<Home>e");
        dash.card();
        dash
    }),
    ("document", |size| {
        let mut dash = demo_like(size);
        dash.record(r#"{"a":{"url":"https://x","more":[1,2,3]},"b":[{"Url":"https://y"}]}"#);
        dash
    }),
    ("modes", |size| {
        let mut dash = thread(size, "1");
        dash.keys("M");
        dash
    }),
    ("composer", |size| crate::composer::composer(size, None)),
    ("answer", |size| {
        let mut dash = server(size, "");
        crate::app::open_card(&mut dash, "<Down>a", "74676f99b80c146053dbeb4fdcab82cf");
        dash
    }),
    ("journal", |size| with_keys(size, ":journal<Enter>")),
    ("profiles", |size| with_keys(size, "p")),
    ("listeners", |size| {
        let mut dash = demo_like(size);
        let number = crate::resources::open(&mut dash, "listeners");
        crate::resources::answer(&mut dash, number, crate::resources::listeners());
        dash
    }),
    ("providers", |size| {
        let mut dash = demo_like(size);
        let number = crate::resources::open(&mut dash, "providers");
        crate::resources::answer(&mut dash, number, crate::resources::providers());
        dash
    }),
    ("versions", |size| {
        let mut dash = crate::records::dash(size);
        crate::records::versions(&mut dash);
        dash
    }),
    ("crons", |size| {
        let mut dash = crate::records::dash(size);
        crate::records::crons(&mut dash);
        dash
    }),
    ("store", |size| {
        let mut dash = crate::records::dash(size);
        crate::records::store(&mut dash);
        dash
    }),
    ("first run", crate::forms::first_run),
    ("notices", |size| with_keys(size, "!")),
];

/// What a key may change: the screen without notices, and what is not on it.
fn fingerprint(dash: &mut Dash) -> (String, [usize; 3], bool, String) {
    dash.end_notice();
    let (overlays, prompt) = (dash.dialogs().len(), usize::from(dash.is_typing()));
    let epoch = format!("{:?}", dash.epoch());
    (
        dash.screen(),
        [overlays, prompt, usize::from(dash.is_frozen())],
        dash.has_ended(),
        epoch,
    )
}

/// Keys of the help that do something only in some states of their screen: the screen, and the id of the action.
const SOMETIMES: [(&str, &str); 10] = [
    ("assistants", "server.assistants"),
    ("document", "json.next_match"),
    ("document", "json.fold_all"),
    ("composer", "composer.start_over"),
    ("answer", "answer.start_over"),
    ("first run", "app.back"),
    ("listeners", "browse.profile"),
    ("logs", "logs.follow"),
    ("store", "records.update"),
    ("store", "records.delete"),
];

/// Presses a key on a new screen. Returns whether it did anything, and the notices that it caused.
fn press(open: fn((u16, u16)) -> Dash, size: (u16, u16), key: &str) -> (bool, Vec<String>) {
    let mut dash = open(size);
    dash.later(5_000);
    let (before, notices) = (fingerprint(&mut dash), dash.notices().len());
    let effects: Vec<Effect> = dash.keys(key);
    let said = dash.notices()[notices..]
        .iter()
        .map(ToString::to_string)
        .collect();
    (
        !effects.is_empty() || fingerprint(&mut dash) != before,
        said,
    )
}

/// Returns the keys of a text of the footer or the help, as `parse_keys` reads them.
fn keys(shown: &str) -> Vec<String> {
    // A range is shown by its ends.
    let names = shown
        .replace('←', "Left ")
        .replace('→', "Right ")
        .replace('–', " ");
    let parsed = |name: &str| match name {
        "⏎" => "<Enter>".to_string(),
        "Shift-Tab" => "<BackTab>".into(),
        "<" => "<lt>".into(),
        name if name.chars().count() == 1 => name.to_string(),
        name => format!("<{name}>"),
    };
    names.split_whitespace().map(parsed).collect()
}

#[test]
fn every_key_of_the_footer_does_something() {
    let mut dead = Vec::new();
    for (name, open) in STREAMS.iter().chain(&EMPTY_STREAMS).chain(&OTHERS) {
        for size in SIZES {
            let mut dash = open(size);
            dash.screen();
            for (shown, label) in dash.hints() {
                let keys = keys(&shown);
                if !keys.iter().any(|key| press(*open, size, key).0) {
                    dead.push(format!("{name} {}x{}: {shown} {label}", size.0, size.1));
                }
            }
        }
    }
    assert!(dead.is_empty(), "{}", dead.join("\n"));
}

#[test]
fn every_key_of_the_help_does_something_and_is_listed_once() {
    let mut wrong = Vec::new();
    // On a screen without rows, the keys of rows have nothing to act on.
    let is_empty = |name: &str| {
        matches!(name, "no deployment" | "empty inbox" | "journal") || name.contains("without")
    };
    for (name, open) in STREAMS
        .iter()
        .chain(&OTHERS)
        .filter(|screen| !is_empty(screen.0))
    {
        let mut dash = open(SIZES[0]);
        dash.screen();
        let (context, items) = dash.help();
        let mut listed = BTreeSet::new();
        for item in items.iter().filter(|item| item.id.is_some()) {
            let id = item.id.unwrap_or_default();
            let is_sometimes = id.starts_with("move.") || SOMETIMES.contains(&(*name, id));
            for key in item.keys.split("  ").flat_map(keys) {
                let parsed = runtail_tui::input::key::parse_keys(&key).unwrap()[0];
                assert!(
                    dash.has_action(context, parsed),
                    "{name}: {key} {}",
                    item.name
                );
                if !listed.insert(key.clone()) {
                    wrong.push(format!("{name}: {key} is listed twice"));
                }
                let (acts, said) = press(*open, SIZES[0], &key);
                let is_dead = said
                    .iter()
                    .any(|said| said.contains("works only in") || said.contains("has no action"));
                if is_dead || !is_sometimes && !acts && said.is_empty() {
                    wrong.push(format!("{name}: {key} {} ({id})", item.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn keys_and_names_of_earlier_views_lead_to_those_of_today() {
    let mut dash = thread((140, 40), "1");
    for (key, says) in [
        ("8", "Delivery moved from 8 to 6, then d."),
        ("9", "Graph moved from 9 to 5."),
        ("0", "History moved from 0 to 2."),
    ] {
        dash.keys(key);
        dash.says(says);
    }
    dash.keys("e0");
    dash.says("History moved from 0 to 2.");
    let mut lists = demo_server((140, 40));
    lists.keys("9");
    lists.says("Graph moved from 9 to 5.");
    for (name, view) in [
        ("raw", View::Events),
        ("Custom", View::Events),
        ("delivery", View::Events),
        ("updates", View::Steps),
        ("history", View::Steps),
    ] {
        assert_eq!(View::named(name), Some(view), "{name}");
    }
}

#[test]
fn help_shows_at_most_25_whole_lines_and_tab_the_others() {
    let missing = |screen: &str, items: &[&HelpItem]| {
        let cut = items.iter().filter(|item| !screen.contains(&item.name));
        cut.map(|item| item.name.clone()).collect::<Vec<String>>()
    };
    let mut count = 0;
    for (name, open) in STREAMS.iter().chain(&EMPTY_STREAMS).chain(&OTHERS) {
        let mut dash = open((80, 24));
        dash.screen();
        let (_, items) = dash.help();
        dash.keys("?");
        if !dash.has_dialog(Dialog::Help) {
            // Where text is typed, it is a character.
            continue;
        }
        count += 1;
        let (first, more): (Vec<_>, Vec<_>) = items.iter().partition(|item| item.is_first);
        assert!(first.len() <= 25, "{name}: {}", first.len());
        let first_page = dash.screen();
        dash.keys("<Tab>");
        let mut others = dash.screen();
        // They may need more lines than the screen has.
        for _ in &more {
            dash.keys("<Down>");
            others += &dash.screen();
        }
        let cut = [missing(&first_page, &first), missing(&others, &more)];
        assert_eq!(cut, [[""; 0]; 2], "{name}: {first_page}");
        dash.keys("<Tab>");
        assert_eq!(dash.screen(), first_page, "{name}");
    }
    assert!(count > 30, "{count}");
}
