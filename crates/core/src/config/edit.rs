//! Edits one profile as text and merges it into the file; the rest of the file is unchanged.

use super::{Config, ConfigError, Profile, base, sections};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use toml_edit::{DocumentMut, Item, RawString, Table, TableLike};

/// Reads the text of exactly one profile, `[profiles.NAME]` and its keys, in the grammar of the file. `file` is where it is
/// going to be: relative key files are looked for beside it.
///
/// # Errors
/// The error, with the line in this text. Unlike in a file, an unknown key is an error, because it was just typed.
pub fn profile_of(text: &str, file: Option<&Path>) -> Result<Profile, ConfigError> {
    edited_profile(text, "", file)
}

/// Reads the text of a profile like [`profile_of`]. `before` is its text before it was edited: unknown keys that it has are kept.
///
/// # Errors
/// The error, with the line in this text.
pub fn edited_profile(
    text: &str,
    before: &str,
    file: Option<&Path>,
) -> Result<Profile, ConfigError> {
    let (config, unknown) = sections::config(text, None)?;
    let (_, kept) = sections::config(before, None).unwrap_or_default();
    // The name of the profile, which the message has too, may be new.
    let key = |error: &ConfigError| error.message.split('`').nth(1).map(str::to_string);
    let is_kept = |error: &ConfigError| kept.iter().any(|kept| key(kept) == key(error));
    if let Some(error) = unknown.into_iter().find(|error| !is_kept(error)) {
        return Err(error);
    }
    if let Some(foreign) = document(text)?
        .iter()
        .map(|(key, _)| key)
        .find(|key| *key != "profiles")
    {
        let at = text.find(foreign).unwrap_or_default();
        return Err(ConfigError::at(
            None,
            text,
            at..at + foreign.len(),
            "only a profile can be defined here",
        )
        .hint("the other settings are in the file itself"));
    }
    if let [_, second, ..] = config.profiles.as_slice() {
        let at = text.find(second.name.as_str()).unwrap_or_default();
        return Err(ConfigError::at(
            None,
            text,
            at..at + second.name.len(),
            "only one profile can be defined here",
        ));
    }
    let profiles = match file {
        Some(_) => Config::parse(text, file)?.profiles,
        None => config.profiles,
    };
    profiles.into_iter().next().ok_or_else(|| {
        ConfigError::new("this text defines no profile")
            .hint("start with [profiles.NAME], with a name of your choice")
    })
}

/// Returns the text of a profile for one agent server at this address. An address without a scheme is https, or http on this
/// machine.
///
/// # Errors
/// The address is invalid, or is that of a region of LangSmith, which needs a key.
pub fn server_profile(address: &str) -> Result<String, ConfigError> {
    let read = super::env::url_profile(address).map_err(|error| ConfigError {
        message: unnamed(&error.message),
        ..error
    })?;
    let Some((_, url)) = read.agent_servers.first() else {
        return Err(ConfigError::new("there is no address"));
    };
    if let Some(region) = base::region_of(&base::control_plane(url)) {
        let why = format!("this is the LangSmith region {region}, not an agent server");
        return Err(ConfigError::new(why).hint("choose \"Connect to LangSmith\""));
    }
    let host = url.host_str().unwrap_or_default();
    let first = host.split('.').next().unwrap_or_default();
    let is_name = !first.is_empty() && !first.bytes().all(|b| b.is_ascii_digit());
    let is_bare = first
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let name = match (base::is_loopback(url), is_name && is_bare) {
        (true, _) => "local",
        (false, true) => first,
        (false, false) => "server",
    };
    let mut text = format!(
        "[profiles.{name}]\nagent_server = {}\n",
        toml_edit::Value::from(url.as_str())
    );
    if url.scheme() == "http" && !base::is_loopback(url) {
        text.push_str("allow_http = true\n");
    }
    Ok(text)
}

/// Removes the option of the command line from a message about its address.
fn unnamed(message: &str) -> String {
    message
        .strip_prefix("--url: ")
        .unwrap_or(message)
        .to_string()
}

