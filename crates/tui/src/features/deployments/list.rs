//! The list of all deployments of all profiles, and of the agent servers named in profiles.

use super::columns::{FIELDS, Order, Sort};
use crate::session::msg::ServerRef;
use crate::session::profile::ProfileState;
use crate::widgets::filter::{Fields, Filter, Fit};
use crate::widgets::table::Table;
use jiff::Timestamp;
use runtail_api::ApiError;
use runtail_core::config::Profile;
use runtail_core::model::{Deployment, DeploymentState, Phase, Revision};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// How complete a reported list is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListPart {
    /// A page; more pages follow.
    Page,
    /// The part that could be loaded: unlisted deployments may still exist.
    Incomplete,
    /// The complete list.
    Complete,
}

/// The id of a row: `profile/id`.
pub type RowId = String;

/// Which revision of a deployment serves traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Live {
    /// An older revision serves traffic.
    Older,
    /// No revision serves traffic, or the server does not report it.
    Unknown,
    /// The newest revision serves traffic.
    Newest,
}

impl Live {
    /// Returns the word for the table.
    pub fn word(self) -> &'static str {
        match self {
            Live::Newest => "newest",
            Live::Older => "older",
            Live::Unknown => "-",
        }
    }
}

/// The fields of a deployment's record that the list keeps. There may be ten thousand rows, so the full record is loaded only
/// when it is shown.
#[derive(Debug, Clone)]
pub struct Listed {
    /// The identifier used in paths.
    pub id: String,
    /// The deployment's own status word.
    pub status: Option<String>,
    /// `github`, `external_docker`, …
    pub source: Option<String>,
    /// `dev`, `prod`, …
    pub deployment_type: Option<String>,
    /// Whether each request to its agent server wakes it.
    pub is_serverless: bool,
    /// The newest revision.
    pub latest_revision_id: Option<String>,
    /// The revision that serves traffic, if the server reports it.
    pub active_revision_id: Option<String>,
    /// The id of its workspace, which the URL of its page contains.
    pub workspace: Option<Arc<str>>,
    /// When the deployment was created.
    pub created_at: Option<Timestamp>,
}

impl From<Deployment> for Listed {
    fn from(deployment: Deployment) -> Listed {
        Listed {
            workspace: deployment.workspace().map(Into::into),
            is_serverless: deployment.is_serverless(),
            id: deployment.id,
            status: deployment.status,
            source: deployment.source,
            deployment_type: deployment.source_config.deployment_type,
            latest_revision_id: deployment.latest_revision_id,
            active_revision_id: deployment.active_revision_id,
            created_at: deployment.created_at,
        }
    }
}

/// The threads of a deployment that need attention, as its agent server last reported them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ThreadCounts {
    /// Threads with an active run.
    pub busy: usize,
    /// Threads that wait for a person.
    pub waiting: usize,
    /// Threads that failed lately.
    pub failed: usize,
    /// Threads whose run is stuck. They are busy, too.
    pub stuck: usize,
}

impl ThreadCounts {
    /// Returns the busy threads whose run is not stuck.
    pub fn running(&self) -> usize {
        self.busy.saturating_sub(self.stuck)
    }
}

/// One row of the list.
#[derive(Debug, Clone)]
pub struct Row {
    /// The id, unique over all profiles.
    pub id: RowId,
    /// The index of its profile.
    pub profile: usize,
    /// The profile's name.
    pub profile_name: Arc<str>,
    /// The profile's tag.
    pub tag: Arc<str>,
    /// The shown name.
    pub name: String,
    /// The deployment; `None` for an agent server without a control plane.
    pub deployment: Option<Listed>,
    /// The URL of its agent server.
    pub url: Option<String>,
    /// Its newest known revision.
    pub newest: Option<Revision>,
    /// Why the last request for the newest revision failed.
    pub newest_error: Option<Box<ApiError>>,
    /// Whether the server reports that it no longer exists, although a list named it.
    pub gone: bool,
    pub counts: ThreadCounts,
}

impl Row {
    /// Returns the agent server of the row, if its URL is known.
    pub fn server(&self, profiles: &[ProfileState]) -> Option<ServerRef> {
        Some(ServerRef {
            profile: profiles.get(self.profile)?.name.clone(),
            name: self.name.as_str().into(),
            url: self.url.as_deref()?.into(),
        })
    }

    /// Returns which revision serves traffic, by the deployment's own record. If the server does not report it, a deployed
    /// newest revision counts as serving.
    pub fn live(&self) -> Live {
        let Some(deployment) = &self.deployment else {
            return Live::Unknown;
        };
        match (deployment.active_revision_id.as_deref(), self.newest_id()) {
            (Some(active), Some(newest)) if active == newest => Live::Newest,
            // It was deployed after the record was loaded.
            _ if self
                .newest
                .as_ref()
                .is_some_and(|r| r.phase() == Phase::Deployed) =>
            {
                Live::Newest
            }
            (Some(_), Some(_)) => Live::Older,
            _ => Live::Unknown,
        }
    }

