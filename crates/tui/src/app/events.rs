//! Passes the events of subscriptions and the results of effects to the features.

use super::{App, Overlay};
use crate::features::deployments::update::ListReport;
use crate::features::diagnostics::explain::Explained;
use crate::features::profiles::file::Save;
use crate::features::resources::sign_in;
use crate::features::stream::bisect::BisectPage;
use crate::session::msg::{
    Described, Effect, EffectResult, Sent, SubscriptionEvent, SubscriptionId,
};
use crate::session::{Component, Requests};
use crate::widgets::jobs::JobProgress;
use runtail_api::{ApiError, AuthWaited, Kind, Listing};
use runtail_core::config::import::Import;
use runtail_core::model::Deployment;
use runtail_core::text::bytes;
use std::sync::Arc;

impl App {
    /// Applies an event of a subscription.
    pub(super) fn on_event(
        &mut self,
        key: SubscriptionId,
        event: SubscriptionEvent,
    ) -> Vec<Effect> {
        let listed = match (&key, &event) {
            (SubscriptionId::Newest(profile), SubscriptionEvent::Newest { deployment, .. }) => {
                Some(format!("{profile}/{deployment}"))
            }
            _ => None,
        };
        let newest = listed
            .as_deref()
            .and_then(|row| row.split_once('/'))
            .map(|(_, deployment)| deployment);
        let (of_list, is_watched) = (key.clone(), self.is_watched(&key, newest));
        self.note_reach(&key, &event);
        let (notices, is_history) = (
            self.session.notified,
            matches!(key, SubscriptionId::History(_)),
        );
        let mut effects = self.apply_event(key, event);
        if is_history {
            // An awaited state may have opened its editor.
            self.leave_notice(notices);
        }
        self.sync_stale_lists();
        effects.extend(match listed {
            Some(row) => self.inbox_after_newest(&row, is_watched),
            None => self.inbox_after_list(&of_list, is_watched),
        });
        effects
    }

