//! How the state changes: one message, its time, and the effects that follow. Nothing else changes it.

use super::composer::{Composer, Origin};
use super::key::{Code, Key};
use super::keys::{Action, Context};
use super::msg::{Answer, Done, Effect, Msg, NextPoll, StreamTarget, SubKey};
use super::scroll::Place;
use super::server::Tab;
use super::viewer::{VIEWS, View};
use super::{App, Overlay, Pane};
use crate::api::Kind;
use jiff::Timestamp;

/// Takes a message.
pub fn update(app: &mut App, at: Timestamp, msg: Msg) -> Vec<Effect> {
    app.now = app.now.max(at);
    let effects = match msg {
        Msg::Key(key) => press(app, key),
        Msg::Paste(text) => paste(app, &text),
        Msg::Resize(w, h) => {
            app.size = (w, h);
            Vec::new()
        }
        Msg::Wheel { lines, x, y } => wheel(app, lines, x, y),
        Msg::Click { x, y } => click(app, x, y),
        Msg::Tick => Vec::new(),
        Msg::Answer { key, epoch, answer } => {
            if wanted(app, &key, epoch) {
                take(app, key, answer);
            }
            Vec::new()
        }
        Msg::Done(done) => {
            take_done(app, done);
            Vec::new()
        }
        Msg::TaskPanicked(what) => {
            app.notify(true, format!("A background task failed and was stopped: {what}. The rest goes on."));
            Vec::new()
        }
        Msg::Notice { error, text } => {
            app.notify(error, text);
            Vec::new()
        }
    };
    app.settle();
    effects
}

/// Whether an answer is to a subscription that still stands, in the start that is wanted now.
fn wanted(app: &App, key: &SubKey, epoch: u64) -> bool {
    super::subscriptions(app).iter().any(|s| &s.key == key && s.epoch == epoch)
}

fn take(app: &mut App, key: SubKey, answer: Answer) {
    let at = app.now;
    match (key, answer) {
        (SubKey::Deployments(profile), Answer::Deployments(result, next)) => {
            let Some(number) = app.profiles.iter().position(|p| p.name == profile) else { return };
            let state = &mut app.profiles[number];
            state.next_poll = next;
            match result {
                Ok(deployments) => {
                    (state.error, state.loaded_at) = (None, Some(at));
                    app.fleet.replace(number, &profile, deployments);
                }
                Err(error) => {
                    // Said once, not at each poll.
                    let news = state.error.as_ref().is_none_or(|old| old.kind != error.kind);
                    state.error = Some(error.clone());
                    if news {
                        app.notify(true, error.to_string());
                    }
                }
            }
        }
        (SubKey::Deployments(profile), Answer::Newest { deployment, revision }) => {
            app.fleet.newest.insert(format!("{profile}/{deployment}"), revision);
        }
        (SubKey::Revisions(profile, deployment), Answer::Revisions(result, next)) => {
            let id = format!("{profile}/{deployment}");
            let history = app.histories.entry(id.clone()).or_default();
            history.next_poll = Some(next);
            match result {
                Ok(revisions) => {
                    history.error = None;
                    if let Some(newest) = revisions.first() {
                        app.fleet.newest.insert(id, newest.clone());
                    }
                    history.take(revisions, at);
                }
                Err(error) => history.error = Some(error),
            }
        }
        (SubKey::Threads(_), Answer::Threads(result, _)) => {
            if let Some(server) = &mut app.server {
                server.threads.take(result, at);
            }
        }
        (SubKey::Runs(..), Answer::Runs(result, _)) => {
            if let Some(server) = &mut app.server {
                server.runs.take(result, at);
            }
        }
        (SubKey::Stream(id), Answer::Items(items)) => {
            if let Some(viewer) = app.viewer.as_mut().filter(|v| v.id == id) {
                viewer.take(items);
            }
        }
        _ => {}
    }
}

