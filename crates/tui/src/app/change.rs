//! Changing deployments and revisions from the dashboard: what is meant by a key becomes an intent, and an intent a dialog.

use super::confirm::{Confirm, Proposal, Stage};
use super::editor::{Subject, Written};
use super::fleet::Row;
use super::keys::{Action, Context};
use super::msg::{Described, Effect, NextPoll, RevisionRef};
use super::open::read_only_text;
use super::{App, Overlay, Pane};
use runtail_api::{ApiError, Choice, Kind, ThreadIntent};
use runtail_core::model::{Deployment, DeploymentSpec, Intent};
use runtail_core::text;
use std::sync::Arc;

impl App {
    /// The deployment that is meant, with its profile and id. Says why there is none.
    fn meant_deployment(&mut self) -> Option<(Row, Arc<str>, String)> {
        let Some(row) = self.fleet.selected().cloned() else {
            self.notify(false, "No deployment is selected.");
            return None;
        };
        if row.gone {
            self.notify(
                true,
                format!("{} is gone: it was deleted since it was listed. r asks for the list again.", row.name),
            );
            return None;
        }
        let Some(id) = row.deployment.as_ref().map(|d| d.id.clone()) else {
            self.notify(
                true,
                format!("{} is an agent server without a control plane: it cannot be changed from here.", row.name),
            );
            return None;
        };
        let profile = row.profile_name.clone();
        Some((row, profile, id))
    }

    /// Whether a profile may be written to; says so where it may not.
    fn may_write(&mut self, profile: &str) -> bool {
        let may = !self.is_read_only(profile);
        if !may {
            self.notify(true, read_only_text(profile));
        }
        may
    }

    /// Opens a document for a new deployment, of the profile of the selected row.
    pub(super) fn begin_create(&mut self) -> Vec<Effect> {
        let Some(profile) = self.meant_profile() else {
            self.notify(true, "None of the profiles has a control plane on which a deployment could be created.");
            return Vec::new();
        };
        if self.may_write(&profile) {
            self.edit(Subject::CreateDeployment { profile }, DeploymentSpec::EXAMPLE);
        }
        Vec::new()
    }

    /// Opens a document with what the selected deployment is now.
    pub(super) fn begin_update(&mut self) -> Vec<Effect> {
        let Some((row, profile, id)) = self.meant_deployment() else { return Vec::new() };
        if !self.may_write(&profile) {
            return Vec::new();
        }
        let id: Arc<str> = id.into();
        // The document comes over what one does now, so only who still waits for it gets it.
        self.describing = Some(Described::Deployment(profile.clone(), id.clone(), row.name.clone()));
        vec![Effect::Write(profile, id, row.name)]
    }

    /// Takes what a deployment is now, as a document to begin from.
    pub(super) fn take_document(
        &mut self,
        profile: Arc<str>,
        id: Arc<str>,
        name: String,
        document: Result<String, ApiError>,
    ) {
        if self.describing != Some(Described::Deployment(profile.clone(), id.clone(), name.clone())) {
            return;
        }
        self.describing = None;
        match document {
            Ok(text) => self.edit(Subject::UpdateDeployment { profile, id, name: name.into() }, &text),
            Err(error) => {
                self.heed(&error);
                self.notify(true, error.story());
            }
        }
    }

    /// Asks about deleting the selected deployment.
    pub(super) fn begin_delete(&mut self) -> Vec<Effect> {
        let Some((row, profile, deployment)) = self.meant_deployment() else { return Vec::new() };
        let force = row
            .deployment
            .as_ref()
            .and_then(|d| d.status.as_deref())
            .is_some_and(|s| s.starts_with("AWAITING_") && s.ends_with("DELETE"));
        self.begin_intent(profile, Intent::DeleteDeployment { id: deployment, delete_tracing_project: false, force })
    }

    fn meant_revision(&mut self) -> Option<RevisionRef> {
        self.meant_deployment()?;
        let of = self.meant().map(|(of, _)| of);
        if of.is_none() {
            self.notify(false, "No revision is selected.");
        }
        of
    }

