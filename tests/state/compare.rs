//! The page that compares two runs, threads or recordings.

use crate::thread_actions::{page, records};
use runtail_stream::comparison::{FileContents, read_pair};
use runtail_testkit::dash::{Dash, Dialog, demo_like};
use runtail_tui::features::stream::views::View;
use runtail_tui::session::compare::{SideContents, SideLoaded, SideRef};
use runtail_tui::session::msg::{
    Effect, EffectResult, FileStep, Msg, SubscriptionEvent, SubscriptionId, SubscriptionKind,
};
use serde_json::{Value, json};
use std::sync::Arc;

const SERVERS: &str = "[profiles.eu]\nagent_server = { support-bot = \"http://127.0.0.1:2001\" }\n\
                       [profiles.us]\nagent_server = { support-bot = \"http://127.0.0.1:2002\" }\n";

/// A step whose output is a message.
fn step(number: i64, node: &str, took: Option<u64>, message: Value) -> Value {
    let calls: Vec<&Value> = message["tool_calls"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|call| &call["name"])
        .collect();
    let results: Vec<&Value> = (message["type"] == "tool")
        .then(|| &message["name"])
        .into_iter()
        .collect();
    let usage = &message["usage_metadata"];
    json!({
        "node": node, "step": number, "took_ms": took, "calls": calls, "results": results,
        "input_tokens": usage["input_tokens"], "output_tokens": usage["output_tokens"],
        "fingerprint": message.to_string(), "output": {"messages": [message]},
    })
}

fn ai(text: &str, tokens: (u64, u64), calls: &[(&str, Value)]) -> Value {
    let calls: Vec<Value> = calls
        .iter()
        .map(|(name, args)| json!({"name": name, "args": args}))
        .collect();
    json!({"type": "ai", "content": text, "tool_calls": calls,
           "usage_metadata": {"input_tokens": tokens.0, "output_tokens": tokens.1}})
}

fn tool(name: &str) -> Value {
    json!({"type": "tool", "name": name, "content": "done", "tool_calls": [], "usage_metadata": {}})
}

fn input() -> Value {
    let message = json!({"type": "human", "content": "I was charged twice.", "usage_metadata": {}});
    let mut step = step(0, "__start__", None, message);
    step["kind"] = "input".into();
    step
}

fn side(name: &str, profile: &str, steps: Vec<Value>, state: Value) -> Value {
    json!({
        "name": name, "profile": profile, "graph_id": "support", "status": "success", "steps": steps, "state": state,
        "source": {"kind": "thread", "server": "http://127.0.0.1", "thread_id": "01a1", "run_id": "r"},
    })
}

/// The sides of the mock-up in the design.
fn refunds() -> (Value, Value) {
    let first = || ai("Let me look.", (17, 15), &[("list_invoices", json!({}))]);
    let refund = [
        ("send_refund", json!({"customer": "c_8841", "amount": 49.0})),
        (
            "send_email",
            json!({"to": "j.dupont@acme.example", "subject": "Your refund"}),
        ),
    ];
    let a = vec![
        input(),
        step(1, "chat", Some(1100), first()),
        step(2, "tools", Some(169_000), tool("list_invoices")),
        step(
            3,
            "chat",
            Some(2300),
            ai(
                "I'll refund the duplicate and send a confirmation.",
                (31, 48),
                &refund,
            ),
        ),
        step(4, "tools", Some(31_000), tool("send_refund")),
        step(4, "tools", Some(400), tool("send_email")),
        step(
            5,
            "chat",
            Some(1900),
            ai("Done: 49.00 € are on their way.", (52, 33), &[]),
        ),
    ];
    let ask = [(
        "ask_customer",
        json!({"question": "Did you make the second charge?"}),
    )];
    let mut waited = step(4, "tools", Some(391_000), tool("ask_customer"));
    waited["asked"] = true.into();
    let b = vec![
        input(),
        step(1, "chat", Some(900), first()),
        step(2, "tools", Some(600), tool("list_invoices")),
        step(
            3,
            "chat",
            Some(1800),
            ai(
                "Before I refund it: was the second charge made by you?",
                (31, 22),
                &ask,
            ),
        ),
        waited,
        step(
            5,
            "chat",
            Some(2200),
            ai("Then I refund it: 49.00 € are on their way.", (44, 61), &[]),
        ),
    ];
    (
        side(
            "eu › support-bot › support 9775, run 3",
            "eu",
            a,
            json!({"refunded": true, "mails": 1}),
        ),
        side(
            "us › support-bot › support 51f0, run 1",
            "us",
            b,
            json!({"refunded": true}),
        ),
    )
}

