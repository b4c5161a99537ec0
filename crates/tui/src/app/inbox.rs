//! Connects the inbox to what feeds it (lists, polls, open pages) and to notifications.

use super::{App, Overlay, Pane};
use crate::features::deployments::list::{Row, ThreadCounts};
use crate::features::inbox::{self, InboxPage};
use crate::session::inbox::{Counts, FailedDeployment, News, PageStatus, ProfileServers};
use crate::session::msg::{Effect, RevisionRef, ServerRef, SubscriptionId, ThreadRef};
use jiff::Timestamp;
use runtail_api::{ApiError, Kind, ServerInbox};
use runtail_core::config::NotifyWhen;
use runtail_core::model::{FailedRevision, Phase, Revision, StatusRole};

impl App {
    /// Returns what to return to from a thread that is about to be opened.
    pub(super) fn page_to_return_to(&self, thread: &ThreadRef) -> Option<ThreadRef> {
        let is_inbox = matches!(self.overlays.last(), Some(Overlay::Inbox(_)));
        is_inbox.then(|| thread.clone())
    }

    /// Opens the inbox again, if the stream that is left was opened there.
    pub(super) fn return_to_inbox(&mut self) {
        if self.from_inbox.take().is_some() {
            self.open_inbox();
        }
    }

    /// Forgets that a thread was opened from the inbox, once another page is shown.
    pub(super) fn forget_inbox(&mut self) {
        let is_shown = |thread: &ThreadRef| {
            self.focus == Pane::Stream && self.viewer().is_some_and(|viewer| viewer.is_of(thread))
        };
        if !self.from_inbox.as_ref().is_some_and(is_shown) {
            self.from_inbox = None;
        }
    }

    /// Opens the inbox, with the selection that it had.
    pub(super) fn open_inbox(&mut self) {
        if self
            .overlays
            .iter()
            .any(|overlay| matches!(overlay, Overlay::Inbox(_)))
        {
            return;
        }
        let listing = self.session.inbox.listing().clone();
        let page = match self.closed_inbox.take() {
            Some(page) => page.reopened(listing),
            None => InboxPage::new(listing),
        };
        self.overlays.push(page.into());
    }

    /// Tells the inbox which servers there are, and which newest revisions failed.
    pub(super) fn sync_inbox(&mut self) {
        let rows = &self.deployments.list.rows;
        let serverless = rows.iter().filter(|row| row.is_serverless());
        self.session.serverless = serverless
            .filter_map(|row| row.server(&self.session.profiles))
            .collect();
        let profiles = self
            .session
            .profiles
            .iter()
            .enumerate()
            .map(|(number, state)| {
                let of_profile = rows
                    .iter()
                    .filter(|row| row.profile == number && is_kept(row));
                let servers = of_profile.filter_map(|row| row.server(&self.session.profiles));
                let unknown = match (state.control_plane, state.loaded_at, &state.error) {
                    (false, ..) | (true, Some(_), _) => None,
                    (true, None, Some(error)) => Some(Some(error.badge())),
                    (true, None, None) => Some(None),
                };
                ProfileServers {
                    profile: state.name.clone(),
                    region: state.region.clone(),
                    servers: servers
                        .filter(|server| self.session.server_exists(server))
                        .map(|server| (self.session.is_quiet(&server), server))
                        .collect(),
                    unknown,
                }
            });
        let profiles = profiles.collect();
        self.session
            .inbox
            .retain_revisions(|id| self.deployments.list.row(id).is_some_and(is_kept));
        let failed: Vec<(String, Option<FailedDeployment>)> = rows
            .iter()
            .filter(|row| row.deployment.is_some())
            .map(|row| (row.id.clone(), failed_of(row)))
            .collect();
        for (row, failed) in failed {
            self.session.inbox.set_revision(&row, failed);
        }
        self.session.inbox.set_servers(profiles);
    }

    /// Tells the inbox which servers are open: those are asked anyway.
    pub(super) fn sync_awake(&mut self) {
        let lists = self
            .agent
            .server
            .as_ref()
            .filter(|_| self.shows_lists())
            .map(|open| &open.server);
        let pages = self
            .stream
            .tabs
            .all()
            .iter()
            .filter(|viewer| viewer.is_open())
            .map(|viewer| &viewer.server);
        for server in self.session.inbox.set_awake(lists.into_iter().chain(pages)) {
            self.count_threads(&server);
        }
    }

