//! The State view: one state of the event log as a tree, or its changes. Its position among the events is that of the shown state.

pub mod shown;

use super::steps::{Purpose, with_state};
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
use runtail_stream::projection::Snapshot;
use runtail_stream::projection::index::Excerpt;
use runtail_stream::{Event, Seq};

/// Why there is nothing to go back to or to compare with.
const NONE_BEFORE: &str = "No earlier state was received.";

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
        if let Some(id) = self.checkpoint_of_state() {
            self.views.steps.go_to(&id);
        }
    }

    /// Returns the checkpoint of the shown state, if it comes from the records and not from an event of the stream.
    fn checkpoint_of_state(&self) -> Option<String> {
        if let Some(shown) = self.shown_checkpoint() {
            return Some(shown.of.id.clone());
        }
        let state = self.projections.status.state()?;
        let newest = self.projections.values.rows().iter().next_back()?.seq;
        let shown = self.shown_snapshot()?.seq;
        // Records that are loaded again without a change add no state.
        let is_loaded = |event: &Event| event.is_snapshot();
        let is_of_records =
            shown == newest && self.event_log.get(shown).as_ref().is_some_and(is_loaded);
        state.checkpoint_id.clone().filter(|_| is_of_records)
    }

    /// Returns the step that led to the shown state, if it is known.
    fn step_of_state(&self, snapshot: &Snapshot) -> Option<i64> {
        let steps = self.views.steps.steps();
        if let Some(id) = self.checkpoint_of_state() {
            let entries = steps.tree().entries();
            return entries[steps.tree().find(&id)?].step;
        }
        let row = steps.rows().get(steps.at_seq(snapshot.seq)?)?;
        row.step
            .filter(|_| row.ns.is_empty() && snapshot.ns.is_empty())
    }

    /// Returns whether only the records have the state before the shown one, which Steps compares.
    fn lacks_state_before(&self) -> bool {
        let is_first = self
            .shown_snapshot()
            .is_some_and(|shown| shown.before.is_none());
        let is_marked = self.views.state.marked.is_some();
        is_first
            && !is_marked
            && self.views.steps.has_states()
            && self.checkpoint_of_state().is_some()
    }

    /// Moves to the next or previous state. Before the first one in the log come those of the records; moving past the newest one
    /// follows new events again.
    pub fn step_state(&mut self, is_forward: bool) -> Requests {
        let extent = extent(self.projections.values.rows());
        let Some(at) = self.views.state.number else {
            return Requests::none();
        };
        if self.shown_checkpoint().is_some() || !is_forward && at <= extent.first {
            let id = self.checkpoint_of_state();
            return match id {
                Some(id) => show_next_state(self, &id, is_forward),
                None => Requests::info(NONE_BEFORE),
            };
        }
        let target = at.saturating_add_signed(if is_forward { 1 } else { -1 });
        if target >= extent.end {
            self.set_anchor(View::State, None);
            self.sync_state();
        } else {
            self.show_snapshot(Some(target));
            self.stay_at_state();
        }
        Requests::none()
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
            empty_at_checkpoint: "Empty state.",
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
                    Base::Before => NONE_BEFORE,
                    Base::Marked => "The marked state was evicted. Mark another one (m).",
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
        // The steps name the shown state.
        viewer.join_steps();
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
            Action::Compare if !shown && viewer.lacks_state_before() => {
                let id = viewer.checkpoint_of_state().unwrap_or_default();
                viewer.show(View::Steps);
                viewer.views.steps.show_difference(&id);
            }
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
                    format!("Marked state {number}; = compares with it.")
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
            Action::PrevStep => return Some(viewer.step_state(false)),
            Action::NextStep => return Some(viewer.step_state(true)),
            Action::NextMatch | Action::PrevMatch if viewer.searched().is_empty() => {
                return Some(viewer.step_state(forward));
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

    fn close(&self, viewer: &mut Viewer) -> bool {
        let is_compared = viewer.views.state.comparison.shown;
        viewer.views.state.show_changes(None);
        is_compared
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
    let number = match count.as_str() {
        "1" => None,
        _ => Some(format!("state {} of {count}", text::count(number + 1))),
    };
    let step = viewer.step_of_state(snapshot);
    let step = step.map(|step| format!("step {step}"));
    let mut line = Line::new();
    for part in [number, step, at].into_iter().flatten() {
        line.push_dim(&format!("{part} · "));
    }
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
    let hint = "[ earlier  ] later";
    let room = width.saturating_sub(line.width() + hint.len() + 5);
    let path = viewer.views.state.path_under_cursor();
    match path.filter(|path| path != "." && !viewer.follows()) {
        Some(path) => {
            line.push_dim(" · ");
            line.push_accent(&tail(&text::clean(text::tail(&path, 4 * room + 8)), room));
        }
        // Without a state before it, nothing is known to have changed.
        None if snapshot.before.is_none() => {}
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

/// Shows the state of the checkpoint before or after another one in all views, or the newest state.
fn show_next_state(viewer: &mut Viewer, id: &str, is_forward: bool) -> Requests {
    let tree = viewer.views.steps.all();
    let at = tree.find(id);
    let to = match is_forward {
        // The newest checkpoint is the present.
        true => at.and_then(|at| {
            let children = tree.children(at).iter().copied();
            let next = children.min_by_key(|child| (!tree.is_current(*child), *child));
            Some(tree.entries()[next.filter(|next| *next > 0)?].id.clone())
        }),
        false => at.and_then(|at| tree.entries()[at].parent.clone()),
    };
    match to {
        Some(_) => with_state(viewer, to, Purpose::Show(View::State)),
        None if is_forward => {
            viewer.leave_checkpoint();
            Requests::info("This is the newest state.")
        }
        None => Requests::info("This is the first state."),
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
