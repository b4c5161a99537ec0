//! The key hints of the footer for the current state, most useful first.

use super::layout::WIDE;
use super::{App, Overlay, Pane};
use crate::features::stream::viewer::Viewer;
use crate::features::stream::views::stream_view::{EntryKind, FooterSubject, Hint};
use crate::input::action::{Action, Context};
use crate::input::key::{Code, Key};
use crate::input::keymap::{Keymap, binding, key_glyph};
use crate::session::Component;
use crate::session::thread::Offers;
use runtail_core::model::{Question, ThreadStatus};

/// Key hints: each key with its label.
pub type Hints = Vec<(String, &'static str)>;

/// Maximum number of hints before the global ones.
const MAX_HINTS: usize = 4;

/// Returns the ids that the footer shows of a list: at most six, the last two for the palette and the help. Lists without those
/// two belong to dialogs in which letters are typed.
fn six(ids: &[&'static str]) -> Vec<&'static str> {
    let is_last = |id: &&str| matches!(*id, "app.command" | "app.help");
    if !ids.iter().any(is_last) {
        return ids.to_vec();
    }
    let mut shown: Vec<&'static str> = ids.iter().copied().filter(|id| !is_last(id)).collect();
    if shown.len() > MAX_HINTS {
        // Esc goes back everywhere.
        shown.retain(|id| *id != "app.back");
    }
    shown.truncate(MAX_HINTS);
    shown.extend(["app.command", "app.help"]);
    shown
}

/// Actions that the footer shows as one: `+ - zoom`.
const PAIRS: [(&str, &str); 2] = [
    ("move.left", "move.right"),
    ("stream.unfold_all", "stream.fold_all"),
];

/// Returns the hints for the current state.
pub fn hints(app: &App) -> Hints {
    let ids = match (app.overlays.last(), app.context(), app.viewer()) {
        (None, Context::Stream, Some(viewer)) => {
            let can_act = !app.is_read_only(&viewer.server.profile);
            let offers = viewer.offers(app.session.server_kind(&viewer.server));
            stream_hints(viewer, offers, can_act, &|id| app.can(id))
        }
        _ => {
            let framed = app
                .overlays
                .last()
                .map(|top| top.framed_keys(&app.overlay_cx(true)))
                .unwrap_or_default();
            let is_shown = |id: &&str| app.can(id) && !framed.contains(id);
            let ids: Vec<&'static str> = listed_ids(app).into_iter().filter(is_shown).collect();
            six(&ids)
                .into_iter()
                .map(|id| (id, label(app, id)))
                .collect()
        }
    };
    let (keymap, ascii) = (&app.session.keymap, app.session.settings.ascii);
    let hint = |(id, label): Hint| {
        let (key, default_label) = keymap.hints_of([&id], ascii).pop()?;
        let numbers = match app.overlays.last() {
            Some(Overlay::FirstRun(screen)) => {
                Some(screen.numbers()).filter(|(first, _)| *first == id)
            }
            _ => None,
        };
        if let Some((first, last)) = numbers
            && let (Some(first), Some(last)) =
                (keymap.keys_of(first).first(), keymap.keys_of(last).first())
        {
            return Some((
                format!("{}–{}", key_glyph(*first, ascii), key_glyph(*last, ascii)),
                "choose",
            ));
        }
        Some((
            pair_of_keys(keymap, id, ascii).unwrap_or(key),
            label.unwrap_or(default_label),
        ))
    };
    ids.into_iter().filter_map(hint).collect()
}

/// Returns the ids that the top overlay or the pane would show, most useful first.
fn listed_ids(app: &App) -> Vec<&'static str> {
    // The hints of an overlay depend on its contents, for example on the stage of a change.
    if let Some(ids) = app.overlays.last().and_then(|top| top.hints()) {
        return ids.to_vec();
    }
    if let Some(Overlay::Why(page)) = app.overlays.last()
        && !page.page.has_action()
    {
        return vec!["app.refresh", "app.back", "app.command", "app.help"];
    }
    let context = app.context();
    let ids = match context {
        Context::Server => app.agent.hints(),
        Context::Deployments | Context::Revisions => app.deployments.hints(context),
        _ => None,
    };
    ids.map_or_else(|| Keymap::hint_ids(context), <[&str]>::to_vec)
}

/// Returns the label of an action where the table's would mislead.
fn label(app: &App, id: &str) -> Option<&'static str> {
    match id {
        "confirm.back" => way_back(app.overlays.last()?),
        _ => None,
    }
}

/// Returns what the key that leaves a preview does, where it cancels nothing.
fn way_back(top: &Overlay) -> Option<&'static str> {
    let Overlay::Confirm(confirm) = top else {
        return None;
    };
    let is_stopping = confirm.is_of_several() && confirm.is_active();
    match (confirm.is_open(), is_stopping) {
        (true, _) => None,
        (false, true) => Some("stop before the next one"),
        (false, false) => Some("back"),
    }
}

