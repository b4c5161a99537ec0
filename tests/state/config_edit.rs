//! New profiles are appended to the configuration file, whose text stays as it is.

use runtail_core::config::{Config, DiffLine, Draft, line_of};

const FILE: &str = r#"# My servers.
default_profiles = ["us", "eu"] # the two

[profiles.us] # first
region = "us"
api_key_env = "US"

# The one in Frankfurt.
[profiles.eu]
region = "eu"   # fast
api_key_env = "EU"

[profiles.own.agent_server]
dev = "http://127.0.0.1:2024"

[poll] # patience
interval = "30s"

[keys]
"stream.follow" = ["G"] # as in vi
"#;

fn read(text: &str) -> Config {
    Config::parse(text, None).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

#[test]
fn the_shown_text_is_appended_to_the_file_with_its_line_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    for file in [
        FILE.to_string(),
        FILE.trim_end().to_string(),
        format!("\u{feff}{}", FILE.replace('\n', "\r\n")),
    ] {
        std::fs::write(&path, &file).unwrap();
        let typed = "[profiles.new]\nregion = \"apac\" # lsv2_pt_canary\n";
        let draft = Draft::new(&path, vec![typed.into()]).unwrap();
        let context = |text: &str| DiffLine::Context(text.to_string());
        let added = |text: &str| DiffLine::In(text.to_string());
        assert_eq!(
            draft.diff(),
            [
                DiffLine::Same(FILE.lines().count() - 2),
                context("[keys]"),
                context("\"stream.follow\" = [\"G\"] # as in vi"),
                added(""),
                added("[profiles.new]"),
                added("region = \"apac\" # **************"),
            ]
        );
        draft.write().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let end = if file.contains('\r') { "\r\n" } else { "\n" };
        let typed = typed.replace('\n', end);
        assert_eq!(text, format!("{}{end}{end}{typed}", file.trim_end()));
        assert_eq!(line_of(&path, "new"), FILE.lines().count() + 2);
        // Writing again fails, because the file no longer matches the shown diff.
        let error = draft.write().unwrap_err().to_string();
        assert!(
            error.contains("changed by another program") && error.contains("nothing was written"),
            "{error}"
        );
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

#[test]
fn the_line_of_a_profile_is_found_or_that_of_the_mistake() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    for (text, line) in [
        (FILE, 9),
        ("[poll]\n\nprofiles.eu = 1\n", 1),
        ("[poll]\n[profiles.eu]\nregion = mars\n", 3),
        ("[ui]\n[profiles]\n\neu = {region = \"eu\"}", 4),
    ] {
        std::fs::write(&path, text).unwrap();
        assert_eq!(line_of(&path, "eu"), line, "{text}");
    }
    assert_eq!(line_of(&folder.path().join("none"), "eu"), 1);
}

#[cfg(unix)]
#[test]
fn symlinks_and_permissions_are_kept_and_new_files_are_private() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mode = |name: &str| std::fs::metadata(at(name)).unwrap().permissions().mode() & 0o777;
    let typed = "[profiles.a]\nregion = \"us\"\n";
    std::fs::create_dir(at("dotfiles")).unwrap();
    std::fs::write(at("dotfiles/real.toml"), FILE).unwrap();
    std::fs::set_permissions(
        at("dotfiles/real.toml"),
        std::fs::Permissions::from_mode(0o640),
    )
    .unwrap();
    symlink("dotfiles/real.toml", at("config.toml")).unwrap();
    Draft::new(&at("config.toml"), vec![typed.into()])
        .unwrap()
        .write()
        .unwrap();
    assert!(
        std::fs::symlink_metadata(at("config.toml"))
            .unwrap()
            .is_symlink()
    );
    assert!(
        std::fs::read_to_string(at("dotfiles/real.toml"))
            .unwrap()
            .contains("[profiles.a]")
    );
    assert_eq!(mode("dotfiles/real.toml"), 0o640);
    // A read-only file is not overwritten.
    std::fs::set_permissions(
        at("dotfiles/real.toml"),
        std::fs::Permissions::from_mode(0o440),
    )
    .unwrap();
    let draft = Draft::new(
        &at("config.toml"),
        vec!["[profiles.b]\nregion = \"us\"\n".into()],
    )
    .unwrap();
    let error = draft.write().unwrap_err().to_string();
    assert!(
        error.contains("the file is read-only") && error.contains("nothing was written"),
        "{error}"
    );
    // A new file in a new folder.
    let draft = Draft::new(&at("new/folder/config.toml"), vec![typed.into()]).unwrap();
    assert!(draft.is_new());
    draft.write().unwrap();
    assert_eq!(
        (
            mode("new/folder/config.toml"),
            std::fs::read_to_string(at("new/folder/config.toml")).unwrap()
        ),
        (0o600, typed.into())
    );
    assert!(
        draft
            .write()
            .unwrap_err()
            .to_string()
            .contains("created by another program")
    );
    // A dangling symlink is rejected.
    symlink("nowhere", at("dangling.toml")).unwrap();
    let error = Draft::new(&at("dangling.toml"), vec![typed.into()])
        .unwrap_err()
        .to_string();
    assert!(error.contains("a link to nowhere"), "{error}");
    assert!(!at("nowhere").exists());
}

#[test]
fn broken_files_and_known_names_are_not_edited() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    for (text, said) in [
        ("[profiles.a\n", "config.toml:1:12"),
        ("[profiles.a]\nregion = \"eu\"\n", "duplicate key"),
    ] {
        std::fs::write(&path, text).unwrap();
        let error = Draft::new(&path, vec!["[profiles.a]\nregion = \"us\"\n".into()])
            .unwrap_err()
            .to_string();
        assert!(error.contains(said), "{error}");
    }
}

/// Simulates dashboards that save a profile at the same time.
#[test]
fn only_one_of_several_concurrent_edits_is_written() {
    const WRITERS: usize = 8;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    for round in 0..100 {
        std::fs::write(&path, FILE).unwrap();
        let barrier = std::sync::Barrier::new(WRITERS);
        let results: Vec<Result<(), String>> = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS)
                .map(|n| {
                    let (path, barrier) = (&path, &barrier);
                    scope.spawn(move || {
                        let typed = format!("[profiles.new{n}]\nregion = \"us\"\n");
                        let draft = Draft::new(path, vec![typed.into()]).unwrap();
                        barrier.wait();
                        draft.write().map_err(|e| e.to_string())
                    })
                })
                .collect();
            writers
                .into_iter()
                .map(|writer| writer.join().unwrap())
                .collect()
        });
        let written: Vec<usize> = (0..WRITERS).filter(|n| results[*n].is_ok()).collect();
        let text = std::fs::read_to_string(&path).unwrap();
        let names: Vec<String> = written.iter().map(|n| format!("new{n}")).collect();
        let profiles = read(&text).profiles;
        let found: Vec<&str> = profiles
            .iter()
            .map(|p| p.name.as_str())
            .filter(|name| name.starts_with("new"))
            .collect();
        assert_eq!(
            found, names,
            "round {round}: what was reported as written is in the file"
        );
        assert!(written.len() <= 1, "round {round}: {results:?}");
        let left: Vec<_> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|f| f.unwrap().file_name())
            .collect();
        assert_eq!(left, ["config.toml"], "round {round}");
    }
}
