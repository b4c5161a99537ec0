//! `docs/cli.md` contains the help of every command. After changing a help text, run
//! `RUNTAIL_UPDATE_DOCS=1 cargo test --test cli documents`.

use runtail_testkit::process;
use std::fmt::Write;
use std::path::Path;
use std::sync::LazyLock;

/// Where the generated part of the page begins.
const MARK: &str =
    "<!-- Generated from --help. RUNTAIL_UPDATE_DOCS=1 cargo test --test cli documents -->\n";
/// Options that the page describes once, at its beginning.
const EVERYWHERE: [&str; 2] = ["-h, --help", "-V, --version"];
/// The text of `-o` when it is the one that the page describes at its beginning.
const OUTPUT: [&str; 2] = [
    "How to print (default: table on a terminal, else jsonl)",
    "How to print (default: text on a terminal, else jsonl)",
];

/// The text of `--fields`, which every list and every record has.
const FIELDS: &str =
    "Print only these fields, as columns or as JSON: names or paths, separated by commas";
/// Commands that list, or show a record of a server.
const READS: [&str; 11] = [
    "list",
    "get",
    "inbox",
    "history",
    "versions",
    "schemas",
    "state",
    "namespaces",
    "search",
    "repos",
    "count",
];

/// One argument or option of a command.
#[derive(Debug, PartialEq)]
struct Entry {
    name: String,
    text: String,
    values: Vec<String>,
}

/// The help of one command.
#[derive(Debug, Default)]
struct Help {
    about: String,
    usage: String,
    commands: Vec<String>,
    sections: Vec<(String, Vec<Entry>)>,
    notes: Vec<String>,
    has_fields: bool,
}

/// Parses the output of `--help`, which clap wraps at 100 columns. The first page has groups of commands.
fn parse(text: &str, is_first: bool) -> Help {
    let mut help = Help::default();
    let (mut heading, mut paragraph, mut is_note) = (String::new(), String::new(), false);
    for line in text.lines().chain([""]) {
        let indent = line.len() - line.trim_start().len();
        let words = line.trim();
        if indent == 0 && !words.is_empty() {
            if let Some(usage) = words.strip_prefix("Usage: ") {
                help.usage = usage.to_string();
            } else if let Some(title) = words
                .strip_suffix(':')
                .filter(|_| paragraph.is_empty() && !is_note)
            {
                // Notes follow the last section of options.
                is_note = title == "Global options";
                heading = title.to_string();
                help.sections.push((heading.clone(), Vec::new()));
            } else {
                heading.clear();
                paragraph += if paragraph.is_empty() { "" } else { " " };
                paragraph += words;
            }
        } else if words.is_empty() && heading.is_empty() {
            let ended = std::mem::take(&mut paragraph);
            match ended.is_empty() {
                true => {}
                false if help.usage.is_empty() => help.about = ended,
                false => help.notes.push(ended),
            }
        } else if heading.is_empty() {
            // An indented line of a note: an entry of a list, or its continuation.
            paragraph += match words.starts_with("- ") {
                true if paragraph.ends_with(':') => "\n\n",
                true => "\n",
                false => " ",
            };
            paragraph += words;
        } else if heading == "Commands" || is_first && heading != "Options" {
            // The description of a command is at its own heading. Notes on a group begin with a quoted name.
            let name = words.split(' ').next();
            let name = name.filter(|name| indent == 2 && !name.starts_with('`'));
            help.commands.extend(name.map(String::from));
        } else if !words.is_empty() {
            let (_, entries) = help.sections.last_mut().expect("a heading");
            match (indent < 10, entries.last_mut()) {
                (true, _) => entries.push(Entry {
                    name: words.into(),
                    text: String::new(),
                    values: Vec::new(),
                }),
                (false, Some(entry)) => add(entry, words),
                (false, None) => panic!("a description without a name: {line}"),
            }
        }
    }
    help.commands.retain(|name| name != "help");
    help.sections
        .retain(|(heading, _)| !is_first && heading != "Commands" && heading != "Global options");
    for (_, entries) in &mut help.sections {
        help.has_fields |= entries.iter().any(|entry| entry.text == FIELDS);
        entries.retain(|entry| {
            entry.text != FIELDS
                && !EVERYWHERE.contains(&entry.name.as_str())
                && !OUTPUT.contains(&entry.text.as_str())
        });
    }
    help.sections.retain(|(_, entries)| !entries.is_empty());
    help
}

