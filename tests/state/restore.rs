//! The tabs of the last session.

use runtail_api::{ApiError, Kind, Listing, Place};
use runtail_core::model::{Question, ThreadStatus};
use runtail_stream::{Item, Loaded, Record, Seq, SnapshotPart, ThreadSnapshot};
use runtail_testkit::dash::{Dash, listed};
use runtail_tui::app::Pane;
use runtail_tui::features::stream::views::View;
use runtail_tui::session::msg::{Effect, Msg, SubscriptionEvent, SubscriptionId};
use runtail_tui::session::saved_tabs::{
    SavedPlace, SavedServer, SavedTab, SavedTabs, Scope, TabsFile,
};
use serde_json::json;

const CONFIG: &str = "[profiles.local]\nagent_server = { bot = \"http://127.0.0.1:2024\" }\n\
                      [profiles.us]\nregion = \"us\"\napi_key_env = \"K\"\n[ui]\nrestore = true\n";

fn server(profile: &str, name: &str) -> SavedServer {
    SavedServer {
        profile: Some(profile.into()),
        server: name.into(),
    }
}

fn tab(profile: &str, name: &str, thread: &str) -> SavedTab {
    SavedTab {
        server: server(profile, name),
        thread: thread.into(),
        view: "messages".into(),
        ..SavedTab::default()
    }
}

fn file(scope: Scope) -> TabsFile {
    TabsFile {
        path: "/nowhere/tabs.json".into(),
        scope,
    }
}

fn started(config: &str, scope: Scope, saved: SavedTabs) -> (Dash, Vec<Effect>) {
    let mut dash = Dash::new(config, (140, 40));
    let effects = dash.restore(file(scope), Ok(Some(saved)));
    (dash, effects)
}

fn list_of_us(dash: &mut Dash, names: &[&str]) {
    let deployments = names.iter().map(|name| {
        json!({"id": format!("id-{name}"), "name": name, "status": "READY", "url": format!("https://{name}.us.langgraph.app"),
               "source": "github", "source_config": {}})
    });
    let deployments = serde_json::from_value(deployments.collect()).unwrap();
    dash.answer(
        |key| matches!(key, SubscriptionId::Deployments(of) if &**of == "us"),
        listed(deployments),
    );
}

fn threads(dash: &Dash) -> Vec<String> {
    dash.tabs()
        .into_iter()
        .filter_map(|tab| tab.thread)
        .collect()
}

/// The threads whose streams are read.
fn read(dash: &Dash) -> Vec<String> {
    let of = |key: &SubscriptionId| match key {
        SubscriptionId::Stream(id) => dash.tabs().into_iter().find(|tab| tab.id == *id),
        _ => None,
    };
    dash.subscriptions()
        .iter()
        .filter_map(|sub| of(&sub.key)?.thread)
        .collect()
}

fn stream_fails(dash: &mut Dash, thread: &str, kind: Kind) {
    let mut tabs = dash.tabs().into_iter();
    let id = tabs
        .find(|tab| tab.thread.as_deref() == Some(thread))
        .unwrap()
        .id;
    let error = ApiError {
        kind,
        at: Place::default(),
        detail: "no".into(),
        hint: None,
    };
    let event = SubscriptionEvent::Items(vec![Item::Failed(Box::new(error))]);
    dash.answer(|key| *key == SubscriptionId::Stream(id), event);
}

fn notices(dash: &Dash) -> Vec<String> {
    dash.notices().into_iter().map(str::to_string).collect()
}

