//! Tracks the runs of a followed thread: new ones, changed ones, and which to read.

use crate::log::record::{Outcome, RunRecord};
use crate::transport::join_plan::{JoinPlan, join_plan};
use crate::transport::modes::is_resumable;
use jiff::Timestamp;
use runtail_api::ServerKind;
use runtail_core::model::Run;
use std::collections::{HashMap, VecDeque};

/// Number of finished runs to replay before new ones are followed.
const REPLAYED: usize = 3;
/// The status given to a run that disappeared from the list, as after a cancel with rollback.
const DELETED: &str = "deleted";

/// The known runs of a thread.
#[derive(Debug)]
pub(crate) struct RunList {
    kind: ServerKind,
    /// Whether to read runs even if that takes events away from other readers.
    shared: bool,
    /// Runs that we started.
    own: Vec<String>,
    /// Whether only the runs' status is followed, not their events.
    records_only: bool,
    /// Whether to replay the newest finished runs first.
    replays: bool,
    known: HashMap<String, KnownRun>,
    /// Creation time of the newest run in the first list. Older runs that appear later are not new; the list was too
    /// short to show them.
    newest_at_first: Option<Option<Timestamp>>,
    /// Runs to read, oldest first.
    queue: VecDeque<String>,
}

#[derive(Debug)]
struct KnownRun {
    record: RunRecord,
    is_active: bool,
    is_listed: bool,
    /// Whether its events are read. Its end is then reported after them.
    is_read: bool,
    /// Whether its events are not read because they go to a single reader.
    is_withheld: bool,
    /// Whether it had finished before the thread was followed.
    was_over: bool,
}

/// The changes since the previous list of runs.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ListChanges {
    /// Runs that are new or have changed, oldest first.
    pub records: Vec<RunRecord>,
    /// The reasons why events of runs are not read.
    pub unread: Vec<String>,
    /// The newest finished runs whose events the server did not keep, oldest first, each with the reason. Only filled
    /// by the first list, if finished runs are replayed.
    pub unkept: Vec<(RunRecord, String)>,
    /// Whether an active run disappeared from the list.
    pub any_deleted: bool,
}

impl RunList {
    pub fn new(kind: ServerKind, shared: bool, replays: bool) -> RunList {
        RunList {
            kind,
            shared,
            own: Vec::new(),
            records_only: false,
            replays,
            known: HashMap::new(),
            newest_at_first: None,
            queue: VecDeque::new(),
        }
    }

    /// Sets the runs that we started. Reading them affects no other reader.
    pub fn set_own(&mut self, runs: &[String]) {
        self.own = runs.to_vec();
    }

    /// Returns whether we started a run.
    pub fn is_own(&self, run_id: &str) -> bool {
        self.own.iter().any(|own| own == run_id)
    }

    /// Sets whether to read the events of runs or only follow their status.
    pub fn read_events(&mut self, reads: bool) {
        self.records_only = !reads;
        if self.records_only {
            self.queue.clear();
            self.known
                .values_mut()
                .for_each(|known| known.is_read = false);
        }
    }

