//! Checks of what a text says.

/// One text or several.
pub trait Texts {
    fn texts(&self) -> Vec<&str>;
}

impl<S: AsRef<str>, const N: usize> Texts for [S; N] {
    fn texts(&self) -> Vec<&str> {
        self.iter().map(AsRef::as_ref).collect()
    }
}

impl Texts for &str {
    fn texts(&self) -> Vec<&str> {
        vec![self]
    }
}

impl Texts for &String {
    fn texts(&self) -> Vec<&str> {
        vec![self]
    }
}

/// What is checked.
pub trait Says {
    /// Checks that the text has these parts.
    fn has(&self, parts: impl Texts);

    /// Checks that the text has none of these parts.
    fn lacks(&self, parts: impl Texts);
}

impl Says for str {
    #[track_caller]
    fn has(&self, parts: impl Texts) {
        for part in parts.texts() {
            assert!(self.contains(part), "{part:?} is missing in:\n{self}");
        }
    }

    #[track_caller]
    fn lacks(&self, parts: impl Texts) {
        for part in parts.texts() {
            assert!(!self.contains(part), "{part:?} is in:\n{self}");
        }
    }
}