/// Returns the keys of two actions that are shown as one.
fn pair_of_keys(keymap: &Keymap, id: &str, ascii: bool) -> Option<String> {
    let (one, other) = PAIRS.iter().find(|(one, _)| *one == id)?;
    let arrow = |key: &Key| match key.code {
        Code::Left => Some("←"),
        Code::Right => Some("→"),
        _ => None,
    };
    let (first, second) = (keymap.keys_of(one), keymap.keys_of(other));
    let arrows = first
        .iter()
        .find_map(arrow)
        .zip(second.iter().find_map(arrow))
        .filter(|_| !ascii);
    match arrows {
        Some((left, right)) => Some(format!("{left}{right}")),
        None => {
            // A letter is shorter than the name of a key.
            let short = |keys: &[Key]| {
                keys.iter()
                    .map(|key| key_glyph(*key, ascii))
                    .min_by_key(String::len)
            };
            Some(format!("{} {}", short(first)?, short(second)?))
        }
    }
}

impl App {
    /// Returns whether an action of the footer does something now.
    pub(super) fn can(&self, id: &str) -> bool {
        let Some(row) = binding(id).filter(|row| self.works(row)) else {
            return false;
        };
        let context = self.context();
        let is_of_page =
            row.context != Context::Global || row.is_movement() || row.action == Action::Copy;
        if !is_of_page {
            return true;
        }
        match (self.overlays.last(), context) {
            (Some(top), _) => top.can(&self.overlay_cx(true), row.action),
            // The layout asks for the footer, so its areas must not be asked for here.
            (None, Context::Stream) => self.stream.can(&self.overlay_cx(true), row.action),
            (None, Context::Deployments | Context::Revisions) => {
                self.deployments.can(context, row.action)
            }
            (None, Context::Logs) => self
                .logs
                .as_ref()
                .is_none_or(|logs| logs.can(&self.overlay_cx(true), row.action)),
            _ => true,
        }
    }

    /// Returns the top overlay without the help and the palette.
    pub(super) fn page_under_help(&self) -> Option<&Overlay> {
        self.overlays
            .iter()
            .rev()
            .find(|overlay| !matches!(overlay, Overlay::Help(_) | Overlay::Command(_)))
    }

    /// Returns whether there are panes to give the whole screen to one of them.
    pub(super) fn has_panes(&self) -> bool {
        let (w, h) = self.session.size;
        self.focus != Pane::Stream && w >= WIDE.0 && h >= WIDE.1
    }

    /// Returns the profile that the keys of the top page or list act on, if there is one.
    pub(super) fn profile_of(&self, context: Context) -> Option<&str> {
        if let Some(page) = self.page_under_help() {
            return page.profile();
        }
        match context {
            Context::Stream => self
                .viewer()
                .filter(|viewer| !viewer.is_recording())
                .map(|viewer| &*viewer.server.profile),
            Context::Server => self.agent.server.as_ref().map(|open| &*open.server.profile),
            Context::Deployments | Context::Revisions => self
                .deployments
                .list
                .selected()
                .map(|row| &*row.profile_name),
            _ => None,
        }
    }
}

