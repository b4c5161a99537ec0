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
            config.event_log.max_bytes,
            config.event_log.max_event,
            config.event_log.total
        ),
        (1_000_000_000, 65536, 2_000_000_000)
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
fn unknown_keys_are_ignored() {
    let text = "[profiles.a]\nregion = \"us\"\nlable = \"PROD\"\napi_key = \"canary\"\n";
    let config = Config::parse(text, Some(Path::new("c.toml"))).unwrap();
    assert_eq!(config.warnings.len(), 2);
    assert_eq!(config.profiles[0].label, None);
    assert!(!config.profiles[0].is_read_only());
    assert!(!format!("{config:?}").contains("canary"));
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
