//! Pages of records: integrations, listeners, providers and tokens of one profile at a time; versions of an assistant, crons and
//! the store of an agent server.

mod actions;
mod collections;
mod rows;

use super::view;
use crate::input::action::{Action, Context};
use crate::input::commands::Commands;
use crate::session::loaded::Loaded;
use crate::session::msg::{Effect, EffectResult, ServerRef};
use crate::session::record_list::{RecordList, RecordQuery};
use crate::session::{Component, Cx, Requests, Session};
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};
use crate::widgets::table::{MAX_COLUMN, Table};
use jiff::Timestamp;
use rows::{RecordRow, RowOf};
use runtail_api::{ApiError, Kind};
use runtail_core::model::Collection;
use runtail_core::text::{self, clean};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Whose records a page lists, and which.
#[derive(Debug, Clone)]
pub enum RecordSource {
    /// Of a profile's control plane.
    Collection {
        profile: Arc<str>,
        of: Collection,
        /// The name of the list's parent: the account of an integration, the slug of a provider. Empty if it has none.
        owner: String,
    },
    Server(ServerRef, RecordList),
}

/// A page of records.
#[derive(Debug, Clone)]
pub struct RecordPage {
    source: RecordSource,
    /// The records with masked secrets. Of the store, the namespaces.
    rows: Loaded<Vec<Value>>,
    /// Why the list may be incomplete.
    incomplete: Option<ApiError>,
    /// The items of the namespaces that were opened.
    items: BTreeMap<Vec<String>, Loaded<Vec<Value>>>,
    /// The namespaces that are open, also those that only contain others.
    open: BTreeSet<Vec<String>>,
    /// The first assistant of the server, which a new cron runs unless the user names another one.
    pub assistant: Option<String>,
    /// The version to compare with.
    marked: Option<i64>,
    /// The numbers of the requests without a response; responses to others are ignored.
    waiting: Vec<u64>,
    table: Table,
}

/// Maximum width of the last column of a server's records, which has the largest values.
const MAX_LAST: usize = 200;

impl RecordPage {
    /// Creates an empty page.
    pub fn new(source: RecordSource) -> RecordPage {
        let open = match &source {
            RecordSource::Server(_, RecordList::Store(prefix)) if !prefix.is_empty() => {
                BTreeSet::from([prefix.clone()])
            }
            _ => BTreeSet::new(),
        };
        RecordPage {
            source,
            rows: Loaded::default(),
            incomplete: None,
            items: BTreeMap::new(),
            open,
            assistant: None,
            marked: None,
            waiting: Vec::new(),
            table: Table::default(),
        }
    }

    /// Requests everything again that the page shows.
    fn load(&mut self, session: &Session) -> Requests {
        self.waiting.clear();
        let query = match &self.source {
            RecordSource::Collection { profile, of, .. } => {
                let number = session.next_stream.take();
                self.waiting.push(number);
                return Effect::Browse(number, profile.clone(), of.clone()).into();
            }
            RecordSource::Server(_, RecordList::Versions { assistant, .. }) => {
                RecordQuery::Versions(assistant.clone())
            }
            RecordSource::Server(_, RecordList::Crons) => RecordQuery::Crons,
            RecordSource::Server(_, RecordList::Store(prefix)) => {
                RecordQuery::Namespaces(prefix.clone())
            }
        };
        let items: Vec<RecordQuery> = self.open.iter().cloned().map(RecordQuery::Items).collect();
        let mut requests = Requests::none();
        for query in std::iter::once(query).chain(items) {
            requests.extend(self.request(session, query));
        }
        requests
    }

    fn request(&mut self, session: &Session, query: RecordQuery) -> Requests {
        let Some(server) = self.server().cloned() else {
            return Requests::none();
        };
        let number = session.next_stream.take();
        self.waiting.push(number);
        Effect::ListRecords(number, server, query).into()
    }

    /// Opens or closes a namespace. Its items are requested when it is opened.
    fn toggle(&mut self, session: &Session, namespace: Vec<String>, open: bool) -> Requests {
        if !open {
            self.open.remove(&namespace);
        } else if self.open.insert(namespace.clone()) {
            return self.request(session, RecordQuery::Items(namespace));
        }
        Requests::none()
    }

    /// Returns the agent server whose records these are, if they are not those of a control plane.
    pub fn server(&self) -> Option<&ServerRef> {
        match &self.source {
            RecordSource::Collection { .. } => None,
            RecordSource::Server(server, _) => Some(server),
        }
    }

    /// Returns the profile of the records.
    pub fn profile_name(&self) -> &Arc<str> {
        match &self.source {
            RecordSource::Collection { profile, .. } => profile,
            RecordSource::Server(server, _) => &server.profile,
        }
    }

