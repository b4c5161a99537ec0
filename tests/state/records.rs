//! The pages of versions, crons and the store: messages and keys in, text and effects out.

use runtail_api::{Kind, PlanError, ResourceIntent};
use runtail_core::model::{Consent, Note, Preview};
use runtail_testkit::dash::{Dash, listing};
use runtail_testkit::made;
use runtail_testkit::says::Says;
use runtail_tui::session::msg::{Applied, Described, Effect, EffectResult, Proposal, Sent};
use runtail_tui::session::record_list::RecordQuery;
use serde_json::{Value, json};

const CRON: &str = "01a20131-4b8d-7343-b7cc-753049e47444";
const ASSISTANT: &str = "0d3403f7-5601-53d2-b2f6-e9cafe096781";

pub(crate) fn dash(size: (u16, u16)) -> Dash {
    let toml = "[profiles.local]\nagent_server = \"http://127.0.0.1:2024\"\n";
    let mut dash = Dash::new(toml, size);
    dash.open_server();
    dash
}

/// Returns the requests for records.
#[track_caller]
fn asked(effects: &[Effect]) -> Vec<(u64, RecordQuery)> {
    let read = |effect: &Effect| match effect {
        Effect::ListRecords(number, _, query) => (*number, query.clone()),
        other => panic!("{other:?}"),
    };
    effects.iter().map(read).collect()
}

fn answer(dash: &mut Dash, (number, query): (u64, RecordQuery), rows: Value) {
    let rows = rows.as_array().unwrap().clone();
    dash.done(EffectResult::RecordsListed(
        number,
        query,
        Ok(listing(rows)),
    ));
}

pub(crate) fn versions(dash: &mut Dash) {
    let effects = dash.keys("2<Down>v");
    let asked = asked(&effects);
    assert_eq!(asked[0].1, RecordQuery::Versions(ASSISTANT.into()));
    let row = |version: u64, tone: &str, is_current: bool| {
        json!({"assistant_id": ASSISTANT, "version": version, "name": "deep research", "graph_id": "research",
            "config": {"configurable": {"tone": tone}}, "context": {"tone": tone}, "metadata": {},
            "created_at": "2026-11-20T14:00:00Z", "is_current": is_current})
    };
    let rows = json!([
        row(3, "formal", true),
        row(2, "friendly\u{1b}[31m", false),
        row(1, "neutral", false)
    ]);
    answer(dash, asked[0].clone(), rows);
}

pub(crate) fn crons(dash: &mut Dash) {
    let effects = dash.keys(":crons<Enter>");
    let asked = asked(&effects);
    let rows = json!([
        {"cron_id": CRON, "assistant_id": ASSISTANT, "thread_id": null, "schedule": "0 9 * * 1", "timezone": "Europe/Warsaw",
         "enabled": true, "next_run_date": "2026-11-23T08:00:00+00:00", "end_time": null, "on_run_completed": "keep",
         "metadata": {"owner": "lea"}, "payload": {"input": {"n": 1}, "config": {"configurable": {"cron_id": CRON}}}},
        {"cron_id": "01a20131-4b95-70d4-b92d-8be313ebc612", "assistant_id": ASSISTANT, "thread_id": "01a20131-4b97-77da-8951-62a75afe8108",
         "schedule": "*/5 * * * *", "timezone": null, "enabled": false, "next_run_date": "2026-11-22T03:00:00+00:00", "payload": {}},
    ]);
    answer(dash, asked[0].clone(), rows);
}

pub(crate) fn store(dash: &mut Dash) {
    let effects = dash.keys(":store<Enter>");
    let asked = asked(&effects);
    assert_eq!(asked[0].1, RecordQuery::Namespaces(Vec::new()));
    answer(
        dash,
        asked[0].clone(),
        json!([["memories", "ana"], ["memories", "bo"], ["policies"]]),
    );
}