    /// Applies the thread's newest runs, in any order. A list of fewer than `limit` runs is complete.
    pub fn apply(&mut self, mut runs: Vec<Run>, at: Timestamp, limit: usize) -> ListChanges {
        runs.sort_by_key(|run| run.created_at);
        let mut changes = ListChanges::default();
        let is_first = self.newest_at_first.is_none();
        let newest = runs.last().and_then(|run| run.created_at);
        let newest_at_first = *self.newest_at_first.get_or_insert(newest);
        let mut replayed = Vec::new();
        if is_first && self.replays {
            replayed = self.replayable(&runs);
            changes.unkept = self.unkept(&runs, at);
        }
        self.known
            .values_mut()
            .for_each(|known| known.is_listed = false);
        for run in &runs {
            let is_active = run.is_active();
            let was_over =
                is_first || run.created_at.is_some() && run.created_at <= newest_at_first;
            if let Some(known) = self.known.get_mut(&run.run_id) {
                known.is_listed = true;
                if known.record.status != run.status {
                    let RunRecord {
                        outcome, detail, ..
                    } = std::mem::take(&mut known.record);
                    known.record = RunRecord {
                        outcome,
                        detail,
                        ..record(run, at)
                    };
                    known.is_active = is_active;
                    if is_active || !known.is_read {
                        changes.records.push(known.record.clone());
                    }
                }
                continue;
            }
            let is_wanted = is_active || !was_over || replayed.contains(&run.run_id);
            let record = record(run, at);
            let withheld = changes.unread.len();
            let is_read = is_wanted && self.queue_or_withhold(run, was_over, &mut changes);
            let is_withheld = changes.unread.len() > withheld;
            if is_wanted && (is_active || !is_read) {
                changes.records.push(record.clone());
            }
            self.known.insert(
                run.run_id.clone(),
                KnownRun {
                    record,
                    is_active,
                    is_listed: true,
                    is_read,
                    is_withheld,
                    was_over: was_over && !is_active,
                },
            );
        }
        let is_complete = runs.len() < limit;
        for known in self
            .known
            .values_mut()
            .filter(|known| is_complete && known.is_active && !known.is_listed)
        {
            (known.is_active, changes.any_deleted) = (false, true);
            known.record = RunRecord {
                at,
                status: DELETED.into(),
                ..known.record.clone()
            };
            changes.records.push(known.record.clone());
        }
        // Runs that are neither listed nor active can't change any more.
        self.known
            .retain(|_, known| known.is_listed || known.is_active || known.is_read);
        changes
    }

    /// Records that a run's stream ended, or was abandoned (no outcome). Returns the end of the run if the list already
    /// shows it.
    pub fn ended(
        &mut self,
        run_id: &str,
        end: Option<(Outcome, Option<String>)>,
        at: Timestamp,
    ) -> Option<RunRecord> {
        let known = self.known.get_mut(run_id)?;
        known.is_read = false;
        let (outcome, detail) = end.unzip();
        known.record = RunRecord {
            at,
            outcome,
            detail: detail.flatten(),
            ..known.record.clone()
        };
        (!known.is_active).then(|| known.record.clone())
    }

    /// Returns the next run to read.
    pub fn next(&mut self) -> Option<String> {
        self.queue.pop_front()
    }

    /// Returns whether any run is active.
    pub fn any_active(&self) -> bool {
        self.known.values().any(|known| known.is_active)
    }

    /// Counts the active runs that are not read because their events go to a single reader.
    pub fn unread(&self) -> usize {
        self.known
            .values()
            .filter(|known| known.is_active && known.is_withheld)
            .count()
    }

    /// Returns whether a run had finished before the thread was followed.
    pub fn was_over(&self, run_id: &str) -> bool {
        self.known.get(run_id).is_some_and(|known| known.was_over)
    }

    /// Returns whether a run was created before the thread was followed.
    pub fn precedes(&self, run_id: &str) -> bool {
        let created = self.created(run_id);
        created.is_some() && self.newest_at_first.is_some_and(|newest| created <= newest)
    }

    fn created(&self, run_id: &str) -> Option<Timestamp> {
        self.known.get(run_id)?.record.started_at
    }

    /// Returns whether a newer run has started, so it isn't waiting for this one.
    pub fn has_newer_started(&self, run_id: &str) -> bool {
        let created = self.created(run_id);
        let is_newer = |known: &KnownRun| {
            known.record.started_at > created && known.record.status != "pending"
        };
        created.is_some() && self.known.values().any(is_newer)
    }

    /// Queues a run for reading, or reports why it isn't read. `was_over`: whether it had finished before the thread was
    /// followed.
    fn queue_or_withhold(&mut self, run: &Run, was_over: bool, changes: &mut ListChanges) -> bool {
        if self.records_only {
            return false;
        }
        let plan = join_plan(self.kind, Some(run));
        // The reader of a run that has just finished may not have received all events from the queue.
        let may_be_read =
            !was_over && self.kind == ServerKind::JavaScript && is_resumable(run) != Some(true);
        let is_shared = matches!(plan, JoinPlan::Shared(_)) || may_be_read;
        if is_shared && !self.shared && !self.is_own(&run.run_id) {
            let id = runtail_core::text::clean(&run.run_id);
            changes.unread.push(format!(
                "the events of run {id} go to one reader only and are not read here, because that would take them away from the \
                 application"
            ));
            return false;
        }
        self.queue.push_back(run.run_id.clone());
        true
    }

