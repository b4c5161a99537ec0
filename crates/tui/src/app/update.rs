//! How the state changes: one message, its time, and the effects that follow. Nothing else changes it.

use super::act::{act_card, act_deployments, act_inspector, act_logs, act_revisions, act_server};
use super::act_stream::act_stream;
use super::keys::{Action, Context};
use super::mouse::{click, drag, wheel};
use super::msg::{Answer, Described, Done, Effect, Msg, SubKey};
use super::press::{paste, press};
use super::scroll::Place;
use super::server::Tab;
use super::viewer::{LinkState, View, Viewer};
use super::work::Part;
use super::{App, Overlay, Page, Pane};
use jiff::Timestamp;
use runtail_api::Kind;

/// Most bytes that are offered to the clipboard: terminals drop longer sequences in silence.
const COPY_CAP: usize = 74_000;
/// So many times what one tape may take is what all of them together may.
const TAPES: u64 = 2;

/// Takes a message.
///
/// Data that comes is only taken in: laying it out waits for [`App::settle`], which a frame or the next key asks for, so a
/// fast stream costs one layout a frame and not one a batch.
pub fn update(app: &mut App, at: Timestamp, msg: Msg) -> Vec<Effect> {
    let mut effects = happen(app, at, msg);
    effects.extend(app.record_on());
    effects
}

fn happen(app: &mut App, at: Timestamp, msg: Msg) -> Vec<Effect> {
    app.now = at;
    if !matches!(msg, Msg::Answer { .. }) {
        app.settle();
    }
    let effects = match msg {
        Msg::Answer { key, epoch, answer } => {
            return if wanted(app, &key, epoch) { take(app, key, answer) } else { Vec::new() };
        }
        Msg::Key(key) => press(app, key),
        Msg::Paste(text) => paste(app, &text),
        Msg::Resize(w, h) => {
            app.size = (w, h);
            // What stood still had another size.
            app.frozen = false;
            Vec::new()
        }
        Msg::Wheel { .. } | Msg::Click { .. } | Msg::Drag { .. } if app.frozen => Vec::new(),
        Msg::Wheel { lines, x, y } => wheel(app, lines, x, y),
        Msg::Click { x, y } => click(app, x, y),
        Msg::Drag { x, .. } => drag(app, x),
        Msg::Tick => {
            app.refresh_why();
            Vec::new()
        }
        Msg::Focus(attended) => {
            app.attended = attended;
            Vec::new()
        }
        Msg::Edited(text) => {
            match (text, app.overlays.last_mut()) {
                (Ok(text), Some(Overlay::Edit(editor))) => editor.set_text(&text),
                (Ok(text), Some(Overlay::Answer(card))) => card.set_text(&text),
                (Ok(_), _) => {}
                (Err(why), _) => app.notify(true, why),
            }
            Vec::new()
        }
        Msg::Done { since, done } if app.stands(done.profile(), since) => take_done(app, done),
        // What was changed is told, but there is nothing to be followed any more.
        Msg::Done { done: Done::Sent(_, Ok(made)), .. } => {
            app.notify(false, format!("{} Its profile leads elsewhere by now: no more is seen of it.", made.said));
            Vec::new()
        }
        Msg::Done { .. } => Vec::new(),
        Msg::TaskPanicked { key, text } => {
            match key {
                Some(SubKey::Stream(id)) => {
                    if let Some(viewer) = app.streams.get_mut(id) {
                        viewer.broke_off(&text);
                    }
                }
                Some(SubKey::Doctor(number)) => app.take_check(number, None),
                Some(SubKey::Work(number)) => app.take_part(number, &Part::Failed),
                _ => {}
            }
            app.notify(
                true,
                format!("A background task failed and was stopped: {text}. The rest goes on; r asks again."),
            );
            Vec::new()
        }
        Msg::Configured(read) => app.reconfigure(read),
    };
    app.settle();
    effects
}

/// Whether an answer is to a subscription that still stands, in the start that is wanted now.
fn wanted(app: &App, key: &SubKey, epoch: u64) -> bool {
    super::subscriptions::is_needed(app, key, epoch)
}

