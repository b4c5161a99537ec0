//! Finds the first error of a build or server log. Logs mix the output of many tools (docker, uv, pip, npm, Python); this
//! knows how each of them starts an error, and which errors only report another one.

use super::{LogLine, Severity};
use crate::text;
use jiff::Timestamp;
use serde::Serialize;

/// Maximum width of a kept line, in columns.
const MAX_COLUMNS: usize = 500;
/// Maximum number of further lines of an error.
const MAX_MORE: usize = 6;
/// Maximum length of a traceback, in lines.
const MAX_TRACEBACK: usize = 300;

/// A line of a log.
#[derive(Debug, Clone, Copy, Default)]
pub struct LogText<'a> {
    /// When it was written.
    pub at: Option<Timestamp>,
    /// Its level word, if it has one.
    pub level: Option<&'a str>,
    /// Its text: one or many lines, unsanitized.
    pub message: &'a str,
}

impl<'a> From<&'a LogLine> for LogText<'a> {
    fn from(line: &'a LogLine) -> LogText<'a> {
        LogText {
            at: line.at,
            level: line.level.as_deref(),
            message: &line.message,
        }
    }
}

/// The first error of a log.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FirstError {
    /// Which line of the log, from 1.
    pub line: usize,
    /// When it was written.
    pub at: Option<Timestamp>,
    /// Its text, sanitized, without the builder's prefix.
    pub text: String,
    /// The lines that continue it.
    pub more: Vec<String>,
}

/// How specific a line is; the first one of the best rank is the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// A tool reports its own error.
    Cause,
    /// Another line of level ERROR or worse.
    Level,
    /// A tool reports that another one failed.
    Consequence,
    /// It contains a word of failure.
    Hint,
}

/// A line of text of the log.
struct Line {
    /// Number of its entry, from 0.
    entry: usize,
    /// Docker's number of the build step.
    step: Option<u32>,
    is_error: bool,
    /// Sanitized, without prefixes, with its indentation.
    body: String,
}

