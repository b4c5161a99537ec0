//! Applies the results of control-plane changes to the dialog, the lists and the watches.

use super::{App, Overlay};
use crate::features::changes::confirm::{Confirm, after_failure};
use crate::features::thread::why::can_end;
use crate::session::effect::DeploymentDocument;
use crate::session::msg::{Applied, Described, Effect, ServerRef};
use crate::session::subject::Subject;
use crate::session::{ComponentId, Requests};
use runtail_api::{ApiError, ThreadIntent};
use std::sync::Arc;

impl App {
    /// Returns the preview that sent a change, if it is still open.
    pub(super) fn preview_of(&mut self, sender: ComponentId) -> Option<&mut Confirm> {
        self.overlays.iter_mut().find_map(|overlay| {
            let is_it = overlay.id() == sender;
            match overlay {
                Overlay::Confirm(confirm) if is_it => Some(&mut **confirm),
                _ => None,
            }
        })
    }

    /// Returns where a thread without an active run is ended, if the user wanted to cancel that run.
    pub(super) fn where_to_end(&self, on: &ServerRef, intent: &ThreadIntent) -> Option<String> {
        let ThreadIntent::Cancel { thread, .. } = intent else {
            return None;
        };
        let view = self
            .shown_thread()
            .filter(|view| view.server == on && view.thread_id == Some(&**thread))?;
        let (explain, end) = (
            self.session.key("stream.explain"),
            self.session.key("why.cancel"),
        );
        let has_keys = !explain.is_empty() && !end.is_empty();
        (has_keys && can_end(&view))
            .then(|| format!("No run is active. {explain}, then {end} ends the thread."))
    }

    /// Reports a sent change that failed although its preview was closed.
    pub(super) fn on_failed_unseen(&mut self, error: &ApiError) -> Requests {
        self.notify(true, error.story());
        after_failure(&mut self.session, error)
    }

    /// Reloads the topmost page that lists the changed records.
    pub(super) fn reread_page(&mut self) -> Vec<Effect> {
        let session = &self.session;
        let pages = self.overlays.iter_mut().rev();
        let reread = |page: &mut Overlay| Some((page.id(), page.reread(session)?));
        match pages.filter_map(reread).next() {
            Some((page, requests)) => self.apply_of(page, requests),
            None => Vec::new(),
        }
    }

    /// Applies the result of a sent change, even if its preview was closed.
    pub(super) fn on_applied(&mut self, sender: ComponentId, made: Applied) -> Vec<Effect> {
        if let Some(at) = self.overlays.iter().position(|open| open.id() == sender) {
            self.overlays.remove(at);
            // The edited document was sent, so close its editor too.
            if at == self.overlays.len() {
                self.overlays.pop_if(|top| matches!(top, Overlay::Edit(_)));
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
        self.reread_page()
    }

    /// Opens a deployment's current settings in the editor, if they are still awaited.
    pub(super) fn on_document(
        &mut self,
        (profile, id, name): (Arc<str>, Arc<str>, String),
        document: Result<DeploymentDocument, ApiError>,
    ) -> Vec<Effect> {
        let of = Described::Deployment(profile.clone(), id.clone(), name.clone());
        if self
            .pending_record
            .take_if(|awaited| *awaited == of)
            .is_none()
        {
            return Vec::new();
        }
        match document {
            Ok(DeploymentDocument { text, current }) => {
                let subject = Subject::UpdateDeployment {
                    profile,
                    id,
                    name: name.into(),
                };
                return self.edit(subject, &text, Some(current));
            }
            Err(error) => {
                self.session.report_error(&error);
                self.notify(true, error.story());
            }
        }
        Vec::new()
    }
}
