//! The composer of a run: its form, its options, and what is sent.

use crate::thread_actions::{after_run, page};
use runtail_api::{Acted, RunStart};
use runtail_api::{
    ApiError, GraphFacts, Kind, PastInput, Place, StartError, StartFailure, Started, ThreadIntent,
};
use runtail_testkit::dash::{Dash, Dialog, demo_server, thread_plan};
use runtail_testkit::made;
use runtail_testkit::says::Says;
use runtail_tui::session::msg::{Effect, EffectResult, Msg, Sent, ThreadRef};
use serde_json::{Value, json};

const AGENT: &str = "fe096781-5601-53d2-b2f6-0d3403f7e9ca";

/// The schema of the mock-up (screens reference §9).
pub(crate) fn schema() -> Value {
    json!({
        "$defs": {"Priority": {"enum": ["normal", "high"], "type": "string"}},
        "properties": {
            "messages": {"type": "array", "items": {}},
            "customer": {"type": "string"},
            "priority": {"$ref": "#/$defs/Priority", "default": "normal"},
            "budget": {"anyOf": [{"type": "number", "minimum": 0}, {"type": "null"}], "default": null},
            "context": {"type": "object", "properties": {"channel": {"type": "string"}, "locale": {"type": "string"}}},
        },
        "required": ["messages", "customer"], "type": "object", "title": "Ticket",
    })
}

fn facts(schema: Option<Value>) -> GraphFacts {
    let nodes = ["draft", "approve", "act"].map(str::to_string).to_vec();
    GraphFacts {
        input_schema: schema,
        is_of_state: false,
        context_schema: None,
        nodes: Some(nodes),
        ignores_breakpoints: false,
    }
}

/// Opens the composer on the first thread with the keys, and answers with these facts.
#[track_caller]
pub(crate) fn composer(size: (u16, u16), schema: Option<Value>) -> Dash {
    let mut dash = demo_server(size);
    // The fourth thread is idle; its runs offer "this thread" by default.
    let effects = dash.keys("<Enter>n");
    let server = requested(&effects);
    dash.done(EffectResult::GraphFacts(
        server,
        AGENT.into(),
        Ok(Box::new(facts(schema))),
    ));
    dash
}

