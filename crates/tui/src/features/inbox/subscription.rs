//! The polls of the inbox: one for each profile with agent servers.

use crate::session::Cx;
use crate::session::inbox::Inbox;
use crate::session::msg::{Pace, Subscription, SubscriptionId, SubscriptionKind};

impl Inbox {
    /// Adds the polls, without the list of servers.
    pub fn subscriptions(&self, cx: &Cx<'_>, out: &mut Vec<Subscription>) {
        for (profile, _) in self.servers().filter(|(_, servers)| !servers.is_empty()) {
            let state = cx.session.profile(profile);
            // A rejected key stops the polls until the user refreshes.
            if let Some(state) = state.filter(|state| !state.halted) {
                let id = SubscriptionId::Inbox(profile.clone());
                out.push(Subscription::new(id, state.epoch, SubscriptionKind::Name));
            }
        }
    }

    /// Fills in the parameters that change while the polls run.
    pub fn fill(&self, cx: &Cx<'_>, is_page_open: bool, subscriptions: &mut [Subscription]) {
        for sub in subscriptions {
            let SubscriptionId::Inbox(profile) = &sub.key else {
                continue;
            };
            let servers = self.servers().find(|(name, _)| *name == profile);
            let asked = servers.into_iter().flat_map(|(_, servers)| servers.iter());
            sub.params.servers = asked
                .filter(|server| !self.is_asleep(server))
                .cloned()
                .collect();
            sub.params.stuck = cx.session.prefs.stuck.clone();
            // A notification matters most while the window has no focus, so only a frozen screen slows the polls.
            sub.params.pace = match (cx.is_frozen, is_page_open && cx.session.window_focused) {
                (true, _) => Pace::Slow,
                (false, true) => Pace::Fast,
                (false, false) => Pace::Usual,
            };
        }
    }
}
