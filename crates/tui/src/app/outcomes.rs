//! Applies the results of control-plane changes to the dialog, the lists and the watches.

use super::{App, Overlay};
use crate::features::changes::confirm::Confirm;
use crate::features::thread::why::can_end;
use crate::session::effect::DeploymentDocument;
use crate::session::msg::{Applied, Described, Effect};
use crate::session::proposal::Proposal;
use crate::session::subject::Subject;
use crate::session::{Requests, Session};
use runtail_api::{ApiError, Choice, Kind, PlanError, ThreadIntent};
use runtail_core::model::Preview;
use runtail_core::text;
use std::sync::Arc;

impl App {
    /// Returns the open preview that has a plan with this number.
    pub(super) fn preview_of(&mut self, number: u64) -> Option<&mut Confirm> {
        self.with_preview(number, |confirm, _| confirm)
    }

    /// Calls the open preview that has a plan with this number.
    fn with_preview<'a, R>(
        &'a mut self,
        number: u64,
        call: impl FnOnce(&'a mut Confirm, &'a mut Session) -> R,
    ) -> Option<R> {
        let confirm = self.overlays.iter_mut().find_map(|overlay| match overlay {
            Overlay::Confirm(confirm) if confirm.owns(number) => Some(&mut **confirm),
            _ => None,
        });
        Some(call(confirm?, &mut self.session))
    }

    pub(super) fn close_preview(&mut self, number: u64) {
        self.overlays
            .retain(|overlay| !matches!(overlay, Overlay::Confirm(one) if one.owns(number)));
    }

    /// Returns the change that an open preview has with this number, if it is no action on several threads.
    pub(super) fn proposal_of(&mut self, number: u64) -> Option<&Proposal> {
        let confirm = self.preview_of(number)?;
        (!confirm.is_of_several()).then(|| &confirm.one().proposal)
    }

    /// Applies the preview of a change, or shows why planning failed.
    pub(super) fn on_planned(
        &mut self,
        number: u64,
        planned: Result<(Box<Preview>, Option<Choice>), PlanError>,
    ) -> Vec<Effect> {
        // There is nothing to do on the thread, so a notice replaces the dialog.
        if let Err(PlanError::Nothing(why)) = &planned
            && let Some(Proposal::Thread(..)) = self.proposal_of(number)
        {
            let why = self.where_to_end(number).unwrap_or_else(|| why.clone());
            self.close_preview(number);
            self.notify(false, why);
            return Vec::new();
        }
        let is_plan = planned.is_ok();
        let requests = self.with_preview(number, |confirm, session| {
            confirm.on_planned(session, number, planned)
        });
        match requests {
            Some(requests) => self.apply(requests),
            // The dialog was closed meanwhile.
            None if is_plan => vec![Effect::Forget(number)],
            None => Vec::new(),
        }
    }

    /// Returns where a thread without an active run is ended, if the user wanted to cancel that run.
    fn where_to_end(&mut self, number: u64) -> Option<String> {
        let Proposal::Thread(
            server,
            ThreadIntent::Cancel {
                thread, run: None, ..
            },
        ) = self.proposal_of(number)?
        else {
            return None;
        };
        let (server, thread) = (server.clone(), thread.clone());
        let view = self
            .shown_thread()
            .filter(|view| *view.server == server && view.thread_id == Some(&*thread))?;
        let (explain, end) = (
            self.session.key("stream.explain"),
            self.session.key("why.cancel"),
        );
        let has_keys = !explain.is_empty() && !end.is_empty();
        (has_keys && can_end(&view))
            .then(|| format!("No run is active. To end the thread, press {explain}, then {end}."))
    }

    /// Applies what reading the target of a previewed change again has shown.
    pub(super) fn on_target_checked(
        &mut self,
        number: u64,
        result: Result<Option<Vec<String>>, ApiError>,
    ) -> Vec<Effect> {
        let requests = self.with_preview(number, |confirm, session| {
            confirm.on_checked(session, result)
        });
        self.apply(requests.unwrap_or_default())
    }

    /// Applies the result of a sent change, and reports it even if its dialog was closed.
    pub(super) fn on_sent(&mut self, number: u64, sent: Result<Applied, ApiError>) -> Vec<Effect> {
        match sent {
            Ok(made) => self.on_applied(number, made),
            // The target had changed when the change was to be sent, so it is planned again.
            Err(error)
                if error.kind == Kind::Stale
                    && matches!(self.proposal_of(number), Some(Proposal::Service(_))) =>
            {
                self.session.restart_polls();
                self.notify(true, format!("{}.", text::capitalized(&error.detail)));
                let requests =
                    self.with_preview(number, |confirm, session| confirm.review_again(session));
                self.apply(requests.unwrap_or_default())
            }
            Err(error) => {
                match self.preview_of(number) {
                    Some(confirm) => {
                        confirm.fail(error.clone());
                        self.session.report_error(&error);
                    }
                    None => self.notify(true, error.story()),
                }
                if matches!(error.kind, Kind::NotFound | Kind::Stale) {
                    self.session.restart_polls();
                    // The page behind the dialog shows what is gone, or changed.
                    let page = self.overlays.iter_mut().find_map(|overlay| match overlay {
                        Overlay::Records(page) => Some(page),
                        _ => None,
                    });
                    let requests = page.map(|page| page.reread(&self.session));
                    return self.apply(requests.unwrap_or_default());
                }
                Vec::new()
            }
        }
    }

    fn on_applied(&mut self, number: u64, made: Applied) -> Vec<Effect> {
        let at = self
            .overlays
            .iter()
            .position(|o| matches!(o, Overlay::Confirm(c) if c.owns(number)));
        if let Some(at) = at {
            self.overlays.remove(at);
            // The edited document was sent, so close its editor too.
            if at > 0
                && at == self.overlays.len()
                && matches!(self.overlays[at - 1], Overlay::Edit(_))
            {
                self.overlays.pop();
            }
        }
        let message = match made.revision {
            Some(of) => {
                let watched = self.deployments.watch_made(&self.session, of);
                format!("{} {watched}", made.said)
            }
            None => made.said,
        };
        if let Some((profile, id, name)) = made.deleting {
            self.deployments.deleting.insert((profile, id), name);
        }
        self.notify(false, message);
        self.session.restart_polls();
        let reread = match self.overlays.last_mut() {
            Some(Overlay::Browse(browse)) => browse.reread(&self.session).into(),
            Some(Overlay::Records(page)) => page.reread(&self.session),
            _ => Requests::none(),
        };
        self.apply(reread)
    }

    /// Opens a deployment's current settings in the editor, if they are still awaited.
    pub(super) fn on_document(
        &mut self,
        (profile, id, name): (Arc<str>, Arc<str>, String),
        document: Result<DeploymentDocument, ApiError>,
    ) -> Vec<Effect> {
        if self.pending_record
            != Some(Described::Deployment(
                profile.clone(),
                id.clone(),
                name.clone(),
            ))
        {
            return Vec::new();
        }
        self.pending_record = None;
        match document {
            Ok(DeploymentDocument { text, current }) => {
                return self.edit(
                    Subject::UpdateDeployment {
                        profile,
                        id,
                        name: name.into(),
                    },
                    &text,
                    Some(current),
                );
            }
            Err(error) => {
                self.session.report_error(&error);
                self.notify(true, error.story());
            }
        }
        Vec::new()
    }
}