    /// Updates the inbox after an event of the lists. `deployment`: the one that the event is about, if its subscription covers several.
    /// `is_watched`: whether the user watches the revision and is notified of it anyway.
    pub(super) fn inbox_after_list(
        &mut self,
        key: &SubscriptionId,
        deployment: Option<&str>,
        is_watched: bool,
    ) -> Vec<Effect> {
        let row = match (key, deployment) {
            (SubscriptionId::Newest(profile), Some(deployment)) => {
                &format!("{profile}/{deployment}")
            }
            (SubscriptionId::Revisions(profile, deployment), _) => {
                &format!("{profile}/{deployment}")
            }
            (SubscriptionId::Watch(of), _) => &of.row_id(),
            (SubscriptionId::Deployments(_), _) => {
                self.sync_inbox();
                return Vec::new();
            }
            _ => return Vec::new(),
        };
        let Some(failed) = self.deployments.list.row(row).map(failed_of) else {
            return Vec::new();
        };
        if !self.session.inbox.set_revision(row, failed.clone()) {
            return Vec::new();
        }
        self.session.inbox.relist();
        let Some(failed) = failed.filter(|_| !is_watched) else {
            return Vec::new();
        };
        // Revisions that failed before the dashboard started are no news.
        let skew = self
            .session
            .profile(&failed.profile)
            .map(|state| state.skew)
            .unwrap_or_default();
        let started = self
            .started_at
            .saturating_add(skew)
            .unwrap_or(self.started_at);
        if failed.revision.since.is_none_or(|since| since < started) {
            return Vec::new();
        }
        let news = self.session.inbox.revision_failed(row, &failed);
        self.publish(vec![news])
    }

    /// Returns whether a revision of this deployment is watched.
    pub(super) fn is_watched(&self, key: &SubscriptionId, deployment: Option<&str>) -> bool {
        match key {
            SubscriptionId::Watch(_) => true,
            SubscriptionId::Newest(profile) => self
                .deployments
                .watches
                .keys()
                .any(|of| of.profile == *profile && deployment == Some(&*of.deployment)),
            SubscriptionId::Revisions(profile, id) => self
                .deployments
                .watches
                .keys()
                .any(|of| of.profile == *profile && of.deployment == *id),
            _ => false,
        }
    }

    /// Runs the programs of rollout rules, because a watched revision is final. The bell and the notice have their own way.
    pub(super) fn on_rollout(&mut self, of: &RevisionRef, revision: &Revision) -> Vec<Effect> {
        if !revision.phase().is_final() {
            return Vec::new();
        }
        let key = format!("{}/{}", of.profile, of.deployment);
        let name = self
            .deployments
            .list
            .row(&key)
            .map_or(of.deployment.to_string(), |row| row.name.clone());
        let region = self
            .session
            .profile(&of.profile)
            .and_then(|state| state.region.clone());
        let failed = FailedDeployment {
            profile: of.profile.clone(),
            region,
            deployment: of.deployment.to_string(),
            name,
            revision: facts_of(revision),
        };
        let news = News {
            when: NotifyWhen::Rollout,
            ..self.session.inbox.revision_failed(&key, &failed)
        };
        inbox::hooks(&mut self.session, std::slice::from_ref(&news))
    }

    /// Applies the answer of a server's inbox.
    pub(super) fn on_inbox(
        &mut self,
        server: &ServerRef,
        began: Timestamp,
        result: Result<ServerInbox, ApiError>,
    ) -> Vec<Effect> {
        let open: Vec<u64> = self
            .stream
            .tabs
            .all()
            .iter()
            .map(|viewer| viewer.id)
            .collect();
        self.session
            .inbox
            .retain_pages(|stream| open.contains(&stream));
        self.report_unread(server, &result);
        // Open pages know more than a list: copies that wait, and what happened since.
        let pages: Vec<PageStatus<'_>> = self
            .stream
            .tabs
            .all()
            .iter()
            .filter_map(|viewer| page_of(viewer, &self.session))
            .collect();
        let mut news =
            self.session
                .inbox
                .on_read(server, (began, self.session.now), result, &pages);
        self.count_threads(server);
        news.extend(self.stuck_news());
        let mut effects = self.publish(news);
        for name in self.session.inbox.take_settled(server) {
            let said = format!("{name} is resolved: answered, continued or ended.");
            effects.push(Effect::Alert("Runtail".into(), said.clone()));
            self.session.toast(StatusRole::Good, said);
        }
        effects
    }

    /// Notifies that the threads of a server could not be read: once per profile, until all its servers answer again.
    fn report_unread(&mut self, server: &ServerRef, result: &Result<ServerInbox, ApiError>) {
        let error = result
            .as_ref()
            .map_or_else(Some, |answer| answer.failures.first());
        let Some(error) = error.filter(|_| !self.session.inbox.has_failed(&server.profile)) else {
            return;
        };
        // A rejected key has its own notice.
        if error.kind == Kind::Unauthorized && self.session.may_poll(&server.profile) {
            return;
        }
        let (name, cause, request) = (
            self.session.inbox.server_title(server),
            error.cause(),
            error.request(),
        );
        self.notify(
            true,
            format!("{name}: threads not read: {cause}\n  {request}"),
        );
    }

