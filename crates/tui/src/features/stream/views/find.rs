//! The line with the search and the filter of a stream, and their progress.

use crate::features::stream::viewer::Viewer;
use crate::widgets::line::{Line, Tone};
use runtail_core::text;

/// Returns the line, or `None` without a search and a filter.
pub fn line(viewer: &Viewer) -> Option<Line> {
    let find = viewer.finding();
    // The State view searches the state and has its own line.
    let searches_state = viewer.view().of().own_search(viewer).is_some();
    let (filter, pattern) = (&find.filter, &find.pattern);
    if searches_state && filter.text().is_empty() || filter.text().is_empty() && pattern.is_empty()
    {
        return None;
    }
    let mut line = Line::new();
    if !pattern.is_empty() && !searches_state {
        line = line
            .with_accent("/")
            .with_strong(pattern.text())
            .with_plain("  ");
        if let Some(found) = viewer.found() {
            let hits = text::counted(found.count, "hit");
            let progress = match (found.progress, found.at, found.count) {
                (Some(progress), ..) => {
                    format!("searching {}  ·  {hits}", percent(progress))
                }
                (None, Some(at), _) => {
                    format!("{} of {}", text::count(at), text::count(found.count))
                }
                (None, None, 0) => "no hits in this view".to_string(),
                (None, None, _) => hits,
            };
            line.push(
                if found.progress.is_some() {
                    Tone::Moving
                } else {
                    Tone::Plain
                },
                &progress,
            );
        }
        line.push_plain("   ");
    }
    if !filter.text().is_empty() {
        line = line
            .with_accent("&")
            .with_strong(filter.text())
            .with_plain("  ");
        match viewer.hidden() {
            Some((hidden, all, scanned)) => {
                line.push_plain(&format!(
                    "{} of {} hidden",
                    text::count(hidden),
                    text::count(all)
                ));
                if scanned < all {
                    line.push_moving(&format!("  ·  {} scanned", percent((scanned, all))));
                }
            }
            None if filter.is_empty() && filter.problems().is_empty() => {
                line.push_dim("incomplete")
            }
            None if filter.is_empty() => {}
            None => line.push_dim("this view is not filtered"),
        }
        line.push_plain("   ");
    }
    for problem in filter
        .problems()
        .iter()
        .map(String::as_str)
        .chain(pattern.problem())
    {
        line.push_moving(&format!("? {problem}   "));
    }
    Some(line)
}

fn percent((done, all): (u64, u64)) -> String {
    format!(
        "{}%",
        done.saturating_mul(100).checked_div(all).unwrap_or(100)
    )
}
