//! Keys of forms, previews and the journal.

use super::super::action::{Action as A, Context::*};
use super::{Binding, bind, write};

pub(super) const ROWS: &[Binding] = &[
    write("composer.start", Composer, &["ctrl-s"], A::Start, "start", "Start the run").named("Start the run"),
    bind("composer.next", Composer, &["Tab"], A::NextField, "next field", "Next or previous field")
        .named("Go to the next field"),
    bind("composer.prev", Composer, &["BackTab"], A::PrevField, "previous field", "").named("Go to the previous field"),
    bind("composer.form", Composer, &["ctrl-t"], A::Form, "as JSON", "Switch the input between form and JSON")
        .named("Switch form and JSON"),
    bind("composer.options", Composer, &["ctrl-o"], A::Option, "options", "Show or fold the options of the run")
        .named("Toggle the options"),
    bind(
        "composer.outside",
        Composer,
        &["ctrl-e"],
        A::EditOutside,
        "$EDITOR",
        "Edit the field or the JSON with $VISUAL or $EDITOR",
    )
    .named("Edit in $EDITOR"),
    bind(
        "composer.last_input",
        Composer,
        &["ctrl-p"],
        A::LastInput,
        "earlier input",
        "Use an earlier input of the assistant, newest first",
    )
    .named("Use an earlier input"),
    bind("composer.start_over", Composer, &["ctrl-n"], A::StartOver, "start over", "Clear the input and the options")
        .named("Clear the form"),
    bind("composer.back", Composer, &["Esc"], A::Back, "back", "Go back; input is kept").named("Go back"),
    write(
        "editor.preview",
        Editor,
        &["ctrl-s", "ctrl-r", "F5"],
        A::Preview,
        "preview",
        "Preview the change; sends nothing",
    )
    .named("Preview the change"),
    bind("editor.form", Editor, &["ctrl-t"], A::Form, "form or TOML", "Switch between form and TOML")
        .named("Switch between form and TOML"),
    bind("editor.next", Editor, &["Tab"], A::NextField, "next field", "Next or previous field of a form")
        .named("Go to the next field"),
    bind("editor.prev", Editor, &["BackTab"], A::PrevField, "previous field", "").named("Go to the previous field"),
    bind(
        "editor.outside",
        Editor,
        &["ctrl-e", "ctrl-o", "F4"],
        A::EditOutside,
        "$EDITOR",
        "Edit with $VISUAL or $EDITOR",
    )
    .named("Edit in $EDITOR"),
    bind("editor.start_over", Editor, &["ctrl-n"], A::StartOver, "start over", "Discard the edits and start over")
        .named("Discard the edits"),
    bind("editor.back", Editor, &["Esc"], A::Back, "back", "Go back; input is kept").named("Go back"),
    write("confirm.send", Confirm, &["ctrl-s"], A::Send, "send", "Send (no other key does)").named("Send the change"),
    bind(
        "confirm.option",
        Confirm,
        &["ctrl-t"],
        A::Option,
        "option",
        "The option: tracing project, queued runs, the node",
    )
    .named("Change the option"),
    write("confirm.edit", Confirm, &["u"], A::Update, "edit state", "Edit the state before the run")
        .named("Edit the state before the run"),
    bind("confirm.graph", Confirm, &["g"], A::View9, "show on the graph", "Show it on the graph")
        .named("Show it on the graph"),
    bind("confirm.fold", Confirm, &["c"], A::Collapse, "fold", "Show each request on one line, or all of it")
        .named("Fold the requests"),
    bind(
        "confirm.curl",
        Confirm,
        &["y", "ctrl-y"],
        A::Curl,
        "copy as curl",
        "Copy as a curl command, with $KEY for the key",
    )
    .named("Copy as curl"),
    bind("confirm.back", Confirm, &["Esc"], A::Back, "cancel", "Cancel; nothing is sent")
        .named("Cancel without sending"),
    write("answer.send", Answer, &["ctrl-s"], A::Send, "send", "Send the answer (no other key does)")
        .named("Send the answer"),
    bind("answer.next", Answer, &["Tab"], A::NextField, "next field", "Next or previous field")
        .named("Go to the next field"),
    bind("answer.prev", Answer, &["BackTab"], A::PrevField, "previous field", "").named("Go to the previous field"),
    bind("answer.form", Answer, &["ctrl-t"], A::Form, "as JSON", "Switch form and JSON, or text, yes or no, and JSON")
        .named("Switch form and JSON"),
    bind("answer.outside", Answer, &["ctrl-e"], A::EditOutside, "$EDITOR", "Edit the field with $VISUAL or $EDITOR")
        .named("Edit in $EDITOR"),
    bind("answer.request", Answer, &["ctrl-r"], A::Request, "request", "Show or hide the request that will be sent")
        .named("Show the request"),
    bind(
        "answer.start_over",
        Answer,
        &["ctrl-n"],
        A::StartOver,
        "start over",
        "Clear the answer to this question; it stays open",
    )
    .named("Clear the answer"),
    bind("answer.back", Answer, &["Esc"], A::Back, "close", "Close the card; the draft is kept")
        .named("Close the card"),
    bind("journal.open", Journal, &["Enter", "d"], A::Open, "open", "Show the whole entry")
        .named("Show the whole entry"),
    bind(
        "journal.curl",
        Journal,
        &["ctrl-y", "C"],
        A::Curl,
        "copy as curl",
        "Copy as a curl command, with $KEY for the key",
    )
    .named("Copy as curl"),
    bind(
        "entry.curl",
        Entry,
        &["ctrl-y", "C"],
        A::Curl,
        "copy as curl",
        "Copy as a curl command, with $KEY for the key",
    )
    .named("Copy as curl"),
    write("signin.send", Request, &["ctrl-s"], A::Send, "send", "Send (no other key does)")
        .named("Send the authentication"),
    bind("signin.link", SignIn, &["o", "Enter"], A::OpenLink, "open link", "Open the link in the browser")
        .named("Open the link"),
    bind("signin.wait", SignIn, &["w"], A::Watch, "wait", "Wait for authorization, or stop waiting")
        .named("Wait for authorization"),
    write("save.write", Save, &["ctrl-s"], A::Send, "write", "Write the file (no other key does)")
        .named("Write the file"),
    bind(
        "save.mark",
        Save,
        &["Space"],
        A::Mark,
        "leave out, add",
        "Leave out the profile of an import, or add it again",
    )
    .named("Leave out or add the profile"),
];
