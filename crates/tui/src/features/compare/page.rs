//! The page: its sides, its cursor and its keys.

use super::{narrow, view};
use crate::input::action::{Action, Context};
use crate::session::compare::{SideLoaded, SideRef};
use crate::session::msg::{Effect, Epoch, FileStep, Subscription, SubscriptionId, SubscriptionKind};
use crate::session::request::StreamCommand;
use crate::session::{Component, Cx, Requests, Route, Session};
use crate::widgets::canvas::Canvas;
use crate::widgets::diff_lines;
use crate::widgets::line::Line;
use crate::widgets::scroll::{Flat, LinePos, Place};
use runtail_core::text;
use runtail_stream::comparison::{Comparison, FileContents, Row, Side, SideSource, Step, Verdict};
use std::path::PathBuf;
use std::sync::Arc;

/// Minimum size for two regions beside each other.
const WIDE: (u16, u16) = (110, 24);
/// Maximum number of differences of the final states that are shown.
const MAX_CHANGES: usize = 200;

/// A line of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// A row, by its index.
    Row(usize),
    /// Hidden equal rows: the first one, and their number.
    Equal(usize, usize),
}

/// One side of the page.
#[derive(Debug, Clone, Default)]
struct PageSide {
    /// Where it is loaded from; none for the second side of a saved comparison.
    from: Option<SideRef>,
    loaded: Option<Side>,
    error: Option<String>,
}

/// The page.
#[derive(Debug, Clone)]
pub struct ComparePage {
    /// Its number in this session.
    pub number: u64,
    sides: [PageSide; 2],
    pub(super) comparison: Option<Arc<Comparison>>,
    /// How the final states differ, once it was asked for.
    state: Option<Vec<Line>>,
    /// The lines of the list.
    pub(super) shown: Vec<Shown>,
    pub(super) place: Place,
    pub(super) collapsed: bool,
    /// The side with the focus.
    pub(super) focus: usize,
    pub(super) shows_state: bool,
    /// Whether the user moved the cursor. Until then it is on the first difference.
    is_touched: bool,
    /// The file that is being written.
    saving: Option<(u64, PathBuf)>,
}

impl ComparePage {
    /// Creates a page of one or two sides. A single one is a saved comparison.
    pub fn new(number: u64, sides: Vec<SideRef>) -> ComparePage {
        let mut from = sides.into_iter();
        let mut side = || PageSide { from: from.next(), ..PageSide::default() };
        ComparePage {
            number,
            sides: [side(), side()],
            comparison: None,
            state: None,
            shown: Vec::new(),
            place: Place::at_start(),
            collapsed: false,
            focus: 0,
            shows_state: false,
            is_touched: false,
            saving: None,
        }
    }

    /// Applies a side.
    pub fn on_side(&mut self, number: u64, which: usize, loaded: SideLoaded) {
        if number != self.number || which > 1 {
            return;
        }
        let is_alone = self.sides[1].from.is_none();
        match loaded {
            Err(why) => self.fail(which, why),
            Ok(opened) => match &*opened {
                FileContents::Pair(pair) => {
                    // A saved comparison replaces both sides.
                    for (side, saved) in self.sides.iter_mut().zip([&pair.0, &pair.1]) {
                        (side.loaded, side.error) = (Some(saved.clone()), None);
                    }
                }
                FileContents::Side(_) if is_alone => {
                    let why = "This is a recording: name what it should be compared with, too.";
                    self.fail(which, why.into());
                }
                FileContents::Side(side) => {
                    let to = &mut self.sides[which];
                    (to.loaded, to.error) = (Some((**side).clone()), None);
                }
            },
        }
        self.compare();
    }

    /// Shows an error in place of a side.
    fn fail(&mut self, which: usize, why: String) {
        let side = &mut self.sides[which];
        (side.loaded, side.error) = (None, Some(why));
        (self.comparison, self.state) = (None, None);
        self.shown.clear();
    }

