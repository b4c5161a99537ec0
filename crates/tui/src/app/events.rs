//! Passes the events of subscriptions and the results of effects to what asked for them.

use super::requests::SERVER;
use super::subscriptions::owner;
use super::{App, Overlay};
use crate::features::changes::confirm::drop_plan;
use crate::features::diagnostics::explain::Explained;
use crate::features::profiles::file::Save;
use crate::features::profiles::first_run::nothing_to_import;
use crate::features::resources::sign_in;
use crate::session::msg::{
    Described, Effect, EffectResult, Sent, SubscriptionEvent, SubscriptionId,
};
use crate::session::{ComponentId, Requests};
use crate::widgets::jobs::JobProgress;
use runtail_api::{ApiError, Kind, Listing};
use runtail_core::model::Deployment;
use runtail_core::text::bytes;
use std::sync::Arc;

impl App {
    /// Passes an event of a subscription to the component that declared it, and applies its consequences for other features.
    pub(super) fn on_event(
        &mut self,
        owner: ComponentId,
        key: SubscriptionId,
        event: SubscriptionEvent,
    ) -> Vec<Effect> {
        let deployment = match &event {
            SubscriptionEvent::Newest { deployment, .. } => Some(deployment.clone()),
            _ => None,
        };
        let is_watched = self.is_watched(&key, deployment.as_deref());
        let (notices, is_whole) = (self.session.notified, is_whole_list(&event));
        self.note_reach(&key, &event);
        let mut effects = match (&key, event) {
            (
                SubscriptionId::Inbox(_),
                SubscriptionEvent::Inbox {
                    server,
                    began,
                    result,
                },
            ) => self.on_inbox(&server, began, result),
            (_, event) => {
                let mut effects = match (&key, &event) {
                    (SubscriptionId::Watch(of), SubscriptionEvent::Watched(Ok(revision), _)) => {
                        self.on_rollout(of, revision)
                    }
                    _ => Vec::new(),
                };
                effects.extend(self.deliver_event(owner, key.clone(), event));
                effects
            }
        };
        match &key {
            SubscriptionId::Stream(id) => effects.extend(self.after_items(*id)),
            // An awaited state may have opened its editor.
            SubscriptionId::History(_) => self.leave_notice(notices),
            SubscriptionId::Deployments(profile) => {
                effects.extend(self.open_pending(is_whole.then_some(profile)));
            }
            _ => {}
        }
        effects.extend(self.explain_again(Explained::is_outdated));
        self.sync_stale_lists();
        effects.extend(self.inbox_after_list(&key, deployment.as_deref(), is_watched));
        effects
    }

    fn deliver_event(
        &mut self,
        owner: ComponentId,
        key: SubscriptionId,
        event: SubscriptionEvent,
    ) -> Vec<Effect> {
        let requests = self.with_id(owner, |component, session| {
            component.on_event(session, key, event)
        });
        self.apply_of(owner, requests.unwrap_or_default())
    }

    /// Applies the consequences of new items of a stream.
    fn after_items(&mut self, id: u64) -> Vec<Effect> {
        let effects = self.inbox_after_page(id);
        self.check_restored(id);
        let parked = self.stream.limit_memory(&self.session);
        if !parked.is_empty() {
            let total = bytes(self.session.settings.event_log.total);
            let text = format!(
                "Open pages exceed {total} ([limits] total). Reloaded when shown: {}.",
                parked.join(", ")
            );
            self.notify(false, text);
        }
        effects
    }

    /// Reports that a background task panicked, and marks what waits for it as failed.
    pub(super) fn on_panic(&mut self, key: Option<SubscriptionId>, text: &str) -> Vec<Effect> {
        let mut effects = Vec::new();
        if let Some(key) = key
            && let Some(owner) = owner(self, &key, None)
        {
            let event = match key {
                SubscriptionId::Job(_) => SubscriptionEvent::Worked(JobProgress::Failed),
                _ => SubscriptionEvent::Panicked(text.into()),
            };
            effects = self.deliver_event(owner, key, event);
        }
        self.notify(
            true,
            format!("A background task failed: {text}. Press r to retry."),
        );
        effects
    }

