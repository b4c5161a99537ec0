//! Edits a text or the configuration file in the user's own editor.

#[cfg(unix)]
use super::job::EditorJob;
use super::signals::Signals;
use crate::boxed;
use runtail_core::text::clean;
use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// Maximum size of an edited text in bytes. Specifications have a few thousand.
const MAX_TEXT: u64 = 4 << 20;

/// Why an editor was ended: the number of a signal, and where its text is kept.
pub type Interrupted = (i32, String);

/// Opens a text in the user's editor, and waits until the editor exits or a signal ends it. Returns the edited text, or why there is
/// none: no editor is set, it failed, or its text can't be read.
///
/// # Errors
/// A signal or a closed terminal ended the editor.
#[boxed]
pub async fn edit(text: &str) -> Result<Result<String, String>, Interrupted> {
    match Signals::new() {
        Ok(mut signals) => edit_until(text, &mut signals).await,
        Err(error) => Ok(Err(format!("Couldn't listen to signals: {error}"))),
    }
}

/// Like [`edit`], for a caller that listens to signals. The terminal must have been restored before.
pub(super) async fn edit_until(
    text: &str,
    signals: &mut Signals,
) -> Result<Result<String, String>, Interrupted> {
    let (editing, command) = match Editing::new(text) {
        Ok(begun) => begun,
        Err(why) => return Ok(Err(why)),
    };
    match run(command, signals).await {
        Ok(status) => Ok(editing.finish(text, status)),
        Err(number) => Err((number, editing.file.kept_if_changed(text, ENDED.into()))),
    }
}

/// Opens the configuration file at a profile in the user's editor, and waits like [`edit_until`].
pub(super) async fn edit_file(
    path: &Path,
    profile: &str,
    signals: &mut Signals,
) -> Result<Result<Option<String>, String>, Interrupted> {
    let editor = match usual() {
        Ok(editor) => editor,
        Err(why) => return Ok(Err(why)),
    };
    let line = runtail_core::config::line_of(path, profile);
    let program = editor.split_whitespace().next().unwrap_or_default();
    let stem = Path::new(program).file_stem();
    let at = |name: &str| stem == Some(OsStr::new(name));
    let placed = || OsString::from_iter([path.as_os_str(), OsStr::new(&format!(":{line}"))]);
    let arguments = if ["code", "codium", "cursor"].into_iter().any(at) {
        vec!["-g".into(), placed()]
    } else if ["hx", "subl", "zed"].into_iter().any(at) {
        vec![placed()]
    } else if at("notepad") {
        vec![path.into()]
    } else {
        // As vi, emacs, nano and most others take it.
        vec![format!("+{line}").into(), path.into()]
    };
    match run(command(&editor, arguments), signals).await {
        Ok(Ok(status)) if status.success() => Ok(Ok(None)),
        Ok(Ok(status)) => Ok(Err(format!("{editor} exited with {status}."))),
        Ok(Err(e)) => Ok(Err(not_started(&editor, &e))),
        Err(number) => Err((number, ENDED.into())),
    }
}

/// Why a text isn't used if a signal ends Runtail, and the editor with it.
const ENDED: &str = "the editor was ended";

fn not_started(editor: &str, error: &io::Error) -> String {
    format!("Couldn't start {editor}: {error}")
}

/// Returns the user's editor.
fn usual() -> Result<String, String> {
    ["VISUAL", "EDITOR"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|v| !v.trim().is_empty()))
        .ok_or_else(|| "Set VISUAL or EDITOR.".into())
}

/// As in git and crontab: the variable may contain options, so a shell parses it; what follows are arguments.
fn command(editor: &str, arguments: Vec<OsString>) -> Command {
    #[cfg(unix)]
    {
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("{editor} \"$@\"")).arg("sh");
        command.args(arguments);
        command
    }
    #[cfg(windows)]
    {
        let mut command = Command::new("cmd");
        std::os::windows::process::CommandExt::raw_arg(&mut command, cmd_line(editor, arguments));
        command
    }
}

/// Returns the arguments of `cmd`, which removes the outer quotes. A path can't contain quotes on Windows.
#[cfg(any(windows, test))]
fn cmd_line(editor: &str, arguments: Vec<OsString>) -> OsString {
    let mut line = OsString::from(format!("/S /C \"{editor}"));
    for argument in arguments {
        line.push(" \"");
        line.push(argument);
        line.push("\"");
    }
    line.push("\"");
    line
}

