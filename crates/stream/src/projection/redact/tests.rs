//! Tests of the redaction of records.

#[path = "../../../../../tests/support/src/fake_keys.rs"]
mod fake_keys;
mod streamed;

use super::*;
use crate::Seq;
use fake_keys::Keys;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};
use streamed::{WAYS, Way, streamed, text_of};

/// The rules that always apply. Shared because compiling them takes longer than a test case.
static DEFAULT_RULES: LazyLock<Rules> = LazyLock::new(|| Rules::new(&[], &[]).unwrap());

fn redacted(paths: &[&str], patterns: &[&str], data: Data) -> (Data, Vec<String>) {
    let own = |texts: &[&str]| {
        texts
            .iter()
            .map(|text| text.to_string())
            .collect::<Vec<_>>()
    };
    let requested;
    let rules = match (paths, patterns) {
        ([], []) => &*DEFAULT_RULES,
        _ => {
            requested = Rules::new(&own(paths), &own(patterns)).unwrap();
            &requested
        }
    };
    let mut reported = Vec::new();
    let mut report = |r: Removal| {
        reported.push(format!(
            "{}: {} {} {}",
            rules.name(r.rule),
            r.place,
            r.bytes,
            r.head
        ))
    };
    let record = rules.apply(with_data(data), &Pieces::default(), &mut report);
    let Record::Event(event) = record else {
        unreachable!()
    };
    (event.data, reported)
}

