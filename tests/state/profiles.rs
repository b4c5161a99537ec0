//! Profiles that change while the dashboard runs: which are used, what of them stays on the screen, and what late answers do.

use proptest::prelude::*;
use runtail_api::{ApiError, Kind, Place};
use runtail_core::config::{Config, Draft, Profile};
use runtail_testkit::dash::{Dash, demo_like, listed};
use runtail_tui::app::{App, Overlay, Pane, subscriptions};
use runtail_tui::session::catalogue::Origin;
use runtail_tui::session::msg::{
    Described, Effect, EffectResult, Epoch, Msg, ServerRef, SubscriptionEvent, SubscriptionId, SubscriptionKind,
};
use runtail_tui::widgets::list::Picker;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;

const TWO: &str =
    "[profiles.us]\nregion = \"us\"\napi_key_env = \"K\"\n[profiles.eu]\nregion = \"eu\"\napi_key_env = \"K\"\n";

/// The number of the trial that was begun, and of what.
fn trial(effects: &[Effect]) -> (u64, &Profile) {
    let mut trials = effects.iter().filter_map(|e| match e {
        Effect::Try(number, profile) => Some((*number, &**profile)),
        _ => None,
    });
    trials.next().unwrap_or_else(|| panic!("nothing is tried: {effects:?}"))
}

fn is_tried(effects: &[Effect]) -> bool {
    effects.iter().any(|e| matches!(e, Effect::Try(..)))
}

/// The selection on the page.
fn selection(app: &mut App) -> &mut Picker {
    match app.overlays.last_mut() {
        Some(Overlay::Profiles(page)) => &mut page.picker,
        _ => panic!("the page is not open"),
    }
}

/// Opens the page and goes to a profile.
fn choose(dash: &mut Dash, name: &str) {
    dash.app.open_profiles();
    dash.app.relayout();
    dash.keys("<Home>");
    for _ in 0..20 {
        if selection(&mut dash.app).selected.as_deref() == Some(name) {
            return;
        }
        dash.keys("<Down>");
    }
    panic!("{name} is not on the page");
}

fn answered(dash: &mut Dash, effects: &[Effect], result: Result<(), Kind>) -> Vec<Effect> {
    let (number, profile) = trial(effects);
    let result = result.map_err(|kind| dash.error(&profile.name, kind));
    dash.feed(Msg::done(EffectResult::Tried(number, result)))
}

/// The configuration file is read again.
fn reload(dash: &mut Dash, toml: &str) -> Vec<Effect> {
    let read = Config::parse(toml, Some(Path::new("config.toml"))).map(Box::new);
    dash.feed(Msg::Configured(read))
}

fn used(dash: &Dash) -> Vec<&str> {
    dash.app.session.profiles.iter().map(|p| &*p.name).collect()
}

fn deployment(dash: &mut Dash, profile: &str, name: &str) {
    let list = serde_json::from_value(json!([{"id": name, "name": name, "latest_revision_id": "r"}])).unwrap();
    let key = SubscriptionId::Deployments(profile.into());
    dash.answer(move |k| *k == key, listed(list));
}

#[test]
fn the_new_one_is_reached_before_the_old_one_is_left() {
    let mut dash = Dash::new(&format!("default_profiles = [\"us\"]\n{TWO}"), (140, 40));
    deployment(&mut dash, "us", "support-bot");
    choose(&mut dash, "eu");
    let effects = dash.keys("<Enter>");
    assert_eq!(used(&dash), ["us"]);
    assert!(dash.screen().contains("checking eu…"), "{}", dash.screen());
    // It cannot be reached: everything stays, and the reason is said.
    assert!(answered(&mut dash, &effects, Err(Kind::Unauthorized)).is_empty());
    assert_eq!(used(&dash), ["us"]);
    assert!(subscriptions(&dash.app).iter().any(|s| s.key == SubscriptionId::Deployments("us".into())), "us goes on");
    let screen = dash.screen();
    assert!(screen.contains("✗ 401, u uses it anyway") && screen.contains("Invalid API key"), "{screen}");
    assert!(!screen.contains("r retries"), "a profile that is not used halts nothing: {screen}");
    // In another try it can.
    let effects = dash.keys("<Enter>");
    let effects = answered(&mut dash, &effects, Ok(()));
    assert_eq!(used(&dash), ["eu"]);
    assert!(matches!(&effects[..], [Effect::UseProfiles(_, list)] if list.len() == 1 && list[0].name == "eu"));
    dash.keys("<Esc>");
    assert!(!dash.screen().contains("support-bot"), "{}", dash.screen());
}

#[test]
fn one_that_cannot_be_reached_is_used_after_a_second_word_only() {
    let mut dash = Dash::new(&format!("default_profiles = [\"us\"]\n{TWO}"), (140, 40));
    choose(&mut dash, "eu");
    assert!(dash.keys("u").is_empty());
    let effects = dash.keys("<Space>");
    assert!(dash.keys("u").is_empty(), "not while it is being checked");
    answered(&mut dash, &effects, Err(Kind::Network));
    assert_eq!(used(&dash), ["us"]);
    dash.keys("u");
    assert_eq!(used(&dash), ["us", "eu"]);
    // And left again; the last one stays.
    dash.keys("<Space>");
    assert_eq!(used(&dash), ["us"]);
    choose(&mut dash, "us");
    dash.keys("<Space>");
    assert_eq!(used(&dash), ["us"]);
    assert!(dash.screen().contains("is the only profile in use"), "{}", dash.screen());
}

