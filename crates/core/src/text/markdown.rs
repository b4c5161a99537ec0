//! Escapes external text for Markdown (GitHub's dialect), so that it formats nothing.

use super::clean;

/// Punctuation that means something within a line: markup, HTML, tables, formulas.
const MARKUP: &str = "\\`*_{}[]()#+!|<>&~$";

/// Text within a line, also in a cell of a table.
pub fn inline(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean(text).chars() {
        if MARKUP.contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Text as a code span; empty text gives nothing, since there is no empty span.
pub fn code(text: &str) -> String {
    let text = clean(text);
    if text.trim().is_empty() {
        return String::new();
    }
    let ticks = "`".repeat(longest_run(&text) + 1);
    let pad = if text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) {
        " "
    } else {
        ""
    };
    format!("{ticks}{pad}{text}{pad}{ticks}")
}

/// A code span in a cell of a table, where a bar would end the cell even within code.
pub fn code_cell(text: &str) -> String {
    code(text).replace('|', "\\|")
}

/// Lines as a block of code, with a line break after it.
pub fn block<'t>(lines: impl IntoIterator<Item = &'t str>) -> String {
    let lines: Vec<_> = lines.into_iter().map(clean).collect();
    let fence = "`".repeat(
        lines
            .iter()
            .map(|line| longest_run(line))
            .max()
            .unwrap_or(0)
            .max(2)
            + 1,
    );
    let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
    format!("{fence}text\n{body}{fence}\n")
}

/// Markdown in which HTML is text: `<` is written as `&lt;`, except in code. A code block that is open at the end is closed.
pub fn without_html(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    let mut fence = "";
    // Whether a code span may begin in a line of the paragraph and end in another one.
    let mut is_unclear = false;
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
        }
        let run = run_of_fence(line.trim_start_matches(' '));
        if !fence.is_empty() {
            out.push_str(line);
            if run.starts_with(fence) && line.trim() == run {
                fence = "";
            }
            continue;
        }
        // An indented fence may end with the item of a list, without a line of its own.
        if line.starts_with(run)
            && run.len() >= 3
            && !(run.starts_with('`') && line[run.len()..].contains('`'))
        {
            out.push_str(line);
            (fence, is_unclear) = (run, false);
            continue;
        }
        is_unclear &= !line.trim().is_empty();
        let spans = if is_unclear { None } else { code_spans(line) };
        is_unclear |= spans.is_none();
        let mut from = 0;
        for span in spans.unwrap_or_default() {
            out.push_str(&line[from..span.start].replace('<', "&lt;"));
            out.push_str(&line[span.clone()]);
            from = span.end;
        }
        out.push_str(&line[from..].replace('<', "&lt;"));
    }
    if !fence.is_empty() {
        out.push('\n');
        out.push_str(fence);
    }
    out
}

/// Returns the run of backticks or tildes at the start of a line.
fn run_of_fence(line: &str) -> &str {
    let Some(mark) = line.chars().next().filter(|c| matches!(c, '`' | '~')) else {
        return "";
    };
    &line[..line.len() - line.trim_start_matches(mark).len()]
}

/// Returns the code spans of a line. None if a span may cross lines or cells, or if its backticks may be escaped.
fn code_spans(line: &str) -> Option<Vec<std::ops::Range<usize>>> {
    let mut spans = Vec::new();
    let mut at = 0;
    while let Some(start) = line[at..].find('`').map(|next| at + next) {
        let run = run_of_fence(&line[start..]);
        let mut end = start + run.len();
        loop {
            end += line[end..].find('`')?;
            let other = run_of_fence(&line[end..]);
            end += other.len();
            if other == run {
                break;
            }
        }
        spans.push(start..end);
        at = end;
    }
    (spans.is_empty() || !line.contains(['|', '\\'])).then_some(spans)
}

/// Length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_text_is_escaped() {
        assert_eq!(
            inline("a|b `c` <img src=x> *d* [e](f)\n# g"),
            "a\\|b \\`c\\` \\<img src=x\\> \\*d\\* \\[e\\]\\(f\\)⏎\\# g"
        );
        assert_eq!(inline("a\u{1b}[31m\u{202e}b"), "a\\<U\\+202E\\>b");
        assert_eq!(inline("\\| &lt; $x$"), "\\\\\\| \\&lt; \\$x\\$");
    }

    #[test]
    fn html_is_text_except_in_code() {
        for (markdown, expected) in [
            ("a <b>c</b> < d", "a &lt;b>c&lt;/b> &lt; d"),
            (
                "use `Vec<T>` and ``a`<b>``, <i>",
                "use `Vec<T>` and ``a`<b>``, &lt;i>",
            ),
            ("```html\n<b>\n```\n<b>", "```html\n<b>\n```\n&lt;b>"),
            (
                "~~~~\n<b>\n~~~\n<b>\n  ~~~~ \n<b>",
                "~~~~\n<b>\n~~~\n<b>\n  ~~~~ \n&lt;b>",
            ),
            ("```\n<b>", "```\n<b>\n```"),
            // No code, or not for every reader.
            ("- a\n  ```\n<b>", "- a\n  ```\n&lt;b>"),
            ("```a`\n<b>", "```a`\n&lt;b>"),
            ("# `\nx ` `<b>` `\n\n`<b>`", "# `\nx ` `&lt;b>` `\n\n`<b>`"),
            ("| ` | ` `<b>` |", "| ` | ` `&lt;b>` |"),
            ("\\` `<b>` `", "\\` `&lt;b>` `"),
        ] {
            assert_eq!(without_html(markdown), expected);
        }
    }

    #[test]
    fn code_blocks_cannot_be_closed_early() {
        assert_eq!(code("plain"), "`plain`");
        assert_eq!(code("a``b"), "```a``b```");
        assert_eq!(code("`x`"), "`` `x` ``");
        assert_eq!((code(""), code("  ")), (String::new(), String::new()));
        assert_eq!(code_cell("a|b"), "`a\\|b`");
        assert_eq!(
            block(["x", "````", "</details>"]),
            "`````text\nx\n````\n</details>\n`````\n"
        );
        assert_eq!(block(["a\nb\u{7}"]), "```text\na⏎b␇\n```\n");
        assert_eq!(block([]), "```text\n```\n");
    }
}