    /// Returns what the deployment's own status says about its use.
    pub fn state(&self) -> DeploymentState {
        DeploymentState::of(
            self.deployment
                .as_ref()
                .and_then(|deployment| deployment.status.as_deref()),
        )
    }

    /// Returns the id of the newest revision: the loaded one, or the one that the deployment's record names.
    pub fn newest_id(&self) -> Option<&str> {
        let listed = self
            .deployment
            .as_ref()
            .and_then(|d| d.latest_revision_id.as_deref());
        self.newest.as_ref().map(|r| r.id.as_str()).or(listed)
    }

    /// Returns whether it is the row of this deployment of its profile.
    pub fn is(&self, deployment: &str) -> bool {
        self.deployment.as_ref().is_some_and(|d| d.id == deployment)
    }

    /// Returns whether its revisions are built, and so have build logs. An external image isn't.
    pub fn has_builds(&self) -> bool {
        self.deployment
            .as_ref()
            .is_some_and(|deployment| deployment.source.as_deref() != Some("external_docker"))
    }

    /// Returns whether each request to its agent server wakes it.
    pub fn is_serverless(&self) -> bool {
        self.deployment
            .as_ref()
            .is_some_and(|deployment| deployment.is_serverless)
    }

    /// Returns whether its newest revision is known and not finished.
    pub fn is_moving(&self) -> bool {
        self.newest.as_ref().is_some_and(|r| !r.phase().is_final())
    }
}

impl Row {
    /// Returns its name for titles.
    pub fn title(&self) -> String {
        match &*self.tag {
            "" => self.name.clone(),
            tag => format!("{tag} › {}", self.name),
        }
    }
}

impl Fields for Row {
    fn names(&self) -> [Cow<'_, str>; 2] {
        [
            self.name.as_str().into(),
            format!("{}/{}", self.profile_name, self.name).into(),
        ]
    }

    fn any_word(&self, fits: impl Fn(&str) -> bool) -> bool {
        ["state", "newest", "region", "id"]
            .into_iter()
            .any(|name| fits(&self.field(name)))
    }

    fn field(&self, name: &'static str) -> Cow<'_, str> {
        let deployment = self.deployment.as_ref();
        let text =
            |get: fn(&Listed) -> Option<&str>| deployment.and_then(get).unwrap_or_default().into();
        match name {
            "name" => self.name.as_str().into(),
            "profile" => self.profile_name.as_ref().into(),
            "region" => self.tag.as_ref().into(),
            "state" => text(|d| d.status.as_deref()),
            "newest" => self
                .newest
                .as_ref()
                .map_or("", |r| r.status.as_str())
                .into(),
            "live" => self.live().word().into(),
            "source" => text(|d| d.source.as_deref()),
            "type" => text(|d| d.deployment_type.as_deref()),
            "url" => self.url.as_deref().unwrap_or_default().into(),
            "ref" => {
                let newest = self.newest.as_ref();
                let config = newest.map(|revision| &revision.source_revision_config);
                let parts = config.map(|of| [&of.repo_ref, &of.repo_commit_sha, &of.image_uri]);
                let parts = parts.into_iter().flatten().flatten();
                let parts: Vec<&str> = parts.map(String::as_str).collect();
                parts.join(" ").into()
            }
            "id" => text(|d| Some(&d.id)),
            _ => "".into(),
        }
    }
}

/// The rows, with selection, filter and order.
#[derive(Debug, Clone, Default)]
pub struct DeploymentList {
    /// All rows, profile by profile, in the servers' order.
    pub rows: Vec<Row>,
    /// The index of each row in `rows`, by its id.
    index: HashMap<RowId, usize>,
    /// The indices of the rows that match the filter, in the shown order.
    view: Vec<usize>,
    /// Whether the rows, the filter or the order changed since the view was computed.
    stale: bool,
    /// The rows that match the filter, and which are marked for actions on several.
    pub table: Table,
    filter: Filter,
    sort: Sort,
}

impl DeploymentList {
    /// Creates a list with the rows that need no request: agent servers without a control plane.
    pub fn new(profiles: &[Profile], states: &[ProfileState]) -> DeploymentList {
        let mut list = DeploymentList {
            stale: true,
            ..DeploymentList::default()
        };
        for (number, (profile, state)) in profiles.iter().zip(states).enumerate() {
            list.add_servers(number, profile, state);
        }
        list.reindex();
        list.refresh(Timestamp::MIN);
        list
    }

