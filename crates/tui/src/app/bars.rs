//! The header (profiles and their health) and the footer (stream status, notices and key hints).

use super::hints::hints;
use super::{App, Overlay, Pane};
use crate::features::stream::viewer::Viewer;
use crate::input::action::Context;
use crate::session::msg::NextPoll;
use crate::session::profile::{Health, ProfileState};
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};
use crate::widgets::status::tones;
use crate::widgets::text_input::TextInput;
use crate::widgets::theme::PRODUCTION;
use runtail_api::{ApiError, Kind};
use runtail_core::text;
use std::time::Duration;

/// Width from which the counters of the inbox are in words.
const WIDE_COUNTERS: u16 = 100;

/// Draws the first line: profile names and labels on the left, each profile's health on the right. If space is short, it
/// hides the names, then counts the healthy profiles instead of listing them, then hides the ages, and finally shows only
/// counts. A problem is always visible.
pub fn header(app: &App, canvas: &mut Canvas<'_>, area: Area) {
    let health: Vec<Health> = app.session.profiles.iter().map(|profile| health(app, profile)).collect();
    let mut choices = vec![(true, health_list(&health, false, true)), (false, health_list(&health, false, true))];
    let count_well = health.iter().filter(|h| h.is_well()).count() > 1;
    if count_well {
        choices.extend([(true, health_list(&health, true, true)), (false, health_list(&health, true, true))]);
    }
    choices.push((false, health_list(&health, count_well, false)));
    choices.push((false, health_counts(&health)));
    let (long, short) = (counters(app, true), counters(app, false));
    if !short.right.is_empty() {
        // What needs a person stays longer than names and ages: first in words, then as numbers.
        let with = |counters: &Line, (names, health): &(bool, Line)| {
            let mut line = counters.clone();
            line.right.extend(health.right.iter().cloned());
            (*names, line)
        };
        let in_words = choices.iter().filter(|_| area.w >= WIDE_COUNTERS).map(|choice| with(&long, choice));
        choices = in_words.chain(choices.iter().map(|choice| with(&short, choice))).collect();
    }
    let width = |line: &Line| line.right.iter().map(|p| text::width(&p.text)).sum::<usize>();
    let fits = |(names, right): &(bool, Line)| location(app, *names).width() + width(right) + 3 <= area.w as usize;
    let at = choices.iter().position(fits).unwrap_or(choices.len() - 1);
    let (names, right) = choices.swap_remove(at);
    let mut line = location(app, names);
    line.right = right.right;
    if !line.right.is_empty() {
        line = line.right(Tone::Plain, " ");
    }
    canvas.line_for_right(area.x, area.y, area.w, &line);
}

/// Returns what waits and what failed, by the rows of the inbox; empty while that is unknown and for zeros.
fn counters(app: &App, in_words: bool) -> Line {
    let counts = app.inbox.counts().unwrap_or_default();
    let mut line = Line::new();
    let shown = [
        (counts.waiting, "◆", "waiting", Tone::Waiting),
        (counts.failed, "✗", "failed", Tone::Bad),
        (counts.stuck, "?", "stuck", Tone::Bad),
    ];
    for (count, glyph, word, tone) in shown.into_iter().filter(|shown| shown.0 > 0) {
        let gap = match (line.right.is_empty(), in_words) {
            (true, _) => "",
            (false, true) => "   ",
            (false, false) => "  ",
        };
        let text = if in_words { format!("{gap}{glyph} {count} {word}") } else { format!("{gap}{glyph} {count}") };
        line = line.right(tone, &text);
    }
    if !line.right.is_empty() {
        line = line.right(Tone::Plain, "    ");
    }
    line
}