/// Returns the text of each profile in a file. A profile with a pasted key is skipped, because it would be shown in the editor.
pub fn tables(text: &str) -> BTreeMap<String, Arc<str>> {
    let Ok(mut document) = text.parse::<DocumentMut>() else {
        return BTreeMap::new();
    };
    let Some(profiles) = document
        .get_mut("profiles")
        .and_then(Item::as_table_like_mut)
    else {
        return BTreeMap::new();
    };
    let mut tables = BTreeMap::new();
    for (name, item) in profiles.iter() {
        let pasted = |table: &dyn TableLike| {
            ["api_key", "key", "bearer", "token"]
                .iter()
                .any(|k| table.contains_key(k))
        };
        let mut alone = DocumentMut::new();
        let mut all = Table::new();
        all.set_implicit(true);
        all.insert(name, item.clone());
        alone.insert("profiles", Item::Table(all));
        let written = format!("{}\n", alone.to_string().trim());
        if !item.as_table_like().is_some_and(pasted) && super::error::mask(&written) == written {
            tables.insert(name.to_string(), written.into());
        }
    }
    tables
}

/// Returns the text of the file with the profile from `typed`, replaced or appended. Nothing else changes.
///
/// # Errors
/// One of the texts is invalid.
pub fn with_profile(file: &str, typed: &str) -> Result<String, ConfigError> {
    let (known, name) = (tables(file), name_of(typed));
    let earlier = name
        .and_then(|name| known.get(&name).cloned())
        .unwrap_or_default();
    let name = edited_profile(typed, &earlier, None)?.name;
    let mut typed = document(typed)?;
    let behind = RawString::from(
        typed
            .trailing()
            .as_str()
            .unwrap_or_default()
            .trim_end()
            .to_string(),
    );
    let Some(mut item) = typed
        .get_mut("profiles")
        .and_then(|profiles| profiles.get_mut(&name))
        .map(std::mem::take)
    else {
        return Err(ConfigError::new("this text defines no profile"));
    };
    if let Item::Value(toml_edit::Value::InlineTable(inline)) = item {
        // Written as `profiles.x = {…}`: a table of its own reads better among others.
        item = Item::Table(inline.into_table());
    }
    let mut document = document(file)?;
    let is_empty = document.is_empty();
    let profiles = document.entry("profiles").or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let Some(profiles) = profiles.as_table_like_mut() else {
        return Err(ConfigError::new("`profiles` is no table in the file"));
    };
    if let Item::Table(table) = &mut item {
        let old = profiles.get(&name).and_then(Item::as_table);
        unplace(table);
        if let Some(old) = old {
            table.set_position(old.position());
        }
        let blank = |text: &str| {
            text[..text.len() - text.trim_start_matches(['\n', '\r']).len()].to_string()
        };
        // Keep the text before it; a new profile gets a blank line before it.
        let gap = match old.map(|old| before(first(old))) {
            Some(before) => blank(&before),
            None if is_empty => String::new(),
            None => "\n".to_string(),
        };
        set_gap(table, &gap);
        if !behind.as_str().unwrap_or_default().trim().is_empty() {
            append(table, behind.as_str().unwrap_or_default());
        }
    }
    profiles.insert(&name, item);
    let text = with_line_ends_of(file, &document.to_string());
    // Check that the new text is valid and defines the profile.
    Config::parse(&text, None)?;
    Ok(text)
}

/// Returns the name of the only profile in a text.
pub fn name_of(text: &str) -> Option<String> {
    let document = document(text).ok()?;
    let (name, _) = document.get("profiles")?.as_table_like()?.iter().next()?;
    Some(name.to_string())
}

