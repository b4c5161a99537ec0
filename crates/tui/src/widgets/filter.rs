//! The filter of a list: words that must all fit. `text` is looked for in the row's names (letters in order are enough),
//! `field:text` in one field, and `!` before either turns it round.

use std::borrow::Cow;

/// A filter as it was typed, and what it means.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter {
    text: String,
    terms: Vec<Term>,
}

#[derive(Debug, Clone, PartialEq)]
struct Term {
    negated: bool,
    field: Option<&'static str>,
    wanted: Needle,
}

/// A text to look for in others, whatever the case of either.
#[derive(Debug, Clone, PartialEq)]
pub struct Needle {
    /// In lower case.
    text: String,
}

/// How well a row fits: those that contain the words come before those that only have their letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// Every word is there as it is.
    Contains,
    /// The letters are there, in order.
    Letters,
}

/// A row that can be filtered.
pub trait Fields {
    /// The names that a word without a field is looked for in; in the first one letter by letter too.
    fn names(&self) -> [Cow<'_, str>; 2];
    /// Whether one of the other texts that a word may be contained in is one that is looked for. Nothing is made for it: a log
    /// is asked a hundred thousand times at every key.
    fn any_word(&self, fits: impl Fn(&str) -> bool) -> bool;
    /// The text of a field that the filter knows.
    fn field(&self, name: &'static str) -> Cow<'_, str>;
}

impl Filter {
    /// Reads a filter. `fields` are the names that may stand before a colon; with anything else there (an address, say)
    /// the whole word is a text. What is not finished yet (`!`, `name:`) asks for nothing.
    pub fn new(text: &str, fields: &[&'static str]) -> Filter {
        let mut terms = Vec::new();
        for word in text.split_whitespace() {
            let (negated, rest) = word.strip_prefix('!').map_or((false, word), |rest| (true, rest));
            let split = rest.split_once(':');
            let known = split.and_then(|(f, w)| Some((*fields.iter().find(|name| name.eq_ignore_ascii_case(f))?, w)));
            let (field, wanted) = known.map_or((None, rest), |(field, wanted)| (Some(field), wanted));
            if !wanted.is_empty() {
                terms.push(Term { negated, field, wanted: Needle::new(wanted) });
            }
        }
        Filter { text: text.to_string(), terms }
    }

    /// As it was typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether every row passes.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether a row passes, and how well.
    pub fn fit(&self, row: &impl Fields) -> Option<Fit> {
        let mut worst = Fit::Contains;
        for term in &self.terms {
            let fit = term.fit(row);
            match (fit, term.negated) {
                (Some(fit), false) => worst = worst.max(fit),
                // Letters that happen to be there are no reason to leave a row out.
                (None | Some(Fit::Letters), true) => {}
                _ => return None,
            }
        }
        Some(worst)
    }
}

impl Term {
    fn fit(&self, row: &impl Fields) -> Option<Fit> {
        let contains = |text: &str| self.wanted.is_in(text);
        if let Some(field) = self.field {
            return contains(&row.field(field)).then_some(Fit::Contains);
        }
        let names = row.names();
        if names.iter().any(|name| contains(name)) || row.any_word(contains) {
            return Some(Fit::Contains);
        }
        has_letters(&names[0], &self.wanted.text).then_some(Fit::Letters)
    }
}

impl Needle {
    /// Looks for this text.
    pub fn new(text: &str) -> Needle {
        Needle { text: lower(text).collect() }
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether a text contains it. Nothing is copied: this is asked of all lines of a log, and of all values of a document
    /// of 50 MB, at every key. A needle of ASCII is found in ASCII alone (not in the sign for Kelvin, say).
    pub fn is_in(&self, text: &str) -> bool {
        let Some(&first) = self.text.as_bytes().first() else { return true };
        if !self.text.is_ascii() {
            let starts = |at: usize| {
                let mut letters = lower(&text[at..]);
                self.text.chars().all(|wanted| letters.next() == Some(wanted))
            };
            return !text.is_ascii() && text.char_indices().any(|(at, _)| starts(at));
        }
        let (text, wanted) = (text.as_bytes(), self.text.as_bytes());
        memchr::memchr2_iter(first, first.to_ascii_uppercase(), text)
            .any(|at| text.get(at..at + wanted.len()).is_some_and(|part| part.eq_ignore_ascii_case(wanted)))
    }
}

/// Letter by letter, so that what a letter becomes does not depend on where it stands, as a final sigma does.
fn lower(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars().flat_map(char::to_lowercase)
}

/// Whether a text has all letters in their order.
fn has_letters(text: &str, wanted: &str) -> bool {
    let mut letters = lower(text);
    wanted.chars().all(|letter| letters.any(|l| l == letter))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct Row(&'static str, &'static str);

    impl Fields for Row {
        fn names(&self) -> [Cow<'_, str>; 2] {
            [self.0.into(), "prod-us".into()]
        }
        fn any_word(&self, fits: impl Fn(&str) -> bool) -> bool {
            fits(self.1)
        }
        fn field(&self, name: &'static str) -> Cow<'_, str> {
            if name == "state" { self.1.into() } else { self.0.into() }
        }
    }

    fn fit(filter: &str) -> Option<Fit> {
        Filter::new(filter, &["name", "state"]).fit(&Row("support-bot-äö", "BUILD_FAILED"))
    }

    #[test]
    fn words_letters_fields_and_their_opposites() {
        for (filter, wanted) in [
            ("", Some(Fit::Contains)),
            ("BOT", Some(Fit::Contains)),
            ("sptb", Some(Fit::Letters)),
            ("failed", Some(Fit::Contains)),
            ("failed bot", Some(Fit::Contains)),
            ("failed invoice", None),
            ("state:failed", Some(Fit::Contains)),
            ("STATE:failed", Some(Fit::Contains)),
            ("state:fld", None),
            ("name:failed", None),
            ("!state:failed", None),
            ("!state:ready !invoice", Some(Fit::Contains)),
            ("!sptb", Some(Fit::Contains)),
            ("Ä", Some(Fit::Contains)),
            ("! name: bot", Some(Fit::Contains)),
            ("http://bot", None),
            ("prod-us", Some(Fit::Contains)),
        ] {
            assert_eq!(fit(filter), wanted, "{filter:?}");
        }
        assert!(Filter::new(" ! ", &[]).is_empty());
    }

    #[test]
    fn whatever_the_case() {
        for (wanted, text, found) in [
            ("", "", true),
            ("a", "", false),
            ("b", "aB", true),
            ("ab", "xaAB", true),
            ("abc", "ab", false),
            ("[1]", "a[1]", true),
            ("{", "[", false),
            ("straße", "STRAßE 1", true),
            ("Ä", "aä", true),
            ("ä", "a", false),
            ("ОШИБ", "ошибка", true),
            ("ΟΔΟΣ", "Η ΟΔΟΣ", true),
            ("é!", "É", false),
            ("k", "日本 K", true),
        ] {
            assert_eq!(Needle::new(wanted).is_in(text), found, "{wanted:?} in {text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_needle_is_found_where_lower_case_contains_it(wanted in "[aAbB.{\\[é]{0,4}", text in "[aAbB.{\\[éÉ日]{0,12}") {
            prop_assert_eq!(Needle::new(&wanted).is_in(&text), text.to_lowercase().contains(&wanted.to_lowercase()));
        }
    }
}
