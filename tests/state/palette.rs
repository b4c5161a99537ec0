//! The command palette: completion, editing, navigation, searches by id, and messages for unknown targets.

use runtail_api::{ApiError, Kind};
use runtail_core::config::{Mouse, Timestamps};
use runtail_core::model::Collection;
use runtail_stream::Seq;
use runtail_testkit::dash::{Dash, Dialog, demo, demo_like, demo_server, demo_thread};
use runtail_testkit::made;
use runtail_testkit::says::Says;
use runtail_tui::app::Pane;
use runtail_tui::app::palette::{COMMANDS, Group};
use runtail_tui::features::stream::views::View;
use runtail_tui::input::action::{Action, Context};
use runtail_tui::input::key::Key;
use runtail_tui::input::keymap::BINDINGS;
use runtail_tui::session::msg::{Described, Effect, EffectResult, Msg, StreamTarget};
use runtail_tui::session::msg::{Found, Source};
use std::collections::BTreeSet;

const THREAD: &str = "01a1fbb7-22f8-715a-974c-92e72c000193";
const UNKNOWN: &str = "99999999-9999-4999-8999-999999999999";

fn completions(dash: &Dash, text: &str) -> Vec<String> {
    dash.offers(text)
        .into_iter()
        .map(|offer| offer.line)
        .collect()
}

/// The names and lines of the rows of a group.
fn rows(dash: &Dash, text: &str, group: Group) -> Vec<(String, String)> {
    let offers = dash
        .offers(text)
        .into_iter()
        .filter(|offer| offer.group == group);
    offers.map(|offer| (offer.shown, offer.line)).collect()
}

#[test]
fn typing_finds_every_action_once_with_its_key() {
    let dash = demo_thread((140, 40));
    let is_typing = |action| {
        matches!(
            action,
            Action::Command | Action::NextField | Action::PrevField
        )
    };
    let rows = BINDINGS.iter().filter(|row| {
        !row.is_movement() && row.context != Context::Command && !is_typing(row.action)
    });
    for row in rows {
        let found = dash.offers(row.name());
        let named: Vec<_> = found.iter().filter(|o| o.shown == row.name()).collect();
        assert_eq!(named.len(), 1, "{}: {named:?}", row.name());
        if named[0].line == row.id {
            assert_eq!(named[0].key.is_empty(), row.keys().next().is_none());
        }
    }
    for command in COMMANDS {
        let found = completions(&dash, command.name);
        let named = found.iter().filter(|line| *line == command.name);
        assert_eq!(named.count(), 1, "{}: {found:?}", command.name);
    }
}

#[test]
fn the_list_before_typing_is_short_and_begins_with_what_works_here() {
    let mut dash = demo();
    for keys in ["", "<Tab>", "i", "<Esc>p", "<Esc>n"] {
        dash.keys(keys);
        is_short(&dash);
    }
    let dash = demo_thread((140, 40));
    is_short(&dash);
    assert_eq!(rows(&dash, "", Group::Here)[0].1, "stream.open");
    // Each place of the application has rows.
    let elsewhere = rows(&dash, "", Group::Elsewhere);
    for place in ["revisions.", "inbox.", "logs."] {
        let is_of = |(_, line): &(String, String)| line.starts_with(place);
        assert!(elsewhere.iter().any(is_of), "{place}: {elsewhere:?}");
    }
}

fn is_short(dash: &Dash) {
    let all = dash.offers("");
    assert!(all.len() <= 120, "{}", all.len());
    assert!(all.is_sorted_by_key(|offer| offer.group), "{all:?}");
    let names: BTreeSet<_> = all.iter().map(|offer| &offer.shown).collect();
    assert_eq!(names.len(), all.len(), "one row an action");
}

#[test]
fn what_works_elsewhere_is_not_run_before_it_is_chosen() {
    let mut dash = demo();
    dash.keys(":speed");
    dash.lacks("▌ Change the playback speed");
    dash.keys("<Enter>");
    dash.shows("> speed");
    dash.says("Change the playback speed doesn't work here. Press Down to choose it.");
    dash.keys("<Down>");
    dash.shows("▌ Change the playback speed");
    dash.keys("<Enter>");
    dash.says("Change the playback speed (S) works only in a thread.");
}

#[test]
fn actions_are_found_by_name_description_key_id_and_place() {
    let mut dash = demo_thread((140, 40));
    let first = |text: &str| completions(&dash, text)[0].clone();
    assert_eq!(first("can"), "stream.cancel");
    assert_eq!(first("cancel roll"), "stream.rollback");
    assert_eq!(first("checkpoints tree"), "stream.steps", "by its sentence");
    assert_eq!(first("x"), "stream.cancel", "by its key");
    assert_eq!(first("stream.cancel"), "stream.cancel");
    assert!(
        rows(&dash, "redeploy revis", Group::Here)
            .iter()
            .any(|(_, line)| line == "redeploy")
    );
    let elsewhere = rows(&dash, "interrupt", Group::Elsewhere);
    assert!(elsewhere.is_empty() || elsewhere.iter().all(|(name, _)| !name.is_empty()));
    dash.keys(":can");
    insta::assert_snapshot!("palette_thread_140x40", dash.screen());
}

#[test]
fn an_action_that_does_nothing_on_a_screen_is_listed_elsewhere() {
    let mut dash = demo();
    let has_copy = |dash: &Dash| {
        let rows = rows(dash, "copy", Group::Here);
        rows.iter().any(|(_, line)| line == "app.copy")
    };
    assert!(has_copy(&dash));
    dash.keys("p");
    assert!(!has_copy(&dash));
}

