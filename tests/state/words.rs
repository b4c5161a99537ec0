//! `words.txt` lists the phrases and names that were replaced, and none of them may be used again. Checked are
//! the string literals and comments of the program (help texts are doc comments), the documents, and the example files.

use std::path::{Path, PathBuf};

const LIST: &str = include_str!("words.txt");

/// The entries of one section of the list.
fn section(name: &str) -> Vec<&'static str> {
    let (_, rest) = LIST
        .split_once(&format!("\n[{name}]\n"))
        .unwrap_or_else(|| panic!("no section {name}"));
    rest.lines()
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect()
}

/// The exceptions: a file or folder, and the phrase that it may have.
fn exceptions() -> Vec<(&'static str, &'static str)> {
    section("exceptions")
        .iter()
        .filter_map(|line| line.split_once(": "))
        .collect()
}

/// A text that people read, with its place.
struct Text {
    file: String,
    line: usize,
    text: String,
}

/// All files below a folder whose name ends like this, without tests.
fn files(folder: &str, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder)
        .unwrap_or_else(|e| panic!("{folder}: {e}"))
        .flatten()
    {
        let path = entry.path();
        let name = path.to_string_lossy().into_owned();
        if path.is_dir() {
            files(&name, ending, found);
        } else if name.ends_with(ending)
            && !name.ends_with("/tests.rs")
            && !name.contains("/tests/")
        {
            found.push(path);
        }
    }
}

/// All source files.
fn sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    files("src", ".rs", &mut found);
    for entry in std::fs::read_dir("crates").expect("the crates").flatten() {
        files(
            &format!("{}/src", entry.path().display()),
            ".rs",
            &mut found,
        );
    }
    found.sort();
    found
}

/// The source of a file without its tests, which stand at its end.
fn source(file: &Path) -> String {
    let text = std::fs::read_to_string(file).expect("a source file");
    let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    text[..end].to_string()
}

/// The string literals and comments of Rust code. Lines of one comment are one text, and so are continued strings.
fn literals(file: &str, code: &str) -> Vec<Text> {
    let mut texts: Vec<Text> = Vec::new();
    let mut rest = code;
    let (mut line, mut comment_ended) = (1, 0);
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            let length = rest.find('\n').unwrap_or(rest.len());
            let words = rest[..length].trim_start_matches(['/', '!']).trim();
            match texts.last_mut() {
                Some(last) if comment_ended + 1 == line => {
                    last.text = format!("{} {words}", last.text)
                }
                _ => texts.push(Text {
                    file: file.into(),
                    line,
                    text: words.into(),
                }),
            }
            comment_ended = line;
            length
        } else if rest.starts_with("r\"") || rest.starts_with("r#") {
            let marks = rest[1..].bytes().take_while(|byte| *byte == b'#').count();
            let end = format!("\"{}", "#".repeat(marks));
            match rest[1 + marks..].strip_prefix('"') {
                Some(inside) => {
                    let length = inside.find(&end).unwrap_or(inside.len());
                    texts.push(Text {
                        file: file.into(),
                        line,
                        text: inside[..length].into(),
                    });
                    2 + marks + length + end.len()
                }
                None => 1,
            }
        } else if first == '"' {
            let (text, length) = string(&rest[1..]);
            texts.push(Text {
                file: file.into(),
                line,
                text,
            });
            1 + length
        } else if first == '\'' {
            // A character, or a lifetime.
            match rest[1..].find('\'') {
                Some(end)
                    if end > 0
                        && (rest[1..].starts_with('\\')
                            || rest[1..].chars().nth(1) == Some('\'')) =>
                {
                    end + 2
                }
                _ => 1,
            }
        } else {
            first.len_utf8()
        };
        let length = length.min(rest.len());
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    texts
}

/// Reads a string literal after its opening quote. Returns its text and its length with the closing quote.
fn string(rest: &str) -> (String, usize) {
    let mut text = String::new();
    let mut chars = rest.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (text, at + 1),
            '\\' => match chars.next() {
                Some((_, '\n')) => while chars.next_if(|(_, c)| c.is_whitespace()).is_some() {},
                Some((_, 'n' | 't')) => text.push(' '),
                Some((_, other)) => text.push(other),
                None => {}
            },
            other => text.push(other),
        }
    }
    (text, rest.len())
}

