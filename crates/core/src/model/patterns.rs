//! Patterns of rules: `NAME:GLOB`, separated by spaces. In a glob `*` stands for any characters and `?` for one.

/// Checks patterns that may have these names.
///
/// # Errors
/// What is wrong.
pub(crate) fn check(text: &str, names: &[&str]) -> Result<(), String> {
    let is_known = |term: &&str| {
        let pattern = term.split_once(':');
        pattern.is_some_and(|(name, glob)| names.contains(&name) && !glob.is_empty())
    };
    let Some(term) = text.split_whitespace().find(|term| !is_known(term)) else {
        return Ok(());
    };
    Err(format!(
        "\"{}\" is not a pattern of a rule\npatterns are {}:NAME, separated by spaces; * stands for any text",
        crate::text::clean(term),
        names.join(":NAME, ")
    ))
}

/// Returns whether all patterns fit. `of` returns what a name is compared with, if it is known.
pub(crate) fn fit<'a>(patterns: &str, of: impl Fn(&str) -> Option<&'a str>) -> bool {
    patterns.split_whitespace().all(|term| {
        let (name, glob) = term.split_once(':').unwrap_or((term, ""));
        of(name).is_some_and(|text| is_match(glob, text))
    })
}

/// Returns whether a name matches a pattern with `*` and `?`, in time proportional to their product.
fn is_match(glob: &str, name: &str) -> bool {
    let (glob, name): (Vec<char>, Vec<char>) = (glob.chars().collect(), name.chars().collect());
    let (mut g, mut n) = (0, 0);
    // The last star, and the position in the name up to which it matches so far.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match glob.get(g) {
            Some('*') => {
                star = Some((g, n));
                g += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => (g, n) = (g + 1, n + 1),
            _ => match star {
                Some((at, matched)) => {
                    star = Some((at, matched + 1));
                    (g, n) = (at + 1, matched + 1);
                }
                None => return false,
            },
        }
    }
    glob[g..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_whole_names() {
        for (glob, name, expected) in [
            ("*", "", true),
            ("read_*", "read_", true),
            ("read_*", "xread_a", false),
            ("*_file*", "read_my_file_now", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*a*b", "xaxbxb", true),
            ("é?", "é日", true),
            ("Read", "read", false),
        ] {
            assert_eq!(is_match(glob, name), expected, "{glob} {name}");
        }
        // No exponential time.
        assert!(!is_match(
            &"*a".repeat(50),
            &"a".repeat(2000).replace('a', "b")
        ));
    }
}
