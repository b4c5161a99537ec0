//! The documents match the code: keys, commands, settings, filters and file names.

use runtail_core::config::Config;
use runtail_core::text::capitalized;
use runtail_tui::app::palette::COMMANDS;
use runtail_tui::features::stream::find::StreamFilter;
use runtail_tui::input::action::Context;
use runtail_tui::input::key::Key;
use runtail_tui::input::keymap::{BINDINGS, Binding, Keymap};
use std::path::{Path, PathBuf};

const README: &str = include_str!("../../README.md");
const VIEWS: &str = include_str!("../../docs/views.md");
const ARCHITECTURE: &str = include_str!("../../docs/architecture.md");
const CONTRIBUTING: &str = include_str!("../../CONTRIBUTING.md");

/// A row of a table: its section heading, its first cell and the other cells.
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
        // A bar inside a cell is escaped with a backslash.
        let plain = line.replace("\\|", "\u{0}");
        let Some(cells) = plain
            .strip_prefix("| ")
            .and_then(|line| line.strip_suffix('|'))
        else {
            inside &= line.starts_with("|-");
            continue;
        };
        let (first, rest) = cells.split_once('|').unwrap();
        let cell = |text: &str| text.trim().replace('\u{0}', "|");
        if cell(first) == column {
            inside = true;
        } else if inside {
            rows.push(Row {
                heading: heading.clone(),
                first: cell(first),
                rest: cell(rest),
            });
        }
    }
    rows
}