fn take(app: &mut App, key: SubKey, answer: Answer) -> Vec<Effect> {
    let at = app.now;
    match (key, answer) {
        (SubKey::Deployments(profile), Answer::Page(deployments)) => app.take_page(&profile, deployments),
        (SubKey::Deployments(profile), Answer::Deployments { result, torn, skew, next }) => {
            app.take_list(&profile, result, torn, (skew, next))
        }
        (SubKey::Newest(profile), Answer::Newest { deployment, revision }) => {
            let row = format!("{profile}/{deployment}");
            match revision {
                Ok(revision) => {
                    if app.fleet.take_status(&row, revision.clone()) {
                        app.check_overtaken(&profile, &deployment, &revision);
                    }
                }
                Err(error) => {
                    app.heed(&error);
                    app.fleet.newest_failed(&row, error);
                }
            }
        }
        (SubKey::Revisions(profile, deployment), Answer::Revisions(result, next)) => {
            let id = format!("{profile}/{deployment}");
            let skew = app.profiles.iter().find(|p| p.name == profile).map(|p| p.skew).unwrap_or_default();
            let history = app.histories.entry(id.clone()).or_default();
            let error = result.as_ref().err().cloned();
            let newest = result.as_ref().ok().and_then(|r| r.items.first()).cloned();
            history.take(result, next, at, skew);
            super::history::make_room(&mut app.histories, &id);
            if let Some(newest) = newest
                && app.fleet.take_newest(&id, newest.clone())
            {
                app.check_overtaken(&profile, &deployment, &newest);
            }
            if let Some(error) = error {
                app.heed(&error);
            }
        }
        (SubKey::Watch(of), Answer::Watched(result, next)) => {
            if let Err(error) = &result {
                app.heed(error);
            }
            return app.take_watched(of, result, next);
        }
        (SubKey::Vanish(profile, id), Answer::Vanishing(result, next)) => {
            return app.take_vanishing(profile, id, result, next);
        }
        (SubKey::Log(number, source), Answer::Lines { lines, incomplete }) => {
            let Some(logs) = app.logs.as_mut().filter(|l| l.number == number) else { return Vec::new() };
            let error = lines.as_ref().err().cloned();
            logs.take(source, lines, at);
            logs.note_incomplete(source, incomplete);
            if let Some(error) = error {
                app.heed(&error);
            }
        }
        (SubKey::Threads(_), Answer::Threads(result)) => {
            if let Some(server) = &mut app.server {
                server.take_threads(result, at);
            }
        }
        (SubKey::ThreadStatuses(_), Answer::ThreadStatus { of, status }) => {
            if let (Some(server), Ok(status)) = (&mut app.server, status) {
                server.statuses.insert(of.thread, (of.facts, status));
            }
        }
        (SubKey::Runs(..), Answer::Runs(result)) => {
            if let Some(server) = &mut app.server {
                server.runs.take(result, at);
            }
        }
        (SubKey::Wait(number), Answer::WaitTrouble(error)) => app.take_wait_trouble(number, error),
        (SubKey::Wait(number), Answer::Waited(result)) => app.take_waited(number, result),
        (SubKey::Stream(id), Answer::Items(items)) => {
            if let Some(viewer) = app.streams.get_mut(id) {
                viewer.take(items);
                if let Some(why) = viewer.modes.refusal() {
                    app.notify(true, format!("The modes stay as they were: {why}."));
                }
                let most = app.settings.tape.max_bytes.saturating_mul(TAPES);
                app.streams.keep_within(usize::try_from(most).unwrap_or(usize::MAX));
            }
        }
        (SubKey::Work(number), Answer::Worked(part)) => app.take_part(number, &part),
        (SubKey::Doctor(number), Answer::Checked(check)) => app.take_check(number, check.map(|check| *check)),
        _ => {}
    }
    Vec::new()
}

