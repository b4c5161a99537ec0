//! What can be done with a record. Changes are edited as documents, previewed and then sent.

use super::Records;
use super::rows::RowOf;
use crate::input::action::Action;
use crate::session::msg::Described;
use crate::session::record_list::RecordList;
use crate::session::subject::Subject;
use crate::session::{Cx, Requests, Route};
use runtail_api::{ResourceIntent, assistant_fields};
use runtail_core::catalog::{CRON, Field, Verb, fields_of};
use runtail_core::model::{Configuration, state_document};
use runtail_core::text::{clean, short_id};
use serde_json::{Map, Value, json};

impl Records {
    pub(super) fn act(&mut self, cx: &Cx<'_>, action: Action) -> Requests {
        let now = cx.session.now;
        if let (Action::Create, RecordList::Crons | RecordList::Store(_)) = (action, &self.of) {
            return self.create(cx);
        }
        if let (Action::Schemas, RecordList::Versions { assistant, .. }) = (action, &self.of) {
            return Route::Record(Described::Schemas(self.server.clone(), assistant.clone()))
                .into();
        }
        if let (Action::View9, RecordList::Versions { assistant, name }) = (action, &self.of) {
            return Route::Graph(self.server.clone(), assistant.to_string(), name.to_string())
                .into();
        }
        let Some(row) = self.selected(now) else {
            return Requests::none();
        };
        match (action, row.is) {
            (Action::Open | Action::Right | Action::Left, RowOf::Namespace(labels, is_open)) => {
                let open = if action == Action::Open {
                    !is_open
                } else {
                    action == Action::Right
                };
                self.toggle(cx.session, labels, open)
            }
            (Action::Open | Action::Right, RowOf::Version(row)) => Requests::inspect(
                format!("version {} of {}", row["version"], self.subject()),
                row,
            ),
            (Action::Open | Action::Right, RowOf::Cron(row)) => {
                Requests::inspect(format!("cron {}", cron_name(row)), row)
            }
            (Action::Open | Action::Right, RowOf::Item(row)) => {
                Requests::inspect(format!("item {}", item_name(row)), row)
            }
            (Action::Left, RowOf::Item(row)) => {
                let labels = namespace_of(row);
                self.table.prefer(format!("n {}", labels.join(".")));
                self.toggle(cx.session, labels, false)
            }
            (Action::Mark, RowOf::Version(row)) => {
                let version = row["version"].as_i64();
                self.marked = if self.marked == version {
                    None
                } else {
                    version
                };
                Requests::none()
            }
            (Action::Compare, RowOf::Version(row)) => self.compare(row),
            (Action::Rollback, RowOf::Version(row)) => match (&self.of, row["version"].as_i64()) {
                (RecordList::Versions { assistant, .. }, Some(version)) => {
                    self.change(ResourceIntent::RestoreVersion {
                        assistant: assistant.to_string(),
                        version,
                    })
                }
                _ => Requests::none(),
            },
            (Action::Pause, RowOf::Cron(row)) => self.change(ResourceIntent::EnableCron {
                cron: id_of(row),
                enabled: row["enabled"] == false,
            }),
            (Action::Delete, RowOf::Cron(row)) => {
                self.change(ResourceIntent::DeleteCron { cron: id_of(row) })
            }
            (Action::Delete, RowOf::Item(row)) => {
                let key = row["key"].as_str().unwrap_or_default().to_string();
                self.change(ResourceIntent::DeleteItem {
                    namespace: namespace_of(row),
                    key,
                })
            }
            (Action::Update, RowOf::Cron(row)) => self.update_cron(cx, row),
            (Action::Update, RowOf::Item(row)) => self.update_item(cx, row),
            _ => Requests::none(),
        }
    }

    fn subject(&self) -> String {
        match &self.of {
            RecordList::Versions { name, .. } => clean(name).into_owned(),
            _ => clean(&self.server.name).into_owned(),
        }
    }

    fn change(&self, intent: ResourceIntent) -> Requests {
        Route::on_resource(self.server.clone(), intent).into()
    }

    /// Returns the version to compare one with: the marked one, else the current one.
    pub(super) fn other_version(&self, row: &Value) -> Option<&Value> {
        let versions = || self.rows.value.iter().flatten();
        let marked = versions()
            .find(|other| self.marked.is_some() && other["version"].as_i64() == self.marked);
        let other = marked.or_else(|| versions().find(|other| other["is_current"] == true));
        other.filter(|other| other["version"] != row["version"])
    }

