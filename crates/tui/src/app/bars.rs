//! The header (tabs, counters, the profiles' health) and the footer (key hints and notices).

use super::hints::hints;
use super::tabs::{self, Fitted, TabKind};
use super::{App, Overlay, Pane};
use crate::input::action::Context;
use crate::session::inbox::Tally;
use crate::session::msg::NextPoll;
use crate::session::profile::{Health, ProfileState};
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};
use crate::widgets::status::{STUCK, tones};
use crate::widgets::text_input::TextInput;
use runtail_api::{ApiError, Kind};
use runtail_core::text;
use std::time::Duration;

/// Width from which the counters of the inbox are in words.
const WIDE_COUNTERS: u16 = 100;
/// Minimum columns for the tabs, before the health of the profiles is shortened.
const MIN_TABS: usize = 40;

/// How the counters of the header are drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counters {
    /// In words, with the number of servers that were not checked.
    Full,
    Words,
    Numbers,
}

/// The header as it fits.
pub(super) struct Header {
    /// The program's name and the mark of the demo, before the tabs.
    start: Line,
    tabs: Fitted,
    right: Line,
}

impl Header {
    /// Returns the tab at a column.
    pub(super) fn tab_at(&self, x: u16) -> Option<TabKind> {
        let column = usize::from(x).checked_sub(self.start.width())?;
        let at = self
            .tabs
            .places
            .iter()
            .find(|(_, start, end)| (*start..*end).contains(&column));
        at.map(|(tab, ..)| *tab)
    }
}

/// Draws the first line: the tabs on the left; what needs a person, badges and each profile's health on the right.
pub fn header(app: &App, canvas: &mut Canvas<'_>, area: Area) {
    let header = header_layout(app, area.w);
    let mut line = header.start;
    line.left.extend(header.tabs.line.left);
    line.right = header.right.right;
    canvas.line_for_right(area.x, area.y, area.w, &line);
}

/// Lays out the header. If space is short, the counters lose their words, then healthy profiles are counted instead of listed,
/// then only the tabs around the current one are shown, then the ages are hidden. A problem is always visible.
pub(super) fn header_layout(app: &App, width: u16) -> Header {
    let is_brief = width < WIDE_COUNTERS;
    let mut start = Line::strong(" runtail").with_plain("  ");
    if app.session.settings.demo {
        start.push_accent(if is_brief { "DEMO " } else { "DEMO  " });
    }
    let is_first_run = matches!(app.overlays.first(), Some(Overlay::FirstRun(_)));
    let health: Vec<Health> = app
        .session
        .profiles
        .iter()
        .map(|profile| health(app, profile))
        .collect();
    let mut lists = vec![health_list(&health, false, true)];
    let count_well = health.iter().filter(|h| h.is_well()).count() > 1;
    if count_well {
        lists.push(health_list(&health, true, true));
    }
    lists.extend([
        health_list(&health, false, false),
        health_list(&health, count_well, false),
        health_counts(&health),
    ]);
    let badges = badges(app, is_brief);
    let with = |counters: &Line, list: &Line| {
        let mut line = counters.clone();
        line.right.extend(badges.right.iter().cloned());
        if is_first_run {
            line = line.right(Tone::Dim, "no profile yet");
        }
        for known in app
            .session
            .catalog
            .all
            .iter()
            .filter(|known| known.will_be_used())
        {
            line = line.right(Tone::Moving, &format!("checking {}…", known.profile.name));
        }
        line.right.extend(list.right.iter().cloned());
        line.right(Tone::Plain, " ")
    };
    let [long, medium, short] =
        [Counters::Full, Counters::Words, Counters::Numbers].map(|form| counters(app, form));
    // The names of the profiles say more than how many servers were not checked.
    let named = &lists[..lists.len() - 1];
    let in_words = named.iter().map(|list| with(&long, list));
    let in_words = in_words.chain(named.iter().map(|list| with(&medium, list)));
    let in_words = in_words
        .chain(lists.last().map(|list| with(&medium, list)))
        .filter(|_| !is_brief);
    let choices: Vec<Line> = in_words
        .chain(lists.iter().map(|list| with(&short, list)))
        .collect();
    let tabs = app.tabs();
    let room = |right: &Line| {
        let used: usize = right
            .right
            .iter()
            .map(|piece| text::width(&piece.text))
            .sum();
        usize::from(width).saturating_sub(start.width() + used + 2)
    };
    let all = tabs::fitted(&tabs, usize::MAX, is_brief).line.width();
    // First a form beside which all tabs fit, else one beside which the current tab and its neighbors do.
    let fits = |wanted: usize| choices.iter().find(|right| room(right) >= wanted);
    let right = fits(all)
        .or_else(|| fits(MIN_TABS.min(all)))
        .or(choices.last())
        .cloned()
        .unwrap_or_default();
    // Without a profile there is no list that the first tab could show.
    let tabs = match is_first_run && tabs.len() == 1 {
        true => Fitted::default(),
        false => tabs::fitted(&tabs, room(&right).max(8), is_brief),
    };
    Header { start, tabs, right }
}

