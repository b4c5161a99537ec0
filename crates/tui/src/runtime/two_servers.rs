//! Actions that use two agent servers: a copy of a thread, and the same input on both.

use super::plans::Planned;
use super::services::Services;
use crate::session::compare::SideRef;
use crate::session::msg::{Applied, ResultPage, ServerRef, ThreadRef, TwoServerIntent};
use crate::session::thread::explained;
use runtail_api::{AgentServer, ApiError, BothPlan, PlanError, ReproducePlan, StartError, Started};
use runtail_core::model::{PlainRequest, Preview};
use runtail_core::text::{self, short_id};

/// Maximum bytes of a request's body in a preview. Longer ones would make the dialog slow.
const MAX_SHOWN: usize = 256 << 10;

/// A planned action, with the servers that it uses.
pub struct OnTwoServers {
    from: (AgentServer, ServerRef),
    to: (AgentServer, ServerRef),
    what: What,
}

enum What {
    Copy(Box<ReproducePlan>),
    Both(Box<BothPlan>),
}

/// Plans an action and returns its preview.
pub async fn plan(
    services: &Services,
    number: u64,
    from: &ThreadRef,
    to: &ServerRef,
    intent: &TwoServerIntent,
) -> Result<Box<Preview>, PlanError> {
    let source = services.agent_server(&from.server).await?;
    let target = services.agent_server(to).await?;
    let (what, mut preview) = match intent {
        TwoServerIntent::Reproduce(intent) => {
            let plan = source.plan_reproduction(&target, intent).await?;
            let preview = plan.preview.clone();
            (What::Copy(Box::new(plan)), preview)
        }
        TwoServerIntent::RunOnBoth(run) => {
            let plan = source
                .plan_on_both(&target, &from.id, run.as_deref())
                .await?;
            let preview = plan.preview.clone();
            (What::Both(Box::new(plan)), preview)
        }
    };
    std::iter::once(&mut preview.request)
        .chain(&mut preview.then)
        .for_each(shorten);
    let planned = OnTwoServers {
        from: (source, from.server.clone()),
        to: (target, to.clone()),
        what,
    };
    services
        .plans
        .keep(number, Planned::TwoServers(Box::new(planned)));
    Ok(Box::new(preview))
}

/// Replaces a large body with its size.
fn shorten(request: &mut PlainRequest) {
    let size = request
        .body
        .as_ref()
        .map_or(0, |body| body.to_string().len());
    if size > MAX_SHOWN {
        let size = text::bytes(size as u64);
        request.body = Some(
            format!("{size}, too long to show here; runtail reproduce or compare --run with --dry-run prints it")
                .into(),
        );
    }
}

/// Sends an action.
pub async fn send(planned: OnTwoServers) -> Result<Applied, ApiError> {
    let OnTwoServers { from, to, what } = planned;
    match what {
        What::Copy(plan) => {
            let made = from.0.reproduce(&to.0, &plan).await.map_err(explained)?;
            let complaint = made
                .complaint()
                .map(|complaint| format!(" But {complaint}."))
                .unwrap_or_default();
            let said = format!("{}: done.{complaint}", plan.preview.title);
            let copy = ThreadRef {
                server: to.1,
                id: made.thread,
            };
            Ok(Applied {
                said,
                page: Some(ResultPage::Thread(copy)),
                ..Applied::default()
            })
        }
        What::Both(plan) => {
            let results = from.0.start_on_both(&to.0, &plan).await;
            let [here, there] = plan.threads.clone();
            let threads = [
                ThreadRef {
                    server: from.1,
                    id: here,
                },
                ThreadRef {
                    server: to.1,
                    id: there,
                },
            ];
            started(&plan.preview.title, threads, results)
        }
    }
}

/// Returns the comparison of both runs, or says which one was started.
fn started(
    title: &str,
    threads: [ThreadRef; 2],
    results: [Result<Started, StartError>; 2],
) -> Result<Applied, ApiError> {
    // What became of the other run belongs to the error of the first one that failed.
    let also = |failed: StartError, thread: &ThreadRef, other: &Result<Started, StartError>| {
        let error = explained(failed);
        let known = error
            .hint
            .map(|hint| format!("{hint}; "))
            .unwrap_or_default();
        let (place, id) = (text::clean(&thread.server.name), short_id(&thread.id));
        let hint = match other {
            Ok(run) => format!(
                "{known}the other run was started: {} on thread {id} of {place}",
                short_id(&run.run_id)
            ),
            Err(other) => format!("{known}{place}: {}", explained(other.clone()).cause()),
        };
        ApiError {
            hint: Some(hint),
            ..error
        }
    };
    let [a, b] = threads;
    match results {
        [Ok(x), Ok(y)] => {
            let sides = [(a, x), (b, y)]
                .map(|(thread, started)| SideRef::Thread(thread, Some(started.run_id)));
            let page = Some(ResultPage::Comparison(sides.to_vec()));
            Ok(Applied {
                said: format!("{title}: started."),
                page,
                ..Applied::default()
            })
        }
        [Err(failed), other] => Err(also(failed, &b, &other)),
        [other, Err(failed)] => Err(also(failed, &a, &other)),
    }
}
