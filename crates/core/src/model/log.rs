//! A line of a build or server log, and its severity.

use super::{Extra, parse_time};
use jiff::Timestamp;
use serde_json::Value;

/// One line of a log, made from whatever the server sent for it. The services promise a free object with `id`,
/// `timestamp`, `level` and `message`, of which all but the message may be missing (control-plane reference §8).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LogLine {
    /// The line's id, if there is one.
    pub id: Option<String>,
    /// When it was written, by the server's clock.
    pub at: Option<Timestamp>,
    /// The level word as received; nothing if there is none.
    pub level: Option<String>,
    /// Its message as received: not sanitized, possibly several lines or a megabyte. Without a message, its other fields as
    /// JSON.
    pub message: String,
    /// All other fields, and known fields with an unexpected type.
    pub extra: Extra,
}

impl LogLine {
    /// Returns its severity.
    pub fn severity(&self) -> Severity {
        self.level
            .as_deref()
            .map_or(Severity::Unknown, Severity::of)
    }

    /// Returns the subject of the commit that is built, from the line of a build log that git wrote about its checkout:
    /// `HEAD is now at 9fceb02 retry on 429`.
    pub fn commit_subject(&self) -> Option<&str> {
        let (_, after) = self.message.split_once("HEAD is now at ")?;
        let (commit, subject) = after.lines().next()?.split_once(' ')?;
        let is_commit = commit.len() >= 4 && commit.bytes().all(|b| b.is_ascii_hexdigit());
        Some(subject.trim()).filter(|subject| is_commit && !subject.is_empty())
    }

    /// Returns the time of a row: epoch milliseconds as a number or as digits, or a date.
    pub fn time(row: &Value) -> Option<Timestamp> {
        match &row["timestamp"] {
            Value::Number(number) => of_millis(number.as_f64()?),
            Value::String(text) => match text.trim().parse::<f64>() {
                Ok(millis) => of_millis(millis),
                Err(_) => parse_time(text.trim()),
            },
            _ => None,
        }
    }

    /// Returns the severity of a row.
    pub fn severity_of(row: &Value) -> Severity {
        row["level"]
            .as_str()
            .map_or(Severity::Unknown, Severity::of)
    }
}

/// Never fails: a value that is not an object becomes the message.
impl From<Value> for LogLine {
    fn from(row: Value) -> LogLine {
        let at = LogLine::time(&row);
        let mut extra = match row {
            Value::Object(fields) => fields,
            Value::Null => return LogLine::default(),
            Value::String(message) => {
                return LogLine {
                    message,
                    ..LogLine::default()
                };
            }
            other => {
                return LogLine {
                    message: other.to_string(),
                    ..LogLine::default()
                };
            }
        };
        if at.is_some() || extra.get("timestamp").is_some_and(Value::is_null) {
            extra.shift_remove("timestamp");
        }
        let id = match extra.get("id") {
            Some(Value::Number(number)) => Some(number.to_string()),
            _ => None,
        };
        let id = id
            .inspect(|_| drop(extra.shift_remove("id")))
            .or_else(|| text(&mut extra, "id"));
        let level = text(&mut extra, "level");
        let message = text(&mut extra, "message").unwrap_or_else(|| match extra.get("message") {
            Some(message) => message.to_string(),
            None if extra.is_empty() => String::new(),
            None => Value::Object(extra.clone()).to_string(),
        });
        // Shrink the map, because there may be 100,000 lines.
        if extra.is_empty() {
            extra = Extra::new();
        }
        LogLine {
            id,
            at,
            level,
            message,
            extra,
        }
    }
}

/// Takes a text out of the fields. A null goes as well; what is neither stays.
fn text(fields: &mut Extra, name: &str) -> Option<String> {
    match fields.get(name)? {
        Value::String(_) | Value::Null => fields.shift_remove(name)?.as_str().map(str::to_string),
        _ => None,
    }
}

/// Milliseconds of the epoch. A float holds today's to a quarter of a microsecond, which is what is kept.
fn of_millis(millis: f64) -> Option<Timestamp> {
    let micros = (millis * 1000.0).round();
    (micros.abs() < i64::MAX as f64)
        .then(|| Timestamp::from_microsecond(micros as i64).ok())
        .flatten()
}

/// The severity of a line. Level words are open text, compared case-insensitively; ordered from least to most severe.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// No level, or a word that Runtail does not know: shown as it is, and never filtered out.
    #[default]
    Unknown,
    /// `DEBUG`, `TRACE`.
    Debug,
    /// `INFO`, `NOTICE`.
    Info,
    /// `WARNING`, `WARN`.
    Warning,
    /// `ERROR`, `ERR`, `SEVERE`.
    Error,
    /// `CRITICAL`, `FATAL`, `ALERT`, `EMERGENCY`, `PANIC`.
    Critical,
}

impl Severity {
    /// All levels that can be requested, from least to most severe.
    pub const ALL: [Severity; 5] = [
        Severity::Debug,
        Severity::Info,
        Severity::Warning,
        Severity::Error,
        Severity::Critical,
    ];

    /// Classifies a level word.
    pub fn of(word: &str) -> Severity {
        match word.trim().to_ascii_uppercase().as_str() {
            "TRACE" | "DEBUG" => Severity::Debug,
            "INFO" | "INFORMATION" | "NOTICE" => Severity::Info,
            "WARN" | "WARNING" => Severity::Warning,
            "ERR" | "ERROR" | "SEVERE" => Severity::Error,
            "CRIT" | "CRITICAL" | "FATAL" | "ALERT" | "EMERG" | "EMERGENCY" | "PANIC" => {
                Severity::Critical
            }
            _ => Severity::Unknown,
        }
    }

