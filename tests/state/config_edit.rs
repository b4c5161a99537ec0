//! Edits of one profile leave the rest of the configuration file unchanged.

use proptest::prelude::*;
use runtail_core::config::edit::{
    edited_profile, profile_of, profile_template, with_name, with_profile, with_renamed,
    with_restore,
};
use runtail_core::config::{Config, DiffLine, Draft, Profile, SecretSource};
use std::path::Path;

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

/// The profiles of a file without one of them.
fn others(text: &str, name: &str) -> Vec<Profile> {
    read(text)
        .profiles
        .into_iter()
        .filter(|p| p.name != name)
        .collect()
}

#[test]
fn changed_profile_keeps_its_position() {
    let typed = "# The one in Frankfurt.\n[profiles.eu]\nregion = \"eu\"   # fast\napi_key_file = \"eu.key\"\nlabel = \"PROD\"\n# and no more\n";
    let text = with_profile(FILE, typed).unwrap();
    let wanted = FILE.replace(
        "api_key_env = \"EU\"\n",
        "api_key_file = \"eu.key\"\nlabel = \"PROD\"\n# and no more\n",
    );
    assert_eq!(text, wanted);
}

#[test]
fn new_profile_is_added_after_the_others() {
    let text = with_profile(FILE, "[profiles.new]\nregion = \"apac\"\n").unwrap();
    let wanted = FILE.replace("\n[poll]", "\n[profiles.new]\nregion = \"apac\"\n\n[poll]");
    assert_eq!(text, wanted);
    // An empty file, and a file without profiles.
    assert_eq!(
        with_profile("", "[profiles.a]\nregion = \"us\"\n").unwrap(),
        "[profiles.a]\nregion = \"us\"\n"
    );
    let text = with_profile("[ui]\nascii = true\n", "[profiles.a]\nregion = \"us\"\n").unwrap();
    assert_eq!(
        text,
        "[ui]\nascii = true\n\n[profiles.a]\nregion = \"us\"\n"
    );
}

#[test]
fn line_ends_stay_as_they_are() {
    let (typed, restored) = (
        "[profiles.eu]\nregion = \"apac\"\n# why\nlabel = \"x\"\n",
        with_restore(FILE, true).unwrap(),
    );
    let wanted = with_profile(FILE, typed).unwrap();
    let crlf = |text: &str| text.replace('\n', "\r\n");
    assert_eq!(with_profile(&crlf(FILE), typed).unwrap(), crlf(&wanted));
    assert_eq!(
        with_profile(&crlf(FILE), &crlf(typed)).unwrap(),
        crlf(&wanted)
    );
    assert_eq!(with_restore(&crlf(FILE), true).unwrap(), crlf(&restored));
    assert_eq!(
        with_name(&crlf(FILE), "us", "de").unwrap(),
        crlf(&with_name(FILE, "us", "de").unwrap())
    );
    assert_eq!(
        with_profile(&crlf(FILE), &read(&crlf(FILE)).tables["us"]).unwrap(),
        crlf(FILE)
    );
    // In a file with both, every line that stays keeps its own, and a mark at its beginning stays too.
    let mixed = format!("\u{feff}{}", FILE.replacen('\n', "\r\n", 3));
    let text = with_profile(&mixed, typed).unwrap();
    assert!(
        text.starts_with("\u{feff}# My servers.\r\n") && text.ends_with("# as in vi\n"),
        "{text:?}"
    );
    assert_eq!(text.matches("\r\n").count(), 3, "{text:?}");
    assert_eq!(with_profile(FILE, &crlf(typed)).unwrap(), wanted);
}

