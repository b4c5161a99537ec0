//! Profiles that change while the dashboard runs: which are used, what stays on screen, and late responses.

use proptest::prelude::*;
use runtail_api::{ApiError, Kind, Place};
use runtail_core::config::{Config, Draft, Profile};
use runtail_testkit::dash::{Dash, Dialog, demo_like, listed};
use runtail_tui::app::Pane;
use runtail_tui::input::keymap::Keymap;
use runtail_tui::session::ComponentId;
use runtail_tui::session::catalog::ProfileOrigin;
use runtail_tui::session::msg::{
    Described, Effect, EffectResult, Epoch, Msg, ServerRef, SubscriptionEvent, SubscriptionId,
    SubscriptionKind,
};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;

const TWO: &str = "[profiles.us]\nregion = \"us\"\napi_key_env = \"K\"\n[profiles.eu]\nregion = \"eu\"\napi_key_env = \"K\"\n";

/// Returns the number and the profile of the check that was started.
fn started_check(effects: &[Effect]) -> (u64, &Profile) {
    let mut checks = effects.iter().filter_map(|e| match e {
        Effect::Try(number, profile) => Some((*number, &**profile)),
        _ => None,
    });
    checks
        .next()
        .unwrap_or_else(|| panic!("no check was started: {effects:?}"))
}

fn has_check(effects: &[Effect]) -> bool {
    effects.iter().any(|e| matches!(e, Effect::Try(..)))
}

/// Opens the profiles page and selects a profile.
fn choose(dash: &mut Dash, name: &str) {
    dash.keys(":profiles<Enter>");
    dash.relayout();
    dash.keys("<Home>");
    for _ in 0..20 {
        if dash.selected_profile() == Some(name) {
            return;
        }
        dash.keys("<Down>");
    }
    panic!("{name} is not on the page");
}

fn check_finished(dash: &mut Dash, effects: &[Effect], result: Result<(), Kind>) -> Vec<Effect> {
    let (number, profile) = started_check(effects);
    let result = result.map_err(|kind| dash.error(&profile.name, kind));
    dash.feed(Msg::done(EffectResult::Tried(number, result)))
}

/// Reloads the configuration file.
fn reload(dash: &mut Dash, toml: &str) -> Vec<Effect> {
    let read = Config::parse(toml, Some(Path::new("config.toml"))).map(Box::new);
    dash.feed(Msg::Configured(read))
}

fn deployment(dash: &mut Dash, profile: &str, name: &str) {
    let list =
        serde_json::from_value(json!([{"id": name, "name": name, "latest_revision_id": "r"}]))
            .unwrap();
    let key = SubscriptionId::Deployments(profile.into());
    dash.answer(move |k| *k == key, listed(list));
}

#[test]
fn switching_requires_a_reachable_profile() {
    let mut dash = Dash::new(&format!("default_profiles = [\"us\"]\n{TWO}"), (140, 40));
    deployment(&mut dash, "us", "support-bot");
    choose(&mut dash, "eu");
    let effects = dash.keys("U");
    assert_eq!(dash.profiles(), ["us"]);
    assert!(dash.screen().contains("checking eu…"), "{}", dash.screen());
    // The profile can't be reached: nothing changes, and the reason is shown.
    assert!(check_finished(&mut dash, &effects, Err(Kind::Unauthorized)).is_empty());
    assert_eq!(dash.profiles(), ["us"]);
    assert!(
        dash.subscriptions()
            .iter()
            .any(|s| s.key == SubscriptionId::Deployments("us".into())),
        "us is still polled"
    );
    let screen = dash.screen();
    assert!(
        screen.contains("✗ 401 0s ago: server rejected the key · U uses it anyway")
            && screen.contains("Invalid API key"),
        "{screen}"
    );
    assert!(
        !screen.contains("r retries"),
        "an unused profile stops no polling: {screen}"
    );
    // The second check succeeds.
    let effects = dash.keys("t");
    check_finished(&mut dash, &effects, Ok(()));
    let effects = dash.keys("<Esc>U");
    let effects = check_finished(&mut dash, &effects, Ok(()));
    assert_eq!(dash.profiles(), ["eu"]);
    assert!(
        matches!(&effects[..], [Effect::UseProfiles(_, list)] if list.len() == 1 && list[0].name == "eu")
    );
    dash.keys("<Esc>");
    assert!(!dash.screen().contains("support-bot"), "{}", dash.screen());
}

#[test]
fn unreachable_profile_is_used_only_on_explicit_request() {
    let mut dash = Dash::new(&format!("default_profiles = [\"us\"]\n{TWO}"), (140, 40));
    choose(&mut dash, "eu");
    let effects = dash.keys("<Space>");
    check_finished(&mut dash, &effects, Err(Kind::Network));
    assert_eq!(dash.profiles(), ["us"]);
    dash.keys("U");
    assert_eq!(dash.profiles(), ["us", "eu"]);
    // It can be removed again, but the last profile stays.
    dash.keys("<Space>");
    assert_eq!(dash.profiles(), ["us"]);
    choose(&mut dash, "us");
    dash.keys("<Space>");
    assert_eq!(dash.profiles(), ["us"]);
    assert!(
        dash.screen().contains("is the only profile in use"),
        "{}",
        dash.screen()
    );
}