fn take_done(app: &mut App, done: Done) {
    let at = app.now;
    match done {
        Done::Info(server, result) => app.infos.entry(server).or_default().take(result, at),
        Done::Assistants(from, result) => {
            let Some(server) = app.server.as_mut().filter(|s| s.server == from) else { return };
            server.assistants.take(result, at);
            let known = server.assistants.value.clone().unwrap_or_default();
            if let Some(Overlay::Compose(composer)) = app.overlays.last_mut()
                && composer.server == from
                && composer.assistants.is_empty()
            {
                composer.assistants = Composer::new(from, &known, Origin::default()).assistants;
            }
        }
        Done::Thread(_, result) => match result {
            Ok(thread) => {
                let title = format!("thread {}", crate::text::short_id(&thread.thread_id));
                app.inspect_record(title, &thread);
            }
            Err(error) => app.notify(true, error.to_string()),
        },
    }
}

fn press(app: &mut App, key: Key) -> Vec<Effect> {
    let context = app.context();
    if app.filtering {
        return filter_key(app, key);
    }
    if context == Context::Composer {
        return composer_key(app, key);
    }
    match app.keymap.action(context, key) {
        Some(action) => act(app, context, action),
        None => Vec::new(),
    }
}

fn composer_key(app: &mut App, key: Key) -> Vec<Effect> {
    // Only the composer's own keys, and those that no text field wants.
    let action = app.keymap.action(Context::Composer, key);
    match action {
        Some(Action::Start) => app.start_composed(),
        Some(Action::Back) => {
            if let Some(Overlay::Compose(composer)) = app.overlays.pop() {
                app.draft = Some(*composer);
            }
        }
        Some(Action::NextField | Action::PrevField) => {
            if let Some(Overlay::Compose(composer)) = app.overlays.last_mut() {
                composer.next_field(if action == Some(Action::NextField) { 1 } else { -1 });
            }
        }
        Some(Action::QuitNow) => app.quit = true,
        Some(Action::Suspend) => return vec![Effect::Suspend],
        Some(Action::Redraw) => return vec![Effect::Redraw],
        _ => {
            let start = match app.overlays.last_mut() {
                Some(Overlay::Compose(composer)) => composer.key(key),
                _ => false,
            };
            if start {
                app.start_composed();
            }
        }
    }
    Vec::new()
}

fn filter_key(app: &mut App, key: Key) -> Vec<Effect> {
    let filter = match (app.focus, &mut app.server) {
        (Pane::Stream, Some(server)) => &mut server.filter,
        _ => &mut app.fleet.filter,
    };
    match key.code {
        Code::Enter | Code::Tab | Code::Down => app.filtering = false,
        Code::Esc => {
            filter.clear();
            app.filtering = false;
        }
        Code::Backspace => {
            filter.pop();
        }
        Code::Char('u') if key.ctrl => filter.clear(),
        Code::Char('c') if key.ctrl => app.quit = true,
        _ => filter.extend(key.text()),
    }
    Vec::new()
}

fn paste(app: &mut App, text: &str) -> Vec<Effect> {
    if app.filtering {
        let line: String = text.lines().next().unwrap_or("").to_string();
        match (app.focus, &mut app.server) {
            (Pane::Stream, Some(server)) => server.filter.push_str(&line),
            _ => app.fleet.filter.push_str(&line),
        }
    } else if let Some(Overlay::Compose(composer)) = app.overlays.last_mut() {
        composer.paste(text);
    }
    Vec::new()
}

