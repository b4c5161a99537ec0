//! The pictures of the README and of docs/views.md, drawn from the screens, dark and light. `UPDATE_PICTURE=1 cargo test --test
//! state pictures` updates them; `tests/pty/tour.rs` records the tour.

use jiff::SignedDuration;
use runtail_api::ServerInbox;
use runtail_testkit::dash::{Dash, demo_like, demo_thread, listed};
use runtail_testkit::picture;
use runtail_tui::session::subscription::{SubscriptionEvent, SubscriptionId};
use serde_json::{Value, json};

/// The size of the pictures.
const SIZE: (u16, u16) = (132, 32);

/// Compares the pictures `assets/NAME.svg` and `assets/NAME-light.svg` with the screen.
pub fn assert_pictures(dash: &mut Dash, name: &str) {
    let theme = dash.theme().to_string();
    for (of, ground, suffix) in [
        ("dark", picture::DARK, ""),
        ("light", picture::LIGHT, "-light"),
    ] {
        dash.set_theme(of);
        let path = format!("assets/{name}{suffix}.svg");
        let svg = picture::svg(&dash.buffer(), ground);
        if std::env::var_os("UPDATE_PICTURE").is_some() {
            std::fs::write(&path, &svg).unwrap();
        }
        assert!(
            std::fs::read_to_string(&path).is_ok_and(|kept| kept == svg),
            "{path} is outdated: UPDATE_PICTURE=1 updates it"
        );
    }
    dash.set_theme(&theme);
}

/// Opens a thread with the run of the demo's support graph.
fn support(size: (u16, u16)) -> Dash {
    let mut dash = demo_thread(size);
    dash.run_started_now("support", "01a1fc40-9290-7e84-9637-9e20eb6362d4");
    dash.recording("tests/fixtures/support-run.jsonl");
    dash
}

/// Opens a thread with the run of the demo's research graph.
fn research(size: (u16, u16)) -> Dash {
    let mut dash = demo_thread(size);
    dash.run_started_now("research", "01a1fede-b95a-7da2-8d5f-2d1c4e853bea");
    dash.recording_at_original_pace("tests/fixtures/research-run.jsonl");
    dash
}

/// Opens the deployments of two regions, after everything on the screen was read.
fn deployments(size: (u16, u16)) -> Dash {
    let toml = "[profiles.prod-us]\nregion = \"us\"\napi_key_env = \"K\"\n[profiles.prod-eu]\nregion = \"eu\"\napi_key_env = \"K\"\n";
    let mut dash = Dash::new(toml, size);
    let now = dash.now;
    let commits = |n: usize| {
        format!(
            "{:07x}0ae598e95dc970b74767f19372d61af8",
            // The number 7 is what the explanation says was deployed before.
            0x77a_b10c + (n + 193) % 200 * 0x9_3d17
        )
    };
    let revision = |id: &str, status: &str, minutes: i64, commit: usize| {
        let at = now - SignedDuration::from_mins(minutes);
        json!({"id": id, "status": status, "created_at": at, "updated_at": at + SignedDuration::from_secs(72),
               "source_revision_config": {"repo_ref": "main", "repo_commit_sha": commits(commit)}})
    };
    // Name, status, the status of its newest revision, minutes since then, whether an older revision serves.
    let rows = [
        (
            "prod-us",
            "invoice-agent",
            "READY",
            "BUILD_FAILED",
            31,
            true,
        ),
        ("prod-us", "support-bot", "READY", "DEPLOYED", 180, false),
        ("prod-us", "triage", "READY", "DEPLOYED", 2900, false),
        ("prod-eu", "support-bot", "READY", "BUILDING", 3, true),
        (
            "prod-eu",
            "contract-review",
            "READY",
            "DEPLOYED",
            600,
            false,
        ),
        ("prod-eu", "nightly-etl", "UNUSED", "DEPLOYED", 2880, false),
    ];
    for profile in ["prod-us", "prod-eu"] {
        let own = || rows.iter().enumerate().filter(|(_, row)| row.0 == profile);
        let list: Vec<Value> = own()
            .map(|(n, (_, name, status, .., older))| {
                let active = format!("r{n}{}", if *older { "-1" } else { "" });
                json!({"id": format!("d{n}"), "name": name, "status": status, "latest_revision_id": format!("r{n}"),
                       "active_revision_id": active, "url": format!("https://{name}.{profile}.example"), "source": "github",
                       "created_at": "2026-10-01T09:00:00Z", "source_config": {"deployment_type": "prod"}})
            })
            .collect();
        let key = SubscriptionId::Deployments(profile.into());
        dash.answer(
            |k| *k == key,
            listed(serde_json::from_value(json!(list)).unwrap()),
        );
        for (n, (.., status, minutes, _)) in own() {
            let newest = revision(&format!("r{n}"), status, *minutes, n);
            let answer = SubscriptionEvent::Newest {
                deployment: format!("d{n}").into(),
                revision: Ok(serde_json::from_value(newest).unwrap()),
            };
            let key = SubscriptionId::Newest(profile.into());
            dash.answer(|k| *k == key, answer);
        }
    }
    dash.last_day();
    let subject =
        |dash: &mut Dash, profile: &str, revision: String, commit: usize, subject: &str| {
            let event = SubscriptionEvent::CommitSubject {
                revision: revision.into(),
                commit: commits(commit).into(),
                subject: Some(subject.into()),
            };
            let key = SubscriptionId::Past(profile.into());
            dash.answer(|k| *k == key, event);
        };
    let newest = [
        "bump openai to 3.0",
        "shorter replies",
        "route by language",
        "retry on 429",
        "cite the clause",
        "skip holidays",
    ];
    for (n, text) in newest.into_iter().enumerate() {
        subject(&mut dash, rows[n].0, format!("r{n}"), n, text);
    }
    dash.keys("<Home>");
    for busy in [0, 4, 0, 2, 0, 1] {
        let server = dash.selected_server();
        let threads = match busy {
            2 => vec![crate::inbox::approval(&dash)],
            _ => Vec::new(),
        };
        let inbox = ServerInbox {
            threads,
            busy,
            ..ServerInbox::default()
        };
        crate::inbox::answer(&mut dash, &server, Ok(inbox));
        dash.keys("<Down>");
    }
    dash.keys("<Home>");
    dash.revisions_listed(json!([
        revision("r0", "BUILD_FAILED", 31, 0),
        revision("r0-1", "DEPLOYED", 1500, 7),
        revision("r0-2", "DEPLOYED", 4100, 8),
        revision("r0-3", "INTERRUPTED", 4160, 9),
        revision("r0-4", "DEPLOYED", 9900, 10),
    ]));
    let earlier = [
        "pin pydantic",
        "read scans",
        "try a smaller model",
        "two approvals above 1000",
    ];
    for (n, text) in earlier.into_iter().enumerate() {
        subject(&mut dash, "prod-us", format!("r0-{}", n + 1), n + 7, text);
    }
    dash.explained();
    dash
}