#[test]
fn unknown_settings_of_the_file_stay_and_new_ones_are_errors() {
    let file = FILE.replace(
        "api_key_env = \"EU\"\n",
        "api_key_env = \"EU\"\nmine = 1 # mine\n",
    );
    let table = read(&file).tables["eu"].clone();
    let typed = table.replace("region = \"eu\"", "region = \"us\"");
    assert_eq!(
        edited_profile(&typed, &table, None)
            .unwrap()
            .region
            .as_deref(),
        Some("us")
    );
    assert_eq!(
        with_profile(&file, &typed).unwrap(),
        file.replace("region = \"eu\"   ", "region = \"us\"   ")
    );
    let error = edited_profile(&format!("{typed}lable = \"x\"\n"), &table, None)
        .unwrap_err()
        .to_string();
    assert!(error.contains("unknown key `lable`"), "{error}");
    assert!(
        with_profile(FILE, &typed)
            .unwrap_err()
            .to_string()
            .contains("unknown key `mine`")
    );
}

#[test]
fn a_renamed_profile_keeps_its_place_and_what_names_it_follows() {
    let rules = "\n[[notify]]\nwhen = \"failed\" # all\nmatch = \"profile:eu  graph:x\" # both\n\n\
                 [[notify]]\nwhen = \"waiting\"\nmatch = \"profile:eu*\"\n";
    let file = format!("{FILE}{rules}");
    let text = with_name(&file, "eu", "fra").unwrap();
    let wanted = file
        .replace("[profiles.eu]", "[profiles.fra]")
        .replace("[\"us\", \"eu\"] # the two", "[\"us\", \"fra\"] # the two")
        .replace("profile:eu  graph:x", "profile:fra  graph:x");
    assert_eq!(text, wanted, "a pattern that may mean others stays");
    // With other changes, in one step.
    let typed = "# The one in Frankfurt.\n[profiles.fra]\nregion = \"eu\"   # fast\napi_key_env = \"FRA\"\n";
    assert_eq!(
        with_renamed(&file, "eu", typed).unwrap(),
        wanted.replace("\"EU\"", "\"FRA\"")
    );
    for (file, old, new) in [
        (
            "profiles.a.region = \"us\"\nprofiles.b.region = \"eu\"\n",
            "a",
            "c",
        ),
        (
            "profiles = { a = { region = \"us\" } , b.region = \"eu\" }\n",
            "a",
            "c",
        ),
        (FILE, "own", "mine"),
    ] {
        assert_eq!(
            with_name(file, old, new).unwrap(),
            file.replacen(old, new, 1),
            "{file}"
        );
    }
    let taken = with_name(FILE, "us", "eu").unwrap_err().to_string();
    assert!(
        taken.contains("the file has a profile \"eu\" already"),
        "{taken}"
    );
    assert!(
        with_name(FILE, "none", "x")
            .unwrap_err()
            .to_string()
            .contains("no profile \"none\"")
    );
    assert!(with_name(FILE, "us", "a b").is_err());
}

#[test]
fn restore_is_set_and_nothing_else_changes() {
    for (before, after) in [
        ("", "[ui]\nrestore = true\n"),
        (
            "[poll]\ninterval = \"5s\"\n",
            "[poll]\ninterval = \"5s\"\n\n[ui]\nrestore = true\n",
        ),
        (
            "[ui]\nascii = true # a\n\n[poll]\n",
            "[ui]\nascii = true # a\nrestore = true\n\n[poll]\n",
        ),
        (
            "[ui]\nrestore = false  # b\n",
            "[ui]\nrestore = true  # b\n",
        ),
        (
            "ui = { ascii = true }\n",
            "ui = { ascii = true , restore = true }\n",
        ),
        ("ui.restore = false\n", "ui.restore = true\n"),
    ] {
        assert_eq!(with_restore(before, true).unwrap(), after);
        assert!(read(after).ui.restore);
    }
    assert!(with_restore("ui = 1\n", true).is_err());
}

#[test]
fn rewriting_unchanged_profiles_changes_nothing() {
    for text in [
        FILE,
        Config::EXAMPLE,
        "profiles = { a = { region = \"us\" } }\n",
        "profiles.a.region = \"us\"\n",
    ] {
        let config = read(text);
        assert!(!config.tables.is_empty(), "{text}");
        for (name, table) in &config.tables {
            let profile = profile_of(table, None).unwrap_or_else(|e| panic!("{e}\n{table}"));
            assert_eq!(
                Some(&profile),
                config.profiles.iter().find(|p| p.name == *name)
            );
            let again = read(&with_profile(text, table).unwrap());
            assert_eq!(again.profiles, config.profiles, "{text}");
        }
    }
    assert_eq!(with_profile(FILE, &read(FILE).tables["us"]).unwrap(), FILE);
    assert_eq!(with_profile(FILE, &read(FILE).tables["own"]).unwrap(), FILE);
}