#[test]
fn named_values_are_removed_and_the_rest_is_unchanged() {
    let data = r#"{"n": 1.50, "messages":[ {"content":"hi \u00e9 anna@x.org!","id":1},{"content":["a",{"b":2}]}],"e":"bob@y.org"}"#;
    let (left, reported) = redacted(
        &["messages[*].content"],
        &[r"\w+@\w+\.org"],
        Data::Json(data.into()),
    );
    let expected =
        r#"{"n": 1.50, "messages":[ {"content":"***","id":1},{"content":"***"}],"e":"***"}"#;
    assert_eq!(left, Data::Json(expected.into()));
    assert_eq!(
        reported,
        [
            r#"path messages[*].content: messages[0].content 23 "hi \u00e9 anna@x.org!""#,
            r#"path messages[*].content: messages[1].content 13 […"#,
            r"pattern \w+@\w+\.org: e 9 bob@y.org",
        ]
    );
    // A second pass finds nothing.
    let (again, reported) = redacted(&["messages[*].content"], &[r"\w+@\w+\.org"], left.clone());
    assert!(again == left && reported.is_empty(), "{reported:?}");
    let (left, _) = redacted(
        &["**.b"],
        &["4[0-9]{3}"],
        Data::Json(r#"[{"b":[1]},{"a":{"b":{}}},14321,{"x4999":"z4111"}]"#.into()),
    );
    assert_eq!(
        left,
        Data::Json(r#"[{"b":"***"},{"a":{"b":"***"}},"***",{"x***":"z***"}]"#.into())
    );
}

#[test]
fn keys_are_always_removed_and_never_shown() {
    let key = "lsv2_pt_0123456789abcdef0123456789abcdef_0123456789";
    let data = format!(
        r#"{{"k":"is {key}.","token":"short","n":{{"token":7}},"u":"https://me:pw@host/x","h":"Bearer abcdefghijklmnopqrstu"}}"#
    );
    let (left, reported) = redacted(&[], &[], Data::Json(data.into()));
    let expected = r#"{"k":"is ***.","token":"***","n":{"token":"***"},"u":"https://***@host/x","h":"Bearer ***"}"#;
    assert_eq!(left, Data::Json(expected.into()));
    assert!(
        reported.len() == 5 && reported.iter().all(|line| line.ends_with('…')),
        "{reported:?}"
    );
    // Keys are not shown either if a requested rule removes them.
    let all = format!(
        r#"{{"t":"see {key} and more","n":{{"password":"hunter2"}},"password":"hunter2"}}"#
    );
    let (left, reported) = redacted(
        &["t", "n", "**.password"],
        &["hunter2"],
        Data::Json(all.into()),
    );
    assert_eq!(
        left,
        Data::Json(r#"{"t":"***","n":"***","password":"***"}"#.into())
    );
    let shown = [
        "path t: t 66 \"see *** and more\"…",
        "path n: n 22 {…",
        "fields with a secret's name: password 9 …",
    ];
    assert_eq!(reported, shown);
}

#[test]
fn invalid_json_is_removed_if_there_are_path_rules() {
    let malformed = || Data::Malformed("name: anna".into());
    assert_eq!(
        redacted(&["name"], &[], malformed()).0,
        Data::Malformed("***".into())
    );
    assert_eq!(
        redacted(&[], &["anna"], malformed()).0,
        Data::Malformed("name: ***".into())
    );
    let large = Data::TooLarge {
        size: 9,
        head: "[\"anna".into(),
    };
    assert_eq!(
        redacted(&["x"], &[], large).0,
        Data::TooLarge {
            size: 9,
            head: "***".into()
        }
    );
    let deep = "[".repeat(10_000) + "\"anna\"" + &"]".repeat(10_000);
    let (Data::Json(left), reported) = redacted(&[], &["anna"], Data::Json(deep.as_str().into()))
    else {
        panic!()
    };
    assert!(left.len() == deep.len() - 1 && reported.len() == 1);
    for (path, pattern) in [("a..b", "x"), ("a", "("), ("a", "x*")] {
        assert!(
            Rules::new(&[path.into()], &[pattern.into()]).is_err(),
            "{path} {pattern}"
        );
    }
}

fn with_data(data: Data) -> Record {
    Record::Event(Event {
        seq: Seq(1),
        at: jiff::Timestamp::UNIX_EPOCH,
        conn: 1,
        replayed: false,
        name: "messages".into(),
        ns: [].into(),
        id: None,
        data,
    })
}

/// Returns an event with this name and JSON.
fn event(name: &str, json: &Value) -> Record {
    let mut record = with_data(Data::Json(json.to_string().into()));
    if let Record::Event(event) = &mut record {
        event.name = name.into();
    }
    record
}

fn data(record: &Record) -> Arc<str> {
    let Record::Event(Event {
        data: Data::Json(data),
        ..
    }) = record
    else {
        panic!("no event with JSON")
    };
    data.clone()
}

/// Redacts a recording that has only these events.
fn all_redacted(rules: &Rules, events: &[Record], max_size: usize) -> Vec<Arc<str>> {
    let mut joined = Joined::with_limit(rules, max_size);
    (0..)
        .zip(events)
        .for_each(|(number, event)| joined.read(number, event));
    let found = joined.finish();
    let left = (0..)
        .zip(events)
        .map(|(number, event)| data(&rules.apply(event.clone(), found.of(number), &mut |_| {})));
    left.collect()
}

fn clean(json: &str) -> String {
    let (Data::Json(left), _) = redacted(&[], &[], Data::Json(json.into())) else {
        panic!("no JSON")
    };
    assert!(serde_json::from_str::<Value>(&left).is_ok(), "{left}");
    let (again, reported) = redacted(&[], &[], Data::Json(left.clone()));
    assert!(
        again == Data::Json(left.clone()) && reported.is_empty(),
        "{left}: {reported:?}"
    );
    left.to_string()
}

/// Collects all names and values of a JSON text, including JSON in its strings, without invisible characters.
fn decoded(text: &str, into: &mut String) {
    match serde_json::from_str::<Value>(text) {
        Ok(Value::String(text)) => decoded(&text, into),
        Ok(Value::Array(items)) => items
            .iter()
            .for_each(|item| decoded(&item.to_string(), into)),
        Ok(Value::Object(fields)) => fields.iter().for_each(|(name, value)| {
            decoded(name, into);
            decoded(&value.to_string(), into);
        }),
        _ => {
            into.extend(
                text::without_controls(&runtail_core::json::shown(text))
                    .chars()
                    .filter(|c| !text::is_invisible(*c)),
            );
            into.push('\n');
        }
    }
}

/// Returns a part of a secret that was not removed.
fn leaked<'s>(secret: &'s str, json: &str) -> Option<&'s str> {
    let mut all = json.to_string();
    decoded(json, &mut all);
    (0..secret.len().saturating_sub(7))
        .map(|at| &secret[at..at + 8])
        .find(|run| all.contains(run))
}

#[test]
fn keys_are_removed_after_any_character_and_in_json_in_json() {
    for (kind, prefix, secret) in Keys::new(1).all() {
        let key = format!("{prefix}{secret}");
        for before in [
            "", " ", "\n", "key_", "%3D", "é", "=", "x", "\\n", "\"", "a1",
        ] {
            // These kinds have no prefix that distinguishes them from preceding letters.
            if before.ends_with(|c: char| c.is_ascii_alphanumeric())
                && ["web token", "Mailchimp"].contains(&kind)
                || before.chars().all(char::is_alphanumeric) && kind == "Square token"
            {
                continue;
            }
            let text = format!("line{before}{key}\nend");
            for depth in 0..4 {
                let nested = (0..depth).fold(
                    json!({"text": text}),
                    |inner, _| json!({"args": inner.to_string(), "n": 1}),
                );
                let left = clean(&nested.to_string());
                assert_eq!(
                    leaked(&secret[..secret.find('@').unwrap_or(secret.len())], &left),
                    None,
                    "{kind} after {before:?}: {left}"
                );
                assert!(
                    left.contains("line") && left.contains("end"),
                    "{kind} after {before:?}: {left}"
                );
            }
        }
    }
}

#[test]
fn values_of_any_type_are_removed_from_fields_with_a_secret_name() {
    for (json, expected) in [
        (
            r#"{"headers":{"Authorization":"Basic dTpw","X-Api-Key": "k"}}"#,
            r#"{"headers":{"Authorization":"***","X-Api-Key": "***"}}"#,
        ),
        (
            r#"{"password": 1234598765,"passwd":["a", "b"],"token": {"value": "v"}}"#,
            r#"{"password": "***","passwd":"***","token": "***"}"#,
        ),
        (
            r#"{"secret":true,"apiKey":null,"OPENAI_API_KEY":"","pwd":false}"#,
            r#"{"secret":true,"apiKey":null,"OPENAI_API_KEY":"","pwd":false}"#,
        ),
        (
            r#"{"arguments":"{\"password\": \"hunter2\", \"n\": \"\\u00e9\"}"}"#,
            r#"{"arguments":"{\"password\": \"***\", \"n\": \"\\u00e9\"}"}"#,
        ),
        (
            r#"{"env":[{"name":"OPENAI_API_KEY","value":"v"},{"name":"MODEL","value":"gpt"}]}"#,
            r#"{"env":[{"name":"OPENAI_API_KEY","value":"***"},{"name":"MODEL","value":"gpt"}]}"#,
        ),
        (
            r#"{"headers":[["Authorization","Bearer x"],["accept","text"]]}"#,
            r#"{"headers":[["Authorization","***"],["accept","text"]]}"#,
        ),
        (r#"{"\u0061pi_key":"v"}"#, r#"{"\u0061pi_key":"***"}"#),
        // Truncated JSON, and texts that are not JSON.
        (
            r#"{"args":"{\"city\": \"x\", \"password\": \"hunt"}"#,
            r#"{"args":"{\"city\": \"x\", \"password\": \"***\""}"#,
        ),
        (
            r#"{"args":"{\"password\": [\"a\", \"hunt"}"#,
            r#"{"args":"{\"password\": \"***\""}"#,
        ),
        (
            r#"{"log":"got {'password': 'hunter2', 'n': 1}"}"#,
            r#"{"log":"got {'password': '***', 'n': 1}"}"#,
        ),
        (
            r#"{"log":"got {\\\"password\\\": \\\"hunter2\\\"} x"}"#,
            r#"{"log":"got {\\\"password\\\": \\\"***\\\"} x"}"#,
        ),
        (
            r#"{"log":"export DB_PASSWORD=hunter2; id=1"}"#,
            r#"{"log":"export DB_PASSWORD=***; id=1"}"#,
        ),
        (
            r#"{"log":"GET /x?token=abc&n=1 HTTP/1.1"}"#,
            r#"{"log":"GET /x?token=***&n=1 HTTP/1.1"}"#,
        ),
        (
            r#"{"log":"Authorization: Basic dTpw"}"#,
            r#"{"log":"Authorization: Basic ***"}"#,
        ),
        (
            r#"{"u":"https://tok@github.com/x and ssh://h/a@b"}"#,
            r#"{"u":"https://***@github.com/x and ssh://h/a@b"}"#,
        ),
    ] {
        assert_eq!(clean(json), expected);
    }
}

#[test]
fn text_without_secrets_is_unchanged() {
    for json in [
        r#"[{"usage_metadata":{"input_tokens":25,"output_tokens":7,"total_tokens":32},"max_tokens":100,"token_usage":{"a":1}}]"#,
        r#"{"tokenizer":"cl100k","eos_token":"</s>","id":"task-01a1fbb5-1743-72b0-bac9-4236eccc288a","node":"ask-human-for-an-approval"}"#,
        r#"{"a":"disk-usage-of-the-production-server risk-adjusted-returns-of-2024","b":"tools__searchCustomerDocumentsByName"}"#,
        r#"{"a":"the token is the unit: a basic understanding of key ideas, password: see below", "b" : [ 1.50 , "\u00e9\/" ] }"#,
        r#"{"url":"https://docs.example/x?a=b#c","mail":"a@b.example","code":"token = tokenizer.next()","key":"value","keys":["a"]}"#,
        r#"["HTTP bearer authentication, Bearer YOUR_TOKEN, bearer certificates; docker run -u 1000:1000 x","Bearer authentication"]"#,
        r#"["class A:\n    password: str\n    api_key: SecretStr\n    token: Optional[str]\n\nPassword: Incorrect\nsecret: ./a/b\ntoken: 12"]"#,
        r#"["http://localhost:8080/@vite/client https://[::1]:80/@x https://h/x:y@z a%2Dlong%2Dname%2Dof%2Da%2Dthing","curl -u $USER:$PASS"]"#,
        r#"["\u001b[31mred\u001b[0m and \u0007 \u200b","AAAA/EAAAabcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ+x"]"#,
        r#"{"text":"{\"a\": [1, 2], \"max_tokens\": 5}","half":"{\"city\": \"Kra","image":"data:image/png;base64,iVBORw0KGgo"}"#,
    ] {
        let (left, reported) = redacted(&[], &[], Data::Json(json.into()));
        assert_eq!(left, Data::Json(json.into()), "{reported:?}");
    }
}

#[test]
fn recorded_streams_of_real_servers_are_unchanged() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/captures");
    let mut folders = vec![std::path::PathBuf::from(folder)];
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let Ok(text) = std::fs::read_to_string(&path) else {
                continue;
            };
            let events = text.lines().filter_map(|line| line.strip_prefix("data: "));
            for json in std::iter::once(&*text).chain(events) {
                let data = match serde_json::from_str::<Value>(json) {
                    Ok(_) => Data::Json(json.into()),
                    Err(_) => Data::Malformed(json.into()),
                };
                let (left, reported) = redacted(&[], &[], data.clone());
                assert!(left == data, "{}: {reported:?}", path.display());
                count += 1;
            }
        }
    }
    assert!(count > 100, "{count}");
}

