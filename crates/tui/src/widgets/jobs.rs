//! Background jobs: parsing, searching and comparing documents that are too large for the UI thread. The state declares a job,
//! a background task runs it in short steps, and each step reports its progress. A job that is no longer needed is stopped
//! between two steps. Only a comparison is a single step, half a second for two states of 50 MB.

use super::json_tree::{FoundNode, Searching};
use crate::widgets::pattern::Pattern;
use runtail_stream::projection::difference::Difference;
use runtail_stream::projection::index::{Excerpt, JsonIndex, Reading};
use std::sync::Arc;

/// Texts of up to this many bytes are parsed, searched and compared without a job.
pub const SYNC_LIMIT: usize = 512_000;
/// Bytes that one step of a job processes.
const STEP: usize = 2_000_000;

/// A unit of background work. Compared by identity: two equal requests are still two jobs.
#[derive(Debug, Clone)]
pub struct JobSpec(Arc<JobKind>);

#[derive(Debug)]
enum JobKind {
    Read(Excerpt),
    Search(Arc<JsonIndex>, Pattern),
    Compare(DocSource, Arc<JsonIndex>),
}

/// A document to compare with: already parsed, or as text.
#[derive(Debug, Clone)]
pub enum DocSource {
    Parsed(Arc<JsonIndex>),
    Text(Excerpt),
}

impl DocSource {
    /// Returns the bytes of its text.
    pub fn bytes(&self) -> usize {
        match self {
            DocSource::Parsed(doc) => doc.bytes(),
            DocSource::Text(text) => text.len(),
        }
    }

    /// Returns the document, and parses it if needed.
    pub fn doc(&self) -> Arc<JsonIndex> {
        match self {
            DocSource::Parsed(doc) => doc.clone(),
            DocSource::Text(text) => Arc::new(JsonIndex::new(text.clone())),
        }
    }
}

impl PartialEq for JobSpec {
    fn eq(&self, other: &JobSpec) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl JobSpec {
    /// Creates a task that parses a text.
    pub fn read(text: Excerpt) -> JobSpec {
        JobSpec(Arc::new(JobKind::Read(text)))
    }

    /// Creates a task that searches a document.
    pub fn search(doc: Arc<JsonIndex>, pattern: Pattern) -> JobSpec {
        JobSpec(Arc::new(JobKind::Search(doc, pattern)))
    }

    /// Creates a task that compares two documents.
    pub fn compare(old: DocSource, new: Arc<JsonIndex>) -> JobSpec {
        JobSpec(Arc::new(JobKind::Compare(old, new)))
    }

    pub fn begin(&self) -> Job {
        match &*self.0 {
            JobKind::Read(text) => Job::Read(Reading::new(text.clone())),
            JobKind::Search(doc, pattern) => {
                Job::Search(Searching::new(doc.clone(), pattern.clone()))
            }
            JobKind::Compare(DocSource::Text(old), new) => {
                Job::ReadOld(Reading::new(old.clone()), new.clone())
            }
            JobKind::Compare(DocSource::Parsed(old), new) => Job::Compare(old.clone(), new.clone()),
        }
    }
}

/// A running job.
#[derive(Debug)]
pub enum Job {
    Read(Reading),
    Search(Searching),
    /// Parses the older text before a comparison.
    ReadOld(Reading, Arc<JsonIndex>),
    Compare(Arc<JsonIndex>, Arc<JsonIndex>),
}

/// The result of one step of a job.
#[derive(Debug, Clone)]
pub enum JobProgress {
    /// This many bytes have been parsed so far.
    Progress(usize),
    /// The text is parsed.
    Read(Arc<JsonIndex>),
    /// Matches up to a node of the document.
    Found {
        /// The matches, in document order.
        found: Vec<FoundNode>,
        /// The first node that was not searched yet; the document's length at the end.
        upto: u32,
    },
    /// The comparison is finished.
    Compared(Arc<Difference>),
    /// The job failed; no more results follow.
    Failed,
}

impl Job {
    /// Runs one step. Returns its result, and the job if it is not finished.
    pub fn step(self) -> (JobProgress, Option<Job>) {
        match self {
            Job::Read(mut reading) => match reading.step(STEP) {
                true => (JobProgress::Read(Arc::new(reading.finish())), None),
                false => (
                    JobProgress::Progress(reading.done()),
                    Some(Job::Read(reading)),
                ),
            },
            Job::Search(mut searching) => {
                let found = searching.step(STEP);
                let more = !searching.is_done();
                (
                    JobProgress::Found {
                        found,
                        upto: searching.upto(),
                    },
                    more.then_some(Job::Search(searching)),
                )
            }
            Job::ReadOld(mut reading, new) => match reading.step(STEP) {
                true => (
                    JobProgress::Progress(reading.done()),
                    Some(Job::Compare(Arc::new(reading.finish()), new)),
                ),
                false => (
                    JobProgress::Progress(reading.done()),
                    Some(Job::ReadOld(reading, new)),
                ),
            },
            Job::Compare(old, new) => (
                JobProgress::Compared(Arc::new(Difference::of(old, new))),
                None,
            ),
        }
    }
}

/// A task whose result is needed.
#[derive(Debug, Clone)]
pub struct PendingJob {
    /// Its number in this session; 0 until the next layout assigns one.
    pub number: u64,
    pub task: JobSpec,
    /// Bytes parsed so far.
    pub done: usize,
}

impl PendingJob {
    /// Creates work that has not been started.
    pub fn new(task: JobSpec) -> PendingJob {
        PendingJob {
            number: 0,
            task,
            done: 0,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Runs a task to its end. Returns the results of all steps.
    pub(crate) fn parts(task: &JobSpec) -> Vec<JobProgress> {
        let mut job = Some(task.begin());
        let mut parts = Vec::new();
        while let Some(now) = job {
            let (part, more) = now.step();
            parts.push(part);
            job = more;
        }
        parts
    }

    #[test]
    fn a_large_text_is_parsed_in_steps() {
        let text = format!("[{}1]", "\"some words of no importance\",".repeat(300_000));
        let parts = parts(&JobSpec::read(Arc::<str>::from(text.as_str()).into()));
        let (last, before) = parts.split_last().unwrap();
        assert!(
            before.len() >= 4
                && before
                    .iter()
                    .all(|p| matches!(p, JobProgress::Progress(n) if *n < text.len()))
        );
        assert!(matches!(last, JobProgress::Read(doc) if doc.len() == 300_002));
    }

    #[test]
    fn two_texts_are_compared() {
        let old = DocSource::Text(Arc::<str>::from("[1,2]").into());
        let parts = parts(&JobSpec::compare(
            old,
            Arc::new(JsonIndex::new(Arc::<str>::from("[1,2,3]"))),
        ));
        assert!(
            matches!(&parts[..], [JobProgress::Progress(5), JobProgress::Compared(d)] if d.total() == 1),
            "{parts:?}"
        );
    }
}