    fn compare(&mut self) {
        let [PageSide { loaded: Some(a), .. }, PageSide { loaded: Some(b), .. }] = &self.sides else { return };
        let at = self.row_at_cursor().map(|row| (row.a, row.b));
        self.comparison = Some(Arc::new(Comparison::of(a.clone(), b.clone())));
        self.state = None;
        self.list();
        // The cursor stays on its step while a side grows.
        let rows = self.rows();
        let known = at.filter(|_| self.is_touched).and_then(|(a, b)| {
            let is_same = |row: &Row| (a.is_some() && row.a == a) || (b.is_some() && row.b == b);
            rows.iter().position(is_same)
        });
        let first = self.comparison.as_ref().and_then(|comparison| comparison.first).filter(|_| !self.is_touched);
        if let Some(row) = known.or(first) {
            self.go_to_row(row);
        }
        if self.shows_state {
            self.load_state();
        }
    }

    fn rows(&self) -> &[Row] {
        self.comparison.as_ref().map(|comparison| comparison.rows.as_slice()).unwrap_or_default()
    }

    /// Makes the lines of the list.
    fn list(&mut self) {
        let mut shown: Vec<Shown> = Vec::new();
        let rows = self.comparison.as_ref().map(|comparison| comparison.rows.as_slice()).unwrap_or_default();
        for (at, row) in rows.iter().enumerate() {
            match (shown.last_mut(), self.collapsed && row.verdict == Verdict::Same) {
                (Some(Shown::Equal(_, count)), true) => *count += 1,
                (_, true) => shown.push(Shown::Equal(at, 1)),
                (_, false) => shown.push(Shown::Row(at)),
            }
        }
        self.shown = shown;
    }

    /// Returns the row at the cursor.
    pub(super) fn row_at_cursor(&self) -> Option<&Row> {
        match self.shown.get(usize::try_from(self.place.cursor.key).ok()?)? {
            Shown::Row(at) | Shown::Equal(at, _) => self.rows().get(*at),
        }
    }

    /// Moves the cursor to a row.
    fn go_to_row(&mut self, row: usize) {
        let covers = |line: &Shown| match line {
            Shown::Row(at) => *at == row,
            Shown::Equal(from, count) => (*from..from + count).contains(&row),
        };
        if let Some(key) = self.shown.iter().position(covers) {
            self.place.cursor = LinePos { key: key as u64, line: 0 };
        }
    }

    /// Moves the cursor to the next or the previous difference.
    fn next_difference(&mut self, forward: bool) -> Requests {
        self.is_touched = true;
        let at = usize::try_from(self.place.cursor.key).unwrap_or_default();
        let is_difference = |line: &usize| {
            let Some(Shown::Row(row)) = self.shown.get(*line) else { return false };
            self.rows().get(*row).is_some_and(|row| row.verdict.is_difference())
        };
        let found = match forward {
            true => (at + 1..self.shown.len()).find(is_difference),
            false => (0..at.min(self.shown.len())).rev().find(is_difference),
        };
        match found {
            Some(key) => self.place.cursor = LinePos { key: key as u64, line: 0 },
            None if forward => return Requests::info("No later difference."),
            None => return Requests::info("No earlier difference."),
        }
        Requests::none()
    }

    fn collapse(&mut self) {
        let row = self.row_at_cursor().and_then(|row| self.rows().iter().position(|other| other == row));
        self.collapsed = !self.collapsed;
        self.list();
        if let Some(row) = row {
            self.go_to_row(row);
        }
    }

    /// Compares the final states, when they are first shown.
    fn load_state(&mut self) {
        let Some(comparison) = self.comparison.clone().filter(|_| self.state.is_none()) else { return };
        let lines = match comparison.state_difference() {
            None => vec![Line::of(crate::widgets::line::Tone::Dim, "The final state of a side is unknown.")],
            Some(difference) => {
                const WIDTH: usize = 400;
                let mut lines = diff_lines::head(&difference, &Line::new(), WIDTH);
                let changes = difference.changes.iter().take(MAX_CHANGES);
                lines.extend(changes.flat_map(|change| diff_lines::change(&difference, change, 120)));
                lines.extend(diff_lines::rest(&difference));
                lines
            }
        };
        self.state = Some(lines);
    }

