//! The page of a bisect: the step at which a value first became wrong, and every state in which it changed.

use super::StreamState;
use super::viewer::Viewer;
use super::views::View;
use crate::input::action::{Action, Context};
use crate::session::destination::Destination;
use crate::session::msg::{
    Epoch, Subscription, SubscriptionEvent, SubscriptionId, SubscriptionKind, ThreadRef,
};
use crate::session::request::StreamCommand;
use crate::session::{Cx, GUTTER, Page, Request, Requests, Route, Session};
use crate::widgets::line::{Line, Tone, wrap};
use jiff::tz::TimeZone;
use runtail_core::text;
use runtail_stream::bisect::{
    BisectQuery, Bisection, HistoryError, Observation, Verdict, bisect_log,
};
use std::sync::Arc;

/// Maximum bytes of a value that the command line proposes.
const MAX_PROPOSED: usize = 60;
/// Columns of the nodes and of the place of a state.
const NODES: usize = 22;
const PLACE: usize = 10;

/// What is bisected.
#[derive(Debug, Clone, PartialEq)]
pub enum BisectOf {
    /// The branch of a thread that ends at a checkpoint, or at the newest one.
    Thread(ThreadRef, Option<String>),
    /// The states that a stream sent.
    Log,
}

/// The page.
#[derive(Debug, Clone)]
pub struct BisectPage {
    /// Its number in this session.
    pub number: u64,
    of: BisectOf,
    title: String,
    query: BisectQuery,
    result: Option<Result<Arc<Bisection>, String>>,
}

impl BisectPage {
    /// Applies the result.
    fn on_result(&mut self, result: Result<Arc<Bisection>, HistoryError>) {
        self.result = Some(result.map_err(|error| match error {
            HistoryError::Request(error) if error.may_lack_call() => {
                "This server has no history. Bisect a recording of the stream instead.".to_string()
            }
            HistoryError::Request(error) => {
                format!(
                    "Couldn't load the history: {}. Press r to retry.",
                    error.cause()
                )
            }
            HistoryError::Empty => "The thread has no checkpoints yet.".to_string(),
            HistoryError::NoCheckpoint => "The server no longer has this checkpoint.".to_string(),
        }));
    }

    /// Returns the state that Enter goes to.
    fn target(&self) -> Option<&Observation> {
        let found = self.result.as_ref()?.as_ref().ok()?;
        found
            .first_wrong
            .as_ref()
            .map(|(_, wrong)| wrong)
            .or(found.first_right.as_ref())
            .or(found.last.as_ref())
    }
}

impl Page for BisectPage {
    fn on_event(
        &mut self,
        _session: &mut Session,
        _from: SubscriptionId,
        event: SubscriptionEvent,
    ) -> Requests {
        match event {
            SubscriptionEvent::Bisected(result) => self.on_result(result),
            SubscriptionEvent::Panicked(why) => {
                self.result = Some(Err(format!("Couldn't bisect: {why}. Press r to retry.")));
            }
            _ => {}
        }
        Requests::none()
    }

    fn context(&self) -> Context {
        Context::Bisect
    }

    fn title(&self, _cx: &Cx<'_>) -> (&'static str, String) {
        ("Bisect", self.title.clone())
    }

    fn lines(&self, cx: &Cx<'_>, width: usize) -> Vec<Line> {
        let width = width.saturating_sub(GUTTER.into());
        let question = format!(
            "{}  {}",
            text::seen(&self.query.path, 80),
            text::seen(&self.query.expected.to_string(), 80)
        );
        let mut lines = vec![Line::dim("Right is  ").with_strong(&question), Line::new()];
        match &self.result {
            None => lines.push(Line::dim("Loading the history…")),
            Some(Err(why)) => {
                let rows = wrap(why, width.saturating_sub(2));
                lines.extend(rows.iter().map(|row| Line::bad("✗ ").with_plain(row)));
            }
            Some(Ok(found)) => lines.extend(result_lines(
                found,
                &self.query,
                &cx.session.settings.tz,
                width,
            )),
        }
        lines
    }

