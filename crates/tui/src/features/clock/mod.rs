//! The time on the clock of each profile's server.

use crate::session::{Cx, Page};
use crate::widgets::line::{Line, Tone};

/// The page.
#[derive(Debug, Clone, Default)]
pub struct Clock;

impl Page for Clock {
    fn title(&self, _cx: &Cx<'_>) -> (&'static str, String) {
        ("CLOCK", String::new())
    }

    fn lines(&self, cx: &Cx<'_>, _width: usize) -> Vec<Line> {
        let line = |profile: &crate::session::profile::ProfileState| {
            Line::of(
                Tone::Plain,
                &format!("{}  {}", cx.session.clock(profile.server_time(cx.session.now)), profile.name),
            )
        };
        cx.session.profiles.iter().map(line).collect()
    }
}
