//! From the text of a configuration file to a [`Config`].

use super::base::{self, REGIONS};
use super::env::web_address;
use super::node::{self, Content, Node};
use super::secret::{file_and_entry, has_langsmith_key, looks_like_key};
use super::table::{At, Source, Table, mismatch, strings_of, table_of, text_of};
use super::theme::Themes;
use super::units::{self, DURATION_FORM, SIZE_FORM};
use super::{
    Config, ConfigError, EventLogLimits, Keyring, Mouse, Notify, Poll, Profile, SecretSource,
    Timestamps, Ui, nearest,
};
use crate::model::ThreadSearch;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;
use url::Url;

/// The settings that say where the API key and the bearer token are: a variable, a file, a command or the keychain.
pub const KEY_SETTINGS: [[&str; 4]; 2] = [
    [
        "api_key_env",
        "api_key_file",
        "api_key_command",
        "api_key_keyring",
    ],
    [
        "bearer_env",
        "bearer_file",
        "bearer_command",
        "bearer_keyring",
    ],
];

pub(super) fn config(text: &str, path: Option<&Path>) -> Result<Config, ConfigError> {
    let source = Source::new(text, path);
    let document = node::of_toml(&source)?;
    let mut config = read(&source, &document)?;
    config.path = path.map(Path::to_path_buf);
    config.warnings = source.into_warnings();
    config.tables = super::edit::tables(text);
    Ok(config)
}

fn read<'s>(source: &'s Source<'s>, document: &Node) -> Result<Config, ConfigError> {
    let mut root = table_of(source, String::new(), document)?;
    let mut config = Config::default();
    let defaults = root.strings("default_profiles")?.unwrap_or_default();
    if let Some(profiles) = root.table("profiles")? {
        for (name, value) in profiles.in_order() {
            config.profiles.push(profile(source, name, value)?);
        }
    }
    for At { value, span } in defaults {
        if !config.profiles.iter().any(|p| p.name == value) {
            let known: Vec<&str> = config.profiles.iter().map(|p| p.name.as_str()).collect();
            let near = nearest(&value, known.iter().copied());
            let error = source.error(
                span,
                format!("there is no profile \"{}\"", crate::text::clean(&value)),
            );
            return Err(match (near, known.is_empty()) {
                (Some(near), _) => error.hint(format!("did you mean \"{near}\"?")),
                (None, true) => error.hint("this file has no [profiles.NAME] table"),
                (None, false) => error.hint(format!("there are: {}", known.join(", "))),
            });
        }
        config.default_profiles.push(value);
    }
    if let Some(table) = root.table("poll")? {
        config.poll = poll(source, table)?;
    }
    if let Some(table) = root.table("limits")? {
        limits(source, table, &mut config)?;
    }
    config.themes = Themes::read(source, root.raw("themes"))?;
    if let Some(table) = root.table("ui")? {
        config.ui = ui(source, table, &config.themes)?;
    }
    if let Some(rules) = root.raw("answer") {
        config.answer_rules = super::answer::rules(source, rules)?;
    }
    if let Some(rules) = root.raw("notify") {
        config.notify = super::notify::rules(source, rules)?;
    }
    if let Some(table) = root.table("stuck")? {
        config.stuck = super::notify::stuck(source, table)?;
    }
    if let Some(table) = root.table("prices")? {
        config.prices = super::prices::prices(source, &table)?;
    }
    if let Some(table) = root.table("searches")? {
        config.searches = searches(source, &table)?;
    }
    if let Some(table) = root.table("keys")? {
        keys(source, "", &table, &mut config.keys)?;
    }
    root.finish();
    Ok(config)
}

