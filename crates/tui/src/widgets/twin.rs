//! A form and a document that say the same: one of them is shown, and becomes the other when they are switched.

use super::text_input::TextInput;

/// A form with its document.
#[derive(Debug, Clone)]
pub struct Twin<F> {
    pub form: F,
    pub text: TextInput,
    /// Whether the document is shown, and counts.
    pub as_text: bool,
    /// Why the document can't be shown as the form.
    pub why_text: Option<String>,
    /// The document as it was written from the form. If it is unchanged, it turns back into the same form.
    pub written: Option<String>,
}

impl<F> Twin<F> {
    /// Creates a form whose document is shown.
    pub fn new(form: F, text: &str) -> Twin<F> {
        Twin {
            form,
            text: TextInput::new(text),
            as_text: true,
            why_text: None,
            written: None,
        }
    }

    /// Returns the form if it is shown.
    pub fn shown(&self) -> Option<&F> {
        (!self.as_text).then_some(&self.form)
    }

    /// Returns the form if it is shown, to change it.
    pub fn shown_mut(&mut self) -> Option<&mut F> {
        (!self.as_text).then_some(&mut self.form)
    }

    /// Shows the form as this document.
    pub fn show_text(&mut self, text: String) {
        if self.text.text() != text {
            self.text.set_text(&text);
        }
        (self.as_text, self.why_text, self.written) = (true, None, Some(text));
    }

    /// Shows the document as the form, which `read` fills in.
    ///
    /// # Errors
    /// Why the document stays.
    pub fn show_form(
        &mut self,
        read: impl FnOnce(&mut F, &str) -> Result<(), String>,
    ) -> Result<(), String> {
        let text = self.text.text();
        let is_same = self.written.as_deref() == Some(&text);
        let read = if is_same {
            Ok(())
        } else {
            read(&mut self.form, &text)
        };
        self.as_text = read.is_err();
        self.why_text = read.err();
        match &self.why_text {
            Some(why) => Err(format!("Couldn't switch to the form: {why}.")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(form: &mut usize, text: &str) -> Result<(), String> {
        *form = text.parse().map_err(|_| "it is not a number".to_string())?;
        Ok(())
    }

    #[test]
    fn form_and_document_become_each_other() {
        let mut twin = Twin::new(1, "7");
        assert_eq!(twin.shown(), None);
        twin.show_form(read).unwrap();
        assert_eq!(twin.shown(), Some(&7));
        twin.show_text("8".into());
        twin.text.set_text("nine");
        let why = twin.show_form(read).unwrap_err();
        assert_eq!(why, "Couldn't switch to the form: it is not a number.");
        assert!(twin.shown().is_none() && twin.form == 7);
        // An unchanged document is not read, because the form is still the same.
        twin.text.set_text("8");
        twin.show_form(read).unwrap();
        assert!(twin.shown() == Some(&7) && twin.why_text.is_none());
    }
}
