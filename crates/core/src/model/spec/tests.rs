use super::body::Draft;
use super::*;
use crate::catalog::{Field, Form};
use crate::model::{Change, NewRevision, mask_record};
use proptest::prelude::*;
use secrecy::SecretString;
use serde_json::json;

/// Every field. The text after `#: ` is one more line of it.
const EXAMPLE: &str = include_str!("../../../../../assets/deployment.example.toml");

const CLOUD: Installation = Installation {
    is_cloud: true,
    is_aws: false,
};
const OWN: Installation = Installation {
    is_cloud: false,
    is_aws: false,
};

fn spec(toml: &str) -> DeploymentSpec {
    DeploymentSpec::parse(toml, Format::Toml, Some(Path::new("d.toml")))
        .unwrap_or_else(|e| panic!("{e}"))
}

/// Resolves each reference to `value of NAME`.
fn fetched(spec: &DeploymentSpec) -> body::Fetched {
    let value = |at: &Vec<String>| SecretString::from(format!("value of {}", at[1]));
    spec.document
        .secrets
        .iter()
        .map(|(at, _)| (at.clone(), value(at)))
        .collect()
}

fn create(toml: &str, at: Installation) -> Result<Draft, Vec<String>> {
    let spec = spec(toml);
    spec.create(at, &fetched(&spec))
}

fn update(toml: &str, record: &Value) -> Result<Draft, Vec<String>> {
    let spec = spec(toml);
    spec.update(record, CLOUD, &fetched(&spec))
}

fn lines(draft: &Draft) -> Vec<String> {
    draft.changes.iter().map(Change::line).collect()
}

/// Asserts what is wrong with a document, one reason for each error.
#[track_caller]
fn assert_refused(result: Result<Draft, Vec<String>>, reasons: &[&str]) {
    let wrong = result.err().unwrap_or_default();
    let is_said = |(wrong, reason): (&String, &&str)| wrong.contains(reason);
    assert!(
        wrong.len() == reasons.len() && wrong.iter().zip(reasons).all(is_said),
        "{wrong:#?}\n-- expected: {reasons:#?}"
    );
}

fn warnings(draft: &Draft) -> Vec<&str> {
    draft
        .notes
        .iter()
        .filter(|note| note.warns)
        .map(|note| note.text.as_str())
        .collect()
}

fn record() -> Value {
    json!({"id": "d", "name": "bot", "source": "github", "display_name": null, "latest_revision_id": "r1",
        "source_config": {"repo_url": "https://github.com/acme/bot", "deployment_type": "prod", "build_on_push": true,
            "integration_id": "11111111-1111-4111-8111-111111111111", "custom_url": "https://bot.example",
            "resource_spec": {"min_scale": 1, "cpu": 1.0, "memory_mb": null}, "listener_id": null},
        "source_revision_config": {"repo_ref": "main", "langgraph_config_path": "langgraph.json", "image_uri": null,
            "repo_commit_sha": "9fceb02d0ae598e95dc970b74767f19372d61af8"},
        "secrets": [{"name": "A", "value": "alpha-canary"}, {"name": "B", "value": "beta-canary"}]})
}

const GITHUB: &str = "name = \"bot\"\nsource = \"github\"\n[source_config]\nrepo_url = \"https://github.com/acme/bot\"\n\
    deployment_type = \"dev\"\nbuild_on_push = false\nintegration_id = \"11111111-1111-4111-8111-111111111111\"\n\
    [source_revision_config]\nrepo_ref = \"main\"\ngraph_config_path = \"langgraph.json\"\n";

#[test]
fn example_document_is_complete_and_valid() {
    let plain = spec(EXAMPLE);
    assert_eq!(plain.document.secrets.len(), 1);
    assert!(plain.create(CLOUD, &fetched(&plain)).is_ok());
    let all: String = EXAMPLE
        .lines()
        .map(|l| l.strip_prefix("#: ").unwrap_or(l).to_string() + "\n")
        .collect();
    let all = spec(&all);
    assert!(
        all.replace_secrets
            && all.remove_secrets == ["OLD_API_KEY"]
            && all.document.secrets.len() == 2
    );
    fn named(fields: &[Field]) {
        for field in fields {
            assert!(
                EXAMPLE.contains(field.name),
                "the example does not contain {}",
                field.name
            );
            match field.form {
                Form::Table(inner) | Form::Tables(inner) => named(inner),
                _ => {}
            }
        }
    }
    named(fields::DEPLOYMENT);
}