fn take_done(app: &mut App, done: Done) -> Vec<Effect> {
    let at = app.now;
    match done {
        Done::Info(server, result) => app.infos.entry(server).or_default().take(result, at),
        Done::Assistants(from, result) => {
            let Some(server) = app.server.as_mut().filter(|s| s.server == from) else { return Vec::new() };
            server.assistants.take(result, at);
            let known = server.assistants.value.clone().unwrap_or_default();
            if let Some(Overlay::Compose(composer)) = app.overlays.last_mut()
                && composer.server == from
                && composer.assistants.is_empty()
            {
                composer.offer(&known);
            }
        }
        Done::Browsed(number, result) => app.take_browsed(number, result),
        Done::Authenticated(number, result) => app.take_authenticated(number, result),
        Done::Found(number, source, result) => return app.on_found(number, source, result),
        Done::FileStepped(number, result) => return app.take_written(number, result),
        Done::LinkNotOpened(link, why) => return app.on_link_not_opened(link, &why),
        // The page comes over what one does now, so only who still waits for it gets it.
        Done::Described(what, _) if app.describing.as_ref() != Some(&what) => {}
        Done::Described(what, result) => {
            app.describing = None;
            match result {
                Ok(record) => app.inspect(what.title(), record),
                Err(error) => {
                    // What an agent server says is no word of the control plane.
                    if !matches!(what, Described::Thread(..)) {
                        app.heed(&error);
                    }
                    if let (Described::Deployment(profile, id, _), Kind::NotFound) = (&what, &error.kind) {
                        app.fleet.mark_gone(&format!("{profile}/{id}"));
                    }
                    let title = what.title();
                    let gone = format!("{title} is gone: it was deleted since it was listed.\n{}", error.story());
                    app.notify(true, if error.kind == Kind::NotFound { gone } else { error.story() });
                }
            }
        }
        Done::Card(of, card) => {
            if let Err(error) = &card {
                app.heed(error);
            }
            for overlay in &mut app.overlays {
                if let Overlay::Page(Page::Explain(explained), _) = overlay
                    && explained.of == of
                {
                    explained.card = Some(card);
                    break;
                }
            }
        }
        Done::Written(profile, id, name, document) => app.take_document(profile, id, name, document),
        Done::Planned(number, planned) => return app.take_planned(number, planned),
        Done::Sent(number, sent) => return app.take_sent(number, sent),
        Done::PlannedAction(number, planned) => return app.on_planned_action(number, planned),
        Done::Acted(number, thread, result) => return app.on_acted(number, thread, result),
        Done::CancelFollowed(thread, targets) => app.on_cancel_followed(&thread, &targets),
        Done::ThreadLoaded(number, loaded) => return app.on_thread_loaded(number, loaded),
        Done::Journal(entries) => app.take_journal(entries),
        Done::Tried(number, result) => return app.tried(number, result),
        Done::Drafted(draft) => app.take_draft(draft),
        Done::Saved(result) => app.take_saved(result),
    }
    Vec::new()
}

pub(super) fn act(app: &mut App, context: Context, action: Action) -> Vec<Effect> {
    let page = app.page();
    match action {
        Action::QuitNow => app.quit = true,
        Action::Quit | Action::Back => back(app, action == Action::Quit),
        Action::Help => {
            if !matches!(app.overlays.last(), Some(Overlay::Page(Page::Help, _))) {
                app.overlays.push(Overlay::Page(Page::Help, Place::at_start()));
            }
        }
        Action::Notices => {
            if !matches!(app.overlays.last(), Some(Overlay::Page(Page::Notices, _))) {
                app.overlays.push(Overlay::Page(Page::Notices, Place::at_start()));
            }
        }
        Action::Profiles => app.open_profiles(),
        Action::NextPane if app.overlays.is_empty() && !other_half(app, true) => turn(app, 1),
        Action::PrevPane if app.overlays.is_empty() && !other_half(app, false) => turn(app, 2),
        Action::NextStream if app.overlays.is_empty() => app.turn_streams(true),
        Action::PrevStream if app.overlays.is_empty() => app.turn_streams(false),
        Action::Zoom if app.overlays.is_empty() => app.zoom = !app.zoom,
        Action::Command => app.open_palette(),
        Action::Suspend => return vec![Effect::Suspend],
        Action::Redraw => return vec![Effect::Redraw],
        Action::Freeze => app.frozen = !app.frozen,
        Action::Copy => return copy(app),
        Action::CopyPath => return copy_path(app),
        Action::Up => go(app, context, -1, false),
        Action::Down => go(app, context, 1, false),
        Action::PageUp => go(app, context, -page, true),
        Action::PageDown => go(app, context, page, true),
        Action::HalfUp => go(app, context, -(page / 2).max(1), true),
        Action::HalfDown => go(app, context, (page / 2).max(1), true),
        Action::Top => to_edge(app, context, true),
        Action::Bottom | Action::Follow => to_edge(app, context, false),
        Action::Refresh if context == Context::Journal => return vec![Effect::ReadJournal],
        Action::Refresh if context == Context::Browse => return app.reread_browse(),
        Action::Refresh => return refresh(app),
        Action::Filter if app.overlays.is_empty() || matches!(context, Context::Inspector | Context::Browse) => {
            app.begin_typing()
        }
        _ => match context {
            Context::Deployments => return act_deployments(app, action),
            Context::Revisions => return act_revisions(app, action),
            Context::Logs => act_logs(app, action),
            Context::Card => return act_card(app, action),
            Context::Why => return app.act_why(action),
            Context::Server => return act_server(app, action),
            Context::Stream => return act_stream(app, action),
            Context::Inspector => act_inspector(app, action),
            Context::Profiles => return app.act_profiles(action),
            Context::Browse => return app.act_browse(action),
            Context::Request | Context::SignIn => return app.act_sign_in(action),
            Context::FirstRun => return app.act_first_run(action),
            Context::Modes => return app.act_modes(action),
            Context::Save if action == Action::Send => return app.save_draft(),
            Context::Journal | Context::Entry => return app.act_journal(context, action),
            Context::Page
            | Context::Answer
            | Context::Composer
            | Context::Editor
            | Context::Confirm
            | Context::Command
            | Context::Save
            | Context::Global => {}
        },
    }
    Vec::new()
}

