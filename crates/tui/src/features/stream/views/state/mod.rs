//! The State view: one state of the event log as a tree, or its changes. Its position among the events is that of the shown state.

pub mod shown;

use super::stream_view::{EVENTS, EntryKind, StreamView, ViewFacts, ViewRows};
use super::{View, clock, extent, namespace, row_at};
use crate::features::stream::commands::for_thread;
use crate::features::stream::formats::{Format, Part};
use crate::features::stream::viewer::Viewer;
use crate::input::action::Action;
use crate::input::commands::Commands;
use crate::session::msg::Chunk;
use crate::session::{Requests, Session};
use crate::widgets::diff_lines::tail;
use crate::widgets::diff_view::Base;
use crate::widgets::json_tree::Tree;
use crate::widgets::line::{Line, Tone};
use crate::widgets::scroll::{LinePos, Move};
use jiff::tz::TimeZone;
use runtail_core::text;
use runtail_core::text::clean;
use runtail_core::text::markdown::inline;
use runtail_stream::Seq;
use runtail_stream::projection::Snapshot;
use runtail_stream::projection::index::Excerpt;

impl Viewer {
    /// Returns the snapshot with this number, if it is still in memory.
    pub fn snapshot_at(&self, number: u64) -> Option<&Snapshot> {
        row_at(self.projections.values.rows(), number)
    }

    /// Returns the snapshot that the State view shows.
    pub fn shown_snapshot(&self) -> Option<&Snapshot> {
        self.snapshot_at(self.views.state.number?)
    }

    /// Returns whether the State view shows changes instead of the state.
    pub fn shows_changes(&self) -> bool {
        self.views.state.comparison.shown
    }

    /// Shows the state at the cursor. While following new events, this is the newest state of the root namespace (or of any, if the
    /// root has none); otherwise it is the state after the event under the cursor.
    fn sync_state(&mut self) {
        let rows = self.projections.values.rows();
        let root = |s: &Snapshot| s.ns.is_empty();
        let newest = || rows.iter().rposition(root).or(rows.len().checked_sub(1));
        let at = match self.anchor() {
            None => newest(),
            Some(seq) => {
                let from = rows.partition_point(|s| s.seq < seq);
                let own = rows.get(from).filter(|s| s.seq == seq).map(|_| from);
                let after = rows[from..].iter().position(root).map(|n| from + n);
                own.or(after)
                    .or_else(|| rows[..from].iter().rposition(root))
                    .or_else(newest)
            }
        };
        let number = at.map(|n| rows.evicted() + n as u64);
        let is_another = at.and_then(|n| rows.get(n)).map(|row| row.seq) != self.views.state.seq;
        let is_missing = number.is_some() && self.views.state.tree.is_none();
        if number != self.views.state.number || is_another || is_missing {
            self.show_snapshot(number);
        }
        self.compare_states();
        let (width, height) = self.slot(View::State).window;
        if let Some(tree) = &mut self.views.state.tree {
            tree.prepare(width, height);
        }
        self.views.state.comparison.prepare(width, height);
    }

    /// Returns the text of a state, if its event is still in memory.
    pub fn state_text(&self, number: u64) -> Option<Excerpt> {
        let snapshot = self.snapshot_at(number)?;
        let text = self.event_log.get(snapshot.seq)?.data.json()?.clone();
        Excerpt::new(text, snapshot.from..snapshot.from + snapshot.size)
    }

    fn show_snapshot(&mut self, number: Option<u64>) {
        let Some((number, text)) =
            number.and_then(|number| Some((number, self.state_text(number)?)))
        else {
            return;
        };
        let snapshot = self.snapshot_at(number);
        let keys = snapshot.iter().flat_map(|snapshot| &snapshot.keys);
        let keys = keys.map(|key| (key.name.clone(), key.size)).collect();
        let seq = snapshot.map(|snapshot| snapshot.seq);
        let tree = self.views.state.tree.get_or_insert_with(Tree::empty);
        tree.show(text, number, keys);
        (self.views.state.number, self.views.state.seq) = (Some(number), seq);
    }

