//! Sends a change of a record once, and reports its result.

use super::{Applied, Plan, Server, StartError, Step, StepKind, TargetNow};
use crate::named_newest;
use crate::prelude::*;
use runtail_core::model::{NewRevision, Phase, parse_time};

/// Number of revisions to search for the new one.
const SEARCHED_REVISIONS: usize = 20;
/// The other spelling of `interruption` in the path of the interrupt call.
const OTHER_INTERRUPT: &str = "interrupt";

impl Plan {
    pub(super) async fn send_change(
        &self,
        step: &Step,
        seen: &TargetNow,
    ) -> Result<Applied, StartError> {
        let now = match seen {
            TargetNow::Record(now) => Some(now),
            _ => None,
        };
        let mut answer = self.send_once(step, &step.url).await;
        if let (StepKind::Interrupt, Err(error)) = (&step.kind, &answer)
            && matches!(error.kind, Kind::NotFound | Kind::Status(405))
        {
            answer = self.interrupt_by_other_path(step, error.clone()).await;
        }
        // An error may repeat secrets of the record that were not sent.
        let secrets = Secrets::of_records(
            &self
                .guard
                .before()
                .into_iter()
                .chain(now)
                .collect::<Vec<_>>(),
        );
        let record = answer.and_then(|answer| answer.maybe_json());
        let record =
            record.map_err(|error| StartError::sent(with_known_cause(error).without(&secrets)))?;
        let mut applied = Applied {
            record,
            ..Applied::default()
        };
        match (&step.kind, &step.server) {
            (StepKind::Restore(assistant), Server::Agent(server)) => {
                let sent = step.body.as_ref().unwrap_or(&Value::Null);
                applied.complaint = server.not_restored(assistant, sent, &applied.record).await;
            }
            (StepKind::Put(item), _) => {
                // What can't be read again is unknown, not an error: the change was made.
                applied.record = item.read().await.unwrap_or_default();
                let sent = step.body.as_ref().map(|body| &body["value"]);
                if !applied.record.is_null() && Some(&applied.record["value"]) != sent {
                    applied.complaint =
                        Some("the server has another value than the one sent".into());
                }
            }
            (_, Server::Agent(_)) if step.method == reqwest::Method::DELETE => {
                applied.record = Value::Null;
            }
            _ => {
                if let (StepKind::Deploy(made_from), Server::Control(server)) =
                    (&step.kind, &step.server)
                {
                    (applied.revision, applied.doubt) = self
                        .created_revision(server, made_from, now, &applied.record)
                        .await;
                }
                let ignored =
                    now.map(|before| ignored_fields(step.body.as_ref(), before, &applied.record));
                applied.complaint = ignored.filter(|fields| !fields.is_empty()).map(|fields| {
                    let fields = text::clean(&fields.join(", ")).into_owned();
                    format!("the server accepted the change, but its response shows the old values of: {fields}")
                });
            }
        }
        Ok(applied)
    }

    async fn send_once(&self, step: &Step, url: &Url) -> Result<Answer, ApiError> {
        let (http, _, service) = step.server.parts();
        // No change has a list as its response or a body that may be sent twice.
        let call = Call {
            body: step.body.as_ref(),
            about: self.guard.before(),
            expect: step.expect,
            ..Call::new(service, step.method.clone(), url.clone())
        };
        let shown = (*url == step.url).then_some(&self.preview.request);
        http.once(&call, &mut None, Some((&self.preview.title, shown)))
            .await
    }

