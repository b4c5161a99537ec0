//! Revisions that a person wants to be told of: each is followed until it ends, wherever the selection goes.

use super::App;
use super::msg::{Effect, NextPoll, RevisionRef};
use jiff::Timestamp;
use runtail_api::{ApiError, Kind};
use runtail_core::model::{Phase, Revision};
use runtail_core::text;
use std::time::Duration;

/// A revision that is watched.
#[derive(Debug, Clone)]
pub struct Watch {
    /// `us › support-bot › 4444…`.
    pub title: String,
    /// The last status that was seen.
    pub status: Option<String>,
    /// Since when it is watched.
    pub since: Timestamp,
    /// Why the last look failed.
    pub error: Option<ApiError>,
    /// The newest revision that is known of its deployment: each other one is said to have overtaken it.
    newest: Option<String>,
}

impl App {
    /// Watches a revision, or no longer.
    pub(super) fn toggle_watch(&mut self, of: RevisionRef, name: &str, revision: Option<&Revision>) {
        let title = format!("{name} › {}", text::short_id(&of.revision));
        if self.watches.remove(&of).is_some() {
            return self.notify(false, format!("{title} is no longer watched."));
        }
        if let Some(revision) = revision.filter(|r| r.phase().is_final()) {
            return self
                .notify(false, format!("{title} is {} already: there is nothing to wait for.", revision.status));
        }
        let status = revision.map(|r| r.status.clone());
        self.notify(false, format!("Watching {title}: you are told when it ends, wherever you are in here."));
        let newest = self.fleet.row(&format!("{}/{}", of.profile, of.deployment)).and_then(|r| r.newest_id());
        let newest = newest.map(str::to_string);
        self.watches.insert(of, Watch { title, status, since: self.now, error: None, newest });
    }

    /// Takes what became of a watched revision; says what it is worth to be called for.
    pub(super) fn take_watched(
        &mut self,
        of: RevisionRef,
        result: Result<Revision, ApiError>,
        next: NextPoll,
    ) -> Vec<Effect> {
        let now = self.now;
        let Some(watch) = self.watches.get_mut(&of) else { return Vec::new() };
        let title = watch.title.clone();
        let waited = text::duration(Duration::try_from(now - watch.since).unwrap_or_default());
        let end = match result {
            Ok(revision) => {
                (watch.status, watch.error) = (Some(revision.status.clone()), None);
                let row = format!("{}/{}", of.profile, of.deployment);
                let phase = revision.phase();
                let status = text::clean(&revision.status).into_owned();
                self.fleet.take_status(&row, revision);
                match phase {
                    Phase::Deployed => Some((false, format!("is {status} ({waited} after you began to watch)."))),
                    Phase::Failed => Some((
                        true,
                        format!("is {status} ({waited} after you began to watch). ⏎ on the revision explains it."),
                    )),
                    Phase::Skipped => Some((true, format!("{status}: a newer revision took its place."))),
                    Phase::Interrupted => Some((true, format!("{status}: somebody stopped it."))),
                    _ if next == NextPoll::GaveUp => {
                        Some((true, format!("is still {status} after {waited}, and is no longer watched.")))
                    }
                    _ => None,
                }
            }
            Err(error) if error.kind == Kind::NotFound => Some((true, "is gone: it was deleted.".to_string())),
            // A refused key stops the profile, and with it the watch, until somebody acts.
            Err(error)
                if error.kind == Kind::Unauthorized || (next != NextPoll::GaveUp && !super::stops_polling(&error)) =>
            {
                watch.error = Some(error);
                None
            }
            Err(error) => Some((true, format!("cannot be watched any more: {}", error.story()))),
        };
        let Some((bad, how)) = end else { return Vec::new() };
        self.watches.remove(&of);
        self.notify(bad, format!("{title} {how}"));
        vec![Effect::Alert(title, how.lines().next().unwrap_or_default().to_string())]
    }

    /// A newer revision came while another is watched: said, and the watched one is still followed.
    pub(super) fn check_overtaken(&mut self, profile: &str, deployment: &str, newest: &Revision) {
        let mut said = Vec::new();
        for (of, watch) in &mut self.watches {
            let same = &*of.profile == profile && &*of.deployment == deployment;
            let before = same.then(|| watch.newest.replace(newest.id.clone())).flatten();
            if before.is_some_and(|before| before != newest.id) && *of.revision != *newest.id {
                said.push(format!(
                    "{} was overtaken by {}; it is still watched.",
                    watch.title,
                    text::short_id(&newest.id)
                ));
            }
        }
        said.into_iter().for_each(|text| self.notify(false, text));
    }
}