#[test]
fn body_of_a_new_deployment() {
    let draft = create(&format!("{GITHUB}[secrets]\nK = \"env:X\"\n"), CLOUD).unwrap();
    let expected = json!({"name": "bot", "source": "github",
        "source_config": {"repo_url": "https://github.com/acme/bot", "deployment_type": "dev", "build_on_push": false,
            "integration_id": "11111111-1111-4111-8111-111111111111"},
        "source_revision_config": {"repo_ref": "main", "langgraph_config_path": "langgraph.json"},
        "secrets": [{"name": "K", "value": "value of K"}]});
    assert_eq!(draft.body, expected);
    assert!(
        matches!(draft.revision, NewRevision::Yes(_)) && warnings(&draft).is_empty(),
        "{:?}",
        draft.notes
    );
    let image = "name = \"a-name-that-is-longer-than-21\"\nsource = \"external_docker\"\nsource_revision_config.image_uri = \"r/x:1\"\n\
                 [source_config.resource_spec]\n";
    let draft = create(image, OWN).unwrap();
    assert_eq!(draft.body["source_config"], json!({"resource_spec": {}}));
    assert_eq!(draft.body["secrets"], json!([]));
    assert!(
        warnings(&draft)[0].contains("21 characters") && warnings(&draft)[1].contains("digest"),
        "{:?}",
        draft.notes
    );
}

#[test]
fn invalid_deployments_are_refused_with_a_reason() {
    let cases: [(String, Installation, &[&str]); 13] = [
        (String::new(), CLOUD, &["d.toml: name is missing: ", "d.toml: source is missing: "]),
        ("name = \"Bot_1\"\nsource = \"internal_docker\"".into(), CLOUD, &["d.toml:1: name: a name has lowercase letters"]),
        (
            "name = \"bot\"\nsource = \"github\"\n[source_config]\nbuild_on_push = true".into(),
            CLOUD,
            &[
                "d.toml:3: source_config.repo_url is missing: ",
                "d.toml: source_revision_config.langgraph_config_path is missing: ",
                "d.toml:3: source_config.deployment_type is missing: ",
            ],
        ),
        (
            "name = \"bot\"\nsource = \"external_docker\"\nsource_config.deployment_type = \"dev\"".into(),
            OWN,
            &["image_uri is missing", "resource_spec is missing", "source_config.deployment_type: only for deployments from github or"],
        ),
        (GITHUB.replace("\"main\"", "\"refs/tags/v1\"").replace("push = false", "push = true"), CLOUD, &["build_on_push: a tag never moves"]),
        (
            "name = \"bot\"\nsource = \"internal_docker\"\nsource_config.build_on_push = true".into(),
            CLOUD,
            &["build_on_push: only for github deployments"],
        ),
        (GITHUB.replace("\"dev\"", "\"dev_zero\""), Installation { is_aws: true, ..CLOUD }, &["deployment_type: scale to zero"]),
        (format!("{GITHUB}image_uri = \"x@sha256:1\""), CLOUD, &["image_uri: only for deployments from external_docker"]),
        (format!("display_name = \"x\"\n{GITHUB}"), CLOUD, &["display_name: only for an update"]),
        (format!("remove_secrets = [\"A\"]\n{GITHUB}"), CLOUD, &["secrets: a new deployment has no secrets"]),
        (format!("{GITHUB}[secrets]\nPORT = \"env:X\"\nPOSTGRES_URI = \"env:X\""), CLOUD, &["d.toml:12: secrets.PORT: the name is reserved in the cloud", "secrets.POSTGRES_URI: the name is reserved by the service"]),
        (format!("{GITHUB}[secrets]\n\"a b\" = \"env:X\"\n1A = \"env:X\""), CLOUD, &["secrets.a b: not a valid name", "secrets.1A: not a valid name"]),
        (
            "name = \"bot\"\nsource = \"external_docker\"\nsource_config.resource_spec = {}\nsource_revision_config.image_uri = \"x@sha256:1\"\n\
             secrets.A = \"env:X\"\nsecret_references = [{name = \"A\", secret_name = \"s\", secret_key = \"k\"}]"
                .into(),
            OWN,
            &["secrets.A: the secret A is given twice"],
        ),
    ];
    for (toml, at, reasons) in cases {
        assert_refused(create(&toml, at), reasons);
    }
    // Names that are reserved only in the cloud are accepted elsewhere.
    assert!(create(&format!("{GITHUB}[secrets]\nPORT = \"env:X\""), OWN).is_ok());
}