/// Returns the left part of the header: profiles, labels, profiles being checked, open streams and watches.
fn location(app: &App, names: bool) -> Line {
    let mut line = Line::of(Tone::Strong, " runtail");
    if names && !app.session.profiles.is_empty() {
        line.push(Tone::Dim, " │ ");
        let mut names: Vec<&str> = app.session.profiles.iter().map(|p| &*p.name).collect();
        let more = names.len().saturating_sub(4);
        names.truncate(4);
        line.push(Tone::Plain, &names.join(" · "));
        if more > 0 {
            line.push(Tone::Dim, &format!(" and {more} more"));
        }
    }
    if app.session.settings.demo {
        line.push(Tone::Dim, " │ ");
        line.push(Tone::Moving, "DEMO");
        if names {
            line.push(Tone::Dim, " simulated servers");
        }
    }
    let all_read_only = !app.session.profiles.is_empty() && app.session.profiles.iter().all(|p| p.read_only);
    for (profile, label) in app.session.profiles.iter().filter_map(|p| Some((p, p.label.as_deref()?))) {
        line.push(Tone::Dim, " │ ");
        if profile.production {
            line.push(Tone::Strong, PRODUCTION);
        }
        line.push(Tone::Strong, &format!("‹{label}›"));
        if profile.read_only && !all_read_only {
            line.push(Tone::Dim, " read-only");
        }
    }
    if all_read_only {
        line.push(Tone::Dim, " │ ");
        line.push(Tone::Strong, "READ-ONLY");
    }
    for known in app.session.catalog.all.iter().filter(|known| known.will_be_used()) {
        line.push(Tone::Dim, " │ ");
        line.push(Tone::Moving, &format!("checking {}…", known.profile.name));
    }
    // While a stream is shown, its pane has the tabs.
    let streams = app.stream.tabs.all();
    if !streams.is_empty() && app.viewer().is_none() {
        let s = if streams.len() == 1 { "" } else { "s" };
        line.push(Tone::Dim, " │ ");
        line.push(Tone::Good, "► ");
        line.push(Tone::Plain, &format!("{} stream{s}", streams.len()));
        line.push(Tone::Moving, if streams.iter().any(|v| v.news) { " *" } else { "" });
    }
    if !app.deployments.watches.is_empty() {
        line.push(Tone::Dim, " │ ");
        line.push(Tone::Accent, &format!("» {} watched", app.deployments.watches.len()));
    }
    line
}

/// Lists the health of each profile. `count_well` shows only the number of healthy ones; `ages` adds the age of stale data.
fn health_list(health: &[Health], count_well: bool, ages: bool) -> Line {
    let mut line = Line::new();
    let well = health.iter().filter(|h| h.is_well()).count();
    if count_well {
        line = line.right(Tone::Dim, &format!("  {well} ")).right(Tone::Good, "●");
    }
    for health in health.iter().filter(|h| !(count_well && h.is_well())) {
        line = line.right(Tone::Dim, &format!("  {} ", health.tag)).right(health.tone, &health.mark);
        if ages {
            line = line.right(Tone::Dim, &health.age);
        }
    }
    line
}

/// Counts the profiles that are healthy, pending and failed.
fn health_counts(health: &[Health]) -> Line {
    let mut line = Line::new();
    for (tone, mark) in [(Tone::Good, "●"), (Tone::Moving, "◐"), (Tone::Bad, "✗")] {
        let count = health.iter().filter(|h| h.tone == tone).count();
        if count > 0 {
            line = line.right(Tone::Dim, &format!("  {count} ")).right(tone, mark);
        }
    }
    line
}

pub(crate) fn health(app: &App, profile: &ProfileState) -> Health {
    let (error, responded) = match profile.control_plane {
        true => (profile.error.as_ref(), profile.loaded_at.is_some()),
        false => server_health(app, &profile.name),
    };
    let until = |at: jiff::Timestamp| Duration::try_from(at - app.session.now).ok().filter(|wait| !wait.is_zero());
    let limited = profile.limited_until.and_then(until);
    let (mark, tone) = match (error, responded) {
        _ if profile.halted => ("✗ 401, r retries".to_string(), Tone::Bad),
        _ if limited.is_some() => (format!("◌ 429 {}", limited.map(text::age).unwrap_or_default()), Tone::Moving),
        (Some(error), _) => (format!("✗ {}", error.badge()), Tone::Bad),
        (None, true) if profile.partial.is_some() => ("◐ partial".to_string(), Tone::Moving),
        (None, true) => ("●".to_string(), Tone::Good),
        (None, false) => ("◐".to_string(), Tone::Moving),
    };
    // With a problem, the age of the data and the time of the next attempt are shown.
    let has_problem = error.is_some() || limited.is_some();
    let stale = profile.loaded_at.filter(|_| has_problem).and_then(|at| Duration::try_from(app.session.now - at).ok());
    let mut age = stale.map(|age| format!(" {} old", text::age(age))).unwrap_or_default();
    if let (Some(NextPoll::At(at)), true) = (profile.next_poll, error.is_some() && limited.is_none() && !profile.halted)
    {
        age.push_str(&format!(", retry in {}", text::age(until(at).unwrap_or_default())));
    }
    // Profiles that share a region tag are shown by name.
    let is_unique = app.session.profiles.iter().filter(|p| p.tag() == profile.tag()).count() == 1;
    Health { tag: if is_unique { profile.tag() } else { &profile.name }.to_string(), mark, tone, age }
}

