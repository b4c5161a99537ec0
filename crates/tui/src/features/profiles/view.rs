//! The page of all profiles: their use, servers, keys and states.

use super::details::details;
use crate::input::action::{Action, Context};
use crate::session::catalog::{AfterTest, ProfileEntry};
use crate::session::page::overlay_frame;
use crate::session::request::ProfileRequest;
use crate::session::{Component, Cx, Requests};
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};
use crate::widgets::selection::Selection;
use jiff::Timestamp;
use runtail_api::{ApiError, Kind};
use runtail_core::config::{Profile, SecretSource};
use runtail_core::text;
use std::time::Duration;

/// The mark of production profiles.
const PRODUCTION: &str = "PROD";

/// The columns with pieces in roles of their own.
const ACCESS: usize = 5;
const LAST_CHECK: usize = 7;

/// The page and its selection.
#[derive(Debug, Clone, Default)]
pub struct ProfilesPage {
    /// The selected profile.
    pub selection: Selection,
}

impl ProfilesPage {
    fn selected<'a>(&self, cx: &Cx<'a>) -> Option<&'a ProfileEntry> {
        cx.session
            .catalog
            .known(self.selection.selected.as_deref()?)
    }
}

impl Component for ProfilesPage {
    fn context(&self) -> Context {
        Context::Profiles
    }

    fn tab_name(&self) -> Option<String> {
        Some("Profiles".into())
    }

    fn action(&mut self, cx: &Cx<'_>, action: Action) -> Requests {
        let Some(name) = self.selected(cx).map(|known| known.profile.name.clone()) else {
            return Requests::none();
        };
        let request = match action {
            Action::Mark => ProfileRequest::ToggleUse(name),
            Action::Test => ProfileRequest::Test(name),
            Action::Anyway if has_failed(cx, &name) => ProfileRequest::UseAnyway(name),
            Action::Anyway => ProfileRequest::Try(name, AfterTest::Switch),
            Action::Edit => ProfileRequest::Edit(name),
            Action::Save => ProfileRequest::DraftFile,
            _ => return Requests::none(),
        };
        request.into()
    }

    fn step(&mut self, cx: &Cx<'_>, lines: isize, _whole_window: bool) {
        self.selection
            .step(&cx.session.catalog.names(), rows(cx), lines);
    }

    fn selected_id(&self) -> Option<&str> {
        self.selection.selected.as_deref()
    }

    fn relayout(&mut self, cx: &Cx<'_>) {
        self.selection.clamp(&cx.session.catalog.names(), rows(cx));
    }

    fn next_tick(&self, cx: &Cx<'_>) -> Option<Duration> {
        next_age(cx)
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        draw(self, cx, canvas);
        None
    }
}

/// Returns the rows of the list; the details of the selected profile are below.
fn rows(cx: &Cx<'_>) -> usize {
    let height = usize::from(cx.area.h);
    cx.session
        .catalog
        .all
        .len()
        .min(height.saturating_sub(12).max(3))
        .max(1)
}

fn draw(page: &ProfilesPage, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let area = cx.area;
    let mut about = Line::dim(&place(cx));
    if cx.session.catalog.is_unsaved() {
        about.push(Tone::Moving, "   not saved; s shows the diff");
    }
    overlay_frame(cx, canvas, "Profiles", &about);
    let columns = Columns::of(cx, area.w);
    let row = |texts: [&str; 8]| columns.line(texts.map(|text| (Tone::Dim, text.to_string())));
    let headers = [
        "",
        "NAME",
        "REGION",
        "WORKSPACE",
        "KEY",
        "ACCESS",
        "DEPLOYMENTS",
        "LAST CHECK",
    ];
    canvas.line(area.x, area.y, area.w, &row(headers));
    let catalog = &cx.session.catalog;
    let rows = rows(cx);
    let shown = page.selection.window(catalog.all.len(), rows);
    for (line, known) in shown
        .into_iter()
        .filter_map(|n| catalog.all.get(n))
        .enumerate()
    {
        let y = area.y + 1 + line as u16;
        canvas.line(area.x, y, area.w, &columns.line(cells(cx, known)));
        if page.selection.selected.as_deref() == Some(known.profile.name.as_str()) {
            let row = Area {
                x: area.x - 2,
                y,
                w: area.w + 2,
                h: 1,
            };
            canvas.select(row, y, true, columns.until_name() + 4);
        }
    }
    let below = area.y + 2 + rows as u16;
    let room = area.h.saturating_sub(2 + rows as u16);
    for (i, line) in details(page.selected(cx), cx, usize::from(area.w))
        .iter()
        .take(usize::from(room))
        .enumerate()
    {
        canvas.line(area.x, below + i as u16, area.w, line);
    }
}