#[test]
fn a_check_that_is_called_off_changes_nothing() {
    let mut dash = Dash::new(&format!("default_profiles = [\"us\"]\n{TWO}"), (140, 40));
    choose(&mut dash, "eu");
    let effects = dash.keys("<Space>");
    dash.keys("<Space>");
    assert!(answered(&mut dash, &effects, Ok(())).is_empty());
    assert_eq!(used(&dash), ["us"]);
    // Only the newest check counts.
    let first = dash.keys("t");
    let second = dash.keys("<Enter>");
    assert!(answered(&mut dash, &first, Ok(())).is_empty());
    assert_eq!(used(&dash), ["us"]);
    answered(&mut dash, &second, Ok(()));
    assert_eq!(used(&dash), ["eu"]);
}

#[test]
fn what_is_open_of_a_profile_that_goes_is_closed_with_a_word_and_the_rest_is_not_touched() {
    let mut dash = demo_like((140, 40));
    dash.keys("w");
    dash.open_thread();
    dash.capture("agent-values");
    let of_us = |dash: &Dash| {
        let subs = subscriptions(&dash.app).into_iter();
        let ours = subs.filter(
            |s| matches!(&s.key, SubscriptionId::Deployments(p) | SubscriptionId::Newest(p) if &**p == "prod-us"),
        );
        ours.map(|s| (s.key, s.epoch)).collect::<Vec<_>>()
    };
    let rows = |dash: &Dash| dash.app.deployments.list.rows.iter().filter(|r| &*r.profile_name == "prod-us").count();
    let (before, kept) = (of_us(&dash), rows(&dash));
    assert!(dash.app.viewer().is_some() && dash.app.deployments.watches.len() == 1);
    choose(&mut dash, "prod-eu");
    dash.keys("<Space><Esc>");
    assert_eq!(used(&dash), ["prod-us"]);
    assert!(dash.app.viewer().is_none() && dash.app.agent.server.is_none() && dash.app.deployments.watches.is_empty());
    assert!(dash.app.deployments.histories.is_empty() && dash.app.focus == Pane::Deployments);
    assert_eq!((of_us(&dash), rows(&dash)), (before, kept));
    assert!(dash.app.deployments.list.rows.iter().all(|r| r.profile == 0), "rows know their profile by its new number");
    let said = &dash.app.session.notices.last().unwrap().text;
    assert_eq!(
        said,
        "prod-eu is no longer used; closed: the stream of support-bot (its run continues), the threads of support-bot, a watch."
    );
    let screen = dash.screen();
    assert!(!screen.contains("nightly-etl") && screen.contains("invoice-agent"), "{screen}");
}

#[test]
fn a_stream_of_a_profile_that_stays_goes_on() {
    let mut dash = demo_like((140, 40));
    dash.open_thread();
    dash.capture("agent-values");
    let stream =
        |dash: &Dash| subscriptions(&dash.app).into_iter().find(|s| matches!(s.key, SubscriptionId::Stream(_)));
    let before = stream(&dash).map(|s| (s.key, s.epoch));
    choose(&mut dash, "prod-us");
    dash.keys("<Space><Esc>");
    assert_eq!(used(&dash), ["prod-eu"]);
    assert_eq!(stream(&dash).map(|s| (s.key, s.epoch)), before);
    // Another profile in the file, and another label for this one: neither disturbs it.
    let toml = "[profiles.prod-eu]\nregion = \"eu\"\napi_key_env = \"K\"\nlabel = \"PROD\"\n[profiles.new]\nregion = \"apac\"\n";
    let effects = reload(&mut dash, toml);
    assert!(!is_tried(&effects), "{effects:?}");
    assert_eq!(stream(&dash).map(|s| (s.key, s.epoch)), before);
    assert_eq!(used(&dash), ["prod-eu", "new"]);
    assert!(dash.app.is_read_only("prod-eu"), "a production label seals at once");
}

#[test]
fn a_file_that_is_broken_keeps_what_was_and_says_where() {
    let mut dash = Dash::new(TWO, (140, 40));
    deployment(&mut dash, "us", "support-bot");
    assert!(reload(&mut dash, "[profiles.us]\nregion = \"mars\"\n").is_empty());
    let screen = dash.screen();
    assert!(screen.contains("config.toml:2:10: unknown region \"mars\"") && screen.contains("support-bot"), "{screen}");
    assert_eq!(used(&dash), ["us", "eu"]);
    dash.keys("p");
    let screen = dash.screen();
    assert!(screen.contains("The current file is not in use") && screen.contains("2 | region = \"mars\""), "{screen}");
    // A file without any profile is no better.
    reload(&mut dash, "[ui]\nascii = true\n");
    assert_eq!(used(&dash), ["us", "eu"]);
    assert!(dash.screen().contains("it has no profiles any more"), "{}", dash.screen());
    reload(&mut dash, TWO);
    assert!(!dash.screen().contains("not in use:"), "{}", dash.screen());
}