#[test]
fn updates_send_differences_and_the_given_source() {
    let full = "name = \"bot\"\nsource = \"github\"\n[source_config]\nrepo_url = \"https://github.com/acme/bot\"\ndeployment_type = \"prod\"\n\
                build_on_push = true\nresource_spec = {min_scale = 1, cpu = 1}\n";
    let draft = update(full, &record()).unwrap();
    assert_eq!((draft.body, draft.changes), (json!({}), vec![]));
    let draft = update(&full.replace("push = true", "push = false"), &record()).unwrap();
    assert_eq!(
        draft.body,
        json!({"source_config": {"build_on_push": false}})
    );
    assert_eq!(lines(&draft), ["source_config.build_on_push: true → false"]);
    assert!(
        matches!(&draft.revision, NewRevision::No(why) if why.contains("only build_on_push is sent")),
        "{:?}",
        draft.revision
    );
    assert_eq!(draft.parts, ["/source_config/build_on_push"]);
    let draft = update("source_revision_config.repo_ref = \"main\"", &record()).unwrap();
    assert_eq!(
        draft.body,
        json!({"source_revision_config": {"repo_ref": "main"}})
    );
    assert!(draft.changes.is_empty() && matches!(draft.revision, NewRevision::Yes(_)));
    assert!(draft.notes[0].text.contains("source is unchanged"));
    assert_eq!(
        draft.made_from,
        json!({"repo_ref": "main", "langgraph_config_path": "langgraph.json"})
    );
    // Resources are replaced as a whole, and removed fields are listed.
    let draft = update("source_config.resource_spec = {cpu = 2}", &record()).unwrap();
    assert_eq!(
        lines(&draft),
        [
            "source_config.resource_spec.min_scale: no longer set, was 1",
            "source_config.resource_spec.cpu: 1.0 → 2"
        ]
    );
    assert!(matches!(draft.revision, NewRevision::Yes(why) if why == "resource_spec is sent"));
    let draft = update(
        "source_config.repo_url = \"https://github.com/acme/bot2\"",
        &record(),
    )
    .unwrap();
    assert!(
        matches!(draft.revision, NewRevision::May(_)) && warnings(&draft)[0].contains("disagree")
    );
    let draft = update(
        "display_name = \"Bot\"\nroute_through_gateway = true",
        &record(),
    )
    .unwrap();
    assert!(
        matches!(draft.revision, NewRevision::No(why) if why.contains("display_name, route_through_gateway"))
    );
    for (toml, reason) in [
        (
            "name = \"other\"",
            "d.toml:1: name: it can't be changed after creation; it is bot",
        ),
        (
            "source = \"internal_source\"",
            "source: it can't be changed",
        ),
        (
            "source_config.deployment_type = \"dev\"",
            "source_config.deployment_type: it can't be changed",
        ),
        (
            "source_revision_config.repo_ref = \"refs/tags/v2\"",
            "repo_ref: a tag never moves",
        ),
        (
            "source_revision_config.image_uri = \"x:1\"",
            "image_uri: only for deployments from external_docker",
        ),
        (
            "source_config.custom_url = \"https://x\"",
            "custom_url: only for deployments from external_docker",
        ),
    ] {
        assert_refused(update(toml, &record()), &[reason]);
    }
}

const ADDS_C: &str = "[secrets]\nC = \"env:X\"";

