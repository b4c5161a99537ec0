//! Passes the events of subscriptions and the results of effects to the features.

use super::{App, Overlay};
use crate::features::diagnostics::explain::Explained;
use crate::features::profiles::file::Save;
use crate::features::profiles::first_run::nothing_to_import;
use crate::features::resources::sign_in;
use crate::session::msg::{
    Described, Effect, EffectResult, Sent, SubscriptionEvent, SubscriptionId,
};
use crate::session::{Component, Requests};
use crate::widgets::jobs::JobProgress;
use runtail_api::{ApiError, Kind, Listing};
use runtail_core::model::Deployment;
use runtail_core::text::bytes;
use runtail_stream::Item;
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
        use SubscriptionId as Id;
        let session = &mut self.session;
        let mut effects = Vec::new();
        let requests = match (key, event) {
            (
                Id::Inbox(_),
                SubscriptionEvent::Inbox {
                    server,
                    began,
                    result,
                },
            ) => return self.on_inbox(&server, began, result),
            (Id::Stream(id), SubscriptionEvent::Items(items)) => return self.on_items(id, items),
            (Id::Deployments(profile), event) => {
                let is_whole = is_whole_list(&event);
                let requests = self.deployments.on_list(session, &profile, event);
                let listed = is_whole.then_some(&*profile);
                effects.extend(self.open_pending(listed));
                requests
            }
            (
                key @ (Id::Newest(_)
                | Id::Past(_)
                | Id::Card(_)
                | Id::Watch(_)
                | Id::Deletion(..)
                | Id::Revisions(..)),
                event,
            ) => {
                if let (Id::Watch(of), SubscriptionEvent::Watched(Ok(revision), _)) = (&key, &event)
                {
                    effects.extend(self.on_rollout(of, revision));
                }
                self.deployments.on_event(&mut self.session, key, event)
            }
            (
                key @ (Id::Threads(_) | Id::ThreadStatuses(_) | Id::Health(_) | Id::Runs(..)),
                event,
            ) => {
                self.agent.on_event(session.now, key, event);
                Requests::none()
            }
            (Id::Log(number, source), event) => {
                if let Some(logs) = self.logs.as_mut().filter(|logs| logs.number == number) {
                    logs.on_event(session, source, event);
                }
                Requests::none()
            }
            (key, event) => self.deliver_event(&key, &event),
        };
        effects.extend(self.apply(requests));
        effects.extend(self.explain_again(Explained::is_outdated));
        effects
    }

    /// Applies items of a stream.
    fn on_items(&mut self, id: u64, items: Vec<Item>) -> Vec<Effect> {
        let Some(viewer) = self.stream.tabs.get_mut(id) else {
            return Vec::new();
        };
        viewer.take(items);
        let refusal = viewer.modes.refusal();
        let effects = self.inbox_after_page(id);
        self.check_restored(id);
        let parked = self.stream.limit_memory(&self.session);
        if !parked.is_empty() {
            let total = bytes(self.session.settings.event_log.total);
            let text = format!(
                "The open pages take more than {total} ([limits] total): {} will be read again when shown.",
                parked.join(", ")
            );
            self.notify(false, text);
        }
        if let Some(why) = refusal {
            self.notify(true, format!("The modes are unchanged: {why}."));
        }
        effects
    }

    /// Passes an event to the components, of which one has subscribed to it.
    fn deliver_event(&mut self, from: &SubscriptionId, event: &SubscriptionEvent) -> Requests {
        let mut requests = self.stream.on_event(&mut self.session, from, event);
        for overlay in &mut self.overlays {
            requests.extend(overlay.on_event(&mut self.session, from, event));
        }
        requests
    }

    /// Passes a result to the components. Returns `None` if the one that asked was closed.
    fn deliver_reply(&mut self, reply: &EffectResult) -> Option<Requests> {
        let overlays = self.overlays.iter_mut();
        let components = overlays
            .map(|overlay| &mut **overlay)
            .chain([&mut self.agent as &mut dyn Component, &mut self.stream]);
        components
            .filter_map(|component| component.on_reply(&mut self.session, reply))
            .reduce(|mut all, requests| {
                all.extend(requests);
                all
            })
    }

    /// Reports that a background task panicked, and marks its stream, checks or job as failed.
    pub(super) fn on_panic(&mut self, key: Option<SubscriptionId>, text: &str) -> Vec<Effect> {
        let mut effects = Vec::new();
        if let Some(key) = key {
            let event = match key {
                SubscriptionId::Job(_) => SubscriptionEvent::Worked(JobProgress::Failed),
                _ => SubscriptionEvent::Panicked(text.into()),
            };
            let requests = self.deliver_event(&key, &event);
            effects = self.apply(requests);
        }
        self.notify(
            true,
            format!(
                "A background task failed: {text}. Everything else continues; press r to retry."
            ),
        );
        effects
    }

    /// Applies the result of an effect.
    pub(super) fn on_result(&mut self, result: EffectResult) -> Vec<Effect> {
        let at = self.session.now;
        let reply = self.deliver_reply(&result);
        let is_taken = reply.is_some();
        let mut requests = reply.unwrap_or_default();
        match result {
            EffectResult::Info(server, result) => {
                let info = self.session.infos.entry(server).or_default();
                info.take(result, at);
            }
            EffectResult::Authenticated(_, result) if !is_taken => {
                requests = sign_in::on_answer_unseen(result);
            }
            EffectResult::Found(number, source, result) => {
                return self.on_found(number, source, result);
            }
            EffectResult::LinkNotOpened(link, why) => return self.on_link_not_opened(link, &why),
            EffectResult::Described(what, result) => return self.on_record(what, result),
            EffectResult::Card(_, Err(error)) => self.session.report_error(&error),
            EffectResult::RowRead(of, result) => {
                if let Some(page) = &mut self.closed_inbox {
                    page.on_row_read(&of, result);
                }
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
            }
            EffectResult::ThreadLoaded(number, loaded) => {
                return self.on_thread_loaded(number, loaded);
            }
            EffectResult::TargetChecked(number, result) => {
                return self.on_target_checked(number, result);
            }
            EffectResult::Tried(number, result) => {
                requests = self.session.catalog.on_tested(number, result, at);
            }
            EffectResult::Drafted(Ok(draft)) => self.open_save(Save::new(draft, None)),
            EffectResult::ImportDrafted(Ok((found, Some(draft)))) => {
                self.open_save(Save::new(draft, Some(found)));
            }
            EffectResult::ImportDrafted(Ok((found, None))) => requests = nothing_to_import(&found),
            EffectResult::ImportDrafted(Err(error)) | EffectResult::Drafted(Err(error)) => {
                self.notify(true, format!("{error}\n  Nothing was written."));
            }
            EffectResult::DemoStarted(Ok(config)) => return self.begin_demo(config),
            EffectResult::HookFailed(why) => self.on_hook_failed(why),
            EffectResult::Saved(result) => requests = self.session.catalog.on_saved(result),
            EffectResult::TabsSaved(result) => self.on_tabs_saved(result),
            // The component that asked has it.
            _ => {}
        }
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
                    self.session.report_error(&error);
                }
                if let (Described::Deployment(profile, id, _), Kind::NotFound) =
                    (&what, &error.kind)
                {
                    let row = format!("{profile}/{id}");
                    self.deployments.list.mark_gone(&row);
                    self.deployments.share(&mut self.session, &row);
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
