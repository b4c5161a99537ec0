//! The forms: a new and an existing deployment, a profile, and the first run.

use runtail_api::Kind;
use runtail_core::config::import::{Import, Places};
use runtail_core::model::{Collection, Consent, DeploymentSpec, GithubApp, Intent, SpecForm};
use runtail_testkit::dash::{Dash, listing, plane_plan};
use runtail_testkit::made;
use runtail_testkit::says::Says;
use runtail_tui::features::changes::deployment_form::DeploymentStop;
use runtail_tui::session::effect::DeploymentDocument;
use runtail_tui::session::first_run::LocalServer;
use runtail_tui::session::msg::{Described, Effect, EffectResult, Msg};
use serde_json::json;

const TWO: &str = "[profiles.us]\nregion = \"us\"\napi_key_env = \"K\"\n[profiles.eu]\nregion = \"eu\"\napi_key_env = \"K\"\n";
const INTEGRATION: &str = "33333333-3333-4333-8333-333333333333";

fn focus(dash: &Dash) -> DeploymentStop {
    dash.editor().twin.form.as_ref().unwrap().focus
}

/// Answers the requests for lists and for secrets in the effects, and those that follow.
fn answer(dash: &mut Dash, effects: Vec<Effect>) {
    for effect in effects {
        let done = match effect {
            Effect::Browse(number, profile, Collection::Integrations(GithubApp::Deployments)) => {
                assert_eq!(&*profile, "us");
                let items = vec![json!({"id": INTEGRATION, "name": "acme"})];
                EffectResult::Browsed(number, Ok(listing(items)))
            }
            Effect::Browse(number, _, Collection::Repositories(_, id)) => {
                assert_eq!(id, INTEGRATION);
                let row = |name: &str, branch: &str| json!({"url": format!("https://github.com/acme/{name}"), "default_branch": branch});
                let items = vec![row("billing", "main"), row("refund-agent", "trunk")];
                EffectResult::Browsed(number, Ok(listing(items)))
            }
            Effect::CheckSecrets(references) => {
                let unset = |one: String| {
                    (
                        one.clone(),
                        one.contains("UNSET")
                            .then(|| "not set in this shell".into()),
                    )
                };
                EffectResult::SecretsChecked(references.into_iter().map(unset).collect())
            }
            _ => continue,
        };
        let more = dash.done(done);
        answer(dash, more);
    }
}

fn press(dash: &mut Dash, keys: &str) {
    let mut rest = keys;
    while let Some(first) = rest.chars().next() {
        // One key at a time, because the server answers in between.
        let end = if first == '<' {
            rest.find('>').map_or(rest.len(), |at| at + 1)
        } else {
            first.len_utf8()
        };
        let (key, after) = rest.split_at(end);
        let effects = dash.keys(key);
        answer(dash, effects);
        rest = after;
    }
}

fn planned(dash: &mut Dash, effects: &[Effect]) -> (u64, Intent) {
    let found = effects.iter().find_map(plane_plan);
    let (number, _, intent) = found.unwrap_or_else(|| panic!("no plan was requested: {effects:?}"));
    let request = made::request("POST", "https://x");
    let preview = made::preview("Create refund-agent", "us", request, Consent::Key);
    dash.done(EffectResult::Planned(number, Ok((Box::new(preview), None))));
    (number, intent)
}

/// Opens the form of a new deployment and fills it in, with lists of the server.
fn filled(size: (u16, u16)) -> Dash {
    let mut dash = Dash::new(TWO, size);
    press(
        &mut dash,
        "a<Right><Tab>refund-agent<Tab><Tab><Tab>refu<Tab><Tab><Tab>",
    );
    assert_eq!(
        focus(&dash),
        DeploymentStop::Field("source_revision_config.repo_ref")
    );
    dash
}