#[test]
fn a_private_key_in_a_list_of_lines_is_removed() {
    let pem = Keys::new(2).private_key();
    let lines: Vec<&str> = pem.lines().collect();
    let left = clean(&json!({"pem": lines, "after": "stays"}).to_string());
    assert_eq!(
        left,
        r#"{"pem":["***","***","***","***","***","***"],"after":"stays"}"#
    );
    let objects: Vec<Value> = lines
        .iter()
        .chain(&["stays"])
        .map(|line| json!({"type": "text", "text": line}))
        .collect();
    let left: Value =
        serde_json::from_str(&clean(&json!({"content": objects}).to_string())).unwrap();
    assert_eq!(left["content"][1], json!({"type": "text", "text": "***"}));
    assert_eq!(left["content"][6], json!({"type": "text", "text": "stays"}));
    let block = pem.replace("RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK");
    assert_eq!(
        clean(&json!([format!("a {block} b")]).to_string()),
        r#"["a *** b"]"#
    );
    assert_eq!(
        clean(&json!([format!("a {}", &block[..90])]).to_string()),
        r#"["a ***"]"#
    );
}

#[test]
fn a_secret_is_matched_as_it_is_shown() {
    let mut keys = Keys::new(6);
    let pem = keys.private_key();
    let mut all = keys.all();
    all.push(("private key", String::new(), pem));
    let rules = &*DEFAULT_RULES;
    for ((kind, prefix, secret), hides) in all.iter().zip(HIDDEN.iter().cycle()) {
        let (key, secret) = (
            format!("{prefix}{secret}"),
            &secret[..secret.find('@').unwrap_or(secret.len())],
        );
        let half = key.len() / 2;
        let spread: String = key.chars().map(|c| format!("{c}{hides}")).collect();
        // `grep --color` marks the match.
        let marked = format!(
            "\u{1b}[01;31m\u{1b}[K{}\u{1b}[m\u{1b}[K{}",
            &key[..half],
            &key[half..]
        );
        for spelled in [&spread, &marked] {
            let text = format!("it is {spelled} here");
            let left = clean(&json!({"text": text}).to_string());
            assert_eq!(leaked(secret, &left), None, "{kind}: {left}");
            assert!(
                left.contains("it is") && left.contains(MASK) && left.ends_with(" here\"}"),
                "{kind}: {left}"
            );
            let chars: Vec<String> = text.chars().map(String::from).collect();
            let pieces: Vec<&str> = chars.iter().map(String::as_str).collect();
            let events = all_redacted(rules, &streamed(Way::Tuple, "m1", &pieces), usize::MAX);
            let joined = json!(text_of(Way::Tuple, &events)).to_string();
            assert_eq!(leaked(secret, &joined), None, "{kind}: {joined}");
            assert!(joined.contains(MASK), "{kind}: {joined}");
        }
        // The title of a terminal isn't shown, but it is in the file.
        let left = clean(&json!([format!("\u{1b}]0; {key} \u{7}")]).to_string());
        assert!(
            left.contains(MASK) && !left.contains(secret),
            "{kind}: {left}"
        );
    }
}

