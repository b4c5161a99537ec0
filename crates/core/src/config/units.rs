//! Durations and sizes as people write them: `200ms`, `60s`, `1h30m`, `64KiB`.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;
use std::time::Duration;

/// The format of a duration, for messages.
pub const DURATION_FORM: &str = "a duration such as \"200ms\", \"60s\", \"30m\" or \"1h30m\"";
/// The format of a size, for messages.
pub const SIZE_FORM: &str = "a size such as \"64KiB\", \"256MiB\" or \"1GB\"";

/// Reads a duration of one or more parts, each a number and `ms`, `s`, `m`, `h` or `d`.
pub fn duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut total = Duration::ZERO;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let (number, unit, tail) = part(rest)?;
        let seconds = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "d" => 86400.0,
            _ => return None,
        };
        total = total.checked_add(Duration::try_from_secs_f64(number * seconds).ok()?)?;
        rest = tail;
    }
    Some(total)
}

/// Reads a size in bytes: a number and `B`, `KiB`/`MiB`/`GiB` (1024) or `kB`/`MB`/`GB` (1000).
pub fn size(text: &str) -> Option<u64> {
    let (number, unit, tail) = part(text.trim())?;
    let factor: u64 = match unit {
        "" | "B" => 1,
        "kB" | "KB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "K" | "KiB" => 1 << 10,
        "M" | "MiB" => 1 << 20,
        "G" | "GiB" => 1 << 30,
        _ => return None,
    };
    let bytes = number * factor as f64;
    (tail.is_empty() && bytes < u64::MAX as f64).then_some(bytes as u64)
}

/// Splits off a number and the letters after it.
fn part(text: &str) -> Option<(f64, &str, &str)> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let number: f64 = text[..digits].parse().ok()?;
    let tail = text[digits..].trim_start();
    let letters = tail
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(tail.len());
    Some((number, &tail[..letters], tail[letters..].trim_start()))
}

/// Durations in a file.
pub(super) mod written_duration {
    use super::*;

    pub fn serialize<S: Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
        let millis = duration.as_millis();
        match millis % 1000 {
            0 => format!("{}s", millis / 1000).serialize(to),
            _ => format!("{millis}ms").serialize(to),
        }
    }

    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Duration, D::Error> {
        let text = String::deserialize(from).ok();
        let read = text.as_deref().and_then(duration);
        read.ok_or_else(|| D::Error::custom(format!("expected {DURATION_FORM}")))
    }
}

/// Sizes in a file: a text, or a number of bytes.
pub(super) mod written_size {
    use super::*;

    pub fn serialize<S: Serializer>(size: &u64, to: S) -> Result<S::Ok, S::Error> {
        size.serialize(to)
    }

    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<u64, D::Error> {
        let read = match Value::deserialize(from) {
            Ok(Value::String(text)) => size(&text),
            Ok(other) => other.as_u64(),
            Err(_) => None,
        };
        match read {
            None => Err(D::Error::custom(format!("expected {SIZE_FORM}"))),
            Some(..1024) => Err(D::Error::custom(
                "too small for an event or a response: at least 1KiB",
            )),
            Some(size) => Ok(size),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed() {
        for (text, millis) in [
            ("200ms", 200),
            ("60s", 60_000),
            ("30m", 1_800_000),
            ("1h30m", 5_400_000),
            ("1.5 s", 1500),
            ("0s", 0),
        ] {
            assert_eq!(
                duration(text),
                Some(Duration::from_millis(millis)),
                "{text}"
            );
        }
        for text in [
            "",
            "60",
            "s",
            "-1s",
            "1e3s",
            "1s2",
            "5 parsecs",
            "99999999999999999999d",
            ".",
        ] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    #[test]
    fn sizes_are_parsed() {
        for (text, bytes) in [
            ("64KiB", 65536),
            ("256MiB", 268_435_456),
            ("1GB", 1_000_000_000),
            ("12", 12),
            ("5 B", 5),
        ] {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for text in [
            "",
            "MiB",
            "1TiBs",
            "1 MiB 2",
            "-3B",
            "99999999999999999999999GiB",
        ] {
            assert_eq!(size(text), None, "{text}");
        }
    }
}
