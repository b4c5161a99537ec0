//! Crons: reading them, and planning their changes (acting reference §9).

use crate::ServerInfo;
use crate::act::{RecordPlace, field};
use crate::pages::PAGE;
use crate::prelude::*;
use runtail_core::catalog::{CRON, Verb, fields_of};
use runtail_core::model::Change;

/// What changes by itself whenever a cron starts a run.
const MOVING: [&str; 2] = ["next_run_date", "updated_at"];
/// Crons among which one is looked for that can't be read by its id.
const MAX_LISTED: usize = 1_000;

impl AgentServer {
    /// Returns crons as received, the next run first.
    ///
    /// # Errors
    /// `Kind::NotOffered` if the server has no crons.
    #[boxed]
    pub async fn crons(&self, limit: usize, offset: usize) -> Result<Listing<Value>, ApiError> {
        let pages = self.pages("crons", None, (limit, offset), PAGE, |limit, offset| async move {
            let body = json!({"limit": limit, "offset": offset, "sort_by": "next_run_date", "sort_order": "asc"});
            self.search(&["runs", "crons", "search"], &body).await
        });
        match pages.whole().await {
            Err(error) => Err(self.offered(error, "crons", has_no_crons).await),
            rows => rows,
        }
    }

    /// Returns a cron as received.
    ///
    /// # Errors
    /// `Kind::NotOffered` if the server has no crons, `Kind::NotFound` if it has no such cron.
    #[boxed]
    pub async fn cron(&self, id: &str) -> Result<Value, ApiError> {
        let error = match self.get(&["runs", "crons", id], &[]).await {
            Ok(answer) => return answer.json(),
            Err(error) => error,
        };
        // Aegra has no call that reads one cron.
        let is_unreadable = error.status() == Some(405);
        let error = self.offered(error, "crons", has_no_crons).await;
        // An id that is no UUID is 422, and no cron has it.
        if !is_unreadable && !matches!(error.kind, Kind::NotFound | Kind::Invalid(_)) {
            return Err(error);
        }
        // JavaScript has this route for DELETE only, so its 404 is about the route.
        let listed = self
            .crons(if is_unreadable { MAX_LISTED } else { 1 }, 0)
            .await?;
        if let Some(row) = listed
            .items
            .into_iter()
            .find(|row| is_unreadable && row["cron_id"] == id)
        {
            return Ok(row);
        }
        let detail = format!("there is no cron {}", text::clean(id));
        Err(ApiError {
            kind: Kind::NotFound,
            detail,
            hint: None,
            ..error
        })
    }

    pub(super) async fn plan_new_cron(
        &self,
        thread: Option<&str>,
        fields: &Value,
    ) -> Result<Draft, PlanError> {
        check_names(fields, Verb::Create)?;
        let mut missing = Vec::new();
        for name in ["assistant_id", "schedule"] {
            if fields[name]
                .as_str()
                .is_none_or(|text| text.trim().is_empty())
            {
                missing.push(format!("{name} is missing"));
            }
        }
        if !missing.is_empty() {
            return Err(PlanError::Wrong(missing));
        }
        self.crons(1, 0).await?;
        if let Some(thread) = thread {
            self.thread_row(thread).await?;
        }
        let path = match thread {
            Some(thread) => &["threads", thread, "runs", "crons"][..],
            None => &["runs", "crons"],
        };
        let mut notes = vec![Note::fact(time_zone(&fields["timezone"]))];
        notes.push(match (thread, fields["on_run_completed"].as_str()) {
            (Some(thread), _) => {
                Note::fact(format!("Its runs start on thread {}.", short_id(thread)))
            }
            (None, Some("keep")) => Note::fact("Each run starts on a new thread, which is kept."),
            (None, _) => Note::fact(
                "Each run starts on a new thread, which is deleted when the run has ended.",
            ),
        });
        notes.push(if fields["enabled"] == false {
            Note::fact("It is created paused: it starts no runs until it is resumed.")
        } else {
            Note::warning("It starts runs by itself until it is paused or deleted.")
        });
        let changes = compare(&Value::Null, fields);
        let schedule = text::clean(text_of(fields, "schedule")).into_owned();
        let body = Some(fields.clone());
        Ok(Draft {
            title: format!("Create a cron ({schedule})"),
            changes,
            notes,
            steps: vec![Step::new(self, Method::POST, path, body, StepKind::Change)?],
            ..Draft::default()
        })
    }

    pub(super) async fn plan_cron_update(
        &self,
        cron: &str,
        fields: &Value,
    ) -> Result<Draft, PlanError> {
        check_names(fields, Verb::Update)?;
        let before = self.cron(cron).await?;
        let changes = changes(&before, fields);
        if changes.is_empty() {
            return nothing(format!(
                "Cron {} already has these settings.",
                short_id(cron)
            ));
        }
        let mut notes = Vec::new();
        if fields["schedule"].is_string() || fields["timezone"].is_string() {
            let zone = if fields["timezone"].is_string() {
                &fields["timezone"]
            } else {
                field(&before, "timezone")
            };
            notes.push(Note::fact(time_zone(zone)));
            notes.push(Note::fact("The server computes the next run."));
        }
        notes.push(Note::fact("Runs that it has started are not changed."));
        let body = Some(fields.clone());
        let draft = self.on_cron("Update", cron, before, Method::PATCH, body)?;
        Ok(Draft {
            changes,
            notes,
            ..draft
        })
    }