/// The texts in backticks.
fn code(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Parses a key as documents write it.
fn key(name: &str) -> Key {
    if name == "⏎" { "Enter" } else { name }
        .parse()
        .unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn documented_keys_have_an_action_there() {
    let rows: Vec<Row> = rows(README, "key")
        .into_iter()
        .chain(rows(VIEWS, "key"))
        .collect();
    assert!(rows.len() > 40, "{}", rows.len());
    for Row {
        heading,
        first,
        rest,
    } in rows
    {
        use Context::*;
        let contexts: &[Context] = match heading.as_str() {
            "The most useful keys" => &[Deployments, Revisions, Server, Stream],
            "The thread page" | "Acting on a thread" | "Moving in a stream" | "Graph" | "Steps" => {
                &[Stream]
            }
            "Deployments" => &[Deployments, Revisions],
            "Changes" => &[Deployments, Revisions, Confirm],
            other => panic!("unknown contexts of the key table under {other:?}"),
        };
        for name in code(&first) {
            if name.len() > 1 && name.starts_with(':') {
                // Commands are checked by another test.
                continue;
            }
            let key = key(name);
            let has_key = |binding: &&Binding| {
                let here = contexts.contains(&binding.context) || binding.context == Global;
                here && binding
                    .keys()
                    .any(|own| own.parse::<Key>().is_ok_and(|own| own == key))
            };
            assert!(
                BINDINGS.iter().any(|row| has_key(&row)),
                "{name} under {heading:?} has no action: {rest}"
            );
        }
    }
}

/// Compares a generated file with its text. `RUNTAIL_UPDATE_DOCS=1 cargo test --test state documents` writes it.
fn check_generated(path: &str, text: &str) {
    if std::env::var_os("RUNTAIL_UPDATE_DOCS").is_some() {
        std::fs::write(path, text).unwrap();
    }
    assert!(
        std::fs::read_to_string(path).unwrap() == text,
        "{path} is outdated: RUNTAIL_UPDATE_DOCS=1 updates it"
    );
}

/// Returns a row of the page of keys: a row of the table, with that for the opposite direction.
fn keys_row(rows: &[&Binding]) -> String {
    let quoted = |names: Vec<&str>| match names.is_empty() {
        true => "–".to_string(),
        false => {
            let names = names.iter().map(|name| format!("`{name}`"));
            names.collect::<Vec<_>>().join(" · ")
        }
    };
    let shown = |key| if key == "Enter" { "⏎" } else { key };
    let keys = quoted(rows.iter().flat_map(|row| row.keys()).map(shown).collect());
    let ids = quoted(rows.iter().map(|row| row.id).collect());
    let (row, both) = (rows[0], rows.len() > 1);
    let mut does = row.name_in(None, both);
    if !row.help.is_empty() {
        does += &format!(" ({})", row.help);
    }
    for (view, _) in row.in_view {
        let name = row.name_in(Some(view), both);
        let (first, rest) = name.split_at(1);
        does += &format!("; in {view}: {}{rest}", first.to_lowercase());
    }
    if !row.views.is_empty() && row.views.len() < 4 && row.in_view.is_empty() {
        does += &format!(" (in {})", row.place());
    }
    format!(
        "| {} | {ids} | {} |\n",
        keys.replace('|', "\\|"),
        does.replace('|', "\\|")
    )
}

#[test]
fn keys_page_is_made_from_the_table_of_keys() {
    const PATH: &str = "docs/keys.md";
    const MARK: &str = "<!-- Generated from the table of keys. RUNTAIL_UPDATE_DOCS=1 cargo test --test state documents -->\n";
    let head = |title: &str| format!("\n## {title}\n\n| key | action | does |\n|---|---|---|\n");
    let mut page = String::new();
    let mut context = None;
    let mut rows = BINDINGS.iter().peekable();
    while let Some(first) = rows.next() {
        if context.replace(first.context) != Some(first.context) {
            page += &head(&capitalized(first.context.name()));
        }
        let mut shared = vec![first];
        while let Some(row) = rows.next_if(|row| row.is_back) {
            shared.push(row);
        }
        page += &keys_row(&shared);
    }
    page += &head("Text fields");
    for (keys, does) in runtail_tui::widgets::text_input::KEYS {
        let keys: Vec<String> = keys.split("  ").map(|key| format!("`{key}`")).collect();
        page += &format!("| {} | – | {does} |\n", keys.join(" · "));
    }
    let written = std::fs::read_to_string(PATH).unwrap();
    let (intro, _) = written.split_once(MARK).expect("the mark");
    check_generated(PATH, &format!("{intro}{MARK}{page}"));
}

#[test]
fn documented_commands_exist() {
    let dash = runtail_testkit::dash::demo_like((80, 24));
    let screens = dash.screens();
    for (name, document) in documents() {
        for text in code(&document) {
            let Some(command) = text
                .strip_prefix(':')
                .filter(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()))
            else {
                continue;
            };
            let command = command.split(' ').next().unwrap_or_default();
            let is_screen = screens.iter().any(|(screen, _)| *screen == command);
            assert!(
                is_screen || COMMANDS.iter().any(|known| known.name == command),
                "{name} names :{command}"
            );
        }
    }
}

#[test]
fn documented_filters_are_valid() {
    let filters: Vec<&str> = VIEWS
        .lines()
        .filter_map(|line| line.strip_prefix('&'))
        .collect();
    assert!(filters.len() >= 4);
    for line in filters {
        let filter = line.split("   ").next().unwrap_or_default();
        let read = StreamFilter::new(filter);
        assert!(
            !read.is_empty() && read.problems().is_empty(),
            "{filter}: {:?}",
            read.problems()
        );
    }
}

#[test]
fn example_configuration_has_the_default_keys_of_all_actions() {
    let all: String = Config::EXAMPLE
        .lines()
        .map(|line| format!("{}\n", line.trim_start_matches("#: ")))
        .collect();
    let keys = Config::parse(&all, None).unwrap().keys;
    for binding in BINDINGS.iter() {
        assert!(keys.contains_key(binding.id), "{} is missing", binding.id);
    }
    let (changed, problems) = Keymap::new(&keys);
    assert_eq!(problems, Vec::<String>::new());
    for id in keys.keys() {
        assert_eq!(changed.keys_of(id), Keymap::default().keys_of(id), "{id}");
    }
}

#[test]
fn schema_of_the_configuration_has_all_actions() {
    const PATH: &str = "assets/config.schema.json";
    let schema = std::fs::read_to_string(PATH).unwrap();
    let (start, rest) = schema
        .split_once("    \"bindings\": {")
        .expect("the definition of bindings");
    let (head, rest) = rest.split_once("\"properties\": {\n").unwrap();
    let (_, end) = rest.split_once("\n      }").unwrap();
    let actions: Vec<String> = BINDINGS
        .iter()
        .map(|row| {
            let keys: Vec<&str> = row.keys().collect();
            let default = match keys.as_slice() {
                [] => "none".to_string(),
                keys => keys.join(", "),
            };
            let text = format!("{} (default: {default})", row.sentence());
            let text = serde_json::json!({"description": text});
            format!("        \"{}\": {text}", row.id)
        })
        .collect();
    let actions = actions.join(",\n");
    let updated =
        format!("{start}    \"bindings\": {{{head}\"properties\": {{\n{actions}\n      }}{end}");
    check_generated(PATH, &updated);
    // Editors read the schema of the release that wrote the file.
    let line = Config::EXAMPLE.lines().next().unwrap();
    let tag = concat!("/v", env!("CARGO_PKG_VERSION"), "/");
    assert!(
        line.starts_with("#:schema https://") && line.ends_with(&format!("{tag}{PATH}")),
        "{line}"
    );
}

#[test]
fn files_named_in_the_documents_exist() {
    let mut files = vec![PathBuf::from("build.rs")];
    for folder in [
        "src",
        "crates",
        "tests",
        "docs",
        "assets",
        "benches",
        ".ci",
        ".github",
        "packaging",
    ] {
        files.push(PathBuf::from(folder));
        list(Path::new(folder), &mut files);
    }
    let short: Vec<PathBuf> = files
        .iter()
        .map(|file| file.iter().filter(|part| *part != "src").collect())
        .collect();
    files.extend(short);
    for name in code(ARCHITECTURE).into_iter().chain(code(CONTRIBUTING)) {
        let is_path = !name.contains([' ', '*', '(', '='])
            && !name.contains("NAME")
            && (name.ends_with(".rs") || name.contains('/'))
            && !name.starts_with('/');
        let wanted = name.trim_end_matches('/');
        // `stream/log/event_log.rs` is crates/stream/src/log/event_log.rs.
        let exists =
            |file: &PathBuf| file.ends_with(wanted) || file.with_extension("").ends_with(wanted);
        assert!(
            !is_path || files.iter().any(exists),
            "{name} does not exist"
        );
    }
}

/// `cargo package` doesn't notice that a crate embeds a file that it doesn't contain; its first build would.
#[test]
fn published_crates_contain_the_files_they_embed() {
    let mut folders = vec![PathBuf::from("crates")];
    list(Path::new("crates"), &mut folders);
    folders.retain(|folder| folder.join("Cargo.toml").exists());
    folders.push(PathBuf::new());
    assert_eq!(folders.len(), 6);
    for folder in folders {
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let manifest: toml::Table = manifest.parse().unwrap();
        let contained: Vec<&str> = manifest["package"]["include"]
            .as_array()
            .unwrap()
            .iter()
            .map(|path| path.as_str().unwrap().trim_start_matches('/'))
            .collect();
        let mut files = Vec::new();
        list(&folder.join("src"), &mut files);
        files.retain(|file| {
            let name = file.to_string_lossy();
            name.ends_with(".rs") && !name.ends_with("tests.rs")
        });
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            let product = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            for path in product.split("include_str!(").skip(1) {
                let path = path.split('"').nth(1).unwrap();
                let mut place = file.parent().unwrap().to_path_buf();
                for part in Path::new(path) {
                    if part != ".." {
                        place.push(part);
                    } else if !place.pop() {
                        place.push("above the checkout");
                    }
                }
                assert!(
                    place
                        .strip_prefix(&folder)
                        .is_ok_and(|place| contained.iter().any(|part| place.starts_with(part))),
                    "{} embeds {path}",
                    file.display()
                );
            }
        }
    }
}

fn documents() -> Vec<(String, String)> {
    let mut files = vec![PathBuf::from("README.md")];
    list(Path::new("docs"), &mut files);
    files.retain(|file| file.extension().is_some_and(|ending| ending == "md"));
    files
        .iter()
        .map(|file| {
            (
                file.display().to_string(),
                std::fs::read_to_string(file).unwrap(),
            )
        })
        .collect()
}

/// Lists all files and folders below a folder.
fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            list(&path, files);
        }
        files.push(path);
    }
}
