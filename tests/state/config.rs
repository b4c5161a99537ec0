//! Parsing of the configuration file, and its error messages.

use runtail_core::config::theme::Role;
use runtail_core::config::{Config, Mouse, SecretSource, Timestamps};
use std::path::{Path, PathBuf};
use std::time::Duration;

const FULL: &str = r##"
default_profiles = ["zeta", "local"]

[profiles.zeta]
url = "https://langsmith.example.com/api/v1/"
workspace = "00000000-0000-4000-8000-000000000000"
api_key_file = "zeta.key"
label = "PROD"
deployments = ["d-1", "d-2"]

[profiles.alpha]
region = "eu"
api_key_command = ["pass", "show", "ls"]
bearer_env = "TOKEN"
read_only = true

[profiles.local]
agent_server = { python = "http://127.0.0.1:2024/", js = "http://localhost:2025" }

[poll]
interval = "200s"
timeout = "1h30m"

[limits]
max_rows = 5_000
max_bytes = "1GB"
max_event = 65536
total = "2GB"

[ui]
theme = "dusk"
mouse = "off"
ascii = true
timestamps = "delta"
wrap = true

[themes.night]
inherits = "dusk"
good = "bold 32"

[themes.dusk]
accent = "#87afff on black"

[keys]
"stream.follow" = ["G", "End"]
stream.pause = "space"
"##;

#[test]
fn full_configuration_is_parsed() {
    let config = Config::parse(FULL, Some(Path::new("/etc/runtail/config.toml"))).unwrap();
    assert_eq!(config.warnings, Vec::<String>::new());
    assert_eq!(config.default_profiles, ["zeta", "local"]);
    let names: Vec<&str> = config.profiles.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["zeta", "alpha", "local"], "the file's order");
    let zeta = &config.profiles[0];
    assert_eq!(
        zeta.control_plane.as_ref().unwrap().as_str(),
        "https://langsmith.example.com/api-host"
    );
    assert_eq!(zeta.region.as_deref(), Some("langsmith.example.com"));
    assert_eq!(zeta.deployments, ["d-1", "d-2"]);
    let file = PathBuf::from("/etc/runtail/zeta.key");
    assert!(matches!(&zeta.key, Some(SecretSource::File(path)) if *path == file));
    assert!(zeta.is_production() && !zeta.read_only);
    let alpha = &config.profiles[1];
    assert_eq!(alpha.region.as_deref(), Some("eu"));
    assert!(matches!(&alpha.key, Some(SecretSource::Command(words)) if words.len() == 3));
    assert!(matches!(&alpha.bearer, Some(SecretSource::Env(name)) if name == "TOKEN"));
    assert!(alpha.read_only);
    let servers = &config.profiles[2].agent_servers;
    assert_eq!(servers[0].0, "python");
    assert_eq!(servers[0].1.as_str(), "http://127.0.0.1:2024/");
    assert_eq!(config.poll.interval, Duration::from_secs(200));
    assert_eq!(config.poll.timeout, Duration::from_secs(5400));
    assert_eq!(
        (
            config.event_log.max_rows,
            config.event_log.max_bytes,
            config.event_log.max_event,
            config.event_log.total
        ),
        (5000, 1_000_000_000, 65536, 2_000_000_000)
    );
    assert_eq!(
        (config.ui.theme.as_str(), config.ui.mouse, config.ui.ascii),
        ("dusk", Mouse::Off, true)
    );
    assert_eq!(
        (config.ui.timestamps, config.ui.wrap),
        (Timestamps::Delta, true)
    );
    let night = config.themes.get("night").unwrap();
    let look = |role| night.look(role).to_string();
    assert_eq!(
        [look(Role::Good), look(Role::Accent), look(Role::Strong)],
        ["bold 32", "#87afff on black", "bold"],
        "its own style, the inherited theme's, and that of `terminal`"
    );
    assert_eq!(config.keys["stream.follow"], ["G", "End"]);
    assert_eq!(config.keys["stream.pause"], ["space"]);
}

#[test]
fn empty_file_uses_defaults() {
    let config = Config::parse("", None).unwrap();
    assert!(config.profiles.is_empty() && config.warnings.is_empty());
    assert_eq!(config.poll.interval, Duration::from_secs(60));
}