/// Returns the text of the file with a profile renamed, also in `default_profiles` and in the patterns of rules that name exactly
/// this profile. Nothing else changes.
///
/// # Errors
/// The text is invalid, has no such profile, or has one of the new name.
pub fn with_name(file: &str, old: &str, new: &str) -> Result<String, ConfigError> {
    let mut document = document(file)?;
    let profiles = document
        .get_mut("profiles")
        .and_then(Item::as_table_like_mut);
    let Some(profiles) = profiles.filter(|profiles| profiles.contains_key(old)) else {
        return Err(ConfigError::new(format!(
            "the file has no profile \"{}\"",
            crate::text::clean(old)
        )));
    };
    if profiles.contains_key(new) {
        return Err(ConfigError::new(format!(
            "the file has a profile \"{}\" already",
            crate::text::clean(new)
        )));
    }
    // The entries are written in the order of their positions, which stay; a table without one follows the others.
    let names: Vec<String> = profiles.iter().map(|(name, _)| name.to_string()).collect();
    for name in names {
        let Some((key, item)) = profiles
            .get_key_value(&name)
            .map(|(key, item)| (key.clone(), item.clone()))
        else {
            continue;
        };
        profiles.remove(&name);
        let is_it = name == old;
        let mut kept = if is_it {
            toml_edit::Key::new(new)
        } else {
            key.clone()
        };
        *kept.leaf_decor_mut() = key.leaf_decor().clone();
        *kept.dotted_decor_mut() = key.dotted_decor().clone();
        profiles.entry_format(&kept).or_insert(item);
    }
    if let Some(names) = document
        .get_mut("default_profiles")
        .and_then(Item::as_array_mut)
    {
        names
            .iter_mut()
            .filter(|name| name.as_str() == Some(old))
            .for_each(|name| replace_text(name, new));
    }
    let (from, to) = (format!("profile:{old}"), format!("profile:{new}"));
    for rules in ["notify", "answer"] {
        each_match(document.get_mut(rules), &|value| {
            let Some(text) = value.as_str() else { return };
            if text.split_whitespace().any(|term| term == from) {
                let terms: Vec<&str> = text
                    .split(' ')
                    .map(|term| if term == from { &*to } else { term })
                    .collect();
                let text = terms.join(" ");
                replace_text(value, &text);
            }
        });
    }
    let text = with_line_ends_of(file, &document.to_string());
    Config::parse(&text, None)?;
    Ok(text)
}

/// Returns the text of the file with a profile renamed ([`with_name`]) and replaced by the one from `typed`.
///
/// # Errors
/// One of the texts is invalid, or the profile can't be renamed.
pub fn with_renamed(file: &str, old: &str, typed: &str) -> Result<String, ConfigError> {
    let new = name_of(typed).ok_or_else(|| ConfigError::new("this text defines no profile"))?;
    with_profile(&with_name(file, old, &new)?, typed)
}

/// Calls a function with the pattern of every rule.
fn each_match(rules: Option<&mut Item>, change: &dyn Fn(&mut toml_edit::Value)) {
    match rules {
        Some(Item::ArrayOfTables(tables)) => {
            tables
                .iter_mut()
                .filter_map(|table| table.get_mut("match")?.as_value_mut())
                .for_each(change);
        }
        Some(Item::Value(toml_edit::Value::Array(rules))) => {
            rules
                .iter_mut()
                .filter_map(|rule| rule.as_inline_table_mut()?.get_mut("match"))
                .for_each(change);
        }
        _ => {}
    }
}

/// Replaces a text and keeps the blanks and the comment around it.
fn replace_text(value: &mut toml_edit::Value, text: &str) {
    let decor = value.decor().clone();
    *value = text.into();
    *value.decor_mut() = decor;
}

/// Writes the lines with the line ends that they have in the file, because [`toml_edit`] writes all of them alike. New lines get
/// those of most lines.
fn with_line_ends_of(file: &str, text: &str) -> String {
    let lines = |text: &str| text.matches('\n').count();
    let crlf = file.matches("\r\n").count();
    let mark = if file.starts_with('\u{feff}') && !text.starts_with('\u{feff}') {
        "\u{feff}"
    } else {
        ""
    };
    if crlf == 0 {
        return format!("{mark}{text}");
    }
    let usual = if 2 * crlf >= lines(file) {
        "\r\n"
    } else {
        "\n"
    };
    let bare = |line: &str| {
        line.trim_start_matches('\u{feff}')
            .trim_end_matches(['\r', '\n'])
            .to_string()
    };
    let (old, new): (Vec<&str>, Vec<&str>) = (
        file.split_inclusive('\n').collect(),
        text.split_inclusive('\n').collect(),
    );
    let head = old
        .iter()
        .zip(&new)
        .take_while(|(a, b)| bare(a) == bare(b))
        .count();
    let rest = old.len().min(new.len()) - head;
    let tail = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take(rest)
        .take_while(|(a, b)| bare(a) == bare(b))
        .count();
    let mut out = String::from(mark);
    for (n, line) in new.iter().enumerate() {
        let same = if n < head {
            old.get(n)
        } else if n >= new.len() - tail {
            old.get(n + old.len() - new.len())
        } else {
            None
        };
        let end = match same {
            _ if !line.ends_with('\n') => "",
            Some(old) if old.ends_with("\r\n") => "\r\n",
            Some(_) => "\n",
            None => usual,
        };
        out.push_str(line.trim_end_matches(['\r', '\n']));
        out.push_str(end);
    }
    out
}

