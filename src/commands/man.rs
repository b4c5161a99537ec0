//! `man`.

use crate::prelude::*;

/// Options of `man`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Write a page for each command to this folder, which is created
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

pub fn run(options: &Options, grammar: clap::Command) -> Result<Exit, Failure> {
    let Some(folder) = &options.dir else {
        let mut page = Vec::new();
        clap_mangen::Man::new(grammar)
            .render(&mut page)
            .map_err(|e| Failure::failed(format!("no manual page: {e}")))?;
        output::print(&String::from_utf8_lossy(&page), false)?;
        return Ok(Exit::Done);
    };
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(grammar, folder))
        .map_err(|e| {
            Failure::failed(format!(
                "cannot write manual pages to {}: {e}",
                folder.display()
            ))
        })?;
    Ok(Exit::Done)
}
