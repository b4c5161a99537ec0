//! Agent servers without a control plane in the list of deployments, and a list without rows.

use crate::inbox;
use runtail_api::{Kind, ServerInfo, ServerKind};
use runtail_core::model::InboxThread;
use runtail_testkit::dash::Dash;
use runtail_tui::session::msg::{EffectResult, ServerRef, SubscriptionId};
use serde_json::Value;

/// The inbox with every kind of row, after each server reported its software.
fn servers(size: (u16, u16)) -> Dash {
    let mut dash = inbox::full(size);
    for (profile, name, port) in [
        ("eu", "support-bot", 2001),
        ("us", "invoice-agent", 2002),
        ("us", "triage", 2003),
    ] {
        let info = ServerInfo {
            kind: ServerKind::Python,
            version: "0.16.7".into(),
            raw: Value::Null,
        };
        let server = ServerRef {
            profile: profile.into(),
            name: name.into(),
            url: format!("http://127.0.0.1:{port}/").into(),
        };
        dash.done(EffectResult::Info(server, Ok(info)));
    }
    dash
}

#[test]
fn a_server_shows_what_needs_a_person_in_place_of_revisions() {
    let mut dash = servers((140, 24));
    dash.keys("/invoice<Enter>");
    insta::assert_snapshot!("server_pane", dash.screen());
    dash.keys("<Esc>/triage<Enter>");
    dash.shows("Nothing needs you here.");
    // Unknown isn't nothing.
    inbox::answer(&mut dash, &inbox::support(), Err(Kind::Unauthorized));
    dash.keys("<Esc>/support<Enter>");
    dash.shows("Threads not listed yet.");
    dash.lacks("Nothing needs you");
}

#[test]
fn more_rows_than_fit_are_counted() {
    let mut dash = servers((140, 24));
    let thread = |n: usize| InboxThread {
        thread_id: format!("thread {n}"),
        ..inbox::approval(&dash)
    };
    let threads = (0..40).map(thread).collect();
    inbox::answer(&mut dash, &inbox::support(), inbox::listed(threads));
    dash.keys("/support<Enter>");
    let screen = dash.screen();
    let shown = screen.matches("Approve this payment?").count();
    assert!(shown > 4 && screen.contains(&format!("… {} more", 40 - shown)));
    dash.shows("i inbox");
}

#[test]
fn a_list_that_fails_on_every_profile_says_all_of_it() {
    let toml = "[profiles.a]\nurl = \"http://127.0.0.1:2001\"\n[profiles.b]\nurl = \"http://127.0.0.1:2002\"\n";
    let mut dash = Dash::new(toml, (140, 40));
    for profile in ["a", "b"] {
        dash.fails(
            |key| matches!(key, SubscriptionId::Deployments(of) if **of == *profile),
            Kind::NotFound,
        );
    }
    dash.shows(["a: ", "b: ", "Press r to retry"]);
    dash.lacks("No deployment selected");
}
