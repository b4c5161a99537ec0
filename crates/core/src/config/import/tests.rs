use super::*;
use secrecy::ExposeSecret;
use std::fs;

/// A home with the files of the official tools.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Home {
        Home(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file that only its owner can read.
    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        }
        path
    }

    fn places(&self) -> Places {
        Places {
            langsmith: Some(self.path(".langsmith/config.json")),
            project: Some(self.path("my-agent")),
        }
    }

    fn read(&self) -> Import {
        Import::read(&self.places())
    }
}

fn names(found: &Import) -> Vec<&str> {
    found
        .profiles
        .iter()
        .map(|one| one.profile.name.as_str())
        .collect()
}

/// Reads the text of a profile.
fn profile_of(one: &Imported) -> Profile {
    Config::parse(&one.text(), None).unwrap().profiles.remove(0)
}

fn reasons(found: &Import) -> Vec<String> {
    found.skipped.iter().map(|one| one.to_string()).collect()
}

const LANGSMITH: &str = r#"{
  "current_profile": "eu", "future": 1,
  "profiles": {
    "us": {"api_key": "lsv2_pt_canary_us", "workspace_id": "00000000-0000-4000-8000-000000000000"},
    "eu team": {"api_key": "lsv2_pt_canary_eu", "api_url": "https://eu.api.smith.langchain.com/api/v1"},
    "own": {"api_url": "https://ls.example.com", "oauth": {"access_token": "canary-t", "refresh_token": "canary-r"}},
    "file": {"api_key_file": "/etc/langsmith.key"},
    "at": {"api_key": "@/etc/other.key"}
  }
}"#;

#[test]
fn profiles_of_the_langsmith_command_are_imported_by_reference() {
    let home = Home::new();
    let file = home.write(".langsmith/config.json", LANGSMITH);
    let found = home.read();
    assert_eq!(names(&found), ["us", "eu-team", "own", "file", "at"]);
    assert_eq!(reasons(&found), Vec::<String>::new());
    let of = |name: &str| {
        let mut all = found.profiles.iter();
        all.find(|one| one.profile.name == name).unwrap()
    };
    assert_eq!(
        ["us", "eu-team", "own"].map(|name| of(name).server()),
        ["us", "eu", "https://ls.example.com/api-host"]
    );
    assert_eq!(
        of("us").profile.workspace.as_deref(),
        Some("00000000-0000-4000-8000-000000000000")
    );
    let command = ["langsmith", "auth", "token", "--profile", "own"]
        .map(str::to_string)
        .to_vec();
    let command = SecretSource::Command(command);
    assert_eq!(of("own").profile.bearer, Some(command));
    for (name, file) in [("file", "/etc/langsmith.key"), ("at", "/etc/other.key")] {
        assert_eq!(of(name).profile.key, Some(SecretSource::File(file.into())));
    }
    // The reference really leads to the key, and no text has a part of it.
    for (name, key) in [
        ("us", "lsv2_pt_canary_us"),
        ("eu-team", "lsv2_pt_canary_eu"),
    ] {
        let profile = profile_of(of(name));
        let source = profile.key.as_ref().unwrap();
        assert_eq!(source.resolve().unwrap().expose_secret(), key);
        assert_eq!(profile, of(name).profile);
    }
    let shown: String = found
        .profiles
        .iter()
        .map(|one| format!("{one:?} {} {}", one.text(), one.key()))
        .collect();
    assert!(!shown.contains("canary"), "{shown}");
    assert!(of("us").text().contains(&format!(
        "api_key_file = \"{}#/profiles/us/api_key\"",
        file.display()
    )));
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        LANGSMITH,
        "the file was only read"
    );
}

#[test]
fn variables_of_a_project_make_one_profile_named_after_its_folder() {
    let home = Home::new();
    let env = home.write(
        "my-agent/.env",
        "\u{feff}export LANGSMITH_API_KEY='lsv2_pt_canary'\r\nLANGCHAIN_API_KEY=canary-old\n\
         LANGSMITH_ENDPOINT=\"https://eu.api.smith.langchain.com\"\nLANGSMITH_TENANT_ID=0a000000-0000-4000-8000-000000000001\n",
    );
    home.write(
        "my-agent/langgraph.json",
        r#"{"graphs": {}, "env": "./.env"}"#,
    );
    let found = home.read();
    assert_eq!((names(&found), reasons(&found)), (vec!["my-agent"], vec![]));
    let one = &found.profiles[0];
    assert_eq!(
        (one.server().as_str(), one.profile.workspace.as_deref()),
        ("eu", Some("0a000000-0000-4000-8000-000000000001"))
    );
    assert_eq!(
        one.profile.key,
        Some(SecretSource::Entry(env.clone(), "LANGSMITH_API_KEY".into()))
    );
    let profile = profile_of(one);
    assert_eq!(
        profile.key.unwrap().resolve().unwrap().expose_secret(),
        "lsv2_pt_canary"
    );
    // The control plane's own address wins over the installation's.
    home.write(
        "my-agent/.env",
        "LANGGRAPH_HOST_URL=http://127.0.0.1:9/x/\nLANGSMITH_ENDPOINT=https://a.example.com\n",
    );
    assert_eq!(home.read().profiles[0].server(), "http://127.0.0.1:9/x");
    // Without a key or an address, there is nothing to import.
    home.write(
        "my-agent/.env",
        "OPENAI_API_KEY=canary\nLANGSMITH_TRACING=true\n",
    );
    assert_eq!(home.read().profiles, []);
}

