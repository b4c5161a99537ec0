//! Shows a second stream beside the shown one.

use super::{App, Pane};
use crate::features::palette::parse_target::{self, Address};
use crate::features::stream::viewer::Viewer;
use crate::session::msg::{Effect, StreamTarget, ThreadRef};
use runtail_core::text::clean;

impl App {
    /// Shows a stream beside the shown one. `what`: the number of a tab, or the id or URL of a thread.
    pub(super) fn show_beside(&mut self, what: &str) -> Vec<Effect> {
        let own = self
            .stream
            .tabs
            .at()
            .filter(|_| self.focus == Pane::Stream && self.logs.is_none());
        let Some(own) = own else {
            self.notify(true, "No stream is shown. Open a thread first.");
            return Vec::new();
        };
        let number = what
            .parse::<usize>()
            .ok()
            .and_then(|number| number.checked_sub(1));
        let all = self.stream.tabs.all();
        let of_id = || {
            let ids = |viewer: &Viewer| [viewer.run_id.clone(), viewer.thread_id.clone()];
            all.iter()
                .position(|viewer| ids(viewer).iter().flatten().any(|id| id == what))
        };
        let known = number.filter(|at| *at < all.len()).or_else(of_id);
        match known {
            Some(at) if at == own => {
                self.notify(true, "This stream is shown already. Name another one.");
                Vec::new()
            }
            Some(at) => self.put_beside(at),
            None => match self.thread_named(what) {
                Ok(thread) => self.open_beside(own, &thread),
                Err(why) => {
                    self.notify(true, why);
                    Vec::new()
                }
            },
        }
    }

    fn put_beside(&mut self, at: usize) -> Vec<Effect> {
        let effects = self.leave_overlays();
        self.stream.tabs.show_beside(at);
        effects
    }

    /// Finds a thread by its URL, or by its id among those listed of the open server.
    fn thread_named(&self, what: &str) -> Result<ThreadRef, String> {
        match parse_target::read(what) {
            Some(Address::Thread {
                server: Some(url),
                thread,
                run: None,
            }) => Ok(ThreadRef {
                server: self.server_at(&url)?,
                id: thread,
            }),
            Some(Address::Id(id)) => {
                let open = self
                    .agent
                    .server
                    .as_ref()
                    .filter(|open| open.threads.get(&id).is_some());
                let why = "No open tab and no listed thread has this id. Open the thread first.";
                Ok(ThreadRef {
                    server: open.ok_or(why)?.server.clone(),
                    id,
                })
            }
            _ if what.is_empty() => {
                Err("split TAB|ID: the number of a tab, or the id of a thread, is missing.".into())
            }
            _ => Err(format!(
                "{} is neither the number of a tab nor the id of a thread.",
                clean(what)
            )),
        }
    }

    /// Opens a thread in a tab of its own, and shows it beside the shown stream.
    fn open_beside(&mut self, own: usize, thread: &ThreadRef) -> Vec<Effect> {
        let Some(viewer) = self.stream.tabs.all_mut().get_mut(own) else {
            return Vec::new();
        };
        // Another tab is opened, which would replace a preview.
        viewer.is_preview = false;
        let id = viewer.id;
        let target = StreamTarget::Tail {
            thread: thread.id.clone(),
        };
        if let Err(why) = self
            .stream
            .show(&self.session, thread.server.clone(), target)
        {
            self.notify(true, why);
            return Vec::new();
        }
        let opened = self.stream.tabs.at();
        let own = self
            .stream
            .tabs
            .all()
            .iter()
            .position(|viewer| viewer.id == id);
        // If too many streams were open, the oldest ended one was closed, which may be this one.
        if let (Some(own), Some(opened)) = (own, opened) {
            self.stream.tabs.show(own);
            self.stream.tabs.show_beside(opened);
        }
        let mut effects = self.leave_overlays();
        if self.server_kind(&thread.server).is_none() {
            effects.push(Effect::FetchInfo(thread.server.clone()));
        }
        effects
    }
}
