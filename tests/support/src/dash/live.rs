//! What a dashboard with its background tasks shows, for tests that press random keys. Tests read its state only through this.

use runtail_tui::app::{App, Overlay, subscriptions};
use runtail_tui::features::stream::tabs::MAX_TABS;
use runtail_tui::input::action::Context;
use runtail_tui::session::SMALLEST;
use runtail_tui::session::msg::{Proposal, StreamTarget, SubscriptionKind};

/// A dashboard's state, to be read.
#[derive(Clone, Copy)]
pub struct Shown<'a>(pub &'a App);

impl Shown<'_> {
    /// Returns the screen that takes the keys.
    pub fn context(self) -> Context {
        self.0.context()
    }

    /// Returns whether the dashboard has ended.
    pub fn has_ended(self) -> bool {
        self.0.quit
    }

    /// Returns whether the screen is frozen.
    pub fn is_frozen(self) -> bool {
        self.0.frozen
    }

    /// Returns whether keys are typed into a filter, a search, a form or an editor.
    pub fn is_typing(self) -> bool {
        use Context::{Answer, Command, Composer, Confirm, Editor};
        let context = self.context();
        self.0.prompt.is_some() || matches!(context, Composer | Editor | Answer | Command | Confirm)
    }

    /// Returns whether nothing covers the panes.
    pub fn is_uncovered(self) -> bool {
        self.0.overlays.is_empty() && self.0.prompt.is_none()
    }

    /// Returns the columns and rows of the terminal.
    pub fn size(self) -> (u16, u16) {
        self.0.session.size
    }

    /// Returns the server's address and the id of the shown thread, or else of the selected one.
    pub fn thread(self) -> Option<(String, String)> {
        let shown = self.0.viewer();
        let shown =
            shown.and_then(|viewer| Some((viewer.server.url.clone(), viewer.thread_id.clone()?)));
        let listed = || {
            let list = self.0.agent.server.as_ref()?;
            Some((
                list.server.url.clone(),
                list.threads.table.selected()?.to_string(),
            ))
        };
        let (server, thread) = shown.or_else(listed)?;
        Some((server.to_string(), thread.to_string()))
    }

    /// Returns the profile and id of the selected deployment.
    pub fn deployment(self) -> Option<(String, String)> {
        let row = self.0.deployments.list.selected()?;
        let deployment = row.deployment.as_ref()?;
        Some((row.profile_name.to_string(), deployment.id.to_string()))
    }

    /// Returns what has to be typed before Ctrl-S, if a preview is ready. Before, that key counts as held down.
    pub fn consent(self) -> Option<String> {
        match self.0.overlays.last()? {
            Overlay::Confirm(confirm) if confirm.is_of_several() => confirm
                .is_ready()
                .then(|| confirm.wants_name().unwrap_or_default()),
            Overlay::Confirm(confirm) => {
                confirm.preview()?;
                Some(confirm.wants_name().unwrap_or_default())
            }
            _ => None,
        }
    }

    /// Returns the numbers of the changes that Ctrl-S would send once this frame is drawn, and the words that offer it.
    pub fn ready(self) -> (Vec<u64>, &'static [&'static str]) {
        let (w, h) = self.size();
        let is_hidden = self.is_frozen() || w < SMALLEST.0 || h < SMALLEST.1;
        match self.0.overlays.last() {
            _ if is_hidden => (Vec::new(), &[]),
            Some(Overlay::Confirm(confirm)) if confirm.is_ready() => (
                confirm.targets.iter().map(|target| target.number).collect(),
                match confirm.is_of_several() {
                    true => &["ctrl-s send", "to confirm"],
                    false => &["ctrl-s send", "ctrl-s run", "to confirm"],
                },
            ),
            _ => (Vec::new(), &[]),
        }
    }

    /// Returns whether a change is one of several with one preview.
    pub fn is_one_of_several(self, number: u64) -> bool {
        self.0.overlays.iter().any(|overlay| match overlay {
            Overlay::Confirm(confirm) => confirm.is_of_several() && confirm.owns(number),
            _ => false,
        })
    }

    /// Returns the method and path of each request of an open preview; `*` stands for any method, and any path below. An
    /// action may send several requests for its thread.
    pub fn requests(self, number: u64) -> Vec<(String, String)> {
        let confirm = self.0.overlays.iter().find_map(|overlay| match overlay {
            Overlay::Confirm(confirm) if confirm.owns(number) => Some(confirm),
            _ => None,
        });
        let confirm = confirm.expect("the dialog is still there when it is sent");
        let preview = confirm.preview().expect("what is sent was planned");
        let requests = match &confirm.one().proposal {
            Proposal::Service(_) | Proposal::Resource(..) => vec![&preview.request],
            Proposal::Thread(_, intent) => {
                return vec![("*".into(), format!("/threads/{}", intent.thread()))];
            }
        };
        let request = |request: &runtail_core::model::PlainRequest| {
            let url: url::Url = request.url.parse().expect("an address");
            (request.method.clone(), url.path().to_string())
        };
        requests.into_iter().map(request).collect()
    }

    /// Checks what must hold in every state.
    pub fn check(self, is_read_only: bool) {
        let app = self.0;
        assert!(app.session.notices.len() <= 200);
        assert!(
            app.overlays.len() <= 24,
            "too many overlays: {}",
            app.overlays.len()
        );
        let streams = &app.stream.tabs;
        assert!(streams.all().len() <= MAX_TABS);
        assert!(streams.at().is_none_or(|at| at < streams.all().len()));
        let limits = &app.session.settings.event_log;
        for viewer in streams.all() {
            let log = &viewer.event_log;
            let bytes = log.kept_bytes() as u64;
            // The newest event is always kept.
            let is_bounded = bytes <= limits.max_bytes + limits.max_event;
            assert!(is_bounded, "{bytes} bytes of events are kept");
            let anchor = viewer.anchor();
            assert!(anchor.is_none_or(|at| at <= log.last_seq()), "{anchor:?}");
        }
        if is_read_only {
            let starts = |what: &SubscriptionKind| {
                matches!(
                    what,
                    SubscriptionKind::Stream(_, StreamTarget::Start { .. })
                )
            };
            let starts = subscriptions(app).iter().any(|sub| starts(&sub.what));
            assert!(!starts, "a read-only dashboard would start a run");
        }
    }
}
