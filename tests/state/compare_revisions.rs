//! The page that compares the configurations of revisions and deployments.

use runtail_core::model::Configuration;
use runtail_testkit::dash::{Dash, Dialog, demo_like};
use runtail_tui::session::compare::{SideContents, SideRef};
use runtail_tui::session::msg::{Effect, SubscriptionEvent, SubscriptionId, SubscriptionKind};
use serde_json::{Value, json};
use std::sync::Arc;

const NEWEST: &str = "44444444-4444-4444-8444-444444444444";
const OLDER: &str = "55555555-5555-4555-8555-555555555555";
const OLDEST: &str = "77777777-7777-4777-8777-777777777777";

fn deployment(id: &str, kind: &str, secrets: &[&str]) -> Value {
    let secrets: Vec<Value> = secrets
        .iter()
        .map(|name| json!({"name": name, "value": format!("canary-{name}-value")}))
        .collect();
    json!({"id": id, "name": "support-bot", "source": "github", "latest_revision_id": NEWEST, "secrets": secrets,
        "url": format!("https://{id}.langgraph.app"), "source_config": {"repo_url": "https://github.com/acme/support-bot",
        "deployment_type": kind, "build_on_push": true, "resource_spec": {"min_scale": 1, "cpu": 1, "memory_mb": 2048}}})
}

fn revision(id: &str, status: &str, commit: &str, created: &str, ended: &str) -> Value {
    json!({"id": id, "status": status, "created_at": created, "updated_at": ended, "source": "github",
        "source_revision_config": {"repo_ref": "main", "langgraph_config_path": "langgraph.json",
        "repo_commit_sha": format!("{commit}d0ae598e95dc970b74767f19372d61af8")}})
}

fn older() -> Value {
    revision(
        OLDER,
        "DEPLOYED",
        "77ab10c",
        "2026-11-20T14:00:00Z",
        "2026-11-20T14:04:10Z",
    )
}

fn newest() -> Value {
    let mut newest = revision(
        NEWEST,
        "BUILD_FAILED",
        "9fceb02",
        "2026-11-21T13:57:50Z",
        "2026-11-21T13:58:24Z",
    );
    newest["source_revision_config"]["tracked_packages"] =
        json!(["google-adk:1.4.0", "pydantic:2.13.9"]);
    newest["source_revision_config"]
        .as_object_mut()
        .unwrap()
        .shift_remove("langgraph_config_path");
    newest["status_message"] =
        "No matching distribution found for pydantic==2.13.9\u{1b}[31m".into();
    newest
}

/// Sends the records of a side.
fn answer(dash: &mut Dash, which: usize, deployment: &Value, revision: &Value) {
    let loaded =
        SideContents::Configuration(Arc::new(Configuration::of(deployment, revision, dash.now)));
    let is_side =
        move |id: &SubscriptionId| matches!(id, SubscriptionId::Side(_, side) if *side == which);
    dash.answer(is_side, SubscriptionEvent::Side(Ok(loaded)));
}

/// The revisions that the open page loads: the deployment, and the revision's first character or `newest`.
fn sides(dash: &Dash) -> Vec<String> {
    let of = |side: &SideRef| {
        let of = side.configuration()?;
        Some(format!(
            "{} {} {}",
            of.profile,
            of.deployment,
            of.revision.as_deref().map_or("newest", |id| &id[..1])
        ))
    };
    let subs = dash.subscriptions();
    let sides = subs.iter().filter_map(|sub| match &sub.what {
        SubscriptionKind::Side(side) => of(side),
        _ => None,
    });
    sides.collect()
}

/// The newest two revisions of support-bot, compared.
fn compared(size: (u16, u16)) -> Dash {
    let mut dash = demo_like(size);
    dash.keys("<Tab><Home>=");
    let d = deployment("d1", "prod", &["OPENAI_API_KEY", "LOG_LEVEL"]);
    answer(&mut dash, 0, &d, &older());
    answer(&mut dash, 1, &d, &newest());
    dash
}