#[track_caller]
fn requested(effects: &[Effect]) -> runtail_tui::session::msg::ServerRef {
    let found = effects.iter().find_map(|effect| match effect {
        Effect::FetchGraphFacts(server, id) if id == AGENT => Some(server.clone()),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("{effects:?}"))
}

fn started(effects: &[Effect]) -> Option<(u64, ThreadRef, RunStart)> {
    effects.iter().find_map(|effect| match effect {
        Effect::StartRun(number, thread, start) => {
            Some((*number, thread.clone(), (**start).clone()))
        }
        _ => None,
    })
}

#[test]
fn the_schema_of_the_graph_becomes_a_form() {
    let mut dash = composer((140, 40), Some(schema()));
    dash.keys("Please send me the corrected invoice for October.<Tab>");
    insta::assert_snapshot!("composer_form", dash.screen());
    // The form can't be sent before it is valid, and the focus moves to the problem.
    dash.keys("<Tab><Tab>ten<Tab><ctrl-s>");
    dash.shows([
        "✗ must be a number",
        "budget: must be a number. Nothing was sent.",
    ]);
    dash.keys("<Backspace><Backspace><Backspace>12.5");
    let (_, _, start) =
        started(&dash.keys("<ctrl-s>")).unwrap_or_else(|| panic!("{}", dash.screen()));
    let message =
        json!([{"role": "user", "content": "Please send me the corrected invoice for October."}]);
    // The customer is required, but may be in the thread's state.
    assert_eq!(
        start.body.input,
        Some(json!({"messages": message, "priority": "normal", "budget": 12.5}))
    );
    assert_eq!(start.body.extra["multitask_strategy"], "reject");
    assert!(start.body.stream_mode.iter().any(|mode| mode == "tasks"));
}

#[test]
fn a_list_has_one_item_per_line() {
    let schema = json!({
        "properties": {
            "tags": {"type": "array", "items": {"type": "string"}, "default": []},
            "scores": {"anyOf": [{"type": "array", "items": {"type": "integer", "maximum": 9}}, {"type": "null"}]},
            "levels": {"type": "array", "items": {"enum": ["low", "high"]}, "default": ["low"], "maxItems": 2},
            "note": {"type": "string", "minLength": 1},
        },
        "type": "object",
    });
    let mut dash = composer((140, 40), Some(schema));
    dash.keys("new bug<Enter>urgent<Tab>1, x<Tab>");
    insta::assert_snapshot!("composer_lists", dash.screen());
    assert!(started(&dash.keys("<ctrl-s>")).is_none());
    // The focus is on the problem.
    dash.keys("<Backspace>12");
    assert!(started(&dash.keys("<ctrl-s>")).is_none());
    dash.shows("✗ item 2 must be at most 9");
    dash.keys("<Backspace><Backspace>2<ctrl-t>");
    dash.shows("\"urgent\"");
    dash.keys("<ctrl-t>");
    let (_, _, start) =
        started(&dash.keys("<ctrl-s>")).unwrap_or_else(|| panic!("{}", dash.screen()));
    assert_eq!(
        start.body.input,
        Some(json!({"tags": ["new bug", "urgent"], "scores": [1, 2], "levels": ["low"]}))
    );
}

#[test]
fn a_small_screen_has_a_page_for_the_options() {
    let mut dash = composer((80, 24), Some(schema()));
    dash.keys("Hello<Tab>");
    insta::assert_snapshot!("composer_small", dash.screen());
    dash.keys("<ctrl-o>");
    insta::assert_snapshot!("composer_small_options", dash.screen());
    dash.keys("<ctrl-o>");
    dash.shows("▸ Options");
}

#[test]
fn the_options_say_what_they_do() {
    let mut dash = composer((140, 40), Some(schema()));
    dash.keys("Hi<ctrl-t><ctrl-o>");
    insta::assert_snapshot!("composer_options", dash.screen());
    // The mode under the cursor is described.
    dash.keys("<Right>");
    dash.shows("updates: writes of each node");
    // Rollback says what it deletes.
    dash.keys("<Tab><Left>");
    dash.shows("deletes the active run, everything queued, and their checkpoints");
    dash.keys("<Right><Tab>dr<Tab><Tab>aprove<Tab>");
    dash.shows([
        "[ draft ",
        "the graph has no node aprove; did you mean approve?",
    ]);
    assert!(started(&dash.keys("<ctrl-s>")).is_none());
    dash.shows("break after: the graph has no node aprove");
    dash.keys("<ctrl-u>act<Tab>50<Tab>5<Tab> <Tab>{\"a\": 1}<Tab>{\"configurable\": {\"b\": 1}}");
    assert!(started(&dash.keys("<ctrl-s>")).is_none());
    dash.shows("the server refuses a context beside config.configurable");
    dash.keys("<ctrl-u>");
    let (_, _, start) =
        started(&dash.keys("<ctrl-s>")).unwrap_or_else(|| panic!("{}", dash.screen()));
    let extra = Value::Object(start.body.extra.clone());
    assert_eq!(extra["interrupt_before"], json!(["draft"]), "{extra}");
    assert_eq!(extra["interrupt_after"], json!(["act"]));
    assert_eq!(
        (&extra["after_seconds"], &extra["durability"]),
        (&json!(5), &json!("sync"))
    );
}

#[test]
fn a_run_that_cancels_others_is_previewed() {
    let mut dash = composer((140, 40), None);
    dash.keys("Hi<ctrl-o><Tab><Right><Right>");
    dash.shows("cancels the active run and everything queued; finished steps are kept");
    let effects = dash.keys("<ctrl-s>");
    let Some((_, _, ThreadIntent::Start { body, .. })) = effects.first().and_then(thread_plan)
    else {
        panic!("{effects:?}: {}", dash.screen())
    };
    assert_eq!(body.extra["multitask_strategy"], "interrupt");
    assert!(dash.has_dialog(Dialog::Confirm));
    // Leaving the preview keeps the composer with its draft.
    dash.keys("<Esc>");
    dash.shows("\"content\": \"Hi\"");
}

#[test]
fn a_refused_run_keeps_the_draft() {
    let mut dash = composer((140, 40), Some(schema()));
    let (number, thread, _) = started(&dash.keys("Hello<ctrl-s>")).unwrap();
    dash.shows("Sending…");
    dash.keys("x");
    assert!(started(&dash.keys("<ctrl-s>")).is_none(), "it is sent once");
    let error = ApiError {
        kind: Kind::NotFound,
        at: Place::default(),
        detail: "Thread or assistant not found.".into(),
        hint: Some(
            "the thread exists, so its assistant was probably deleted: start a run with another assistant".into(),
        ),
    };
    let failed = StartError {
        failure: StartFailure::Refused,
        error,
    };
    dash.done(EffectResult::Sent(
        number,
        Sent::Thread(thread.clone(), Err(failed)),
    ));
    dash.shows("The server refused. Nothing was done. Draft kept.");
    dash.shows(["its assistant was probably deleted", "Hello"]);
    dash.keys("<Esc>n");
    dash.shows("│ Hello ");
    dash.later(2000);
    let (number, thread, _) =
        started(&dash.keys("<ctrl-s>")).unwrap_or_else(|| panic!("{}", dash.screen()));
    let run = Started {
        run_id: "01a1fbb5-1743-72b0-bac9-4236eccc288a".into(),
        was_found: false,
    };
    dash.done(EffectResult::Sent(
        number,
        Sent::Thread(thread, Ok(Acted::Started(run))),
    ));
    assert!(!dash.dialogs().contains(&Dialog::Compose));
}

#[test]
fn the_draft_of_a_thread_is_not_offered_on_another_one() {
    let mut dash = composer((140, 40), Some(schema()));
    dash.keys("Hello<Esc>n");
    dash.shows("│ Hello ");
    // Back to the list, and the next thread.
    dash.keys("<Esc><Esc><Esc>");
    dash.keys("<Down><Enter>n");
    assert!(dash.has_dialog(Dialog::Compose));
    dash.lacks("Hello");
}

#[test]
fn a_refused_option_is_marked() {
    let mut dash = composer((140, 40), Some(schema()));
    let invalid = (
        "the server rejected a field",
        Kind::Invalid(vec!["config.recursion_limit: must be a number".into()]),
    );
    let webhook = ("Webhook host blocked: loopback IP range", Kind::Status(422));
    for ((detail, kind), option, rule) in [
        (
            invalid,
            "▌ config",
            "✗ server refused: recursion_limit: must be a number",
        ),
        (
            webhook,
            "▌ webhook",
            "✗ server refused: Webhook host blocked: loopback IP range",
        ),
    ] {
        let (number, thread, _) =
            started(&dash.keys("Hello<ctrl-s>")).unwrap_or_else(|| panic!("{}", dash.screen()));
        let error = made::error(kind, detail);
        let failed = StartError {
            failure: StartFailure::Refused,
            error,
        };
        dash.done(EffectResult::Sent(
            number,
            Sent::Thread(thread, Err(failed)),
        ));
        dash.shows(option);
        dash.shows(rule);
        dash.keys("<ctrl-o>");
    }
}

#[test]
fn the_composer_marks_the_fields_that_the_graph_rejected() {
    let mut failed = after_run("error", "failed", "error");
    // Captured from the Python server: a graph with a pydantic state, and input with three invalid fields.
    failed.thread["error"] = json!({
        "error": "ValidationError",
        "message": "3 validation errors for State\ncustomer\n  String should have at least 1 character \
            [type=string_too_short, input_value='', input_type=str]\n    For further information visit \
            https://errors.pydantic.dev/2.14/v/string_too_short\ntags.0\n  Input should be a valid string \
            [type=string_type, input_value=1, input_type=int]\n    For further information visit \
            https://errors.pydantic.dev/2.14/v/string_type\nlog\n  Input should be a valid list \
            [type=list_type, input_value='', input_type=str]"
    });
    let mut dash = page((140, 40), &failed);
    let effects = dash.keys("n");
    let asked = effects.iter().find_map(|effect| match effect {
        Effect::FetchGraphFacts(server, id) => Some((server.clone(), id.clone())),
        _ => None,
    });
    let (server, assistant) = asked.unwrap_or_else(|| panic!("{effects:?}"));
    let schema = json!({
        "properties": {"customer": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}},
        "type": "object",
    });
    dash.done(EffectResult::GraphFacts(
        server,
        assistant,
        Ok(Box::new(facts(Some(schema)))),
    ));
    for expected in [
        "✗ rejected in the last run: String should have at least 1 character",
        "✗ rejected in the last run: item 1: Input should be a valid string",
        // The form has no such field.
        "✗ The last run rejected log: Input should be a valid list.",
    ] {
        dash.shows(expected);
    }
    // On another thread that run says nothing.
    dash.keys("<BackTab><Right>");
    dash.lacks("rejected");
}

