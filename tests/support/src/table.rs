//! Tables of expected results in files: one line per row, comments with `#`.

use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Lines that are made at the same time; most of it is waiting.
const WORKERS: usize = 6;

/// Makes the line of each row, and compares all with a table; see [`compare`].
pub fn check<R: Sync>(
    expected: &str,
    label: usize,
    columns: &[(&str, usize)],
    rows: &[R],
    line: impl Fn(&R) -> String + Sync,
) {
    let next = AtomicUsize::new(0);
    let lines = Mutex::new(vec![String::new(); rows.len()]);
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(row) = rows.get(at) else {
                        return;
                    };
                    let line = line(row);
                    lines.lock().unwrap_or_else(PoisonError::into_inner)[at] = line;
                }
            });
        }
    });
    let lines = lines.into_inner().unwrap_or_else(PoisonError::into_inner);
    compare(expected, label, columns, &lines);
}

/// Compares a table with its file, cell by cell. `label` is the width of the first column, and `columns` are the titles and widths of
/// the others; what follows them is one more cell.
///
/// # Panics
/// If they differ. The message names each cell that does, and ends with the lines to put into the file.
fn compare(expected: &str, label: usize, columns: &[(&str, usize)], found: &[String]) {
    let cells = |line: &str| {
        let mut rest = line.chars();
        let mut cell = |width: usize| {
            rest.by_ref()
                .take(width)
                .collect::<String>()
                .trim()
                .to_string()
        };
        let mut cells = vec![cell(label)];
        cells.extend(columns.iter().map(|(_, width)| cell(width + 1)));
        cells.push(cell(usize::MAX));
        cells
    };
    let is_row = |line: &&str| !line.starts_with('#') && !line.starts_with(' ');
    let expected: Vec<Vec<String>> = expected.lines().filter(is_row).map(cells).collect();
    let (mut differences, mut lines) = (String::new(), String::new());
    for line in found {
        let now = cells(line);
        let Some(known) = expected.iter().find(|known| known[0] == now[0]) else {
            let _ = writeln!(differences, "{}: not in the file", now[0]);
            let _ = writeln!(lines, "{}", line.trim_end());
            continue;
        };
        let titles = columns.iter().map(|(title, _)| *title).chain(["requests"]);
        for ((title, known), now_cell) in titles.zip(&known[1..]).zip(&now[1..]) {
            if known != now_cell {
                let _ = writeln!(
                    differences,
                    "{}, {title}: {now_cell}, expected {known}",
                    now[0]
                );
            }
        }
        if *known != now {
            let _ = writeln!(lines, "{}", line.trim_end());
        }
    }
    for known in expected
        .iter()
        .filter(|known| !found.iter().any(|line| cells(line)[0] == known[0]))
    {
        let _ = writeln!(differences, "{}: only in the file", known[0]);
    }
    assert!(
        differences.is_empty(),
        "the table differs from its file:\n{differences}\n{lines}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differing_cells_are_named() {
        let file = "# A comment\n        one two\nfirst   1   2    GET /\nsecond  1   2\n";
        let columns = [("one", 3), ("two", 3)];
        let same = [
            "first   1   2    GET /".to_string(),
            "second  1   2".to_string(),
        ];
        compare(file, 7, &columns, &same);
        let other = [
            "first   1   3    GET /".to_string(),
            "third   1   2".to_string(),
        ];
        let failed = std::panic::catch_unwind(|| compare(file, 7, &columns, &other));
        let told = failed.unwrap_err().downcast::<String>().unwrap();
        for part in [
            "first, two: 3, expected 2\n",
            "third: not in the file",
            "second: only in the file",
        ] {
            assert!(told.contains(part), "{told}");
        }
    }
}
