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

/// The deployments of all profiles, their revisions, and what a person wants to be told of them.
#[derive(Debug, Default)]
pub struct Deployments {
    pub list: DeploymentList,
    /// Revisions, by row.
    pub histories: HashMap<String, History>,
    /// Selection among the revisions shown.
    pub revision_picker: Picker,
    /// Revisions whose end is notified.
    pub watches: BTreeMap<RevisionRef, Watch>,
    /// Deployments that are being deleted, with their names: followed until they are gone.
    pub vanishing: BTreeMap<(Arc<str>, Arc<str>), String>,
    /// A revision that another is to be compared with.
    pub compared: Option<RevisionRef>,
}

impl Deployments {
    /// A list of which no revision is known yet.
    pub fn new(list: DeploymentList) -> Deployments {
        Deployments { list, ..Deployments::default() }
    }

    /// The revisions of the selected deployment.
    pub fn history(&self) -> Option<&History> {
        self.histories.get(self.list.picker.selected.as_ref()?)
    }

    /// Identities of the revisions shown.
    pub fn revision_ids(&self) -> Vec<RowId> {
        self.history().map(|h| h.revisions.iter().map(|r| r.id.clone()).collect()).unwrap_or_default()
    }

    /// The columns of the list that there is room for.
    pub fn columns(&self, cx: &Cx<'_>) -> Vec<columns::Place> {
        let longest = |text: fn(&ProfileState) -> &str| {
            cx.session.profiles.iter().map(|p| runtail_core::text::width(text(p))).max().unwrap_or(0) as u16
        };
        columns::layout(cx.area.w, longest(|p| p.tag()), longest(|p| &p.name))
    }
}