#[test]
fn earlier_inputs_come_from_the_servers_records() {
    let mut dash = demo_server((140, 40));
    let effects = dash.keys("<Enter>n");
    let server = requested(&effects);
    let past = |text: &str, more: Value| PastInput {
        input: json!({"messages": [{"role": "user", "content": text}], "customer": more}),
        thread_id: "01a1fbb5-173d-77d7-b93d-09bf6dcc9775".into(),
        at: None,
    };
    dash.done(EffectResult::GraphFacts(
        server.clone(),
        AGENT.into(),
        Ok(Box::new(facts(Some(schema())))),
    ));
    let inputs = vec![past("newest", json!("c_1")), past("older", json!(7))];
    dash.done(EffectResult::Inputs(server, AGENT.into(), Ok(inputs)));
    dash.shows("Last input for agent: ctrl-p");
    dash.keys("mine<ctrl-p>");
    dash.shows(["│ newest ", "[ c_1 ", "Earlier input 1 of 2"]);
    // What the form can't show stays JSON, and says why.
    dash.keys("<ctrl-p>");
    dash.shows(["\"content\": \"older\"", "customer is not a text"]);
    dash.keys("<ctrl-p>");
    dash.shows("│ mine ");
}

#[test]
fn earlier_inputs_that_a_closed_composer_waited_for_are_requested_again() {
    let mut dash = composer((140, 40), Some(schema()));
    dash.keys("mine<Esc>");
    let effects = dash.keys("n");
    dash.shows("│ mine ");
    let asks = |effect: &Effect| matches!(effect, Effect::FetchInputs(_, of, _) if of == AGENT);
    assert!(effects.iter().any(asks), "{effects:?}");
}

