//! The known values of the commands' arguments, each with a note.

use super::commands::ArgumentKind;
use crate::app::{App, Overlay};
use crate::features::agent::state::Server;
use crate::features::stream::export::proposed_path;
use crate::features::stream::formats::Format;
use crate::features::stream::views::VIEWS;
use runtail_core::model::Assistant;
use runtail_core::text::short_id;
use std::collections::HashMap;

/// A value with its note.
pub(super) type DescribedName = (String, String);

/// Returns the known values of an argument. If a slash is typed, deployments are written as PROFILE/NAME.
pub(super) fn known(app: &App, takes: ArgumentKind, typed: &str) -> Vec<DescribedName> {
    let (session, server) = (&app.session, app.agent.server.as_ref());
    let plain = |name: &str| (name.to_string(), String::new());
    match takes {
        ArgumentKind::Nothing | ArgumentKind::Text(_) => Vec::new(),
        ArgumentKind::Word(words) => words.iter().map(|word| plain(word)).collect(),
        ArgumentKind::Theme => session.prefs.themes.names().map(plain).collect(),
        ArgumentKind::Search => session.prefs.searches.clone(),
        ArgumentKind::View => {
            let views = VIEWS.iter().map(|view| plain(&view.title().to_lowercase()));
            let report = ("delivery".to_string(), "the report of Events".to_string());
            views.chain([report]).collect()
        }
        ArgumentKind::Profile => {
            let is_used = |name: &str| session.catalog.used(name).is_some();
            let note = |name: &str| if is_used(name) { "in use" } else { "" };
            let names = session.catalog.names().into_iter();
            names
                .map(|name| (name.clone(), note(&name).to_string()))
                .collect()
        }
        ArgumentKind::Deployment => deployments(app, typed.contains('/')),
        ArgumentKind::Stream => streams(app),
        ArgumentKind::Export => exports(app),
        ArgumentKind::Thread => {
            let threads = server.into_iter().flat_map(|server| server.threads.iter());
            let note = |name: Option<&str>, status: &str| match name {
                Some(name) => format!("{status} {name}"),
                None => status.to_string(),
            };
            threads
                .map(|thread| {
                    (
                        thread.thread_id.clone(),
                        note(thread.name(), &thread.status),
                    )
                })
                .collect()
        }
        ArgumentKind::Run => {
            let runs = server.and_then(|server| server.runs.value.as_deref());
            let runs = runs.unwrap_or_default().iter();
            runs.map(|run| {
                let thread = short_id(&run.thread_id);
                (
                    run.run_id.clone(),
                    format!("{} on thread {thread}", run.status),
                )
            })
            .collect()
        }
        ArgumentKind::Assistant => {
            let note = |one: &Assistant| {
                let name = one.name.as_deref().filter(|name| *name != one.graph_id);
                format!("{} {}", one.graph_id, name.unwrap_or_default())
            };
            let all = assistants(server).iter();
            all.map(|one| (one.assistant_id.clone(), note(one)))
                .collect()
        }
        ArgumentKind::AssistantName => assistant_names(assistants(server)),
    }
}

fn assistants(server: Option<&Server>) -> &[Assistant] {
    let listed = server.and_then(|server| server.assistants.value.as_deref());
    listed.unwrap_or_default()
}

/// Returns the names of assistants. Those that share a name are listed by their ids.
fn assistant_names(assistants: &[Assistant]) -> Vec<DescribedName> {
    let named = |one: &Assistant| {
        let name = one.shown_name();
        let mut same = assistants.iter().filter(|other| other.shown_name() == name);
        match same.nth(1) {
            Some(_) => (one.assistant_id.clone(), name.to_string()),
            None => (name.to_string(), one.graph_id.clone()),
        }
    };
    let mut named: Vec<DescribedName> = assistants.iter().map(named).collect();
    // List a name before longer ones that begin with it.
    named.sort();
    named
}

/// Returns the names of the deployments: `in_full`, or if several have the same, with their profiles.
fn deployments(app: &App, in_full: bool) -> Vec<DescribedName> {
    let rows = &app.deployments.list.rows;
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for row in rows {
        *counts.entry(&row.name).or_default() += 1;
    }
    let is_shared = |name: &str| counts.get(name).is_some_and(|count| *count > 1);
    rows.iter()
        .map(|row| {
            let name = match in_full || is_shared(&row.name) {
                true => format!("{}/{}", row.profile_name, row.name),
                false => row.name.clone(),
            };
            (name, format!("{} {}", row.profile_name, row.tag))
        })
        .collect()
}

/// Returns the numbers of the open streams, each with its server and id.
fn streams(app: &App) -> Vec<DescribedName> {
    let numbered = app.stream.tabs.all().iter().enumerate();
    numbered
        .map(|(n, viewer)| {
            let id = viewer.run_id.as_deref().or(viewer.thread_id.as_deref());
            let id = id.map(short_id).unwrap_or_default();
            ((n + 1).to_string(), format!("{} {id}", viewer.server.name))
        })
        .collect()
}

/// Returns the formats of an export with the paths that they are written to.
fn exports(app: &App) -> Vec<DescribedName> {
    let graph = app.overlays.iter().rev().find_map(|overlay| match overlay {
        Overlay::Graph(page) => Some(page),
        _ => None,
    });
    let lines: Vec<String> = match (graph, app.viewer()) {
        (Some(page), _) => page.exports(&app.session),
        (None, Some(viewer)) => Format::WORDS
            .iter()
            .map(|(word, format)| {
                format!("{word} {}", proposed_path(&app.session, viewer, *format))
            })
            .collect(),
        (None, None) => Vec::new(),
    };
    lines
        .into_iter()
        .map(|line| (line, String::new()))
        .collect()
}