#[test]
fn revisions_are_aligned_by_key_with_the_cursor_on_the_first_difference() {
    for (name, size) in [
        ("compare_revisions_140x40", (140, 40)),
        ("compare_revisions_80x24", (80, 24)),
    ] {
        let mut dash = compared(size);
        let screen = dash.screen();
        assert!(
            !screen.contains('\u{1b}') && !screen.contains("canary"),
            "{screen}"
        );
        insta::assert_snapshot!(name, screen);
    }
}

#[test]
fn a_comparison_is_drawn_in_windows_of_any_size() {
    let mut dash = compared((140, 34));
    for (w, h) in [(9, 30), (1, 1), (2, 40), (300, 3), (0, 0)] {
        dash.resize(w, h);
        dash.screen();
    }
    dash.resize(140, 34);
    dash.shows("Compare revisions");
}

#[test]
fn deployments_of_two_regions_are_compared_with_the_names_of_their_secrets() {
    for (name, size) in [
        ("compare_deployments_140x40", (140, 40)),
        ("compare_deployments_80x24", (80, 24)),
    ] {
        let mut dash = demo_like(size);
        // support-bot of eu, and that of us.
        dash.keys("m<Home>");
        let row = dash
            .rows()
            .into_iter()
            .find(|row| row.id == "prod-us/d2")
            .expect("support-bot of us");
        assert_eq!(row.name, "support-bot");
        dash.select_deployment("prod-us/d2");
        dash.keys("=");
        assert_eq!(sides(&dash), ["prod-eu d1 newest", "prod-us d2 newest"]);
        let mut of_us = deployment("d2", "dev", &["OPENAI_API_KEY", "ZENDESK_TOKEN"]);
        of_us["source_config"]["resource_spec"]["sidecars"] =
            json!([{"name": "proxy", "env": [{"name": "TOKEN", "value": "canary-in-a-sidecar"}]}]);
        answer(
            &mut dash,
            0,
            &deployment("d1", "prod", &["OPENAI_API_KEY", "LOG_LEVEL"]),
            &newest(),
        );
        answer(&mut dash, 1, &of_us, &newest());
        let screen = dash.screen();
        assert!(!screen.contains("canary"), "{screen}");
        insta::assert_snapshot!(name, screen);
    }
}

#[test]
fn no_value_of_a_secret_reaches_the_screen_or_the_clipboard() {
    let mut dash = demo_like((140, 40));
    dash.keys(":compare prod-eu/support-bot prod-us/support-bot<Enter>");
    let secrets = ["OPENAI_API_KEY", "ZENDESK_TOKEN"];
    let mut repeated = newest();
    // A revision that repeats a secret in another field.
    repeated["source_revision_config"]["build_args"] =
        json!({"key": "x canary-OPENAI_API_KEY-value y"});
    answer(&mut dash, 0, &deployment("d1", "prod", &secrets), &repeated);
    answer(&mut dash, 1, &deployment("d2", "prod", &secrets), &newest());
    for size in [(140, 60), (80, 24)] {
        dash.resize(size.0, size.1);
        dash.keys("<Home>");
        for _ in 0..40 {
            let effects = dash.keys("y<Tab>y<Tab><Down>");
            let screen = dash.screen();
            assert!(!screen.contains("canary"), "{screen}");
            assert!(!format!("{effects:?}").contains("canary"), "{effects:?}");
        }
    }
    assert!(
        dash.screen().contains("secrets[ZENDESK_TOKEN]"),
        "{}",
        dash.screen()
    );
    assert!(dash.screen().contains("present"), "{}", dash.screen());
}

