//! What is missing from a thread, and why.

use super::{ThreadMerger, ended, is_finished, is_kept};
use crate::source::id_key::IdKey;
use crate::sse::read_ahead::Feed;
use crate::transport::join_plan::joined;
use crate::transport::merge_memory::lock;
use jiff::Timestamp;
use runtail_core::model::Run;
use runtail_core::text;

/// What is missing of runs that are not resumable: when the stream is opened, and after a lost connection.
const NOTHING_EARLIER: &str = "its earlier output isn't available, because it is not resumable";
const LOST_MEANWHILE: &str = "events sent while the stream was closed are lost";

impl ThreadMerger {
    pub(super) fn report_gap(&mut self, why: String) {
        self.out.push(Feed::Gap(why));
    }

    /// Reports runs that are not resumable: events that were not received live are lost.
    pub(super) fn report_unresumable_runs(&mut self) {
        let from = IdKey::of(&self.after).map_or(0, |id| id.major);
        let memory = lock(&self.memory);
        let is_missed = |run: &&Run| match is_finished(run) {
            true => !memory.done.contains_key(&run.run_id) && ended(run).is_none_or(|at| at > from),
            false => run.status == "running",
        };
        let lost: Vec<_> = self
            .runs
            .iter()
            .filter(|run| !is_kept(run))
            .filter(is_missed)
            .collect();
        let why = match &lost[..] {
            [] => return,
            [run] => self.not_kept(&run.run_id),
            several if self.is_first => {
                let what = "runs began before: their earlier output isn't available, because they are not resumable";
                joined(Timestamp::now(), &format!("{} {what}", several.len()))
            }
            several => format!("{} runs are not resumable; {LOST_MEANWHILE}", several.len()),
        };
        drop(memory);
        self.report_gap(why);
    }

    /// Returns why events of a run are missing that is not resumable.
    pub(super) fn not_kept(&self, run: &str) -> String {
        let run = text::clean(run);
        match self.is_first {
            true => joined(
                Timestamp::now(),
                &format!("run {run} began before: {NOTHING_EARLIER}"),
            ),
            false => format!("run {run} is not resumable; {LOST_MEANWHILE}"),
        }
    }
}
