//! The deployments of all profiles, and the revisions of one.

mod columns;
mod compare;
mod details;
pub mod last_day;
pub mod list;
mod panes;
pub mod revisions;
mod revisions_view;
mod server_pane;
mod shown_row;
mod subjects;
mod subscriptions;
pub mod update;
mod view;
pub mod watch;

use crate::session::deployments::KnownDeployment;
use crate::session::msg::RevisionRef;
use crate::session::{Cx, Session};
use crate::widgets::table::{Table, TableColumns};
use jiff::Timestamp;
use last_day::PastDay;
use list::{DeploymentList, RowId};
use revisions::RevisionHistory;
use runtail_api::ApiError;
use runtail_core::model::{FailureCard, KnownRevisions, Revision, StatusTime};
use runtail_core::text;

pub use panes::{ListPane, RevisionsPane};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use watch::Watch;

/// Rows whose contents determine the widths of the columns.
const MAX_MEASURED: usize = 200;

/// The deployments of all profiles, their revisions, and the watched revisions.
#[derive(Debug, Default)]
pub struct Deployments {
    pub list: DeploymentList,
    /// The revisions of each row.
    pub histories: HashMap<String, RevisionHistory>,
    /// The revisions of the selected row.
    pub revision_table: Table,
    /// The row whose revisions these are.
    revisions_of: Option<RowId>,
    /// The watched revisions.
    pub watches: BTreeMap<RevisionRef, Watch>,
    /// The names of deployments that are being deleted, polled until they no longer exist.
    pub deleting: BTreeMap<(Arc<str>, Arc<str>), String>,
    /// The revisions marked for a comparison, at most two.
    pub compared: Vec<RevisionRef>,
    /// The revisions of the last day of each row on the screen, for the strip.
    pub past: HashMap<String, PastDay>,
    /// The subjects of commits, for the rows on the screen.
    pub subjects: subjects::Subjects,
    /// The explanations of failed revisions that were selected.
    pub cards: BTreeMap<RevisionRef, Result<Box<FailureCard>, ApiError>>,
}

impl Deployments {
    /// Creates the state of a list without known revisions.
    pub fn new(list: DeploymentList) -> Deployments {
        Deployments {
            list,
            ..Deployments::default()
        }
    }

    /// Returns the revisions of the selected deployment.
    pub fn history(&self) -> Option<&RevisionHistory> {
        self.histories.get(self.list.table.selected()?)
    }

    /// Returns the newest record of a revision that a poll read, if any.
    pub fn known_revision(&self, of: &RevisionRef) -> Option<&Revision> {
        let id = of.row_id();
        let newest = self.list.row(&id).and_then(|row| row.newest.as_ref());
        let listed = self
            .histories
            .get(&id)
            .into_iter()
            .flat_map(|history| &history.revisions);
        newest
            .into_iter()
            .chain(listed)
            .find(|revision| revision.id == *of.revision)
    }

    /// Shares what other features read of all rows.
    pub fn share_all(&self, session: &mut Session) {
        let rows = self.list.rows.iter();
        session
            .deployments
            .set_all(rows.filter_map(|row| self.known(row)));
    }

    /// Shares what other features read of a row.
    pub fn share(&self, session: &mut Session, row: &str) {
        if let Some(known) = self.list.row(row).and_then(|row| self.known(row)) {
            session.deployments.set(known);
        }
    }

    fn known(&self, row: &list::Row) -> Option<KnownDeployment> {
        let deployment = row.deployment.as_ref()?;
        let history = self.histories.get(&row.id);
        let listed = || history.into_iter().flat_map(|history| &history.revisions);
        // Only the selected deployment's revisions are listed; the newest one of each is known.
        let is_listed = |one: &Revision| listed().any(|other| other.id == one.id);
        let newest = row.newest.as_ref().filter(|one| !is_listed(one));
        let listed = listed().chain(newest).map(|one| {
            let made_from = one.source_revision_config.made_from();
            (one.id.clone(), made_from.map(|name| text::seen(&name, 40)))
        });
        // In an unused deployment it's unknown whether the active revision serves.
        let serving = deployment.active_revision_id.clone();
        Some(KnownDeployment {
            profile: row.profile_name.clone(),
            id: deployment.id.as_str().into(),
            name: row.name.as_str().into(),
            is_gone: row.gone,
            revisions: KnownRevisions {
                newest: row.newest_id().map(str::to_string),
                serving: serving.filter(|_| row.state().is_usual()),
                listed: listed.collect(),
            },
        })
    }

    /// Returns the observed times of a revision in each status.
    pub fn status_times(&self, of: &RevisionRef, now: Timestamp) -> Vec<StatusTime> {
        let phases = self
            .histories
            .get(&of.row_id())
            .map(|history| history.phases(&of.revision, now));
        let time = |(status, spent, from_start)| StatusTime {
            status,
            spent,
            from_start,
        };
        phases.unwrap_or_default().into_iter().map(time).collect()
    }

    /// Returns the columns of the list that fit.
    fn columns(&self, cx: &Cx<'_>) -> TableColumns {
        let longest = |of: &dyn Fn(&list::Row) -> usize| {
            // The widths depend on the rows on the screen and near it, not on ten thousand others.
            let rows = self.list.all_shown().take(MAX_MEASURED);
            rows.map(of).max().unwrap_or(0).min(100)
        };
        let width = |text: &str| text::width(&text::clean(text::head(text, 400)));
        let made_from = |row: &list::Row| row.newest.as_ref()?.source_revision_config.made_from();
        let message = |row: &list::Row| self.subjects.of(row.newest.as_ref()?).map(text::width);
        let tags = cx
            .session
            .profiles
            .iter()
            .map(|profile| width(profile.tag()));
        let widths = columns::Widths {
            name: longest(&|row| {
                let mark = if row.is_serverless() {
                    view::SERVERLESS
                } else {
                    ""
                };
                width(&row.name) + mark.len()
            }),
            tag: tags.max().unwrap_or(0),
            commit: longest(&|row| made_from(row).map_or(0, |from| width(&from))),
            message: longest(&|row| message(row).unwrap_or(0)),
            url: longest(&|row| match &row.deployment {
                Some(_) => 0,
                None => row.url.as_deref().map_or(0, width),
            }),
            only_servers: self.list.has_only_servers(),
        };
        columns::layout(cx.area.w.into(), widths)
    }
}