/// Returns what waits and what failed, by the rows of the inbox; nothing for zeros. A number that may be higher, because a server
/// was not checked, has a `+`; one with rows that the newest requests did not confirm is dim and has a `?`.
fn counters(app: &App, form: Counters) -> Line {
    let in_words = form != Counters::Numbers;
    let Tally {
        counts,
        stale,
        is_whole,
        is_asking,
        unchecked,
    } = app.session.inbox.tally();
    let mut line = Line::new();
    // The first answers are about to come. A server that takes long counts as not checked.
    if is_asking && unchecked == 0 {
        return line;
    }
    let shown = [
        (
            counts.waiting,
            stale.waiting,
            "◆",
            "waiting",
            (Tone::Waiting, Tone::Waiting),
        ),
        (
            counts.failed,
            stale.failed,
            "✗",
            "failed",
            (Tone::Bad, Tone::Bad),
        ),
        (counts.stuck, stale.stuck, "?", "stuck", STUCK),
    ];
    let gap = |line: &Line| match (line.right.is_empty(), in_words) {
        (true, _) => "",
        (false, true) => "   ",
        (false, false) => "  ",
    };
    for (count, stale, glyph, word, tone) in shown.into_iter().filter(|shown| shown.0 > 0) {
        let (sign, tone) = match (stale > 0, is_whole) {
            (true, _) => ("?", (Tone::Dim, Tone::Dim)),
            (false, false) => ("+", tone),
            (false, true) => ("", tone),
        };
        let text = if in_words {
            format!("{count}{sign} {word}")
        } else {
            format!("{count}{sign}")
        };
        let space = gap(&line);
        line = line
            .right(Tone::Plain, space)
            .right(tone.0, &format!("{glyph} "))
            .right(tone.1, &text);
    }
    // In few columns the signs of the numbers are enough.
    if unchecked > 0 && (form == Counters::Full || line.right.is_empty()) {
        let said = if in_words {
            format!("? {unchecked} not checked")
        } else {
            "◆ ?".to_string()
        };
        let space = gap(&line);
        line = line.right(Tone::Plain, space).right(Tone::Dim, &said);
    }
    if !line.right.is_empty() {
        line = line.right(Tone::Plain, "   ");
    }
    line
}

/// Returns the labels of the profiles that the page is about, and whether they are read-only. Never hidden.
fn badges(app: &App, is_brief: bool) -> Line {
    let mut line = Line::new();
    let server = match (app.focus, app.viewer(), &app.agent.server) {
        (Pane::Stream, Some(viewer), _) => Some(&viewer.server.profile),
        (Pane::Stream, None, Some(open)) => Some(&open.server.profile),
        _ => None,
    };
    let is_about = |profile: &&ProfileState| server.is_none_or(|name| *name == profile.name);
    let profiles: Vec<&ProfileState> = app.session.profiles.iter().filter(is_about).collect();
    let mut said: Vec<String> = Vec::new();
    for (label, is_production) in profiles
        .iter()
        .filter_map(|p| Some((p.label.as_deref()?, p.production)))
    {
        let label = match is_production {
            true if label.to_lowercase().starts_with("prod") => "PROD".to_string(),
            true => text::fit(&text::clean(label).to_uppercase(), 12).into_owned(),
            false => text::fit(&text::clean(label), 12).into_owned(),
        };
        if !said.contains(&label) {
            line = line
                .right(
                    if is_production {
                        Tone::Badge
                    } else {
                        Tone::Strong
                    },
                    &label,
                )
                .right(Tone::Plain, " ");
            said.push(label);
        }
    }
    if !profiles.is_empty() && profiles.iter().all(|profile| profile.read_only) {
        line = line
            .right(Tone::Badge, if is_brief { "RO" } else { "READ-ONLY" })
            .right(Tone::Plain, " ");
    }
    if line.right.is_empty() {
        line
    } else {
        line.right(Tone::Plain, "  ")
    }
}