#[cfg(unix)]
async fn run(command: Command, signals: &mut Signals) -> Result<io::Result<ExitStatus>, i32> {
    match EditorJob::start(command) {
        Ok(mut job) => job.run(signals).await,
        Err(error) => Ok(Err(error)),
    }
}

/// On other systems no signal is listened to.
#[cfg(not(unix))]
async fn run(mut command: Command, _signals: &mut Signals) -> Result<io::Result<ExitStatus>, i32> {
    Ok(command.status())
}

/// A text in a file for the editor.
struct Editing {
    editor: String,
    file: Scratch,
}

impl Editing {
    fn new(text: &str) -> Result<(Editing, Command), String> {
        let editor = usual()?;
        // Editors choose the syntax by the extension.
        let extension = if text.trim_start().starts_with('{') {
            "json"
        } else {
            "toml"
        };
        let file = Scratch::new(text, extension)
            .map_err(|e| format!("Couldn't create a file for the editor: {e}"))?;
        let command = command(&editor, vec![file.0.clone().into()]);
        Ok((Editing { editor, file }, command))
    }

    fn finish(self, text: &str, status: io::Result<ExitStatus>) -> Result<String, String> {
        let Editing { editor, file } = self;
        match status {
            Ok(status) if status.success() => {
                read(&file.0).map_err(|why| file.kept_if_changed(text, why))
            }
            Ok(status) => {
                let why = format!("{editor} exited with {status}. Nothing was changed.");
                Err(file.kept_if_changed(text, why))
            }
            Err(e) => Err(not_started(&editor, &e)),
        }
    }
}

/// Keeps a JSON text, valid or not, in a file of its own that only the user can read. Returns the file.
///
/// # Errors
/// The file can't be written.
pub fn keep(text: &str) -> io::Result<PathBuf> {
    let scratch = Scratch::new(text, "json")?;
    let path = scratch.0.clone();
    std::mem::forget(scratch);
    Ok(path)
}

/// Reads the edited file.
fn read(path: &Path) -> Result<String, String> {
    let refused = |why: &str| format!("Couldn't read the edited text: {why}. Nothing was changed.");
    let file = runtail_core::config::files::open(path).map_err(|e| refused(&e.to_string()))?;
    let mut bytes = Vec::new();
    file.take(MAX_TEXT + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| refused(&e.to_string()))?;
    if bytes.len() as u64 > MAX_TEXT {
        return Err(refused(&format!(
            "larger than {}",
            runtail_core::text::bytes(MAX_TEXT)
        )));
    }
    String::from_utf8(bytes).map_err(|_| refused("not UTF-8"))
}

/// A temporary file that only the user can read; dropping it deletes the file.
struct Scratch(PathBuf);

impl Scratch {
    fn new(text: &str, extension: &str) -> io::Result<Scratch> {
        let path =
            std::env::temp_dir().join(format!("runtail-{}.{extension}", uuid::Uuid::new_v4()));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path)?;
        let scratch = Scratch(path);
        file.write_all(text.as_bytes())?;
        Ok(scratch)
    }

    /// Keeps a file that the editor changed, so that its text need not be typed again. Adds its path to the reason why the text isn't
    /// used.
    fn kept_if_changed(self, before: &str, why: String) -> String {
        if fs::read(&self.0).is_ok_and(|now| now == before.as_bytes()) || !self.0.exists() {
            return why;
        }
        let path = clean(&self.0.display().to_string()).into_owned();
        std::mem::forget(self);
        format!("{why}\n  your text is kept in {path}")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // An error is ignored: it can't be reported from here, and the file contains no secrets.
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cmd_gets_options_of_the_editor_and_quoted_arguments() {
        let arguments = vec!["+3".into(), r"C:\Users\A B\config.toml".into()];
        assert_eq!(
            cmd_line("code -w", arguments),
            OsString::from(r#"/S /C "code -w "+3" "C:\Users\A B\config.toml"""#)
        );
    }

    #[test]
    fn a_text_that_is_too_large_is_rejected_without_reading_it() {
        let file = Scratch::new("é", "toml").unwrap();
        assert_eq!(read(&file.0), Ok("é".into()));
        OpenOptions::new()
            .write(true)
            .open(&file.0)
            .unwrap()
            .set_len(1 << 40)
            .unwrap();
        assert_eq!(
            read(&file.0).unwrap_err(),
            "Couldn't read the edited text: larger than 4.2 MB. Nothing was changed."
        );
        fs::write(&file.0, b"\xff").unwrap();
        assert!(read(&file.0).unwrap_err().contains("not UTF-8"));
    }
}
