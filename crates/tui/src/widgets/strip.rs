//! Small pictures in eighth blocks: strips and bars.

use super::line::Line;
use std::time::Duration;

/// The heights of a cell, by eighths.
pub const EIGHTHS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
/// The cell of an unknown value, which is never drawn as zero.
pub const UNKNOWN: &str = "╌";
/// The last cell of a bar, by eighths. The thinnest is a quarter, because an eighth looks like a cursor.
const PARTS: [&str; 8] = ["", "▎", "▎", "▍", "▌", "▋", "▊", "▉"];

/// Returns the cell of a value on a scale up to `most`: zero is the lowest, every other value is higher.
pub fn level(value: u64, most: u64) -> &'static str {
    let eighth = match (value, most) {
        (0, _) | (_, 0) => 0,
        (value, most) => 1 + (value.min(most) as f64 / most as f64 * 5.0).round() as usize,
    };
    EIGHTHS.get(eighth).copied().unwrap_or("█")
}

/// Returns a strip of values, which are unknown where they are `None`.
pub fn strip(values: impl IntoIterator<Item = Option<u64>>, most: u64) -> String {
    values
        .into_iter()
        .map(|value| value.map_or(UNKNOWN, |value| level(value, most)))
        .collect()
}

/// Returns a bar of a share of some columns. A share above zero has at least a part of a cell.
pub fn bar(share: f64, columns: usize) -> String {
    let eighths = (share.clamp(0.0, 1.0) * columns as f64 * 8.0).round() as usize;
    let eighths = if share > 0.0 { eighths.max(2) } else { eighths };
    let mut bar = "█".repeat(eighths / 8);
    bar.push_str(PARTS.get(eighths % 8).copied().unwrap_or_default());
    bar
}

/// Returns times beside each other, each with its name and a bar whose longest has `columns`. If they don't fit in `width`, the
/// shortest are left out. Names and times are as given, so that they can say what is not certain.
pub fn time_bars(times: &[(String, Duration, String)], columns: usize, width: usize) -> Line {
    let longest = times
        .iter()
        .map(|(_, spent, _)| *spent)
        .max()
        .filter(|longest| !longest.is_zero());
    let mut parts: Vec<(Duration, Line)> = Vec::new();
    for (name, spent, time) in times {
        let share = longest.map_or(0.0, |longest| spent.as_secs_f64() / longest.as_secs_f64());
        let cells = ((share * columns as f64).round() as usize).clamp(1, columns.max(1));
        let part = Line::dim(&format!("{name} "))
            .with_plain(&"▇".repeat(cells))
            .with_plain(&format!(" {time}"));
        parts.push((*spent, part));
    }
    const GAP: usize = 3;
    while parts
        .iter()
        .map(|(_, part)| part.width() + GAP)
        .sum::<usize>()
        > width + GAP
    {
        let shortest = parts
            .iter()
            .enumerate()
            .min_by_key(|(_, (spent, _))| *spent)
            .map(|(n, _)| n);
        parts.remove(shortest.unwrap_or(0));
    }
    let mut line = Line::new();
    for (n, (_, part)) in parts.into_iter().enumerate() {
        line.push_plain(if n > 0 { "   " } else { "" });
        line.left.extend(part.left);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_bars_on_one_scale_and_the_longest_stay() {
        let times: Vec<(String, Duration, String)> = [("fetch", 4), ("resolve", 27), ("other", 3)]
            .map(|(name, seconds)| {
                (
                    name.to_string(),
                    Duration::from_secs(seconds),
                    format!("{seconds}s"),
                )
            })
            .into();
        assert_eq!(
            time_bars(&times, 12, 60).text(),
            "fetch ▇▇ 4s   resolve ▇▇▇▇▇▇▇▇▇▇▇▇ 27s   other ▇ 3s"
        );
        assert_eq!(
            time_bars(&times, 12, 45).text(),
            "fetch ▇▇ 4s   resolve ▇▇▇▇▇▇▇▇▇▇▇▇ 27s"
        );
        assert_eq!(
            time_bars(&times, 12, 30).text(),
            "resolve ▇▇▇▇▇▇▇▇▇▇▇▇ 27s",
            "the longest stays"
        );
        assert_eq!(time_bars(&times, 12, 10).text(), "");
        assert_eq!(time_bars(&[], 12, 40).text(), "");
    }

    #[test]
    fn unknown_is_not_zero_and_every_value_is_above_zero() {
        assert_eq!(
            strip(
                [Some(0), Some(1), None, Some(50), Some(100), Some(300)],
                100
            ),
            "▁▂╌▅▇▇"
        );
        assert_eq!(strip([Some(0)], 0), "▁");
        assert_eq!(
            [
                bar(0.0, 4),
                bar(0.001, 4),
                bar(0.5, 4),
                bar(0.55, 4),
                bar(2.0, 4)
            ],
            ["", "▎", "██", "██▎", "████"]
        );
    }
}