#[test]
fn an_action_of_another_screen_says_where_it_works() {
    let mut dash = demo_thread((140, 40));
    // The key that sends is that of every form and preview.
    dash.keys("<ctrl-s>");
    dash.says("Ctrl-S sends a preview or form; none is open.");
    for (action, says) in [
        (
            "revisions.build_log",
            "Follow the build log (b) works only in Revisions.",
        ),
        (
            "why.again",
            "Run it again (R) works only in the explanation of a thread. Press e to go there.",
        ),
    ] {
        assert!(dash.command(action).is_empty());
        assert_eq!((dash.focus(), dash.newest_notice()), (Pane::Stream, says));
    }
    // Enter runs what works here as its key would.
    dash.command("stream.events");
    assert_eq!(dash.view(), View::Events);
    // Enter never sends.
    dash.command("save.write");
    assert!(!dash.dialogs().contains(&Dialog::Save));
}

/// The text of the selected row of the palette.
fn selected(screen: &str) -> &str {
    screen
        .lines()
        .find(|line| line.contains("▌ "))
        .unwrap_or_else(|| panic!("{screen}"))
}

#[test]
fn the_selected_row_works_here_and_enter_runs_it() {
    let mut dash = demo();
    dash.keys(":graph");
    let screen = dash.screen();
    // No stream is shown, so there is no view to show.
    dash.lacks("view Graph");
    selected(&screen).has("graph ASSISTANT");
    dash.keys("<Enter>");
    assert!(!dash.has_server());
    dash.says("graph works only in Threads and runs. Press Enter to go there.");
    // What a read-only profile can't do is not listed as working here.
    let mut dash = demo();
    let here = |dash: &Dash| {
        rows(dash, "redeploy", Group::Here)
            .into_iter()
            .any(|(_, line)| line == "deployments.mark")
    };
    assert!(!here(&dash));
    dash.open_thread();
    assert!(
        rows(&dash, "cancel the run", Group::Here)
            .iter()
            .any(|(_, line)| line == "stream.cancel")
    );
    dash.seal();
    assert!(
        !rows(&dash, "cancel the run", Group::Here)
            .iter()
            .any(|(_, line)| line == "stream.cancel")
    );
}

#[test]
fn the_counter_counts_each_match_once() {
    let mut dash = demo();
    dash.keys(":cancel");
    let screen = dash.screen();
    let all = dash.offers("cancel");
    let elsewhere = all
        .iter()
        .filter(|offer| offer.group == Group::Elsewhere)
        .count();
    assert!(
        all.iter().all(|offer| !offer.line.contains(' ')),
        "only actions match"
    );
    screen.has(&format!("{} of ", all.len()));
    screen.has(&format!(" · {elsewhere} elsewhere"));
}

#[test]
fn actions_with_one_name_are_told_apart() {
    let mut dash = demo();
    for text in ["approve", "interrupt", "cancel", "open", "redeploy", "roll"] {
        let all = dash.offers(text);
        let shown: Vec<(&str, &str)> = all
            .iter()
            .map(|offer| (offer.shown.as_str(), offer.note.as_str()))
            .collect();
        let different: BTreeSet<_> = shown.iter().collect();
        assert_eq!(shown.len(), different.len(), "{text}: {shown:#?}");
        assert!(
            shown
                .iter()
                .all(|(_, note)| !note.starts_with("or ") && !note.starts_with("else ")),
            "{shown:#?}"
        );
        // Here a key does one thing.
        let keys: Vec<&str> = all
            .iter()
            .filter(|offer| offer.group == Group::Here)
            .map(|offer| offer.key.as_str())
            .collect();
        let unique: BTreeSet<&&str> = keys.iter().filter(|key| !key.is_empty()).collect();
        assert_eq!(
            unique.len(),
            keys.iter().filter(|key| !key.is_empty()).count(),
            "{text}: {keys:?}"
        );
    }
    dash.keys(":interrupt<Enter>");
    assert!(dash.has_dialog(Dialog::Confirm));
}

#[test]
fn an_action_on_a_thread_says_that_it_works_in_a_thread() {
    let mut dash = demo();
    dash.command("stream.cancel");
    assert!(!dash.has_server() && dash.focus() == Pane::Deployments);
    dash.says("Cancel the run (x) works only in a thread.");
}

#[test]
fn actions_are_found_by_words_of_other_tools() {
    let mut dash = demo();
    assert!(completions(&dash, "cancel").contains(&"interrupt".to_string()));
    dash.open_thread();
    let found = completions(&dash, "fork");
    assert!(
        ["stream.again", "stream.edit_state"]
            .iter()
            .all(|id| found.contains(&id.to_string())),
        "{found:?}"
    );
    dash.keys("2");
    let names: Vec<String> = rows(&dash, "fork", Group::Here)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert!(
        names.contains(&"Run again from here".to_string()),
        "{names:?}"
    );
}

