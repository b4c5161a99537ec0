//! The browser and the screen of an authentication: messages and key strings in, text and effects out.

#[path = "screens/dash.rs"]
#[allow(dead_code)]
mod dash;

use dash::{Dash, demo_like};
use runtail::api::{ApiError, AuthWaited, Kind, Listing, Place};
use runtail::app::msg::{Answer, Done, Effect, SubKey};
use runtail::app::subscriptions;
use runtail::model::{AuthAnswer, Collection, GithubApp};
use serde_json::{Value, json};

/// Opens a list by its command; gives the number of its request.
#[track_caller]
fn open(dash: &mut Dash, command: &str) -> u64 {
    asked(&dash.keys(&format!(":{command}<Enter>")))
}

#[track_caller]
fn asked(effects: &[Effect]) -> u64 {
    match effects {
        [Effect::Browse(number, ..)] => *number,
        other => panic!("{other:?}"),
    }
}

fn answer(dash: &mut Dash, number: u64, rows: Value) {
    let items = rows.as_array().unwrap().clone();
    dash.done(Done::Browsed(number, Ok(Listing { items, incomplete: None })));
}

fn error(kind: Kind, detail: &str) -> ApiError {
    let at = Place {
        profile: "prod-us".into(),
        method: "GET".into(),
        host: "https://h".into(),
        path: "/v2/x".into(),
        request_id: None,
    };
    ApiError { kind, at, detail: detail.into(), hint: None }
}

fn listeners() -> Value {
    json!([
        {"id": "11111111-1111-4111-8111-111111111111", "compute_type": "k8s", "compute_id": "k8s-prod", "version": "0.3.1",
         "compute_config": {"k8s_namespaces": ["agents", "batch"]}, "updated_at": "2026-11-01T14:00:00Z", "novel": {"a": 1}},
        {"id": "22222222-2222-4222-8222-222222222222", "compute_type": "k8s", "compute_id": "k8s-\u{1b}[31medge", "version": null,
         "compute_config": {"k8s_namespaces": null}, "updated_at": "2026-11-21T13:00:00Z"},
    ])
}

fn providers() -> Value {
    json!([
        {"id": "p1", "provider_id": "github", "name": "GitHub", "client_id": "Iv1.0123456789abcdef", "uses_pkce": false,
         "provider_type": null, "mcp_server_url": null, "updated_at": "2026-11-01T14:00:00Z"},
        {"id": "p2", "provider_id": "linear-mcp", "name": "Linear by MCP", "client_id": "dyn-0123", "uses_pkce": true,
         "provider_type": null, "mcp_server_url": "https://mcp.linear.example/sse", "updated_at": "2026-11-20T14:00:00Z"},
    ])
}