    /// Compares the shown state with the previous one, or with the marked one.
    fn compare_states(&mut self) {
        let tree = self.views.state.tree.as_ref();
        let Some((new, doc)) = tree.and_then(|tree| Some((tree.tag()?, tree.doc().clone()))) else {
            return;
        };
        let is_marked = self.views.state.comparison.base == Base::Marked;
        let seq_of = |number: u64| self.snapshot_at(number).map(|snapshot| snapshot.seq);
        let old = match self.views.state.marked {
            Some((number, seq)) if is_marked => Some(number).filter(|_| seq_of(number) == seq),
            _ if is_marked => None,
            _ => self.snapshot_at(new).and_then(|s| s.before),
        };
        let known = old.and_then(|old| Some((old, self.snapshot_at(old)?, self.state_text(old)?)));
        let Some((old, snapshot, text)) = known else {
            self.views.state.comparison.clear();
            return;
        };
        let about = since(old, snapshot, is_marked, &self.tz);
        if self
            .views
            .state
            .comparison
            .compare((old, new), about, text, &doc)
        {
            self.views.state.mark_changes();
        }
    }

    /// Returns the state's tree for moving and folding. Also keeps the state, because the user is reading it.
    fn tree(&mut self) -> Option<&mut Tree> {
        self.stay_at_state();
        self.views.state.tree.as_mut()
    }

    /// Moves the cursor to the shown state.
    fn stay_at_state(&mut self) {
        if let Some(seq) = self.shown_snapshot().map(|snapshot| snapshot.seq) {
            self.set_anchor(View::State, Some(seq));
        }
    }

    /// Moves by some states. Moving past the newest one follows new events again.
    pub fn step_state(&mut self, by: isize) {
        let extent = extent(self.projections.values.rows());
        let Some(at) = self.views.state.number else {
            return;
        };
        let target = at.saturating_add_signed(by as i64).max(extent.first);
        if target >= extent.end {
            self.set_anchor(View::State, None);
            self.sync_state();
        } else {
            self.show_snapshot(Some(target));
            self.stay_at_state();
        }
    }
}

/// The State view.
pub struct StateTab;

impl StreamView for StateTab {
    fn facts(&self) -> ViewFacts {
        ViewFacts {
            title: "State",
            kind: EntryKind::Document,
            empty: ("state", ""),
            empty_at_checkpoint: "The state at this checkpoint is empty.",
            ..EVENTS
        }
    }

