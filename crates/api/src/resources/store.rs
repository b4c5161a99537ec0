//! The store: namespaces and items, and planning their changes (acting reference §9).

use crate::ServerInfo;
use crate::act::RecordPlace;
use crate::pages::PAGE;
use crate::prelude::*;
use crate::rows::UnreadRows;

impl AgentServer {
    /// Returns the namespaces that have items, each as its labels. `depth` cuts them.
    ///
    /// # Errors
    /// `Kind::NotOffered` if the server has no store.
    #[boxed]
    pub async fn store_namespaces(
        &self,
        prefix: &[String],
        depth: Option<usize>,
        limit: usize,
        offset: usize,
    ) -> Result<Listing<Vec<String>>, ApiError> {
        let mut pages = self.pages(
            "namespaces",
            Some("namespaces"),
            (limit, offset),
            PAGE,
            |limit, offset| async move {
                let mut body = json!({"limit": limit, "offset": offset});
                // JavaScript refuses an empty prefix.
                if !prefix.is_empty() {
                    body["prefix"] = json!(prefix);
                }
                if let Some(depth) = depth {
                    body["max_depth"] = json!(depth);
                }
                self.search(&["store", "namespaces"], &body).await
            },
        );
        let mut all = Listing::new(Vec::new(), UnreadRows::of("namespaces"));
        loop {
            match pages.next_new().await {
                Ok(Some(rows)) => all.items.extend(
                    rows.iter()
                        .filter_map(|row| all.unread.keep(labels(row.get()))),
                ),
                Ok(None) => return Ok(all),
                Err(error) => return Err(self.offered(error, "a store", has_no_store).await),
            }
        }
    }

    /// Returns the items below a namespace as received. An empty one means all.
    ///
    /// # Errors
    /// `Kind::NotOffered` if the server has no store.
    #[boxed]
    pub async fn store_items(
        &self,
        prefix: &[String],
        query: Option<&str>,
        filter: Option<&Value>,
        limit: usize,
        offset: usize,
    ) -> Result<Listing<Value>, ApiError> {
        let pages = self.pages(
            "items",
            Some("items"),
            (limit, offset),
            PAGE,
            |limit, offset| async move {
                // A body without `namespace_prefix` is a 500 on Python.
                let mut body =
                    json!({"namespace_prefix": prefix, "limit": limit, "offset": offset});
                if let Some(query) = query {
                    body["query"] = json!(query);
                }
                if let Some(filter) = filter {
                    body["filter"] = filter.clone();
                }
                self.search(&["store", "items", "search"], &body).await
            },
        );
        match pages.whole().await {
            Err(error) => Err(self.offered(error, "a store", has_no_store).await),
            items => items,
        }
    }

    /// Returns an item as received; null if there is none.
    ///
    /// # Errors
    /// `Kind::NotOffered` if the server has no store.
    #[boxed]
    pub async fn store_item(&self, namespace: &[String], key: &str) -> Result<Value, ApiError> {
        let key = ("key", key.to_string());
        let repeated = || {
            namespace
                .iter()
                .map(|label| ("namespace", label.clone()))
                .chain([key.clone()])
                .collect()
        };
        let query: Vec<(&str, String)> = if self.quirks.known().repeats_namespace {
            repeated()
        } else {
            vec![("namespace", namespace.join(".")), key.clone()]
        };
        let answer = match self.get(&["store", "items"], &query).await {
            // Aegra takes a parameter for each label, and fails at a dot. The others return nothing for repeated parameters.
            Err(error)
                if error.status() == Some(500)
                    && namespace.len() > 1
                    && !self.quirks.known().repeats_namespace =>
            {
                let mut answer = self.get(&["store", "items"], &repeated()).await;
                // Aegra's server closes the connection after that error, sometimes while the next request is sent on it.
                if answer
                    .as_ref()
                    .is_err_and(|error| matches!(error.kind, Kind::Network | Kind::NoConnection))
                {
                    answer = self.get(&["store", "items"], &repeated()).await;
                }
                if answer.as_ref().is_ok()
                    || answer
                        .as_ref()
                        .is_err_and(|error| error.kind == Kind::NotFound)
                {
                    self.quirks.learn(|known| known.repeats_namespace = true);
                }
                answer.map_err(|other| {
                    if other.kind == Kind::NotFound {
                        other
                    } else {
                        error
                    }
                })
            }
            answer => answer,
        };
        match answer {
            Ok(answer) => answer.maybe_json(),
            Err(error) => match self.offered(error, "a store", has_no_store).await {
                error if error.kind == Kind::NotFound => Ok(Value::Null),
                error => Err(error),
            },
        }
    }

