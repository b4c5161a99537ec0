//! The graph of an assistant without a thread, as a page: the same rails, without what ran.

use super::load::GraphFailure;
use super::view::{Words, draw_graph};
use super::{GraphView, ShownThread, Stops};
use crate::features::stream::StreamState;
use crate::features::stream::export::{parse_export, timed_name};
use crate::features::stream::formats::{Format, Part};
use crate::input::action::{Action, Context};
use crate::input::commands::Commands;
use crate::session::msg::{
    Described, EffectResult, FileStep, ServerRef, Subscription, SubscriptionEvent, SubscriptionId,
};
use crate::session::page::overlay_frame;
use crate::session::profile::breadcrumb;
use crate::session::saving::Saving;
use crate::session::{Component, Cx, Requests, Route, Session};
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};
use crate::widgets::pattern::Pattern;
use jiff::Timestamp;
use runtail_core::text;
use runtail_stream::projection::Timeline;
use std::sync::LazyLock;

/// Nothing ran.
static NOTHING: LazyLock<Timeline> = LazyLock::new(Timeline::default);

/// The page.
#[derive(Debug, Clone)]
pub struct GraphPage {
    server: ServerRef,
    /// The assistant's id, or the name of a graph.
    assistant: String,
    /// The name in the title.
    name: String,
    graph: GraphView,
    pattern: Pattern,
    /// The file that is being written: its number and path.
    saving: Saving,
}

impl StreamState {
    /// Creates the page of an assistant's graph, which is loaded unless it is known.
    pub fn graph_page(
        &self,
        session: &Session,
        server: ServerRef,
        assistant: &str,
        name: &str,
    ) -> GraphPage {
        let known = session.known_graphs.get(&server, assistant).cloned();
        let graph = GraphView {
            is_still: true,
            is_paused: true,
            ..GraphView::default()
        };
        let (assistant, name) = (assistant.to_string(), text::seen(name, 60));
        let mut page = GraphPage {
            server,
            assistant,
            name,
            graph,
            pattern: Pattern::default(),
            saving: Saving::default(),
        };
        match known {
            Some(graph) => page.graph.on_graph(Ok(graph)),
            None => page.load(session),
        }
        page
    }
}

impl GraphPage {
    fn load(&mut self, session: &Session) {
        self.graph
            .loading
            .begin(&self.assistant, session.next_stream.take());
    }

    fn empty_text(&self) -> Option<(Tone, String)> {
        if !self.graph.whole.is_empty() {
            return None;
        }
        Some(match &self.graph.loading.failure {
            None => (Tone::Dim, "Loading the graph…".into()),
            Some(GraphFailure::Request(cause)) => (
                Tone::Bad,
                format!(
                    "Couldn't load the graph of {}: {cause}.\n\nPress r to retry.",
                    self.name
                ),
            ),
            Some(GraphFailure::NotOffered) => (
                Tone::Plain,
                format!(
                    "This server doesn't describe the graph of {}.\n\n\
                     A thread's Graph shows the steps that ran.",
                    self.name
                ),
            ),
            Some(GraphFailure::Empty) => (
                Tone::Plain,
                format!("The graph of {} has no nodes.", self.name),
            ),
        })
    }

    /// Returns the text after the title.
    fn about(&self, cx: &Cx<'_>) -> Line {
        let mut parts = vec![self.name.clone()];
        let whole = &self.graph.whole;
        if !whole.is_empty() {
            parts.push(text::counted(whole.real_nodes(), "node"));
        }
        let stops = whole
            .nodes()
            .iter()
            .filter(|node| node.breakpoint.is_set())
            .count();
        if stops > 0 {
            parts.push(format!("stops at {}", text::counted(stops, "node")));
        }
        if self.graph.search.is_active() {
            let searched = text::seen(self.pattern.text(), 30);
            parts.push(match self.graph.found() {
                (0, _) => format!("/{searched} finds nothing"),
                (all, Some(at)) => format!("/{searched} {at} of {all}"),
                (all, None) => format!("/{searched} {}", text::counted(all, "hit")),
            });
        }
        parts.extend(self.graph.cut_words());
        let mut line = Line::plain(&parts.join(" · "));
        line.push_dim(" · ");
        line.left
            .extend(breadcrumb(cx.session, &self.server, false).left);
        line
    }

    fn title(&self) -> String {
        format!("graph of {}", self.name)
    }

    /// Returns the completions of `:export`, each with a proposed file.
    pub fn exports(&self, session: &Session) -> Vec<String> {
        let offered = Format::WORDS
            .iter()
            .filter(|(_, format)| *format != Format::Jsonl);
        offered
            .map(|(word, format)| format!("{word} {}", self.file_name(session, *format)))
            .collect()
    }

    fn file_name(&self, session: &Session, format: Format) -> String {
        timed_name(session, &format!("graph-{}", self.name), format)
    }

