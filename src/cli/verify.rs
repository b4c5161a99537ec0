//! `verify FILE`: whether a recording is whole, and agrees with itself.

use super::{Exit, Failure, output, replay};
use crate::stream::{Data, End, ReadError, Record};
use crate::text;
use clap::Args;
use std::path::PathBuf;

/// Problems told one by one.
const TOLD: usize = 20;
/// Records after which others get a turn.
const TURN: usize = 1024;

/// Options of `verify`.
#[derive(Debug, Args)]
pub struct Options {
    /// The recording, gzip or not
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(super) async fn run(options: &Options) -> Result<Exit, Failure> {
    let mut reader = replay::open(&options.file)?;
    let mut audit = Audit::default();
    for (n, read) in reader.by_ref().enumerate() {
        match read {
            Ok(record) => audit.record(&record),
            Err(error @ ReadError::Line { .. }) => audit.problem(error.to_string()),
            Err(error) => return Err(Failure::new(Exit::Failed, error.to_string())),
        }
        if n % TURN == TURN - 1 {
            tokio::task::yield_now().await;
        }
    }
    if reader.was_cut() {
        audit.problem("the file ends in the middle of a line".into());
    }
    let name = text::clean(&options.file.to_string_lossy()).into_owned();
    let Audit { events, gaps, problems, untold, end, .. } = audit.finish();
    for problem in &problems {
        output::complain(&format!("{name}: {problem}"));
    }
    if untold > 0 {
        output::complain(&format!("{name}: and {untold} more"));
    }
    let outcome = end.map_or("no end", |end| end.outcome.as_str());
    let sound = if problems.is_empty() { "sound" } else { "damaged" };
    let plural = |n: u64, word: &str| format!("{} {word}{}", text::count(n), if n == 1 { "" } else { "s" });
    let line = format!("{name}: {sound}; {}, {}, {outcome}\n", plural(events, "event"), plural(gaps, "gap"));
    output::print(&line, false)?;
    Ok(if problems.is_empty() { Exit::Done } else { Exit::Failed })
}

/// What every recording promises, held against one.
#[derive(Default)]
struct Audit {
    records: u64,
    events: u64,
    malformed: u64,
    gaps: u64,
    connections: u64,
    /// The connection that is open.
    open: Option<u32>,
    last_seq: u64,
    end: Option<End>,
    problems: Vec<String>,
    untold: u64,
}

impl Audit {
    fn record(&mut self, record: &Record) {
        self.records += 1;
        if self.end.is_some() {
            self.problem("something follows the end".into());
        }
        if matches!(record, Record::Tape(_)) != (self.records == 1) {
            self.problem(if self.records == 1 { "it has no head" } else { "a second head" }.into());
        }
        match record {
            Record::Tape(_) => {}
            Record::Open { conn, .. } => {
                self.connections += 1;
                if u64::from(*conn) != self.connections {
                    self.problem(format!("connection {} is called {conn}", self.connections));
                }
                if let Some(open) = self.open.replace(*conn) {
                    self.problem(format!("connection {conn} opens while {open} is open"));
                }
            }
            Record::Close { conn, .. } => {
                if self.open.take() != Some(*conn) {
                    self.problem(format!("connection {conn} closes, but was not open"));
                }
            }
            Record::Gap { .. } => self.gaps += 1,
            Record::Event(event) => {
                self.events += 1;
                self.malformed += u64::from(!matches!(event.data, Data::Json(_)));
                if event.seq != self.last_seq + 1 {
                    self.problem(format!("event {} follows event {}", event.seq, self.last_seq));
                }
                self.last_seq = event.seq;
                if self.open != Some(event.conn) {
                    self.problem(format!("event {} came on connection {}, which is not open", event.seq, event.conn));
                }
            }
            Record::End(end) => self.end = Some(end.clone()),
        }
    }

    fn finish(mut self) -> Audit {
        let Some(end) = self.end.clone() else {
            self.problem("it has no end: cut off, or still being written".into());
            return self;
        };
        for (what, said, found) in [
            ("events", end.events, self.events),
            ("connections", u64::from(end.connections), self.connections),
            ("gaps", end.gaps, self.gaps),
            ("malformed events", end.malformed, self.malformed),
        ] {
            if said != found {
                self.problem(format!("the end counts {said} {what}, there are {found}"));
            }
        }
        self
    }

    fn problem(&mut self, what: String) {
        if self.problems.len() < TOLD {
            self.problems.push(what);
        } else {
            self.untold += 1;
        }
    }
}
