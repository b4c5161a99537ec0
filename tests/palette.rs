//! The line after `:`: what it offers, what it completes, where it goes, and what it says of what cannot be reached.

#[path = "screens/dash.rs"]
#[allow(dead_code)]
mod dash;

use dash::{Dash, demo_like};
use proptest::prelude::*;
use runtail::app::key::{Code, Key};
use runtail::app::msg::{Done, Effect, Msg, StreamTarget};
use runtail::app::palette::Found;
use runtail::app::viewer::View;
use runtail::app::{App, Overlay, Pane};
use runtail::config::{Mouse, Timestamps};

const THREAD: &str = "01a1fbb7-22f8-715a-974c-92e72c000193";
const UNKNOWN: &str = "99999999-9999-4999-8999-999999999999";

fn lines(app: &App, text: &str) -> Vec<String> {
    app.offers(text).into_iter().map(|offer| offer.line).collect()
}

fn said(dash: &Dash) -> &str {
    dash.app.notices.last().map_or("", |notice| &notice.text)
}

fn say(dash: &mut Dash, line: &str) -> Vec<Effect> {
    dash.keys(":");
    line.chars().for_each(|c| drop(dash.feed(Msg::Key(Key::char(c)))));
    dash.feed(Msg::Key(Key::plain(Code::Enter)))
}

#[test]
fn what_begins_with_the_text_comes_first() {
    let dash = demo_like((100, 30));
    let starts = lines(&dash.app, "re");
    assert_eq!(starts[..4], ["revisions", "redeploy", "revoke-slack", "record"]);
    assert!(starts.contains(&"threads".to_string()));
    assert_eq!(lines(&dash.app, "rvs")[0], "revisions", "letters in their order are enough");
    assert!(lines(&dash.app, "nonsense").is_empty());
    assert_eq!(dash.app.no_offer("thme"), "There is no such command. Did you mean theme?");
    assert_eq!(dash.app.no_offer("theme mnoo"), "There is no theme. Did you mean mono?");
}

#[test]
fn arguments_are_offered_and_completed() {
    let mut dash = demo_like((100, 30));
    dash.open_server();
    assert_eq!(lines(&dash.app, "dep inv"), ["dep invoice-agent"]);
    assert_eq!(
        lines(&dash.app, "dep supp"),
        ["dep prod-us/support-bot", "dep prod-eu/support-bot"],
        "two of that name"
    );
    assert_eq!(lines(&dash.app, "inv")[0], "dep invoice-agent", "a name alone is enough");
    assert_eq!(lines(&dash.app, "thread erro"), [format!("thread {THREAD}")], "by how it is");
    assert_eq!(lines(&dash.app, "view l"), ["view lifecycle", "view ledger", "view values", "view timeline"]);
    dash.keys(":dep i");
    insta::assert_snapshot!("palette_arguments_100x30", dash.screen());
    dash.keys("<Tab>");
    assert!(dash.screen().contains(":dep invoice-agent"), "{}", dash.screen());
    dash.keys("<Enter>");
    assert_eq!(dash.app.fleet.selected().unwrap().name, "invoice-agent");
    assert_eq!(dash.app.focus, Pane::Deployments);
    // Tab goes on from a name that takes something to what it takes, and from one to the next.
    dash.keys(":prof<Tab>");
    assert!(dash.screen().contains(":profile"), "{}", dash.screen());
    dash.keys("<Down><Enter>");
    assert!(dash.app.overlays.is_empty() || matches!(dash.app.overlays.last(), Some(Overlay::Profiles)));
}

#[test]
fn lines_are_remembered() {
    let mut dash = demo_like((100, 30));
    for line in ["wrap on", "timestamps delta", "wrap on"] {
        say(&mut dash, line);
    }
    assert!(dash.app.habits.wrap);
    assert_eq!(dash.app.habits.timestamps, Timestamps::Delta);
    let typed = |dash: &Dash| match dash.app.overlays.last() {
        Some(Overlay::Command(palette)) => palette.text.clone(),
        _ => panic!(),
    };
    dash.keys(":<Up>");
    assert_eq!(typed(&dash), "wrap on");
    dash.keys("<Up>");
    assert_eq!(typed(&dash), "timestamps delta");
    dash.keys("<Up>");
    assert_eq!(typed(&dash), "timestamps delta", "there is no older one");
    dash.keys("<Down><Down>");
    assert_eq!(typed(&dash), "");
    dash.keys("<Up><Enter>");
    assert!(dash.app.overlays.is_empty());
}