#[test]
fn profiles_come_go_and_lead_elsewhere_with_the_file() {
    let mut dash = Dash::new(TWO, (140, 40));
    deployment(&mut dash, "us", "support-bot");
    deployment(&mut dash, "eu", "triage");
    // us leads elsewhere, eu is gone, apac is new.
    let toml = "[profiles.us]\nregion = \"us\"\napi_key_env = \"OTHER\"\n[profiles.apac]\nregion = \"apac\"\n";
    let effects = reload(&mut dash, toml);
    assert_eq!(used(&dash), ["us", "apac"]);
    let screen = dash.screen();
    assert!(
        screen.contains("support-bot") && !screen.contains("triage"),
        "us stays until the new one is reached: {screen}"
    );
    let (_, tried) = trial(&effects);
    assert_eq!(tried.key, Config::parse(toml, None).unwrap().profiles[0].key);
    let effects = answered(&mut dash, &effects, Ok(()));
    let Some(Effect::UseProfiles(_, list)) = effects.first() else { panic!("{effects:?}") };
    assert_eq!(list[0], *dash.app.session.catalogue.used("us").unwrap());
    assert!(!dash.screen().contains("support-bot"), "the rows of the old definition go: {}", dash.screen());
}

#[test]
fn what_rules_writing_out_counts_before_the_new_definition_is_reached() {
    let mut dash = Dash::new(TWO, (140, 40));
    assert!(!dash.app.is_read_only("us"));
    let effects = reload(&mut dash, "[profiles.us]\nregion = \"us\"\napi_key_env = \"OTHER\"\nread_only = true\n");
    assert!(dash.app.is_read_only("us"));
    let in_force = effects.iter().find_map(|e| match e {
        Effect::UseProfiles(_, list) => Some(list),
        _ => None,
    });
    let us = in_force.unwrap().iter().find(|p| p.name == "us").unwrap();
    assert!(us.is_read_only() && us.key == Config::parse(TWO, None).unwrap().profiles[0].key);
    // The other way round the old one stays sealed until it is left.
    let mut dash = Dash::new("[profiles.us]\nregion = \"us\"\nlabel = \"PROD\"\n", (140, 40));
    let effects = reload(&mut dash, "[profiles.us]\nregion = \"eu\"\n");
    assert!(dash.app.is_read_only("us"));
    answered(&mut dash, &effects, Ok(()));
    assert!(!dash.app.is_read_only("us"));
}

#[test]
fn a_reload_opens_nothing_that_the_command_line_sealed_and_uses_nothing_that_it_did_not_choose() {
    let mut dash = Dash::new(TWO, (140, 40));
    let config = Config::parse(TWO, None).unwrap();
    let origin = Origin { names: vec!["us".into()], read_only: true, ..Origin::default() };
    let (mut app, _) = runtail_tui::app::App::new(
        &config.profiles[..1],
        dash.app.session.settings.clone(),
        (140, 40),
        dash.app.session.now,
    );
    app.configured(&config, origin);
    dash.app = app;
    let effects = reload(&mut dash, &format!("{TWO}[profiles.new]\nregion = \"aws\"\nread_only = false\n"));
    assert_eq!(used(&dash), ["us"]);
    assert!(dash.app.session.catalogue.all.iter().all(|k| k.profile.is_read_only()), "{effects:?}");
    for effect in effects {
        if let Effect::UseProfiles(_, list) = effect {
            assert!(list.iter().all(Profile::is_read_only));
        }
    }
}

#[test]
fn keys_and_marks_of_the_file_count_at_once() {
    let mut dash = Dash::new(TWO, (140, 40));
    reload(
        &mut dash,
        &format!("{TWO}[keys]\n\"app.profiles\" = [\"F2\"]\n[ui]\nascii = true\n[limits]\nmax_rows = 5\n[pol]\n"),
    );
    assert!(dash.keys("p").is_empty() && dash.app.overlays.is_empty());
    dash.keys("<F2>");
    assert!(dash.screen().contains("PROFILES"), "{}", dash.screen());
    assert!(dash.app.session.settings.ascii && dash.app.session.settings.tape.max_rows == 5);
    let said: Vec<&str> = dash.app.session.notices.iter().map(|n| n.text.as_str()).collect();
    let said = said.join("\n");
    assert!(said.contains("unknown key `pol`") && said.contains("[limits] applies to new streams"), "{said}");
    // Another pace begins the polls anew, and no stream.
    let epoch = dash.app.session.profiles[0].epoch;
    let effects = reload(&mut dash, &format!("{TWO}[poll]\ninterval = \"5s\"\n"));
    assert!(dash.app.session.profiles[0].epoch > epoch);
    assert!(matches!(effects.first(), Some(Effect::Configure(config)) if config.poll.interval.as_secs() == 5));
}

