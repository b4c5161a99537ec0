//! Loads the sides of a comparison. A side that is running is loaded again until it ends.

use super::services::Services;
use super::subs::Out;
use crate::session::compare::{SideLoaded, SideRef};
use crate::session::msg::SubscriptionEvent;
use runtail_stream::comparison::{FileContents, load_side, open_file};
use std::sync::Arc;
use std::time::Duration;

/// Pause between two loads of a side that is running.
const RELOAD: Duration = Duration::from_secs(3);
/// Longest pause after errors.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// Sends the side; if it is running, again after each change.
pub async fn load(services: &Services, of: &SideRef, out: &Out) {
    let mut pause = RELOAD;
    let mut known = false;
    loop {
        let loaded = side(services, of).await;
        let is_running = matches!(loaded.as_deref(), Ok(FileContents::Side(side)) if side.is_running);
        // While it is running, an error may be temporary, and the last steps stay visible.
        let is_temporary = known && loaded.is_err();
        pause = if is_temporary { (pause * 2).min(MAX_PAUSE) } else { RELOAD };
        if !is_temporary && !out.send(SubscriptionEvent::Side(loaded)).await {
            return;
        }
        known |= is_running;
        if !is_running && !is_temporary {
            return;
        }
        tokio::time::sleep(pause).await;
    }
}

async fn side(services: &Services, of: &SideRef) -> SideLoaded {
    match of {
        SideRef::Thread(thread, run) => {
            let result = async {
                let client = services.agent_server(&thread.server).await?;
                load_side(&client, &SideRef::request(thread, run.as_deref())).await
            };
            let result = result.await;
            services.apply_error(&thread.server.profile, result.as_ref().err());
            result.map(|side| Arc::new(FileContents::Side(Box::new(side)))).map_err(|error| error.story())
        }
        SideRef::File(path) => {
            let owned = path.clone();
            let read = tokio::task::spawn_blocking(move || open_file(&owned)).await;
            let read = read.map_err(|error| format!("reading the file failed: {error}"))?;
            read.map(Arc::new).map_err(|error| format!("cannot read the file: {error}"))
        }
    }
}
