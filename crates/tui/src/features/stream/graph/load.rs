//! Loading the graph of an assistant, once per assistant and refresh.

use super::breakpoints::RunBreakpoints;
use super::{GraphView, ShownThread, Stops};
use crate::features::stream::StreamState;
use crate::features::stream::viewer::Viewer;
use crate::session::Session;
use crate::session::msg::{
    Epoch, ServerRef, StreamTarget, Subscription, SubscriptionEvent, SubscriptionId,
    SubscriptionKind,
};
use crate::widgets::area::Area;
use jiff::Timestamp;
use runtail_api::ApiError;
use runtail_core::graph::Graph;
use runtail_stream::projection::{Attempt, RunEntry, RunOutcome};
use std::sync::Arc;

/// What is loaded, and what is being loaded.
#[derive(Debug, Clone, Default)]
pub(super) struct GraphLoading {
    /// The request in progress.
    pub number: Option<u64>,
    /// The assistant of the graph, and how often the user had refreshed.
    wanted: Option<(String, u64)>,
    pub has_graph: bool,
    pub failure: Option<GraphFailure>,
}

/// Why there is no graph of the server.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum GraphFailure {
    /// The server has no graphs, or none of this assistant.
    NotOffered,
    /// The graph has no nodes.
    Empty,
    /// The cause, in a few words.
    Request(String),
}

impl GraphLoading {
    /// Begins to load the graph of an assistant.
    pub fn begin(&mut self, assistant: &str, number: u64) {
        let wanted = Some((assistant.to_string(), number));
        *self = GraphLoading {
            number: Some(number),
            wanted,
            has_graph: self.has_graph,
            failure: None,
        };
    }
}

impl GraphView {
    /// Returns the subscription for the request in progress.
    pub(super) fn subscription(&self, server: &ServerRef) -> Option<Subscription> {
        let (number, (assistant, _)) = (self.loading.number?, self.loading.wanted.as_ref()?);
        let kind = SubscriptionKind::Graph(server.clone(), assistant.clone());
        Some(Subscription::new(
            SubscriptionId::Graph(number),
            Epoch::default(),
            kind,
        ))
    }

    /// Applies the loaded graph, or records that the request's task failed.
    pub(super) fn on_event(&mut self, event: &SubscriptionEvent) {
        match event {
            SubscriptionEvent::Graph(result) => self.on_graph(result.clone()),
            SubscriptionEvent::Panicked(why) => {
                self.loading.number = None;
                self.loading.failure = Some(GraphFailure::Request(why.to_string()));
            }
            _ => {}
        }
    }

    pub(super) fn on_graph(&mut self, result: Result<Arc<Graph>, ApiError>) {
        self.loading.number = None;
        match result {
            Ok(graph) if graph.is_empty() => self.loading.failure = Some(GraphFailure::Empty),
            Ok(graph) => {
                self.loading.has_graph = true;
                self.set_whole(graph, false);
            }
            Err(error) if error.may_lack_call() => {
                self.loading.failure = Some(GraphFailure::NotOffered)
            }
            Err(error) => {
                let cause = error
                    .status()
                    .map_or_else(|| error.cause(), |status| status.to_string());
                self.loading.failure = Some(GraphFailure::Request(cause));
            }
        }
    }
}

impl StreamState {
    /// Uses the graph of the shown thread's assistant if it is known, else requests it once: it gives the nodes their colors in all
    /// views. A refresh reloads it only for the Graph view.
    pub(in crate::features::stream) fn request_graph(&mut self, is_shown: bool, session: &Session) {
        let Some(viewer) = self.tabs.shown_mut() else {
            return;
        };
        let Some(assistant) = viewer.assistant().filter(|_| !viewer.is_recording()) else {
            return;
        };
        let refreshes = viewer.refreshes;
        let known = session.known_graphs.get(&viewer.server, assistant).cloned();
        let wanted = (assistant.to_string(), refreshes);
        let loading = &mut viewer.views.graph.loading;
        let is_first = loading
            .wanted
            .as_ref()
            .is_none_or(|(known, _)| *known != wanted.0);
        let is_lacking = session.known_graphs.lacking.contains(&viewer.server);
        let is_needed = is_shown || known.is_some() || (is_first && !is_lacking);
        if loading.wanted.as_ref() == Some(&wanted) || !is_needed {
            return;
        }
        *loading = GraphLoading {
            wanted: Some(wanted),
            has_graph: loading.has_graph && !is_first,
            ..GraphLoading::default()
        };
        match known.filter(|_| is_first) {
            Some(graph) => viewer.views.graph.on_graph(Ok(graph)),
            None => loading.number = Some(session.next_stream.take()),
        }
    }

    /// Adds the requests for graphs.
    pub(in crate::features::stream) fn graph_subscriptions(&self, out: &mut Vec<Subscription>) {
        let open = self.tabs.all().iter();
        out.extend(open.filter_map(|viewer| viewer.views.graph.subscription(&viewer.server)));
    }

