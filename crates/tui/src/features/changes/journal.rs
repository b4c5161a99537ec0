//! The journal: all write requests of the session, newest first.

use super::confirm::copy_command;
use super::view;
use crate::input::action::{Action, Context};
use crate::input::commands::Commands;
use crate::session::msg::{Effect, EffectResult};
use crate::session::{Component, Cx, GUTTER, Page, Requests, Route, Session};
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone, wrapped};
use crate::widgets::table::Table;
use runtail_api::{Outcome, SentRequest};
use runtail_core::text;

/// The open journal.
#[derive(Debug, Clone, Default)]
pub struct JournalView {
    /// The entries, newest first; `None` while they are loaded.
    pub entries: Option<Vec<SentRequest>>,
    /// The rows by their numbers from the oldest, which new entries do not change.
    pub(super) table: Table,
}

impl JournalView {
    /// Returns the selected entry.
    fn selected(&self) -> Option<&SentRequest> {
        self.entries.as_ref()?.get(self.table.cursor())
    }
}

/// Summarizes the result of a request, with its tone.
pub fn outcome(sent: &SentRequest) -> (Tone, String) {
    match &sent.outcome {
        Outcome::Status(status) if sent.is_done() => (Tone::Good, format!("● {status}")),
        Outcome::Status(status) => (Tone::Bad, format!("✗ {status}")),
        Outcome::NoAnswer(_) => (Tone::Moving, "? no answer".into()),
    }
}

/// Returns all details of an entry as lines.
fn entry_lines(sent: &SentRequest, width: usize) -> Vec<Line> {
    let (tone, word) = outcome(sent);
    let mut lines = Vec::new();
    if !sent.title.is_empty() {
        lines.push(Line::strong(&sent.title));
    }
    lines.push(Line::of(tone, &word).with_dim(&format!(
        "   {}   took {}",
        sent.at.strftime("%Y-%m-%d %H:%M:%SZ"),
        text::duration(sent.took)
    )));
    if let Outcome::NoAnswer(why) = &sent.outcome {
        let text = format!("{why}. It may have been applied; check before you retry.");
        lines.extend(wrapped(Tone::Plain, &text, width));
    }
    lines.push(Line::new());
    lines.push(Line::dim("As curl (set KEY or TOKEN; ***: secrets)"));
    lines.extend(wrapped(Tone::Plain, &sent.request.curl(), width));
    lines
}

impl Component for JournalView {
    fn context(&self) -> Context {
        Context::Journal
    }

    fn on_open(&mut self, _session: &Session) -> Requests {
        Effect::ReadJournal.into()
    }

    fn tab_name(&self) -> Option<String> {
        Some("Journal".into())
    }

    fn action(&mut self, _cx: &Cx<'_>, action: Action) -> Requests {
        match (action, self.selected()) {
            (Action::Refresh, _) => Effect::ReadJournal.into(),
            (Action::Curl, Some(sent)) => copy_command(&sent.request.curl()),
            (Action::Open | Action::Right, Some(sent)) => {
                Route::Entry(Box::new(sent.clone())).into()
            }
            _ => Requests::none(),
        }
    }

    fn commands(&self, _cx: &Cx<'_>) -> Commands {
        let ids = ["journal.open", "journal.curl", "app.refresh", "app.back"];
        Commands::of(Context::Journal)
            .enable_if(self.selected().is_some(), &ids[..2])
            .own(&["app.refresh"])
            .footer(&ids)
    }

    fn table(&self) -> Option<&Table> {
        Some(&self.table)
    }

    fn on_reply(&mut self, _session: &mut Session, reply: &EffectResult) -> Option<Requests> {
        let EffectResult::Journal(entries) = reply else {
            return None;
        };
        self.entries = Some(entries.iter().rev().cloned().collect());
        Some(Requests::none())
    }

    fn table_mut(&mut self) -> Option<&mut Table> {
        Some(&mut self.table)
    }

    fn relayout(&mut self, cx: &Cx<'_>) {
        let count = self.entries.as_ref().map_or(0, Vec::len);
        let ids = (0..count).rev().map(|n| n.to_string()).collect();
        self.table.lay_out(ids, cx.area.h.into());
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        view::journal(self, cx, canvas);
        None
    }
}

/// An entry of the journal.
#[derive(Debug, Clone)]
pub struct Entry(pub Box<SentRequest>);

impl Page for Entry {
    fn context(&self) -> Context {
        Context::Entry
    }

    fn title(&self, _cx: &Cx<'_>) -> (&'static str, String) {
        (
            "Sent",
            format!("{} {}", self.0.place.method, self.0.place.path),
        )
    }

    fn lines(&self, _cx: &Cx<'_>, width: usize) -> Vec<Line> {
        entry_lines(&self.0, width.saturating_sub(GUTTER.into()))
    }

    fn action(&mut self, _cx: &Cx<'_>, action: Action) -> Requests {
        match action {
            Action::Curl => copy_command(&self.0.request.curl()),
            _ => Requests::none(),
        }
    }
}