    fn entries<'a>(&self, viewer: &'a Viewer) -> ViewRows<'a> {
        ViewRows::Flat(extent(viewer.projections.values.rows()))
    }

    fn window(&self, viewer: &Viewer) -> Option<Vec<(Line, bool)>> {
        let Some(tree) = &viewer.views.state.tree else {
            return Some(Vec::new());
        };
        let comparison = &viewer.views.state.comparison;
        Some(match comparison.shown {
            false => tree.window(),
            true if comparison.pair().is_some() || tree.tag().is_none() => comparison.window(),
            true => {
                let text = match comparison.base {
                    _ if viewer.shown_checkpoint().is_some() => {
                        "Nothing to compare here: Steps compares checkpoints."
                    }
                    Base::Before => {
                        "Nothing to compare: this is the first state in this namespace."
                    }
                    Base::Marked => "The marked state was evicted. Press m to mark another one.",
                };
                vec![(Line::dim(text), false)]
            }
        })
    }

    fn seq_at(&self, viewer: &Viewer, _spot: LinePos) -> Option<Seq> {
        Some(viewer.shown_snapshot()?.seq)
    }

    fn sync(&self, viewer: &mut Viewer) -> bool {
        if viewer.follows() {
            viewer.slots[View::State as usize].place.seen = viewer.count(View::State);
        }
        viewer.sync_state();
        true
    }

    fn go(&self, viewer: &mut Viewer, to: Move) {
        if to == Move::End {
            viewer.set_anchor(View::State, None);
            return viewer.sync_state();
        }
        let height = viewer.slot(View::State).window.1;
        if viewer.views.state.comparison.shown {
            viewer.stay_at_state();
            let comparison = &mut viewer.views.state.comparison;
            comparison.go(|place, rows, height| place.apply(rows, height, to));
        } else if let Some(tree) = viewer.tree() {
            let mut place = tree.place;
            place.apply(&*tree, height, to);
            tree.place = place;
        }
    }

    fn own_search<'a>(&self, viewer: &'a Viewer) -> Option<&'a str> {
        let tree = viewer.views.state.tree.as_ref();
        Some(tree.map_or("", Tree::search_text))
    }

    fn search(&self, viewer: &mut Viewer, text: &str) {
        // To clear the search, the user need not be reading.
        let tree = match text {
            "" => viewer.views.state.tree.as_mut(),
            _ => viewer.tree(),
        };
        if let Some(tree) = tree {
            tree.search(text);
        }
    }

    fn commands(&self, viewer: &Viewer, on: &Session, all: Commands) -> Commands {
        let state = &viewer.views.state;
        let is_compared = state.comparison.shown;
        let can_open = match is_compared {
            true => state.comparison.node_under_cursor().is_some(),
            false => state.tree.as_ref().is_some_and(|tree| tree.can_toggle()),
        };
        let labels = match is_compared {
            true => (Some("go there"), Some("whole state")),
            false => (Some("fold"), None),
        };
        for_thread(viewer, on, all)
            .enable_if(can_open, &["stream.open"])
            .enable_if(state.on_screen().is_some(), &["stream.compare"])
            .enable_if(!state.finds_nothing(), &["stream.next_problem"])
            .show([("stream.open", labels.0), ("stream.compare", labels.1)])
    }

    fn action(&self, viewer: &mut Viewer, _on: &Session, action: Action) -> Option<Requests> {
        let (shown, base) = (
            viewer.views.state.comparison.shown,
            viewer.views.state.comparison.base,
        );
        let forward = action == Action::NextMatch;
        match action {
            // The changes since the mark, if there is one.
            Action::Compare => {
                let wanted = match viewer.views.state.marked {
                    Some(_) => Base::Marked,
                    None => Base::Before,
                };
                let is_shown = shown && base == wanted;
                let shown = Some(wanted).filter(|_| !is_shown);
                viewer.views.state.show_changes(shown);
            }
            Action::Mark => {
                let number = viewer.views.state.on_screen();
                let seq_of = |number| viewer.snapshot_at(number).map(|snapshot| snapshot.seq);
                viewer.views.state.marked = number.map(|number| (number, seq_of(number)));
                let text = number.map(|number| {
                    let number = text::count(number + 1);
                    format!("State {number} is marked. Press = to compare with it.")
                });
                return Some(text.map(Requests::info).unwrap_or_default());
            }
            // From a change to its place in the state.
            Action::Open | Action::Right if shown => {
                if let Some(node) = viewer.views.state.comparison.node_under_cursor() {
                    viewer.views.state.comparison.shown = false;
                    if let Some(tree) = viewer.tree() {
                        tree.go_to(node);
                    }
                }
            }
            Action::Left if shown => viewer.views.state.show_changes(None),
            Action::PrevStep => viewer.step_state(-1),
            Action::NextStep => viewer.step_state(1),
            Action::NextMatch | Action::PrevMatch if viewer.searched().is_empty() => {
                viewer.step_state(if forward { 1 } else { -1 });
            }
            Action::FoldAll | Action::UnfoldAll if shown => return None,
            Action::FoldAll
            | Action::UnfoldAll
            | Action::NextMatch
            | Action::PrevMatch
            | Action::Left
            | Action::Right
            | Action::Open => {
                if let Some(tree) = viewer.tree() {
                    match action {
                        Action::FoldAll | Action::UnfoldAll => {
                            tree.fold_all(action == Action::FoldAll)
                        }
                        Action::Left => tree.fold(),
                        Action::Right => tree.unfold(),
                        Action::Open => tree.toggle(),
                        _ => tree.next_match(forward),
                    }
                }
            }
            // From the shown state, not from the newest event.
            Action::NextMessage | Action::PrevMessage | Action::NextMark | Action::PrevMark => {
                viewer.stay_at_state();
                return None;
            }
            _ => return None,
        }
        Some(Requests::none())
    }

    fn copied_path(&self, viewer: &Viewer) -> Option<String> {
        viewer.views.state.path_under_cursor()
    }

    fn copied(&self, viewer: &Viewer) -> Option<String> {
        match viewer.views.state.comparison.shown {
            true => viewer.views.state.comparison.value_under_cursor(),
            false => viewer.views.state.tree.as_ref()?.value_under_cursor(),
        }
    }

    fn exported_seq(&self, viewer: &Viewer, key: u64) -> Option<Seq> {
        Some(viewer.snapshot_at(key)?.seq)
    }

    fn write(&self, viewer: &Viewer, key: u64, format: Format, part: &mut Part) {
        let Some((snapshot, state)) = viewer.snapshot_at(key).zip(viewer.state_text(key)) else {
            return;
        };
        let title = format!(
            "state {} · event {} · {} {}",
            key + 1,
            viewer.event_log.events_until(snapshot.seq),
            clock(snapshot.at, &viewer.tz),
            clean(&namespace(&snapshot.ns)),
        );
        let (title, state) = (title.trim_end(), state.shared());
        match format {
            Format::Text => {
                part.text(format!("── {title}\n"));
                part.add(Chunk::Lines(state));
                part.text("\n");
            }
            _ => {
                part.text(format!("## {}\n\n", inline(title)));
                part.add(Chunk::Code("json", state));
            }
        }
    }
}