#[test]
fn new_deployment_starts_empty_and_asks_for_the_profile() {
    let mut dash = Dash::new(TWO, (140, 40));
    assert!(
        !dash
            .keys("a")
            .iter()
            .any(|effect| matches!(effect, Effect::Browse(..)))
    );
    assert_eq!(focus(&dash), DeploymentStop::Field("profile"));
    dash.shows(["New deployment", "( ) us", "( ) eu"]);
    dash.lacks(["support-bot", "✗"]);
    // The example of a field makes way for the text, and is in the note then.
    dash.shows("[ my-agent ");
    press(&mut dash, "<Tab>");
    dash.shows("]             such as my-agent ");
    dash.lacks("[ my-agent ");
    dash.resize(80, 24);
    dash.shows("│                    such as my-agent ");
    dash.resize(140, 40);
    // Ctrl-S goes to the first problem, and sends nothing.
    assert!(dash.keys("<ctrl-s>").is_empty());
    dash.shows("✗ Choose a profile.");
    // A problem leaves the note beside its field.
    press(&mut dash, "<Right>");
    dash.keys("<ctrl-s>");
    dash.shows(["such as my-agent ", "✗ Name is required."]);
}

#[test]
fn new_deployment_is_filled_in_from_the_servers_lists() {
    let mut dash = filled((140, 40));
    insta::assert_snapshot!("new_deployment_140x40", dash.screen());
    dash.resize(80, 24);
    insta::assert_snapshot!("new_deployment_80x24", dash.screen());
    let text = dash.document();
    for line in [
        "name = \"refund-agent\"",
        &format!("integration_id = \"{INTEGRATION}\""),
        "repo_url = \"https://github.com/acme/refund-agent\"",
        "repo_ref = \"trunk\"",
        "deployment_type = \"dev\"",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let effects = dash.keys("<ctrl-s>");
    let (_, intent) = planned(&mut dash, &effects);
    let Intent::CreateDeployment(spec) = intent else {
        panic!("{intent:?}")
    };
    assert_eq!(spec.document.fields["source_config"]["build_on_push"], true);
}

#[test]
fn the_key_that_opens_the_preview_does_not_send_while_it_is_held() {
    let mut dash = filled((140, 40));
    let effects = dash.keys("<ctrl-s>");
    let (number, _) = planned(&mut dash, &effects);
    // The first repetition of a held key can take long, the next ones come fast.
    for wait in [1800, 30, 30, 30, 900, 30] {
        dash.later(wait);
        dash.screen();
        assert!(dash.keys("<ctrl-s>").is_empty(), "a held key must not send");
        // It may be a new press.
        dash.shows("Press ctrl-s again to send.");
    }
    dash.later(1100);
    assert!(
        dash.keys("<ctrl-s>")
            .iter()
            .any(|effect| matches!(effect, Effect::Send(sent, ..) if *sent == number))
    );
}

#[test]
fn form_and_document_are_one_draft() {
    let mut dash = filled((140, 40));
    press(&mut dash, "<ctrl-t>");
    dash.shows("repo_ref = \"trunk\"");
    // A key that the form doesn't know survives.
    press(&mut dash, "route_through_gateway = true<Enter><ctrl-t>");
    dash.shows("[ refund-agent");
    press(&mut dash, "<BackTab><BackTab>");
    dash.document().has("route_through_gateway = true");
    // A document that is no TOML stays, and the notice says why.
    press(&mut dash, "<ctrl-t>[<ctrl-t>");
    dash.shows("Couldn't switch to the form: line 1");
    press(&mut dash, "<Backspace><ctrl-t>");
    dash.shows("[ refund-agent");
    // Esc keeps the draft, its profile too.
    press(&mut dash, "<Esc>a");
    dash.shows(["(x) us", "[ refund-agent"]);
}

#[test]
fn late_list_does_not_overwrite_a_document_that_is_typed() {
    let mut dash = Dash::new(TWO, (140, 40));
    let effects = dash.keys("a<Right>");
    dash.keys("<ctrl-t>route_through_gateway = true<Enter>");
    let typed = dash.document();
    answer(&mut dash, effects);
    assert_eq!(dash.document(), typed);
}

#[test]
fn fields_of_another_source_are_kept_aside() {
    let mut dash = filled((140, 40));
    press(&mut dash, "<BackTab><BackTab><BackTab><Right>");
    let text = dash.document();
    text.has("external_docker");
    text.lacks("\nrepo_ref");
    text.has("resource_spec");
    text.lacks("\nrepo_url");
    dash.shows("Image *");
    dash.lacks("Repository");
    press(&mut dash, "<Left>");
    dash.document()
        .has("repo_url = \"https://github.com/acme/refund-agent\"");
}

#[test]
fn secrets_are_references_that_can_be_read() {
    let mut dash = filled((140, 40));
    press(&mut dash, "<Tab><Tab><Tab>aOPENAI_UNSET<Enter>");
    dash.shows("env:OPENAI_UNSET   ✗ not set in this shell");
    assert!(dash.keys("<ctrl-s>").is_empty(), "a plan would fail");
    press(&mut dash, "xaA env:B<Enter>");
    dash.shows("env:B   readable");
    press(&mut dash, "<Down>");
    dash.lacks("none; a adds");
    press(&mut dash, "aKEY sk-canary<Enter>");
    dash.shows("not the value");
    dash.document().lacks("canary");
    assert!(dash.keys("<ctrl-s>").is_empty());
    dash.shows("Secrets: Enter env:VARIABLE or file:PATH, not the value");
    press(&mut dash, "<Esc>");
    dash.document().has("A = \"env:B\"");
    dash.document().lacks("UNSET");
}

#[test]
fn a_key_in_a_secret_is_refused_and_nothing_of_it_is_kept() {
    for is_pasted in [false, true] {
        let mut dash = filled((140, 40));
        press(&mut dash, "<Tab><Tab><Tab>aMY_KEY ");
        match is_pasted {
            true => drop(dash.feed(Msg::Paste("sk-proj-s3cr3t0123456789".into()))),
            false => press(&mut dash, "lsv2_pt_s3cr3t"),
        }
        let screen = dash.screen();
        dash.shows(["That looks like a key: discarded.", "[ MY_KEY "]);
        assert!(dash.keys("<ctrl-s><Enter>").is_empty());
        dash.shows("That looks like a key");
        let later = dash.screen();
        let state = format!("{}{screen}{later}", dash.all_that_is_kept());
        assert!(!state.contains("s3cr3t"), "{later}");
        press(&mut dash, "<Backspace>env:B<Enter>");
        dash.document().has("MY_KEY = \"env:B\"");
    }
}

#[test]
fn lists_that_fail_are_typed_by_hand() {
    let mut dash = Dash::new(TWO, (140, 40));
    let effects = dash.keys("a<Right>");
    let [Effect::Browse(number, ..)] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    let error = dash.error("us", Kind::Forbidden);
    dash.done(EffectResult::Browsed(*number, Err(error)));
    dash.shows("Couldn't list integrations (403). Enter the id.");
    dash.keys("<Tab>a<Tab><Tab>my-id");
    dash.document().has("integration_id = \"my-id\"");
}

#[test]
fn existing_deployment_is_updated_in_the_same_form() {
    let record = json!({"id": "d", "name": "bot", "source": "github",
        "source_config": {"repo_url": "https://github.com/acme/bot", "deployment_type": "prod", "build_on_push": true},
        "source_revision_config": {"repo_ref": "main", "langgraph_config_path": "langgraph.json"},
        "secrets": [{"name": "OLD", "value": "canary-canary"}, {"name": "KEPT", "value": "canary-canary"}]});
    let mut dash = Dash::new(TWO, (140, 40));
    let written = DeploymentDocument {
        text: DeploymentSpec::template_of(&record),
        current: SpecForm::of_record(&record),
    };
    let what = Described::Deployment("us".into(), "d".into(), "bot".into());
    dash.expect_record(what);
    let effects = dash.done(EffectResult::Written(
        "us".into(),
        "d".into(),
        "bot".into(),
        Ok(written),
    ));
    answer(&mut dash, effects);
    insta::assert_snapshot!("update_deployment_140x40", dash.screen());
    press(&mut dash, "<Tab>dev<Tab><Tab>x");
    dash.shows(["now main", "- removed", "kept"]);
    let text = dash.document();
    text.has(["repo_ref = \"dev\"", "remove_secrets = [\"OLD\"]"]);
    text.lacks("canary");
    let effects = dash.keys("<ctrl-s>");
    let (_, intent) = planned(&mut dash, &effects);
    assert!(
        matches!(&intent, Intent::UpdateDeployment { id, .. } if id == "d"),
        "{intent:?}"
    );
}

pub(crate) fn first_run(size: (u16, u16)) -> Dash {
    let mut dash = Dash::new("", size);
    dash.set_config_file("/home/me/.config/runtail/config.toml".into());
    dash
}

#[test]
fn first_run_opens_the_local_server_that_was_found() {
    let mut dash = first_run((140, 40));
    let found = LocalServer {
        url: "http://127.0.0.1:2024/".into(),
        assistants: Some(3),
    };
    dash.done(EffectResult::LocalServer(Some(found)));
    insta::assert_snapshot!("first_run_found_140x40", dash.screen());
    let effects = dash.keys("2");
    let [Effect::Try(number, profile)] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    assert_eq!(profile.name, "local");
    dash.feed(Msg::done(EffectResult::Tried(*number, Ok(()))));
    assert!(
        dash.dialog().is_none() && dash.has_server(),
        "its threads are shown"
    );
    assert!(
        dash.has_unsaved_profiles(),
        "nothing is written without a request"
    );
}

#[test]
fn a_key_pasted_or_typed_on_the_first_run_is_refused_and_not_kept() {
    let key = "lsv2_pt_0123456789abcdef0123456789abcdef_0123456789";
    for keys in ["", "3", "4"] {
        for text in [key.to_string(), format!("https://{key}")] {
            let mut dash = first_run((80, 24));
            dash.done(EffectResult::LocalServer(None));
            dash.keys(keys);
            dash.feed(Msg::Paste(text));
            dash.shows("That looks like a key: discarded");
            dash.lacks("lsv2_");
            assert_eq!(dash.keys("<Enter>"), []);
            dash.lacks("0123456789");
        }
        let mut dash = first_run((80, 24));
        dash.done(EffectResult::LocalServer(None));
        dash.keys(if keys.is_empty() { "4" } else { keys });
        dash.keys(key);
        dash.shows("That looks like a key: discarded");
        dash.lacks(["lsv2_", "0123456789"]);
    }
}

#[test]
fn first_run_looks_again_and_opens_an_address() {
    let mut dash = first_run((80, 24));
    dash.done(EffectResult::LocalServer(None));
    insta::assert_snapshot!("first_run_80x24", dash.screen());
    assert_eq!(dash.keys("2"), [Effect::FindLocalServer]);
    // An empty address is named, with a way out.
    dash.keys("4<Enter>");
    dash.shows(["Enter an agent server's URL.", "Esc back"]);
    dash.keys("<Esc>");
    dash.lacks("Enter an agent server's URL");
    assert!(
        dash.keys("4https://api.smith.langchain.com<Enter>")
            .is_empty()
    );
    dash.shows("the LangSmith region us");
    dash.keys("<Esc>4bot.example.com<Enter>");

    assert_eq!(
        dash.definition("bot").agent_servers[0].1.as_str(),
        "https://bot.example.com/"
    );
}

#[test]
fn first_run_offers_its_keys_where_they_work() {
    let mut dash = first_run((80, 24));
    dash.shows("⏎ open  1–4 choose  q quit");
    let effects = dash.keys("4http://127.0.0.1:9<Enter>");
    let [Effect::Try(number, _)] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    let number = *number;
    let error = dash.error("local", Kind::NoConnection);
    dash.feed(Msg::done(EffectResult::Tried(number, Err(error))));
    dash.shows([
        "U uses local anyway, s saves it.",
        " U use anyway  s save  ⏎ open  1–4 choose",
    ]);
    // The address is kept for another try.
    dash.shows("4  Open another server       http://127.0.0.1:9");
    dash.keys("4x");
    dash.shows("[ http://127.0.0.1:9x");
    dash.keys("<Backspace><Enter>");
    let error = dash.error("local", Kind::NoConnection);
    dash.feed(Msg::done(EffectResult::Tried(number + 1, Err(error))));
    dash.keys("U");
    assert!(dash.dialog().is_none());
}

#[test]
fn first_run_says_that_there_is_nothing_to_import() {
    let home = tempfile::tempdir().unwrap();
    let places = Places {
        langsmith: Some(home.path().join("config.json")),
        project: None,
    };
    let mut dash = first_run((140, 40));
    let found = || Box::new(Import::read(&places));
    dash.done(EffectResult::ImportsFound(found()));
    // It was not asked for.
    dash.lacks("Nothing to import");
    dash.keys("5");
    dash.done(EffectResult::ImportsFound(found()));
    dash.shows("Nothing to import: there is no ");
}

#[test]
fn the_document_of_a_new_deployment_says_what_is_missing() {
    let mut dash = Dash::new(TWO, (140, 40));
    press(&mut dash, "a<ctrl-t>");
    dash.shows("? Missing: profile, name, ");
    dash.lacks("● Valid");
    let mut dash = filled((140, 40));
    press(&mut dash, "<ctrl-t>");
    dash.shows("● Valid");
}

#[test]
fn first_run_imports_profiles_of_the_official_tools() {
    let home = tempfile::tempdir().unwrap();
    let (tool, file) = (
        home.path().join("config.json"),
        home.path().join("runtail/config.toml"),
    );
    let places = Places {
        langsmith: Some(tool.clone()),
        project: None,
    };
    let mut dash = first_run((140, 40));
    dash.set_config_file(file.clone());
    dash.done(EffectResult::ImportsFound(Box::new(Import::read(&places))));
    dash.lacks("Import");
    assert_eq!(
        dash.keys("5"),
        [Effect::FindImports],
        "the files may have been written since"
    );
    std::fs::write(
        &tool,
        r#"{"profiles": {"eu": {"api_key": "canary", "api_url": "https://eu.api.smith.langchain.com"},
        "x": {"api_url": "http://ls.example.com"}}}"#,
    )
    .unwrap();
    dash.done(EffectResult::ImportsFound(Box::new(Import::read(&places))));
    dash.shows(["5  Import 1 profile", " ⏎ open  1–5 choose  q quit"]);
    // The file is drafted, shown, and written only on request.
    assert_eq!(
        dash.keys("<Down><Down><Down><Down><Down><Enter>"),
        [Effect::DraftImport(file.clone())]
    );
    let draft =
        || Import::draft(&places, &file, &[]).map(|(found, draft)| (Box::new(found), draft));
    dash.done(EffectResult::ImportDrafted(draft()));
    let screen = dash.screen();
    for line in [
        "╭ Import · ",
        "▌ [x] eu · region eu · key stays in ",
        "✗ not added: x (",
        "+ [profiles.eu]",
        "#/profiles/eu/api_key\"",
        "ctrl-s write  Space leave out, add",
    ] {
        dash.shows(line);
    }
    assert!(!screen.contains("canary") && !file.exists());
    let effects = dash.keys("<ctrl-s>");
    let [Effect::SaveFile(draft)] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    draft.write().unwrap();
    assert!(!std::fs::read_to_string(&file).unwrap().contains("canary"));
}

