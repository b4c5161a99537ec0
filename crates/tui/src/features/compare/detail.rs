//! What both sides wrote at the cursor, or the values of a key, with the words that differ in bold.

use super::aligned::Aligned;
use super::page::ComparePage;
use crate::session::Session;
use crate::widgets::line::{Line, Tone};
use runtail_core::text;
use runtail_stream::comparison::{Step, StepState, Verdict};

/// Maximum number of words of a side that are compared.
const MAX_WORDS: usize = 600;
/// Maximum bytes of a text that is shown.
const MAX_TEXT: usize = 16 << 10;

/// Returns the title of the details: `Step 3 · chat`.
pub(super) fn title(page: &ComparePage) -> String {
    if page.shows_state {
        return "Final states".into();
    }
    let named = page
        .aligned
        .as_ref()
        .zip(page.at_cursor())
        .and_then(|(aligned, at)| name(aligned, at));
    named.unwrap_or_else(|| {
        if page.is_of_keys() {
            "Key".into()
        } else {
            "Step".into()
        }
    })
}

/// Returns the name of a row: `Step 3 · chat`, or the path of a key.
pub(super) fn name(aligned: &Aligned, at: usize) -> Option<String> {
    match aligned {
        Aligned::Keys(keys) => keys.path(at).map(|path| text::clean(path).into_owned()),
        Aligned::Steps(comparison) => {
            let (a, b) = comparison.steps(comparison.rows.get(at)?);
            let step = a.or(b)?;
            let number = step
                .step
                .map(|number| format!("Step {number} · "))
                .unwrap_or_default();
            let tools: String = step
                .results
                .iter()
                .map(|tool| format!(" · {tool}"))
                .collect();
            Some(format!("{number}{}", text::clean(&(step.place() + &tools))))
        }
    }
}

/// Returns the lines of a row for both sides.
pub(super) fn lines(
    page: &ComparePage,
    aligned: &Aligned,
    session: &Session,
    at: usize,
    widths: [usize; 2],
) -> [Vec<Line>; 2] {
    let sides: [(String, Tone, bool); 2] = match aligned {
        Aligned::Steps(comparison) => {
            let Some(row) = comparison.rows.get(at) else {
                return Default::default();
            };
            let (a, b) = comparison.steps(row);
            [(0, a), (1, b)].map(|(which, step)| {
                if let Some(error) = page.missing(which) {
                    let tone = error.map_or(Tone::Dim, |_| Tone::Bad);
                    return (cleaned(error.unwrap_or("Not loaded.")), tone, false);
                }
                if step.is_none() && row.verdict == Verdict::Pending {
                    return ("Not yet.".into(), Tone::Dim, false);
                }
                let tone = match step {
                    Some(step) if step.state == StepState::Failed => Tone::Bad,
                    Some(_) => Tone::Plain,
                    None => Tone::Dim,
                };
                (said(step), tone, step.is_some())
            })
        }
        Aligned::Keys(keys) => [0, 1].map(|which| match keys.value(at, which, session) {
            Some(value) => (cleaned(&value), Tone::Plain, true),
            None => (keys.without_value(at, which).to_string(), Tone::Dim, false),
        }),
    };
    // The URL of an error is broken between its parts, so that its ids stay whole.
    let words = [0, 1].map(|which| match page.missing(which) {
        Some(_) => sides[which].0.split_inclusive([' ', '\n', '/']).collect(),
        None => words(&sides[which].0),
    });
    let is_both = sides[0].2 && sides[1].2;
    let (of_a, of_b) = if is_both {
        changed(&words[0], &words[1])
    } else {
        (Vec::new(), Vec::new())
    };
    [
        wrapped(&words[0], &of_a, sides[0].1, widths[0]),
        wrapped(&words[1], &of_b, sides[1].1, widths[1]),
    ]
}

/// Returns what the side with the focus wrote at the cursor, or its value there, else that of the other one.
pub(super) fn copied(page: &ComparePage) -> Option<String> {
    let at = page.at_cursor()?;
    match page.aligned.as_ref()? {
        Aligned::Steps(comparison) => {
            let (a, b) = comparison.steps(comparison.rows.get(at)?);
            let (own, other) = if page.focus == 0 { (a, b) } else { (b, a) };
            Some(own.or(other)?.said().join("\n"))
        }
        Aligned::Keys(keys) => keys
            .copied(at, page.focus)
            .or_else(|| keys.copied(at, 1 - page.focus)),
    }
}

fn cleaned(text: &str) -> String {
    text::clean_lines(text::head(text, MAX_TEXT)).into_owned()
}

