//! `redact FILE`: a new recording without what others are not meant to see.

use super::{Exit, Failure, output, replay};
use crate::projection::{Removal, Rules};
use crate::stream::{Chain, LineParser, Lines, ReadError, Record, RecordingFile, write_record};
use crate::text;
use clap::Args;
use std::io;
use std::path::{Path, PathBuf};

/// Bytes of lines that are collected before they are written.
const CHUNK: usize = 1 << 20;
/// Lines after which others get a turn.
const TURN: usize = 1024;

/// Options of `redact`.
#[derive(Debug, Args)]
pub struct Options {
    /// The recording, gzip or not
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The new recording (default: FILE with .redacted before its ending); gzip where its name ends in .gz
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Take out what stands at this path of an event's data, such as messages[*].content; **.email is that field anywhere
    #[arg(long = "path", value_name = "PATH")]
    paths: Vec<String>,
    /// Take out what this regular expression fits, in each text by itself: what came token by token has to be named by a path
    #[arg(long = "pattern", value_name = "REGEX")]
    patterns: Vec<String>,
    /// Print what would go, and write nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) async fn run(options: &Options) -> Result<Exit, Failure> {
    let rules = Rules::new(&options.paths, &options.patterns).map_err(Failure::usage)?;
    let mut lines = replay::lines(&options.file)?;
    let to = options.to.clone().unwrap_or_else(|| redacted(&options.file));
    let name = text::clean(&to.to_string_lossy()).into_owned();
    let mut new = match options.dry_run {
        true => None,
        false => Some(RecordingFile::create(&to).map_err(|e| match e.kind() {
            io::ErrorKind::AlreadyExists => Failure::usage(format!("{name} is there already and was left alone")),
            _ => Failure::usage(format!("cannot write {name}: {e}")),
        })?),
    };
    let not_written = |e: io::Error| Failure::new(Exit::Failed, format!("cannot write {name}: {e}"));
    let mut work = Work { counts: vec![(0, 0); rules.len()], ..Work::default() };
    let mut turn = 0;
    while lines.advance().map_err(|e| Failure::new(Exit::Failed, ReadError::Io(e).to_string()))? {
        work.line(&mut lines, &rules, options.dry_run);
        if work.out.len() > CHUNK {
            work.bring(new.as_mut()).map_err(not_written)?;
        }
        turn += 1;
        if turn % TURN == 0 {
            tokio::task::yield_now().await;
        }
    }
    work.bring(new.as_mut()).map_err(not_written)?;
    if let Some(new) = new {
        new.finish().map_err(not_written)?;
    }
    if lines.was_cut() {
        output::complain("runtail: the recording ends in the middle of a line; what is whole was taken");
    }
    if work.left_out > 0 {
        let lines = text::count(work.left_out);
        output::complain(&format!(
            "runtail: {lines} lines that are no records were left out: what is in them is not known"
        ));
    }
    let mut told = String::new();
    for (rule, (places, bytes)) in work.counts.iter().enumerate().filter(|(_, (places, _))| *places > 0) {
        let places = format!("{} {}", text::count(*places), if *places == 1 { "place" } else { "places" });
        told.push_str(&format!("{places}, {}: {}\n", text::bytes(*bytes), rules.name(rule)));
    }
    if told.is_empty() {
        told.push_str("nothing fits these rules\n");
    }
    if !options.dry_run {
        told.push_str(&format!("wrote {name}, seal {}\n", work.chain.seal_text()));
    }
    output::print(&text::clean_lines(&told), false)?;
    Ok(Exit::Done)
}

#[derive(Default)]
struct Work {
    parser: LineParser,
    chain: Chain,
    out: Vec<u8>,
    /// Of each rule: the places that it found, and their bytes.
    counts: Vec<(u64, u64)>,
    left_out: u64,
}

impl Work {
    /// Takes the next line. With a preview what goes is told and nothing is written.
    fn line(&mut self, lines: &mut Lines, rules: &Rules, is_preview: bool) {
        let record = match lines.parse(&mut self.parser) {
            Ok(Some(record)) => record,
            Ok(None) if lines.was_cut() => return,
            Ok(None) | Err(_) => {
                self.left_out += 1;
                return;
            }
        };
        let of = match &record {
            Record::Event(event) => format!("event {}", event.seq),
            _ => format!("line {}", lines.number()),
        };
        let (counts, out) = (&mut self.counts, &mut self.out);
        let record = rules.apply(record, &mut |gone: Removal| {
            if let Some((places, bytes)) = counts.get_mut(gone.rule) {
                *places += 1;
                *bytes += gone.bytes as u64;
            }
            if is_preview {
                let (size, rule) = (text::bytes(gone.bytes as u64), text::clean(rules.name(gone.rule)));
                out.extend(format!("{of}  {}  {size}  {rule}  {}\n", gone.place, gone.head).bytes());
            }
        });
        if !is_preview {
            let from = self.out.len();
            // Into memory, where writing cannot fail.
            let _ = write_record(&mut self.out, &record);
            self.chain.seal(&mut self.out, from);
        }
    }

    fn bring(&mut self, new: Option<&mut RecordingFile>) -> io::Result<()> {
        match new {
            Some(new) => new.write(&self.out)?,
            // A preview whose reader left is told to nobody.
            None => drop(output::print(&String::from_utf8_lossy(&self.out), false)),
        }
        self.out.clear();
        Ok(())
    }
}

/// `a.jsonl.gz` becomes `a.redacted.jsonl.gz`.
fn redacted(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let dot = name.char_indices().skip(1).find(|(_, c)| *c == '.').map_or(name.len(), |(at, _)| at);
    let (stem, ending) = name.split_at(dot);
    file.with_file_name(format!("{stem}.redacted{ending}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_endings() {
        for (from, to) in [
            ("x/a.jsonl.gz", "x/a.redacted.jsonl.gz"),
            ("a.jsonl", "a.redacted.jsonl"),
            ("a", "a.redacted"),
            (".a", ".a.redacted"),
            ("é.x", "é.redacted.x"),
        ] {
            assert_eq!(redacted(Path::new(from)), Path::new(to));
        }
    }
}