#[test]
fn a_test_shows_the_checks_of_the_doctor_for_one_profile() {
    let mut dash = Dash::new(&format!("default_profiles = [\"us\"]\n{TWO}"), (140, 40));
    choose(&mut dash, "eu");
    let effects = dash.keys("t");
    assert_eq!(started_check(&effects).1.name, "eu");
    // A profile that is not in use is checked too, and no other one.
    let check = dash
        .subscriptions()
        .into_iter()
        .find(|sub| matches!(sub.key, SubscriptionId::Doctor(_)))
        .unwrap();
    assert!(
        matches!(&check.what, SubscriptionKind::Profile(profile) if profile.name == "eu"),
        "{:?}",
        check.key
    );
    let found = runtail_api::doctor::Check::good("key", "env:K is set");
    dash.feed(Msg::Subscription {
        key: check.key.clone(),
        epoch: check.epoch,
        event: SubscriptionEvent::Checked(Some(Box::new(found))),
    });
    let screen = dash.screen();
    assert!(
        screen.contains("Doctor") && screen.contains("env:K is set") && screen.contains("eu  "),
        "{screen}"
    );
    // The page of the profiles has them, too, with what to do.
    let fault = runtail_api::doctor::Fault::Access;
    let refused = runtail_api::doctor::Check::bad(fault, "auth", "401 Unauthorized")
        .to_do("Use a key of the workspace.");
    let event = SubscriptionEvent::Checked(Some(Box::new(refused)));
    dash.feed(Msg::Subscription {
        key: check.key.clone(),
        epoch: check.epoch,
        event,
    });
    check_finished(&mut dash, &effects, Err(Kind::Unauthorized));
    dash.keys("<Esc>");
    dash.pass(60);
    insta::assert_snapshot!("profile_details_140x40", dash.screen());
    // A new definition was not checked yet.
    reload(&mut dash, &TWO.replace("\"eu\"", "\"apac\""));
    assert!(!dash.screen().contains("env:K is set"), "{}", dash.screen());
}

#[test]
fn the_profiles_page_marks_production_and_the_selected_row() {
    let toml = "[profiles.a-prod]\nregion = \"us\"\napi_key_env = \"K\"\nlabel = \"production\"\n\
                [profiles.local]\nagent_server = \"http://127.0.0.1:2024\"\n";
    let mut dash = Dash::new(toml, (140, 40));
    dash.keys(":profiles<Enter>");
    choose(&mut dash, "local");
    let (screen, buffer) = (dash.screen(), dash.buffer());
    let row = |name: &str| {
        screen
            .lines()
            .position(|line| line.contains(&format!("]  {name}")))
            .unwrap() as u16
    };
    let column = |y: u16, text: &str| {
        let line = screen.lines().nth(y.into()).unwrap();
        line[..line.find(text).unwrap_or_else(|| panic!("{text}: {line}"))]
            .chars()
            .count() as u16
    };
    let bold = |x: u16, y: u16| {
        buffer[(x, y)]
            .modifier
            .contains(ratatui::style::Modifier::BOLD)
    };
    let (prod, local) = (row("a-prod"), row("local"));
    let mark = &buffer[(column(prod, "PROD"), prod)];
    assert!(
        mark.modifier.contains(ratatui::style::Modifier::REVERSED),
        "{mark:?} {screen}"
    );
    assert!(
        screen.contains("PROD read-only") || screen.contains("PROD writes"),
        "{screen}"
    );
    assert!(
        bold(column(local, "local"), local) && !bold(column(prod, "a-prod"), prod),
        "{screen}"
    );
    assert!(screen.contains("workspace   none"), "{screen}");
}

#[test]
fn aborted_checks_change_nothing() {
    let mut dash = Dash::new(&format!("default_profiles = [\"us\"]\n{TWO}"), (140, 40));
    choose(&mut dash, "eu");
    let effects = dash.keys("<Space>");
    dash.keys("<Space>");
    assert!(check_finished(&mut dash, &effects, Ok(())).is_empty());
    assert_eq!(dash.profiles(), ["us"]);
    // Only the newest check counts.
    let first = dash.keys("t");
    let second = dash.keys("<Esc>U");
    assert!(check_finished(&mut dash, &first, Ok(())).is_empty());
    assert_eq!(dash.profiles(), ["us"]);
    check_finished(&mut dash, &second, Ok(()));
    assert_eq!(dash.profiles(), ["eu"]);
}

