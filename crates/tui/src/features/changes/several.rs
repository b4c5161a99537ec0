//! The preview of an action on several threads, and its results: a line for each thread.

use super::confirm::{ChangeTarget, Confirm, Stage};
use super::writers::{LAST_WRITER, next_node};
use crate::session::msg::{BulkTarget, Proposal, ServerRef};
use crate::session::subject::Subject;
use crate::session::{Cx, Request, Requests, Route, Session};
use crate::widgets::form_lines::padded;
use crate::widgets::line::{Line, Tone, marked, wrapped};
use runtail_api::{BulkAction, BulkOutcome, Choice, StateEdit, ThreadIntent, Writer};
use runtail_core::model::GivenAnswer;
use runtail_core::text::{self, short_id};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum number of different warnings that a preview lists.
const MAX_WARNINGS: usize = 6;
/// Maximum number of lines of the edit that a preview shows.
const MAX_VALUES: usize = 40;

/// Columns of a thread's title.
const MAX_TITLE: usize = 40;

impl Confirm {
    fn outcomes(&self, is: impl Fn(BulkOutcome) -> bool) -> usize {
        self.count(|stage| matches!(stage, Stage::Done(outcome, _) if is(*outcome)))
    }

    /// Returns whether an edit of several threads was sent to one of them and not refused.
    pub fn has_edited(&self) -> bool {
        let is_sent = |outcome| !matches!(outcome, BulkOutcome::Refused | BulkOutcome::NotSent);
        self.several
            .as_ref()
            .is_some_and(|action| action.edit().is_some())
            && self.outcomes(is_sent) > 0
    }

    /// Returns a sentence about the result of an action on several threads, and whether something went wrong.
    pub fn summary(&self) -> Option<(bool, String)> {
        let action = self.several.as_ref()?;
        // Whether an answered run goes well is not known yet.
        let (what, how) = match action {
            BulkAction::Answer(_) => ("answer", "sent"),
            _ => ("thread", "done"),
        };
        let done = text::counted(self.outcomes(BulkOutcome::is_done), what);
        let mut sentence = format!("{}: {done} {how}", text::capitalized(action.word()));
        let mut is_error = false;
        for (outcome, what) in [
            (BulkOutcome::Edited, "edited but not started"),
            (BulkOutcome::Refused, "refused"),
            (BulkOutcome::Unknown, "unknown"),
            (BulkOutcome::NotSent, "not sent"),
        ] {
            let count = self.outcomes(|one| one == outcome);
            if count > 0 {
                sentence.push_str(&format!(", {count} {what}"));
                is_error |= outcome != BulkOutcome::NotSent;
            }
        }
        Some((is_error, format!("{sentence}.")))
    }

    /// Returns the nodes in whose name the states can be edited, as far as the plans say.
    fn nodes(&self) -> &[Writer] {
        match &self.choice {
            Some(Choice::AsNode { nodes, .. }) => nodes,
            _ => &[],
        }
    }

    /// Plans the other kind of deletion, or the edit in the name of the next node. A retry gets an edit first.
    pub(super) fn toggle_several(&mut self, session: &Session, action: &BulkAction) -> Requests {
        let action = match action {
            _ if !self.is_open() || !self.is_planned() => return Requests::none(),
            BulkAction::Delete => BulkAction::Prune,
            BulkAction::Prune => BulkAction::Delete,
            BulkAction::Retry(None) => return self.begin_edit(),
            BulkAction::Answer(GivenAnswer::Approve) => {
                BulkAction::Answer(GivenAnswer::Reject(None))
            }
            BulkAction::Answer(_) => BulkAction::Answer(GivenAnswer::Approve),
            BulkAction::Retry(Some(edit)) if !self.nodes().is_empty() => {
                let next = next_node(edit.as_node.as_deref(), self.nodes()).map(str::to_string);
                BulkAction::Retry(Some(Arc::new(StateEdit {
                    as_node: next,
                    ..(**edit).clone()
                })))
            }
            BulkAction::Cancel | BulkAction::Retry(Some(_)) => return Requests::none(),
        };
        let threads = self.threads(|_| true);
        match Confirm::of_threads(session, action, threads) {
            Some(other) => self.replace(session, other),
            None => Requests::none(),
        }
    }