#[test]
fn an_edit_counts_in_this_session_and_waits_for_being_reached() {
    let mut dash = Dash::new(TWO, (140, 40));
    deployment(&mut dash, "us", "support-bot");
    let text = dash.app.profile_text(Some("us"));
    assert_eq!(text, "[profiles.us]\nregion = \"us\"\napi_key_env = \"K\"\n");
    assert!(dash.app.profile_edited("[profiles.us]\nregion = \"mars\"\n").is_err());
    let effects = dash.app.profile_edited("[profiles.us]\nregion = \"us\"\napi_key_env = \"NEW\"\n").unwrap();
    assert!(dash.screen().contains("support-bot"));
    assert!(dash.app.session.catalogue.is_unsaved());
    answered(&mut dash, &effects, Err(Kind::Unauthorized));
    dash.app.open_profiles();
    let screen = dash.screen();
    assert!(screen.contains("✗ 401, u uses it anyway") && screen.contains("not saved; s shows"), "{screen}");
    let said = &dash.app.session.notices.last().unwrap().text;
    assert!(said.contains("us is unchanged"), "{said}");
    // The file changes in another place: what was typed here stays.
    let effects = reload(&mut dash, &format!("{TWO}[profiles.more]\nregion = \"aws\"\n"));
    assert!(dash.app.session.catalogue.is_unsaved());
    answered(&mut dash, &effects, Ok(()));
    assert_eq!(
        dash.app.session.catalogue.used("us").unwrap().key.as_ref().unwrap().to_string(),
        "the environment variable NEW"
    );
    // In the file by now: it is saved.
    reload(&mut dash, &TWO.replacen("\"K\"", "\"NEW\"", 1));
    assert!(!dash.app.session.catalogue.is_unsaved());
}

/// What may happen to a dashboard whose profiles change.
#[derive(Debug, Clone)]
enum Step {
    /// The file defines `a`, `b` and `c` so, each perhaps not at all.
    Reload([Option<u8>; 3]),
    /// A person defines one so.
    Edit(usize, u8),
    /// A person uses one, or no longer; switches to it; uses it anyway.
    Press(usize, &'static str),
    /// A request is answered, the nth of those under way.
    Answer(usize, bool),
    /// Everything that is wanted is asked.
    Ask,
    Refresh,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let definition = proptest::option::weighted(0.8, 0u8..4);
    let step = prop_oneof![
        2 => [definition.clone(), definition.clone(), definition].prop_map(Step::Reload),
        2 => (0usize..3, 0u8..4).prop_map(|(n, v)| Step::Edit(n, v)),
        3 => (0usize..3, proptest::sample::select(vec!["<Space>", "<Enter>", "t", "u"])).prop_map(|(n, k)| Step::Press(n, k)),
        8 => (any::<usize>(), any::<bool>()).prop_map(|(n, ok)| Step::Answer(n, ok)),
        4 => Just(Step::Ask),
        1 => Just(Step::Refresh),
    ];
    proptest::collection::vec(step, 1..60)
}

const NAMES: [&str; 3] = ["a", "b", "c"];

/// A definition: its number is its key's name, by which whatever it answers is told from all others.
fn definition(name: &str, number: u8) -> String {
    let server = if name == "c" { "agent_server = \"http://127.0.0.1:2024\"\n" } else { "" };
    format!("[profiles.{name}]\nregion = \"us\"\n{server}api_key_env = \"{}\"\n", mark(name, number))
}

fn mark(name: &str, number: u8) -> String {
    format!("M_{name}{number}")
}

fn mark_of(profile: &Profile) -> String {
    profile.key.as_ref().unwrap().to_string().rsplit(' ').next().unwrap().to_string()
}

/// A request that was made, with the definition that it was made with.
enum UnderWay {
    Poll(SubscriptionId, Epoch, String),
    Effect(Epoch, Effect, String),
    Trial(u64, String),
}

/// The runtime as it is: what is begun is begun with the profiles in force then, and answers come in any order.
struct World {
    dash: Dash,
    in_force: (Epoch, Vec<Profile>),
    under_way: Vec<UnderWay>,
    asked: BTreeMap<SubscriptionId, Epoch>,
}

impl World {
    fn marked(&self, name: &str) -> Option<String> {
        self.in_force.1.iter().find(|p| p.name == name).map(mark_of)
    }

