//! The hash chain of a recording. The last field of each line, `hash`, is the first half of the SHA-256 (as hex) of the
//! previous hash and the line without that field. This detects lines that were changed, removed, added or moved. The
//! last hash identifies the whole recording, so it also proves that the recording was not rewritten.

use ring::digest::{Context, SHA256};

/// Size of a hash, in bytes.
const BYTES: usize = 16;
/// The text before the hash at the end of a line.
const FIELD: &[u8] = br#","hash":""#;
/// The text after the hash.
const CLOSE: &[u8] = br#""}"#;

/// The current state of a hash chain.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chain {
    last: [u8; BYTES],
}

/// The result of checking a line against the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainCheck {
    /// The line has no hash.
    No,
    /// The line follows the previous one.
    Yes,
    /// The line was changed, or doesn't follow the previous one.
    Broken,
}

impl Chain {
    /// Appends a hash to the text's last line, which begins at this offset and ends with a line break.
    pub fn seal(&mut self, text: &mut Vec<u8>, from: usize) {
        let Some(line) = text.get(from..).and_then(|line| line.strip_suffix(b"}\n")) else {
            return;
        };
        self.last = hash(self.last, &[line, b"}"]);
        text.truncate(text.len() - 2);
        text.extend_from_slice(FIELD);
        text.extend_from_slice(self.seal_text().as_bytes());
        text.extend_from_slice(CLOSE);
        text.push(b'\n');
    }

    /// Checks the next line, without its line break, against the chain. After a broken line the chain continues from that
    /// line, so that each change is reported where it is.
    pub fn check(&mut self, line: &[u8]) -> ChainCheck {
        let Some((before, written)) = split(line) else {
            return ChainCheck::No;
        };
        let matches = hash(self.last, &[before, b"}"]) == written;
        self.last = written;
        if matches {
            ChainCheck::Yes
        } else {
            ChainCheck::Broken
        }
    }

    /// Returns the previous line's hash as written.
    pub fn seal_text(&self) -> String {
        self.last.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Hashes one line together with the previous hash.
fn hash(before: [u8; BYTES], line: &[&[u8]]) -> [u8; BYTES] {
    let mut context = Context::new(&SHA256);
    context.update(&before);
    line.iter().for_each(|part| context.update(part));
    let mut half = [0; BYTES];
    half.copy_from_slice(&context.finish().as_ref()[..BYTES]);
    half
}

/// Splits a line into the part before the hash field, and the hash. Quotes inside JSON strings are escaped, so only this
/// field can end a line like that.
fn split(line: &[u8]) -> Option<(&[u8], [u8; BYTES])> {
    let (rest, hex) = line
        .strip_suffix(CLOSE)?
        .split_last_chunk::<{ 2 * BYTES }>()?;
    let before = rest.strip_suffix(FIELD)?;
    let mut written = [0; BYTES];
    for (byte, pair) in written.iter_mut().zip(hex.as_chunks::<2>().0) {
        let is_digit = |c: &u8| matches!(c, b'0'..=b'9' | b'a'..=b'f');
        let digits = std::str::from_utf8(pair).ok()?;
        let number = u8::from_str_radix(digits, 16).ok();
        *byte = number.filter(|_| pair.iter().all(is_digit))?;
    }
    Some((before, written))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(lines: &[&str]) -> Vec<String> {
        let mut chain = Chain::default();
        let seal = |line: &&str| {
            let mut text = format!("{line}\n").into_bytes();
            chain.seal(&mut text, 0);
            String::from_utf8(text).unwrap().trim_end().to_string()
        };
        lines.iter().map(seal).collect()
    }

    fn checked<'l>(lines: impl IntoIterator<Item = &'l String>) -> String {
        let mut chain = Chain::default();
        let word = |linked| match linked {
            ChainCheck::No => '-',
            ChainCheck::Yes => '+',
            ChainCheck::Broken => '!',
        };
        lines
            .into_iter()
            .map(|line| word(chain.check(line.as_bytes())))
            .collect()
    }

    #[test]
    fn changed_lines_are_located() {
        let lines = sealed(&[r#"{"a":1}"#, r#"{"a":2}"#, r#"{"a":3}"#, r#"{"a":4}"#]);
        assert!(lines[0].starts_with(r#"{"a":1,"hash":""#), "{}", lines[0]);
        assert_eq!(checked(&lines), "++++");
        let mut edited = lines.clone();
        edited[1] = edited[1].replace('2', "7");
        assert!(checked(&edited).starts_with("+!"));
        let [a, b, c, d] = &lines[..] else {
            unreachable!()
        };
        assert_eq!(checked([a, c, d]), "+!+");
        assert_eq!(checked([b, c, d]), "!++");
        assert_eq!(checked([a, c, b, d]), "+!!!");
        assert_eq!(checked([a, b, b, c, d]), "++!++");
        assert_eq!(checked([a, &r#"{"a":9}"#.to_string(), b]), "+-+");
    }

    #[test]
    fn only_the_last_field_is_a_hash() {
        let zeros = "0".repeat(32);
        let inside = format!(r#"{{"data":{{"x":1,"hash":"{zeros}"}}}}"#);
        let in_text = format!(r#"{{"data":"x\",\"hash\":\"{zeros}\"}}"}}"#);
        let upper = format!(r#"{{"a":1,"hash":"{}"}}"#, "A".repeat(32));
        assert_eq!(
            checked([&inside, &in_text, &upper, &"{}".into(), &String::new()]),
            "-----"
        );
        assert_eq!(checked([&format!(r#"{{"a":1,"hash":"{zeros}"}}"#)]), "!");
    }
}