    fn action(&mut self, _cx: &Cx<'_>, action: Action) -> Requests {
        match action {
            Action::Refresh if matches!(self.of, BisectOf::Thread(..)) => {
                // The request is sent again without a result.
                self.result = None;
                Requests::none()
            }
            Action::Open => {
                let Some(target) = self.target() else {
                    return Requests::none();
                };
                let go: Request = match (&target.at.checkpoint, target.at.event) {
                    (Some(id), _) => StreamCommand::ShowCheckpoint(id.clone()).into(),
                    (None, Some(event)) => {
                        Request::Go(Destination::Address(format!("#{}", event.0)))
                    }
                    (None, None) => return Requests::none(),
                };
                Requests::from(Request::Close).and(go)
            }
            _ => Requests::none(),
        }
    }

    fn subscriptions(&self, _cx: &Cx<'_>, out: &mut Vec<Subscription>) {
        if let (BisectOf::Thread(thread, tip), None) = (&self.of, &self.result) {
            let kind =
                SubscriptionKind::Bisect(thread.clone(), tip.clone(), Box::new(self.query.clone()));
            out.push(Subscription::new(
                SubscriptionId::Bisect(self.number),
                Epoch::default(),
                kind,
            ));
        }
    }

    fn profile(&self) -> Option<&str> {
        match &self.of {
            BisectOf::Thread(thread, _) => Some(&thread.server.profile),
            BisectOf::Log => None,
        }
    }
}

/// Returns the answer, and the states in which the value changed.
fn result_lines(found: &Bisection, query: &BisectQuery, tz: &TimeZone, width: usize) -> Vec<Line> {
    let (tone, mark) = match found.verdict() {
        Verdict::BecameWrong => (Tone::Bad, "✗ "),
        Verdict::NeverWrong => (Tone::Good, "● "),
        Verdict::NeverRight => (Tone::Waiting, "◆ "),
    };
    let sentence = wrap(&found.sentence(query), width.saturating_sub(2));
    let mut lines: Vec<Line> = sentence
        .iter()
        .enumerate()
        .map(|(n, row)| Line::of(tone, if n == 0 { mark } else { "  " }).with_plain(row))
        .collect();
    if found.is_cut {
        let text = "Older states of the branch are missing and weren't checked.";
        lines.push(Line::dim(&format!("  {text}")));
    }
    lines.push(Line::new());
    let is_log = found.changes.iter().any(|change| change.at.event.is_some());
    let place = if is_log { "EVENT" } else { "STEP" };
    lines.push(Line::dim(&format!(
        "  {place:>5}  {:<NODES$}{:<PLACE$}VALUE",
        "NODE", "AT"
    )));
    let first_wrong = found.first_wrong.as_ref().map(|(_, wrong)| &wrong.at);
    for change in &found.changes {
        let is_first_wrong = Some(&change.at) == first_wrong;
        lines.push(change_line(change, is_first_wrong, tz, width));
    }
    if found.more_changes > 0 {
        let count = text::count(found.more_changes as u64);
        lines.push(Line::dim(&format!("  … and {count} more changes")));
    }
    lines
}

fn change_line(change: &Observation, is_first_wrong: bool, tz: &TimeZone, width: usize) -> Line {
    let (tone, mark) = match (is_first_wrong, change.is_right) {
        (true, _) => (Tone::Bad, "✗ "),
        (false, true) => (Tone::Good, "● "),
        (false, false) => (Tone::Dim, "○ "),
    };
    let number = match (change.at.event, change.at.step) {
        (Some(event), _) => text::count(event.0),
        (None, step) => step.map(|step| step.to_string()).unwrap_or_default(),
    };
    let nodes = text::seen(&change.at.nodes.join(", "), NODES - 2);
    let pad = " ".repeat(NODES.saturating_sub(text::width(&nodes)));
    let at = change
        .at
        .at
        .map(|at| at.to_zoned(tz.clone()).strftime("%H:%M:%S").to_string())
        .unwrap_or_default();
    let mut line = Line::of(tone, mark).with_dim(&format!("{number:>5}  "));
    match change.at.nodes.first() {
        Some(node) => line.push(Tone::label(node), &nodes),
        None => line.push_plain(&nodes),
    }
    line.push_dim(&format!("{pad}{at:<PLACE$}"));
    let value = change.line(width.saturating_sub(9 + NODES + PLACE));
    line.push(
        if is_first_wrong {
            Tone::Strong
        } else {
            Tone::Plain
        },
        &value,
    );
    line
}

