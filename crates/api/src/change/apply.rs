//! Applies a plan: sends it once if the target has not changed, and finds the resulting revision.

use crate::answer::Service;
use crate::http::{Call, MAX_BODY, REQUEST_TIMEOUT};
use crate::response::Answer;
use crate::{ApiError, ControlPlane, Kind, Place, Retry, named_newest};
use reqwest::Method;
use runtail_core::model::{Guard, NewRevision, Phase, Plan, Secrets, compare, without_natural};
use runtail_core::text;
use serde_json::Value;

/// Number of revisions to search for the new one.
const LOOKED_THROUGH: usize = 20;
/// Maximum number of changed fields that a check names.
const MAX_CHANGED: usize = 5;
/// The two spellings of the interrupt call.
const SPELLINGS: [&str; 2] = ["interruption", "interrupt"];

/// The result of a change.
#[derive(Clone)]
pub struct Applied {
    /// The server's response: usually the new record, secrets included. Null if it was empty.
    pub record: Value,
    /// The revision that this change created.
    pub revision: Option<String>,
    /// Why the revision is uncertain.
    pub doubt: Option<String>,
    /// Fields that are unchanged in the server's response although it accepted the change.
    pub unseen: Vec<String>,
}

impl std::fmt::Debug for Applied {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The record contains secrets.
        f.debug_struct("Made")
            .field("revision", &self.revision)
            .field("doubt", &self.doubt)
            .finish_non_exhaustive()
    }
}

impl Applied {
    /// Returns a warning if the server accepted the change but its response shows old values.
    pub fn complaint(&self) -> Option<String> {
        (!self.unseen.is_empty()).then(|| {
            let unseen = text::clean(&self.unseen.join(", ")).into_owned();
            format!(
                "the server accepted the change, but its response shows the old values of: {unseen}"
            )
        })
    }
}

impl ControlPlane {
    /// Applies a planned change: reads the target again, then sends the request once.
    ///
    /// # Errors
    /// `Kind::ReadOnly` before any request. `Kind::Stale` if the target is gone or was changed in a relevant part: nothing was
    /// sent. Else the server's error; its hint says if the change may have been applied nevertheless.
    pub async fn apply(&self, plan: &Plan) -> Result<Applied, ApiError> {
        let method = method(plan);
        let url = self.plan_url(&method, &plan.path, &plan.query)?;
        let place = self.http.place(&method, &url);
        self.http.check_write(&place)?;
        let now = self.still_so(plan, &place).await?;
        let answer = match self.send_plan(plan, &plan.path).await {
            Err(error) if is_missing_route(plan, &error) => {
                self.send_other_spelling(plan, error).await
            }
            other => other,
        };
        // An error may repeat secrets of the record that were not sent.
        let secrets = Secrets::of_records(&plan.before.iter().chain(&now).collect::<Vec<_>>());
        let failed = |error: ApiError| explained(error).without(&secrets);
        let record = answer
            .and_then(|answer| answer.maybe_json())
            .map_err(failed)?;
        let (revision, doubt) = self.made_by(plan, now.as_ref(), &record).await;
        let unseen = now.map_or_else(Vec::new, |before| {
            unseen(plan.body.as_ref(), &before, &record)
        });
        Ok(Applied {
            record,
            revision,
            doubt,
            unseen,
        })
    }

    /// Reads the target of a plan again. Returns which fields of it differ by now, except those that the change is about, times
    /// and status; nothing if there is no call that reads it.
    ///
    /// # Errors
    /// `Kind::Stale` as for [`ControlPlane::apply`], or the server's error.
    pub async fn check_target(&self, plan: &Plan) -> Result<Option<Vec<String>>, ApiError> {
        let method = method(plan);
        let place = self
            .http
            .place(&method, &self.plan_url(&method, &plan.path, &plan.query)?);
        let Some(now) = self.still_so(plan, &place).await? else {
            return Ok(None);
        };
        let before = plan.before.as_ref().unwrap_or(&Value::Null);
        let mut changed: Vec<String> = without_natural(compare(before, &now))
            .into_iter()
            .map(|change| change.path)
            .collect();
        changed.truncate(MAX_CHANGED);
        Ok(Some(changed))
    }