    /// Asks about deploying the selected revision again.
    pub(super) fn begin_redeploy(&mut self) -> Vec<Effect> {
        let Some(of) = self.meant_revision() else { return Vec::new() };
        let intent = Intent::Redeploy { deployment: of.deployment.to_string(), revision: of.revision.to_string() };
        self.begin_intent(of.profile, intent)
    }

    /// Asks about stopping the selected revision.
    pub(super) fn begin_interrupt(&mut self) -> Vec<Effect> {
        let Some(of) = self.meant_revision() else { return Vec::new() };
        let intent = Intent::Interrupt { deployment: of.deployment.to_string(), revision: of.revision.to_string() };
        self.begin_intent(of.profile, intent)
    }

    /// Asks about going back to the selected revision.
    pub(super) fn begin_rollback(&mut self) -> Vec<Effect> {
        if self.focus != Pane::Revisions {
            self.notify(false, "Choose the revision to go back to: Tab goes to the revisions.");
            return Vec::new();
        }
        let Some(of) = self.meant_revision() else { return Vec::new() };
        let intent = Intent::Rollback { deployment: of.deployment.to_string(), revision: of.revision.to_string() };
        self.begin_intent(of.profile, intent)
    }

    /// What was edited becomes a change to look at.
    pub(super) fn preview_edited(&mut self) -> Vec<Effect> {
        let Some(Overlay::Edit(editor)) = self.overlays.last() else { return Vec::new() };
        if let Some(problem) = &editor.problem {
            let text = format!("Line {}: {}. Nothing was sent.", problem.line, problem.message);
            self.notify(true, text);
            return Vec::new();
        }
        let profile = editor.subject.profile().into();
        match editor.subject.read(&editor.text.text()) {
            Ok(Written::Change(intent)) => self.begin_intent(profile, intent),
            Ok(Written::Authentication(request)) => self.show_sign_in(profile, request),
            Ok(Written::Profile(_)) => self.take_edited_profile(),
            // It was checked when it was typed.
            Err(problem) => {
                self.notify(true, problem.message);
                Vec::new()
            }
        }
    }