#[test]
fn profiles_of_an_import_are_left_out_and_added_again() {
    let home = tempfile::tempdir().unwrap();
    let (tool, file) = (
        home.path().join("config.json"),
        home.path().join("config.toml"),
    );
    let profiles = r#"{"profiles": {"a": {"api_key": "canary"}, "b": {"api_key": "canary"}, "c": {"api_key": "canary"}}}"#;
    std::fs::write(&tool, profiles).unwrap();
    std::fs::write(&file, format!("default_profiles = [\"us\"]\n{TWO}")).unwrap();
    let mut dash = Dash::new(TWO, (140, 40));
    let places = Places {
        langsmith: Some(tool),
        project: None,
    };
    let drafted = Import::draft(&places, &file, &[]).map(|(found, draft)| (Box::new(found), draft));
    dash.done(EffectResult::ImportDrafted(drafted));
    dash.shows("a, b, c are not in use, because default_profiles doesn't name them");
    dash.keys("<Down><Space>");
    for line in [
        "  [x] a ·",
        "▌ [ ] b ·",
        "  [x] c ·",
        "+ [profiles.a]",
        "+ [profiles.c]",
        "a, c are not in use",
    ] {
        dash.shows(line);
    }
    dash.lacks("[profiles.b]");
    let effects = dash.keys("<ctrl-s>");
    let [Effect::SaveFile(draft)] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    draft.write().unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    text.has("[profiles.c]");
    text.lacks("[profiles.b]");
    // Nothing is written if every profile is left out, and a profile can be added again.
    let drafted = Import::draft(&places, &file, &[]).map(|(found, draft)| (Box::new(found), draft));
    dash.done(EffectResult::ImportDrafted(drafted));
    assert!(dash.keys("<Space><ctrl-s>").is_empty());
    dash.shows("no profile chosen");
    assert!(matches!(
        dash.keys("<Space><ctrl-s>").as_slice(),
        [Effect::SaveFile(_)]
    ));
}

