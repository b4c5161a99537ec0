//! The diff of the configuration file, always shown before it is written.

use crate::input::action::{Action, Context};
use crate::session::msg::Effect;
use crate::session::{Cx, GUTTER, Page, Request, Requests};
use crate::widgets::line::{Line, Tone, wrap};
use runtail_core::config::{DiffLine, Draft};

/// The page before the configuration file is written.
#[derive(Debug, Clone)]
pub struct Save(pub Box<Draft>);

impl Page for Save {
    fn context(&self) -> Context {
        Context::Save
    }

    fn title(&self, _cx: &Cx<'_>) -> (&'static str, String) {
        ("Save", self.0.path.display().to_string())
    }

    fn lines(&self, cx: &Cx<'_>, width: usize) -> Vec<Line> {
        draft_lines(&self.0, &cx.session.key("save.write"), width.saturating_sub(GUTTER.into()))
    }

    fn action(&mut self, _cx: &Cx<'_>, action: Action) -> Requests {
        match action {
            Action::Send => Requests::from(Request::Close).and(Effect::SaveFile(self.0.clone())),
            _ => Requests::none(),
        }
    }
}

/// Returns the lines of the diff. `write`: the key that writes the file.
fn draft_lines(draft: &Draft, write: &str, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut add = |tone, text: &str| lines.extend(wrap(text, width).iter().map(|text| Line::of(tone, text)));
    if draft.is_new() {
        add(
            Tone::Plain,
            "The file will be created, readable only by you. Once it exists, environment variables no longer make a \
             profile.",
        );
    } else {
        add(Tone::Plain, "Changes to the file (everything else is unchanged):");
    }
    add(Tone::Plain, "");
    for line in draft.diff() {
        match line {
            DiffLine::Same(1) => add(Tone::Dim, "  … 1 line"),
            DiffLine::Same(count) => add(Tone::Dim, &format!("  … {count} lines")),
            DiffLine::Context(text) => add(Tone::Dim, &format!("  {text}")),
            DiffLine::Out(text) => add(Tone::Bad, &format!("- {text}")),
            DiffLine::In(text) => add(Tone::Good, &format!("+ {text}")),
        }
    }
    add(Tone::Plain, "");
    add(Tone::Strong, &format!("{write} writes the file, Esc cancels."));
    lines
}
