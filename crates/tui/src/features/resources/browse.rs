//! The browser: integrations, listeners, providers or tokens of one profile at a time, as a table over the panes.

use super::{sign_in, view};
use crate::input::action::{Action, Context};
use crate::session::loaded::Loaded;
use crate::session::msg::{Effect, EffectResult};
use crate::session::subject::Subject;
use crate::session::{Component, Cx, Requests, Route, Session};
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};
use crate::widgets::table::{MAX_COLUMN, Table};
use jiff::Timestamp;
use runtail_api::ApiError;
use runtail_core::catalog::Column;
use runtail_core::model::{Collection, Intent, Service, ServiceChange, parse_time};
use runtail_core::text;
use serde_json::Value;
use std::sync::Arc;

/// The open list.
#[derive(Debug, Clone)]
pub struct Browse {
    /// The number of the newest request; responses to others are ignored.
    pub number: u64,
    /// The profile of the list.
    pub profile: Arc<str>,
    /// The kind of the list.
    pub of: Collection,
    /// The name of its parent: the account of an integration, the slug of a provider.
    pub owner: String,
    /// Its records with masked secrets.
    pub rows: Loaded<Vec<Value>>,
    /// Why the list may be incomplete.
    pub incomplete: Option<ApiError>,
    /// Whether it is being loaded.
    pub loading: bool,
    table: Table,
}

impl Browse {
    /// Returns the rows that match the filter, with their ids. Leaves out rows without an id, which can't be selected.
    fn shown(&self) -> Vec<(String, &Value)> {
        let columns = self.of.resource().columns;
        let fits = |row: &&Value| {
            self.table
                .fits(columns.iter().map(|field| field.words(row)))
        };
        let rows = self.rows.value.iter().flatten().filter(fits);
        rows.filter_map(|row| Some((self.of.id_of(row)?, row)))
            .collect()
    }

    /// Returns the selected row with its id.
    fn selected(&self) -> Option<(String, &Value)> {
        let id = self.table.selected()?;
        self.shown().into_iter().find(|(shown, _)| shown == id)
    }

    /// Returns the text for the clipboard: the id of a row, or the URL of a repository, which deployments refer to.
    fn copy_text(&self) -> Option<String> {
        let (id, row) = self.selected()?;
        match &self.of {
            Collection::Repositories(..) | Collection::InstallationRepositories(_) => {
                Some(row["url"].as_str().map_or(id, str::to_string))
            }
            _ => Some(id),
        }
    }

    /// Returns the actions for the footer, most useful first.
    fn useful_actions(&self) -> &'static [&'static str] {
        match self.of {
            Collection::Integrations(_) | Collection::ForgeInstallations => &[
                "browse.open",
                "browse.details",
                "browse.filter",
                "browse.profile",
                "app.back",
                "app.command",
                "app.help",
            ],
            Collection::Repositories(..) | Collection::InstallationRepositories(_) => &[
                "browse.open",
                "browse.filter",
                "app.copy",
                "app.back",
                "app.command",
                "app.help",
            ],
            Collection::Listeners => &[
                "browse.open",
                "browse.create",
                "browse.update",
                "browse.delete",
                "browse.profile",
                "app.back",
                "app.help",
            ],
            Collection::Providers => &[
                "browse.sign_in",
                "browse.tokens",
                "browse.create",
                "browse.update",
                "browse.delete",
                "app.back",
                "app.help",
            ],
            Collection::Tokens(_) => &[
                "browse.sign_in",
                "browse.delete",
                "app.copy",
                "browse.profile",
                "app.back",
                "app.help",
            ],
        }
    }

    /// Returns the profile and the owner, for the title.
    fn about(&self, cx: &Cx<'_>) -> Line {
        let mut line = Line::new();
        if !self.owner.is_empty() {
            line.push_plain(&self.owner);
            line.push_dim(" in ");
        }
        line.push_plain(&self.profile);
        let tag = cx.session.profile(&self.profile).map(|p| p.tag());
        if let Some(tag) = tag.filter(|tag| *tag != &*self.profile) {
            line.push_dim(&format!(" ({tag})"));
        }
        line
    }

    /// Returns the text to show if there are no rows.
    fn empty_state(&self, session: &Session) -> (Tone, String) {
        let what = self.of.plural();
        match (&self.rows.value, &self.rows.error) {
            (_, Some(error)) if !self.loading => view::failed(error),
            (None, _) => (Tone::Dim, format!("Loading {what} of {}…", self.profile)),
            (Some(_), _) => {
                let others = session.profiles.iter().filter(|p| p.control_plane).count() > 1;
                let tab = if others {
                    "\n\nPress Tab for the next profile."
                } else {
                    ""
                };
                (Tone::Plain, format!("No {what}.{tab}"))
            }
        }
    }
}

