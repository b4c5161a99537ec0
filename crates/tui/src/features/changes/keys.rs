//! The keys of the confirmation dialog, and what they do with a run from a checkpoint.

use super::confirm::Confirm;
use crate::input::action::Action;
use crate::session::card::keys_in_edge;
use crate::session::compare::SideRef;
use crate::session::msg::{Effect, ThreadRef};
use crate::session::proposal::Proposal;
use crate::session::request::StreamCommand;
use crate::session::{Cx, Request, Requests};
use runtail_api::{ForkChange, ThreadIntent};
use runtail_core::text;

impl Confirm {
    /// Returns the thread of an action.
    pub(super) fn thread(&self) -> Option<ThreadRef> {
        let thread = self.one().proposal.thread();
        thread.filter(|thread| !thread.id.is_empty())
    }

    /// Returns the name of a run: its number, if that is known.
    pub(super) fn run_name(&self, cx: &Cx<'_>, run: &str) -> String {
        match self.thread() {
            Some(thread) => cx.session.pages.run_name(&thread, run),
            None => format!("run {}", text::short_id(run)),
        }
    }

    /// Returns whether it starts a run from a checkpoint.
    pub(super) fn is_branch(&self) -> bool {
        self.preview()
            .is_some_and(|preview| preview.branch.is_some())
    }

    /// Returns whether it is about a checkpoint of the thread whose page is below the dialog.
    pub(super) fn is_of_shown_checkpoint(&self, cx: &Cx<'_>) -> bool {
        let is_planned = self.is_ready() && self.is_branch();
        let shown = cx.session.pages.shown.as_ref();
        let shown = shown.and_then(|side| match side {
            SideRef::Thread(thread, _) => Some(thread),
            _ => None,
        });
        is_planned && shown.is_some() && shown == self.thread().as_ref()
    }

    /// Returns whether the state can be edited before the run.
    pub(super) fn may_edit(&self, cx: &Cx<'_>) -> bool {
        let Proposal::Thread(_, ThreadIntent::Fork { change, .. }) = &self.one().proposal else {
            return false;
        };
        !matches!(change, ForkChange::Input(_)) && self.is_of_shown_checkpoint(cx)
    }

    /// Opens the state editor; of an edited state, returns to it.
    pub(super) fn edit_first(&self) -> Requests {
        let out = Requests::from(Request::Close).and(Effect::Forget(self.one().number));
        match &self.one().proposal {
            Proposal::Thread(
                _,
                ThreadIntent::Fork {
                    change: ForkChange::Edit(_),
                    ..
                },
            ) => out,
            _ => self.with_checkpoint(out, StreamCommand::EditCheckpoint),
        }
    }

    /// Shows the checkpoint in the graph, with the nodes that are next.
    pub(super) fn show_on_graph(&self) -> Requests {
        let out = Requests::from(Request::Close).and(Effect::Forget(self.one().number));
        self.with_checkpoint(out, StreamCommand::ShowOnGraph)
    }

    /// Adds a command about the checkpoint.
    fn with_checkpoint(
        &self,
        out: Requests,
        command: impl Fn(String) -> StreamCommand,
    ) -> Requests {
        let branch = self.preview().and_then(|preview| preview.branch.as_ref());
        branch
            .map(|branch| out.and(command(branch.checkpoint_id.clone())))
            .unwrap_or_default()
    }

    /// Returns whether an action does something now.
    pub(super) fn is_possible(&self, cx: &Cx<'_>, action: Action) -> bool {
        // Letters are typed.
        let is_free = self.wants_name().is_none();
        match action {
            Action::Send => self.is_ready(),
            Action::Option => self.with_other_option().is_some(),
            Action::Update => is_free && self.may_edit(cx),
            Action::View5 => is_free && self.is_of_shown_checkpoint(cx),
            Action::Collapse | Action::Curl => is_free && self.preview().is_some(),
            _ => true,
        }
    }

    /// Returns the keys in the frame, each with its label.
    pub(super) fn keys(&self, cx: &Cx<'_>) -> Vec<(&'static str, String)> {
        let (is_run, is_ready) = (self.is_branch(), self.is_ready());
        let label = |id: &'static str, action: Action, label: &str| {
            self.is_possible(cx, action)
                .then(|| (id, label.to_string()))
        };
        let send = match (is_run, self.wants_name().is_some()) {
            (_, true) => "send (after the name)",
            (true, false) => "run",
            (false, false) => "send",
        };
        let fold = if self.is_folded { "unfold" } else { "fold" };
        let option = match (self.node_choice(), is_ready) {
            (Some(_), true) => "next node",
            (Some(_), false) => "choose node",
            (None, _) => "option",
        };
        // While a name is typed, the key that is a letter is input.
        let copy = match cx
            .session
            .keymap
            .keys_of("confirm.curl")
            .iter()
            .find(|key| key.text().is_none())
        {
            Some(key) if self.wants_name().is_some() => Some(("", format!("{key} copy"))),
            _ => label("confirm.curl", Action::Curl, "copy request"),
        };
        let keys = [
            label("confirm.send", Action::Send, send),
            label("confirm.edit", Action::Update, "edit state"),
            label("confirm.graph", Action::View5, "show on graph"),
            label("confirm.option", Action::Option, option),
            copy,
            label("confirm.fold", Action::Collapse, fold),
            Some((
                "confirm.back",
                if self.is_open() { "cancel" } else { "close" }.to_string(),
            )),
        ];
        keys.into_iter().flatten().collect()
    }

    /// Returns the keys in the lower edge of the frame, each with its id and its text.
    pub(super) fn framed(&self, cx: &Cx<'_>) -> Vec<(&'static str, String)> {
        keys_in_edge(cx, &self.keys(cx), "")
    }
}
