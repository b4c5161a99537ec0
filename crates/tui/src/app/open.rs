//! Opening things: an agent server, a stream, a document, the composer; and bringing every place in line with the
//! screen after each message.

use super::browse::BROWSE_HEAD;
use super::composer::{Composer, Origin};
use super::confirm::confirm_area;
use super::fleet::RowId;
use super::json::Tree;
use super::layout::{Area, Regions, below, halves, layout};
use super::line::{Line, Tone};
use super::msg::{Effect, ServerRef, StreamTarget, ThreadRef};
use super::scroll::{Flat, Place};
use super::server::{PAGE, Server, Tab};
use super::sign_in::SignIn;
use super::streams::MAX_TABS;
use super::viewer::{LinkState, View, Viewer, head};
use super::{App, Overlay, Page, Pane, columns, help, view_lines, why};
use runtail_core::model::ThreadStatus;
use runtail_stream::{End, Outcome, Target};
use std::sync::Arc;

/// Lines above the rows of each pane: title and column heads.
pub const DEPLOYMENTS_HEAD: u16 = 2;
/// Title and next poll.
pub const REVISIONS_HEAD: u16 = 1;
/// Breadcrumb, tabs of the lists, and the column heads of an agent server's lists.
pub const STREAM_HEAD: u16 = 3;
/// Place with the status, and views with the link: the head of a stream, without its tabs and notes.
const PLACE_AND_VIEWS: u16 = 2;
/// Columns kept free at the left of a pane for the selection mark, and at its right.
pub const GUTTER: u16 = 3;

impl App {
    /// Opens an agent server in the stream pane.
    pub fn open_server(&mut self, server: ServerRef) -> Vec<Effect> {
        self.focus = Pane::Stream;
        self.streams.hide();
        self.logs = None;
        self.go_to_server(server)
    }

    /// Puts an agent server's lists behind what is shown.
    pub(super) fn go_to_server(&mut self, server: ServerRef) -> Vec<Effect> {
        if self.server.as_ref().is_some_and(|s| s.server == server) {
            return Vec::new();
        }
        self.server = Some(Server::new(server.clone()));
        vec![Effect::FetchInfo(server.clone()), Effect::FetchAssistants(server)]
    }

    /// Opens a stream on the server that is open.
    pub fn open_stream(&mut self, target: StreamTarget) {
        let Some(server) = self.server.as_ref().map(|s| s.server.clone()) else { return };
        if target.is_write() && self.is_read_only(&server.profile) {
            return self.notify(true, read_only_text(&server.profile));
        }
        self.show_stream(server, target);
    }

    /// Shows a stream: in its own tab, where it is open already, else in a new one.
    pub(super) fn show_stream(&mut self, server: ServerRef, target: StreamTarget) {
        match self.streams.find(&server, &target) {
            Some(at) => self.streams.show(at),
            None if self.streams.make_room() => {
                let viewer = self.new_viewer(server, target);
                self.streams.add(viewer);
            }
            None => {
                let text = format!("{MAX_TABS} streams are open already, and all go on: close one of them first.");
                return self.notify(true, text);
            }
        }
        self.logs = None;
        self.focus = Pane::Stream;
    }

    /// A viewer that begins with the view that is shown.
    pub(super) fn new_viewer(&mut self, server: ServerRef, target: StreamTarget) -> Viewer {
        let id = self.next_stream;
        self.next_stream += 1;
        let mut viewer = Viewer::new(id, server, target, &self.settings.tape, self.now, self.settings.tz.clone());
        if let Some(shown) = self.streams.shown() {
            viewer.show(shown.view());
        }
        self.last_modes.give(&mut viewer);
        viewer
    }

    /// Shows a JSON document over the panes.
    pub fn inspect(&mut self, title: String, text: Arc<str>) {
        self.overlays.push(Overlay::Inspect { title, tree: Box::new(Tree::new(text)) });
    }

    /// Shows any record as a JSON document.
    pub fn inspect_record(&mut self, title: String, record: &impl serde::Serialize) {
        match serde_json::to_string(record) {
            Ok(text) => self.inspect(title, text.into()),
            Err(e) => self.notify(true, format!("This record cannot be shown as JSON: {e}")),
        }
    }