    /// Returns the selected row.
    fn selected(&self, now: Timestamp) -> Option<RecordRow<'_>> {
        let id = self.table.selected()?;
        self.shown(now).into_iter().find(|row| row.id == *id)
    }

    /// Returns the title, and whose records these are.
    fn title(&self, session: &Session) -> (String, Line) {
        let (title, line, name, note) = match &self.source {
            RecordSource::Collection { profile, of, owner } => {
                let mut line = Line::plain(owner);
                if !owner.is_empty() {
                    line.push_dim(" in ");
                }
                let tag = session.profile(profile).map_or(&**profile, |p| p.tag());
                (text::capitalized(of.plural()), line, profile, tag)
            }
            RecordSource::Server(server, of) => {
                let (title, line) = match of {
                    RecordList::Versions { name, .. } => {
                        ("Versions", Line::plain(name).with_dim(" on "))
                    }
                    RecordList::Crons => ("Crons", Line::new()),
                    RecordList::Store(_) => ("Store", Line::new()),
                };
                (title.into(), line, &server.name, &*server.profile)
            }
        };
        let mut line = line.with_plain(name);
        if **name != *note {
            line.push_dim(&format!(" ({note})"));
        }
        (title, line)
    }

    /// Returns how many records there are.
    fn count(&self, shown: usize) -> Option<String> {
        let all = self.rows.value.as_ref()?.len();
        Some(match &self.source {
            RecordSource::Collection { .. } if shown < all => format!("{shown} of {all}"),
            RecordSource::Server(_, RecordList::Store(_)) => format!("{all} namespaces"),
            _ => all.to_string(),
        })
    }

    /// Returns the text to show if there are no rows.
    fn empty_state(&self, session: &Session) -> (Tone, String) {
        let (what, name, hint) = match &self.source {
            RecordSource::Collection { of, profile, .. } => {
                let others = session.profiles.iter().filter(|p| p.control_plane).count() > 1;
                let hint = match others {
                    true => "\n\nTab shows the next profile.",
                    false => "",
                };
                (of.plural(), profile, hint)
            }
            RecordSource::Server(server, of) => {
                let (what, hint) = match of {
                    RecordList::Versions { .. } => ("versions", ""),
                    RecordList::Crons => ("crons", "\n\na creates one."),
                    RecordList::Store(_) => (
                        "namespaces",
                        "\n\na writes an item; :store NAMESPACE opens an unlisted namespace.",
                    ),
                };
                (what, &server.name, hint)
            }
        };
        match (&self.rows.value, &self.rows.error) {
            (_, Some(error)) if self.is_missing() => (Tone::Plain, error.story()),
            (_, Some(error)) if self.waiting.is_empty() => {
                (Tone::Bad, format!("{}\n\nPress r to retry.", error.story()))
            }
            (None, _) => (Tone::Dim, format!("Loading {what} of {}…", clean(name))),
            (Some(_), _) => (Tone::Plain, format!("No {what}.{hint}")),
        }
    }

    /// Returns whether an agent server doesn't offer such records.
    fn is_missing(&self) -> bool {
        let error = self.rows.error.as_ref().filter(|_| self.server().is_some());
        error.is_some_and(|error| error.kind == Kind::NotOffered)
    }

    /// Returns what the title says of the newest request, and of rows that couldn't be read.
    fn loading_state(&self) -> (Tone, String) {
        let rows = &self.rows;
        match (&rows.error, &self.incomplete, &rows.unread) {
            _ if !self.waiting.is_empty() => (Tone::Moving, "loading…".to_string()),
            (Some(error), ..) if rows.value.is_some() => {
                (Tone::Bad, format!("outdated: {}; r retries", error.badge()))
            }
            (_, Some(error), _) => (Tone::Moving, format!("incomplete: {}", error.badge())),
            (.., Some(unread)) => (Tone::Bad, clean(unread).into_owned()),
            _ => (Tone::Dim, String::new()),
        }
    }

    /// Returns the time by the clock of the server of the records.
    fn now(&self, session: &Session) -> Timestamp {
        session.server_time(self.profile_name())
    }

    /// Returns what the footer shows of the records of an agent server, most useful first.
    fn useful_actions(&self, of: &RecordList) -> &'static [&'static str] {
        let is_empty = self.rows.value.as_ref().is_some_and(Vec::is_empty);
        match of {
            _ if self.is_missing() => &["app.back"],
            RecordList::Crons | RecordList::Store(_) if is_empty => {
                &["records.create", "app.refresh", "app.back"]
            }
            RecordList::Versions { .. } => &[
                "records.open",
                "records.mark",
                "records.compare",
                "records.restore",
                "records.schemas",
                "app.back",
                "records.graph",
            ],
            RecordList::Crons => &[
                "records.open",
                "records.create",
                "records.update",
                "records.pause",
                "records.delete",
                "app.back",
            ],
            RecordList::Store(_) => &[
                "records.open",
                "records.create",
                "records.update",
                "records.delete",
                "records.filter",
                "app.back",
            ],
        }
    }
}

impl Component for RecordPage {
    fn on_open(&mut self, session: &Session) -> Requests {
        self.load(session)
    }

    fn reread(&mut self, session: &Session) -> Option<Requests> {
        Some(self.load(session))
    }

