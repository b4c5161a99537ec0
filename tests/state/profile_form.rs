//! The form of an existing profile: what it shows, keeps, refuses and writes.

use runtail_core::config::{Config, Draft};
use runtail_testkit::dash::Dash;
use runtail_tui::session::msg::{Effect, EffectResult, Msg};
use std::path::PathBuf;

const FILE: &str = r#"# My servers.
default_profiles = ["lab", "us"] # both

# The lab.
[profiles.lab]
url = "https://langsmith.example.com" # in the cellar
api_key_env = "LAB_KEY"
mine = 1 # for another tool
workspace = "research"
deployments = ["d"]
read_only = true

[profiles.us]
region = "us"
api_key_env = "K"

[profiles.many] # two servers
agent_server = { a = "http://127.0.0.1:2024", b = "http://127.0.0.1:2025" }
api_key_command = ["sh", "-c", "echo canary"]

[[notify]]
when = "failed"
match = "profile:lab"
"#;

/// A dashboard with this file, which is there, and the selection on the profile in a row of Profiles.
struct Opened {
    dash: Dash,
    path: PathBuf,
    _folder: tempfile::TempDir,
}

impl Opened {
    fn new(file: &str, size: (u16, u16)) -> Opened {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        std::fs::write(&path, file).unwrap();
        let mut dash = Dash::new(file, size);
        dash.set_config_file(path.clone());
        dash.set_unfiled();
        let mut opened = Opened {
            dash,
            path,
            _folder: folder,
        };
        opened.reload();
        opened
    }

    /// Reads the file again, as when it has changed.
    fn reload(&mut self) -> Vec<Effect> {
        let read = Config::parse(&self.text(), Some(&self.path)).map(Box::new);
        self.dash.feed(Msg::Configured(read))
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.path).unwrap()
    }

    /// Opens the form of the profile in a row of Profiles.
    fn edit(&mut self, row: usize) {
        self.dash.keys("p<Home>");
        (0..row).for_each(|_| drop(self.dash.keys("<Down>")));
        let effects = self.dash.keys("<Enter>");
        self.answer(&effects);
    }

    /// Answers checks of keys and requests for drafts of the file, as the runtime does.
    fn answer(&mut self, effects: &[Effect]) {
        for effect in effects {
            let draft = match effect {
                Effect::CheckSecrets(references) => {
                    let unset = |one: &String| {
                        (
                            one.clone(),
                            one.contains("LAB").then(|| "not set in this shell".into()),
                        )
                    };
                    let checked = references.iter().map(unset).collect();
                    self.dash.done(EffectResult::SecretsChecked(checked));
                    continue;
                }
                Effect::DraftFile(path, typed) => Draft::new(path, typed.clone()),
                Effect::DraftRename(path, was, typed) => {
                    Draft::renaming(path, was.clone(), typed.clone())
                }
                _ => continue,
            };
            self.dash.done(EffectResult::Drafted(draft.map(Box::new)));
        }
    }

    fn press(&mut self, keys: &str) -> Vec<Effect> {
        let effects = self.dash.keys(keys);
        self.answer(&effects);
        effects
    }

    /// Writes the shown changes.
    fn write(&mut self) {
        self.dash.later(3000);
        self.dash.screen();
        let effects = self.dash.keys("<ctrl-s>");
        let [Effect::SaveFile(draft)] = effects.as_slice() else {
            panic!("{effects:?} {}", self.dash.screen())
        };
        draft.write().unwrap();
        self.dash.done(EffectResult::Saved(Ok(draft.clone())));
    }

    fn document(&self) -> String {
        self.dash.document()
    }

    fn screen(&mut self) -> String {
        self.dash.screen()
    }
}

fn has_try(effects: &[Effect]) -> bool {
    effects
        .iter()
        .any(|effect| matches!(effect, Effect::Try(..)))
}