    /// Returns the newest finished runs that can be replayed. Expects runs in order of creation.
    fn replayable(&self, runs: &[Run]) -> Vec<String> {
        let can = |run: &&Run| {
            !run.is_active()
                && matches!(
                    join_plan(self.kind, Some(run)),
                    JoinPlan::Whole | JoinPlan::Unknown
                )
        };
        runs.iter()
            .rev()
            .filter(can)
            .take(REPLAYED)
            .map(|run| run.run_id.clone())
            .collect()
    }

    /// Returns the newest finished runs whose events the server did not keep. Expects runs in order of creation.
    fn unkept(&self, runs: &[Run], at: Timestamp) -> Vec<(RunRecord, String)> {
        let newest = runs
            .iter()
            .rev()
            .filter(|run| !run.is_active())
            .take(REPLAYED);
        let unkept = newest.filter_map(|run| match join_plan(self.kind, Some(run)) {
            JoinPlan::FinishedWithoutEvents(why) => Some((
                record(run, at),
                format!("run {}: {why}", runtail_core::text::clean(&run.run_id)),
            )),
            _ => None,
        });
        let mut unkept: Vec<_> = unkept.collect();
        unkept.reverse();
        unkept
    }
}

fn record(run: &Run, at: Timestamp) -> RunRecord {
    RunRecord {
        at,
        run_id: run.run_id.clone(),
        status: run.status.clone(),
        started_at: run.created_at,
        ended_at: run.updated_at.filter(|_| !run.is_active()),
        assistant_id: Some(run.assistant_id.clone()).filter(|id| !id.is_empty()),
        outcome: None,
        detail: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ServerKind::{EarlyAegra, JavaScript, Other};

    /// Returns runs from their ids, statuses, and `!` after those that are not resumable. A run's number is the order of its start.
    fn runs(texts: &[&str]) -> Vec<Run> {
        let run = |text: &&str| {
            let (id, status) = text.split_once(' ').unwrap();
            let second = id[1..].parse::<i64>().unwrap() * 10;
            let at = |second| Timestamp::from_second(second).unwrap().to_string();
            serde_json::from_value(serde_json::json!({
                "run_id": id, "status": status.trim_end_matches('!'), "assistant_id": "a",
                "created_at": at(second), "updated_at": at(second + 1),
                "kwargs": {"resumable": !status.ends_with('!')},
            }))
            .unwrap()
        };
        texts.iter().map(run).collect()
    }

    impl RunList {
        fn listed(&mut self, texts: &[&str]) -> ListChanges {
            self.apply(runs(texts), Timestamp::UNIX_EPOCH, 50)
        }

        /// Checks which records a list leads to, how many runs are not read, and which runs are to be read then.
        fn leads_to(&mut self, texts: &[&str], records: &[&str], unread: usize, queue: &[&str]) {
            let changes = self.listed(texts);
            let described = changes
                .records
                .iter()
                .map(|r| format!("{} {}", r.run_id, r.status));
            assert_eq!(described.collect::<Vec<_>>(), records, "{texts:?}");
            assert_eq!(changes.unread.len(), unread, "{texts:?}");
            let next: Vec<String> = std::iter::from_fn(|| self.next()).collect();
            assert_eq!(next, queue, "{texts:?}");
        }

        fn end(&mut self, run: &str, outcome: Outcome) -> Option<RunRecord> {
            self.ended(run, Some((outcome, None)), Timestamp::UNIX_EPOCH)
        }
    }

    #[test]
    fn new_runs_are_read_once_in_order() {
        let mut list = RunList::new(Other, false, false);
        list.leads_to(&["r2 running", "r1 success"], &["r2 running"], 0, &["r2"]);
        assert!(list.any_active());
        // No changes; then the end of one run and two new ones, one of them already finished.
        list.leads_to(&["r2 running", "r1 success"], &[], 0, &[]);
        let all = ["r4 pending", "r3 error", "r2 success", "r1 success"];
        // The end of a run is reported after its events.
        list.leads_to(&all, &["r4 pending"], 0, &["r3", "r4"]);
        let end = list.end("r2", Outcome::Success);
        assert_eq!(end.map(|end| end.status).as_deref(), Some("success"));
        // A pending run has not started.
        assert!(list.has_newer_started("r2") && !list.has_newer_started("r3"));
    }

    #[test]
    fn old_runs_are_read_only_to_replay_them() {
        // An old run that is exposed by a deletion is not new.
        let mut list = RunList::new(Other, false, false);
        list.leads_to(&["r9 success"], &[], 0, &[]);
        list.leads_to(&["r1 success"], &[], 0, &[]);
        // The newest ones are replayed. A run that is not resumable has nothing to replay.
        let all = [
            "r1 success",
            "r2 success",
            "r3 success",
            "r4 success",
            "r5 success!",
            "r6 success",
            "r7 running",
        ];
        let mut list = RunList::new(Other, false, true);
        list.leads_to(&all, &["r7 running"], 0, &["r3", "r4", "r6", "r7"]);
    }

    #[test]
    fn finished_runs_without_events_are_reported() {
        let all = [
            "r1 success",
            "r2 success",
            "r3 success",
            "r4 success",
            "r5 running",
        ];
        let mut list = RunList::new(EarlyAegra, false, true);
        let unkept = list.listed(&all).unkept;
        let named = unkept
            .iter()
            .map(|(run, why)| (&*run.run_id, why.contains("keeps no events")));
        assert!(named.eq([("r2", true), ("r3", true), ("r4", true)]));
        assert_eq!(list.listed(&all).unkept, []);
        assert_eq!(
            RunList::new(EarlyAegra, false, false).listed(&all).unkept,
            []
        );
    }

    #[test]
    fn single_reader_runs_are_reported_but_not_read() {
        for (kind, flag) in [(JavaScript, "!"), (EarlyAegra, ""), (EarlyAegra, "!")] {
            let [running, over] = ["r1 running", "r1 success"].map(|run| format!("{run}{flag}"));
            let mut list = RunList::new(kind, false, true);
            list.leads_to(&[&running], &["r1 running"], 1, &[]);
            // One gap for each run.
            list.leads_to(&[&over], &["r1 success"], 0, &[]);
            let mut list = RunList::new(kind, true, false);
            list.leads_to(&[&running], &["r1 running"], 0, &["r1"]);
        }
        // A run that ended between two lists: its reader may not have received everything yet.
        let mut list = RunList::new(JavaScript, false, true);
        list.leads_to(&["r1 success!"], &[], 0, &["r1"]);
        list.leads_to(&["r1 success!", "r2 success!"], &["r2 success"], 1, &[]);
    }

    #[test]
    fn a_run_missing_from_the_list_was_deleted() {
        let mut list = RunList::new(Other, false, false);
        list.listed(&["r1 running"]);
        let changes = list.apply(runs(&["r2 success"]), Timestamp::UNIX_EPOCH, 1);
        assert!(
            !changes.any_deleted && list.any_active(),
            "the list may be too short"
        );
        let changes = list.listed(&["r2 success"]);
        assert!(changes.any_deleted && !list.any_active());
        let statuses = changes.records.iter().map(|record| &*record.status);
        assert!(statuses.eq(["deleted"]));
    }

    #[test]
    fn the_run_record_includes_the_stream_outcome() {
        let mut list = RunList::new(Other, false, false);
        list.listed(&["r1 running"]);
        assert_eq!(
            list.end("r1", Outcome::Interrupted),
            None,
            "the list doesn't show the end yet"
        );
        let record = &list.listed(&["r1 success"]).records[0];
        assert_eq!(record.outcome, Some(Outcome::Interrupted));
        assert!(record.ended_at.is_some());
    }
}