    fn on_reply(&mut self, session: &mut Session, reply: &EffectResult) -> Option<Requests> {
        let (number, result) = match reply {
            EffectResult::Browsed(number, result) => (number, result),
            EffectResult::RecordsListed(number, _, result) => (number, result),
            _ => return None,
        };
        let at = self.waiting.iter().position(|waiting| waiting == number)?;
        self.waiting.remove(at);
        let rows = match reply {
            EffectResult::RecordsListed(_, RecordQuery::Items(namespace), _) => {
                self.items.entry(namespace.clone()).or_default()
            }
            _ => &mut self.rows,
        };
        rows.apply_list(result.clone(), session.now);
        if let EffectResult::Browsed(..) = reply {
            if let Ok(listing) = result {
                self.incomplete.clone_from(&listing.incomplete);
            }
            let incomplete = result.as_ref().map(|listing| listing.incomplete.as_ref());
            if let Some(error) = incomplete.unwrap_or_else(Some) {
                session.report_error(error);
            }
        }
        Some(Requests::none())
    }

    fn context(&self) -> Context {
        match self.source {
            RecordSource::Collection { .. } => Context::Browse,
            RecordSource::Server(..) => Context::Records,
        }
    }

    fn tab_name(&self) -> Option<String> {
        match &self.source {
            RecordSource::Collection { of, .. } => Some(text::capitalized(of.plural())),
            RecordSource::Server(..) => None,
        }
    }

    fn action(&mut self, cx: &Cx<'_>, action: Action) -> Requests {
        if action == Action::Refresh {
            return self.load(cx.session);
        }
        match self.server().cloned() {
            None => self.act_on_collection(cx, action),
            Some(server) => self.act(cx, server, action),
        }
    }

    fn commands(&self, cx: &Cx<'_>) -> Commands {
        let (row, all) = (self.selected(cx.session.now), Commands::of(self.context()));
        let of = match &self.source {
            RecordSource::Collection { of, .. } => {
                return collections::commands(of, row.map(|row| row.id), all);
            }
            RecordSource::Server(_, of) => of,
        };
        let row = row.map(|row| row.is);
        let is_versions = matches!(of, RecordList::Versions { .. });
        let is_row = row.as_ref().is_some_and(|row| !matches!(row, RowOf::Note));
        let is_record = matches!(row, Some(RowOf::Cron(_) | RowOf::Item(_)));
        let has_other =
            matches!(row, Some(RowOf::Version(row)) if self.other_version(row).is_some());
        let changes = ["records.create", "records.update", "records.delete"];
        let of_versions = [
            "records.mark",
            "records.compare",
            "records.restore",
            "records.schemas",
            "records.graph",
        ];
        let of_row = [
            "records.open",
            "records.mark",
            "records.restore",
            "records.pause",
        ];
        all.exist_if(is_versions, &of_versions)
            .exist_if(!is_versions, &changes)
            .exist_if(matches!(of, RecordList::Crons), &["records.pause"])
            .exist_if(matches!(of, RecordList::Store(_)), &["move.left"])
            .enable_if(is_row, &of_row)
            .enable_if(is_record, &["records.update", "records.delete"])
            .enable_if(has_other, &["records.compare"])
            .own(&["app.refresh"])
            .footer(self.useful_actions(of))
    }

    fn table(&self) -> Option<&Table> {
        Some(&self.table)
    }

    fn table_mut(&mut self) -> Option<&mut Table> {
        Some(&mut self.table)
    }

    fn copied(&mut self) -> Option<String> {
        use Collection::{InstallationRepositories, Repositories};
        let row = self.selected(Timestamp::UNIX_EPOCH)?;
        let url = match (&self.source, &row.is) {
            // Deployments refer to a repository by its URL.
            (
                RecordSource::Collection {
                    of: Repositories(..) | InstallationRepositories(_),
                    ..
                },
                RowOf::Record(record),
            ) => record["url"].as_str(),
            _ => None,
        };
        url.map(str::to_string).or_else(|| row.copied())
    }

    fn relayout(&mut self, cx: &Cx<'_>) {
        let rows = self.shown(self.now(cx.session)).into_iter();
        let ids = rows.map(|row| row.id).collect();
        self.table.lay_out(ids, cx.session.overlay_rows().h.into());
    }

    fn profile(&self) -> Option<&str> {
        Some(self.profile_name())
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        let shown = self.shown(self.now(cx.session));
        let (title, mut about) = self.title(cx.session);
        if let Some(count) = self.count(shown.len()) {
            about.push_dim(&format!("   {count}"));
        }
        let (tone, state) = self.loading_state();
        let rows = shown.into_iter().map(|row| match row.is {
            RowOf::Note => (Tone::Dim, row.cells),
            _ => (Tone::Plain, row.cells),
        });
        let (titles, max_last) = match &self.source {
            RecordSource::Collection { .. } => (self.titles(), MAX_COLUMN),
            RecordSource::Server(..) => (self.titles(), MAX_LAST),
        };
        let contents = view::TableContents {
            title,
            about,
            state: Line::new().right(tone, &state),
            titles,
            rows: rows.collect(),
            max_last,
            empty: self.empty_state(cx.session),
        };
        view::list(cx, canvas, &self.table, contents);
        None
    }
}