fn profile<'s>(
    source: &'s Source<'s>,
    name: At<&str>,
    value: &Node,
) -> Result<Profile, ConfigError> {
    if name.value.is_empty()
        || name
            .value
            .chars()
            .any(|c| c == '/' || c.is_whitespace() || c.is_control())
    {
        return Err(source
            .error(
                name.span,
                "a profile's name must not be empty or contain spaces or slashes",
            )
            .hint("names are used as PROFILE/NAME on the command line"));
    }
    let mut table = table_of(source, format!("profiles.{}", name.value), value)?;
    let allow_http = table.bool("allow_http")?.unwrap_or(false);
    let control_plane = control_plane(source, &mut table, allow_http)?;
    let agent_servers = match table.raw("agent_server") {
        None => Vec::new(),
        Some(value) => agent_servers(source, name.value, value, allow_http)?,
    };
    if control_plane.is_none() && agent_servers.is_empty() {
        return Err(source
            .error(
                name.span,
                format!("the profile \"{}\" has no server", name.value),
            )
            .hint("add a `region`, a `url` or an `agent_server`"));
    }
    for setting in ["workspace", "label"] {
        if let Some(At { span, .. }) = table
            .string(setting)?
            .filter(|at| has_langsmith_key(&at.value))
        {
            return Err(pasted_key(source, span));
        }
    }
    let workspace = match table.string("workspace")? {
        Some(At { value, span }) if !value.bytes().all(|b| b.is_ascii_graphic()) => {
            return Err(source.error(
                span,
                format!("expected a workspace id (a UUID), found {value:?}"),
            ));
        }
        other => other.map(|at| at.value),
    };
    let [of_key, of_bearer] = KEY_SETTINGS;
    let key = secret(source, &mut table, name.value, of_key)?;
    let bearer = secret(source, &mut table, name.value, of_bearer)?;
    let tag = control_plane
        .as_ref()
        .or(agent_servers.first().map(|(_, url)| url))
        .map(base::tag);
    let (is_unpolled, unpolled) = polling(source, name.value, table.raw("poll"))?;
    let profile = Profile {
        name: name.value.to_string(),
        region: tag,
        control_plane,
        workspace,
        key,
        bearer,
        label: table.string("label")?.map(|at| at.value),
        read_only: table.bool("read_only")?.unwrap_or(false),
        is_unpolled,
        unpolled,
        sealed: None,
        deployments: table
            .strings("deployments")?
            .unwrap_or_default()
            .into_iter()
            .map(|at| at.value)
            .collect(),
        agent_servers,
        allow_http,
        only_local: false,
        max_answer: None,
    };
    table.finish();
    Ok(profile)
}

/// Parses `poll`, which is for all servers, or a table `{name = false}`. Returns whether none is polled, and which are not.
fn polling<'s>(
    source: &'s Source<'s>,
    profile: &str,
    poll: Option<&Node>,
) -> Result<(bool, Vec<String>), ConfigError> {
    let read = |value: &Node| match value.value {
        Content::Bool(polls) => Ok(polls),
        _ => Err(mismatch(source, value, "true or false")),
    };
    match poll {
        None => Ok((false, Vec::new())),
        Some(value) if matches!(value.value, Content::Table(_)) => {
            let table = table_of(source, format!("profiles.{profile}.poll"), value)?;
            let mut names = Vec::new();
            for (name, value) in table.in_order() {
                if !read(value)? {
                    names.push(name.value.to_string());
                }
            }
            Ok((false, names))
        }
        Some(value) => Ok((!read(value)?, Vec::new())),
    }
}

/// Parses `region`, `url` or `control_plane`, at most one of them.
fn control_plane(
    source: &Source<'_>,
    table: &mut Table<'_, '_>,
    allow_http: bool,
) -> Result<Option<Url>, ConfigError> {
    let region = table.string("region")?;
    let url = table.string("url")?;
    let exact = table.string("control_plane")?;
    let mut given: Vec<Range<usize>> = [&region, &url, &exact]
        .into_iter()
        .flatten()
        .map(|at| at.span.clone())
        .collect();
    given.sort_by_key(|span| span.start);
    if let Some(second) = given.get(1) {
        return Err(source
            .error(second.clone(), "the control plane is given twice")
            .hint("`region`, `url` and `control_plane` exclude each other: keep one"));
    }
    if let Some(At { value, span }) = region {
        let known = REGIONS.map(|(tag, _)| tag);
        return base::of_region(&value).map(Some).ok_or_else(|| {
            let near = nearest(&value, known)
                .map(|n| format!("did you mean \"{n}\"? "))
                .unwrap_or_default();
            source
                .error(
                    span,
                    format!("unknown region \"{}\"", crate::text::clean(&value)),
                )
                .hint(format!(
                    "{near}expected one of {}; for another installation use `url`",
                    known.join(", ")
                ))
        });
    }
    let derived =
        url.map(|at| address(source, &at, allow_http).map(|url| base::control_plane(&url)));
    let exact =
        exact.map(|at| address(source, &at, allow_http).map(|url| base::as_it_stands(&url)));
    derived.or(exact).transpose()
}

/// Parses one address, which gets the profile's name, or a table `{name = address}`.
fn agent_servers<'s>(
    source: &'s Source<'s>,
    profile: &str,
    value: &Node,
    allow_http: bool,
) -> Result<Vec<(String, Url)>, ConfigError> {
    let read = |value: &Node| -> Result<Url, ConfigError> {
        Ok(base::as_it_stands(&address(
            source,
            &text_of(source, value)?,
            allow_http,
        )?))
    };
    match &value.value {
        Content::Text(_) => Ok(vec![(profile.to_string(), read(value)?)]),
        Content::Table(_) => {
            let table = table_of(source, format!("profiles.{profile}.agent_server"), value)?;
            table
                .in_order()
                .map(|(name, value)| Ok((name.value.to_string(), read(value)?)))
                .collect()
        }
        _ => Err(mismatch(
            source,
            value,
            "an address in quotes, or a table {name = \"address\"}",
        )),
    }
}