impl StreamState {
    /// Creates the page of a bisect of the shown stream.
    ///
    /// # Errors
    /// Why the stream can't be bisected.
    pub fn bisect(&self, session: &Session, argument: &str) -> Result<BisectPage, String> {
        let query = parse(argument)?;
        let viewer = self.tabs.shown().ok_or("No stream is shown.")?;
        let number = session.next_stream.take();
        let Some(thread) = viewer.thread() else {
            let found = bisect_log(&viewer.projections, &viewer.event_log, &query)?;
            let title = format!("the states of {}", viewer.server.name);
            return Ok(BisectPage {
                number,
                of: BisectOf::Log,
                title,
                query,
                result: Some(Ok(Arc::new(found))),
            });
        };
        // In the Steps view, the branch under the cursor.
        let tip = viewer
            .views
            .steps
            .id_under_cursor()
            .filter(|_| viewer.view() == View::Steps)
            .map(str::to_string);
        let title = format!(
            "{} › thread {}",
            session.place(&viewer.server),
            text::short_id(&thread.id)
        );
        Ok(BisectPage {
            number,
            of: BisectOf::Thread(thread, tip),
            title,
            query,
            result: None,
        })
    }

    /// Shows a checkpoint in the Steps view.
    pub fn show_checkpoint(&mut self, id: &str) -> Requests {
        let Some(viewer) = self.tabs.shown_mut() else {
            return Requests::none();
        };
        viewer.show(View::Steps);
        match viewer.views.steps.go_to(id) {
            true => Requests::none(),
            false => {
                let id = text::short_id(id);
                Requests::info(format!(
                    "Checkpoint {id} is not loaded yet. Scroll up to load older ones."
                ))
            }
        }
    }
}

/// Opens the command line with a bisect of the value under the cursor: since when it is what it is.
pub(super) fn propose(viewer: &Viewer) -> Requests {
    let path = viewer.view().of().copied_path(viewer);
    let path = path.filter(|path| path != ".");
    // Of a change, the path is enough.
    let value = viewer.views.state.json_under_cursor();
    let value = value.filter(|value| value.len() <= MAX_PROPOSED && !value.contains('\n'));
    let command = match (path, value) {
        (Some(path), Some(value)) => format!("bisect {} !={value}", path.trim_start_matches('.')),
        (Some(path), None) => format!("bisect {} ", path.trim_start_matches('.')),
        (None, _) => "bisect ".to_string(),
    };
    Route::Palette(command).into()
}

/// Reads the argument of the command: a path, and what is expected there.
///
/// # Errors
/// What is wrong with it.
fn parse(argument: &str) -> Result<BisectQuery, String> {
    let argument = argument.trim();
    // A key in brackets may contain spaces.
    let (mut depth, mut is_quoted) = (0_usize, false);
    let end = argument.find(|c: char| {
        match c {
            '"' => is_quoted = !is_quoted,
            '[' if !is_quoted => depth += 1,
            ']' if !is_quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        c.is_whitespace() && depth == 0 && !is_quoted
    });
    match end.map(|end| argument.split_at(end)) {
        Some((path, expected)) => BisectQuery::parse(path, expected),
        None if argument.is_empty() => Err("bisect PATH EXPECTED: the path is missing.".into()),
        None => Err("bisect PATH EXPECTED: add =JSON, !=JSON, exists or missing.".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_a_path_and_what_is_expected() {
        for (argument, path, expected) in [
            ("amount =1300", "amount", "=1300"),
            (
                " customer.tier  gold card ",
                "customer.tier",
                "=\"gold card\"",
            ),
            (
                "a[\"b c\"][0] != {\"x\": 1}",
                "a[\"b c\"][0]",
                "!={\"x\":1}",
            ),
            (
                ".messages[-1].content exists",
                ".messages[-1].content",
                "exists",
            ),
        ] {
            let query = parse(argument).unwrap();
            assert_eq!(
                (&*query.path, &*query.expected.to_string()),
                (path, expected),
                "{argument}"
            );
        }
        for argument in ["", "amount", "amount ", "a[\"b c\" =1", "a[*] =1", "a ={"] {
            assert!(parse(argument).is_err(), "{argument}");
        }
    }
}
