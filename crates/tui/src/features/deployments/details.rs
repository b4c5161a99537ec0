//! Draws the details of the selected revision: why it failed, or what it is and what changed.

use super::Deployments;
use super::list::Row;
use super::revisions::History;
use super::revisions_view::{
    adds_to_total, phase_word, phases_line, role_of, status_message, took,
};
use super::server_pane::UNPOLLED;
use super::view::{about_state, is_unpolled, phase_line, revision_age};
use crate::session::Cx;
use crate::session::msg::RevisionRef;
use crate::session::profile::server_software;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone, wrap};
use crate::widgets::status::STUCK;
use crate::widgets::strip::time_bars;
use crate::widgets::theme::deployment_badge;
use runtail_api::ApiError;
use runtail_core::model::{FailureCard, LogStep, Phase, Revision, compare, without_natural};
use runtail_core::text;
use std::time::Duration;

/// Explanations that are kept.
pub const MAX_CARDS: usize = 50;
/// Maximum lines of an error.
const MAX_ERROR: usize = 4;
/// Cells of the longest bar.
const BAR: usize = 12;
/// The sentence about a deployment that no longer exists.
pub(super) const GONE: &str = "This deployment was deleted.";
/// Columns of the names on the left.
const NAMES: usize = 9;

impl Deployments {
    /// Returns the revision that the details are about: the selected one of the shown revisions, else the newest.
    pub(super) fn detailed<'a>(&'a self, row: &'a Row) -> Option<&'a Revision> {
        let history = self.history();
        let selected = self.revision_table.selected();
        let listed = history.and_then(|h| {
            h.revisions
                .iter()
                .find(|one| Some(one.id.as_str()) == selected)
        });
        listed
            .or_else(|| history.and_then(|h| h.revisions.first()))
            .or(row.newest.as_ref())
    }

    /// Returns the failed revision that is to be explained beside the list, unless it was.
    pub(super) fn unexplained(&self) -> Option<RevisionRef> {
        let row = self.list.selected().filter(|row| !row.gone)?;
        let revision = self
            .detailed(row)
            .filter(|revision| revision.phase() == Phase::Failed)?;
        let of = Deployments::revision_ref(row, &revision.id)?;
        (!self.cards.contains_key(&of)).then_some(of)
    }

    /// Stores the explanation of a revision.
    pub(super) fn on_card(&mut self, of: RevisionRef, card: Result<Box<FailureCard>, ApiError>) {
        while self.cards.len() >= MAX_CARDS {
            self.cards.pop_first();
        }
        self.cards.insert(of, card);
    }

    fn card(&self, row: &Row, revision: &Revision) -> Option<&Result<Box<FailureCard>, ApiError>> {
        self.cards
            .get(&Deployments::revision_ref(row, &revision.id)?)
    }
}

/// Returns the title.
pub(super) fn title(d: &Deployments, _cx: &Cx<'_>) -> Line {
    let Some(revision) = d.list.selected().and_then(|row| d.detailed(row)) else {
        return Line::dim("Details");
    };
    match revision.phase() {
        Phase::Failed => Line::dim(&format!("Why {}", revision.status)),
        _ => Line::dim(&format!("Revision {}", text::short_id(&revision.id))),
    }
}

/// Draws the pane.
pub(super) fn details(d: &Deployments, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let area = cx.area;
    let width = usize::from(area.w.saturating_sub(2));
    let Some(row) = d.list.selected() else { return };
    let Some(revision) = d.detailed(row) else {
        return;
    };
    let mut lines = match revision.phase() {
        Phase::Failed => failure(d, cx, row, revision, width),
        _ => facts(d, cx, row, revision, width),
    };
    let height = usize::from(area.h);
    lines.truncate(height.saturating_sub(1));
    lines.push(keys(cx, row, revision, width));
    if let Some(Ok(card)) = d.card(row, revision) {
        lines.extend(log_end(card, height.saturating_sub(lines.len()), width));
    }
    for (n, line) in lines.iter().enumerate().take(height) {
        canvas.line(
            area.x + 1,
            area.y + n as u16,
            area.w.saturating_sub(2),
            line,
        );
    }
}