#[test]
fn without_a_schema_the_last_input_is_offered_as_json() {
    let mut dash = composer((140, 40), None);
    let server = dash.server();
    let input = json!({"topic": "tides"});
    let past = PastInput {
        input,
        thread_id: "01a1fbb5-173d-77d7-b93d-09bf6dcc9775".into(),
        at: None,
    };
    dash.done(EffectResult::Inputs(server, AGENT.into(), Ok(vec![past])));
    dash.shows(["\"topic\": \"tides\"", "no form: no schema"]);
}

#[test]
fn an_assistant_is_found_by_typing() {
    let mut dash = composer((140, 40), Some(schema()));
    dash.keys("<BackTab><BackTab>deep");
    dash.shows("► deep research (research) v3");
    let effects = dash.keys("<Enter>");
    assert!(
        effects
            .iter()
            .any(|effect| matches!(effect, Effect::FetchGraphFacts(_, id) if id != AGENT)),
        "{effects:?}"
    );
    dash.shows("[ deep research (research) v3");
}

#[test]
fn the_editor_edits_the_field_or_the_json() {
    let mut dash = composer((140, 40), Some(schema()));
    let effects = dash.keys("one<ctrl-e>");
    assert_eq!(effects, [Effect::EditOutside("one".into())]);
    dash.feed(Msg::Edited(Ok("one\ntwo\n".into())));
    dash.shows("│ two ");
    dash.keys("<ctrl-t>");
    let effects = dash.keys("<ctrl-e>");
    let [Effect::EditOutside(text)] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    text.has("one\\ntwo");
}

/// Opens the composer on the page of a thread with these records, and answers with a schema.
#[track_caller]
fn composer_on(records: &crate::thread_actions::Records, schema: Value) -> Dash {
    let mut dash = page((140, 40), records);
    let effects = dash.keys("n");
    let asked = effects.iter().find_map(|effect| match effect {
        Effect::FetchGraphFacts(server, id) => Some((server.clone(), id.clone())),
        _ => None,
    });
    let (server, assistant) = asked.unwrap_or_else(|| panic!("{effects:?}"));
    dash.done(EffectResult::GraphFacts(
        server,
        assistant,
        Ok(Box::new(facts(Some(schema)))),
    ));
    dash
}

#[test]
fn a_run_that_the_server_would_refuse_is_not_ready() {
    let busy = after_run("busy", "finished-state", "running");
    let mut dash = composer_on(
        &busy,
        json!({"properties": {"note": {"type": "string"}}, "type": "object"}),
    );
    let screen = dash.screen();
    let reason = "A run is active, so the server refuses another. Other strategies: ctrl-o.";
    dash.shows(reason);
    dash.lacks("Ready");
    assert_eq!(screen.matches("A run is active").count(), 1);
    assert!(
        !screen.lines().any(|line| line.contains("◆ A run")),
        "the glyph of a question is no warning"
    );
    // The key moves to the field that can change that.
    assert!(started(&dash.keys("<ctrl-s>")).is_none());
    dash.shows(["▌ on conflict", "Other strategies: on conflict."]);
    dash.keys("<Left>");
    while !dash.screen().contains("(x) enqueue") {
        dash.keys("<Left>");
    }
    dash.shows(["Ready. Starts a run", "? A run is active"]);
    assert!(started(&dash.keys("<ctrl-s>")).is_some());
}

