//! `skill`: the page for coding agents.

use crate::consent;
use crate::prelude::*;
use runtail_core::config::files;
use std::io::ErrorKind;

const PAGE: &str = include_str!("../../assets/skill.md");

/// Options of `skill`.
#[derive(Debug, Args)]
pub struct Options {
    /// Write it to FOLDER/runtail/SKILL.md; FOLDER is where your coding agent looks for skills, such as .claude/skills
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    yes: Yes,
}

pub async fn run(options: Options) -> Result<Exit, Failure> {
    let Some(folder) = options.dir else {
        output::print(PAGE, false)?;
        return Ok(Exit::Done);
    };
    let path = folder.join("runtail").join("SKILL.md");
    let shown = path.display().to_string();
    let failed = |error| Failure::of_file("", &shown, &error);
    match files::read(&path) {
        Ok(page) if page == PAGE.as_bytes() => {}
        Ok(_) => {
            let what = format!("Replace {shown}, which differs from the page of this version");
            consent::to_write(&what, options.yes).await?;
            std::fs::write(&path, PAGE).map_err(failed)?;
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            path.parent()
                .map_or(Ok(()), std::fs::create_dir_all)
                .and_then(|()| std::fs::write(&path, PAGE))
                .map_err(failed)?;
        }
        Err(error) => return Err(failed(error)),
    }
    output::print_path(&path)?;
    Ok(Exit::Done)
}