/// In a stream of which two views are shown, the other one comes before the next pane.
fn other_half(app: &mut App, forward: bool) -> bool {
    let here = app.focus == Pane::Stream && app.logs.is_none();
    here && app.viewer_mut().is_some_and(|viewer| viewer.other_half(forward))
}

/// Goes on by panes; one in which nothing was opened is passed over.
fn turn(app: &mut App, by: usize) {
    let panes = [Pane::Deployments, Pane::Revisions, Pane::Stream];
    let mut at = panes.iter().position(|p| *p == app.focus).unwrap_or(0);
    loop {
        at = (at + by) % panes.len();
        if panes[at] != Pane::Stream || app.has_stream_pane() {
            app.focus = panes[at];
            return;
        }
    }
}

/// One step back: an overlay, a filter, the stream, the runs, the pane, the zoom. Only `q` leaves from the deployments.
fn back(app: &mut App, quit: bool) {
    if let Some(Overlay::Browse(browse)) = app.overlays.last_mut()
        && !browse.filter.is_empty()
    {
        return browse.filter.clear();
    }
    // There is nothing behind it.
    if let Some(Overlay::FirstRun(_)) = app.overlays.last() {
        app.quit = quit;
        return;
    }
    if app.overlays.pop().is_some() {
        return;
    }
    match app.focus {
        Pane::Stream => {
            if let Some(logs) = &mut app.logs {
                if !logs.filter().text().is_empty() {
                    return logs.set_filter("");
                }
                app.logs = None;
                // Where one came from: an agent server, or the deployments.
                if app.streams.shown().is_none() && app.server.is_none() {
                    app.focus = Pane::Deployments;
                }
                return;
            }
            if app.streams.shown_mut().is_some_and(Viewer::clear_find) {
                return;
            }
            if let Some(viewer) = app.streams.shown() {
                // Back to the list, on the thread that one comes from. Esc leaves the stream in its tab, q closes it.
                if let (Some(server), Some(thread)) = (&mut app.server, viewer.thread_id.clone()) {
                    server.thread_picker.wish(thread);
                }
                if quit {
                    app.streams.close();
                }
                app.streams.hide();
                // A stream of another server lies over no list.
                if app.server.is_none() {
                    app.focus = Pane::Deployments;
                }
                return;
            }
            if let Some(server) = &mut app.server {
                if !server.filter.is_empty() {
                    return server.filter.clear();
                }
                if server.tab != Tab::Threads {
                    server.show(Tab::Threads);
                    return;
                }
            }
            app.focus = Pane::Deployments;
        }
        Pane::Revisions => app.focus = Pane::Deployments,
        Pane::Deployments if !app.fleet.filter().text().is_empty() => drop(app.fleet.set_filter("")),
        Pane::Deployments if !app.fleet.marked.is_empty() => app.fleet.marked.clear(),
        Pane::Deployments if app.zoom => app.zoom = false,
        // The list of threads goes, and the fleet has the room again. A stream is only left from its own pane.
        Pane::Deployments if !quit && app.viewer().is_none() && app.logs.is_none() => app.server = None,
        Pane::Deployments => app.quit = quit,
    }
}