fn pair(a: &Value, b: &Value) -> Arc<FileContents> {
    let saved = json!({"kind": "comparison", "version": 1, "a": a, "b": b});
    Arc::new(FileContents::Pair(Box::new(
        read_pair(&saved.to_string()).unwrap(),
    )))
}

fn one(side: &Value) -> SideLoaded {
    let FileContents::Pair(pair) = &*pair(side, side) else {
        unreachable!()
    };
    Ok(SideContents::Steps(Arc::new(FileContents::Side(Box::new(
        pair.0.clone(),
    )))))
}

/// Sends a side of the open page.
fn answer(dash: &mut Dash, which: usize, loaded: SideLoaded) {
    dash.answer(
        |id| matches!(id, SubscriptionId::Side(_, side) if *side == which),
        SubscriptionEvent::Side(loaded),
    );
}

/// A page of two threads that loads.
fn loading(size: (u16, u16)) -> Dash {
    let mut dash = Dash::new(SERVERS, size);
    dash.keys(":compare eu/support-bot:t-1/r-1 us/support-bot:t-2<Enter>");
    dash
}

pub(crate) fn compared(size: (u16, u16)) -> Dash {
    let mut dash = loading(size);
    let (a, b) = refunds();
    answer(&mut dash, 0, one(&a));
    answer(&mut dash, 1, one(&b));
    dash
}

#[test]
fn both_sides_are_aligned_and_the_cursor_is_on_the_first_difference() {
    for (name, size) in [
        ("compare_140x40", (140, 40)),
        ("compare_80x24", (80, 24)),
        ("compare_200x60", (200, 60)),
        ("compare_60x12", (60, 12)),
    ] {
        insta::assert_snapshot!(name, compared(size).screen());
    }
    for size in [(1, 1), (2, 3), (20, 8), (59, 11)] {
        compared(size).screen();
    }
    let mut dash = compared((140, 40));
    dash.set_ascii(true);
    let screen = dash.screen();
    assert!(screen.contains("!=  calls"), "{screen}");
}

#[test]
fn sides_are_named_by_their_region_like_other_screens() {
    let mut dash = demo_like((140, 40));
    dash.keys(":compare prod-eu/support-bot:t-1/r-1 prod-us/support-bot:t-2<Enter>");
    let screen = dash.screen();
    assert!(
        screen.contains("A eu › support-bot › t-1, run r-1   B us › support-bot › t-2"),
        "{screen}"
    );
    let (mut a, _) = refunds();
    // The profile's name is the one of the command line, and of saved comparisons.
    a["name"] = json!("prod-eu › support-bot › support 9775, run 3");
    answer(&mut dash, 0, one(&a));
    let screen = dash.screen();
    assert!(
        screen.contains("A eu › support-bot › support 9775, run 3")
            && !screen.contains("prod-eu ›"),
        "{screen}"
    );
    // In one region, only the profiles tell two deployments of the same name apart.
    dash.each_profile(|profile| profile.region = Some("us".into()));
    let screen = dash.screen();
    let whole = "A prod-eu › support-bot › support 9775, run 3   B prod-us › support-bot › t-2";
    assert!(screen.contains(whole), "{screen}");
}

