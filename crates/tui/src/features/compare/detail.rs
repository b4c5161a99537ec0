//! What both sides wrote at the cursor, with the words that differ in bold.

use super::page::ComparePage;
use crate::widgets::line::{Line, Tone};
use runtail_core::text;
use runtail_stream::comparison::{Row, Step, StepState};

/// Maximum number of words of a side that are compared.
const MAX_WORDS: usize = 600;
/// Maximum bytes of a text that is shown.
const MAX_TEXT: usize = 16 << 10;

/// Returns the title of the details: `Step 3 · chat`.
pub(super) fn title(page: &ComparePage) -> String {
    if page.shows_state {
        return "Final states".into();
    }
    let step = || {
        let comparison = page.comparison.as_ref()?;
        let (a, b) = comparison.steps(page.row_at_cursor()?);
        let step = a.or(b)?;
        let number = step.step.map(|number| format!("Step {number} · ")).unwrap_or_default();
        Some(format!("{number}{}", text::clean(&step.place())))
    };
    step().unwrap_or_else(|| "Step".into())
}

/// Returns the lines of a row for both sides.
pub(super) fn lines(page: &ComparePage, row: &Row, widths: [usize; 2]) -> [Vec<Line>; 2] {
    let Some(comparison) = &page.comparison else { return [Vec::new(), Vec::new()] };
    let (a, b) = comparison.steps(row);
    let texts = [said(a), said(b)];
    let words: [Vec<&str>; 2] = [words(&texts[0]), words(&texts[1])];
    let is_both = a.is_some() && b.is_some();
    let (of_a, of_b) = if is_both { changed(&words[0], &words[1]) } else { (Vec::new(), Vec::new()) };
    let tone = |step: Option<&Step>| match step {
        Some(step) if step.state == StepState::Failed => Tone::Bad,
        Some(_) => Tone::Plain,
        None => Tone::Dim,
    };
    [wrapped(&words[0], &of_a, tone(a), widths[0]), wrapped(&words[1], &of_b, tone(b), widths[1])]
}

fn said(step: Option<&Step>) -> String {
    let whole = match step {
        None => "No such step.".to_string(),
        Some(Step { error: Some(error), .. }) => error.clone(),
        Some(step) if step.fingerprint.is_none() => "What it wrote is unknown.".into(),
        Some(step) if step.output.is_none() => "Too large to show.".into(),
        Some(step) => match step.said() {
            lines if lines.is_empty() => "It wrote nothing.".into(),
            lines => lines.join("\n"),
        },
    };
    text::clean_lines(text::head(&whole, MAX_TEXT)).into_owned()
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

/// Wraps words into lines.
fn wrapped(words: &[&str], changed: &[bool], tone: Tone, width: usize) -> Vec<Line> {
    let width = width.max(1);
    let mut lines = vec![Line::new()];
    let mut used = 0;
    for (n, word) in words.iter().enumerate() {
        let tone = if changed.get(n).copied().unwrap_or_default() { Tone::Strong } else { tone };
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
        let (a, b) = (words("I will refund the charge"), words("Before I refund it: the charge"));
        let (of_a, of_b) = changed(&a, &b);
        let bold = |words: &[&str], marks: &[bool]| -> Vec<String> {
            words.iter().zip(marks).filter(|(_, mark)| **mark).map(|(word, _)| word.trim().to_string()).collect()
        };
        assert_eq!(bold(&a, &of_a), ["will"]);
        assert_eq!(bold(&b, &of_b), ["Before", "it:"]);
        assert_eq!(changed(&a, &a).0, [false; 5]);
    }

    #[test]
    fn words_are_wrapped_without_losing_text() {
        let text = "one two three-four-five-six 日本語 seven\neight";
        for width in 1..20 {
            let lines = wrapped(&words(text), &[], Tone::Plain, width);
            let joined: String = lines.iter().map(Line::text).collect::<Vec<_>>().join(" ");
            let plain = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            assert_eq!(plain(&joined), plain(text), "{width}");
            assert!(lines.iter().all(|line| text::width(line.text().trim_end()) <= width.max(2)), "{width}: {lines:?}");
        }
    }
}