/// Returns why a revision failed, what serves instead, and where the time went.
fn failure(
    d: &Deployments,
    cx: &Cx<'_>,
    row: &Row,
    revision: &Revision,
    width: usize,
) -> Vec<Line> {
    let mut lines = Vec::new();
    match d.card(row, revision) {
        Some(Ok(card)) => {
            lines.extend(cause(card, revision, width));
            if let Some(text) = instead(d, card) {
                lines.extend(
                    wrap(&text, width)
                        .iter()
                        .take(3)
                        .map(|part| Line::plain(part)),
                );
            }
        }
        Some(Err(error)) => lines.push(Line::plain(&format!(
            "Couldn't load the log: {}.",
            error.badge()
        ))),
        None => lines.push(Line::dim("Reading the log…")),
    }
    let about = about_state(cx, row);
    lines.extend(
        about
            .iter()
            .flat_map(|about| wrap(about, width))
            .map(|part| Line::plain(&part)),
    );
    let phases = d
        .history()
        .map(|history| (history, history.phases(&revision.id, jiff::Timestamp::MAX)));
    if let Some((history, phases)) = phases {
        let steps = d
            .card(row, revision)
            .and_then(|card| card.as_ref().ok())
            .map_or(&[][..], |card| &card.times.steps);
        let profile = cx.session.profiles.get(row.profile);
        lines.extend(time_line(
            took(cx, profile, history, revision),
            &phases,
            steps,
            width,
        ));
    }
    lines.extend(threads(row));
    lines
}

/// Returns the first error of the log, and where it is.
fn cause(card: &FailureCard, revision: &Revision, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let Some(error) = &card.error else {
        let said = card
            .message
            .as_deref()
            .or_else(|| status_message(revision))
            .unwrap_or(&card.meaning);
        lines.extend(error_lines(said, width));
        let unread = card.log.as_ref().and_then(|log| log.unread.as_deref());
        lines.extend(unread.map(|why| Line::dim(&format!("  the log could not be read: {why}"))));
        return lines;
    };
    // Some tools draw around the lines of an error.
    let plain = |line: &String| {
        line.trim_start_matches(|c: char| c.is_whitespace() || "╰─▶│".contains(c))
            .to_string()
    };
    let said: Vec<String> = std::iter::once(&error.text)
        .chain(&error.more)
        .map(plain)
        .collect();
    lines.extend(error_lines(&said.join(" "), width));
    let (word, all) = card
        .log
        .as_ref()
        .map_or(("build", error.line), |log| (log.log.word(), log.lines));
    lines.push(Line::dim(&format!(
        "  {word} log, line {} of {}",
        error.line,
        text::count(all as u64)
    )));
    lines
}

/// Returns the last lines of the log under a rule, as many as fit.
fn log_end(card: &FailureCard, room: usize, width: usize) -> Vec<Line> {
    let Some(log) = card
        .log
        .as_ref()
        .filter(|log| room >= 4 && !log.tail.is_empty())
    else {
        return Vec::new();
    };
    let title = format!("── end of the {} log ", log.log.word());
    let rest = width.saturating_sub(text::width(&title));
    let mut lines = vec![
        Line::new(),
        Line::dim(&format!("{title}{}", "─".repeat(rest))),
    ];
    let shown = log.tail.len().min(room - 2);
    let tail = log.tail[log.tail.len() - shown..].iter();
    lines.extend(tail.map(|line| Line::dim(&text::fit(line, width))));
    lines
}

fn error_lines(said: &str, width: usize) -> Vec<Line> {
    // Some tools begin an error with a mark of their own.
    let said = said.trim_start_matches(['×', '✗', ' ']);
    let mut parts = wrap(said, width.saturating_sub(2));
    if parts.len() > MAX_ERROR {
        parts.truncate(MAX_ERROR);
        parts[MAX_ERROR - 1].push('…');
    }
    let line = |(n, part): (usize, &String)| match n {
        0 => Line::bad("✗ ").with(Tone::Error, part),
        _ => Line::plain("  ").with(Tone::Error, part),
    };
    parts.iter().enumerate().map(line).collect()
}

