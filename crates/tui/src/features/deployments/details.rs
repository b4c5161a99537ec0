//! Draws the details of the selected revision: why it failed, or what it is and what changed.

use super::Deployments;
use super::list::Row;
use super::revisions::RevisionHistory;
use super::revisions_view::{adds_to_total, phase_word, phases_line};
use super::server_pane::UNPOLLED;
use super::shown_row::{ShownRow, made_from, phase_line, status_message};
use crate::session::Cx;
use crate::session::msg::RevisionRef;
use crate::session::profile::server_software;
use crate::session::row_lines::keys_line;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone, wrap};
use crate::widgets::status::STUCK;
use crate::widgets::strip::time_bars;
use runtail_api::ApiError;
use runtail_core::model::{
    FailureCard, LogStep, Phase, Revision, RevisionRole, compare, without_natural,
};
use runtail_core::text;
use std::time::Duration;

/// Explanations that are kept.
pub const MAX_CARDS: usize = 50;
/// Maximum lines of an error.
const MAX_ERROR: usize = 4;
/// Cells of the longest bar.
const BAR: usize = 12;
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

    /// Returns the title of the details.
    pub fn details_title(&self) -> Line {
        let Some(revision) = self.list.selected().and_then(|row| self.detailed(row)) else {
            return Line::dim("Details");
        };
        Line::dim(&match revision.phase() {
            Phase::Failed => format!("Why {}", revision.status),
            _ => format!("Revision {}", text::short_id(&revision.id)),
        })
    }

    /// Draws the details of the selected revision.
    pub fn view_details(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
        let Some(shown) = ShownRow::selected(self, cx) else {
            return;
        };
        let Some(revision) = self.detailed(shown.row) else {
            return;
        };
        let (width, height) = inner_size(cx);
        let mut lines = match revision.phase() {
            Phase::Failed => failure(shown, revision, width),
            _ => facts(shown, revision, width),
        };
        lines.truncate(height.saturating_sub(1));
        lines.push(keys(shown, revision, width));
        if let Some(Ok(card)) = shown.card(revision) {
            lines.extend(log_end(card, height.saturating_sub(lines.len()), width));
        }
        draw(&lines, cx, canvas);
    }

    /// Draws the lines about the selected deployment below a narrow list.
    pub fn view_summary(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
        if let Some(shown) = ShownRow::selected(self, cx) {
            draw(&summary(shown, inner_size(cx).0), cx, canvas);
        }
    }
}

/// Returns the columns and the lines of text that fit into the area.
fn inner_size(cx: &Cx<'_>) -> (usize, usize) {
    (cx.area.w.saturating_sub(2).into(), cx.area.h.into())
}

fn draw(lines: &[Line], cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let (area, width) = (cx.area, cx.area.w.saturating_sub(2));
    for (n, line) in lines.iter().enumerate().take(area.h.into()) {
        canvas.line_for_right(area.x + 1, area.y + n as u16, width, line);
    }
}

/// Wraps a sentence into plain lines.
fn said(text: &str, width: usize) -> impl Iterator<Item = Line> {
    let parts = wrap(text, width).into_iter();
    parts.map(|part| Line::plain(&part))
}

