//! The page: its sides and its cursor.

mod component;

use super::aligned::{Aligned, LoadedSide};
use super::view::{self, CompareLayout};
use crate::session::compare::{ConfigurationRef, SideContents, SideLoaded, SideRef};
use crate::session::msg::{Described, Effect, FileStep, RevisionRef};
use crate::session::request::StreamCommand;
use crate::session::saving::Saving;
use crate::session::{Cx, Requests, Route, Session};
use crate::widgets::diff_lines;
use crate::widgets::line::Line;
use crate::widgets::scroll::{Flat, LinePos, Place};
use runtail_core::model::Configuration;
use runtail_core::text;
use runtail_stream::comparison::{Comparison, FileContents, Side, SideSource, Step, Verdict};
use std::path::PathBuf;
use std::sync::Arc;

/// Maximum number of differences of the final states that are shown.
const MAX_CHANGES: usize = 200;

/// A line of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListedRow {
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
    loaded: Option<LoadedSide>,
    error: Option<String>,
}

/// The page.
#[derive(Debug, Clone)]
pub struct ComparePage {
    /// Its number in this session.
    pub number: u64,
    sides: [PageSide; 2],
    pub(super) aligned: Option<Aligned>,
    /// How the final states differ, once it was asked for.
    state: Option<Vec<Line>>,
    /// The lines of the list.
    pub(super) shown: Vec<ListedRow>,
    pub(super) place: Place,
    pub(super) collapsed: bool,
    /// The side with the focus.
    pub(super) focus: usize,
    pub(super) shows_state: bool,
    /// The file that is being written.
    pub(super) saving: Saving,
}

impl ComparePage {
    /// Creates a page of one or two sides. A single one is a saved comparison.
    fn new(number: u64, sides: Vec<SideRef>) -> ComparePage {
        let mut from = sides.into_iter();
        let mut side = || PageSide {
            from: from.next(),
            ..PageSide::default()
        };
        ComparePage {
            number,
            sides: [side(), side()],
            aligned: None,
            state: None,
            shown: Vec::new(),
            place: Place::at_start(),
            collapsed: false,
            focus: 0,
            shows_state: false,
            saving: Saving::default(),
        }
    }

    /// Opens a comparison. If only one side is given, the marked row or the shown thread is the other.
    ///
    /// # Errors
    /// Why these sides can't be compared.
    pub fn of_sides(session: &Session, mut sides: Vec<SideRef>) -> Result<ComparePage, Requests> {
        let is_configuration = |side: &SideRef| side.configuration().is_some();
        if let [one] = sides.as_slice() {
            let is_like = |side: &&SideRef| is_configuration(side) == is_configuration(one);
            let mut marked = session.marked.iter().rev().filter(is_like);
            let other = match is_configuration(one) {
                true => marked.find(|marked| *marked != one),
                false => marked.next().or(session.pages.shown.as_ref()),
            };
            if let Some(other) = other.filter(|other| *other != one).cloned() {
                sides.insert(0, other);
            }
        }
        let name_another = |mark: &str| {
            format!(
                "Compare with what? Mark one with {}, or name two.",
                session.key(mark)
            )
        };
        Err(Requests::error(match sides.as_slice() {
            [_, _, _, ..] => "Only two sides compare.".to_string(),
            [a, b] if is_configuration(a) != is_configuration(b) => {
                "Deployments compare with deployments only.".into()
            }
            [one] if is_configuration(one) => name_another("deployments.mark"),
            [] | [SideRef::Thread(..)] => name_another("server.mark"),
            // A saved comparison has both sides.
            _ => return Ok(ComparePage::new(session.next_stream.take(), sides)),
        }))
    }

    /// Creates a page of two versions of an assistant, which are loaded.
    pub fn of_versions(versions: [Configuration; 2]) -> ComparePage {
        let mut page = ComparePage::new(0, Vec::new());
        for (side, version) in page.sides.iter_mut().zip(versions) {
            side.set(LoadedSide::Keys(Arc::new(version)));
        }
        page.compare();
        page
    }

