//! `completions SHELL`.

use crate::prelude::*;
use clap_complete::env::Shells;

/// The variable by which a script asks for completions; its value is the shell.
pub const ASKED: &str = "RUNTAIL_COMPLETE";

/// Options of `completions`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The shell
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

pub fn run(options: &Options) -> Result<Exit, Failure> {
    let shell = options.shell.to_string();
    let failed = |why: String| Failure::failed(format!("no completions for {shell}: {why}"));
    let shells = Shells::builtins();
    let writer = shells
        .completer(&shell)
        .ok_or_else(|| failed("unknown shell".into()))?;
    let mut script = Vec::new();
    writer
        .write_registration(ASKED, "runtail", "runtail", "runtail", &mut script)
        .map_err(|e| failed(e.to_string()))?;
    output::print(&String::from_utf8_lossy(&script), false)?;
    Ok(Exit::Done)
}
