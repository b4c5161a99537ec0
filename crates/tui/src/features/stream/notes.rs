//! The lines above a stream: their number, and the banner and notes among them.

use super::StreamState;
use super::layout::{Half, halves};
use super::viewer::{ConnectionState, Viewer, head};
use super::views;
use super::views::View;
use crate::session::{Cx, GUTTER};
use crate::widgets::area::below;
use crate::widgets::line::{Line, Tone};
use runtail_core::model::ThreadStatus;
use runtail_stream::{End, Outcome};

/// The rows that a head always has: the breadcrumb with the status, and the view tabs with the connection.
pub(super) const FIXED_ROWS: u16 = 2;

/// Returns the number of lines above a stream's rows.
pub(super) fn head_height(viewer: &Viewer, cx: &Cx<'_>) -> u16 {
    let banner = head::banner_tone(viewer.shown_status()).is_some();
    // The width does not affect whether there is a note.
    let note = note(viewer, cx, 0).is_some();
    FIXED_ROWS + u16::from(banner) + u16::from(note)
}

impl StreamState {
    /// Returns the views of the stream with the focus, with their text columns and lines.
    pub(super) fn windows(&self, cx: &Cx<'_>) -> Vec<(View, usize, usize)> {
        let window = |Half { view, rows, .. }: Half| {
            (view, rows.w.saturating_sub(GUTTER).into(), rows.h.into())
        };
        self.halves(cx).into_iter().map(window).collect()
    }

    /// Returns the areas of the views of the stream with the focus.
    pub(super) fn halves(&self, cx: &Cx<'_>) -> Vec<Half> {
        let shown = self.tabs.shown();
        let halves = shown.map(|viewer| halves(below(cx.area, head_height(viewer, cx)), viewer));
        halves.unwrap_or_default()
    }
}

/// Returns the lines below the view tabs: the banner of a thread that needs attention, and a note about the search,
/// time travel, the connection or the state.
pub(super) fn notes(viewer: &Viewer, cx: &Cx<'_>, width: u16) -> Vec<Line> {
    banner(viewer, cx, width)
        .into_iter()
        .chain(note(viewer, cx, width))
        .collect()
}

/// Returns the full-width banner, with its keys at the right. It is the same in every view.
fn banner(viewer: &Viewer, cx: &Cx<'_>, width: u16) -> Option<Line> {
    let tone = head::banner_tone(viewer.shown_status())?;
    let text = head::banner_text(viewer.shown_status());
    let can_act = !viewer.is_recording() && !cx.session.is_read_only(&viewer.server.profile);
    let kind = cx.session.server_kind(&viewer.server);
    let offers = viewer.offers(kind);
    let mut keys = head::banner_keys(
        viewer.shown_status(),
        offers,
        viewer.again_label(offers),
        can_act,
    );
    // A recording has no server to load details from.
    keys.retain(|(id, _)| !viewer.is_recording() || *id != "stream.details");
    let hints = keys
        .iter()
        .filter_map(|(id, label)| Some(format!("{} {label}", cx.session.hint_key(id)?)));
    let hints: Vec<String> = hints.collect();
    let width = usize::from(width);
    // The text gets up to two thirds of the width; the rest is for the keys that fit.
    let text_width = runtail_core::text::width(&text).min(width * 2 / 3);
    let fits =
        |keys: &[String]| text_width + 4 + runtail_core::text::width(&keys.join("   ")) <= width;
    let shown = (0..=hints.len())
        .rev()
        .find(|n| fits(&hints[..*n]))
        .unwrap_or(0);
    let right = hints[..shown].join("   ");
    let room =
        width.saturating_sub(runtail_core::text::width(&right) + if shown == 0 { 0 } else { 3 });
    let text = runtail_core::text::fit(&runtail_core::text::clean(&text), room).into_owned();
    let gap =
        width.saturating_sub(runtail_core::text::width(&text) + runtail_core::text::width(&right));
    Some(Line::of(tone, &format!("{text}{}{right}", " ".repeat(gap))))
}

/// Returns the note about the search, time travel, the connection or the state, if there is one.
fn note(viewer: &Viewer, cx: &Cx<'_>, width: u16) -> Option<Line> {
    let past = || {
        Some(views::time_travel::line(
            &viewer.playhead()?,
            width.into(),
            &cx.session.settings.tz,
        ))
    };
    if let Some(line) = views::find::line(viewer).or_else(past) {
        return Some(line);
    }
    let is_serverless = cx.session.serverless.contains(&viewer.server);
    if viewer.is_asleep {
        let why = if is_serverless {
            "it would wake a serverless deployment"
        } else {
            "`poll = false`"
        };
        let key = cx.session.key("app.refresh");
        return Some(Line::dim(&format!(
            "Not connected, because {why}. {key} connects."
        )));
    }
    match &viewer.connection {
        ConnectionState::Retrying { why, .. } => Some(Line::dim(why)),
        _ if viewer.leaves_events() => {
            let hint = cx
                .session
                .hint_key("stream.take_events")
                .map(|key| format!(" {key} takes its events from the other reader."));
            let why = "Not reading: this run has one reader.";
            Some(Line::dim(&format!("{why}{}", hint.unwrap_or_default())))
        }
        ConnectionState::Failed(error) => Some(Line::bad(&error.story().replace('\n', " · "))),
        _ if viewer.state_failure().is_some() => {
            let why = viewer.state_failure().unwrap_or_default();
            let retry = cx.session.hint_key("app.refresh");
            let retry = retry.map(|key| format!(" Press {key} to retry."));
            Some(Line::dim(&format!(
                "Couldn't load the state ({why}).{}",
                retry.unwrap_or_default()
            )))
        }
        _ if viewer.shows(View::State) => {
            let line = views::state::about(viewer, width.into(), &cx.session.settings.tz);
            let awake = "keeps a serverless deployment awake";
            line.map(|line| {
                if viewer.is_open() && is_serverless {
                    line.right(Tone::Dim, awake)
                } else {
                    line
                }
            })
        }
        ConnectionState::Ended(end) if explains_end(viewer, end) => {
            let tone = if end.outcome == Outcome::Error {
                Tone::Bad
            } else {
                Tone::Dim
            };
            Some(Line::of(tone, end.detail.as_deref().unwrap_or_default()))
        }
        _ if viewer.is_open() && is_serverless => {
            Some(Line::dim("This page keeps a serverless deployment awake."))
        }
        _ => None,
    }
}

/// Returns whether the stream ended for a reason that neither the thread's status nor its banner shows. A truncated or
/// damaged recording always shows its reason.
fn explains_end(viewer: &Viewer, end: &End) -> bool {
    let status = viewer.shown_status();
    let needs_reason = viewer.is_recording() || *status == ThreadStatus::Loading;
    needs_reason
        && end
            .detail
            .as_deref()
            .is_some_and(|detail| status.error() != Some(detail))
}