#[test]
fn tabs_come_back_and_only_reading_starts() {
    let mut split = tab("us", "support-bot", "t-us");
    (split.view, split.second_view) = ("state".into(), Some("timeline".into()));
    let same = SavedTab {
        second_view: Some("messages".into()),
        ..tab("local", "bot", "t-same")
    };
    let (dash, _) = started(
        CONFIG,
        Scope::Profiles,
        SavedTabs::new(vec![same.clone(), same], None, SavedPlace::Tab(0)),
    );
    assert_eq!(
        (threads(&dash).len(), dash.page().beside),
        (1, None),
        "a view has no place beside itself"
    );
    let run = SavedTab {
        run: Some("r-1".into()),
        ..tab("local", "bot", "t-local")
    };
    let saved = SavedTabs::new(
        vec![split, run],
        Some(server("us", "support-bot")),
        SavedPlace::Tab(1),
    );
    let (mut dash, effects) = started(CONFIG, Scope::Profiles, saved.clone());
    assert!(
        effects
            .iter()
            .all(|effect| matches!(effect, Effect::FetchInfo(_))),
        "{effects:?}"
    );
    // The current tab is shown, and the other one opens once the list of its profile has its server.
    assert_eq!(threads(&dash), ["t-local"]);
    assert_eq!((dash.tab(), dash.focus()), (Some(0), Pane::Stream));
    insta::assert_snapshot!("restored_140x40", dash.screen());
    // A key is for the stream that is shown, and a tab that opens behind it doesn't matter.
    dash.keys("2");
    list_of_us(&mut dash, &["support-bot", "triage"]);
    assert_eq!(read(&dash), ["t-local", "t-us"]);
    assert_eq!(dash.view(), View::Steps);
    assert_eq!(dash.tab(), Some(0));
    let tabs = dash.tabs();
    assert_eq!(
        (tabs[1].view, tabs[1].beside),
        (View::State, Some(View::Timeline))
    );
    assert_eq!(&*tabs[1].server.url, "https://support-bot.us.langgraph.app");
    assert!(tabs.iter().all(|tab| !tab.target.is_write()));
    assert_eq!(notices(&dash), [] as [&str; 0]);
    // What was restored is what is saved, before and after the list arrives.
    let tabs = saved.tabs.iter().rev().cloned().collect();
    let first = SavedTabs::new(tabs, saved.lists, SavedPlace::Tab(0));
    let (mut dash, _) = started(CONFIG, Scope::Profiles, first);
    assert_eq!(dash.tabs_at_end(), None);
    list_of_us(&mut dash, &["support-bot"]);
    assert_eq!(dash.tabs_at_end(), None);
}

#[test]
fn restored_pages_of_quiet_servers_are_read_once_the_user_shows_them() {
    let config = format!(
        "[profiles.off]\npoll = {{ c = false }}\nagent_server = {{ c = \"http://127.0.0.1:1\", d = \"http://127.0.0.1:2\" }}\n{CONFIG}"
    );
    let tabs = vec![
        tab("us", "night-bot", "t-1"),
        tab("us", "night-bot", "t-2"),
        tab("off", "c", "t-3"),
        tab("off", "d", "t-4"),
    ];
    let saved = SavedTabs::new(tabs, Some(server("us", "night-bot")), SavedPlace::Tab(0));
    let (mut dash, effects) = started(&config, Scope::Profiles, saved);
    let infos = |effects: &[Effect]| -> Vec<String> {
        let name = |effect: &Effect| {
            if let Effect::FetchInfo(of) = effect {
                Some(of.name.to_string())
            } else {
                None
            }
        };
        effects.iter().filter_map(name).collect()
    };
    assert_eq!(
        (infos(&effects), read(&dash)),
        (vec!["d".to_string()], vec!["t-4".to_string()])
    );
    assert_eq!(dash.focus(), Pane::Deployments);
    let list = json!([{"id": "d1", "name": "night-bot", "status": "READY", "url": "https://night-bot.us.langgraph.app",
                       "source": "github", "source_config": {"deployment_type": "serverless"}}]);
    let event = listed(serde_json::from_value(list).unwrap());
    dash.answer(
        |key| matches!(key, SubscriptionId::Deployments(of) if &**of == "us"),
        event,
    );
    assert_eq!(read(&dash), ["t-4"]);
    assert!(
        dash.words()
            .contains("Not connected, because it would wake a serverless deployment. r connects."),
        "{}",
        dash.words()
    );
    assert!(
        dash.screen().contains("○ not connected")
            && !dash.screen().contains("connecting")
            && !dash.screen().to_lowercase().contains("loading"),
        "{}",
        dash.screen()
    );
    stream_fails(&mut dash, "t-4", Kind::Unauthorized);
    assert_eq!(
        notices(&dash),
        ["Couldn't restore us › night-bot: asked only when opened."]
    );
    // The key connects the shown page, and showing another one is asking, too.
    assert_eq!(infos(&dash.keys("r")), ["d", "night-bot"]);
    assert_eq!(read(&dash), ["t-4", "t-1"]);
    dash.keys("}");
    assert_eq!(read(&dash), ["t-4", "t-1", "t-2"]);
    assert!(
        dash.words()
            .contains("This page keeps a serverless deployment awake."),
        "{}",
        dash.words()
    );
    assert!(infos(&dash.keys("{{{")).contains(&"c".into()));
    assert_eq!(read(&dash).len(), 4);
}