    /// Compares a version with another one. The lower number is the earlier side.
    fn compare(&self, row: &Value) -> Requests {
        let Some(other) = self.other_version(row) else {
            return Requests::info("Nothing to compare: mark another version with Space first.");
        };
        let number = |row: &Value| row["version"].as_i64();
        let (before, after) = if number(other) < number(row) {
            (other, row)
        } else {
            (row, other)
        };
        let side =
            |row: &Value| Configuration::of_version(&self.subject(), row, assistant_fields(row));
        Route::CompareVersions(Box::new([side(before), side(after)])).into()
    }

    /// Returns the notice that nothing can be changed, if so.
    fn sealed(&self, cx: &Cx<'_>) -> Option<Requests> {
        let profile = &self.server.profile;
        cx.session
            .is_read_only(profile)
            .then(|| Requests::error(cx.session.read_only_text(profile)))
    }

    fn create(&self, cx: &Cx<'_>) -> Requests {
        if let Some(sealed) = self.sealed(cx) {
            return sealed;
        }
        let server = self.server.clone();
        match &self.of {
            RecordList::Crons => {
                let assistant = self.assistant.clone().unwrap_or_default();
                let document = json!({
                    "assistant_id": assistant, "schedule": "0 9 * * *", "timezone": "UTC", "input": {},
                    "on_run_completed": "delete",
                });
                let subject = Subject::Cron {
                    server,
                    cron: None,
                    original: "{}".into(),
                    name: "a cron".into(),
                };
                Route::Edit(subject, pretty(&document)).into()
            }
            _ => {
                let namespace = match self.selected(cx.session.now).map(|row| row.is) {
                    Some(RowOf::Namespace(labels, _)) => labels,
                    Some(RowOf::Item(row)) => namespace_of(row),
                    _ => Vec::new(),
                };
                let document = json!({"namespace": namespace.join("."), "key": "", "value": {}});
                let subject = Subject::Item {
                    server,
                    at: None,
                    original: "null".into(),
                    name: "a new item".into(),
                };
                Route::Edit(subject, pretty(&document)).into()
            }
        }
    }

    fn update_cron(&self, cx: &Cx<'_>, row: &Value) -> Requests {
        if let Some(sealed) = self.sealed(cx) {
            return sealed;
        }
        let always = ["schedule", "timezone", "end_time", "enabled"];
        let mut fields = Map::new();
        for Field { name, .. } in fields_of(CRON, Verb::Update) {
            let value = if row[name].is_null() {
                &row["payload"][name]
            } else {
                &row[name]
            };
            if !value.is_null() || always.contains(&name) {
                let mut value = value.clone();
                let configurable = value.get_mut("configurable").and_then(Value::as_object_mut);
                if let Some(config) = configurable.filter(|_| name == "config") {
                    // The server's own.
                    config.remove("cron_id");
                }
                fields.insert(name.into(), value);
            }
        }
        let original = Value::Object(fields);
        let subject = Subject::Cron {
            server: self.server.clone(),
            cron: Some(id_of(row).into()),
            original: original.to_string().into(),
            name: cron_name(row).into(),
        };
        Route::Edit(subject, pretty(&original)).into()
    }

    fn update_item(&self, cx: &Cx<'_>, row: &Value) -> Requests {
        if let Some(sealed) = self.sealed(cx) {
            return sealed;
        }
        let key = row["key"].as_str().unwrap_or_default();
        let value = &row["value"];
        let subject = Subject::Item {
            server: self.server.clone(),
            at: Some((namespace_of(row), key.into())),
            original: value.to_string().into(),
            name: item_name(row).into(),
        };
        Route::Edit(subject, pretty(value)).into()
    }
}

/// Returns a document to edit.
fn pretty(value: &Value) -> String {
    let whole = || serde_json::to_string_pretty(value).unwrap_or_default() + "\n";
    state_document(&value.to_string()).unwrap_or_else(whole)
}

fn id_of(row: &Value) -> String {
    row["cron_id"].as_str().unwrap_or_default().to_string()
}

fn cron_name(row: &Value) -> String {
    short_id(&id_of(row))
}

fn namespace_of(row: &Value) -> Vec<String> {
    let labels = row["namespace"].as_array().into_iter().flatten();
    labels
        .filter_map(|label| label.as_str().map(str::to_string))
        .collect()
}

fn item_name(row: &Value) -> String {
    clean(&format!(
        "{} {}",
        namespace_of(row).join("."),
        row["key"].as_str().unwrap_or_default()
    ))
    .into_owned()
}