/// Returns the text of the file with `[ui] restore` set. Nothing else changes.
///
/// # Errors
/// The text is invalid.
pub fn with_restore(file: &str, is_on: bool) -> Result<String, ConfigError> {
    let mut document = document(file)?;
    let is_empty = document.is_empty();
    let ui = document.entry("ui").or_insert_with(|| {
        let mut table = Table::new();
        if !is_empty {
            table.decor_mut().set_prefix("\n");
        }
        Item::Table(table)
    });
    let Some(ui) = ui.as_table_like_mut() else {
        return Err(ConfigError::new("`ui` is no table in the file"));
    };
    match ui.get_mut("restore").and_then(Item::as_value_mut) {
        Some(value) => {
            // A comment after it stays.
            let decor = value.decor().clone();
            *value = is_on.into();
            *value.decor_mut() = decor;
        }
        None => drop(ui.insert("restore", toml_edit::value(is_on))),
    }
    let text = with_line_ends_of(file, &document.to_string());
    Config::parse(&text, None)?;
    Ok(text)
}

fn document(text: &str) -> Result<DocumentMut, ConfigError> {
    text.parse::<DocumentMut>().map_err(|e| {
        ConfigError::at(
            None,
            text,
            e.span().unwrap_or(0..0),
            crate::text::clean(e.message()).into_owned(),
        )
    })
}

/// Resets the position of tables, so that they follow the tables before them.
fn unplace(table: &mut Table) {
    table.set_position(None);
    for (_, item) in table.iter_mut() {
        if let Item::Table(inner) = item {
            unplace(inner);
        }
    }
}

/// The table whose head is written first: that of a part, where it has no head of its own.
fn first(table: &Table) -> &Table {
    match table.iter().next() {
        Some((_, Item::Table(part))) if table.is_implicit() => first(part),
        _ => table,
    }
}

/// Sets the blank lines before that head; comments stay.
fn set_gap(table: &mut Table, gap: &str) {
    if table.is_implicit()
        && let Some((_, Item::Table(part))) = table.iter_mut().next()
    {
        return set_gap(part, gap);
    }
    let head = before(table);
    table
        .decor_mut()
        .set_prefix(format!("{gap}{}", head.trim_start()));
}

/// What is written before the head of a table.
fn before(table: &Table) -> String {
    table
        .decor()
        .prefix()
        .and_then(RawString::as_str)
        .unwrap_or_default()
        .to_string()
}

/// Keeps a comment after the last key.
fn append(table: &mut Table, comment: &str) {
    let last = table.iter_mut().last().map(|(_, item)| item);
    match last {
        Some(Item::Table(inner)) => append(inner, comment),
        Some(Item::Value(value)) => {
            let before = value
                .decor()
                .suffix()
                .and_then(RawString::as_str)
                .unwrap_or_default()
                .trim_end()
                .to_string();
            value
                .decor_mut()
                .set_suffix(format!("{before}\n{}", comment.trim_matches('\n')));
        }
        _ => {}
    }
}

/// Returns the initial text of a new profile, or of one that is not in the file.
pub fn profile_template(profile: Option<&Profile>) -> String {
    profile.map_or_else(|| TEMPLATE.to_string(), sections::profile_text)
}

/// Returns a template with the usual settings.
const TEMPLATE: &str = r#"[profiles.new]
# A LangSmith region ("us", "eu", "apac", "aws"), or the URL of a self-hosted instance:
# url = "https://langsmith.example.com"
region = "us"
# Where to read the API key from, never the key itself. Alternatives: api_key_file = "FILE" (chmod 600),
# api_key_keyring = "SERVICE" (the keychain), or api_key_command = ["pass", "show", "langsmith"].
api_key_env = "LANGSMITH_API_KEY"
# Only for organization-scoped API keys:
# workspace = "00000000-0000-4000-8000-000000000000"
# Shown in the header. A label containing PROD makes the profile read-only unless --write is given.
# label = "PROD"
"#;
