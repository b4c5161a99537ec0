//! Runs the fuzzer's entries (`fuzz/entries`) on the corpus in the tree and on mutations of it, without a fuzzer.
//! `RUNTAIL_FUZZ_SECONDS` makes the driver run longer.
use crate::entries::{ENTRIES, Entry};
use runtail_testkit::says::Says;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Returns the corpus of an entry, sorted by file name.
fn corpus(name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(name);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("the corpus of {name}: {e}"))
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    files
        .into_iter()
        .map(|path| (path.clone(), std::fs::read(&path).unwrap()))
        .collect()
}

/// Runs an entry. An input that makes it panic is written to a file.
fn run((name, entry): Entry, input: &[u8], from: &str) {
    if catch_unwind(AssertUnwindSafe(|| entry(input))).is_err() {
        let left = std::env::temp_dir().join(format!("runtail-fuzz-{name}-{}", std::process::id()));
        std::fs::write(&left, input).unwrap();
        panic!(
            "{name} panicked on {from}; the input is in {}",
            left.display()
        );
    }
}

/// Mutates an input: bytes are flipped, removed, doubled, or taken from another input.
fn mutated(random: &mut fastrand::Rng, input: &[u8], other: &[u8]) -> Vec<u8> {
    let mut out = input.to_vec();
    for _ in 0..random.usize(1..6) {
        let place = random.usize(0..=out.len());
        let end = random.usize(place..=out.len().min(place + 40));
        match random.u8(0..6) {
            0 if place < out.len() => out[place] ^= 1 << random.u8(0..8),
            1 if place < out.len() => {
                out[place] = *random
                    .choice(b"\n\r:| \"{}[]\\\x1b\x00\xff\xe2\x80")
                    .unwrap()
            }
            2 => drop(out.drain(place..end)),
            3 => {
                let part = out[place..end].to_vec();
                out.splice(place..place, part);
            }
            4 if !other.is_empty() => {
                let from = random.usize(0..other.len());
                let to = random.usize(from..=other.len().min(from + 200));
                out.splice(place..end, other[from..to].iter().copied());
            }
            _ => {
                let text = random.choice(crate::entries::hostile::HOSTILE).unwrap();
                out.splice(place..place, text.bytes());
            }
        }
    }
    out.truncate(64 << 10);
    out
}

/// Runs the corpus of an entry, then this many mutations of it.
fn drive(name: &str, inputs: usize) {
    let entry = *ENTRIES
        .iter()
        .find(|(known, _)| *known == name)
        .expect("an entry");
    let corpus = corpus(name);
    assert!(
        corpus.len() >= 5,
        "a corpus of {} inputs is too small",
        corpus.len()
    );
    for (path, input) in &corpus {
        run(entry, input, &path.display().to_string());
    }
    let seconds = std::env::var("RUNTAIL_FUZZ_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok());
    let until = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    // A fixed seed makes the inputs the same every time, except in a long search.
    let mut random = until.map_or_else(|| fastrand::Rng::with_seed(7), |_| fastrand::Rng::new());
    let mut done = 0;
    while until.map_or(done < inputs, |until| Instant::now() < until) {
        let (path, input) = &corpus[random.usize(0..corpus.len())];
        let (_, other) = &corpus[random.usize(0..corpus.len())];
        run(
            entry,
            &mutated(&mut random, input, other),
            &format!("a mutation of {}", path.display()),
        );
        done += 1;
    }
    if until.is_some() {
        println!("{name}: {done} inputs");
    }
}

#[test]
fn framer() {
    drive("framer", 2000);
}

#[test]
fn sse() {
    drive("sse", 2000);
}

#[test]
fn event() {
    drive("event", 500);
}

#[test]
fn text() {
    drive("text", 2000);
}

#[test]
fn config() {
    drive("config", 500);
}

#[test]
fn recording() {
    drive("recording", 500);
}

#[test]
fn keys() {
    drive("keys", 2000);
}

#[test]
fn update() {
    drive("update", 40);
}

#[test]
fn answer() {
    drive("answer", 1000);
}

#[test]
fn http() {
    drive("http", 60);
}

#[test]
fn views() {
    drive("views", 30);
}

#[test]
fn redact() {
    drive("redact", 500);
}

/// Each entry has a fuzz target, and each target an entry.
#[test]
fn every_fuzz_entry_has_a_target() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    for (name, _) in ENTRIES {
        let target =
            std::fs::read_to_string(folder.join(format!("fuzz_targets/{name}.rs"))).unwrap();
        target.has(&format!("\"{name}\""));
        assert!(
            manifest.contains(&format!("name = \"{name}\"")),
            "{name} is not in the manifest"
        );
    }
    assert_eq!(
        std::fs::read_dir(folder.join("fuzz_targets"))
            .unwrap()
            .count(),
        ENTRIES.len()
    );
}