#[test]
fn what_cannot_be_restored_is_said_once() {
    let tabs = vec![
        tab("local", "bot", "t-1"),
        tab("local", "old-bot", "t-2"),
        tab("gone", "bot", "t-3"),
        tab("us", "deleted", "t-4"),
        tab("us", "support-bot", "t-5"),
    ];
    let saved = SavedTabs::new(tabs, None, SavedPlace::Deployments);
    let (mut dash, _) = started(CONFIG, Scope::Profiles, saved);
    assert_eq!(threads(&dash), ["t-1"]);
    list_of_us(&mut dash, &["support-bot"]);
    stream_fails(&mut dash, "t-1", Kind::NotFound);
    assert_eq!(
        notices(&dash),
        [] as [&str; 0],
        "one thread is still being loaded"
    );
    // A server that can't be reached says nothing about the thread.
    stream_fails(&mut dash, "t-5", Kind::Unauthorized);
    assert_eq!(threads(&dash), ["t-5"]);
    insta::assert_snapshot!("restore_problems", notices(&dash).join("\n"));
    assert_eq!(dash.notices().len(), 1);
    let saved = dash.tabs_at_end().unwrap();
    assert_eq!(saved.tabs, [tab("us", "support-bot", "t-5")]);
}

#[test]
fn a_missing_thread_is_named_although_its_deployment_had_no_address_at_first() {
    let saved = SavedTabs::new(
        vec![tab("us", "support-bot", "t-gone")],
        None,
        SavedPlace::Deployments,
    );
    let (mut dash, _) = started(CONFIG, Scope::Profiles, saved);
    let unready =
        json!([{"id": "id-support-bot", "name": "support-bot", "status": "AWAITING_DATABASE"}]);
    let unready = listed(serde_json::from_value(unready).unwrap());
    dash.answer(
        |key| matches!(key, SubscriptionId::Deployments(of) if &**of == "us"),
        unready,
    );
    list_of_us(&mut dash, &["support-bot"]);
    stream_fails(&mut dash, "t-gone", Kind::NotFound);
    assert!(
        dash.words().contains("Couldn't restore us › support-bot"),
        "{}",
        dash.words()
    );
}

#[test]
fn a_missing_thread_is_named_although_the_answer_for_its_runs_comes_first() {
    let saved = SavedTabs::new(
        vec![tab("us", "support-bot", "t-gone")],
        None,
        SavedPlace::Deployments,
    );
    let (mut dash, _) = started(CONFIG, Scope::Profiles, saved);
    list_of_us(&mut dash, &["support-bot"]);
    let id = dash.tabs()[0].id;
    for part in [SnapshotPart::Runs, SnapshotPart::Thread] {
        let snapshot = ThreadSnapshot {
            at: dash.now,
            parts: [(part, Loaded::Failed("404: no such thread".into()))].into(),
        };
        let record = Record::Event(snapshot.into_event(Seq(1)));
        let event = SubscriptionEvent::Items(vec![Item::Record(record)]);
        dash.answer(|key| *key == SubscriptionId::Stream(id), event);
    }
    assert!(
        notices(&dash)
            .concat()
            .contains("Couldn't restore us › support-bot"),
        "{:?}",
        notices(&dash)
    );
    assert!(!dash.has_stream());
}

