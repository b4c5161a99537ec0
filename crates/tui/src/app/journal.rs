//! The journal on the screen: every request of the session that was meant to change something, newest first.

use super::keys::{Action, Context};
use super::line::{Line, Tone, wrap};
use super::list::Picker;
use super::msg::Effect;
use super::{App, Overlay, Page, scroll};
use runtail_api::{Outcome, Sent};
use runtail_core::text;

/// The journal that is open.
#[derive(Debug, Clone, Default)]
pub struct JournalView {
    /// Its entries, newest first; none before they were asked for.
    pub entries: Option<Vec<Sent>>,
    /// Selection among them, by their numbers.
    pub picker: Picker,
}

impl JournalView {
    /// Identities of the rows: numbers from the oldest, which stay when new ones come.
    pub fn ids(&self) -> Vec<String> {
        let count = self.entries.as_ref().map_or(0, Vec::len);
        (0..count).rev().map(|n| n.to_string()).collect()
    }

    /// The entry that is selected.
    pub fn selected(&self) -> Option<&Sent> {
        let at = self.picker.at(&self.ids())?;
        self.entries.as_ref()?.get(at)
    }
}

/// What came of a request, in few words, and whether that is good.
pub fn outcome(sent: &Sent) -> (Tone, String) {
    match &sent.outcome {
        Outcome::Status(status) if sent.is_done() => (Tone::Good, format!("● {status}")),
        Outcome::Status(status) => (Tone::Bad, format!("✗ {status}")),
        Outcome::NoAnswer(_) => (Tone::Moving, "? no answer".into()),
    }
}

/// All of an entry, as lines to read.
pub fn entry_lines(sent: &Sent, width: usize) -> Vec<Line> {
    let (tone, word) = outcome(sent);
    let mut lines = Vec::new();
    if !sent.title.is_empty() {
        lines.push(Line::of(Tone::Strong, &sent.title));
    }
    lines.push(Line::of(tone, &word).with(Tone::Dim, &format!("   {}   took {}", sent.at, text::duration(sent.took))));
    if let Outcome::NoAnswer(why) = &sent.outcome {
        let text = format!("{why}. Whether it was carried out is not known: look before you send it again.");
        lines.extend(wrap(&text, width).iter().map(|part| Line::of(Tone::Plain, part)));
    }
    lines.push(Line::new());
    lines.push(Line::of(Tone::Dim, "As a command ($KEY and $TOKEN stand for the secrets, *** for those in the body)"));
    lines.extend(wrap(&sent.request.curl(), width).iter().map(|part| Line::of(Tone::Plain, part)));
    lines
}

impl App {
    /// Opens the journal.
    pub fn open_journal(&mut self) -> Vec<Effect> {
        self.overlays.push(Overlay::Journal(JournalView::default()));
        vec![Effect::ReadJournal]
    }

    /// Takes what the journal says now.
    pub(super) fn take_journal(&mut self, mut entries: Vec<Sent>) {
        entries.reverse();
        for overlay in &mut self.overlays {
            if let Overlay::Journal(journal) = overlay {
                journal.entries = Some(std::mem::take(&mut entries));
                return;
            }
        }
    }

    /// A key of the journal, or of an entry of it.
    pub(super) fn act_journal(&mut self, context: Context, action: Action) -> Vec<Effect> {
        let sent = match self.overlays.last() {
            Some(Overlay::Journal(journal)) => journal.selected(),
            Some(Overlay::Page(Page::Entry(sent), _)) => Some(&**sent),
            _ => None,
        };
        match (action, sent.map(|sent| sent.request.curl())) {
            (Action::Curl | Action::Copy, Some(curl)) => return self.copy_curl(curl),
            (Action::Open | Action::Right, Some(_)) if context == Context::Journal => self.open_entry(),
            _ => {}
        }
        Vec::new()
    }

    /// Shows all of the selected entry.
    fn open_entry(&mut self) {
        let Some(Overlay::Journal(journal)) = self.overlays.last() else { return };
        if let Some(sent) = journal.selected().cloned() {
            self.overlays.push(Overlay::Page(Page::Entry(Box::new(sent)), scroll::Place::at_start()));
        }
    }
}
