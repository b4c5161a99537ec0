//! `verify FILE`: checks that a recording is complete and was not changed.

use crate::commands::replay;
use crate::prelude::*;
use runtail_stream::{
    Chain, ChainCheck, Data, End, EventNumber, LineParser, Lines, ReadError, Record, Seq,
    is_evicted_before_recording,
};

/// Maximum number of problems to list.
const TOLD: usize = 20;
/// Number of records between two yields.
const TURN: usize = 1024;

/// Options of `verify`.
#[derive(Debug, Args)]
pub struct Options {
    /// The recording, gzip or not
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The seal that was noted when the recording was made; proves that the file was not rewritten
    #[arg(long, value_name = "SEAL")]
    seal: Option<String>,
}

pub async fn run(options: &Options) -> Result<Exit, Failure> {
    let mut lines = replay::lines(&options.file)?;
    let (mut audit, mut parser) = (Audit::default(), LineParser::default());
    let mut turn = 0;
    while lines
        .advance()
        .map_err(|e| Failure::failed(ReadError::Io(e).to_string()))?
    {
        let parsed = lines.parse(&mut parser);
        if !lines.was_truncated() {
            audit.link(lines.number(), lines.bytes());
            audit.around(&lines);
        }
        match parsed {
            Ok(Some(record)) => audit.record(&record),
            Ok(None) => {}
            Err(error) => audit.problem(error.to_string()),
        }
        turn += 1;
        if turn % TURN == 0 {
            tokio::task::yield_now().await;
        }
    }
    if audit.sealed > 0 && lines.empty_before() > 0 {
        audit.problem("empty lines follow the last line".into());
    }
    if lines.was_truncated() {
        audit.problem("the file ends in the middle of a line".into());
    }
    if let Some(seal) = &options.seal
        && !seal.trim().eq_ignore_ascii_case(&audit.chain.seal_text())
    {
        audit.problem(format!(
            "seal mismatch: the file has {}, expected {}",
            audit.chain.seal_text(),
            text::clean(seal.trim())
        ));
    }
    let name = text::clean(&options.file.to_string_lossy()).into_owned();
    let unpacked = if lines.is_compressed() {
        " of the unpacked lines"
    } else {
        ""
    };
    let seal = match (audit.sealed, &options.seal) {
        (0, _) => "no hashes: only numbers, counts and the end were checked".to_string(),
        (_, None) => {
            format!(
                "every line matches its hash; no seal given to compare; seal{unpacked} {}",
                audit.chain.seal_text()
            )
        }
        (_, Some(_)) => format!("seal{unpacked} {}", audit.chain.seal_text()),
    };
    let Audit {
        events,
        missing,
        gaps,
        problems,
        untold,
        end,
        ..
    } = audit.finish();
    for problem in &problems {
        output::complain(format!("{name}: {problem}"));
    }
    if untold > 0 {
        output::complain(format!("{name}: and {untold} more"));
    }
    let outcome = end.map_or("no end", |end| end.outcome.as_str());
    let sound = if problems.is_empty() {
        "sound"
    } else {
        "damaged"
    };
    let lacks = match missing {
        0 => String::new(),
        _ => format!(
            " ({} earlier events are missing: they were evicted)",
            text::count(missing)
        ),
    };
    let (events, gaps) = (text::counted(events, "event"), text::counted(gaps, "gap"));
    let line = format!("{name}: {sound}; {events}{lacks}, {gaps}, {outcome}; {seal}\n");
    output::print(&line, false)?;
    Ok(if problems.is_empty() {
        Exit::Done
    } else {
        Exit::Failed
    })
}

/// Checks the invariants of a recording.
#[derive(Default)]
struct Audit {
    chain: Chain,
    /// Lines with a hash.
    sealed: u64,
    records: u64,
    events: u64,
    malformed: u64,
    gaps: u64,
    connections: u64,
    /// The connection that is open.
    open: Option<u32>,
    last_seq: Seq,
    /// The text of the gap before the next event.
    gap: Option<String>,
    /// Number of events that gaps report as missing.
    missing: u64,
    end: Option<End>,
    problems: Vec<String>,
    untold: u64,
}