/// Returns what serves although the newest revision failed, and what changed since.
fn instead(d: &Deployments, card: &FailureCard) -> Option<String> {
    // What an unusual status of the deployment means is shown beside it.
    let is_usual = d.list.selected().is_none_or(|row| row.state().is_usual());
    let Some(good) = &card.last_good else {
        return card.service.clone().filter(|_| is_usual);
    };
    let is_serving = d.history().is_some_and(|history| {
        let row = d.list.selected().and_then(|row| row.deployment.as_ref());
        let roles = history.roles(row, None);
        roles.of(&good.id, "DEPLOYED") == runtail_core::model::RevisionRole::Serving
            && !roles.is_assumed()
    });
    let name = good
        .made_from
        .clone()
        .unwrap_or_else(|| text::short_id(&good.id));
    let state = if is_serving {
        "is still serving"
    } else {
        "was deployed before"
    };
    let changed: Vec<&str> = good
        .changes
        .iter()
        .map(|change| short_path(&change.path))
        .collect();
    Some(match changed.is_empty() {
        true => format!("{name} {state}."),
        false => format!("{name} {state}. Changed since: {}", changed.join(", ")),
    })
}

/// Returns the last part of a field's path: `repo_commit_sha` becomes `commit`.
fn short_path(path: &str) -> &str {
    match path.rsplit(['.', '/']).next().unwrap_or(path) {
        "repo_commit_sha" => "commit",
        "repo_ref" => "branch",
        "image_uri" => "image",
        "langgraph_config_path" => "graph config",
        last => last,
    }
}

/// Returns the total time and a bar for each observed status, else for each step of the build log.
fn time_line(
    total: Option<String>,
    phases: &[(String, Duration, bool)],
    steps: &[LogStep],
    width: usize,
) -> Option<Line> {
    let mut line = Line::new();
    if let Some(total) = total {
        line.push_dim(&format!("{:<NAMES$}", "took"));
        line.push_plain(&format!("{total}   "));
    }
    let times: Vec<(String, Duration, String)> = match phases {
        [] => steps
            .iter()
            .map(|step| (step.name.clone(), step.spent, text::duration(step.spent)))
            .collect(),
        _ => phases
            .iter()
            .map(|(status, spent, from_start)| {
                let at_least = if *from_start { "" } else { "≥" };
                (
                    phase_word(status),
                    *spent,
                    format!("{at_least}{}", text::duration(*spent)),
                )
            })
            .collect(),
    };
    let room = width.saturating_sub(line.width());
    line.left.extend(time_bars(&times, BAR, room).left);
    (!line.left.is_empty()).then_some(line)
}

/// Returns what a revision is: its state, source, duration, and what changed since the one before it.
fn facts(d: &Deployments, cx: &Cx<'_>, row: &Row, revision: &Revision, width: usize) -> Vec<Line> {
    let profile = cx.session.profiles.get(row.profile);
    let age = profile
        .map(|profile| revision_age(profile, revision, cx.session.now))
        .unwrap_or_default();
    let mut first = phase_line(revision).with_dim(&format!(" {age} ago"));
    let mut lines = Vec::new();
    let about = if row.gone {
        Some(GONE.to_string())
    } else {
        about_state(cx, row)
    };
    let name = |name: &str| Line::dim(&format!("{name:<NAMES$}"));
    let Some(history) = d.history() else {
        return vec![first];
    };
    let (role, tone) = role_of(history, revision, d, cx);
    if !role.is_empty() && role != "-" {
        first.push_dim(" · ");
        first.push(tone, role);
    }
    lines.push(first);
    lines.extend(
        about
            .iter()
            .flat_map(|about| wrap(about, width))
            .map(|part| Line::plain(&part)),
    );
    if let Some(message) = status_message(revision) {
        lines.extend(
            wrap(message, width)
                .iter()
                .take(2)
                .map(|part| Line::plain(part)),
        );
    }
    let made_from = revision.source_revision_config.made_from();
    lines.extend(made_from.map(|from| name("from").with_plain(&from)));
    let phases = history.phases(&revision.id, cx.session.now);
    if !revision.phase().is_final() {
        let mut line = name("so far");
        if let Some(took) = took(cx, profile, history, revision) {
            line.push_plain(&format!("{took}   "));
        }
        if adds_to_total(&phases, revision) {
            line.left
                .extend(phases_line(&phases, revision).left.into_iter().skip(1));
        }
        lines.push(line);
    } else if let Some(times) = time_line(took(cx, profile, history, revision), &phases, &[], width)
    {
        lines.push(times);
    }
    lines.extend(threads(row));
    lines.extend(changed(history, revision).map(|text| name("changed").with_plain(&text)));
    if let Some(deployment) = &row.deployment {
        let parts = [
            deployment.deployment_type.as_deref(),
            deployment.source.as_deref(),
        ];
        let parts: Vec<&str> = parts.into_iter().flatten().collect();
        if !parts.is_empty() {
            lines.push(name("type").with_plain(&parts.join(" · ")));
        }
    }
    if let Some(url) = &row.url {
        let info = row
            .server(&cx.session.profiles)
            .and_then(|server| cx.session.infos.get(&server));
        let software = info
            .and_then(|info| info.value.as_ref())
            .map(server_software)
            .unwrap_or_default();
        let software = if software.is_empty() {
            software
        } else {
            format!("{software} · ")
        };
        lines.push(name("server").with_plain(&software).with_dim(url));
    }
    lines.push(name("id").with_dim(&revision.id));
    lines
}

