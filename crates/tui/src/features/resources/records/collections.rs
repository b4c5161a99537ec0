//! What can be done with the records of a control plane.

use super::rows::RowOf;
use super::{RecordPage, RecordSource};
use crate::features::resources::sign_in;
use crate::input::action::Action;
use crate::input::commands::Commands;
use crate::session::subject::Subject;
use crate::session::{Component, Cx, Requests, Route, Session};
use runtail_core::model::{Collection, Intent, Service, ServiceChange};
use serde_json::Value;
use std::sync::Arc;

/// Returns the change that an action starts. `id`: the selected row.
pub(super) fn service(of: &Collection, action: Action, id: Option<String>) -> Option<Service> {
    Some(match (action, of, id) {
        (Action::Create, Collection::Listeners, _) => Service::CreateListener,
        (Action::Create, Collection::Providers, _) => Service::CreateProvider,
        (Action::Discover, Collection::Providers, _) => Service::DiscoverProvider,
        (Action::Update, Collection::Listeners, Some(id)) => Service::UpdateListener(id),
        (Action::Update, Collection::Providers, Some(slug)) => Service::UpdateProvider(slug),
        (Action::Delete, Collection::Listeners, Some(id)) => Service::DeleteListener(id),
        (Action::Delete, Collection::Providers, Some(slug)) => Service::DeleteProvider(slug),
        (Action::Delete, Collection::Tokens(_), Some(id)) => Service::DeleteToken(id),
        (Action::DeleteAll, Collection::Tokens(Some(slug)), _) => {
            Service::DeleteTokensOf(slug.clone())
        }
        (Action::DeleteAll, Collection::Providers, Some(slug)) => Service::DeleteTokensOf(slug),
        _ => return None,
    })
}

/// Returns whether an action is no change of a record, or one that the list has. `id`: the selected row.
fn may_change(of: &Collection, action: Action, id: Option<String>) -> bool {
    use Action::*;
    !matches!(action, Create | Discover | Update | Delete | DeleteAll)
        || service(of, action, id).is_some()
}

/// Returns what the keys do in a list. `id`: the selected row.
pub(super) fn commands(of: &Collection, id: Option<String>, all: Commands) -> Commands {
    let of_row = ["browse.open", "browse.details", "browse.tokens", "app.copy"];
    let has_sign_in = matches!(of, Collection::Providers | Collection::Tokens(_));
    all.exist_if(has_sign_in, &["browse.sign_in"])
        .exist_if(*of == Collection::Providers, &["browse.tokens"])
        .retain(|row| may_change(of, row.action, Some(String::new())))
        .enable_if(id.is_some(), &of_row)
        .enable(|row| may_change(of, row.action, id.clone()))
        .own(&["app.refresh"])
        .footer(useful_actions(of))
}

/// Returns the actions for the footer, most useful first.
fn useful_actions(of: &Collection) -> &'static [&'static str] {
    match of {
        Collection::Integrations(_) | Collection::ForgeInstallations => &[
            "browse.open",
            "browse.details",
            "browse.filter",
            "browse.profile",
            "app.back",
        ],
        Collection::Repositories(..) | Collection::InstallationRepositories(_) => {
            &["browse.open", "browse.filter", "app.copy", "app.back"]
        }
        Collection::Listeners => &[
            "browse.open",
            "browse.create",
            "browse.update",
            "browse.delete",
            "browse.profile",
            "app.back",
        ],
        Collection::Providers => &[
            "browse.sign_in",
            "browse.tokens",
            "browse.create",
            "browse.update",
            "browse.delete",
            "app.back",
        ],
        Collection::Tokens(_) => &[
            "browse.sign_in",
            "browse.delete",
            "app.copy",
            "browse.profile",
            "app.back",
        ],
    }
}