#[test]
fn keys_go_to_differences_and_hide_what_is_equal() {
    let mut dash = compared((140, 40));
    let title = |dash: &mut Dash| {
        let screen = dash.screen();
        let line = screen
            .lines()
            .find(|line| line.starts_with("╭ Step") || line.starts_with("╭ Final"));
        line.unwrap_or_else(|| panic!("{screen}"))
            .split('─')
            .next()
            .unwrap()
            .trim_start_matches("╭ ")
            .trim()
            .to_string()
    };
    assert_eq!(title(&mut dash), "Step 3 · chat · A");
    dash.keys("]");
    assert_eq!(title(&mut dash), "Step 4 · tools · send_refund · A");
    dash.keys("]]]");
    assert_eq!(title(&mut dash), "Step 5 · chat · A");
    dash.keys("]");
    assert!(dash.screen().contains("No later difference."));
    dash.keys("[[[[");
    assert_eq!(title(&mut dash), "Step 3 · chat · A");
    dash.keys("gc");
    let screen = dash.screen();
    assert!(
        screen.contains("=   3 equal") && !screen.contains("1  chat"),
        "{screen}"
    );
    dash.keys("c");
    assert!(dash.screen().contains("1  chat"));
    dash.keys("d");
    assert_eq!(title(&mut dash), "Final states · A → B");
    let screen = dash.screen();
    assert!(
        screen.contains("mails") && screen.contains("1 removed"),
        "{screen}"
    );
    // Esc first closes the final states.
    dash.keys("<Esc>");
    assert_eq!(title(&mut dash), "Step 0 · input · A");
    dash.keys("d");
    // The mark is on the side with the focus, which Enter opens.
    let marked = |dash: &mut Dash| {
        dash.screen()
            .lines()
            .find_map(|line| line.find('▌'))
            .unwrap()
    };
    let left = marked(&mut dash);
    dash.keys("<Tab>");
    assert!(marked(&mut dash) > left + 60);
    dash.keys("<Enter>");
    assert!(dash.dialog().is_none());
    let tail = dash.subscriptions().into_iter().any(
        |sub| matches!(&sub.what, SubscriptionKind::Stream(server, _) if &*server.profile == "us"),
    );
    assert!(tail, "the thread of B is followed");
}

#[test]
fn a_step_is_opened_at_its_checkpoint() {
    let mut dash = loading((140, 40));
    let (a, mut b) = refunds();
    // The first difference.
    b["steps"][3]["checkpoint_id"] = "1f1e0000-0000-6000-8000-00000000b003".into();
    answer(&mut dash, 0, one(&a));
    answer(&mut dash, 1, one(&b));
    dash.keys("<Tab><Enter>");
    let page = dash.page();
    assert_eq!((page.view, &*page.server.profile), (View::Steps, "us"));
    // A side that doesn't know its checkpoints opens its thread.
    let mut dash = compared((140, 40));
    dash.keys("<Enter>");
    let page = dash.page();
    assert!(page.view != View::Steps && &*page.server.profile == "eu");
}

#[test]
fn a_comparison_is_saved_to_a_new_file() {
    let save = |dash: &mut Dash, how: &str| {
        let mut effects = dash.keys(&format!(":export {how}"));
        effects.extend(dash.keys("<Enter>"));
        effects
    };
    let last = |dash: &Dash| dash.newest_notice().to_string();
    let mut dash = loading((140, 40));
    assert!(save(&mut dash, "jsonl a.jsonl").is_empty());
    assert!(last(&dash).contains("Not loaded yet"), "{}", last(&dash));

    let mut dash = compared((140, 40));
    dash.keys("s");
    assert!(
        dash.screen().contains("export jsonl runtail-compare-"),
        "{}",
        dash.screen()
    );
    let effects = dash.keys("<Enter>");
    let [Effect::File(number, FileStep::Comparison(path, comparison))] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    assert!(path.to_string_lossy().ends_with(".jsonl"), "{path:?}");
    assert_eq!(comparison.a.name, "eu › support-bot › support 9775, run 3");
    dash.done(EffectResult::FileStepped(*number, Ok(5_000)));
    assert!(
        last(&dash).starts_with("Saved the comparison, 5.0 kB, to runtail-compare-"),
        "{}",
        last(&dash)
    );
    let effects = save(&mut dash, "a.jsonl.gz");
    let [Effect::File(number, _)] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    dash.done(EffectResult::FileStepped(
        *number,
        Err("the file already exists and was not changed".into()),
    ));
    assert_eq!(
        last(&dash),
        "Couldn't write a.jsonl.gz: the file already exists and was not changed"
    );
    for (how, says) in [
        ("text a.txt", "export jsonl PATH"),
        ("jsonl", "export jsonl PATH"),
    ] {
        assert!(save(&mut dash, how).is_empty());
        assert!(last(&dash).contains(says), "{how}: {}", last(&dash));
    }
}

