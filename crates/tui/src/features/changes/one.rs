//! The preview of one change: its title, its complete requests, and what can still be chosen.

use super::confirm::{Confirm, Stage};
use super::preview_lines::{PreviewStyle, preview_lines};
use crate::session::proposal::Proposal;
use crate::session::{Cx, not_sent};
use crate::widgets::line::{Line, Tone, wrapped};
use runtail_api::{Choice, PlanError, ThreadIntent};
use runtail_core::model::Intent;
use runtail_core::text;

impl Confirm {
    /// Returns the title: the verb, and the subject once the change is planned.
    pub(super) fn title(&self) -> String {
        self.preview().map_or_else(
            || self.one().proposal.verb().to_string(),
            |preview| preview.title.clone(),
        )
    }

    /// Returns what is changed, and on which server. `named`: the subject of the planned title.
    pub(super) fn subject(&self, cx: &Cx<'_>, named: &str) -> String {
        let proposal = &self.one().proposal;
        let planning = match proposal {
            Proposal::Thread(_, intent) => match intent.thread() {
                "" => None,
                thread => Some(format!("thread {}", text::short_id(thread))),
            },
            Proposal::Resource(..) => None,
            Proposal::Service(intent) => {
                let known = &cx.session.deployments;
                let found = known.get(&self.profile, intent.deployment().unwrap_or_default());
                found.map(|one| text::clean(&one.name).into_owned())
            }
        };
        let subject = match self.preview() {
            Some(_) => Some(named.to_string()),
            None => planning,
        };
        let place = proposal.server().map(|server| cx.session.place(server));
        let parts = subject.into_iter().chain(place);
        let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
        parts.join(" · ")
    }

    /// Returns the server and the thread of a run from a checkpoint. `thread`: the short id of the thread.
    pub(super) fn place(&self, cx: &Cx<'_>, thread: &str) -> String {
        let Some(server) = self.one().proposal.server() else {
            return String::new();
        };
        let of = self.thread();
        let page = of.and_then(|thread| cx.session.pages.first(&thread));
        let thread = page.map_or_else(
            || format!("thread {}", thread.split(' ').next().unwrap_or_default()),
            |page| page.name.clone(),
        );
        format!("{} › {thread}", cx.session.place(server))
    }

    /// Describes the available option.
    fn option(&self, key: &str) -> Option<String> {
        if !self.is_ready() {
            return None;
        }
        let (what, choices, is_second) = match (&self.one().proposal, &self.choice) {
            (
                Proposal::Service(Intent::DeleteDeployment {
                    delete_tracing_project: is_deleted,
                    ..
                }),
                _,
            ) => (
                "Tracing project and traces".into(),
                ["keep", "delete"],
                *is_deleted,
            ),
            (Proposal::Service(Intent::Rollback { changes_source, .. }), _) => (
                "Rollback".into(),
                ["redeploy the revision", "change the deployment's source"],
                *changes_source,
            ),
            (_, Some(Choice::Queue { included, queued })) => (
                text::counted(*queued, "other active run"),
                ["keep", "cancel"],
                *included,
            ),
            (_, Some(Choice::RecursionLimit(limit))) => {
                let typed = if self.typed.is_empty() {
                    limit.to_string()
                } else {
                    self.typed.text()
                };
                return Some(format!(
                    "Steps allowed: [ {typed} ]   type a number, ⏎ updates the request"
                ));
            }
            _ => return None,
        };
        let [now, other] = [is_second, !is_second].map(|second| choices[usize::from(second)]);
        Some(format!("{what}: {now} ({key} to {other})"))
    }

    /// Returns the lines of the preview.
    pub(super) fn one_lines(&self, cx: &Cx<'_>, width: usize) -> Vec<Line> {
        let now = cx.session.now;
        let target = self.preview().and_then(|preview| preview.target.as_ref());
        let kind = target.map_or("target", |target| target.kind);
        let mut lines = self.check.changed_lines(kind, now, width);
        match &self.one().stage {
            Stage::Waiting | Stage::Planning => lines.push(Line::dim("Loading…")),
            Stage::Refused(error) => {
                let (tone, heading, why) = match error {
                    PlanError::Asked(error) => {
                        (Tone::Bad, "Couldn't read the current state.", error.story())
                    }
                    PlanError::Nothing(why) => (Tone::Plain, "No changes.", why.clone()),
                    other => (Tone::Bad, "Can't continue.", other.to_string()),
                };
                lines.push(Line::of(tone, &not_sent(heading)));
                lines.push(Line::new());
                lines.extend(wrapped(Tone::Plain, &why, width));
            }
            Stage::Failed(_, error) => {
                lines.extend(wrapped(Tone::Bad, &error.story(), width));
                lines.push(Line::new());
            }
            Stage::Ready(_) | Stage::Sending(_) | Stage::Done(..) => {}
        }
        if let Some(preview) = self.preview() {
            let style = PreviewStyle {
                width,
                clock: &|at| cx.session.clock(at),
                run: &|run| self.run_name(cx, run),
                is_folded: self.is_folded,
                may_edit: self.may_edit(cx),
            };
            lines.extend(preview_lines(preview, &style));
        }
        lines.extend(self.writer_lines(width));
        if let Some(option) = self.option("ctrl-t") {
            lines.push(Line::new());
            lines.push(Line::dim(&option));
        }
        if self.is_ready() {
            lines.extend(self.check.lines(kind, now, width));
        }
        lines
    }

    /// Returns the change with its option toggled.
    pub(super) fn with_other_option(&self) -> Option<Proposal> {
        if let Some(other) = self.as_next_node() {
            return Some(other);
        }
        if !self.is_ready() {
            return None;
        }
        let mut other = self.one().proposal.clone();
        match &mut other {
            Proposal::Service(Intent::DeleteDeployment {
                delete_tracing_project: toggled,
                ..
            })
            | Proposal::Service(Intent::Rollback {
                changes_source: toggled,
                ..
            }) => *toggled = !*toggled,
            Proposal::Thread(
                _,
                ThreadIntent::Cancel {
                    with_queue: toggled,
                    ..
                },
            ) if matches!(self.choice, Some(Choice::Queue { .. })) => *toggled = !*toggled,
            _ => return None,
        }
        Some(other)
    }
}
