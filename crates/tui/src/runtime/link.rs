//! Opens a link in the user's browser with the system's opener, and only on request.

use crate::boxed;
use std::process::Stdio;
use std::time::Duration;
use url::Url;

/// The system's program for opening links, and its arguments.
#[cfg(target_os = "macos")]
const OPENER: (&str, &[&str]) = ("open", &[]);
#[cfg(windows)]
const OPENER: (&str, &[&str]) = ("rundll32", &["url.dll,FileProtocolHandler"]);
#[cfg(not(any(target_os = "macos", windows)))]
const OPENER: (&str, &[&str]) = ("xdg-open", &[]);

/// How long to wait for the opener. Some exit at once; others become the browser and exit when it is closed.
const OPENER_TIMEOUT: Duration = Duration::from_secs(3);

/// Opens an http or https link.
///
/// # Errors
/// A message for the user: the link has another scheme, which could start any program, or the opener is missing or failed.
#[boxed]
pub async fn open_link(link: &str) -> Result<(), String> {
    let url = parse_web_link(link)?;
    let (program, arguments) = OPENER;
    let mut command = tokio::process::Command::new(program);
    // The opener's output would end up on the screen or in the data.
    command
        .args(arguments)
        .arg(url.as_str())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut opener = command
        .spawn()
        .map_err(|e| format!("couldn't start {program}: {e}"))?;
    match tokio::time::timeout(OPENER_TIMEOUT, opener.wait()).await {
        Ok(Ok(status)) if !status.success() => Err(format!("{program} failed: {status}")),
        _ => Ok(()),
    }
}

fn parse_web_link(link: &str) -> Result<Url, String> {
    let url = Url::parse(link).map_err(|e| format!("invalid link ({e}); not opened"))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        _ => Err("not an http link; not opened".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_links_are_opened() {
        assert_eq!(
            parse_web_link("https://a.example/x?y=1#z")
                .unwrap()
                .as_str(),
            "https://a.example/x?y=1#z"
        );
        for link in [
            "file:///etc/passwd",
            "javascript:alert(1)",
            "--help",
            "",
            "ms-settings:x",
            "/etc",
            "ssh://h",
        ] {
            assert!(
                parse_web_link(link).unwrap_err().ends_with("not opened"),
                "{link}"
            );
        }
        // A link can't add an option or a second argument.
        assert!(
            !parse_web_link("http://a.example/ -x\n-y")
                .unwrap()
                .as_str()
                .contains([' ', '\n'])
        );
    }
}
