//! The card as lines for a terminal, and as Markdown.

use super::{CardLog, Change, FailureCard, LastGood, LogEnd, ServesInstead, Times};
use crate::text::{self, markdown};
use jiff::Timestamp;

/// The kind of a card's line, for its color.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Deployment, revision and status: the first line.
    Title,
    /// Creates a note.
    Fact,
    /// The steps of the build with their times.
    Time,
    /// The heading of a group of lines.
    Heading,
    /// A line of the error.
    Error,
    /// A changed field.
    Change,
    /// A line of the log.
    Log,
    /// An action or its command.
    Next,
}

/// A sanitized line of a card, with its indentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardLine {
    /// What it is.
    pub part: Part,
    /// The line.
    pub text: String,
}

impl FailureCard {
    /// The parts of the card after its title and facts: what each is, its heading (or only a fact), and the lines under it.
    fn sections(&self) -> Vec<(Part, Result<String, String>, Vec<String>)> {
        let lines = |changes: &[Change]| changes.iter().map(Change::line).collect();
        let mut all = Vec::new();
        if let Some(error) = &self.error {
            let text = std::iter::once(&error.text).chain(&error.more);
            let heading = Ok(self.error_heading(error.line));
            all.push((Part::Error, heading, text.cloned().collect()));
        }
        if let Some(other) = &self.serves_instead {
            let changes = other.changes.as_deref().unwrap_or_default();
            all.push((Part::Change, other.heading(), lines(changes)));
        }
        match &self.last_good {
            _ if self.is_told_already() => {}
            Some(good) => {
                let (heading, changes) = (good.heading(), &good.changes);
                let heading = match changes.is_empty() {
                    true => Err(format!("{heading}; {NO_CHANGE}")),
                    false => Ok(format!("{heading}; changed since")),
                };
                all.push((Part::Change, heading, lines(changes)));
            }
            None => all.push((Part::Change, Err(NO_GOOD.into()), Vec::new())),
        }
        if let Some(log) = &self.log {
            all.push((Part::Log, log.heading(), log.tail.clone()));
        }
        all
    }

    /// The card as lines for a terminal.
    pub fn lines(&self) -> Vec<CardLine> {
        let mut lines = Vec::new();
        let mut say = |part, text: String| lines.push(CardLine { part, text });
        let from = self.made_from.as_ref().map(|from| format!(" ({from})"));
        say(
            Part::Title,
            format!(
                "{} {}{}: {}",
                self.deployment,
                self.revision_id,
                from.unwrap_or_default(),
                self.status_word()
            ),
        );
        let message = self
            .message
            .iter()
            .map(|message| format!("The server says: {message}"));
        let times = self.times_line().map(|times| format!("Time: {times}"));
        let facts = std::iter::once(self.meaning.clone()).chain(self.service.clone());
        for fact in facts.chain(message).chain(times) {
            say(Part::Fact, format!("  {fact}"));
        }
        if let Some(steps) = self.times.steps_line() {
            say(Part::Time, format!("  {steps}"));
        }
        for (part, heading, under) in self.sections() {
            match heading {
                Ok(heading) => say(Part::Heading, format!("  {}:", text::capitalized(&heading))),
                Err(fact) => {
                    say(Part::Fact, format!("  {}", text::capitalized(&fact)));
                    continue;
                }
            }
            under
                .iter()
                .for_each(|line| say(part, format!("    {line}")));
        }
        if !self.next.is_empty() {
            say(Part::Heading, "  What to do:".into());
            for step in &self.next {
                say(Part::Next, format!("    {}", step.text));
                if let Some(command) = &step.command {
                    say(Part::Next, format!("      {command}"));
                }
            }
        }
        lines
    }

    /// The card for a terminal, each line with its line break.
    pub fn text(&self) -> String {
        self.lines()
            .into_iter()
            .map(|line| line.text + "\n")
            .collect()
    }

    /// The card as a section of a Markdown document (GitHub's dialect).
    pub fn markdown(&self) -> String {
        let (code, inline) = (markdown::code, markdown::inline);
        let from = self
            .made_from
            .as_ref()
            .map(|from| format!(" ({})", code(from)));
        let service = self.service.iter().map(|service| format!(" {service}"));
        let mut parts = vec![
            format!(
                "### {} {}{}: {}",
                inline(&self.deployment),
                code(&self.revision_id),
                from.unwrap_or_default(),
                code(self.status_word())
            ),
            std::iter::once(self.meaning.clone())
                .chain(service)
                .collect(),
        ];
        parts.extend(
            self.message
                .as_ref()
                .map(|message| format!("> {}", inline(message))),
        );
        parts.extend(
            self.times_line()
                .map(|times| format!("**Time:** {}", inline(&times))),
        );
        parts.extend(
            self.times
                .steps_line()
                .map(|steps| sentence(&inline(&steps))),
        );
        let list = |lines: Vec<String>| {
            lines
                .iter()
                .map(|line| format!("\n- {line}"))
                .collect::<String>()
        };
        let mut log = Vec::new();
        for (part, heading, under) in self.sections() {
            let block = || markdown::block(under.iter().map(String::as_str));
            let shown = match (part, &heading) {
                (_, Err(fact)) => sentence(&inline(fact)),
                (Part::Error, Ok(heading)) => {
                    format!(
                        "**{}**\n\n{}",
                        text::capitalized(heading),
                        block().trim_end()
                    )
                }
                (Part::Log, Ok(heading)) => format!(
                    "<details><summary>{}</summary>\n\n{}\n</details>",
                    text::capitalized(heading),
                    block()
                ),
                (_, Ok(heading)) => {
                    let changes = under.iter().map(|line| code(line)).collect();
                    format!(
                        "{}:\n{}",
                        text::capitalized(&inline(heading)),
                        list(changes)
                    )
                }
            };
            // The log is long, so it is last.
            match part {
                Part::Log => log.push(shown),
                _ => parts.push(shown),
            }
        }
        if !self.next.is_empty() {
            let steps = self.next.iter().map(|step| {
                let command = step
                    .command
                    .as_ref()
                    .map(|command| format!(": {}", code(command)));
                inline(&step.text) + &command.unwrap_or_default()
            });
            parts.push(format!("**What to do**\n{}", list(steps.collect())));
        }
        parts.extend(log);
        parts.into_iter().map(|part| part + "\n\n").collect()
    }

