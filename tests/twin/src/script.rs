//! Scripts: what is done to both binaries, one step after the other.

use anyhow::{Context, bail};

/// A folder of the scripts, and what they include.
pub const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts");

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Runs a command to its end; `until_still` interrupts it when nothing happens any more.
    Command {
        words: Vec<String>,
        input: String,
        until_still: bool,
    },
    /// Opens the dashboard.
    Open(Vec<String>),
    /// Writes bytes to the terminal.
    Press(String),
    /// Waits for a text on the screen.
    Wait(String),
    /// Adds answers to the world.
    Answer(String),
    /// Writes a file in the working directory.
    File(String, String),
}

#[derive(Clone, Debug)]
pub struct Step {
    pub line: usize,
    pub text: String,
    pub action: Action,
}

#[derive(Clone, Debug)]
pub struct Script {
    pub name: String,
    pub steps: Vec<Step>,
}

impl Script {
    /// Reads all scripts, in the order of their names.
    pub fn all() -> anyhow::Result<Vec<Script>> {
        let mut scripts = Vec::new();
        for entry in std::fs::read_dir(SCRIPTS)? {
            let path = entry?.path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            scripts.push(Script::parse(&name, &std::fs::read_to_string(&path)?)?);
        }
        scripts.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(scripts)
    }

    /// Parses a script; the README describes the lines.
    pub fn parse(name: &str, text: &str) -> anyhow::Result<Script> {
        let mut script = Script {
            name: name.to_owned(),
            steps: Vec::new(),
        };
        let mut lines = text.lines().enumerate().peekable();
        while let Some((at, line)) = lines.next() {
            let line = line.trim_end();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
            // Indented lines below are the text of a file, an answer or an input.
            let mut block = String::new();
            while let Some((_, text)) = lines.next_if(|(_, line)| line.starts_with("  ")) {
                block += &text[2..];
                block.push('\n');
            }
            let mut add = |text: &str, action| {
                script.steps.push(Step {
                    line: at + 1,
                    text: text.to_owned(),
                    action,
                });
            };
            match verb {
                "$" | "$$" | "^C" => {
                    let words = split(rest)?;
                    let preview =
                        (verb == "$$").then(|| [&words[..], &["--dry-run".to_owned()]].concat());
                    for words in preview.into_iter().chain(formats(words)) {
                        let (input, until_still) = (block.clone(), verb == "^C");
                        add(
                            &words.join(" "),
                            Action::Command {
                                words,
                                input,
                                until_still,
                            },
                        );
                    }
                }
                "open" => add(line, Action::Open(split(rest)?)),
                "key" => {
                    for key in rest.split(' ') {
                        let bytes =
                            bytes(key).with_context(|| format!("{name}:{}: key {key}", at + 1))?;
                        add(&format!("key {key}"), Action::Press(bytes));
                    }
                }
                "type" => add(line, Action::Press(rest.to_owned())),
                "wait" => add(line, Action::Wait(rest.to_owned())),
                "answer" => add(line, Action::Answer(format!("{rest}\n{block}"))),
                "file" => add(line, Action::File(rest.to_owned(), block)),
                _ => bail!("{name}:{}: unknown line: {line}", at + 1),
            }
        }
        Ok(script)
    }

    /// Returns whether the script opens the dashboard, so that the size of the terminal matters.
    pub fn opens_dashboard(&self) -> bool {
        self.steps
            .iter()
            .any(|step| matches!(step.action, Action::Open(_)))
    }
}

/// Splits at spaces outside of single quotes.
fn split(text: &str) -> anyhow::Result<Vec<String>> {
    let mut words = vec![String::new()];
    for (at, part) in text.split('\'').enumerate() {
        if at % 2 == 1 {
            words.last_mut().context("a word")?.push_str(part);
        } else {
            for (at, word) in part.split(' ').enumerate() {
                if at > 0 {
                    words.push(String::new());
                }
                words.last_mut().context("a word")?.push_str(word);
            }
        }
    }
    words.retain(|word| !word.is_empty());
    Ok(words)
}

/// Repeats a command that ends in `-o *` for each format.
fn formats(words: Vec<String>) -> Vec<Vec<String>> {
    match words.split_last() {
        Some((star, rest)) if star == "*" => ["table", "json", "jsonl"]
            .iter()
            .map(|format| [rest, &[(*format).to_owned()]].concat())
            .collect(),
        _ => vec![words],
    }
}

/// Returns the bytes that a terminal sends for a key.
fn bytes(key: &str) -> Option<String> {
    let named = match key {
        "Enter" => "\r",
        "Esc" => "\x1b",
        "Tab" => "\t",
        "BackTab" => "\x1b[Z",
        "Space" => " ",
        "Up" => "\x1b[A",
        "Down" => "\x1b[B",
        "Right" => "\x1b[C",
        "Left" => "\x1b[D",
        "Home" => "\x1b[H",
        "End" => "\x1b[F",
        "PageUp" => "\x1b[5~",
        "PageDown" => "\x1b[6~",
        "Backspace" => "\x7f",
        "Delete" => "\x1b[3~",
        _ => "",
    };
    if !named.is_empty() {
        return Some(named.to_owned());
    }
    if let Some(letter) = key
        .strip_prefix("ctrl-")
        .and_then(|letter| letter.bytes().next())
    {
        return Some(char::from(letter & 0x1f).to_string());
    }
    Some(key.to_owned()).filter(|key| key.chars().count() == 1)
}