impl RecordPage {
    pub(super) fn act_on_collection(&mut self, cx: &Cx<'_>, action: Action) -> Requests {
        let RecordSource::Collection { profile, of, .. } = &self.source else {
            return Requests::none();
        };
        if matches!(action, Action::NextProfile | Action::PrevProfile) {
            return self.turn_profile(cx, action == Action::NextProfile);
        }
        let (profile, row) = (profile.clone(), self.selected(cx.session.now));
        let row = row.and_then(|row| match row.is {
            RowOf::Record(record) => Some((row.id, record)),
            _ => None,
        });
        match (action, of, row) {
            (Action::Open | Action::Right | Action::Describe, _, None) => Requests::none(),
            (Action::Open | Action::Right, Collection::Integrations(app), Some((id, row))) => {
                let owner = of.name_of(row).unwrap_or_default();
                Route::List(Collection::Repositories(*app, id), profile, owner).into()
            }
            (Action::TokensOf, Collection::Providers, Some((id, _))) => {
                Route::List(Collection::Tokens(Some(id.clone())), profile, id).into()
            }
            (Action::Open | Action::Right | Action::Describe, _, Some((_, row))) => {
                let name = of.name_of(row).unwrap_or_default();
                Requests::inspect(format!("{} {name}", of.singular()), row)
            }
            (_, _, row) => change(cx.session, profile, (of, action), row),
        }
    }

    /// Shows the same list of the next profile with a control plane. A list with a parent belongs to one profile.
    fn turn_profile(&mut self, cx: &Cx<'_>, forward: bool) -> Requests {
        let RecordSource::Collection { profile, of, .. } = &mut self.source else {
            return Requests::none();
        };
        let profiles = cx.session.profiles.iter().filter(|p| p.control_plane);
        let names: Vec<Arc<str>> = profiles.map(|p| p.name.clone()).collect();
        let at = names.iter().position(|name| name == profile).unwrap_or(0);
        let step = if forward { 1 } else { names.len() - 1 };
        let Some(next) = names
            .get((at + step) % names.len().max(1))
            .filter(|next| *next != profile)
        else {
            return Requests::info("No other profile has a control plane.");
        };
        if let Collection::Repositories(..) | Collection::InstallationRepositories(_) = of {
            let text = format!("These {} belong to {profile}.", of.plural());
            return Requests::info(text);
        }
        *profile = next.clone();
        (self.rows, self.incomplete) = Default::default();
        self.table.deselect();
        self.action(cx, Action::Refresh)
    }
}

/// Starts a change or an authentication. `row`: the selected row. A change with fields is edited first, others are previewed at once.
fn change(
    session: &Session,
    profile: Arc<str>,
    (of, action): (&Collection, Action),
    row: Option<(String, &Value)>,
) -> Requests {
    let Some(what) = service(of, action, row.as_ref().map(|(id, _)| id.clone())) else {
        let slug = match (action, of, row) {
            (Action::SignIn, Collection::Providers, Some((slug, _))) => slug,
            (Action::SignIn, Collection::Tokens(Some(slug)), _) => slug.clone(),
            (Action::SignIn, Collection::Tokens(None), Some((_, row))) => {
                row["provider_id"].as_str().unwrap_or_default().to_string()
            }
            _ => return Requests::none(),
        };
        return sign_in::begin(session, profile, &slug);
    };
    if what.fields().is_empty() {
        let change = ServiceChange {
            what,
            document: Default::default(),
        };
        return Route::change(profile, Intent::Service(Box::new(change))).into();
    }
    if session.is_read_only(&profile) {
        return Requests::error(session.read_only_text(&profile));
    }
    let record = row.map_or(&Value::Null, |(_, row)| row);
    let name = of.name_of(record).filter(|_| action == Action::Update);
    let name = name.as_deref().unwrap_or(what.target()).into();
    let text = what.template(record);
    let subject = Subject::Service {
        profile,
        what,
        name,
    };
    Route::Edit(subject, text).into()
}
