//! The JSON schema (`assets/config.schema.json`) says what the reader says.

use super::sections::{ProfileTable, Sections};
use super::theme::{FILES, Role, Themes};
use super::{
    Config, EventLogLimits, Mouse, Notify, NotifyRule, NotifyWhen, Poll, REGIONS, Stuck,
    Timestamps, Ui, prices::Price,
};
use crate::model::{AnswerRule, RuleDecision};
use jsonschema::Validator;
use serde::de::{Deserialize, Deserializer, Error as _, Visitor, value::Error};
use serde::forward_to_deserialize_any;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Collects the fields of a struct or the words of an enum.
struct Names<'a>(&'a mut BTreeSet<String>);

impl<'de> Deserializer<'de> for Names<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("neither a struct nor an enum"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_enum("", fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        self.0.extend(words.iter().map(|word| word.to_string()));
        Err(Error::custom("only the names"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct
        seq tuple tuple_struct map identifier ignored_any
    }
}

fn names<'de, T: Deserialize<'de>>() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let _ = T::deserialize(Names(&mut names));
    names
}

/// Reads a file of the repository.
fn file(path: &str) -> String {
    std::fs::read_to_string(format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn schema() -> Value {
    serde_json::from_str(&file("assets/config.schema.json")).unwrap()
}

fn validator() -> Validator {
    jsonschema::draft7::new(&schema()).unwrap()
}

/// Returns why a text is invalid; none for one that is not TOML.
fn mistakes(validator: &Validator, text: &str) -> Option<Vec<String>> {
    let document: Value = toml::from_str(text).ok()?;
    let errors = validator.iter_errors(&document);
    Some(
        errors
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect(),
    )
}

#[test]
fn schema_has_every_key_and_word_of_the_reader() {
    let schema = schema();
    let texts =
        |texts: &[&str]| -> BTreeSet<String> { texts.iter().map(|t| t.to_string()).collect() };
    let rule = |of: &str| format!("/properties/{of}/items/properties");
    let table = |of: &str| format!("/properties/{of}/properties");
    let roles: Vec<&str> = Role::ALL
        .iter()
        .map(|role| role.name())
        .chain(["inherits"])
        .collect();
    let themes = Themes::default();
    let themes: Vec<&str> = themes.names().collect();
    for (place, names) in [
        ("/properties".to_string(), names::<Sections>()),
        (table("poll"), names::<Poll>()),
        (table("limits"), names::<EventLogLimits>()),
        (table("ui"), names::<Ui>()),
        (table("stuck"), names::<Stuck>()),
        (rule("answer"), names::<AnswerRule>()),
        (rule("notify"), names::<NotifyRule>()),
        (
            "/properties/prices/additionalProperties/properties".into(),
            names::<Price>(),
        ),
        (
            "/definitions/profile/properties".into(),
            names::<ProfileTable>(),
        ),
        (
            "/definitions/profile/properties/region/enum".into(),
            texts(&REGIONS.map(|(tag, _)| tag)),
        ),
        (table("ui") + "/mouse/enum", names::<Mouse>()),
        (table("ui") + "/timestamps/enum", names::<Timestamps>()),
        (table("ui") + "/notify/enum", names::<Notify>()),
        (table("ui") + "/theme/anyOf/0/enum", texts(&themes)),
        (
            "/properties/themes/propertyNames/not/enum".into(),
            texts(&themes),
        ),
        (
            "/definitions/theme/propertyNames/enum".into(),
            texts(&roles),
        ),
        (rule("notify") + "/when/enum", names::<NotifyWhen>()),
        (rule("answer") + "/decision/enum", names::<RuleDecision>()),
    ] {
        let own: BTreeSet<String> = match schema.pointer(&place) {
            Some(Value::Object(properties)) => properties.keys().cloned().collect(),
            Some(Value::Array(words)) => words.iter().map(|w| w.as_str().unwrap().into()).collect(),
            _ => panic!("{place} is missing"),
        };
        assert!(!names.is_empty(), "{place}");
        assert_eq!(own, names, "{place}");
    }
}

#[test]
fn right_configurations_are_valid() {
    let validator = validator();
    let uncommented = Config::EXAMPLE.replace("\n#: ", "\n");
    let mut all = vec![Config::EXAMPLE.to_string(), uncommented];
    all.push(Config::parse(&all[1], None).unwrap().to_toml());
    all.push(
        "[profiles.a]\nagent_server = { x = \"HTTP://localhost:1\", y = \"http://[::1]:2/base?q\" }\npoll = { x = false }\n\
         bearer_keyring = \"s/x\"\n[limits]\nmax_bytes = 1024\nmax_answer = \"1.5 GB\"\n[poll]\ninterval = \"1h 30m\"\n\
         [themes.dusk]\ngood = \"\"\nbad = \"bold 32 on #87afff\"\n[keys]\nc.d = []\n\"e.f\" = \"G\"\n"
            .into(),
    );
    let fuzzed = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/config");
    for file in std::fs::read_dir(fuzzed).unwrap() {
        let text = std::fs::read(file.unwrap().path()).unwrap();
        let text = String::from_utf8_lossy(&text).into_owned();
        all.extend(
            Config::parse(&text, None)
                .is_ok_and(|config| config.warnings.is_empty())
                .then_some(text),
        );
    }
    assert!(all.len() > 6, "{}", all.len());
    for text in all {
        assert_eq!(mistakes(&validator, &text), Some(vec![]), "{text}");
    }
    let theme = json!({"$ref": "#/definitions/theme", "definitions": schema()["definitions"]});
    let theme = jsonschema::draft7::new(&theme).unwrap();
    for (name, text) in FILES {
        assert_eq!(mistakes(&theme, text), Some(vec![]), "{name}");
    }
}

/// Every mistake of the reader is one of the schema, except what a schema can't know.
#[test]
fn schema_refuses_the_mistakes_of_the_reader() {
    const UNSEEN: &[&str] = &[
        // Other places of the file.
        "there is no profile",
        "there is no theme",
        "inherit from each other",
        "plain http to another machine",
        // The amount of a duration, and a language of its own.
        "must not be polled more than once a second",
        "too short: every run would count as stuck",
        "not a valid search",
    ];
    let validator = validator();
    let mut seen = 0;
    for block in include_str!("../mistakes.txt").split_terminator("----\n") {
        let (text, said) = block.split_once("=>\n").unwrap();
        let Some(mistakes) = mistakes(&validator, text) else {
            continue;
        };
        let is_unseen = UNSEEN.iter().any(|why| said.contains(why));
        assert_eq!(
            mistakes.is_empty(),
            is_unseen,
            "{text}=>\n{said}{mistakes:?}"
        );
        seen += usize::from(!is_unseen);
    }
    assert!(seen > 80, "{seen}");
}
