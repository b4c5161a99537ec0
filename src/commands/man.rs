//! `man`.

use crate::args::Args;
use crate::exit::{Exit, Failure};
use crate::output;
use clap::CommandFactory;

pub(crate) fn run() -> Result<Exit, Failure> {
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(Args::command()).render(&mut page);
    rendered.map_err(|e| {
        Failure::new(
            Exit::Failed,
            format!("could not generate the manual page: {e}"),
        )
    })?;
    output::print(&String::from_utf8_lossy(&page), false)?;
    Ok(Exit::Done)
}