/// Lists the health of each profile. `count_well` shows only the number of healthy ones; `ages` adds the age of stale data.
fn health_list(health: &[Health], count_well: bool, ages: bool) -> Line {
    let mut line = Line::new();
    let well = health.iter().filter(|h| h.is_well()).count();
    if count_well {
        line = line
            .right(Tone::Dim, &format!("  {well} "))
            .right(Tone::Good, "●");
    }
    for health in health.iter().filter(|h| !(count_well && h.is_well())) {
        line = line
            .right(Tone::Dim, &format!("  {} ", health.tag))
            .right(health.tone, &health.mark);
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
            line = line
                .right(Tone::Dim, &format!("  {count} "))
                .right(tone, mark);
        }
    }
    line
}

pub(crate) fn health(app: &App, profile: &ProfileState) -> Health {
    let (error, responded) = match profile.control_plane {
        true => (profile.problem(), profile.loaded_at.is_some()),
        false => server_health(app, &profile.name),
    };
    let until = |at: jiff::Timestamp| {
        Duration::try_from(at - app.session.now)
            .ok()
            .filter(|wait| !wait.is_zero())
    };
    let limited = profile.limited_until.and_then(until);
    let (mark, tone) = match (error, responded) {
        _ if profile.halted => ("✗ 401, r retries".to_string(), Tone::Bad),
        _ if limited.is_some() => (
            format!("? 429, {}", limited.map(text::age).unwrap_or_default()),
            Tone::Moving,
        ),
        (Some(error), _) => (format!("✗ {}", error.badge()), Tone::Bad),
        _ if asking_since(app, profile).is_some() => {
            let since = asking_since(app, profile)
                .and_then(|at| Duration::try_from(app.session.now - at).ok());
            (
                format!("◐ asking {}", text::age(since.unwrap_or_default())),
                Tone::Moving,
            )
        }
        _ if profile.control_plane && failing_servers(app, profile) > 0 => {
            let number = failing_servers(app, profile);
            (format!("✗ {}", text::counted(number, "server")), Tone::Bad)
        }
        (None, true) if profile.partial.is_some() => ("◐ partial".to_string(), Tone::Moving),
        (None, true) => ("●".to_string(), Tone::Good),
        (None, false) => ("◐".to_string(), Tone::Moving),
    };
    // With a problem, the age of the data and the time of the next attempt are shown.
    let has_problem = error.is_some() || limited.is_some();
    let stale = profile
        .loaded_at
        .filter(|_| has_problem)
        .and_then(|at| Duration::try_from(app.session.now - at).ok());
    let mut age = stale
        .map(|age| format!(" {} old", text::age(age)))
        .unwrap_or_default();
    if let (Some(NextPoll::At(at)), true) = (
        profile.next_poll,
        error.is_some() && limited.is_none() && !profile.halted,
    ) {
        age.push_str(&format!(
            ", retry in {}",
            text::age(until(at).unwrap_or_default())
        ));
    }
    // Profiles that share a region tag are shown by name.
    let is_unique = app
        .session
        .profiles
        .iter()
        .filter(|p| p.tag() == profile.tag())
        .count()
        == 1;
    Health {
        tag: if is_unique {
            profile.tag()
        } else {
            &profile.name
        }
        .to_string(),
        mark,
        tone,
        age,
    }
}

/// Returns when the oldest request of a profile that takes long was sent.
pub(super) fn asking_since(app: &App, profile: &ProfileState) -> Option<jiff::Timestamp> {
    profile
        .asking_since
        .into_iter()
        .chain(app.session.inbox.overdue_since(&profile.name))
        .min()
}

/// Returns how many agent servers of a profile failed at their newest request.
fn failing_servers(app: &App, profile: &ProfileState) -> usize {
    app.session
        .reach
        .of_profile(&profile.name)
        .flatten()
        .count()
}

/// Returns the state of the agent servers of a profile without a control plane: an error, and whether any has responded.
fn server_health<'a>(app: &'a App, profile: &'a str) -> (Option<&'a ApiError>, bool) {
    if let Some(error) = app.session.reach.of_profile(profile).flatten().next() {
        return (Some(error), true);
    }
    // The polled list of threads is newer than the server info, which is requested once.
    if let Some(server) = app
        .agent
        .server
        .as_ref()
        .filter(|s| &*s.server.profile == profile && s.threads.at.is_some())
    {
        // A search that the server refuses says nothing about its health.
        let error = server
            .threads
            .error
            .as_ref()
            .filter(|error| !matches!(error.kind, Kind::Invalid(_)));
        return (error, true);
    }
    let infos = || {
        app.session
            .infos
            .iter()
            .filter(|(server, _)| &*server.profile == profile)
    };
    // A server that has answered since is well.
    let failed = infos()
        .filter(|(server, _)| app.session.reach.of(server).is_none())
        .find_map(|(_, i)| i.error.as_ref());
    let answered = app.session.reach.of_profile(profile).next().is_some();
    (failed, answered || infos().any(|(_, i)| i.value.is_some()))
}