impl Audit {
    fn link(&mut self, number: u64, line: &[u8]) {
        match self.chain.check(line) {
            ChainCheck::Yes => self.sealed += 1,
            ChainCheck::Broken => {
                self.sealed += 1;
                self.problem(format!(
                    "line {number} does not match its hash: it was edited, or lines before it were moved or removed"
                ));
            }
            ChainCheck::No if self.sealed > 0 => {
                self.problem(format!("line {number} has no hash, but earlier lines have"))
            }
            ChainCheck::No => {}
        }
    }

    /// Checks the bytes between the lines, which no hash covers.
    fn around(&mut self, lines: &Lines) {
        if self.sealed == 0 {
            return;
        }
        let number = lines.number();
        if lines.empty_before() > 0 {
            self.problem(format!("there are empty lines before line {number}"));
        }
        if !lines.is_as_written() {
            self.problem(format!(
                "the end of line {number} was changed: spaces were added, or the line ending is different"
            ));
        }
    }

    fn record(&mut self, record: &Record) {
        self.records += 1;
        // A thread page loads the thread again after its stream has ended.
        let is_snapshot = matches!(record, Record::Event(event) if event.is_snapshot());
        if self.end.is_some() && !is_snapshot {
            self.problem("there are records after the end".into());
        }
        if matches!(record, Record::Head(_)) != (self.records == 1) {
            self.problem(
                if self.records == 1 {
                    "the head record is missing"
                } else {
                    "there is a second head record"
                }
                .into(),
            );
        }
        match record {
            Record::Head(_) | Record::Run(_) => {}
            // A snapshot is not an event of the stream.
            Record::Event(event) if event.is_snapshot() => {}
            Record::Open { conn, .. } => {
                self.connections += 1;
                if u64::from(*conn) != self.connections {
                    self.problem(format!(
                        "connection {} has the number {conn}",
                        self.connections
                    ));
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
            Record::Gap { why, .. } => {
                self.gaps += 1;
                self.gap = Some(why.clone());
            }
            Record::Event(event) => {
                self.events += 1;
                self.malformed += u64::from(!matches!(event.data, Data::Json(_)));
                let (last, gap) = (self.last_seq, self.gap.take());
                match event
                    .seq
                    .checked_since(last)
                    .and_then(|by| by.checked_sub(1))
                {
                    Some(0) => {}
                    // A recording that was started late reports the missing events as a gap.
                    Some(missing)
                        if gap.is_some_and(|why| {
                            is_evicted_before_recording(
                                &why,
                                EventNumber(last.next().0),
                                EventNumber(event.seq.previous().0),
                            )
                        }) =>
                    {
                        self.missing += missing;
                    }
                    _ => self.problem(format!("event {} follows event {last}", event.seq)),
                }
                self.last_seq = event.seq;
                if self.open != Some(event.conn) {
                    self.problem(format!(
                        "event {} is on connection {}, which is not open",
                        event.seq, event.conn
                    ));
                }
            }
            Record::End(end) => self.end = Some(end.clone()),
        }
    }

    fn finish(mut self) -> Audit {
        let Some(end) = self.end.clone() else {
            self.problem(
                "there is no end record: the recording was cut off, or is still being written"
                    .into(),
            );
            return self;
        };
        for (what, said, found) in [
            ("events", end.events, self.events),
            ("connections", u64::from(end.connections), self.connections),
            ("gaps", end.gaps, self.gaps),
            ("malformed events", end.malformed, self.malformed),
        ] {
            if said != found {
                self.problem(format!(
                    "the end record counts {said} {what}, but there are {found}"
                ));
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
