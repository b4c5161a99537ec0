//! A row of the list with everything that is known of it elsewhere, for the list, the revisions and the details alike.

use super::Deployments;
use super::last_day::PastDay;
use super::list::{Live, Row};
use super::revisions::RevisionHistory;
use crate::session::Cx;
use crate::session::loaded::Loaded;
use crate::session::msg::{RevisionRef, ServerRef};
use crate::session::profile::ProfileState;
use crate::widgets::line::{Line, Tone};
use crate::widgets::theme::{deployment_badge, phase_glyph};
use runtail_api::{ApiError, Kind, ServerInfo};
use runtail_core::model::{FailureCard, NO_URL, Phase, Revision, RevisionRole};
use runtail_core::text;
use std::time::Duration;

/// The sentence about a deployment that no longer exists.
pub(super) const GONE: &str = "Deployment deleted.";

/// A row, with what other parts of the state know of it.
#[derive(Clone, Copy)]
pub(super) struct ShownRow<'a> {
    pub d: &'a Deployments,
    pub cx: &'a Cx<'a>,
    pub row: &'a Row,
    pub profile: Option<&'a ProfileState>,
}

impl<'a> ShownRow<'a> {
    pub fn new(d: &'a Deployments, cx: &'a Cx<'a>, row: &'a Row) -> ShownRow<'a> {
        let profile = cx.session.profiles.get(row.profile);
        ShownRow {
            d,
            cx,
            row,
            profile,
        }
    }

    /// Returns the selected row.
    pub fn selected(d: &'a Deployments, cx: &'a Cx<'a>) -> Option<ShownRow<'a>> {
        Some(ShownRow::new(d, cx, d.list.selected()?))
    }

    /// Returns its listed revisions.
    pub fn history(&self) -> Option<&'a RevisionHistory> {
        self.d.histories.get(&self.row.id)
    }

    /// Returns whether its profile's key was rejected, so that nothing is polled.
    pub fn is_halted(&self) -> bool {
        self.profile.is_some_and(|profile| profile.halted)
    }

    /// Returns whether its newest revision failed.
    pub fn has_failed(&self) -> bool {
        let newest = self.row.newest.as_ref();
        newest.is_some_and(|revision| revision.phase() == Phase::Failed)
    }

    /// Returns whether one of its revisions is watched.
    pub fn is_watched(&self) -> bool {
        let is_its =
            |of: &RevisionRef| of.profile == self.row.profile_name && self.row.is(&of.deployment);
        self.d.watches.keys().any(is_its)
    }

    /// Returns its agent server, if it has one.
    pub fn server(&self) -> Option<ServerRef> {
        self.row.server(&self.cx.session.profiles)
    }

    /// Returns what its agent server said about itself.
    pub fn info(&self) -> Option<&'a Loaded<ServerInfo>> {
        self.cx.session.infos.get(&self.server()?)
    }

    /// Returns whether its agent server was seen to respond.
    pub fn responds(&self) -> bool {
        self.info()
            .is_some_and(|info| info.value.is_some() && info.error.is_none())
    }

    /// Returns whether its server is only asked what the user asks.
    pub fn is_unpolled(&self) -> bool {
        self.profile
            .is_some_and(|profile| profile.is_quiet(&self.row.name))
    }

    /// Returns the region tag; empty for an agent server without a control plane, if no other profile is in use.
    pub fn region(&self) -> &'a str {
        // Servers of several profiles often have the same name.
        let is_one_of_several = self.cx.session.profiles.len() > 1;
        let has_tag = |profile: &&ProfileState| {
            profile.control_plane || self.row.deployment.is_some() || is_one_of_several
        };
        self.profile.filter(has_tag).map_or("", ProfileState::tag)
    }

    /// Returns whether the deployment was deleted, or its own status says that it isn't used as usual.
    pub fn is_unusual(&self) -> bool {
        self.row.gone || !self.row.state().is_usual()
    }

    /// Returns what an unusual status of the deployment means, and what isn't known of its agent server.
    pub fn about(&self) -> Option<String> {
        if self.row.gone {
            return Some(GONE.into());
        }
        let Some(meaning) = self.row.state().meaning(self.responds()) else {
            let text = "Serverless: requests wake it; threads are read only while open.";
            return self.row.is_serverless().then(|| text.to_string());
        };
        Some(match self.row.url {
            Some(_) => meaning.into(),
            None => format!("{meaning} {NO_URL}"),
        })
    }

    /// Returns the badge of the deployment's own status.
    pub fn badge(&self) -> (&'static str, Tone, String) {
        let deployment = self.row.deployment.as_ref();
        deployment_badge(deployment.and_then(|deployment| deployment.status.as_deref()))
    }

    /// Returns the status of the newest revision, or an unusual status of the deployment.
    pub fn newest(&self) -> Line {
        let row = self.row;
        if row.gone {
            return Line::plain("■ ").with_dim("gone");
        }
        if self.is_unusual() {
            let (glyph, tone, word) = self.badge();
            return Line::of(tone, &format!("{glyph} ")).with_plain(&word);
        }
        match (&row.newest, &row.newest_error) {
            (Some(revision), _) => phase_line(revision),
            (None, Some(error)) => Line::dim(&format!("? {}", error.badge())),
            (None, None) if row.newest_id().is_none() => Line::dim("–"),
            (None, None) if self.is_halted() => Line::dim("? not loaded"),
            (None, None) => Line::dim("…"),
        }
    }

    /// Returns whether an agent server without a control plane answers.
    pub fn reach(&self) -> Line {
        // A later request than that for the info may have failed.
        let server = self.server();
        let failed = server.and_then(|server| self.cx.session.reach.of(&server).flatten());
        let info = self.info();
        match failed.or(info.and_then(|info| info.error.as_ref())) {
            Some(error) => {
                let is_down = matches!(error.kind, Kind::NoConnection | Kind::Network);
                let word = if is_down {
                    "down".into()
                } else {
                    error.badge()
                };
                Line::bad("✗ ").with_bad(&word)
            }
            None if self.responds() => Line::of(Tone::Good, "● ").with_plain("up"),
            None if info.is_none() && self.is_unpolled() => Line::dim("○ ").with_dim("not asked"),
            None => Line::moving("◐ ").with_plain("checking"),
        }
    }

    /// Returns which revision serves: `newest`, `older` with its age, or `nothing`. A question mark means that a deployment is
    /// unused or being deleted, so that its active revision may not serve.
    pub fn serving(&self) -> Line {
        let row = self.row;
        let past = self.d.past.get(&row.id);
        match row.live() {
            _ if row.gone => Line::new(),
            live @ (Live::Newest | Live::Older) if self.is_unusual() && !self.responds() => {
                Line::dim(&format!("{}?", live.word()))
            }
            Live::Newest => Line::dim("newest"),
            Live::Older => {
                let active = row
                    .deployment
                    .as_ref()
                    .and_then(|deployment| deployment.active_revision_id.as_deref());
                let mut listed = self.history().into_iter().flat_map(|h| &h.revisions);
                let listed = listed.find(|revision| Some(revision.id.as_str()) == active);
                let mut known = past.into_iter().flat_map(|past| &past.revisions);
                let deployed = known.find(|one| one.phase == Phase::Deployed);
                let at = listed.and_then(|revision| revision.created_at);
                let age = self.age_of(at.or(deployed.map(|one| one.created_at)));
                Line::plain("older").with_dim(&format!("{age:>4}"))
            }
            // Without a deployed revision in the whole list, none serves.
            Live::Unknown if past.is_some_and(PastDay::never_deployed) => match self.has_failed() {
                true => Line::bad("nothing"),
                false => Line::plain("nothing"),
            },
            Live::Unknown => Line::dim("–"),
        }
    }

    fn age_of(&self, at: Option<jiff::Timestamp>) -> String {
        let age = |at| Some(text::age(self.profile?.since(at, self.cx.session.now)));
        at.and_then(age).unwrap_or_default()
    }

    /// Returns the age of a revision since its creation, by which lists are sorted.
    pub fn age(&self, revision: &Revision) -> String {
        self.age_of(revision.created_at)
    }

    /// Returns how long a revision took, or has been in progress. Where the server's times don't say it, at least as long as it was
    /// observed in progress.
    pub fn took(&self, revision: &Revision) -> Option<String> {
        let now = self.cx.session.now;
        let server_time = self.profile.map_or(now, |profile| profile.server_time(now));
        if let Some(took) = revision.took(server_time) {
            return Some(text::duration(took));
        }
        let phases = self.history()?.phases(&revision.id, now);
        let seen: Duration = phases.iter().map(|(_, spent, _)| *spent).sum();
        (!revision.phase().is_final() && !seen.is_zero())
            .then(|| format!("≥{}", text::duration(seen)))
    }

    /// Returns the role of a revision: a word and its tone.
    pub fn role(&self, revision: &Revision) -> (&'static str, Tone) {
        let Some(history) = self.history() else {
            return ("", Tone::Dim);
        };
        let as_of = self.profile.and_then(|profile| profile.loaded_at);
        let roles = history.roles(self.row.deployment.as_ref(), as_of);
        match roles.of(&revision.id, &revision.status) {
            RevisionRole::Serving if self.row.gone => ("", Tone::Dim),
            // The control plane does not say whether an unused deployment still serves, but its agent server may.
            RevisionRole::Serving if self.is_unusual() && !self.responds() => {
                ("serving?", Tone::Dim)
            }
            // The server does not report which revision serves traffic.
            RevisionRole::Serving if roles.derived => ("serving?", Tone::Good),
            role @ RevisionRole::Serving => (role.word(), Tone::Good),
            role @ RevisionRole::Candidate => (role.word(), Tone::Moving),
            role => (role.word(), Tone::Dim),
        }
    }

    /// Returns the explanation of a failed revision, if it was loaded.
    pub fn card(&self, revision: &Revision) -> Option<&'a Result<Box<FailureCard>, ApiError>> {
        self.d.cards.get(&self.revision_ref(revision)?)
    }

    pub fn revision_ref(&self, revision: &Revision) -> Option<RevisionRef> {
        Deployments::revision_ref(self.row, &revision.id)
    }
}

