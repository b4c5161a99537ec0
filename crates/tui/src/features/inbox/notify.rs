//! Notifies about events, by the rules of the configuration: a notice, the bell or a desktop notification, and programs.

use crate::session::inbox::{Inbox, News, table};
use crate::session::msg::{Effect, Hook};
use crate::session::{Requests, Session};
use runtail_core::config::{NotifyWhen, SecretSource};
use runtail_core::model::{InboxItem, StatusRole};
use runtail_core::text;

/// Maximum number of programs that one batch of events starts.
const MAX_HOOKS: usize = 20;

/// Notifies about events. `unseen`: those that the user is not looking at.
pub fn publish(session: &mut Session, news: &[News], unseen: &[&News]) -> Vec<Effect> {
    let rules = &session.prefs.notify;
    let is_wanted = |news: &&&News| match rules.is_empty() {
        true => news.when.is_default(),
        false => rules
            .iter()
            .any(|rule| rule.applies(news.when, news.place())),
    };
    let wanted: Vec<&News> = unseen.iter().filter(is_wanted).copied().collect();
    let mut effects = Vec::new();
    if let Some((role, said)) = told(&wanted) {
        effects.push(Effect::Alert("Runtail".into(), said.clone()));
        session.toast(role, said);
    }
    effects.extend(hooks(session, news));
    effects
}

/// Returns the programs of the rules that apply to events.
pub fn hooks(session: &mut Session, news: &[News]) -> Vec<Effect> {
    let now = session.now;
    let rules = session
        .prefs
        .notify
        .iter()
        .filter(|rule| !rule.command.is_empty());
    let wanted: Vec<(&News, &Vec<String>)> = rules
        .flat_map(|rule| {
            let applies = |news: &&News| rule.applies(news.when, news.place());
            news.iter()
                .filter(applies)
                .map(|news| (news, &rule.command))
        })
        .collect();
    let left_out = wanted.len().saturating_sub(MAX_HOOKS);
    let hidden: Vec<String> = if wanted.is_empty() {
        Vec::new()
    } else {
        key_variables(session)
    };
    let effects = wanted.iter().take(MAX_HOOKS).map(|(news, command)| {
        let event = format!("{}\n", news.to_json(now));
        Effect::Hook(Box::new(Hook {
            command: command.to_vec(),
            event,
            hidden: hidden.clone(),
        }))
    });
    let effects = effects.collect();
    if left_out > 0 {
        let text = format!("{left_out} more events at once started no notification program.");
        session.notify(false, text);
    }
    effects
}

/// Returns the environment variables that hold the keys of all profiles.
fn key_variables(session: &Session) -> Vec<String> {
    let known = session
        .catalog
        .all
        .iter()
        .map(|known| &known.profile)
        .chain(session.catalog.in_use());
    let of_source = |source: &Option<SecretSource>| match source {
        Some(SecretSource::Env(name)) => Some(name.clone()),
        _ => None,
    };
    known
        .flat_map(|profile| [of_source(&profile.key), of_source(&profile.bearer)])
        .flatten()
        .collect()
}

impl Inbox {
    /// Reports that a notification program failed, once for the same reason.
    pub fn on_hook_failed(&mut self, why: String) -> Requests {
        match self.hook_failure.replace(why.clone()) {
            Some(known) if known == why => Requests::none(),
            _ => Requests::error(why),
        }
    }
}

impl News {
    /// Returns the role of its glyph.
    fn role(&self) -> StatusRole {
        match self.when {
            NotifyWhen::Waiting => StatusRole::Waiting,
            NotifyWhen::Failed => StatusRole::Failed,
            NotifyWhen::Finished | NotifyWhen::Rollout => StatusRole::Good,
            NotifyWhen::Stuck => StatusRole::Unknown,
        }
    }

    /// Returns an event in one line: `eu › support-bot › approval 8c21 waits for you: Approve this payment?`
    fn sentence(&self) -> String {
        let row = &self.row;
        let place = table::place(row);
        let said = row.needs();
        let with = |words: &str| match said.is_empty() {
            true => words.to_string(),
            false => format!("{words}: {said}"),
        };
        let name = match &row.item {
            InboxItem::Thread(_) => format!("{place} › {}", table::thread(row)),
            InboxItem::Revision(revision) => {
                format!("{place} {}", text::short_id(&revision.revision_id))
            }
        };
        let how = match (self.when, &row.item) {
            (NotifyWhen::Waiting, _) if row.state() == "paused" => {
                format!("paused at a breakpoint {said}").trim_end().into()
            }
            (NotifyWhen::Waiting, _) => with("waits for you"),
            (NotifyWhen::Failed | NotifyWhen::Rollout, InboxItem::Revision(revision)) => {
                format!("is {}", revision.status)
            }
            (NotifyWhen::Failed, _) => with("failed"),
            (NotifyWhen::Stuck, _) => with("is stuck"),
            (NotifyWhen::Finished | NotifyWhen::Rollout, _) => "finished".into(),
        };
        format!("{name} {how}")
    }
}

/// Says what happened in one sentence, with the role of its glyph; `None` if nothing did.
fn told(news: &[&News]) -> Option<(StatusRole, String)> {
    Some(match news {
        [] => return None,
        [one] => (one.role(), one.sentence()),
        several => (several[0].role(), summary(several)),
    })
}

/// Counts several events: `3 threads wait for you, 1 failed`.
fn summary(news: &[&News]) -> String {
    let words: [(NotifyWhen, &str, &str); 4] = [
        (NotifyWhen::Waiting, "waits for you", "wait for you"),
        (NotifyWhen::Failed, "failed", "failed"),
        (NotifyWhen::Stuck, "is stuck", "are stuck"),
        (NotifyWhen::Finished, "finished", "finished"),
    ];
    let parts = words.iter().filter_map(|(when, one, more)| {
        match news.iter().filter(|n| n.when == *when).count() {
            0 => None,
            1 => Some(format!("1 {one}")),
            n => Some(format!("{n} {more}")),
        }
    });
    let parts: Vec<String> = parts.collect();
    let places: std::collections::BTreeSet<&str> = news
        .iter()
        .map(|news| news.row.deployment.as_str())
        .collect();
    let places: Vec<&str> = places.into_iter().take(3).collect();
    format!("{}: {}", places.join(", "), parts.join(", "))
}
