//! Every change: an intent becomes a plan with a preview. Applying the plan checks that its target is still as the preview showed
//! it, then sends each request once, in order. The command line and the dashboard both use it.
//!
//! A new kind of change is a function that reads what it needs and returns a [`Draft`]: its texts, its [`Guard`], and its
//! [`Step`]s. What a step does is a variant of [`StepKind`].

mod apply;
mod guard;
mod outcome;
mod records;

pub(crate) use apply::{Partial, Progress, Step, StepKind};
pub use guard::StartGuard;
#[cfg(test)]
pub(crate) use guard::refusal;
pub(crate) use guard::{Condition, Guard, RecordPlace, TargetNow, is_being_deleted};
pub use outcome::{Acted, Applied, StartError, StartFailure};
pub(crate) use records::field;
#[cfg(test)]
pub(crate) use records::ignored_fields;

use crate::answer::Service;
use crate::http::Http;
use crate::thread_actions::Writer;
use crate::{AgentServer, ApiError, ControlPlane};
use reqwest::Url;
use runtail_core::model::{
    Branch, Change, Consent, NewRevision, Note, PlainRequest, Preview, Question, RunCreate,
    Secrets, Target,
};
use runtail_core::text;
use serde_json::Value;
use std::fmt;

/// A planned change. Its requests may contain secrets, so it has no `Debug` of them and stays out of the dashboard's state. It is
/// sent to the servers that were read for it, even if the profile points to others by then.
#[derive(Clone)]
pub struct Plan {
    /// What is seen of it.
    pub preview: Preview,
    /// What the person can still choose.
    pub choice: Option<Choice>,
    guard: Guard,
    steps: Vec<Step>,
}

/// Something that a person can choose before a plan is applied. Another choice is another plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// Whether the runs behind the cancelled one are cancelled too.
    Queue {
        /// How many there are.
        queued: usize,
        /// Whether they are.
        included: bool,
    },
    /// The number of steps that the run may take.
    RecursionLimit(u64),
    /// The node that the edit of a state counts as; none means the node that wrote last.
    AsNode {
        node: Option<String>,
        /// Those that the graph has.
        nodes: Vec<Writer>,
    },
}

/// Why there is no plan. No write request was sent.
#[derive(Debug, Clone, PartialEq)]
pub enum PlanError {
    /// A request failed.
    Asked(ApiError),
    /// The change is invalid, or the service would reject it: all reasons.
    Wrong(Vec<String>),
    /// The target's status doesn't allow it, and why.
    Unfit(String),
    /// An edit of a state must name the node that it counts as: why, and the nodes.
    NeedsNode(String, Vec<Writer>),
    /// The target already has these settings.
    Nothing(String),
}

impl PlanError {
    /// Returns the failed request, if that is the reason.
    pub fn request(&self) -> Option<&ApiError> {
        match self {
            PlanError::Asked(error) => Some(error),
            _ => None,
        }
    }
}

impl From<ApiError> for PlanError {
    fn from(error: ApiError) -> PlanError {
        PlanError::Asked(error)
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::Asked(error) => error.fmt(f),
            PlanError::Wrong(reasons) => f.write_str(&reasons.join("\n")),
            PlanError::Unfit(why) | PlanError::NeedsNode(why, _) | PlanError::Nothing(why) => {
                f.write_str(why)
            }
        }
    }
}

impl std::error::Error for PlanError {}

/// Returns the error of a target whose status doesn't allow a change.
pub fn unfit(why: impl Into<String>) -> PlanError {
    PlanError::Unfit(why.into())
}

/// Refuses an intent that the target's status doesn't allow.
pub fn refuse<T>(why: impl Into<String>) -> Result<T, PlanError> {
    Err(unfit(why))
}

/// Ends planning, because there is nothing to change.
pub fn nothing<T>(why: impl Into<String>) -> Result<T, PlanError> {
    Err(PlanError::Nothing(why.into()))
}

/// Refuses an intent that is invalid.
pub fn wrong<T>(why: impl Into<String>) -> Result<T, PlanError> {
    Err(PlanError::Wrong(vec![why.into()]))
}

/// Lists the first of some names in a sentence. `more` ends the sentence with the number of the rest, if there are more.
pub fn listed(
    names: impl IntoIterator<Item = impl AsRef<str>>,
    most: usize,
    more: impl Fn(usize) -> String,
) -> String {
    let mut names = names.into_iter();
    let shown = names.by_ref().take(most);
    let shown: Vec<String> = shown
        .map(|name| text::clean(name.as_ref()).into_owned())
        .collect();
    let rest = Some(names.count()).filter(|rest| *rest > 0);
    shown.join(", ") + &rest.map(more).unwrap_or_default()
}