    /// Opens the composer on the server that is open.
    pub fn compose(&mut self, from: Origin) -> Vec<Effect> {
        let Some(server) = &self.server else { return Vec::new() };
        if self.is_read_only(&server.server.profile) {
            let text = read_only_text(&server.server.profile);
            self.notify(true, text);
            return Vec::new();
        }
        let known: &[_] = server.assistants.value.as_deref().unwrap_or(&[]);
        let chosen = from.assistant.is_some();
        let mut composer = Composer::new(server.server.clone(), known, from);
        if let Some(modes) = &self.last_modes.started {
            composer.modes.clone_from(modes);
        }
        let fits = |draft: &mut Composer| draft.server == composer.server;
        if let Some(draft) = self.draft.take_if(fits) {
            composer.set_input(&draft.input.text());
            let id = draft.chosen().filter(|_| !chosen);
            if let Some(at) = id.and_then(|id| composer.assistants.iter().position(|(i, _)| *i == id)) {
                composer.assistant = at;
            }
            composer.modes = draft.modes;
        }
        // When they could not be had before, they are asked for again.
        let again = server.assistants.error.is_some() && known.is_empty();
        let ask = if again { vec![Effect::FetchAssistants(server.server.clone())] } else { Vec::new() };
        self.overlays.push(Overlay::Compose(Box::new(composer)));
        ask
    }

    /// Starts what was composed, or says why it can't be. A run on a thread is started in the background and seen on the
    /// thread's page.
    pub fn start_composed(&mut self) -> Vec<Effect> {
        if !self.is_overlay_seen() {
            return Vec::new();
        }
        let Some(Overlay::Compose(composer)) = self.overlays.last() else { return Vec::new() };
        let server = composer.server.clone();
        let target = match composer.target() {
            Ok(target) => target,
            Err(why) => {
                self.notify(true, why);
                return Vec::new();
            }
        };
        if let Some(Overlay::Compose(composer)) = self.overlays.pop() {
            self.last_modes.started = Some(composer.modes.clone());
            self.draft = Some(*composer);
        }
        match target {
            StreamTarget::Start { on: Target::Thread(id), body } => {
                self.start_in_background(ThreadRef { server, id }, (*body).clone())
            }
            target => {
                self.open_stream(target);
                Vec::new()
            }
        }
    }

    /// The regions of the screen now.
    pub fn regions(&self) -> Regions {
        layout(self.size, self)
    }

    /// The rows of a pane under its head; what it would have when it is not shown.
    fn rows_area(&self, shown: Option<Area>, head: u16) -> Area {
        let (w, h) = self.size;
        below(shown.unwrap_or(Area { x: 0, y: 2, w, h: h.saturating_sub(4) }), head)
    }

    /// Lines that the pane with the focus scrolls by at once.
    pub fn page(&self) -> isize {
        let regions = self.regions();
        let area = match (&self.overlays.last(), self.focus) {
            (Some(_), _) => self.overlay_area(),
            (None, Pane::Deployments) => self.rows_area(regions.deployments, DEPLOYMENTS_HEAD),
            (None, Pane::Revisions) => self.rows_area(regions.revisions, REVISIONS_HEAD),
            (None, Pane::Stream) if self.logs.is_none() && self.viewer().is_some() => {
                let height = self.viewer().map_or(0, Viewer::height);
                return (height as isize - 1).max(1);
            }
            (None, Pane::Stream) => self.rows_area(regions.stream, STREAM_HEAD),
        };
        (area.h as isize - 1).max(1)
    }

    /// Where an overlay's text goes.
    pub fn overlay_area(&self) -> Area {
        let (w, h) = self.size;
        Area { x: 2, y: 3, w: w.saturating_sub(4), h: h.saturating_sub(5) }
    }

    /// The inside of an overlay that has a frame.
    pub fn overlay_inner(&self) -> Area {
        let (w, h) = self.size;
        Area { x: 2, y: 2, w: w.saturating_sub(4), h: h.saturating_sub(4) }
    }

    /// Where the rows of an overlay's table go.
    pub fn overlay_rows(&self) -> Area {
        below(self.overlay_area(), BROWSE_HEAD)
    }

    /// The windows of the views of the stream that is shown: columns for text, and lines.
    pub fn stream_windows(&self) -> Vec<(View, usize, usize)> {
        let area = self.rows_area(self.regions().stream, self.stream_head());
        let Some(viewer) = self.viewer() else { return Vec::new() };
        let size = |area: Area| (area.w.saturating_sub(GUTTER) as usize, area.h as usize);
        halves(area, viewer)
            .into_iter()
            .map(|half| {
                let (w, h) = size(half.rows);
                (half.view, w, h)
            })
            .collect()
    }

    /// Whether the open streams have a line of tabs: one stream needs none.
    pub fn has_stream_tabs(&self) -> bool {
        self.viewer().is_some() && self.logs.is_none() && self.streams.all().len() > 1
    }

