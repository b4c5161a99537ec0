//! Work that would stop the screen: reading, searching and comparing large documents. The state declares it, a task beside
//! the screen does it in short steps, and each tells how far it is. What is no longer wanted is stopped between two steps;
//! only a comparison itself is one step, half a second where both states have 50 MB.

use super::json_tree::{Found, Searching};
use crate::widgets::pattern::Pattern;
use runtail_stream::projection::difference::Difference;
use runtail_stream::projection::document::{Doc, Excerpt, Reading};
use std::sync::Arc;

/// Texts of up to so many bytes are read, searched and compared at once.
pub const AT_ONCE: usize = 512_000;
/// Bytes that one step of a job works on.
const STEP: usize = 2_000_000;

/// A unit of background work. Compared by identity: two equal requests are still two jobs.
#[derive(Debug, Clone)]
pub struct Task(Arc<Kind>);

#[derive(Debug)]
enum Kind {
    Read(Excerpt),
    Search(Arc<Doc>, Pattern),
    Compare(Side, Arc<Doc>),
}

/// A document to compare with: one that was read, or its text.
#[derive(Debug, Clone)]
pub enum Side {
    /// It was read before.
    Read(Arc<Doc>),
    Text(Excerpt),
}

impl Side {
    /// Bytes of its text.
    pub fn bytes(&self) -> usize {
        match self {
            Side::Read(doc) => doc.bytes(),
            Side::Text(text) => text.len(),
        }
    }

    /// The document, read now where it was not.
    pub fn doc(&self) -> Arc<Doc> {
        match self {
            Side::Read(doc) => doc.clone(),
            Side::Text(text) => Arc::new(Doc::new(text.clone())),
        }
    }
}

impl PartialEq for Task {
    fn eq(&self, other: &Task) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Task {
    /// Reads a text.
    pub fn read(text: Excerpt) -> Task {
        Task(Arc::new(Kind::Read(text)))
    }

    /// Searches a document.
    pub fn search(doc: Arc<Doc>, pattern: Pattern) -> Task {
        Task(Arc::new(Kind::Search(doc, pattern)))
    }

    /// Compares two documents.
    pub fn compare(old: Side, new: Arc<Doc>) -> Task {
        Task(Arc::new(Kind::Compare(old, new)))
    }

    pub fn begin(&self) -> Job {
        match &*self.0 {
            Kind::Read(text) => Job::Read(Reading::new(text.clone())),
            Kind::Search(doc, pattern) => Job::Search(Searching::new(doc.clone(), pattern.clone())),
            Kind::Compare(Side::Text(old), new) => Job::ReadOld(Reading::new(old.clone()), new.clone()),
            Kind::Compare(Side::Read(old), new) => Job::Compare(old.clone(), new.clone()),
        }
    }
}

/// Work that goes on.
#[derive(Debug)]
pub enum Job {
    /// A text is read.
    Read(Reading),
    /// A document is searched.
    Search(Searching),
    /// The older text of two that are compared is read.
    ReadOld(Reading, Arc<Doc>),
    /// Two documents are compared.
    Compare(Arc<Doc>, Arc<Doc>),
}

/// What a step gives.
#[derive(Debug, Clone)]
pub enum Part {
    /// So many bytes were read; more is to come.
    Progress(usize),
    /// A text was read.
    Read(Arc<Doc>),
    /// Places that were found, up to a node of the document.
    Found {
        /// Where, in the order of the document.
        found: Vec<Found>,
        /// The first node that was not looked at; the document's length when it is over.
        upto: u32,
    },
    /// Two documents were compared.
    Compared(Arc<Difference>),
    /// The task broke off: nothing more will come.
    Failed,
}

impl Job {
    /// Works for one step. Gives what came of it, and the job where there is more to do.
    pub fn step(self) -> (Part, Option<Job>) {
        match self {
            Job::Read(mut reading) => match reading.step(STEP) {
                true => (Part::Read(Arc::new(reading.finish())), None),
                false => (Part::Progress(reading.done()), Some(Job::Read(reading))),
            },
            Job::Search(mut searching) => {
                let found = searching.step(STEP);
                let more = !searching.is_done();
                (Part::Found { found, upto: searching.upto() }, more.then_some(Job::Search(searching)))
            }
            Job::ReadOld(mut reading, new) => match reading.step(STEP) {
                true => (Part::Progress(reading.done()), Some(Job::Compare(Arc::new(reading.finish()), new))),
                false => (Part::Progress(reading.done()), Some(Job::ReadOld(reading, new))),
            },
            Job::Compare(old, new) => (Part::Compared(Arc::new(Difference::of(old, new))), None),
        }
    }
}

/// A task that somebody waits for.
#[derive(Debug, Clone)]
pub struct Work {
    /// Its number in this session; 0 until it has one, which the next layout gives it.
    pub number: u64,
    /// What is to be done.
    pub task: Task,
    /// Bytes that were read.
    pub done: usize,
}

impl Work {
    /// Work that nobody has begun yet.
    pub fn new(task: Task) -> Work {
        Work { number: 0, task, done: 0 }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Does a task to its end; gives all that it told.
    pub(crate) fn parts(task: &Task) -> Vec<Part> {
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
    fn a_large_text_is_read_in_steps() {
        let text = format!("[{}1]", "\"some words of no importance\",".repeat(300_000));
        let parts = parts(&Task::read(Arc::<str>::from(text.as_str()).into()));
        let (last, before) = parts.split_last().unwrap();
        assert!(before.len() >= 4 && before.iter().all(|p| matches!(p, Part::Progress(n) if *n < text.len())));
        assert!(matches!(last, Part::Read(doc) if doc.len() == 300_002));
    }

    #[test]
    fn two_texts_are_compared() {
        let old = Side::Text(Arc::<str>::from("[1,2]").into());
        let parts = parts(&Task::compare(old, Arc::new(Doc::new(Arc::<str>::from("[1,2,3]")))));
        assert!(matches!(&parts[..], [Part::Progress(5), Part::Compared(d)] if d.total() == 1), "{parts:?}");
    }
}