/// Formats a field for its cell: shortened ids, relative times.
fn cell(field: &Column, row: &Value, now: Timestamp) -> String {
    let text = field.words(row);
    match parse_time(&text).filter(|_| field.is_time) {
        Some(at) => ago(at, now),
        None if uuid::Uuid::parse_str(&text).is_ok() => text::short_id(&text),
        None => text::clean(&text).into_owned(),
    }
}

/// Formats a time relative to now.
pub(super) fn ago(at: Timestamp, now: Timestamp) -> String {
    if at > now {
        format!("in {}", text::age_since(now, at))
    } else {
        format!("{} ago", text::age_since(at, now))
    }
}

impl Browse {
    /// Creates a list of a profile. `owner`: the name of its parent; empty if it has none.
    ///
    /// # Errors
    /// The profile has no control plane.
    pub fn open(
        session: &Session,
        of: Collection,
        profile: Arc<str>,
        owner: &str,
    ) -> Result<Browse, Requests> {
        let known = session.profile(&profile);
        if !known.is_some_and(|profile| profile.control_plane) {
            return Err(Requests::info(format!(
                "{profile} has no control plane, so no {}.",
                of.plural()
            )));
        }
        Ok(Browse {
            number: 0,
            profile,
            of,
            owner: owner.to_string(),
            rows: Loaded::default(),
            incomplete: None,
            loading: false,
            table: Table::default(),
        })
    }

    /// Requests the list again.
    pub fn reread(&mut self, session: &Session) -> Effect {
        (self.number, self.loading) = (session.next_stream.take(), true);
        Effect::Browse(self.number, self.profile.clone(), self.of.clone())
    }

