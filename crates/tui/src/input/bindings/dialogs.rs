//! Keys of forms, previews and the journal.

use super::super::action::{Action::*, Context};
use super::shared::{ONLY_KEY, START_OVER, as_json, back, curl, next_field, outside};
use super::{Rows, bind, write};

pub(super) const ROWS: Rows = &[
    (
        Context::Composer,
        &[
            write("composer.start", "ctrl-s", Start, "Start the run"),
            next_field("composer.next", "composer.prev"),
            as_json("composer.form"),
            bind("composer.options", "ctrl-o", Option, "Toggle the options").label("options"),
            outside("composer.outside", "ctrl-e"),
            bind(
                "composer.last_input",
                "ctrl-p",
                LastInput,
                "Use an earlier input",
            )
            .label("earlier input")
            .help("newest first"),
            bind("composer.start_over", "ctrl-n", StartOver, "Clear the form").label(START_OVER),
            back("composer.back"),
        ],
    ),
    (
        Context::Editor,
        &[
            write(
                "editor.preview",
                "ctrl-s ctrl-r F5",
                Preview,
                "Preview the change",
            )
            .help("sends nothing"),
            bind("editor.form", "ctrl-t", Form, "Switch form and TOML").label("form or TOML"),
            next_field("editor.next", "editor.prev"),
            outside("editor.outside", "ctrl-e ctrl-o F4"),
            bind(
                "editor.start_over",
                "ctrl-n",
                StartOver,
                "Discard the edits",
            )
            .label(START_OVER),
            back("editor.back"),
        ],
    ),
    (
        Context::Confirm,
        &[
            write("confirm.send", "ctrl-s", Send, "Send the change").help(ONLY_KEY),
            bind("confirm.option", "ctrl-t", Option, "Change the option")
                .label("option")
                .help("tracing project, queued runs, node"),
            write("confirm.edit", "u", Update, "Edit the state first").label("edit state"),
            bind("confirm.graph", "g", View5, "Show it on the graph").label("graph"),
            bind("confirm.fold", "c", Collapse, "Fold the requests"),
            curl("confirm.curl", "y ctrl-y"),
            bind("confirm.back", "Esc", Back, "Cancel without sending"),
        ],
    ),
    (
        Context::Answer,
        &[
            write("answer.send", "ctrl-s", Send, "Send the answer").help(ONLY_KEY),
            next_field("answer.next", "answer.prev"),
            as_json("answer.form"),
            outside("answer.outside", "ctrl-e"),
            bind("answer.request", "ctrl-r", Request, "Show the request").label("request"),
            bind("answer.start_over", "ctrl-n", StartOver, "Clear the answer")
                .label(START_OVER)
                .help("the question stays open"),
            bind("answer.back", "Esc", Back, "Close the card").help("the draft is kept"),
        ],
    ),
    (
        Context::Journal,
        &[
            bind("journal.open", "Enter d", Open, "Show the whole entry").label("open"),
            curl("journal.curl", "ctrl-y C"),
        ],
    ),
    (Context::Entry, &[curl("entry.curl", "ctrl-y C")]),
    (
        Context::Request,
        &[write("signin.send", "ctrl-s", Send, "Send the authentication").help(ONLY_KEY)],
    ),
    (
        Context::SignIn,
        &[
            bind("signin.link", "o Enter", OpenLink, "Open the link").label("open link"),
            bind("signin.wait", "w", Watch, "Start or stop waiting").label("wait"),
        ],
    ),
    (
        Context::Save,
        &[
            write("save.write", "ctrl-s", Send, "Write the file").help(ONLY_KEY),
            bind("save.mark", "Space", Mark, "Leave out or add the profile")
                .label("leave out, add"),
        ],
    ),
];
