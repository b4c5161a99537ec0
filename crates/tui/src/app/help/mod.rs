//! The help screen, the page of all keys, and the messages of the session.

mod keys;
mod layout;
mod page;
mod subject;

pub use keys::KeysPage;
pub use page::HelpPage;

use crate::input::commands::Commands;
use crate::session::{Cx, GUTTER, Page};
use crate::widgets::line::{Line, Tone, wrap};

/// The page of all messages of the session.
#[derive(Debug, Clone)]
pub struct Messages;

impl Page for Messages {
    fn title(&self, _cx: &Cx<'_>) -> (&'static str, String) {
        ("Notices", String::new())
    }

    fn commands(&self, _cx: &Cx<'_>) -> Commands {
        Commands::of(self.context()).without(&["app.notices"])
    }

    /// Newest first.
    fn lines(&self, cx: &Cx<'_>, width: usize) -> Vec<Line> {
        let width = width.saturating_sub(usize::from(GUTTER) + 12);
        let mut lines = Vec::new();
        for notice in cx.session.notices.iter().rev() {
            let tone = if notice.error { Tone::Bad } else { Tone::Plain };
            let glyph = notice
                .news
                .map(|role| format!("{} ", role.glyph()))
                .unwrap_or_default();
            for (i, text) in wrap(&format!("{glyph}{}", notice.text), width)
                .iter()
                .enumerate()
            {
                let head = if i == 0 {
                    cx.session.clock(notice.at)
                } else {
                    " ".repeat(8)
                };
                lines.push(
                    Line::dim(&format!("{head}  "))
                        .with(if i == 0 { tone } else { Tone::Plain }, text),
                );
            }
        }
        if lines.is_empty() {
            lines.push(Line::dim("No notices yet."));
        }
        lines
    }
}