#[test]
fn the_shown_tab_stays_when_it_cannot_be_restored() {
    let saved = SavedTabs::new(
        vec![tab("us", "support-bot", "t-2")],
        None,
        SavedPlace::Tab(0),
    );
    let (mut dash, _) = started(CONFIG, Scope::Profiles, saved);
    list_of_us(&mut dash, &["support-bot"]);
    stream_fails(&mut dash, "t-2", Kind::NotFound);
    // Its page says why, and a key still meets it.
    assert_eq!((dash.focus(), dash.has_stream()), (Pane::Stream, true));
    assert!(
        notices(&dash).concat().contains("Couldn't restore us › "),
        "{:?}",
        notices(&dash)
    );
    dash.keys("3");
    assert_eq!(dash.view(), View::State);
    dash.keys("q");
    assert_eq!(
        (!dash.has_stream(), dash.focus()),
        (true, Pane::Deployments)
    );
}

#[test]
fn what_the_last_session_showed_is_shown_unless_the_user_has_done_something() {
    let tabs = || vec![tab("us", "support-bot", "t-1")];
    let lists = || Some(server("us", "support-bot"));
    for place in [SavedPlace::Tab(0), SavedPlace::Lists] {
        for key in ["", "j"] {
            let saved = SavedTabs::new(tabs(), lists(), place);
            let (mut dash, _) = started(CONFIG, Scope::Profiles, saved.clone());
            dash.keys(key);
            assert_eq!(dash.focus(), Pane::Deployments);
            list_of_us(&mut dash, &["support-bot"]);
            let at = (place == SavedPlace::Tab(0)).then_some(0);
            let expected = match key {
                "" => (Pane::Stream, at),
                _ => (Pane::Deployments, None),
            };
            assert_eq!((dash.focus(), dash.tab()), expected, "{place:?} {key:?}");
            assert_eq!(threads(&dash), ["t-1"]);
            assert_eq!(dash.tabs_at_end().is_none(), key.is_empty());
        }
    }
    // The lists are gone, and nothing else is shown instead.
    let saved = SavedTabs::new(Vec::new(), Some(server("us", "deleted")), SavedPlace::Lists);
    let (mut dash, _) = started(CONFIG, Scope::Profiles, saved);
    list_of_us(&mut dash, &["support-bot"]);
    assert_eq!(
        (notices(&dash), dash.focus()),
        (
            vec!["Couldn't restore us › deleted: deleted is no longer listed.".to_string()],
            Pane::Deployments
        )
    );
}

#[test]
fn a_profile_that_cannot_be_listed_keeps_its_tabs() {
    let saved = SavedTabs::new(
        vec![tab("us", "support-bot", "t-1")],
        None,
        SavedPlace::Deployments,
    );
    let (mut dash, _) = started(CONFIG, Scope::Profiles, saved.clone());
    dash.refuse("us");
    assert!(
        dash.tabs_at_end()
            .is_none_or(|tabs| tabs.tabs == saved.tabs)
    );
    // An incomplete list may lack the deployment. It doesn't delay the report about others.
    let tabs = vec![tab("us", "support-bot", "t-1"), tab("gone", "bot", "t-0")];
    let saved = SavedTabs::new(tabs, None, SavedPlace::Deployments);
    let listing = Listing {
        items: Vec::new(),
        incomplete: Some(dash.error("us", Kind::Network)),
        unread: Default::default(),
    };
    let event = match listed(Vec::new()) {
        SubscriptionEvent::Deployments {
            is_truncated,
            skew,
            took,
            next,
            ..
        } => SubscriptionEvent::Deployments {
            result: Ok(listing),
            is_truncated,
            skew,
            took,
            next,
        },
        _ => unreachable!(),
    };
    let (mut dash, _) = started(CONFIG, Scope::Profiles, saved);
    dash.answer(|key| matches!(key, SubscriptionId::Deployments(_)), event);
    assert_eq!(threads(&dash), [] as [&str; 0]);
    let gone = notices(&dash)
        .into_iter()
        .find(|text| text.starts_with("Couldn't restore"));
    assert_eq!(
        gone.as_deref(),
        Some("Couldn't restore gone › bot › thread t-0: no such profile.")
    );
    // Once it is listed, the tab is loaded.
    list_of_us(&mut dash, &["support-bot"]);
    assert_eq!(read(&dash), ["t-1"]);
}