    fn add_servers(&mut self, number: usize, profile: &Profile, state: &ProfileState) {
        for (name, url) in &profile.agent_servers {
            self.rows.push(Row {
                id: format!("{}/{name}", profile.name),
                profile: number,
                profile_name: state.name.clone(),
                tag: state.tag().into(),
                name: name.clone(),
                deployment: None,
                url: Some(url.to_string()),
                newest: None,
                newest_error: None,
                gone: false,
                counts: ThreadCounts::default(),
            });
        }
    }

    /// Sets the numbers of threads of an agent server. Deployments that share a server show the counts in one row, the one that the inbox
    /// names too.
    pub fn set_counts(&mut self, server: &ServerRef, counts: ThreadCounts) {
        let is_its =
            |row: &&mut Row| row.profile_name == server.profile && row.name == *server.name;
        for row in self.rows.iter_mut().filter(is_its) {
            self.stale |= row.counts != counts;
            row.counts = counts;
        }
    }

    /// Applies a new set of profiles. Keeps the rows of profiles that still point to the same server.
    pub fn rearrange(
        &mut self,
        profiles: &[Profile],
        states: &[ProfileState],
        stays: impl Fn(&str) -> bool,
    ) {
        self.rows.retain_mut(|row| {
            let number = states
                .iter()
                .position(|state| state.name == row.profile_name);
            row.profile = number.unwrap_or_default();
            number.is_some() && stays(&row.profile_name)
        });
        for (number, (profile, state)) in profiles.iter().zip(states).enumerate() {
            if !stays(&profile.name) {
                self.add_servers(number, profile, state);
            }
        }
        self.reindex();
    }

    /// Applies a profile's newest list, or a part of it. Only a complete list removes rows.
    pub fn apply(
        &mut self,
        number: usize,
        profile: &ProfileState,
        deployments: Vec<Deployment>,
        part: ListPart,
    ) {
        let mut known: HashMap<RowId, Row> = HashMap::new();
        if part == ListPart::Complete {
            let of_profile = |r: &mut Row| r.profile == number && r.deployment.is_some();
            known.extend(
                self.rows
                    .extract_if(.., of_profile)
                    .map(|row| (row.id.clone(), row)),
            );
            self.index.clear();
        }
        let tag: Arc<str> = profile.tag().into();
        for deployment in deployments {
            let id = format!("{}/{}", profile.name, deployment.id);
            let at = self.index.get(&id).copied();
            let old = match at {
                // A page adds rows; only the complete list updates known ones.
                Some(_) if part == ListPart::Page => continue,
                Some(at) => self.rows.get(at).cloned(),
                None => known.remove(&id),
            };
            let counts = old.as_ref().map(|row| row.counts).unwrap_or_default();
            let (newest, newest_error, listed) = match old {
                Some(row) => (row.newest, row.newest_error, row.deployment),
                None => (None, None, None),
            };
            let listed = listed.and_then(|deployment| deployment.latest_revision_id);
            // If the list names another revision than before, the loaded one is outdated. If it names the same one as before,
            // a newer loaded revision stays.
            let latest = &deployment.latest_revision_id;
            let newest = newest
                .filter(|r| latest.as_ref().is_none_or(|id| *id == r.id) || *latest == listed);
            let row = Row {
                id: id.clone(),
                profile: number,
                profile_name: profile.name.clone(),
                tag: tag.clone(),
                name: if deployment.name.is_empty() {
                    deployment.id.clone()
                } else {
                    deployment.name.clone()
                },
                url: deployment.agent_url().map(str::to_string),
                deployment: Some(deployment.into()),
                newest,
                newest_error,
                gone: false,
                counts,
            };
            match at.and_then(|at| self.rows.get_mut(at)) {
                Some(old) => *old = row,
                None => {
                    // Another page does not require indexing all rows again.
                    self.index.insert(id, self.rows.len());
                    self.rows.push(row);
                }
            }
        }
        self.stale = true;
        if part == ListPart::Complete {
            self.reindex();
        }
    }

    fn reindex(&mut self) {
        let rows = self.rows.iter().enumerate();
        self.index = rows.map(|(i, row)| (row.id.clone(), i)).collect();
        let index = &self.index;
        self.table.marked.retain(|id| index.contains_key(id));
        self.stale = true;
    }

    /// Applies a newest revision, unless the known one is newer: two polls report it, and either may be late. Returns
    /// whether it was applied.
    pub fn apply_newest(&mut self, row: &str, mut revision: Revision) -> bool {
        let Some(row) = self.row_mut(row) else {
            return false;
        };
        let newer = |known: &Revision| match known.id == revision.id {
            true => known.phase().is_final() && !revision.phase().is_final(),
            false => known.created_at > revision.created_at,
        };
        if row.newest.as_ref().is_some_and(newer) {
            return false;
        }
        // Only the list of revisions shows these fields; ten thousand rows must not keep them.
        (revision.extra, revision.source_revision_config.extra) = Default::default();
        (row.newest, row.newest_error) = (Some(revision), None);
        // Sorting and filtering ten thousand rows again is expensive, so only when the view is affected.
        self.stale |=
            !self.filter.is_empty() || matches!(self.sort.order, Order::Problems | Order::Age);
        true
    }