    /// Lines above the rows of the stream pane.
    pub fn stream_head(&self) -> u16 {
        match self.viewer().filter(|_| self.logs.is_none()) {
            Some(viewer) => {
                let banner = head::banner_tone(viewer.shown_status()).is_some();
                // Whether there is a note does not depend on the width.
                let note = self.note(viewer, 0).is_some();
                u16::from(self.has_stream_tabs()) + PLACE_AND_VIEWS + u16::from(banner) + u16::from(note)
            }
            None => STREAM_HEAD,
        }
    }

    /// The lines under the views of a stream: the banner of a thread that needs a person, and one more where something
    /// about the search, the past, the connection or the state needs a line.
    pub fn stream_notes(&self, viewer: &Viewer, width: u16) -> Vec<Line> {
        self.banner(viewer, width).into_iter().chain(self.note(viewer, width)).collect()
    }

    /// What a person has to know, in every view; the whole width, with its keys at the right.
    fn banner(&self, viewer: &Viewer, width: u16) -> Option<Line> {
        let tone = head::banner_tone(viewer.shown_status())?;
        let said = head::banner_text(viewer.shown_status());
        let can_act = !viewer.is_recording() && !self.is_read_only(&viewer.server.profile);
        let mut keys = head::banner_keys(viewer.shown_status(), viewer.again(), can_act);
        // There is no server that has more.
        keys.retain(|(id, _)| !viewer.is_recording() || *id != "stream.details");
        let named = keys.iter().filter_map(|(id, label)| {
            Some(format!("{} {label}", self.keymap.hints_of([id], self.settings.ascii).pop()?.0))
        });
        let named: Vec<String> = named.collect();
        let width = usize::from(width);
        // The text has the room that it needs, up to two thirds; the keys that still fit are named.
        let wanted = runtail_core::text::width(&said).min(width * 2 / 3);
        let fits = |keys: &[String]| wanted + 4 + runtail_core::text::width(&keys.join("   ")) <= width;
        let shown = (0..=named.len()).rev().find(|n| fits(&named[..*n])).unwrap_or(0);
        let right = named[..shown].join("   ");
        let room = width.saturating_sub(runtail_core::text::width(&right) + if shown == 0 { 0 } else { 3 });
        let said = runtail_core::text::fit(&runtail_core::text::clean(&said), room).into_owned();
        let gap = width.saturating_sub(runtail_core::text::width(&said) + runtail_core::text::width(&right));
        Some(Line::of(tone, &format!("{said}{}{right}", " ".repeat(gap))))
    }

    /// What needs a line about the search, the past, the connection or the state that is shown.
    fn note(&self, viewer: &Viewer, width: u16) -> Option<Line> {
        let past = || Some(view_lines::past::line(&viewer.standing()?, width.into(), &self.settings.tz));
        if let Some(line) = view_lines::find::line(viewer).or_else(past) {
            return Some(line);
        }
        let shows_state = viewer.shown().iter().any(|(view, _)| *view == View::State);
        match &viewer.link {
            LinkState::Retrying { why, .. } => Some(Line::of(Tone::Dim, why)),
            _ if viewer.leaves_events() => {
                let key = self.keymap.hints_of(["stream.take_events"].iter(), self.settings.ascii).pop();
                let take = key.map(|(key, _)| format!(" {key} reads them; its application then misses them."));
                let why = "One reader only: this run's events aren't read here.";
                Some(Line::of(Tone::Dim, &format!("{why}{}", take.unwrap_or_default())))
            }
            LinkState::Failed(error) => Some(Line::of(Tone::Bad, &error.story().replace('\n', " · "))),
            _ if viewer.state_failure().is_some() => {
                let why = viewer.state_failure().unwrap_or_default();
                let key = self.keymap.hints_of(["app.refresh"].iter(), self.settings.ascii).pop().map(|(key, _)| key);
                let retry = key.map(|key| format!(" Press {key} to retry.")).unwrap_or_default();
                Some(Line::of(Tone::Dim, &format!("Couldn't load the state ({why}). Showing the stream only.{retry}")))
            }
            _ if shows_state => view_lines::state::about(viewer, width.into(), &self.settings.tz),
            LinkState::Ended(end) if explains_end(viewer, end) => {
                let tone = if end.outcome == Outcome::Error { Tone::Bad } else { Tone::Dim };
                Some(Line::of(tone, end.detail.as_deref().unwrap_or_default()))
            }
            _ => None,
        }
    }

