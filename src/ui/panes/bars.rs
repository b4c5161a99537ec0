//! The header (which profiles, how they are) and the footer (what goes on, which keys make sense).

use crate::api::ApiError;
use crate::app::fleet::ProfileState;
use crate::app::layout::Area;
use crate::app::line::{Line, Tone};
use crate::app::viewer::Viewer;
use crate::app::{App, Pane};
use crate::text;
use crate::ui::Canvas;
use std::time::Duration;

/// The first line.
pub fn header(app: &App, canvas: &mut Canvas<'_>, area: Area) {
    let mut line = Line::of(Tone::Strong, " runtail");
    line.push(Tone::Dim, " │ ");
    let mut names: Vec<&str> = app.profiles.iter().map(|p| &*p.name).collect();
    let more = names.len().saturating_sub(4);
    names.truncate(4);
    line.push(Tone::Plain, &names.join(" · "));
    if more > 0 {
        line.push(Tone::Dim, &format!(" and {more} more"));
    }
    if app.settings.demo {
        line.push(Tone::Dim, " │ ");
        line.push(Tone::Moving, "DEMO");
        line.push(Tone::Dim, " simulated servers");
    }
    let all_read_only = !app.profiles.is_empty() && app.profiles.iter().all(|p| p.read_only);
    for (profile, label) in app.profiles.iter().filter_map(|p| Some((p, p.label.as_deref()?))) {
        line.push(Tone::Dim, " │ ");
        line.push(Tone::Strong, &format!("‹{label}›"));
        if profile.read_only && !all_read_only {
            line.push(Tone::Dim, " read-only");
        }
    }
    if all_read_only {
        line.push(Tone::Dim, " │ ");
        line.push(Tone::Strong, "READ-ONLY");
    }
    if !app.watches.is_empty() {
        line.push(Tone::Dim, " │ ");
        line.push(Tone::Accent, &format!("» {} watched", app.watches.len()));
    }
    let health: Vec<Health> = app.profiles.iter().map(|profile| health(app, profile)).collect();
    let width: usize = health.iter().map(Health::width).sum();
    let crowded = width > (area.w as usize / 2).max((area.w as usize).saturating_sub(line.width() + 2));
    // In little room those that are well are but counted: the others must be seen.
    let well = health.iter().filter(|h| h.is_well()).count();
    if crowded && well > 1 {
        line = line.right(Tone::Dim, &format!("  {well} ")).right(Tone::Good, "●");
    }
    for health in health.iter().filter(|h| !(crowded && well > 1 && h.is_well())) {
        line = line.right(Tone::Dim, &format!("  {} ", health.tag)).right(health.tone, &health.mark);
        line = line.right(Tone::Dim, &health.age);
    }
    if !line.right.is_empty() {
        line = line.right(Tone::Plain, " ");
    }
    canvas.line_for_right(area.x, area.y, area.w, &line);
}

/// How a profile is, in a few characters.
struct Health<'a> {
    tag: &'a str,
    mark: String,
    tone: Tone,
    age: String,
}

impl Health<'_> {
    fn is_well(&self) -> bool {
        self.tone == Tone::Good
    }

    fn width(&self) -> usize {
        [self.tag, &self.mark, &self.age].map(text::width).iter().sum::<usize>() + 3
    }
}

fn health<'a>(app: &App, profile: &'a ProfileState) -> Health<'a> {
    let (error, answered) = match profile.control_plane {
        true => (profile.error.as_ref(), profile.loaded_at.is_some()),
        false => server_health(app, &profile.name),
    };
    let until = |at: jiff::Timestamp| Duration::try_from(at - app.now).ok().filter(|wait| !wait.is_zero());
    let limited = profile.limited_until.and_then(until);
    let (mark, tone) = match (error, answered) {
        _ if profile.halted => ("✗ 401, r asks again".to_string(), Tone::Bad),
        _ if limited.is_some() => (format!("◌ 429 {}", limited.map(text::age).unwrap_or_default()), Tone::Moving),
        (Some(error), _) => (format!("✗ {}", error.badge()), Tone::Bad),
        (None, true) if profile.partial.is_some() => ("◐ partial".to_string(), Tone::Moving),
        (None, true) => ("●".to_string(), Tone::Good),
        (None, false) => ("◐".to_string(), Tone::Moving),
    };
    // What stands on the screen is as old as this.
    let old = profile
        .loaded_at
        .filter(|_| error.is_some() || limited.is_some())
        .and_then(|at| Duration::try_from(app.now - at).ok());
    Health { tag: profile.tag(), mark, tone, age: old.map(|age| format!(" {}", text::age(age))).unwrap_or_default() }
}

