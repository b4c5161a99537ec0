//! `answer --rules`: answers all waiting threads about which the rules of the configuration decide.

use super::inbox::{self, Entry, Found};
use crate::consent;
use crate::exit::report_missing;
use crate::prelude::*;
use futures::{StreamExt, stream};
use runtail_api::{MAX_RULED_PLANS, MAX_RULED_THREADS, PlanError, RuledPlan};
use runtail_core::model::{AnswerRule, InboxItem, InboxThread};

/// A waiting thread.
struct Waiting {
    thread: InboxThread,
    site: Site,
    server: AgentServer,
    deployment: String,
    /// The options that select its server in a command.
    options: String,
}

/// What becomes of a waiting thread.
enum Outcome {
    /// It is answered, if the user agrees.
    Planned(Box<RuledPlan>),
    /// It is skipped, for this reason.
    Skipped(String),
    Failed(Failure),
}

impl Waiting {
    fn of(entry: Entry) -> Option<Waiting> {
        let Entry {
            row,
            options,
            server,
            ..
        } = entry;
        let (InboxItem::Thread(thread), Some((site, server))) = (row.item, server) else {
            return None;
        };
        thread.asks().then(|| Waiting {
            thread,
            site,
            server,
            deployment: row.deployment,
            options,
        })
    }

    /// Plans the answer. A thread about which the rules don't decide costs no request.
    async fn plan(&self, rules: &[AnswerRule]) -> Outcome {
        let profile = self.site.profile.name.as_str();
        if let Some(why) = self.thread.undecided_by(rules, profile) {
            return Outcome::Skipped(why);
        }
        match self
            .server
            .plan_by_rules(&self.thread.thread_id, rules, profile)
            .await
        {
            Ok(plan) => Outcome::Planned(Box::new(plan)),
            Err(PlanError::Unfit(why)) => Outcome::Skipped(why),
            Err(error) => Outcome::Failed(error.into()),
        }
    }

    /// PROFILE/DEPLOYMENT and the thread's id.
    fn title(&self) -> String {
        let server = inbox::title(&self.site.profile.name, &self.deployment);
        format!("{server} {}", text::clean(&self.thread.thread_id))
    }

    fn row(&self, result: &str, detail: Option<&str>) -> Value {
        json!({
            "deployment": self.deployment, "thread_id": self.thread.thread_id, "graph": self.thread.graph, "result": result,
            "run_id": null, "decisions": [], "detail": detail,
        })
    }

    fn planned_row(&self, plan: &RuledPlan, result: &str) -> Value {
        let mut row = self.row(result, None);
        let decisions = plan.questions.iter().flat_map(|asked| {
            asked.decisions.iter().map(|decided| {
                json!({
                    "interrupt_id": asked.question.id, "action": decided.call, "decision": decided.decision,
                    "message": decided.message, "rule": decided.rule,
                })
            })
        });
        row["decisions"] = decisions.collect();
        row
    }
}

pub async fn run(globals: &Globals, sending: &Sending, yes: Yes) -> Result<Exit, Failure> {
    let context = Context::load(globals)?;
    let rules = context.config.answer_rules.as_slice();
    if rules.is_empty() {
        return Err(Failure::usage(
            "the configuration has no rules that answer questions\n  add one, for example:\n  [[answer]]\n  match = \
             \"action:read_*\"\n  decision = \"approve\"",
        ));
    }
    if !sending.dry_run
        && context
            .profiles
            .iter()
            .all(|profile| profile.sealed.is_some())
    {
        context
            .profiles
            .iter()
            .try_for_each(|profile| context.check_write(profile))?;
    }
    let signals = Signals::listen_to_report();
    let Found {
        rows,
        failures,
        notes,
    } = signals
        .unless_stopped(inbox::collect(&context, Duration::ZERO))
        .await?;
    let mut exit = report_missing(&failures, &notes);
    let mut waiting: Vec<Waiting> = rows.into_iter().filter_map(Waiting::of).collect();
    if waiting.len() > MAX_RULED_THREADS {
        complain(format!(
            "runtail: only {MAX_RULED_THREADS} of {} waiting threads were read; run this again",
            waiting.len()
        ));
        waiting.truncate(MAX_RULED_THREADS);
    }
    let plans = waiting
        .iter()
        .map(|waiting| waiting.plan(rules))
        .collect::<Vec<_>>();
    let plans = async {
        Ok(stream::iter(plans)
            .buffered(MAX_RULED_PLANS)
            .collect()
            .await)
    };
    let outcomes: Vec<Outcome> = signals.unless_stopped(plans).await?;
    let count = print_outcomes(&waiting, &outcomes);
    if !sending.dry_run && count > 0 {
        signals
            .unless_stopped(consent::yes(
                &format!("Send {}", text::counted(count, "answer")),
                yes,
            ))
            .await?;
    }
    let mut printed = Vec::new();
    for (waiting, outcome) in waiting.iter().zip(outcomes) {
        let (row, failed) = match outcome {
            Outcome::Planned(ruled) if signals.stop.is_cancelled() => (
                waiting.planned_row(&ruled, "not_sent"),
                Some(signals.exit()),
            ),
            outcome => {
                let unknown = waiting.row("unknown", Some("stopped before the server answered"));
                let finished = signals
                    .unless_abandoned(finish(&context, waiting, outcome, sending))
                    .await;
                finished.unwrap_or((unknown, Some(signals.exit())))
            }
        };
        if let Some(failed) = failed {
            exit = if exit == Exit::Done { failed } else { exit };
        }
        printed.push(placed(&waiting.site.profile, row));
    }
    sending
        .output
        .rows(&printed, &columns(sending.output.format()))?;
    if sending.dry_run {
        complain("dry run: nothing was sent");
    }
    Ok(exit)
}