    /// Whether the last good revision is the serving one, which was already reported.
    fn is_told_already(&self) -> bool {
        let good = self.last_good.as_ref().map(|good| &good.id);
        self.serves_instead
            .as_ref()
            .is_some_and(|other| good.is_none_or(|good| *good == other.id))
    }

    /// Returns the durations in one line, if any.
    fn times_line(&self) -> Option<String> {
        let times = &self.times;
        let seen: Vec<String> = match times.seen.as_slice() {
            // First seen late, it tells less than the time since the creation.
            [only] if !only.from_start && times.elapsed.is_some() => Vec::new(),
            seen => seen.iter().map(super::StatusTime::words).collect(),
        };
        let mut parts = Vec::new();
        if !seen.is_empty() {
            parts.push(seen.join(" ▸ "));
        }
        if let Some(recorded) = times.recorded {
            parts.push(format!("{} in total", text::duration(recorded)));
        }
        if let Some(elapsed) = times.elapsed {
            parts.push(format!("{} so far", text::duration(elapsed)));
        }
        // A server log covers the time after the rollout, which is no part of the total.
        let is_build = self
            .log
            .as_ref()
            .is_some_and(|log| log.log == CardLog::Build);
        if let Some(log) = times.log.filter(|_| is_build && seen.is_empty()) {
            parts.push(format!("log covers {}", text::duration(log)));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    fn status_word(&self) -> &str {
        if self.status.is_empty() {
            "no status"
        } else {
            &self.status
        }
    }

    fn error_heading(&self, line: usize) -> String {
        let (word, lines) = self
            .log
            .as_ref()
            .map(|log| (log.log.word(), log.lines))
            .unwrap_or(("build", line));
        format!(
            "first error ({word} log, line {line} of {})",
            text::count(lines as u64)
        )
    }
}

const NO_GOOD: &str = "no earlier successful revision is known";
const NO_DIFFERENCE: &str = "no recorded differences (secrets and resources are not recorded)";
const NO_CHANGE: &str = "no recorded changes since (secrets and resources are not recorded)";

impl LastGood {
    fn heading(&self) -> String {
        let origin = origin(self.created_at, self.made_from.as_deref());
        format!("last good revision before this one: {}{origin}", self.id)
    }
}

impl ServesInstead {
    /// Returns the heading of the changes, or only the fact if there are none.
    fn heading(&self) -> Result<String, String> {
        let origin = origin(self.created_at, self.made_from.as_deref());
        let one = match (self.is_idle, self.derived) {
            (true, _) => "the active revision",
            (false, true) => "the newest deployed revision (presumably serving)",
            (false, false) => "the serving revision",
        };
        let fact = format!("{one} is {}{origin}", self.id);
        match &self.changes {
            None => Err(format!("{fact}; its record could not be read")),
            Some(changes) if changes.is_empty() => Err(format!("{fact}; {NO_DIFFERENCE}")),
            Some(_) if self.is_older == Some(true) => {
                Ok(format!("{fact}; differences of this one"))
            }
            Some(_) => Ok(format!("{fact}; its changes")),
        }
    }
}

/// Returns when and from which source a revision was created, if known.
fn origin(created_at: Option<Timestamp>, made_from: Option<&str>) -> String {
    let made = created_at
        .map(|at| at.strftime(", created %Y-%m-%d %H:%MZ").to_string())
        .unwrap_or_default();
    let from = made_from
        .map(|from| format!(" from {from}"))
        .unwrap_or_default();
    made + &from
}

impl LogEnd {
    /// Returns the heading of the log's end, or why there is none.
    fn heading(&self) -> Result<String, String> {
        let word = self.log.word();
        match &self.unread {
            Some(why) => Err(format!("the {word} log could not be read: {why}")),
            None if self.tail.is_empty() => Err(format!("the {word} log is empty")),
            None => Ok(format!(
                "end of the {word} log ({})",
                text::counted(self.tail.len(), "line")
            )),
        }
    }
}

impl Times {
    /// Returns the steps of the build in one line, if any.
    fn steps_line(&self) -> Option<String> {
        let steps = self
            .steps
            .iter()
            .map(|step| format!("{} {}", step.name, text::duration(step.spent)));
        (!self.steps.is_empty()).then(|| {
            format!(
                "Steps of the build: {}",
                steps.collect::<Vec<_>>().join(" · ")
            )
        })
    }
}

impl super::StatusTime {
    /// `BUILDING 2m10s`; with `≥` where its beginning was not seen.
    pub fn words(&self) -> String {
        let status = if self.status.is_empty() {
            "no status".into()
        } else {
            text::clean(&self.status)
        };
        let least = if self.from_start { "" } else { "≥" };
        format!("{status} {least}{}", text::duration(self.spent))
    }
}

fn sentence(text: &str) -> String {
    format!("{}.", text::capitalized(text))
}
