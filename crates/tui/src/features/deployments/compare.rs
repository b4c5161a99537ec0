//! Comparisons of deployments and revisions, and the marks of revisions for them.

use super::Deployments;
use super::list::Row;
use crate::session::compare::{ConfigurationRef, SideRef, marked_words, too_many_marked};
use crate::session::msg::RevisionRef;
use crate::session::{Requests, Route};
use runtail_core::model::Revision;

/// Maximum number of marked revisions.
const MAX_MARKED: usize = 2;

impl Deployments {
    /// Marks the selected revision for a comparison, or removes the mark. A third mark replaces the first.
    pub(super) fn mark_revision(&mut self) -> Requests {
        let Some((of, _)) = self.chosen_revision(true) else {
            return Requests::none();
        };
        match self.compared.iter().position(|marked| *marked == of) {
            Some(at) => drop(self.compared.remove(at)),
            None => {
                self.compared.truncate(MAX_MARKED);
                if self.compared.len() == MAX_MARKED {
                    self.compared.remove(0);
                }
                self.compared.push(of.clone());
            }
        }
        Requests::info(marked_words(self.compared.len()))
    }

    /// Returns the marked deployments and revisions as sides of a comparison.
    pub fn marked_sides(&self) -> Vec<SideRef> {
        let revisions = self.compared.iter().map(|of| self.side_of(of));
        let deployments = self
            .list
            .all_shown()
            .filter(|row| self.list.table.marked.contains(&row.id))
            .filter_map(side_of_row);
        revisions.chain(deployments).collect()
    }

    /// Compares two marked deployments, or the marked and the selected one; without a mark, the newest revision of the selected
    /// one with that before it. With only one, asks for the other.
    pub(super) fn compare_deployments(&self) -> Requests {
        let Some(selected) = self.list.selected() else {
            return Requests::none();
        };
        let marked: Vec<&Row> = self
            .list
            .all_shown()
            .filter(|row| self.list.table.marked.contains(&row.id))
            .collect();
        let hidden = self.list.table.marked.len() - marked.len();
        let (a, b) = match marked.as_slice() {
            _ if hidden > 0 => {
                return Requests::info("The filter hides a marked deployment.");
            }
            [] => return self.compare_revisions(false),
            [one] if one.id == selected.id => return Route::Palette("compare ".into()).into(),
            [one] => (*one, selected),
            [a, b] => (*a, *b),
            all => return Requests::info(too_many_marked(all.len())),
        };
        match (side_of_row(a), side_of_row(b)) {
            (Some(of_a), Some(of_b)) => Route::Compare(vec![of_a, of_b]).into(),
            (of_a, _) => {
                let row = if of_a.is_none() { a } else { b };
                let name = row.title();
                Requests::info(match row.gone {
                    true => format!("{name} was deleted."),
                    false => {
                        format!("{name} has no control plane: configuration unknown.")
                    }
                })
            }
        }
    }

    /// Compares two marked revisions, or the selected one with the marked one, else with the one before it.
    pub(super) fn compare_revisions(&self, in_revisions: bool) -> Requests {
        let Some((of, _)) = self.chosen_revision(in_revisions) else {
            return Requests::none();
        };
        let marks = if in_revisions {
            self.compared.as_slice()
        } else {
            &[]
        };
        let is_own = |other: &RevisionRef| {
            (&other.profile, &other.deployment) == (&of.profile, &of.deployment)
        };
        let (this, other) = match marks {
            [a, b] if is_own(a) || is_own(b) => (a.clone(), b.clone()),
            [.., other] if is_own(other) && *other != of => (of, other.clone()),
            _ => {
                let revisions = self
                    .history()
                    .map(|history| history.revisions.as_slice())
                    .unwrap_or_default();
                let Some(older) = revisions
                    .iter()
                    .skip_while(|one| one.id != *of.revision)
                    .nth(1)
                else {
                    return Requests::info("No older revision; mark one with m.");
                };
                let older = RevisionRef {
                    revision: older.id.as_str().into(),
                    ..of.clone()
                };
                (of, older)
            }
        };
        // From the older to the newer, whichever was marked.
        let created = |of: &RevisionRef| {
            self.known_revision(of)
                .and_then(|known: &Revision| known.created_at)
        };
        let (a, b) = if created(&this) < created(&other) {
            (this, other)
        } else {
            (other, this)
        };
        Route::Compare(vec![self.side_of(&a), self.side_of(&b)]).into()
    }

    fn side_of(&self, of: &RevisionRef) -> SideRef {
        let name = self
            .list
            .row(&of.row_id())
            .map_or(&*of.deployment, |row| &row.name);
        SideRef::Configuration(ConfigurationRef::of_revision(of, name))
    }
}

fn side_of_row(row: &Row) -> Option<SideRef> {
    let deployment = row.deployment.as_ref().filter(|_| !row.gone)?;
    Some(SideRef::Configuration(ConfigurationRef {
        profile: row.profile_name.clone(),
        deployment: deployment.id.as_str().into(),
        name: row.name.as_str().into(),
        revision: None,
    }))
}
