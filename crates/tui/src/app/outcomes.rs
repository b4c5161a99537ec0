//! Applies the results of control-plane changes to the dialog, the lists and the watches.

use super::{App, Overlay};
use crate::features::changes::bulk::Bulk;
use crate::features::changes::confirm::{Confirm, Stage};
use crate::features::thread::why::can_end;
use crate::session::Lookup;
use crate::session::effect::DeploymentDocument;
use crate::session::msg::{Applied, Described, Effect};
use crate::session::proposal::Proposal;
use crate::session::subject::Subject;
use runtail_api::{ApiError, Choice, Kind, PlanError, ThreadIntent};
use runtail_core::model::Preview;
use runtail_core::text;
use std::sync::Arc;

impl App {
    pub(super) fn confirm_of(&mut self, number: u64) -> Option<&mut Confirm> {
        self.overlays.iter_mut().find_map(|overlay| match overlay {
            Overlay::Confirm(confirm) if confirm.number == number => Some(&mut **confirm),
            _ => None,
        })
    }

    /// Returns the open action on several threads that has a plan with this number.
    pub(super) fn bulk_of(&mut self, number: u64) -> Option<&mut Bulk> {
        self.overlays.iter_mut().find_map(|overlay| match overlay {
            Overlay::Bulk(bulk) if bulk.owns(number) => Some(&mut **bulk),
            _ => None,
        })
    }

    pub(super) fn close_confirm(&mut self, number: u64) {
        self.overlays.retain(
            |overlay| !matches!(overlay, Overlay::Confirm(confirm) if confirm.number == number),
        );
    }

    /// Applies the preview of a change, or shows why planning failed.
    pub(super) fn on_planned(
        &mut self,
        number: u64,
        planned: Result<(Box<Preview>, Option<Choice>), PlanError>,
    ) -> Vec<Effect> {
        if let Some(bulk) = self.bulk_of(number) {
            let requests = bulk.on_planned(number, planned);
            return self.apply(requests);
        }
        let now = self.session.now;
        let Some(confirm) = self.confirm_of(number) else {
            // The dialog was closed meanwhile.
            return match planned {
                Ok(_) => vec![Effect::Forget(number)],
                Err(_) => Vec::new(),
            };
        };
        let is_of_thread = matches!(confirm.proposal, Proposal::Thread(..));
        match planned {
            Ok((preview, choice)) => {
                confirm.on_planned(preview, now);
                confirm.choice = choice;
            }
            // There is nothing to do, so a notice replaces the dialog.
            Err(PlanError::Nothing(why)) if is_of_thread => {
                let why = self.where_to_end(number).unwrap_or(why);
                self.close_confirm(number);
                self.notify(false, why);
            }
            Err(error) => {
                confirm.stage = Stage::Refused(error.clone());
                if let Some(error) = error.request() {
                    self.session.report_error(error);
                }
            }
        }
        Vec::new()
    }

    /// Returns where a thread without an active run is ended, if the user wanted to cancel that run.
    fn where_to_end(&mut self, number: u64) -> Option<String> {
        let confirm = self.confirm_of(number)?;
        let Proposal::Thread(
            server,
            ThreadIntent::Cancel {
                thread, run: None, ..
            },
        ) = &confirm.proposal
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
        let requests = self.overlays.iter_mut().find_map(|overlay| match overlay {
            Overlay::Confirm(confirm) if confirm.number == number => {
                Some(confirm.on_checked(&self.session, result.clone()))
            }
            _ => None,
        });
        requests
            .map(|requests| self.apply(requests))
            .unwrap_or_default()
    }

    /// Returns whether the dialog of a change shows a new preview where the target has changed.
    fn reviews_again(&mut self, number: u64) -> bool {
        self.confirm_of(number)
            .is_some_and(|confirm| matches!(confirm.proposal, Proposal::Service(_)))
    }

    /// Plans a change again whose target had changed when it was to be sent, if its dialog is still open.
    fn review_again(&mut self, number: u64) -> Vec<Effect> {
        let requests = self.overlays.iter_mut().find_map(|overlay| match overlay {
            Overlay::Confirm(confirm) if confirm.number == number => {
                Some(confirm.review_again(&self.session))
            }
            _ => None,
        });
        requests
            .map(|requests| self.apply(requests))
            .unwrap_or_default()
    }

    /// Applies the result of a sent change, and reports it even if its dialog was closed.
    pub(super) fn on_sent(&mut self, number: u64, sent: Result<Applied, ApiError>) -> Vec<Effect> {
        match sent {
            Ok(made) => self.on_applied(number, made),
            Err(error) if error.kind == Kind::Stale && self.reviews_again(number) => {
                self.session.restart_polls();
                self.notify(true, format!("{}.", text::capitalized(&error.detail)));
                self.review_again(number)
            }
            Err(error) => {
                match self.confirm_of(number) {
                    Some(_) => self.session.report_error(&error),
                    None => self.notify(true, error.story()),
                }
                if let Some(confirm) = self.confirm_of(number) {
                    confirm.fail(error.clone());
                }
                if matches!(error.kind, Kind::NotFound | Kind::Stale) {
                    self.session.restart_polls();
                    // The page behind the dialog shows what is gone, or changed.
                    let page = self.overlays.iter_mut().find_map(|overlay| match overlay {
                        Overlay::Records(page) => Some(page),
                        _ => None,
                    });
                    return page
                        .map(|page| page.reread(&self.session))
                        .unwrap_or_default();
                }
                Vec::new()
            }
        }
    }

    fn on_applied(&mut self, number: u64, made: Applied) -> Vec<Effect> {
        let at = self
            .overlays
            .iter()
            .position(|o| matches!(o, Overlay::Confirm(c) if c.number == number));
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
        match self.overlays.last_mut() {
            Some(Overlay::Browse(browse)) => vec![browse.reread(&self.session)],
            Some(Overlay::Records(page)) => page.reread(&self.session),
            _ => Vec::new(),
        }
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
