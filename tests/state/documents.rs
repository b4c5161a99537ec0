//! The documents say what the code does: keys, commands, settings, filters and the names of files are held against it.

use runtail_core::config::Config;
use runtail_tui::app::find::StreamFilter;
use runtail_tui::app::key::Key;
use runtail_tui::app::keys::{BINDINGS, Binding, Context, Keymap};
use runtail_tui::app::palette::COMMANDS;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const README: &str = include_str!("../../README.md");
const ARCHITECTURE: &str = include_str!("../../docs/architecture.md");

/// A row of a table: the heading that it stands under, its first cell, the others.
struct Row {
    heading: String,
    first: String,
    rest: String,
}

/// The rows of all tables whose first column has this name.
fn rows(document: &str, column: &str) -> Vec<Row> {
    let (mut heading, mut inside, mut rows) = (String::new(), false, Vec::new());
    for line in document.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            heading = title.to_string();
        }
        // A bar in a cell is written with a backslash.
        let plain = line.replace("\\|", "\u{0}");
        let Some(cells) = plain.strip_prefix("| ").and_then(|line| line.strip_suffix('|')) else {
            inside &= line.starts_with("|-");
            continue;
        };
        let (first, rest) = cells.split_once('|').unwrap();
        let cell = |text: &str| text.trim().replace('\u{0}', "|");
        if cell(first) == column {
            inside = true;
        } else if inside {
            rows.push(Row { heading: heading.clone(), first: cell(first), rest: cell(rest) });
        }
    }
    rows
}

/// What stands between backticks.
fn code(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// What a text is about.
fn words(text: &str) -> BTreeSet<String> {
    let small = ["the", "and", "one", "for", "its", "all", "that", "this", "before"];
    let words = text.split(|c: char| !c.is_alphabetic()).map(str::to_lowercase);
    words.filter(|word| word.len() > 2 && !small.contains(&word.as_str())).collect()
}

#[test]
fn every_key_of_the_readme_does_what_its_row_says() {
    let rows = rows(README, "key");
    assert!(rows.len() > 25, "{}", rows.len());
    for Row { heading, first, rest } in rows {
        use Context::*;
        let places: &[Context] = match heading.as_str() {
            "The stream viewer" => &[Stream],
            "The fleet" => &[Deployments, Revisions],
            "Changing things" => &[Deployments, Revisions, Confirm],
            other => panic!("no place is known for the table of keys under {other:?}"),
        };
        for name in code(&first) {
            if name.len() > 1 && name.starts_with(':') {
                // A command: looked at below.
                continue;
            }
            let key: Key = if name == "⏎" { "Enter" } else { name }.parse().unwrap_or_else(|e| panic!("{name}: {e}"));
            let is_it = |binding: &&Binding| {
                let here = places.contains(&binding.context) || binding.context == Global;
                here && binding.keys.iter().any(|own| own.parse::<Key>().is_ok_and(|own| own == key))
            };
            let told = words(&rest);
            let says = |binding: &&Binding| {
                let own = words(&format!("{} {} {}", binding.id.replace(['.', '_'], " "), binding.label, binding.help));
                own.intersection(&told).next().is_some()
            };
            assert!(BINDINGS.iter().filter(is_it).any(|row| says(&row)), "{name} under {heading:?} does not: {rest}");
        }
    }
}

#[test]
fn every_view_and_every_key_of_the_viewer_that_has_no_pair_is_in_the_readme() {
    let rows = rows(README, "key");
    let told: Vec<&str> =
        rows.iter().filter(|r| r.heading == "The stream viewer").flat_map(|r| code(&r.first)).collect();
    let text: Vec<&str> =
        README.split("## ").filter(|part| part.starts_with("The stream viewer")).flat_map(code).collect();
    for binding in BINDINGS.iter().filter(|binding| binding.context == Context::Stream) {
        // Told under "Five minutes", or the same as a number.
        if matches!(binding.id, "stream.open" | "stream.follow" | "stream.next_view" | "stream.prev_view") {
            continue;
        }
        // Reached by its command.
        let Some(key) = binding.keys.first() else { continue };
        assert!(told.contains(key) || text.contains(key), "{} ({key}) is not told", binding.id);
    }
}

#[test]
fn every_command_that_a_document_names_is_one() {
    for (name, document) in documents() {
        for text in code(&document) {
            let Some(command) =
                text.strip_prefix(':').filter(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()))
            else {
                continue;
            };
            let command = command.split(' ').next().unwrap_or_default();
            assert!(COMMANDS.iter().any(|known| known.name == command), "{name} names :{command}");
        }
    }
}

#[test]
fn every_filter_of_the_readme_is_understood() {
    let filters: Vec<&str> = README.lines().filter_map(|line| line.strip_prefix('&')).collect();
    assert!(filters.len() >= 4);
    for line in filters {
        let filter = line.split("   ").next().unwrap_or_default();
        let read = StreamFilter::new(filter);
        assert!(!read.is_empty() && read.problems().is_empty(), "{filter}: {:?}", read.problems());
    }
}

#[test]
fn the_keys_of_the_example_are_those_that_come_with_runtail() {
    let all: String = Config::EXAMPLE.lines().map(|line| format!("{}\n", line.trim_start_matches("#: "))).collect();
    let keys = Config::parse(&all, None).unwrap().keys;
    assert!(keys.len() > 10);
    let (changed, problems) = Keymap::new(&keys);
    assert_eq!(problems, Vec::<String>::new());
    for id in keys.keys() {
        assert_eq!(changed.keys_of(id), Keymap::default().keys_of(id), "{id}");
    }
}

#[test]
fn every_file_that_the_architecture_names_is_there() {
    let mut files = Vec::new();
    for folder in ["src", "crates", "tests", "docs", "assets"] {
        list(Path::new(folder), &mut files);
    }
    let short: Vec<PathBuf> = files.iter().map(|file| file.iter().filter(|part| *part != "src").collect()).collect();
    files.extend(short);
    for name in code(ARCHITECTURE) {
        let is_path =
            !name.contains([' ', '*', '(']) && (name.ends_with(".rs") || name.contains('/')) && !name.starts_with('/');
        let wanted = name.trim_end_matches('/');
        // `stream/log/tape.rs` is crates/stream/src/log/tape.rs.
        let is_there = |file: &PathBuf| file.ends_with(wanted) || file.with_extension("").ends_with(wanted);
        assert!(!is_path || files.iter().any(is_there), "there is no {name}");
    }
}

fn documents() -> Vec<(String, String)> {
    let mut files = vec![PathBuf::from("README.md")];
    list(Path::new("docs"), &mut files);
    files.retain(|file| file.extension().is_some_and(|ending| ending == "md"));
    files.iter().map(|file| (file.display().to_string(), std::fs::read_to_string(file).unwrap())).collect()
}

/// All files and folders in a folder.
fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            list(&path, files);
        }
        files.push(path);
    }
}
