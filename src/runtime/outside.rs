//! The person's own editor.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

/// Lets the person's own editor change a text, and waits for its end. The terminal must have been given back before.
pub fn edit(text: &str) -> Result<String, String> {
    let editor =
        ["VISUAL", "EDITOR"].into_iter().find_map(|name| std::env::var(name).ok().filter(|v| !v.trim().is_empty()));
    let Some(editor) = editor else {
        return Err("Neither VISUAL nor EDITOR is set in the environment: it says which editor is yours.".into());
    };
    let file = Scratch::new(text).map_err(|e| format!("No file could be made for the editor: {e}"))?;
    // As git and crontab do it: the variable may hold options, so a shell reads it; the file's name is an argument.
    let status = Command::new("sh").arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(&file.0).status();
    match status {
        Ok(status) if status.success() => fs::read_to_string(&file.0)
            .map_err(|e| format!("What the editor left cannot be read: {e}. Nothing was changed.")),
        Ok(status) => Err(format!("{editor} ended with {status}: nothing was changed.")),
        Err(e) => Err(format!("{editor} could not be started: {e}")),
    }
}

/// A file that nobody else can read, and that goes away with this.
struct Scratch(PathBuf);

impl Scratch {
    fn new(text: &str) -> std::io::Result<Scratch> {
        let path = std::env::temp_dir().join(format!("runtail-{}.toml", uuid::Uuid::new_v4()));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path)?;
        let scratch = Scratch(path);
        file.write_all(text.as_bytes())?;
        Ok(scratch)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // There is nobody to tell, and no secret in it.
        let _ = fs::remove_file(&self.0);
    }
}