    /// Applies a loaded graph, and keeps it for other threads.
    pub(in crate::features::stream) fn on_graph(
        &mut self,
        session: &mut Session,
        number: u64,
        event: &SubscriptionEvent,
    ) {
        let is_wanted = |viewer: &&mut Viewer| viewer.views.graph.loading.number == Some(number);
        let Some(viewer) = self.tabs.all_mut().iter_mut().find(is_wanted) else {
            return;
        };
        let known = &mut session.known_graphs;
        match (event, &viewer.views.graph.loading.wanted) {
            (SubscriptionEvent::Graph(Ok(graph)), Some((assistant, _))) => {
                known.keep(viewer.server.clone(), assistant.clone(), graph.clone());
            }
            (SubscriptionEvent::Graph(Err(error)), _)
                if error.may_lack_call() && !known.lacking.contains(&viewer.server) =>
            {
                known.lacking.push(viewer.server.clone());
            }
            _ => {}
        }
        viewer.views.graph.on_event(event);
    }
}

impl Viewer {
    /// Returns the assistant of the thread, or of the run that was started.
    pub fn assistant(&self) -> Option<&str> {
        self.present()
            .status
            .thread_records()
            .assistant()
            .or_else(|| self.started_assistant())
    }

    /// Returns the name of the thread's graph, if it is known.
    pub(super) fn graph_name(&self) -> Option<String> {
        self.present()
            .status
            .thread_records()
            .thread?
            .graph_id
            .clone()
            .or_else(|| self.started_assistant().map(str::to_string))
    }

    /// Returns which part of the thread's runs the Graph view counts, unless it counts all of them.
    pub(super) fn runs_in_graph(&self) -> Option<String> {
        let (timeline, status) = (&self.projections.timeline, &self.projections.status);
        let attempts = || {
            timeline
                .attempts()
                .map(|(_, attempt)| attempt)
                .filter(|attempt| !attempt.is_superseded)
        };
        if attempts().any(|attempt| attempt.is_from_messages()) {
            return Some("nodes with messages only".into());
        }
        if let Some(steps) = attempts().rev().find_map(Attempt::missing_steps) {
            return Some(steps);
        }
        let began = status
            .runs()
            .iter()
            .filter(|run| run.outcome != RunOutcome::Queued);
        let known = |run: &&RunEntry| {
            let is_of_run =
                |attempt: &Attempt| attempt.run_id == run.run_id && !attempt.children.is_empty();
            // A run that just began has no steps yet.
            attempts().any(is_of_run) || run.outcome == RunOutcome::Running
        };
        let (all, counted) = (began.clone().count(), began.clone().filter(known).count());
        let is_all_listed = began
            .clone()
            .all(|run| run.number.is_some() || run.outcome == RunOutcome::Deleted);
        match (is_all_listed, counted < all) {
            _ if timeline.attempts().len() == 0 || self.is_recording() || !self.has_snapshots() => {
                None
            }
            (false, _) => Some("this stream".into()),
            (true, true) => Some(format!("{counted} of {all} runs")),
            (true, false) => None,
        }
    }

    /// Updates the Graph view in its area.
    pub(super) fn prepare_graph(&mut self, area: Area) {
        let playhead = self
            .playhead()
            .and_then(|playhead| self.event_log.arrival(playhead.at));
        // In a closed stream nothing grows.
        let now = playhead.unwrap_or(if self.is_open() {
            self.now
        } else {
            Timestamp::MIN
        });
        let run = self.find.filter.run().cloned();
        let newest = self.projections.status.runs().last();
        let is_newest = run.is_none() || newest.is_some_and(|newest| newest.run_id == run);
        // Only the newest run can wait or stop where the thread does.
        let stops = match is_newest {
            true => Stops::of(self.shown_status()),
            false => Stops::default(),
        };
        let breakpoints = self.run_breakpoints();
        let (timeline, pattern) = (&self.projections.timeline, &self.find.pattern);
        self.views.graph.prepare(
            ShownThread {
                timeline,
                now,
                stops,
                breakpoints,
                pattern,
                run: run.as_deref(),
            },
            area,
        );
    }

    /// Returns the breakpoints of the page's run, else of the newest run that began, by its record. Aegra's records have
    /// none.
    fn run_breakpoints(&self) -> Option<RunBreakpoints> {
        let status = &self.projections.status;
        let run = match &self.target {
            _ if self.only_run().is_some() => self.only_run().and_then(|run| status.run(run)),
            StreamTarget::Join { run, .. } => status.run(run),
            _ => status
                .runs()
                .iter()
                .rev()
                .find(|run| run.outcome != RunOutcome::Queued),
        }?;
        RunBreakpoints::of(run.name(), status.record(run.run_id.as_deref()?)?)
    }
}