    /// Saves the graph to a new file: `[text|md|svg|mermaid] [PATH]`.
    fn save_graph(&mut self, session: &Session, argument: &str) -> Requests {
        let (format, path) = parse_export(argument);
        if format == Format::Jsonl {
            return Requests::error("Save it as text, md, svg or mermaid. d shows the JSON.");
        }
        if self.graph.whole.is_empty() {
            return Requests::error("No graph is loaded yet.");
        }
        if self.saving.is_running() {
            return Requests::error("A file is still being written.");
        }
        let path = if path.is_empty() {
            self.file_name(session, format)
        } else {
            path.to_string()
        };
        let mut part = Part::default();
        self.graph.write(&self.title(), format, &mut part);
        let step = FileStep::Save(path.clone().into(), part.chunks);
        self.saving.begin(session, &path, step)
    }
}

impl Component for GraphPage {
    fn save(&mut self, session: &Session, argument: &str) -> Option<Requests> {
        Some(self.save_graph(session, argument))
    }

    fn on_reply(&mut self, _session: &mut Session, reply: &EffectResult) -> Option<Requests> {
        self.saving.on_reply("the graph", reply)
    }

    fn on_event(
        &mut self,
        session: &mut Session,
        _from: SubscriptionId,
        event: SubscriptionEvent,
    ) -> Requests {
        // The threads of the assistant have the same graph.
        if let SubscriptionEvent::Graph(Ok(graph)) = &event {
            session
                .known_graphs
                .keep(self.server.clone(), self.assistant.clone(), graph.clone());
        }
        self.graph.on_event(&event);
        Requests::none()
    }

    fn context(&self) -> Context {
        Context::Graph
    }

    fn tab_name(&self) -> Option<String> {
        Some(self.title())
    }

    fn action(&mut self, cx: &Cx<'_>, action: Action) -> Requests {
        let graph = &mut self.graph;
        match action {
            Action::Refresh => self.load(cx.session),
            Action::Open if !graph.unfold() => drop(graph.fold()),
            Action::NextMatch | Action::PrevMatch if !graph.search.is_active() => {
                return Requests::info("Search for a node first: press /.");
            }
            Action::Export => {
                return Route::Palette(format!(
                    "export text {}",
                    self.file_name(cx.session, Format::Text)
                ))
                .into();
            }
            Action::Describe => {
                return Route::Record(Described::Graph(
                    self.server.clone(),
                    self.assistant.as_str().into(),
                ))
                .into();
            }
            _ => return graph.act(action).unwrap_or_default(),
        }
        Requests::none()
    }

    fn commands(&self, _cx: &Cx<'_>) -> Commands {
        let has_graph = !self.graph.whole.is_empty();
        let of_graph = ["graph.search", "graph.save", "graph.details", "app.copy"];
        Commands::of(Context::Graph)
            .enable_if(self.graph.can(Action::Left), &["graph.fold"])
            .enable_if(self.graph.search.is_active(), &["graph.next", "graph.prev"])
            .enable_if(has_graph, &of_graph)
            .own(&["app.refresh"])
            .footer(match has_graph {
                true => &[
                    "graph.search",
                    "graph.next",
                    "graph.fold",
                    "graph.save",
                    "graph.details",
                    "app.back",
                ],
                false => &["app.refresh", "app.back"],
            })
    }

    fn step(&mut self, _cx: &Cx<'_>, lines: isize, _whole_window: bool) {
        self.graph.step(lines);
    }

    fn click(&mut self, _cx: &Cx<'_>, _x: u16, y: u16) -> Requests {
        self.graph.point_at(y.into());
        Requests::none()
    }

    fn copied(&mut self) -> Option<String> {
        (!self.graph.whole.is_empty()).then(|| self.graph.text(&self.title()))
    }

    fn back(&mut self, _quit: bool) -> Option<Requests> {
        let is_searched = !self.pattern.is_empty();
        self.pattern = Pattern::default();
        self.graph.use_pattern(&self.pattern);
        is_searched.then(Requests::none)
    }

    fn filter(&self) -> Option<&str> {
        Some(self.pattern.text())
    }

    fn set_filter(&mut self, text: &str) {
        if self.pattern.is_empty() {
            self.graph.begin_search();
        }
        self.pattern = Pattern::new(text);
        match text.is_empty() {
            true => {
                self.graph.use_pattern(&self.pattern);
                self.graph.end_search(false);
            }
            false => self.graph.search_near(&self.pattern),
        }
    }

    fn relayout(&mut self, cx: &Cx<'_>) {
        let shown = ShownThread {
            timeline: &NOTHING,
            now: Timestamp::MIN,
            stops: Stops::default(),
            breakpoints: None,
            pattern: &self.pattern,
            run: None,
        };
        self.graph.prepare(shown, cx.area);
        if self.graph.cursor_row().is_none() {
            self.graph.to_start();
        }
    }

    fn subscriptions(&self, _cx: &Cx<'_>, out: &mut Vec<Subscription>) {
        out.extend(self.graph.subscription(&self.server));
    }

    fn profile(&self) -> Option<&str> {
        Some(&self.server.profile)
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        overlay_frame(cx, canvas, "Graph", &self.about(cx));
        let words = Words {
            title: String::new(),
            empty: self.empty_text(),
        };
        draw_graph(
            &self.graph,
            &words,
            canvas,
            cx.area,
            (true, cx.session.settings.ascii),
        );
        None
    }
}