    /// Heights of the lists of deployments, of revisions, and of the server's rows.
    pub fn list_heights(&self) -> (usize, usize, usize) {
        let regions = self.regions();
        let height = |shown, head| self.rows_area(shown, head).h as usize;
        (
            height(regions.deployments, DEPLOYMENTS_HEAD),
            height(regions.revisions, REVISIONS_HEAD),
            height(regions.stream, STREAM_HEAD),
        )
    }

    /// The status of a listed thread: that of its page, where one is open, so that the two never differ.
    pub fn listed_status(&self, server: &Server, thread: &str) -> ThreadStatus {
        let of = ThreadRef { server: server.server.clone(), id: thread.to_string() };
        let page = self.streams.all().iter().find(|viewer| viewer.is_of(&of) && viewer.is_open());
        let known = |status: &&ThreadStatus| !matches!(status, ThreadStatus::Loading | ThreadStatus::Unknown { .. });
        page.map(|viewer| viewer.thread_status()).filter(known).cloned().unwrap_or_else(|| server.status_of(thread))
    }

    /// Identities of the revisions shown.
    pub fn revision_ids(&self) -> Vec<RowId> {
        self.history().map(|h| h.revisions.iter().map(|r| r.id.clone()).collect()).unwrap_or_default()
    }

    /// Brings every place in line with what there is to show and with the size of the screen.
    pub fn settle(&mut self) {
        let (deployments, revisions, rows) = self.list_heights();
        self.fleet.settle(deployments);
        let ids = self.revision_ids();
        self.revision_picker.settle(&ids, revisions);
        if let Some(logs) = &mut self.logs {
            logs.settle(rows);
        }
        if let Some(server) = self.server.as_mut().filter(|_| self.streams.shown().is_none()) {
            let ids = server.shown_ids();
            server.picker().settle(&ids, rows);
            // The end of the list is in sight: ask for more where there may be more.
            let full = ids.len() >= server.limit && server.tab != Tab::Assistants;
            let at = server.picker().at(&ids).unwrap_or(0);
            if full && at + 5 >= ids.len() && server.limit < super::server::MAX_ROWS {
                server.limit += PAGE;
            }
        }
        // A pane that is not shown keeps the layout that it had.
        if self.regions().stream.is_some() && self.logs.is_none() {
            self.settle_stream();
        }
        let area = self.overlay_area();
        let lines = self.overlay_lines();
        let rows_under_heads = self.overlay_rows();
        let framed = self.overlay_inner();
        match self.overlays.last_mut() {
            Some(Overlay::Inspect { tree, .. }) => {
                tree.prepare(area.w.saturating_sub(GUTTER) as usize, area.h as usize)
            }
            Some(Overlay::Confirm(confirm)) => {
                let area = confirm_area(area);
                let end = confirm.lines(area.w.saturating_sub(2) as usize).len() as u64;
                confirm.place.settle(&Flat { first: 0, end }, area.h as usize);
            }
            Some(Overlay::Answer(card)) => card.settle(framed.w.into(), framed.h.into()),
            Some(Overlay::Journal(journal)) => {
                let ids = journal.ids();
                journal.picker.settle(&ids, area.h as usize);
            }
            Some(Overlay::Profiles) => self.step_profiles(0),
            Some(Overlay::Browse(browse)) => {
                let ids = browse.ids();
                browse.picker.settle(&ids, rows_under_heads.h as usize);
            }
            Some(Overlay::SignIn(sign_in)) => {
                sign_in.place.settle(&Flat { first: 0, end: lines as u64 }, area.h as usize);
            }
            Some(Overlay::Page(_, place)) => {
                place.settle(&Flat { first: 0, end: lines as u64 }, area.h as usize);
            }
            _ => {}
        }
        self.number_works();
        self.settle_seen_overlay();
    }

    /// Lays out the stream that is shown.
    fn settle_stream(&mut self) {
        let now = self.now;
        if let Some(viewer) = self.streams.shown_mut() {
            viewer.take_habits(&self.habits);
            // Where the past ends, so does its line in the head.
            viewer.turn_of_past(now);
        }
        let mut windows = self.stream_windows();
        // The layout may add a line to the head, or remove one: a state that is shown has a line of its own.
        for _ in 0..2 {
            if let Some(viewer) = self.streams.shown_mut() {
                viewer.prepare(&windows);
            }
            let before = std::mem::replace(&mut windows, self.stream_windows());
            if before == windows {
                break;
            }
        }
    }

    /// Lines of the page that lies over the panes.
    pub fn overlay_lines(&self) -> usize {
        match self.overlays.last() {
            Some(Overlay::Page(page, _)) => self.page_lines(page).len(),
            Some(Overlay::SignIn(sign_in)) => self.sign_in_lines(sign_in).len(),
            _ => 0,
        }
    }