    fn run(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::UseProfiles(generation, list) => self.in_force = (generation, list),
                Effect::Try(number, profile) => self.under_way.push(UnderWay::Trial(number, mark_of(&profile))),
                Effect::Describe(ref what) => {
                    let mark = self.marked(what.profile()).expect("what is asked about is in force");
                    self.under_way.push(UnderWay::Effect(self.in_force.0, effect, mark));
                }
                Effect::FetchInfo(ref server) => {
                    let mark = self.marked(&server.profile).expect("what is asked is in force");
                    self.under_way.push(UnderWay::Effect(self.in_force.0, effect, mark));
                }
                _ => {}
            }
        }
        // As the runtime does it: what is new is begun, with what is in force now.
        let wanted = subscriptions(&self.dash.app);
        self.asked.retain(|key, epoch| wanted.iter().any(|s| s.key == *key && s.epoch == *epoch));
        for sub in wanted {
            if self.asked.get(&sub.key) == Some(&sub.epoch) {
                continue;
            }
            assert!(matches!(sub.what, SubscriptionKind::Name));
            let profile = match &sub.key {
                SubscriptionId::Deployments(profile) | SubscriptionId::Newest(profile) => profile,
                SubscriptionId::Revisions(profile, _) => profile,
                SubscriptionId::Watch(of) => &of.profile,
                other => panic!("{other:?}"),
            };
            let mark = self.marked(profile).unwrap_or_else(|| panic!("{:?} is asked with nothing in force", sub.key));
            self.asked.insert(sub.key.clone(), sub.epoch);
            self.under_way.push(UnderWay::Poll(sub.key, sub.epoch, mark));
        }
    }

    fn answer(&mut self, which: usize, ok: bool) {
        if self.under_way.is_empty() {
            return;
        }
        let which = which % self.under_way.len();
        // A poll answers again and again, and does not know yet that it is no longer wanted.
        let error = |mark: &str, profile: &str| ApiError {
            kind: Kind::Server(503),
            at: Place { profile: profile.into(), ..Place::default() },
            detail: format!("failed with {mark}"),
            hint: None,
        };
        let msg = match &self.under_way[which] {
            UnderWay::Poll(key @ SubscriptionId::Deployments(profile), epoch, mark) => {
                let items =
                    serde_json::from_value(json!([{"id": mark, "name": mark, "latest_revision_id": "r"}])).unwrap();
                let answer = if ok {
                    listed(items)
                } else {
                    let result = Err(error(mark, profile));
                    let next = runtail_tui::session::msg::NextPoll::Stopped;
                    SubscriptionEvent::Deployments { result, torn: true, skew: Default::default(), next }
                };
                Msg::Answer { key: key.clone(), epoch: *epoch, answer }
            }
            UnderWay::Poll(key @ SubscriptionId::Newest(_), epoch, mark) => {
                let revision = serde_json::from_value(json!({"id": "r", "status": mark})).unwrap();
                let answer = SubscriptionEvent::Newest { deployment: mark.as_str().into(), revision: Ok(revision) };
                Msg::Answer { key: key.clone(), epoch: *epoch, answer }
            }
            UnderWay::Poll(key @ SubscriptionId::Revisions(profile, _), epoch, mark) => {
                let next = runtail_tui::session::msg::NextPoll::Stopped;
                let items = serde_json::from_value(json!([{"id": "r", "status": mark}])).unwrap();
                let listed = runtail_api::Revisions { items, was_sorted: true };
                let result = if ok { Ok(listed) } else { Err(error(mark, profile)) };
                Msg::Answer { key: key.clone(), epoch: *epoch, answer: SubscriptionEvent::Revisions(result, next) }
            }
            UnderWay::Poll(..) => return,
            UnderWay::Effect(since, Effect::Describe(what), mark) => {
                let result =
                    if ok { Ok(json!({"mark": mark}).to_string().into()) } else { Err(error(mark, what.profile())) };
                Msg::Done { since: *since, done: EffectResult::Described(what.clone(), result) }
            }
            UnderWay::Effect(since, Effect::FetchInfo(server), mark) => {
                Msg::Done { since: *since, done: EffectResult::Info(server.clone(), Err(error(mark, &server.profile))) }
            }
            UnderWay::Effect(..) => return,
            UnderWay::Trial(number, mark) => {
                let result = if ok { Ok(()) } else { Err(error(mark, "tried")) };
                Msg::done(EffectResult::Tried(*number, result))
            }
        };
        if !matches!(self.under_way[which], UnderWay::Poll(..)) {
            self.under_way.remove(which);
        }
        let effects = self.dash.feed(msg);
        self.run(effects);
    }

    /// Marks that may be on the screen: those of the definitions in force.
    fn check(&mut self) {
        let force: Vec<String> = self.in_force.1.iter().map(mark_of).collect();
        assert_eq!(
            self.in_force.1.iter().map(|p| p.name.clone()).collect::<Vec<_>>(),
            used(&self.dash),
            "the runtime and the screen agree"
        );
        let app = &self.dash.app;
        for row in &app.deployments.list.rows {
            let name = row.deployment.as_ref().map(|_| row.name.clone());
            assert!(name.iter().all(|n| force.contains(n)), "a row of {name:?}, and in force are {force:?}");
            assert_eq!(Some(&*row.profile_name), app.session.profiles.get(row.profile).map(|p| &*p.name));
            if let Some(newest) = &row.newest {
                assert!(force.contains(&newest.status), "{newest:?} of a row, and in force are {force:?}");
            }
        }
        for history in app.deployments.histories.values() {
            for revision in &history.revisions {
                assert!(force.contains(&revision.status), "{revision:?}, and in force are {force:?}");
            }
            assert!(history.error.iter().all(|e| force.iter().any(|m| e.detail.ends_with(m))));
        }
        for profile in &app.session.profiles {
            let infos = app.agent.infos.values().filter_map(|info| info.error.as_ref());
            for error in profile.error.iter().chain(&profile.partial).chain(infos) {
                assert!(force.iter().any(|m| error.detail.ends_with(m)), "{error:?}, and in force are {force:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// Whatever is edited, switched and read again, and in whatever order answers come: nothing that was asked with a
    /// definition that is no longer in force changes what is seen.
    #[test]
    fn late_answers_of_the_old_never_change_the_screen(steps in steps()) {
        let toml: String = NAMES.iter().map(|name| definition(name, 0)).collect();
        let dash = Dash::new(&toml, (140, 40));
        let in_force = (Epoch(0), dash.app.session.catalogue.in_force().to_vec());
        let mut world = World { dash, in_force, under_way: Vec::new(), asked: BTreeMap::new() };
        world.run(Vec::new());
        for step in steps {
            let noted = world.dash.app.session.notices.len();
            let force: Vec<String> = world.in_force.1.iter().map(mark_of).collect();
            let mut by_answer = false;
            match step {
                Step::Reload(definitions) => {
                    let defined = NAMES.iter().zip(definitions).filter_map(|(name, n)| Some(definition(name, n?)));
                    let effects = reload(&mut world.dash, &defined.collect::<String>());
                    world.run(effects);
                }
                Step::Edit(which, number) => {
                    let effects = world.dash.app.profile_edited(&definition(NAMES[which], number)).unwrap();
                    world.run(effects);
                }
                Step::Press(which, keys) => {
                    world.dash.app.open_profiles();
                    selection(&mut world.dash.app).wish(NAMES[which].into());
                    world.dash.app.relayout();
                    let effects = world.dash.keys(keys);
                    world.run(effects);
                    let effects = world.dash.keys("<Esc>d");
                    world.run(effects);
                }
                Step::Answer(which, ok) => {
                    by_answer = !matches!(world.under_way.get(which % world.under_way.len().max(1)), Some(UnderWay::Trial(..)));
                    world.answer(which, ok);
                }
                Step::Ask => {
                    world.dash.keys("<Esc><Down>");
                    world.run(Vec::new());
                }
                Step::Refresh => {
                    world.dash.pass(2);
                    let effects = world.dash.keys("r");
                    world.run(effects);
                }
            }
            world.check();
            if by_answer {
                for notice in world.dash.app.session.notices.iter().skip(noted) {
                    let first = notice.text.lines().next().unwrap_or_default();
                    prop_assert!(force.iter().any(|m| first.ends_with(m)), "{first}, and in force are {force:?}");
                }
            }
        }
    }
}

#[test]
fn a_document_that_was_asked_for_before_the_switch_is_not_shown() {
    let mut dash = Dash::new(TWO, (140, 40));
    deployment(&mut dash, "us", "support-bot");
    let effects = dash.keys("d");
    let [Effect::Describe(what)] = effects.as_slice() else { panic!("{effects:?}") };
    assert!(matches!(what, Described::Deployment(..)));
    let effects = reload(&mut dash, &TWO.replacen("\"K\"", "\"NEW\"", 1));
    answered(&mut dash, &effects, Ok(()));
    dash.feed(Msg::Done {
        since: Epoch(0),
        done: EffectResult::Described(what.clone(), Ok(json!({"late": true}).to_string().into())),
    });
    assert!(dash.app.overlays.is_empty(), "{}", dash.screen());
    let server = ServerRef { profile: "us".into(), name: "support-bot".into(), url: "https://x".into() };
    let error = dash.error("us", Kind::Network);
    dash.feed(Msg::Done { since: Epoch(0), done: EffectResult::Info(server, Err(error)) });
    assert!(dash.app.agent.infos.is_empty());
}

#[test]
fn the_page_of_profiles() {
    let toml = "default_profiles = [\"prod-us\", \"prod-eu\"]\n\
                [profiles.prod-us]\nregion = \"us\"\napi_key_env = \"LANGSMITH_API_KEY\"\nlabel = \"PROD\"\n\
                [profiles.prod-eu]\nregion = \"eu\"\napi_key_file = \"/home/me/eu.key\"\nworkspace = \"00000000-0000-4000-8000-000000000000\"\n\
                [profiles.self-hosted]\nurl = \"https://langsmith.example.com\"\nbearer_command = [\"vault\", \"read\"]\nread_only = true\n\
                [profiles.local]\nagent_server = \"http://127.0.0.1:2024\"\n";
    let mut dash = Dash::new(toml, (140, 40));
    deployment(&mut dash, "prod-us", "support-bot");
    choose(&mut dash, "self-hosted");
    let effects = dash.keys("<Space>");
    insta::assert_snapshot!("profiles_140x40", dash.screen());
    answered(&mut dash, &effects, Err(Kind::Unauthorized));
    dash.pass(60);
    insta::assert_snapshot!("profiles_failed_140x40", dash.screen());
    dash.resize(80, 24);
    insta::assert_snapshot!("profiles_80x24", dash.screen());
    dash.ascii = true;
    assert!(dash.screen().is_ascii(), "{}", dash.screen());
}

/// The draft that was asked for, as the runtime makes it.
fn drafted(dash: &mut Dash, effects: &[Effect]) -> Vec<Effect> {
    let [Effect::DraftFile(path, typed)] = effects else { panic!("{effects:?}") };
    let draft = Draft::new(path, typed.clone()).map(Box::new);
    dash.feed(Msg::done(EffectResult::Drafted(draft)))
}

#[test]
fn a_profile_is_edited_checked_used_and_saved() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    let file = format!("# mine\n{TWO}");
    std::fs::write(&path, &file).unwrap();
    let mut dash = Dash::new(&file, (100, 30));
    dash.app.session.catalogue.origin.file = Some(path.clone());
    choose(&mut dash, "eu");
    assert!(dash.keys("s").is_empty());
    assert!(dash.screen().contains("There are no unsaved changes"), "{}", dash.screen());
    // What is wrong is said while one types, and goes nowhere.
    dash.keys("e<Down><Down><End>x");
    assert!(dash.screen().contains("line 3, column"), "{}", dash.screen());
    assert!(dash.keys("<ctrl-r>").is_empty());
    dash.keys("<Backspace><Backspace><Backspace>NEW\"<Enter>label = \"PROD\"");
    let screen = dash.screen();
    assert!(screen.contains("label = \"PROD\"") && screen.contains("● Valid profile   ctrl-r checks it"), "{screen}");
    let effects = dash.keys("<ctrl-r>");
    assert!(dash.screen().contains("checking eu…") && dash.screen().contains("PROFILES"), "{}", dash.screen());
    answered(&mut dash, &effects, Ok(()));
    assert!(dash.app.is_read_only("eu"), "production");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), file, "nothing is written unasked");
    // Saving shows the lines first; Enter writes nothing.
    let effects = dash.keys("s");
    drafted(&mut dash, &effects);
    let screen = dash.screen();
    for line in
        ["SAVE", "- api_key_env = \"K\"", "+ api_key_env = \"NEW\"", "+ label = \"PROD\"", "ctrl-s writes the file"]
    {
        assert!(screen.contains(line), "{line}: {screen}");
    }
    assert!(dash.keys("<Enter>").is_empty());
    let effects = dash.keys("<ctrl-s>");
    let [Effect::SaveFile(draft)] = effects.as_slice() else { panic!("{effects:?}") };
    draft.write().unwrap();
    dash.feed(Msg::done(EffectResult::Saved(Ok(draft.clone()))));
    assert!(!dash.app.session.catalogue.is_unsaved());
    let saved = std::fs::read_to_string(&path).unwrap();
    assert_eq!(
        saved,
        file.replace(
            "[profiles.eu]\nregion = \"eu\"\napi_key_env = \"K\"",
            "[profiles.eu]\nregion = \"eu\"\napi_key_env = \"NEW\"\nlabel = \"PROD\""
        )
    );
    // The file is read again: that is what is in force already.
    let effects = reload(&mut dash, &saved);
    assert!(!is_tried(&effects) && !effects.iter().any(|e| matches!(e, Effect::UseProfiles(..))), "{effects:?}");
}

