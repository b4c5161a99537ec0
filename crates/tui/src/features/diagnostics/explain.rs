//! The page that explains a revision.

use crate::input::action::{Action, Context};
use crate::input::commands::Commands;
use crate::session::compare::{ConfigurationRef, SideRef};
use crate::session::loaded::Loaded;
use crate::session::msg::{Described, Effect, EffectResult, LogRef, RevisionRef, no_build_log};
use crate::session::{Cx, GUTTER, Page, Request, Requests, Route, Session};
use crate::widgets::line::{Line, Tone, wrap};
use crate::widgets::strip::time_bars;
use runtail_api::LogKind;
use runtail_core::model::{
    CardLine, FailureCard, Intent, Part, Phase, Revision, StatusTime, StepKind,
};
use runtail_core::text;
use std::time::Duration;

/// The explanation of a revision.
#[derive(Debug, Clone)]
pub struct Explained {
    /// The revision.
    pub of: RevisionRef,
    /// The deployment's name for titles.
    pub name: String,
    /// The deployment's name on the command line.
    address: String,
    /// Whether the revision was built. An external image wasn't.
    has_build: bool,
    /// The explanation. An earlier one is shown while it is loaded again.
    card: Loaded<Box<FailureCard>>,
    is_loading: bool,
    /// The status that the polls last reported when it was requested.
    polled: Option<String>,
}

impl Explained {
    /// Creates a page without its explanation.
    pub fn new(of: RevisionRef, name: String, address: String, has_build: bool) -> Explained {
        Explained {
            of,
            name,
            address,
            has_build,
            card: Loaded::default(),
            is_loading: true,
            polled: None,
        }
    }

    /// Returns whether the polls report another status than the explanation has, since it was requested.
    pub fn is_outdated(&self, known: Option<&Revision>) -> bool {
        let (Some(card), Some(known), false) = (&self.card.value, known, self.is_loading) else {
            return false;
        };
        // A poll may be older than the explanation: it is news only if it changed.
        known.status != card.status && self.polled.as_ref() != Some(&known.status)
    }

    /// Loads the explanation. An earlier one is shown until then.
    pub fn load(&mut self, known: Option<&Revision>, times: Vec<StatusTime>) -> Effect {
        self.is_loading = true;
        if self.card.value.is_some() {
            self.card.error = None;
        }
        self.polled = known.map(|known| known.status.clone());
        Effect::Explain(self.of.clone(), self.address.clone(), times)
    }

    /// Returns how long ago the explanation was loaded.
    fn age(&self, cx: &Cx<'_>) -> Duration {
        let loaded_at = self.card.at.unwrap_or(cx.session.now);
        Duration::try_from(cx.session.now.duration_since(loaded_at)).unwrap_or_default()
    }

    /// Returns the lines of the page.
    fn card_lines(&self, cx: &Cx<'_>, width: usize) -> Vec<Line> {
        let card = match (&self.card.value, &self.card.error) {
            (Some(card), _) => card,
            (None, Some(error)) => return wrapped(Tone::Bad, &error.story(), width),
            (None, None) => return vec![Line::dim("Loading…")],
        };
        let mut card = card.clone();
        let mut lines = Vec::new();
        if self.card.error.is_some() {
            let said = format!("Loaded {} ago; reloading failed.", text::age(self.age(cx)));
            lines.extend(wrapped(Tone::Bad, &said, width));
        } else {
            card.add_time(self.age(cx));
        }
        // The cause and the fix must be on the first screen; the log is the longest part and comes last.
        let mut groups: Vec<(usize, Vec<CardLine>)> =
            groups(card.lines()).into_iter().enumerate().collect();
        groups.sort_by_key(|(number, group)| {
            let has = |part| group.iter().any(|line| line.part == part);
            match number {
                0 => 0,
                _ if has(Part::Error) => 1,
                _ if has(Part::Next) => 2,
                _ if has(Part::Log) => 4,
                _ => 3,
            }
        });
        for (_, group) in groups {
            if !lines.is_empty() {
                lines.push(Line::new());
            }
            let mut previous = Part::Title;
            for line in group {
                let tone = match line.part {
                    Part::Title | Part::Heading => Tone::Strong,
                    // The first line of an error is the most important one.
                    Part::Error if previous != Part::Error => Tone::Bad,
                    Part::Log => Tone::Dim,
                    Part::Error | Part::Fact | Part::Time | Part::Change | Part::Next => {
                        Tone::Plain
                    }
                };
                if line.part == Part::Next && previous != Part::Next {
                    lines.extend(steps(cx, &card, self.has_build, width));
                }
                previous = line.part;
                match line.part {
                    Part::Next => {}
                    Part::Time => lines.push(build_steps(&card, width)),
                    // The card has the deployment's name on the command line.
                    Part::Title => {
                        let rest = line
                            .text
                            .strip_prefix(&card.deployment)
                            .unwrap_or(&line.text);
                        lines.extend(wrapped(
                            tone,
                            &format!("{}{rest}", text::clean(&self.name)),
                            width,
                        ));
                    }
                    _ => lines.extend(wrapped(tone, &line.text, width)),
                }
            }
        }
        lines
    }