#[test]
fn removing_a_profile_closes_only_its_streams_and_lists() {
    let mut dash = demo_like((140, 40));
    dash.keys("w");
    dash.open_thread();
    dash.capture("agent-values");
    let subscriptions_of_us = |dash: &Dash| {
        let subs = dash.subscriptions().into_iter();
        let of_us = subs.filter(
            |s| matches!(&s.key, SubscriptionId::Deployments(p) | SubscriptionId::Newest(p) if &**p == "prod-us"),
        );
        of_us.map(|s| (s.key, s.epoch)).collect::<Vec<_>>()
    };
    let rows = |dash: &Dash| {
        dash.rows()
            .iter()
            .filter(|row| &*row.profile_name == "prod-us")
            .count()
    };
    let (before, kept) = (subscriptions_of_us(&dash), rows(&dash));
    assert!(dash.has_stream() && dash.watches().len() == 1);
    choose(&mut dash, "prod-eu");
    dash.keys("<Space><Esc>");
    assert_eq!(dash.profiles(), ["prod-us"]);
    assert!(!dash.has_stream() && !dash.has_server() && dash.watches().is_empty());
    assert!(dash.deployments_with_revisions().is_empty() && dash.focus() == Pane::Deployments);
    assert_eq!((subscriptions_of_us(&dash), rows(&dash)), (before, kept));
    assert!(
        dash.rows().iter().all(|row| row.profile == 0),
        "rows refer to their profile by its new index"
    );
    let notice = dash.newest_notice();
    assert_eq!(
        notice,
        "prod-eu is off; closed: the stream of support-bot (its run continues), the threads of support-bot, a watch."
    );
    let screen = dash.screen();
    assert!(
        !screen.contains("nightly-etl") && screen.contains("invoice-agent"),
        "{screen}"
    );
}

#[test]
fn streams_of_remaining_profiles_continue() {
    let mut dash = demo_like((140, 40));
    dash.open_thread();
    dash.capture("agent-values");
    let stream = |dash: &Dash| {
        dash.subscriptions()
            .into_iter()
            .find(|s| matches!(s.key, SubscriptionId::Stream(_)))
    };
    let before = stream(&dash).map(|s| (s.key, s.epoch));
    choose(&mut dash, "prod-us");
    dash.keys("<Space><Esc>");
    assert_eq!(dash.profiles(), ["prod-eu"]);
    assert_eq!(stream(&dash).map(|s| (s.key, s.epoch)), before);
    // Another profile in the file, or a new label for this one, doesn't affect the stream.
    let toml = "[profiles.prod-eu]\nregion = \"eu\"\napi_key_env = \"K\"\nlabel = \"PROD\"\n[profiles.new]\nregion = \"apac\"\n";
    let effects = reload(&mut dash, toml);
    assert!(!has_check(&effects), "{effects:?}");
    assert_eq!(stream(&dash).map(|s| (s.key, s.epoch)), before);
    assert_eq!(dash.profiles(), ["prod-eu", "new"]);
    assert!(
        dash.is_read_only("prod-eu"),
        "a production label applies immediately"
    );
}

#[test]
fn invalid_file_keeps_the_profiles_and_shows_the_error() {
    let mut dash = Dash::new(TWO, (140, 40));
    deployment(&mut dash, "us", "support-bot");
    assert!(reload(&mut dash, "[profiles.us]\nregion = \"mars\"\n").is_empty());
    let screen = dash.screen();
    assert!(
        screen.contains("config.toml:2:10: unknown region \"mars\"")
            && screen.contains("support-bot"),
        "{screen}"
    );
    assert_eq!(dash.profiles(), ["us", "eu"]);
    dash.keys("p");
    let screen = dash.screen();
    assert!(
        screen.contains("The current file isn't used") && screen.contains("2 | region = \"mars\""),
        "{screen}"
    );
    // A file without profiles is rejected too.
    reload(&mut dash, "[ui]\nascii = true\n");
    assert_eq!(dash.profiles(), ["us", "eu"]);
    assert!(
        dash.screen().contains("it has no profiles"),
        "{}",
        dash.screen()
    );
    reload(&mut dash, TWO);
    assert!(!dash.screen().contains("not in use:"), "{}", dash.screen());
}

#[test]
fn reload_adds_removes_and_changes_profiles() {
    let mut dash = Dash::new(TWO, (140, 40));
    deployment(&mut dash, "us", "support-bot");
    deployment(&mut dash, "eu", "triage");
    // us has a new key, eu is removed, apac is new.
    let toml = "[profiles.us]\nregion = \"us\"\napi_key_env = \"OTHER\"\n[profiles.apac]\nregion = \"apac\"\n";
    let effects = reload(&mut dash, toml);
    assert_eq!(dash.profiles(), ["us", "apac"]);
    let screen = dash.screen();
    assert!(
        screen.contains("support-bot") && !screen.contains("triage"),
        "us stays until the new one is reached: {screen}"
    );
    let (_, tried) = started_check(&effects);
    assert_eq!(
        tried.key,
        Config::parse(toml, None).unwrap().profiles[0].key
    );
    let effects = check_finished(&mut dash, &effects, Ok(()));
    let Some(Effect::UseProfiles(_, list)) = effects.first() else {
        panic!("{effects:?}")
    };
    assert_eq!(list[0], *dash.definition("us"));
    assert!(
        !dash.screen().contains("support-bot"),
        "the rows of the old definition are removed: {}",
        dash.screen()
    );
}