    /// Applies a revision that was requested as the newest of its row, unless it was superseded meanwhile. Returns whether it
    /// was applied.
    pub fn apply_status(&mut self, row: &str, revision: Revision) -> bool {
        let is_newest = self
            .row(row)
            .is_some_and(|r| r.newest_id() == Some(revision.id.as_str()));
        is_newest && self.apply_newest(row, revision)
    }

    /// Records that the newest revision of a row could not be loaded.
    pub fn newest_failed(&mut self, row: &str, error: ApiError) {
        if let Some(row) = self.row_mut(row) {
            row.newest_error = Some(Box::new(error));
        }
    }

    /// Applies the status of a deployment from its own record.
    pub fn apply_deployment_status(&mut self, row: &str, status: Option<String>) {
        let row = self.row_mut(row);
        if let Some(deployment) = row.and_then(|row| row.deployment.as_mut())
            && deployment.status != status
        {
            deployment.status = status;
            self.stale = true;
        }
    }

    /// Records that a deployment no longer exists on the server.
    pub fn mark_gone(&mut self, row: &str) {
        if let Some(row) = self.row_mut(row) {
            row.gone = true;
        }
    }

    /// Recomputes the view if the rows, the filter or the order changed. While the user is pressing keys, rows keep their order, and new
    /// ones are added at the end; the order follows once no key was pressed for a while.
    pub fn refresh(&mut self, now: Timestamp) {
        if !self.stale && !self.table.is_order_due(now) {
            return;
        }
        self.stale = false;
        self.table.keep_order(now);
        let before = self.table.places();
        let mut fitting: Vec<(Fit, usize)> = self
            .rows
            .iter()
            .enumerate()
            .filter_map(|(i, row)| Some((self.filter.fit(row)?, i)))
            .collect();
        let (rows, sort) = (&self.rows, self.sort);
        fitting.sort_by(|(fit_a, a), (fit_b, b)| {
            let (a, b) = (&rows[*a], &rows[*b]);
            let place = |row: &Row| before.get(row.id.as_str()).copied().unwrap_or(usize::MAX);
            place(a)
                .cmp(&place(b))
                .then(fit_a.cmp(fit_b))
                .then_with(|| sort.compare(a, b))
        });
        self.view = fitting.into_iter().map(|(_, i)| i).collect();
        let ids = self.view.iter().map(|i| rows[*i].id.clone()).collect();
        self.table.set_ids(ids);
    }

    /// Returns the number of rows that match the filter.
    pub fn len(&self) -> usize {
        self.view.len()
    }

    /// Returns whether no row matches the filter.
    pub fn is_empty(&self) -> bool {
        self.view.is_empty()
    }

    /// Returns whether all rows are agent servers without a control plane.
    pub fn has_only_servers(&self) -> bool {
        self.rows.iter().all(|row| row.deployment.is_none())
    }

    /// Returns a row by its index in the view.
    pub fn shown(&self, number: usize) -> Option<&Row> {
        self.rows.get(*self.view.get(number)?)
    }

    /// Returns the rows that match the filter, in the shown order.
    pub fn all_shown(&self) -> impl Iterator<Item = &Row> {
        self.view.iter().filter_map(|i| self.rows.get(*i))
    }

    /// Returns the rows on the screen.
    pub fn on_screen(&self) -> impl Iterator<Item = &Row> {
        self.table.visible().filter_map(|number| self.shown(number))
    }

    /// Returns a row by its id.
    pub fn row(&self, id: &str) -> Option<&Row> {
        self.rows.get(*self.index.get(id)?)
    }

    fn row_mut(&mut self, id: &str) -> Option<&mut Row> {
        self.rows.get_mut(*self.index.get(id)?)
    }

    /// Returns the selected row.
    pub fn selected(&self) -> Option<&Row> {
        self.row(self.table.selected()?)
    }

    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Shows only the rows that match a filter. Returns whether the filter changed.
    pub fn set_filter(&mut self, text: &str) -> bool {
        let is_changed = self.filter.text() != text;
        if is_changed {
            self.filter = Filter::new(text, &FIELDS);
            self.stale = true;
            self.table.reorder();
        }
        is_changed
    }

    /// Returns the order of the rows.
    pub fn sort(&self) -> Sort {
        self.sort
    }

    /// Changes the order of the rows.
    pub fn set_sort(&mut self, sort: Sort) {
        if self.sort != sort {
            (self.stale, self.sort) = (true, sort);
            self.table.reorder();
        }
    }
}