#[test]
fn unknown_keys_are_ignored_with_a_warning() {
    let text = "colour = 1\n[profiles.a]\nregion = \"us\"\nlable = \"PROD\"\napi_key = \"canary\"\n\n[pol]\n[limits]\nmax_row = 5\n[ui]\n\"\\u001b[31m\" = 1\n";
    let config = Config::parse(text, Some(Path::new("c.toml"))).unwrap();
    assert_eq!(
        config.warnings,
        [
            "c.toml:1:1: unknown key `colour`, ignored",
            "c.toml:4:1: unknown key `lable` in [profiles.a], ignored; did you mean `label`?",
            "c.toml:5:1: unknown key `api_key` in [profiles.a], ignored; keys don't belong in this file: use \
             api_key_env, api_key_file, api_key_command or api_key_keyring",
            "c.toml:7:2: unknown key `pol`, ignored; did you mean `poll`?",
            "c.toml:9:1: unknown key `max_row` in [limits], ignored; did you mean `max_rows`?",
            "c.toml:11:1: unknown key `` in [ui], ignored",
        ]
    );
    assert_eq!(config.profiles[0].label, None);
    assert!(!config.profiles[0].is_read_only());
    assert!(!format!("{config:?}").contains("canary"));
}

/// Each mistake with its line and column and a part of its message.
#[test]
fn errors_show_line_and_column() {
    let profile =
        |line: &str| format!("[profiles.a]\nagent_server = \"http://localhost:1\"\n{line}\n");
    let cases: Vec<(String, (usize, usize), &str)> = vec![
        ("a = \n".into(), (1, 5), "this is not TOML"),
        ("x = 1\n[ui\n".into(), (2, 4), "this is not TOML"),
        ("x = \"open\n".into(), (1, 10), "this is not TOML"),
        (
            "[ui]\nascii = true\nascii = false\n".into(),
            (3, 1),
            "this is not TOML: duplicate key",
        ),
        (
            "default_profiles = \"a\"\n".into(),
            (1, 20),
            "expected a list of texts such as [\"a\", \"b\"], found \"a\"",
        ),
        (
            "default_profiles = [1]\n".into(),
            (1, 21),
            "expected a text in quotes, found 1",
        ),
        (
            "default_profiles = [\"b\"]\n[profiles.a]\nregion = \"us\"".into(),
            (1, 21),
            "there is no profile \"b\"",
        ),
        (
            "profiles = 3\n".into(),
            (1, 12),
            "expected a table, found 3",
        ),
        (
            "[profiles]\na = \"x\"\n".into(),
            (2, 5),
            "expected a table, found \"x\"",
        ),
        (
            "[profiles.\"a/b\"]\nregion = \"us\"\n".into(),
            (1, 11),
            "must not be empty or contain spaces or slashes",
        ),
        (
            "[profiles.a]\nlabel = \"x\"\n".into(),
            (1, 11),
            "the profile \"a\" has no server",
        ),
        (
            "[profiles.a]\nregion = \"su\"\n".into(),
            (2, 10),
            "unknown region \"su\"",
        ),
        (
            "[profiles.a]\nregion = \"\"\n".into(),
            (2, 10),
            "must not be empty",
        ),
        (
            "[profiles.a]\nregion = \"us\"\nurl = \"https://x\"\n".into(),
            (3, 7),
            "the control plane is given twice",
        ),
        (
            "[profiles.a]\nurl = \"langsmith\"\n".into(),
            (2, 7),
            "not a valid address",
        ),
        (
            "[profiles.a]\nurl = \"ftp://x\"\n".into(),
            (2, 7),
            "the scheme \"ftp\" is not http or https",
        ),
        (
            "[profiles.a]\nurl = \"https://u:canary@x\"\n".into(),
            (2, 7),
            "must not contain a user or a password",
        ),
        (
            "[profiles.a]\nurl = \"http://ls.example.com\"\n".into(),
            (2, 7),
            "plain http to another machine",
        ),
        (
            "[profiles.a]\nagent_server = [\"x\"]\n".into(),
            (2, 16),
            "expected an address in quotes, or a table",
        ),
        (
            "[profiles.a.agent_server]\nx = \"http://10.1.1.1\"\n".into(),
            (2, 5),
            "plain http to another machine",
        ),
        (
            profile("workspace = \"a b\""),
            (3, 13),
            "expected a workspace id",
        ),
        (
            profile("read_only = \"yes\""),
            (3, 13),
            "expected true or false, found \"yes\"",
        ),
        (
            profile("read_only = \"true\""),
            (3, 13),
            "expected true or false, found \"true\"",
        ),
        (
            profile("label = 2"),
            (3, 9),
            "expected a text in quotes, found 2",
        ),
        (
            profile("deployments = [\"\"]"),
            (3, 16),
            "must not be empty",
        ),
        (
            profile("api_key_env = \"A\"\napi_key_file = \"b\""),
            (4, 16),
            "the key is given twice",
        ),
        (
            profile("api_key_env = \"lsv2_pt_canary\""),
            (3, 15),
            "not the name of an environment variable",
        ),
        (
            profile("api_key_command = \"pass\""),
            (3, 19),
            "expected a list of texts",
        ),
        (
            profile("bearer_command = []"),
            (3, 18),
            "this command has no program",
        ),
        (
            "[poll]\ninterval = 60\n".into(),
            (2, 12),
            "expected a duration such as",
        ),
        (
            "[poll]\ninterval = \"1ms\"\n".into(),
            (2, 12),
            "more than once a second",
        ),
        (
            "[poll]\ntimeout = \"soon\"\n".into(),
            (2, 11),
            "expected a duration such as",
        ),
        (
            "[limits]\nmax_rows = 0\n".into(),
            (2, 12),
            "expected a whole number above zero, found 0",
        ),
        (
            "[limits]\nmax_rows = -3\n".into(),
            (2, 12),
            "expected a whole number above zero, found -3",
        ),
        (
            "[limits]\nmax_bytes = \"a lot\"\n".into(),
            (2, 13),
            "expected a size such as",
        ),
        (
            "[limits]\nmax_event = 5\n".into(),
            (2, 13),
            "too small for an event",
        ),
        (
            "[ui]\nmouse = \"left\"\n".into(),
            (2, 9),
            "expected one of \"auto\", \"on\", \"off\"",
        ),
        (
            "[ui]\ntimestamps = \"utc\"\n".into(),
            (2, 14),
            "expected one of \"absolute\", \"relative\", \"delta\"",
        ),
        (
            "[ui]\ntheme = \"termnial\"\n".into(),
            (2, 9),
            "there is no theme \"termnial\"",
        ),
        (
            "[themes.mono]\ngood = \"red\"\n".into(),
            (1, 9),
            "the theme \"mono\" is built in",
        ),
        (
            "[themes.x]\ngod = \"red\"\n".into(),
            (2, 1),
            "no role is named `god`",
        ),
        (
            "[themes.x]\ngood = 3\n".into(),
            (2, 8),
            "expected a style such as \"bold cyan\", found 3",
        ),
        (
            "[themes.x]\ngood = \"bold grun\"\n".into(),
            (2, 14),
            "\"grun\" is neither a color nor an attribute",
        ),
        (
            "[themes.x]\ninherits = \"y\"\n".into(),
            (2, 12),
            "there is no theme \"y\"",
        ),
        (
            "[themes.x]\ninherits = \"y\"\n[themes.y]\ninherits = \"x\"\n".into(),
            (2, 12),
            "in a cycle",
        ),
        (
            "[ui]\nascii = 1\n".into(),
            (2, 9),
            "expected true or false, found 1",
        ),
        (
            "[keys]\n\"a.b\" = 3\n".into(),
            (2, 9),
            "expected a key such as \"G\"",
        ),
        (
            "[keys]\n\"ä\" = [1]\n".into(),
            (2, 8),
            "expected a text in quotes, found 1",
        ),
    ];
    for (text, (line, column), part) in cases {
        let error = Config::parse(&text, Some(Path::new("c.toml"))).expect_err(&text);
        let shown = error.to_string();
        let place = error
            .place
            .as_ref()
            .unwrap_or_else(|| panic!("{text}: no place"));
        assert_eq!(
            (place.line, place.column),
            (line, column),
            "{text}\n{shown}"
        );
        assert!(
            shown.starts_with(&format!("c.toml:{line}:{column}: ")),
            "{shown}"
        );
        assert!(error.message.contains(part), "{shown}");
        let caret = shown
            .lines()
            .find(|l| l.trim_start().starts_with("| ^"))
            .or_else(|| {
                shown
                    .lines()
                    .find(|l| l.trim_start().starts_with('|') && l.trim_end().ends_with('^'))
            });
        assert!(caret.is_some(), "no caret: {shown}");
        assert!(!shown.contains("canary"), "{shown}");
    }
}

#[test]
fn error_message_shows_the_line_and_a_caret() {
    let text = "[profiles.prod]\nregion = \"eu-west\"\n";
    let error = Config::parse(text, Some(Path::new("config.toml"))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "config.toml:2:10: unknown region \"eu-west\"\n  2 | region = \"eu-west\"\n    |          ^^^^^^^^^\n  \
         expected one of us, eu, apac, aws; for another installation use `url`"
    );
}

#[test]
fn allow_http_permits_plain_http() {
    let text = "[profiles.a]\nurl = \"http://ls.internal\"\nallow_http = true\n";
    let config = Config::parse(text, None).unwrap();
    assert_eq!(
        config.profiles[0].control_plane.as_ref().unwrap().as_str(),
        "http://ls.internal/api-host"
    );
    let text = "[profiles.a]\ncontrol_plane = \"https://cp.internal/\"\n";
    let config = Config::parse(text, None).unwrap();
    assert_eq!(
        config.profiles[0].control_plane.as_ref().unwrap().as_str(),
        "https://cp.internal/"
    );
}