#[test]
fn a_run_that_may_be_active_is_said_to_be_that_of_the_list() {
    let mut dash = demo_server((140, 40));
    // The list may be older than the end of the run, so it can be tried.
    let effects = dash.keys("n");
    let server = requested(&effects);
    let schema = json!({"properties": {"note": {"type": "string"}}, "type": "object"});
    dash.done(EffectResult::GraphFacts(
        server,
        AGENT.into(),
        Ok(Box::new(facts(Some(schema)))),
    ));
    dash.keys("<BackTab><Left>");
    dash.reads("? A run was active when listed;");
    dash.reads("Ready if that run has ended.");
}

#[test]
fn a_required_field_is_kept_from_the_state_or_blocks() {
    let mut mailer = after_run("idle", "finished-state", "success");
    mailer.state["values"] = json!({"to": "ann@acme.example", "cc": null});
    let text = json!({"type": "string"});
    let schema = json!({
        "properties": {"to": text, "cc": text, "note": text}, "required": ["to", "cc"], "type": "object",
    });
    let mut dash = composer_on(&mailer, schema.clone());
    dash.shows("text, kept from the state if empty");
    dash.lacks("to *");
    dash.shows(["cc *", "cc: required."]);
    dash.lacks("Ready");
    assert!(started(&dash.keys("<ctrl-s>")).is_none());
    let (_, _, start) =
        started(&dash.keys("bob<ctrl-s>")).unwrap_or_else(|| panic!("{}", dash.screen()));
    assert_eq!(start.body.input, Some(json!({"cc": "bob"})));
    // A new thread has no state.
    let mut dash = composer_on(&mailer, schema.clone());
    dash.keys("<BackTab><Right>");
    dash.shows(["to *", "to: required."]);
    // An unknown state blocks nothing, and the form says that it is unknown.
    let mut dash = composer((140, 40), Some(schema));
    let words = dash.words();
    assert!(
        words.contains("Required and empty: cc, to.")
            || words.contains("Required and empty: to, cc."),
        "{words}"
    );
    assert!(started(&dash.keys("<ctrl-s>")).is_some());
}

#[test]
fn nothing_moves_while_a_message_is_typed() {
    let mut dash = composer((140, 40), Some(schema()));
    let row = |dash: &mut Dash| {
        dash.screen()
            .lines()
            .position(|line| line.contains("customer"))
            .unwrap()
    };
    let before = row(&mut dash);
    dash.keys("H");
    assert_eq!(row(&mut dash), before);
    // The label of the focused field is strong.
    let buffer = dash.buffer();
    let y = dash
        .screen()
        .lines()
        .position(|line| line.contains("▌ messages"))
        .unwrap() as u16;
    let modifier = buffer[(6, y)].modifier;
    assert!(
        modifier.contains(ratatui::style::Modifier::BOLD),
        "{modifier:?}"
    );
}

/// The schema of a graph with a conversation.
fn messages() -> Value {
    let schemas = include_str!("../fixtures/schemas/agent.json");
    serde_json::from_str::<Value>(schemas).unwrap()["input_schema"].take()
}

#[test]
fn letters_typed_on_a_choice_go_to_the_input() {
    let mut dash = composer((140, 40), Some(messages()));
    dash.keys("<BackTab>send it to Ana");
    dash.shows(["send it to Ana", "(x) this one: agent 9775"]);
    assert!(started(&dash.keys("<ctrl-s>")).is_some());
}

#[test]
fn an_empty_conversation_is_started_by_a_second_press_only() {
    let mut dash = composer((140, 40), Some(messages()));
    dash.shows("The conversation is empty.");
    dash.lacks("Ready");
    assert!(started(&dash.keys("<ctrl-s>")).is_none());
    dash.says("The conversation is empty. Press ctrl-s again to start anyway.");
    // A key that is held down is no second press.
    dash.later(300);
    assert!(started(&dash.keys("<ctrl-s>")).is_none());
    dash.later(1_100);
    assert!(started(&dash.keys("<ctrl-s>")).is_some());
}

#[test]
fn a_graph_that_is_not_the_threads_own_asks_first() {
    let mut dash = composer(
        (140, 40),
        Some(json!({"type": "object", "properties": {"note": {"type": "string"}}})),
    );
    dash.shows("Ready.");
    dash.keys("<BackTab><BackTab>deep<Enter>");
    dash.shows("The thread's graph is ");
    assert!(started(&dash.keys("<ctrl-s>")).is_none());
    dash.later(1_100);
    assert!(started(&dash.keys("<ctrl-s>")).is_some());
}