    fn change(&self, intent: Intent) -> Requests {
        Route::change(self.of.profile.clone(), intent).into()
    }

    /// Returns the last good revision, else the serving one.
    fn earlier(&self) -> Option<RevisionRef> {
        let Some(card) = &self.card.value else {
            return None;
        };
        let good = card.last_good.as_ref().map(|good| &good.id);
        let id = good.or(card.serves_instead.as_ref().map(|other| &other.id))?;
        Some(RevisionRef {
            revision: id.as_str().into(),
            ..self.of.clone()
        })
    }
}

/// Cells of the longest bar.
const BAR: usize = 16;

/// Returns where the time of the build went.
fn build_steps(card: &FailureCard, width: usize) -> Line {
    let steps = card.times.steps.iter();
    let times: Vec<_> = steps
        .map(|step| (step.name.clone(), step.spent, text::duration(step.spent)))
        .collect();
    let mut line = Line::plain("  ");
    line.left
        .extend(time_bars(&times, BAR, width.saturating_sub(2)).left);
    line
}

/// Returns what to do, each with its key.
fn steps(cx: &Cx<'_>, card: &FailureCard, has_build: bool, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for step in card
        .next
        .iter()
        .filter(|step| has_build || step.kind != StepKind::BuildLog)
    {
        let id = match step.kind {
            StepKind::BuildLog => Some("card.build_log"),
            StepKind::ServerLog => Some("card.logs"),
            StepKind::Details => Some("card.details"),
            StepKind::Compare => Some("card.compare"),
            StepKind::Redeploy => Some("card.redeploy"),
            StepKind::Rollback => Some("card.rollback"),
            StepKind::Wait => Some("card.watch"),
            StepKind::Interrupt => Some("card.interrupt"),
            StepKind::Advice | StepKind::Newer => None,
        };
        // A command waits; the dashboard notifies.
        let said = match step.kind {
            StepKind::Wait => "Notify when it finishes",
            _ => &step.text,
        };
        let mut key = id.map(|id| cx.session.key(id)).unwrap_or_default();
        for part in wrap(&text::clean(said), width.saturating_sub(7)) {
            let key = std::mem::take(&mut key);
            lines.push(Line::of(Tone::Key, &format!("    {key:<3}")).with_plain(&part));
        }
    }
    lines
}

impl Page for Explained {
    fn on_reply(&mut self, session: &mut Session, reply: &EffectResult) -> Option<Requests> {
        match reply {
            EffectResult::Card(of, card) if *of == self.of => {
                if let Err(error) = card {
                    session.report_error(error);
                }
                self.is_loading = false;
                self.card.take(card.clone(), session.now);
                Some(Requests::none())
            }
            _ => None,
        }
    }

    fn context(&self) -> Context {
        Context::Card
    }

    fn commands(&self, _cx: &Cx<'_>) -> Commands {
        let all = Commands::of(Context::Card).exist_if(self.has_build, &["card.build_log"]);
        // Until the facts are known, only what fits every revision.
        let Some(card) = &self.card.value else {
            return all.footer(&["card.build_log", "card.logs", "app.back"]);
        };
        all.footer(match Phase::of(&card.status) {
            Phase::Waiting | Phase::Moving | Phase::Unknown => {
                &["card.build_log", "card.watch", "card.interrupt", "app.back"]
            }
            Phase::Deployed => &["card.logs", "card.redeploy", "card.compare", "app.back"],
            Phase::Failed | Phase::Skipped | Phase::Interrupted => &[
                "card.build_log",
                "card.rollback",
                "card.redeploy",
                "card.compare",
                "app.back",
            ],
        })
    }

