//! The lines above a stream: how many there are, and those that tell a person something.

use super::StreamState;
use super::layout::halves;
use super::viewer::{LinkState, View, Viewer, head};
use super::views;
use crate::session::{Cx, GUTTER};
use crate::widgets::area::{Area, below};
use crate::widgets::line::{Line, Tone};
use runtail_core::model::ThreadStatus;
use runtail_stream::{End, Outcome};

/// Place with the status, and views with the connection: the head of a stream, without its tabs and notes.
const PLACE_AND_VIEWS: u16 = 2;

impl StreamState {
    /// Whether the open streams have a line of tabs: one stream needs none.
    pub(super) fn has_tab_line(&self) -> bool {
        self.tabs.all().len() > 1
    }

    /// Lines above the rows of the stream that is shown.
    pub(super) fn head_height(&self, cx: &Cx<'_>) -> u16 {
        let Some(viewer) = self.tabs.shown() else { return PLACE_AND_VIEWS };
        let banner = head::banner_tone(viewer.shown_status()).is_some();
        // Whether there is a note does not depend on the width.
        let note = note(viewer, cx, 0).is_some();
        u16::from(self.has_tab_line()) + PLACE_AND_VIEWS + u16::from(banner) + u16::from(note)
    }

    /// The windows of the views that are shown: columns for text, and lines.
    pub fn windows(&self, cx: &Cx<'_>) -> Vec<(View, usize, usize)> {
        let Some(viewer) = self.tabs.shown() else { return Vec::new() };
        let area = below(cx.area, self.head_height(cx));
        let size = |area: Area| (area.w.saturating_sub(GUTTER) as usize, area.h as usize);
        let window = |(view, (w, h)): (View, (usize, usize))| (view, w, h);
        halves(area, viewer).into_iter().map(|half| window((half.view, size(half.rows)))).collect()
    }
}

/// The lines under the views of a stream: the banner of a thread that needs a person, and one more where something about the
/// search, the past, the connection or the state needs a line.
pub(super) fn notes(viewer: &Viewer, cx: &Cx<'_>, width: u16) -> Vec<Line> {
    banner(viewer, cx, width).into_iter().chain(note(viewer, cx, width)).collect()
}

/// What a person has to know, in every view; the whole width, with its keys at the right.
fn banner(viewer: &Viewer, cx: &Cx<'_>, width: u16) -> Option<Line> {
    let tone = head::banner_tone(viewer.shown_status())?;
    let said = head::banner_text(viewer.shown_status());
    let can_act = !viewer.is_recording() && !cx.session.is_read_only(&viewer.server.profile);
    let mut keys = head::banner_keys(viewer.shown_status(), viewer.again(), can_act);
    // There is no server that has more.
    keys.retain(|(id, _)| !viewer.is_recording() || *id != "stream.details");
    let named = keys.iter().filter_map(|(id, label)| {
        Some(format!("{} {label}", cx.session.keymap.hints_of([id], cx.session.settings.ascii).pop()?.0))
    });
    let named: Vec<String> = named.collect();
    let width = usize::from(width);
    // The text has the room that it needs, up to two thirds; the keys that still fit are named.
    let wanted = runtail_core::text::width(&said).min(width * 2 / 3);
    let fits = |keys: &[String]| wanted + 4 + runtail_core::text::width(&keys.join("   ")) <= width;
    let shown = (0..=named.len()).rev().find(|n| fits(&named[..*n])).unwrap_or(0);
    let right = named[..shown].join("   ");
    let room = width.saturating_sub(runtail_core::text::width(&right) + if shown == 0 { 0 } else { 3 });
    let said = runtail_core::text::fit(&runtail_core::text::clean(&said), room).into_owned();
    let gap = width.saturating_sub(runtail_core::text::width(&said) + runtail_core::text::width(&right));
    Some(Line::of(tone, &format!("{said}{}{right}", " ".repeat(gap))))
}

/// What needs a line about the search, the past, the connection or the state that is shown.
fn note(viewer: &Viewer, cx: &Cx<'_>, width: u16) -> Option<Line> {
    let past = || Some(views::past::line(&viewer.playhead()?, width.into(), &cx.session.settings.tz));
    if let Some(line) = views::find::line(viewer).or_else(past) {
        return Some(line);
    }
    let shows_state = viewer.shown().iter().any(|(view, _)| *view == View::State);
    match &viewer.link {
        LinkState::Retrying { why, .. } => Some(Line::of(Tone::Dim, why)),
        _ if viewer.leaves_events() => {
            let key = cx.session.keymap.hints_of(["stream.take_events"].iter(), cx.session.settings.ascii).pop();
            let take = key.map(|(key, _)| format!(" {key} reads them; its application then misses them."));
            let why = "One reader only: this run's events aren't read here.";
            Some(Line::of(Tone::Dim, &format!("{why}{}", take.unwrap_or_default())))
        }
        LinkState::Failed(error) => Some(Line::of(Tone::Bad, &error.story().replace('\n', " · "))),
        _ if viewer.state_failure().is_some() => {
            let why = viewer.state_failure().unwrap_or_default();
            let key =
                cx.session.keymap.hints_of(["app.refresh"].iter(), cx.session.settings.ascii).pop().map(|(key, _)| key);
            let retry = key.map(|key| format!(" Press {key} to retry.")).unwrap_or_default();
            Some(Line::of(Tone::Dim, &format!("Couldn't load the state ({why}). Showing the stream only.{retry}")))
        }
        _ if shows_state => views::state::about(viewer, width.into(), &cx.session.settings.tz),
        LinkState::Ended(end) if explains_end(viewer, end) => {
            let tone = if end.outcome == Outcome::Error { Tone::Bad } else { Tone::Dim };
            Some(Line::of(tone, end.detail.as_deref().unwrap_or_default()))
        }
        _ => None,
    }
}

/// Whether a stream's end has a reason that neither the thread's status nor its banner says. A recording that is cut or
/// damaged says so, whatever its events say of the thread.
fn explains_end(viewer: &Viewer, end: &End) -> bool {
    let status = viewer.shown_status();
    let is_new = viewer.is_recording() || *status == ThreadStatus::Loading;
    is_new && end.detail.as_deref().is_some_and(|detail| status.error() != Some(detail))
}
