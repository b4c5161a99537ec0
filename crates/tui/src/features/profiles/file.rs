//! The diff of the configuration file, always shown before it is written.

use crate::input::action::{Action, Context};
use crate::session::msg::Effect;
use crate::session::{Cx, GUTTER, Page, Request, Requests};
use crate::widgets::line::{Line, Tone, wrap};
use runtail_core::config::import::Import;
use runtail_core::config::{DiffLine, Draft};
use runtail_core::text;

/// The page before the configuration file is written.
#[derive(Debug, Clone)]
pub struct Save {
    pub draft: Box<Draft>,
    /// The profiles of the official tools that it adds.
    pub import: Option<Box<Import>>,
}

impl Page for Save {
    fn context(&self) -> Context {
        Context::Save
    }

    fn title(&self, _cx: &Cx<'_>) -> (&'static str, String) {
        (if self.import.is_some() { "Import" } else { "Save" }, self.draft.path.display().to_string())
    }

    fn lines(&self, cx: &Cx<'_>, width: usize) -> Vec<Line> {
        let width = width.saturating_sub(GUTTER.into());
        let mut lines = self.import.as_deref().map(|import| import_lines(import, width)).unwrap_or_default();
        lines.extend(draft_lines(&self.draft, &cx.session.key("save.write"), width));
        lines
    }

    fn action(&mut self, _cx: &Cx<'_>, action: Action) -> Requests {
        match action {
            Action::Send => Requests::from(Request::Close).and(Effect::SaveFile(self.draft.clone())),
            _ => Requests::none(),
        }
    }
}

/// Returns the lines about profiles of the official tools: what is added, what has to be done, and what is left out.
fn import_lines(import: &Import, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut add = |tone, mark: &str, said: &str| {
        let parts = wrap(&text::clean(said), width.saturating_sub(6));
        let indent = " ".repeat(text::width(mark));
        lines.extend(
            parts
                .iter()
                .enumerate()
                .map(|(i, part)| Line::of(tone, if i == 0 { mark } else { &indent }).with(Tone::Plain, part)),
        );
    };
    add(Tone::Plain, "", "Profiles of the official tools. Their files are only read, and the keys stay in them.");
    for one in &import.profiles {
        let workspace = one.profile.workspace.as_deref().map(|id| format!(" · workspace {id}")).unwrap_or_default();
        let server = one.server();
        let server = if server.contains("://") { server } else { format!("region {server}") };
        add(Tone::Good, "  + ", &format!("{} · {server}{workspace} · key {}", one.profile.name, one.key()));
        one.to_do.iter().for_each(|to_do| add(Tone::Moving, "    ! ", to_do));
    }
    import.skipped.iter().for_each(|one| add(Tone::Bad, "  ✗ ", &format!("not added: {one}")));
    lines.push(Line::new());
    lines
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
