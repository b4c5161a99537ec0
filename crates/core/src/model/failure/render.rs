//! The card as lines for a terminal, and as Markdown.

use super::{CardLog, FailureCard, LastGood, LogEnd, ServesInstead, Times};
use crate::text::{self, markdown};
use jiff::Timestamp;
use std::fmt::Write;

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
    /// The card as lines for a terminal.
    pub fn lines(&self) -> Vec<CardLine> {
        let mut lines = Vec::new();
        let mut say = |part, text: String| lines.push(CardLine { part, text });
        let from = self
            .made_from
            .as_ref()
            .map(|from| format!(" ({from})"))
            .unwrap_or_default();
        say(
            Part::Title,
            format!(
                "{} {}{from}: {}",
                self.deployment,
                self.revision_id,
                self.status_word()
            ),
        );
        say(Part::Fact, format!("  {}", self.meaning));
        if let Some(service) = &self.service {
            say(Part::Fact, format!("  {service}"));
        }
        if let Some(message) = &self.message {
            say(Part::Fact, format!("  The server says: {message}"));
        }
        if let Some(times) = self.times_line() {
            say(Part::Fact, format!("  Time: {times}"));
        }
        if let Some(steps) = self.times.steps_line() {
            say(Part::Time, format!("  {steps}"));
        }
        if let Some(error) = &self.error {
            say(
                Part::Heading,
                format!("  {}:", text::capitalized(&self.error_heading(error.line))),
            );
            say(Part::Error, format!("    {}", error.text));
            error
                .more
                .iter()
                .for_each(|line| say(Part::Error, format!("    {line}")));
        }
        if let Some(other) = &self.serves_instead {
            let changes = other.changes.iter().flatten();
            match other.heading() {
                Ok(heading) => say(Part::Heading, format!("  {}:", text::capitalized(&heading))),
                Err(fact) => say(Part::Fact, format!("  {}", text::capitalized(&fact))),
            }
            changes.for_each(|change| say(Part::Change, format!("    {}", change.line())));
        }
        match &self.last_good {
            _ if self.is_told_already() => {}
            Some(good) if good.changes.is_empty() => say(
                Part::Fact,
                format!("  {}; {NO_CHANGE}", text::capitalized(&good.heading())),
            ),
            Some(good) => {
                say(
                    Part::Heading,
                    format!("  {}; changed since:", text::capitalized(&good.heading())),
                );
                good.changes
                    .iter()
                    .for_each(|change| say(Part::Change, format!("    {}", change.line())));
            }
            None => say(Part::Fact, format!("  {}", text::capitalized(NO_GOOD))),
        }
        if let Some(log) = &self.log {
            match log.heading() {
                Ok(heading) => {
                    say(Part::Heading, format!("  {}:", text::capitalized(&heading)));
                    log.tail
                        .iter()
                        .for_each(|line| say(Part::Log, format!("    {line}")));
                }
                Err(why) => say(Part::Fact, format!("  {}", text::capitalized(&why))),
            }
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
        let mut out = String::new();
        let mut say = |text: String| {
            // Writing to a String does not fail.
            let _ = writeln!(out, "{text}\n");
        };
        let code = markdown::code;
        let from = self
            .made_from
            .as_ref()
            .map(|from| format!(" ({})", code(from)))
            .unwrap_or_default();
        let title = markdown::inline(&self.deployment);
        say(format!(
            "### {title} {}{from}: {}",
            code(&self.revision_id),
            code(self.status_word())
        ));
        let service = self.service.iter().map(|service| format!(" {service}"));
        say(std::iter::once(self.meaning.clone())
            .chain(service)
            .collect());
        if let Some(message) = &self.message {
            say(format!("> {}", markdown::inline(message)));
        }
        if let Some(times) = self.times_line() {
            say(format!("**Time:** {}", markdown::inline(&times)));
        }
        if let Some(steps) = self.times.steps_line() {
            say(sentence(&markdown::inline(&steps)));
        }
        if let Some(error) = &self.error {
            let heading = sentence(&self.error_heading(error.line));
            let lines = std::iter::once(&error.text)
                .chain(&error.more)
                .map(String::as_str);
            say(format!(
                "**{}**\n\n{}",
                heading.trim_end_matches('.'),
                markdown::block(lines).trim_end()
            ));
        }
        if let Some(other) = &self.serves_instead {
            let changes = other
                .changes
                .iter()
                .flatten()
                .map(|change| format!("\n- {}", code(&change.line())));
            match other.heading() {
                Ok(heading) => say(format!(
                    "{}:\n{}",
                    text::capitalized(&markdown::inline(&heading)),
                    changes.collect::<String>()
                )),
                Err(fact) => say(sentence(&markdown::inline(&fact))),
            }
        }
        match &self.last_good {
            _ if self.is_told_already() => {}
            Some(good) if good.changes.is_empty() => {
                say(sentence(&format!(
                    "{}; {NO_CHANGE}",
                    markdown::inline(&good.heading())
                )));
            }
            Some(good) => {
                let changes: String = good
                    .changes
                    .iter()
                    .map(|change| format!("\n- {}", code(&change.line())))
                    .collect();
                say(format!(
                    "{}; changed since:\n{changes}",
                    text::capitalized(&markdown::inline(&good.heading()))
                ));
            }
            None => say(sentence(NO_GOOD)),
        }
        if !self.next.is_empty() {
            let steps = self.next.iter().map(|step| {
                let command = step
                    .command
                    .as_ref()
                    .map(|command| format!(": {}", code(command)))
                    .unwrap_or_default();
                format!("\n- {}{command}", markdown::inline(&step.text))
            });
            say(format!("**What to do**\n{}", steps.collect::<String>()));
        }
        if let Some(log) = &self.log {
            match log.heading() {
                Ok(heading) => say(format!(
                    "<details><summary>{}</summary>\n\n{}\n</details>",
                    text::capitalized(&heading),
                    markdown::block(log.tail.iter().map(String::as_str))
                )),
                Err(why) => say(sentence(&markdown::inline(&why))),
            }
        }
        out
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
                "end of the {word} log ({} {})",
                self.tail.len(),
                if self.tail.len() == 1 {
                    "line"
                } else {
                    "lines"
                }
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
