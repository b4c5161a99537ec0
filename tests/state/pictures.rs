//! The pictures of the README and of docs/views.md, drawn from the screens, dark and light. `UPDATE_PICTURE=1 cargo test --test
//! state pictures` updates them; `tests/pty/tour.rs` records the tour.

use runtail_testkit::dash::{Dash, demo_like, demo_thread};
use runtail_testkit::picture;

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

#[test]
fn readme_pictures_match_the_screens() {
    let mut dash = demo_like((140, 32));
    dash.keys("<Home>");
    dash.last_day();
    dash.explained();
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
        ("2", "updates", 16),
        ("3", "state", 28),
        ("7", "raw", 32),
        ("8", "delivery", 26),
    ] {
        let mut dash = research((SIZE.0, rows));
        dash.keys(key);
        assert_pictures(&mut dash, name);
    }
    let mut dash = crate::views::thread((SIZE.0, 20));
    dash.keys("5");
    assert_pictures(&mut dash, "runs");
    let mut dash = research((SIZE.0, 12));
    for (done, file) in [
        (1, "ferries-2024.pdf"),
        (2, "dnv-forecast.pdf"),
        (3, "batteries.pdf"),
    ] {
        dash.event(
            "custom",
            &format!(r#"{{"indexed":"{file}","done":{done},"of":7}}"#),
        );
    }
    dash.keys("6");
    assert_pictures(&mut dash, "custom");
    let mut dash = crate::thread_actions::page(
        (SIZE.0, 22),
        &crate::thread_actions::waiting("question-hitl"),
    );
    dash.keys("a");
    assert_pictures(&mut dash, "answer");
    let mut dash = crate::history::opened(SIZE, &crate::history::capture("fork-history"));
    assert_pictures(&mut dash, "history");
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