fn act(app: &mut App, context: Context, action: Action) -> Vec<Effect> {
    let page = app.page();
    match action {
        Action::QuitNow => app.quit = true,
        Action::Quit | Action::Back => back(app, action == Action::Quit),
        Action::Help => {
            if !matches!(app.overlays.last(), Some(Overlay::Help(_))) {
                app.overlays.push(Overlay::Help(Place::at_start()));
            }
        }
        Action::Notices => {
            if !matches!(app.overlays.last(), Some(Overlay::Notices(_))) {
                app.overlays.push(Overlay::Notices(Place::at_start()));
            }
        }
        Action::NextPane if app.overlays.is_empty() => app.focus = turn(app.focus, 1),
        Action::PrevPane if app.overlays.is_empty() => app.focus = turn(app.focus, 2),
        Action::Zoom if app.overlays.is_empty() => app.zoom = !app.zoom,
        Action::Suspend => return vec![Effect::Suspend],
        Action::Redraw => return vec![Effect::Redraw],
        Action::Copy => return copy(app),
        Action::Up => go(app, context, -1, false),
        Action::Down => go(app, context, 1, false),
        Action::PageUp => go(app, context, -page, true),
        Action::PageDown => go(app, context, page, true),
        Action::HalfUp => go(app, context, -(page / 2).max(1), true),
        Action::HalfDown => go(app, context, (page / 2).max(1), true),
        Action::Top => to_edge(app, context, true),
        Action::Bottom | Action::Follow => to_edge(app, context, false),
        Action::Refresh => return refresh(app),
        Action::Filter => app.filtering = app.overlays.is_empty(),
        _ => match context {
            Context::Deployments => return act_deployments(app, action),
            Context::Revisions => act_revisions(app, action),
            Context::Server => return act_server(app, action),
            Context::Stream => return act_stream(app, action),
            Context::Inspector => act_inspector(app, action),
            Context::Page | Context::Composer | Context::Global => {}
        },
    }
    Vec::new()
}

fn turn(pane: Pane, by: usize) -> Pane {
    let panes = [Pane::Deployments, Pane::Revisions, Pane::Stream];
    let at = panes.iter().position(|p| *p == pane).unwrap_or(0);
    panes[(at + by) % panes.len()]
}

/// One step back: an overlay, a filter, the stream, the runs, the pane, the zoom. Only `q` leaves from the deployments.
fn back(app: &mut App, quit: bool) {
    if app.overlays.pop().is_some() {
        return;
    }
    match app.focus {
        Pane::Stream => {
            if let Some(viewer) = app.viewer.take() {
                // Back to the list, on the thread that one comes from.
                if let (Some(server), Some(thread)) = (&mut app.server, viewer.thread_id) {
                    server.thread_picker.selected = Some(thread);
                }
                return;
            }
            if let Some(server) = &mut app.server {
                if !server.filter.is_empty() {
                    return server.filter.clear();
                }
                if server.tab != Tab::Threads {
                    server.tab = Tab::Threads;
                    return;
                }
            }
            app.focus = Pane::Deployments;
        }
        Pane::Revisions => app.focus = Pane::Deployments,
        Pane::Deployments if !app.fleet.filter.is_empty() => app.fleet.filter.clear(),
        Pane::Deployments if app.zoom => app.zoom = false,
        Pane::Deployments => app.quit = quit,
    }
}

fn refresh(app: &mut App) -> Vec<Effect> {
    app.epoch += 1;
    for profile in &mut app.profiles {
        profile.next_poll = None;
    }
    let mut effects: Vec<Effect> = app.infos.keys().cloned().map(Effect::FetchInfo).collect();
    if let Some(server) = &app.server {
        effects.push(Effect::FetchAssistants(server.server.clone()));
    }
    app.notify(false, "Asking again.");
    effects
}

fn go(app: &mut App, context: Context, lines: isize, whole_window: bool) {
    let (deployments, revisions, rows) = app.list_heights();
    match context {
        Context::Deployments => {
            let ids = app.fleet.shown_ids();
            app.fleet.picker.step(&ids, deployments, lines);
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
            if let Some(viewer) = &mut app.viewer {
                viewer.step(lines, whole_window);
            }
        }
        Context::Inspector => {
            let height = app.overlay_area().h as usize;
            if let Some(Overlay::Inspect { tree, .. }) = app.overlays.last_mut() {
                let mut place = tree.place;
                if whole_window { place.page(&**tree, height, lines) } else { place.step(&**tree, height, lines) }
                tree.place = place;
            }
        }
        // A page has no cursor to see, so a step moves the window.
        Context::Page => app.move_page(|place, rows, height| place.page(rows, height, lines)),
        Context::Composer | Context::Global => {}
    }
}