#[test]
fn readme_pictures_match_the_screens() {
    let mut dash = deployments((140, 32));
    assert_pictures(&mut dash, "deployments");
    let mut dash = support((132, 34));
    assert_pictures(&mut dash, "thread");
    let mut dash = research((140, 36));
    dash.keys("4");
    assert_pictures(&mut dash, "timeline");
}

#[test]
fn pictures_of_the_views_match_the_screens() {
    for (key, name, rows) in [
        ("2", "steps", 16),
        ("3", "state", 28),
        ("6", "events", 32),
        ("6d", "delivery", 26),
    ] {
        let mut dash = research((SIZE.0, rows));
        dash.keys(key);
        assert_pictures(&mut dash, name);
    }
    let mut dash = crate::views::thread((SIZE.0, 20));
    dash.keys("7");
    assert_pictures(&mut dash, "runs");
    let mut dash = crate::thread_actions::page(
        (SIZE.0, 22),
        &crate::thread_actions::waiting("question-hitl"),
    );
    dash.keys("a");
    assert_pictures(&mut dash, "answer");
    let mut dash = crate::steps::opened(SIZE, &crate::steps::capture("fork-history"));
    assert_pictures(&mut dash, "branches");
}

#[test]
fn pictures_of_pages_and_dialogs_match_the_screens() {
    let mut dash = crate::inbox::full(SIZE);
    dash.keys("i");
    assert_pictures(&mut dash, "inbox");
    assert_pictures(&mut crate::compare::compared(SIZE), "compare");
    let schema = crate::composer::schema();
    assert_pictures(
        &mut crate::composer::composer((SIZE.0, 26), Some(schema)),
        "composer",
    );
    assert_pictures(&mut crate::forms::first_run((SIZE.0, 20)), "first-run");
    let mut dash = support(SIZE);
    dash.keys(":can");
    assert_pictures(&mut dash, "palette");
    dash.keys("<Esc>?");
    assert_pictures(&mut dash, "help");
    let mut dash = demo_like(SIZE);
    dash.keys("<Home>e");
    dash.card();
    assert_pictures(&mut dash, "explain");
    let mut dash = demo_like((SIZE.0, 16));
    dash.keys("l");
    dash.log_lines();
    assert_pictures(&mut dash, "logs");
    let mut dash = demo_like((SIZE.0, 16));
    dash.open_server();
    assert_pictures(&mut dash, "threads");
}