#[test]
fn actions_are_found_by_what_people_say() {
    let mut dash = demo_thread((140, 40));
    let first = |dash: &Dash, text: &str| completions(dash, text).first().cloned();
    for (said, wanted) in [
        ("why failed", "stream.explain"),
        ("stop", "stream.cancel"),
        ("kill", "stream.cancel"),
        ("resume", "stream.answer"),
        ("reply", "stream.answer"),
        ("grep", "stream.search"),
        ("download", "stream.export"),
        ("exit", "app.quit"),
    ] {
        assert_eq!(first(&dash, said).as_deref(), Some(wanted), "{said}");
    }
    dash.keys("<Esc><Esc>");
    for (said, wanted) in [
        ("logs", "Follow the server log"),
        ("revert", "Roll back to the last good one"),
        ("why failed", "Explain the newest revision"),
        ("restart", "Redeploy the newest revision"),
    ] {
        let names: Vec<String> = dash.offers(said).into_iter().map(|row| row.shown).collect();
        let is_near = names.iter().take(3).any(|name| name == wanted);
        assert!(is_near, "{said}: {names:?}");
    }
}

#[test]
fn enter_on_a_command_without_its_argument_lists_the_choices() {
    let mut dash = demo_thread((140, 40));
    let notices = dash.notices().len();
    for command in ["theme", "wrap", "timestamps", "view", "dep", "stream"] {
        dash.keys(&format!(":{command}<Enter>"));
        dash.shows(&format!("> {command} ▏"));
        dash.keys("<Esc>");
    }
    assert_eq!(dash.notices().len(), notices);
    dash.keys(":theme<Enter><Down>");
    dash.shows(["auto", "mono"]);
    // The next Enter chooses.
    dash.keys("<Esc>:wrap<Enter>off<Enter>");
    assert!(dash.dialog().is_none() && !dash.wraps());
    // Commands that work without an argument run.
    dash.keys(":search<Enter>");
    dash.lacks("> search ▏");
}

#[test]
fn the_last_actions_are_listed_first() {
    let mut dash = demo_thread((140, 40));
    for line in ["stream.events", "wrap on", "stream.events", "view messages"] {
        dash.command(line);
    }
    let recent: Vec<String> = rows(&dash, "", Group::Recent)
        .into_iter()
        .map(|(_, line)| line)
        .collect();
    assert_eq!(recent, ["view messages", "stream.events", "wrap on"]);
    dash.keys(":<Up><Up>");
    // An action is recalled by its name.
    dash.shows("> Show Events▏");
    dash.keys("<Enter>");
    assert_eq!(dash.view(), View::Events);
}

#[test]
fn dead_keys_say_what_they_do_and_where() {
    let mut dash = demo();
    let notices = dash.notices().len();
    dash.keys("M");
    let row = runtail_tui::input::keymap::binding("stream.modes").unwrap();
    assert_eq!(
        dash.newest_notice(),
        format!("{} (M) works only in a thread.", row.name())
    );
    dash.keys("MM");
    assert_eq!(
        dash.notices().len(),
        notices + 1,
        "a repeated one is listed once"
    );
    dash.keys("<ctrl-k>");
    dash.says("Ctrl-K has no action. Press ? for keys.");
    // Not for movement, not in a text field, not while frozen.
    let notices = dash.notices().len();
    dash.keys("<Left><Right><ctrl-Left><Enter><Esc>/M<ctrl-k><Esc>:M<Esc>FM<ctrl-k>F");
    let new = &dash.notices()[notices..];
    assert!(
        new.iter()
            .all(|text| !text.contains("works only") && !text.contains("has no action")),
        "{new:?}"
    );
    // Pasted text is not a sequence of keys.
    dash.feed(Msg::Paste("M".into()));
    assert!(!dash.newest_notice().starts_with("M "));
}

#[test]
fn every_action_of_another_screen_says_where_it_works() {
    let mut dash = demo();
    let scopes = |dash: &Dash| {
        let offers = dash
            .offers("")
            .into_iter()
            .filter(|offer| offer.group == Group::Elsewhere);
        offers
            .map(|offer| (offer.line, offer.note))
            .collect::<Vec<(String, String)>>()
    };
    for keys in ["", "<Tab>", "<Tab>p", "<Esc>i", "<Esc>"] {
        dash.keys(keys);
        let silent: Vec<_> = scopes(&dash)
            .into_iter()
            .filter(|(_, note)| !note.contains("works "))
            .collect();
        assert!(silent.is_empty(), "{keys}: {silent:?}");
    }
    let note = |dash: &Dash, line: &str| {
        let found = dash
            .offers(line)
            .into_iter()
            .find(|offer| offer.line == line);
        found.map(|offer| offer.note).unwrap_or_default()
    };
    assert!(
        note(&dash, "revisions.explain").ends_with("works on: a revision; Tab goes to Revisions"),
        "{}",
        note(&dash, "revisions.explain")
    );
    let compare = note(&dash, "server.compare");
    let place = "works on: a thread, run or assistant, with 1 or more marked; Enter goes to Threads and runs";
    assert!(compare.ends_with(place), "{compare}");
    assert!(note(&dash, "stream.edit_state").contains("works in: Steps"));
    assert!(
        note(&dash, "export").ends_with("works on: a thread"),
        "no thread is shown"
    );
    assert!(note(&dash, "theme").ends_with("works everywhere"));
    // In a view, what other views have is elsewhere.
    dash.open_thread();
    dash.keys("1");
    let edit = note(&dash, "stream.edit_state");
    assert!(
        edit.ends_with("works in: the explanation of a thread (e), Steps"),
        "{edit}"
    );
    dash.keys("2");
    assert!(!note(&dash, "stream.edit_state").contains("works "));
}