#[test]
fn read_only_applies_before_the_new_definition_is_reachable() {
    let mut dash = Dash::new(TWO, (140, 40));
    assert!(!dash.is_read_only("us"));
    let effects = reload(
        &mut dash,
        "[profiles.us]\nregion = \"us\"\napi_key_env = \"OTHER\"\nread_only = true\n",
    );
    assert!(dash.is_read_only("us"));
    let active = effects.iter().find_map(|e| match e {
        Effect::UseProfiles(_, list) => Some(list),
        _ => None,
    });
    let us = active.unwrap().iter().find(|p| p.name == "us").unwrap();
    assert!(us.is_read_only() && us.key == Config::parse(TWO, None).unwrap().profiles[0].key);
    // Conversely, the old definition stays read-only until the new one is used.
    let mut dash = Dash::new(
        "[profiles.us]\nregion = \"us\"\nlabel = \"PROD\"\n",
        (140, 40),
    );
    let effects = reload(&mut dash, "[profiles.us]\nregion = \"eu\"\n");
    assert!(dash.is_read_only("us"));
    check_finished(&mut dash, &effects, Ok(()));
    assert!(!dash.is_read_only("us"));
}

#[test]
fn reload_respects_the_command_lines_profiles_and_read_only() {
    let config = Config::parse(TWO, None).unwrap();
    let origin = ProfileOrigin {
        names: vec!["us".into()],
        read_only: true,
        ..ProfileOrigin::default()
    };
    let mut dash = Dash::of_profiles(&config.profiles[..1], (140, 40));
    dash.configured(&config, origin);
    let effects = reload(
        &mut dash,
        &format!("{TWO}[profiles.new]\nregion = \"aws\"\nread_only = false\n"),
    );
    assert_eq!(dash.profiles(), ["us"]);
    assert!(dash.is_sealed(), "{effects:?}");
    for effect in effects {
        if let Effect::UseProfiles(_, list) = effect {
            assert!(list.iter().all(Profile::is_read_only));
        }
    }
}

#[test]
fn reloaded_keys_and_settings_apply_immediately() {
    let mut dash = Dash::new(TWO, (140, 40));
    reload(
        &mut dash,
        &format!(
            "{TWO}[keys]\n\"app.profiles\" = [\"F2\"]\n[ui]\nascii = true\n[limits]\nmax_bytes = 5000\n[pol]\n"
        ),
    );
    assert!(dash.keys("p").is_empty() && dash.dialog().is_none());
    dash.keys("<F2>");
    assert!(dash.has_dialog(Dialog::Profiles), "{}", dash.screen());
    assert!(dash.screen().is_ascii() && dash.kept_bytes() == 5000);
    let notice = dash.notices().join("\n");
    assert!(
        notice.contains("unknown key `pol`") && notice.contains("[limits] applies to new streams"),
        "{notice}"
    );
    // A new poll interval restarts the polls, but no stream.
    let epoch = dash.epoch_of("us");
    let effects = reload(&mut dash, &format!("{TWO}[poll]\ninterval = \"5s\"\n"));
    assert!(dash.epoch_of("us") > epoch);
    assert!(
        matches!(effects.first(), Some(Effect::Configure(config)) if config.poll.interval.as_secs() == 5)
    );
    // A setting is not rounded.
    reload(&mut dash, &format!("{TWO}[poll]\ninterval = \"90s\"\n"));
    assert!(dash.screen().contains("every 1m30s; "), "{}", dash.screen());
}

