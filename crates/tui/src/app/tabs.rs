//! The tabs of the header: the deployments, the open agent server, the open streams, logs, and the page that covers them.

use super::{App, Pane};
use crate::features::stream::tab_bar;
use crate::session::msg::Effect;
use crate::widgets::line::{Line, Tone};
use runtail_api::LogKind;
use runtail_core::text;

/// The separator between two tabs.
const SEPARATOR: &str = " │ ";
/// Maximum columns of a tab's name.
const MAX_NAME: usize = 28;

/// A tab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TabKind {
    Deployments,
    /// The lists of the open agent server.
    Server,
    /// A stream, by its index.
    Stream(usize),
    /// The open logs.
    Logs,
    /// The overlay on top, a page with a name of its own.
    Page,
}

/// A tab as the header shows it.
#[derive(Debug, Clone)]
pub(super) struct ShownTab {
    pub tab: TabKind,
    name: String,
    glyph: Option<(&'static str, Tone)>,
    is_current: bool,
    /// Whether the next look replaces it.
    is_preview: bool,
    /// Whether it has events that were not seen yet.
    has_news: bool,
}

impl ShownTab {
    fn new(tab: TabKind, name: &str) -> ShownTab {
        let name = text::fit(&text::clean(name), MAX_NAME).into_owned();
        ShownTab {
            tab,
            name,
            glyph: None,
            is_current: false,
            is_preview: false,
            has_news: false,
        }
    }

    fn line(&self) -> Line {
        let tone = if self.is_current {
            Tone::Accent
        } else {
            Tone::Dim
        };
        let mut line = Line::new();
        if self.is_preview {
            line.push(tone, "‹");
        }
        line.push(tone, &self.name);
        if let Some((glyph, tone)) = self.glyph {
            line.push(tone, &format!(" {glyph}"));
        }
        // A marker shows unseen events, because color alone is not accessible.
        if self.has_news && !self.is_current {
            line.push_moving("*");
        }
        if self.is_preview {
            line.push(tone, "›");
        }
        line
    }
}

impl App {
    /// Returns whether there is a list of deployments to go back to: not for a single agent server.
    pub(super) fn has_deployments(&self) -> bool {
        self.session
            .profiles
            .iter()
            .any(|profile| profile.control_plane)
            || self.deployments.list.rows.len() != 1
    }

    /// Returns the tabs, in their order.
    pub(super) fn tabs(&self) -> Vec<ShownTab> {
        let mut tabs = Vec::new();
        if self.has_deployments() {
            tabs.push(ShownTab::new(TabKind::Deployments, "Deployments"));
        }
        if let Some(open) = &self.agent.server {
            tabs.push(ShownTab::new(TabKind::Server, &open.server.name));
        }
        for (number, viewer) in self.stream.tabs.all().iter().enumerate() {
            tabs.push(ShownTab {
                glyph: Some(tab_bar::glyph(viewer)),
                is_preview: viewer.is_preview,
                has_news: viewer.news,
                ..ShownTab::new(TabKind::Stream(number), &tab_bar::name(viewer))
            });
        }
        if let Some(logs) = &self.logs {
            let name = if logs.kind == LogKind::Build {
                "Build log"
            } else {
                "Log"
            };
            tabs.push(ShownTab::new(TabKind::Logs, name));
        }
        if let Some(name) = self
            .overlays
            .iter()
            .rev()
            .find_map(|overlay| overlay.tab_name())
        {
            tabs.push(ShownTab::new(TabKind::Page, &name));
        }
        if tabs.is_empty() {
            tabs.push(ShownTab::new(TabKind::Deployments, "Deployments"));
        }
        let current = self.current_tab(tabs.last().is_some_and(|tab| tab.tab == TabKind::Page));
        let at = tabs.iter().position(|tab| tab.tab == current).unwrap_or(0);
        tabs[at].is_current = true;
        tabs
    }

    fn current_tab(&self, has_page: bool) -> TabKind {
        match (self.focus, &self.logs, self.stream.tabs.at()) {
            _ if has_page => TabKind::Page,
            (Pane::Deployments | Pane::Revisions, ..) => TabKind::Deployments,
            (Pane::Stream, Some(_), _) => TabKind::Logs,
            (Pane::Stream, None, Some(number)) => TabKind::Stream(number),
            (Pane::Stream, None, None) => TabKind::Server,
        }
    }

    /// Shows the next or previous tab.
    pub(super) fn switch_tab(&mut self, forward: bool) {
        let tabs: Vec<TabKind> = self
            .tabs()
            .iter()
            .map(|shown| shown.tab)
            .filter(|tab| *tab != TabKind::Page)
            .collect();
        let current = self.current_tab(false);
        let at = tabs.iter().position(|tab| *tab == current).unwrap_or(0);
        let next = (at + if forward { 1 } else { tabs.len() - 1 }) % tabs.len().max(1);
        if next == at {
            return self.notify(false, "No other tab is open. ⏎ on a thread opens one.");
        }
        if let Some(tab) = tabs.get(next) {
            self.show_tab(*tab);
        }
    }

