//! The layout of Markdown, and its cost.

use super::*;
use proptest::prelude::*;
use runtail_core::text;

fn wide(width: usize) -> Measure {
    Measure { width, wrap: false }
}

/// Returns the lines without their tones.
fn shown(source: &str, measure: Measure) -> Vec<String> {
    render(source, measure)
        .iter()
        .map(|(line, _)| words(line))
        .collect()
}

fn words(line: &Line) -> String {
    line.left
        .iter()
        .map(|piece| piece.text.as_str())
        .collect::<String>()
        .trim_end()
        .to_string()
}

fn toned(source: &str) -> Vec<Vec<(Tone, String)>> {
    let pieces = |line: &Line| line.left.iter().map(|p| (p.tone, p.text.clone())).collect();
    render(source, wide(80))
        .iter()
        .map(|(line, _)| pieces(line))
        .collect()
}

#[test]
fn a_document_is_laid_out() {
    let source = "\
# Title
Some *stressed*, **strong** and `code`.
Second line with [a link](https://x.y/z) and <https://auto.link>.

- one
- two
  - nested `x`

    a paragraph of it
3. three
4. four that is long enough to be wrapped
- [x] done
- [ ] open

> quoted
>
> > twice

```rust
fn main() {
    println!(\"a line that is longer than the screen is wide\");
}
```

---
![a picture](data:image/png;base64,AAAA)
<b>raw</b> &amp; ~~gone~~

[1]: https://defined.here";
    insta::assert_snapshot!(shown(source, wide(44)).join("\n"));
    let code = shown(
        "```\na line that is too long\n```",
        Measure {
            width: 10,
            wrap: true,
        },
    );
    assert_eq!(code, ["│ a line", "│ that is", "│ too long"]);
}

#[test]
fn tones_replace_markup() {
    assert_eq!(
        toned("## A `b`")[0],
        [
            (Tone::Strong, "A ".into()),
            (Tone::Dim, "`".into()),
            (Tone::Strong, "b".into()),
            (Tone::Dim, "`".into())
        ]
    );
    assert_eq!(
        toned("*a* **b** [c](d)")[0],
        [
            (Tone::Emphasis, "a".into()),
            (Tone::Plain, " ".into()),
            (Tone::Strong, "b".into()),
            (Tone::Plain, " ".into()),
            (Tone::Accent, "c".into()),
            (Tone::Dim, " (d)".into())
        ]
    );
}

const TABLE: &str = "\
| City | Weather | °C |
|------|:-------:|---:|
| Kraków | **sunny**, later a few clouds and a breeze | 21 |
| 東京 | rain | 9 |";

#[test]
fn tables_shrink_to_the_width_or_become_lists() {
    insta::assert_snapshot!(
        [80, 36, 12]
            .map(|width| shown(TABLE, wide(width)).join("\n"))
            .join("\n\n")
    );
}

#[test]
fn text_without_markup_is_shown_as_received() {
    for text in [
        "plain",
        "two\nlines  with   spaces\n  and an indent\n\n\nand a gap",
        "\n\nblank lines first",
        "{\"a\": [1, 2], \"b\": null}",
        "    four spaces at the start",
        "5 * 3 * 2 = 30 and a_b_c",
        "<html>\n  <body>text</body>\n</html>",
    ] {
        assert_eq!(
            shown(text, wide(80)),
            text.split('\n')
                .map(|l| l.trim_end().to_string())
                .collect::<Vec<_>>()
        );
    }
}

#[test]
fn each_line_knows_its_position_in_the_source() {
    let source = "# Title\n\n- one **two** three four\n\n```\ncode\n```\n\n|a|b|\n|-|-|\n|c|d|\n";
    for (line, at) in render(source, wide(12)) {
        let word = words(&line)
            .trim_start_matches(['•', ' ', '│'])
            .split(' ')
            .next()
            .unwrap_or_default()
            .to_string();
        if !word.is_empty() && !word.starts_with('─') {
            assert!(
                source[at..]
                    .trim_start_matches(['*', '-', ' ', '#', '`'])
                    .starts_with(&word),
                "{word} at {at}"
            );
        }
    }
}

#[test]
fn escape_sequences_and_bidi_characters_are_neutralized() {
    let all = shown(
        "a\u{1b}[31m **b\u{202e}c** `\u{1b}]0;x\u{7}d`\n\n|\u{1b}[1mh|\n|-|\n|\u{7}|",
        wide(40),
    )
    .join("\n");
    assert!(all.starts_with("a b<U+202E>c `d`\n\nh\n"), "{all}");
    assert!(!all.chars().any(|c| c.is_control() && c != '\n'), "{all:?}");
}

/// Returns a typical model answer of many blocks.
fn essay(bytes: usize) -> String {
    let part = "## Part\n\nSome words about *it*, and\na second line.\n\n- one\n- two `x`\n\n```py\nprint(1)\n```\n\n";
    part.repeat(bytes / part.len())
}

#[test]
fn the_cost_of_ten_thousand_tokens_is_linear() {
    let source = essay(60_000);
    let mut flow = Flow::markdown(wide(80));
    let mut ends: Vec<usize> = (1..=10_000).map(|i| i * source.len() / 10_000).collect();
    ends.dedup();
    for end in &ends {
        flow.lay(&source[..*end]);
    }
    // Each token parses its short block again. Parsing the whole text each time would be 300 MB.
    assert!(flow.read() < 40 * source.len() as u64, "{}", flow.read());
    assert_eq!(flow.rows(), render(&source, wide(80)));

    // One endless block: parsed as Markdown while it is small, then wrapped line by line.
    let source = "word ".repeat(60_000);
    let mut flow = Flow::markdown(wide(80));
    for end in (0..=source.len()).step_by(3_000) {
        flow.lay(&source[..end]);
    }
    assert!(flow.read() < 6 * source.len() as u64, "{}", flow.read());
    let rows: Vec<String> = flow.rows().iter().map(|(line, _)| words(line)).collect();
    assert_eq!(rows[0], "(block over 65.5 kB: shown as received)");
    assert_eq!(rows[1..].join(" "), source.trim_end());
}

#[test]
fn a_replaced_text_is_laid_out_from_the_start() {
    let mut flow = Flow::markdown(wide(80));
    flow.lay(&essay(500));
    flow.lay("short");
    assert_eq!(flow.rows(), render("short", wide(80)));
}

#[test]
fn ten_thousand_nesting_levels_are_laid_out() {
    for open in ["> ", "- ", "[", "*", "`", "![", "<", "1. "] {
        let source = format!("{} end", open.repeat(10_000));
        let rows = render(&source, wide(30));
        assert!(rows.iter().all(|(line, _)| line.width() <= 30), "{open}");
        assert!(shown(&source, wide(30)).join(" ").contains("end"), "{open}");
    }
}

proptest! {
    #[test]
    fn incremental_layout_equals_layout_at_once(
        parts in proptest::collection::vec(prop_oneof![
            Just("\n"), Just("\n\n"), Just("# "), Just("- "), Just("* "), Just("1. "), Just("> "), Just("```"), Just("```rs\n"),
            Just("    "), Just("  "), Just("|"), Just("|a|b|\n"), Just("|-|-|\n"), Just("---"), Just("**"), Just("*"), Just("`"),
            Just("a"), Just("word "), Just("日本 "), Just("<b>"), Just("\\"), Just("&amp;"), Just("~~"), Just("="), Just("![x](y)"),
        ], 0..60),
        width in 1usize..40,
    ) {
        let mut flow = Flow::markdown(wide(width));
        let mut text = String::new();
        for part in &parts {
            text.push_str(part);
            flow.lay(&text);
        }
        let whole = render(&text, wide(width));
        prop_assert_eq!(flow.rows(), &whole, "{:?}", text);
        for (line, at) in &whole {
            prop_assert!(*at <= text.len());
            prop_assert!(line.width() <= width.max(2) || width < 14, "{:?}", words(line));
        }
    }

    #[test]
    fn rendering_random_text_never_panics(text in "\\PC{0,80}", wild in proptest::collection::vec(any::<u8>(), 0..120), width in 1usize..30) {
        for source in [text.as_str(), &String::from_utf8_lossy(&wild)] {
            for wrap in [false, true] {
                for (line, _) in render(source, Measure { width, wrap }) {
                    for piece in &line.left {
                        prop_assert_eq!(&*text::clean(&piece.text), piece.text.as_str());
                    }
                }
            }
        }
    }

    #[test]
    fn no_word_is_lost(lines in proptest::collection::vec("[a-z]{1,9}( [a-z]{1,9}){0,12}", 1..12), width in 9usize..40) {
        let source = lines.join("\n");
        let all: Vec<String> = shown(&source, wide(width)).iter().flat_map(|l| l.split(' ').map(String::from).collect::<Vec<_>>()).collect();
        prop_assert_eq!(all.join(" "), lines.join(" "));
    }
}

#[test]
fn line_breaks_of_all_kinds_are_lines() {
    for source in [
        "Hello,\nyour order *left*.\nThanks",
        "Hello,\r\nyour order *left*.\r\nThanks",
        "Hello,\u{2028}your order *left*.\u{2028}Thanks",
        "Hello,\r\nyour order left.\r\nThanks",
        "Hello,\nyour order left.\nThanks",
    ] {
        assert_eq!(
            shown(source, wide(80)),
            ["Hello,", "your order left.", "Thanks"],
            "{source:?}"
        );
    }
    let code = shown(
        "```\r\na\r\nb\r\n```",
        Measure {
            width: 40,
            wrap: true,
        },
    );
    assert_eq!(code, ["│ a", "│ b"]);
}

#[test]
fn a_preview_has_no_marks_of_markdown() {
    for (source, shown) in [
        (
            "# Refund **49 €** by `send_refund`",
            "Refund 49 € by send_refund",
        ),
        (
            "**Approve** *this*?\n\n* one\n* two",
            "Approve this? - one - two",
        ),
        ("3. three `x`", "3. three x"),
        (
            "what is __init__ and a_b_c in `#42`?",
            "what is __init__ and a_b_c in #42?",
        ),
        ("2 * 3 * 4 and #42", "2 * 3 * 4 and #42"),
        ("see [the docs](https://x.y/z) \\*", "see the docs *"),
        ("a <b> & c", "a <b> & c"),
        ("```", "```"),
        ("", ""),
    ] {
        assert_eq!(plain_line(source), shown);
    }
}
