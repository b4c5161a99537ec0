//! One file a pane.

mod bars;
mod deployments;
mod revisions;
mod server;
mod stream;

pub use bars::{footer, header};
pub use deployments::deployments;
pub use revisions::revisions;

use super::Canvas;
use crate::app::App;
use crate::app::layout::Area;
use crate::app::line::Tone;

/// The stream pane: the stream that is open, else the agent server's lists.
pub fn stream(app: &App, canvas: &mut Canvas<'_>, area: Area) {
    match (&app.viewer, &app.server) {
        (Some(viewer), _) => stream::stream(app, viewer, canvas, area),
        (None, Some(server)) => server::server(app, server, canvas, area),
        (None, None) => {
            canvas.title(area, "STREAM", app.focus == crate::app::Pane::Stream);
            let text = "Nothing is open yet.\n\nChoose a deployment and press ⏎ to see the threads of its agent server, \
                        then ⏎ on a thread to follow everything that runs on it.";
            canvas.words(crate::app::layout::below(area, 1), Tone::Plain, text);
        }
    }
}
