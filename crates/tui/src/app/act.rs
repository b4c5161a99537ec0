//! What the keys of each pane do, beyond moving.

use super::composer::{Origin, Warning, Where};
use super::fleet::Sort;
use super::keys::Action;
use super::msg::{Described, Effect, StreamTarget};
use super::server::Tab;
use super::{App, Overlay, Page};
use runtail_api::LogKind;

pub(super) fn act_deployments(app: &mut App, action: Action) -> Vec<Effect> {
    match action {
        Action::Sort => {
            let columns = app.columns();
            let at = columns.iter().position(|p| p.column == app.fleet.sort().column);
            let next = columns.get(at.map_or(0, |at| (at + 1) % columns.len()));
            if let Some(next) = next {
                app.fleet.set_sort(Sort { column: next.column, reversed: false });
            }
        }
        Action::Create => return app.begin_create(),
        Action::ReverseSort => {
            let sort = app.fleet.sort();
            app.fleet.set_sort(Sort { reversed: !sort.reversed, ..sort });
        }
        _ => return act_deployment(app, action),
    }
    Vec::new()
}

/// What is done with the selected deployment.
fn act_deployment(app: &mut App, action: Action) -> Vec<Effect> {
    let Some(row) = app.fleet.selected().cloned() else {
        app.notify(false, "No deployment is selected.");
        return Vec::new();
    };
    if row.gone && action != Action::Mark {
        app.notify(
            true,
            format!("{} is gone: it was deleted since it was listed. r asks for the list again.", row.name),
        );
        return Vec::new();
    }
    match action {
        Action::Mark => {
            app.fleet.toggle_mark();
            let height = app.list_heights().0;
            app.fleet.step(height, 1);
        }
        Action::Watch => app.watch_meant(),
        Action::Explain => return app.explain_meant(),
        Action::ServerLog => app.open_logs(LogKind::Server),
        Action::BuildLog => app.open_logs(LogKind::Build),
        Action::Describe => match &row.deployment {
            Some(deployment) => {
                let id = deployment.id.as_str().into();
                return app.describe(Described::Deployment(row.profile_name.clone(), id, row.name));
            }
            None => {
                let info = row.server(&app.profiles).and_then(|s| app.infos.get(&s)).and_then(|i| i.value.as_ref());
                if let Some(raw) = info.map(|i| i.raw.clone()) {
                    app.inspect_record(format!("agent server {}", row.name), &raw);
                }
            }
        },
        Action::Update => return app.begin_update(),
        Action::Delete => return app.begin_delete(),
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

pub(super) fn act_revisions(app: &mut App, action: Action) -> Vec<Effect> {
    match action {
        Action::Describe => {
            let id = app.revision_picker.selected.clone();
            let of = app.fleet.selected().and_then(|row| app.revision_ref(row, id.as_deref()?));
            if let Some(of) = of {
                return app.describe(Described::Revision(of));
            }
        }
        Action::Redeploy => return app.begin_redeploy(),
        Action::Interrupt => return app.begin_interrupt(),
        Action::Rollback => return app.begin_rollback(),
        Action::Explain => return app.explain_meant(),
        Action::Watch => app.watch_meant(),
        Action::Mark => app.mark_revision(),
        Action::Compare => app.compare_selected(),
        Action::BuildLog => app.open_logs(LogKind::Build),
        Action::ServerLog => app.open_logs(LogKind::Server),
        _ => {}
    }
    Vec::new()
}

pub(super) fn act_logs(app: &mut App, action: Action) {
    match action {
        Action::Open | Action::Right => {
            let line = app.logs.as_ref().and_then(|l| l.under_cursor()).map(|e| e.line.clone());
            if let Some(line) = line {
                let mut fields = line.extra.map(|extra| *extra).unwrap_or_default();
                fields.insert("timestamp".into(), line.at.map(|at| at.to_string()).into());
                fields.insert("level".into(), line.level.as_deref().into());
                fields.insert("message".into(), (*line.message).into());
                app.inspect_record("log line".into(), &fields);
            }
        }
        Action::Level => app.reread_logs(|logs| logs.next_level()),
        Action::Window => app.reread_logs(|logs| logs.next_minutes()),
        Action::BuildLog => app.reread_logs(|logs| logs.kind = LogKind::Build),
        Action::ServerLog => app.reread_logs(|logs| logs.kind = LogKind::Server),
        _ => {}
    }
}

/// On the page that explains a revision.
pub(super) fn act_card(app: &mut App, action: Action) -> Vec<Effect> {
    let Some(Overlay::Page(Page::Explain(explained), _)) = app.overlays.last() else { return Vec::new() };
    let (of, name) = (explained.of.clone(), explained.name.clone());
    match action {
        Action::BuildLog => app.open_log_of(&of, &name, LogKind::Build),
        Action::ServerLog => app.open_log_of(&of, &name, LogKind::Server),
        Action::Describe => return app.describe(Described::Revision(of)),
        _ => {}
    }
    Vec::new()
}

pub(super) fn act_server(app: &mut App, action: Action) -> Vec<Effect> {
    use Action::*;
    if matches!(action, Answer | Approve | CancelRun | RollbackRun | Delete) {
        return app.act_on_listed(action);
    }
    let Some(server) = &mut app.server else { return Vec::new() };
    match (action, server.tab) {
        (Action::Threads, _) => server.show(Tab::Threads),
        (Action::Assistants, _) => server.show(Tab::Assistants),
        (Action::Runs, Tab::Threads) => {
            if let Some(id) = server.thread_picker.selected.clone() {
                server.runs_of = Some(id);
                server.runs = Default::default();
                server.show(Tab::Runs);
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
            // A row that happens to be selected is no choice of the thread, so a new one is the first offer.
            let from = server.thread().map(|thread| Origin {
                thread: Some(thread.thread_id.clone()),
                assistant: server.assistant_of(&thread.thread_id),
                place: Some(Where::NewThread),
                warning: row_warning(&thread.status),
            });
            return app.compose(from.unwrap_or_default());
        }
        (Action::NewRun, Tab::Runs) => {
            let thread = server.runs_of.clone();
            let row =
                thread.as_deref().and_then(|id| server.threads.value.iter().flatten().find(|t| t.thread_id == id));
            let warning = row.and_then(|row| row_warning(&row.status));
            let assistant = thread.as_deref().and_then(|t| server.assistant_of(t));
            return app.compose(Origin { thread, assistant, place: None, warning });
        }
        (Action::Left, Tab::Runs | Tab::Assistants) => server.show(Tab::Threads),
        (Action::Describe, Tab::Threads) => {
            if let Some(id) = server.thread_picker.selected.clone() {
                let what = Described::Thread(server.server.clone(), id);
                return app.describe(what);
            }
        }
        (Action::Describe, Tab::Assistants) => {
            if let Some(assistant) = server.assistant().cloned() {
                app.inspect_record(format!("assistant {}", assistant.graph_id), &assistant);
            }
        }
        (Action::Describe, Tab::Runs) => {
            if let Some(run) = server.run().cloned() {
                app.inspect_record(format!("run {}", runtail_core::text::short_id(&run.run_id)), &run);
            }
        }
        _ => {}
    }
    Vec::new()
}

/// What a new run on a thread means, as far as its row in a list tells.
fn row_warning(status: &str) -> Option<Warning> {
    match status {
        "interrupted" => Some(Warning::MayWait),
        "busy" => Some(Warning::Active),
        _ => None,
    }
}

pub(super) fn act_inspector(app: &mut App, action: Action) {
    let Some(Overlay::Inspect { tree, .. }) = app.overlays.last_mut() else { return };
    match action {
        Action::Open => tree.toggle(),
        Action::Left => tree.fold(),
        Action::Right => tree.unfold(),
        Action::FoldAll => tree.fold_all(true),
        Action::UnfoldAll => tree.fold_all(false),
        Action::NextMatch => tree.next_match(true),
        Action::PrevMatch => tree.next_match(false),
        _ => {}
    }
}
