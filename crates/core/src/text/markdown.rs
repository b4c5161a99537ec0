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
    let pad = if text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) { " " } else { "" };
    format!("{ticks}{pad}{text}{pad}{ticks}")
}

/// A code span in a cell of a table, where a bar would end the cell even within code.
pub fn code_cell(text: &str) -> String {
    code(text).replace('|', "\\|")
}

/// Lines as a block of code, with a line break after it.
pub fn block<'t>(lines: impl IntoIterator<Item = &'t str>) -> String {
    let lines: Vec<_> = lines.into_iter().map(clean).collect();
    let fence = "`".repeat(lines.iter().map(|line| longest_run(line)).max().unwrap_or(0).max(2) + 1);
    let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
    format!("{fence}text\n{body}{fence}\n")
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
    fn code_blocks_cannot_be_closed_early() {
        assert_eq!(code("plain"), "`plain`");
        assert_eq!(code("a``b"), "```a``b```");
        assert_eq!(code("`x`"), "`` `x` ``");
        assert_eq!((code(""), code("  ")), (String::new(), String::new()));
        assert_eq!(code_cell("a|b"), "`a\\|b`");
        assert_eq!(block(["x", "````", "</details>"]), "`````text\nx\n````\n</details>\n`````\n");
        assert_eq!(block(["a\nb\u{7}"]), "```text\na⏎b␇\n```\n");
        assert_eq!(block([]), "```text\n```\n");
    }
}