#[test]
fn secrets_in_other_spellings_are_removed() {
    let key = Keys::new(7).letters(24);
    let with_key = |text: &str| clean(&json!([text.replace("KEY", &key)]).to_string());
    let slash = format!("{}/{}", &key[..8], &key[8..]);
    for (text, expected) in [
        (["see sk%2D", "proj%2DKEY now"].concat(), "see *** now"),
        (["?k=ghp", "%5fKEY&n=1"].concat(), "?k=***&n=1"),
        (
            ["postgres://me:", &slash, "@db:5432/x"].concat(),
            "postgres://***@db:5432/x",
        ),
        (
            "config:\n  user: me\n  password: hunter\n  port: 1".into(),
            "config:\n  user: me\n  password: ***\n  port: 1",
        ),
        ("- token: abc-def".into(), "- token: ***"),
        ("sent Bearer aBcDeFgH, then".into(), "sent Bearer ***, then"),
        ("Bearer abcdefgh".into(), "Bearer ***"),
        (
            "curl -fsSLu 'me:KEY' https://h".into(),
            "curl -fsSLu 'me:***' https://h",
        ),
        (
            "curl https://h --user me:KEY -v".into(),
            "curl https://h --user me:*** -v",
        ),
        ("os.environ[token]='KEY'".into(), "os.environ[token]='***'"),
    ] {
        assert_eq!(with_key(&text), json!([expected]).to_string());
    }
}

