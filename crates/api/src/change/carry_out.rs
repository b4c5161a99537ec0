//! Sends a plan, once, if what it is about still is as it was; and finds the revision that came of it.

use crate::answer::Plane;
use crate::http::{Answer, Call, MAX_BODY, REQUEST_TIMEOUT};
use crate::{ApiError, ControlPlane, Kind, Place, Retry, named_newest};
use reqwest::Method;
use runtail_core::model::{Guard, NewRevision, Phase, Plan, Secrets, compare};
use runtail_core::text;
use serde_json::Value;

/// Revisions among which the new one is looked for.
const LOOKED_THROUGH: usize = 20;
/// The two spellings of the call that interrupts.
const SPELLINGS: [&str; 2] = ["interruption", "interrupt"];

/// What a change made.
#[derive(Clone)]
pub struct Made {
    /// What the server answered: mostly the record as it is now, secrets included. Null where it answered nothing.
    pub record: Value,
    /// The revision that this very change made.
    pub revision: Option<String>,
    /// Why it is not sure that it is that revision.
    pub doubt: Option<String>,
    /// Fields that the server's own answer shows as they were before, though it took the change.
    pub unseen: Vec<String>,
}

impl std::fmt::Debug for Made {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The record holds secrets.
        f.debug_struct("Made").field("revision", &self.revision).field("doubt", &self.doubt).finish_non_exhaustive()
    }
}

impl Made {
    /// What is not as a change that was taken should leave it, in a sentence; nothing where all is as it was wanted.
    pub fn complaint(&self) -> Option<String> {
        (!self.unseen.is_empty()).then(|| {
            let unseen = text::clean(&self.unseen.join(", ")).into_owned();
            format!("the server took the change, but its answer shows as before: {unseen}")
        })
    }
}

impl ControlPlane {
    /// Makes a planned change. What it is about is read again first; then it is sent once, and never again.
    ///
    /// # Errors
    /// `Kind::ReadOnly` before anything is asked. `Kind::Stale` where the target is gone by now, or differs in what the
    /// change is about: nothing was sent. Else what the server answered; the hint says where it may have been done all the
    /// same.
    pub async fn carry_out(&self, plan: &Plan) -> Result<Made, ApiError> {
        let method = method(plan);
        let url = self.plan_url(&method, &plan.path, &plan.query)?;
        let place = self.http.place(&method, &url);
        self.http.check_write(&place)?;
        let now = self.still_so(plan, &place).await?;
        let answer = match self.send_plan(plan, &plan.path).await {
            Err(error) if is_missing_route(plan, &error) => self.send_other_spelling(plan, error).await,
            other => other,
        };
        // A refusal may repeat what the record holds, and was not sent.
        let secrets = Secrets::of_records(&plan.before.iter().chain(&now).collect::<Vec<_>>());
        let failed = |error: ApiError| explained(error).without(&secrets);
        let record = answer.and_then(|answer| answer.maybe_json()).map_err(failed)?;
        let (revision, doubt) = self.made_by(plan, now.as_ref(), &record).await;
        let unseen = now.map_or_else(Vec::new, |before| unseen(plan.body.as_ref(), &before, &record));
        Ok(Made { record, revision, doubt, unseen })
    }