/// Returns the threads of a deployment that need a person, in the signs of the header; `None` without any.
fn threads(row: &Row) -> Option<Line> {
    let counts = row.counts;
    let mut line = Line::dim(&format!("{:<NAMES$}", "threads"));
    let shown = [
        (
            counts.waiting,
            "◆",
            "waiting",
            (Tone::Waiting, Tone::Waiting),
        ),
        (counts.failed, "✗", "failed", (Tone::Bad, Tone::Bad)),
        (counts.stuck, "?", "stuck", STUCK),
    ];
    let mut gap = "";
    for (count, glyph, word, (of_glyph, of_word)) in shown.into_iter().filter(|shown| shown.0 > 0) {
        line.push_plain(gap);
        line.push(of_glyph, &format!("{glyph} "));
        line.push(of_word, &format!("{} {word}", text::count(count as u64)));
        gap = "   ";
    }
    (!gap.is_empty()).then_some(line)
}

/// Returns the fields in which a revision differs from the one before it.
fn changed(history: &History, revision: &Revision) -> Option<String> {
    let before = history
        .revisions
        .iter()
        .skip_while(|one| one.id != revision.id)
        .nth(1)?;
    let [a, b] = [before, revision].map(|one| serde_json::to_value(one).unwrap_or_default());
    let changes = without_natural(compare(&a, &b));
    let fields: Vec<&str> = changes
        .iter()
        .map(|change| short_path(&change.path))
        .collect();
    let since = before
        .source_revision_config
        .made_from()
        .unwrap_or_else(|| text::short_id(&before.id));
    Some(match fields.is_empty() {
        true => format!("nothing recorded since {since}"),
        false => format!("{} since {since}", fields.join(", ")),
    })
}

/// Returns the keys that help with a revision.
fn keys(cx: &Cx<'_>, row: &Row, revision: &Revision, width: usize) -> Line {
    let ids: &[(&str, &str)] = match revision.phase() {
        Phase::Failed => &[
            ("revisions.build_log", "build log"),
            ("revisions.rollback", "roll back"),
            ("revisions.redeploy", "redeploy"),
            ("revisions.compare", "compare"),
            ("revisions.explain", "explain"),
        ],
        phase if phase.is_final() => &[
            ("revisions.logs", "logs"),
            ("revisions.build_log", "build log"),
            ("revisions.redeploy", "redeploy"),
            ("revisions.compare", "compare"),
        ],
        _ => &[
            ("revisions.build_log", "build log"),
            ("revisions.watch", "notify me"),
            ("revisions.interrupt", "interrupt"),
            ("revisions.logs", "logs"),
        ],
    };
    let mut line = Line::new();
    let has_log = |id: &str| id != "revisions.build_log" || row.has_builds();
    for (id, label) in ids.iter().filter(|(id, _)| has_log(id)) {
        let key = cx.session.hint_key(id);
        // Enter also explains; beside the list it opens the threads.
        let Some(key) = key.map(|key| {
            if *id == "revisions.explain" {
                cx.session.key("deployments.explain")
            } else {
                key
            }
        }) else {
            continue;
        };
        let gap = if line.left.is_empty() { "" } else { "   " };
        if line.width() + gap.len() + text::width(&key) + 1 + label.len() > width {
            break;
        }
        line.push_plain(gap);
        line.push(Tone::Key, &key);
        line.push_dim(&format!(" {label}"));
    }
    line
}