    fn apply_event(&mut self, key: SubscriptionId, event: SubscriptionEvent) -> Vec<Effect> {
        let at = self.session.now;
        let mut effects = Vec::new();
        let requests = match (key, event) {
            (
                SubscriptionId::Inbox(_),
                SubscriptionEvent::Inbox {
                    server,
                    began,
                    result,
                },
            ) => {
                return self.on_inbox(&server, began, result);
            }
            (SubscriptionId::Deployments(profile), event) => {
                let is_whole = is_whole_list(&event);
                let requests = self.on_list_event(&profile, event);
                let listed = is_whole.then_some(&*profile);
                effects.extend(self.open_pending(listed));
                requests
            }
            (
                SubscriptionId::Newest(profile),
                SubscriptionEvent::Newest {
                    deployment,
                    revision,
                },
            ) => self.deployments.on_newest(&profile, &deployment, revision),
            (
                SubscriptionId::Revisions(profile, deployment),
                SubscriptionEvent::Revisions(result, next),
            ) => {
                self.deployments
                    .on_revisions(&self.session, (&profile, &deployment), result, next)
            }
            (
                SubscriptionId::Past(profile),
                SubscriptionEvent::Past {
                    deployment,
                    revisions,
                },
            ) => {
                self.deployments.on_past(&profile, &deployment, &revisions);
                Requests::none()
            }
            (
                SubscriptionId::Past(_),
                SubscriptionEvent::CommitSubject {
                    revision,
                    commit,
                    subject,
                },
            ) => {
                self.deployments.subjects.insert(revision, commit, subject);
                Requests::none()
            }
            (SubscriptionId::Card(of), SubscriptionEvent::Card(card)) => {
                if let Err(error) = &card {
                    self.report_error(error);
                }
                self.deployments.on_card(of, card);
                Requests::none()
            }
            (SubscriptionId::Watch(of), SubscriptionEvent::Watched(result, next)) => {
                if let Err(error) = &result {
                    self.report_error(error);
                }
                if let Ok(revision) = &result {
                    effects.extend(self.on_rollout(&of, revision));
                }
                self.deployments
                    .on_watched(&self.session, &of, result, next)
            }
            (SubscriptionId::Deletion(profile, id), SubscriptionEvent::Deleting(result, next)) => {
                self.deployments.on_deletion((profile, id), result, next)
            }
            (
                SubscriptionId::Log(number, source),
                SubscriptionEvent::Lines { lines, incomplete },
            ) => {
                let Some(logs) = self.logs.as_mut().filter(|l| l.number == number) else {
                    return Vec::new();
                };
                let error = lines.as_ref().err().cloned();
                logs.take(source, lines, at);
                logs.note_incomplete(source, incomplete);
                report(error)
            }
            (SubscriptionId::Threads(_), SubscriptionEvent::Threads(read)) => {
                if let Some(server) = &mut self.agent.server {
                    server.threads.take(read, at);
                }
                Requests::none()
            }
            (SubscriptionId::ThreadStatuses(_), SubscriptionEvent::ThreadStatus { of, status }) => {
                if let (Some(server), Ok(status)) = (&mut self.agent.server, status) {
                    server.threads.set_status(of.thread, of.facts, status);
                }
                Requests::none()
            }
            (SubscriptionId::Health(server), SubscriptionEvent::Health(health)) => {
                self.agent
                    .health
                    .entry(server)
                    .or_default()
                    .take(health, at);
                Requests::none()
            }
            (SubscriptionId::Runs(..), SubscriptionEvent::Runs(result)) => {
                if let Some(server) = &mut self.agent.server {
                    server.runs.apply_list(result, at);
                }
                Requests::none()
            }
            (SubscriptionId::Wait(number), event) => self.on_wait(number, event),
            (SubscriptionId::Stream(id), SubscriptionEvent::Items(items)) => {
                if let Some(viewer) = self.stream.tabs.get_mut(id) {
                    viewer.take(items);
                    let refusal = viewer.modes.refusal();
                    effects.extend(self.inbox_after_page(id));
                    self.check_restored(id);
                    let parked = self.stream.limit_memory(&self.session);
                    if !parked.is_empty() {
                        let total = bytes(self.session.settings.event_log.total);
                        let text =
                            format!("The open pages take more than {total} ([limits] total)");
                        self.notify(
                            false,
                            format!(
                                "{text}: {} will be read again when shown.",
                                parked.join(", ")
                            ),
                        );
                    }
                    refusal
                        .map(|why| Requests::error(format!("The modes are unchanged: {why}.")))
                        .unwrap_or_default()
                } else {
                    Requests::none()
                }
            }
            (SubscriptionId::Side(number, which), SubscriptionEvent::Side(loaded)) => {
                for overlay in &mut self.overlays {
                    if let Overlay::Compare(page) = overlay {
                        page.on_side(number, which, loaded.clone());
                    }
                }
                Requests::none()
            }
            (SubscriptionId::Job(number), SubscriptionEvent::Worked(part)) => {
                self.on_job(number, &part)
            }
            (SubscriptionId::History(number), event) => self.stream.on_history(number, event),
            (SubscriptionId::Graph(number), event) => {
                for overlay in &mut self.overlays {
                    if let Overlay::Graph(page) = overlay {
                        self.stream.on_page_graph(page, number, &event);
                    }
                }
                self.stream.on_graph(number, event);
                Requests::none()
            }
            (SubscriptionId::Bisect(number), SubscriptionEvent::Bisected(result)) => {
                self.bisect_page(number)
                    .into_iter()
                    .for_each(|page| page.on_result(result.clone()));
                Requests::none()
            }
            (SubscriptionId::Doctor(number), SubscriptionEvent::Checked(check)) => {
                self.on_check(number, check.as_deref())
            }
            _ => Requests::none(),
        };
        effects.extend(self.apply(requests));
        effects.extend(self.explain_again(Explained::is_outdated));
        effects
    }

    fn on_list_event(&mut self, profile: &Arc<str>, event: SubscriptionEvent) -> Requests {
        let Some(number) = self
            .session
            .profiles
            .iter()
            .position(|p| p.name == *profile)
        else {
            return Requests::none();
        };
        let state = &mut self.session.profiles[number];
        match event {
            SubscriptionEvent::Page(deployments) => {
                self.deployments.on_page(number, state, deployments);
                Requests::none()
            }
            SubscriptionEvent::Deployments {
                result,
                is_truncated,
                skew,
                took,
                next,
            } => {
                let report = ListReport {
                    result,
                    is_truncated,
                    skew,
                    took,
                    next,
                };
                self.deployments
                    .on_list(number, state, report, self.session.now)
            }
            _ => Requests::none(),
        }
    }