fn address(source: &Source<'_>, at: &At<String>, allow_http: bool) -> Result<Url, ConfigError> {
    let url = web_address(&at.value).map_err(|why| {
        source
            .error(at.span.clone(), why)
            .hint("expected an address such as \"https://langsmith.example.com\"")
    })?;
    if url.scheme() == "http" && !allow_http && !base::is_loopback(&url) {
        return Err(source
            .error(
                at.span.clone(),
                "plain http to another machine exposes keys and data on the network",
            )
            .hint("use https, or set `allow_http = true` in this profile"));
    }
    Ok(url)
}

/// Parses one of the sources of a key: `…_env`, `…_file`, `…_command`, `…_keyring`.
fn secret(
    source: &Source<'_>,
    table: &mut Table<'_, '_>,
    profile: &str,
    [env, file, command, keyring]: [&'static str; 4],
) -> Result<Option<SecretSource>, ConfigError> {
    let variable = table.string(env)?;
    let path = table.string(file)?;
    let words = table.raw(command);
    let entry = table.string(keyring)?;
    let texts = [variable.as_ref(), path.as_ref(), entry.as_ref()];
    let mut spans: Vec<Range<usize>> = texts
        .into_iter()
        .flatten()
        .map(|at| at.span.clone())
        .collect();
    spans.extend(words.map(|words| words.span.clone()));
    spans.sort_by_key(|span| span.start);
    if let Some(second) = spans.get(1) {
        return Err(source
            .error(second.clone(), "the key is given twice")
            .hint(format!(
                "`{env}`, `{file}`, `{command}` and `{keyring}` exclude each other: keep one"
            )));
    }
    if let Some(At { value, span }) = variable {
        // A pasted key must not be repeated in messages.
        let is_name = !value.is_empty()
            && !value.contains(|c: char| "=:".contains(c) || c.is_whitespace() || c.is_control());
        if !is_name || value.starts_with("lsv2_") || looks_like_key(&value) {
            source.hide(span.clone());
            return Err(source
                .error(span, "this is not the name of an environment variable")
                .hint(format!(
                    "`{env} = \"LANGSMITH_API_KEY\"` names the variable that holds the key"
                )));
        }
        return Ok(Some(SecretSource::Env(value)));
    }
    if let Some(At { value, span }) = path {
        if has_langsmith_key(&value) {
            return Err(pasted_key(source, span));
        }
        return Ok(Some(
            match file_and_entry(&value, source.path.and_then(Path::parent)) {
                (path, Some(entry)) => SecretSource::Entry(path, entry),
                (path, None) => SecretSource::File(path),
            },
        ));
    }
    if let Some(At { value, span }) = entry {
        let entry = Keyring::parse(&value, profile).map_err(|why| {
            source
                .error(span, why)
                .hint(format!("`{keyring}` is {}", Keyring::FORM))
        })?;
        return Ok(Some(SecretSource::Keyring(entry)));
    }
    let Some(value) = words else { return Ok(None) };
    let words = strings_of(source, value).map_err(|e| {
        e.hint(
            "a list of the program and its arguments, such as [\"pass\", \"show\", \"langsmith\"]",
        )
    })?;
    if words.is_empty() {
        return Err(source.error(value.span.clone(), "this command has no program"));
    }
    Ok(Some(SecretSource::Command(
        words.into_iter().map(|at| at.value).collect(),
    )))
}

/// The error for a key where a name or a place is expected. It doesn't repeat the key.
fn pasted_key(source: &Source<'_>, span: Range<usize>) -> ConfigError {
    source.hide(span.clone());
    source
        .error(
            span,
            "this looks like a key, and keys don't belong in this file",
        )
        .hint("say where the key is: api_key_env, api_key_file, api_key_command or api_key_keyring")
}

fn poll<'s>(source: &'s Source<'s>, mut table: Table<'s, '_>) -> Result<Poll, ConfigError> {
    let mut poll = Poll::default();
    if let Some(at) = table.measure("interval", DURATION_FORM, units::duration, |_| None)? {
        if at.value < Duration::from_secs(1) {
            return Err(source
                .error(
                    at.span,
                    "the control plane must not be polled more than once a second",
                )
                .hint("the service recommends 60s"));
        }
        poll.interval = at.value;
    }
    if let Some(at) = table.measure("timeout", DURATION_FORM, units::duration, |_| None)? {
        poll.timeout = at.value;
    }
    table.finish();
    Ok(poll)
}