#[test]
fn an_oversized_event_is_redacted_as_truncated_json() {
    let large = |head: &str| Data::TooLarge {
        size: 9000,
        head: head.into(),
    };
    let (left, _) = redacted(&[], &[], large(r#"{"a":1,"password":"hunt"#));
    assert_eq!(left, large(r#"{"a":1,"password":"***""#));
    // The text may end inside an escape. Only the name beside the value shows that it is a secret.
    let whole = r#"{"a":"{\"name\":\"API_KEY\",\"value\":\"hunt\u00e9\\n"#;
    for end in whole.len() - 9..whole.len() {
        let (left, _) = redacted(&[], &[], large(&whole[..end]));
        assert!(!format!("{left:?}").contains("hunt"), "{left:?}");
    }
    let (left, _) = redacted(&[], &[], Data::Malformed("password=hunter2 x".into()));
    assert_eq!(left, Data::Malformed("password=*** x".into()));
}

#[test]
fn a_text_that_only_begins_like_json_is_searched_as_text_too() {
    // Tag characters, which are not shown, separate the letters; the text outside of the strings is not a value of the JSON.
    let hidden: String = "curl -u me:84xns7CEV8oC"
        .chars()
        .flat_map(|c| [c, '\u{e0041}'])
        .collect();
    for before in ["[\"\"\"\"", "[\"a\" ", "{\"a\": {\"b\" "] {
        let text = format!("{before}{hidden}");
        let (left, reported) = redacted(&[], &[], Data::Json(json!([text]).to_string().into()));
        let Data::Json(left) = left else {
            panic!("{left:?}")
        };
        assert_eq!(leaked("84xns7CEV8oC", &left), None, "{left}");
        assert_eq!(reported.len(), 1, "{left}");
    }
}

/// A text without secrets.
fn harmless() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z é\\\\\"\n.,{}\\[\\]-]{0,24}",
        Just("tokens".to_string()),
        Just("https://a.example/b".to_string())
    ]
}

fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        harmless().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-z]{1,6}", inner.clone()), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            inner.prop_map(|value| Value::String(value.to_string())),
        ]
    })
}

