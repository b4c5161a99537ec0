//! The streams of a dashboard under test. Tests read its state only through these methods.

use super::Dash;
use runtail_stream::projection::Role;
use runtail_stream::{Event, Record, Seq};
use runtail_tui::app::{App, Pane};
use runtail_tui::features::stream::formats::{Format, Part};
use runtail_tui::features::stream::viewer::{Playhead, Viewer};
use runtail_tui::features::stream::views::View;
use runtail_tui::session::msg::{ServerRef, StreamTarget};
use runtail_tui::session::saved_tabs::SavedTabs;
use runtail_tui::widgets::line::Line;
use std::path::PathBuf;

/// A stream in a tab.
#[derive(Debug, Clone)]
pub struct Tab {
    /// The streams are numbered in the order in which they are opened.
    pub id: u64,
    pub server: ServerRef,
    pub target: StreamTarget,
    pub thread: Option<String>,
    pub view: View,
    /// The view beside it, if the stream is split.
    pub beside: Option<View>,
    /// The selected event; `None` at the newest one.
    pub position: Option<Seq>,
    pub is_searched: bool,
    /// Whether one run is shown alone. The cursor stays in it when a later run begins.
    pub has_one_run: bool,
}

/// The streams.
impl Dash {
    #[track_caller]
    pub(super) fn viewer(&self) -> &Viewer {
        self.app.viewer().expect("no stream is shown")
    }

    /// Returns whether a stream is shown.
    pub fn has_stream(&self) -> bool {
        self.app.viewer().is_some()
    }

    /// Returns the number of the shown stream.
    pub fn stream(&self) -> Option<u64> {
        self.app.viewer().map(|viewer| viewer.id)
    }

    /// Returns the streams in their order.
    pub fn tabs(&self) -> Vec<Tab> {
        let tab = |viewer: &Viewer| Tab {
            id: viewer.id,
            server: viewer.server.clone(),
            target: viewer.target.clone(),
            thread: viewer.thread_id.clone(),
            view: viewer.view(),
            beside: viewer.split.then(|| viewer.partner()),
            position: viewer.anchor(),
            is_searched: !viewer.finding().pattern.is_empty(),
            has_one_run: viewer.only_run().is_some(),
        };
        self.app.stream.tabs.all().iter().map(tab).collect()
    }

    /// Returns the place of the shown tab.
    pub fn tab(&self) -> Option<usize> {
        self.app.stream.tabs.at()
    }

    /// Returns the shown stream.
    #[track_caller]
    pub fn page(&self) -> Tab {
        let mut tabs = self.tabs().into_iter();
        let shown = tabs.find(|tab| Some(tab.id) == self.stream());
        shown.expect("no stream is shown")
    }

    /// Returns the thread of the shown stream.
    #[track_caller]
    pub fn thread_id(&self) -> Option<&str> {
        self.viewer().thread_id.as_deref()
    }

    /// Returns the view of the shown stream.
    #[track_caller]
    pub fn view(&self) -> View {
        self.viewer().view()
    }

    /// Returns the views on the screen, from left to right.
    #[track_caller]
    pub fn views(&self) -> Vec<View> {
        let shown = self.viewer().shown();
        shown.into_iter().map(|(view, _)| view).collect()
    }

    /// Returns the event that was selected last; `None` before that and at the end.
    #[track_caller]
    pub fn position(&self) -> Option<Seq> {
        self.viewer().anchor()
    }

    /// Returns the event in the row under the cursor.
    #[track_caller]
    pub fn event_under_cursor(&self) -> Option<Seq> {
        self.viewer().event_under_cursor().map(|event| event.seq)
    }

    /// Returns whether the cursor follows the newest event.
    #[track_caller]
    pub fn follows(&self) -> bool {
        self.viewer().follows()
    }

    /// Returns the position in time travel; `None` in the present.
    #[track_caller]
    pub fn playhead(&self) -> Option<Playhead> {
        self.viewer().playhead()
    }

    /// Returns the oldest and the newest position of time travel.
    #[track_caller]
    pub fn span(&self) -> (Seq, Seq) {
        self.viewer().span()
    }

    /// Returns the events that are kept, up to the position in time travel.
    #[track_caller]
    pub fn events(&self) -> Vec<Event> {
        let event_log = &self.viewer().event_log;
        let first = event_log.first_seq().unwrap_or_default();
        (first.0..=event_log.last_seq().0)
            .filter_map(|seq| event_log.get(Seq(seq)))
            .collect()
    }

    /// Returns the records of connections, with the number of the event before each.
    #[track_caller]
    pub fn connections(&self) -> Vec<(Seq, Record)> {
        let marks = self.viewer().event_log.marks().iter();
        marks
            .map(|mark| (mark.after, mark.record.clone()))
            .collect()
    }

    /// Returns the number of the newest event received.
    #[track_caller]
    pub fn newest_event(&self) -> Seq {
        self.viewer().live_log().newest_seq()
    }

    /// Returns how many events the shown position has received.
    #[track_caller]
    pub fn received(&self) -> u64 {
        self.viewer().projections.delivery.received
    }

    /// Returns the id of the newest run.
    #[track_caller]
    pub fn newest_run(&self) -> String {
        let runs = self.viewer().projections.status.runs();
        let newest = runs.last().and_then(|run| run.run_id.clone());
        newest.expect("a run").to_string()
    }

    /// Returns how many questions wait for an answer.
    #[track_caller]
    pub fn questions(&self) -> usize {
        self.viewer().questions().len()
    }

    /// Returns who wrote the messages.
    #[track_caller]
    pub fn roles(&self) -> Vec<Role> {
        let messages = self.viewer().projections.messages.items().iter();
        messages.map(|message| message.role.clone()).collect()
    }