#[test]
fn what_is_missing_is_said() {
    let mut dash = loading((140, 40));
    insta::assert_snapshot!("compare_loading", dash.screen());
    let (a, b) = refunds();
    answer(&mut dash, 0, one(&a));
    answer(&mut dash, 1, Err("404: thread not found".into()));
    let screen = dash.screen();
    assert!(
        screen.contains("404: thread not found") && screen.contains("A · eu · finished"),
        "{screen}"
    );
    let mut other = b.clone();
    other["graph_id"] = "research".into();
    answer(&mut dash, 1, one(&other));
    let screen = dash.screen();
    assert!(
        screen.contains("Different graphs (support, research)"),
        "{screen}"
    );
    assert!(
        screen.contains("A · eu · finished") && screen.contains("3m25s · 100 in"),
        "{screen}"
    );
    assert!(
        !screen.contains('╭') && !screen.contains("] next"),
        "no empty frames, and no keys of rows: {screen}"
    );
    for size in [(80, 24), (60, 12), (110, 24)] {
        dash.resize(size.0, size.1);
        assert!(dash.screen().contains("Different graphs"), "{size:?}");
    }
}

#[test]
fn a_side_has_the_commit_that_ran_it_or_its_state() {
    let mut dash = demo_like((140, 40));
    dash.keys(":compare prod-eu/support-bot:t-1/r-1 prod-us/support-bot:t-2<Enter>");
    let (mut a, mut b) = refunds();
    a["revision"] = "44444444-4444-4444-8444-444444444444".into();
    b["status"] = "interrupted".into();
    b["steps"][5]["state"] = "waiting".into();
    answer(&mut dash, 0, one(&a));
    answer(&mut dash, 1, one(&b));
    let screen = dash.screen();
    assert!(
        screen.contains("╭ A · eu · main@9fceb02 ─")
            && screen.contains("┬ B · us · paused to ask ─"),
        "{screen}"
    );
    // Any state but finished follows the commit; a revision that isn't listed has no commit.
    a["status"] = "error".into();
    b["revision"] = "99999999-9999-4999-8999-999999999999".into();
    (b["status"], b["steps"][5]["state"]) = ("interrupted".into(), "stopped".into());
    answer(&mut dash, 0, one(&a));
    answer(&mut dash, 1, one(&b));
    let screen = dash.screen();
    assert!(
        screen.contains("A · eu · main@9fceb02 · failed") && screen.contains("B · us · cancelled"),
        "{screen}"
    );
    // Some servers name the commit.
    a["revision"] = "77ab10cd0ae598e95dc970b74767f19372d61af8".into();
    answer(&mut dash, 0, one(&a));
    assert!(
        dash.screen().contains("A · eu · 77ab10c · failed"),
        "{}",
        dash.screen()
    );
}

#[test]
fn a_running_side_grows_under_the_cursor() {
    let mut dash = loading((140, 40));
    let (a, b) = refunds();
    let mut running = b.clone();
    running["is_running"] = true.into();
    running["steps"].as_array_mut().unwrap().truncate(3);
    answer(&mut dash, 0, one(&a));
    answer(&mut dash, 1, one(&running));
    let screen = dash.screen();
    assert!(
        !screen.contains("only A") && !screen.contains("FIRST DIFFERENCE"),
        "{screen}"
    );
    assert_eq!(
        screen.lines().filter(|line| line.contains("│   …")).count(),
        4,
        "{screen}"
    );
    assert!(screen.contains("B · us · running"), "{screen}");
    answer(&mut dash, 1, one(&b));
    let screen = dash.screen();
    // The cursor stays on the step that was selected before there was any difference.
    assert!(
        screen.contains("FIRST DIFFERENCE: step 3") && screen.contains("╭ Step 0"),
        "{screen}"
    );
    dash.keys("<Down>");
    answer(&mut dash, 1, one(&b));
    assert!(dash.screen().contains("╭ Step 1 · chat"));
}