#[test]
fn a_profile_of_the_file_opens_as_a_filled_form() {
    let mut opened = Opened::new(FILE, (140, 40));
    opened.dash.pass(60);
    opened.edit(0);
    insta::assert_snapshot!("edit_profile_140x40", opened.screen());
    opened.dash.resize(80, 24);
    insta::assert_snapshot!("edit_profile_80x24", opened.screen());
    let table = opened.document();
    assert!(
        table.starts_with("# The lab.\n[profiles.lab]\n") && table.contains("# for another tool"),
        "{table}"
    );
}

#[test]
fn a_change_is_shown_and_written_and_the_rest_of_the_file_stays() {
    let mut opened = Opened::new(&FILE.replace('\n', "\r\n"), (140, 40));
    opened.edit(0);
    // URL, key from, key, name, workspace, label.
    let effects = opened.press("<Tab><End>/x<Tab><Tab><End>_2<Tab><Tab><Tab>lab<ctrl-s>");
    assert!(has_try(&effects), "{effects:?}");
    let screen = opened.screen();
    for line in [
        "╭ Save · ",
        "The edit stays in this session either way;",
        "- url = \"https://langsmith.example.com\" # in the cellar",
        "+ url = \"https://langsmith.example.com/x\" # in the cellar",
        "+ api_key_env = \"LAB_KEY_2\"",
        "+ label = \"lab\"",
    ] {
        assert!(screen.contains(line), "{line}: {screen}");
    }
    assert_eq!(
        opened.text(),
        FILE.replace('\n', "\r\n"),
        "nothing is written before that"
    );
    opened.write();
    let wanted = FILE
        .replace(".example.com\"", ".example.com/x\"")
        .replace("LAB_KEY", "LAB_KEY_2")
        .replace("read_only = true\n", "read_only = true\nlabel = \"lab\"\n")
        .replace('\n', "\r\n");
    assert_eq!(opened.text(), wanted);
    assert!(!opened.dash.has_unsaved_profiles());
}

#[test]
fn escape_on_the_changed_lines_writes_nothing_and_loses_nothing() {
    let mut opened = Opened::new(FILE, (100, 30));
    opened.edit(1);
    opened.press("<Tab><Tab><Tab><Tab><Tab>canteen<ctrl-s>");
    assert!(
        opened.screen().contains("+ label = \"canteen\""),
        "{}",
        opened.screen()
    );
    // The key that opened the page may still be held down.
    assert!(opened.dash.keys("<ctrl-s>").is_empty());
    opened.press("<Esc>");
    let screen = opened.screen();
    assert!(
        screen.contains("not saved; s shows the diff") && opened.text() == FILE,
        "{screen}"
    );
    opened.press("<Enter>");
    assert!(
        opened.screen().contains("[ canteen "),
        "{}",
        opened.screen()
    );
    // Without a change there is nothing to write.
    let mut opened = Opened::new(FILE, (100, 30));
    opened.edit(1);
    let effects = opened.press("<ctrl-s>");
    assert!(has_try(&effects) || effects.is_empty(), "{effects:?}");
    assert!(!opened.screen().contains("╭ Save"), "{}", opened.screen());
}

#[test]
fn escape_keeps_the_draft_of_the_form() {
    let mut opened = Opened::new(FILE, (140, 40));
    opened.edit(0);
    opened.press("<Tab><Tab><Tab><Tab><Tab><End>-2<Esc>");
    assert!(!opened.dash.has_unsaved_profiles());
    opened.press("<Enter>");
    let screen = opened.screen();
    assert!(
        screen.contains("[ research-2 ") && screen.contains("Restored your draft"),
        "{screen}"
    );
    opened.press("<ctrl-n>");
    assert!(
        opened.screen().contains("[ research "),
        "{}",
        opened.screen()
    );
}