#[test]
fn a_file_that_somebody_else_changed_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    std::fs::write(&path, TWO).unwrap();
    let mut dash = Dash::new(TWO, (100, 30));
    dash.app.session.catalogue.origin.file = Some(path.clone());
    dash.app.profile_edited("[profiles.eu]\nregion = \"apac\"\n").unwrap();
    choose(&mut dash, "eu");
    let effects = dash.keys("s");
    drafted(&mut dash, &effects);
    std::fs::write(&path, format!("{TWO}# by hand\n")).unwrap();
    let effects = dash.keys("<ctrl-s>");
    let [Effect::SaveFile(draft)] = effects.as_slice() else { panic!("{effects:?}") };
    let error = draft.write().unwrap_err();
    dash.feed(Msg::done(EffectResult::Saved(Err(error))));
    assert!(dash.screen().contains("changed by another program"), "{}", dash.screen());
    assert!(dash.app.session.catalogue.is_unsaved());
    assert!(std::fs::read_to_string(&path).unwrap().ends_with("# by hand\n"));
}

#[test]
fn a_new_profile_is_typed_and_what_was_typed_is_never_lost() {
    let mut dash = Dash::new(TWO, (100, 30));
    dash.keys("p");
    dash.keys("a<End><Backspace><Backspace>w2]<Esc>");
    assert!(!dash.app.session.catalogue.is_unsaved());
    dash.keys("a");
    assert!(
        dash.screen().contains("[profiles.new2]") || dash.screen().contains("[profiles.neww2]"),
        "{}",
        dash.screen()
    );
    let effects = dash.keys("<ctrl-r>");
    let (_, profile) = trial(&effects);
    let name = profile.name.clone();
    answered(&mut dash, &effects, Ok(()));
    assert_eq!(used(&dash), ["us", "eu"], "a new one is used when somebody says so");
    assert!(dash.screen().contains(&format!("{name} is reachable")), "{}", dash.screen());
    choose(&mut dash, &name);
    let effects = dash.keys("<Space>");
    answered(&mut dash, &effects, Ok(()));
    assert_eq!(used(&dash).len(), 3);
    // It stays when the file is read again.
    reload(&mut dash, &format!("{TWO}[ui]\nascii = true\n"));
    assert_eq!(used(&dash).len(), 3);
}