#[test]
fn import_that_adds_nothing_says_why() {
    let home = tempfile::tempdir().unwrap();
    let (tool, file) = (
        home.path().join("config.json"),
        home.path().join("config.toml"),
    );
    std::fs::write(&tool, r#"{"profiles": {"us": {"api_key": "canary"}}}"#).unwrap();
    std::fs::write(&file, TWO).unwrap();
    let mut dash = Dash::new(TWO, (140, 40));
    dash.set_config_file(file.clone());
    assert_eq!(
        dash.keys(":import<Enter>"),
        [Effect::DraftImport(file.clone())]
    );
    let places = Places {
        langsmith: Some(tool),
        project: None,
    };
    let drafted = Import::draft(&places, &file, &[]).map(|(found, draft)| (Box::new(found), draft));
    dash.done(EffectResult::ImportDrafted(drafted));
    assert!(dash.dialog().is_none());
    dash.shows("Nothing to import.");
    dash.keys("!");
    dash.shows("your configuration has a profile of this name");
}

#[test]
fn first_run_starts_the_demo_and_ignores_files_then() {
    let mut dash = first_run((140, 40));
    assert_eq!(dash.keys("1"), [Effect::StartDemo]);
    assert!(dash.keys("1").is_empty(), "it is started once");
    dash.shows("starting simulated servers");
    dash.done(EffectResult::DemoStarted(Err("no port is free".into())));
    dash.shows("✗ no port is free");
    dash.keys("1");
    let config = runtail_core::config::Config::parse(TWO, None).unwrap();
    let effects = dash.done(EffectResult::DemoStarted(Ok(Box::new(config))));
    assert!(
        matches!(
            effects.as_slice(),
            [Effect::UseDemo(_), Effect::UseProfiles(..), ..]
        ),
        "{effects:?}"
    );
    assert!(dash.dialog().is_none());
    dash.shows("DEMO");
    let file = runtail_core::config::Config::parse("[profiles.real]\nregion = \"us\"\n", None)
        .map(Box::new);
    assert!(
        dash.feed(Msg::Configured(file)).is_empty(),
        "no real server beside simulated ones"
    );
}
