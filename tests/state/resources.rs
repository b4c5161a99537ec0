//! The resource lists and the sign-in screen: messages and keys in, text and effects out.

use runtail_api::{ApiError, AuthWaited, Kind, Listing, Place};
use runtail_core::model::{AuthAnswer, Collection, GithubApp, Intent, Service};
use runtail_testkit::dash::{Dash, demo_like, listing};
use runtail_tui::session::msg::{
    Applied, Effect, EffectResult, Proposal, Sent, SubscriptionEvent, SubscriptionId,
};
use serde_json::{Value, json};

/// Opens a list by its command and returns the number of its request.
#[track_caller]
pub(crate) fn open(dash: &mut Dash, command: &str) -> u64 {
    browse_number(&dash.keys(&format!(":{command}<Enter>")))
}

#[track_caller]
fn browse_number(effects: &[Effect]) -> u64 {
    match effects {
        [Effect::Browse(number, ..)] => *number,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn answer(dash: &mut Dash, number: u64, rows: Value) {
    let items = rows.as_array().unwrap().clone();
    dash.done(EffectResult::Browsed(number, Ok(listing(items))));
}

fn error(kind: Kind, detail: &str) -> ApiError {
    let at = Place {
        profile: "prod-us".into(),
        method: "GET".into(),
        host: "https://h".into(),
        path: "/v2/x".into(),
        ..Place::default()
    };
    ApiError {
        kind,
        at,
        detail: detail.into(),
        hint: None,
    }
}

pub(crate) fn listeners() -> Value {
    json!([
        {"id": "11111111-1111-4111-8111-111111111111", "compute_type": "k8s", "compute_id": "k8s-prod", "version": "0.3.1",
         "compute_config": {"k8s_namespaces": ["agents", "batch"]}, "updated_at": "2026-11-01T14:00:00Z", "novel": {"a": 1}},
        {"id": "22222222-2222-4222-8222-222222222222", "compute_type": "k8s", "compute_id": "k8s-\u{1b}[31medge", "version": null,
         "compute_config": {"k8s_namespaces": null}, "updated_at": "2026-11-21T13:00:00Z"},
    ])
}

pub(crate) fn providers() -> Value {
    json!([
        {"id": "p1", "provider_id": "github", "name": "GitHub", "client_id": "Iv1.0123456789abcdef", "uses_pkce": false,
         "provider_type": null, "mcp_server_url": null, "updated_at": "2026-11-01T14:00:00Z"},
        {"id": "p2", "provider_id": "linear-mcp", "name": "Linear by MCP", "client_id": "dyn-0123", "uses_pkce": true,
         "provider_type": null, "mcp_server_url": "https://mcp.linear.example/sse", "updated_at": "2026-11-20T14:00:00Z"},
    ])
}

#[test]
fn resource_lists_match_the_snapshots() {
    for size in [(140, 40), (80, 24)] {
        let mut dash = demo_like(size);
        let number = open(&mut dash, "listeners");
        dash.shows("Loading listeners of");
        answer(&mut dash, number, listeners());
        insta::assert_snapshot!(format!("listeners_{}x{}", size.0, size.1), dash.screen());
        dash.keys("<Esc>");
        let number = open(&mut dash, "providers");
        answer(&mut dash, number, providers());
        insta::assert_snapshot!(format!("providers_{}x{}", size.0, size.1), dash.screen());
        assert!(!dash.screen().contains('\u{1b}'));
    }
}

#[test]
fn integrations_open_their_repositories() {
    let mut dash = demo_like((120, 30));
    let number = open(&mut dash, "integrations");
    answer(
        &mut dash,
        number,
        json!([{"id": "i1", "installation_id": 42, "name": "acme"}, {"id": "i2", "installation_id": 43, "name": "labs"}]),
    );
    let effects = dash.keys("<Down><Enter>");
    let [Effect::Browse(number, _, of)] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    assert_eq!(
        *of,
        Collection::Repositories(GithubApp::Deployments, "i2".into())
    );
    answer(
        &mut dash,
        *number,
        json!([{"id": 7, "owner": "labs", "name": "bot", "url": "https://github.com/labs/bot", "default_branch": "main"}]),
    );
    dash.shows(["Repositories", "Repositories · labs in prod-eu"]);
    // y copies the URL that a deployment's source uses; Enter shows every field.
    assert_eq!(
        dash.keys("y"),
        [Effect::Copy("https://github.com/labs/bot".into())]
    );
    dash.keys("<Enter>");
    assert!(
        dash.screen().contains(r#""default_branch""#) || dash.screen().contains("default_branch")
    );
    dash.keys("<Esc><Esc>");
    dash.shows("╭ Integrations");
}

#[test]
fn switching_profiles_ignores_late_responses() {
    let mut dash = demo_like((120, 30));
    let first = open(&mut dash, "listeners");
    let effects = dash.keys("<Tab>");
    let [Effect::Browse(second, profile, _)] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    assert_ne!(&**profile, "prod-eu");
    answer(&mut dash, first, listeners());
    // A response for the previous profile.
    dash.lacks("k8s-prod");
    answer(&mut dash, *second, listeners());
    dash.shows("k8s-prod");
    // An account's repositories belong to one profile.
    let number = open(&mut dash, "integrations");
    answer(
        &mut dash,
        number,
        json!([{"id": "i1", "installation_id": 42, "name": "acme"}]),
    );
    dash.keys("<Enter>");
    assert_eq!(dash.keys("<Tab>"), []);
    dash.shows("belong to prod-us");
}

#[test]
fn filters_failures_and_incomplete_lists_are_shown() {
    let mut dash = demo_like((100, 24));
    let number = open(&mut dash, "listeners");
    answer(&mut dash, number, listeners());
    dash.keys("/EDGE<Enter>");
    dash.shows("1 of 2");
    dash.lacks("k8s-prod");
    dash.keys("<Esc>");
    // Esc clears the filter first.
    dash.shows("k8s-prod");
    // Rows that were loaded before stay and are marked as outdated.
    let number = browse_number(&dash.keys("r"));
    dash.done(EffectResult::Browsed(
        number,
        Err(error(Kind::Server(503), "busy")),
    ));
    dash.shows(["k8s-prod", "outdated: 503; r retries"]);
    let number = browse_number(&dash.keys("r"));
    let incomplete = Some(error(Kind::Protocol, "the cursor repeats"));
    dash.done(EffectResult::Browsed(
        number,
        Ok(Listing {
            items: Vec::new(),
            incomplete,
            unread: Default::default(),
        }),
    ));
    dash.shows(["No listeners.", "incomplete"]);
    dash.keys("<Esc>");
    let number = open(&mut dash, "tokens github");
    dash.done(EffectResult::Browsed(
        number,
        Err(error(Kind::Forbidden, "no access")),
    ));
    dash.shows(["403: no access", "Press r to retry"]);
}

/// Fills in, previews and sends an authentication request, and returns its number.
#[track_caller]
fn authenticate(dash: &mut Dash) -> u64 {
    dash.keys(":authenticate google<Enter>");
    dash.shows("╭ Authenticate");
    assert_eq!(
        dash.typed_ahead("<ctrl-r><ctrl-s>"),
        [],
        "nothing is sent before its preview is shown"
    );
    dash.shows("not sent yet");
    assert_eq!(dash.keys("<Enter>"), [], "Enter sends nothing");
    let effects = dash.keys("<ctrl-s>");
    let [Effect::Authenticate(number, profile, request)] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    assert_eq!(
        (&**profile, json!(request)),
        ("prod-eu", json!({"provider": "google", "scopes": []}))
    );
    assert_eq!(dash.keys("<ctrl-s>"), [], "the request is sent only once");
    *number
}

fn respond_to_authentication(dash: &mut Dash, number: u64, row: Value) {
    dash.done(EffectResult::Authenticated(
        number,
        Ok(AuthAnswer::new(row)),
    ));
}

#[test]
fn sign_in_link_is_opened_copied_and_awaited() {
    for size in [(140, 40), (80, 24)] {
        let mut dash = demo_like(size);
        let number = authenticate(&mut dash);
        let link = format!(
            "https://accounts.example/o/oauth2/authorize?client_id=1&scope={}&state=abc",
            "mail+".repeat(20)
        );
        respond_to_authentication(
            &mut dash,
            number,
            json!({"status": "pending", "url": link, "auth_id": "a-1", "metadata": {"n": 1}}),
        );
        insta::assert_snapshot!(format!("sign_in_{}x{}", size.0, size.1), dash.screen());
        assert_eq!(dash.keys("o"), [Effect::OpenLink(link.clone())]);
        assert_eq!(dash.keys("y"), [Effect::Copy(link)]);
        let wait_subscription = |dash: &Dash| {
            dash.subscriptions()
                .into_iter()
                .find(|s| s.key == SubscriptionId::Wait(number))
        };
        assert!(
            wait_subscription(&dash).is_none(),
            "waiting starts only on request"
        );
        dash.keys("w");
        assert!(wait_subscription(&dash).is_some() && dash.next_tick().is_some());
        dash.answer(
            |key| matches!(key, SubscriptionId::Wait(_)),
            SubscriptionEvent::WaitTrouble(error(Kind::Server(503), "busy")),
        );
        dash.shows(["503: busy", "waiting for"]);
        dash.keys("w");
        assert!(wait_subscription(&dash).is_none(), "w stops waiting");
        dash.keys("w");
        let ended = AuthAnswer::new(json!({"status": "completed", "token": "canary-token"}));
        dash.answer(
            |key| matches!(key, SubscriptionId::Wait(_)),
            SubscriptionEvent::Waited(Ok(AuthWaited::Ended(ended))),
        );
        let screen = dash.screen();
        dash.shows(["● completed", "received (not shown)"]);
        assert!(!screen.contains("canary") && !dash.all_that_is_kept().contains("canary"));
        assert!(wait_subscription(&dash).is_none());
        assert_eq!(dash.keys("o"), [], "a used link is not opened");
    }
}

#[test]
fn each_authentication_status_shows_the_next_step() {
    for (status, expected) in [
        ("connection_required", "connect the user or the agent first"),
        ("token_expired", "force_new = true"),
        ("completed", "Esc goes back"),
        ("novel", "Unknown status"),
    ] {
        let mut dash = demo_like((120, 30));
        let number = authenticate(&mut dash);
        respond_to_authentication(&mut dash, number, json!({"status": status}));
        dash.shows(status);
        dash.shows(expected);
        dash.keys("w");
        dash.shows("Nothing to wait for");
        // Esc returns to the editor.
        dash.keys("<Esc>");
        dash.shows("provider = \"google\"");
    }
    let mut dash = demo_like((120, 30));
    let number = authenticate(&mut dash);
    let refused = Kind::Invalid(vec!["body.scopes: Field required".into()]);
    dash.done(EffectResult::Authenticated(
        number,
        Err(error(refused, "the server rejected a field")),
    ));
    dash.shows("body.scopes: Field required");
    // If the screen was closed meanwhile, a notice shows the result.
    let mut dash = demo_like((120, 30));
    let number = authenticate(&mut dash);
    dash.keys("<Esc><Esc>");
    respond_to_authentication(
        &mut dash,
        number,
        json!({"status": "pending", "auth_id": "a"}),
    );
    dash.shows("Authentication: pending");
}

#[test]
fn authentication_requests_are_validated_and_refused_when_read_only() {
    let mut dash = demo_like((120, 30));
    dash.keys(":authenticate google<Enter><Down><Down><Home>scops = 3<Enter><ctrl-r>");
    dash.shows("✗ line 3, column 1: unknown field `scops`");
    let mut dash = demo_like((120, 30));
    dash.seal();
    assert_eq!(dash.keys(":authenticate google<Enter>"), []);
    dash.shows("read-only");
    // A profile that becomes read-only during editing sends nothing.
    let mut dash = demo_like((120, 30));
    dash.keys(":authenticate google<Enter><ctrl-r>");
    dash.seal();
    assert_eq!(dash.keys("<ctrl-s>"), []);
}

/// Returns the change that a key started to plan, with its number.
#[track_caller]
fn planned_change(effects: &[Effect]) -> (u64, Service) {
    match effects {
        [Effect::Plan(number, _, proposal)] => match &**proposal {
            Proposal::Service(Intent::Service(change)) => (*number, change.what.clone()),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn changes_are_edited_then_previewed() {
    let mut dash = demo_like((120, 36));
    let number = open(&mut dash, "listeners");
    answer(&mut dash, number, listeners());
    assert_eq!(dash.keys("u"), []);
    dash.shows([
        "╭ Update",
        r#"compute_config.k8s_namespaces = ["agents","batch"]"#,
    ]);
    let (_, what) = planned_change(&dash.keys("<ctrl-r>"));
    assert_eq!(
        what,
        Service::UpdateListener("11111111-1111-4111-8111-111111111111".into())
    );
    dash.keys("<Esc><Esc>");
    // Creating starts with an example. A mistake is marked at its position, and nothing is planned.
    dash.keys("a<Down><Down><Home>x");
    assert_eq!(dash.keys("<ctrl-r>"), []);
    dash.shows("✗ line 3, column 1: unknown field `xcompute_id`");
    dash.keys("<Backspace>");
    assert_eq!(
        planned_change(&dash.keys("<ctrl-r>")).1,
        Service::CreateListener
    );
    dash.keys("<Esc><Esc>");
    assert_eq!(
        planned_change(&dash.keys("<Down>D")).1,
        Service::DeleteListener("22222222-2222-4222-8222-222222222222".into())
    );
}

#[test]
fn every_resource_change_has_a_key() {
    let mut dash = demo_like((120, 36));
    let number = open(&mut dash, "providers");
    answer(&mut dash, number, providers());
    let mut seen = Vec::new();
    for keys in ["a<ctrl-r>", "N<ctrl-r>", "u<ctrl-r>", "D", "<ctrl-x>"] {
        seen.push(planned_change(&dash.keys(keys)).1);
        dash.keys("<Esc>");
        if keys.ends_with("<ctrl-r>") {
            dash.keys("<Esc>");
        }
    }
    let number = browse_number(&dash.keys("K"));
    answer(
        &mut dash,
        number,
        json!([{"id": "t1", "provider_id": "github", "provider_account_label": "octo", "scopes": ["repo"]}]),
    );
    for keys in ["D", "<ctrl-x>"] {
        seen.push(planned_change(&dash.keys(keys)).1);
        dash.keys("<Esc>");
    }
    let github = || "github".to_string();
    let expected = [
        Service::CreateProvider,
        Service::DiscoverProvider,
        Service::UpdateProvider(github()),
        Service::DeleteProvider(github()),
        Service::DeleteTokensOf(github()),
        Service::DeleteToken("t1".into()),
        Service::DeleteTokensOf(github()),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn lists_reload_after_a_change() {
    let mut dash = demo_like((120, 36));
    let number = open(&mut dash, "listeners");
    answer(&mut dash, number, listeners());
    let (number, _) = planned_change(&dash.keys("D"));
    let made = Applied {
        said: "Delete the listener k8s-prod: done.".into(),
        ..Applied::default()
    };
    let again = browse_number(&dash.done(EffectResult::Sent(number, Sent::Record(Ok(made)))));
    dash.shows("loading…");
    answer(&mut dash, again, json!([]));
    dash.shows("No listeners.");
}