    /// Applies a side.
    fn on_side(&mut self, which: usize, loaded: SideLoaded) {
        let is_alone = self.sides[1].from.is_none();
        match loaded {
            Err(why) => self.fail(which, why),
            Ok(SideContents::Configuration(loaded)) => {
                self.sides[which].set(LoadedSide::Keys(loaded))
            }
            Ok(SideContents::Steps(opened)) => match &*opened {
                FileContents::Pair(pair) => {
                    // A saved comparison replaces both sides.
                    for (side, saved) in self.sides.iter_mut().zip([&pair.0, &pair.1]) {
                        side.set(LoadedSide::Steps(Box::new(saved.clone())));
                    }
                }
                FileContents::Side(_) if is_alone => {
                    let why = "A recording: name the other side too.";
                    self.fail(which, why.into());
                }
                FileContents::Side(side) => self.sides[which].set(LoadedSide::Steps(side.clone())),
            },
        }
        self.compare();
    }

    /// Shows an error in place of a side.
    fn fail(&mut self, which: usize, why: String) {
        let side = &mut self.sides[which];
        (side.loaded, side.error) = (None, Some(why));
        (self.aligned, self.state) = (None, None);
        self.shown.clear();
    }

    fn compare(&mut self) {
        let alone = |side: &Side, which| {
            Some(Aligned::Steps(Arc::new(Comparison::alone(
                side.clone(),
                which,
            ))))
        };
        let [a, b] = &self.sides;
        let aligned = match (&a.loaded, &b.loaded) {
            (Some(a), Some(b)) => Aligned::of(a, b),
            // The steps of the other side are worth something, too.
            (Some(LoadedSide::Steps(side)), None) if b.error.is_some() => alone(side, 0),
            (None, Some(LoadedSide::Steps(side))) if a.error.is_some() => alone(side, 1),
            _ => return,
        };
        let Some(aligned) = aligned else {
            return self.fail(1, "Runs and revisions don't compare.".into());
        };
        let at = self
            .at_cursor()
            .and_then(|at| self.aligned.as_ref()?.row_id(at));
        // The cursor stays on its row while a side grows.
        let known = at.and_then(|id| aligned.find(&id));
        // Of a side that isn't there, no step can be opened.
        if let Some(missing) = [0, 1]
            .into_iter()
            .find(|which| self.missing(*which).is_some())
        {
            self.focus = 1 - missing;
        }
        let first = aligned.first().filter(|_| self.aligned.is_none());
        (self.aligned, self.state) = (Some(aligned), None);
        self.list();
        if let Some(row) = known.or(first) {
            self.go_to_row(row);
        }
        if self.shows_state {
            self.load_state();
        }
    }

    /// Makes the lines of the list.
    fn list(&mut self) {
        let mut shown: Vec<ListedRow> = Vec::new();
        for at in 0..self.aligned.as_ref().map_or(0, Aligned::len) {
            let is_equal =
                || self.aligned.as_ref().and_then(|rows| rows.verdict(at)) == Some(Verdict::Same);
            match (shown.last_mut(), self.collapsed && is_equal()) {
                (Some(ListedRow::Equal(_, count)), true) => *count += 1,
                (_, true) => shown.push(ListedRow::Equal(at, 1)),
                (_, false) => shown.push(ListedRow::Row(at)),
            }
        }
        self.shown = shown;
    }

    /// Returns the row at the cursor.
    pub(super) fn at_cursor(&self) -> Option<usize> {
        match self
            .shown
            .get(usize::try_from(self.place.cursor.key).ok()?)?
        {
            ListedRow::Row(at) | ListedRow::Equal(at, _) => Some(*at),
        }
    }

