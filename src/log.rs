//! The file of `--log`. It has only this program's own diagnostics, because libraries might log headers.

use crate::prelude::*;
use runtail_core::config::files;
use std::fs::OpenOptions;
use std::sync::Mutex;
use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer, SubscriberExt};

/// Starts writing diagnostics if `--log` was given.
pub fn start(globals: &Globals) -> Result<(), Failure> {
    let Some(path) = &globals.log else {
        return Ok(());
    };
    let shown = text::clean(&path.to_string_lossy()).into_owned();
    let failed =
        |e: &dyn std::fmt::Display| Failure::usage(format!("--log: cannot write {shown}: {e}"));
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = files::open_with(&options, path).map_err(|e| failed(&e))?;
    // An existing file may have other permissions.
    #[cfg(unix)]
    if file.metadata().is_ok_and(|found| found.is_file()) {
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))
            .map_err(|e| failed(&e))?;
    }
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(Mutex::new(file));
    let ours = Targets::new().with_target("runtail", Level::DEBUG);
    let subscriber = tracing_subscriber::registry().with(lines.with_filter(ours));
    tracing::subscriber::set_global_default(subscriber).map_err(|e| failed(&e))
}