    /// Shows a tab.
    pub(super) fn show_tab(&mut self, tab: TabKind) {
        match tab {
            TabKind::Page => return,
            TabKind::Deployments => self.focus = Pane::Deployments,
            TabKind::Server => {
                self.stream.tabs.hide();
                self.focus = Pane::Stream;
            }
            TabKind::Stream(number) => {
                self.stream.tabs.show(number);
                self.focus = Pane::Stream;
            }
            TabKind::Logs => self.focus = Pane::Stream,
        }
        if !matches!(tab, TabKind::Logs | TabKind::Deployments) {
            self.logs = None;
        }
    }

    /// Shows the tab at a column of the header.
    pub(super) fn click_tab(&mut self, x: u16) -> Vec<Effect> {
        let layout = super::bars::header_layout(self, self.session.size.0);
        let Some(tab) = layout.tab_at(x) else {
            return Vec::new();
        };
        if tab == TabKind::Page {
            return Vec::new();
        }
        let effects = self.leave_overlays();
        self.show_tab(tab);
        effects
    }
}

/// The tabs that fit, each with its columns.
#[derive(Debug, Default)]
pub(super) struct Fitted {
    pub line: Line,
    /// The first column and the one after the last, from the start of the line.
    pub places: Vec<(TabKind, usize, usize)>,
}

/// Lays out the tabs for a width: all of them, else those around the current one, else only its name and number.
pub(super) fn fitted(tabs: &[ShownTab], width: usize, is_brief: bool) -> Fitted {
    let at = tabs.iter().position(|tab| tab.is_current).unwrap_or(0);
    if !is_brief || tabs.len() == 1 {
        let all = joined(tabs, 0..tabs.len());
        if all.line.width() <= width {
            return all;
        }
        // Neighbors join as long as there is room, first those on the right.
        let (mut from, mut to) = (at, at + 1);
        let mut best = None;
        loop {
            let tried = joined(tabs, from..to);
            if tried.line.width() > width {
                break;
            }
            best = Some(tried);
            match (to < tabs.len(), from > 0) {
                (true, _) if to - at <= at - from => to += 1,
                (_, true) => from -= 1,
                (true, false) => to += 1,
                (false, false) => break,
            }
        }
        if let Some(best) = best.filter(|_| !is_brief) {
            return best;
        }
    }
    let number = if tabs.len() > 1 {
        format!("{}/{} ", at + 1, tabs.len())
    } else {
        String::new()
    };
    let mut line = Line::dim(&number);
    let room = width.saturating_sub(line.width() + 2);
    let mut current = tabs[at].clone();
    current.name = text::fit(&current.name, room.max(4)).into_owned();
    line.left.extend(current.line().left);
    let end = line.width();
    Fitted {
        line,
        places: vec![(tabs[at].tab, 0, end)],
    }
}

fn joined(tabs: &[ShownTab], range: std::ops::Range<usize>) -> Fitted {
    let mut fitted = Fitted::default();
    if range.start > 0 {
        fitted
            .line
            .push_dim(&format!("‹ {}{SEPARATOR}", range.start));
    }
    for (n, tab) in tabs[range.clone()].iter().enumerate() {
        if n > 0 {
            fitted.line.push_dim(SEPARATOR);
        }
        let start = fitted.line.width();
        fitted.line.left.extend(tab.line().left);
        fitted.places.push((tab.tab, start, fitted.line.width()));
    }
    let after = tabs.len() - range.end;
    if after > 0 {
        fitted.line.push_dim(&format!("{SEPARATOR}{after} ›"));
    }
    fitted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tabs(count: usize, current: usize) -> Vec<ShownTab> {
        let name = |n: usize| ShownTab::new(TabKind::Stream(n), &format!("graph {n:04}"));
        let mut tabs: Vec<ShownTab> = (0..count).map(name).collect();
        tabs[current].is_current = true;
        tabs
    }

    #[test]
    fn the_current_tab_is_shown_at_any_width() {
        for count in 1..12 {
            for current in 0..count {
                for width in 20..140 {
                    let fitted = fitted(&tabs(count, current), width, false);
                    assert!(
                        fitted.line.width() <= width,
                        "{count} {current} {width}: {}",
                        fitted.line.text()
                    );
                    assert!(
                        fitted
                            .places
                            .iter()
                            .any(|(tab, ..)| *tab == TabKind::Stream(current))
                    );
                    let text = fitted.line.text();
                    assert!(
                        text.contains(&format!("{current:04}")),
                        "{count} {current} {width}: {text}"
                    );
                }
            }
        }
    }

    #[test]
    fn hidden_tabs_are_counted() {
        let text = fitted(&tabs(9, 4), 50, false).line.text();
        assert!(
            text.starts_with("‹ 3 │ ") && text.ends_with(" │ 3 ›"),
            "{text}"
        );
        assert_eq!(fitted(&tabs(3, 1), 50, true).line.text(), "2/3 graph 0001");
        assert_eq!(fitted(&tabs(1, 0), 50, true).line.text(), "graph 0000");
    }
}