    /// Returns its threads.
    fn threads(&self, is: impl Fn(&Stage) -> bool) -> Vec<BulkTarget> {
        let chosen = self.targets.iter().filter(|target| is(&target.stage));
        chosen.filter_map(|target| target.of.clone()).collect()
    }

    /// Opens the editor of the keys that are written to every thread that failed.
    fn begin_edit(&self) -> Requests {
        let threads = self.threads(|stage| matches!(stage, Stage::Ready(_)));
        if threads.is_empty() {
            return Requests::info("Nothing to retry.");
        }
        let subject = Subject::Retry {
            profile: self.profile.clone(),
            name: text::counted(threads.len(), "thread").into(),
            threads: threads.into(),
        };
        let mut out = Requests::from(Request::Close);
        self.forget().for_each(|effect| out.push(effect));
        out.and(Route::Edit(subject, "{\n}\n".into()))
    }

    /// Returns the subject of the title.
    pub(super) fn threads_subject(&self, cx: &Cx<'_>) -> String {
        let threads = text::counted(self.targets.len(), "thread");
        let mut servers: Vec<&ServerRef> = self
            .targets
            .iter()
            .filter_map(|target| target.proposal.server())
            .collect();
        servers.sort();
        servers.dedup();
        match servers.as_slice() {
            [server] => format!("{threads} · {}", cx.session.place(server)),
            several => format!("{threads} · {} servers", several.len()),
        }
    }

    /// Returns the lines of the preview or of the result.
    pub(super) fn several_lines(
        &self,
        session: &Session,
        action: &BulkAction,
        width: usize,
    ) -> Vec<Line> {
        let option = session.key("confirm.option");
        let mut lines = vec![self.headline(action)];
        let other = match action {
            BulkAction::Delete => "prunes instead: leaves out active threads",
            BulkAction::Prune => "deletes instead: cancels active runs first",
            BulkAction::Retry(None) => "edits all states first",
            BulkAction::Answer(GivenAnswer::Approve) => "rejects instead",
            BulkAction::Answer(_) => "approves instead",
            BulkAction::Cancel | BulkAction::Retry(Some(_)) => "",
        };
        if self.is_open() && self.ready() > 0 {
            lines.extend(warning(&action.effect(), width));
            if let BulkAction::Retry(_) | BulkAction::Answer(_) = action {
                lines.extend(self.warning_lines(width));
            }
            if !other.is_empty() {
                lines.push(Line::dim(&format!("{option} {other}")));
            }
        }
        if let Some(edit) = action
            .edit()
            .filter(|_| self.is_open() && self.is_planned())
        {
            lines.extend(self.edit_lines(edit, &option, width));
        }
        lines.push(Line::new());
        // Rows without a title leave their room to what follows.
        let titles = self.targets.iter().filter_map(|target| target.of.as_ref());
        let widest = titles.map(|of| text::width(&text::clean(&of.title))).max();
        let title = widest.unwrap_or(0).min(MAX_TITLE);
        lines.extend(self.targets.iter().map(|target| line_of(target, title)));
        if self.outcomes(|outcome| outcome == BulkOutcome::Edited) > 0 {
            let (answer, retry) = (session.key("server.answer"), session.key("server.retry"));
            let how = format!(
                "Edited threads stay marked. To start one, select it in the list and press {answer}, or {retry} if it's still \
                 failed."
            );
            lines.push(Line::new());
            lines.extend(wrapped(Tone::Plain, &how, width));
        }
        lines
    }

    /// Returns the warnings of the plans, each with the number of threads that have it.
    fn warning_lines(&self, width: usize) -> Vec<Line> {
        let previews = self.targets.iter().filter_map(ChangeTarget::preview);
        let mut warnings = BTreeMap::<&str, usize>::new();
        for note in previews.flat_map(|preview| &preview.notes) {
            if note.warns {
                *warnings.entry(&note.text).or_default() += 1;
            }
        }
        let said = |(text, count): (&&str, &usize)| {
            warning(
                &format!("{}: {text}", text::counted(*count, "thread")),
                width,
            )
        };
        let mut lines: Vec<Line> = warnings.iter().take(MAX_WARNINGS).flat_map(said).collect();
        if warnings.len() > MAX_WARNINGS {
            let more = format!("! {} more warnings", warnings.len() - MAX_WARNINGS);
            lines.push(Line::moving(&more));
        }
        lines
    }