/// How the agent servers of a profile without a control plane are: a failure, and whether any has answered.
fn server_health<'a>(app: &'a App, profile: &str) -> (Option<&'a ApiError>, bool) {
    // What is polled knows more than what was asked once.
    if let Some(server) = app.server.as_ref().filter(|s| &*s.server.profile == profile && s.threads.at.is_some()) {
        return (server.threads.error.as_ref(), true);
    }
    let infos = || app.infos.iter().filter(|(server, _)| &*server.profile == profile).map(|(_, info)| info);
    (infos().find_map(|i| i.error.as_ref()), infos().any(|i| i.value.is_some()))
}

/// The last line: a filter being typed, a notice, or what goes on; at the right the keys that make sense.
pub fn footer(app: &App, canvas: &mut Canvas<'_>, area: Area) {
    let mut line = Line::of(Tone::Plain, " ");
    if app.filtering {
        line.push(Tone::Accent, "/");
        line.push(Tone::Strong, app.typed());
        line.push(Tone::Accent, "▏");
        canvas.line(area.x, area.y, area.w, &line.right(Tone::Dim, "⏎ keep  Esc clear "));
        return;
    }
    if let Some(notice) = app.notice() {
        let first = notice.text.lines().next().unwrap_or("");
        let more = notice.text.lines().count() > 1 || text::width(first) + 14 > area.w as usize;
        line.push(if notice.error { Tone::Bad } else { Tone::Accent }, if notice.error { "✗ " } else { "· " });
        let room = (area.w as usize).saturating_sub(if more { 14 } else { 4 });
        line.push(Tone::Plain, &text::fit(&text::clean(first), room));
        let hint = if more { "! all of it " } else { "" };
        canvas.line(area.x, area.y, area.w, &line.right(Tone::Dim, hint));
        return;
    }
    let mut hints = Line::new();
    let mut all = app.keymap.hints(app.context(), app.server.as_ref().map(|s| s.tab));
    // In little room the less useful ones give way; the help stays.
    let room =
        |all: &[(String, &str)]| all.iter().map(|(key, label)| text::width(key) + label.len() + 3).sum::<usize>();
    while room(&all) > area.w as usize && all.len() > 1 {
        all.remove(all.len() - 2);
    }
    for (key, label) in all {
        hints.push(Tone::Accent, &key);
        hints.push(Tone::Dim, &format!(" {label}  "));
    }
    if let (Some(viewer), Pane::Stream, true, None) = (&app.viewer, app.focus, app.overlays.is_empty(), &app.logs) {
        let status = stream_status(app, viewer);
        if status.width() + hints.width() + 2 <= area.w as usize {
            line.left.extend(status.left);
        }
    }
    if line.width() + hints.width() < area.w as usize {
        let pad = area.w as usize - line.width() - hints.width();
        line.push(Tone::Plain, &" ".repeat(pad));
    }
    line.left.extend(hints.left);
    canvas.line(area.x, area.y, area.w, &line);
}

/// The ledger in one line: the two clocks, and the sums.
fn stream_status(app: &App, viewer: &Viewer) -> Line {
    let ledger = &viewer.projections.ledger;
    let since = |at: Option<jiff::Timestamp>| {
        at.and_then(|t| Duration::try_from(app.now - t).ok()).map(text::age).unwrap_or_else(|| "-".into())
    };
    let mut line = Line::new();
    if viewer.is_open() {
        line.push(
            Tone::Dim,
            &format!("alive {} · event {} · ", since(ledger.last_alive_at), since(ledger.last_event_at)),
        );
    }
    line.push(Tone::Plain, &format!("{} in", text::count(ledger.received)));
    line.push(Tone::Dim, &format!(" · {} twice · ", text::count(ledger.duplicates)));
    let gaps = format!("{} gap{}", ledger.gaps, if ledger.gaps == 1 { "" } else { "s" });
    line.push(if ledger.gaps > 0 { Tone::Bad } else { Tone::Dim }, &gaps);
    if ledger.malformed + ledger.too_large > 0 {
        line.push(Tone::Bad, &format!(" · {} odd", ledger.malformed + ledger.too_large));
    }
    line
}