fn first_run(size: (u16, u16)) -> Dash {
    let mut dash = Dash::new("", size);
    dash.app.session.catalogue.origin.file = Some("/home/me/.config/runtail/config.toml".into());
    dash
}

#[test]
fn the_first_run_says_what_to_do_and_leads_on() {
    let mut dash = first_run((80, 24));
    insta::assert_snapshot!("first_run_80x24", dash.screen());
    // Esc leads nowhere, since there is nothing behind it.
    dash.keys("<Esc>");
    assert!(dash.screen().contains("Not configured"));
    let effects = dash.keys("<Down><Enter>");
    let (_, profile) = trial(&effects);
    assert_eq!((profile.name.as_str(), profile.region.as_deref()), ("us", Some("us")));
    assert!(dash.screen().contains("checking us…"), "{}", dash.screen());
    answered(&mut dash, &effects, Err(Kind::Refused));
    dash.pass(60);
    insta::assert_snapshot!("first_run_failed_80x24", dash.screen());
    // Another try by a text of one's own.
    dash.keys("<Up><Enter>");
    assert!(dash.screen().contains("[profiles.us]"), "{}", dash.screen());
    let effects = dash.keys("<ctrl-r>");
    answered(&mut dash, &effects, Ok(()));
    assert_eq!(used(&dash), ["us"]);
    assert!(dash.app.overlays.is_empty(), "{}", dash.screen());
    assert!(dash.app.session.catalogue.is_unsaved(), "nothing is written unasked");
}

