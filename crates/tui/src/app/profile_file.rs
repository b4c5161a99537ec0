//! Profiles that are typed here, and their way into the configuration file: nothing is written that was not shown.

use super::editor::Subject;
use super::line::{Line, Tone, wrap};
use super::msg::Effect;
use super::profiles::{Known, Origin, Then};
use super::scroll::Place;
use super::{App, Overlay, Page};
use runtail_core::config::edit::{profile_of, profile_template};
use runtail_core::config::{ConfigError, DiffLine, Draft, Profile, SecretSource};

impl App {
    /// Opens the text of a profile, or that of a new one.
    pub(super) fn edit_profile(&mut self, name: Option<&str>) -> Vec<Effect> {
        let text = self.profile_text(name);
        self.edit(Subject::Profile(name.map(Into::into)), &text);
        Vec::new()
    }

    /// Takes the profile in the editor that lies on top.
    pub(super) fn take_edited_profile(&mut self) -> Vec<Effect> {
        let Some(Overlay::Edit(editor)) = self.overlays.last() else { return Vec::new() };
        match self.profile_edited(&editor.text.text()) {
            Ok(effects) => {
                self.overlays.retain(|o| !matches!(o, Overlay::Edit(e) if matches!(e.subject, Subject::Profile(_))));
                effects
            }
            Err(error) => {
                self.notify(true, error.to_string());
                Vec::new()
            }
        }
    }

    /// The text of one profile was typed, and is one (see [`runtail_core::config::edit`]): it is defined so in this session, and in
    /// the file only when it is saved.
    ///
    /// # Errors
    /// What is wrong with the text, and where.
    pub fn profile_edited(&mut self, text: &str) -> Result<Vec<Effect>, ConfigError> {
        let mut profile = self.read_profile(text)?;
        let name = profile.name.clone();
        // The demo's key has no place that a text could name.
        let given = self.catalogue.known(&name).and_then(|known| known.profile.key.clone());
        if let (None, Some(given @ SecretSource::Given(_))) = (&profile.key, given) {
            profile.key = Some(given);
        }
        if self.catalogue.known(&name).is_none() {
            self.catalogue.all.push(Known::of(profile.clone()));
        }
        if let Some(known) = self.catalogue.known_mut(&name) {
            known.define(profile);
            let is_filed = known.filed.as_ref().is_some_and(|(filed, _)| *filed == known.profile);
            known.typed = (!is_filed).then(|| text.into());
        }
        self.catalogue.picker.wish(name.clone());
        if self.catalogue.used(&name).is_some() {
            return Ok(self.redefine(self.catalogue.in_force.clone()));
        }
        // Where nothing is used yet there is nothing to be kept.
        let then = if self.catalogue.in_force.is_empty() { Then::Use } else { Then::Nothing };
        Ok(self.try_profile(&name, then))
    }

    /// Reads the text of one profile as [`App::profile_edited`] does, and changes nothing.
    ///
    /// # Errors
    /// What is wrong with the text, and where.
    pub fn read_profile(&self, text: &str) -> Result<Profile, ConfigError> {
        let Origin { file, read_only, write, .. } = &self.catalogue.origin;
        let mut profile = profile_of(text, file.as_deref())?;
        profile.seal(*read_only, *write);
        Ok(profile)
    }

    /// The text with which a profile is edited, or a new one begun.
    pub fn profile_text(&self, name: Option<&str>) -> String {
        let known = name.and_then(|name| self.catalogue.known(name));
        let filed = |known: &Known| known.filed.as_ref().and_then(|(_, table)| table.clone());
        match known.and_then(|known| known.typed.clone().or_else(|| filed(known))) {
            Some(text) => text.to_string(),
            None => profile_template(known.map(|known| &known.profile)),
        }
    }

    /// Finds out what the file would be with what was typed here.
    pub(super) fn draft_file(&mut self) -> Vec<Effect> {
        let typed: Vec<_> = self.catalogue.all.iter().filter_map(|known| known.typed.clone()).collect();
        match &self.catalogue.origin.file {
            _ if typed.is_empty() => self.notify(false, "Nothing was changed here that is not in the file."),
            None => self.notify(true, "No home folder is known: give --config FILE to say where the file is to be."),
            Some(file) => return vec![Effect::DraftFile(file.clone(), typed)],
        }
        Vec::new()
    }

    /// Shows what the file would be.
    pub(super) fn take_draft(&mut self, draft: Result<Box<Draft>, ConfigError>) {
        match draft {
            Ok(draft) => self.overlays.push(Overlay::Page(Page::Save(draft), Place::at_start())),
            Err(error) => self.notify(true, format!("{error}\n  Nothing was written.")),
        }
    }

    /// Writes the file as it is shown.
    pub(super) fn save_draft(&mut self) -> Vec<Effect> {
        match self.overlays.pop() {
            Some(Overlay::Page(Page::Save(draft), _)) => vec![Effect::SaveFile(draft)],
            other => {
                self.overlays.extend(other);
                Vec::new()
            }
        }
    }

    /// The file was written, or could not be.
    pub(super) fn take_saved(&mut self, result: Result<Box<Draft>, ConfigError>) {
        match result {
            Ok(draft) => {
                // What was typed since then is not in it.
                let is_in = |typed: &str| draft.typed().any(|text| text == typed);
                for known in &mut self.catalogue.all {
                    known.typed.take_if(|typed| is_in(typed));
                }
                self.notify(false, format!("{} was written.", draft.path.display()));
            }
            Err(error) => self.notify(true, error.to_string()),
        }
    }
}

/// What is going to be written, as lines; `write` is the key that does it.
pub(super) fn draft_lines(draft: &Draft, write: &str, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut say = |tone, text: &str| lines.extend(wrap(text, width).iter().map(|text| Line::of(tone, text)));
    if draft.is_new() {
        say(
            Tone::Plain,
            "The file is going to be made, for you alone to read. Where there is one, the variables of the environment make \
             no profile any more.",
        );
    } else {
        say(Tone::Plain, "These lines of the file go (-) and come (+); everything else stays as it is:");
    }
    say(Tone::Plain, "");
    for line in draft.diff() {
        match line {
            DiffLine::Same(1) => say(Tone::Dim, "  … 1 line"),
            DiffLine::Same(count) => say(Tone::Dim, &format!("  … {count} lines")),
            DiffLine::Context(text) => say(Tone::Dim, &format!("  {text}")),
            DiffLine::Out(text) => say(Tone::Bad, &format!("- {text}")),
            DiffLine::In(text) => say(Tone::Good, &format!("+ {text}")),
        }
    }
    say(Tone::Plain, "");
    say(Tone::Strong, &format!("{write} writes it, Esc leaves the file as it is."));
    lines
}