    async fn send_plan(&self, plan: &Plan, path: &[String]) -> Result<Answer, ApiError> {
        let method = method(plan);
        let url = self.plan_url(&method, path, &plan.query)?;
        let (body, about, expect) = (plan.body.as_ref(), plan.before.as_ref(), plan.expect);
        // Whoever wants a change answered with a list, or asked twice, is not here.
        let call = Call {
            plane: Plane::Control,
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
        self.http.once(&call, &mut None, Some((&plan.preview.title, shown))).await
    }

    /// The call that interrupts, by its other name. The first one was refused as a path that nobody knows, so nothing was
    /// done; a revision that is gone answers 404 as well, which is found out first.
    async fn send_other_spelling(&self, plan: &Plan, error: ApiError) -> Result<Answer, ApiError> {
        let Some((_, revision)) = plan.path.split_last() else { return Err(error) };
        self.row_at(revision).await?;
        let other = [revision, &[SPELLINGS[1].to_string()]].concat();
        let neither = "it knows neither spelling of this call: it may not be able to interrupt";
        self.send_plan(plan, &other).await.map_err(|error| match error.kind {
            Kind::NotFound | Kind::Status(405) => hinted(error, neither),
            _ => error,
        })
    }

    /// Reads a record by its path.
    async fn row_at(&self, path: &[String]) -> Result<Value, ApiError> {
        let url = self.plan_url(&Method::GET, path, &[])?;
        self.call(Method::GET, url, None, &[200], false).await?.json()
    }

    /// Looks at what the change is about once more. Gives the record as it is now.
    async fn still_so(&self, plan: &Plan, place: &Place) -> Result<Option<Value>, ApiError> {
        let record = match &plan.guard {
            Guard::None => return Ok(None),
            Guard::Same { record, .. } | Guard::Unfinished { record } => record,
        };
        let stale = |why: String| {
            let detail = format!("{why}: nothing was sent");
            let hint = Some("look at it again, and plan the change anew".to_string());
            ApiError { kind: Kind::Stale, at: place.clone(), detail, hint }
        };
        let name = plan.preview.target.as_ref().map_or("what this is about", |target| target.name.as_str());
        let now = match self.row_at(record).await {
            Ok(now) => now,
            Err(ApiError { kind: Kind::NotFound, .. }) => {
                return Err(stale(format!("{name} vanished since it was looked at")));
            }
            Err(error) => return Err(hinted(error, "nothing was sent")),
        };
        let before = plan.before.as_ref().unwrap_or(&Value::Null);
        if super::is_being_deleted(&now) && !super::is_being_deleted(before) {
            return Err(stale(format!("{name} was deleted since it was looked at")));
        }
        match &plan.guard {
            Guard::Unfinished { .. } => {
                let status = now["status"].as_str().unwrap_or_default();
                if Phase::of(status).is_final() {
                    return Err(stale(format!("{name} is {} by now", text::clean(status))));
                }
            }
            Guard::Same { parts, .. } => {
                let part = |record: &Value, at: &str| record.pointer(at).cloned().unwrap_or_default();
                let differs = |at: &&String| !compare(&part(before, at), &part(&now, at)).is_empty();
                let changed: Vec<String> =
                    parts.iter().filter(differs).map(|at| at.trim_start_matches('/').replace('/', ".")).collect();
                if !changed.is_empty() {
                    return Err(stale(format!("{name} changed since it was looked at ({})", changed.join(", "))));
                }
            }
            Guard::None => {}
        }
        Ok(Some(now))
    }

    /// The revision that this change made: the new one that was made from what was sent. A push may land at the same moment,
    /// so the newest alone says nothing where there are several.
    async fn made_by(&self, plan: &Plan, before: Option<&Value>, after: &Value) -> (Option<String>, Option<String>) {
        if !matches!(plan.preview.revision, NewRevision::Yes(_) | NewRevision::May(_)) {
            return (None, None);
        }
        let named = named_newest(after);
        let Some(before) = before else { return (named.map(str::to_string), None) };
        let known = named_newest(before);
        let named = named.filter(|id| Some(*id) != known).map(str::to_string);
        let rows = match self.revision_rows(before["id"].as_str().unwrap_or_default(), LOOKED_THROUGH).await {
            Ok(revisions) => revisions.items,
            Err(error) => {
                return (
                    named,
                    Some(format!("the revisions could not be listed to make sure of it ({})", error.detail)),
                );
            }
        };
        if known.is_none_or(|known| rows.iter().all(|row| row["id"] != known)) {
            return (named, Some("which revisions are new cannot be told".into()));
        }
        let new: Vec<&Value> = rows.iter().take_while(|row| row["id"].as_str() != known).collect();
        let fitting: Vec<&Value> = new.iter().copied().filter(|row| is_made_from(row, &plan.made_from)).collect();
        let id = |row: &Value| row["id"].as_str().map(str::to_string);
        match (new.as_slice(), fitting.as_slice()) {
            (_, [one]) => (id(one), None),
            ([one], _) => (id(one), Some("the only new revision is not made from what was sent".into())),
            ([], _) if matches!(plan.preview.revision, NewRevision::May(_)) => (None, None),
            // What is deployed again may keep its id: the reference leaves that open. One that is still settled is as it was.
            ([], _) => {
                let target = plan.preview.target.as_ref().filter(|target| target.kind == "revision");
                let again = target.and_then(|target| rows.iter().find(|row| row["id"] == target.id));
                let again = again.filter(|row| !Phase::of(row["status"].as_str().unwrap_or_default()).is_final());
                (again.and_then(id), Some("the server took the change, but shows no new revision".into()))
            }
            ([newest, ..], []) => {
                (id(newest), Some(format!("of {} new revisions none is made from what was sent", new.len())))
            }
            // Of those that are alike the first is as good as any: a push at the same moment made the others.
            (_, [.., first]) => {
                (id(first), Some(format!("{} new revisions are made from what was sent", fitting.len())))
            }
        }
    }
}

fn method(plan: &Plan) -> Method {
    Method::from_bytes(plan.method.as_bytes()).unwrap_or(Method::POST)
}

/// The fields that were sent and that the answer shows as they were before. What a revision is made from is no part of it:
/// that is looked for in the revision; and of secrets only the service knows.
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
                let fields = fields.iter().filter(|(name, sent)| is_unseen(sent, &before[*name], &after[*name]));
                unseen.extend(fields.map(|(field, _)| format!("{name}.{field}")));
            }
            _ if is_unseen(sent, before, after) => unseen.push(name.clone()),
            _ => {}
        }
    }
    unseen
}