#[test]
fn the_cursor_stays_on_its_step_when_rows_appear_before_it() {
    let mut dash = loading((140, 40));
    let (a, mut b) = refunds();
    let mut running = b.clone();
    running["is_running"] = true.into();
    running["steps"].as_array_mut().unwrap().truncate(3);
    answer(&mut dash, 0, one(&a));
    answer(&mut dash, 1, one(&running));
    dash.keys("<End>");
    dash.shows("╭ Step 5 · chat");
    // Steps that only B has.
    let steps = b["steps"].as_array_mut().unwrap();
    for node in ["review", "escalate"] {
        steps.insert(3, step(3, node, Some(100), ai(node, (1, 1), &[])));
    }
    answer(&mut dash, 1, one(&b));
    dash.shows("╭ Step 5 · chat");
}

#[test]
fn a_click_selects_the_row_on_the_screen() {
    let steps = (0..60).map(|n| step(n, "chat", Some(100), ai("…", (1, 1), &[])));
    let long = side("long", "eu", steps.collect(), json!({}));
    let mut dash = loading((140, 40));
    answer(&mut dash, 0, one(&long));
    answer(&mut dash, 1, one(&long));
    dash.keys("<End>");
    let screen = dash.screen();
    let row = screen.lines().position(|line| line.contains("   55  chat"));
    let y = row.unwrap_or_else(|| panic!("{screen}")) as u16;
    dash.feed(Msg::Click { x: 20, y });
    dash.shows("╭ Step 55 · chat");
}

#[test]
fn a_refresh_loads_both_sides_again() {
    let mut dash = compared((140, 40));
    let epochs = |dash: &Dash| {
        [0, 1].map(|which| {
            let is_side =
                |id: &SubscriptionId| matches!(id, SubscriptionId::Side(_, side) if *side == which);
            dash.wanted(is_side).epoch
        })
    };
    let before = epochs(&dash);
    dash.keys("r");
    let after = epochs(&dash);
    assert!(before[0] != after[0] && before[1] != after[1]);
}

#[test]
fn unknown_steps_are_never_called_equal() {
    let only_input = || side("side", "eu", vec![input()], json!({"done": true}));
    for size in [(140, 40), (80, 24)] {
        let mut dash = loading(size);
        answer(&mut dash, 0, one(&only_input()));
        answer(&mut dash, 1, one(&only_input()));
        let screen = dash.screen();
        assert!(
            screen.contains("? Steps unknown: those of A and B are not listed."),
            "{screen}"
        );
        assert!(
            !screen.to_lowercase().contains("no difference")
                && !screen.contains("same final state"),
            "{screen}"
        );
        assert_eq!(
            screen.matches("unknown: no steps are recorded").count(),
            2,
            "{screen}"
        );
        assert!(
            screen.contains("another graph ran") && !screen.contains("⏎ open"),
            "{screen}"
        );
        dash.keys("d");
        assert!(
            dash.screen().contains("A final state is unknown."),
            "{}",
            dash.screen()
        );
    }
}