    fn title(&self, _cx: &Cx<'_>) -> (&'static str, String) {
        (
            "Revision",
            format!("{} › {}", self.name, text::short_id(&self.of.revision)),
        )
    }

    fn is_sheet(&self) -> bool {
        true
    }

    fn lines(&self, cx: &Cx<'_>, width: usize) -> Vec<Line> {
        self.card_lines(cx, width.saturating_sub(GUTTER.into()))
    }

    fn action(&mut self, _cx: &Cx<'_>, action: Action) -> Requests {
        let kind = match action {
            Action::BuildLog if !self.has_build => return Requests::info(no_build_log(&self.name)),
            Action::BuildLog => LogKind::Build,
            Action::ServerLog => LogKind::Server,
            Action::Watch => return Request::WatchRevision(self.of.clone()).into(),
            Action::Interrupt => {
                return self.change(Intent::Interrupt {
                    deployment: self.of.deployment.to_string(),
                    revision: self.of.revision.to_string(),
                });
            }
            Action::Describe => return Route::Record(Described::Revision(self.of.clone())).into(),
            Action::Compare => {
                let Some(before) = self.earlier() else {
                    return Requests::info("No other revision known.");
                };
                // The name in titles has the region, too.
                let name = self
                    .address
                    .split_once('/')
                    .map_or(&*self.name, |(_, name)| name);
                let sides = [&before, &self.of].map(|of| ConfigurationRef::of_revision(of, name));
                return Route::Compare(sides.map(SideRef::Configuration).to_vec()).into();
            }
            Action::Redeploy => {
                return self.change(Intent::Redeploy {
                    deployment: self.of.deployment.to_string(),
                    revision: self.of.revision.to_string(),
                });
            }
            Action::Rollback => {
                let good = self
                    .card
                    .value
                    .as_ref()
                    .and_then(|card| card.last_good.as_ref());
                let Some(good) = good else {
                    return Requests::info("No earlier deployed revision known.");
                };
                return self.change(Intent::Rollback {
                    deployment: self.of.deployment.to_string(),
                    revision: good.id.clone(),
                    changes_source: false,
                });
            }
            _ => return Requests::none(),
        };
        Route::Logs(kind, vec![LogRef::of_revision(&self.of, &self.name)]).into()
    }

    fn profile(&self) -> Option<&str> {
        Some(&self.of.profile)
    }

    fn next_tick(&self, _cx: &Cx<'_>) -> Option<Duration> {
        let Some(card) = &self.card.value else {
            return None;
        };
        let has_time = card.times.elapsed.is_some() || self.card.error.is_some();
        has_time.then_some(Duration::from_secs(1))
    }
}

/// Groups lines: the facts, and each heading with the lines below it.
fn groups(lines: Vec<CardLine>) -> Vec<Vec<CardLine>> {
    let mut groups: Vec<Vec<CardLine>> = Vec::new();
    for line in lines {
        let begins = |last: &CardLine| {
            line.part == Part::Heading
                || (line.part == Part::Fact && last.part != Part::Fact && last.part != Part::Title)
        };
        match groups.last_mut() {
            Some(group) if !group.last().is_some_and(begins) => group.push(line),
            _ => groups.push(vec![line]),
        }
    }
    groups
}

/// Wraps a text, indenting all but its first line.
fn wrapped(tone: Tone, text: &str, width: usize) -> Vec<Line> {
    let body = text.trim_start_matches(' ');
    let indent = text.len() - body.len();
    let parts = wrap(body, width.saturating_sub(indent + 2)).into_iter();
    let line = |(n, part): (usize, String)| {
        let indent = if n == 0 { indent } else { indent + 2 };
        Line::of(tone, &format!("{}{part}", " ".repeat(indent)))
    };
    parts.enumerate().map(line).collect()
}