#[test]
fn a_theme_is_shown_while_it_is_chosen() {
    let mut dash = demo_like((100, 30));
    dash.keys(":theme mono");
    assert_eq!(dash.app.habits.theme(), "mono");
    dash.keys("<Esc>");
    assert_eq!(dash.app.habits.theme(), "terminal", "as if nothing had been typed");
    dash.keys(":theme <Down>");
    assert_eq!(dash.app.habits.theme(), "colour-blind");
    dash.keys("<Enter>");
    assert_eq!((dash.app.habits.theme(), dash.app.overlays.len()), ("colour-blind", 0));
    say(&mut dash, "mouse off");
    assert_eq!(dash.app.habits.mouse, Mouse::Off);
}

#[test]
fn a_pasted_id_lands_on_its_thing() {
    let mut dash = demo_like((140, 40));
    dash.open_server();
    dash.keys("<Tab>");
    dash.feed(Msg::Paste(format!("  {THREAD}\n")));
    let viewer = dash.app.viewer().unwrap();
    assert_eq!(viewer.target, StreamTarget::Tail { thread: THREAD.into() });
    // A revision, by what was listed.
    dash.feed(Msg::Paste("66666666-6666-4666-8666-666666666666".into()));
    assert_eq!(dash.app.focus, Pane::Revisions);
    assert_eq!(dash.app.revision_picker.selected.as_deref(), Some("66666666-6666-4666-8666-666666666666"));
    // A thread that is open already is shown, not opened twice.
    say(&mut dash, THREAD);
    assert_eq!((dash.app.streams.all().len(), dash.app.focus), (1, Pane::Stream));
    // An assistant.
    dash.feed(Msg::Paste("0d3403f7-5601-53d2-b2f6-e9cafe096781".into()));
    let server = dash.app.server.as_ref().unwrap();
    assert_eq!(server.assistant_picker.selected.as_deref(), Some("0d3403f7-5601-53d2-b2f6-e9cafe096781"));
    assert!(dash.app.viewer().is_none(), "the list is shown, and the stream goes on behind it");
}