#[test]
fn the_mouse_works_in_the_palette_and_in_the_help() {
    let mut dash = demo_thread((140, 40));
    assert!(!dash.uses_mouse(), "the terminal selects text in streams");
    let row_with = |dash: &mut Dash, text: &str| {
        let screen = dash.screen();
        let row = screen
            .lines()
            .enumerate()
            .skip(1)
            .find(|(_, line)| line.contains(text));
        let (y, line) = row.unwrap_or_else(|| panic!("{screen}"));
        let x = line[..line.find(text).unwrap()].chars().count();
        (x as u16, y as u16)
    };
    dash.keys(":show");
    assert!(dash.uses_mouse());
    let (x, y) = row_with(&mut dash, "Show Events");
    dash.feed(Msg::Click { x, y });
    let screen = dash.screen();
    assert!(screen.lines().any(|line| line.contains("▌ Show Events")));
    assert_eq!(dash.view(), View::Messages, "a click chooses");
    dash.feed(Msg::Wheel { lines: 3, x, y });
    dash.lacks("▌ Show Events");
    let (x, y) = row_with(&mut dash, "Show Events");
    dash.feed(Msg::Click { x, y });
    let (x, y) = row_with(&mut dash, "Show Events");
    dash.feed(Msg::Click { x, y });
    assert_eq!(dash.view(), View::Events, "a second one runs");
    assert!(dash.dialog().is_none());
    dash.keys("?<Tab>");
    let (x, y) = row_with(&mut dash, "Timeline (bars");
    dash.feed(Msg::Click { x, y });
    dash.feed(Msg::Wheel { lines: 1, x, y });
    dash.shows("▌ 5");
    for _ in 0..2 {
        dash.feed(Msg::Click { x, y });
    }
    assert_eq!(dash.view(), View::Timeline);
    // A click beside the lines does nothing.
    dash.keys("?");
    dash.feed(Msg::Click { x: 139, y: 38 });
    dash.feed(Msg::Click { x: 0, y: 1 });
    assert!(dash.has_dialog(Dialog::Help));
}

#[test]
fn every_action_begins_with_a_verb_and_every_footer_has_at_most_six_keys() {
    let verbs: BTreeSet<&str> = BINDINGS
        .iter()
        .filter_map(|row| row.name().split(' ').next())
        .collect();
    let nouns: Vec<&&str> = verbs
        .iter()
        .filter(|verb| verb.ends_with('s') && **verb != "Compares")
        .collect();
    assert!(nouns.is_empty(), "{nouns:?}");
    for row in BINDINGS.iter() {
        assert!(
            row.name().chars().count() <= 36 && row.name().starts_with(char::is_uppercase),
            "{}",
            row.name()
        );
        let same = BINDINGS
            .iter()
            .filter(|other| other.context == row.context && other.name() == row.name());
        assert_eq!(same.count(), 1, "{:?}: {}", row.context, row.name());
    }
    let mut dash = demo();
    for keys in ["", "<Tab>", "<Esc>i", "<Esc>p", "<Esc>!", "<Esc>"] {
        dash.keys(keys);
        let hints = dash.hints();
        let labels: Vec<&str> = hints.iter().map(|(_, label)| *label).collect();
        assert!(
            labels.len() <= 6 && labels.ends_with(&["commands", "help"]),
            "{keys}: {labels:?}"
        );
    }
}

#[test]
fn help_is_filtered_and_runs_the_selected_line() {
    let mut dash = demo_thread((140, 40));
    // The filter also finds what is under "more".
    dash.keys("?");
    dash.lacks("bars for nodes");
    dash.keys("/timel<Enter>");
    // There is room for the sentences.
    dash.shows("4  Show Timeline (bars for nodes, tools and models)");
    dash.lacks(["Show State", "Tab more"]);
    while !dash.screen().lines().any(|line| line.contains("▌ 4")) {
        dash.keys("<Down>");
    }
    dash.keys("<Enter>");
    assert!(dash.dialog().is_none());
    assert_eq!(dash.view(), View::Timeline);
    dash.keys("?/nothing of that name<Enter>");
    dash.shows("No key of this screen matches");
}

#[test]
fn help_shows_the_sentences_where_all_of_them_have_room() {
    let mut dash = demo();
    dash.keys("?");
    let screen = dash.screen();
    dash.shows("Roll back to the last good one (preview first) ");
    // A click on any row of a line chooses it, and Down goes to the next line.
    let row = screen
        .lines()
        .position(|line| line.contains("▌ ⏎ "))
        .unwrap() as u16;
    dash.keys("<Down><Down>");
    dash.feed(runtail_tui::session::msg::Msg::Click { x: 14, y: row });
    dash.shows("▌ ⏎ ");
    dash.keys("<Down>");
    dash.shows("▌ n ");
    dash.resize(90, 24);
    dash.shows("Roll back to the last good one");
    dash.lacks("last good one (preview first)");
}

#[test]
fn a_command_with_an_argument_is_not_guessed() {
    let mut dash = demo_like((100, 30));
    for line in ["foo abc", "t abc", "delete abc"] {
        assert!(completions(&dash, line).is_empty(), "{line}");
        assert_eq!(dash.command(line), [], "{line}");
        dash.keys("<Esc><Esc>");
    }
    assert!(
        dash.no_completion("foo abc")
            .starts_with("No action matches \"foo abc\".")
    );
    assert_eq!(
        dash.no_completion("thme abc"),
        "No action matches \"thme abc\". Did you mean theme?"
    );
    assert_eq!(
        dash.no_completion("delete abc"),
        "delete takes no argument."
    );
    // An unambiguous beginning is enough.
    assert_eq!(completions(&dash, "them mon"), ["theme mono"]);
    let effects = dash.command("toke github");
    assert!(
        matches!(&effects[..], [Effect::Browse(_, _, Collection::Tokens(Some(slug)))] if slug == "github"),
        "{effects:?}"
    );
}

