//! The version: one line, at the head of `doctor`, and in the `User-Agent`.

use crate::ended::{runtail, with_agent};
use regex::Regex;
use runtail_testkit::common::{Server, json};
use std::path::Path;
use std::process::Command;

#[allow(dead_code)]
#[path = "../../build.rs"]
mod build_script;

#[tokio::test]
async fn version_names_the_build_everywhere() {
    let server = Server::start(|_| json(200, "[]")).await;
    let home = with_agent(&server);
    let line = runtail(home.path(), "--version").await.expect(0).out;
    let form = format!(
        "^runtail {} \\(([0-9a-f]{{7}} |debug )?([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}} )?[a-z0-9_]+(-[a-z0-9_]+)+\\)\n$",
        regex::escape(env!("CARGO_PKG_VERSION"))
    );
    assert!(Regex::new(&form).unwrap().is_match(&line), "{line}");
    let report = runtail(home.path(), "doctor -o text").await.out;
    assert!(report.starts_with(&line), "{report}");
    runtail(home.path(), "threads list").await.expect(0);
    let agent = format!(
        "runtail/{}",
        line.trim_end().strip_prefix("runtail ").unwrap()
    );
    let seen = server.seen();
    assert_eq!(seen.last().unwrap().header("user-agent"), Some(&*agent));
}

#[test]
#[ignore = "needs git: cargo test --test cli version -- --ignored"]
fn build_finds_the_commit_of_a_checkout_or_of_a_package() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let git = |at: &Path, args: &str| {
        let done = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.com", "-C"])
            .arg(at)
            .args(args.split(' '))
            .env("GIT_COMMITTER_DATE", "2026-11-27T12:00:00Z")
            .output()
            .unwrap();
        assert!(done.status.success(), "{args}: {done:?}");
        String::from_utf8(done.stdout).unwrap().trim().to_string()
    };
    assert_eq!(build_script::checkout(root), None);
    git(root, "init --quiet");
    git(root, "commit --quiet --allow-empty --message one");
    git(root, "worktree add --quiet beside");
    let commit = git(root, "rev-parse HEAD")[..7].to_string();
    let expected = Some((commit, "2026-11-27".to_string()));
    assert_eq!(build_script::checkout(root), expected);
    assert_eq!(build_script::checkout(&root.join("beside")), expected);
    // A folder of another project is not this project.
    let inner = root.join("vendor");
    std::fs::create_dir(&inner).unwrap();
    assert_eq!(
        (
            build_script::checkout(&inner),
            build_script::packaged(&inner)
        ),
        (None, None)
    );
    let noted = "{\n  \"git\": {\n    \"sha1\": \"0123456789abcdef0123456789abcdef01234567\"\n  },\n  \"path_in_vcs\": \"\"\n}";
    std::fs::write(inner.join(".cargo_vcs_info.json"), noted).unwrap();
    assert_eq!(build_script::packaged(&inner).as_deref(), Some("0123456"));
    for (seconds, day) in [
        (0, "1970-01-01"),
        (951_782_400, "2000-02-29"),
        (1_795_823_999, "2026-11-27"),
        (-1, "1969-12-31"),
    ] {
        assert_eq!(build_script::day(seconds), day);
    }
}
