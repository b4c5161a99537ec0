//! The details of the selected profile, below the list of profiles.

use crate::session::Cx;
use crate::session::catalog::ProfileEntry;
use crate::session::check_lines::check_lines;
use crate::widgets::form_lines::indented;
use crate::widgets::line::{Line, Tone, named};
use runtail_api::doctor::State;
use runtail_core::config::{KEY_SETTINGS, Poll, SecretSource};
use runtail_core::text;
use std::time::Duration;

/// Columns of the names of the details.
const NAMES: usize = 12;
/// Columns of the name of a check.
const CHECKS: usize = 14;
/// Maximum number of changed keys that are named.
const MAX_KEYS: usize = 8;

/// Returns the problem of the file, and the details of a profile.
pub(super) fn details(known: Option<&ProfileEntry>, cx: &Cx<'_>, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Some(problem) = &cx.session.catalog.problem {
        lines.push(Line::bad("✗ ").with_plain("The current file isn't used:"));
        lines.extend(indented(Tone::Plain, 2, &problem.to_string(), width));
        lines.push(Line::new());
    }
    let Some(known) = known else { return lines };
    let checks = checks(known, cx, width);
    let mut fields = definition(known, cx);
    fields.extend(state(known, cx));
    // A check that failed says it line by line.
    let is_listed = known.checks.iter().any(|check| check.fault().is_some());
    fields.retain(|(name, _)| *name != "checked" || !is_listed);
    lines.extend(field_lines(&fields, width));
    lines.extend(checks);
    lines.push(Line::new());
    lines.extend(field_lines(&settings_of(cx), width));
    lines
}

fn field_lines(fields: &[(&str, String)], width: usize) -> Vec<Line> {
    let line = |(name, value): &(&str, String)| named(name, NAMES, (Tone::Plain, value), width);
    fields.iter().flat_map(line).collect()
}

/// Returns where the profile is defined, its servers, and its keys.
fn definition(known: &ProfileEntry, cx: &Cx<'_>) -> Vec<(&'static str, String)> {
    let profile = &known.profile;
    let mut fields = Vec::new();
    if let Some(url) = &profile.control_plane {
        fields.push(("deployments", url.to_string()));
    }
    for (name, url) in &profile.agent_servers {
        fields.push(("server", format!("{url}  ({name})")));
    }
    let has_key = profile.key.is_some() || profile.bearer.is_some();
    let no_workspace = if has_key { "from the key" } else { "none" };
    fields.push((
        "workspace",
        profile
            .workspace
            .clone()
            .unwrap_or_else(|| no_workspace.into()),
    ));
    for (name, source, settings) in [
        ("key", &profile.key, KEY_SETTINGS[0]),
        ("bearer", &profile.bearer, KEY_SETTINGS[1]),
    ] {
        if let Some(source) = source {
            // Without a definition in a file, the key comes from no setting.
            let is_set = known.filed.is_some() || known.typed.is_some();
            let setting = if is_set {
                setting(source, settings)
            } else {
                String::new()
            };
            fields.push((name, format!("{source}{setting}")));
        }
    }
    let used = cx.session.catalog.used(&profile.name);
    fields.push(match &used.unwrap_or(profile).sealed {
        Some(why) => ("writing", format!("no: {why}")),
        None => ("writing", "allowed".into()),
    });
    if !profile.deployments.is_empty() {
        fields.push((
            "pinned",
            format!("{} deployments", profile.deployments.len()),
        ));
    }
    if profile.allow_http {
        fields.push(("plain http", "allowed (allow_http)".into()));
    }
    fields
}

/// Names the setting that a key comes from.
fn setting(source: &SecretSource, [env, file, command, keyring]: [&str; 4]) -> String {
    let setting = match source {
        SecretSource::Env(_) => env,
        SecretSource::File(_) | SecretSource::Entry(..) => file,
        SecretSource::Command(_) => command,
        SecretSource::Keyring(_) => keyring,
        SecretSource::Given(_) => return String::new(),
    };
    format!("  ({setting})")
}