    /// Returns the word for both generations of the log calls; nothing if it can't be requested.
    pub fn word(self) -> Option<&'static str> {
        match self {
            Severity::Unknown => None,
            Severity::Debug => Some("DEBUG"),
            Severity::Info => Some("INFO"),
            Severity::Warning => Some("WARNING"),
            Severity::Error => Some("ERROR"),
            Severity::Critical => Some("CRITICAL"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn at(text: &str) -> Option<Timestamp> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn usual_log_line_is_parsed() {
        let line = LogLine::from(json!({
            "id": "a1", "timestamp": 1_763_632_801_000_i64, "level": "INFO", "message": "Step #1", "novel": {"x": 1},
        }));
        assert_eq!(
            (line.id.as_deref(), line.at),
            (Some("a1"), at("2025-11-20T10:00:01Z"))
        );
        assert_eq!(
            (line.level.as_deref(), line.message.as_str()),
            (Some("INFO"), "Step #1")
        );
        assert_eq!(Value::Object(line.extra), json!({"novel": {"x": 1}}));
    }

    #[test]
    fn commit_subject_is_read_from_the_checkout() {
        let subject = |message: &str| {
            let line = LogLine {
                message: message.into(),
                ..LogLine::default()
            };
            line.commit_subject().map(str::to_string)
        };
        assert_eq!(
            subject("HEAD is now at 9fceb02 retry on 429"),
            Some("retry on 429".into())
        );
        assert_eq!(
            subject("Step #0 - \"clone\": HEAD is now at 9fceb02d Fix: é 表\nmore"),
            Some("Fix: é 表".into())
        );
        for other in [
            "HEAD is now at 9fceb02",
            "HEAD is now at the end of it",
            "HEAD is now at ",
            "git clone",
            "",
        ] {
            assert_eq!(subject(other), None, "{other}");
        }
    }

    #[test]
    fn log_times_are_parsed_in_every_format() {
        for (time, expected) in [
            (json!(1_763_632_801_000_i64), at("2025-11-20T10:00:01Z")),
            (
                json!(1_763_632_801_000.25),
                at("2025-11-20T10:00:01.00025Z"),
            ),
            (json!("1763632801000"), at("2025-11-20T10:00:01Z")),
            (
                json!("2025-11-20T10:00:01.123456Z"),
                at("2025-11-20T10:00:01.123456Z"),
            ),
            (
                json!(" 2025-11-20T11:00:01+01:00"),
                at("2025-11-20T10:00:01Z"),
            ),
            (json!("2025-11-20T10:00:01"), at("2025-11-20T10:00:01Z")),
            (json!("2025-11-20 10:00:01.5"), at("2025-11-20T10:00:01.5Z")),
            (json!(null), None),
            (json!("yesterday"), None),
            (json!("inf"), None),
            (json!(1e300), None),
            (json!([1]), None),
        ] {
            let line = LogLine::from(json!({"timestamp": time, "message": "x"}));
            assert_eq!(line.at, expected, "{time}");
            let kept = expected.is_none() && !time.is_null();
            assert_eq!(
                line.extra.get("timestamp"),
                kept.then_some(&time),
                "unparsed times are kept"
            );
        }
    }

    #[test]
    fn missing_and_unexpected_log_fields_are_handled() {
        let message = |row: Value| LogLine::from(row).message;
        assert_eq!(message(json!("a bare text")), "a bare text");
        assert_eq!(message(json!([1, "a"])), r#"[1,"a"]"#);
        assert_eq!(message(json!(null)), "");
        assert_eq!(message(json!({})), "");
        assert_eq!(message(json!({"level": "INFO"})), "");
        assert_eq!(
            message(json!({"message": null, "event": "started"})),
            r#"{"event":"started"}"#
        );
        assert_eq!(
            message(json!({"message": {"event": "x"}})),
            r#"{"event":"x"}"#
        );
        let malformed = LogLine::from(json!({"id": 7, "level": 30, "message": 5}));
        assert_eq!(
            (
                malformed.id.as_deref(),
                malformed.level.as_deref(),
                malformed.message.as_str()
            ),
            (Some("7"), None, "5")
        );
        assert_eq!(
            Value::Object(malformed.extra),
            json!({"level": 30, "message": 5})
        );
    }

    #[test]
    fn log_levels_are_classified() {
        for (word, severity) in [
            ("debug", Severity::Debug),
            ("Trace", Severity::Debug),
            ("INFO", Severity::Info),
            ("warn", Severity::Warning),
            ("WARNING", Severity::Warning),
            ("Error", Severity::Error),
            ("FATAL", Severity::Critical),
            ("critical", Severity::Critical),
            ("DEFAULT", Severity::Unknown),
            ("", Severity::Unknown),
        ] {
            assert_eq!(Severity::of(word), severity, "{word}");
        }
        assert!(Severity::Debug < Severity::Info && Severity::Error < Severity::Critical);
        assert!(
            Severity::ALL
                .iter()
                .all(|one| one.word().map(Severity::of) == Some(*one))
        );
        assert_eq!(LogLine::default().severity(), Severity::Unknown);
    }

    proptest! {
        #[test]
        fn random_log_lines_never_panic(time in any::<f64>(), text in any::<String>()) {
            for row in [json!({"timestamp": time, "message": text}), json!({"timestamp": text, "level": text}), json!(text)] {
                let _ = LogLine::from(row).severity();
            }
        }
    }
}