#[test]
fn invalid_profile_text_is_reported_with_its_line() {
    for (text, part) in [
        ("", "this text defines no profile"),
        (
            "[profiles.a]\nregion = \"su\"\n",
            "line 2, column 10: unknown region \"su\"",
        ),
        (
            "[profiles.a]\nregion = \"us\"\nlable = \"x\"\n",
            "line 3, column 1: unknown key `lable` in [profiles.a]; did you mean `label`?",
        ),
        (
            "[profiles.a]\nregion = \"us\"\n[poll]\ninterval = \"5s\"\n",
            "only a profile can be defined here",
        ),
        (
            "[profiles.a]\nregion = \"us\"\n[profiles.b]\nregion = \"us\"\n",
            "only one profile",
        ),
        (
            "[profiles.a]\nregion = \n",
            "line 2, column 10: this is not TOML",
        ),
        (
            "[profiles.a]\nregion = \"us\"\napi_key = \"lsv2_pt_canary\"\n",
            "keys don't belong in this file",
        ),
        (
            "[profiles.a]\nregion = \"us\"\napi_key_env = \"sk-ant-canary0123456\"\n",
            "line 3, column 15: this is not the name",
        ),
        (
            "[profiles.a]\nregion = \"us\"\napi_key_env = \"\"\n",
            "must not be empty",
        ),
        (
            "[profiles.a]\nregion = \"us\"\napi_key_file = \"ls__canary\"\n",
            "looks like a key",
        ),
        (
            "[profiles.a]\nregion = \"us\"\nworkspace = \"lsv2_pt_canary\"\n",
            "looks like a key",
        ),
    ] {
        let error = profile_of(text, None).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
        assert!(!error.contains("canary"), "{error}");
        assert!(with_profile(FILE, text).is_err(), "{text}");
    }
    assert!(with_profile("[profiles\n", "[profiles.a]\nregion = \"us\"\n").is_err());
}

#[test]
fn profile_with_a_pasted_key_is_not_editable() {
    let text = "[profiles.a]\nregion = \"us\"\napi_key = \"canary\"\n[profiles.b]\nregion = \"eu\" # lsv2_pt_canary\n";
    let config = read(text);
    assert!(config.tables.is_empty());
    for profile in &config.profiles {
        assert!(!profile_template(Some(profile)).contains("canary"));
    }
}

#[test]
fn key_file_paths_are_relative_to_the_config_file() {
    let text = "[profiles.a]\nregion = \"us\"\napi_key_file = \"a.key\"\n";
    let profile = profile_of(text, Some(Path::new("/etc/runtail/config.toml"))).unwrap();
    assert_eq!(
        profile.key,
        Some(SecretSource::File("/etc/runtail/a.key".into()))
    );
}

#[test]
fn profile_template_is_valid() {
    assert_eq!(
        profile_of(&profile_template(None), None).unwrap().name,
        "new"
    );
    // The commented lines are valid as well.
    let all = profile_template(None)
        .replace("region = \"us\"\n", "")
        .replace("# ", "");
    let all: String = all
        .lines()
        .filter(|l| l.starts_with('[') || l.contains(" = "))
        .map(|l| format!("{l}\n"))
        .collect();
    let code: String = all
        .lines()
        .filter(|l| !l.contains(" (") && !l.contains("or "))
        .map(|l| format!("{l}\n"))
        .collect();
    assert!(profile_of(&code, None).unwrap().is_production(), "{code}");
}

fn word() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9äé'\"#=._-]{1,12}"
}