/// Returns the hints of a stream, which depend on the thread's status, the view, an active search and the scroll position.
fn stream_hints(
    viewer: &Viewer,
    offers: Offers,
    can_act: bool,
    can: &dyn Fn(&str) -> bool,
) -> Vec<Hint> {
    let (kind, view) = (viewer.view().kind(), viewer.view().of());
    let in_tree = kind == EntryKind::Document;
    let is_searching = !(viewer.searched().is_empty() || in_tree && viewer.shows_changes());
    let mut ids = match view.footer_subject(viewer) {
        FooterSubject::View => Vec::new(),
        FooterSubject::Checkpoint { is_head } => checkpoint_hints(is_head, offers, can_act),
        FooterSubject::Thread => thread_hints(viewer, offers, can_act),
    };
    ids.extend(view.hints(viewer));
    ids.retain(|(id, _)| can(id));
    // The keys of an active search or filter are more useful than all but the first of the others.
    let is_filtering = is_searching || !viewer.finding().filter.text().is_empty();
    if is_filtering {
        ids.truncate(MAX_HINTS - 1 - usize::from(is_searching));
    }
    if is_searching && can("stream.next_problem") {
        ids.push(("stream.next_problem", None));
    }
    if is_filtering {
        ids.push(("app.back", Some("clear")));
    }
    let can_follow = viewer.playhead().is_some() || !viewer.follows() && !kind.has_own_cursor();
    if can_follow && viewer.shown_checkpoint().is_none() {
        ids.push(("stream.follow", None));
    }
    if !(is_searching && in_tree) && can("stream.search") {
        ids.push(("stream.search", None));
    }
    ids.truncate(MAX_HINTS);
    ids.extend([("app.command", Some("commands")), ("app.help", None)]);
    ids
}

/// Returns the hints for the thread, or for what is shown in its place.
fn thread_hints(viewer: &Viewer, offers: Offers, can_act: bool) -> Vec<Hint> {
    if viewer.is_recording() {
        // There is no server to act on.
        let has_events = viewer.event_log.first_seq().is_some();
        return has_events
            .then_some(("stream.again", Some("play")))
            .into_iter()
            .collect();
    }
    let Some(checkpoint) = viewer.shown_checkpoint() else {
        return status_hints(viewer, offers, can_act);
    };
    // The keys act on the shown checkpoint.
    let mut ids = checkpoint_hints(checkpoint.of.is_head, offers, can_act);
    ids.extend([("stream.details", None), ("stream.follow", None)]);
    ids
}

/// Returns the hints for the actions on a checkpoint. An edit of an older one begins a branch, and a run continues there.
fn checkpoint_hints(is_head: bool, offers: Offers, can_act: bool) -> Vec<Hint> {
    let mut ids = Vec::new();
    if can_act && offers.continues {
        ids.push(("stream.again", Some("run again from here")));
    }
    if can_act && (is_head || offers.continues) {
        ids.push((
            "stream.edit_state",
            (!is_head).then_some("edit state and run"),
        ));
    }
    ids
}

/// Returns the hints for the thread's status, as far as its server offers them.
fn status_hints(viewer: &Viewer, offers: Offers, can_act: bool) -> Vec<Hint> {
    let explain = ("stream.explain", None);
    let can_continue = can_act && offers.continues;
    match viewer.thread_status() {
        ThreadStatus::Failed { .. } if can_act => match viewer.again_label(offers) {
            Some(label) => vec![explain, ("stream.again", Some(label))],
            None => vec![explain, ("stream.new_run", None)],
        },
        ThreadStatus::Waiting { questions, .. } if can_act => {
            let all = if questions.len() > 1 {
                "approve all"
            } else {
                "approve"
            };
            let approve = questions
                .iter()
                .all(Question::can_be_approved)
                .then_some(("stream.approve", Some(all)));
            [("stream.answer", None)]
                .into_iter()
                .chain(approve)
                .collect()
        }
        ThreadStatus::Paused { .. } | ThreadStatus::Stopped { .. } if can_continue => {
            vec![explain, ("stream.answer", Some("continue"))]
        }
        ThreadStatus::Paused { .. } | ThreadStatus::Stopped { .. } if can_act => {
            vec![explain, ("stream.new_run", None)]
        }
        ThreadStatus::Running { .. } | ThreadStatus::Queued { .. } if can_act && offers.cancels => {
            vec![("stream.cancel", None)]
        }
        ThreadStatus::Cancelled { next, .. } | ThreadStatus::Edited { next, .. }
            if can_continue && !next.is_empty() =>
        {
            vec![explain, ("stream.answer", Some("continue"))]
        }
        ThreadStatus::Idle { .. }
        | ThreadStatus::Cancelled { .. }
        | ThreadStatus::Edited { .. }
            if can_act =>
        {
            vec![("stream.new_run", None), ("stream.details", None)]
        }
        ThreadStatus::Loading => Vec::new(),
        _ => vec![explain],
    }
}