/// Finds the first error of a log; nothing if no line looks like one. "First" is the first of the most specific rank: `process "uv pip install" did not complete successfully` never hides uv's own words.
pub fn first_error(log: &[LogText<'_>]) -> Option<FirstError> {
    let lines: Vec<Line> = log
        .iter()
        .enumerate()
        .flat_map(|(entry, text)| split(entry, text))
        .collect();
    let failing = lines
        .iter()
        .find(|l| l.body.starts_with("ERROR:") && l.step.is_some())
        .and_then(|l| l.step);
    let mut best: Option<(Rank, usize)> = None;
    let mut at = 0;
    while at < lines.len() {
        let (rank, here) = match traceback(&lines, at) {
            Some(end) => (Some(Rank::Cause), end),
            None => (rank(&lines[at]), at),
        };
        // What another build step printed did not fail this build.
        let elsewhere =
            failing.is_some() && lines[here].step.is_some_and(|step| Some(step) != failing);
        let rank = rank.map(|rank| if elsewhere { Rank::Hint } else { rank });
        if let Some(rank) = rank
            && best.is_none_or(|(other, _)| rank < other)
        {
            best = Some((rank, here));
        }
        at = here + 1;
    }
    let (_, at) = best?;
    let first = &lines[at];
    let shown = |line: &Line| text::fit(line.body.trim_end(), MAX_COLUMNS).into_owned();
    Some(FirstError {
        line: first.entry + 1,
        at: log[first.entry].at,
        text: shown(first).trim_start().to_string(),
        more: lines[at + 1..]
            .iter()
            .take_while(|line| continues(line, first))
            .take(MAX_MORE)
            .map(shown)
            .collect(),
    })
}

/// Whether a line continues an error: it is part of its drawing, or indented.
fn continues(line: &Line, first: &Line) -> bool {
    let drawn = line.body.trim_start().starts_with(['╰', '├', '│', '╭']);
    line.step == first.step
        && !line.body.trim().is_empty()
        && (drawn || indent(&line.body) > indent(&first.body))
}

fn indent(body: &str) -> usize {
    body.len() - body.trim_start().len()
}

fn split(entry: usize, log: &LogText<'_>) -> Vec<Line> {
    let is_error = log
        .level
        .is_some_and(|level| matches!(Severity::of(level), Severity::Error | Severity::Critical));
    let clean = text::clean_lines(log.message);
    let line = |text: &str| {
        let (step, body) = bare(text);
        Line {
            entry,
            step,
            is_error,
            body: body.to_string(),
        }
    };
    clean.lines().map(line).collect()
}

/// Returns a line without the prefixes of builders and loggers: `Step #1 - "build": `, `#7 6.874 `, a time.
fn bare(line: &str) -> (Option<u32>, &str) {
    let (mut step, mut body) = (None, line);
    for _ in 0..4 {
        let trimmed = body.trim_start();
        let (first, rest) = trimmed.split_once(' ').unwrap_or((trimmed, ""));
        if let Some((_, rest)) = trimmed
            .strip_prefix("Step #")
            .and_then(|rest| rest.split_once("\": "))
        {
            body = rest;
        } else if let Some(number) = first
            .strip_prefix('#')
            .and_then(|number| number.parse().ok())
        {
            (step, body) = (Some(number), rest);
        } else if is_seconds(first) || super::parse_time(first).is_some() && first.contains('T') {
            body = rest;
        } else if let (true, Some((clock, rest))) =
            (is_shaped(first, "0000-00-00"), rest.split_once(' '))
            && is_shaped(clock.get(..8).unwrap_or_default(), "00:00:00")
        {
            body = rest;
        } else {
            break;
        }
    }
    (step, body)
}

/// `6.874`: the time that docker gives each line of a step.
fn is_seconds(word: &str) -> bool {
    word.split_once('.').is_some_and(|(whole, part)| {
        !whole.is_empty()
            && part.len() == 3
            && (whole.to_string() + part)
                .bytes()
                .all(|b| b.is_ascii_digit())
    })
}

fn is_shaped(word: &str, shape: &str) -> bool {
    word.len() == shape.len()
        && word.bytes().zip(shape.bytes()).all(|(b, s)| {
            if s == b'0' {
                b.is_ascii_digit()
            } else {
                b == s
            }
        })
}

/// The line that says which error a Python traceback ends with, where one begins at `at`; of a chain of tracebacks that of
/// the last.
fn traceback(lines: &[Line], at: usize) -> Option<usize> {
    let begins = |line: &Line| line.body.contains("Traceback (most recent call last):");
    if !begins(&lines[at]) {
        return None;
    }
    let depth = indent(&lines[at].body);
    let until = lines.len().min(at + MAX_TRACEBACK);
    let is_end = |line: &Line| !line.body.trim().is_empty() && indent(&line.body) <= depth;
    let mut end = (at + 1..until).find(|&i| is_end(&lines[i]))?;
    if lines[end].body.trim_start().starts_with("File \"") {
        // A log that lost its indentation.
        end = (end..until).find(|&i| is_exception(lines[i].body.trim()))?;
    }
    let next = (end + 1..until).find(|&i| begins(&lines[i]));
    let linked = |i: usize| {
        lines[end + 1..i].iter().any(|line| {
            line.body.contains("the above exception") || line.body.contains("The above exception")
        })
    };
    let chained = next
        .filter(|&i| linked(i))
        .and_then(|i| traceback(lines, i));
    Some(chained.unwrap_or(end))
}

/// Prefixes of lines in which a tool reports its own error, in lowercase.
const CAUSE_BEGINS: [&str; 14] = [
    "× ",
    "✘",
    "✖",
    "❌",
    "npm err!",
    "npm error",
    "err_",
    "error[",
    "error:",
    "fatal:",
    "fatal error",
    "panic:",
    "e: ",
    "fatal python error",
];
/// Words of such lines at any position.
const CAUSE_SAYS: [&str; 20] = [
    ": error:",
    ": fatal error:",
    "error ts",
    "no solution found",
    "no matching distribution found",
    "could not find a version that satisfies",
    "resolutionimpossible",
    "no module named",
    "command not found",
    "no space left on device",
    "oomkilled",
    "out of memory",
    "crashloopbackoff",
    "imagepullbackoff",
    "errimagepull",
    "manifest unknown",
    "pull access denied",
    "permission denied",
    "password authentication failed",
    "could not resolve host",
];
/// Words of lines in which a tool reports that another one failed.
const CONSEQUENCE_SAYS: [&str; 15] = [
    "did not complete successfully",
    "failed to solve",
    "exited with non-zero",
    "non-zero code",
    "exit code: ",
    "exit code 1",
    "exit status ",
    "a complete log of this run",
    "elifecycle",
    "subprocess-exited-with-error",
    "metadata-generation-failed",
    "deployment is not ready",
    "readiness probe failed",
    "back-off restarting",
    "build failed",
];
/// Errors that tools print and ignore.
const HARMLESS: [&str; 2] = [
    "pip's dependency resolver does not currently",
    "not a git repository",
];
/// Words of success that look like failure.
const NEGATED: [&str; 12] = [
    "no error",
    "without error",
    "error: none",
    "error=none",
    "error: null",
    "error=null",
    "errors: 0",
    "errors=0",
    "exit code: 0",
    "exit status 0",
    "0 failed",
    "no failures",
];

fn rank(line: &Line) -> Option<Rank> {
    let body = line.body.trim().trim_start_matches(['|', '│', ' ']);
    let small = body.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| small.contains(word));
    let begins = |words: &[&str]| words.iter().any(|word| small.starts_with(word));
    let warns = begins(&[
        "warn", "[warn", "npm warn", "deprecat", "info", "[info", "debug", "[debug", "note:",
    ]);
    if body.is_empty() || warns || counts_none(&small) || says(&NEGATED) {
        return None;
    }
    if says(&HARMLESS) {
        return Some(Rank::Hint);
    }
    if says(&CONSEQUENCE_SAYS) {
        return Some(Rank::Consequence);
    }
    if small == "killed" || begins(&CAUSE_BEGINS) || says(&CAUSE_SAYS) || is_exception(body) {
        return Some(Rank::Cause);
    }
    let told = ["ERROR ", "[ERROR", "[error", "CRITICAL", "[critical", "FATAL "].iter().any(|word| body.starts_with(word))
        // Yarn. A sentence about error handling begins otherwise.
        || body.strip_prefix("error ").is_some_and(|rest| rest.starts_with(char::is_uppercase));
    if line.is_error
        || told
        || says(&["level=error", "\"level\":\"error\"", "\"level\": \"error\""])
    {
        return Some(Rank::Level);
    }
    let mut words = small.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '/')));
    words
        .any(|word| {
            matches!(
                word,
                "error" | "errors" | "failed" | "failure" | "exception" | "cannot"
            )
        })
        .then_some(Rank::Hint)
}