    fn on_wait(&mut self, number: u64, event: SubscriptionEvent) -> Requests {
        let error = match &event {
            SubscriptionEvent::WaitTrouble(error) | SubscriptionEvent::Waited(Err(error)) => {
                Some(error.clone())
            }
            _ => None,
        };
        if let Some(error) = &error {
            self.report_error(error);
        }
        let shown = self.overlays.iter_mut().find_map(|overlay| match overlay {
            Overlay::SignIn(sign_in) if sign_in.number == number => Some(sign_in),
            _ => None,
        });
        match (shown, event) {
            (Some(sign_in), SubscriptionEvent::WaitTrouble(error)) => {
                sign_in.trouble = Some(error);
                Requests::none()
            }
            (Some(sign_in), SubscriptionEvent::Waited(result)) => {
                sign_in.on_waited(result as Result<AuthWaited, ApiError>)
            }
            _ => Requests::none(),
        }
    }

    fn on_job(&mut self, number: u64, part: &JobProgress) -> Requests {
        Component::on_job(&mut self.stream, number, part);
        self.overlays
            .iter_mut()
            .for_each(|overlay| overlay.on_job(number, part));
        Requests::none()
    }

    /// Returns the page of a bisect by its number.
    fn bisect_page(&mut self, number: u64) -> Option<&mut BisectPage> {
        self.overlays.iter_mut().find_map(|overlay| match overlay {
            Overlay::Bisect(bisect) if bisect.page.number == number => Some(&mut bisect.page),
            _ => None,
        })
    }

    fn on_check(&mut self, number: u64, check: Option<&runtail_api::doctor::Check>) -> Requests {
        for overlay in &mut self.overlays {
            match overlay {
                Overlay::Doctor(report) if report.page.number == number => {
                    report.page.on_check(check);
                    let only = report.page.only.as_deref();
                    let known = only.and_then(|only| self.session.catalog.known_mut(&only.name));
                    let known = known.filter(|known| Some(&known.profile) == only);
                    check
                        .zip(known)
                        .into_iter()
                        .for_each(|(check, known)| known.on_check(check));
                }
                _ => {}
            }
        }
        Requests::none()
    }

    /// Reports that a background task panicked, and marks its stream, checks or job as failed.
    pub(super) fn on_panic(&mut self, key: Option<SubscriptionId>, text: &str) -> Vec<Effect> {
        let requests = match key {
            Some(SubscriptionId::Stream(id)) => {
                if let Some(viewer) = self.stream.tabs.get_mut(id) {
                    viewer.fail(text);
                }
                Requests::none()
            }
            Some(SubscriptionId::Bisect(number)) => {
                self.bisect_page(number)
                    .into_iter()
                    .for_each(|page| page.on_panic(text));
                Requests::none()
            }
            Some(SubscriptionId::Doctor(number)) => self.on_check(number, None),
            Some(SubscriptionId::Side(number, which)) => {
                for overlay in &mut self.overlays {
                    if let Overlay::Compare(page) = overlay {
                        page.on_side(number, which, Err(format!("loading failed: {text}")));
                    }
                }
                Requests::none()
            }
            Some(SubscriptionId::Job(number)) => self.on_job(number, &JobProgress::Failed),
            Some(SubscriptionId::Graph(number)) => {
                for overlay in &mut self.overlays {
                    if let Overlay::Graph(page) = overlay {
                        page.on_panic(number, text);
                    }
                }
                self.stream.on_graph_panic(number, text);
                Requests::none()
            }
            Some(SubscriptionId::History(number)) => {
                self.stream.on_history_panic(number, text);
                Requests::none()
            }
            _ => Requests::none(),
        };
        let effects = self.apply(requests);
        self.notify(
            true,
            format!(
                "A background task failed: {text}. Everything else continues; press r to retry."
            ),
        );
        effects
    }