fn limits<'s>(
    source: &'s Source<'s>,
    mut table: Table<'s, '_>,
    config: &mut Config,
) -> Result<(), ConfigError> {
    if let Some(rows) = table.count("max_rows")? {
        config.event_log.max_rows = rows;
    }
    let EventLogLimits {
        max_bytes,
        max_event,
        total,
        ..
    } = &mut config.event_log;
    let mut max_answer = None;
    for key in ["max_bytes", "max_event", "total", "max_answer"] {
        let Some(at) = table.measure(key, SIZE_FORM, units::size, Some)? else {
            continue;
        };
        if at.value < 1024 {
            return Err(source.error(
                at.span,
                "too small for an event or a response: at least 1KiB",
            ));
        }
        match key {
            "max_bytes" => *max_bytes = at.value,
            "max_event" => *max_event = at.value,
            "total" => *total = at.value,
            _ => max_answer = Some(at.value).filter(|size| *size != super::MAX_ANSWER),
        }
    }
    if max_answer.is_some() {
        config.max_answer = max_answer;
        config
            .profiles
            .iter_mut()
            .for_each(|profile| profile.max_answer = max_answer);
    }
    table.finish();
    Ok(())
}

fn ui<'s>(
    source: &'s Source<'s>,
    mut table: Table<'s, '_>,
    themes: &Themes,
) -> Result<Ui, ConfigError> {
    let mut ui = Ui::default();
    if let Some(At { value, span }) = table.string("theme")? {
        if themes.get(&value).is_none() {
            let (message, hint) = themes.unknown(&value);
            return Err(source.error(span, message).hint(hint));
        }
        ui.theme = value;
    }
    ui.mouse = choice(source, table.string("mouse")?, &Mouse::WORDS)?;
    ui.notify = choice(source, table.string("notify")?, &Notify::WORDS)?;
    ui.timestamps = choice(source, table.string("timestamps")?, &Timestamps::WORDS)?;
    ui.ascii = table.bool("ascii")?.unwrap_or(ui.ascii);
    ui.wrap = table.bool("wrap")?.unwrap_or(ui.wrap);
    ui.restore = table.bool("restore")?.unwrap_or(ui.restore);
    table.finish();
    Ok(ui)
}

/// Parses one of several words, with a default.
fn choice<T: Copy + Default>(
    source: &Source<'_>,
    given: Option<At<String>>,
    words: &[(&str, T)],
) -> Result<T, ConfigError> {
    let Some(At { value, span }) = given else {
        return Ok(T::default());
    };
    let found = words
        .iter()
        .find(|(word, _)| *word == value)
        .map(|(_, choice)| *choice);
    found.ok_or_else(|| {
        let words: Vec<String> = words
            .iter()
            .map(|(word, _)| format!("\"{word}\""))
            .collect();
        source.error(
            span,
            format!("expected one of {}, found {value:?}", words.join(", ")),
        )
    })
}

/// Parses the saved searches: each is a text in the search language.
fn searches<'s>(
    source: &'s Source<'s>,
    table: &Table<'s, '_>,
) -> Result<Vec<(String, String)>, ConfigError> {
    let mut all = Vec::new();
    for (name, value) in table.in_order() {
        let At { value: text, span } = text_of(source, value)?;
        if name.value.is_empty()
            || name
                .value
                .chars()
                .any(|c| c.is_whitespace() || c.is_control())
        {
            return Err(source.error(
                name.span,
                "a saved search's name must not be empty or contain spaces",
            ));
        }
        if let Err(error) = ThreadSearch::parse(&text) {
            return Err(source.error(span, format!("not a valid search: {error}")));
        }
        all.push((name.value.to_string(), text));
    }
    Ok(all)
}

/// Parses keys by action: a text or a list. `stream.follow = …` without quotes is a table in TOML and means the same.
fn keys<'s>(
    source: &'s Source<'s>,
    prefix: &str,
    table: &Table<'s, '_>,
    all: &mut BTreeMap<String, Vec<String>>,
) -> Result<(), ConfigError> {
    for (key, value) in table.in_order() {
        let name = format!("{prefix}{}", key.value);
        let list = match &value.value {
            Content::Text(_) => vec![text_of(source, value)?.value],
            Content::List(_) => strings_of(source, value)?
                .into_iter()
                .map(|at| at.value)
                .collect(),
            Content::Table(_) => {
                let inner = table_of(source, format!("keys.{name}"), value)?;
                keys(source, &format!("{name}."), &inner, all)?;
                continue;
            }
            _ => {
                return Err(mismatch(
                    source,
                    value,
                    "a key such as \"G\", or a list of keys",
                ));
            }
        };
        all.insert(name, list);
    }
    Ok(())
}