#[test]
fn removed_secrets_are_reported() {
    let sent = |draft: &Draft| -> Vec<String> {
        let one = |s: &Value| {
            [&s["name"], &s["value"]]
                .map(|v| v.as_str().unwrap())
                .join("=")
        };
        let list = draft.body["secrets"].as_array();
        list.into_iter().flatten().map(one).collect()
    };
    let draft = update("[secrets]\nB = \"env:X\"\nC = \"env:X\"", &record()).unwrap();
    assert_eq!(
        sent(&draft),
        ["A=alpha-canary", "B=value of B", "C=value of C"]
    );
    assert_eq!(lines(&draft), ["secrets[B]: changed", "secrets[C]: added"]);
    assert_eq!(
        draft.notes[0].text,
        "The whole set of secrets is sent: added C; changed B; 1 unchanged."
    );
    assert!(matches!(draft.revision, NewRevision::Yes(why) if why == "secrets are sent"));
    let draft = update("remove_secrets = [\"A\"]", &record()).unwrap();
    assert_eq!(sent(&draft), ["B=beta-canary"]);
    assert_eq!(warnings(&draft), ["These secrets are removed: A."]);
    let draft = update(&format!("replace_secrets = true\n{ADDS_C}"), &record()).unwrap();
    assert_eq!(
        (sent(&draft), warnings(&draft)),
        (
            vec!["C=value of C".into()],
            vec!["These secrets are removed: A, B."]
        )
    );
    // An identical set is no change.
    let mut same = record();
    same["secrets"] = json!([{"name": "C", "value": "value of C"}]);
    assert_eq!(update(ADDS_C, &same).unwrap().body, json!({}));
    // The server hides values, or the names too: secrets that can't be kept are not dropped.
    let hidden = "*** | | sk-*** | [REDACTED] | <hidden> | xxxxxxxx | sk-…4f2a | ●●●●4f2a";
    for hidden in hidden.split('|').map(|value| json!(value.trim())) {
        let mut masked = record();
        masked["secrets"][0]["value"] = hidden;
        assert_refused(
            update(ADDS_C, &masked),
            &["doesn't return the values of A,"],
        );
        // The hidden secret is given, all are replaced, and none is touched.
        for fits in [
            "secrets.A = \"env:X\"",
            "replace_secrets = true\nsecrets.C = \"env:X\"",
            "source_config.build_on_push = false",
        ] {
            assert!(update(fits, &masked).is_ok(), "{fits}");
        }
    }
    let mut without = record();
    without["secrets"][0]["value"] = json!(null);
    assert!(update(ADDS_C, &without).is_err());
    let mut unlisted = record();
    unlisted.as_object_mut().unwrap().remove("secrets");
    assert_refused(
        update(ADDS_C, &unlisted),
        &["doesn't list the existing secrets"],
    );
    for (toml, reason) in [
        ("replace_secrets = true", "the last secret can't be removed"),
        (
            "remove_secrets = [\"A\", \"B\"]",
            "the last secret can't be removed",
        ),
        ("remove_secrets = [\"Z\"]", "there is no secret Z"),
        (
            "remove_secrets = [\"A\"]\nsecrets.A = \"env:X\"",
            "d.toml:2: the secret A is both set and removed",
        ),
        (
            "secrets.REDIS_URI = \"env:X\"",
            "d.toml:1: secrets.REDIS_URI: the name is reserved",
        ),
    ] {
        assert_refused(update(toml, &record()), &[reason]);
    }
}

#[test]
fn unchanged_templates_send_nothing_and_contain_no_secret() {
    let mut unknown_field = record();
    unknown_field["source_config"]["resource_spec"]["orchestrator_cpu"] = json!(1);
    let mut sidecar = record();
    sidecar["source_config"]["resource_spec"] = json!({"sidecars": [{"name": "x", "image": "y", "env": [{"name": "E", "value": "gamma-canary"}]}]});
    let mut repeated = record();
    repeated["secrets"] = json!([{"name": "T", "value": "delta-canary"}]);
    repeated["source_config"]["repo_url"] = json!("https://me:canary@git.example/a");
    repeated["source_config"]["install_command"] = json!("install --token=delta-canary");
    repeated["source_config"]["resource_spec"] =
        json!({"sidecars": [{"name": "x", "image": "y", "args": ["delta-canary"]}]});
    let mut broken = record();
    broken["source_config"]["integration_id"] = json!("no uuid");
    broken["display_name"] = json!(7);
    broken["source_config"]["build_on_push"] = json!("yes\n[evil]");
    for record in [
        record(),
        unknown_field,
        sidecar,
        repeated,
        broken,
        json!({}),
        json!({"name": "x\ny = 1", "secrets": [{"name": "a\nb = 2", "value": "canary"}]}),
    ] {
        let text = DeploymentSpec::template_of(&record);
        assert!(!text.contains("canary"), "{text}");
        let spec = spec(&text);
        let draft = spec
            .update(&record, CLOUD, &Vec::new())
            .unwrap_or_else(|wrong| panic!("{wrong:?}\n{text}"));
        assert_eq!(draft.body, json!({}), "{text}");
    }
    let text = DeploymentSpec::template_of(&record());
    for part in [
        "# bot (github)\n",
        "build_on_push = true\n",
        "# (cannot be changed) deployment_type = \"prod\"\n",
        "[source_config.resource_spec]\nmin_scale = 1\ncpu = 1.0\n",
        "# [source_revision_config]\n# repo_ref = \"main\"\n",
        "# Existing: A, B\n",
    ] {
        assert!(text.contains(part), "{part}\n---\n{text}");
    }
}

