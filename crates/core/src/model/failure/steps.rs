//! Where the time of a build went, by its log: the time from the first line of each step to that of the next one.
//!
//! Steps are those that Google Cloud Build names (`Step #1 - "build": …`), and within one the instructions that BuildKit numbers
//! (`#7 [3/6] RUN …`). A log without either, or without times, has none.

use crate::model::first_error::LogText;
use crate::text;
use jiff::Timestamp;
use serde::Serialize;
use std::time::Duration;

/// Maximum steps of a card; the shortest others are added up.
const MOST: usize = 5;
/// Maximum columns of a step's name.
const NAME: usize = 24;
/// The name of the remaining steps.
const OTHER: &str = "other";

/// A step of a build, and its time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LogStep {
    /// `pull-base`, `RUN 3/6`, or `other`.
    pub name: String,
    /// From its first line to that of the next step.
    #[serde(rename = "seconds", serialize_with = "super::seconds")]
    pub spent: Duration,
}

/// Returns the steps of a build log, oldest first; none if fewer than two are known.
pub(super) fn log_steps(lines: &[LogText<'_>]) -> Vec<LogStep> {
    let mut steps: Vec<LogStep> = Vec::new();
    // The current step, and when it began.
    let mut current: Option<(String, Timestamp)> = None;
    let mut instructions: Vec<(&str, String)> = Vec::new();
    let mut last = None;
    for line in lines {
        let Some(at) = line.at else { continue };
        last = last.max(Some(at));
        let Some(name) = step_of(line.message, &mut instructions) else {
            continue;
        };
        match &current {
            Some((same, _)) if *same == name => {}
            _ => {
                if let Some((before, began)) = current.replace((name, at)) {
                    add(&mut steps, before, began, at);
                }
            }
        }
    }
    if let (Some((name, began)), Some(end)) = (current, last) {
        add(&mut steps, name, began, end);
    }
    steps.retain(|step| !step.spent.is_zero());
    if steps.len() < 2 {
        Vec::new()
    } else {
        longest(steps)
    }
}

/// Adds time to a step, which may be interrupted by lines of another one.
fn add(steps: &mut Vec<LogStep>, name: String, from: Timestamp, to: Timestamp) {
    let spent = Duration::try_from(to - from).unwrap_or_default();
    match steps.iter_mut().find(|step| step.name == name) {
        Some(step) => step.spent += spent,
        None => steps.push(LogStep { name, spent }),
    }
}

/// Keeps the longest steps in their order, and adds up the others.
fn longest(steps: Vec<LogStep>) -> Vec<LogStep> {
    if steps.len() <= MOST {
        return steps;
    }
    let mut times: Vec<Duration> = steps.iter().map(|step| step.spent).collect();
    times.sort_unstable_by(|a, b| b.cmp(a));
    let least = times[MOST - 2];
    let mut left = MOST - 1;
    let mut other = LogStep {
        name: OTHER.into(),
        spent: Duration::ZERO,
    };
    let mut kept = Vec::new();
    for step in steps {
        if step.spent >= least && left > 0 {
            left -= 1;
            kept.push(step);
        } else {
            other.spent += step.spent;
        }
    }
    kept.push(other);
    kept
}

/// Returns the step of a line; `None` for a line that continues the current one. `instructions` has those seen so far.
fn step_of<'a>(message: &'a str, instructions: &mut Vec<(&'a str, String)>) -> Option<String> {
    let rest = message.strip_prefix("Step #")?;
    let (_, rest) = rest.split_once(" - \"")?;
    let (name, body) = rest.split_once("\": ")?;
    let name = text::fit(&text::clean(name), NAME).into_owned();
    let Some(number) = body
        .strip_prefix('#')
        .and_then(|body| body.split(' ').next())
        .filter(|word| is_number(word))
    else {
        return Some(name);
    };
    let known = instructions
        .iter()
        .find(|(of, _)| *of == number)
        .map(|(_, name)| name.clone());
    if known.is_some() {
        return known;
    }
    // `#7 [3/6] RUN …`, or without a position: `#10 exporting layers`.
    let text = body.strip_prefix('#')?.strip_prefix(number)?.trim_start();
    let (position, words) = match text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        Some((position, words)) => (
            position.split(' ').next_back().unwrap_or(""),
            words.trim_start(),
        ),
        None => ("", text),
    };
    let word = words.split(' ').next().unwrap_or("");
    let name = text::fit(&text::clean(format!("{word} {position}").trim()), NAME).into_owned();
    if name.is_empty() || instructions.len() >= 200 {
        return None;
    }
    instructions.push((number, name.clone()));
    Some(name)
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(lines: &[(i64, &str)]) -> Vec<(String, u64)> {
        let lines: Vec<LogText<'_>> = lines
            .iter()
            .map(|(second, message)| LogText {
                at: Timestamp::from_second(*second).ok(),
                level: None,
                message,
            })
            .collect();
        log_steps(&lines)
            .into_iter()
            .map(|step| (step.name, step.spent.as_secs()))
            .collect()
    }

    #[test]
    fn steps_of_a_build_log_have_their_times() {
        let log = [
            (0, "Starting build"),
            (1, "Step #0 - \"pull-base\": Pulling image"),
            (4, "Step #0 - \"pull-base\": done"),
            (5, "Step #1 - \"build\": #6 [2/6] ADD . /app"),
            (
                6,
                "Step #1 - \"build\": #7 [stage-1 3/6] RUN uv pip install",
            ),
            (20, "Step #1 - \"build\": #7 4.1  + pydantic"),
            (33, "Step #1 - \"build\": #10 exporting layers"),
            (34, "DONE"),
        ];
        let expected = [
            ("pull-base", 4),
            ("ADD 2/6", 1),
            ("RUN 3/6", 27),
            ("exporting", 1),
        ];
        assert_eq!(
            steps(&log),
            expected.map(|(name, seconds)| (name.to_string(), seconds))
        );
    }

    #[test]
    fn the_longest_steps_are_kept_and_the_others_added_up() {
        let names = ["a", "b", "c", "d", "e", "f", "g"];
        let messages: Vec<String> = names
            .iter()
            .map(|name| format!("Step #0 - \"{name}\": x"))
            .collect();
        let log: Vec<(i64, &str)> = [0, 10, 11, 31, 33, 63, 64]
            .into_iter()
            .zip(messages.iter().map(String::as_str))
            .collect();
        let found = steps(&log);
        assert_eq!(found.iter().map(|(_, seconds)| seconds).sum::<u64>(), 64);
        assert_eq!(found.last().map(|(name, _)| name.as_str()), Some(OTHER));
        assert_eq!(found.len(), MOST);
        assert!(
            ["a", "c", "e"]
                .iter()
                .all(|name| found.iter().any(|(of, _)| of == name)),
            "{found:?}"
        );
    }

    #[test]
    fn logs_without_steps_or_times_have_none() {
        for log in [
            &[(0, "INFO starting"), (9, "INFO done")][..],
            &[(0, "Step #0 - \"only\": x"), (9, "Step #0 - \"only\": y")],
            &[
                (0, "Step #"),
                (1, "Step #1 - \""),
                (2, "Step #1 - \"\": #"),
                (3, "Step #1 - \"x\": #1"),
            ],
        ] {
            assert_eq!(steps(log), []);
        }
        let untimed = LogText {
            message: "Step #0 - \"a\": x",
            ..LogText::default()
        };
        assert_eq!(log_steps(&[untimed]), []);
    }
}