/// A random step of a dashboard whose profiles change.
#[derive(Debug, Clone)]
enum Step {
    /// The file is reloaded with these definitions of `a`, `b` and `c`; `None` removes one.
    Reload([Option<u8>; 3]),
    /// A key is pressed on a profile: use or stop using, check, use alone or anyway.
    Press(usize, &'static str),
    /// The nth pending request gets a response.
    Respond(usize, bool),
    /// All new requests are started.
    Start,
    Refresh,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let definition = proptest::option::weighted(0.8, 0u8..4);
    let step = prop_oneof![
        4 => [definition.clone(), definition.clone(), definition].prop_map(Step::Reload),
        3 => (0usize..3, proptest::sample::select(vec!["<Space>", "t", "U"])).prop_map(|(n, k)| Step::Press(n, k)),
        8 => (any::<usize>(), any::<bool>()).prop_map(|(n, ok)| Step::Respond(n, ok)),
        4 => Just(Step::Start),
        1 => Just(Step::Refresh),
    ];
    proptest::collection::vec(step, 1..60)
}

const NAMES: [&str; 3] = ["a", "b", "c"];

/// Returns a definition. Its number is in its key's name, which identifies its responses.
fn definition(name: &str, number: u8) -> String {
    let server = if name == "c" {
        "agent_server = \"http://127.0.0.1:2024\"\n"
    } else {
        ""
    };
    format!(
        "[profiles.{name}]\nregion = \"us\"\n{server}api_key_env = \"{}\"\n",
        key_name(name, number)
    )
}

fn key_name(name: &str, number: u8) -> String {
    format!("M_{name}{number}")
}

fn key_name_of(profile: &Profile) -> String {
    profile
        .key
        .as_ref()
        .unwrap()
        .to_string()
        .rsplit(' ')
        .next()
        .unwrap()
        .to_string()
}

/// A pending request, with the key name of the definition that started it.
enum Pending {
    Poll(SubscriptionId, Epoch, String),
    Effect(Epoch, Effect, String),
    Check(u64, String),
}

/// A runtime that starts requests with the active profiles and returns responses in any order.
struct Simulation {
    dash: Dash,
    active: (Epoch, Vec<Profile>),
    pending: Vec<Pending>,
    subscribed: BTreeMap<SubscriptionId, Epoch>,
}

impl Simulation {
    fn active_key_name(&self, name: &str) -> Option<String> {
        self.active
            .1
            .iter()
            .find(|p| p.name == name)
            .map(key_name_of)
    }

