//! `replay FILE`: prints a recording, without network.

use crate::output::stream::{Printer, StreamOutput};
use crate::prelude::*;
use crate::recorder::Recorder;
use runtail_stream::{Item, Lines, ReadError, Reader, Record};
use std::io;
use tokio::time::Instant;

/// Number of records between two yields and flushes.
const TURN: usize = 256;

/// Options of `replay`.
#[derive(Debug, Args)]
pub struct Options {
    /// The recording, gzip or not
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Play at this multiple of the original speed (default: without waiting)
    #[arg(long, value_name = "X", value_parser = speed)]
    speed: Option<f64>,
    #[command(flatten)]
    output: StreamOutput,
}

fn speed(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('x').parse::<f64>() {
        Ok(speed) if speed.is_finite() && speed > 0.0 => Ok(speed),
        _ => Err("expected a number such as 1 or 0.5".into()),
    }
}

/// Opens a recording.
fn open(path: &Path) -> Result<Reader, Failure> {
    Reader::open(path).map_err(|e| unread(path, &e))
}

/// Opens a recording, line by line.
pub fn lines(path: &Path) -> Result<Lines, Failure> {
    Lines::open(path).map_err(|e| unread(path, &e))
}

pub fn unread(path: &Path, error: &io::Error) -> Failure {
    let exit = if error.kind() == io::ErrorKind::NotFound {
        Exit::Failed
    } else {
        Exit::Usage
    };
    Failure::new(
        exit,
        format!(
            "cannot read {}: {error}",
            text::clean(&path.to_string_lossy())
        ),
    )
}

pub async fn run(globals: &Globals, options: Options) -> Result<Exit, Failure> {
    let mut reader = open(&options.file)?;
    let recorder = options
        .output
        .record
        .as_deref()
        .map(Recorder::create)
        .transpose()?;
    let mut printer = Printer::new(&options.output, globals.ascii, recorder);
    let mut clock: Option<(Timestamp, Instant)> = None;
    let mut damaged = false;
    let (mut has_end, mut is_recording) = (false, false);
    for (n, read) in reader.by_ref().enumerate() {
        let record = match read {
            Ok(record) => record,
            Err(error @ ReadError::Line { .. }) => {
                output::complain(format!("runtail: {error}"));
                damaged = true;
                continue;
            }
            Err(error) => return Err(Failure::failed(error.to_string())),
        };
        is_recording = true;
        has_end |= matches!(record, Record::End(_));
        if let (Some(speed), Some(at)) = (options.speed, time(&record)) {
            let (first, began) = *clock.get_or_insert((at, Instant::now()));
            let due = Duration::try_from(at.duration_since(first))
                .unwrap_or_default()
                .as_secs_f64()
                / speed;
            let due = began.checked_add(Duration::try_from_secs_f64(due).unwrap_or_default());
            if let Some(due) = due.filter(|due| *due > Instant::now()) {
                printer.flush();
                tokio::time::sleep_until(due).await;
            }
        }
        printer.item(&Item::Record(record));
        if n % TURN == TURN - 1 {
            printer.flush();
            tokio::task::yield_now().await;
        }
        if printer.is_closed() {
            break;
        }
    }
    if !is_recording {
        let name = text::clean(&options.file.to_string_lossy()).into_owned();
        return Err(Failure::failed(format!(
            "{name} is not a recording: it contains no records"
        )));
    }
    let was_left = printer.is_closed();
    if reader.was_truncated() {
        output::complain(
            "runtail: the recording ends in the middle of a line; all complete lines were printed",
        );
    } else if !has_end && !was_left {
        output::complain(
            "runtail: the recording has no end record: it was cut off, or is still being written",
        );
    }
    match printer.finish() {
        Some(failure) => Err(failure),
        None if damaged => Ok(Exit::Failed),
        None => Ok(Exit::Done),
    }
}

fn time(record: &Record) -> Option<Timestamp> {
    match record {
        Record::Head(head) => Some(head.at),
        Record::Open { at, .. } | Record::Close { at, .. } | Record::Gap { at, .. } => Some(*at),
        Record::Event(event) => Some(event.at),
        Record::Run(run) => Some(run.at),
        Record::End(end) => Some(end.at),
    }
    .filter(|at| *at != Timestamp::default())
}