    async fn send_plan(&self, plan: &Plan, path: &[String]) -> Result<Answer, ApiError> {
        let method = method(plan);
        let url = self.plan_url(&method, path, &plan.query)?;
        let (body, about, expect) = (plan.body.as_ref(), plan.before.as_ref(), plan.expect);
        // No change has a list as its response or a body that may be sent twice.
        let call = Call {
            plane: Service::Control,
            method,
            url,
            body,
            about,
            expect,
            is_list: false,
            reads: false,
            timeout: REQUEST_TIMEOUT,
            max_body: MAX_BODY,
            retry: Retry::NONE,
        };
        let shown = (path == plan.path).then_some(&plan.preview.request);
        self.http
            .once(&call, &mut None, Some((&plan.preview.title, shown)))
            .await
    }

    /// Makes the interrupt call by its other path. The first path was unknown to the server, so nothing was done; a missing
    /// revision answers 404 too, so that is checked first.
    async fn send_other_spelling(&self, plan: &Plan, error: ApiError) -> Result<Answer, ApiError> {
        let Some((_, revision)) = plan.path.split_last() else {
            return Err(error);
        };
        self.row_at(revision).await?;
        let other = [revision, &[SPELLINGS[1].to_string()]].concat();
        let neither = "it has neither form of this call; it may not support interrupting";
        self.send_plan(plan, &other)
            .await
            .map_err(|error| match error.kind {
                Kind::NotFound | Kind::Status(405) => error.hinted(neither),
                _ => error,
            })
    }

    /// Reads a record by its path.
    async fn row_at(&self, path: &[String]) -> Result<Value, ApiError> {
        let url = self.plan_url(&Method::GET, path, &[])?;
        self.call(Method::GET, url, None, &[200], false)
            .await?
            .json()
    }

    /// Checks the target again. Returns its current record.
    async fn still_so(&self, plan: &Plan, place: &Place) -> Result<Option<Value>, ApiError> {
        let record = match &plan.guard {
            Guard::None => return Ok(None),
            Guard::Same { record, .. } | Guard::Unfinished { record } => record,
        };
        let stale = |why: String| {
            let detail = format!("{why}: nothing was sent");
            let hint = Some("preview the change again".to_string());
            ApiError {
                kind: Kind::Stale,
                at: place.clone(),
                detail,
                hint,
            }
        };
        let name = plan
            .preview
            .target
            .as_ref()
            .map_or("the target", |target| target.name.as_str());
        let now = match self.row_at(record).await {
            Ok(now) => now,
            Err(ApiError {
                kind: Kind::NotFound,
                ..
            }) => {
                return Err(stale(format!("{name} disappeared after the preview")));
            }
            Err(error) => return Err(error.hinted("nothing was sent")),
        };
        let before = plan.before.as_ref().unwrap_or(&Value::Null);
        if super::is_being_deleted(&now) && !super::is_being_deleted(before) {
            return Err(stale(format!("{name} was deleted after the preview")));
        }
        match &plan.guard {
            Guard::Unfinished { .. } => {
                let status = now["status"].as_str().unwrap_or_default();
                if Phase::of(status).is_final() {
                    return Err(stale(format!("{name} is now {}", text::clean(status))));
                }
            }
            Guard::Same { parts, .. } => {
                let part =
                    |record: &Value, at: &str| record.pointer(at).cloned().unwrap_or_default();
                let differs =
                    |at: &&String| !compare(&part(before, at), &part(&now, at)).is_empty();
                let changed: Vec<String> = parts
                    .iter()
                    .filter(differs)
                    .map(|at| at.trim_start_matches('/').replace('/', "."))
                    .collect();
                if !changed.is_empty() {
                    return Err(stale(format!(
                        "{name} changed after the preview ({})",
                        changed.join(", ")
                    )));
                }
            }
            Guard::None => {}
        }
        Ok(Some(now))
    }

