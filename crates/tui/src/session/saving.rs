//! A page that is saved to a new file.

use super::msg::{Effect, EffectResult, FileStep};
use super::{Requests, Session};
use runtail_core::text;
use std::path::PathBuf;

/// The file that is being written, with the number of its effect.
#[derive(Debug, Clone, Default)]
pub struct Saving(Option<(u64, PathBuf)>);

impl Saving {
    /// Returns whether the file is still being written.
    pub fn is_running(&self) -> bool {
        self.0.is_some()
    }

    /// Writes the file in one step.
    pub fn begin(&mut self, session: &Session, path: &str, step: FileStep) -> Requests {
        let number = session.next_change.take();
        self.0 = Some((number, path.into()));
        Effect::File(number, step).into()
    }

    /// Reports that the file was written, or why not. `what`: its contents.
    pub fn on_reply(&mut self, what: &str, reply: &EffectResult) -> Option<Requests> {
        let EffectResult::FileStepped(number, result) = reply else {
            return None;
        };
        let (_, path) = self.0.take_if(|(saving, _)| saving == number)?;
        let path = text::clean(&path.display().to_string()).into_owned();
        Some(match result {
            Ok(size) => Requests::info(format!("Saved {what}, {}, to {path}", text::bytes(*size))),
            Err(why) => Requests::error(format!("Couldn't write {path}: {why}")),
        })
    }
}
