//! The tabs above a stream: of the open streams, and of its views; and which of them stands in a column.

use super::App;
use super::line::{Line, Piece, Tone};
use super::msg::StreamTarget;
use super::viewer::{LinkState, VIEWS, View, Viewer};
use crate::stream::Outcome;
use crate::text;
use std::time::Duration;

/// What stands between two streams.
const BETWEEN: &str = "│ ";

/// The tabs of the open streams: which one is shown, how each is, and which have news.
pub fn streams(app: &App, width: u16) -> Line {
    let all = app.streams.all();
    let room = (width as usize / all.len().max(1)).saturating_sub(7);
    let mut line = Line::new();
    for (i, viewer) in all.iter().enumerate() {
        let shown = app.streams.at() == Some(i);
        let id = viewer.run_id.as_ref().filter(|_| !matches!(viewer.target, StreamTarget::Tail { .. }));
        let id = id.or(viewer.thread_id.as_ref()).map(|id| text::short_id(id)).unwrap_or_default();
        let name = format!("{} {id}", viewer.server.name);
        let (glyph, tone) = glyph(viewer);
        line.push(tone, glyph);
        line.push(if shown { Tone::Strong } else { Tone::Dim }, &text::fit(&text::clean(name.trim_end()), room));
        // What has news has a mark, not a colour alone.
        line.push(Tone::Moving, if viewer.news && !shown { " *" } else { "  " });
        line.push(Tone::Dim, if i + 1 < all.len() { BETWEEN } else { "" });
    }
    line
}

/// How a stream is.
pub fn glyph(viewer: &Viewer) -> (&'static str, Tone) {
    match &viewer.link {
        LinkState::Live { .. } => ("▶ ", Tone::Good),
        LinkState::Connecting { .. } | LinkState::Retrying { .. } => ("◐ ", Tone::Moving),
        LinkState::Failed(_) => ("✗ ", Tone::Bad),
        LinkState::Ended(end) => match end.outcome {
            Outcome::Success => ("● ", Tone::Good),
            Outcome::Error | Outcome::Timeout => ("✗ ", Tone::Bad),
            Outcome::Interrupted => ("◌ ", Tone::Moving),
            Outcome::Cancelled | Outcome::Detached | Outcome::Unknown => ("■ ", Tone::Dim),
        },
    }
}

/// How much a view's tab tells.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Detail {
    Bare,
    Short,
    Names,
    Counts,
    Ages,
}

/// The tabs of the views, with counts and ages where there is room, else shorter.
pub fn views(app: &App, viewer: &Viewer, width: u16) -> Line {
    let details = [Detail::Ages, Detail::Counts, Detail::Names, Detail::Short, Detail::Bare];
    let lines = details.map(|detail| view_line(app, viewer, detail));
    let [.., shortest] = &lines;
    let fits = |line: &&Line| line.width() + right_width(line) < width as usize;
    lines.iter().find(fits).unwrap_or(shortest).clone()
}

fn right_width(line: &Line) -> usize {
    line.right.iter().map(|p| text::width(&p.text)).sum()
}

fn view_line(app: &App, viewer: &Viewer, detail: Detail) -> Line {
    let short = detail <= Detail::Short;
    let mut line = Line::new();
    for (i, view) in VIEWS.iter().enumerate() {
        let chosen = *view == viewer.view();
        line.push(Tone::Accent, &format!("{} ", i + 1));
        let title = if short && !chosen { view.short_title() } else { view.title() };
        line.push(if chosen { Tone::Strong } else { Tone::Dim }, title);
        let count = viewer.count(*view);
        if count > 0 && detail >= Detail::Counts {
            line.push(Tone::Dim, &format!(" {}", text::count(count)));
        }
        // How long ago something came, while that counts. The room is kept, so that nothing jumps.
        if detail == Detail::Ages
            && viewer.is_open()
            && viewer.standing().is_none()
            && let Some(last) = viewer.last_at(*view)
        {
            let age = text::age(Duration::try_from(app.now - last).unwrap_or_default());
            line.push(Tone::Dim, &format!(" {age:<3}"));
        }
        line.push(Tone::Plain, if short { " " } else { "  " });
    }
    let marks = viewer.finding().marks().len();
    if marks > 0 {
        line = line.right(Tone::Strong, "◆").right(Tone::Dim, &format!(" {marks}  "));
    }
    line.right.extend(let_go(viewer).filter(|_| detail > Detail::Bare));
    if viewer.standing().is_some() && viewer.follows() {
        return line.right(Tone::Moving, "PAST");
    }
    if viewer.follows() {
        return line.right(Tone::Dim, "FOLLOW");
    }
    match viewer.unseen() {
        0 => line.right(Tone::Moving, "PAUSED"),
        new if short => line.right(Tone::Moving, &format!("PAUSED +{}", text::count(new))),
        new => line.right(Tone::Moving, &format!("PAUSED +{} new", text::count(new))),
    }
}

/// How many events are no longer in memory, and in no view of events; a recording still has them.
pub fn let_go(viewer: &Viewer) -> Option<Piece> {
    let gone = viewer.tape.evicted_rows();
    (gone > 0).then(|| Piece { tone: Tone::Dim, text: format!("{} let go  ", text::count(gone)) })
}

/// The view whose tab stands in a column of the line.
pub fn view_at(app: &App, viewer: &Viewer, width: u16, column: u16) -> Option<View> {
    let line = views(app, viewer, width);
    let nth = begun(&line, column, |piece| piece.tone == Tone::Accent)?;
    VIEWS.get(nth.checked_sub(1)?).copied()
}

/// The number of the stream whose tab stands in a column of the line.
pub fn stream_at(app: &App, width: u16, column: u16) -> Option<usize> {
    let line = streams(app, width);
    begun(&line, column, |piece| piece.text == BETWEEN).filter(|at| *at < app.streams.all().len())
}

/// How many such pieces begin up to a column; none behind the line's end.
fn begun(line: &Line, column: u16, is: impl Fn(&Piece) -> bool) -> Option<usize> {
    let mut count = 0;
    let mut end = 0;
    for piece in &line.left {
        count += usize::from(is(piece));
        end += text::width(&piece.text);
        if end > usize::from(column) {
            return Some(count);
        }
    }
    None
}