    /// Finds the revision that this change created: the new one with the source that was sent. A push may create another one
    /// at the same time, so the newest is not enough.
    async fn made_by(
        &self,
        plan: &Plan,
        before: Option<&Value>,
        after: &Value,
    ) -> (Option<String>, Option<String>) {
        if !matches!(
            plan.preview.revision,
            NewRevision::Yes(_) | NewRevision::May(_)
        ) {
            return (None, None);
        }
        let named = named_newest(after);
        let Some(before) = before else {
            return (named.map(str::to_string), None);
        };
        let known = named_newest(before);
        let named = named.filter(|id| Some(*id) != known).map(str::to_string);
        let rows = match self
            .revision_rows(before["id"].as_str().unwrap_or_default(), LOOKED_THROUGH)
            .await
        {
            Ok(revisions) => revisions.items,
            Err(error) => {
                return (
                    named,
                    Some(format!(
                        "the revisions could not be listed ({})",
                        error.detail
                    )),
                );
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
            .filter(|row| is_made_from(row, &plan.made_from))
            .collect();
        let id = |row: &Value| row["id"].as_str().map(str::to_string);
        match (new.as_slice(), fitting.as_slice()) {
            (_, [one]) => (id(one), None),
            ([one], _) => (
                id(one),
                Some("the only new revision has another source than the one sent".into()),
            ),
            ([], _) if matches!(plan.preview.revision, NewRevision::May(_)) => (None, None),
            // A redeployed revision may keep its id; the reference doesn't say. If its status is still final, it is the old one.
            ([], _) => {
                let target = plan
                    .preview
                    .target
                    .as_ref()
                    .filter(|target| target.kind == "revision");
                let again =
                    target.and_then(|target| rows.iter().find(|row| row["id"] == target.id));
                let again = again.filter(|row| {
                    !Phase::of(row["status"].as_str().unwrap_or_default()).is_final()
                });
                (
                    again.and_then(id),
                    Some("the server accepted the change, but shows no new revision".into()),
                )
            }
            ([newest, ..], []) => (
                id(newest),
                Some(format!(
                    "none of the {} new revisions has the source that was sent",
                    new.len()
                )),
            ),
            // Revisions with the same source are equivalent: a push at the same time created the others.
            (_, [.., first]) => (
                id(first),
                Some(format!(
                    "{} new revisions have the source that was sent",
                    fitting.len()
                )),
            ),
        }
    }
}

fn method(plan: &Plan) -> Method {
    Method::from_bytes(plan.method.as_bytes()).unwrap_or(Method::POST)
}

/// Returns the sent fields that the response shows unchanged. The source of a revision is checked in the revision instead,
/// and secrets can't be compared.
fn unseen(sent: Option<&Value>, before: &Value, after: &Value) -> Vec<String> {
    const NOT_SHOWN: [&str; 6] = [
        "source_revision_config",
        "secrets",
        "client_secret",
        "secret_references",
        "revision_source",
        "tracked_packages",
    ];
    let is_unseen = |sent: &Value, before: &Value, after: &Value| {
        !after.is_null() && compare(before, after).is_empty() && !compare(sent, after).is_empty()
    };
    let mut unseen = Vec::new();
    for (name, sent) in sent.and_then(Value::as_object).into_iter().flatten() {
        let (before, after) = (&before[name], &after[name]);
        match (name.as_str(), sent) {
            (name, _) if NOT_SHOWN.contains(&name) => {}
            ("source_config", Value::Object(fields)) => {
                let fields = fields
                    .iter()
                    .filter(|(name, sent)| is_unseen(sent, &before[*name], &after[*name]));
                unseen.extend(fields.map(|(field, _)| format!("{name}.{field}")));
            }
            _ if is_unseen(sent, before, after) => unseen.push(name.clone()),
            _ => {}
        }
    }
    unseen
}

/// Whether a revision has this source, as far as known. Not every server reports it.
fn is_made_from(row: &Value, source: &Value) -> bool {
    let made = &row["source_revision_config"];
    if made.is_null() {
        return true;
    }
    let mut known = source
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, value)| !value.is_null());
    known.all(|(field, value)| made[field] == *value)
}

/// Whether the server lacks the call's first path. The error of a missing revision has its id.
fn is_missing_route(plan: &Plan, error: &ApiError) -> bool {
    plan.path.last().is_some_and(|last| last == SPELLINGS[0])
        && matches!(error.kind, Kind::NotFound | Kind::Status(405))
}

/// Adds a hint to errors with a known cause.
fn explained(error: ApiError) -> ApiError {
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
