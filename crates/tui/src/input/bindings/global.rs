//! Keys that work everywhere.

use super::super::action::{Action as A, Context::*};
use super::{Binding, bind};

pub(super) const ROWS: &[Binding] = &[
    bind("app.help", Global, &["?"], A::Help, "help", "Show the keys that work here").named("Show the help"),
    bind("app.command", Global, &[":"], A::Command, "commands", "Command line: a command, name, id or address")
        .named("Open the palette"),
    bind("app.back", Global, &["Esc"], A::Back, "back", "Go back one step; input is kept").named("Go back one step"),
    bind("app.quit", Global, &["q"], A::Quit, "quit", "Go back; close a tab; quit from deployments")
        .named("Go back, quit at the root"),
    bind("app.quit_now", Global, &["ctrl-c"], A::QuitNow, "quit", "Quit at once; runs continue").named("Quit at once"),
    bind("app.next_pane", Global, &["Tab"], A::NextPane, "next pane", "Next or previous pane or half")
        .named("Go to the next pane"),
    bind("app.prev_pane", Global, &["BackTab"], A::PrevPane, "Previous pane", "").named("Go to the previous pane"),
    bind("app.zoom", Global, &["f"], A::Zoom, "full screen", "Toggle full screen for the pane")
        .named("Toggle full screen"),
    bind("app.freeze", Global, &["F"], A::Freeze, "freeze", "Freeze the screen; data keeps arriving")
        .named("Freeze the screen"),
    bind("app.refresh", Global, &["r"], A::Refresh, "refresh", "Refresh now").named("Refresh now"),
    bind("app.inbox", Global, &["i"], A::Inbox, "inbox", "Inbox: what waits for you, and what failed")
        .named("Open the inbox"),
    bind("app.glance", Global, &["P"], A::Glance, "at a glance", "At a glance: counts above the list, then a page")
        .named("Show the counts at a glance"),
    bind("app.notices", Global, &["!"], A::Notices, "notices", "Show all notices and errors of this session")
        .named("Show notices and errors"),
    bind("app.copy", Global, &["y"], A::Copy, "copy", "Copy the id, text or value under the cursor")
        .named("Copy the id, text or value")
        .in_view(&[
            ("Delivery", "Copy the report as text"),
            ("Graph", "Copy the name of the node"),
            ("History", "Copy the id of the checkpoint"),
        ]),
    bind("app.suspend", Global, &["ctrl-z"], A::Suspend, "suspend", "Suspend to the shell; `fg` returns")
        .named("Suspend to the shell"),
    bind("app.redraw", Global, &["ctrl-l"], A::Redraw, "redraw", "Redraw the screen").named("Redraw the screen"),
    bind("app.next_stream", Global, &["}"], A::NextStream, "next tab", "Next or previous tab")
        .named("Go to the next tab"),
    bind("app.prev_stream", Global, &["{"], A::PrevStream, "Previous tab", "").named("Go to the previous tab"),
    bind("app.profiles", Global, &["p"], A::Profiles, "profiles", "Profiles: use, switch, test, add, edit, save")
        .named("Open the profiles"),
    bind("move.up", Global, &["Up", "k"], A::Up, "up", "One line up").named("Move up"),
    bind("move.down", Global, &["Down", "j"], A::Down, "down", "One line down").named("Move down"),
    bind("move.page_up", Global, &["PageUp", "ctrl-b"], A::PageUp, "page up", "One page up").named("Move one page up"),
    bind("move.page_down", Global, &["PageDown", "ctrl-f", "Space"], A::PageDown, "page down", "One page down")
        .named("Move one page down"),
    bind("move.half_up", Global, &["ctrl-u"], A::HalfUp, "half page up", "Half a page up").named("Move half a page up"),
    bind("move.half_down", Global, &["ctrl-d"], A::HalfDown, "half page down", "Half a page down")
        .named("Move half a page down"),
    bind("move.top", Global, &["Home", "g"], A::Top, "top", "First line").named("Go to the first line"),
    bind("move.bottom", Global, &["End", "G"], A::Bottom, "end", "Last line").named("Go to the last line"),
    bind("move.left", Global, &["Left", "h"], A::Left, "left", "Fold, or go left").named("Fold, or go left").in_view(
        &[
            ("State", "Fold"),
            ("Timeline", "Pan left, or fold"),
            ("Graph", "Fold the group"),
            ("History", "Go to the tree"),
        ],
    ),
    bind("move.right", Global, &["Right", "l"], A::Right, "right", "Unfold, or go right")
        .named("Unfold, or go right")
        .in_view(&[
            ("State", "Unfold"),
            ("Timeline", "Pan right, or unfold"),
            ("Graph", "Unfold the group"),
            ("History", "Go to the difference"),
        ]),
];