    /// Applies the result of an effect.
    pub(super) fn on_result(&mut self, done: EffectResult) -> Vec<Effect> {
        let at = self.session.now;
        let requests = match done {
            EffectResult::Info(server, result) => {
                self.agent.infos.entry(server).or_default().take(result, at);
                Requests::none()
            }
            EffectResult::Assistants(from, result) => {
                let Some(server) = self.agent.server.as_mut().filter(|s| s.server == from) else {
                    return Vec::new();
                };
                server.assistants.apply_list(result, at);
                let known = server.assistants.value.clone().unwrap_or_default();
                match self.composer_on(&from) {
                    Some(composer) if composer.assistant.all.is_empty() => composer.offer(&known),
                    _ => Requests::none(),
                }
            }
            EffectResult::GraphFacts(server, assistant, facts) => {
                if let Some(composer) = self.composer_on(&server) {
                    composer.on_facts(&assistant, facts.map(|facts| *facts));
                }
                Requests::none()
            }
            EffectResult::Inputs(server, assistant, inputs) => {
                if let Some(composer) = self.composer_on(&server) {
                    composer.on_inputs(&assistant, inputs);
                }
                Requests::none()
            }
            EffectResult::Browsed(number, result) => {
                let mut requests = Requests::none();
                for overlay in &mut self.overlays {
                    if let Overlay::Edit(editor) = overlay
                        && let Some(form) = &mut editor.form
                    {
                        requests.extend(form.on_listed(&self.session, number, &result));
                        editor.take_form();
                    }
                }
                let mut effects = self.apply(requests);
                let list = self.overlays.iter_mut().find_map(|overlay| match overlay {
                    Overlay::Browse(browse) if browse.number == number => Some(browse),
                    _ => None,
                });
                let requests = list
                    .map(|list| list.on_listed(result, at))
                    .unwrap_or_default();
                effects.extend(self.apply(requests));
                return effects;
            }
            EffectResult::SecretsChecked(checked) => {
                for overlay in &mut self.overlays {
                    let Overlay::Edit(editor) = overlay else {
                        continue;
                    };
                    if let Some(form) = &mut editor.form {
                        form.on_secrets_checked(checked.clone());
                    }
                }
                Requests::none()
            }
            EffectResult::RecordsListed(number, query, result) => {
                let page = self.overlays.iter_mut().find_map(|overlay| match overlay {
                    Overlay::Records(page) if page.waits_for(number) => Some(page),
                    _ => None,
                });
                page.map(|page| page.on_listed(number, query, result, at))
                    .unwrap_or_default()
            }
            EffectResult::Authenticated(number, result) => {
                let shown = self.overlays.iter_mut().find_map(|overlay| match overlay {
                    Overlay::SignIn(sign_in) if sign_in.number == number => Some(sign_in),
                    _ => None,
                });
                match shown {
                    Some(sign_in) => sign_in.on_answer(result),
                    None => sign_in::on_answer_unseen(result),
                }
            }
            EffectResult::Found(number, source, result) => {
                let mut palette = std::mem::take(&mut self.palette);
                let requests = palette.on_found(&self.overlay_cx(false), number, source, result);
                self.palette = palette;
                requests
            }
            EffectResult::FileStepped(number, result) => {
                let saved = self.overlays.iter_mut().find_map(|overlay| match overlay {
                    Overlay::Compare(page) => page.on_saved(number, &result),
                    Overlay::Graph(page) => page.on_saved(number, &result),
                    _ => None,
                });
                saved.unwrap_or_else(|| self.stream.on_written(number, result))
            }
            EffectResult::LinkNotOpened(link, why) => return self.on_link_not_opened(link, &why),
            EffectResult::Described(what, result) => return self.on_record(what, result),
            EffectResult::Card(of, card) => {
                if let Err(error) = &card {
                    self.report_error(error);
                }
                for overlay in &mut self.overlays {
                    if let Overlay::Explain(explained) = overlay
                        && explained.page.of == of
                    {
                        explained.page.on_card(card.clone(), self.session.now);
                    }
                }
                Requests::none()
            }
            EffectResult::RowRead(of, result) => {
                self.on_row_read(&of, result);
                Requests::none()
            }
            EffectResult::Written(profile, id, name, document) => {
                return self.on_document((profile, id, name), document);
            }
            EffectResult::Planned(number, planned) => return self.on_planned(number, planned),
            EffectResult::Sent(number, Sent::Record(sent)) => return self.on_sent(number, sent),
            EffectResult::Sent(number, Sent::Thread(thread, result)) => {
                return self.on_acted(number, thread, result);
            }
            EffectResult::CancelFollowed(thread, targets) => {
                self.on_cancel_followed(&thread, &targets);
                Requests::none()
            }
            EffectResult::ThreadLoaded(number, loaded) => {
                return self.on_thread_loaded(number, loaded);
            }
            EffectResult::Journal(entries) => {
                let journal = self.overlays.iter_mut().find_map(|overlay| match overlay {
                    Overlay::Journal(journal) => Some(journal),
                    _ => None,
                });
                if let Some(journal) = journal {
                    journal.on_read(entries);
                }
                Requests::none()
            }
            EffectResult::TargetChecked(number, result) => {
                return self.on_target_checked(number, result);
            }
            EffectResult::Tried(number, result) => {
                self.session.catalog.on_tested(number, result, at)
            }
            EffectResult::Drafted(Ok(draft)) => {
                self.open_save(Save::new(draft, None));
                Requests::none()
            }
            EffectResult::ImportsFound(found) => {
                let is_nothing = self
                    .first_run()
                    .is_some_and(|screen| screen.on_imports(&found));
                if is_nothing {
                    nothing_to_import(&found)
                } else {
                    Requests::none()
                }
            }
            EffectResult::ImportDrafted(Ok((found, Some(draft)))) => {
                self.open_save(Save::new(draft, Some(found)));
                Requests::none()
            }
            EffectResult::ImportDrafted(Ok((found, None))) => nothing_to_import(&found),
            EffectResult::ImportDrafted(Err(error)) => {
                Requests::error(format!("{error}\n  Nothing was written."))
            }
            EffectResult::Drafted(Err(error)) => {
                Requests::error(format!("{error}\n  Nothing was written."))
            }
            EffectResult::LocalServer(found) => {
                self.first_run()
                    .into_iter()
                    .for_each(|screen| screen.on_local_server(found.clone()));
                Requests::none()
            }
            EffectResult::DemoStarted(started) => return self.begin_demo(started),
            EffectResult::HookFailed(why) => {
                self.on_hook_failed(why);
                Requests::none()
            }
            EffectResult::Saved(result) => self.session.catalog.on_saved(result),
            EffectResult::TabsSaved(result) => {
                self.on_tabs_saved(result);
                Requests::none()
            }
        };
        self.apply(requests)
    }