/// Returns the path of the file, or the other source of the profiles.
fn place(cx: &Cx<'_>) -> String {
    match &cx.session.catalog.origin.file {
        _ if cx.session.settings.demo => "of the demo".into(),
        Some(file)
            if cx
                .session
                .catalog
                .all
                .iter()
                .any(|known| known.filed.is_some()) =>
        {
            file.display().to_string()
        }
        _ => "not in a file".into(),
    }
}

/// Returns where the glyph of a state ends; of a failure, where its code or its words do.
fn glyph_of(state: &str) -> usize {
    if !state.starts_with('✗') {
        return state.find(' ').unwrap_or(state.len());
    }
    let said = state.split(": ").next().unwrap_or_default();
    let age = said
        .strip_suffix(" ago")
        .and_then(|before| before.rfind(' '));
    age.unwrap_or(said.len())
}

/// The widths of the columns, from the checkbox to the state, and the columns of the last one.
struct Columns([usize; 8], usize);

impl Columns {
    fn of(cx: &Cx<'_>, width: u16) -> Columns {
        let widest = |text: fn(&ProfileEntry) -> String, least: usize, most: usize| {
            let all = cx
                .session
                .catalog
                .all
                .iter()
                .map(|known| text::width(&text::clean(&text(known))));
            all.max().unwrap_or(0).clamp(least, most)
        };
        let is_wide = width >= 110;
        let has_workspace = cx
            .session
            .catalog
            .all
            .iter()
            .any(|known| known.profile.workspace.is_some());
        let widths = [
            3,
            widest(
                |known| known.profile.name.clone(),
                8,
                if is_wide { 24 } else { 16 },
            ),
            widest(
                |known| place_of(&known.profile),
                6,
                if is_wide { 24 } else { 14 },
            ),
            if is_wide && has_workspace { 14 } else { 0 },
            if is_wide {
                widest(|known| key(&known.profile), 3, 30)
            } else {
                0
            },
            widest(
                |known| access(&known.profile, known.profile.is_read_only()),
                9,
                20,
            ),
            if is_wide { 11 } else { 0 },
            usize::MAX,
        ];
        let before: usize = widths[..7]
            .iter()
            .filter(|width| **width > 0)
            .map(|width| width + 2)
            .sum();
        Columns(widths, usize::from(width).saturating_sub(before))
    }

    /// Returns the columns of the checkbox and the name.
    fn until_name(&self) -> u16 {
        (self.0[0] + 2 + self.0[1]) as u16
    }

    /// Returns a line with the cells of the columns that have room.
    fn line(&self, cells: [(Tone, String); 8]) -> Line {
        let mut line = Line::new();
        for (n, ((tone, text), width)) in cells
            .into_iter()
            .zip(self.0)
            .enumerate()
            .filter(|(_, (_, width))| *width > 0)
        {
            let text = text::clean(&text).into_owned();
            // The last column, the state, gets the rest of the width. A reason that doesn't fit is only in the details.
            let text = match text.split_once(": ") {
                Some((state, _)) if width == usize::MAX && text::width(&text) > self.1 => {
                    state.into()
                }
                _ => text::fit(&text, width),
            };
            match (n, text.strip_prefix(PRODUCTION)) {
                (ACCESS, Some(rest)) => {
                    line.push(Tone::Badge, PRODUCTION);
                    line.push(tone, rest);
                }
                (LAST_CHECK, _) => {
                    let (glyph, rest) = text.split_at(glyph_of(&text));
                    line.push(tone, glyph);
                    line.push(
                        if tone == Tone::Dim {
                            Tone::Dim
                        } else {
                            Tone::Plain
                        },
                        rest,
                    );
                }
                _ => line.push(tone, &text),
            }
            if width < usize::MAX {
                line.push_plain(&" ".repeat(width + 2 - text::width(&text)));
            }
        }
        line
    }
}