#[test]
fn the_steps_of_a_side_are_shown_if_the_other_one_failed() {
    let id = "01a1fbb5-173d-77d7-b93d-09bf6dcc9775";
    let error = format!("404: not found\nGET http://127.0.0.1:2001/threads/{id}/runs/{id}");
    let (a, b) = refunds();
    for size in [(140, 40), (80, 24)] {
        for (good, failed, loaded) in [(0, 1, &a), (1, 0, &b)] {
            let mut dash = loading(size);
            answer(&mut dash, failed, Err(error.clone()));
            answer(&mut dash, good, one(loaded));
            let screen = dash.screen();
            let total = if good == 0 {
                "3m25s · 100 in, 96 out"
            } else {
                "5.5s + 6m31s waiting"
            };
            assert!(
                screen.contains("list_invoices") && screen.contains(total),
                "{screen}"
            );
            assert!(
                screen.contains("404: not found") && screen.contains(id),
                "{screen}"
            );
            assert!(screen.contains("not loaded"), "{screen}");
            assert!(
                !screen.contains("DIFFERENCE") && !screen.contains("final state"),
                "{screen}"
            );
            assert!(
                !screen.contains("No such step") && !screen.contains("] next"),
                "{screen}"
            );
            dash.keys("<Enter>");
            let profile = if good == 0 { "eu" } else { "us" };
            assert_eq!(&*dash.page().server.profile, profile);
        }
    }
}

#[test]
fn a_queued_side_has_no_steps_yet() {
    let (a, mut queued) = refunds();
    (queued["status"], queued["is_running"], queued["steps"]) =
        ("pending".into(), true.into(), json!([]));
    for size in [(140, 40), (80, 24)] {
        let mut dash = loading(size);
        answer(&mut dash, 0, one(&a));
        answer(&mut dash, 1, one(&queued));
        let screen = dash.screen();
        assert!(
            screen.contains("Not yet.") && !screen.contains("No such step."),
            "{screen}"
        );
        assert!(
            screen.contains("no steps yet") && !screen.contains("final state"),
            "{screen}"
        );
        if size.0 == 140 {
            assert!(screen.contains("  No steps yet."), "{screen}");
        }
        dash.keys("d");
        assert!(
            dash.screen().contains("A side is still running"),
            "{}",
            dash.screen()
        );
    }
}

#[test]
fn a_list_says_how_many_rows_are_below() {
    let mut dash = compared((60, 16));
    dash.keys("g");
    let screen = dash.screen();
    let more = screen.lines().find(|line| line.contains("↓ "));
    let more = more.unwrap_or_else(|| panic!("{screen}"));
    assert!(more.contains("↓ 3 more"), "{screen}");
    dash.keys("G");
    assert!(!dash.screen().contains("↓ "), "{}", dash.screen());
}

#[test]
fn a_saved_comparison_needs_one_name() {
    let mut dash = Dash::new(SERVERS, (140, 40));
    dash.keys(":compare saved.jsonl<Enter>");
    let subs = dash.subscriptions();
    let sides: Vec<&SubscriptionKind> = subs
        .iter()
        .filter(|sub| matches!(sub.key, SubscriptionId::Side(..)))
        .map(|sub| &sub.what)
        .collect();
    assert_eq!(
        sides,
        [&SubscriptionKind::Side(SideRef::File("saved.jsonl".into()))]
    );
    let (a, b) = refunds();
    answer(&mut dash, 0, Ok(SideContents::Steps(pair(&a, &b))));
    assert!(dash.screen().contains("FIRST DIFFERENCE: step 3"));
    answer(&mut dash, 0, one(&a));
    assert!(dash.screen().contains("A recording"));
}