/// Returns the glyph and the status word of a revision. Only a failure colors the word.
pub(super) fn phase_line(revision: &Revision) -> Line {
    let (glyph, tone) = phase_glyph(revision.phase());
    let word = match revision.status.as_str() {
        "" => "no status",
        status => status,
    };
    let of_word = match revision.phase() {
        Phase::Failed => Tone::Bad,
        Phase::Skipped | Phase::Interrupted | Phase::Unknown => Tone::Dim,
        Phase::Deployed | Phase::Moving | Phase::Waiting => Tone::Plain,
    };
    Line::of(tone, &format!("{glyph} ")).with(of_word, word)
}

/// Returns what the server says about the status of a revision.
pub(super) fn status_message(revision: &Revision) -> Option<&str> {
    let message = revision.extra.get("status_message")?.as_str()?;
    (!message.is_empty()).then_some(message)
}

/// Returns what a revision was made from, else its id.
pub(super) fn made_from(revision: &Revision) -> String {
    revision
        .source_revision_config
        .made_from()
        .unwrap_or_else(|| text::short_id(&revision.id))
}

/// Characters of a short commit or digest.
const SHORT_HASH: usize = 7;

/// Cuts what a revision was made from (`main@9fceb02`, `support-bot:1.4.2`) to a width. Its end tells revisions apart, so the name
/// before the commit, digest or tag is cut first.
pub(super) fn fit_commit(made_from: &str, width: usize) -> String {
    let whole = text::clean(text::head(made_from, 400)).into_owned();
    if text::width(&whole) <= width {
        return whole;
    }
    let Some(at) = whole.rfind(['@', ':']) else {
        return text::fit(&whole, width).into_owned();
    };
    let (name, end) = whole.split_at(at);
    // The digest of an image is as long as a commit then.
    let is_hash = end.starts_with('@') && end.bytes().skip(1).all(|byte| byte.is_ascii_hexdigit());
    let end = if is_hash {
        end.get(..SHORT_HASH + 1).unwrap_or(end)
    } else {
        end
    };
    match width.checked_sub(text::width(end)) {
        Some(room) if room > 0 => format!("{}{end}", text::fit(name, room)),
        _ => text::fit(&whole, width).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::fit_commit;

    #[test]
    fn a_long_ref_is_cut_before_its_commit() {
        assert_eq!(fit_commit("main@9fceb02", 16), "main@9fceb02");
        assert_eq!(
            fit_commit("fix/refund-rounding@0c11dd2", 16),
            "fix/ref…@0c11dd2"
        );
        assert_eq!(fit_commit("fix/refund-rounding@0c11dd2", 9), "…@0c11dd2");
        assert_eq!(fit_commit("fix/refund-rounding@0c11dd2", 8), "fix/ref…");
        // An image by its tag, or by the beginning of its digest.
        assert_eq!(
            fit_commit("research-desk@8d4f12ab34cd", 26),
            "research-desk@8d4f12ab34cd"
        );
        assert_eq!(
            fit_commit("research-desk@8d4f12ab34cd", 16),
            "researc…@8d4f12a"
        );
        assert_eq!(fit_commit("support-bot:1.4.2", 12), "suppo…:1.4.2");
        assert_eq!(fit_commit("9fceb02", 4), "9fc…");
    }
}