#[test]
fn arguments_are_completed() {
    let mut dash = demo_server((100, 30));
    assert_eq!(completions(&dash, "dep inv"), ["dep invoice-agent"]);
    assert_eq!(
        completions(&dash, "dep supp"),
        ["dep prod-us/support-bot", "dep prod-eu/support-bot"],
        "two deployments have that name"
    );
    assert_eq!(
        completions(&dash, "inv")[0],
        "dep invoice-agent",
        "a name alone is enough"
    );
    assert_eq!(
        completions(&dash, "thread erro"),
        [format!("thread {THREAD}")],
        "by its status"
    );
    assert_eq!(
        completions(&dash, "view r"),
        ["view runs", "view graph", "view delivery"]
    );
    dash.keys(":dep i");
    insta::assert_snapshot!("palette_arguments_100x30", dash.screen());
    dash.keys("<Tab>");
    dash.shows("> dep invoice-agent");
    dash.keys("<Enter>");
    assert_eq!(dash.selected_deployment(), Some("prod-us/d3"));
    assert_eq!(dash.focus(), Pane::Deployments);
    // Tab completes a command, and Down moves to an argument.
    dash.keys(":prof<Tab>");
    dash.shows("> profile");
    dash.keys("<Down><Enter>");
    assert!(dash.dialog().is_none() || dash.has_dialog(Dialog::Profiles));
}

#[test]
fn filters_support_the_same_editing_keys() {
    let mut dash = demo_like((100, 30));
    dash.keys("/bot agent<ctrl-w><Backspace><Home>support-");
    dash.shows("/support-▏bot");
    assert_eq!(dash.deployments_filter(), "support-bot");
    dash.keys("<alt-u><Enter>");
    assert_eq!(dash.deployments_filter(), "supportbot");
}

#[test]
fn pasted_lines_are_joined_and_control_characters_are_dropped() {
    let mut dash = demo_like((100, 30));
    let pasted = || Msg::Paste("support\u{1b}[31m-\u{7}bot\u{1b}[0m\r\n  prod\u{0}\n".into());
    dash.keys("/");
    dash.feed(pasted());
    dash.shows("/support-bot prod▏");
    assert_eq!(dash.deployments_filter(), "support-bot prod");
    dash.keys("<Esc>:dep ");
    dash.feed(pasted());
    dash.shows("> dep support-bot prod▏");
}

#[test]
fn command_history_is_remembered() {
    let mut dash = demo_like((100, 30));
    for line in ["wrap on", "timestamps delta", "wrap on"] {
        dash.command(line);
    }
    assert!(dash.wraps());
    assert_eq!(dash.timestamps(), Timestamps::Delta);

    dash.keys(":<Up>");
    assert_eq!(dash.command_line(), "wrap on");
    dash.keys("<Up>");
    assert_eq!(dash.command_line(), "timestamps delta");
    dash.keys("<Up>");
    assert_eq!(
        dash.command_line(),
        "timestamps delta",
        "there is no older one"
    );
    dash.keys("<Down><Down>");
    assert_eq!(dash.command_line(), "");
    dash.keys("<Up><Enter>");
    assert!(dash.dialog().is_none());
}

#[test]
fn themes_are_previewed_while_typing() {
    let mut dash = demo_like((100, 30));
    dash.keys(":theme mono");
    assert_eq!(dash.theme(), "mono");
    dash.keys("<Esc>");
    assert_eq!(dash.theme(), "auto", "Esc restores the theme");
    dash.keys(":theme <Down><Down><Down>");
    assert_eq!(dash.theme(), "light");
    dash.keys("<Enter>");
    assert_eq!((dash.theme(), dash.dialogs().len()), ("light", 0));
    dash.command("mouse off");
    assert_eq!(dash.mouse(), Mouse::Off);
}

#[test]
fn pasted_ids_open_their_target() {
    let mut dash = demo_server((140, 40));
    dash.keys("<Tab>");
    dash.feed(Msg::Paste(format!("  {THREAD}\n")));
    assert_eq!(
        dash.page().target,
        StreamTarget::Tail {
            thread: THREAD.into()
        }
    );
    // A listed revision.
    dash.feed(Msg::Paste("66666666-6666-4666-8666-666666666666".into()));
    assert_eq!(dash.focus(), Pane::Revisions);
    assert_eq!(
        dash.selected_revision(),
        Some("66666666-6666-4666-8666-666666666666")
    );
    // A thread that is open already is shown, not opened twice.
    dash.command(THREAD);
    assert_eq!((dash.tabs().len(), dash.focus()), (1, Pane::Stream));
    // An assistant.
    dash.feed(Msg::Paste("0d3403f7-5601-53d2-b2f6-e9cafe096781".into()));
    assert_eq!(
        dash.selected_assistant(),
        Some("0d3403f7-5601-53d2-b2f6-e9cafe096781")
    );
    assert!(
        !dash.has_stream(),
        "the list is shown; the stream keeps running"
    );
}

