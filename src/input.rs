//! JSON that a person gives: on the command line, in a file, or on stdin. What is wrong with it is shown at its place.

use crate::exit::Failure;
use runtail_core::config::files;
use runtail_core::text;
use serde_json::Value;
use std::io::Read;

/// Columns shown on either side of a mistake.
const AROUND: usize = 36;

/// Reads `JSON`, `@FILE` or `-`. `option` names where it came from.
pub(crate) async fn json(option: &str, given: &str) -> Result<Value, Failure> {
    if given == "-" {
        return parse(&format!("{option} (stdin)"), &stdin().await?);
    }
    match given.strip_prefix('@') {
        Some(path) => {
            let bytes = files::read(path.as_ref())
                .map_err(|e| Failure::usage(format!("{option}: {}: {e}", text::clean(path))))?;
            parse(&format!("{option} ({path})"), &bytes)
        }
        None => parse(option, given.as_bytes()),
    }
}

/// All of stdin as text.
pub(crate) async fn stdin_text() -> Result<String, Failure> {
    String::from_utf8(stdin().await?).map_err(|_| Failure::usage("stdin is not UTF-8"))
}

/// One line of stdin; empty at its end. On a thread of its own, like [`stdin`].
pub(crate) async fn line() -> Result<String, Failure> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line).map(|_| line);
        let _ = sender.send(read);
    });
    match receiver.await {
        Ok(Ok(line)) => Ok(line),
        Ok(Err(e)) => Err(Failure::usage(format!("cannot read stdin: {e}"))),
        Err(_) => Err(Failure::usage("cannot read stdin")),
    }
}

/// All of stdin. On a thread of its own: a read that waits for a person must not hold up the end of the program.
pub(crate) async fn stdin() -> Result<Vec<u8>, Failure> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes);
        let _ = sender.send(read);
    });
    match receiver.await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(e)) => Err(Failure::usage(format!("cannot read stdin: {e}"))),
        Err(_) => Err(Failure::usage("cannot read stdin")),
    }
}

fn parse(title: &str, bytes: &[u8]) -> Result<Value, Failure> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let title = text::clean(title);
    let json = std::str::from_utf8(bytes).map_err(|e| {
        Failure::usage(format!("{title} is not JSON: it is not UTF-8 from byte {} on", e.valid_up_to() + 1))
    })?;
    if json.trim().is_empty() {
        return Err(Failure::usage(format!("{title} is empty; JSON such as {{\"messages\": []}} was expected")));
    }
    serde_json::from_str(json).map_err(|e| {
        let (line, column) = (e.line(), e.column());
        let what = e.to_string();
        let what = what.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&what);
        // A line's end counts as the beginning of the next line; a person sees it where it is.
        let (line, column) = match (line, column) {
            (2.., 0) => (line - 1, json.split('\n').nth(line - 2).unwrap_or_default().len() + 1),
            place => place,
        };
        let shown = place(json, line, column);
        Failure::usage(format!("{title} is not JSON: {what}, at line {line} column {column}\n{shown}"))
    })
}

/// The line with a caret below the place. `column` counts bytes from 1, as serde_json does.
fn place(json: &str, line: usize, column: usize) -> String {
    let whole = json.split('\n').nth(line.saturating_sub(1)).unwrap_or_default().trim_end_matches('\r');
    let mut at = column.saturating_sub(1).min(whole.len());
    while !whole.is_char_boundary(at) {
        at -= 1;
    }
    let (before, after) = whole.split_at(at);
    let start = before.char_indices().rev().nth(AROUND - 1).map_or(0, |(i, _)| i);
    let cut = if start > 0 { "…" } else { "" };
    let before = format!("{cut}{}", text::clean(&before[start..]));
    let after = text::clean(after);
    let caret = " ".repeat(text::width(&before));
    format!("  {before}{}\n  {caret}^", text::fit(&after, AROUND))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(json: &str) -> String {
        parse("--input", json.as_bytes()).unwrap_err().message
    }

    #[test]
    fn the_caret_stands_below_the_mistake() {
        assert_eq!(message("{bad"), "--input is not JSON: key must be a string, at line 1 column 2\n  {bad\n   ^");
        assert!(message("{\"é日\":1,}").ends_with("\n  {\"é日\":1,}\n           ^"), "{}", message("{\"é日\":1,}"));
        assert!(message("{\n  \"a\": tru\n}").contains("line 2 column"));
        assert!(message("{\"a\":").contains("EOF while parsing"));
        assert!(message("  ").contains("is empty"));
        let long = format!("[{}x]", "1, ".repeat(400));
        assert!(message(&long).lines().all(|line| text::width(line) < 110), "{}", message(&long));
        assert!(parse("x", b"\"\xff\"").unwrap_err().message.contains("from byte 2 on"));
    }

    #[test]
    fn any_json_will_do() {
        for json in ["null", "\u{feff}[1]", " {\"a\": [1.5]} ", "\"text\""] {
            assert!(parse("--input", json.as_bytes()).is_ok(), "{json}");
        }
    }
}