/// Returns why a revision failed, what serves instead, and where the time went.
fn failure(shown: ShownRow<'_>, revision: &Revision, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let card = shown.card(revision);
    match card {
        Some(Ok(card)) => {
            lines.extend(cause(card, revision, width));
            let instead = instead(shown, card).unwrap_or_default();
            lines.extend(
                said(&instead, width)
                    .take(3)
                    .filter(|_| !instead.is_empty()),
            );
        }
        Some(Err(error)) => {
            let why = format!("Couldn't load the log: {}.", error.badge());
            lines.push(Line::plain(&why));
        }
        None => lines.push(Line::dim("Reading the log…")),
    }
    lines.extend(shown.about().iter().flat_map(|about| said(about, width)));
    if let Some(history) = shown.history() {
        let phases = history.phases(&revision.id, jiff::Timestamp::MAX);
        let steps = card.and_then(|card| card.as_ref().ok());
        let steps = steps.map_or(&[][..], |card| &card.times.steps);
        lines.extend(time_line(shown.took(revision), &phases, steps, width));
    }
    lines.extend(threads(shown.row));
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
        lines.extend(unread.map(|why| Line::dim(&format!("  couldn't read the log: {why}"))));
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
    let title = format!("── end of {} log ", log.log.word());
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
fn instead(shown: ShownRow<'_>, card: &FailureCard) -> Option<String> {
    let Some(good) = &card.last_good else {
        // What an unusual status of the deployment means is shown beside it.
        let is_usual = shown.row.state().is_usual();
        return card.service.clone().filter(|_| is_usual);
    };
    let is_serving = shown.history().is_some_and(|history| {
        let roles = history.roles(shown.row.deployment.as_ref(), None);
        roles.of(&good.id, "DEPLOYED") == RevisionRole::Serving && !roles.is_assumed()
    });
    let name = good
        .made_from
        .clone()
        .unwrap_or_else(|| text::short_id(&good.id));
    let state = match is_serving {
        true => "still serves",
        false => "was deployed before",
    };
    let changed = field_names(good.changes.iter().map(|change| &*change.path));
    Some(match changed.is_empty() {
        true => format!("{name} {state}."),
        false => format!("{name} {state}. Changed since: {changed}"),
    })
}

/// Joins the names of fields.
fn field_names<'a>(paths: impl Iterator<Item = &'a str>) -> String {
    paths.map(short_path).collect::<Vec<_>>().join(", ")
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
    let mut line = match total {
        Some(total) => fact("took").with_plain(&format!("{total}   ")),
        None => Line::new(),
    };
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

/// Begins a line with the name of a fact.
fn fact(name: &str) -> Line {
    Line::dim(&format!("{name:<NAMES$}"))
}

/// Returns what a revision is: its state, source, duration, and what changed since the one before it.
fn facts(shown: ShownRow<'_>, revision: &Revision, width: usize) -> Vec<Line> {
    let row = shown.row;
    let mut first = phase_line(revision).with_dim(&format!(" {} ago", shown.age(revision)));
    let Some(history) = shown.history() else {
        return vec![first];
    };
    let (role, tone) = shown.role(revision);
    if !role.is_empty() && role != "-" {
        first.push_dim(" · ");
        first.push(tone, role);
    }
    let mut lines = vec![first];
    lines.extend(shown.about().iter().flat_map(|about| said(about, width)));
    if let Some(message) = status_message(revision) {
        lines.extend(said(message, width).take(2));
    }
    let made_from = revision.source_revision_config.made_from();
    lines.extend(made_from.map(|from| fact("from").with_plain(&from)));
    let phases = history.phases(&revision.id, shown.cx.session.now);
    let took = shown.took(revision);
    if revision.phase().is_final() {
        lines.extend(time_line(took, &phases, &[], width));
    } else {
        let mut line = fact("so far");
        if let Some(took) = took {
            line.push_plain(&format!("{took}   "));
        }
        if adds_to_total(&phases, revision) {
            line.left
                .extend(phases_line(&phases, revision).left.into_iter().skip(1));
        }
        lines.push(line);
    }
    lines.extend(threads(row));
    lines.extend(changed(history, revision).map(|text| fact("changed").with_plain(&text)));
    if let Some(deployment) = &row.deployment {
        let parts = [&deployment.deployment_type, &deployment.source];
        let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        if !parts.is_empty() {
            lines.push(fact("type").with_plain(&parts.join(" · ")));
        }
    }
    if let Some(url) = &row.url {
        let info = shown.info().and_then(|info| info.value.as_ref());
        let software = match info.map(server_software) {
            Some(software) if !software.is_empty() => format!("{software} · "),
            _ => String::new(),
        };
        lines.push(fact("server").with_plain(&software).with_dim(url));
    }
    lines.push(fact("id").with_dim(&revision.id));
    lines
}

/// Returns the threads of a deployment that need a person, in the signs of the header; `None` without any.
fn threads(row: &Row) -> Option<Line> {
    let counts = row.counts;
    let mut line = fact("threads");
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
fn changed(history: &RevisionHistory, revision: &Revision) -> Option<String> {
    let before = history
        .revisions
        .iter()
        .skip_while(|one| one.id != revision.id)
        .nth(1)?;
    let [a, b] = [before, revision].map(|one| serde_json::to_value(one).unwrap_or_default());
    let changes = without_natural(compare(&a, &b));
    let fields = field_names(changes.iter().map(|change| &*change.path));
    let since = made_from(before);
    Some(match fields.is_empty() {
        true => format!("nothing since {since}"),
        false => format!("{fields} since {since}"),
    })
}

/// Returns the keys that help with a revision.
fn keys(shown: ShownRow<'_>, revision: &Revision, width: usize) -> Line {
    let build_log = ("revisions.build_log", "build log");
    let (redeploy, compare) = (
        ("revisions.redeploy", "redeploy"),
        ("revisions.compare", "compare"),
    );
    let mut keys = match revision.phase() {
        Phase::Failed => vec![
            build_log,
            ("revisions.rollback", "roll back"),
            redeploy,
            compare,
            // Enter also explains; beside the list it opens the threads.
            ("deployments.explain", "explain"),
        ],
        phase if phase.is_final() => vec![("revisions.logs", "logs"), build_log, redeploy, compare],
        _ => vec![
            build_log,
            ("revisions.watch", "notify"),
            ("revisions.interrupt", "interrupt"),
            ("revisions.logs", "logs"),
        ],
    };
    keys.retain(|key| *key != build_log || shown.row.has_builds());
    keys_line(&keys, shown.cx.session, width)
}

/// Returns the lines about a deployment below a narrow list.
fn summary(shown: ShownRow<'_>, width: usize) -> Vec<Line> {
    let (d, row) = (shown.d, shown.row);
    let mut lines = vec![summary_rule(shown, width)];
    match d.detailed(row) {
        _ if row.deployment.is_none() => {
            lines.push(match shown.info().map(|info| (&info.value, &info.error)) {
                Some((_, Some(error))) => Line::bad("✗ ").with_plain(&error.badge()),
                Some((Some(info), None)) => Line::plain(&server_software(info)),
                None if shown.is_unpolled() => Line::dim(UNPOLLED),
                _ => Line::dim("Checking…"),
            });
            lines.push(Line::dim(row.url.as_deref().unwrap_or_default()));
        }
        Some(revision) if revision.phase() == Phase::Failed => {
            let whole = failure(shown, revision, usize::MAX / 2).into_iter().next();
            lines.push(whole.unwrap_or_default().cut(width));
            let instead = match shown.card(revision) {
                Some(Ok(card)) => instead(shown, card).unwrap_or_default(),
                _ => String::new(),
            };
            let instead = instead
                .split_once(". ")
                .map_or(&*instead, |(first, _)| first);
            let keys = keys(shown, revision, width / 2 + 8);
            let room = width.saturating_sub(keys.width() + 4);
            let mut line = Line::plain(&format!("  {}", text::fit(instead, room)));
            line.right = keys.left;
            lines.push(line);
        }
        Some(_) if shown.is_unusual() => {
            let about = shown.about();
            lines.extend(about.iter().flat_map(|about| said(about, width)).take(2));
        }
        Some(_) => {
            let revisions = shown.history().into_iter().flat_map(|h| &h.revisions);
            lines.extend(revisions.take(2).map(|revision| {
                let from = revision.source_revision_config.made_from();
                phase_line(revision)
                    .with_plain(&format!("  {}", from.unwrap_or_default()))
                    .right(Tone::Dim, &shown.age(revision))
            }));
        }
        None => {}
    }
    lines
}

/// Returns the rule above the summary: the name and the state of the deployment.
fn summary_rule(shown: ShownRow<'_>, width: usize) -> Line {
    let row = shown.row;
    let mut line = Line::dim("── ").with_strong(&row.name);
    if row.is_serverless() {
        line.push_dim(" · serverless");
    }
    if shown.is_unusual() {
        let word = if row.gone {
            "gone".into()
        } else {
            shown.badge().2
        };
        line = line.with_dim(" · ").with_plain(&word);
    } else if let Some(revision) = &row.newest {
        let tone = match shown.has_failed() {
            true => Tone::Bad,
            false => Tone::Plain,
        };
        line = line.with_dim(" · ").with(tone, &revision.status);
        line.push_dim(&format!(" {} ago", shown.age(revision)));
    }
    if row.counts.stuck > 0 {
        let stuck = format!("{} stuck", text::count(row.counts.stuck as u64));
        line = line
            .with_dim(" · ")
            .with(STUCK.0, "? ")
            .with(STUCK.1, &stuck);
    }
    let rest = width.saturating_sub(line.width() + 1);
    line.with_dim(&format!(" {}", "─".repeat(rest)))
}