/// Returns where the profile comes from, whether it is in use, and what is wrong with it.
fn state(known: &ProfileEntry, cx: &Cx<'_>) -> Vec<(&'static str, String)> {
    let catalog = &cx.session.catalog;
    let profile = &known.profile;
    let used = catalog.used(&profile.name);
    let mut fields = Vec::new();
    fields.push((
        "defined",
        match (&known.typed, &known.filed, &catalog.origin.file) {
            (Some(_), ..) => "for this session".into(),
            (None, Some(_), Some(file)) => format!("in {}", file.display()),
            (None, Some(_), None) => "in the file".into(),
            (None, None, _) if cx.session.settings.demo => "by the demo".into(),
            (None, None, _) if profile.name == "env" => "by environment".into(),
            (None, None, _) => "on the command line".into(),
        },
    ));
    let use_key = cx.session.key("profiles.use");
    fields.push((
        "in use",
        match (used.is_some(), catalog.chosen.contains(&profile.name)) {
            (true, true) => "from the start".into(),
            (true, false) => "this session".into(),
            (false, _) => format!("no; {use_key} uses it too"),
        },
    ));
    let polled = || {
        cx.session
            .profile(&profile.name)
            .filter(|_| used.is_some())
            .and_then(|state| state.error.as_ref())
    };
    let tested = known
        .last_test
        .as_ref()
        .and_then(|(_, result)| result.as_ref().err());
    if let Some(error) = tested.or_else(polled) {
        if let Some(cure) =
            crate::session::cure::cure(profile, error, Some(&cx.session.key("profiles.test")))
        {
            fields.push(("to do", text::capitalized(&cure)));
        }
        fields.push(("checked", error.story()));
    } else if catalog.is_pending(known) && known.running_test.is_none() {
        fields.push((
            "checked",
            "not used yet; the previous definition applies".into(),
        ));
    }
    fields
}

/// Returns the checks of the last test, a line each, with what to do about a problem.
fn checks(known: &ProfileEntry, cx: &Cx<'_>, width: usize) -> Vec<Line> {
    let ascii = cx.session.settings.ascii;
    let mut lines = Vec::new();
    if let Some(at) = known.tested_at.filter(|_| !known.checks.is_empty()) {
        let age = Duration::try_from(cx.session.now - at).unwrap_or_default();
        let line = Line::dim(&format!("{:<NAMES$}", "checks"));
        lines.push(line.with_dim(&format!("{} ago", text::age(age))));
    }
    let room = width.saturating_sub(NAMES);
    for check in &known.checks {
        let server = check.server.as_ref().map(|server| format!("{server}: "));
        let found = format!("{}{}", server.unwrap_or_default(), check.found);
        let mut of_check = check_lines(check, &found, CHECKS, room, ascii);
        let todo = check.todo.iter().filter(|_| check.state != State::Good);
        of_check.extend(todo.flat_map(|todo| indented(Tone::Dim, CHECKS, todo, room)));
        for line in of_check {
            let head = if lines.is_empty() { "checks" } else { "" };
            let mut headed = Line::dim(&format!("{head:<NAMES$}"));
            headed.left.extend(line.left);
            lines.push(headed);
        }
    }
    lines
}

/// Returns the settings of the file that apply to every profile: `[poll]`, `[limits]`, `[notify]` and `[keys]`.
fn settings_of(cx: &Cx<'_>) -> Vec<(&'static str, String)> {
    let session = cx.session;
    let Poll { interval, timeout } = session.catalog.poll;
    let limits = &session.settings.event_log;
    let mut fields = vec![
        (
            "[poll]",
            format!(
                "every {}; in progress more often, up to {}",
                text::exact_duration(interval),
                text::exact_duration(timeout)
            ),
        ),
        (
            "[limits]",
            format!(
                "{} a stream, {} in all",
                text::bytes(limits.max_bytes),
                text::bytes(limits.total)
            ),
        ),
    ];
    let rules = session.prefs.notify.len();
    fields.push((
        "[[notify]]",
        match rules {
            0 => "usual events".into(),
            _ => text::counted(rules, "rule"),
        },
    ));
    let keys = &session.settings.keys;
    let named = |(id, keys): (&String, &Vec<String>)| {
        let keys = if keys.is_empty() {
            "off".to_string()
        } else {
            keys.join(" ")
        };
        text::clean(&format!("{id} {keys}")).into_owned()
    };
    let mut named: Vec<String> = keys.iter().take(MAX_KEYS).map(named).collect();
    if keys.len() > MAX_KEYS {
        named.push(format!("{} more", keys.len() - MAX_KEYS));
    }
    fields.push((
        "[keys]",
        if named.is_empty() {
            "none changed".into()
        } else {
            named.join(" · ")
        },
    ));
    fields
}
