//! What other parts of the dashboard read of a stream's thread: its records, what can be done with it, and its open page.

use super::Viewer;
use crate::features::stream::tab_bar;
use crate::session::Session;
use crate::session::compare::SideRef;
use crate::session::msg::{StreamTarget, ThreadRef};
use crate::session::pages::OpenPage;
use crate::session::thread::{Offers, ThreadView};
use runtail_api::{LoadedThread, ServerKind};
use runtail_core::model::Again;

impl Viewer {
    /// Returns what the explanation of the thread and the actions on it read.
    pub fn thread_view<'v>(&'v self, session: &Session) -> ThreadView<'v> {
        let records = &self.present().status;
        ThreadView {
            revisions: session.deployments.revisions(&self.server).cloned(),
            server: &self.server,
            thread_id: self.thread_id.as_deref(),
            status: self.thread_status(),
            badge: self.full_present_badge(session),
            records,
            again: self.again(),
            is_recording: self.is_recording(),
            last_event_at: self.delivery_log().last_event_at,
            stuck: self.stuck(session),
            offers: Offers::new(session.server_kind(&self.server), records),
        }
    }

    /// Returns its thread, if it is not a recording.
    pub fn thread(&self) -> Option<ThreadRef> {
        let id = self.thread_id.clone().filter(|_| !self.is_recording())?;
        Some(ThreadRef {
            server: self.server.clone(),
            id,
        })
    }

    /// Returns it as a side of a comparison.
    pub(crate) fn side(&self) -> Option<SideRef> {
        let run = match &self.target {
            StreamTarget::Recording { file } => return Some(SideRef::File(file.clone())),
            StreamTarget::Join { run, .. } => Some(run.clone()),
            StreamTarget::Start { .. } | StreamTarget::Tail { .. } => None,
        };
        Some(SideRef::Thread(self.thread()?, run))
    }

    /// Returns what other features read of the page of its thread.
    pub(crate) fn open_page(&self) -> Option<OpenPage> {
        let runs = self.present().status.runs().iter();
        Some(OpenPage {
            thread: self.thread()?,
            name: tab_bar::name(self),
            is_open: self.is_open(),
            status: self.thread_status().clone(),
            state_keys: self.projections.values.keys_with_value(),
            runs: runs
                .filter_map(|run| Some((run.run_id.clone()?, run.name())))
                .collect(),
        })
    }

    /// Returns the thread from the newest snapshot.
    pub fn loaded_thread(&self) -> LoadedThread {
        let records = self.present().status.thread_records();
        LoadedThread {
            thread: records.thread.cloned(),
            state: records.state.cloned(),
            runs: records.runs.map(<[_]>::to_vec),
        }
    }

    /// Returns what can be run again after a failure.
    pub fn again(&self) -> Again {
        let status = &self.present().status;
        // The records may predate the failure.
        if status
            .runs()
            .last()
            .is_some_and(|run| status.awaits_outcome(run))
        {
            return Again::Steps;
        }
        status.thread_records().again()
    }

    /// Returns what the thread's server offers, by its kind and the thread's records.
    pub fn offers(&self, kind: Option<ServerKind>) -> Offers {
        Offers::new(kind, &self.present().status)
    }

    /// Returns the label of the key that runs a failed thread again, if its server can do that.
    pub fn again_label(&self, offers: Offers) -> Option<&'static str> {
        let is_rejected = self
            .present()
            .status
            .thread_records()
            .keeps_rejected_answer();
        offers.again_label(self.again(), is_rejected)
    }

    /// Returns whether the server has neither a record nor a state of the thread, so that the stream is the only
    /// source.
    pub fn is_stream_only(&self) -> bool {
        let status = &self.present().status;
        status.loaded().is_some() && status.thread().is_none() && status.state().is_none()
    }
}