    /// Moves the cursor to a row.
    fn go_to_row(&mut self, row: usize) {
        let covers = |line: &ListedRow| match line {
            ListedRow::Row(at) => *at == row,
            ListedRow::Equal(from, count) => (*from..from + count).contains(&row),
        };
        if let Some(key) = self.shown.iter().position(covers) {
            self.place.cursor = LinePos {
                key: key as u64,
                line: 0,
            };
        }
    }

    /// Moves the cursor to the next or the previous difference.
    fn next_difference(&mut self, forward: bool) -> Requests {
        let at = usize::try_from(self.place.cursor.key).unwrap_or_default();
        let is_difference = |line: &usize| {
            let Some(ListedRow::Row(row)) = self.shown.get(*line) else {
                return false;
            };
            self.aligned
                .as_ref()
                .is_some_and(|rows| rows.is_difference(*row))
        };
        let found = match forward {
            true => (at + 1..self.shown.len()).find(is_difference),
            false => (0..at.min(self.shown.len())).rev().find(is_difference),
        };
        match found {
            Some(key) => {
                self.place.cursor = LinePos {
                    key: key as u64,
                    line: 0,
                }
            }
            None if forward => return Requests::info("No later difference."),
            None => return Requests::info("No earlier difference."),
        }
        Requests::none()
    }

    fn collapse(&mut self) {
        let row = self.at_cursor();
        self.collapsed = !self.collapsed;
        self.list();
        if let Some(row) = row {
            self.go_to_row(row);
        }
    }