    /// Returns how many entries a view has.
    #[track_caller]
    pub fn count(&self, view: View) -> u64 {
        self.viewer().count(view)
    }

    /// Returns the lines of a view in its part of the screen, and whether each is selected.
    #[track_caller]
    pub fn lines(&self, view: View) -> Vec<(String, bool)> {
        let text = |line: &Line| -> String {
            let pieces = line.left.iter().chain(&line.right);
            pieces.map(|piece| piece.text.as_str()).collect()
        };
        let window = self.viewer().window(view);
        window.iter().map(|(line, at)| (text(line), *at)).collect()
    }

    /// Returns how many lines of a view have a mark.
    #[track_caller]
    pub fn marks(&self, view: View) -> usize {
        let marked = self.viewer().marked(view);
        marked.iter().filter(|marked| **marked).count()
    }

    /// Returns the filter of the events.
    #[track_caller]
    pub fn event_filter(&self) -> &str {
        self.viewer().finding().filter.text()
    }

    /// Returns how many entries of the shown view the filter hides.
    #[track_caller]
    pub fn hidden(&self) -> Option<u64> {
        self.viewer().hidden().map(|(hidden, ..)| hidden)
    }

    /// Returns whether a search or filter is still reading entries.
    #[track_caller]
    pub fn is_searching(&self) -> bool {
        self.viewer().finding().is_scanning()
    }

    /// Returns the event of the state that the State view shows.
    #[track_caller]
    pub fn shown_state(&self) -> Option<Seq> {
        let viewer = self.viewer();
        Some(viewer.shown_snapshot()?.seq)
    }

    /// Returns the records of a view as `:export jsonl` writes them, in parts.
    #[track_caller]
    pub fn exported(&self, view: View) -> Vec<Record> {
        use runtail_tui::session::msg::Chunk;
        let viewer = self.viewer();
        let (mut next, end) = viewer.export_range(view, Format::Jsonl);
        let (mut after, mut part) = (Seq(0), Part::default());
        let mut all = Vec::new();
        loop {
            let before = next;
            (next, after) = viewer.export_part(view, Format::Jsonl, (next, end), after, &mut part);
            let chunks = std::mem::take(&mut part).chunks.into_iter();
            all.extend(chunks.filter_map(|chunk| match chunk {
                Chunk::Record(record) => Some(*record),
                _ => None,
            }));
            if next >= end {
                return all;
            }
            assert!(next > before, "each part advances");
        }
    }

    /// Returns the checkpoint under the cursor of the Steps view.
    #[track_caller]
    pub fn checkpoint(&self) -> Option<&str> {
        self.viewer().views.steps.id_under_cursor()
    }

    /// Returns the checkpoint whose state the page shows instead of the newest one.
    pub fn shown_checkpoint(&self) -> Option<&str> {
        Some(&*self.app.viewer()?.shown_checkpoint()?.of.id)
    }

    /// Returns whether the records of the thread are read again.
    #[track_caller]
    pub fn is_read_again(&self) -> bool {
        self.viewer().refreshes > 0
    }

    /// Returns the stream modes that are chosen for the shown stream.
    #[track_caller]
    pub fn modes(&self) -> Vec<String> {
        self.viewer().modes.wanted.clone()
    }

    /// Returns about how many bytes the shown stream uses, and of these its history.
    #[track_caller]
    pub fn bytes(&self) -> (usize, usize) {
        let viewer = self.viewer();
        (viewer.bytes(), viewer.views.steps.bytes())
    }

    /// Returns the recordings that are not complete yet.
    pub fn unfinished_files(&self) -> Vec<PathBuf> {
        self.app.unfinished_files()
    }

    /// Returns the tabs to save when the dashboard ends, unless they are saved already.
    pub fn tabs_at_end(&mut self) -> Option<SavedTabs> {
        self.app.tabs_at_end().map(|(_, _, tabs)| tabs)
    }

    /// Checks what holds for the streams at any time.
    #[track_caller]
    pub fn check_streams(&self) {
        use runtail_tui::features::stream::tabs::MAX_TABS;
        let streams = &self.app.stream.tabs;
        assert!(streams.all().len() <= MAX_TABS);
        assert!(streams.at().is_none_or(|at| at < streams.all().len()));
        assert_eq!(streams.shown().map(|viewer| viewer.id), self.stream());
        for viewer in streams.all() {
            let shown = viewer.shown();
            // A split view that is zoomed shows one half.
            let halves = 1..=1 + usize::from(viewer.is_split());
            assert!(halves.contains(&shown.len()), "{shown:?}");
            let of_view = shown.iter().filter(|(view, _)| *view == viewer.view());
            assert!(
                of_view.eq(shown.iter().filter(|(_, focused)| *focused)),
                "{shown:?}"
            );
            let focused = shown.iter().filter(|(_, focused)| *focused).count();
            assert_eq!(focused, 1, "{shown:?}");
            let anchor = viewer.anchor();
            let last = viewer.event_log.last_seq();
            assert!(anchor.is_none_or(|at| at <= last), "{anchor:?}");
        }
        // The cursor of Events is on its anchor, or on the oldest event if the anchor was evicted.
        // Only a pane that is shown is laid out.
        let (w, h) = self.size();
        let App { focus, frozen, .. } = &self.app;
        let is_seen =
            self.dialog().is_none() && !frozen && *focus == Pane::Stream && w >= 60 && h >= 12;
        if let Some(viewer) = self.app.viewer().filter(|_| is_seen)
            && viewer.finding().filter.is_empty()
            && let (View::Events, Some(at), Some(first)) =
                (viewer.view(), viewer.anchor(), viewer.event_log.first_seq())
        {
            assert_eq!(self.event_under_cursor(), Some(at.max(first)));
        }
    }
}