#[test]
fn ids_in_the_stream_select_their_event() {
    let mut dash = demo_thread((140, 40));
    let run = "01a1fbb5-1351-70df-a8e3-d471c3c0cd66";
    dash.event("custom", "1");
    dash.event("metadata", &format!(r#"{{"run_id":"{run}","attempt":1}}"#));
    let message = "lc_run--01a1fbb5-1351-70df-a8e3-d471c3c0cd67";
    dash.event(
        "messages",
        &format!(r#"[{{"type":"AIMessageChunk","id":"{message}","content":"a"}},{{}}]"#),
    );
    dash.event(
        "messages",
        &format!(r#"[{{"type":"AIMessageChunk","id":"{message}","content":"b"}},{{}}]"#),
    );
    let at = |dash: &Dash| dash.position();
    dash.feed(Msg::Paste(run.into()));
    assert_eq!(at(&dash), Some(Seq(2)));
    dash.command(message);
    assert_eq!(at(&dash), Some(Seq(3)), "where the message began");
}

#[test]
fn ids_after_a_snapshot_select_their_event() {
    let mut dash = demo_thread((140, 40));
    dash.snapshot(vec![(
        runtail_stream::SnapshotPart::Runs,
        serde_json::json!([]),
    )]);
    dash.event("custom", "1");
    let run = "01a1fbb5-1351-70df-a8e3-d471c3c0cd66";
    dash.event("metadata", &format!(r#"{{"run_id":"{run}","attempt":1}}"#));
    dash.event("custom", "2");
    dash.feed(Msg::Paste(run.into()));
    assert_eq!(dash.position(), Some(Seq(3)));
    dash.command("#3");
    assert_eq!(
        dash.position(),
        Some(Seq(4)),
        "numbers count the events of the stream"
    );
}

/// Returns the number of a search and the sources that it requests.
fn search_requests(effects: &[Effect]) -> (u64, Vec<Source>) {
    let request = |effect: &Effect| match effect {
        Effect::Find(number, source, id) if id == UNKNOWN => Some((*number, source.clone())),
        _ => None,
    };
    let all: Vec<_> = effects.iter().filter_map(request).collect();
    assert_eq!(all.len(), effects.len(), "{effects:?}");
    (
        all.first().map_or(0, |(number, _)| *number),
        all.into_iter().map(|(_, source)| source).collect(),
    )
}

fn server_named<'s>(sources: &'s [Source], name: &str) -> &'s Source {
    let is = |source: &&Source| matches!(source, Source::Server(server) if &*server.name == name);
    sources
        .iter()
        .find(is)
        .unwrap_or_else(|| panic!("{name} in {sources:?}"))
}

fn failure(status: Kind, detail: &str) -> ApiError {
    made::error(status, detail)
}

/// Responds to all requests of a search, including later ones, and returns their number.
fn respond_to_all(
    dash: &mut Dash,
    effects: Vec<Effect>,
    mut respond: impl FnMut(&Source) -> Result<Option<Found>, ApiError>,
) -> usize {
    let mut open: Vec<Effect> = effects;
    let mut count = 0;
    while let Some(effect) = open.pop() {
        let Effect::Find(number, source, _) = effect else {
            continue;
        };
        assert!(open.len() < 8, "at most eight at once");
        count += 1;
        let result = respond(&source);
        open.extend(dash.done(EffectResult::Found(number, source, result)));
    }
    count
}

#[test]
fn unknown_ids_are_searched_on_all_servers() {
    let mut dash = demo();
    // No agent server was opened before.
    let (number, sources) = search_requests(&dash.command(UNKNOWN));
    assert!(
        dash.newest_notice().starts_with("Searching prod-") && dash.newest_notice().ends_with('…')
    );
    for profile in ["prod-us", "prod-eu"] {
        assert!(
            sources.contains(&Source::Deployments(profile.into())),
            "{sources:?}"
        );
    }
    let hit = server_named(&sources, "triage").clone();
    let others: Vec<Source> = sources
        .iter()
        .filter(|source| **source != hit)
        .cloned()
        .collect();
    dash.done(EffectResult::Found(number, others[0].clone(), Ok(None)));
    // The first match is shown without waiting for the other servers.
    let effects = dash.done(EffectResult::Found(number, hit, Ok(Some(Found::Thread))));
    assert!(
        effects
            .iter()
            .all(|effect| !matches!(effect, Effect::Find(..))),
        "{effects:?}"
    );
    let page = dash.page();
    assert_eq!(
        (&*page.server.name, page.thread.as_deref()),
        ("triage", Some(UNKNOWN))
    );
    dash.told("Found thread 99999999…9999 on prod-us › triage");
    for late in &others[1..] {
        assert_eq!(
            dash.done(EffectResult::Found(
                number,
                late.clone(),
                Ok(Some(Found::Thread))
            )),
            []
        );
    }
    assert_eq!(dash.tabs().len(), 1);
}

#[test]
fn failed_searches_name_the_servers() {
    let mut dash = demo();
    let effects = dash.command(UNKNOWN);
    let mut revisions = 0;
    respond_to_all(&mut dash, effects, |source| match source {
        Source::Server(server) if &*server.name == "triage" => {
            Err(failure(Kind::Unauthorized, "invalid key"))
        }
        Source::Revisions(..) => {
            revisions += 1;
            Ok(None)
        }
        _ => Ok(None),
    });
    assert_eq!(
        revisions,
        dash.rows()
            .iter()
            .filter(|row| row.deployment.is_some())
            .count()
    );
    let text = dash.newest_notice();
    assert!(
        text.starts_with("99999999…9999 was not found on prod-"),
        "{text}"
    );
    for part in [
        "; prod-us › triage: 401.",
        "Searched only runs of the 50 newest threads; else paste THREAD/RUN.",
        "invalid key",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(dash.is_error_noticed());
    // Pressing a key stops the search.
    let (number, sources) = search_requests(&dash.command(UNKNOWN));
    dash.keys("<Down>");
    dash.says("Stopped searching for 99999999…9999.");
    dash.done(EffectResult::Found(
        number,
        sources[0].clone(),
        Ok(Some(Found::Thread)),
    ));
    assert!(!dash.has_stream());
    // A profile whose key was rejected is named, but not searched.
    dash.each_profile(|profile| {
        if &*profile.name == "prod-us" {
            (profile.halted, profile.error) = (true, Some(failure(Kind::Unauthorized, "revoked")));
        }
    });
    let effects = dash.command(UNKNOWN);
    respond_to_all(&mut dash, effects, |source| {
        assert_ne!(source.profile(), "prod-us");
        Ok(None)
    });
    dash.told("; prod-us: 401.");
}

#[test]
fn the_demo_searches_only_simulated_servers() {
    let mut dash = demo();
    dash.set_demo();
    let (_, sources) = search_requests(&dash.command(UNKNOWN));
    let is_control_plane = |source: &Source| matches!(source, Source::Deployments(_));
    assert!(
        !sources.is_empty() && sources.iter().all(is_control_plane),
        "{sources:?}"
    );
}

#[test]
fn search_results_are_opened() {
    // A deployment that is not in any list.
    let mut dash = demo();
    let (number, sources) = search_requests(&dash.command(UNKNOWN));
    let deployments = sources
        .iter()
        .find(|source| matches!(source, Source::Deployments(_)))
        .unwrap()
        .clone();
    let effects = dash.done(EffectResult::Found(
        number,
        deployments,
        Ok(Some(Found::Deployment("hidden".into()))),
    ));
    assert!(
        matches!(effects.as_slice(), [Effect::Describe(Described::Deployment(_, id, name))]
        if &**id == UNKNOWN && name == "hidden"),
        "{effects:?}"
    );
    // Revisions are searched after everything else.
    let effects = dash.command(UNKNOWN);
    let mut expected = None;
    respond_to_all(&mut dash, effects, |source| match source {
        Source::Revisions(profile, id, name) if &**name == "invoice-agent" => {
            expected = Some(format!("{profile}/{id}"));
            Ok(Some(Found::Revision))
        }
        _ => Ok(None),
    });
    assert_eq!(
        (dash.focus(), dash.selected_deployment()),
        (Pane::Revisions, expected.as_deref())
    );
    // A run with its thread.
    let line = format!("{UNKNOWN}/{THREAD}");
    let (number, sources) = search_requests(&dash.command(&line));
    assert!(
        sources
            .iter()
            .all(|source| matches!(source, Source::Server(_))),
        "only threads have runs"
    );
    let hit = server_named(&sources, "triage").clone();
    dash.done(EffectResult::Found(number, hit, Ok(Some(Found::Thread))));
    let joined = StreamTarget::Join {
        thread: UNKNOWN.into(),
        run: THREAD.into(),
    };
    assert_eq!(dash.page().target, joined);
    // A Studio link to a server that is in no profile: the thread is searched anyway.
    let studio = format!(
        "https://smith.langchain.com/studio/?baseUrl=https://other.example&threadId={UNKNOWN}"
    );
    let effects = dash.feed(Msg::Paste(studio));
    respond_to_all(&mut dash, effects, |_| Ok(None));
    dash.told("No profile in use has https://other.example/");
    // A run alone can't be found.
    let mut dash = demo();
    dash.command(&format!("run {UNKNOWN}"));
    dash.says("A run id needs its thread: paste THREAD/RUN or a URL.");
}

#[test]
fn contract_only_servers_open_threads_unchecked() {
    let mut dash = Dash::new(
        "[profiles.lab]\nagent_server = \"http://127.0.0.1:1\"\n",
        (120, 40),
    );
    let effects = dash.command(UNKNOWN);
    assert_eq!(
        respond_to_all(&mut dash, effects, |_| Ok(Some(Found::Unsupported))),
        1
    );
    assert_eq!(dash.thread_id(), Some(UNKNOWN));
    dash.told("lab can't search threads");
}

#[test]
fn deployments_are_selected_by_profile_and_name() {
    let mut dash = demo();
    assert_eq!(
        completions(&dash, "dep prod-us/tri"),
        ["dep prod-us/triage"]
    );
    dash.command("dep prod-us/triage");
    assert_eq!(dash.selected_deployment(), Some("prod-us/d4"));
    for (typed, message) in [
        (
            "dep prod-us/triaeg",
            "No deployment prod-us/triaeg. Did you mean prod-us/triage?",
        ),
        (
            "dep prod-eu/triage",
            "No deployment prod-eu/triage. Did you mean prod-us/triage?",
        ),
        ("dep zzzzzz", "No deployment zzzzzz."),
    ] {
        assert_eq!(dash.no_completion(typed), message);
    }
    let (_, sources) = search_requests(&dash.command(&format!("dep {UNKNOWN}")));
    assert!(sources.len() > 2, "an id is searched");
}

#[test]
fn pasted_urls_open_their_target() {
    let mut dash = demo();
    dash.feed(Msg::Paste(format!(
        "https://support-bot.us.langgraph.app/threads/{THREAD}/runs/{UNKNOWN}/stream"
    )));
    let joined = StreamTarget::Join {
        thread: THREAD.into(),
        run: UNKNOWN.into(),
    };
    assert_eq!(dash.page().target, joined);
    let studio = format!(
        "https://smith.langchain.com/studio/?baseUrl=https://triage.us.langgraph.app&threadId={THREAD}"
    );
    dash.feed(Msg::Paste(studio));
    assert_eq!(&*dash.page().server.name, "triage");
    for (address, why) in [
        (
            "http://localhost:2024/info",
            "`runtail --url http://localhost:2024/`",
        ),
        (
            "https://eu.smith.langchain.com/o/1/host/deployments/99999999-9999-4999-8999-999999999999",
            "prod-eu has no deployment ",
        ),
        (
            "https://apac.smith.langchain.com/o/1/host/deployments/99999999-9999-4999-8999-999999999999",
            "No profile for apac.smith.langchain.com",
        ),
        (
            "https://smith.langchain.com/settings",
            "is no deployment, revision, thread or run",
        ),
    ] {
        dash.feed(Msg::Paste(address.into()));
        dash.told(why);
    }
}

#[test]
fn event_numbers_and_times_select_events() {
    let mut dash = demo();
    dash.command("#3");
    dash.told("No stream is shown");
    dash.open_thread();
    dash.capture("agent-events");
    dash.command("#3");
    assert_eq!(dash.position(), Some(Seq(3)));
    dash.command("view events");
    assert_eq!(dash.view(), View::Events);
    dash.command("4000");
    dash.told("No event 4000 yet; the newest is 42.");
    let (seq, at) = dash
        .events()
        .iter()
        .map(|event| (event.seq, event.at))
        .find(|(seq, _)| *seq >= Seq(20))
        .unwrap();
    let whole = at
        .to_zoned(jiff::tz::TimeZone::UTC)
        .strftime("%H:%M:%S")
        .to_string();
    dash.command(&whole);
    let anchor = dash.position().unwrap();
    assert!(
        anchor <= seq && anchor + 10 > seq,
        "{anchor} is in the second of {seq}"
    );
    dash.capture("aegra-agent-custom");
    let id = dash
        .events()
        .into_iter()
        .filter(|event| event.seq >= Seq(9))
        .find_map(|event| event.id)
        .unwrap();
    dash.feed(Msg::Paste(id.to_string()));
    let at = dash.position();
    let mut events = dash.events().into_iter();
    let selected = events.find(|event| Some(event.seq) == at).unwrap();
    assert_eq!(selected.id.as_deref(), Some(&*id));
    dash.command("stream 1");
    assert_eq!(dash.tab(), Some(0));
}

#[test]
fn keys_page_lists_the_current_bindings() {
    let text = "[profiles.a]\nagent_server = \"http://localhost:1\"\n[keys]\n\"app.help\" = \"F1\"\n\"app.zoom\" = \"q\"\n\"app.copy\" = \"q\"\n";
    let mut dash = Dash::new(text, (120, 40));
    dash.command("keys");
    insta::assert_snapshot!("keys_120x40", dash.screen());
}

#[test]
fn own_texts_are_not_cut_at_140_columns() {
    let mut dash = demo();
    let mut cut: BTreeSet<String> = BTreeSet::new();
    let mut look = |dash: &mut Dash| {
        let screen = dash.screen();
        // Below the tabs, without the keys and the notice.
        cut.extend(
            screen
                .lines()
                .skip(2)
                .take(36)
                .filter(|line| line.contains('…'))
                .map(str::to_string),
        );
    };
    dash.keys(":");
    for _ in 0..20 {
        look(&mut dash);
        dash.keys("<PageDown>");
    }
    dash.keys("<Esc>?");
    for _ in 0..40 {
        for _ in 0..3 {
            look(&mut dash);
            dash.keys("<PageDown>");
        }
        dash.keys("<Tab>");
    }
    assert_eq!(cut, BTreeSet::new(), "{cut:#?}");
}

#[test]
fn the_selected_line_stays_while_others_appear_above_it() {
    let mut dash = demo();
    ":dep "
        .chars()
        .for_each(|c| drop(dash.feed(Msg::Key(Key::char(c)))));
    let line = |dash: &mut Dash| {
        dash.screen()
            .lines()
            .find(|line| line.contains('▌'))
            .unwrap_or_default()
            .to_string()
    };
    let before = line(&mut dash);
    assert!(
        before.contains("support-bot") || before.contains("invoice-agent"),
        "{before}"
    );
    // A deployment that sorts before it is listed later.
    let rows = serde_json::json!([{"id": "d0", "name": "aaa-bot", "url": "https://aaa-bot.us.langgraph.app"},
                                  {"id": "d2", "name": "support-bot", "url": "https://support-bot.us.langgraph.app"},
                                  {"id": "d3", "name": "invoice-agent", "url": "https://invoice-agent.us.langgraph.app"}]);
    let list = runtail_testkit::dash::listed(serde_json::from_value(rows).unwrap());
    let of_us = |key: &runtail_tui::session::msg::SubscriptionId| matches!(key, runtail_tui::session::msg::SubscriptionId::Deployments(of) if &**of == "prod-us");
    dash.answer(of_us, list);
    dash.later(2_000);
    let name = |line: &str| {
        line.split_whitespace()
            .find(|word| word.contains('-'))
            .unwrap_or_default()
            .to_string()
    };
    assert_eq!(name(&line(&mut dash)), name(&before));
}