fn to_edge(app: &mut App, context: Context, start: bool) {
    match context {
        Context::Stream => {
            if let Some(viewer) = &mut app.viewer {
                if start { viewer.to_start() } else { viewer.follow() }
            }
        }
        Context::Inspector => {
            let height = app.overlay_area().h as usize;
            if let Some(Overlay::Inspect { tree, .. }) = app.overlays.last_mut() {
                let mut place = tree.place;
                if start { place.to_start(&**tree, height) } else { place.to_end(&**tree, height, false) }
                tree.place = place;
            }
        }
        Context::Page => app.move_page(|place, rows, height| {
            if start { place.to_start(rows, height) } else { place.to_end(rows, height, false) }
        }),
        _ => go(app, context, if start { isize::MIN / 2 } else { isize::MAX / 2 }, false),
    }
}

fn copy(app: &mut App) -> Vec<Effect> {
    let text = match (app.overlays.last(), app.focus) {
        (Some(Overlay::Inspect { tree, .. }), _) => tree.value_under_cursor(),
        (Some(_), _) => None,
        (None, Pane::Deployments) => app.fleet.selected().map(|r| match &r.deployment {
            Some(d) => d.id.clone(),
            None => r.url.clone().unwrap_or_default(),
        }),
        (None, Pane::Revisions) => app.revision_picker.selected.clone(),
        (None, Pane::Stream) => match (&app.viewer, &mut app.server) {
            (Some(viewer), _) => viewer.copy_text(),
            (None, Some(server)) => server.picker().selected.clone(),
            (None, None) => None,
        },
    };
    match text {
        Some(text) => {
            app.notify(false, format!("Copied {} ({}) to the clipboard by OSC 52.", crate::text::short_id(&text), crate::text::bytes(text.len() as u64)));
            vec![Effect::Copy(text)]
        }
        None => Vec::new(),
    }
}

fn act_deployments(app: &mut App, action: Action) -> Vec<Effect> {
    let Some(row) = app.fleet.selected().cloned() else { return Vec::new() };
    match action {
        Action::Describe => match &row.deployment {
            Some(deployment) => app.inspect_record(format!("deployment {}", row.name), deployment),
            None => {
                let info = row.server(&app.profiles).and_then(|s| app.infos.get(&s)).and_then(|i| i.value.as_ref());
                if let Some(raw) = info.map(|i| i.raw.clone()) {
                    app.inspect_record(format!("agent server {}", row.name), &raw);
                }
            }
        },
        Action::Open | Action::Right | Action::NewRun => {
            let Some(server) = row.server(&app.profiles) else {
                app.notify(true, no_address(&row.name));
                return Vec::new();
            };
            let mut effects = app.open_server(server);
            if action == Action::NewRun {
                effects.extend(app.compose(Origin::default()));
            }
            return effects;
        }
        _ => {}
    }
    Vec::new()
}

fn no_address(name: &str) -> String {
    format!(
        "{name} has no agent server to open: neither `url` nor `source_config.custom_url` is set. \
         It gets one when its first revision is deployed."
    )
}

fn act_revisions(app: &mut App, action: Action) {
    if action != Action::Describe {
        return;
    }
    let selected = app.revision_picker.selected.clone();
    let revision = app.history().and_then(|h| h.revisions.iter().find(|r| Some(&r.id) == selected.as_ref())).cloned();
    if let Some(revision) = revision {
        app.inspect_record(format!("revision {}", crate::text::short_id(&revision.id)), &revision);
    }
}