/// Returns the state of the agent servers of a profile without a control plane: an error, and whether any has responded.
fn server_health<'a>(app: &'a App, profile: &str) -> (Option<&'a ApiError>, bool) {
    // The polled list of threads is newer than the server info, which is requested once.
    if let Some(server) = app.agent.server.as_ref().filter(|s| &*s.server.profile == profile && s.threads.at.is_some())
    {
        // A search that the server refuses says nothing about its health.
        let error = server.threads.error.as_ref().filter(|error| !matches!(error.kind, Kind::Invalid(_)));
        return (error, true);
    }
    let infos = || app.agent.infos.iter().filter(|(server, _)| &*server.profile == profile).map(|(_, info)| info);
    (infos().find_map(|i| i.error.as_ref()), infos().any(|i| i.value.is_some()))
}

/// Draws the last line: the text being typed, a notice, or the stream status and key hints.
pub fn footer(app: &App, canvas: &mut Canvas<'_>, area: Area) {
    let mut line = Line::of(Tone::Plain, " ");
    if let Some(prompt) = &app.prompt {
        line.push(Tone::Accent, prompt.sign);
        push_input(&mut line, &prompt.input);
        let is_search = app.overlays.is_empty() && app.pane_context() == Context::Server;
        let saved = app.session.prefs.searches.iter().filter(|_| is_search && prompt.input.is_empty());
        let saved: Vec<&str> = saved.map(|(name, _)| name.as_str()).collect();
        if !saved.is_empty() {
            line = line.right(Tone::Dim, &format!("saved (:search NAME): {}   ", text::clean(&saved.join(", "))));
        }
        canvas.line(area.x, area.y, area.w, &line.right(Tone::Dim, "⏎ keep  Esc cancel "));
        return;
    }
    if let Some(Overlay::Command(palette)) = app.overlays.last() {
        line.push(Tone::Accent, ":");
        push_input(&mut line, &palette.input);
        canvas.line(area.x, area.y, area.w, &line.right(Tone::Dim, "⏎ run  Tab complete  Esc cancel "));
        return;
    }
    if let Some(notice) = app.notice() {
        let first = notice.text.lines().next().unwrap_or("");
        let more = notice.text.lines().count() > 1 || text::width(first) + 18 > area.w as usize;
        match notice.news {
            Some(role) => line.push(tones(role).0, &format!("{} ", role.glyph())),
            None => {
                line.push(if notice.error { Tone::Bad } else { Tone::Accent }, if notice.error { "✗ " } else { "· " })
            }
        }
        let has_hint = more || notice.news.is_some();
        let room = (area.w as usize).saturating_sub(if has_hint { 18 } else { 4 });
        line.push(Tone::Plain, &text::fit(&text::clean(first), room));
        let hint = match (notice.news, more) {
            (Some(_), _) => "! open ",
            (None, true) => "! details ",
            (None, false) => "",
        };
        canvas.line(area.x, area.y, area.w, &line.right(Tone::Dim, hint));
        return;
    }
    let mut keys = Line::new();
    let mut all = hints(app);
    // If space is short, drop the least useful hints. The last one, help, stays.
    let room =
        |all: &[(String, &str)]| all.iter().map(|(key, label)| text::width(key) + label.len() + 3).sum::<usize>();
    while line.width() + room(&all) > area.w as usize && all.len() > 1 {
        all.remove(all.len() - 2);
    }
    for (key, label) in all {
        keys.push(Tone::Accent, &key);
        keys.push(Tone::Dim, &format!(" {label}  "));
    }
    if let (Some(viewer), Pane::Stream, true, None) = (app.viewer(), app.focus, app.overlays.is_empty(), &app.logs) {
        let status = stream_status(viewer);
        if status.width() + keys.width() + 4 <= area.w as usize {
            line.left.extend(status.left);
        }
    }
    if line.width() + keys.width() < area.w as usize {
        let pad = area.w as usize - line.width() - keys.width();
        line.push(Tone::Plain, &" ".repeat(pad));
    }
    line.left.extend(keys.left);
    canvas.line(area.x, area.y, area.w, &line);
}

/// Appends the text of an input field with its cursor.
fn push_input(line: &mut Line, input: &TextInput) {
    let (before, after) = input.around_cursor();
    line.push(Tone::Strong, &text::visible(before));
    line.push(Tone::Accent, "▏");
    line.push(Tone::Strong, &text::visible(after));
}

/// Counts the received, malformed and oversized events. Gaps are shown next to the connection state.
fn stream_status(viewer: &Viewer) -> Line {
    let delivery = viewer.delivery_log();
    let s = if delivery.received == 1 { "" } else { "s" };
    let mut line = Line::of(Tone::Dim, &format!("{} event{s}", text::count(delivery.received)));
    for (count, label) in [(delivery.malformed, "malformed"), (delivery.too_large, "oversized")] {
        if count > 0 {
            line.push(Tone::Bad, &format!(" · {} {label}", text::count(count)));
        }
    }
    line
}
