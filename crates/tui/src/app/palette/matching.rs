//! How well an action or an object matches what was typed.

use std::ops::Range;

/// Maximum characters of a text that are compared. Servers may send names of megabytes.
const MAX_COMPARED: usize = 400;
/// Minimum letters that may match anywhere in a sentence, or with gaps in a name. Fewer match nearly every text.
const MIN_LOOSE: usize = 3;

/// Scores up to this one are of letters that are scattered in a name, or inside words of a sentence: too weak to be listed beside
/// better ones.
pub(super) const WEAK: u32 = 30;

/// The texts that are compared with what was typed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Texts<'a> {
    pub name: &'a str,
    pub note: &'a str,
    /// Other names: its command, its id in the configuration, more words.
    pub aliases: [&'a str; 3],
    pub key: &'a str,
    /// Where it works.
    pub place: &'a str,
}

/// A match: its score, and the matched parts of the name and the note in bytes.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct LineFit {
    pub score: u32,
    pub name: Vec<Range<usize>>,
    pub note: Vec<Range<usize>>,
}

/// Where a term was found in a text.
enum FoundTerm {
    Start(Range<usize>),
    /// At the start of a word, by the number of the word.
    Word(usize, Range<usize>),
    Inside(Range<usize>),
}

/// Matches a typed text: each of its words must match. `None` if one doesn't.
pub(super) fn fit(typed: &str, texts: &Texts<'_>) -> Option<LineFit> {
    let mut fit = LineFit::default();
    let terms = typed.split_whitespace().count() as u32;
    for term in typed.split_whitespace() {
        fit.score += of_term(term, texts, &mut fit)
            .or_else(|| scattered_term(term, texts, &mut fit).filter(|_| terms == 1))?;
    }
    fit.score = fit.score.checked_div(terms).unwrap_or_default();
    let whole = typed.trim().to_lowercase();
    if texts
        .aliases
        .iter()
        .any(|alias| !alias.is_empty() && *alias == whole)
    {
        fit.score += 100;
    } else if texts.name.to_lowercase() == whole {
        fit.score += 60;
    }
    Some(fit)
}

/// Returns the score of one term, and adds the matched parts.
fn of_term(term: &str, texts: &Texts<'_>, fit: &mut LineFit) -> Option<u32> {
    let letters: Vec<char> = term.chars().map(lower).collect();
    let is_loose = letters.len() >= MIN_LOOSE;
    let mut best = None;
    let mut add = |score: u32| best = best.max(Some(score));
    if texts.key == term || term.len() > 1 && texts.key.eq_ignore_ascii_case(term) {
        add(130);
    }
    match find(texts.name, &letters) {
        Some(FoundTerm::Start(at)) => {
            add(100);
            fit.name.push(at);
        }
        Some(FoundTerm::Word(n, at)) => {
            add(80 - 2 * n.min(10) as u32);
            fit.name.push(at);
        }
        Some(FoundTerm::Inside(at)) if letters.len() > 1 => {
            add(45);
            fit.name.push(at);
        }
        _ => {}
    }
    for alias in texts.aliases {
        match find(alias, &letters) {
            Some(FoundTerm::Start(_)) => add(95),
            Some(FoundTerm::Word(..)) => add(60),
            Some(FoundTerm::Inside(_)) if letters.len() > 1 => add(40),
            _ => {}
        }
    }
    match find(texts.note, &letters) {
        Some(FoundTerm::Start(at) | FoundTerm::Word(_, at)) if letters.len() > 1 => {
            add(35);
            fit.note.push(at);
        }
        Some(FoundTerm::Inside(at)) if is_loose => {
            add(15);
            fit.note.push(at);
        }
        _ => {}
    }
    if is_loose
        && matches!(
            find(texts.place, &letters),
            Some(FoundTerm::Start(_) | FoundTerm::Word(..))
        )
    {
        add(20);
    }
    best
}

/// Returns the score of a term whose letters are in a name or a command, with gaps between them.
fn scattered_term(term: &str, texts: &Texts<'_>, fit: &mut LineFit) -> Option<u32> {
    let letters: Vec<char> = term.chars().map(lower).collect();
    if letters.len() < MIN_LOOSE {
        return None;
    }
    let of = |parts: &[Range<usize>]| {
        if parts.first().is_some_and(|part| part.start == 0) {
            28
        } else {
            20
        }
    };
    let command = texts
        .aliases
        .first()
        .and_then(|command| scattered(command, &letters));
    match scattered(texts.name, &letters) {
        Some(parts) => {
            let score = of(&parts);
            fit.name.extend(parts);
            Some(score)
        }
        None => command.map(|parts| of(&parts)),
    }
}

