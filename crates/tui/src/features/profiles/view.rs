//! The page of all profiles: their use, servers, keys and states.

use super::details::details;
use crate::input::action::{Action, Context};
use crate::input::commands::Commands;
use crate::session::catalog::{AfterTest, ProfileEntry};
use crate::session::page::overlay_frame;
use crate::session::request::ProfileRequest;
use crate::session::{Component, Cx, Requests};
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};
use crate::widgets::table::{REST, RowStyle, Table, TableColumns};
use jiff::Timestamp;
use runtail_api::{ApiError, Kind};
use runtail_core::config::{Profile, SecretSource};
use runtail_core::text;
use std::time::Duration;

/// The mark of production profiles.
const PRODUCTION: &str = "PROD";

/// The column of the result of the last check.
const LAST_CHECK: usize = 7;

/// The page and its selection.
#[derive(Debug, Clone, Default)]
pub struct ProfilesPage {
    pub table: Table,
}

impl ProfilesPage {
    fn selected<'a>(&self, cx: &Cx<'a>) -> Option<&'a ProfileEntry> {
        cx.session.catalog.known(self.table.selected()?)
    }
}

impl Component for ProfilesPage {
    fn context(&self) -> Context {
        Context::Profiles
    }

    fn commands(&self, _cx: &Cx<'_>) -> Commands {
        Commands::of(Context::Profiles)
            .without(&["app.profiles"])
            .footer(&["profiles.edit", "profiles.use", "profiles.test"])
    }

    fn tab_name(&self) -> Option<String> {
        Some("Profiles".into())
    }

    fn action(&mut self, cx: &Cx<'_>, action: Action) -> Requests {
        let Some(known) = self.selected(cx) else {
            return Requests::none();
        };
        let name = known.profile.name.clone();
        let request = match action {
            Action::Mark => ProfileRequest::ToggleUse(name),
            Action::Test => ProfileRequest::Test(name),
            Action::Anyway if known.failure().is_some() => ProfileRequest::UseAnyway(name),
            Action::Anyway => ProfileRequest::Try(name, AfterTest::Switch),
            Action::Edit => ProfileRequest::Edit(name),
            Action::Save => ProfileRequest::DraftFile,
            _ => return Requests::none(),
        };
        request.into()
    }

    fn table(&self) -> Option<&Table> {
        Some(&self.table)
    }

    fn table_mut(&mut self) -> Option<&mut Table> {
        Some(&mut self.table)
    }