    fn open_save(&mut self, page: Save) {
        // A second request replaces the page of the first one.
        self.overlays
            .retain(|overlay| !matches!(overlay, Overlay::Save(_)));
        self.overlays.push(crate::session::Paged::new(page).into());
    }

    /// Shows a requested record if it is still awaited, because it would cover the user's current work.
    fn on_record(&mut self, what: Described, result: Result<Arc<str>, ApiError>) -> Vec<Effect> {
        if self.pending_record.as_ref() != Some(&what) {
            return Vec::new();
        }
        self.pending_record = None;
        let title = what.title();
        match result {
            Ok(text) => return self.open(crate::session::Route::Document { title, text }),
            Err(error) => {
                // An error of an agent server says nothing about the control plane.
                if !matches!(
                    what,
                    Described::Thread(..)
                        | Described::Run(..)
                        | Described::Schemas(..)
                        | Described::Graph(..)
                ) {
                    self.report_error(&error);
                }
                if let (Described::Deployment(profile, id, _), Kind::NotFound) =
                    (&what, &error.kind)
                {
                    self.deployments.list.mark_gone(&format!("{profile}/{id}"));
                }
                // An object that was never listed may never have existed.
                let missing = match what {
                    Described::Deployment(..) | Described::Revision(_) => "was deleted",
                    Described::Thread(..)
                    | Described::Run(..)
                    | Described::Schemas(..)
                    | Described::Graph(..) => "was not found",
                };
                let deleted = format!("{title} {missing}.\n{}", error.story());
                self.notify(
                    true,
                    if error.kind == Kind::NotFound {
                        deleted
                    } else {
                        error.story()
                    },
                );
            }
        }
        Vec::new()
    }

    /// Shows and copies a link that could not be opened, for example because there is no browser on an SSH host.
    fn on_link_not_opened(&mut self, link: String, why: &str) -> Vec<Effect> {
        // A link with another scheme could start any program, so it is not copied.
        if !url::Url::parse(&link).is_ok_and(|url| matches!(url.scheme(), "http" | "https")) {
            self.notify(true, why);
            return Vec::new();
        }
        let page = runtail_core::text::clean(&link);
        let short = page.split_once("://").map_or(&*page, |(_, rest)| rest);
        self.notify(
            true,
            format!("Couldn't open the browser. URL copied: {short}\n{why}"),
        );
        vec![Effect::Copy(link)]
    }
}

fn nothing_to_import(found: &Import) -> Requests {
    let skipped: String = found
        .skipped
        .iter()
        .map(|one| format!("\n  {one}"))
        .collect();
    match skipped.is_empty() {
        true => Requests::info(found.nothing()),
        false => Requests::error(format!("{}{skipped}", found.nothing())),
    }
}

fn report(error: Option<ApiError>) -> Requests {
    error
        .map(|error| crate::session::Request::ReportError(error).into())
        .unwrap_or_default()
}

/// Returns whether an event is the end of a list that has all deployments of its profile.
fn is_whole_list(event: &SubscriptionEvent) -> bool {
    let SubscriptionEvent::Deployments {
        result,
        is_truncated,
        ..
    } = event
    else {
        return false;
    };
    let is_whole = |listing: &Listing<Deployment>| listing.incomplete.is_none() && !is_truncated;
    result.as_ref().is_ok_and(is_whole)
}