    /// Returns how the final states differ.
    pub(super) fn state_lines(&self) -> &[Line] {
        self.state.as_deref().unwrap_or_default()
    }

    /// Returns whether a side is not there, and the error if it failed.
    pub(super) fn missing(&self, which: usize) -> Option<Option<&str>> {
        let side = &self.sides[which];
        if side.loaded.is_some() && side.error.is_none() {
            return None;
        }
        Some(side.error.as_deref())
    }

    /// Returns the title of a side.
    pub(super) fn title(&self, session: &Session, which: usize) -> String {
        let side = &self.sides[which];
        let name = match (&side.loaded, &side.from) {
            (Some(loaded), _) => loaded.name.clone(),
            (None, Some(from)) => from.title(),
            (None, None) => String::new(),
        };
        let [a, b] = [0, 1].map(|n| self.sides[n].from.as_ref());
        // Two profiles may have deployments of the same name in one region: only their own names tell them apart.
        let are_alike = a.zip(b).is_some_and(|(a, b)| a.looks_like(b, session));
        match side.from.as_ref().filter(|_| !are_alike) {
            Some(from) => from.shown_title(&name, session),
            None => name,
        }
    }

    /// Returns a loaded side.
    pub(super) fn side(&self, which: usize) -> Option<&Side> {
        self.sides[which].loaded.as_ref()
    }

    /// Returns the step of the side with the focus in the row at the cursor.
    fn step_at_cursor(&self) -> Option<&Step> {
        let (a, b) = self.comparison.as_ref()?.steps(self.row_at_cursor()?);
        if self.focus == 0 { a } else { b }
    }

    /// Opens the command line with a proposed file.
    fn propose_export(&self, session: &Session) -> Requests {
        let at = session.now.to_zoned(session.settings.tz.clone()).strftime("%H%M%S").to_string();
        Route::Palette(format!("export jsonl runtail-compare-{at}.jsonl")).into()
    }

    /// Saves both sides to a new file: `[jsonl] PATH`.
    pub fn save(&mut self, session: &Session, argument: &str) -> Requests {
        let path = match argument.split_once(char::is_whitespace) {
            Some(("jsonl", path)) => path.trim(),
            Some(("text" | "md", _)) => {
                return Requests::error("A comparison is saved as JSON lines: export jsonl PATH.");
            }
            _ => argument.trim(),
        };
        if matches!(path, "" | "jsonl" | "text" | "md") {
            return Requests::error("export jsonl PATH: the path of the new file is missing.");
        }
        let Some(comparison) = self.comparison.clone() else {
            return Requests::error("Both sides must be loaded before the comparison is saved.");
        };
        let number = session.next_change.take();
        self.saving = Some((number, PathBuf::from(path)));
        Effect::File(number, FileStep::Comparison(path.into(), comparison)).into()
    }

    /// Reports that the file was written, or why not. `None` if the file belongs to something else.
    pub fn on_saved(&mut self, number: u64, result: &Result<u64, String>) -> Option<Requests> {
        let (_, path) = self.saving.take_if(|(saving, _)| *saving == number)?;
        let path = text::clean(&path.display().to_string()).into_owned();
        Some(match result {
            Ok(size) => Requests::info(format!("Saved the comparison, {}, to {path}", text::bytes(*size))),
            Err(why) => Requests::error(format!("Couldn't write {path}: {why}")),
        })
    }

    fn flat(&self) -> Flat {
        Flat { first: 0, end: self.shown.len() as u64 }
    }

    fn height(cx: &Cx<'_>) -> usize {
        let (w, h) = cx.session.size;
        if ComparePage::is_wide(cx) { view::layout((w, h)).rows.h.into() } else { narrow::layout((w, h)).rows.h.into() }
    }

    fn is_wide(cx: &Cx<'_>) -> bool {
        let (w, h) = cx.session.size;
        w >= WIDE.0 && h >= WIDE.1
    }

