//! The pages of an agent server's records: versions of an assistant, crons, and the store as a tree.

mod actions;
mod rows;

pub use rows::Row;
use rows::RowOf;

use super::view;
use crate::input::action::{Action, Context};
use crate::session::loaded::Loaded;
use crate::session::msg::{Effect, EffectResult, ServerRef};
use crate::session::record_list::{RecordList, RecordQuery};
use crate::session::{Component, Cx, Requests, Session};
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};
use crate::widgets::table::Table;
use jiff::Timestamp;
use runtail_api::Kind;
use runtail_core::text::clean;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A page of records.
#[derive(Debug, Clone)]
pub struct Records {
    pub server: ServerRef,
    pub of: RecordList,
    /// The versions, the crons, or the namespaces.
    pub rows: Loaded<Vec<Value>>,
    /// The items of the namespaces that were opened.
    pub items: BTreeMap<Vec<String>, Loaded<Vec<Value>>>,
    /// The namespaces that are open, also those that only contain others.
    pub open: BTreeSet<Vec<String>>,
    /// The first assistant of the server, which a new cron runs unless the user names another one.
    pub assistant: Option<String>,
    /// The version to compare with.
    pub marked: Option<i64>,
    /// The numbers of the requests without a response; responses to others are ignored.
    pub waiting: Vec<u64>,
    table: Table,
}

/// Maximum width of the last column, which has the largest values.
const MAX_LAST: usize = 200;

impl Records {
    /// Creates an empty page.
    pub fn new(server: ServerRef, of: RecordList) -> Records {
        let open = match &of {
            RecordList::Store(prefix) if !prefix.is_empty() => BTreeSet::from([prefix.clone()]),
            _ => BTreeSet::new(),
        };
        Records {
            server,
            of,
            rows: Loaded::default(),
            items: BTreeMap::new(),
            open,
            assistant: None,
            marked: None,
            waiting: Vec::new(),
            table: Table::default(),
        }
    }

    /// Requests everything again that the page shows.
    pub fn reread(&mut self, session: &Session) -> Requests {
        self.waiting.clear();
        let mut queries = vec![match &self.of {
            RecordList::Versions { assistant, .. } => RecordQuery::Versions(assistant.clone()),
            RecordList::Crons => RecordQuery::Crons,
            RecordList::Store(prefix) => RecordQuery::Namespaces(prefix.clone()),
        }];
        if matches!(self.of, RecordList::Store(_)) {
            queries.extend(self.open.iter().cloned().map(RecordQuery::Items));
        }
        let mut out = Requests::none();
        for query in queries {
            out.push(self.request(session, query));
        }
        out
    }

    fn request(&mut self, session: &Session, query: RecordQuery) -> Effect {
        let number = session.next_stream.take();
        self.waiting.push(number);
        Effect::ListRecords(number, self.server.clone(), query)
    }

    /// Opens or closes a namespace. Its items are requested when it is opened.
    fn toggle(&mut self, session: &Session, namespace: Vec<String>, open: bool) -> Requests {
        if !open {
            self.open.remove(&namespace);
            return Requests::none();
        }
        if !self.open.insert(namespace.clone()) {
            return Requests::none();
        }
        self.request(session, RecordQuery::Items(namespace)).into()
    }

    /// Returns the selected row.
    fn selected(&self, now: Timestamp) -> Option<Row<'_>> {
        let id = self.table.selected()?;
        self.shown(now).into_iter().find(|row| row.id == *id)
    }

    /// Returns the title, and whose records these are.
    fn title(&self) -> (&'static str, Line) {
        let (title, mut line) = match &self.of {
            RecordList::Versions { name, .. } => ("Versions", Line::plain(name).with_dim(" on ")),
            RecordList::Crons => ("Crons", Line::new()),
            RecordList::Store(_) => ("Store", Line::new()),
        };
        line.push_plain(&self.server.name);
        if self.server.name != self.server.profile {
            line.push_dim(&format!(" ({})", self.server.profile));
        }
        (title, line)
    }

    /// Returns the text to show if there are no rows.
    fn empty_state(&self) -> (Tone, String) {
        let (what, hint) = match &self.of {
            RecordList::Versions { .. } => ("versions", ""),
            RecordList::Crons => ("crons", "\n\nPress a to create one."),
            RecordList::Store(_) => (
                "namespaces",
                "\n\nPress a to write an item. Some servers list no namespaces: :store NAMESPACE opens one.",
            ),
        };
        match (&self.rows.value, &self.rows.error) {
            (_, Some(error)) if error.kind == Kind::NotOffered => (Tone::Plain, error.story()),
            (_, Some(error)) if self.waiting.is_empty() => view::failed(error),
            (None, _) => (
                Tone::Dim,
                format!("Loading {what} of {}…", clean(&self.server.name)),
            ),
            (Some(_), _) => (Tone::Plain, format!("No {what}.{hint}")),
        }
    }

    fn useful_actions(&self) -> &'static [&'static str] {
        let is_missing = self
            .rows
            .error
            .as_ref()
            .is_some_and(|error| error.kind == Kind::NotOffered);
        let is_empty = self.rows.value.as_ref().is_some_and(Vec::is_empty);
        match self.of {
            _ if is_missing => &["app.back", "app.command", "app.help"],
            RecordList::Crons | RecordList::Store(_) if is_empty => &[
                "records.create",
                "app.refresh",
                "app.back",
                "app.command",
                "app.help",
            ],
            RecordList::Versions { .. } => &[
                "records.open",
                "records.mark",
                "records.compare",
                "records.restore",
                "records.schemas",
                "app.back",
                "records.graph",
                "app.help",
            ],
            RecordList::Crons => &[
                "records.open",
                "records.create",
                "records.update",
                "records.pause",
                "records.delete",
                "app.back",
                "app.help",
            ],
            RecordList::Store(_) => &[
                "records.open",
                "records.create",
                "records.update",
                "records.delete",
                "records.filter",
                "app.back",
                "app.help",
            ],
        }
    }
}