    pub(super) async fn plan_put(
        &self,
        namespace: &[String],
        key: &str,
        value: &Value,
        edited_from: Option<&Value>,
    ) -> Result<Draft, PlanError> {
        let mut reasons = wrong_place(namespace, key);
        if !value.is_object() {
            reasons.push("the value must be a JSON object: servers refuse others".into());
        }
        if !reasons.is_empty() {
            return Err(PlanError::Wrong(reasons));
        }
        let before = self.store_item(namespace, key).await?;
        if edited_from.is_some_and(|edited| *edited != before["value"]) {
            let now = if before.is_null() {
                "was deleted"
            } else {
                "has changed"
            };
            return refuse(format!(
                "The item {now} since it was opened for editing. Open it again to edit its current value."
            ));
        }
        if before["value"] == *value {
            return nothing("The item already has this value.");
        }
        let name = name_of(namespace, key);
        let mut notes = Vec::new();
        let verb = if before.is_null() {
            "Create"
        } else {
            "Replace"
        };
        if !before.is_null() {
            notes.push(Note::warning(
                "The whole value is replaced. The store keeps no history, so the old value can't be restored.",
            ));
        }
        let changes = compare(&before["value"], value);
        let item = RecordPlace::Item(self.clone(), namespace.to_vec(), key.into());
        let body = json!({"namespace": namespace, "key": key, "value": value});
        let kind = StepKind::Put(item.clone());
        Ok(Draft {
            changes,
            notes,
            steps: vec![Step::new(
                self,
                Method::PUT,
                &["store", "items"],
                Some(body),
                kind,
            )?],
            ..on_item(verb, name, item, before)
        })
    }

    pub(super) async fn plan_item_deletion(
        &self,
        namespace: &[String],
        key: &str,
    ) -> Result<Draft, PlanError> {
        let reasons = wrong_place(namespace, key);
        if !reasons.is_empty() {
            return Err(PlanError::Wrong(reasons));
        }
        let before = self.store_item(namespace, key).await?;
        let name = name_of(namespace, key);
        if before.is_null() {
            // Servers answer a deletion of nothing like any other.
            return refuse(format!("There is no item {name}."));
        }
        let changes = compare(&before["value"], &Value::Null);
        let item = RecordPlace::Item(self.clone(), namespace.to_vec(), key.into());
        let body = Some(json!({"namespace": namespace, "key": key}));
        let path = ["store", "items"];
        Ok(Draft {
            changes,
            notes: vec![Note::warning(
                "The store keeps no history, so the value can't be restored.",
            )],
            steps: vec![Step::new(
                self,
                Method::DELETE,
                &path,
                body,
                StepKind::Change,
            )?],
            ..on_item("Delete", name, item, before)
        })
    }
}

/// Whether a server has no store: one that has only the contract's calls.
fn has_no_store(info: &ServerInfo) -> bool {
    info.kind == ServerKind::Other
}

fn labels(row: &str) -> Result<Vec<String>, String> {
    serde_json::from_str(row)
        .map_err(|_| format!("a row is not a namespace: {}", text::fit(row, 40)))
}

/// Servers refuse these as plain text, or fail.
fn wrong_place(namespace: &[String], key: &str) -> Vec<String> {
    let mut reasons = Vec::new();
    if namespace.is_empty() {
        reasons.push("the namespace is empty".to_string());
    }
    if namespace
        .iter()
        .any(|label| label.is_empty() || label.contains('.'))
    {
        reasons.push("a namespace's labels must not be empty or contain dots".into());
    }
    if key.is_empty() {
        reasons.push("the key is empty".into());
    }
    reasons
}

fn name_of(namespace: &[String], key: &str) -> String {
    text::clean(&format!("{} {key}", namespace.join("."))).into_owned()
}

/// The plan of a change of an item that was read; null if there is none.
fn on_item(verb: &str, name: String, at: RecordPlace, before: Value) -> Draft {
    Draft {
        title: format!("{verb} item {name}"),
        target: Some(Target::new("item", &name, format!("item {name}"))),
        guard: Guard::Record {
            at,
            before,
            condition: Condition::Except(&["created_at", "updated_at"]),
        },
        ..Draft::default()
    }
}