#[test]
fn the_first_run_ends_when_a_file_comes_to_be() {
    let mut dash = first_run((140, 40));
    insta::assert_snapshot!("first_run_140x40", dash.screen());
    reload(&mut dash, "[profiles.us]\nregion = \"mars\"\n");
    assert!(dash.screen().contains("unknown region"), "{}", dash.screen());
    let effects = reload(&mut dash, TWO);
    assert!(matches!(effects.last(), Some(Effect::UseProfiles(_, list)) if list.len() == 2));
    assert!(dash.app.overlays.is_empty());
    let mut dash = first_run((100, 30));
    dash.keys("q");
    assert!(dash.app.quit);
}

#[test]
fn any_size_of_the_pages_can_be_drawn() {
    let mut pages = [Dash::new(TWO, (140, 40)), first_run((140, 40))];
    pages[0].keys("p");
    for dash in &mut pages {
        for (w, h) in [(1, 1), (60, 12), (61, 13), (79, 23), (120, 12), (300, 100)] {
            dash.resize(w, h);
            dash.keys("<Down>");
            dash.screen();
        }
    }
}

#[test]
fn rows_of_production_are_marked() {
    let mut dash = Dash::new(
        "[profiles.us]\nregion = \"us\"\nlabel = \"PROD\"\n[profiles.eu]\nregion = \"eu\"\nlabel = \"staging\"\n",
        (140, 40),
    );
    deployment(&mut dash, "us", "support-bot");
    deployment(&mut dash, "eu", "triage");
    for (size, ascii, mark) in [((140, 40), false, "◆"), ((80, 24), false, "◆"), ((60, 12), true, "!")] {
        dash.resize(size.0, size.1);
        dash.ascii = ascii;
        let screen = dash.screen();
        let row =
            |name: &str| screen.lines().find(|l| l.contains(name)).unwrap_or_else(|| panic!("{screen}")).to_string();
        assert!(row("support-bot").contains(&format!("{mark}support-bot")), "{screen}");
        assert!(!row("triage").contains(mark), "{screen}");
    }
}

#[test]
fn what_was_switched_to_and_is_gone_leaves_what_the_file_chooses() {
    let file = |more: &str| format!("default_profiles = [\"us\"]\n{TWO}{more}");
    let mut dash = Dash::new(&file("[profiles.apac]\nregion = \"apac\"\n"), (140, 40));
    choose(&mut dash, "apac");
    let effects = dash.keys("<Enter>");
    answered(&mut dash, &effects, Ok(()));
    assert_eq!(used(&dash), ["apac"]);
    reload(&mut dash, &file(""));
    assert_eq!(used(&dash), ["us"]);
}

#[test]
fn the_demos_key_survives_an_edit_and_is_never_written_down() {
    let key = secrecy::SecretString::from("canary".to_string());
    let mut profile = Config::parse(TWO, None).unwrap().profiles.remove(0);
    profile.key = Some(runtail_core::config::SecretSource::Given(key));
    let dash = Dash::new(TWO, (140, 40));
    let (mut app, _) =
        runtail_tui::app::App::new(&[profile], dash.app.session.settings.clone(), (140, 40), dash.app.session.now);
    let text = app.profile_text(Some("us"));
    assert!(!text.contains("canary"));
    let effects = app.profile_edited(&format!("{text}label = \"mine\"\n")).unwrap();
    assert!(!is_tried(&effects), "only the label changed: {effects:?}");
    assert!(!format!("{app:?}{effects:?}").contains("canary"));
}