/// Previews all answers on stderr, and names the threads that are skipped. Returns the number of answers.
fn print_outcomes(waiting: &[Waiting], outcomes: &[Outcome]) -> usize {
    let mut count = 0;
    for (waiting, outcome) in waiting.iter().zip(outcomes) {
        match outcome {
            Outcome::Planned(ruled) => {
                count += 1;
                let title = format!("{count}. Answer {}", waiting.title());
                act::print_preview(&runtail_core::model::Preview {
                    title,
                    target: None,
                    ..ruled.plan.preview.clone()
                });
            }
            Outcome::Skipped(why) => complain(format!(
                "skipped: {}: {}",
                waiting.title(),
                text::clean(why)
            )),
            Outcome::Failed(failure) => {
                complain(format!("runtail: {}: {}", waiting.title(), failure.message))
            }
        }
    }
    complain(&match (waiting.len(), count) {
        (0, _) => "no listed thread is waiting for an answer".to_string(),
        (_, 0) => "the rules match no waiting thread; nothing is sent".into(),
        (all, n) => format!(
            "{}, one request each; {} skipped",
            text::counted(n, "answer"),
            all - n
        ),
    });
    count
}

/// Sends a planned answer once, unless this is a dry run. Returns the row of the result, and the exit code of a failure.
async fn finish(
    context: &Context,
    waiting: &Waiting,
    outcome: Outcome,
    sending: &Sending,
) -> (Value, Option<Exit>) {
    let ruled = match outcome {
        Outcome::Skipped(why) => return (waiting.row("skipped", Some(&why)), None),
        Outcome::Failed(failure) => {
            return (
                waiting.row("failed", Some(&failure.message)),
                Some(failure.exit),
            );
        }
        Outcome::Planned(ruled) => ruled,
    };
    if sending.dry_run {
        let mut row = waiting.planned_row(&ruled, "planned");
        let request = &ruled.plan.preview.request;
        row["request"] =
            json!({"method": request.method, "url": request.url, "body": request.body});
        return (row, None);
    }
    let (word, failure) = match context.check_write(&waiting.site.profile) {
        Err(failure) => ("failed", failure),
        Ok(()) => match ruled.plan.apply().await {
            Ok(acted) => {
                complain(format!("started: Answer {}", waiting.title()));
                let mut row = waiting.planned_row(&ruled, "started");
                let (started, _) = act::made(&acted);
                row["run_id"] = json!(started.map(|started| &started.run_id));
                return (row, None);
            }
            Err(failed) => {
                let word = if failed.failure.may_be_received() {
                    "unknown"
                } else {
                    "failed"
                };
                let (options, thread) = (&waiting.options, &waiting.thread.thread_id);
                (word, act::not_started(failed, options, thread))
            }
        },
    };
    let message = failure.message;
    complain(format!("runtail: {}: {message}", waiting.title()));
    let mut row = waiting.planned_row(&ruled, word);
    row["detail"] = message.into();
    (row, Some(failure.exit))
}

fn columns(format: Format) -> Vec<Column> {
    if format != Format::Table {
        return Vec::new();
    }
    let decisions = |row: &Value| {
        let words = row["decisions"].as_array().into_iter().flatten();
        words
            .map(|decided| {
                format!(
                    "{} {}",
                    cell(&decided["decision"]),
                    cell(&decided["action"])
                )
            })
            .collect::<Vec<_>>()
            .join(" · ")
    };
    vec![
        field_column("RESULT", "/result"),
        column("DEPLOYMENT", |row| {
            inbox::title(&cell(&row["profile"]), &cell(&row["deployment"]))
        }),
        field_column("THREAD", "/thread_id"),
        field_column("RUN", "/run_id"),
        column("DECISIONS", decisions),
        field_column("DETAIL", "/detail"),
    ]
}