    /// A key of the dialog.
    pub(super) fn act_confirm(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Send => self.send_change(),
            Action::Back | Action::Quit => self.leave_confirm(),
            Action::Option => self.toggle_option(),
            Action::Curl => {
                let Some(Overlay::Confirm(confirm)) = self.overlays.last() else { return Vec::new() };
                match confirm.preview().map(|preview| preview.request.curl()) {
                    Some(curl) => self.copy_curl(curl),
                    None => Vec::new(),
                }
            }
            _ => Vec::new(),
        }
    }

    /// What goes with a change, or does not. That is another request, so it is planned again.
    fn toggle_option(&mut self) -> Vec<Effect> {
        let Some(Overlay::Confirm(confirm)) = self.overlays.last() else { return Vec::new() };
        let Confirm { proposal, stage: Stage::Ready(_), .. } = &**confirm else { return Vec::new() };
        let other = match proposal.clone() {
            Proposal::Service(Intent::DeleteDeployment { id, delete_tracing_project, force }) => {
                let delete_tracing_project = !delete_tracing_project;
                Proposal::Service(Intent::DeleteDeployment { id, delete_tracing_project, force })
            }
            Proposal::Thread(server, ThreadIntent::Cancel { thread, run, action, with_queue })
                if matches!(confirm.choice, Some(Choice::Queue { .. })) =>
            {
                Proposal::Thread(server, ThreadIntent::Cancel { thread, run, action, with_queue: !with_queue })
            }
            _ => return Vec::new(),
        };
        let typed = confirm.typed.clone();
        let effects = self.propose_instead(other);
        if let Some(Overlay::Confirm(confirm)) = self.overlays.last_mut() {
            confirm.typed = typed;
        }
        effects
    }

    /// Shows the request with the number of steps that was typed.
    pub(super) fn change_limit(&mut self) -> Vec<Effect> {
        let Some(Overlay::Confirm(confirm)) = self.overlays.last() else { return Vec::new() };
        let Some(limit) = confirm.typed_limit() else { return Vec::new() };
        match confirm.proposal.clone() {
            Proposal::Thread(server, ThreadIntent::Again { thread, .. }) => {
                let intent = ThreadIntent::Again { thread, recursion_limit: Some(limit) };
                self.propose_instead(Proposal::Thread(server, intent))
            }
            _ => Vec::new(),
        }
    }

    /// Plans something else in the place of what is asked about.
    fn propose_instead(&mut self, proposal: Proposal) -> Vec<Effect> {
        let Some(Overlay::Confirm(confirm)) = self.overlays.pop() else { return Vec::new() };
        let mut effects = vec![Effect::Forget(confirm.number)];
        effects.extend(match proposal {
            Proposal::Service(intent) => self.begin_intent(confirm.profile, intent),
            Proposal::Thread(server, intent) => self.begin_action(server, intent),
        });
        effects
    }

    /// Copies a request as a command.
    pub(super) fn copy_curl(&mut self, curl: String) -> Vec<Effect> {
        self.notify(false, "Copied as a command for curl: set KEY (or TOKEN) first. Secrets in the body are ***.");
        vec![Effect::Copy(runtail_core::text::clean_lines(&curl).into_owned())]
    }

    /// Watches the revision that a change made; says so.
    pub(super) fn watch_made(&mut self, of: RevisionRef) -> String {
        let row = self.fleet.row(&format!("{}/{}", of.profile, of.deployment));
        let name = row.map(Self::row_title).unwrap_or_else(|| of.deployment.to_string());
        let id = text::short_id(&of.revision);
        if !self.watches.contains_key(&of) {
            self.toggle_watch(of, &name, None);
        }
        format!("Its revision {id} is watched: you are told when it ends.")
    }

    /// Takes how a deployment is that is being deleted; says when it is gone.
    pub(super) fn take_vanishing(
        &mut self,
        profile: Arc<str>,
        id: Arc<str>,
        result: Result<Deployment, ApiError>,
        next: NextPoll,
    ) -> Vec<Effect> {
        let key = (profile, id);
        let Some(name) = self.vanishing.get(&key).cloned() else { return Vec::new() };
        let row = format!("{}/{}", key.0, key.1);
        let end = match result {
            Ok(deployment) => {
                self.fleet.take_word(&row, deployment.status);
                (next == NextPoll::GaveUp)
                    .then(|| (true, "is still being deleted, and is no longer followed.".to_string()))
            }
            Err(error) if error.kind == Kind::NotFound => {
                self.fleet.mark_gone(&row);
                Some((false, "is gone: the service does not know it any more.".to_string()))
            }
            Err(error) => {
                self.heed(&error);
                let ends = next == NextPoll::GaveUp || super::stops_polling(&error) && error.kind != Kind::Unauthorized;
                ends.then(|| (true, format!("cannot be followed any more: {}", error.story())))
            }
        };
        if let Some((bad, how)) = end {
            self.vanishing.remove(&key);
            self.notify(bad, format!("{name} {how}"));
        }
        Vec::new()
    }

    /// Does in another place what a key does there.
    pub(super) fn act_in(&mut self, context: Context, action: Action) -> Vec<Effect> {
        let mut effects = Vec::new();
        if context != Context::Global {
            effects = self.leave_overlays();
            self.focus = Pane::Deployments;
        }
        effects.extend(super::update::act(self, context, action));
        effects
    }

    /// Leaves all that lies over the panes: what was typed is kept, and what was asked about is not sent.
    pub(super) fn leave_overlays(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        for overlay in std::mem::take(&mut self.overlays) {
            match overlay {
                Overlay::Compose(composer) => self.draft = Some(*composer),
                Overlay::Edit(editor) => self.keep_draft(*editor),
                Overlay::Answer(card) => self.keep_answer_drafts(&card),
                Overlay::Confirm(confirm) if matches!(confirm.stage, Stage::Ready(_)) => {
                    effects.push(Effect::Forget(confirm.number));
                }
                // There is nothing behind it.
                Overlay::FirstRun(at) => self.overlays.push(Overlay::FirstRun(at)),
                _ => {}
            }
        }
        effects
    }
}
