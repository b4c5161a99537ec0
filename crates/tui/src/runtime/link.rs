//! Opens a link in the user's browser with the system's opener, and only on request.

use std::process::Stdio;
use std::time::Duration;
use url::Url;

/// What opens links here.
#[cfg(target_os = "macos")]
const OPENER: (&str, &[&str]) = ("open", &[]);
#[cfg(windows)]
const OPENER: (&str, &[&str]) = ("rundll32", &["url.dll,FileProtocolHandler"]);
#[cfg(not(any(target_os = "macos", windows)))]
const OPENER: (&str, &[&str]) = ("xdg-open", &[]);

/// How long an opener is waited for. Some end at once; one that becomes the browser itself ends when that does.
const PATIENCE: Duration = Duration::from_secs(3);

/// Opens an http or https link.
///
/// # Errors
/// In words for the person: a link of another kind, which could start any program; an opener that is not there, or failed.
pub async fn open_link(link: &str) -> Result<(), String> {
    let url = checked(link)?;
    let (program, arguments) = OPENER;
    let mut command = tokio::process::Command::new(program);
    // What it writes would land in the middle of the screen or of the data.
    command.args(arguments).arg(url.as_str()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut opener = command.spawn().map_err(|e| format!("couldn't start {program}: {e}"))?;
    match tokio::time::timeout(PATIENCE, opener.wait()).await {
        Ok(Ok(status)) if !status.success() => Err(format!("{program} failed: {status}")),
        _ => Ok(()),
    }
}

fn checked(link: &str) -> Result<Url, String> {
    let url = Url::parse(link).map_err(|e| format!("invalid link ({e}); not opened"))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        _ => Err("the link is neither http nor https; not opened".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_links_of_the_web_are_opened() {
        assert_eq!(checked("https://a.example/x?y=1#z").unwrap().as_str(), "https://a.example/x?y=1#z");
        for link in ["file:///etc/passwd", "javascript:alert(1)", "--help", "", "ms-settings:x", "/etc", "ssh://h"] {
            assert!(checked(link).unwrap_err().ends_with("not opened"), "{link}");
        }
        // No option and no second word can come of it.
        assert!(!checked("http://a.example/ -x\n-y").unwrap().as_str().contains([' ', '\n']));
    }
}