    /// The lines of a page.
    pub fn page_lines(&self, page: &Page) -> Vec<super::line::Line> {
        let area = self.overlay_area();
        let width = area.w.saturating_sub(GUTTER) as usize;
        match page {
            Page::Help => help::help_lines(&self.keymap, self.helped_context(), area.w as usize, self.settings.ascii),
            Page::Keys => help::table_lines(&self.keymap, self.settings.ascii),
            Page::Notices => self.notice_lines(),
            Page::Save(draft) => {
                let write = self.keymap.keys_of("save.write").first().map(|key| key.to_string()).unwrap_or_default();
                super::profile_file::draft_lines(draft, &write, width)
            }
            Page::Explain(explained) => explained.lines(width),
            Page::Why(_) => self.viewer().map(|viewer| why::lines(self, viewer, width)).unwrap_or_default(),
            Page::Doctor(doctor) => doctor.lines(width, self.settings.ascii),
            Page::Difference { changes, .. } => super::explain::difference(changes, width),
            Page::Entry(sent) => super::journal::entry_lines(sent, width),
        }
    }

    /// The lines of an authentication.
    pub fn sign_in_lines(&self, sign_in: &SignIn) -> Vec<super::line::Line> {
        let key = |id: &str| self.keymap.keys_of(id).first().map(|key| key.to_string()).unwrap_or_default();
        sign_in.lines(self.overlay_area().w.saturating_sub(GUTTER) as usize, self.now, key)
    }

    /// The columns of the list of deployments that there is room for.
    pub fn columns(&self) -> Vec<columns::Place> {
        let width = self.regions().deployments.map_or(self.size.0, |a| a.w);
        let longest = |text: fn(&super::fleet::ProfileState) -> &str| {
            self.profiles.iter().map(|p| runtail_core::text::width(text(p))).max().unwrap_or(0) as u16
        };
        columns::layout(width, longest(|p| p.tag()), longest(|p| &p.name))
    }

    /// Moves in the page that lies over the panes.
    pub fn move_page(&mut self, change: impl FnOnce(&mut Place, &Flat, usize)) {
        let rows = Flat { first: 0, end: self.overlay_lines() as u64 };
        let height = self.overlay_area().h as usize;
        match self.overlays.last_mut() {
            Some(Overlay::Page(_, place)) => change(place, &rows, height),
            Some(Overlay::SignIn(sign_in)) => change(&mut sign_in.place, &rows, height),
            _ => {}
        }
    }

    /// Moves in the preview of a change that lies over the panes.
    pub fn move_confirm(&mut self, change: impl FnOnce(&mut Place, &Flat, usize)) {
        let area = confirm_area(self.overlay_area());
        if let Some(Overlay::Confirm(confirm)) = self.overlays.last_mut() {
            let end = confirm.lines(area.w.saturating_sub(2) as usize).len() as u64;
            change(&mut confirm.place, &Flat { first: 0, end }, area.h as usize);
        }
    }

    /// Every message of the session, newest first, as lines.
    pub fn notice_lines(&self) -> Vec<super::line::Line> {
        use super::line::{Line, Tone, wrap};
        let width = self.overlay_area().w.saturating_sub(GUTTER + 12) as usize;
        let mut lines = Vec::new();
        for notice in self.notices.iter().rev() {
            let tone = if notice.error { Tone::Bad } else { Tone::Plain };
            for (i, text) in wrap(&notice.text, width).iter().enumerate() {
                let head = if i == 0 { super::view_lines::clock(notice.at, &self.settings.tz) } else { " ".repeat(8) };
                lines.push(
                    Line::of(Tone::Dim, &format!("{head}  ")).with(if i == 0 { tone } else { Tone::Plain }, text),
                );
            }
        }
        if lines.is_empty() {
            lines.push(Line::of(Tone::Dim, "Nothing was said in this session yet."));
        }
        lines
    }
}

/// Why nothing is written.
pub fn read_only_text(profile: &str) -> String {
    format!("{profile} is read-only: nothing was sent. `--write`, or `read_only = false` for the profile, allows it.")
}

/// Whether a stream's end has a reason that neither the thread's status nor its banner says. A recording that is cut or
/// damaged says so, whatever its events say of the thread.
fn explains_end(viewer: &Viewer, end: &End) -> bool {
    let status = viewer.shown_status();
    let is_new = viewer.is_recording() || *status == ThreadStatus::Loading;
    is_new && end.detail.as_deref().is_some_and(|detail| status.error() != Some(detail))
}