    /// Makes the interrupt call by its other path. The first path was unknown to the server, so nothing was done; a missing
    /// revision answers 404 too, so that is checked first.
    async fn interrupt_by_other_path(
        &self,
        step: &Step,
        error: ApiError,
    ) -> Result<Answer, ApiError> {
        let Some(revision) = self.guard.record() else {
            return Err(error);
        };
        revision.read().await?;
        let mut url = step.url.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop().push(OTHER_INTERRUPT);
        }
        let neither = "it has neither form of this call; it may not support interrupting";
        self.send_once(step, &url)
            .await
            .map_err(|error| match error.kind {
                Kind::NotFound | Kind::Status(405) => error.hinted(neither),
                _ => error,
            })
    }

    /// Finds the revision that a change created: the new one with the source that was sent. A push may create another one at the
    /// same time, so the newest is not enough.
    async fn created_revision(
        &self,
        server: &ControlPlane,
        made_from: &Value,
        before: Option<&Value>,
        after: &Value,
    ) -> (Option<String>, Option<String>) {
        let may_make_none = match self.preview.revision {
            NewRevision::Yes(_) => false,
            NewRevision::May(_) => true,
            NewRevision::No(_) | NewRevision::NotAsked => return (None, None),
        };
        let named = named_newest(after);
        let Some(before) = before else {
            return (named.map(str::to_string), None);
        };
        let known = named_newest(before);
        let named = named.filter(|id| Some(*id) != known).map(str::to_string);
        let rows = match server
            .revision_rows(text_of(before, "id"), SEARCHED_REVISIONS)
            .await
        {
            Ok(revisions) => revisions.items,
            Err(error) => {
                let why = format!("the revisions could not be listed ({})", error.detail);
                return (named, Some(why));
            }
        };
        if known.is_none_or(|known| rows.iter().all(|row| row["id"] != known)) {
            return (named, Some("it is unknown which revisions are new".into()));
        }
        let new: Vec<&Value> = rows
            .iter()
            .take_while(|row| row["id"].as_str() != known)
            .collect();
        let fitting: Vec<&Value> = new
            .iter()
            .copied()
            .filter(|row| is_made_from(row, made_from))
            .collect();
        let (made, doubt) = match (new.as_slice(), fitting.as_slice()) {
            (_, [one]) => return (id_of(one), None),
            ([], _) if may_make_none => return (None, None),
            ([one], _) => (
                Some(*one),
                "the only new revision has another source than the one sent".to_string(),
            ),
            // A redeployed revision may keep its id; the reference doesn't say. If its status is still final, it is the old one.
            ([], _) => {
                let target = self.preview.target.as_ref();
                let again = |row: &&Value| {
                    target.is_some_and(|target| target.kind == "revision" && row["id"] == target.id)
                        && !Phase::of(text_of(row, "status")).is_final()
                };
                let why = "the server accepted the change, but shows no new revision";
                (rows.iter().find(again), why.into())
            }
            ([newest, ..], []) => (
                Some(*newest),
                format!(
                    "none of the {} new revisions has the source that was sent",
                    new.len()
                ),
            ),
            // Revisions with the same source are equivalent: a push at the same time created the others.
            (_, [.., first]) => (
                Some(*first),
                format!(
                    "{} new revisions have the source that was sent",
                    fitting.len()
                ),
            ),
        };
        (made.and_then(id_of), Some(doubt))
    }
}

fn id_of(row: &Value) -> Option<String> {
    row["id"].as_str().map(str::to_string)
}

/// Returns a field of a record. What the runs of a cron get is in its payload.
pub fn field<'r>(row: &'r Value, name: &str) -> &'r Value {
    match &row[name] {
        Value::Null => &row["payload"][name],
        value => value,
    }
}

/// Returns the sent fields that the response shows unchanged. The source of a revision is checked in the revision instead,
/// and secrets can't be compared.
pub fn ignored_fields(sent: Option<&Value>, before: &Value, after: &Value) -> Vec<String> {
    const NOT_SHOWN: [&str; 6] = [
        "source_revision_config",
        "secrets",
        "client_secret",
        "secret_references",
        "revision_source",
        "tracked_packages",
    ];
    let is_equal = |a: &Value, b: &Value| {
        let time = |value: &Value| value.as_str().and_then(parse_time);
        compare(a, b).is_empty() || time(a).is_some_and(|a| Some(a) == time(b))
    };
    let mut ignored = Vec::new();
    for (name, sent) in sent.and_then(Value::as_object).into_iter().flatten() {
        let (was, is) = (field(before, name), field(after, name));
        match (name.as_str(), sent) {
            (name, _) if NOT_SHOWN.contains(&name) => {}
            ("source_config", Value::Object(fields)) => {
                let fields = fields.iter().filter(|(name, sent)| {
                    let (was, is) = (&was[*name], &is[*name]);
                    !is.is_null() && is_equal(was, is) && !is_equal(sent, is)
                });
                ignored.extend(fields.map(|(field, _)| format!("{name}.{field}")));
            }
            // A field that the response leaves out is unknown.
            _ if after.get(name).is_none() && is.is_null() => {}
            _ if is_equal(was, is) && !is_equal(sent, is) => ignored.push(name.clone()),
            _ => {}
        }
    }
    ignored
}

/// Returns whether a revision has this source, as far as known. Not every server reports it.
fn is_made_from(row: &Value, source: &Value) -> bool {
    let made = &row["source_revision_config"];
    let mut known = source
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, value)| !value.is_null());
    made.is_null() || known.all(|(field, value)| made[field] == *value)
}

/// Adds a hint to errors with a known cause.
fn with_known_cause(error: ApiError) -> ApiError {
    // Control-plane reference §6. If the server says so itself, the error has a hint already.
    if error.kind == Kind::Conflict
        && error.hint.is_none()
        && error.at.path.ends_with("/v2/deployments")
    {
        return error.hinted(
            "the tracing project of an earlier deployment of that name may still be there: choose another name, or delete \
             that project; `deployments delete --delete-tracing-project` takes it along the next time",
        );
    }
    error
}
