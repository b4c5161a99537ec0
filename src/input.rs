//! JSON input from the command line, a file or stdin. Errors show the position.

use crate::prelude::*;
use runtail_core::config::files;
use runtail_core::exact_json::{self, Unreadable};
use runtail_core::json::{HALF_HINT, half_in};
use std::io::{self, BufRead, Read};

/// Columns shown on either side of an error.
const AROUND: usize = 36;

/// Reads `JSON`, `@FILE` or `-`. `option` is the option's name for errors.
pub async fn json(option: &str, given: &str) -> Result<Value, Failure> {
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

/// Reads a document: a file, or `-` for stdin. Also returns the path of a file.
pub async fn document(path: &Path) -> Result<(String, Option<&Path>), Failure> {
    if path == Path::new("-") {
        return Ok((stdin_text().await?, None));
    }
    Ok((file_text(path)?, Some(path)))
}

/// Reads a file as text.
pub fn file_text(path: &Path) -> Result<String, Failure> {
    files::read_text(path).map_err(|e| {
        let why = match e.kind() {
            io::ErrorKind::InvalidData => "it is not UTF-8 text".to_string(),
            _ => e.to_string(),
        };
        let path = path.display().to_string();
        Failure::usage(format!("{} cannot be read: {why}", text::clean(&path)))
    })
}

/// Reads stdin as text.
pub async fn stdin_text() -> Result<String, Failure> {
    String::from_utf8(stdin().await?).map_err(|_| Failure::usage("stdin is not UTF-8"))
}

/// Reads one line of stdin; empty at the end.
pub async fn line() -> Result<String, Failure> {
    blocking(|stdin| {
        let mut line = String::new();
        stdin.read_line(&mut line).map(|_| line)
    })
    .await
}

/// Reads all of stdin.
pub async fn stdin() -> Result<Vec<u8>, Failure> {
    blocking(|stdin| {
        let mut bytes = Vec::new();
        stdin.read_to_end(&mut bytes).map(|_| bytes)
    })
    .await
}

/// Reads stdin on a thread of its own, because a blocked read must not delay the program's exit.
async fn blocking<T: Send + 'static>(
    read: impl FnOnce(&mut io::StdinLock<'_>) -> io::Result<T> + Send + 'static,
) -> Result<T, Failure> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || sender.send(read(&mut io::stdin().lock())));
    match receiver.await {
        Ok(Ok(read)) => Ok(read),
        Ok(Err(e)) => Err(Failure::usage(format!("cannot read stdin: {e}"))),
        Err(_) => Err(Failure::usage("cannot read stdin")),
    }
}

fn parse(title: &str, bytes: &[u8]) -> Result<Value, Failure> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let title = text::clean(title);
    let json = std::str::from_utf8(bytes).map_err(|e| {
        Failure::usage(format!(
            "{title} is not JSON: it is not UTF-8 from byte {} on",
            e.valid_up_to() + 1
        ))
    })?;
    if json.trim().is_empty() {
        return Err(Failure::usage(format!(
            "{title} is empty; expected JSON such as {{\"messages\": []}}"
        )));
    }
    let value = exact_json::parse(json).map_err(|why| {
        let is_not = match why {
            Unreadable::Invalid(_) => " is not JSON",
            Unreadable::Inexact(_) => "",
        };
        let (line, column) = why.place(json);
        let shown = place(json, line, column);
        Failure::usage(format!(
            "{title}{is_not}: {why}, at line {line} column {column}\n{shown}"
        ))
    })?;
    // Servers refuse it, or store a thread that can't be read again.
    match half_in(&value) {
        None => Ok(value),
        Some(at) => Err(Failure::usage(format!(
            "{title}: half of a character in {}\n  {HALF_HINT}",
            text::clean(&at)
        ))),
    }
}

/// Returns the line with a caret below the position. `column` counts bytes from 1, as serde_json does.
fn place(json: &str, line: usize, column: usize) -> String {
    let whole = json
        .split('\n')
        .nth(line.saturating_sub(1))
        .unwrap_or_default()
        .trim_end_matches('\r');
    let mut at = column.saturating_sub(1).min(whole.len());
    while !whole.is_char_boundary(at) {
        at -= 1;
    }
    let (before, after) = whole.split_at(at);
    let start = before
        .char_indices()
        .rev()
        .nth(AROUND - 1)
        .map_or(0, |(i, _)| i);
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
        assert_eq!(
            message("{bad"),
            "--input is not JSON: key must be a string, at line 1 column 2\n  {bad\n   ^"
        );
        assert!(
            message("{\"é日\":1,}").ends_with("\n  {\"é日\":1,}\n           ^"),
            "{}",
            message("{\"é日\":1,}")
        );
        assert!(message("{\n  \"a\": tru\n}").contains("line 2 column"));
        assert!(message("{\"a\":").contains("EOF while parsing"));
        assert!(message("  ").contains("is empty"));
        let long = format!("[{}x]", "1, ".repeat(400));
        assert!(
            message(&long).lines().all(|line| text::width(line) < 110),
            "{}",
            message(&long)
        );
        assert!(
            parse("x", b"\"\xff\"")
                .unwrap_err()
                .message
                .contains("from byte 2 on")
        );
    }

    #[test]
    fn values_that_would_change_are_refused_with_their_place() {
        assert_eq!(
            message("{\"a\": {\n \"to\": 1, \"to\": 2}}"),
            "--input: the key \"to\" occurs twice, in a, at line 2 column 11\n   \"to\": 1, \"to\": 2}}\n            ^"
        );
        assert!(message("[1e-400]").starts_with(
            "--input: the number 1e-400 can't be sent exactly: it would become 0.0, in 0, "
        ));
        assert!(message("[1e400]").starts_with(
            "--input: the number 1e400 is too large to be sent, in 0, at line 1 column 2\n  [1e400]\n   ^"
        ));
    }

    #[test]
    fn any_json_will_do() {
        for json in ["null", "\u{feff}[1]", " {\"a\": [1.5]} ", "\"text\""] {
            assert!(parse("--input", json.as_bytes()).is_ok(), "{json}");
        }
    }
}