    /// Passes the result of an effect to the component that asked for it.
    pub(super) fn on_reply(&mut self, to: ComponentId, reply: EffectResult) -> Vec<Effect> {
        let receivers = match reply {
            // Several components may wait for the list.
            EffectResult::Assistants(..) => {
                let overlays = self.overlays.iter().map(Overlay::id);
                overlays.chain([SERVER]).collect()
            }
            _ => vec![to],
        };
        let mut taken = None;
        for id in receivers {
            let requests =
                self.with_id(id, |component, session| component.on_reply(session, &reply));
            if let Some(requests) = requests.flatten() {
                let effects = taken.get_or_insert_with(Vec::new);
                effects.extend(self.apply_of(id, requests));
            }
        }
        taken.unwrap_or_else(|| self.on_own_reply(to, reply))
    }

    /// Applies what the application asked for itself, and reports what it must although the component that asked was closed.
    fn on_own_reply(&mut self, to: ComponentId, reply: EffectResult) -> Vec<Effect> {
        let at = self.session.now;
        let requests = match reply {
            EffectResult::Info(server, result) => {
                let info = self.session.infos.entry(server).or_default();
                info.take(result, at);
                Requests::none()
            }
            EffectResult::Authenticated(_, result) => sign_in::on_answer_unseen(result),
            EffectResult::Found(number, source, result) => {
                return self.on_found(number, source, result);
            }
            EffectResult::LinkNotOpened(link, why) => return self.on_link_not_opened(link, &why),
            EffectResult::Described(what, result) => return self.on_record(what, result),
            EffectResult::RowRead(of, result) => {
                // The page that asked was closed, and may be open again.
                let mut overlays = self.overlays.iter_mut();
                let open = overlays.find_map(|overlay| match overlay {
                    Overlay::Inbox(page) => Some(&mut **page),
                    _ => None,
                });
                if let Some(page) = open.or(self.closed_inbox.as_mut()) {
                    page.on_row_read(&of, result);
                }
                Requests::none()
            }
            EffectResult::Written(profile, id, name, document) => {
                return self.on_document((profile, id, name), document);
            }
            EffectResult::Planned(number, planned) => drop_plan(number, &planned),
            EffectResult::Sent(_, Sent::Record(Ok(made))) => return self.on_applied(to, made),
            EffectResult::Sent(_, Sent::Record(Err(error))) => self.on_failed_unseen(&error),
            EffectResult::Sent(number, Sent::Thread(thread, result)) => {
                return self.on_acted(to, number, thread, result);
            }
            EffectResult::CancelFollowed(thread, targets) => {
                self.on_cancel_followed(&thread, &targets);
                Requests::none()
            }
            EffectResult::Tried(number, result) => {
                self.session.catalog.on_tested(number, result, at)
            }
            EffectResult::Drafted(Ok(draft)) => return self.open_save(Save::new(draft, None)),
            EffectResult::ImportDrafted(Ok((found, Some(draft)))) => {
                return self.open_save(Save::new(draft, Some(found)));
            }
            EffectResult::ImportDrafted(Ok((found, None))) => nothing_to_import(&found),
            EffectResult::ImportDrafted(Err(error)) | EffectResult::Drafted(Err(error)) => {
                Requests::error(format!("{error}\n  Nothing was written."))
            }
            EffectResult::DemoStarted(Ok(config)) => return self.begin_demo(config),
            EffectResult::HookFailed(why) => self.session.inbox.on_hook_failed(why),
            EffectResult::Saved(result) => self.session.catalog.on_saved(result),
            EffectResult::TabsSaved(result) => {
                self.on_tabs_saved(result);
                Requests::none()
            }
            // The component that asked was closed.
            _ => Requests::none(),
        };
        self.apply_of(ComponentId::App, requests)
    }

    fn open_save(&mut self, page: Save) -> Vec<Effect> {
        // A second request replaces the page of the first one.
        self.overlays
            .retain(|overlay| !matches!(overlay, Overlay::Save(_)));
        self.overlays.push(crate::session::Paged::new(page).into());
        Vec::new()
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