#[test]
fn langgraph_json_names_another_env_file_or_has_the_variables_itself() {
    let home = Home::new();
    let file = home.write(
        "my-agent/deploy.env",
        "LANGGRAPH_HOST_API_KEY=canary-h\nLANGSMITH_API_KEY=canary-l\n",
    );
    home.write("my-agent/langgraph.json", r#"{"env": "deploy.env"}"#);
    let found = home.read();
    assert_eq!(
        found.profiles[0].profile.key,
        Some(SecretSource::Entry(file, "LANGGRAPH_HOST_API_KEY".into()))
    );
    let manifest = home.write(
        "my-agent/langgraph.json",
        r#"{"env": {"LANGSMITH_API_KEY": "canary-j", "N": 1}}"#,
    );
    let found = home.read();
    let key = found.profiles[0].profile.key.as_ref().unwrap();
    assert_eq!(
        *key,
        SecretSource::Entry(manifest, "/env/LANGSMITH_API_KEY".into())
    );
    assert_eq!(key.resolve().unwrap().expose_secret(), "canary-j");
}

#[test]
fn what_cannot_be_imported_is_named_with_its_reason() {
    let home = Home::new();
    home.write(
        ".langsmith/config.json",
        r#"{"profiles": {
            "plain": {"api_url": "http://ls.example.com", "api_key": "canary"},
            "user": {"api_url": "https://me:canary@ls.example.com"},
            "number": {"api_key": 5}, "a#b": {"api_key": "canary"}, "list": [], "empty": {}, "blank": {"api_key": ""},
            "x/y": {"api_key": "canary"}, "x y": {"api_key": "canary"},
            "space": {"api_key": "canary", "workspace_id": "lsv2_pt_canary"}
        }}"#,
    );
    home.write("my-agent/.env", "KEY=canary\nLANGSMITH_API_KEY=${KEY}\n");
    let found = home.read();
    assert_eq!(names(&found), ["x-y"]);
    let said = reasons(&found);
    for (name, why) in [
        ("plain", "plain http to another machine"),
        ("user", "must not contain a user or a password"),
        ("number", "its api_key is not a text"),
        ("a#b", "its name has a #"),
        ("x-y", "another file or profile above has this name"),
        ("list", "this is not a profile"),
        ("empty", "it has no key and no address"),
        ("blank", "it has no key and no address"),
        ("space", "its workspace is not an id (UUID)"),
        ("my-agent", "LANGSMITH_API_KEY refers to another variable"),
    ] {
        assert!(
            said.iter()
                .any(|line| line.starts_with(name) && line.contains(why)),
            "{name}: {said:#?}"
        );
    }
    assert!(!format!("{said:?} {found:?}").contains("canary"));
}

#[test]
fn files_that_cannot_be_read_are_named_and_others_are_still_read() {
    let home = Home::new();
    home.write("my-agent/.env", "LANGSMITH_API_KEY=canary\n");
    let read = |bytes: &[u8]| {
        home.write(".langsmith/config.json", bytes);
        let found = home.read();
        assert_eq!(names(&found), ["my-agent"]);
        let [why] = reasons(&found).try_into().unwrap();
        assert!(!why.contains("canary"), "{why}");
        why
    };
    assert!(read(b"{\"profiles\": {\"a\": \"canary\"").contains("this is not JSON (EOF"));
    assert!(read(b"[\"canary\"]").ends_with("this is not a JSON object"));
    assert!(read(b"\xff\xfe").ends_with("this is not a text file (UTF-8)"));
    assert!(
        read(b"{\"profiles\": {\"a\": {}, \"a\": {}}}")
            .contains("the key \"a\" occurs twice, in profiles")
    );
    assert!(read(&vec![b' '; (1 << 20) + 1]).contains("larger than 1 MiB"));
    home.write(".langsmith/config.json", " \n");
    assert_eq!(
        reasons(&home.read()),
        Vec::<String>::new(),
        "an empty file has no profiles"
    );
    fs::remove_file(home.path(".langsmith/config.json")).unwrap();
    assert_eq!(
        reasons(&home.read()),
        Vec::<String>::new(),
        "a missing file is no problem"
    );
    fs::create_dir(home.path(".langsmith/config.json")).unwrap();
    assert!(reasons(&home.read())[0].contains("can't be read"));
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_files_that_others_can_read_need_chmod() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let home = Home::new();
    let real = home.write("real.env", "LANGSMITH_API_KEY=canary\n");
    fs::create_dir_all(home.path("my-agent")).unwrap();
    symlink(&real, home.path("my-agent/.env")).unwrap();
    assert_eq!(
        (names(&home.read()), home.read().profiles[0].to_do.clone()),
        (vec!["my-agent"], None)
    );
    fs::set_permissions(&real, fs::Permissions::from_mode(0o644)).unwrap();
    let found = home.read();
    let to_do = found.profiles[0].to_do.as_deref().unwrap();
    assert!(
        to_do.ends_with(&format!(
            "chmod 600 {}",
            home.path("my-agent/.env").display()
        )),
        "{to_do}"
    );
    fs::remove_file(&real).unwrap();
    assert!(reasons(&home.read())[0].ends_with("this is a link to a file that does not exist"));
}

