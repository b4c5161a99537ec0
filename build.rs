//! Sets `RUNTAIL_VERSION`: the version with the commit, its date and the target.
//!
//! The commit is that of RUNTAIL_COMMIT, of a package's `.cargo_vcs_info.json` or of the checkout, in this order; the date is that of
//! SOURCE_DATE_EPOCH or of the commit. A debug build doesn't ask the checkout, so that a commit doesn't rebuild all tests.

use std::path::Path;
use std::process::Command;

fn main() {
    let read = |name: &str| std::env::var(name).unwrap_or_default();
    let build = read("RUNTAIL_COMMIT");
    let root = read("CARGO_MANIFEST_DIR");
    let is_debug = read("PROFILE") == "debug";
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUNTAIL_COMMIT");
    println!("cargo::rerun-if-env-changed=SOURCE_DATE_EPOCH");
    let (mut commit, mut date) = match packaged(Path::new(&root)) {
        _ if !build.is_empty() => (short(&build), String::new()),
        Some(commit) => (commit, String::new()),
        None if is_debug => ("debug".to_string(), String::new()),
        None => checkout(Path::new(&root)).unwrap_or_default(),
    };
    if let Ok(seconds) = read("SOURCE_DATE_EPOCH").parse() {
        date = day(seconds);
    }
    for word in [&mut commit, &mut date] {
        if !word.is_empty() {
            word.push(' ');
        }
    }
    let (version, target) = (read("CARGO_PKG_VERSION"), read("TARGET"));
    println!("cargo::rustc-env=RUNTAIL_VERSION={version} ({commit}{date}{target})");
}

fn short(commit: &str) -> String {
    commit
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .take(7)
        .collect()
}

/// Returns the commit that cargo noted in a package.
pub fn packaged(root: &Path) -> Option<String> {
    let noted = std::fs::read_to_string(root.join(".cargo_vcs_info.json")).ok()?;
    let (_, commit) = noted.split_once("\"sha1\"")?;
    Some(short(commit.split('"').nth(1)?))
}

/// Returns the commit and its date, and has cargo watch for the next one. A folder in another checkout has none.
pub fn checkout(root: &Path) -> Option<(String, String)> {
    if !root.join(".git").exists() {
        return None;
    }
    let git = |args: &[&str]| {
        let run = Command::new("git")
            .arg("-C")
            .arg(root)
            .args(args)
            .output()
            .ok()?;
        let text = String::from_utf8(run.stdout).ok()?;
        run.status.success().then(|| text.trim().to_string())
    };
    // Every commit and checkout is noted in the log of HEAD, also in a worktree.
    for file in ["HEAD", "logs/HEAD"] {
        let path = root.join(git(&["rev-parse", "--git-path", file])?);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    let line = git(&["show", "--no-patch", "--format=%H %cs", "HEAD"])?;
    let (commit, date) = line.split_once(' ')?;
    Some((short(commit), date.to_string()))
}

/// Returns the day of a time in seconds since 1970, in UTC (Howard Hinnant's `civil_from_days`).
pub fn day(seconds: i64) -> String {
    let days = seconds.div_euclid(86_400) + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}