fn refresh(app: &mut App) -> Vec<Effect> {
    // A key that is held down asks once.
    let soon = |last: Timestamp| app.now.duration_since(last).abs() < jiff::SignedDuration::from_secs(1);
    if app.refreshed_at.is_some_and(soon) {
        return Vec::new();
    }
    app.refreshed_at = Some(app.now);
    if let Some(viewer) = app.streams.shown_mut() {
        viewer.refreshes += 1;
    }
    app.begin_again();
    app.profiles.iter_mut().for_each(|p| p.halted = false);
    // Lines that are there would come again.
    app.reread_logs(|_| {});
    let mut effects: Vec<Effect> = app.infos.keys().cloned().map(Effect::FetchInfo).collect();
    if let Some(server) = &app.server {
        effects.push(Effect::FetchAssistants(server.server.clone()));
    }
    app.notify(false, "Asking again.");
    // Nothing else connects again after a failure. What was received stays: `:reopen` drops it.
    let is_lost = |viewer: &Viewer| matches!(viewer.link, LinkState::Failed(_)) && viewer.has_only_snapshots();
    if app.viewer().is_some_and(is_lost) {
        app.reopen();
    }
    effects
}

pub(super) fn go(app: &mut App, context: Context, lines: isize, whole_window: bool) {
    let (deployments, revisions, rows) = app.list_heights();
    match context {
        Context::Deployments => {
            app.fleet.step(deployments, lines);
        }
        Context::Revisions => {
            let ids = app.revision_ids();
            app.revision_picker.step(&ids, revisions, lines);
        }
        Context::Server => {
            if let Some(server) = &mut app.server {
                let ids = server.shown_ids();
                server.picker().step(&ids, rows, lines);
            }
        }
        Context::Stream => {
            if let Some(viewer) = app.viewer_mut() {
                viewer.step(lines, whole_window);
            }
        }
        Context::Inspector => {
            let height = app.overlay_area().h as usize;
            if let Some(Overlay::Inspect { tree, .. }) = app.overlays.last_mut() {
                let mut place = tree.place;
                if whole_window {
                    place.page(&**tree, height, lines)
                } else {
                    place.step(&**tree, height, lines)
                }
                tree.place = place;
            }
        }
        Context::Logs => {
            if let Some(logs) = &mut app.logs {
                let flat = logs.rows();
                if whole_window { logs.place.page(&flat, rows, lines) } else { logs.place.step(&flat, rows, lines) }
            }
        }
        Context::Browse => {
            let height = app.overlay_rows().h as usize;
            if let Some(Overlay::Browse(browse)) = app.overlays.last_mut() {
                let ids = browse.ids();
                browse.picker.step(&ids, height, lines);
            }
        }
        // A page has no cursor to see, so a step moves the window.
        Context::Page
        | Context::Card
        | Context::Why
        | Context::Entry
        | Context::Request
        | Context::SignIn
        | Context::Save => app.move_page(|place, rows, height| place.page(rows, height, lines)),
        Context::Confirm => app.move_confirm(|place, rows, height| place.page(rows, height, lines)),
        Context::Journal => {
            let height = app.overlay_area().h as usize;
            if let Some(Overlay::Journal(journal)) = app.overlays.last_mut() {
                let ids = journal.ids();
                journal.picker.step(&ids, height, lines);
            }
        }
        Context::Profiles => app.step_profiles(lines),
        Context::FirstRun => app.step_first_run(lines),
        Context::Modes => app.step_modes(lines),
        Context::Composer | Context::Editor | Context::Answer | Context::Command | Context::Global => {}
    }
}