    fn relayout(&mut self, cx: &Cx<'_>) {
        self.table.lay_out(cx.session.catalog.names(), rows(cx));
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
    let columns = columns(cx, area.w);
    canvas.line(area.x, area.y, area.w, &columns.head());
    let rows = rows(cx);
    let list = Area {
        x: area.x - 2,
        y: area.y + 1,
        w: area.w + 2,
        h: rows as u16,
    };
    // The checkbox and the name.
    let bold = (columns.width(0) + 2 + columns.width(1) + 4) as u16;
    let style = RowStyle {
        bold,
        gutter: 2,
        ..RowStyle::default()
    };
    let room = columns.width(LAST_CHECK);
    page.table.draw(canvas, list, style, |at| {
        let known = cx.session.catalog.all.get(at)?;
        Some(columns.line(cells(cx, known, room)).into())
    });
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
    let catalog = &cx.session.catalog;
    let has_filed = catalog.all.iter().any(|known| known.filed.is_some());
    match &catalog.origin.file {
        _ if cx.session.settings.demo => "of the demo".into(),
        Some(file) if has_filed => file.display().to_string(),
        _ => "not in a file".into(),
    }
}

/// Lays out the columns by the longest texts in them.
fn columns(cx: &Cx<'_>, width: u16) -> TableColumns {
    let all = &cx.session.catalog.all;
    let widest = |text: fn(&Profile) -> String, least: usize, most: usize| {
        let all = all
            .iter()
            .map(|known| text::width(&text::clean(&text(&known.profile))));
        all.max().unwrap_or(0).clamp(least, most)
    };
    let is_wide = width >= 110;
    let has_workspace = all.iter().any(|known| known.profile.workspace.is_some());
    let if_wide = |width| if is_wide { width } else { 0 };
    let name = widest(|one| one.name.clone(), 8, if is_wide { 24 } else { 16 });
    let columns = [
        ("", 3),
        ("NAME", name),
        ("REGION", widest(place_of, 6, if is_wide { 24 } else { 14 })),
        ("WORKSPACE", if_wide(if has_workspace { 14 } else { 0 })),
        ("KEY", if_wide(widest(key, 3, 30))),
        (
            "ACCESS",
            widest(|one| access(one, one.is_read_only()), 9, 20),
        ),
        ("DEPLOYMENTS", if_wide(11)),
        ("LAST CHECK", REST),
    ];
    TableColumns::new(width.into(), columns)
}

/// Returns the label, and whether requests that write are allowed.
fn access(profile: &Profile, is_read_only: bool) -> String {
    let is_production = profile.is_production();
    // A label such as "production" says what the mark says.
    let is_said = |label: &str| is_production && label.to_lowercase().starts_with("prod");
    let label = profile.label.as_deref().filter(|label| !is_said(label));
    let parts = [
        is_production.then(|| PRODUCTION.to_string()),
        label.map(|label| format!("‹{label}›")),
        Some(if is_read_only { "read-only" } else { "writes" }.into()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Returns how many deployments a profile in use lists.
fn deployments(cx: &Cx<'_>, name: &str) -> String {
    let state = cx.session.profile(name);
    if state.is_none_or(|state| state.loaded_at.is_none()) {
        return "-".into();
    }
    let all = cx.session.deployments.existing();
    all.filter(|one| *one.profile == *name).count().to_string()
}

/// Returns the region, or the host.
fn place_of(profile: &Profile) -> String {
    profile.region.clone().unwrap_or_default()
}

/// Describes the source of the key; never the key itself.
fn key(profile: &Profile) -> String {
    let file = |path: &std::path::Path| {
        let name = path.file_name().unwrap_or_default();
        format!("file:{}", name.to_string_lossy())
    };
    let short = |source: &SecretSource| match source {
        SecretSource::Env(name) => format!("env:{name}"),
        SecretSource::File(path) => file(path),
        SecretSource::Entry(path, entry) => {
            // The last part of a JSON pointer names the value.
            let name = entry.rsplit('/').next().unwrap_or_default();
            format!("{}#{name}", file(path))
        }
        SecretSource::Keyring(entry) => format!("keyring:{}", entry.setting(&profile.name)),
        SecretSource::Command(words) => format!("command:{} …", words.first().map_or("", |w| w)),
        SecretSource::Given(_) => "built-in".into(),
    };
    let all = [&profile.key, &profile.bearer].into_iter().flatten();
    match all.map(short).collect::<Vec<_>>().join(" + ") {
        none if none.is_empty() => "none".into(),
        all => all,
    }
}

/// Returns the cells of a profile. `room`: the columns of the last one.
fn cells(cx: &Cx<'_>, known: &ProfileEntry, room: usize) -> [Line; 8] {
    let profile = &known.profile;
    let used = cx.session.catalog.used(&profile.name);
    let sealed = used.unwrap_or(profile).is_read_only();
    let of_access = if sealed { Tone::Strong } else { Tone::Plain };
    let said = access(profile, sealed);
    let workspace = profile.workspace.as_deref().map(text::short_id);
    [
        match used {
            Some(_) => Line::accent("[x]"),
            None => Line::dim("[ ]"),
        },
        // The name of the selected row is strong.
        Line::plain(&profile.name),
        Line::plain(&place_of(profile)),
        Line::dim(workspace.as_deref().unwrap_or("-")),
        Line::dim(&key(profile)),
        match said.strip_prefix(PRODUCTION) {
            Some(rest) => Line::of(Tone::Badge, PRODUCTION).with(of_access, rest),
            None => Line::of(of_access, &said),
        },
        Line::plain(&format!("{:>11}", deployments(cx, &profile.name))),
        state(cx, known, room),
    ]
}

/// Returns the state of a profile in a few words: the result of its last check, and when that was. A reason that doesn't fit is
/// only in the details.
fn state(cx: &Cx<'_>, known: &ProfileEntry, room: usize) -> Line {
    let ago = |at: Timestamp| format!("{} ago", text::age_since(at, cx.session.now));
    let failed = |error: &ApiError, at: Option<Timestamp>, more: &str| {
        let at = at.map(|at| format!(" {}", ago(at))).unwrap_or_default();
        let line = Line::bad(&format!("✗ {}", error.badge())).with_plain(&at);
        let why = text::clean(&format!(": {}{more}", short_cause(error))).into_owned();
        match line.width() + text::width(&why) > room {
            true => line,
            false => line.with_plain(&why),
        }
    };
    match (&known.running_test, &known.last_test) {
        (Some(_), _) => return Line::moving("◐").with_plain(" checking…"),
        (None, Some((then, Err(error)))) => {
            let hint = if *then == AfterTest::Nothing {
                ""
            } else {
                " · U uses it anyway"
            };
            return failed(error, known.tested_at, hint);
        }
        _ if cx.session.catalog.is_pending(known) => {
            return Line::moving("◌").with_plain(" changed, t checks it");
        }
        _ => {}
    }
    let Some(state) = cx.session.profile(&known.profile.name) else {
        return match &known.last_test {
            Some((_, Ok(at))) => {
                Line::of(Tone::Good, "●").with_plain(&format!(" reachable, {}", ago(*at)))
            }
            _ => Line::dim("off"),
        };
    };
    let health = &state.health;
    let said = match (&state.error, state.last_check) {
        (Some(error), at) => return failed(error, at.map(|(at, _)| at), ""),
        (None, Some((at, took))) if health.is_well() => {
            format!(" {:.2}s, {}", took.as_secs_f64(), ago(at))
        }
        _ => {
            let word = match health.mark.as_str() {
                "●" => " reachable",
                "◐" => " loading",
                _ => "",
            };
            format!("{word}{}", health.age)
        }
    };
    Line::of(health.tone, &health.mark).with(
        if health.tone == Tone::Dim {
            Tone::Dim
        } else {
            Tone::Plain
        },
        &said,
    )
}

/// Returns why a request failed, without the code that is shown before it.
fn short_cause(error: &ApiError) -> String {
    match error.kind {
        Kind::Unauthorized => "server rejected the key".into(),
        _ => error.detail.lines().next().unwrap_or_default().to_string(),
    }
}

/// Returns when the next shown age changes.
fn next_age(cx: &Cx<'_>) -> Option<Duration> {
    let states = cx.session.profiles.iter();
    let checks = states.filter_map(|state| Some(state.last_check?.0));
    let known = cx.session.catalog.all.iter();
    let times = checks.chain(known.filter_map(|known| known.tested_at));
    let ages = times.filter_map(|at| Duration::try_from(cx.session.now - at).ok());
    ages.map(text::age_unit).min()
}