fn act_server(app: &mut App, action: Action) -> Vec<Effect> {
    let Some(server) = &mut app.server else { return Vec::new() };
    match (action, server.tab) {
        (Action::Threads, _) => server.tab = Tab::Threads,
        (Action::Assistants, _) => server.tab = Tab::Assistants,
        (Action::Runs, Tab::Threads) => {
            if let Some(id) = server.thread_picker.selected.clone() {
                server.runs_of = Some(id);
                server.runs = Default::default();
                server.tab = Tab::Runs;
            }
        }
        (Action::Open | Action::Right, Tab::Threads) => {
            if let Some(id) = server.thread_picker.selected.clone() {
                app.open_stream(StreamTarget::Tail { thread: id });
            }
        }
        (Action::Open | Action::Right, Tab::Runs) => {
            if let (Some(thread), Some(run)) = (server.runs_of.clone(), server.run_picker.selected.clone()) {
                app.open_stream(StreamTarget::Join { thread, run });
            }
        }
        (Action::Open | Action::Right | Action::NewRun, Tab::Assistants) => {
            let assistant = server.assistant_picker.selected.clone();
            return app.compose(Origin { assistant, ..Origin::default() });
        }
        (Action::NewRun, Tab::Threads) => {
            // On a thread that waits one answers; otherwise a new run begins a new thread.
            let waiting = server.thread().filter(|t| t.status == "interrupted");
            let from = waiting.map(|t| Origin {
                thread: Some(t.thread_id.clone()),
                assistant: server.assistant_of(&t.thread_id),
                question: Some(t.waiting().first().map(|i| i.value.to_string()).unwrap_or_default()),
            });
            return app.compose(from.unwrap_or_default());
        }
        (Action::NewRun, Tab::Runs) => {
            let thread = server.runs_of.clone();
            let assistant = thread.as_deref().and_then(|t| server.assistant_of(t));
            return app.compose(Origin { thread, assistant, question: None });
        }
        (Action::Left, Tab::Runs | Tab::Assistants) => server.tab = Tab::Threads,
        (Action::Describe, Tab::Threads) => {
            if let Some(id) = server.thread_picker.selected.clone() {
                return vec![Effect::FetchThread(server.server.clone(), id)];
            }
        }
        (Action::Describe, Tab::Assistants) => {
            if let Some(assistant) = server.assistant().cloned() {
                app.inspect_record(format!("assistant {}", assistant.graph_id), &assistant);
            }
        }
        (Action::Describe, Tab::Runs) => {
            if let Some(run) = server.run().cloned() {
                app.inspect_record(format!("run {}", crate::text::short_id(&run.run_id)), &run);
            }
        }
        _ => {}
    }
    Vec::new()
}

fn act_stream(app: &mut App, action: Action) -> Vec<Effect> {
    let Some(viewer) = &mut app.viewer else { return Vec::new() };
    let at = VIEWS.iter().position(|v| *v == viewer.view).unwrap_or(0);
    match action {
        Action::View1 => viewer.view = View::Messages,
        Action::View2 => viewer.view = View::Updates,
        Action::View3 => viewer.view = View::Values,
        Action::View4 => viewer.view = View::Lifecycle,
        Action::View5 => viewer.view = View::Raw,
        Action::NextView => viewer.view = VIEWS[(at + 1) % VIEWS.len()],
        Action::PrevView => viewer.view = VIEWS[(at + VIEWS.len() - 1) % VIEWS.len()],
        Action::PrevState if viewer.view == View::Values => viewer.step_state(-1),
        Action::NextState if viewer.view == View::Values => viewer.step_state(1),
        Action::Left if viewer.view == View::Values => {
            if let Some(tree) = &mut viewer.state {
                tree.fold();
            }
        }
        Action::Right if viewer.view == View::Values => {
            if let Some(tree) = &mut viewer.state {
                tree.unfold();
            }
        }
        Action::Open if viewer.view == View::Values => {
            if let Some(tree) = &mut viewer.state {
                tree.toggle();
            }
        }
        Action::Open | Action::Right => {
            if let Some((title, text)) = viewer.inspect() {
                app.inspect(title, text);
            }
        }
        Action::Replay => {
            let target = match (&viewer.target, &viewer.thread_id, &viewer.run_id) {
                (StreamTarget::Start { .. }, Some(thread), Some(run)) => {
                    StreamTarget::Join { thread: thread.clone(), run: run.clone() }
                }
                (StreamTarget::Start { .. }, ..) => {
                    app.notify(true, "A stateless run is not kept by the server: there is nothing to replay.");
                    return Vec::new();
                }
                (other, ..) => other.clone(),
            };
            app.open_stream(target);
        }
        Action::NewRun => {
            let thread = viewer.thread_id.clone();
            let started = match &viewer.target {
                StreamTarget::Start { body, .. } => Some(body.assistant_id.clone()),
                _ => None,
            };
            let listed = || app.server.as_ref().and_then(|s| s.assistant_of(thread.as_deref()?));
            let assistant = started.or_else(listed);
            let question = viewer.question().filter(|_| thread.is_some());
            return app.compose(Origin { thread, assistant, question });
        }
        _ => {}
    }
    Vec::new()
}