#[test]
fn a_renamed_profile_is_renamed_in_the_file() {
    let mut opened = Opened::new(FILE, (140, 40));
    opened.edit(0);
    opened.press("<Tab><Tab><Tab><Tab><End>-2");
    let screen = opened.screen();
    assert!(
        screen.contains("was lab; default_profiles and rules follow"),
        "{screen}"
    );
    assert!(
        screen.contains("╰ ctrl-s save   Tab next field"),
        "{screen}"
    );
    let effects = opened.press("<ctrl-s>");
    assert!(
        !has_try(&effects),
        "it applies once the file is written: {effects:?}"
    );
    let screen = opened.screen();
    for line in [
        "lab is renamed once they are written.",
        "- [profiles.lab]",
        "+ [profiles.lab-2]",
        "profile:lab-2",
    ] {
        assert!(screen.contains(line), "{line}: {screen}");
    }
    // Nothing is lost without writing.
    opened.press("<Esc><Enter>");
    assert!(opened.screen().contains("[ lab-2 "), "{}", opened.screen());
    opened.dash.later(3000);
    opened.press("<ctrl-s>");
    opened.write();
    let wanted = FILE
        .replace("[\"lab\", ", "[\"lab-2\", ")
        .replace("[profiles.lab]", "[profiles.lab-2]")
        .replace("profile:lab", "profile:lab-2");
    assert_eq!(opened.text(), wanted);
    opened.reload();
    let names: Vec<&str> = opened.dash.profiles();
    assert!(
        names.contains(&"lab-2") && !names.contains(&"lab"),
        "{names:?}"
    );
    assert!(!opened.dash.has_unsaved_profiles() && !opened.dash.has_drafts());
}

#[test]
fn a_name_that_is_taken_or_chosen_on_the_command_line_is_refused() {
    let mut opened = Opened::new(FILE, (140, 40));
    opened.edit(0);
    opened.press("<Tab><Tab><Tab><Tab><End><Backspace><Backspace><Backspace>us<ctrl-s>");
    let screen = opened.screen();
    assert!(
        screen.contains("✗ There is already a profile of this name.") && screen.contains("[ us "),
        "{screen}"
    );
    // In the document too.
    opened.press("<ctrl-t>");
    opened.press("<ctrl-s>");
    assert!(
        opened
            .screen()
            .contains("There is already a profile named us."),
        "{}",
        opened.screen()
    );
    opened.press("<End>x<ctrl-s>");
    assert!(
        opened.screen().contains("Nothing was changed."),
        "{}",
        opened.screen()
    );
    assert_eq!(opened.text(), FILE);
    let mut opened = Opened::new(FILE, (140, 40));
    opened.dash.set_chosen("lab");
    opened.edit(0);
    opened.press("<Tab><Tab><Tab><Tab><End>2<ctrl-s>");
    assert!(
        opened
            .screen()
            .contains("lab was chosen on the command line"),
        "{}",
        opened.screen()
    );
    assert!(opened.document().contains("[profiles.lab2]"));
}

#[test]
fn what_has_no_field_is_shown_and_stays() {
    let mut opened = Opened::new(FILE, (140, 40));
    opened.edit(2);
    let screen = opened.screen();
    for line in [
        "Server         agent_server: a http://127.0.0.1:2024, b http://127.0.0.1:2025",
        "Key from       api_key_command ",
        "as written; ctrl-t edits it as TOML",
    ] {
        assert!(screen.contains(line), "{line}: {screen}");
    }
    assert!(!screen.contains("canary"), "{screen}");
    opened.press("<Tab><Tab>dev<ctrl-s>");
    opened.write();
    let command = "api_key_command = [\"sh\", \"-c\", \"echo canary\"]\n";
    assert_eq!(
        opened.text(),
        FILE.replace(command, &format!("{command}label = \"dev\"\n"))
    );
}

#[test]
fn the_document_that_fits_no_form_stays_and_says_why() {
    let mut opened = Opened::new(FILE, (140, 40));
    opened.edit(1);
    opened.press("<ctrl-t>");
    opened.press("<Down><End><Backspace><Backspace><Backspace>mars\"<ctrl-t>");
    let screen = opened.screen();
    assert!(
        screen.contains("No form: there is no region mars"),
        "{screen}"
    );
    assert!(opened.document().contains("region = \"mars\""));
    opened.press("<Backspace><Backspace><Backspace><Backspace><Backspace>eu\"<ctrl-t>");
    let screen = opened.screen();
    assert!(
        screen.contains("(x) eu") && screen.contains("[ K "),
        "{screen}"
    );
}

