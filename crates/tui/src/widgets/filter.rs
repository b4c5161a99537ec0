//! The filter of a list: words that must all match. `text` is searched in the names of a row (its letters in order are
//! enough), `field:text` in one field, and `!` before either excludes the matches.

use std::borrow::Cow;

/// A filter as it was typed, with its parsed terms.
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

/// A text to search for, ignoring case.
#[derive(Debug, Clone, PartialEq)]
pub struct Needle {
    /// In lower case.
    text: String,
}

/// How well a row matches. Rows that contain the words are listed before rows that only have their letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// The row contains every word.
    Contains,
    /// The row has the letters of the words, in order.
    Subsequence,
}

/// A row that can be filtered.
pub trait Fields {
    /// Returns the names that a word without a field is searched in. The first one may also match by letters in order.
    fn names(&self) -> [Cow<'_, str>; 2];
    /// Returns whether `fits` accepts one of the row's other texts. Must not allocate: a log calls it for 100,000 lines at
    /// every keypress.
    fn any_word(&self, fits: impl Fn(&str) -> bool) -> bool;
    /// Returns the text of a known field.
    fn field(&self, name: &'static str) -> Cow<'_, str>;
}

impl Filter {
    /// Parses a filter. `fields` are the names allowed before a colon; a word with another prefix (a URL, for example) is a
    /// plain text. Unfinished words (`!`, `name:`) match everything.
    pub fn new(text: &str, fields: &[&'static str]) -> Filter {
        let mut terms = Vec::new();
        for word in text.split_whitespace() {
            let (negated, rest) = word
                .strip_prefix('!')
                .map_or((false, word), |rest| (true, rest));
            let split = rest.split_once(':');
            let known = split.and_then(|(f, w)| {
                Some((*fields.iter().find(|name| name.eq_ignore_ascii_case(f))?, w))
            });
            let (field, wanted) =
                known.map_or((None, rest), |(field, wanted)| (Some(field), wanted));
            if !wanted.is_empty() {
                terms.push(Term {
                    negated,
                    field,
                    wanted: Needle::new(wanted),
                });
            }
        }
        Filter {
            text: text.to_string(),
            terms,
        }
    }

    /// Returns the filter as it was typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether every row matches.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Returns how well a row matches, or `None` if it does not.
    pub fn fit(&self, row: &impl Fields) -> Option<Fit> {
        let mut worst = Fit::Contains;
        for term in &self.terms {
            let fit = term.fit(row);
            match (fit, term.negated) {
                (Some(fit), false) => worst = worst.max(fit),
                // Only a contained word excludes a row; scattered letters are too weak a match.
                (None | Some(Fit::Subsequence), true) => {}
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
        is_subsequence(&names[0], &self.wanted.text).then_some(Fit::Subsequence)
    }
}

impl Needle {
    pub fn new(text: &str) -> Needle {
        Needle {
            text: lower(text).collect(),
        }
    }

    /// Returns whether the searched text is empty.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns whether a text contains the needle. Does not allocate, because every keypress searches all lines of a log, or
    /// all values of a 50 MB document. An ASCII needle matches only ASCII text (not the Kelvin sign, for example).
    pub fn is_in(&self, text: &str) -> bool {
        let Some(&first) = self.text.as_bytes().first() else {
            return true;
        };
        if !self.text.is_ascii() {
            let starts = |at: usize| {
                let mut letters = lower(&text[at..]);
                self.text
                    .chars()
                    .all(|wanted| letters.next() == Some(wanted))
            };
            return !text.is_ascii() && text.char_indices().any(|(at, _)| starts(at));
        }
        let (text, wanted) = (text.as_bytes(), self.text.as_bytes());
        memchr::memchr2_iter(first, first.to_ascii_uppercase(), text).any(|at| {
            text.get(at..at + wanted.len())
                .is_some_and(|part| part.eq_ignore_ascii_case(wanted))
        })
    }
}

/// Lowercases each letter by itself, so that the result does not depend on its position as a final sigma does.
fn lower(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars().flat_map(char::to_lowercase)
}

/// Returns whether a text has all letters of another one, in order.
fn is_subsequence(text: &str, wanted: &str) -> bool {
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
            if name == "state" {
                self.1.into()
            } else {
                self.0.into()
            }
        }
    }

    fn fit(filter: &str) -> Option<Fit> {
        Filter::new(filter, &["name", "state"]).fit(&Row("support-bot-äö", "BUILD_FAILED"))
    }

    #[test]
    fn words_letters_fields_and_exclusions_are_matched() {
        for (filter, wanted) in [
            ("", Some(Fit::Contains)),
            ("BOT", Some(Fit::Contains)),
            ("sptb", Some(Fit::Subsequence)),
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
    fn needles_ignore_case() {
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
            assert_eq!(
                Needle::new(wanted).is_in(text),
                found,
                "{wanted:?} in {text:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_needle_matches_like_lowercase_contains(wanted in "[aAbB.{\\[é]{0,4}", text in "[aAbB.{\\[éÉ日]{0,12}") {
            prop_assert_eq!(Needle::new(&wanted).is_in(&text), text.to_lowercase().contains(&wanted.to_lowercase()));
        }
    }
}