/// Whether a revision is made from this source, as far as that is known. Not every server says what one is made from.
fn is_made_from(row: &Value, source: &Value) -> bool {
    let made = &row["source_revision_config"];
    if made.is_null() {
        return true;
    }
    let mut known = source.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    known.all(|(field, value)| made[field] == *value)
}

/// Whether the server has no such call under its first name. A revision that is not there says so by its id.
fn is_missing_route(plan: &Plan, error: &ApiError) -> bool {
    plan.path.last().is_some_and(|last| last == SPELLINGS[0])
        && matches!(error.kind, Kind::NotFound | Kind::Status(405))
}

/// What is to be said where a change was refused for a known reason, or where it is not known whether it was made.
fn explained(error: ApiError) -> ApiError {
    let hint = match error.kind {
        // A success that is not the one of this call is none to count on.
        Kind::Network
        | Kind::Timeout
        | Kind::Protocol
        | Kind::TooLarge(_)
        | Kind::Server(_)
        | Kind::Status(200..=299) => {
            "it was sent once and may have been carried out all the same: look before you try again"
        }
        // Control-plane reference §6. Where the server says so itself, the error has its hint.
        Kind::Conflict if error.hint.is_none() && error.at.path.ends_with("/v2/deployments") => {
            "the tracing project of an earlier deployment of that name may still be there: choose another name, or delete \
             that project; `deployments delete --delete-tracing-project` takes it along the next time"
        }
        _ => return error,
    };
    hinted(error, hint)
}

/// The error with one more thing to know, which is said first.
fn hinted(error: ApiError, more: &str) -> ApiError {
    let hint = error.hint.map_or_else(|| more.to_string(), |hint| format!("{more}; {hint}"));
    ApiError { hint: Some(hint), ..error }
}