/// Returns the label, and whether requests that write are allowed.
fn access(profile: &Profile, is_read_only: bool) -> String {
    let mark = if profile.is_production() {
        format!("{PRODUCTION} ")
    } else {
        String::new()
    };
    // A label such as "production" says what the mark says.
    let is_said = |label: &str| profile.is_production() && label.to_lowercase().starts_with("prod");
    let label = profile.label.as_deref().filter(|label| !is_said(label));
    let label = label.map(|label| format!("‹{label}› ")).unwrap_or_default();
    format!(
        "{mark}{label}{}",
        if is_read_only { "read-only" } else { "writes" }
    )
}

/// Returns how many deployments a profile in use lists.
fn deployments(cx: &Cx<'_>, name: &str) -> String {
    match cx
        .session
        .profile(name)
        .filter(|state| state.loaded_at.is_some())
    {
        Some(_) => cx
            .lookup
            .deployments()
            .iter()
            .filter(|(profile, ..)| **profile == *name)
            .count()
            .to_string(),
        None => "-".into(),
    }
}

/// Returns whether the last check of a profile failed.
fn has_failed(cx: &Cx<'_>, name: &str) -> bool {
    cx.session.catalog.known(name).is_some_and(|known| {
        known.running_test.is_none() && matches!(known.last_test, Some((_, Err(_))))
    })
}

/// Returns the region, or the host.
fn place_of(profile: &Profile) -> String {
    profile.region.clone().unwrap_or_default()
}

/// Describes the source of the key; never the key itself.
fn key(profile: &Profile) -> String {
    let short = |source: &SecretSource| match source {
        SecretSource::Env(name) => format!("env:{name}"),
        SecretSource::File(path) => {
            format!(
                "file:{}",
                path.file_name()
                    .map(|n| n.to_string_lossy().into_owned())
                    .unwrap_or_default()
            )
        }
        SecretSource::Entry(path, entry) => {
            let name = path
                .file_name()
                .map(|n| n.to_string_lossy().into_owned())
                .unwrap_or_default();
            // The last part of a JSON pointer names the value.
            format!(
                "file:{name}#{}",
                entry.rsplit('/').next().unwrap_or_default()
            )
        }
        SecretSource::Keyring(entry) => format!("keyring:{}", entry.setting(&profile.name)),
        SecretSource::Command(words) => format!("command:{} …", words.first().map_or("", |w| w)),
        SecretSource::Given(_) => "built-in".into(),
    };
    let all = [&profile.key, &profile.bearer]
        .into_iter()
        .flatten()
        .map(short)
        .collect::<Vec<_>>();
    if all.is_empty() {
        "none".into()
    } else {
        all.join(" + ")
    }
}

fn cells(cx: &Cx<'_>, known: &ProfileEntry) -> [(Tone, String); 8] {
    let profile = &known.profile;
    let used = cx.session.catalog.used(&profile.name);
    let sealed = used.unwrap_or(profile).is_read_only();
    let (tone, state) = state(cx, known);
    [
        if used.is_some() {
            (Tone::Accent, "[x]".into())
        } else {
            (Tone::Dim, "[ ]".into())
        },
        // The name of the selected row is strong.
        (Tone::Plain, profile.name.clone()),
        (Tone::Plain, place_of(profile)),
        (
            Tone::Dim,
            profile
                .workspace
                .as_deref()
                .map_or_else(|| "-".into(), text::short_id),
        ),
        (Tone::Dim, key(profile)),
        (
            if sealed { Tone::Strong } else { Tone::Plain },
            access(profile, sealed),
        ),
        (
            Tone::Plain,
            format!("{:>11}", deployments(cx, &profile.name)),
        ),
        (tone, state),
    ]
}