fn act_inspector(app: &mut App, action: Action) {
    let Some(Overlay::Inspect { tree, .. }) = app.overlays.last_mut() else { return };
    match action {
        Action::Open => tree.toggle(),
        Action::Left => tree.fold(),
        Action::Right => tree.unfold(),
        Action::FoldAll => tree.fold_all(true),
        Action::UnfoldAll => tree.fold_all(false),
        _ => {}
    }
}

/// The pane that a cell belongs to.
fn pane_at(app: &App, x: u16, y: u16) -> Option<(Pane, u16)> {
    let regions = app.regions();
    let inside = |a: &super::layout::Area| x >= a.x && x < a.x + a.w && y >= a.y && y < a.y + a.h;
    [(Pane::Deployments, regions.deployments), (Pane::Revisions, regions.revisions), (Pane::Stream, regions.stream)]
        .into_iter()
        .find_map(|(pane, area)| area.filter(inside).map(|a| (pane, y - a.y)))
}

fn wheel(app: &mut App, lines: i8, x: u16, y: u16) -> Vec<Effect> {
    if !app.overlays.is_empty() {
        let context = app.context();
        go(app, context, lines.into(), true);
    } else if let Some((pane, _)) = pane_at(app, x, y) {
        let focus = std::mem::replace(&mut app.focus, pane);
        let context = app.context();
        go(app, context, lines.into(), context == Context::Stream);
        app.focus = focus;
    }
    Vec::new()
}

fn click(app: &mut App, x: u16, y: u16) -> Vec<Effect> {
    if !app.overlays.is_empty() {
        return Vec::new();
    }
    let Some((pane, row)) = pane_at(app, x, y) else { return Vec::new() };
    app.focus = pane;
    app.filtering = false;
    let (deployments, _, rows) = app.list_heights();
    match (pane, &mut app.server) {
        (Pane::Deployments, _) if row >= super::open::DEPLOYMENTS_HEAD => {
            let ids = app.fleet.shown_ids();
            let at = app.fleet.picker.top() + usize::from(row - super::open::DEPLOYMENTS_HEAD);
            app.fleet.picker.select(&ids, deployments, at);
        }
        (Pane::Stream, Some(server)) if app.viewer.is_none() && row >= super::open::STREAM_HEAD => {
            let ids = server.shown_ids();
            let at = server.picker().top() + usize::from(row - super::open::STREAM_HEAD);
            server.picker().select(&ids, rows, at);
        }
        _ => {}
    }
    Vec::new()
}

/// Whether an answer says that nobody may ask again until somebody acts.
pub fn stops_polling(error: &crate::api::ApiError) -> bool {
    matches!(error.kind, Kind::Unauthorized | Kind::Forbidden | Kind::Refused)
}

impl From<Timestamp> for NextPoll {
    fn from(at: Timestamp) -> Self {
        NextPoll::At(at)
    }
}