#[test]
fn tabs_of_profiles_that_are_not_in_use_are_kept() {
    let tabs = vec![
        tab("us", "support-bot", "t-us"),
        tab("local", "bot", "t-local"),
    ];
    let saved = SavedTabs::new(tabs.clone(), None, SavedPlace::Tab(0));
    let config = format!("default_profiles = [\"local\"]\n{CONFIG}");
    let (mut dash, _) = started(&config, Scope::Profiles, saved.clone());
    assert_eq!(
        (threads(&dash), notices(&dash)),
        (vec!["t-local".to_string()], Vec::new())
    );
    let again = dash.tabs_at_end().unwrap();
    assert_eq!(again.tabs, [tabs[1].clone(), tabs[0].clone()]);
    // `--deployment` and `--url` have one server, and leave all others alone.
    let one = "[profiles.local]\nagent_server = { bot = \"http://127.0.0.1:2024\" }\n[ui]\nrestore = true\n";
    let (dash, _) = started(one, Scope::OneServer, saved.clone());
    assert_eq!(
        (threads(&dash), notices(&dash)),
        (vec!["t-local".to_string()], Vec::new())
    );
    let (mut dash, _) = started(one, Scope::Address, saved);
    assert_eq!((threads(&dash), notices(&dash)), (Vec::new(), Vec::new()));
    dash.tail("t-url");
    dash.keys("||");
    let with_address = dash.tabs_at_end().unwrap();
    let of_address = SavedServer {
        profile: None,
        server: "http://127.0.0.1:2024/".into(),
    };
    assert_eq!(with_address.tabs[0].server, of_address);
    let (dash, _) = started(one, Scope::Address, with_address);
    assert_eq!(threads(&dash), ["t-url"]);
}

#[test]
fn open_tabs_are_saved_when_they_change_and_not_without_the_setting() {
    let (mut dash, _) = started(CONFIG, Scope::Profiles, SavedTabs::default());
    let saves = |effects: Vec<Effect>| {
        let tabs = effects.into_iter().filter_map(|effect| match effect {
            Effect::SaveTabs(_, _, tabs) => Some(*tabs),
            _ => None,
        });
        tabs.collect::<Vec<SavedTabs>>()
    };
    let bot = dash.selected_server();
    dash.open_server_of(bot.clone());
    dash.tail("t-1");
    // A stream that is only looked at is not kept.
    dash.later(3_000);
    let saved = saves(dash.keys("2"));
    assert_eq!(
        (saved[0].tabs.len(), saved[0].lists.as_ref()),
        (0, Some(&server("local", "bot")))
    );
    // The tabs are compared every few seconds, and after the last key.
    assert_eq!(saves(dash.keys("||")), []);
    assert!(
        dash.next_tick()
            .is_some_and(|after| after <= std::time::Duration::from_secs(2))
    );
    dash.later(3_000);
    let saved = saves(dash.feed(Msg::Tick));
    assert_eq!(
        saved[0].tabs,
        [SavedTab {
            view: "steps".into(),
            ..tab("local", "bot", "t-1")
        }]
    );
    assert_eq!(saved[0].current, SavedPlace::Tab(0));
    dash.later(3_000);
    assert_eq!(saves(dash.keys("j")), [], "nothing changed");
    // The dashboard may end before the task that writes them has run.
    assert_eq!(dash.tabs_at_end().as_ref(), saved.first());
    // A failure is reported once.
    for _ in 0..2 {
        dash.done(runtail_tui::session::msg::EffectResult::TabsSaved(Err(
            "the disk is full".into(),
        )));
    }
    assert_eq!(
        notices(&dash),
        ["Couldn't save the open tabs: the disk is full"]
    );
    let off = CONFIG.replace("restore = true", "restore = false");
    let (mut dash, _) = started(&off, Scope::Profiles, SavedTabs::default());
    dash.open_server_of(bot);
    dash.later(3_000);
    assert_eq!(saves(dash.keys("2")), []);
    assert_eq!(dash.tabs_at_end(), None);
}

