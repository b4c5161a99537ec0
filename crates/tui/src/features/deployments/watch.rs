//! Watched revisions: each is polled until it finishes, regardless of the selection.

use super::Deployments;
use super::list::Row;
use crate::session::msg::{Effect, NextPoll, RevisionRef};
use crate::session::{Requests, Session, stops_polling};
use jiff::Timestamp;
use runtail_api::{ApiError, Kind};
use runtail_core::model::{Deployment, Phase, Revision};
use runtail_core::text;
use std::sync::Arc;
use std::time::Duration;

/// A watched revision.
#[derive(Debug, Clone)]
pub struct Watch {
    /// The title, for example `us › support-bot › 4444…`.
    pub title: String,
    /// The last known status.
    pub status: Option<String>,
    /// When watching started.
    pub since: Timestamp,
    /// Why the last poll failed.
    pub error: Option<ApiError>,
    /// The newest known revision of its deployment. When it changes, the watched one was superseded.
    newest: Option<String>,
}

impl Deployments {
    /// Toggles the watch of a revision.
    pub(super) fn toggle_watch(
        &mut self,
        session: &Session,
        of: RevisionRef,
        name: &str,
        revision: Option<&Revision>,
    ) -> Requests {
        let title = format!("{name} › {}", text::short_id(&of.revision));
        if self.watches.remove(&of).is_some() {
            return Requests::info(format!("Stopped watching {title}."));
        }
        if let Some(revision) = revision.filter(|r| r.phase().is_final()) {
            let text = format!("{title} is already {}.", revision.status);
            return Requests::info(text);
        }
        let out = Requests::info(format!("Watching {title}; notifies when it finishes."));
        self.watch(session, of, title, revision.map(|r| r.status.clone()));
        out
    }

    /// Toggles the watch of a revision that may be of another row than the selected one.
    pub fn toggle_watch_by_id(&mut self, session: &Session, of: RevisionRef) -> Requests {
        let name = self
            .list
            .row(&of.row_id())
            .map_or_else(|| of.deployment.to_string(), Row::title);
        let revision = self.known_revision(&of).cloned();
        self.toggle_watch(session, of, &name, revision.as_ref())
    }

    fn watch(&mut self, session: &Session, of: RevisionRef, title: String, status: Option<String>) {
        let newest = self
            .list
            .row(&format!("{}/{}", of.profile, of.deployment))
            .and_then(|r| r.newest_id());
        let newest = newest.map(str::to_string);
        self.watches.insert(
            of,
            Watch {
                title,
                status,
                since: session.now,
                error: None,
                newest,
            },
        );
    }

    /// Watches the revision that a change created. Returns the sentence that says so.
    pub fn watch_made(&mut self, session: &Session, of: RevisionRef) -> String {
        let row = self.list.row(&format!("{}/{}", of.profile, of.deployment));
        let name = row
            .map(Row::title)
            .unwrap_or_else(|| of.deployment.to_string());
        let id = text::short_id(&of.revision);
        let sentence = format!("Watching {id}; notifies when it finishes.");
        if !self.watches.contains_key(&of) {
            let title = format!("{name} › {id}");
            self.watch(session, of, title, None);
        }
        sentence
    }

    /// Applies the newest record of a watched revision.
    pub(super) fn on_watched(
        &mut self,
        session: &Session,
        of: &RevisionRef,
        result: Result<Revision, ApiError>,
        next: NextPoll,
    ) -> Requests {
        let now = session.now;
        let Some(watch) = self.watches.get_mut(of) else {
            return Requests::none();
        };
        let title = watch.title.clone();
        let waited = text::duration(Duration::try_from(now - watch.since).unwrap_or_default());
        let end = match result {
            Ok(revision) => {
                (watch.status, watch.error) = (Some(revision.status.clone()), None);
                let row = format!("{}/{}", of.profile, of.deployment);
                let phase = revision.phase();
                let status = text::clean(&revision.status).into_owned();
                self.list.apply_status(&row, revision);
                match phase {
                    Phase::Deployed => Some((false, format!("is {status} after {waited}."))),
                    Phase::Failed => Some((
                        true,
                        format!("is {status} after {waited}. ⏎ on the revision explains it."),
                    )),
                    Phase::Skipped => {
                        Some((true, format!("{status}: superseded by a newer revision.")))
                    }
                    Phase::Interrupted => Some((true, format!("{status}: interrupted by a user."))),
                    _ if next == NextPoll::GaveUp => Some((
                        true,
                        format!("is still {status} after {waited}; stopped watching."),
                    )),
                    _ => None,
                }
            }
            Err(error) if error.kind == Kind::NotFound => Some((true, "was deleted.".to_string())),
            // A rejected key stops the profile, and with it the watch, until the user refreshes.
            Err(error)
                if error.kind == Kind::Unauthorized
                    || (next != NextPoll::GaveUp && !stops_polling(&error)) =>
            {
                watch.error = Some(error);
                None
            }
            Err(error) => Some((true, format!("can't be watched: {}", error.story()))),
        };
        let Some((bad, how)) = end else {
            return Requests::none();
        };
        self.watches.remove(of);
        let mut out = Requests::none();
        out.notify(bad, format!("{title} {how}"));
        out.and(Effect::Alert(
            title,
            how.lines().next().unwrap_or_default().to_string(),
        ))
    }

    /// Notifies that a newer revision superseded a watched one, which stays watched.
    pub(super) fn check_superseded(
        &mut self,
        profile: &str,
        deployment: &str,
        newest: &Revision,
    ) -> Requests {
        let mut out = Requests::none();
        for (of, watch) in &mut self.watches {
            let same = &*of.profile == profile && &*of.deployment == deployment;
            let before = same
                .then(|| watch.newest.replace(newest.id.clone()))
                .flatten();
            if before.is_some_and(|before| before != newest.id) && *of.revision != *newest.id {
                let newest = text::short_id(&newest.id);
                out.notify(
                    false,
                    format!(
                        "{} was superseded by {newest}; still watching.",
                        watch.title
                    ),
                );
            }
        }
        out
    }

    /// Applies the newest record of a deployment that is being deleted.
    pub(super) fn on_deletion(
        &mut self,
        session: &mut Session,
        key: (Arc<str>, Arc<str>),
        result: Result<Deployment, ApiError>,
        next: NextPoll,
    ) -> Requests {
        let mut out = Requests::none();
        let Some(name) = self.deleting.get(&key).cloned() else {
            return out;
        };
        let row = format!("{}/{}", key.0, key.1);
        let end = match result {
            Ok(deployment) => {
                self.list.apply_deployment_status(&row, deployment.status);
                (next == NextPoll::GaveUp).then(|| {
                    (
                        true,
                        "is still being deleted; stopped watching.".to_string(),
                    )
                })
            }
            Err(error) if error.kind == Kind::NotFound => {
                self.list.mark_gone(&row);
                Some((false, "is deleted.".to_string()))
            }
            Err(error) => {
                let ends = next == NextPoll::GaveUp
                    || stops_polling(&error) && error.kind != Kind::Unauthorized;
                session.report_error(&error);
                ends.then(|| (true, format!("can't be watched: {}", error.story())))
            }
        };
        self.share(session, &row);
        if let Some((bad, how)) = end {
            self.deleting.remove(&key);
            out.notify(bad, format!("{name} {how}"));
        }
        out
    }
}
