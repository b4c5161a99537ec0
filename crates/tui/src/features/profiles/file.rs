//! The diff of the configuration file, always shown before it is written.

use crate::input::action::{Action, Context};
use crate::input::commands::Commands;
use crate::session::msg::Effect;
use crate::session::{Cx, GUTTER, Page, Request, Requests};
use crate::widgets::line::{Line, Tone, wrap, wrapped};
use runtail_core::config::import::{Import, Imported};
use runtail_core::config::{DiffLine, Draft};
use runtail_core::text;
use std::collections::BTreeSet;

/// The page before the configuration file is written.
#[derive(Debug, Clone)]
pub struct Save {
    pub draft: Box<Draft>,
    /// The profiles of the official tools that it adds.
    pub import: Option<Box<Import>>,
    /// Of those the ones that are left out, by name.
    left_out: BTreeSet<String>,
    /// The profile under the cursor.
    at: usize,
}

impl Save {
    /// Creates the page. `import`: the profiles of the official tools that the draft adds.
    pub fn new(draft: Box<Draft>, import: Option<Box<Import>>) -> Save {
        Save {
            draft,
            import,
            left_out: BTreeSet::new(),
            at: 0,
        }
    }

    fn profiles(&self) -> &[Imported] {
        self.import.as_ref().map_or(&[], |import| &import.profiles)
    }

    fn is_chosen(&self, one: &Imported) -> bool {
        !self.left_out.contains(&one.profile.name)
    }

    /// Leaves out the profile under the cursor, or adds it again.
    fn toggle(&mut self) -> Requests {
        let Some(one) = self.profiles().get(self.at) else {
            return Requests::none();
        };
        let name = one.profile.name.clone();
        if !self.left_out.remove(&name) {
            self.left_out.insert(name);
        }
        let chosen = self
            .profiles()
            .iter()
            .filter(|one| self.is_chosen(one))
            .map(Imported::text)
            .collect();
        match self.draft.with_only(chosen) {
            Ok(draft) => {
                *self.draft = draft;
                Requests::none()
            }
            Err(error) => Requests::error(format!("{error}\n  Nothing was written.")),
        }
    }
}

impl Page for Save {
    fn context(&self) -> Context {
        Context::Save
    }

    fn title(&self, _cx: &Cx<'_>) -> (&'static str, String) {
        (
            if self.import.is_some() {
                "Import"
            } else {
                "Save"
            },
            self.draft.path.display().to_string(),
        )
    }

    fn lines(&self, _cx: &Cx<'_>, width: usize) -> Vec<Line> {
        let width = width.saturating_sub(GUTTER.into());
        let mut lines = self
            .import
            .as_deref()
            .map(|import| self.import_lines(import, width))
            .unwrap_or_default();
        lines.extend(draft_lines(&self.draft, self.import.is_none(), width));
        lines
    }

    fn commands(&self, _cx: &Cx<'_>) -> Commands {
        Commands::of(Context::Save)
            .exist_if(self.import.is_some(), &["save.mark"])
            .footer(&["save.write", "save.mark", "move.page_down", "app.back"])
    }

    fn move_cursor(&mut self, lines: isize) -> bool {
        let to = self.at.saturating_add_signed(lines);
        let can_move = lines.abs() == 1 && to != self.at && to < self.profiles().len();
        if can_move {
            self.at = to;
        }
        can_move
    }

    fn action(&mut self, _cx: &Cx<'_>, action: Action) -> Requests {
        match action {
            Action::Mark => self.toggle(),
            Action::Send if self.import.is_some() && self.draft.typed().next().is_none() => {
                Requests::info("Nothing to write: no profile chosen.")
            }
            Action::Send => {
                Requests::from(Request::Close).and(Effect::SaveFile(self.draft.clone()))
            }
            _ => Requests::none(),
        }
    }
}

impl Save {
    /// Returns the lines about profiles of the official tools: what is added, what has to be done, and what is left out.
    fn import_lines(&self, import: &Import, width: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        // A name at the start of the text is strong.
        let mut add = |(tone, mark): (Tone, &str), name: &str, said: &str| {
            let columns = text::width(mark);
            let parts = wrap(&text::clean(said), width.saturating_sub(columns + 2));
            for (n, part) in parts.iter().enumerate() {
                let (mark, name) = if n == 0 { (mark, name) } else { ("", "") };
                let line = Line::of(tone, &format!("{mark:<columns$}"));
                lines.push(match part.strip_prefix(name) {
                    Some(rest) => line.with_strong(name).with_plain(rest),
                    None => line.with_plain(part),
                });
            }
        };
        add(
            (Tone::Plain, ""),
            "",
            "Profiles of the official tools; their files keep the keys.",
        );
        for (n, one) in import.profiles.iter().enumerate() {
            let workspace = one.profile.workspace.as_ref();
            let workspace = workspace.map_or(String::new(), |id| format!(" · workspace {id}"));
            let server = one.server();
            let server = if server.contains("://") {
                server
            } else {
                format!("region {server}")
            };
            let has_cursor = n == self.at;
            let mark = match (has_cursor, self.is_chosen(one)) {
                (true, true) => "▌ [x] ",
                (true, false) => "▌ [ ] ",
                (false, true) => "  [x] ",
                (false, false) => "  [ ] ",
            };
            let name = &one.profile.name;
            let (tone, strong) = match has_cursor {
                true => (Tone::Accent, &**name),
                false => (Tone::Plain, ""),
            };
            let said = format!("{name} · {server}{workspace} · key {}", one.key());
            add((tone, mark), strong, &said);
            one.to_do
                .iter()
                .for_each(|to_do| add((Tone::Moving, "      ! "), "", to_do));
        }
        import
            .skipped
            .iter()
            .for_each(|one| add((Tone::Bad, "  ✗ "), "", &format!("not added: {one}")));
        let chosen = import.profiles.iter().filter(|one| self.is_chosen(one));
        let chosen: Vec<&str> = chosen.map(|one| one.profile.name.as_str()).collect();
        if let Some(why) = import.not_in_use(&chosen) {
            add((Tone::Moving, "  ! "), "", &why);
        }
        lines.push(Line::new());
        lines
    }
}

/// Returns the lines of the diff.
fn draft_lines(draft: &Draft, is_new_profile: bool, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut add = |tone, text: &str| lines.extend(wrapped(tone, text, width));
    if draft.is_new() {
        add(
            Tone::Plain,
            "Creates the file, readable only by you. Once it exists, environment variables make no profile.",
        );
    } else {
        add(Tone::Plain, "Changes to the file:");
    }
    if is_new_profile {
        let said = "Esc writes nothing; the session keeps the profile.";
        add(Tone::Dim, said);
    }
    add(Tone::Plain, "");
    for line in draft.diff() {
        match line {
            DiffLine::Same(1) => add(Tone::Dim, "  … 1 line"),
            DiffLine::Same(count) => add(Tone::Dim, &format!("  … {count} lines")),
            DiffLine::Context(text) => add(Tone::Dim, &format!("  {text}")),
            DiffLine::In(text) => add(Tone::Good, &format!("+ {text}")),
        }
    }
    lines
}