/// What the sanitizer removes, or shows as something else.
const HIDDEN: [&str; 11] = [
    "\u{200b}",
    "\u{1b}[01;31m\u{1b}[K",
    "\u{1b}]0;title\u{7}",
    "\u{1b}(B",
    "\u{9b}0m",
    "\0",
    "\u{7f}",
    "\u{202e}",
    "\u{fe0f}",
    "\u{e0041}",
    // What JSON is read into has this mark before a number.
    "\u{ffff}\u{e800}",
];

/// A document with a secret in one of many spellings, and the characters that must be removed.
fn secret() -> impl Strategy<Value = (Value, String)> {
    (any::<u64>(), 0..9_usize, harmless(), harmless()).prop_map(
        |(seed, spelling, before, after)| {
            let mut keys = Keys::new(seed);
            let mut all = keys.all();
            let (_, prefix, secret) = all.swap_remove(seed as usize % all.len());
            let secret = secret[..secret.find('@').unwrap_or(secret.len())].to_string();
            let rest = if prefix.starts_with("https") {
                "@host"
            } else {
                ""
            };
            let text = format!("{before} {prefix}{secret}{rest} {after}");
            let own = keys.letters(10);
            let name = ["apiKey", "X-Api-Key", "MY_PASSWORD", "client_secret"][seed as usize % 4];
            match spelling {
                0 => (json!({name: own}), own),
                1 => (json!({name: {"inner": [own]}}), own),
                2 => (json!({name: [1, own]}), own),
                3 => (json!({"name": name, "value": own}), own),
                4 => (json!(json!({name: own}).to_string()), own),
                5 => (json!(format!("{before} {name}={own} {after}")), own),
                6 => {
                    let hides = HIDDEN[seed as usize % HIDDEN.len()];
                    let hidden = text.chars().map(|c| format!("{c}{hides}"));
                    (json!(hidden.collect::<String>()), secret)
                }
                7 => (json!({text: 1}), secret),
                _ => (json!(text), secret),
            }
        },
    )
}

