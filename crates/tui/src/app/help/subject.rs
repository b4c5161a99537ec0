//! What the help and the palette are about: the page or the pane below them.

use crate::app::App;
use crate::input::action::Context;
use crate::input::commands::Commands;
use runtail_core::text::{self, short_id};

impl App {
    /// Returns the context of the page that the help is about.
    pub fn page_context(&self) -> Context {
        self.page_under_help()
            .map_or_else(|| self.pane_context(), |page| page.context())
    }

    /// Returns the context whose actions work here. Those of a pane also work below a page of text.
    pub(in crate::app) fn help_context(&self) -> Context {
        // A page of text has no keys of its own.
        let context = self.page_context();
        if context == Context::Page {
            self.pane_context()
        } else {
            context
        }
    }

    /// Returns the title of the stream's view, if one has the focus.
    pub fn shown_view(&self) -> Option<&'static str> {
        let viewer = self
            .viewer()
            .filter(|_| self.help_context() == Context::Stream);
        viewer.map(|viewer| viewer.view().title())
    }

    /// Returns the objects that the keys act on here: what each is, and its name.
    pub(in crate::app) fn selected_objects(&self) -> Vec<(&'static str, String)> {
        let mut objects = Vec::new();
        match self.help_context() {
            Context::Deployments | Context::Revisions => {
                let deployment = self.deployments.list.selected().map(|row| row.name.clone());
                objects.extend(deployment.map(|name| ("deployment", name)));
                let revision = self.deployments.revision_table.selected();
                objects.extend(revision.map(|id| ("revision", text::head(id, 8).to_string())));
            }
            Context::Stream | Context::Why => {
                let viewer = self.viewer();
                objects.extend(
                    viewer
                        .and_then(|viewer| viewer.thread_id.as_deref())
                        .map(|id| ("thread", named(id))),
                );
            }
            Context::Server => {
                let server = self.agent.server.as_ref();
                let thread = server.and_then(|server| server.threads.table.selected());
                objects.extend(thread.map(|id| ("thread", named(id))));
            }
            _ => {}
        }
        objects
    }

    /// Returns what the keys of a context do on the screen that the help is about.
    pub fn available(&self, context: Context) -> Commands {
        let page = self.page_under_help();
        self.commands_of(page.filter(|page| page.context() == context))
    }
}

/// Names a thread by its id.
fn named(id: &str) -> String {
    format!("thread {}", short_id(id))
}
