//! The summary of a wait as Markdown, for a file such as `$GITHUB_STEP_SUMMARY`.

use super::watch::{Outcome, Verdict, Watch};
use crate::prelude::*;
use runtail_core::model::{FailureCard, StatusTime};
use runtail_core::text::markdown;
use std::fs::{File, OpenOptions};
use std::io::Write;

/// The file. Opened before the wait, so that a permission error is reported at once.
#[derive(Debug)]
pub struct SummaryFile {
    path: PathBuf,
    file: File,
}

/// A finished wait.
pub struct Ended {
    /// The wait.
    pub watch: Watch,
    /// Its result.
    pub verdict: Verdict,
    /// Its failure card.
    pub card: Option<FailureCard>,
}

impl SummaryFile {
    /// Opens it for appending.
    pub fn open(path: &Path) -> Result<SummaryFile, Failure> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        // An existing file keeps its permissions, because a CI system may read it.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match runtail_core::config::files::open_with(&options, path) {
            Ok(file) => Ok(SummaryFile {
                path: path.to_path_buf(),
                file,
            }),
            Err(e) => Err(Failure::usage(format!(
                "the summary file {} cannot be written: {e}",
                path.display()
            ))),
        }
    }

    /// Appends the summary.
    pub fn write(mut self, ended: &[Ended]) -> Result<(), Failure> {
        let failed = |e| {
            let path = self.path.display();
            Failure::new(
                crate::exit::Exit::Failed,
                format!("the summary could not be written to {path}: {e}"),
            )
        };
        self.file
            .write_all(summary(ended).as_bytes())
            .map_err(failed)
    }
}

/// Returns the document.
pub fn summary(ended: &[Ended]) -> String {
    let deployed = ended
        .iter()
        .filter(|e| e.verdict.outcome == Outcome::Deployed)
        .count();
    let mut out = format!(
        "## Revisions: {deployed} of {} deployed\n\n\
         | | deployment | revision | outcome | status | waited | time in each status |\n\
         |---|---|---|---|---|---|---|\n",
        ended.len()
    );
    for Ended { watch, verdict, .. } in ended {
        let mark = if verdict.outcome == Outcome::Deployed {
            "✅"
        } else {
            "❌"
        };
        let cells = [
            mark.to_string(),
            markdown::inline(&watch.title()),
            markdown::code_cell(watch.revision.as_deref().unwrap_or_default()),
            verdict.outcome.word().to_string(),
            markdown::code_cell(&watch.status().unwrap_or_default()),
            text::duration(watch.waited()),
            markdown::inline(
                &watch
                    .times()
                    .iter()
                    .map(StatusTime::words)
                    .collect::<Vec<_>>()
                    .join(" ▸ "),
            ),
        ];
        out += &format!("| {} |\n", cells.join(" | "));
    }
    out.push('\n');
    for Ended {
        watch,
        verdict,
        card,
    } in ended
    {
        let title = markdown::inline(&watch.title());
        if let Some(why) = &verdict.why {
            out += &format!("- **{title}**: {}\n", markdown::inline(why));
        }
        // The card of a skipped revision says it itself.
        if let Some(newer) = watch.overtaken_by.as_ref().filter(|_| card.is_none()) {
            out += &format!(
                "- **{title}**: there is a newer revision, {}\n",
                markdown::code(newer)
            );
        }
    }
    if !out.ends_with("\n\n") {
        out.push('\n');
    }
    for card in ended.iter().filter_map(|e| e.card.as_ref()) {
        out += &card.markdown();
    }
    out
}