fn to_edge(app: &mut App, context: Context, start: bool) {
    match context {
        Context::Stream => {
            if let Some(viewer) = app.viewer_mut() {
                if start { viewer.to_start() } else { viewer.follow() }
            }
        }
        Context::Inspector => {
            let height = app.overlay_area().h as usize;
            if let Some(Overlay::Inspect { tree, .. }) = app.overlays.last_mut() {
                let mut place = tree.place;
                if start {
                    place.to_start(&**tree, height)
                } else {
                    place.to_end(&**tree, height, false)
                }
                tree.place = place;
            }
        }
        Context::Logs => {
            let height = app.list_heights().2;
            if let Some(logs) = &mut app.logs {
                let flat = logs.rows();
                if start { logs.place.to_start(&flat, height) } else { logs.place.to_end(&flat, height, true) }
            }
        }
        Context::Confirm => {
            app.move_confirm(
                |place, rows, height| {
                    if start { place.to_start(rows, height) } else { place.to_end(rows, height, false) }
                },
            )
        }
        Context::Page
        | Context::Card
        | Context::Why
        | Context::Entry
        | Context::Request
        | Context::SignIn
        | Context::Save => {
            app.move_page(
                |place, rows, height| {
                    if start { place.to_start(rows, height) } else { place.to_end(rows, height, false) }
                },
            )
        }
        _ => go(app, context, if start { isize::MIN / 2 } else { isize::MAX / 2 }, false),
    }
}

fn copy(app: &mut App) -> Vec<Effect> {
    let text = match (app.overlays.last(), app.focus) {
        // The error of a thread that failed, while no other entry was chosen.
        (None, Pane::Stream) if app.logs.is_none() && app.viewer().is_some_and(Viewer::offers_error) => {
            app.viewer().and_then(|viewer| viewer.thread_status().error()).map(str::to_string)
        }
        (Some(Overlay::Inspect { tree, .. }), _) => tree.value_under_cursor(),
        (Some(Overlay::Browse(browse)), _) => browse.copied(),
        (Some(Overlay::SignIn(sign_in)), _) => sign_in.link().or(sign_in.auth_id()).map(str::to_string),
        (Some(_), _) => None,
        (None, Pane::Deployments) => app.fleet.selected().map(|r| match &r.deployment {
            Some(d) => d.id.clone(),
            None => r.url.clone().unwrap_or_default(),
        }),
        (None, Pane::Revisions) => app.revision_picker.selected.clone(),
        (None, Pane::Stream) if app.logs.is_some() => {
            app.logs.as_ref().and_then(|l| l.under_cursor()).map(|e| e.line.message.to_string())
        }
        (None, Pane::Stream) => match (app.streams.shown(), &mut app.server) {
            (Some(viewer), _) => viewer.copy_text(),
            (None, Some(server)) => server.picker().selected.clone(),
            (None, None) => None,
        },
    };
    text.map(|text| offer(app, &text)).unwrap_or_default()
}

fn copy_path(app: &mut App) -> Vec<Effect> {
    let path = match app.overlays.last() {
        Some(Overlay::Inspect { tree, .. }) => tree.path_under_cursor(),
        Some(_) => None,
        None => {
            app.viewer().filter(|viewer| viewer.view() == View::State).and_then(|viewer| viewer.path_under_cursor())
        }
    };
    path.map(|path| offer(app, &path)).unwrap_or_default()
}

/// Offers a text to the clipboard, as much of it as terminals take.
fn offer(app: &mut App, text: &str) -> Vec<Effect> {
    let text = &*runtail_core::text::keys::without(text);
    let all = runtail_core::text::bytes(text.len() as u64);
    let offered = runtail_core::text::head(text, COPY_CAP);
    let said = match offered.len() == text.len() {
        true => format!("Copied {} ({all}) to the clipboard by OSC 52.", runtail_core::text::short_id(text)),
        false => {
            format!(
                "Copied the first {} of {all}: terminals take no more.",
                runtail_core::text::bytes(offered.len() as u64)
            )
        }
    };
    app.notify(false, said);
    // It will be pasted, perhaps into a shell.
    vec![Effect::Copy(runtail_core::text::clean_lines(offered).into_owned())]
}

/// Whether an answer says that nobody may ask again until somebody acts.
pub fn stops_polling(error: &runtail_api::ApiError) -> bool {
    matches!(error.kind, Kind::Unauthorized | Kind::Forbidden | Kind::Refused)
}
