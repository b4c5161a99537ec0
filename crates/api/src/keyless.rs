//! Redacts the API keys that were sent from responses and streams. Some servers echo request headers (for example in a run's
//! configuration), and responses are displayed and stored.

use bytes::{Bytes, BytesMut};
use memchr::memmem::Finder;
use memchr::{memchr, memrchr};
use runtail_core::model::{MASK, Secrets};

/// The keys of one stream.
pub struct SecretRedactor {
    keys: Vec<Finder<'static>>,
    longest: usize,
    /// The end of the received bytes, while it may be the start of a key.
    held: Bytes,
}

impl SecretRedactor {
    /// Creates a redactor for these keys.
    pub fn new(keys: &Secrets) -> SecretRedactor {
        let keys: Vec<_> = keys
            .texts()
            .map(|key| Finder::new(key.as_bytes()).into_owned())
            .collect();
        let longest = keys.iter().map(|key| key.needle().len()).max().unwrap_or(0);
        SecretRedactor {
            keys,
            longest,
            held: Bytes::new(),
        }
    }

    /// Returns a text without these keys; nothing if it contains none.
    pub fn whole(keys: &Secrets, all: &[u8]) -> Option<Bytes> {
        let mut clean: Option<Bytes> = None;
        for key in keys.texts().map(Finder::new) {
            let now = clean.as_deref().unwrap_or(all);
            if key.find(now).is_some() {
                clean = Some(replaced(now, &key));
            }
        }
        clean
    }

    /// Returns the bytes that can be passed on. Scans each byte, and copies only if there is a key.
    pub fn pass(&mut self, chunk: Bytes) -> Bytes {
        if self.keys.is_empty() {
            return chunk;
        }
        let mut all = if self.held.is_empty() {
            chunk
        } else {
            let mut all = BytesMut::from(&std::mem::take(&mut self.held)[..]);
            all.extend_from_slice(&chunk);
            all.freeze()
        };
        for key in &self.keys {
            if key.find(&all).is_some() {
                all = replaced(&all, key);
            }
        }
        self.held = all.split_off(all.len() - self.open_end(&all));
        all
    }

    /// Returns the bytes that were held back, at the end of the stream.
    pub fn rest(&mut self) -> Bytes {
        std::mem::take(&mut self.held)
    }

    /// Returns the number of bytes at the end that may be the start of a key.
    fn open_end(&self, all: &[u8]) -> usize {
        let from = all.len().saturating_sub(self.longest.saturating_sub(1));
        // A key contains no line end, so an event is never held back for the next one.
        let from = memrchr(b'\n', &all[from..]).map_or(from, |at| from + at + 1);
        let tail = &all[from..];
        let begins = |key: &Finder<'_>| {
            let key = key.needle();
            let mut at = 0;
            while let Some(found) = key.first().and_then(|first| memchr(*first, &tail[at..])) {
                at += found;
                if key.starts_with(&tail[at..]) {
                    return tail.len() - at;
                }
                at += 1;
            }
            0
        };
        self.keys.iter().map(begins).max().unwrap_or(0)
    }
}

fn replaced(all: &[u8], key: &Finder<'_>) -> Bytes {
    let mut out = BytesMut::with_capacity(all.len());
    let mut from = 0;
    for at in key.find_iter(all) {
        out.extend_from_slice(&all[from..at]);
        out.extend_from_slice(MASK.as_bytes());
        from = at + key.needle().len();
    }
    out.extend_from_slice(&all[from..]);
    out.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEYS: [&str; 2] = ["lsv2_pt_canary", "bearer-canary-ab"];

    fn redacted(chunks: &[&[u8]]) -> String {
        let mut keyless = SecretRedactor::new(&Secrets::new(KEYS, 6));
        let mut out = Vec::new();
        for chunk in chunks {
            out.extend_from_slice(&keyless.pass(Bytes::copy_from_slice(chunk)));
        }
        out.extend_from_slice(&keyless.rest());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn keys_are_redacted_from_streams() {
        assert_eq!(
            redacted(&[b"data: lsv2_pt_", b"canary x\n\n"]),
            "data: *** x\n\n"
        );
        assert_eq!(
            redacted(&[b"data: lsv2_pt_cana", b"\n\n"]),
            "data: lsv2_pt_cana\n\n"
        );
        assert_eq!(redacted(&[b"lsv2_pt_lsv2_pt_canary"]), "lsv2_pt_***");
        assert_eq!(redacted(&[b"bearer-canary-"]), "bearer-canary-");
        let mut keyless = SecretRedactor::new(&Secrets::new(KEYS, 6));
        assert_eq!(
            keyless.pass(Bytes::from_static(b"data: 1l\n\n")),
            "data: 1l\n\n",
            "a complete event is not held back"
        );
        assert_eq!(keyless.pass(Bytes::from_static(b"data: l")), "data: ");
        assert_eq!(
            SecretRedactor::new(&Secrets::new([], 6)).pass(Bytes::from_static(b"data: l")),
            "data: l"
        );
    }

    #[test]
    fn whole_texts_are_copied_only_if_they_contain_a_key() {
        let keys = Secrets::new(KEYS, 6);
        assert_eq!(
            SecretRedactor::whole(&keys, b"{\"a\": \"lsv2_pt_canar\"}"),
            None
        );
        let both = SecretRedactor::whole(
            &keys,
            b"[\"lsv2_pt_canary\", \"bearer-canary-ab\", \"lsv2_pt_canary\"]",
        )
        .unwrap();
        assert_eq!(both, "[\"***\", \"***\", \"***\"]");
    }

    proptest! {
        #[test]
        fn keys_are_redacted_across_any_chunks(
            parts in prop::collection::vec(prop::sample::select(vec![KEYS[0], KEYS[1], "lsv2_", "l", "bearer-canary-a", "b", "\n", "x{}"]), 0..20),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let text = parts.concat();
            let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
            places.extend([0, text.len()]);
            places.sort_unstable();
            let chunks: Vec<&[u8]> = places.windows(2).map(|ends| &text.as_bytes()[ends[0]..ends[1]]).collect();
            let expected = KEYS.iter().fold(text.clone(), |text, key| text.replace(key, MASK));
            prop_assert_eq!(redacted(&chunks), expected);
        }
    }
}
