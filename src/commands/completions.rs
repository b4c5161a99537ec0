//! `completions SHELL`.

use crate::args::Args;
use crate::exit::{Exit, Failure};
use crate::output;
use clap::CommandFactory;

/// Options of `completions`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The shell
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

pub(crate) fn run(options: &Options) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Args::command(), "runtail", &mut script);
    output::print(&String::from_utf8_lossy(&script), false)?;
    Ok(Exit::Done)
}