#[test]
fn draft_adds_the_new_names_and_leaves_the_others() {
    let home = Home::new();
    home.write(".langsmith/config.json", LANGSMITH);
    let own = "# mine\n[profiles.us]\nregion = \"apac\"\n";
    let file = home.write("config.toml", own);
    let (found, draft) = Import::draft(&home.places(), &file, &[]).unwrap();
    assert_eq!(names(&found), ["eu-team", "own", "file", "at"]);
    assert!(
        reasons(&found)[0].starts_with("us (") && reasons(&found)[0].contains("stays as it is")
    );
    let draft = draft.unwrap();
    draft.write().unwrap();
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with(own) && !text.contains("canary"), "{text}");
    let config = Config::parse(&text, Some(&file)).unwrap();
    assert_eq!((config.profiles.len(), config.warnings), (5, vec![]));
    // A second import has nothing to add.
    let (found, draft) = Import::draft(&home.places(), &file, &[]).unwrap();
    assert_eq!(
        (found.profiles.len(), found.skipped.len(), draft.is_none()),
        (0, 5, true)
    );
    // A new file.
    let new = home.path("new/config.toml");
    let (found, draft) = Import::draft(&home.places(), &new, &[]).unwrap();
    assert!(found.profiles.len() == 5 && draft.unwrap().is_new());
    // An invalid configuration is an error, and nothing is drafted.
    home.write("config.toml", "[profiles.us]\n");
    assert!(
        Import::draft(&home.places(), &file, &[])
            .unwrap_err()
            .to_string()
            .contains("has no server")
    );
}

#[test]
fn single_profiles_are_picked_by_name() {
    let home = Home::new();
    home.write(".langsmith/config.json", LANGSMITH);
    let file = home.write(
        "config.toml",
        "default_profiles = [\"us\"]\n[profiles.us]\nregion = \"us\"\n",
    );
    let draft = |names: &[&str]| {
        Import::draft(
            &home.places(),
            &file,
            &names
                .iter()
                .map(|name| name.to_string())
                .collect::<Vec<_>>(),
        )
    };
    let (found, drafted) = draft(&["own", "at"]).unwrap();
    assert_eq!(
        (names(&found), drafted.unwrap().typed().count()),
        (vec!["own", "at"], 2)
    );
    let said = "own, at are not in use, because default_profiles doesn't name them: add them there, or use --profile.";
    assert_eq!(found.not_in_use(&names(&found)).as_deref(), Some(said));
    assert_eq!(found.not_in_use(&[]), None);
    let error = |name: &str| draft(&["own", name]).unwrap_err().to_string();
    assert!(
        error("none").contains("no profile named none can be imported"),
        "{}",
        error("none")
    );
    assert!(
        error("none").contains("there are: eu-team, own, file, at"),
        "{}",
        error("none")
    );
    assert!(error("us").contains("stays as it is"), "{}", error("us"));
}

#[test]
fn a_missing_env_file_is_named() {
    let home = Home::new();
    for (env, is_missing) in [("deploy.env", true), (".env", true), ("there.env", false)] {
        home.write("my-agent/there.env", "A=1\n");
        home.write("my-agent/langgraph.json", format!("{{\"env\": \"{env}\"}}"));
        let file = home.path("my-agent").join(env);
        let why = "langgraph.json names this file, which does not exist";
        let expected = is_missing.then(|| format!("{}: {why}", file.display()));
        assert_eq!(reasons(&home.read()), Vec::from_iter(expected), "{env}");
    }
}

#[test]
fn addresses_that_may_contain_a_key_are_refused() {
    let home = Home::new();
    for (address, why) in [
        (
            "ls.example.com/lsv2_pt_canary/api/v1",
            "must not contain a key",
        ),
        ("ls.example.com/ls__canary", "must not contain a key"),
        (
            "ls.example.com/api/v1?api_key=canary",
            "has a query or a fragment",
        ),
        ("ls.example.com/#canary", "has a query or a fragment"),
        (
            "canary@ls.example.com",
            "must not contain a user or a password",
        ),
        (
            "me:canary@ls.example.com",
            "must not contain a user or a password",
        ),
    ] {
        let variable = format!("LANGSMITH_ENDPOINT=https://{address}\n");
        home.write("my-agent/.env", variable);
        let found = home.read();
        let said = reasons(&found);
        assert!(
            found.profiles.is_empty() && said[0].contains(why),
            "{said:?}"
        );
        assert!(
            !format!("{found:?} {said:?}").contains("canary"),
            "{said:?}"
        );
    }
}