/// Returns the line below the tabs for the State view: the number, the source and the size of the state, and the path under the cursor.
pub fn about(viewer: &Viewer, width: usize, tz: &TimeZone) -> Option<Line> {
    let number = viewer
        .views
        .state
        .on_screen()
        .or(viewer.views.state.number)?;
    let snapshot = viewer.snapshot_at(number)?;
    let count = text::count(viewer.count(View::State));
    let is_checkpoint = viewer.shown_checkpoint().is_some();
    // The time of a replayed or empty state may be unknown.
    let at = snapshot.at.map(|at| clock(at, tz));
    let mut line = match (is_checkpoint, at) {
        (true, Some(at)) => Line::dim(&format!("the state saved at {at} · ")),
        (true, None) => Line::dim("the state saved there · "),
        (false, at) => {
            let at = at.map(|at| format!(" · {at}")).unwrap_or_default();
            Line::dim(&format!(
                "state {} of {count}{at} · ",
                text::count(number + 1)
            ))
        }
    };
    if !is_checkpoint {
        push_source(&mut line, snapshot);
    }
    line.push_plain(&text::bytes(snapshot.size as u64));
    let tree = viewer.views.state.tree.as_ref();
    if let Some((done, all)) = tree.and_then(|tree| tree.progress()) {
        let share = done * 100 / all.max(1);
        line.push_dim(" · ");
        line.push_moving(&format!("reading {} … {share}%", text::bytes(all as u64)));
        return Some(line);
    }
    if let Some(found) = tree
        .filter(|_| !viewer.views.state.comparison.shown)
        .and_then(|tree| tree.search_line())
    {
        line.push_dim(" · ");
        line.left.extend(found.left);
    }
    // The log of a checkpoint has only one state.
    let hint = if is_checkpoint {
        ""
    } else {
        "[ earlier  ] later"
    };
    let room = width.saturating_sub(line.width() + hint.len() + 5);
    let path = viewer.views.state.path_under_cursor();
    match path.filter(|path| path != "." && !viewer.follows()) {
        Some(path) => {
            line.push_dim(" · ");
            line.push_accent(&tail(&text::clean(text::tail(&path, 4 * room + 8)), room));
        }
        None if is_checkpoint => {}
        None => {
            let changed: Vec<&str> = snapshot
                .keys
                .iter()
                .filter(|k| k.changed)
                .map(|k| text::head(&k.name, 4 * room))
                .collect();
            if !changed.is_empty() {
                line.push_dim(" · changed: ");
                line.push_plain(&text::seen(&changed.join(", "), room.saturating_sub(9)));
            }
        }
    }
    Some(line.right(Tone::Dim, hint))
}

fn push_source(line: &mut Line, snapshot: &Snapshot) {
    if !snapshot.ns.is_empty() {
        line.push(Tone::Ns, &format!("{} · ", namespace(&snapshot.ns)));
    }
    if let Some(word) = snapshot.source.word() {
        line.push_dim(&format!("{word} · "));
    }
}

/// Returns the base of a comparison, shown after the counts of changes.
fn since(number: u64, snapshot: &Snapshot, marked: bool, tz: &TimeZone) -> Line {
    let which = if marked { "the marked state" } else { "state" };
    let at = snapshot
        .at
        .map(|at| format!(", {}", clock(at, tz)))
        .unwrap_or_default();
    let mut line = Line::dim(&format!(" since {which} {}{at}", text::count(number + 1)));
    if !snapshot.ns.is_empty() {
        line.push(Tone::Ns, &format!(" in {}", namespace(&snapshot.ns)));
    }
    line
}