/// Opens a namespace with items.
fn ana(dash: &mut Dash) {
    assert_eq!(
        asked(&dash.keys("<Enter>"))[0].1,
        RecordQuery::Items(vec!["memories".into()])
    );
    let effects = dash.keys("<Down><Enter>");
    // The row of the first namespace says that it is loading.
    let effects = if effects.is_empty() {
        dash.keys("<Down><Enter>")
    } else {
        effects
    };
    let asked = asked(&effects);
    let namespace = vec!["memories".to_string(), "ana".to_string()];
    assert_eq!(asked[0].1, RecordQuery::Items(namespace));
    let item = |key: &str, value: Value| json!({"namespace": ["memories", "ana"], "key": key, "value": value, "updated_at": "2026-11-21T13:00:00Z"});
    let rows = json!([
        item("language", json!({"text": "Polish", "confidence": 0.92})),
        item("raw", json!("only a text\u{1b}[31m")),
        item("list", json!([1, null, "x"])),
        {"namespace": ["memories", "ana", "deeper"], "key": "other", "value": {}},
    ]);
    answer(dash, asked[0].clone(), rows);
}

fn preview(title: &str) -> Box<Preview> {
    let request = made::request("POST", "http://h/x");
    Box::new(Preview {
        notes: vec![Note::warning("`context` is probably not restored.")],
        ..made::preview(title, "local", request, Consent::Key)
    })
}