impl Component for Records {
    fn on_reply(&mut self, session: &mut Session, reply: &EffectResult) -> Option<Requests> {
        let EffectResult::RecordsListed(number, query, result) = reply else {
            return None;
        };
        let at = self.waiting.iter().position(|waiting| waiting == number)?;
        self.waiting.remove(at);
        let rows = match query {
            RecordQuery::Items(namespace) => self.items.entry(namespace.clone()).or_default(),
            _ => &mut self.rows,
        };
        rows.apply_list(result.clone(), session.now);
        Some(Requests::none())
    }

    fn on_open(&mut self, session: &Session) -> Requests {
        self.reread(session)
    }

    fn context(&self) -> Context {
        Context::Records
    }

    fn action(&mut self, cx: &Cx<'_>, action: Action) -> Requests {
        if action == Action::Refresh {
            return self.reread(cx.session);
        }
        self.act(cx, action)
    }

    fn offers(&self, action: Action) -> bool {
        let (is_versions, is_crons) = (
            matches!(self.of, RecordList::Versions { .. }),
            matches!(self.of, RecordList::Crons),
        );
        match action {
            Action::Mark | Action::Compare | Action::Rollback | Action::Schemas | Action::View9 => {
                is_versions
            }
            Action::Create | Action::Update | Action::Delete => !is_versions,
            Action::Pause => is_crons,
            Action::Left => matches!(self.of, RecordList::Store(_)),
            _ => true,
        }
    }

    fn can(&self, cx: &Cx<'_>, action: Action) -> bool {
        let row = self.selected(cx.session.now).map(|row| row.is);
        match (action, row) {
            (Action::Compare, Some(RowOf::Version(row))) => self.other_version(row).is_some(),
            (Action::Update | Action::Delete, row) => {
                matches!(row, Some(RowOf::Cron(_) | RowOf::Item(_)))
            }
            (
                Action::Open | Action::Mark | Action::Compare | Action::Rollback | Action::Pause,
                row,
            ) => row.is_some_and(|row| !matches!(row, RowOf::Note)),
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
        self.selected(Timestamp::UNIX_EPOCH)?.copied()
    }

    fn hints(&self) -> Option<&'static [&'static str]> {
        Some(self.useful_actions())
    }

    fn relayout(&mut self, cx: &Cx<'_>) {
        let now = cx.session.server_time(&self.server.profile);
        let rows = self.shown(now).into_iter();
        let ids = rows.map(|row| row.id).collect();
        self.table.lay_out(ids, cx.session.overlay_rows().h.into());
    }

    fn profile(&self) -> Option<&str> {
        Some(&self.server.profile)
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        let now = cx.session.server_time(&self.server.profile);
        let (title, about) = self.title();
        let what = if matches!(self.of, RecordList::Store(_)) {
            " namespaces"
        } else {
            ""
        };
        let rows = self.shown(now).into_iter().map(|row| match row.is {
            RowOf::Note => (Tone::Dim, row.cells),
            _ => (Tone::Plain, row.cells),
        });
        view::list(
            cx,
            canvas,
            &self.table,
            view::RecordPage {
                title: title.into(),
                about,
                count: self
                    .rows
                    .value
                    .as_ref()
                    .map(|all| format!("{}{what}", all.len())),
                state: view::loading_state(&self.rows, !self.waiting.is_empty(), None),
                titles: self.titles().to_vec(),
                rows: rows.collect(),
                max_last: MAX_LAST,
                empty: self.empty_state(),
            },
        );
        None
    }
}