#[test]
fn the_rules_of_the_file_are_those_of_the_fields() {
    let mut opened = Opened::new(FILE, (140, 40));
    opened.edit(0);
    for (keys, typed, why) in [
        (
            "<Tab><Home>x",
            "[ xhttps:",
            "The scheme \"xhttps\" is not http or https; expected an address",
        ),
        (
            "<Tab><Tab><Tab><Tab><Tab><End> b",
            "[ research b",
            "Expected a workspace id (a UUID), found \"research b\".",
        ),
        (
            "<Tab><Tab><Tab><Tab><End> x",
            "[ lab x",
            "A profile's name must not be empty or contain spaces or slashes; names are used",
        ),
    ] {
        opened.press(keys);
        let before = opened.screen();
        assert!(
            before.contains(typed) && !before.contains(why),
            "only after leaving the field: {before}"
        );
        opened.press("<Tab>");
        let screen = opened.screen();
        assert!(
            screen.contains(why) && screen.contains(typed),
            "{why}: {screen}"
        );
        // The field keeps what was typed, and Ctrl-S goes to it.
        assert!(opened.press("<ctrl-s>").is_empty());
        opened = Opened::new(FILE, (140, 40));
        opened.edit(0);
    }
    assert_eq!(opened.text(), FILE);
}

#[test]
fn a_key_in_a_field_is_refused_and_nothing_of_it_is_kept() {
    for typed_letter_by_letter in [true, false] {
        let mut opened = Opened::new(FILE, (140, 40));
        opened.edit(1);
        opened.press("<Tab><Tab>");
        let effects = match typed_letter_by_letter {
            true => opened.press("<Home>lsv2_pt_s3cr3t0123"),
            false => opened.dash.feed(Msg::Paste("lsv2_pt_s3cr3t0123".into())),
        };
        let screen = opened.screen();
        assert!(
            screen.contains("✗ That looks like a key, so nothing of it was kept."),
            "{screen}"
        );
        assert!(screen.contains("Press Backspace to continue."), "{screen}");
        assert!(opened.press("<ctrl-s>").is_empty());
        opened.press("<Tab><BackTab><ctrl-t>");
        let shown = opened.screen();
        opened.press("<Esc>");
        let state = opened.dash.all_that_is_kept() + &format!("{effects:?}{screen}{shown}");
        assert!(!state.contains("s3cr3t"), "{shown}");
        assert_eq!(opened.text(), FILE);
    }
    // Then another name can be typed.
    let mut opened = Opened::new(FILE, (140, 40));
    opened.edit(1);
    opened.press("<Tab><Tab>");
    opened.dash.feed(Msg::Paste("sk-ant-s3cr3t0123456".into()));
    opened.press("<Backspace>2");
    assert!(
        opened.document().contains("api_key_env = \"2\""),
        "{}",
        opened.document()
    );
    // Another field doesn't take a key either.
    opened.press("<Tab><Tab>");
    opened.dash.feed(Msg::Paste("ls__s3cr3t".into()));
    assert!(
        opened.screen().contains("That looks like a key") && !opened.document().contains("s3cr3t")
    );
}

#[test]
fn a_key_in_a_command_of_the_file_is_not_shown() {
    let file = FILE.replace("\"-c\", \"echo canary\"", "\"lsv2_pt_s3cr3t\"");
    let mut opened = Opened::new(&file, (140, 40));
    opened.edit(2);
    let screen = opened.screen();
    assert!(
        screen.contains("The command of many has a key in it"),
        "{screen}"
    );
    assert!(!screen.contains("s3cr3t"), "{screen}");
}