#[test]
fn an_id_of_the_stream_lands_in_it() {
    let mut dash = demo_like((140, 40));
    dash.open_thread();
    let run = "01a1fbb5-1351-70df-a8e3-d471c3c0cd66";
    dash.event("custom", "1");
    dash.event("metadata", &format!(r#"{{"run_id":"{run}","attempt":1}}"#));
    let message = "lc_run--01a1fbb5-1351-70df-a8e3-d471c3c0cd67";
    dash.event("messages", &format!(r#"[{{"type":"AIMessageChunk","id":"{message}","content":"a"}},{{}}]"#));
    dash.event("messages", &format!(r#"[{{"type":"AIMessageChunk","id":"{message}","content":"b"}},{{}}]"#));
    let at = |dash: &Dash| dash.app.viewer().unwrap().anchor();
    dash.feed(Msg::Paste(run.into()));
    assert_eq!(at(&dash), Some(2));
    say(&mut dash, message);
    assert_eq!(at(&dash), Some(3), "where the message began");
}

#[test]
fn an_unknown_id_is_asked_for() {
    let mut dash = demo_like((140, 40));
    assert_eq!(say(&mut dash, UNKNOWN), []);
    assert!(said(&dash).contains("Open an agent server first"), "{}", said(&dash));
    dash.open_server();
    let ask = |dash: &mut Dash| {
        let effects = say(dash, UNKNOWN);
        let [Effect::Find(server, id)] = effects.as_slice() else { panic!("{effects:?}") };
        (server.clone(), id.clone())
    };
    let (server, id) = ask(&mut dash);
    dash.done(Done::Found(server.clone(), id.clone(), Ok(None)));
    assert!(said(&dash).contains("has no thread or assistant of that id"), "{}", said(&dash));
    ask(&mut dash);
    dash.done(Done::Found(server.clone(), id.clone(), Ok(Some(Found::Thread))));
    assert_eq!(dash.app.viewer().unwrap().thread_id.as_deref(), Some(UNKNOWN));
    // Who went on meanwhile is not called back.
    dash.keys("x");
    ask(&mut dash);
    dash.keys("<Down>");
    dash.done(Done::Found(server, id, Ok(Some(Found::Thread))));
    assert!(dash.app.viewer().is_none());
}

#[test]
fn addresses_of_consoles_and_servers() {
    let mut dash = demo_like((140, 40));
    dash.feed(Msg::Paste(format!("https://support-bot.us.langgraph.app/threads/{THREAD}/runs/{UNKNOWN}/stream")));
    let joined = StreamTarget::Join { thread: THREAD.into(), run: UNKNOWN.into() };
    assert_eq!(dash.app.viewer().unwrap().target, joined);
    let studio =
        format!("https://smith.langchain.com/studio/?baseUrl=https://triage.us.langgraph.app&threadId={THREAD}");
    dash.feed(Msg::Paste(studio));
    assert_eq!(&*dash.app.viewer().unwrap().server.name, "triage");
    for (address, why) in [
        (
            "http://localhost:2024/threads/01a1fbb7-22f8-715a-974c-92e72c000193",
            "`runtail --url http://localhost:2024/`",
        ),
        (
            "https://eu.smith.langchain.com/o/1/host/deployments/99999999-9999-4999-8999-999999999999",
            "None of the deployments that prod-eu lists",
        ),
        (
            "https://apac.smith.langchain.com/o/1/host/deployments/99999999-9999-4999-8999-999999999999",
            "No profile leads to apac.smith.langchain.com",
        ),
        ("https://smith.langchain.com/settings", "names no deployment, revision, thread or run"),
    ] {
        dash.feed(Msg::Paste(address.into()));
        assert!(said(&dash).contains(why), "{address}: {}", said(&dash));
    }
}

#[test]
fn events_and_times_of_the_stream() {
    let mut dash = demo_like((140, 40));
    say(&mut dash, "#3");
    assert!(said(&dash).contains("No stream is shown"), "{}", said(&dash));
    dash.open_thread();
    dash.capture("agent-events");
    say(&mut dash, "#3");
    assert_eq!(dash.app.viewer().unwrap().anchor(), Some(3));
    say(&mut dash, "view raw");
    assert_eq!(dash.app.viewer().unwrap().view(), View::Raw);
    say(&mut dash, "4000");
    assert!(said(&dash).contains("Event 4000 has not come yet"), "{}", said(&dash));
    let viewer = dash.app.viewer().unwrap();
    let (seq, at) = viewer.tape.iter_from(20).map(|event| (event.seq, event.at)).next().unwrap();
    let whole = at.to_zoned(jiff::tz::TimeZone::UTC).strftime("%H:%M:%S").to_string();
    say(&mut dash, &whole);
    let anchor = dash.app.viewer().unwrap().anchor().unwrap();
    assert!(anchor <= seq && anchor + 10 > seq, "{anchor} is in the second of {seq}");
    dash.capture("aegra-agent-custom");
    let id = dash.app.viewer().unwrap().tape.iter_from(9).find_map(|event| event.id.clone()).unwrap();
    dash.feed(Msg::Paste(id.to_string()));
    let viewer = dash.app.viewer().unwrap();
    assert_eq!(viewer.tape.get(viewer.anchor().unwrap()).unwrap().id.as_deref(), Some(&*id));
    say(&mut dash, "stream 1");
    assert_eq!(dash.app.streams.at(), Some(0));
}

#[test]
fn the_keys_in_force() {
    let text = "[profiles.a]\nagent_server = \"http://localhost:1\"\n[keys]\n\"app.help\" = \"F1\"\n\"app.zoom\" = \"q\"\n\"app.copy\" = \"q\"\n";
    let mut dash = Dash::new(text, (120, 40));
    say(&mut dash, "keys");
    insta::assert_snapshot!("keys_120x40", dash.screen());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_typed_is_offered_or_refused(text in "\\PC{0,30}", word in "(dep|thread|theme|view|stream|wrap|keys|export|tokens) ?\\PC{0,12}") {
        let mut dash = demo_like((80, 24));
        dash.open_server();
        for line in [text, word] {
            say(&mut dash, &line);
            dash.screen();
            dash.keys("<Esc>");
        }
    }
}