    /// Opens the thread of the side with the focus at the selected step, or its recording.
    fn open(&self) -> Requests {
        let side = &self.sides[self.focus];
        match (&side.from, &side.loaded) {
            (Some(SideRef::Thread(thread, _)), _) => {
                let opened = Requests::from(Route::Thread(thread.clone()));
                match self.step_at_cursor().and_then(|step| step.checkpoint_id.clone()) {
                    Some(id) => opened.and(StreamCommand::ShowCheckpoint(id)),
                    None => opened,
                }
            }
            (_, Some(Side { source: SideSource::Recording { file }, .. })) => {
                Route::Recording(PathBuf::from(file)).into()
            }
            (_, Some(_)) => Requests::info("This side was saved; its server is not known here."),
            (_, None) => Requests::info("This side isn't loaded."),
        }
    }
}

impl Component for ComparePage {
    fn context(&self) -> Context {
        Context::Compare
    }

    fn tab_name(&self) -> Option<String> {
        Some("Compare".into())
    }

    fn can(&self, cx: &Cx<'_>, action: Action) -> bool {
        // A narrow page shows both sides in one list.
        action != Action::NextPane || ComparePage::is_wide(cx)
    }

    fn action(&mut self, cx: &Cx<'_>, action: Action) -> Requests {
        let requests = match action {
            Action::NextMatch | Action::PrevMatch => self.next_difference(action == Action::NextMatch),
            Action::Collapse => {
                self.collapse();
                Requests::none()
            }
            Action::NextPane | Action::PrevPane => {
                self.focus = 1 - self.focus;
                Requests::none()
            }
            Action::Describe => {
                self.shows_state = !self.shows_state;
                self.load_state();
                Requests::none()
            }
            Action::Open => return self.open(),
            Action::Export => return self.propose_export(cx.session),
            _ => Requests::none(),
        };
        self.relayout(cx);
        requests
    }

    fn back(&mut self, _quit: bool) -> Option<Requests> {
        // First closes the final states.
        std::mem::take(&mut self.shows_state).then(Requests::none)
    }

    fn step(&mut self, cx: &Cx<'_>, lines: isize, whole_window: bool) {
        self.is_touched = true;
        let (rows, height) = (self.flat(), ComparePage::height(cx));
        match whole_window {
            true => self.place.page(&rows, height, lines),
            false => self.place.step(&rows, height, lines),
        }
    }

    fn click(&mut self, cx: &Cx<'_>, x: u16, y: u16) -> Requests {
        let (w, h) = cx.session.size;
        if ComparePage::is_wide(cx) {
            let layout = view::layout((w, h));
            self.focus = usize::from(x >= layout.right.x);
            if let Some(row) = y.checked_sub(layout.rows.y.saturating_sub(cx.area.y)).filter(|row| *row < layout.rows.h)
            {
                self.is_touched = true;
                self.place.cursor = LinePos { key: self.place.top.key + u64::from(row), line: 0 };
                self.relayout(cx);
            }
        }
        Requests::none()
    }

    fn copied(&mut self) -> Option<String> {
        let (a, b) = self.comparison.as_ref()?.steps(self.row_at_cursor()?);
        let step = self.step_at_cursor();
        Some(step.or(a).or(b)?.said().join("\n"))
    }

    fn relayout(&mut self, cx: &Cx<'_>) {
        let rows = self.flat();
        self.place.fill(&rows, ComparePage::height(cx));
    }

    fn subscriptions(&self, cx: &Cx<'_>, out: &mut Vec<Subscription>) {
        for (which, side) in self.sides.iter().enumerate() {
            let Some(from) = &side.from else { continue };
            let epoch = from.profile().map_or(Epoch::default(), |profile| cx.session.epoch_of(profile));
            let id = SubscriptionId::Side(self.number, which);
            out.push(Subscription::new(id, epoch, SubscriptionKind::Side(from.clone())));
        }
    }

    fn profile(&self) -> Option<&str> {
        self.sides.iter().find_map(|side| side.from.as_ref()?.profile())
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        match ComparePage::is_wide(cx) {
            true => view::wide(self, cx, canvas),
            false => narrow::draw(self, cx, canvas),
        }
        None
    }
}
