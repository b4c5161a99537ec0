//! Keys that work everywhere.

use super::super::action::{Action::*, Context};
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
        bind(
            "app.command",
            ":",
            Command,
            "commands",
            "Open the palette",
            "Command line: a command, name, id or address",
        ),
        bind(
            "app.back",
            "Esc",
            Back,
            "back",
            "Go back one step",
            "Go back one step; input is kept",
        ),
        bind(
            "app.quit",
            "q",
            Quit,
            "quit",
            "Go back, quit at the root",
            "Go back; close a tab; quit from deployments",
        ),
        bind(
            "app.inbox",
            "i",
            Inbox,
            "inbox",
            "Open the inbox",
            "Inbox: what waits for you, and what failed",
        ),
        bind(
            "app.refresh",
            "r",
            Refresh,
            "refresh",
            "Refresh now",
            "Refresh now",
        ),
        bind(
            "app.copy",
            "y",
            Copy,
            "copy",
            "Copy the id, text or value",
            "Copy the id, text or value under the cursor",
        )
        .only_on(WITH_TEXT)
        .in_view(&[
            ("Graph", "Copy the name of the node"),
            ("Steps", "Copy the event or checkpoint"),
        ]),
        bind(
            "app.next_pane",
            "Tab",
            NextPane,
            "next pane",
            "Go to the next pane",
            "Next pane or half",
        )
        .only_on(WITH_PANES),
        bind(
            "app.prev_pane",
            "BackTab",
            PrevPane,
            "Previous pane",
            "Go to the previous pane",
            "",
        )
        .only_on(WITH_PANES),
        bind(
            "app.zoom",
            "f",
            Zoom,
            "full screen",
            "Toggle full screen",
            "Toggle full screen for the pane",
        )
        .only_on(WITH_PANES),
        bind(
            "app.next_stream",
            "}",
            NextStream,
            "next tab",
            "Go to the next tab",
            "Next or previous tab",
        )
        .only_on(WITH_TABS),
        bind(
            "app.prev_stream",
            "{",
            PrevStream,
            "Previous tab",
            "Go to the previous tab",
            "",
        )
        .only_on(WITH_TABS),
        bind(
            "app.profiles",
            "p",
            Profiles,
            "profiles",
            "Open the profiles",
            "Profiles: use, switch, test, edit, save",
        ),
        bind(
            "app.notices",
            "!",
            Notices,
            "notices",
            "Show notices and errors",
            "Show all notices and errors of this session",
        ),
        bind(
            "app.freeze",
            "F",
            Freeze,
            "freeze",
            "Freeze the screen",
            "Freeze the screen; data keeps arriving",
        ),
        bind(
            "app.quit_now",
            "ctrl-c",
            QuitNow,
            "quit",
            "Quit at once",
            "Quit at once; runs continue",
        ),
        bind(
            "app.suspend",
            "ctrl-z",
            Suspend,
            "suspend",
            "Suspend to the shell",
            "Suspend to the shell; `fg` returns",
        ),
        bind(
            "app.redraw",
            "ctrl-l",
            Redraw,
            "redraw",
            "Redraw the screen",
            "Redraw the screen",
        ),
        bind(
            "app.help",
            "?",
            Help,
            "help",
            "Show the help",
            "Show the keys that work here",
        ),
        bind("move.up", "Up k", Up, "up", "Move up", "One line up"),
        bind(
            "move.down",
            "Down j",
            Down,
            "down",
            "Move down",
            "One line down",
        ),
        bind(
            "move.page_up",
            "PageUp ctrl-b",
            PageUp,
            "page up",
            "Move one page up",
            "One page up",
        ),
        bind(
            "move.page_down",
            "PageDown ctrl-f Space",
            PageDown,
            "page down",
            "Move one page down",
            "One page down",
        ),
        bind(
            "move.half_up",
            "ctrl-u",
            HalfUp,
            "half page up",
            "Move half a page up",
            "Half a page up",
        ),
        bind(
            "move.half_down",
            "ctrl-d",
            HalfDown,
            "half page down",
            "Move half a page down",
            "Half a page down",
        ),
        bind(
            "move.top",
            "Home g",
            Top,
            "top",
            "Go to the first line",
            "First line",
        ),
        bind(
            "move.bottom",
            "End G",
            Bottom,
            "end",
            "Go to the last line",
            "Last line",
        ),
        bind(
            "move.left",
            "Left h",
            Left,
            "left",
            "Fold, or go left",
            "Fold, or go left",
        )
        .only_on(WITH_LEFT)
        .in_view(&[
            ("State", "Fold"),
            ("Timeline", "Fold"),
            ("Graph", "Fold the group"),
            ("Steps", "Fold or leave the difference"),
        ]),
        bind(
            "move.right",
            "Right l",
            Right,
            "right",
            "Unfold, or go right",
            "Unfold, or go right",
        )
        .only_on(WITH_RIGHT)
        .in_view(&[
            ("State", "Unfold"),
            ("Timeline", "Unfold"),
            ("Graph", "Unfold the group"),
            ("Steps", "Unfold or see the difference"),
        ]),
    ],
)];