    /// Passes the numbers of a server's threads to its row in the list of deployments.
    fn count_threads(&mut self, server: &ServerRef) {
        let (busy, counts) = self.session.inbox.counts_of(server);
        let Counts {
            waiting,
            failed,
            stuck,
            ..
        } = counts;
        self.deployments.list.set_counts(
            server,
            ThreadCounts {
                busy,
                waiting,
                failed,
                stuck,
            },
        );
    }

    /// Applies the status of an open page after its stream sent something.
    pub(super) fn inbox_after_page(&mut self, stream: u64) -> Vec<Effect> {
        let changed = self.stream.tabs.get(stream).and_then(|viewer| {
            self.session
                .inbox
                .page_changed(stream, viewer.thread_status())
                .then(|| viewer.server.clone())
        });
        let news: Vec<News> = self.page_news(stream).into_iter().collect();
        if let Some(server) = changed {
            self.count_threads(&server);
        }
        self.publish(news)
    }

    fn page_news(&mut self, stream: u64) -> Option<News> {
        let (now, inbox) = (self.session.now, &self.session.inbox);
        let viewer = self.stream.tabs.get(stream)?;
        if !inbox.page_changed(stream, viewer.thread_status()) {
            return None;
        }
        let page = page_of(viewer, &self.session)?;
        self.session.inbox.on_page(page, now)
    }

    /// Returns the runs on open pages that are newly stuck.
    fn stuck_news(&mut self) -> Vec<News> {
        let session = &mut self.session;
        let mut news = Vec::new();
        for viewer in self.stream.tabs.all() {
            let is_stuck = !viewer.stuck(session).is_empty();
            if !is_stuck && !session.inbox.was_stuck(viewer.id) {
                continue;
            }
            let Some(page) = page_of(viewer, session) else {
                continue;
            };
            let inbox = &mut session.inbox;
            inbox.set_stuck(&page);
            if let Some(sign) = &page.stuck {
                news.extend(inbox.on_stuck_page(&page, sign, session.now));
            }
        }
        news
    }

    /// Notifies about runs on open pages that are newly stuck.
    pub(super) fn check_stuck(&mut self) -> Vec<Effect> {
        let news = self.stuck_news();
        self.publish(news)
    }

    /// Notifies about events.
    pub(super) fn publish(&mut self, news: Vec<News>) -> Vec<Effect> {
        let told: Vec<&News> = news.iter().filter(|news| !self.is_in_view(news)).collect();
        inbox::publish(&mut self.session, &news, &told)
    }

    /// Returns whether the user is looking at the thread.
    fn is_in_view(&self, news: &News) -> bool {
        let Some(thread) = &news.thread else {
            return false;
        };
        let is_visible = self.session.window_focused
            && self.overlays.is_empty()
            && self.logs.is_none()
            && !self.frozen;
        let shown = self.stream.tabs.shown();
        is_visible && self.focus == Pane::Stream && shown.is_some_and(|viewer| viewer.is_of(thread))
    }
}

/// Returns whether the inbox covers a row of the deployments list.
fn is_kept(row: &Row) -> bool {
    let status = row
        .deployment
        .as_ref()
        .and_then(|deployment| deployment.status.as_deref());
    !row.gone
        && !status.is_some_and(|status| {
            status.starts_with("AWAITING_DELETE") || status == "AWAITING_FINAL_DELETE"
        })
}

/// Returns the failed newest revision of a row.
fn failed_of(row: &Row) -> Option<FailedDeployment> {
    let revision = row
        .newest
        .as_ref()
        .filter(|revision| revision.phase() == Phase::Failed && is_kept(row))?;
    Some(FailedDeployment {
        profile: row.profile_name.clone(),
        region: Some(row.tag.to_string()).filter(|tag| !tag.is_empty()),
        deployment: row.deployment.as_ref()?.id.clone(),
        name: row.name.clone(),
        revision: facts_of(revision),
    })
}

fn facts_of(revision: &Revision) -> FailedRevision {
    FailedRevision {
        revision_id: revision.id.clone(),
        status: revision.status.clone(),
        since: revision.updated_at.or(revision.created_at),
    }
}

/// Returns the status of an open page of a thread.
fn page_of<'a>(
    viewer: &'a crate::features::stream::viewer::Viewer,
    session: &crate::session::Session,
) -> Option<PageStatus<'a>> {
    Some(PageStatus {
        stream: viewer.id,
        thread: viewer.thread().filter(|_| viewer.is_open())?,
        facts: viewer.loaded_thread().thread.unwrap_or_default(),
        status: viewer.thread_status(),
        stuck: viewer.stuck(session).into_iter().next(),
        region: session
            .profile(&viewer.server.profile)
            .and_then(|state| state.region.clone()),
    })
}