/// `0 errors`, but not `10 errors`.
fn counts_none(small: &str) -> bool {
    let zero =
        |(at, _): (usize, &str)| !small[..at].ends_with(|c: char| c.is_ascii_digit() || c == '.');
    small.match_indices("0 error").any(zero)
}

/// `ModuleNotFoundError: No module named 'x'`, `openai.RateLimitError`: how Python and Java name what was raised.
fn is_exception(body: &str) -> bool {
    let name = body.split(':').next().unwrap_or_default();
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
    is_name
        && ["Error", "Exception", "Interrupt", "Exit"]
            .iter()
            .any(|end| last.len() > end.len() && last.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(log: &str) -> Option<FirstError> {
        let lines: Vec<LogText> = log
            .lines()
            .map(|message| LogText {
                message,
                ..LogText::default()
            })
            .collect();
        first_error(&lines)
    }

    fn error_text(log: &str) -> String {
        found(log).map(|e| e.text).unwrap_or_default()
    }

    #[test]
    fn first_error_of_uv_in_docker() {
        let error = found(
            "#6 [2/6] ADD . /deps/app\n#6 DONE 0.1s\n#7 [3/6] RUN uv pip install --system -e /deps/*\n\
             #7 6.874 \u{1b}[31m  × No solution found when resolving dependencies:\u{1b}[0m\n\
             #7 6.874   ╰─▶ Because app==0.4.0 depends on langchain-openai>=2.1 and\n\
             #7 6.874       openai==2.32.0, we can conclude that app cannot be used.\n\
             #7 ERROR: process \"/bin/sh -c uv pip install\" did not complete successfully: exit code: 1\n\
             ------\n > [3/6] RUN uv pip install --system -e /deps/*:\n6.874   × No solution found when resolving dependencies:\n------\n\
             ERROR: failed to solve: process \"/bin/sh -c uv pip install\" did not complete successfully: exit code: 1",
        )
        .unwrap();
        assert_eq!(
            (error.line, error.text.as_str()),
            (4, "× No solution found when resolving dependencies:")
        );
        assert_eq!(error.more.len(), 2, "{:?}", error.more);
        assert!(error.more[1].ends_with("cannot be used."));
    }

    #[test]
    fn first_error_of_pip_npm_and_compilers() {
        let pip = "Collecting httpx==9\nERROR: pip's dependency resolver does not currently take into account all\n\
                   ERROR: Could not find a version that satisfies the requirement httpx==9 (from versions: 0.1)\n\
                   ERROR: No matching distribution found for httpx==9";
        assert_eq!(
            error_text(pip),
            "ERROR: Could not find a version that satisfies the requirement httpx==9 (from versions: 0.1)"
        );
        let wheel = "  error: subprocess-exited-with-error\n  × Getting requirements to build wheel did not run successfully.\n  │ exit code: 1\n\
                     psycopg/x.c:1:10: fatal error: Python.h: No such file or directory";
        assert_eq!(
            error_text(wheel),
            "× Getting requirements to build wheel did not run successfully."
        );
        let npm = "npm warn ERESOLVE overriding peer dependency\nnpm error code ERESOLVE\nnpm error A complete log of this run can be found in: x";
        assert_eq!(error_text(npm), "npm error code ERESOLVE");
        assert_eq!(
            error_text(
                "src/a.ts(3,5): error TS2322: Type 'x'\nerror Command failed with exit code 1."
            ),
            "src/a.ts(3,5): error TS2322: Type 'x'"
        );
        assert_eq!(
            error_text(" ERR_PNPM_OUTDATED_LOCKFILE  Cannot install"),
            "ERR_PNPM_OUTDATED_LOCKFILE  Cannot install"
        );
        assert_eq!(
            error_text("/bin/sh: 1: langgraph: command not found\nexit status 127"),
            "/bin/sh: 1: langgraph: command not found"
        );
    }

    #[test]
    fn first_error_of_a_traceback_is_its_last_line() {
        let log = "INFO:     Started server\nTraceback (most recent call last):\n  File \"a.py\", line 3, in load\n    import graph\n\
                   ModuleNotFoundError: No module named 'app.graph'\n\nDuring handling of the above exception, another exception occurred:\n\n\
                   Traceback (most recent call last):\n  File \"b.py\", line 9, in <module>\n    raise Broken(name)\n      ^^^^^\n\
                   app.Broken: the graph 'support' does not load\nERROR:    Application startup failed. Exiting.";
        let error = found(log).unwrap();
        assert_eq!(
            (error.line, error.text.as_str()),
            (13, "app.Broken: the graph 'support' does not load")
        );
        // A whole traceback in one message, and one without indentation.
        let lines = [
            LogText {
                level: Some("info"),
                message: "starting",
                ..LogText::default()
            },
            LogText {
                message: "boom\nTraceback (most recent call last):\n  File \"a\", line 1\nKeyError: 'x'\n",
                ..LogText::default()
            },
        ];
        let error = first_error(&lines).unwrap();
        assert_eq!((error.line, error.text.as_str()), (2, "KeyError: 'x'"));
        let flat = "Traceback (most recent call last):\nFile \"a.py\", line 1, in f\nraise x\nValueError: bad";
        assert_eq!(error_text(flat), "ValueError: bad");
        assert_eq!(
            error_text("Traceback (most recent call last):"),
            "",
            "cut off before the error"
        );
    }

    #[test]
    fn log_levels_are_the_fallback() {
        let at = |level, message| LogText {
            at: None,
            level: Some(level),
            message,
        };
        let log = [
            at("INFO", "2026-11-20T10:00:00Z fine"),
            at("error", "the database is not there"),
            at("ERROR", "exit code: 3"),
        ];
        assert_eq!(first_error(&log).map(|e| e.line), Some(2));
        let log = [
            at("ERROR", "WARNING: running as root"),
            at("ERROR", "Finished, 0 errors"),
            at("INFO", "x"),
        ];
        assert_eq!(first_error(&log), None);
        assert_eq!(
            error_text(
                "2026-11-20 10:00:00,123 ERROR root: gone\n2026-11-20T10:00:01Z [error    ] later"
            ),
            "ERROR root: gone"
        );
    }

    #[test]
    fn success_messages_are_not_errors() {
        let log = "#3 0.112  + python-error-pages==1.0\nCompiled with 0 errors\nFound no errors.\nDownloading errors-1.0.tar.gz\n\
                   ruff: checks passed, error_handler.py unchanged\nerrors=0 failed=0\nprocess finished with exit code: 0\nDONE";
        assert_eq!(error_text(log), "");
        assert_eq!(
            error_text(&format!("{log}\nCompiled with 10 errors")),
            "Compiled with 10 errors"
        );
        assert_eq!(first_error(&[]), None);
    }

    #[test]
    fn first_error_is_in_the_failing_build_step() {
        let log = "#5 1.001 ModuleNotFoundError: No module named 'optional'\n#5 DONE 2.0s\n#9 1.200 thing: permission denied\n\
                   #9 ERROR: process \"x\" did not complete successfully: exit code: 1";
        assert_eq!(error_text(log), "thing: permission denied");
        assert_eq!(
            error_text(
                "fatal: not a git repository\n#9 ERROR: process \"x\" did not complete successfully: exit code: 1"
            )
            .split(':')
            .next(),
            Some("ERROR")
        );
    }

    proptest! {
        #[test]
        fn random_logs_never_panic(log in proptest::collection::vec("(Traceback \\(most recent call last\\):|#7 |  |0 error|E|.){0,8}", 0..12)) {
            let lines: Vec<LogText> = log.iter().map(|message| LogText { message, ..LogText::default() }).collect();
            if let Some(error) = first_error(&lines) {
                prop_assert!(error.line >= 1 && error.line <= lines.len());
                prop_assert!(!error.text.is_empty() && text::clean(&error.text) == error.text);
            }
        }
    }
}