#[test]
fn keys_go_to_differences_hide_equal_ones_and_open_records() {
    let mut dash = compared((140, 40));
    let title = |dash: &mut Dash| {
        let screen = dash.screen();
        let line = screen
            .lines()
            .rfind(|line| line.starts_with('╭'))
            .unwrap_or_else(|| panic!("{screen}"));
        line.split('─')
            .next()
            .unwrap()
            .trim_start_matches('╭')
            .trim()
            .to_string()
    };
    assert_eq!(
        title(&mut dash),
        "source_revision_config.repo_commit_sha · A"
    );
    dash.keys("]");
    assert_eq!(
        title(&mut dash),
        "source_revision_config.langgraph_config_path · A"
    );
    dash.keys("]");
    assert_eq!(
        title(&mut dash),
        "source_revision_config.tracked_packages · A"
    );
    dash.keys("]");
    assert!(
        dash.screen().contains("No later difference."),
        "what is unknown is no difference"
    );
    dash.keys("c");
    let screen = dash.screen();
    assert!(
        screen.contains("=   1 equal") && !screen.contains("branch"),
        "{screen}"
    );
    // What makes no difference stays.
    assert!(
        screen.contains("created") && screen.contains("23h later"),
        "{screen}"
    );
    // The record is that of the side with the focus.
    let opened = |dash: &mut Dash| format!("{:?}", dash.keys("<Enter>"));
    let effects = opened(&mut dash);
    assert!(
        effects.contains(OLDER) && !effects.contains(NEWEST),
        "{effects}"
    );
    let effects = {
        dash.keys("<Tab>");
        opened(&mut dash)
    };
    assert!(effects.contains(NEWEST), "{effects}");
    // Runs have final states, and can be saved.
    dash.keys("ds");
    assert!(dash.has_dialog(Dialog::Compare), "{}", dash.screen());
    dash.keys("q");
    assert!(dash.dialog().is_none());
}

#[test]
fn the_commits_between_both_revisions_are_opened_on_github() {
    let mut dash = compared((140, 40));
    let url = "https://github.com/acme/support-bot/compare/\
               77ab10cd0ae598e95dc970b74767f19372d61af8...9fceb02d0ae598e95dc970b74767f19372d61af8";
    assert!(
        dash.screen()
            .contains("o commits 77ab10c...9fceb02 on GitHub"),
        "{}",
        dash.screen()
    );
    assert_eq!(dash.keys("o"), [Effect::OpenLink(url.into())]);
    let mut other = deployment("d1", "prod", &[]);
    other["source_config"]["repo_url"] = "https://gitlab.com/acme/support-bot".into();
    answer(&mut dash, 0, &other, &older());
    assert_eq!(dash.keys("o"), []);
    let screen = dash.screen();
    assert!(
        screen.contains("The repository is not on GitHub."),
        "{screen}"
    );
    assert!(
        screen.contains("no commits: the repository is not on GitHub."),
        "{screen}"
    );
}

#[test]
fn sides_that_load_or_fail_say_so_and_a_build_goes_on() {
    let mut dash = demo_like((140, 40));
    dash.keys("<Tab><Home>=");
    assert_eq!(
        sides(&dash),
        ["prod-eu d1 5", "prod-eu d1 4"],
        "from the older to the newer"
    );
    insta::assert_snapshot!("compare_revisions_loading", dash.screen());
    assert_eq!(dash.keys("o"), []);
    let d = deployment("d1", "prod", &[]);
    let failed = |which| move |id: &SubscriptionId| matches!(id, SubscriptionId::Side(_, side) if *side == which);
    dash.answer(
        failed(1),
        SubscriptionEvent::Side(Err("403: not allowed to read revisions".into())),
    );
    answer(&mut dash, 0, &d, &older());
    for size in [(140, 40), (80, 24)] {
        dash.resize(size.0, size.1);
        let screen = dash.screen();
        assert!(
            screen.contains("403: not allowed") && !screen.contains("loading…"),
            "{screen}"
        );
    }
    dash.resize(140, 40);
    let building = revision(
        NEWEST,
        "BUILDING",
        "9fceb02",
        "2026-11-21T13:59:30Z",
        "2026-11-21T13:59:40Z",
    );
    answer(&mut dash, 1, &d, &building);
    let screen = dash.screen();
    assert!(
        screen.contains("◐ BUILDING") && screen.contains("so far"),
        "{screen}"
    );
    let took = screen
        .lines()
        .find(|line| line.contains("so far"))
        .unwrap_or_default();
    assert!(
        !took.contains(" -"),
        "a build in progress has no duration to compare: {took}"
    );
    // The cursor stays on its key when the build ends.
    dash.keys("<Home><Down><Down>");
    answer(&mut dash, 1, &d, &newest());
    let screen = dash.screen();
    assert!(
        screen.contains("╭ message · A") || screen.contains("╭ created · A"),
        "{screen}"
    );
    assert!(screen.contains("✗ BUILD_FAILED"), "{screen}");
}

