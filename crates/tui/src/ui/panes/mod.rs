//! One file a pane.

mod bars;
mod browse;
mod deployments;
mod first_run;
mod logs;
mod profiles;
mod revisions;
mod server;
mod stream;

pub use bars::{footer, header};
pub use browse::{browse, sign_in};
pub use deployments::deployments;
pub use first_run::first_run;
pub use profiles::profiles;
pub use revisions::revisions;

use super::Canvas;
use crate::app::App;
use crate::app::fleet::Row;
use crate::app::layout::Area;
use crate::app::line::Tone;
use runtail_api::{ServerInfo, ServerKind};

/// The tag of a row's region. An agent server by itself has none beside its own address.
fn region<'a>(app: &'a App, row: &Row) -> &'a str {
    let profile = app.profiles.get(row.profile).filter(|p| p.control_plane || row.deployment.is_some());
    profile.map(|p| p.tag()).unwrap_or("")
}

/// Which software an agent server is, in a few words.
fn server_software(info: &ServerInfo) -> String {
    let name = match info.kind {
        ServerKind::Python => "langgraph-api",
        ServerKind::JavaScript => "langgraph-api JS",
        ServerKind::Aegra => "Aegra",
        ServerKind::Other => "agent server",
    };
    format!("{name} {}", info.version).trim_end().to_string()
}

/// The stream pane: the stream that is open, else the agent server's lists.
pub fn stream(app: &App, canvas: &mut Canvas<'_>, area: Area) {
    if let Some(logs) = &app.logs {
        return logs::logs(app, logs, canvas, area);
    }
    match (app.viewer(), &app.server) {
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