#[test]
fn a_profile_that_is_not_in_the_file_says_so() {
    let file = "[profiles.env]\nregion = \"us\"\napi_key_env = \"LANGSMITH_API_KEY\"\n";
    for (name, source) in [
        ("env", "from the environment"),
        ("bot", "from the command line"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        let mut dash = Dash::new(
            &file.replace("profiles.env", &format!("profiles.{name}")),
            (140, 40),
        );
        dash.set_config_file(path.clone());
        dash.set_unfiled();
        let mut opened = Opened {
            dash,
            path,
            _folder: folder,
        };
        opened.press("p<Enter>");
        let screen = opened.screen();
        assert!(
            screen.contains(&format!("╭ Profile {name} · {source}, not in the file ")),
            "{screen}"
        );
        opened.press("<Tab><Tab><Tab><Tab><Tab>x<ctrl-s>");
        let screen = opened.screen();
        assert!(
            screen.contains("The file will be created")
                && screen.contains(&format!("+ [profiles.{name}]")),
            "{screen}"
        );
    }
}

#[test]
fn a_new_profile_may_not_have_the_name_of_another_one() {
    let mut opened = Opened::new(FILE, (140, 40));
    opened.press("pa<Tab><Tab><Tab><End><Backspace><Backspace><Backspace><Backspace>lab<Tab>");
    let screen = opened.screen();
    assert!(
        screen.contains("✗ There is already a profile of this name."),
        "{screen}"
    );
    assert!(opened.press("<ctrl-s>").is_empty());
}

#[test]
fn the_key_of_langsmith_is_offered_only_to_langsmith() {
    let variable = "api_key_env = \"LANGSMITH_API_KEY\"";
    let mut opened = Opened::new(FILE, (140, 40));
    // The place after the regions is self-hosted, the one before them is an agent server.
    opened.press("pa<Left>");
    assert!(
        opened.screen().contains("(x) no key"),
        "{}",
        opened.screen()
    );
    assert!(
        !opened.document().contains(variable),
        "{}",
        opened.document()
    );
    let effects = opened.press("<Tab>http://127.0.0.1:9<ctrl-s>");
    let found = effects.iter().find_map(|effect| match effect {
        Effect::Try(_, profile) => Some(profile.key.is_none()),
        _ => None,
    });
    assert_eq!(found, Some(true), "{effects:?} {}", opened.screen());
    // A self-hosted installation has a key of its own.
    let mut opened = Opened::new(FILE, (140, 40));
    opened.press("pa<Left><Left><Tab>https://langsmith.example.com");
    assert!(opened.press("<ctrl-s>").is_empty());
    assert!(
        opened
            .screen()
            .contains("Enter the name of an environment variable."),
        "{}",
        opened.screen()
    );
    opened.press("<BackTab><BackTab><BackTab><Left>");
    assert!(
        opened.document().contains(variable),
        "{}",
        opened.document()
    );
    // What the user chose stays.
    let mut opened = Opened::new(FILE, (140, 40));
    opened.press("pa<Tab><Right><Left><BackTab><Left>");
    assert!(
        opened.document().contains(variable),
        "{}",
        opened.document()
    );
    let mut opened = Opened::new(FILE, (140, 40));
    opened.press("pa<Tab><Tab><End>_2<BackTab><BackTab><Left>");
    assert!(
        opened.document().contains("LANGSMITH_API_KEY_2"),
        "{}",
        opened.document()
    );
    // In a profile of the file it is the same.
    let mut opened = Opened::new(&FILE.replace("\"K\"", "\"LANGSMITH_API_KEY\""), (140, 40));
    opened.edit(1);
    opened.press("<Left>");
    assert!(
        !opened.document().contains(variable),
        "{}",
        opened.document()
    );
}

#[test]
fn a_reference_is_a_variable_and_an_invalid_name_is_not_written() {
    let mut opened = Opened::new(FILE, (140, 40));
    opened.edit(1);
    opened.press("<Tab><Tab><Backspace>env:OTHER");
    assert!(
        opened.document().contains("api_key_env = \"OTHER\""),
        "{}",
        opened.document()
    );
    assert!(
        opened.screen().contains("can be read"),
        "{}",
        opened.screen()
    );
    opened.press("-1");
    assert!(opened.press("<ctrl-s>").is_empty());
    let screen = opened.screen();
    assert!(
        screen.contains("✗ Enter the name of an environment variable.")
            && !screen.contains("not a reference"),
        "{screen}"
    );
    assert_eq!(opened.text(), FILE);
}