#[test]
fn marks_choose_the_revisions() {
    let mut dash = demo_like((140, 40));
    // The marked one and the selected one.
    dash.keys("<Tab><End>m<Home>=");
    assert_eq!(sides(&dash), ["prod-eu d1 7", "prod-eu d1 4"]);
    // Two marked ones, whichever is selected.
    dash.keys("q<Home><Down>m<Home>");
    assert!(dash.screen().contains("Two marked."), "{}", dash.screen());
    dash.keys("=");
    assert_eq!(sides(&dash), ["prod-eu d1 7", "prod-eu d1 5"]);
    assert!(
        dash.screen()
            .contains("A eu › support-bot › 77777777…7777   B eu"),
        "{}",
        dash.screen()
    );
    // A third mark replaces the first.
    dash.keys("q<Home>m<End>=");
    assert_eq!(sides(&dash), ["prod-eu d1 5", "prod-eu d1 4"]);
    // Without marks, the previous one.
    dash.keys("q<Home>m<Down>m=");
    assert_eq!(sides(&dash), ["prod-eu d1 6", "prod-eu d1 5"]);
    dash.keys("q<End>=");
    assert!(
        dash.screen()
            .contains("No older revision; mark one with m."),
        "{}",
        dash.screen()
    );
    assert_eq!(OLDEST.chars().next(), Some('7'));
}

#[test]
fn marks_choose_the_deployments() {
    let mut dash = demo_like((140, 40));
    // Without marks, the newest revision with the one before it.
    dash.keys("=");
    assert_eq!(sides(&dash), ["prod-eu d1 5", "prod-eu d1 4"]);
    // With one marked row it asks for the other.
    dash.keys("qm<Up>=");
    assert!(dash.has_dialog(Dialog::Command), "{}", dash.screen());
    dash.keys("prod-us/support-bot<Enter>");
    assert_eq!(sides(&dash), ["prod-eu d1 newest", "prod-us d2 newest"]);
    assert!(
        dash.screen()
            .contains("Compare deployments   A eu › support-bot   B us › support-bot"),
        "{}",
        dash.screen()
    );
    dash.keys("q<Home>m");
    let marked = dash.marked();
    assert_eq!(marked, 2, "{}", dash.screen());
    dash.keys("=");
    assert_eq!(sides(&dash).len(), 2);
    assert!(
        sides(&dash)
            .iter()
            .any(|side| side.starts_with("prod-us d3")),
        "{:?}",
        sides(&dash)
    );
    dash.keys("q<End>m=");
    assert!(
        dash.screen()
            .contains("3 marked. Mark only two to compare."),
        "{}",
        dash.screen()
    );
    // Runs and deployments have nothing in common.
    dash.keys(":compare prod-us/triage prod-us/support-bot:t-1<Enter>");
    assert!(
        dash.screen()
            .contains("Deployments compare with deployments only."),
        "{}",
        dash.screen()
    );
    let mut dash = demo_like((140, 40));
    dash.keys(":compare prod-us/triage<Enter>");
    assert!(
        dash.screen().contains("Compare with what? Mark one with"),
        "{}",
        dash.screen()
    );
}