/// The paragraphs of a document without code such as names of tests, or the blocks of comments of a TOML file.
fn paragraphs(file: &str, document: &str) -> Vec<Text> {
    let mut texts: Vec<Text> = Vec::new();
    let mut is_open = false;
    for (number, words) in document.lines().enumerate() {
        let words: String = words.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let words = words
            .trim_start_matches("#:")
            .trim_start_matches('#')
            .trim();
        match texts.last_mut() {
            _ if words.is_empty() => {}
            Some(last) if is_open => last.text = format!("{} {words}", last.text),
            _ => texts.push(Text {
                file: file.into(),
                line: number + 1,
                text: words.into(),
            }),
        }
        is_open = !words.is_empty();
    }
    texts
}

fn texts() -> Vec<Text> {
    let mut texts = Vec::new();
    for file in sources() {
        texts.extend(literals(&file.display().to_string(), &source(&file)));
    }
    let mut documents = vec![
        PathBuf::from("README.md"),
        "CONTRIBUTING.md".into(),
        "config.example.toml".into(),
    ];
    files("docs", ".md", &mut documents);
    files("assets", ".toml", &mut documents);
    for file in documents {
        let document =
            std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        texts.extend(paragraphs(&file.display().to_string(), &document));
    }
    texts
}

/// Whether a text has a phrase, as whole words and in any case. Both are in lower case.
fn has(text: &str, phrase: &str) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let bounded = |part: Option<char>, end: Option<char>| !(is_word(part) && is_word(end));
    text.match_indices(phrase).any(|(at, found)| {
        let (before, after) = (&text[..at], &text[at + found.len()..]);
        bounded(before.chars().next_back(), phrase.chars().next())
            && bounded(after.chars().next(), phrase.chars().next_back())
    })
}

#[test]
fn replaced_phrases_do_not_come_back() {
    let phrases: Vec<String> = section("phrases")
        .into_iter()
        .map(str::to_lowercase)
        .collect();
    let labels = section("labels");
    let exceptions = exceptions();
    let mut found = Vec::new();
    let texts = texts();
    assert!(
        phrases.len() > 150 && texts.len() > 5000,
        "{} phrases, {} texts",
        phrases.len(),
        texts.len()
    );
    for Text { file, line, text } in &texts {
        let lower = text.to_lowercase();
        let is_allowed = |phrase: &str| {
            exceptions
                .iter()
                .any(|(path, own)| file.starts_with(path) && phrase == own.to_lowercase())
        };
        for phrase in phrases
            .iter()
            .filter(|phrase| has(&lower, phrase) && !is_allowed(phrase))
        {
            found.push(format!("{file}:{line}: \"{phrase}\" in: {text}"));
        }
        if labels.contains(&text.trim()) && !is_allowed(lower.trim()) {
            found.push(format!("{file}:{line}: the label \"{text}\""));
        }
    }
    assert!(
        found.is_empty(),
        "{} of them; tests/state/words.txt says what to do:\n{}",
        found.len(),
        found.join("\n")
    );
}

#[test]
fn replaced_names_do_not_come_back() {
    let names = section("names");
    let mut found = Vec::new();
    for file in sources() {
        let stem = file
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let is_allowed = exceptions()
            .iter()
            .any(|(path, own)| file.starts_with(path) && *own == format!("{stem}.rs"));
        if names.contains(&format!("{stem}.rs").as_str()) && !is_allowed {
            found.push(format!("{}: the file", file.display()));
        }
        for (number, line) in source(&file).lines().enumerate() {
            let mut words = line
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .filter(|word| !word.is_empty());
            while let Some(word) = words.next() {
                if matches!(
                    word,
                    "struct" | "enum" | "trait" | "type" | "const" | "static" | "fn"
                ) && !line.trim_start().starts_with("//")
                    && words
                        .clone()
                        .next()
                        .is_some_and(|name| names.contains(&name))
                {
                    found.push(format!(
                        "{}:{}: {}",
                        file.display(),
                        number + 1,
                        line.trim()
                    ));
                }
            }
        }
    }
    assert!(
        found.is_empty(),
        "{} names of the list are declared again:\n{}",
        found.len(),
        found.join("\n")
    );
}

#[test]
fn literals_and_comments_are_found() {
    let code = "/// One\n/// two.\nfn a<'a>(x: char) { b(\"three \\\n   four\", r#\"fi\"ve\"#, '\"', 'x'); } // six\n";
    let texts: Vec<String> = literals("a.rs", code)
        .into_iter()
        .map(|text| text.text)
        .collect();
    assert_eq!(texts, ["One two.", "three four", "fi\"ve", "six"]);
    assert!(
        has("it is let go.", "let go") && !has("outlet gone", "let go") && has("x (429)", "(429)")
    );
}