/// Draws the lines about the selected deployment below a narrow list.
pub(super) fn summary(d: &Deployments, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let area = cx.area;
    let Some(row) = d.list.selected() else { return };
    let width = usize::from(area.w.saturating_sub(2));
    let mut lines = vec![summary_rule(cx, row, width)];
    match d.detailed(row) {
        _ if row.deployment.is_none() => {
            let info = row
                .server(&cx.session.profiles)
                .and_then(|server| cx.session.infos.get(&server));
            let said = match info.map(|info| (&info.value, &info.error)) {
                Some((_, Some(error))) => Line::bad("✗ ").with_plain(&error.badge()),
                Some((Some(info), None)) => Line::plain(&server_software(info)),
                None if is_unpolled(cx, row) => Line::dim(UNPOLLED),
                _ => Line::dim("Checking the server…"),
            };
            lines.extend([said, Line::dim(row.url.as_deref().unwrap_or_default())]);
        }
        Some(revision) if revision.phase() == Phase::Failed => {
            let whole = failure(d, cx, row, revision, usize::MAX / 2)
                .into_iter()
                .next()
                .unwrap_or_default();
            let mut rest = width;
            let mut first = Line::new();
            for piece in &whole.left {
                first.push(piece.tone, &text::fit(&piece.text, rest));
                rest = width.saturating_sub(first.width());
            }
            lines.push(first);
            let instead = match d.card(row, revision) {
                Some(Ok(card)) => instead(d, card).map(|text| {
                    text.split_once(". ")
                        .map_or(text.clone(), |(a, _)| a.into())
                }),
                _ => None,
            };
            let keys = keys(cx, row, revision, width / 2 + 8);
            let room = width.saturating_sub(keys.width() + 4);
            let mut line = Line::plain(&format!(
                "  {}",
                text::fit(&instead.unwrap_or_default(), room)
            ));
            line.right = keys.left;
            lines.push(line);
        }
        Some(_) if row.gone || !row.state().is_usual() => {
            let about = if row.gone {
                Some(GONE.to_string())
            } else {
                about_state(cx, row)
            };
            let parts = about.iter().flat_map(|about| wrap(about, width)).take(2);
            lines.extend(parts.map(|part| Line::plain(&part)));
        }
        Some(_) => {
            let revisions = d
                .history()
                .into_iter()
                .flat_map(|history| history.revisions.iter().take(2));
            for revision in revisions {
                let profile = cx.session.profiles.get(row.profile);
                let age = profile
                    .map(|profile| revision_age(profile, revision, cx.session.now))
                    .unwrap_or_default();
                let from = revision
                    .source_revision_config
                    .made_from()
                    .unwrap_or_default();
                lines.push(
                    phase_line(revision)
                        .with_plain(&format!("  {from}"))
                        .right(Tone::Dim, &age),
                );
            }
        }
        None => {}
    }
    for (n, line) in lines.iter().enumerate().take(area.h.into()) {
        canvas.line_for_right(
            area.x + 1,
            area.y + n as u16,
            area.w.saturating_sub(2),
            line,
        );
    }
}

fn state_word(row: &Row) -> String {
    let status = row
        .deployment
        .as_ref()
        .and_then(|deployment| deployment.status.as_deref());
    if row.gone {
        "gone".into()
    } else {
        deployment_badge(status).2
    }
}

/// Returns the rule above the summary: the name and the state of the deployment.
fn summary_rule(cx: &Cx<'_>, row: &Row, width: usize) -> Line {
    let mut line = Line::dim("── ").with_strong(&row.name);
    if row.is_serverless() {
        line.push_dim(" · serverless");
    }
    if row.gone || !row.state().is_usual() {
        line.push_dim(" · ");
        line.push_plain(&state_word(row));
    } else if let Some(revision) = &row.newest {
        let profile = cx.session.profiles.get(row.profile);
        let age = profile
            .map(|profile| revision_age(profile, revision, cx.session.now))
            .unwrap_or_default();
        let tone = if revision.phase() == Phase::Failed {
            Tone::Bad
        } else {
            Tone::Plain
        };
        line.push_dim(" · ");
        line.push(tone, &revision.status);
        line.push_dim(&format!(" {age} ago"));
    }
    if row.counts.stuck > 0 {
        line.push_dim(" · ");
        line.push(STUCK.0, "? ");
        line.push(
            STUCK.1,
            &format!("{} stuck", text::count(row.counts.stuck as u64)),
        );
    }
    let rest = width.saturating_sub(line.width() + 1);
    line.push_dim(&format!(" {}", "─".repeat(rest)));
    line
}