/// Returns the number and the intent of the change that is being planned.
#[track_caller]
fn planned(effects: &[Effect]) -> (u64, ResourceIntent) {
    match effects {
        [Effect::Plan(number, _, proposal)] => match &**proposal {
            Proposal::Resource(_, intent) => (*number, intent.clone()),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_pages_match_the_snapshots() {
    for size in [(140, 40), (80, 24)] {
        let name = |page: &str| format!("records_{page}_{}x{}", size.0, size.1);
        let mut dash = dash(size);
        versions(&mut dash);
        insta::assert_snapshot!(name("versions"), dash.screen());
        dash.keys("<Esc>");
        crons(&mut dash);
        insta::assert_snapshot!(name("crons"), dash.screen());
        dash.keys("<Esc>");
        store(&mut dash);
        ana(&mut dash);
        insta::assert_snapshot!(name("store"), dash.screen());
        assert!(!dash.screen().contains('\u{1b}'));
    }
}

#[test]
fn a_version_that_was_restored_in_part_says_so() {
    let mut dash = dash((140, 40));
    let effects = dash.keys("2<Down>v");
    let version = json!({"version": 1, "name": "deep research", "context": {"tone": "neutral"}, "is_current": true,
        "differs": ["context"]});
    answer(&mut dash, asked(&effects)[0].clone(), json!([version]));
    dash.shows("current, except context");
}

#[test]
fn two_versions_are_compared() {
    let mut dash = dash((120, 30));
    versions(&mut dash);
    dash.keys("=");
    dash.shows("Mark another version");
    // The third version is the current one; without a mark it is compared with that.
    dash.keys("<Down><Down>=");
    let title = "Compare versions   A deep research, version 1   B deep research, version 3";
    dash.shows(title);
    dash.keys("<Esc><Space><Up>=");
    let screen = dash.screen();
    dash.shows("A deep research, version 1   B deep research, version 2");
    assert!(!screen.contains('\u{1b}') && !screen.contains("is_current"));
    insta::assert_snapshot!("compare_versions", screen);
    dash.keys("o<Enter>");
    dash.shows("tone: neutral");
}

#[test]
fn a_version_is_restored_after_a_preview() {
    let mut dash = dash((120, 30));
    versions(&mut dash);
    let (number, intent) = planned(&dash.keys("<Down><Down>z"));
    assert_eq!(
        intent,
        ResourceIntent::RestoreVersion {
            assistant: ASSISTANT.into(),
            version: 1
        }
    );
    dash.done(EffectResult::Planned(
        number,
        Ok((preview("Restore version 1 of deep research"), None)),
    ));
    dash.shows("`context` is probably not restored.");
    assert_eq!(dash.keys("<Enter>"), [], "only Ctrl-S sends");
    let effects = dash.keys("<ctrl-s>");
    assert!(
        matches!(effects.as_slice(), [Effect::Send(sent, ..)] if *sent == number),
        "{effects:?}"
    );
    assert_eq!(dash.keys("<ctrl-s>"), [], "it is sent once");
    let said =
        "Restore version 1 of deep research: done. But not restored: context is {}.".to_string();
    let effects = dash.done(EffectResult::Sent(
        number,
        Sent::Record(Ok(Applied {
            said,
            ..Applied::default()
        })),
    ));
    dash.shows("But not restored: context");
    assert!(
        matches!(asked(&effects).as_slice(), [(_, RecordQuery::Versions(_))]),
        "the list is read again: {effects:?}"
    );
}

#[test]
fn schemas_are_opened() {
    let mut dash = dash((120, 30));
    versions(&mut dash);
    let effects = dash.keys("d");
    let [Effect::Describe(what @ Described::Schemas(_, id))] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    assert_eq!(&**id, ASSISTANT);
    dash.done(EffectResult::Described(
        what.clone(),
        Ok(r#"{"state_schema": {"type": "object"}}"#.into()),
    ));
    dash.shows("state_schema");
    dash.keys("<Esc>");
    let [Effect::Describe(what)] = &dash.keys("d")[..] else {
        panic!("{}", dash.screen())
    };
    let error = made::error(Kind::NotFound, "no such assistant");
    dash.done(EffectResult::Described(what.clone(), Err(error)));
    // It may never have existed.
    dash.shows("was not found");
}

#[test]
fn a_cron_is_paused_edited_and_deleted() {
    let mut dash = dash((120, 30));
    crons(&mut dash);
    assert_eq!(
        planned(&dash.keys("<ctrl-p>")).1,
        ResourceIntent::EnableCron {
            cron: CRON.into(),
            enabled: false
        }
    );
    dash.keys("<Esc>");
    assert_eq!(
        planned(&dash.keys("D")).1,
        ResourceIntent::DeleteCron { cron: CRON.into() }
    );
    dash.keys("<Esc>u");
    dash.shows("Europe/Warsaw");
    dash.lacks("cron_id");
    assert_eq!(dash.keys("<ctrl-r>"), []);
    dash.shows("No changes.");
    // The document is edited in an external editor; only the changed setting is sent.
    let edited = r#"{"schedule": "0 10 * * 1", "timezone": "Europe/Warsaw", "end_time": null, "input": {"n": 1},
        "metadata": {"owner": "lea"}, "config": {"configurable": {}}, "on_run_completed": "keep", "enabled": true}"#;
    dash.feed(runtail_tui::session::msg::Msg::Edited(Ok(edited.into())));
    let (_, intent) = planned(&dash.keys("<ctrl-r>"));
    assert_eq!(
        intent,
        ResourceIntent::UpdateCron {
            cron: CRON.into(),
            fields: json!({"schedule": "0 10 * * 1"})
        }
    );
    dash.keys("<Esc><Esc>");
    dash.keys("<Down>");
    assert!(
        matches!(
            planned(&dash.keys("<ctrl-p>")).1,
            ResourceIntent::EnableCron { enabled: true, .. }
        ),
        "a paused one is resumed"
    );
}

#[test]
fn an_item_is_edited_from_the_value_that_was_shown() {
    let mut dash = dash((120, 30));
    store(&mut dash);
    ana(&mut dash);
    dash.keys("<Down>u");
    dash.shows("Replaces the whole value.");
    dash.feed(runtail_tui::session::msg::Msg::Edited(Ok("[1]".into())));
    dash.shows("must be a JSON object");
    assert_eq!(dash.keys("<ctrl-r>"), [], "an invalid document is not sent");
    dash.feed(runtail_tui::session::msg::Msg::Edited(Ok(
        r#"{"text": "English"}"#.into(),
    )));
    let (number, intent) = planned(&dash.keys("<ctrl-r>"));
    let edited_from = Some(json!({"text": "Polish", "confidence": 0.92}));
    let (namespace, key) = (
        vec!["memories".to_string(), "ana".to_string()],
        "language".to_string(),
    );
    let value = json!({"text": "English"});
    assert_eq!(
        intent,
        ResourceIntent::PutItem {
            namespace: namespace.clone(),
            key: key.clone(),
            value,
            edited_from
        }
    );
    let why = "The item has changed since it was opened for editing.".to_string();
    dash.done(EffectResult::Planned(number, Err(PlanError::Unfit(why))));
    dash.shows("has changed since it was opened");
    dash.keys("<Esc><Esc>");
    assert_eq!(
        planned(&dash.keys("D")).1,
        ResourceIntent::DeleteItem { namespace, key }
    );
}

#[test]
fn values_that_are_no_objects_are_shown_as_they_are() {
    let mut dash = dash((120, 30));
    store(&mut dash);
    ana(&mut dash);
    dash.shows(["only a text", r#"[1,null,"x"]"#]);
    // An item of a deeper namespace is not listed here.
    dash.lacks("other");
}

#[test]
fn a_server_without_crons_says_so() {
    let mut dash = dash((120, 30));
    let effects = dash.keys(":crons<Enter>");
    let (number, query) = asked(&effects).remove(0);
    let error = made::error(
        Kind::NotOffered,
        "this server doesn't offer crons (404: Not Found)",
    );
    dash.done(EffectResult::RecordsListed(number, query, Err(error)));
    let screen = dash.screen();
    dash.shows("this server doesn't offer crons");
    dash.lacks("retry");
    let footer = screen.trim_end().lines().last().unwrap_or_default();
    footer.has("Esc back");
    footer.lacks(["create", "pause"]);
}

#[test]
fn late_responses_to_an_older_request_are_ignored() {
    let mut dash = dash((120, 30));
    let effects = dash.keys(":crons<Enter>");
    let old = asked(&effects).remove(0);
    let effects = dash.keys("r");
    let new = asked(&effects).remove(0);
    answer(
        &mut dash,
        old,
        json!([{"cron_id": CRON, "schedule": "1 1 1 1 1"}]),
    );
    dash.lacks("1 1 1 1 1");
    answer(
        &mut dash,
        new,
        json!([{"cron_id": CRON, "schedule": "2 2 2 2 2"}]),
    );
    dash.shows("2 2 2 2 2");
}

#[test]
fn the_commands_open_the_selected_deployment() {
    let mut dash = runtail_testkit::dash::demo_like((120, 30));
    dash.open_server();
    let open = dash.server();
    let server_of = |effects: &[Effect]| match effects {
        [Effect::ListRecords(_, server, RecordQuery::Crons)] => server.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(server_of(&dash.keys(":crons<Enter>")), open);
    dash.keys("<Esc>:deployments<Enter><Down>");
    assert_ne!(server_of(&dash.keys(":crons<Enter>")), open);
}

#[test]
fn without_a_server_the_commands_say_what_to_do() {
    let mut dash = Dash::new(
        "[profiles.prod-us]\nregion = \"us\"\napi_key_env = \"K\"\n",
        (120, 30),
    );
    assert_eq!(dash.keys(":crons<Enter>"), []);
    dash.shows("Select a deployment that has an agent server.");
}

#[test]
fn rows_that_cannot_be_read_are_named_on_their_page() {
    let listed = |list: &'static str, rows: Value| {
        let mut unread = runtail_api::UnreadRows::of(list);
        let rows = rows.as_array().unwrap().clone();
        assert_eq!(
            unread.keep(Err::<(), _>("a row is not a record: \u{1b}[31m7")),
            None
        );
        Ok(runtail_api::Listing::new(rows, unread))
    };
    for (keys, list) in [
        ("2<Down>v", "versions"),
        (":crons<Enter>", "crons"),
        (":store<Enter>", "namespaces"),
    ] {
        let mut dash = dash((140, 40));
        let (number, query) = asked(&dash.keys(keys)).remove(0);
        let rows = if list == "namespaces" {
            json!([["a"]])
        } else {
            json!([{"version": 1, "cron_id": CRON}])
        };
        dash.done(EffectResult::RecordsListed(
            number,
            query,
            listed(list, rows),
        ));
        let said =
            format!("1 row of the list of {list} couldn't be read: a row is not a record: 7");
        dash.shows(&said);
        if list == "namespaces" {
            let (number, query) = asked(&dash.keys("<Enter>")).remove(0);
            let item = json!([{"namespace": ["a"], "key": "language", "value": {}}]);
            dash.done(EffectResult::RecordsListed(
                number,
                query,
                listed("items", item),
            ));
            dash.shows(["1 row of the list of items couldn't be", "language"]);
        }
    }
}

#[test]
fn a_page_of_a_read_only_profile_offers_no_changes() {
    let mut dash = dash((140, 40));
    crons(&mut dash);
    let offered = |dash: &mut Dash| {
        dash.screen();
        let items = dash.help().1;
        let ids: Vec<&str> = items.iter().filter_map(|item| item.id).collect();
        ["records.update", "records.pause", "records.delete"].map(|id| ids.contains(&id))
    };
    let has_hint = |dash: &Dash| dash.hints().iter().any(|(_, label)| *label == "edit");
    assert_eq!(offered(&mut dash), [true; 3]);
    assert!(has_hint(&dash));
    dash.seal();
    assert_eq!(offered(&mut dash), [false; 3]);
    assert!(!has_hint(&dash));
}