    /// Compares the final states, when they are first shown.
    fn load_state(&mut self) {
        let comparison = self.aligned.as_ref().and_then(Aligned::steps).cloned();
        let Some(comparison) = comparison.filter(|_| self.state.is_none()) else {
            return;
        };
        let lines = match comparison.state_difference() {
            None => {
                let why = match comparison.is_running() && self.is_whole() {
                    true => "A side is still running.",
                    false => "A final state is unknown.",
                };
                vec![Line::of(crate::widgets::line::Tone::Dim, why)]
            }
            Some(difference) => {
                const WIDTH: usize = 400;
                let mut lines = diff_lines::head(&difference, &Line::new(), WIDTH);
                let changes = difference.changes.iter().take(MAX_CHANGES);
                lines.extend(
                    changes.flat_map(|change| diff_lines::change(&difference, change, 120)),
                );
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

    /// Returns whether both sides are there.
    pub(super) fn is_whole(&self) -> bool {
        [0, 1].iter().all(|which| self.missing(*which).is_none())
    }

    /// Returns what both sides have in common.
    pub(super) fn common(&self) -> String {
        self.aligned
            .as_ref()
            .filter(|_| self.is_whole())
            .map(Aligned::common)
            .unwrap_or_default()
    }

    /// Returns the text in place of the first difference if none is known.
    pub(super) fn no_difference(&self) -> Option<&'static str> {
        self.aligned
            .as_ref()
            .filter(|_| self.is_whole())?
            .no_difference()
    }

    /// Returns the totals of both sides.
    pub(super) fn totals(&self, comparison: &Comparison) -> [String; 2] {
        let mut lines = comparison.total_lines();
        for (which, line) in lines.iter_mut().enumerate() {
            if self.missing(which).is_some() {
                *line = "not loaded".into();
            }
        }
        lines
    }

    /// Returns the title of a side.
    pub(super) fn title(&self, session: &Session, which: usize) -> String {
        let side = &self.sides[which];
        let [a, b] = [0, 1].map(|n| self.sides[n].from.as_ref());
        // Two profiles may have deployments of the same name in one region: only their own names tell them apart.
        let are_alike = a.zip(b).is_some_and(|(a, b)| a.looks_like(b, session));
        if let Some(SideRef::Configuration(of)) = &side.from {
            let place = match are_alike {
                true => format!("{} › {}", text::clean(&of.profile), text::clean(&of.name)),
                false => of.place(session),
            };
            // Two deployments are compared as a whole; of their newest revisions the borders have the commits.
            let revision = of
                .revision
                .as_deref()
                .map(|id| format!(" › {}", text::short_id(id)))
                .unwrap_or_default();
            return match self.made_from(which) {
                Some(made_from) if !revision.is_empty() => format!("{place} › {made_from}"),
                _ => format!("{place}{revision}"),
            };
        }
        let name = match (&side.loaded, &side.from) {
            (Some(LoadedSide::Steps(loaded)), _) => loaded.name.clone(),
            (Some(LoadedSide::Keys(loaded)), _) => text::clean(&loaded.name).into_owned(),
            (_, Some(from)) => from.title(),
            _ => String::new(),
        };
        match side.from.as_ref().filter(|_| !are_alike) {
            Some(from) => from.shown_title(&name, session),
            None => name,
        }
    }

    /// Returns what a revision was made from, with its id if that is the same on both sides.
    pub(super) fn made_from(&self, which: usize) -> Option<String> {
        let made_from = |which: usize| self.configuration(which)?.made_from.as_deref();
        let id = |of: &Configuration| of.revision_id.as_deref().map(text::short_id);
        let own = made_from(which).map(|name| text::clean(name).into_owned());
        let id = self.configuration(which).and_then(id);
        match own {
            Some(own) if made_from(0) != made_from(1) => Some(own),
            Some(own) => Some(id.map_or(own.clone(), |id| format!("{own} · {id}"))),
            None => id,
        }
    }

    /// Returns whether configurations are compared, rather than runs.
    pub(super) fn is_of_keys(&self) -> bool {
        let is_loaded = matches!(&self.sides[0].loaded, Some(LoadedSide::Keys(_)));
        is_loaded || matches!(&self.sides[0].from, Some(SideRef::Configuration(_)))
    }

    /// Returns whether these are deployments, rather than certain revisions.
    pub(super) fn is_of_deployments(&self) -> bool {
        let is_deployment = |side: &PageSide| {
            let of = side.from.as_ref().and_then(SideRef::configuration);
            matches!(of, Some(ConfigurationRef { revision: None, .. }))
        };
        self.sides.iter().all(is_deployment)
    }

    /// Returns whether these are versions of an assistant.
    fn is_of_versions(&self) -> bool {
        self.configuration(0).is_some_and(|of| of.is_version)
    }

    /// Returns what is compared.
    pub(super) fn subject(&self) -> &'static str {
        match self.is_of_keys() {
            true if self.is_of_deployments() => "Compare deployments",
            true if self.is_of_versions() => "Compare versions",
            true => "Compare revisions",
            false => "Compare runs",
        }
    }

    /// Returns a loaded side of runs.
    pub(super) fn side(&self, which: usize) -> Option<&Side> {
        match self.sides[which].loaded.as_ref()? {
            LoadedSide::Steps(side) => Some(side),
            LoadedSide::Keys(_) => None,
        }
    }

    /// Returns a loaded side of configurations.
    pub(super) fn configuration(&self, which: usize) -> Option<&Configuration> {
        match self.sides[which].loaded.as_ref()? {
            LoadedSide::Steps(_) => None,
            LoadedSide::Keys(configuration) => Some(configuration),
        }
    }

    /// Returns where a side is loaded from.
    pub(super) fn from(&self, which: usize) -> Option<&SideRef> {
        self.sides[which].from.as_ref()
    }

    /// Returns the step of the side with the focus in the row at the cursor.
    fn step_at_cursor(&self) -> Option<&Step> {
        let comparison = self.aligned.as_ref()?.steps()?;
        let (a, b) = comparison.steps(comparison.rows.get(self.at_cursor()?)?);
        if self.focus == 0 { a } else { b }
    }

    /// Opens the command line with a proposed file.
    fn propose_export(&self, session: &Session) -> Requests {
        let at = session
            .now
            .to_zoned(session.settings.tz.clone())
            .strftime("%H%M%S")
            .to_string();
        Route::Palette(format!("export jsonl runtail-compare-{at}.jsonl")).into()
    }

    /// Saves both sides to a new file: `[jsonl] PATH`.
    fn save_sides(&mut self, session: &Session, argument: &str) -> Requests {
        let path = match argument.split_once(char::is_whitespace) {
            Some(("jsonl", path)) => path.trim(),
            Some(("text" | "md", _)) => "",
            _ => argument.trim(),
        };
        if matches!(path, "" | "jsonl" | "text" | "md") {
            return Requests::error("Comparisons export with: export jsonl PATH.");
        }
        if self.is_of_keys() {
            return Requests::error("Only comparisons of runs export.");
        }
        let whole = self.aligned.as_ref().filter(|_| self.is_whole());
        let Some(comparison) = whole.and_then(Aligned::steps).cloned() else {
            return Requests::error(NOT_LOADED);
        };
        let step = FileStep::Comparison(path.into(), comparison);
        self.saving.begin(session, path, step)
    }

    /// Opens the commits between both revisions on GitHub.
    fn open_commits(&self) -> Requests {
        let Some(keys) = self.aligned.as_ref().and_then(Aligned::keys) else {
            return Requests::info(NOT_LOADED);
        };
        match keys.table.commits() {
            Ok(url) => Requests::info(format!("Opening {url}")).and(Effect::OpenLink(url)),
            Err(why) => Requests::info(why),
        }
    }

    fn flat(&self) -> Flat {
        Flat {
            first: 0,
            end: self.shown.len() as u64,
        }
    }

    fn height(&self, cx: &Cx<'_>) -> usize {
        self.layout(cx).rows.h.into()
    }

    /// Lays out the page. How many rows the list needs isn't known before both sides are there.
    pub(super) fn layout(&self, cx: &Cx<'_>) -> CompareLayout {
        let needed = self.aligned.as_ref().map(|_| self.shown.len());
        let keys = self.aligned.as_ref().and_then(Aligned::keys);
        let longest = self
            .is_of_keys()
            .then(|| keys.map_or(0, |keys| keys.longest));
        view::layout(cx.session.page_size(), needed, longest)
    }

    /// Opens the thread of the side with the focus at the selected step, or its recording.
    fn open(&self) -> Requests {
        let side = &self.sides[self.focus];
        match (&side.from, &side.loaded) {
            (Some(SideRef::Thread(thread, _)), _) => {
                let opened = Requests::from(Route::Thread(thread.clone()));
                match self
                    .step_at_cursor()
                    .and_then(|step| step.checkpoint_id.clone())
                {
                    Some(id) => opened.and(StreamCommand::ShowCheckpoint(id)),
                    None => opened,
                }
            }
            (Some(SideRef::Configuration(of)), Some(LoadedSide::Keys(loaded))) => {
                let id = loaded.revision_id.as_deref().map(|revision| RevisionRef {
                    profile: of.profile.clone(),
                    deployment: of.deployment.clone(),
                    revision: revision.into(),
                });
                let deployment = || {
                    Described::Deployment(
                        of.profile.clone(),
                        of.deployment.clone(),
                        of.name.to_string(),
                    )
                };
                Route::Record(id.map_or_else(deployment, Described::Revision)).into()
            }
            (_, Some(LoadedSide::Steps(side)))
                if matches!(side.source, SideSource::Recording { .. }) =>
            {
                let SideSource::Recording { file } = &side.source else {
                    return Requests::none();
                };
                Route::Recording(PathBuf::from(file)).into()
            }
            (None, Some(LoadedSide::Keys(loaded))) => {
                Requests::inspect(loaded.name.clone(), loaded.fields())
            }
            (_, Some(_)) => Requests::info("A saved side: its server is unknown."),
            (_, None) => Requests::info(NOT_LOADED),
        }
    }
}

const NOT_LOADED: &str = "Not loaded yet.";

impl PageSide {
    fn set(&mut self, loaded: LoadedSide) {
        (self.loaded, self.error) = (Some(loaded), None);
    }
}