    /// Returns the edit, and the node in whose name it is made.
    fn edit_lines(&self, edit: &StateEdit, option: &str, width: usize) -> Vec<Line> {
        let heading = Line::dim("Written to each thread");
        let mut lines = vec![Line::new(), heading];
        let values = serde_json::to_string_pretty(&edit.values).unwrap_or_default();
        let all = values.lines().count();
        for line in values.lines().take(MAX_VALUES) {
            let line = text::seen(line, width.saturating_sub(2));
            lines.push(Line::plain(&format!("  {line}")));
        }
        if all > MAX_VALUES {
            lines.push(Line::dim(&format!("  {} more lines", all - MAX_VALUES)));
        }
        let node = edit
            .as_node
            .as_deref()
            .map_or(LAST_WRITER.into(), |node| text::seen(node, 60));
        let line = Line::dim("Write as ").with_strong(&node);
        lines.push(match self.nodes().is_empty() {
            true => line,
            false => line.with_dim(&format!("  ({option} next node)")),
        });
        lines
    }

    fn headline(&self, action: &BulkAction) -> Line {
        let (all, ready) = (self.targets.len(), self.ready());
        if !self.is_planned() {
            let planned =
                all - self.count(|stage| matches!(stage, Stage::Waiting | Stage::Planning));
            return Line::moving("◐ ").with_plain(&format!("Reading {planned} of {all} threads…"));
        }
        if self.is_active() {
            let done = self.outcomes(|_| true);
            let to_send = done + ready + self.count(|stage| matches!(stage, Stage::Sending(_)));
            return Line::moving("◐ ").with_plain(&format!("{done} of {to_send} done"));
        }
        if let Some((_, summary)) = self.summary().filter(|_| !self.is_open()) {
            return Line::strong(&summary);
        }
        let rest = match all - ready {
            0 => String::new(),
            left_out => format!(", {left_out} left out"),
        };
        Line::strong(&format!(
            "{} to {}{rest}",
            text::counted(ready, "thread"),
            action.word()
        ))
    }
}

fn warning(said: &str, width: usize) -> Vec<Line> {
    marked((Tone::Moving, "! "), Tone::Plain, said, width)
}

/// Returns the line of a thread. `title`: the columns of its title.
fn line_of(target: &ChangeTarget, title: usize) -> Line {
    let (mark, tone, word, detail) = match &target.stage {
        Stage::Waiting | Stage::Planning => ("◌", Tone::Dim, "reading", String::new()),
        Stage::Ready(preview) => {
            let then = match preview.then.is_empty() {
                true => "",
                false => ", then the run",
            };
            let request = &preview.request;
            // Of an answer, the first note is the question that was read.
            let said = match (&target.proposal, preview.notes.first()) {
                (Proposal::Thread(_, ThreadIntent::Answer { .. }), Some(asked)) => {
                    asked.text.trim_start_matches("Question: ").to_string()
                }
                _ => format!("{} {}{then}", request.method, request.url),
            };
            ("·", Tone::Dim, "", said)
        }
        Stage::Refused(why) => ("■", Tone::Dim, "left out", why.to_string()),
        Stage::Sending(_) | Stage::Failed(..) => ("◐", Tone::Moving, "sending", String::new()),
        Stage::Done(outcome, why) => {
            let (mark, tone) = match outcome {
                outcome if outcome.is_done() => ("●", Tone::Good),
                BulkOutcome::Edited => ("◐", Tone::Moving),
                BulkOutcome::NotSent => ("■", Tone::Dim),
                _ => ("✗", Tone::Bad),
            };
            let word = match outcome {
                BulkOutcome::Nothing => "nothing to do",
                BulkOutcome::NotSent => "not sent",
                BulkOutcome::Edited => "edited, not started",
                outcome => outcome.word(),
            };
            (mark, tone, word, why.clone().unwrap_or_default())
        }
    };
    let mut line = Line::of(tone, &format!("{mark} "));
    line.push_plain(&format!("{:<14} ", short_id(target.thread())));
    if !word.is_empty() {
        line.push_strong(&format!("{word}  "));
    }
    if let Some(of) = target.of.as_ref().filter(|_| title > 0) {
        let cell = text::fit(&text::clean(&of.title), title).into_owned();
        line.push_plain(&format!("{}  ", padded(&cell, title)));
    }
    line.push_dim(&text::clean(detail.lines().next().unwrap_or_default()));
    line
}