    pub(super) async fn plan_cron_switch(
        &self,
        cron: &str,
        enabled: bool,
    ) -> Result<Draft, PlanError> {
        let before = self.cron(cron).await?;
        let short = short_id(cron);
        if before["enabled"] == enabled {
            let how = if enabled { "enabled" } else { "paused" };
            return nothing(format!("Cron {short} is already {how}."));
        }
        let fields = json!({"enabled": enabled});
        let (verb, note) = if enabled {
            (
                "Resume",
                "It starts runs again by its schedule. Runs that it missed are not started.",
            )
        } else {
            (
                "Pause",
                "It starts no runs until it is resumed. Runs that it has started continue.",
            )
        };
        let changes = changes(&before, &fields);
        let draft = self.on_cron(verb, cron, before, Method::PATCH, Some(fields))?;
        Ok(Draft {
            changes,
            notes: vec![Note::fact(note)],
            ..draft
        })
    }

    /// Plans a request to a cron that was read.
    fn on_cron(
        &self,
        verb: &str,
        cron: &str,
        before: Value,
        method: Method,
        body: Option<Value>,
    ) -> Result<Draft, PlanError> {
        let name = format!("cron {}", short_id(cron));
        Ok(Draft {
            title: format!("{verb} {name}"),
            target: Some(Target::new("cron", cron, name)),
            guard: Guard::Record {
                at: RecordPlace::Cron(self.clone(), cron.into()),
                before,
                condition: Condition::Except(&MOVING),
            },
            steps: vec![Step::new(
                self,
                method,
                &["runs", "crons", cron],
                body,
                StepKind::Change,
            )?],
            ..Draft::default()
        })
    }

    pub(super) async fn plan_cron_deletion(&self, cron: &str) -> Result<Draft, PlanError> {
        let before = self.cron(cron).await?;
        let threads = match (
            before["thread_id"].is_string(),
            before["on_run_completed"] == "delete",
        ) {
            (true, _) => "its thread is kept",
            (false, true) => "their threads are deleted when they end, as its settings say",
            (false, false) => "their threads are kept",
        };
        let notes = vec![
            Note::fact(format!(
                "It starts no more runs. Runs that it has started continue, and {threads}."
            )),
            Note::warning("This can't be undone. Pausing it keeps its settings."),
        ];
        let draft = self.on_cron("Delete", cron, before, Method::DELETE, None)?;
        Ok(Draft { notes, ..draft })
    }
}

/// Returns whether a server has no crons: JavaScript answers 500 to their calls and has a flag in `/info`, early Aegra has no such
/// routes.
fn has_no_crons(info: &ServerInfo) -> bool {
    info.kind == ServerKind::Other || info.raw["flags"]["crons"] == false
}

/// Servers ignore unknown fields without an error.
fn check_names(fields: &Value, verb: Verb) -> Result<(), PlanError> {
    let known: Vec<&str> = fields_of(CRON, verb)
        .iter()
        .map(|field| field.name)
        .filter(|name| *name != "thread_id")
        .collect();
    let Some(fields) = fields.as_object() else {
        return wrong("a cron's settings are a JSON object");
    };
    let unknown: Vec<String> = fields
        .keys()
        .filter(|name| !known.contains(&name.as_str()))
        .cloned()
        .collect();
    let words = |name: &String| match name.as_str() {
        "assistant_id" | "thread_id" | "multitask_strategy" => {
            format!("{name} can't be changed; create a new cron instead")
        }
        name => format!(
            "unknown field {}; the fields are {}",
            text::clean(name),
            known.join(", ")
        ),
    };
    if unknown.is_empty() {
        Ok(())
    } else {
        Err(PlanError::Wrong(unknown.iter().map(words).collect()))
    }
}

fn time_zone(zone: &Value) -> String {
    match zone.as_str() {
        Some(zone) => format!("The schedule's times are in {}.", text::clean(zone)),
        None => "The schedule's times are UTC.".into(),
    }
}

fn changes(before: &Value, fields: &Value) -> Vec<Change> {
    let names = || {
        fields
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| name.clone())
    };
    let old: Value = names()
        .map(|name| (name.clone(), field(before, &name).clone()))
        .collect();
    compare(&old, fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_a_cron_is_no_change_of_its_settings() {
        let before = json!({"schedule": "* * * * *", "next_run_date": "2026-11-22T03:00:00Z", "updated_at": "a"});
        let mut now = json!({"schedule": "* * * * *", "next_run_date": "2026-11-22T03:01:00Z", "updated_at": "b"});
        assert_eq!(Condition::Except(&MOVING).broken_by(&before, &now), None);
        now["schedule"] = json!("*/2 * * * *");
        assert!(
            Condition::Except(&MOVING)
                .broken_by(&before, &now)
                .is_some()
        );
    }

    #[test]
    fn fields_that_a_server_ignored_are_reported() {
        let before =
            json!({"schedule": "0 9 * * *", "end_time": null, "payload": {"input": {"x": 1}}});
        let sent = json!({"schedule": "0 10 * * *", "input": {"x": 2}, "end_time": "2027-01-01T00:00:00Z"});
        let done = json!({"schedule": "0 10 * * *", "end_time": "2027-01-01T00:00:00+00:00", "payload": {"input": {"x": 2}}});
        let ignored = |after| crate::act::ignored_fields(Some(&sent), &before, after);
        assert!(ignored(&done).is_empty());
        assert_eq!(ignored(&before), ["schedule", "input", "end_time"]);
    }

    #[test]
    fn an_assistant_of_a_cron_cannot_be_changed() {
        let Err(PlanError::Wrong(reasons)) =
            check_names(&json!({"assistant_id": "a", "color": 1}), Verb::Update)
        else {
            panic!("accepted");
        };
        assert!(
            reasons[0].starts_with("assistant_id can't be changed"),
            "{reasons:?}"
        );
        assert!(reasons[1].starts_with("unknown field color"), "{reasons:?}");
    }
}