    /// Returns the change that an action starts. `id`: the selected row.
    fn service(&self, action: Action, id: Option<String>) -> Option<Service> {
        Some(match (action, &self.of, id) {
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

    /// Handles the actions that start a change or an authentication. `row`: the selected row.
    fn change(&self, cx: &Cx<'_>, action: Action, row: Option<(String, Value)>) -> Requests {
        let Some(what) = self.service(action, row.as_ref().map(|(id, _)| id.clone())) else {
            return self.authenticate(cx, action, row);
        };
        let name = row
            .as_ref()
            .and_then(|(_, row)| self.of.name_of(row))
            .filter(|_| action == Action::Update);
        let row = row.map(|(_, row)| row).unwrap_or_default();
        change_service(
            cx.session,
            self.profile.clone(),
            what,
            &row,
            name.as_deref(),
        )
    }

    fn authenticate(&self, cx: &Cx<'_>, action: Action, row: Option<(String, Value)>) -> Requests {
        let slug = match (action, &self.of, row) {
            (Action::SignIn, Collection::Providers, Some((slug, _))) => slug,
            (Action::SignIn, Collection::Tokens(Some(slug)), _) => slug.clone(),
            (Action::SignIn, Collection::Tokens(None), Some((_, row))) => {
                row["provider_id"].as_str().unwrap_or_default().to_string()
            }
            _ => return Requests::none(),
        };
        sign_in::begin(cx.session, self.profile.clone(), &slug)
    }

    /// Shows the same list of the next profile with a control plane. A list with a parent belongs to one profile.
    fn turn_profile(&mut self, cx: &Cx<'_>, forward: bool) -> Requests {
        let profiles = cx.session.profiles.iter();
        let names: Vec<Arc<str>> = profiles
            .filter(|p| p.control_plane)
            .map(|p| p.name.clone())
            .collect();
        let at = names
            .iter()
            .position(|name| *name == self.profile)
            .unwrap_or(0);
        let step = if forward { 1 } else { names.len() - 1 };
        let Some(next) = names
            .get((at + step) % names.len().max(1))
            .filter(|next| **next != self.profile)
        else {
            return Requests::info("No other profile has a control plane.");
        };
        if let Collection::Repositories(..) | Collection::InstallationRepositories(_) = self.of {
            let text = format!(
                "These {} belong to {}; other profiles have their own.",
                self.of.plural(),
                self.profile
            );
            return Requests::info(text);
        }
        self.profile = next.clone();
        (self.rows, self.incomplete) = Default::default();
        self.table.deselect();
        self.reread(cx.session).into()
    }
}

/// Starts a change: a change with fields is edited first, others are previewed at once.
fn change_service(
    session: &Session,
    profile: Arc<str>,
    what: Service,
    record: &Value,
    name: Option<&str>,
) -> Requests {
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
    let text = what.template(record);
    let name = name.unwrap_or(what.target()).into();
    Route::Edit(
        Subject::Service {
            profile,
            what,
            name,
        },
        text,
    )
    .into()
}

impl Component for Browse {
    fn on_open(&mut self, session: &Session) -> Requests {
        self.reread(session).into()
    }

    fn on_reply(&mut self, session: &mut Session, reply: &EffectResult) -> Option<Requests> {
        let EffectResult::Browsed(number, result) = reply else {
            return None;
        };
        (*number == self.number).then(|| {
            self.loading = false;
            if let Ok(listing) = result {
                self.incomplete.clone_from(&listing.incomplete);
            }
            self.rows.apply_list(result.clone(), session.now);
            let incomplete = result.as_ref().map(|listing| listing.incomplete.as_ref());
            if let Some(error) = incomplete.unwrap_or_else(Some) {
                session.report_error(error);
            }
            Requests::none()
        })
    }

    fn context(&self) -> Context {
        Context::Browse
    }

    fn tab_name(&self) -> Option<String> {
        Some(runtail_core::text::capitalized(self.of.plural()))
    }

    fn action(&mut self, cx: &Cx<'_>, action: Action) -> Requests {
        match action {
            Action::NextProfile | Action::PrevProfile => {
                return self.turn_profile(cx, action == Action::NextProfile);
            }
            Action::Refresh => return self.reread(cx.session).into(),
            _ => {}
        }
        let (profile, of) = (self.profile.clone(), self.of.clone());
        let Some((id, row)) = self.selected().map(|(id, row)| (id, row.clone())) else {
            return match action {
                Action::Open | Action::Right | Action::Describe => Requests::none(),
                _ => self.change(cx, action, None),
            };
        };
        match (action, &of) {
            (Action::Open | Action::Right, Collection::Integrations(app)) => {
                let owner = of.name_of(&row).unwrap_or_default();
                Route::List(Collection::Repositories(*app, id), profile, owner).into()
            }
            (Action::TokensOf, Collection::Providers) => {
                Route::List(Collection::Tokens(Some(id.clone())), profile, id).into()
            }
            (Action::Open | Action::Right | Action::Describe, _) => {
                let name = of.name_of(&row).unwrap_or_default();
                Requests::inspect(format!("{} {name}", of.singular()), &row)
            }
            _ => self.change(cx, action, Some((id, row))),
        }
    }

    fn offers(&self, action: Action) -> bool {
        match action {
            Action::Create
            | Action::Discover
            | Action::Update
            | Action::Delete
            | Action::DeleteAll => self.service(action, Some(String::new())).is_some(),
            Action::SignIn => matches!(self.of, Collection::Providers | Collection::Tokens(_)),
            Action::TokensOf => self.of == Collection::Providers,
            _ => true,
        }
    }

    fn can(&self, _cx: &Cx<'_>, action: Action) -> bool {
        match action {
            Action::Open | Action::Describe | Action::Copy | Action::TokensOf => {
                self.selected().is_some()
            }
            Action::Create
            | Action::Discover
            | Action::Update
            | Action::Delete
            | Action::DeleteAll => self
                .service(action, self.selected().map(|(id, _)| id))
                .is_some(),
            _ => true,
        }
    }

    fn table(&self) -> Option<&Table> {
        Some(&self.table)
    }

    fn table_mut(&mut self) -> Option<&mut Table> {
        Some(&mut self.table)
    }

    fn copied(&mut self) -> Option<String> {
        self.copy_text()
    }

    fn hints(&self) -> Option<&'static [&'static str]> {
        Some(self.useful_actions())
    }

    fn relayout(&mut self, cx: &Cx<'_>) {
        let ids = self.shown().into_iter().map(|(id, _)| id).collect();
        self.table.lay_out(ids, cx.session.overlay_rows().h.into());
    }

    fn profile(&self) -> Option<&str> {
        Some(&self.profile)
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        let now = cx.session.server_time(&self.profile);
        let columns = self.of.resource().columns;
        let cells = |row: &Value| columns.iter().map(|field| cell(field, row, now)).collect();
        let shown = self.shown();
        let all = self.rows.value.as_ref().map(Vec::len);
        let count = all.map(|all| match shown.len() {
            shown if shown < all => format!("{shown} of {all}"),
            _ => all.to_string(),
        });
        view::list(
            cx,
            canvas,
            &self.table,
            view::RecordPage {
                title: text::capitalized(self.of.plural()),
                about: self.about(cx),
                count,
                state: view::loading_state(&self.rows, self.loading, self.incomplete.as_ref()),
                titles: columns.iter().map(|field| field.title).collect(),
                rows: shown
                    .iter()
                    .map(|(_, row)| (Tone::Plain, cells(row)))
                    .collect(),
                max_last: MAX_COLUMN,
                empty: self.empty_state(cx.session),
            },
        );
        None
    }
}
