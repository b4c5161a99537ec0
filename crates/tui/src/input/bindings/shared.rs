//! Rows that several screens have.

use super::super::action::Action::*;
use super::{Binding, bind, write};

pub(super) const ALL_MARKED: &str = "all marked threads, if any";
pub(super) const KEPT: &str = "input is kept";
pub(super) const NOTIFY: &str = "notify me";
pub(super) const ONLY_KEY: &str = "no other key does";
pub(super) const PAUSES: &str = "moving up pauses";
pub(super) const PREVIEW: &str = "preview first";
pub(super) const START_OVER: &str = "start over";
pub(super) const TO_SEVERAL: &str = "to act on several at once";
pub(super) const TYPE_NAME: &str = "type its name to confirm";

/// Declares functions that create a row with an id.
macro_rules! rows {
    ($($name:ident($id:ident $(, $more:ident)*) $row:expr;)*) => {
        $(pub(super) const fn $name($id: &'static str $(, $more: &'static str)*) -> Binding { $row })*
    };
}

rows! {
    again(id) write(id, "R", Again, "Run it again").help("retries a failure, else repeats the last input");
    answer(id) write(id, "a", Answer, "Answer or continue");
    approve(id) write(id, "A", Approve, "Approve everything").help(PREVIEW);
    as_json(id) bind(id, "ctrl-t", Form, "Switch form and JSON").label("as JSON");
    back(id) bind(id, "Esc", Back, "Go back").label("back").help(KEPT);
    browser(id) bind(id, "o", OpenLink, "Open in the browser").label("browser");
    build_log(id) bind(id, "b", BuildLog, "Follow the build log").label("build log");
    cancel(id) write(id, "x", CancelRun, "Cancel the run").help("finished steps are kept");
    copy_path(id) bind(id, "Y", CopyPath, "Copy the path");
    curl(id, keys) bind(id, keys, Curl, "Copy as curl").label("curl").help("with $KEY for the key");
    details(id) bind(id, "d", Describe, "Show the full record").label("details");
    explain(id) bind(id, "e", Explain, "Explain the thread");
    fold_all(id, back) bind(id, "-", FoldAll, "Fold all").label("fold all").back(back, "+", UnfoldAll);
    graph(id) bind(id, "5", View5, "Show the assistant's graph").label("graph");
    interrupt(id) write(id, "x", Interrupt, "Interrupt the revision").help(PREVIEW);
    mark_all(id) bind(id, "ctrl-a", MarkAll, "Mark all or none");
    new_run(id) write(id, "n", NewRun, "Start a new run").label("new run");
    next_field(id, back) bind(id, "Tab", NextField, "Go to the next field").label("next field").back(back, "BackTab", PrevField);
    next_hit(id, back) bind(id, "]", NextMatch, "Go to the next hit").label("next").back(back, "[", PrevMatch);
    outside(id, keys) bind(id, keys, EditOutside, "Edit in $EDITOR").label("$EDITOR");
    redeploy(id) write(id, "R", Redeploy, "Redeploy the revision").help(PREVIEW);
    retry(id) write(id, "R", Again, "Retry the thread").help(ALL_MARKED);
    rollback_run(id) write(id, "X", RollbackRun, "Cancel and roll back").help("deletes the run's checkpoints");
    save_profiles(id) bind(id, "s", Save, "Save the profiles").help("shows the diff first");
    server_log(id) bind(id, "l", ServerLog, "Follow the server log").label("logs");
    state(id) bind(id, "d", Describe, "Show the state and record").label("details");
    watch(id) bind(id, "w", Watch, "Notify me when it finishes").label(NOTIFY);
}
