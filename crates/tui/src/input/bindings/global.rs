//! Keys that work everywhere.

use super::super::action::{Action::*, Context};
use super::shared::KEPT;
use super::{Rows, bind};

const WITH_PANES: &[Context] = {
    use Context::*;
    &[Deployments, Revisions, Stream]
};
const WITH_TABS: &[Context] = {
    use Context::*;
    &[Deployments, Revisions, Server, Stream, Logs]
};
const WITH_TEXT: &[Context] = {
    use Context::*;
    &[
        Deployments,
        Revisions,
        Server,
        Stream,
        Logs,
        Inspector,
        Compare,
        Browse,
        Records,
        SignIn,
        Inbox,
        Graph,
        Report,
    ]
};
const WITH_LEFT: &[Context] = {
    use Context::*;
    &[Stream, Inspector, Records, Help, Graph, Inbox]
};
const WITH_RIGHT: &[Context] = {
    use Context::*;
    &[
        Stream,
        Inspector,
        Records,
        Help,
        Graph,
        Logs,
        Journal,
        Browse,
        Inbox,
        Deployments,
    ]
};

pub(super) const ROWS: Rows = &[(
    Context::Global,
    &[
        bind("app.command", ":", Command, "Open the palette")
            .label("commands")
            .help("any action, id or URL"),
        bind("app.back", "Esc", Back, "Go back one step")
            .label("back")
            .help(KEPT),
        bind("app.quit", "q", Quit, "Go back or quit")
            .label("quit")
            .help("closes a tab"),
        bind("app.inbox", "i", Inbox, "Open the inbox")
            .label("inbox")
            .help("questions and failures"),
        bind("app.refresh", "r", Refresh, "Refresh now"),
        bind("app.copy", "y", Copy, "Copy the id, text or value")
            .only_on(WITH_TEXT)
            .in_view(&[
                ("Graph", "Copy the node's name"),
                ("Steps", "Copy the event or checkpoint"),
            ]),
        bind("app.next_pane", "Tab", NextPane, "Go to the next pane")
            .back("app.prev_pane", "BackTab", PrevPane)
            .only_on(WITH_PANES),
        bind("app.zoom", "f", Zoom, "Toggle full screen").only_on(WITH_PANES),
        bind("app.next_stream", "}", NextStream, "Go to the next tab")
            .back("app.prev_stream", "{", PrevStream)
            .only_on(WITH_TABS),
        bind("app.profiles", "p", Profiles, "Open the profiles")
            .label("profiles")
            .help("use, test or edit"),
        bind("app.notices", "!", Notices, "Show notices and errors").label("notices"),
        bind("app.freeze", "F", Freeze, "Freeze the screen").help("data keeps arriving"),
        bind("app.quit_now", "ctrl-c", QuitNow, "Quit at once").help("runs continue"),
        bind("app.suspend", "ctrl-z", Suspend, "Suspend to the shell").help("`fg` returns"),
        bind("app.redraw", "ctrl-l", Redraw, "Redraw the screen"),
        bind("app.help", "?", Help, "Show the help").label("help"),
        bind("move.up", "Up k", Up, "Move up"),
        bind("move.down", "Down j", Down, "Move down"),
        bind("move.page_up", "PageUp ctrl-b", PageUp, "Move one page up").label("page up"),
        bind(
            "move.page_down",
            "PageDown ctrl-f Space",
            PageDown,
            "Move one page down",
        )
        .label("page down"),
        bind("move.half_up", "ctrl-u", HalfUp, "Move half a page up"),
        bind(
            "move.half_down",
            "ctrl-d",
            HalfDown,
            "Move half a page down",
        ),
        bind("move.top", "Home g", Top, "Go to the first line"),
        bind("move.bottom", "End G", Bottom, "Go to the last line"),
        bind("move.left", "Left h", Left, "Fold, or go left")
            .only_on(WITH_LEFT)
            .in_view(&[
                ("State", "Fold"),
                ("Timeline", "Fold"),
                ("Graph", "Fold the group"),
                ("Steps", "Fold or leave the difference"),
            ]),
        bind("move.right", "Right l", Right, "Unfold, or go right")
            .only_on(WITH_RIGHT)
            .in_view(&[
                ("State", "Unfold"),
                ("Timeline", "Unfold"),
                ("Graph", "Unfold the group"),
                ("Steps", "Unfold or see the difference"),
            ]),
    ],
)];
