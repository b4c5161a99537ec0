//! Log lines on stdout: several logs merged by time, as text or as JSON.

use crate::commands::logs::Format;
use crate::prelude::*;
use crate::resolve::Found;
use runtail_core::model::{LogLine, Secrets, Severity};
use serde_json::Map;
use std::fmt::Write as _;

/// Width of a time in columns.
const TIME: usize = 24;
/// Width of a level in columns.
const LEVEL: usize = 8;
/// Colors of deployments: those that no level has.
const COLORS: [&str; 8] = ["36", "35", "34", "32", "96", "95", "94", "92"];

/// Prints log lines.
pub struct Printer {
    format: Format,
    color: bool,
    bar: &'static str,
    logs: Vec<Log>,
    /// Width of the longest title in columns; 0 for a single log, whose lines have no title.
    width: Option<usize>,
}

/// The source of a log's lines.
struct Log {
    found: Found,
    secrets: Secrets,
    title: String,
    color: &'static str,
}

impl Printer {
    /// Creates a printer for the logs of these deployments.
    pub fn new(globals: &Globals, format: Option<Format>, found: &[Found]) -> Printer {
        let is_terminal = std::io::stdout().is_terminal();
        let suits = if is_terminal {
            Format::Text
        } else {
            Format::Jsonl
        };
        let log = |found: &Found| {
            let title = found.title();
            let secrets = Secrets::of_records(&[&found.row]);
            Log {
                found: found.clone(),
                secrets,
                color: color_of(&title),
                title,
            }
        };
        let logs: Vec<Log> = found.iter().map(log).collect();
        let longest = logs.iter().map(|log| text::width(&log.title)).max();
        Printer {
            format: format.unwrap_or(suits),
            color: globals.color.is_on(is_terminal),
            bar: if globals.ascii { "|" } else { "│" },
            width: longest.filter(|_| logs.len() > 1),
            logs,
        }
    }

    /// Prints batches merged by time. Each batch has the number of its log and its lines in order.
    ///
    /// # Errors
    /// stdout can't be written; without a message if its reader left.
    pub fn print(&mut self, batches: Vec<(usize, Vec<Value>)>) -> Result<(), Failure> {
        let mut rows = merged(batches);
        rows.iter_mut()
            .for_each(|(n, row)| self.logs[*n].secrets.mask(row));
        let mut out = String::new();
        match self.format {
            Format::Text => rows
                .into_iter()
                .for_each(|(n, row)| self.line(n, LogLine::from(row), &mut out)),
            Format::Jsonl => {
                for (n, row) in rows {
                    let _ = writeln!(out, "{}", self.row(n, row));
                }
            }
            Format::Json => {
                let rows = rows.into_iter().map(|(n, row)| self.row(n, row)).collect();
                let _ = writeln!(out, "{:#}", Value::Array(rows));
            }
        }
        if out.is_empty() {
            return Ok(());
        }
        output::print(&out, self.format != Format::Text)
    }

    /// Returns a line as JSON: its source and the server's own fields.
    fn row(&self, n: usize, row: Value) -> Value {
        let Found {
            site,
            id,
            row: deployment,
        } = &self.logs[n].found;
        let mut fields = Map::new();
        fields.insert("deployment".into(), deployment["name"].clone());
        fields.insert("deployment_id".into(), id.clone().into());
        let own = match row {
            Value::Object(own) => own,
            other => Map::from_iter([("value".to_string(), other)]),
        };
        for (name, value) in own {
            fields.entry(name).or_insert(value);
        }
        placed(&site.profile, Value::Object(fields))
    }

    /// Returns a line as text: time, deployment (if there are several), level, message. Further lines of a message are
    /// indented below the first.
    fn line(&self, n: usize, line: LogLine, out: &mut String) {
        let log = &self.logs[n];
        let severity = line.severity();
        let (mut head, mut below) = (String::new(), " ".repeat(TIME));
        let time = line
            .at
            .map(|at| at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string())
            .unwrap_or_default();
        self.paint("2", &format!("{time:TIME$}"), &mut head);
        if let Some(width) = self.width {
            let pad = " ".repeat(width - text::width(&log.title));
            let mut title = String::new();
            self.paint(
                log.color,
                &format!(" {}{pad} {}", log.title, self.bar),
                &mut title,
            );
            head.push_str(&title);
            below.push_str(&title);
        }
        head.push(' ');
        below.push(' ');
        let look = match severity {
            Severity::Critical => "1;31",
            Severity::Error => "31",
            Severity::Warning => "33",
            Severity::Debug => "2",
            Severity::Info | Severity::Unknown => "",
        };
        if let Some(level) = line.level.filter(|level| !level.is_empty()) {
            let level = text::clean(&level);
            let columns = text::width(&level).max(LEVEL) + 1;
            self.paint(look, &level, &mut head);
            head.push_str(&" ".repeat(columns - text::width(&level)));
            below.push_str(&" ".repeat(columns));
        }
        let message = text::clean_lines(&line.message);
        for (i, part) in message.trim_end_matches('\n').split('\n').enumerate() {
            out.push_str(if i == 0 { &head } else { &below });
            out.push_str(part);
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
        }
    }

    fn paint(&self, look: &str, text: &str, out: &mut String) {
        out.push_str(&color::sgr(if self.color { look } else { "" }, text));
    }
}

/// A stable hash of a name (FNV-1a).
fn color_of(title: &str) -> &'static str {
    let hash = title.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    COLORS[hash as usize % COLORS.len()]
}

/// Sorts lines by time. Lines with equal times keep the order of the logs, and a line without a time stays after the
/// previous one.
fn merged(batches: Vec<(usize, Vec<Value>)>) -> Vec<(usize, Value)> {
    let mut all: Vec<(Option<Timestamp>, usize, Value)> = Vec::new();
    for (n, rows) in batches {
        let mut last = None;
        for row in rows {
            last = LogLine::time(&row).or(last);
            all.push((last, n, row));
        }
    }
    all.sort_by_key(|(at, ..)| *at);
    all.into_iter().map(|(_, n, row)| (n, row)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn batches_become_one() {
        let at = |n: u64| json!({"timestamp": n, "message": n});
        let bare = json!("below 3");
        let all = merged(vec![
            (0, vec![at(1), at(3), bare.clone(), at(5)]),
            (1, vec![at(3), at(4)]),
        ]);
        let expected = [
            (0, at(1)),
            (0, at(3)),
            (0, bare),
            (1, at(3)),
            (1, at(4)),
            (0, at(5)),
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn colors_are_stable() {
        assert_eq!(
            color_of("prod-us/support-bot"),
            color_of("prod-us/support-bot")
        );
        let some: std::collections::HashSet<_> =
            (0..40).map(|n| color_of(&format!("p/bot-{n}"))).collect();
        assert!(some.len() > 4, "{some:?}");
    }
}