/// Returns the end of a list of names.
pub fn and_more(rest: usize) -> String {
    format!(" and {rest} more")
}

/// The server to which a step is sent.
#[derive(Clone)]
pub enum Server {
    Control(ControlPlane),
    Agent(AgentServer),
}

impl From<&ControlPlane> for Server {
    fn from(server: &ControlPlane) -> Server {
        Server::Control(server.clone())
    }
}

impl From<&AgentServer> for Server {
    fn from(server: &AgentServer) -> Server {
        Server::Agent(server.clone())
    }
}

impl Server {
    fn parts(&self) -> (&Http, &Url, Service) {
        match self {
            Server::Control(server) => (&server.http, &server.base, Service::Control),
            Server::Agent(server) => (&server.http, &server.base, Service::Agent),
        }
    }
}

/// A change that was planned, before its preview is made. What is left out has its default.
#[derive(Default)]
pub struct Draft {
    pub title: String,
    pub target: Option<Target>,
    pub changes: Vec<Change>,
    pub revision: NewRevision,
    pub branch: Option<Branch>,
    pub notes: Vec<Note>,
    pub consent: Consent,
    pub choice: Option<Choice>,
    pub guard: Guard,
    pub steps: Vec<Step>,
}

impl Draft {
    /// Makes the plan. Its preview shows the requests of the steps, without keys and secrets: neither those that are sent nor those
    /// of the record that is changed.
    pub fn plan(self) -> Plan {
        let mut requests = Vec::new();
        let mut secrets = Secrets::of_records(&self.guard.before().into_iter().collect::<Vec<_>>());
        for step in &self.steps {
            let (http, _, service) = step.server.parts();
            secrets = secrets.and(&http.secrets(&step.body));
            requests.push(http.shown(
                service,
                step.method.to_string(),
                &step.url,
                step.body.as_ref(),
            ));
        }
        requests
            .iter_mut()
            .filter_map(|request: &mut PlainRequest| request.body.as_mut())
            .for_each(|body| secrets.mask(body));
        let mut requests = requests.into_iter();
        let without = |change: Change| change.without(&secrets);
        let preview = Preview {
            title: self.title,
            profile: self
                .steps
                .first()
                .map(|step| step.server.parts().0.profile().to_string())
                .unwrap_or_default(),
            target: self.target,
            request: requests.next().unwrap_or_default(),
            then: requests.collect(),
            changes: self.changes.into_iter().map(without).collect(),
            revision: self.revision,
            branch: self.branch,
            notes: self.notes,
            consent: self.consent,
        };
        Plan {
            preview,
            choice: self.choice,
            guard: self.guard,
            steps: self.steps,
        }
    }
}

impl AgentServer {
    /// Makes a plan. A missing call of a server of an unknown kind is reported as not offered.
    pub(crate) async fn planned(&self, draft: Result<Draft, PlanError>) -> Result<Plan, PlanError> {
        match draft {
            Ok(draft) => Ok(draft.plan()),
            Err(PlanError::Asked(error)) => Err(PlanError::Asked(self.or_not_offered(error).await)),
            Err(other) => Err(other),
        }
    }
}

impl Plan {
    /// Returns the run that it starts, if it starts one.
    pub fn run(&self) -> Option<&RunCreate> {
        self.steps.iter().find_map(|step| match &step.kind {
            StepKind::Start(_, body) => Some(&**body),
            _ => None,
        })
    }

    /// Returns whether it only changes a thread's metadata.
    pub fn is_label(&self) -> bool {
        matches!(self.steps.as_slice(), [step] if matches!(step.kind, StepKind::Label(_)))
    }

    /// Returns the questions that it answers.
    pub fn asked(&self) -> &[Question] {
        match &self.guard {
            Guard::Thread(_, _, StartGuard::Questions(asked)) => asked,
            _ => &[],
        }
    }

    /// Returns the runs that it ends by starting another.
    pub fn overtaken(&self) -> &[String] {
        match &self.guard {
            Guard::Thread(_, _, StartGuard::Overtakes(runs)) => runs,
            _ => &[],
        }
    }

    /// Returns the target's record when the change was planned, secrets included; nothing for a new record.
    pub fn before(&self) -> Option<&Value> {
        self.guard.before()
    }

    /// Returns the body of its first request, secrets included.
    pub fn body(&self) -> Option<&Value> {
        self.steps.first()?.body.as_ref()
    }

    /// Masks the secrets that were sent, that the target had and that the record has, wherever they occur in the record.
    pub fn mask(&self, record: &mut Value) {
        let own = record.clone();
        let known = self.body().into_iter().chain(self.guard.before());
        Secrets::of_records(&known.chain([&own]).collect::<Vec<_>>()).mask(record);
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("preview", &self.preview)
            .finish_non_exhaustive()
    }
}