#[test]
fn marked_threads_are_compared() {
    let mut dash = Dash::new(SERVERS, (140, 40));
    dash.open_server();
    dash.keys("=");
    assert!(dash.screen().contains("Mark one with m"));
    dash.keys("m");
    assert!(dash.screen().contains("1 marked"));
    // The mark is visible under the cursor, too.
    dash.keys("<Up>");
    let screen = dash.screen();
    assert!(screen.lines().any(|line| line.contains("▌+")), "{screen}");
    dash.keys("=");
    let is_asking = |dash: &Dash| dash.has_dialog(Dialog::Command);
    assert!(
        is_asking(&dash),
        "with one marked row it asks for the other"
    );
    dash.keys("<Esc>");
    dash.keys("<Up>=");
    let sides = |dash: &Dash| -> Vec<String> {
        let subs = dash.subscriptions();
        subs.iter()
            .filter_map(|sub| match &sub.what {
                SubscriptionKind::Side(SideRef::Thread(thread, _)) => Some(thread.id.clone()),
                _ => None,
            })
            .collect()
    };
    assert_eq!(
        sides(&dash),
        [
            "01a1fbb5-173d-77d7-b93d-09bf6dcc9775",
            "01a1fbb6-05bd-7362-97d9-fb3f813b715e"
        ]
    );
    dash.keys("q");
    assert!(
        sides(&dash).is_empty(),
        "closing the page stops the loading"
    );
    // Two marked rows, whichever is selected.
    dash.keys("<Up>m=");
    assert_eq!(
        sides(&dash),
        [
            "01a1fbb5-173d-77d7-b93d-09bf6dcc9775",
            "01a1fbb7-22f8-715a-974c-92e72c000193"
        ]
    );
    dash.keys("q");
    dash.keys(":compare nope/x:t<Enter>");
    assert!(dash.screen().contains("no listed server"));
}

#[test]
fn a_marked_thread_is_compared_although_a_deployment_is_marked_too() {
    let mut dash = demo_like((140, 40));
    dash.keys("m");
    dash.open_server();
    dash.keys("m:compare prod-eu/support-bot:t-9<Enter>");
    let subs = dash.subscriptions();
    let thread = |sub: &runtail_tui::session::msg::Subscription| match &sub.what {
        SubscriptionKind::Side(SideRef::Thread(thread, _)) => Some(thread.id.clone()),
        _ => None,
    };
    let threads: Vec<String> = subs.iter().filter_map(thread).collect();
    assert_eq!(threads, ["01a1fbb5-173d-77d7-b93d-09bf6dcc9775", "t-9"]);
}

#[test]
fn runs_are_marked_and_compared_in_the_thread() {
    let run = |id: &str, minute: u8| {
        let at = format!("2026-11-21T13:{minute:02}:00Z");
        json!({"run_id": id, "status": "success", "created_at": at, "updated_at": at, "assistant_id": "a-support"})
    };
    let runs = json!([run("r3", 52), run("r2", 51), run("r1", 50)]);
    let mut dash = page((140, 40), &records("idle", "finished-state", runs));
    let sides = |dash: &Dash| -> Vec<String> {
        let subs = dash.subscriptions();
        let run = |sub: &runtail_tui::session::msg::Subscription| match &sub.what {
            SubscriptionKind::Side(SideRef::Thread(_, Some(run))) => Some(run.clone()),
            _ => None,
        };
        subs.iter().filter_map(run).collect()
    };
    dash.keys("7<Home>=");
    assert!(
        dash.screen().contains("Mark one with m"),
        "{}",
        dash.screen()
    );
    dash.keys("m");
    let screen = dash.screen();
    let marked = screen
        .lines()
        .find(|line| line.contains("+▌"))
        .unwrap_or_else(|| panic!("{screen}"));
    assert!(marked.contains("  3  "), "{screen}");
    // With one marked row it asks for the other.
    dash.keys("=");
    assert!(dash.has_dialog(Dialog::Command), "{}", dash.screen());
    dash.keys("<Esc><Down>=");
    assert_eq!(sides(&dash), ["r3", "r2"]);
    // Two marked ones, whichever is selected; Space marks, too.
    dash.keys("q<Down><Space><Up>=");
    assert_eq!(sides(&dash), ["r3", "r1"]);
    // The mark is the same as in the list of runs, and is removed with the same key.
    dash.keys("q<Home><Space>");
    assert_eq!(dash.marked_sides(), 1);
    dash.keys("<Down><Space><Space>=");
    assert_eq!(sides(&dash), ["r1", "r2"]);
    let mut dash = page((140, 40), &records("idle", "finished-state", json!([])));
    for key in ["7m", "="] {
        dash.keys(key);
        assert!(
            dash.screen().contains("No run is selected."),
            "{key}: {}",
            dash.screen()
        );
    }
}