/// Finds a term in a text, at the start of a word if possible.
fn find(text: &str, term: &[char]) -> Option<FoundTerm> {
    let letters: Vec<(usize, char)> = text
        .char_indices()
        .take(MAX_COMPARED)
        .map(|(at, c)| (at, lower(c)))
        .collect();
    let (mut words, mut inside) = (0, None);
    for start in 0..(letters.len() + 1).checked_sub(term.len())? {
        let here = letters.get(start..)?;
        let is_word = start > 0
            && !letters
                .get(start - 1)
                .is_some_and(|(_, before)| before.is_alphanumeric());
        words += usize::from(is_word && here.first().is_some_and(|(_, c)| c.is_alphanumeric()));
        if !here.iter().map(|(_, c)| c).take(term.len()).eq(term) {
            continue;
        }
        let end = letters
            .get(start + term.len())
            .map_or_else(|| end_of(&letters, text), |(at, _)| *at);
        let range = here.first()?.0..end;
        match (start, is_word) {
            (0, _) => return Some(FoundTerm::Start(range)),
            (_, true) => return Some(FoundTerm::Word(words, range)),
            _ => inside = inside.or(Some(range)),
        }
    }
    inside.map(FoundTerm::Inside)
}

/// Finds the letters of a term in their order, the first one at the start of a word.
fn scattered(text: &str, term: &[char]) -> Option<Vec<Range<usize>>> {
    let mut wanted = term.iter();
    let mut next = wanted.next()?;
    let (mut parts, mut before) = (Vec::new(), ' ');
    for (at, c) in text.char_indices().take(MAX_COMPARED) {
        let may_begin = !parts.is_empty() || !before.is_alphanumeric();
        before = c;
        if may_begin && lower(c) == *next {
            parts.push(at..at + c.len_utf8());
            match wanted.next() {
                Some(letter) => next = letter,
                None => return Some(parts),
            }
        }
    }
    None
}

fn end_of(letters: &[(usize, char)], text: &str) -> usize {
    let last = letters.last().map_or(0, |(at, _)| *at);
    text.get(last..)
        .and_then(|rest| rest.chars().next())
        .map_or(last, |c| last + c.len_utf8())
}

/// Lowercases one character to one character, so that positions stay.
fn lower(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn score(typed: &str, name: &str, note: &str) -> Option<u32> {
        fit(
            typed,
            &Texts {
                name,
                note,
                ..Texts::default()
            },
        )
        .map(|fit| fit.score)
    }

    #[test]
    fn the_start_of_a_name_counts_most() {
        let all = [
            score("can", "Cancel the run", ""),
            score("can", "Show what can be sent", ""),
            score("can", "Scan", ""),
            score("can", "Stop", "You can stop it"),
            score("can", "Clear the answers now", ""),
            score("can", "Stop", "Scanned"),
        ];
        assert!(all.iter().all(Option::is_some), "{all:?}");
        assert!(all.windows(2).all(|pair| pair[0] > pair[1]), "{all:?}");
        assert_eq!(score("can", "Stop", "The run"), None);
        assert_eq!(
            score("cn", "Cancel", ""),
            None,
            "two letters in order match nearly everything"
        );
    }

    #[test]
    fn every_typed_word_must_match() {
        assert!(score("run cancel", "Cancel the run", "").is_some());
        assert_eq!(score("cancel thread", "Cancel the run", ""), None);
    }

    #[test]
    fn a_key_and_an_exact_command_come_first() {
        let cancel = Texts {
            name: "Cancel the run",
            key: "x",
            ..Texts::default()
        };
        let export = Texts {
            name: "Xport",
            ..Texts::default()
        };
        assert!(fit("x", &cancel).unwrap().score > fit("x", &export).unwrap().score);
        let command = Texts {
            name: "Open a thread by id",
            aliases: ["thread", "", ""],
            ..Texts::default()
        };
        let other = Texts {
            name: "Thread of the run",
            ..Texts::default()
        };
        assert!(fit("thread", &command).unwrap().score > fit("thread", &other).unwrap().score);
    }

    #[test]
    fn matched_parts_are_those_that_were_typed() {
        let texts = Texts {
            name: "Cancel the run",
            note: "Cancels the rün",
            ..Texts::default()
        };
        let found = fit("RUN", &texts).unwrap();
        assert_eq!(&texts.name[found.name[0].clone()], "run");
        let found = fit("RÜN", &texts).unwrap();
        assert_eq!(&texts.note[found.note[0].clone()], "rün");
    }

    proptest! {
        #[test]
        fn matched_parts_are_in_the_text(typed in "\\PC{0,12}", name in "\\PC{0,40}", note in "\\PC{0,40}") {
            if let Some(found) = fit(&typed, &Texts { name: &name, note: &note, ..Texts::default() }) {
                prop_assert!(found.name.iter().all(|part| name.get(part.clone()).is_some()));
                prop_assert!(found.note.iter().all(|part| note.get(part.clone()).is_some()));
            }
        }
    }
}
