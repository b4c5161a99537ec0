//! The secrets of the form: each has a name and a reference, never a value.

use super::{DeploymentForm, DeploymentStop};
use crate::input::key::{Code, Key};
use crate::widgets::text_input::TextInput;
use runtail_core::config::{SecretRef, looks_like_key};

/// Why a key is not a secret's text.
const REFUSED: &str =
    "That looks like a key: discarded. Enter env:VARIABLE or file:PATH; Backspace continues.";

/// What happens to a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretState {
    /// The deployment has it and keeps it.
    Kept,
    /// The deployment has it, and the update removes it.
    Removed,
    /// It is read from this reference.
    Given(String),
}

impl DeploymentForm {
    /// Returns the names of the deployment's secrets, then of the new ones, each with what happens to it.
    pub fn secret_rows(&self) -> Vec<(String, SecretState)> {
        let given = &self.values.secrets;
        let is_given = |name: &String| given.iter().any(|(other, _)| other == name);
        let existing = self.current.secrets.iter().map(|(name, _)| name);
        let existing = existing.filter(|name| !is_given(name)).map(|name| {
            let is_removed = self.values.removed_secrets.contains(name);
            let state = if is_removed {
                SecretState::Removed
            } else {
                SecretState::Kept
            };
            (name.clone(), state)
        });
        let new = given
            .iter()
            .map(|(name, reference)| (name.clone(), SecretState::Given(reference.clone())));
        existing.chain(new).collect()
    }

    /// Returns why a secret can't be sent.
    pub(super) fn secret_problem(&self, row: usize) -> Option<String> {
        if let Some((typed, Some(why))) = &self.typed_secret
            && *typed == row
        {
            return Some(why.clone());
        }
        match &self.secret_rows().get(row)?.1 {
            SecretState::Given(reference) => self.references.get(reference).cloned().flatten(),
            _ => None,
        }
    }

    /// Handles a key on the secrets. Returns `None` for keys that do something else.
    pub(super) fn secret_key(&mut self, row: usize, key: Key) -> Option<()> {
        if self.typed_secret.is_some() {
            return self.key_in_secret(key);
        }
        let rows = self.secret_rows();
        match key.code {
            Code::Char('a') if key.text().is_some() => self.begin_secret(rows.len(), ""),
            Code::Enter | Code::Char(' ') if row >= rows.len() => self.begin_secret(rows.len(), ""),
            Code::Enter => {
                let (name, state) = rows.get(row)?;
                let text = match state {
                    SecretState::Given(reference) => format!("{name} {reference}"),
                    _ => format!("{name} env:{name}"),
                };
                self.begin_secret(row, &text);
            }
            Code::Char('x') | Code::Delete => {
                let (name, state) = rows.get(row)?.clone();
                match state {
                    SecretState::Kept => self.values.removed_secrets.push(name),
                    SecretState::Removed => {
                        self.values.removed_secrets.retain(|other| *other != name)
                    }
                    SecretState::Given(_) => {
                        self.values.secrets.retain(|(other, _)| *other != name)
                    }
                }
                self.is_changed = true;
            }
            _ => return None,
        }
        Some(())
    }

    /// Handles a key in the secret that is typed. Returns `None` for keys that are typed, or that move the focus.
    fn key_in_secret(&mut self, key: Key) -> Option<()> {
        let is_refused = self.is_secret_refused();
        match key.code {
            _ if is_refused && key.text().is_some() => {}
            Code::Up | Code::Down => return None,
            Code::Enter => {
                if self.end_secret() {
                    self.load_input();
                }
            }
            _ => {
                // It is about the text before this key.
                if let Some((_, why)) = &mut self.typed_secret {
                    *why = None;
                }
                return is_refused.then_some(());
            }
        }
        Some(())
    }

    /// Returns whether a key was typed or pasted. The field takes no text until another key is pressed: it may be the rest.
    pub(super) fn is_secret_refused(&self) -> bool {
        matches!(&self.typed_secret, Some((_, Some(why))) if why == REFUSED)
    }

    /// Checks the text of the secret being typed. A key is erased, since it would be shown; the name before it stays.
    pub(super) fn check_secret(&mut self, before: &str) {
        let is_refused = looks_like_key(&self.input.text());
        if is_refused {
            let end = before
                .find(|c: char| c.is_whitespace() || c == '=')
                .map_or(0, |at| at + 1);
            // A new input also forgets the steps of an undo.
            self.input = TextInput::line(before.get(..end).unwrap_or_default());
        }
        if let Some((_, why)) = &mut self.typed_secret {
            *why = is_refused.then(|| REFUSED.into());
        }
    }

    fn begin_secret(&mut self, row: usize, text: &str) {
        self.focus = DeploymentStop::Secret(row);
        self.typed_secret = Some((row, None));
        self.input = TextInput::line(text);
    }

    /// Ends typing a secret: `NAME`, or `NAME env:VARIABLE`, or `NAME file:PATH`. Invalid text stays in the field, with the reason.
    /// Returns whether typing ended.
    pub fn end_secret(&mut self) -> bool {
        if self.is_secret_refused() {
            return false;
        }
        let Some((row, _)) = self.typed_secret.take() else {
            return true;
        };
        let typed = self.input.text();
        let before = self.secret_rows().get(row).cloned();
        match parse_secret(&typed) {
            Ok(None) => true,
            Ok(Some((name, reference))) => {
                self.values.removed_secrets.retain(|other| *other != name);
                if let Some((old, _)) = before.filter(|(old, _)| *old != name) {
                    self.values.secrets.retain(|(other, _)| *other != old);
                }
                match self
                    .values
                    .secrets
                    .iter_mut()
                    .find(|(other, _)| *other == name)
                {
                    Some((_, old)) => *old = reference,
                    None => self.values.secrets.push((name.clone(), reference)),
                }
                let at = self.secret_rows().iter().position(|(one, _)| *one == name);
                self.focus = DeploymentStop::Secret(at.unwrap_or(row));
                self.is_changed = true;
                true
            }
            Err(why) => {
                self.typed_secret = Some((row, Some(why)));
                false
            }
        }
    }
}

/// Parses a name and a reference; a name alone is read from the variable of that name.
fn parse_secret(typed: &str) -> Result<Option<(String, String)>, String> {
    let typed = typed.trim();
    if typed.is_empty() {
        return Ok(None);
    }
    let (name, reference) = match typed.split_once(|c: char| c.is_whitespace() || c == '=') {
        Some((name, rest)) => (name, rest.trim().to_string()),
        None => (typed, format!("env:{typed}")),
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    if !name.chars().all(fits) || name.starts_with(|c: char| c.is_ascii_digit()) {
        return Err("Not a variable name.".into());
    }
    if SecretRef::parse(&reference, None).is_none() {
        return Err("Enter env:VARIABLE or file:PATH, not the value.".into());
    }
    Ok(Some((name.to_string(), reference)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_typed_as_names_and_references() {
        let pair =
            |name: &str, reference: &str| Ok(Some((name.to_string(), reference.to_string())));
        assert_eq!(parse_secret("  "), Ok(None));
        assert_eq!(
            parse_secret("OPENAI_API_KEY"),
            pair("OPENAI_API_KEY", "env:OPENAI_API_KEY")
        );
        assert_eq!(parse_secret("A env:B"), pair("A", "env:B"));
        assert_eq!(parse_secret("A=file:~/k y"), pair("A", "file:~/k y"));
        for wrong in ["A sk-canary", "1A", "A env:", "lsv2_pt_x y", "é"] {
            let why = parse_secret(wrong).unwrap_err();
            assert!(!why.contains("canary"), "{why}");
        }
    }
}