/// Returns the state of a profile in a few words: the result of its last check, and when that was.
fn state(cx: &Cx<'_>, known: &ProfileEntry) -> (Tone, String) {
    let ago = |at: Timestamp| format!("{} ago", text::age_since(at, cx.session.now));
    let failed = |error: &ApiError, at: Option<Timestamp>, more: &str| {
        let word = error.badge();
        let at = at.map(|at| format!(" {}", ago(at))).unwrap_or_default();
        (
            Tone::Bad,
            format!("✗ {word}{at}: {}{more}", short_cause(error)),
        )
    };
    match (&known.running_test, &known.last_test) {
        (Some(_), _) => return (Tone::Moving, "◐ checking…".into()),
        (None, Some((then, Err(error)))) => {
            let hint = if *then == AfterTest::Nothing {
                ""
            } else {
                " · U uses it anyway"
            };
            return failed(error, known.tested_at, hint);
        }
        _ if cx.session.catalog.is_pending(known) => {
            return (Tone::Moving, "◌ changed, t checks it".into());
        }
        _ => {}
    }
    match (
        cx.session
            .profiles
            .iter()
            .find(|state| *state.name == *known.profile.name),
        &known.last_test,
    ) {
        (Some(state), _) => {
            let health = cx.lookup.health(state);
            match (&state.error, state.last_check) {
                (Some(error), at) => failed(error, at.map(|(at, _)| at), ""),
                (None, Some((at, took))) if health.is_well() => (
                    health.tone,
                    format!("{} {:.2}s, {}", health.mark, took.as_secs_f64(), ago(at)),
                ),
                _ => {
                    let word = match health.mark.as_str() {
                        "●" => " reachable",
                        "◐" => " loading",
                        _ => "",
                    };
                    (health.tone, format!("{}{word}{}", health.mark, health.age))
                }
            }
        }
        (None, Some((_, Ok(at)))) => (Tone::Good, format!("● reachable, {}", ago(*at))),
        (None, _) => (Tone::Dim, "off".into()),
    }
}

/// Returns why a request failed, without the code that is shown before it.
fn short_cause(error: &ApiError) -> String {
    match error.kind {
        Kind::Unauthorized => "the server rejected the key".into(),
        _ => error.detail.lines().next().unwrap_or_default().to_string(),
    }
}

/// Returns when the next shown age changes.
fn next_age(cx: &Cx<'_>) -> Option<Duration> {
    let checks = cx
        .session
        .profiles
        .iter()
        .filter_map(|state| state.last_check)
        .map(|(at, _)| at);
    let tests = cx
        .session
        .catalog
        .all
        .iter()
        .filter_map(|known| known.tested_at);
    let ages = checks
        .chain(tests)
        .filter_map(|at| Duration::try_from(cx.session.now - at).ok());
    ages.map(text::age_unit).min()
}

#[cfg(test)]
mod tests {
    use super::glyph_of;

    #[test]
    fn the_role_of_a_state_covers_its_glyph_or_the_words_of_a_failure() {
        for (state, head) in [
            ("● 0.12s, 4s ago", "●"),
            ("◐ checking…", "◐"),
            ("✗ 401 2m ago: the server rejected the key", "✗ 401"),
            ("✗ 401 2m ago", "✗ 401"),
            (
                "✗ no key 4s ago: the environment variable K is not set",
                "✗ no key",
            ),
            ("✗ no connection", "✗ no connection"),
            ("off", "off"),
        ] {
            assert_eq!(&state[..glyph_of(state)], head);
        }
    }
}
