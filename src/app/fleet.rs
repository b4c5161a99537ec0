//! The deployments of all profiles in one list, and the agent servers that profiles name.

use super::list::Picker;
use super::msg::ServerRef;
use crate::api::ApiError;
use crate::config::Profile;
use crate::model::{Deployment, Revision};
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A profile as the dashboard knows it: no secret is in here.
#[derive(Debug, Clone)]
pub struct ProfileState {
    /// Its name.
    pub name: Arc<str>,
    /// Its region's tag, or its host.
    pub region: Option<String>,
    /// What its owner calls it, shown in the header.
    pub label: Option<String>,
    /// Whether writing is impossible.
    pub read_only: bool,
    /// Whether it has a control plane to ask.
    pub control_plane: bool,
    /// When its list was last answered.
    pub loaded_at: Option<Timestamp>,
    /// Why the last request failed.
    pub error: Option<ApiError>,
}

impl ProfileState {
    /// What stands for the profile where there is little room: its region, or its name where the region is but a host.
    pub fn tag(&self) -> &str {
        self.region.as_deref().filter(|r| !r.contains(['.', ':'])).unwrap_or(&self.name)
    }
}

/// Identity of a row: `profile/id`.
pub type RowId = String;

/// One row of the list.
#[derive(Debug, Clone)]
pub struct Row {
    /// Identity over all profiles.
    pub id: RowId,
    /// Number of its profile.
    pub profile: usize,
    /// The name shown.
    pub name: String,
    /// The deployment; none for an agent server without a control plane.
    pub deployment: Option<Deployment>,
    /// Address of its agent server.
    pub url: Option<String>,
}

/// All rows, and where one is in them.
#[derive(Debug, Clone, Default)]
pub struct Fleet {
    /// In the order shown, before the filter.
    pub rows: Vec<Row>,
    /// Newest revision of a row, as far as it is known.
    pub newest: BTreeMap<RowId, Revision>,
    /// The selection.
    pub picker: Picker,
    /// Only rows that contain this are shown.
    pub filter: String,
    /// Whether the person did anything yet. Until then the first row is the selected one, whichever profile answers first.
    pub touched: bool,
}

impl Fleet {
    /// The rows that profiles bring with them: agent servers without a control plane.
    pub fn new(profiles: &[Profile]) -> Fleet {
        let mut fleet = Fleet::default();
        for (number, profile) in profiles.iter().enumerate() {
            for (name, url) in &profile.agent_servers {
                fleet.rows.push(Row {
                    id: format!("{}/{name}", profile.name),
                    profile: number,
                    name: name.clone(),
                    deployment: None,
                    url: Some(url.to_string()),
                });
            }
        }
        fleet
    }

    /// Takes a profile's newest list in the place of its former one.
    pub fn replace(&mut self, number: usize, profile: &str, deployments: Vec<Deployment>) {
        self.rows.retain(|r| r.profile != number || r.deployment.is_none());
        for deployment in deployments {
            self.rows.push(Row {
                id: format!("{profile}/{}", deployment.id),
                profile: number,
                name: if deployment.name.is_empty() { deployment.id.clone() } else { deployment.name.clone() },
                url: deployment.agent_url().map(str::to_string),
                deployment: Some(deployment),
            });
        }
        self.rows.sort_by(|a, b| (&a.name, a.profile, &a.id).cmp(&(&b.name, b.profile, &b.id)));
        let known: std::collections::HashSet<&str> = self.rows.iter().map(|r| r.id.as_str()).collect();
        self.newest.retain(|id, _| known.contains(id.as_str()));
    }

    /// Takes a newest revision, unless what is known is newer: two polls tell of it, and either may be late.
    pub fn take_newest(&mut self, row: RowId, revision: Revision) {
        let newer = |known: &Revision| match known.id == revision.id {
            true => known.phase().is_final() && !revision.phase().is_final(),
            false => known.created_at > revision.created_at,
        };
        if !self.newest.get(&row).is_some_and(newer) {
            self.newest.insert(row, revision);
        }
    }

    /// The rows that pass the filter.
    pub fn shown(&self) -> Vec<&Row> {
        if self.filter.is_empty() {
            return self.rows.iter().collect();
        }
        let wanted = self.filter.to_lowercase();
        let passes = |row: &&Row| {
            let revision = self.newest.get(&row.id).map_or("", |r| r.status.as_str());
            let status = row.deployment.as_ref().and_then(|d| d.status.as_deref()).unwrap_or("");
            let texts = [row.name.as_str(), row.id.as_str(), revision, status];
            texts.iter().any(|t| t.to_lowercase().contains(&wanted))
        };
        self.rows.iter().filter(passes).collect()
    }

    /// Identities of the rows that pass the filter.
    pub fn shown_ids(&self) -> Vec<String> {
        self.shown().into_iter().map(|r| r.id.clone()).collect()
    }

    /// The selected row.
    pub fn selected(&self) -> Option<&Row> {
        let id = self.picker.selected.as_ref()?;
        self.rows.iter().find(|r| &r.id == id)
    }
}

impl Row {
    /// The agent server behind the row, where its address is known.
    pub fn server(&self, profiles: &[ProfileState]) -> Option<ServerRef> {
        Some(ServerRef {
            profile: profiles.get(self.profile)?.name.clone(),
            name: self.name.as_str().into(),
            url: self.url.as_deref()?.into(),
        })
    }
}