/// Returns the document with a value inserted, nested in `depth` JSON strings.
fn with(mut document: Value, value: Value, place: usize, depth: usize) -> Value {
    let value = (0..depth).fold(value, |inner, _| json!([inner.to_string()]));
    match &mut document {
        Value::Array(items) => items.insert(place % (items.len() + 1), value),
        Value::Object(fields) => drop(fields.insert("place".into(), value)),
        _ => return json!([document, value]),
    }
    document
}

/// Returns JSON with letters written as escapes.
fn escaped(json: &str, every: usize) -> String {
    let mut out = String::new();
    let (mut in_string, mut after_slash) = (false, false);
    for (at, c) in json.chars().enumerate() {
        let is_plain = in_string && !after_slash && c.is_ascii_alphanumeric();
        match every {
            1.. if is_plain && at % every == 0 && !out.ends_with('\\') => {
                out.push_str(&format!("\\u{:04x}", c as u32))
            }
            _ => out.push(c),
        }
        in_string ^= c == '"' && !after_slash;
        after_slash = c == '\\' && !after_slash;
    }
    out
}

proptest! {
    #[test]
    fn secrets_are_removed_anywhere_in_a_document(
        document in document(), (value, secret) in secret(), place in 0..8_usize, depth in 0..4_usize,
    ) {
        let json = with(document, value, place, depth).to_string();
        let left = clean(&json);
        prop_assert_eq!(leaked(&secret, &left), None, "{} became {}", json, left);
    }

    #[test]
    fn secrets_are_removed_with_any_escapes(
        document in document(), (value, secret) in secret(), every in 1..4_usize,
    ) {
        let json = escaped(&with(document, value, 0, 0).to_string(), every);
        prop_assume!(serde_json::from_str::<Value>(&json).is_ok());
        let left = clean(&json);
        prop_assert_eq!(leaked(&secret, &left), None, "{} became {}", json, left);
    }

    #[test]
    fn a_document_without_secrets_is_unchanged(document in document(), spaces in any::<bool>()) {
        let json = if spaces { serde_json::to_string_pretty(&document).unwrap() } else { document.to_string() };
        let (left, reported) = redacted(&[], &[], Data::Json(json.as_str().into()));
        prop_assert_eq!(left, Data::Json(json.as_str().into()), "{:?}", reported);
    }

    #[test]
    fn secrets_are_removed_from_chunks_of_any_size(
        (value, secret) in secret(), way in 0..WAYS.len(), sizes in prop::collection::vec(1..6_usize, 1..8), before in harmless(),
    ) {
        let text = match &value {
            Value::String(text) => format!("{before}{text}"),
            other => other.to_string(),
        };
        let letters: Vec<char> = text.chars().collect();
        let (mut pieces, mut at) = (Vec::new(), 0);
        for size in sizes.iter().cycle() {
            if at >= letters.len() {
                break;
            }
            pieces.push(letters[at..letters.len().min(at + size)].iter().collect::<String>());
            at += size;
        }
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        let rules = &*DEFAULT_RULES;
        let events = streamed(WAYS[way], "m1", &pieces);
        let left = all_redacted(rules, &events, usize::MAX);
        let joined = text_of(WAYS[way], &left);
        for data in left.iter().map(|data| data.to_string()).chain([json!(joined).to_string()]) {
            prop_assert_eq!(leaked(&secret, &data), None, "{:?} left {}", WAYS[way], data);
        }
        // A second pass finds nothing.
        let again: Vec<Record> = left.iter().zip(&events).map(|(data, event)| match event.clone() {
            Record::Event(event) => Record::Event(Event { data: Data::Json(data.clone()), ..event }),
            other => other,
        }).collect();
        prop_assert_eq!(all_redacted(rules, &again, usize::MAX), left);
    }

    #[test]
    fn chunks_without_secrets_are_unchanged(texts in prop::collection::vec(harmless(), 1..8), way in 0..WAYS.len()) {
        let pieces: Vec<&str> = texts.iter().map(String::as_str).collect();
        let events = streamed(WAYS[way], "m1", &pieces);
        let left = all_redacted(&DEFAULT_RULES, &events, usize::MAX);
        prop_assert_eq!(left, events.iter().map(data).collect::<Vec<_>>());
    }
}