/// Adds a line of an entry's description. Of possible values only the names are kept.
fn add(entry: &mut Entry, words: &str) {
    match words.strip_prefix("- ") {
        Some(value) => entry.values.push(
            value
                .split_once(':')
                .map_or(value, |(name, _)| name)
                .to_string(),
        ),
        None if words == "Possible values:" => {}
        // The description of a value continues.
        None if !entry.values.is_empty() && !words.starts_with('[') => {}
        None => {
            entry.text += if entry.text.is_empty() { "" } else { " " };
            entry.text += words;
        }
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Writes the section of a command and of its subcommands.
fn write(page: &mut String, path: &[&str]) {
    let words: Vec<&str> = path.iter().copied().chain(["--help"]).collect();
    let help = parse(&process::run(&words).expect(0).stdout, path.is_empty());
    if help.commands.is_empty() && path.last().is_some_and(|name| READS.contains(name)) {
        assert!(help.has_fields, "{path:?} has no --fields");
    }
    if !path.is_empty() {
        let usage = help.usage.replace(" [OPTIONS]", "");
        let marks = "#".repeat(path.len().min(2) + 2);
        let _ = write!(
            page,
            "\n{marks} {}\n\n{}.\n\n`{usage}`\n",
            path.join(" "),
            help.about.trim_end_matches('.')
        );
        for (heading, entries) in &help.sections {
            let heading = match heading.as_str() {
                "Arguments" => "argument".to_string(),
                "Options" => "option".to_string(),
                other => other.to_lowercase(),
            };
            let _ = write!(page, "\n| {heading} | |\n|---|---|\n");
            for Entry { name, text, values } in entries {
                let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
                let values = if values.is_empty() {
                    String::new()
                } else {
                    format!(": {}", values.join(", "))
                };
                let _ = writeln!(page, "| `{}` | {}{values} |", cell(name), cell(text));
            }
        }
        for note in &help.notes {
            let _ = write!(page, "\n{note}\n");
        }
    }
    for name in &help.commands {
        let path: Vec<&str> = path.iter().copied().chain([name.as_str()]).collect();
        write(page, &path);
    }
}

/// The help of all commands.
pub static COMMANDS: LazyLock<String> = LazyLock::new(|| {
    let mut page = String::new();
    write(&mut page, &[]);
    page
});

#[test]
fn cli_page_contains_the_help_of_every_command() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cli.md");
    let page = std::fs::read_to_string(&path).expect("docs/cli.md");
    let (intro, written) = page
        .split_once(MARK)
        .expect("the mark of the generated part");
    let generated = &*COMMANDS;
    if std::env::var_os("RUNTAIL_UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{intro}{MARK}{generated}")).expect("writing docs/cli.md");
        return;
    }
    let different = written
        .lines()
        .zip(generated.lines())
        .find(|(is, should)| is != should);
    assert_eq!(
        different, None,
        "docs/cli.md (left) differs from --help (right); see the top of this file"
    );
    assert_eq!(
        written.lines().count(),
        generated.lines().count(),
        "docs/cli.md has more or fewer lines than --help"
    );
}

#[test]
fn cli_page_describes_every_global_option() {
    let page = include_str!("../../docs/cli.md");
    let (intro, _) = page
        .split_once(MARK)
        .expect("the mark of the generated part");
    let help = process::run(["--help"]).expect(0).stdout;
    let (_, globals) = help.split_once("Options:").expect("the global options");
    let names: Vec<&str> = globals
        .split_whitespace()
        .filter(|word| word.starts_with("--"))
        .collect();
    assert!(names.len() >= 10, "{names:?}");
    for name in names {
        assert!(
            intro.contains(&format!("`{name}")) || intro.contains(&format!(", {name}")),
            "{name} is missing"
        );
    }
}
