//! The deployments of all profiles, and the revisions of one.

pub mod columns;
pub mod list;
mod panes;
pub mod revisions;
mod revisions_view;
mod subscriptions;
pub mod update;
mod view;
pub mod watch;

use crate::session::Cx;
use crate::session::msg::RevisionRef;
use crate::session::profile::ProfileState;
use crate::widgets::list::Picker;
use list::{DeploymentList, RowId};
use revisions::History;

pub use panes::{ListPane, RevisionsPane};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use watch::Watch;

/// The deployments of all profiles, their revisions, and the watched revisions.
#[derive(Debug, Default)]
pub struct Deployments {
    pub list: DeploymentList,
    /// The revisions of each row.
    pub histories: HashMap<String, History>,
    /// The selected revision.
    pub revision_picker: Picker,
    /// The watched revisions.
    pub watches: BTreeMap<RevisionRef, Watch>,
    /// The names of deployments that are being deleted, polled until they no longer exist.
    pub deleting: BTreeMap<(Arc<str>, Arc<str>), String>,
    /// The revision marked for a comparison.
    pub compared: Option<RevisionRef>,
}

impl Deployments {
    /// Creates the state of a list without known revisions.
    pub fn new(list: DeploymentList) -> Deployments {
        Deployments { list, ..Deployments::default() }
    }

    /// Returns the revisions of the selected deployment.
    pub fn history(&self) -> Option<&History> {
        self.histories.get(self.list.picker.selected.as_ref()?)
    }

    /// Returns the ids of the shown revisions.
    pub fn revision_ids(&self) -> Vec<RowId> {
        self.history().map(|h| h.revisions.iter().map(|r| r.id.clone()).collect()).unwrap_or_default()
    }

    /// Returns the columns of the list that fit.
    pub fn columns(&self, cx: &Cx<'_>) -> Vec<columns::Place> {
        let longest = |text: fn(&ProfileState) -> &str| {
            cx.session.profiles.iter().map(|p| runtail_core::text::width(text(p))).max().unwrap_or(0) as u16
        };
        columns::layout(cx.area.w, longest(|p| p.tag()), longest(|p| &p.name))
    }
}