#[test]
fn options_override_the_document() {
    let mut spec = spec("source_config.build_on_push = true\n[secrets]\nA = \"env:X\"");
    spec.set(["source_config", "build_on_push"], json!(false));
    spec.set(["source_revision_config", "repo_ref"], json!("hotfix"));
    spec.set(["", "display_name"], json!("Bot"));
    spec.set_secret("A", SecretRef::Env("Y".into()));
    spec.set_resources("{\"cpu\": 2}", Path::new("--resource-spec"))
        .unwrap();
    let error = spec
        .set_resources("{\"cpus\": 2}", Path::new("--resource-spec"))
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("--resource-spec:1:2: unknown field `cpus`"),
        "{error}"
    );
    let expected = json!({"source_config": {"build_on_push": false, "resource_spec": {"cpu": 2}},
                          "source_revision_config": {"repo_ref": "hotfix"}, "display_name": "Bot"});
    assert_eq!(Value::Object(spec.document.fields.clone()), expected);
    assert_eq!(
        spec.document.secrets,
        [(
            vec!["secrets".to_string(), "A".to_string()],
            SecretRef::Env("Y".into())
        )]
    );
    assert!(!spec.is_empty() && DeploymentSpec::default().is_empty());
}

#[test]
fn container_variables_are_masked() {
    let mut record = json!({"sidecars": [{"name": "x", "env": [{"name": "E", "value": "canary-of-env"}]}], "why": "canary-of-env"});
    mask_record(&mut record);
    assert_eq!(
        record,
        json!({"sidecars": [{"name": "x", "env": [{"name": "E", "value": "***"}]}], "why": "***"})
    );
}

proptest! {
    /// For any existing and given secrets, the update sends all existing ones except those reported as removed.
    #[test]
    fn random_updates_keep_or_report_every_secret(
        today in proptest::collection::btree_map("[A-F]", "[a-z]{8}", 0..5),
        given in proptest::collection::btree_set("[A-H]", 0..4),
        removed in proptest::collection::btree_set("[A-F]", 0..3),
        replaces in any::<bool>(),
    ) {
        let mut record = record();
        record["secrets"] = today.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
        let mut spec = DeploymentSpec { remove_secrets: removed.iter().cloned().collect(), replace_secrets: replaces, ..Default::default() };
        given.iter().for_each(|name| spec.set_secret(name, SecretRef::Env("X".into())));
        if let Ok(draft) = spec.update(&record, CLOUD, &fetched(&spec)) {
            let sent: Vec<&str> = draft.body["secrets"].as_array().into_iter().flatten().map(|s| s["name"].as_str().unwrap()).collect();
            let warned: String = warnings(&draft).concat();
            for name in today.keys().filter(|_| !draft.body["secrets"].is_null()) {
                prop_assert!(sent.contains(&name.as_str()) || warned.contains(name.as_str()), "{name}: {sent:?} {warned}");
                prop_assert!(sent.contains(&name.as_str()) || replaces || removed.contains(name));
            }
            prop_assert!(draft.body["secrets"] != json!([]));
            // The preview contains no value.
            let seen = format!("{:?}{:?}", draft.changes, draft.notes);
            prop_assert!(today.values().all(|value| !seen.contains(value.as_str())));
        }
    }
}

/// A server's text stays in its field and never becomes another line of the document.
#[test]
fn multiline_values_stay_in_their_field() {
    let evil = "a\ninstall_command = \"evil\"\n\r\n[secrets]\nX = \"env:HOME\"\n\u{2028}\u{202e}\u{1b}[2J'\"\"\"\n'''";
    let record = json!({"name": evil, "source": evil, "display_name": evil, "secrets": [{"name": evil, "value": "x"}],
        "source_config": {"repo_url": evil, "deployment_type": evil, "integration_id": evil, "custom_url": evil,
            "resource_spec": {"cpu": evil, evil: evil}},
        "source_revision_config": {"repo_ref": evil, "langgraph_config_path": evil, "image_uri": evil}});
    let text = DeploymentSpec::template_of(&record);
    let spec = DeploymentSpec::parse(&text, Format::Toml, None).unwrap();
    assert!(spec.document.secrets.is_empty());
    assert!(
        text.contains("\ndisplay_name = \"a\\ninstall_command = "),
        "{text}"
    );
    assert!(
        !text
            .lines()
            .any(|line| line.starts_with("install_command") || line == "X = \"env:HOME\""),
        "{text}"
    );
    assert!(
        !text
            .replace('\n', "")
            .contains(|c: char| c.is_control() || c == '\u{202e}'),
        "{text}"
    );
}