#[test]
fn lists_at_both_sizes() {
    for size in [(140, 40), (80, 24)] {
        let mut dash = demo_like(size);
        let number = open(&mut dash, "listeners");
        assert!(dash.screen().contains("for its listeners…"), "{}", dash.screen());
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
fn from_an_integration_to_its_repositories_and_back() {
    let mut dash = demo_like((120, 30));
    let number = open(&mut dash, "integrations");
    answer(
        &mut dash,
        number,
        json!([{"id": "i1", "installation_id": 42, "name": "acme"}, {"id": "i2", "installation_id": 43, "name": "labs"}]),
    );
    let effects = dash.keys("<Down><Enter>");
    let [Effect::Browse(number, _, of)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(*of, Collection::Repositories(GithubApp::Deployments, "i2".into()));
    answer(
        &mut dash,
        *number,
        json!([{"id": 7, "owner": "labs", "name": "bot", "url": "https://github.com/labs/bot", "default_branch": "main"}]),
    );
    let screen = dash.screen();
    assert!(screen.contains("REPOSITORIES") && screen.contains("of labs in prod-eu"), "{screen}");
    // Every field, and the id for the clipboard.
    assert_eq!(dash.keys("c"), [Effect::Copy("7".into())]);
    dash.keys("<Enter>");
    assert!(
        dash.screen().contains(r#""default_branch""#) || dash.screen().contains("default_branch"),
        "{}",
        dash.screen()
    );
    dash.keys("<Esc><Esc>");
    assert!(dash.screen().contains("INTEGRATIONS"), "{}", dash.screen());
}

#[test]
fn another_profile_and_answers_that_come_too_late() {
    let mut dash = demo_like((120, 30));
    let first = open(&mut dash, "listeners");
    let effects = dash.keys("<Tab>");
    let [Effect::Browse(second, profile, _)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_ne!(&**profile, "prod-eu");
    answer(&mut dash, first, listeners());
    assert!(!dash.screen().contains("k8s-prod"), "the answer of the profile that was left: {}", dash.screen());
    answer(&mut dash, *second, listeners());
    assert!(dash.screen().contains("k8s-prod"));
    // What an agent may use belongs to one profile.
    open(&mut dash, "connections support-bot");
    assert_eq!(dash.keys("<Tab>"), []);
    assert!(dash.screen().contains("another profile has others"), "{}", dash.screen());
}

#[test]
fn a_filter_a_failure_and_what_is_not_whole() {
    let mut dash = demo_like((100, 24));
    let number = open(&mut dash, "listeners");
    answer(&mut dash, number, listeners());
    dash.keys("/EDGE<Enter>");
    let screen = dash.screen();
    assert!(screen.contains("1 of 2") && !screen.contains("k8s-prod"), "{screen}");
    dash.keys("<Esc>");
    assert!(dash.screen().contains("k8s-prod"), "Esc clears the filter first");
    // What was read before stays, and is called old.
    let number = asked(&dash.keys("r"));
    dash.done(Done::Browsed(number, Err(error(Kind::Server(503), "busy"))));
    let screen = dash.screen();
    assert!(screen.contains("k8s-prod") && screen.contains("old: 503, r asks again"), "{screen}");
    let number = asked(&dash.keys("r"));
    let incomplete = Some(error(Kind::Protocol, "round and round"));
    dash.done(Done::Browsed(number, Ok(Listing { items: Vec::new(), incomplete })));
    let screen = dash.screen();
    assert!(screen.contains("There are no listeners.") && screen.contains("there may be more"), "{screen}");
    dash.keys("<Esc>");
    let number = open(&mut dash, "tokens github");
    dash.done(Done::Browsed(number, Err(error(Kind::Forbidden, "not for you"))));
    let screen = dash.screen();
    assert!(screen.contains("403: not for you") && screen.contains("r asks again"), "{screen}");
}

/// Writes an authentication down, shows it, sends it, and gives its number.
#[track_caller]
fn authenticate(dash: &mut Dash) -> u64 {
    dash.keys(":authenticate google<Enter>");
    assert!(dash.screen().contains("AUTHENTICATE"), "{}", dash.screen());
    assert_eq!(dash.keys("<ctrl-r>"), [], "nothing is sent before it was looked at");
    assert!(dash.screen().contains("nothing was sent so far"), "{}", dash.screen());
    assert_eq!(dash.keys("<Enter>"), [], "Enter sends nothing");
    let effects = dash.keys("<ctrl-s>");
    let [Effect::Authenticate(number, profile, request)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!((&**profile, request.provider.as_str(), request.scopes.len()), ("prod-eu", "google", 0));
    assert_eq!(dash.keys("<ctrl-s>"), [], "it is sent once");
    *number
}

fn answered(dash: &mut Dash, number: u64, row: Value) {
    dash.done(Done::Authenticated(number, Ok(AuthAnswer::new(row))));
}

#[test]
fn a_link_and_the_wait_for_it() {
    for size in [(140, 40), (80, 24)] {
        let mut dash = demo_like(size);
        let number = authenticate(&mut dash);
        let link =
            format!("https://accounts.example/o/oauth2/authorize?client_id=1&scope={}&state=abc", "mail+".repeat(20));
        answered(&mut dash, number, json!({"status": "pending", "url": link, "auth_id": "a-1", "metadata": {"n": 1}}));
        insta::assert_snapshot!(format!("sign_in_{}x{}", size.0, size.1), dash.screen());
        assert_eq!(dash.keys("o"), [Effect::OpenLink(link.clone())]);
        assert_eq!(dash.keys("c"), [Effect::Copy(link)]);
        let waits = |dash: &Dash| subscriptions(&dash.app).into_iter().find(|s| s.key == SubKey::Wait(number));
        assert!(waits(&dash).is_none(), "it is not waited for unasked");
        dash.keys("w");
        assert!(waits(&dash).is_some() && dash.app.next_tick().is_some());
        dash.answer(|key| matches!(key, SubKey::Wait(_)), Answer::WaitTrouble(error(Kind::Server(503), "busy")));
        assert!(dash.screen().contains("503: busy") && dash.screen().contains("waiting for"), "{}", dash.screen());
        dash.keys("w");
        assert!(waits(&dash).is_none(), "w again waits no longer");
        dash.keys("w");
        let ended = AuthAnswer::new(json!({"status": "completed", "token": "canary-token"}));
        dash.answer(|key| matches!(key, SubKey::Wait(_)), Answer::Waited(Ok(AuthWaited::Ended(ended))));
        let screen = dash.screen();
        assert!(screen.contains("● completed") && screen.contains("came, and is not shown"), "{screen}");
        assert!(!screen.contains("canary") && !format!("{:?}", dash.app).contains("canary"));
        assert!(waits(&dash).is_none());
        assert_eq!(dash.keys("o"), [], "a link that has done its work is not opened");
    }
}

#[test]
fn every_status_says_what_to_do_next() {
    for (status, said) in [
        ("connection_required", "has to be connected first"),
        ("token_expired", "force_new = true"),
        ("completed", "Nothing is left to do"),
        ("novel", "not a status that Runtail knows"),
    ] {
        let mut dash = demo_like((120, 30));
        let number = authenticate(&mut dash);
        answered(&mut dash, number, json!({"status": status}));
        let screen = dash.screen();
        assert!(screen.contains(status) && screen.contains(said), "{screen}");
        dash.keys("w");
        assert!(dash.screen().contains("nothing to wait for"), "{}", dash.screen());
        // Back to what was written.
        dash.keys("<Esc>");
        assert!(dash.screen().contains("provider = \"google\""), "{}", dash.screen());
    }
    let mut dash = demo_like((120, 30));
    let number = authenticate(&mut dash);
    let refused = Kind::Invalid(vec!["body.scopes: Field required".into()]);
    dash.done(Done::Authenticated(number, Err(error(refused, "the server refused a field"))));
    assert!(dash.screen().contains("body.scopes: Field required"), "{}", dash.screen());
}

#[test]
fn what_is_written_is_checked_and_read_only_profiles_begin_nothing() {
    let mut dash = demo_like((120, 30));
    dash.keys(":authenticate<Enter><Down><Down><Home>scops = 3\n<ctrl-r>");
    let screen = dash.screen();
    assert!(screen.contains("✗ line 3, column 1: unknown field `scops`"), "{screen}");
    let mut dash = demo_like((120, 30));
    dash.seal();
    assert_eq!(dash.keys(":authenticate google<Enter>"), []);
    assert!(dash.screen().contains("read-only"), "{}", dash.screen());
    // One that becomes read-only while it is written sends nothing either.
    let mut dash = demo_like((120, 30));
    dash.keys(":authenticate google<Enter><ctrl-r>");
    dash.seal();
    assert_eq!(dash.keys("<ctrl-s>"), []);
}
