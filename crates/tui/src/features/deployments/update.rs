//! What polls report: lists, newest revisions, the revisions of one deployment.

use super::Deployments;
use super::list::Part;
use super::revisions::make_room;
use crate::session::msg::NextPoll;
use crate::session::profile::ProfileState;
use crate::session::{Request, Requests, Session};
use jiff::{SignedDuration, Timestamp};
use runtail_api::{ApiError, Kind, Listing, Revisions};
use runtail_core::model::{Deployment, Revision};
use runtail_core::text;

/// The list of a profile, as a poll reports it.
pub struct ListReport {
    /// As far as it could be read.
    pub result: Result<Listing<Deployment>, ApiError>,
    /// Whether the reading broke off before the end.
    pub torn: bool,
    /// How far the server's clock is ahead of ours.
    pub skew: SignedDuration,
    /// When it is polled again.
    pub next: NextPoll,
}

impl Deployments {
    /// Takes a page of a profile's first list.
    pub fn on_page(&mut self, number: usize, state: &mut ProfileState, deployments: Vec<Deployment>) {
        if !state.coming && state.loaded_at.is_none() && !self.list.touched {
            self.list.picker = Default::default();
        }
        state.coming = true;
        self.list.take(number, state, deployments, Part::Page);
    }

    /// Takes a profile's list, as far as it could be read.
    pub fn on_list(&mut self, number: usize, state: &mut ProfileState, report: ListReport, now: Timestamp) -> Requests {
        let ListReport { result, torn, skew, next } = report;
        let mut out = Requests::none();
        (state.coming, state.next_poll) = (false, Some(next));
        let before = state.error.take().or(state.partial.take());
        match result {
            Ok(listing) => {
                if state.loaded_at.is_none() && !self.list.touched {
                    self.list.picker = Default::default();
                }
                let part = if torn { Part::Torn } else { Part::Whole };
                if listing.incomplete.is_none() {
                    state.limited_until = None;
                }
                (state.loaded_at, state.partial) = (Some(now), listing.incomplete);
                out.extend(on_skew(state, skew));
                self.list.take(number, state, listing.items, part);
                let list = &self.list;
                self.histories.retain(|id, _| list.row(id).is_some());
            }
            Err(error) => state.error = Some(error),
        }
        let Some(error) = state.error.clone().or(state.partial.clone()) else { return out };
        out.push(Request::ReportError(error.clone()));
        // Said once, not at each poll; a refused key has been said with what it means.
        let same = |before: ApiError| before.badge() == error.badge();
        if !before.is_some_and(same) && error.kind != Kind::Unauthorized {
            out.notify(true, error.story());
        }
        out
    }

    /// Takes the newest revision of a deployment in the list.
    pub fn on_newest(&mut self, profile: &str, deployment: &str, revision: Result<Revision, ApiError>) -> Requests {
        let row = format!("{profile}/{deployment}");
        match revision {
            Ok(revision) => match self.list.take_status(&row, revision.clone()) {
                true => self.check_overtaken(profile, deployment, &revision),
                false => Requests::none(),
            },
            Err(error) => {
                self.list.newest_failed(&row, error.clone());
                Request::ReportError(error).into()
            }
        }
    }

    /// Takes the revisions of a deployment.
    pub fn on_revisions(
        &mut self,
        session: &Session,
        (profile, deployment): (&str, &str),
        result: Result<Revisions, ApiError>,
        next: NextPoll,
    ) -> Requests {
        let id = format!("{profile}/{deployment}");
        let skew = session.profile(profile).map(|p| p.skew).unwrap_or_default();
        let history = self.histories.entry(id.clone()).or_default();
        let error = result.as_ref().err().cloned();
        let newest = result.as_ref().ok().and_then(|r| r.items.first()).cloned();
        history.take(result, next, session.now, skew);
        make_room(&mut self.histories, &id);
        let mut out = Requests::none();
        if let Some(newest) = newest
            && self.list.take_newest(&id, newest.clone())
        {
            out.extend(self.check_overtaken(profile, deployment, &newest));
        }
        if let Some(error) = error {
            out.push(Request::ReportError(error));
        }
        out
    }
}

/// Takes how far the server's clock is ahead of ours. Only what is really another time is news.
fn on_skew(state: &mut ProfileState, skew: SignedDuration) -> Requests {
    if (state.skew - skew).abs() <= SignedDuration::from_secs(20) {
        return Requests::none();
    }
    state.skew = skew;
    let (name, mut out) = (state.name.clone(), Requests::from(Request::AdjustClocks));
    if skew.is_zero() {
        out.notify(false, format!("{name}: its clock is in sync again."));
        return out;
    }
    let how = if skew.is_positive() { "ahead of" } else { "behind" };
    let far = text::duration(skew.unsigned_abs());
    out.notify(false, format!("{name}: its clock is {far} {how} ours; ages are by its clock."));
    out
}
