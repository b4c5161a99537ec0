//! What can be done with a record. Changes are edited as documents, previewed and then sent.

use super::rows::RowOf;
use super::{RecordPage, RecordSource};
use crate::input::action::Action;
use crate::session::msg::{Described, ServerRef};
use crate::session::record_list::RecordList;
use crate::session::subject::Subject;
use crate::session::{Cx, Requests, Route};
use runtail_api::{ResourceIntent, assistant_fields};
use runtail_core::catalog::{CRON, Field, Verb, fields_of};
use runtail_core::model::{Configuration, state_document};
use runtail_core::text::{clean, short_id};
use serde_json::{Map, Value, json};

impl RecordPage {
    pub(super) fn act(&mut self, cx: &Cx<'_>, server: ServerRef, action: Action) -> Requests {
        let RecordSource::Server(_, of) = self.source.clone() else {
            return Requests::none();
        };
        match (action, &of) {
            (Action::Create, RecordList::Crons | RecordList::Store(_)) => {
                return self.create(cx, server, &of);
            }
            (Action::Schemas, RecordList::Versions { assistant, .. }) => {
                return Route::Record(Described::Schemas(server, assistant.clone())).into();
            }
            (Action::View5, RecordList::Versions { assistant, name }) => {
                return Route::Graph(server, assistant.to_string(), name.to_string()).into();
            }
            _ => {}
        }
        let change = |intent| Route::on_resource(server.clone(), intent).into();
        let Some(row) = self.selected(cx.session.now) else {
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
                format!("version {} of {}", row["version"], subject(&of)),
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
            (Action::Compare, RowOf::Version(row)) => self.compare(&subject(&of), row),
            (Action::Rollback, RowOf::Version(row)) => match (&of, row["version"].as_i64()) {
                (RecordList::Versions { assistant, .. }, Some(version)) => {
                    change(ResourceIntent::RestoreVersion {
                        assistant: assistant.to_string(),
                        version,
                    })
                }
                _ => Requests::none(),
            },
            (Action::Pause, RowOf::Cron(row)) => change(ResourceIntent::EnableCron {
                cron: id_of(row),
                enabled: row["enabled"] == false,
            }),
            (Action::Delete, RowOf::Cron(row)) => {
                change(ResourceIntent::DeleteCron { cron: id_of(row) })
            }
            (Action::Delete, RowOf::Item(row)) => {
                let key = row["key"].as_str().unwrap_or_default().to_string();
                change(ResourceIntent::DeleteItem {
                    namespace: namespace_of(row),
                    key,
                })
            }
            (Action::Update, RowOf::Cron(row)) => update_cron(cx, server, row),
            (Action::Update, RowOf::Item(row)) => update_item(cx, server, row),
            _ => Requests::none(),
        }
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
    fn compare(&self, subject: &str, row: &Value) -> Requests {
        let Some(other) = self.other_version(row) else {
            return Requests::info("Mark another version with Space first.");
        };
        let number = |row: &Value| row["version"].as_i64();
        let (before, after) = if number(other) < number(row) {
            (other, row)
        } else {
            (row, other)
        };
        let side = |row: &Value| Configuration::of_version(subject, row, assistant_fields(row));
        Route::CompareVersions(Box::new([side(before), side(after)])).into()
    }

    fn create(&self, cx: &Cx<'_>, server: ServerRef, of: &RecordList) -> Requests {
        let (subject, document) = match of {
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
                (subject, document)
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
                (subject, document)
            }
        };
        edit(cx, self.profile_name(), subject, &document)
    }
}

/// Opens a document in the editor, if its profile allows changes.
fn edit(cx: &Cx<'_>, profile: &str, subject: Subject, document: &Value) -> Requests {
    match cx.session.is_read_only(profile) {
        true => Requests::error(cx.session.read_only_text(profile)),
        false => Route::Edit(subject, pretty(document)).into(),
    }
}

fn update_cron(cx: &Cx<'_>, server: ServerRef, row: &Value) -> Requests {
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
    let profile = server.profile.clone();
    let subject = Subject::Cron {
        server,
        cron: Some(id_of(row).into()),
        original: original.to_string().into(),
        name: cron_name(row).into(),
    };
    edit(cx, &profile, subject, &original)
}

fn update_item(cx: &Cx<'_>, server: ServerRef, row: &Value) -> Requests {
    let key = row["key"].as_str().unwrap_or_default();
    let value = &row["value"];
    let profile = server.profile.clone();
    let subject = Subject::Item {
        server,
        at: Some((namespace_of(row), key.into())),
        original: value.to_string().into(),
        name: item_name(row).into(),
    };
    edit(cx, &profile, subject, value)
}

/// Returns the name of the assistant whose versions are listed.
fn subject(of: &RecordList) -> String {
    match of {
        RecordList::Versions { name, .. } => clean(name).into_owned(),
        RecordList::Crons | RecordList::Store(_) => String::new(),
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
