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

    /// Names the screen and what its keys act on: "Revisions · orders · 363bc2ce…97aa".
    pub(in crate::app) fn here(&self) -> String {
        let context = self.help_context();
        let selected = self.deployments.list.selected();
        let deployment = selected.map(|row| text::clean(&row.name).into_owned());
        let threads = self.agent.server.as_ref().map(|server| &server.threads);
        let names = match context {
            Context::Deployments => vec![deployment],
            Context::Revisions => {
                let revision = self.deployments.revision_table.selected();
                vec![deployment, revision.map(short_id)]
            }
            Context::Stream | Context::Why => {
                let viewer = self.viewer();
                vec![viewer.and_then(|viewer| viewer.thread_id.as_deref().map(short_id))]
            }
            Context::Server => {
                vec![threads.and_then(|threads| threads.table.selected().map(short_id))]
            }
            _ => Vec::new(),
        };
        let names = names.into_iter().flatten();
        std::iter::once(context.name().to_string())
            .chain(names)
            .collect::<Vec<_>>()
            .join(" · ")
    }

    /// Returns what the keys of a context do on the screen that the help is about.
    pub fn available(&self, context: Context) -> Commands {
        let page = self.page_under_help();
        self.commands_of(page.filter(|page| page.context() == context))
    }
}