fn any_profile() -> impl Strategy<Value = Profile> {
    let place = prop_oneof![
        proptest::sample::select(vec!["us", "eu", "apac", "aws"])
            .prop_map(|r| format!("region = \"{r}\"\n")),
        "[a-z]{1,8}".prop_map(|h| format!("url = \"https://{h}.example.com\"\n")),
        "[a-z]{1,8}".prop_map(|h| format!(
            "agent_server = {{ {h} = \"http://127.0.0.1:1\", z-z = \"https://x.example\" }}\n"
        )),
        Just("agent_server = \"http://localhost:2024\"\n".to_string()),
    ];
    let key = prop_oneof![
        Just(String::new()),
        "[A-Z_]{1,9}".prop_map(|n| format!("api_key_env = \"{n}\"\n")),
        Just("bearer_command = [\"pass\", \"a # b\"]\n".to_string()),
        Just("api_key_file = \"/k e/y\"\n".to_string()),
    ];
    let rest = (
        proptest::option::of(word()),
        any::<bool>(),
        proptest::collection::vec("[a-f0-9]{1,8}", 0..3),
    );
    ("x[a-zA-Z0-9_.-]{0,7}", place, key, rest).prop_map(
        |(name, place, key, (label, read_only, pinned))| {
            let name = toml_edit::Key::new(name);
            let mut profile =
                profile_of(&format!("[profiles.{name}]\n{place}{key}"), None).unwrap();
            (profile.label, profile.read_only, profile.deployments) = (label, read_only, pinned);
            profile
        },
    )
}

proptest! {
    #[test]
    fn profile_text_round_trips(profile in any_profile()) {
        let text = profile_template(Some(&profile));
        let again = profile_of(&text, None).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        prop_assert_eq!(again, profile);
    }

    #[test]
    fn edits_change_only_one_profile(first in any_profile(), rename in any::<bool>(), mut second in any_profile(), third in any_profile()) {
        let mut text = FILE.to_string();
        if !rename {
            second.name = first.name.clone();
        }
        for profile in [&first, &second, &third] {
            let before = text.clone();
            text = with_profile(&text, &profile_template(Some(profile))).unwrap();
            let config = read(&text);
            prop_assert_eq!(config.profiles.iter().find(|p| p.name == profile.name), Some(profile));
            prop_assert_eq!(others(&text, &profile.name), others(&before, &profile.name));
            let was = read(&before);
            prop_assert_eq!((config.poll, config.ui, config.keys, config.default_profiles), (was.poll, was.ui, was.keys, was.default_profiles));
            // All original lines remain, in order.
            let mut lines = text.lines();
            for line in FILE.lines().filter(|l| !l.is_empty()) {
                prop_assert!(lines.any(|l| l == line), "{line} is missing from\n{text}");
            }
        }
    }
}

#[test]
fn shown_diff_is_what_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    std::fs::write(&path, FILE).unwrap();
    let typed = "[profiles.us] # first\nregion = \"us\"\napi_key_env = \"OTHER\"\n";
    let draft = Draft::new(&path, vec![typed.into()]).unwrap();
    let (out, into) = ("api_key_env = \"US\"", "api_key_env = \"OTHER\"");
    let context = |text: &str| DiffLine::Context(text.to_string());
    assert_eq!(
        draft.diff(),
        [
            DiffLine::Same(3),
            context("[profiles.us] # first"),
            context("region = \"us\""),
            DiffLine::Out(out.into()),
            DiffLine::In(into.into()),
            context(""),
            context("# The one in Frankfurt."),
            DiffLine::Same(12),
        ]
    );
    draft.write().unwrap();
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        FILE.replace(out, into)
    );
    // Writing again fails, because the file no longer matches the shown diff.
    let error = draft.write().unwrap_err().to_string();
    assert!(
        error.contains("changed by another program") && error.contains("nothing was written"),
        "{error}"
    );
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        1,
        "no temporary file remains"
    );
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
fn broken_files_are_not_edited() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    std::fs::write(&path, "[profiles.a\n").unwrap();
    let error = Draft::new(&path, vec!["[profiles.a]\nregion = \"us\"\n".into()])
        .unwrap_err()
        .to_string();
    assert!(error.contains("config.toml:1:12"), "{error}");
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