/// Draws the last line: the text being typed, or the key hints with the newest notice at the right.
pub fn footer(app: &App, canvas: &mut Canvas<'_>, area: Area) {
    let mut line = Line::plain(" ");
    if let Some(prompt) = &app.prompt {
        line.push_accent(prompt.sign);
        push_input(&mut line, &prompt.input);
        let is_search = app.overlays.is_empty() && app.pane_context() == Context::Server;
        let saved = app
            .session
            .prefs
            .searches
            .iter()
            .filter(|_| is_search && prompt.input.is_empty());
        let saved: Vec<&str> = saved.map(|(name, _)| name.as_str()).collect();
        if !saved.is_empty() {
            line = line.right(
                Tone::Dim,
                &format!(
                    "saved (:search NAME): {}   ",
                    text::clean(&saved.join(", "))
                ),
            );
        }
        canvas.line(
            area.x,
            area.y,
            area.w,
            &line.right(Tone::Dim, "⏎ keep  Esc cancel "),
        );
        return;
    }
    let keys = hint_line(app, usize::from(area.w));
    canvas.line(area.x, area.y, area.w, &keys);
    let Some(notice) = notice_line(app, area.w.saturating_sub(NOTICE_MARGIN)) else {
        return;
    };
    // The keys keep their place: a notice that doesn't fit beside them is above them, in a row that the layout left free.
    let above = u16::from(app.session.has_notice_row);
    let (room, y) = (area.w.saturating_sub(1), area.y.saturating_sub(above));
    let width = (notice.width() as u16).min(room);
    let x = area.x + room - width;
    if above > 0 {
        // A page that leaves no row free has a style there, to which that of the notice would be added.
        canvas.clear(Area {
            x: x.saturating_sub(1),
            y,
            w: width + 2,
            h: 1,
        });
    }
    canvas.pieces(x, y, width, &notice.left);
}

/// Returns whether the notice is drawn above the footer.
pub(super) fn has_notice_above(app: &App) -> bool {
    if app.notice().is_none() {
        return false;
    }
    let width = app.session.size.0;
    let notice =
        notice_line(app, width.saturating_sub(NOTICE_MARGIN)).filter(|_| app.prompt.is_none());
    let keys = || hint_line(app, usize::from(width)).width();
    notice.is_some_and(|notice| keys() + notice.width() + 2 > usize::from(width))
}

/// Columns that a notice leaves free: one at each edge of the screen.
const NOTICE_MARGIN: u16 = 2;

/// Returns the first line of the newest notice, in at most `width` columns: plain for the answer to a key, with a glyph for news from elsewhere.
fn notice_line(app: &App, width: u16) -> Option<Line> {
    let notice = app.notice()?;
    let first = notice.text.lines().next().unwrap_or("");
    let mut line = Line::new();
    match notice.news {
        Some(role) => line.push(tones(role).0, &format!("{} ", role.glyph())),
        None if notice.error => line.push_bad("✗ "),
        None => {}
    }
    let key = app.session.key("app.notices");
    let room = usize::from(width).saturating_sub(line.width());
    let is_cut = text::width(&text::clean(first)) > room || notice.text.lines().count() > 1;
    let hint = match (notice.news, is_cut) {
        (Some(_), _) => format!("   {key} open"),
        (None, true) => format!("   {key} details"),
        (None, false) => String::new(),
    };
    line.push_plain(&text::fit(
        &text::clean(first),
        room.saturating_sub(text::width(&hint)),
    ));
    line.push_dim(&hint);
    Some(line)
}

/// Returns the key hints that fit. The last two, commands and help, stay.
fn hint_line(app: &App, width: usize) -> Line {
    let mut line = Line::plain(" ");
    let mut all = hints(app);
    let room = |all: &[(String, &str)]| {
        all.iter()
            .map(|(key, label)| text::width(key) + label.len() + 3)
            .sum::<usize>()
    };
    while room(&all) > width && all.len() > 1 {
        all.remove(all.len().saturating_sub(3).min(all.len() - 2));
    }
    for (n, (key, label)) in all.into_iter().enumerate() {
        line.push_plain(if n > 0 { "  " } else { "" });
        line.push(Tone::Key, &key);
        line.push_dim(&format!(" {label}"));
    }
    line
}

/// Appends the text of an input field with its cursor.
fn push_input(line: &mut Line, input: &TextInput) {
    let (before, after) = input.around_cursor();
    line.push_strong(&text::visible(before));
    line.push_accent("▏");
    line.push_strong(&text::visible(after));
}