    fn run(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::UseProfiles(generation, list) => self.active = (generation, list),
                Effect::Try(number, profile) => self
                    .pending
                    .push(Pending::Check(number, key_name_of(&profile))),
                Effect::Describe(ref what) => {
                    let key_name = self
                        .active_key_name(what.profile())
                        .expect("the described profile is active");
                    self.pending
                        .push(Pending::Effect(self.active.0, effect, key_name));
                }
                Effect::FetchInfo(ref server) => {
                    let key_name = self
                        .active_key_name(&server.profile)
                        .expect("the server's profile is active");
                    self.pending
                        .push(Pending::Effect(self.active.0, effect, key_name));
                }
                _ => {}
            }
        }
        // Like the runtime, starts new subscriptions with the active profiles.
        let wanted = self.dash.subscriptions();
        self.subscribed
            .retain(|key, epoch| wanted.iter().any(|s| s.key == *key && s.epoch == *epoch));
        for sub in wanted {
            if self.subscribed.get(&sub.key) == Some(&sub.epoch) {
                continue;
            }
            assert!(matches!(sub.what, SubscriptionKind::Name));
            let profile = match &sub.key {
                SubscriptionId::Deployments(profile) | SubscriptionId::Newest(profile) => profile,
                SubscriptionId::Revisions(profile, _) | SubscriptionId::Inbox(profile) => profile,
                SubscriptionId::Past(profile) => profile,
                SubscriptionId::Card(of) => &of.profile,
                SubscriptionId::Watch(of) => &of.profile,
                other => panic!("{other:?}"),
            };
            let key_name = self
                .active_key_name(profile)
                .unwrap_or_else(|| panic!("{:?} is started without an active profile", sub.key));
            self.subscribed.insert(sub.key.clone(), sub.epoch);
            self.pending
                .push(Pending::Poll(sub.key, sub.epoch, key_name));
        }
    }

    fn respond(&mut self, which: usize, ok: bool) {
        if self.pending.is_empty() {
            return;
        }
        let which = which % self.pending.len();
        // A poll keeps responding, and may not know yet that it was stopped.
        let error = |key_name: &str, profile: &str| ApiError {
            kind: Kind::Server(503),
            at: Place {
                profile: profile.into(),
                ..Place::default()
            },
            detail: format!("failed with {key_name}"),
            hint: None,
        };
        let msg = match &self.pending[which] {
            Pending::Poll(key @ SubscriptionId::Deployments(profile), epoch, key_name) => {
                let items = serde_json::from_value(
                    json!([{"id": key_name, "name": key_name, "latest_revision_id": "r"}]),
                )
                .unwrap();
                let answer = if ok {
                    listed(items)
                } else {
                    let result = Err(error(key_name, profile));
                    let next = runtail_tui::session::msg::NextPoll::Stopped;
                    SubscriptionEvent::Deployments {
                        result,
                        is_truncated: true,
                        skew: Default::default(),
                        took: Default::default(),
                        next,
                    }
                };
                Msg::Subscription {
                    key: key.clone(),
                    epoch: *epoch,
                    event: answer,
                }
            }
            Pending::Poll(key @ SubscriptionId::Newest(_), epoch, key_name) => {
                let revision =
                    serde_json::from_value(json!({"id": "r", "status": key_name})).unwrap();
                let answer = SubscriptionEvent::Newest {
                    deployment: key_name.as_str().into(),
                    revision: Ok(revision),
                };
                Msg::Subscription {
                    key: key.clone(),
                    epoch: *epoch,
                    event: answer,
                }
            }
            Pending::Poll(key @ SubscriptionId::Revisions(profile, _), epoch, key_name) => {
                let next = runtail_tui::session::msg::NextPoll::Stopped;
                let items =
                    serde_json::from_value(json!([{"id": "r", "status": key_name}])).unwrap();
                let listed = runtail_api::Revisions {
                    items,
                    was_sorted: true,
                    unread: Default::default(),
                };
                let result = if ok {
                    Ok(listed)
                } else {
                    Err(error(key_name, profile))
                };
                Msg::Subscription {
                    key: key.clone(),
                    epoch: *epoch,
                    event: SubscriptionEvent::Revisions(result, next),
                }
            }
            Pending::Poll(..) => return,
            Pending::Effect(since, Effect::Describe(what), key_name) => {
                let result = if ok {
                    Ok(json!({"mark": key_name}).to_string().into())
                } else {
                    Err(error(key_name, what.profile()))
                };
                Msg::Effect {
                    to: ComponentId::App,
                    epoch: *since,
                    result: EffectResult::Described(what.clone(), result),
                }
            }
            Pending::Effect(since, Effect::FetchInfo(server), key_name) => Msg::Effect {
                to: ComponentId::App,
                epoch: *since,
                result: EffectResult::Info(server.clone(), Err(error(key_name, &server.profile))),
            },
            Pending::Effect(..) => return,
            Pending::Check(number, key_name) => {
                let result = if ok {
                    Ok(())
                } else {
                    Err(error(key_name, "tried"))
                };
                Msg::done(EffectResult::Tried(*number, result))
            }
        };
        if !matches!(self.pending[which], Pending::Poll(..)) {
            self.pending.remove(which);
        }
        let effects = self.dash.feed(msg);
        self.run(effects);
    }

    /// Checks that only responses of active definitions are on screen.
    fn check(&mut self) {
        let active_keys: Vec<String> = self.active.1.iter().map(key_name_of).collect();
        assert_eq!(
            self.active
                .1
                .iter()
                .map(|p| p.name.clone())
                .collect::<Vec<_>>(),
            self.dash.profiles(),
            "the runtime and the dashboard use the same profiles"
        );
        let is_active = |text: &String| active_keys.contains(text);
        for (name, status) in self.dash.shown_rows() {
            let shown = (&name, &status);
            let has_active = name.iter().chain(&status).all(is_active);
            assert!(has_active, "{shown:?} of a row; active: {active_keys:?}");
        }
        for status in self.dash.statuses() {
            assert!(is_active(&status), "{status:?}; active: {active_keys:?}");
        }
        for error in self.dash.errors() {
            assert!(
                active_keys.iter().any(|m| error.detail.ends_with(m)),
                "{error:?}; active: {active_keys:?}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// After any switches and reloads, and in any order of responses: no response to a request of an inactive
    /// definition changes the screen.
    #[test]
    fn late_responses_of_old_definitions_never_change_the_screen(steps in steps()) {
        let toml: String = NAMES.iter().map(|name| definition(name, 0)).collect();
        let dash = Dash::new(&toml, (140, 40));
        let active = (Epoch(0), dash.definitions().to_vec());
        let mut simulation = Simulation { dash, active, pending: Vec::new(), subscribed: BTreeMap::new() };
        simulation.run(Vec::new());
        for step in steps {
            let notices_before = simulation.dash.notices().len();
            let active_keys: Vec<String> = simulation.active.1.iter().map(key_name_of).collect();
            let mut by_response = false;
            match step {
                Step::Reload(definitions) => {
                    let defined = NAMES.iter().zip(definitions).filter_map(|(name, n)| Some(definition(name, n?)));
                    let effects = reload(&mut simulation.dash, &defined.collect::<String>());
                    simulation.run(effects);
                }
                Step::Press(which, keys) => {
                    simulation.dash.keys(":profiles<Enter>");
                    simulation.dash.select_profile(NAMES[which]);
                    simulation.dash.relayout();
                    // A test opens a page with its checks.
                    let keys = if keys == "t" { "t<Esc>" } else { keys };
                    let effects = simulation.dash.keys(keys);
                    simulation.run(effects);
                    let effects = simulation.dash.keys("<Esc>d");
                    simulation.run(effects);
                }
                Step::Respond(which, ok) => {
                    by_response = !matches!(simulation.pending.get(which % simulation.pending.len().max(1)), Some(Pending::Check(..)));
                    simulation.respond(which, ok);
                }
                Step::Start => {
                    simulation.dash.keys("<Esc><Down>");
                    simulation.run(Vec::new());
                }
                Step::Refresh => {
                    simulation.dash.pass(2);
                    let effects = simulation.dash.keys("r");
                    simulation.run(effects);
                }
            }
            simulation.check();
            if by_response {
                for notice in &simulation.dash.notices()[notices_before..] {
                    let first = notice.lines().next().unwrap_or_default();
                    prop_assert!(active_keys.iter().any(|m| first.ends_with(m)), "{first}; active: {active_keys:?}");
                }
            }
        }
    }
}

#[test]
fn documents_requested_before_a_switch_are_not_shown() {
    let mut dash = Dash::new(TWO, (140, 40));
    deployment(&mut dash, "us", "support-bot");
    let effects = dash.keys("d");
    let [Effect::Describe(what)] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    assert!(matches!(what, Described::Deployment(..)));
    let effects = reload(&mut dash, &TWO.replacen("\"K\"", "\"NEW\"", 1));
    check_finished(&mut dash, &effects, Ok(()));
    dash.feed(Msg::Effect {
        to: ComponentId::App,
        epoch: Epoch(0),
        result: EffectResult::Described(what.clone(), Ok(json!({"late": true}).to_string().into())),
    });
    assert!(dash.dialog().is_none(), "{}", dash.screen());
    let server = ServerRef {
        profile: "us".into(),
        name: "support-bot".into(),
        url: "https://x".into(),
    };
    let error = dash.error("us", Kind::Network);
    dash.feed(Msg::Effect {
        to: ComponentId::App,
        epoch: Epoch(0),
        result: EffectResult::Info(server, Err(error)),
    });
    assert!(dash.errors().is_empty());
}

#[test]
fn profiles_page_matches_the_snapshots() {
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
    check_finished(&mut dash, &effects, Err(Kind::Unauthorized));
    dash.pass(60);
    insta::assert_snapshot!("profiles_failed_140x40", dash.screen());
    dash.resize(80, 24);
    insta::assert_snapshot!("profiles_80x24", dash.screen());
    dash.set_ascii(true);
    assert!(dash.screen().is_ascii(), "{}", dash.screen());
}

#[test]
fn failed_profiles_say_why_and_what_helps() {
    let toml = "[profiles.us]\nregion = \"us\"\napi_key_env = \"K\"\n[profiles.eu]\nregion = \"eu\"\napi_key_keyring = \"langsmith\"\n";
    let mut dash = Dash::new(toml, (140, 40));
    // A profile in use, by its last poll.
    dash.refuse("us");
    choose(&mut dash, "us");
    let screen = dash.screen();
    assert!(
        screen.contains("to do       Set K to a key and restart Runtail."),
        "{screen}"
    );
    assert!(screen.contains("checked     us: 401"), "{screen}");
    // The environment can't be changed while Runtail runs; a keychain can.
    choose(&mut dash, "eu");
    let effects = dash.keys("t");
    check_finished(&mut dash, &effects, Err(Kind::Unauthorized));
    dash.keys("<Esc>");
    let screen = dash.screen();
    assert!(
        screen.contains("keyring:langsmith") && screen.contains("the keychain entry langsmith/eu"),
        "{screen}"
    );
    #[cfg(target_os = "linux")]
    assert!(
        screen.contains("Store a key: secret-tool store --label=LangSmith service langsmith account eu, then press t."),
        "{screen}"
    );
}

fn first_run(size: (u16, u16)) -> Dash {
    let mut dash = Dash::new("", size);
    dash.set_config_file("/home/me/.config/runtail/config.toml".into());
    dash
}

#[test]
fn first_run_offers_setup_and_connects() {
    let mut dash = first_run((80, 24));
    // Esc has no effect here, because there is no page below.
    dash.keys("<Esc>");
    assert!(dash.screen().contains("Try the demo"));
    // A region that doesn't exist, or a key in its place, which is not repeated.
    for (typed, said) in [
        ("3", "[ us"),
        (
            "<ctrl-u>lsv2_pt_canary<Enter>",
            "LangSmith has no such region",
        ),
        ("<ctrl-u><Enter>", "there are: us, eu, apac, aws"),
    ] {
        assert!(dash.keys(typed).is_empty());
        assert!(dash.screen().contains(said), "{typed}: {}", dash.screen());
    }
    assert!(!dash.screen().contains("canary"), "{}", dash.screen());
    let effects = dash.keys("us<Enter>");
    let (_, profile) = started_check(&effects);
    assert_eq!(
        (profile.name.as_str(), profile.region.as_deref()),
        ("us", Some("us"))
    );
    assert!(dash.screen().contains("checking us…"), "{}", dash.screen());
    check_finished(&mut dash, &effects, Err(Kind::NoKey));
    dash.pass(60);
    insta::assert_snapshot!("first_run_failed_80x24", dash.screen());
    // Another attempt succeeds. Nothing is written without a request.
    let effects = dash.keys("3<Enter>");
    check_finished(&mut dash, &effects, Ok(()));
    assert_eq!(dash.profiles(), ["us"]);
    assert!(dash.dialog().is_none(), "{}", dash.screen());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    dash.set_config_file(path.clone());
    dash.keys("p");
    assert!(dash.screen().contains("not saved; s shows the diff"));
    let [Effect::DraftFile(_, typed)] = &dash.keys("s")[..] else {
        panic!("{}", dash.screen())
    };
    let draft = Draft::new(&path, typed.clone()).map(Box::new);
    dash.done(EffectResult::Drafted(draft));
    let screen = dash.screen();
    assert!(
        screen.contains("╭ Save") && screen.contains("+ api_key_env = \"LANGSMITH_API_KEY\""),
        "{screen}"
    );
    // Only ctrl-s writes.
    assert!(dash.keys("<Enter>").is_empty());
    let [Effect::SaveFile(draft)] = &dash.keys("<ctrl-s>")[..] else {
        panic!("{}", dash.screen())
    };
    draft.write().unwrap();
    dash.done(EffectResult::Saved(Ok(draft.clone())));
    assert!(!dash.has_unsaved_profiles());
    let effects = reload(&mut dash, &std::fs::read_to_string(&path).unwrap());
    assert!(!has_check(&effects), "{effects:?}");
    assert!(dash.keys("s").is_empty());
    assert!(
        dash.screen().contains("No unsaved changes"),
        "{}",
        dash.screen()
    );
}

#[test]
fn a_profile_is_edited_in_its_file() {
    let path = Path::new("/home/me/.config/runtail/config.toml");
    let mut dash = Dash::new("", (140, 40));
    dash.set_config_file(path.into());
    reload(&mut dash, TWO);
    choose(&mut dash, "eu");
    assert_eq!(
        dash.keys("<Enter>"),
        [Effect::EditFile(path.into(), "eu".into())]
    );
    // A profile of the environment is in no file.
    let profiles = Config::parse(TWO, None).unwrap().profiles;
    let mut dash = Dash::of_profiles(&profiles, (140, 40));
    choose(&mut dash, "eu");
    assert_eq!(dash.keys("<Enter>"), []);
    assert!(
        dash.screen().contains("eu isn't in a file"),
        "{}",
        dash.screen()
    );
}

#[test]
fn first_run_ends_when_a_file_appears() {
    let mut dash = first_run((140, 40));
    insta::assert_snapshot!("first_run_140x40", dash.screen());
    reload(&mut dash, "[profiles.us]\nregion = \"mars\"\n");
    assert!(
        dash.screen().contains("unknown region"),
        "{}",
        dash.screen()
    );
    let effects = reload(&mut dash, TWO);
    assert!(matches!(effects.last(), Some(Effect::UseProfiles(_, list)) if list.len() == 2));
    assert!(dash.dialog().is_none());
    let mut dash = first_run((100, 30));
    dash.keys("q");
    assert!(dash.has_ended());
}

#[test]
fn profile_pages_render_at_any_size() {
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
fn production_is_always_visible() {
    let mut dash = Dash::new(
        "[profiles.us]\nregion = \"us\"\nlabel = \"PROD\"\n[profiles.eu]\nregion = \"eu\"\nlabel = \"staging\"\n",
        (140, 40),
    );
    deployment(&mut dash, "us", "support-bot");
    deployment(&mut dash, "eu", "triage");
    for (size, ascii) in [((140, 40), false), ((80, 24), false), ((60, 12), true)] {
        dash.resize(size.0, size.1);
        dash.set_ascii(ascii);
        let screen = dash.screen();
        assert!(
            screen
                .lines()
                .next()
                .is_some_and(|line| line.contains("PROD")),
            "{screen}"
        );
    }
}

#[test]
fn removed_profile_falls_back_to_the_files_default() {
    let file = |more: &str| format!("default_profiles = [\"us\"]\n{TWO}{more}");
    let mut dash = Dash::new(&file("[profiles.apac]\nregion = \"apac\"\n"), (140, 40));
    choose(&mut dash, "apac");
    let effects = dash.keys("U");
    check_finished(&mut dash, &effects, Ok(()));
    assert_eq!(dash.profiles(), ["apac"]);
    reload(&mut dash, &file(""));
    assert_eq!(dash.profiles(), ["us"]);
}

#[test]
fn the_key_that_shows_the_changes_of_the_file_does_not_write_them_while_it_is_held() {
    let mut dash = first_run((140, 40));
    let keys = "[keys]\n\"profiles.save\" = \"ctrl-s\"\n";
    let keys = Config::parse(keys, None).unwrap().keys;
    dash.set_keymap(Keymap::new(&keys).0);
    let effects = dash.keys("3<Enter>");
    check_finished(&mut dash, &effects, Ok(()));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    dash.set_config_file(path.clone());
    dash.keys("p");
    let [Effect::DraftFile(_, typed)] = &dash.keys("<ctrl-s>")[..] else {
        panic!("{}", dash.screen())
    };
    let draft = Draft::new(&path, typed.clone()).map(Box::new);
    dash.done(EffectResult::Drafted(draft));
    for wait in [500, 30, 30] {
        dash.later(wait);
        assert!(
            dash.keys("<ctrl-s>").is_empty(),
            "a held key must not write"
        );
    }
    dash.says("Press ctrl-s again to write.");
    dash.later(3000);
    assert!(matches!(dash.keys("<ctrl-s>")[..], [Effect::SaveFile(_)]));
}
