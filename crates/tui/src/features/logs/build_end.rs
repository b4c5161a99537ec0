//! The end of a build: after it, its log gets no new lines.

use super::state::LogView;
use crate::session::Cx;
use crate::session::msg::RevisionRef;
use crate::widgets::line::{Line, Tone};
use crate::widgets::theme::phase_glyph;
use jiff::{SignedDuration, Timestamp};
use runtail_api::LogKind;
use runtail_core::model::{Phase, Revision};
use runtail_core::text;

/// How long after the end of a build its log is still read: servers publish lines late.
const LATE_LINES: SignedDuration = SignedDuration::from_secs(60);

/// Returns whether the build of a revision is over. Its rollout may still be in progress.
fn is_built(revision: &Revision) -> bool {
    revision.phase().is_final()
        || matches!(revision.status.as_str(), "AWAITING_DEPLOY" | "DEPLOYING")
}

impl LogView {
    /// Updates the records of the revisions whose build logs are shown.
    pub fn know_builds<'r>(&mut self, known: impl Fn(&RevisionRef) -> Option<&'r Revision>) {
        for source in &mut self.sources {
            let revision = source.scope.revision.as_deref();
            let of = revision.map(|revision| RevisionRef {
                profile: source.profile.clone(),
                deployment: source.scope.deployment.as_str().into(),
                revision: revision.into(),
            });
            source.revision = of.and_then(|of| known(&of).cloned());
        }
    }

    /// Returns the revision of a build log whose build has ended.
    fn built(&self, source: usize) -> Option<&Revision> {
        let source = self.sources.get(source)?;
        let revision = source
            .revision
            .as_ref()
            .filter(|_| self.kind == LogKind::Build);
        revision.filter(|one| is_built(one))
    }

    /// Returns whether every log of the view is that of a build that has ended.
    pub(super) fn is_ended(&self) -> bool {
        !self.sources.is_empty() && (0..self.sources.len()).all(|n| self.built(n).is_some())
    }

    /// Returns how the builds ended: `ended: BUILD_FAILED after 34s`.
    pub(super) fn end_line(&self, cx: &Cx<'_>) -> Line {
        let [_] = self.sources.as_slice() else {
            return Line::plain("■ ").with_dim("ended");
        };
        let Some(revision) = self.built(0) else {
            return Line::new();
        };
        let (glyph, tone) = phase_glyph(revision.phase());
        let took = revision
            .took(cx.session.now)
            .filter(|took| revision.phase().is_final() && !took.is_zero());
        let after = took
            .map(|took| format!(" after {}", text::duration(took)))
            .unwrap_or_default();
        let of_word = if revision.phase() == Phase::Failed {
            Tone::Bad
        } else {
            Tone::Plain
        };
        Line::of(tone, &format!("{glyph} "))
            .with_dim("ended: ")
            .with(of_word, &revision.status)
            .with_dim(&after)
    }

    /// Returns whether a log was read after the last lines of its build were due.
    pub(super) fn is_read_to_its_end(&self, cx: &Cx<'_>, source: usize) -> bool {
        let Some(revision) = self.built(source) else {
            return false;
        };
        let of = &self.sources[source];
        let read_at: Option<Timestamp> = of
            .loaded_at
            .filter(|_| of.error.is_none())
            .zip(cx.session.profile(&of.profile))
            .map(|(at, profile)| {
                // The record's times are by the server's clock.
                profile.server_time(at)
            });
        let ended_at = revision.updated_at.filter(|_| revision.phase().is_final());
        read_at
            .zip(ended_at)
            .is_some_and(|(read, ended)| read.duration_since(ended) > LATE_LINES)
    }
}
