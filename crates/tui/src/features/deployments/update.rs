//! Applies the results of polls: lists, newest revisions, and the revisions of one deployment.

use super::Deployments;
use super::last_day::{PastDay, evict_if_full};
use super::list::ListPart;
use super::revisions::make_room;
use crate::session::msg::{NextPoll, SubscriptionEvent, SubscriptionId};
use crate::session::profile::ProfileState;
use crate::session::{Request, Requests, Session};
use jiff::SignedDuration;
use runtail_api::{ApiError, Kind, Revisions};
use runtail_core::model::Revision;
use runtail_core::text;

impl Deployments {
    /// Applies an event of a poll.
    pub fn on_event(
        &mut self,
        session: &mut Session,
        from: SubscriptionId,
        event: SubscriptionEvent,
    ) -> Requests {
        use SubscriptionEvent as Event;
        use SubscriptionId as Id;
        match (from, event) {
            (Id::Deployments(profile), event) => return self.on_list(session, &profile, event),
            (
                Id::Newest(profile),
                Event::Newest {
                    deployment,
                    revision,
                },
            ) => return self.on_newest(session, (&profile, &deployment), revision),
            (Id::Revisions(profile, deployment), Event::Revisions(result, next)) => {
                return self.on_revisions(session, (&profile, &deployment), result, next);
            }
            (
                Id::Past(profile),
                Event::Past {
                    deployment,
                    revisions,
                },
            ) => self.on_past(&profile, &deployment, &revisions),
            (
                Id::Past(_),
                Event::CommitSubject {
                    revision,
                    commit,
                    subject,
                },
            ) => self.subjects.insert(revision, commit, subject),
            (Id::Card(of), Event::Card(card)) => {
                if let Err(error) = &card {
                    session.report_error(error);
                }
                self.on_card(of, card);
            }
            (Id::Watch(of), Event::Watched(result, next)) => {
                if let Err(error) = &result {
                    session.report_error(error);
                }
                return self.on_watched(session, &of, result, next);
            }
            (Id::Deletion(profile, id), Event::Deleting(result, next)) => {
                return self.on_deletion(session, (profile, id), result, next);
            }
            _ => {}
        }
        Requests::none()
    }

    /// Applies a page of a profile's first list, or the result of a poll of the list.
    fn on_list(
        &mut self,
        session: &mut Session,
        profile: &str,
        event: SubscriptionEvent,
    ) -> Requests {
        let now = session.now;
        let mut profiles = session.profiles.iter_mut().enumerate();
        let Some((number, state)) = profiles.find(|(_, state)| &*state.name == profile) else {
            return Requests::none();
        };
        let (result, is_truncated, skew, took, next) = match event {
            SubscriptionEvent::Page(deployments) => {
                state.is_first_load = true;
                self.list.apply(number, state, deployments, ListPart::Page);
                self.share_all(session);
                return Requests::none();
            }
            SubscriptionEvent::Deployments {
                result,
                is_truncated,
                skew,
                took,
                next,
            } => (result, is_truncated, skew, took, next),
            _ => return Requests::none(),
        };
        let mut out = Requests::none();
        state.last_check = Some((now, took));
        (state.is_first_load, state.next_poll) = (false, Some(next));
        let before = state.error.take().or(state.partial.take());
        match result {
            Ok(listing) => {
                let part = if is_truncated {
                    ListPart::Incomplete
                } else {
                    ListPart::Complete
                };
                if listing.incomplete.is_none() {
                    state.limited_until = None;
                }
                (state.loaded_at, state.partial) = (Some(now), listing.incomplete);
                out.extend(on_skew(state, skew));
                self.list.apply(number, state, listing.items, part);
                let list = &self.list;
                self.histories.retain(|id, _| list.row(id).is_some());
                self.past.retain(|id, _| list.row(id).is_some());
            }
            Err(error) => state.error = Some(error),
        }
        let error = state.error.clone().or(state.partial.clone());
        self.share_all(session);
        let Some(error) = error else {
            return out;
        };
        session.report_error(&error);
        // Notify once, not at each poll. A rejected key has its own notice.
        let same = |before: ApiError| before.badge() == error.badge();
        if !before.is_some_and(same) && error.kind != Kind::Unauthorized {
            out.notify(true, error.story());
        }
        out
    }

    /// Applies the newest revision of a listed deployment.
    fn on_newest(
        &mut self,
        session: &mut Session,
        (profile, deployment): (&str, &str),
        revision: Result<Revision, ApiError>,
    ) -> Requests {
        let row = format!("{profile}/{deployment}");
        match revision {
            Ok(revision) => match self.list.apply_status(&row, revision.clone()) {
                true => {
                    self.share(session, &row);
                    self.check_superseded(profile, deployment, &revision)
                }
                false => Requests::none(),
            },
            Err(error) => {
                session.report_error(&error);
                self.list.newest_failed(&row, error);
                Requests::none()
            }
        }
    }

    /// Applies the revisions of the last day of a listed deployment.
    fn on_past(&mut self, profile: &str, deployment: &str, revisions: &[Revision]) {
        evict_if_full(&mut self.past);
        self.past
            .insert(format!("{profile}/{deployment}"), PastDay::new(revisions));
    }

    /// Applies the revisions of a deployment.
    fn on_revisions(
        &mut self,
        session: &mut Session,
        (profile, deployment): (&str, &str),
        result: Result<Revisions, ApiError>,
        next: NextPoll,
    ) -> Requests {
        let id = format!("{profile}/{deployment}");
        let skew = session.profile(profile).map(|p| p.skew).unwrap_or_default();
        if let Err(error) = &result {
            session.report_error(error);
        }
        let newest = result.as_ref().ok().and_then(|r| r.items.first()).cloned();
        if let Ok(revisions) = &result {
            self.on_past(profile, deployment, &revisions.items);
        }
        let history = self.histories.entry(id.clone()).or_default();
        history.apply(result, next, session.now, skew);
        make_room(&mut self.histories, &id);
        let mut out = Requests::none();
        if let Some(newest) = newest
            && self.list.apply_newest(&id, newest.clone())
        {
            out.extend(self.check_superseded(profile, deployment, &newest));
        }
        self.share(session, &id);
        out
    }
}

/// Applies how far the server's clock is ahead of ours. Ignores small changes.
fn on_skew(state: &mut ProfileState, skew: SignedDuration) -> Requests {
    if (state.skew - skew).abs() <= SignedDuration::from_secs(20) {
        return Requests::none();
    }
    state.skew = skew;
    let (name, mut out) = (state.name.clone(), Requests::from(Request::AdjustClocks));
    if skew.is_zero() {
        out.notify(false, format!("{name}: clock in sync again."));
        return out;
    }
    let how = if skew.is_positive() {
        "ahead of"
    } else {
        "behind"
    };
    let far = text::duration(skew.unsigned_abs());
    out.notify(
        false,
        format!("{name}: clock {far} {how} ours; ages use it."),
    );
    out
}