fn said(step: Option<&Step>) -> String {
    let whole = match step {
        None => "No such step.".to_string(),
        Some(Step {
            error: Some(error), ..
        }) => error.clone(),
        Some(step) if step.fingerprint.is_none() => "Its output is unknown.".into(),
        Some(step) if step.output.is_none() => "Too large to show.".into(),
        Some(step) => match step.said() {
            lines if lines.is_empty() => "It wrote nothing.".into(),
            lines => lines.join("\n"),
        },
    };
    cleaned(&whole)
}

/// Splits a text into words, each with the white space after it.
fn words(text: &str) -> Vec<&str> {
    text.split_inclusive([' ', '\n']).collect()
}

/// Returns for each word whether the other side lacks it there.
fn changed(a: &[&str], b: &[&str]) -> (Vec<bool>, Vec<bool>) {
    if a.len() > MAX_WORDS || b.len() > MAX_WORDS {
        return (Vec::new(), Vec::new());
    }
    let is_equal = |x: &str, y: &str| x.trim_end() == y.trim_end();
    let width = b.len() + 1;
    let mut common = vec![0_u16; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            common[i * width + j] = match is_equal(a[i], b[j]) {
                true => common[(i + 1) * width + j + 1] + 1,
                false => common[(i + 1) * width + j].max(common[i * width + j + 1]),
            };
        }
    }
    let (mut of_a, mut of_b) = (vec![true; a.len()], vec![true; b.len()]);
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        if is_equal(a[i], b[j]) {
            (of_a[i], of_b[j]) = (false, false);
            (i, j) = (i + 1, j + 1);
        } else if common[(i + 1) * width + j] >= common[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    (of_a, of_b)
}

/// Returns why a side is not there, wrapped between the parts of a URL, so that ids stay whole.
pub(super) fn why(error: &str, width: usize) -> Vec<Line> {
    let text = cleaned(error);
    let parts: Vec<&str> = text.split_inclusive([' ', '\n', '/']).collect();
    wrapped(&parts, &[], Tone::Bad, width)
}

/// Wraps words into lines.
fn wrapped(words: &[&str], changed: &[bool], tone: Tone, width: usize) -> Vec<Line> {
    let width = width.max(1);
    let mut lines = vec![Line::new()];
    let mut used = 0;
    for (n, word) in words.iter().enumerate() {
        let tone = if changed.get(n).copied().unwrap_or_default() {
            Tone::Strong
        } else {
            tone
        };
        let shown = word.trim_end_matches('\n');
        let columns = text::width(shown.trim_end());
        if used > 0 && used + columns > width {
            lines.push(Line::new());
            used = 0;
        }
        let piece = Line::of(tone, shown);
        // A word that is wider than the region is broken.
        for (part, line) in piece.broken(width, 0, usize::MAX).into_iter().enumerate() {
            if part > 0 {
                lines.push(Line::new());
                used = 0;
            }
            used += line.width();
            if let Some(last) = lines.last_mut() {
                last.left.extend(line.left);
            }
        }
        if word.ends_with('\n') {
            lines.push(Line::new());
            used = 0;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_words_are_found() {
        let (a, b) = (
            words("I will refund the charge"),
            words("Before I refund it: the charge"),
        );
        let (of_a, of_b) = changed(&a, &b);
        let bold = |words: &[&str], marks: &[bool]| -> Vec<String> {
            words
                .iter()
                .zip(marks)
                .filter(|(_, mark)| **mark)
                .map(|(word, _)| word.trim().to_string())
                .collect()
        };
        assert_eq!(bold(&a, &of_a), ["will"]);
        assert_eq!(bold(&b, &of_b), ["Before", "it:"]);
        assert_eq!(changed(&a, &a).0, [false; 5]);
    }

    #[test]
    fn ids_in_urls_stay_whole() {
        let id = "01a1fbb5-173d-77d7-b93d-09bf6dcc9775";
        let url = format!("404 for GET http://127.0.0.1:2001/threads/{id}/runs/{id}");
        for width in 40..60 {
            let lines: Vec<String> = why(&url, width).iter().map(Line::text).collect();
            assert_eq!(
                lines.iter().filter(|line| line.contains(id)).count(),
                2,
                "{width}: {lines:?}"
            );
        }
    }

    #[test]
    fn words_are_wrapped_without_losing_text() {
        let text = "one two three-four-five-six 日本語 seven\neight";
        for width in 1..20 {
            let lines = wrapped(&words(text), &[], Tone::Plain, width);
            let joined: String = lines.iter().map(Line::text).collect::<Vec<_>>().join(" ");
            let plain = |text: &str| {
                text.chars()
                    .filter(|c| !c.is_whitespace())
                    .collect::<String>()
            };
            assert_eq!(plain(&joined), plain(text), "{width}");
            assert!(
                lines
                    .iter()
                    .all(|line| text::width(line.text().trim_end()) <= width.max(2)),
                "{width}: {lines:?}"
            );
        }
    }
}