#[test]
fn a_damaged_file_is_a_warning() {
    let mut dash = Dash::new(CONFIG, (140, 40));
    dash.restore(
        file(Scope::Profiles),
        Err("line 3, column 1: not what Runtail writes".into()),
    );
    let notices = notices(&dash);
    let expected = "Couldn't restore the last tabs: line 3, column 1: not what Runtail writes\n  /nowhere/tabs.json\n";
    assert!(
        notices.len() == 1 && notices[0].starts_with(expected),
        "{notices:?}"
    );
    assert!(notices[0].contains("Delete the file"), "{notices:?}");
    assert_eq!(dash.tabs_at_end(), None, "it is not overwritten");
    assert!(!dash.is_error_noticed());
}

#[test]
fn more_tabs_than_fit_are_named() {
    let tabs: Vec<SavedTab> = (0..11)
        .map(|n| tab("local", "bot", &format!("t-{n}")))
        .collect();
    let (mut dash, _) = started(
        CONFIG,
        Scope::Profiles,
        SavedTabs::new(tabs, None, SavedPlace::Tab(10)),
    );
    assert_eq!(dash.tabs().len(), 9);
    for n in 0..9 {
        stream_fails(&mut dash, &format!("t-{n}"), Kind::Forbidden);
    }
    let said = notices(&dash).concat();
    assert!(
        said.starts_with("Couldn't restore 2 tabs.") && said.contains("9 streams are open"),
        "{said}"
    );
}

/// Going back from a restored stream selects its thread, which must not freeze the order before the statuses are known.
#[test]
fn a_list_behind_a_restored_stream_is_in_order_once_the_statuses_are_known() {
    let copy = "01a1fbb8-1f78-73e0-8673-6126729aa3fd";
    let saved = SavedTabs::new(
        vec![tab("local", "bot", copy)],
        Some(server("local", "bot")),
        SavedPlace::Tab(0),
    );
    let (mut dash, _) = started(CONFIG, Scope::Profiles, saved);
    dash.keys("q");
    dash.threads();
    dash.screen();
    let facts = dash.facts(copy);
    let of = runtail_tui::session::msg::WantedStatus {
        thread: copy.into(),
        facts,
    };
    // Its own record calls a copy that waits idle.
    let question = Question {
        value: json!("Send it?"),
        ..Question::default()
    };
    let status = Ok(ThreadStatus::Waiting {
        since: None,
        questions: vec![question],
    });
    let event = SubscriptionEvent::ThreadStatus { of, status };
    dash.answer(
        |key| matches!(key, SubscriptionId::ThreadStatuses(_)),
        event,
    );
    dash.screen();
    assert_eq!(
        dash.shown_threads().iter().position(|id| id == copy),
        Some(2),
        "below the failed and the other waiting one"
    );
    assert_eq!(dash.selected_thread().as_deref(), Some(copy));
}

#[test]
fn a_page_in_the_background_gives_way_and_is_read_again_when_shown() {
    let saved = SavedTabs::new(
        ["t-1", "t-2"].map(|id| tab("local", "bot", id)).into(),
        None,
        SavedPlace::Tab(1),
    );
    let (mut dash, _) = started(CONFIG, Scope::Profiles, saved);
    dash.relayout();
    assert_eq!(read(&dash), ["t-1", "t-2"]);
    dash.keep_bytes_in_total(100_000);
    let large = || {
        let state = json!({"values": {"text": "x".repeat(200_000)}});
        vec![(SnapshotPart::State, state)]
    };
    // The newest event of a log is never evicted, so the whole page gives way.
    dash.snapshot(large());
    dash.relayout();
    assert_eq!(read(&dash), ["t-2"]);
    dash.reads("Open pages exceed 100.0 kB ([limits] total). Reloaded when shown: ");
    dash.keys("{");
    dash.relayout();
    assert_eq!(read(&dash), ["t-1", "t-2"]);
    // The shown page stays, whatever it takes.
    dash.snapshot(large());
    dash.relayout();
    assert!(read(&dash).contains(&"t-1".to_string()));
}
