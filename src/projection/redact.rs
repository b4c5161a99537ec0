//! Taking out of a recording what others are not meant to see: by path, by pattern, and what looks like a key in any case.

use super::document::{Doc, Kind, unquote};
use super::path::Path;
use crate::model::MASK;
use crate::stream::{Data, Event, Record};
use crate::text;
use regex::Regex;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Fields whose texts are secrets wherever they stand.
const SECRET_FIELDS: [&str; 9] = [
    "access_token",
    "api_key",
    "authorization",
    "client_secret",
    "id_token",
    "password",
    "refresh_token",
    "token",
    "x-api-key",
];

/// What keys look like, and what they are called.
const SECRET_PATTERNS: [(&str, &str); 10] = [
    ("LangSmith keys", r"\blsv2_[a-z]{2}_[A-Za-z0-9_]{16,}"),
    ("sk- keys", r"\bsk-[A-Za-z0-9_-]{16,}"),
    ("GitHub tokens", r"\b(?:gh[opusr]|github_pat)_[A-Za-z0-9_]{16,}"),
    ("AWS key ids", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    ("Slack tokens", r"\bxox[abeprs]-[A-Za-z0-9-]{10,}"),
    ("Google keys", r"\bAIza[0-9A-Za-z_-]{35}"),
    ("JSON web tokens", r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    ("bearer tokens", r"(?i)\bbearer\s+[A-Za-z0-9._~+/=-]{16,}"),
    ("logins in addresses", r"://[^/\s:@]+:[^/\s@]+@"),
    ("private keys", r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)"),
];

/// Characters of what goes that a preview shows.
const HEAD: usize = 24;
/// Bytes of it in which keys are looked for before.
const LOOKED_AT: usize = 64 << 10;

/// What is to go.
#[derive(Debug)]
pub struct Rules {
    rules: Vec<Rule>,
    has_paths: bool,
}

#[derive(Debug)]
struct Rule {
    name: String,
    what: What,
    /// Nobody is shown what it takes out.
    is_secret: bool,
}

#[derive(Debug)]
enum What {
    /// Values by their path: from the root of an event's data, or from anywhere in it.
    Path(Path, bool),
    /// What a pattern fits, in each text by itself.
    Pattern(Regex),
}

/// Something that goes.
#[derive(Debug, Clone, PartialEq)]
pub struct Removal {
    /// The number of its rule.
    pub rule: usize,
    /// The path in the event's data, or the name of the record's own field.
    pub place: String,
    /// Bytes that go, as they are written.
    pub bytes: usize,
    /// How it begins, clean.
    pub head: String,
}

impl Rules {
    /// Those that always hold, which come first so that nobody is shown what they take out, and rules by path and pattern.
    ///
    /// # Errors
    /// In words, which of them cannot be read.
    pub fn new(paths: &[String], patterns: &[String]) -> Result<Rules, String> {
        let mut rules = Vec::new();
        for name in SECRET_FIELDS {
            let path = Path::parse(name).ok_or("a field's name is no path")?;
            rules.push(Rule { name: format!("fields {name}"), what: What::Path(path, true), is_secret: true });
        }
        for (name, pattern) in SECRET_PATTERNS {
            let pattern = Regex::new(pattern).map_err(|e| e.to_string())?;
            rules.push(Rule { name: name.into(), what: What::Pattern(pattern), is_secret: true });
        }
        for text in paths {
            let anywhere = ["**.", "$..", ".."].iter().find_map(|mark| text.strip_prefix(mark));
            let path = Path::parse(anywhere.unwrap_or(text));
            let path = path.ok_or_else(|| format!("{text} is no path such as messages[*].content or **.email"))?;
            let what = What::Path(path, anywhere.is_some());
            rules.push(Rule { name: format!("path {text}"), what, is_secret: false });
        }
        for text in patterns {
            let pattern = Regex::new(text).map_err(|e| format!("{text} is no pattern: {}", last_line(&e)))?;
            if pattern.is_match("") {
                return Err(format!("the pattern {text} fits where nothing is"));
            }
            rules.push(Rule { name: format!("pattern {text}"), what: What::Pattern(pattern), is_secret: false });
        }
        Ok(Rules { rules, has_paths: !paths.is_empty() })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// What a rule is called.
    pub fn name(&self, rule: usize) -> &str {
        self.rules.get(rule).map_or("", |rule| &rule.name)
    }

    /// A record without what goes; tells each thing that does.
    pub fn apply(&self, record: Record, told: &mut impl FnMut(Removal)) -> Record {
        let mut field = |place: &str, text: String| self.patterns(place, &text, told).unwrap_or(text);
        match record {
            Record::Tape(mut head) => {
                head.server = field("server", head.server);
                head.thread_id = head.thread_id.map(|id| field("thread_id", id));
                head.run_id = head.run_id.map(|id| field("run_id", id));
                head.modes = head.modes.into_iter().map(|mode| field("modes", mode)).collect();
                Record::Tape(head)
            }
            Record::Open { at, conn, status, resumed_after } => {
                let resumed_after = resumed_after.map(|id| field("resumed_after", id));
                Record::Open { at, conn, status, resumed_after }
            }
            Record::Close { at, conn, reason } => Record::Close { at, conn, reason: field("reason", reason) },
            Record::Gap { at, why } => Record::Gap { at, why: field("why", why) },
            Record::Run(mut run) => {
                run.run_id = field("run_id", run.run_id);
                run.status = field("status", run.status);
                run.assistant_id = run.assistant_id.map(|id| field("assistant_id", id));
                Record::Run(run)
            }
            Record::End(mut end) => {
                end.detail = end.detail.map(|detail| field("detail", detail));
                Record::End(end)
            }
            Record::Event(event) => Record::Event(self.event(event, told)),
        }
    }

    fn event(&self, mut event: Event, told: &mut impl FnMut(Removal)) -> Event {
        if let Some(name) = self.patterns("event", &event.name, told) {
            event.name = name.into();
        }
        if let Some(id) = event.id.as_deref().and_then(|id| self.patterns("id", id, told)) {
            event.id = Some(id.into());
        }
        for n in 0..event.ns.len() {
            if let Some(segment) = self.patterns("ns", &event.ns[n], told) {
                let others = event.ns.iter().enumerate();
                event.ns =
                    others.map(|(at, own)| if at == n { segment.as_str().into() } else { own.clone() }).collect();
            }
        }
        event.data = match event.data {
            Data::Json(data) => Data::Json(self.json(&data, told).map_or(data, Into::into)),
            Data::Malformed(data) => Data::Malformed(self.odd(&data, told).map_or(data, Into::into)),
            Data::TooLarge { size, head } => {
                let head = self.odd(&head, told).map_or(head, Into::into);
                Data::TooLarge { size, head }
            }
        };
        event
    }

    /// JSON without what goes; nothing where nothing does.
    fn json(&self, data: &Arc<str>, told: &mut impl FnMut(Removal)) -> Option<String> {
        let doc = Doc::new(data.clone());
        let mut cuts: Vec<(Range<usize>, String)> = Vec::new();
        let mut node = 0;
        while node < doc.len() {
            if let Some((range, key)) = doc.key_range(node).zip(doc.key(node))
                && let Some(key) = self.patterns("a key", &unquote(key), told)
            {
                cuts.push((range, quoted(&key)));
            }
            let raw = doc.value(node);
            if let Some(rule) = self.path_to(&doc, node) {
                cuts.push((doc.range(node), quoted(MASK)));
                told(self.removal(rule, doc.path(node), raw));
                node = doc.after(node);
                continue;
            }
            let left = match doc.kind(node) {
                Kind::Text => self.patterns_at(|| doc.path(node), &unquote(raw), told),
                // A part of a number would be another number.
                Kind::Other => self.patterns_at(|| doc.path(node), raw, told).map(|_| MASK.to_string()),
                Kind::Object | Kind::Array => None,
            };
            cuts.extend(left.map(|left| (doc.range(node), quoted(&left))));
            node += 1;
        }
        if cuts.is_empty() {
            return None;
        }
        let mut out = String::with_capacity(data.len());
        let mut from = 0;
        for (range, left) in cuts {
            out.push_str(data.get(from..range.start).unwrap_or_default());
            out.push_str(&left);
            from = range.end;
        }
        out.push_str(data.get(from..).unwrap_or_default());
        Some(out)
    }

    /// What is no JSON has no paths: where there are rules by path all of it goes.
    fn odd(&self, data: &str, told: &mut impl FnMut(Removal)) -> Option<String> {
        if self.has_paths && !data.is_empty() && data != MASK {
            told(self.removal(0, "all of it (it is no JSON)".into(), data));
            return Some(MASK.into());
        }
        self.patterns("data", data, told)
    }

    /// The rule by which a value goes. What was taken out already is none.
    fn path_to(&self, doc: &Doc, node: u32) -> Option<usize> {
        let is_text = doc.kind(node) == Kind::Text;
        let leads = |rule: &Rule| match &rule.what {
            What::Path(path, anywhere) => (is_text || !rule.is_secret) && path.leads_to(doc, node, *anywhere),
            What::Pattern(_) => false,
        };
        let rule = self.rules.iter().position(leads)?;
        let raw = doc.value(node);
        let is_gone = is_text && raw.get(1..raw.len().saturating_sub(1)) == Some(MASK);
        (!is_gone && raw != "null" && raw != r#""""#).then_some(rule)
    }

    /// A text without what the patterns fit; nothing where none does.
    fn patterns(&self, place: &str, text: &str, told: &mut impl FnMut(Removal)) -> Option<String> {
        self.patterns_at(|| place.to_string(), text, told)
    }

    fn patterns_at(&self, place: impl Fn() -> String, text: &str, told: &mut impl FnMut(Removal)) -> Option<String> {
        let mut left: Option<String> = None;
        for (number, rule) in self.rules.iter().enumerate() {
            let What::Pattern(pattern) = &rule.what else { continue };
            let before = left.as_deref().unwrap_or(text);
            if !pattern.is_match(before) {
                continue;
            }
            let after = pattern.replace_all(before, |found: &regex::Captures<'_>| {
                if &found[0] != MASK {
                    told(self.removal(number, place(), &found[0]));
                }
                MASK
            });
            left = Some(after.into_owned());
        }
        left.filter(|left| left != text)
    }

    fn removal(&self, rule: usize, place: String, gone: &str) -> Removal {
        let is_secret = self.rules.get(rule).is_none_or(|rule| rule.is_secret);
        let gone_of = text::head(gone, LOOKED_AT);
        let shown = match gone_of.chars().next() {
            _ if is_secret => String::new(),
            // What is in it may have names that say more than its text.
            Some('{') => "{".into(),
            Some('[') => "[".into(),
            _ => {
                let is_secret = |rule: &&Rule| rule.is_secret;
                let patterns = self.rules.iter().filter(is_secret).filter_map(|rule| match &rule.what {
                    What::Pattern(pattern) => Some(pattern),
                    What::Path(..) => None,
                });
                let open = patterns.fold(gone_of.to_string(), |text, pattern| match pattern.replace_all(&text, MASK) {
                    Cow::Borrowed(_) => text,
                    Cow::Owned(masked) => masked,
                });
                open.chars().take(HEAD).collect()
            }
        };
        let more = if shown.len() < gone.len() { "…" } else { "" };
        Removal {
            rule,
            place: text::clean(&place).into_owned(),
            bytes: gone.len(),
            head: text::clean(&shown).into_owned() + more,
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// What a pattern's error says in the end: before it stands the pattern with marks below it.
fn last_line(error: &regex::Error) -> String {
    error.to_string().lines().last().unwrap_or_default().trim().trim_start_matches("error: ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(paths: &[&str], patterns: &[&str], data: Data) -> (Data, Vec<String>) {
        let own = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
        let rules = Rules::new(&own(paths), &own(patterns)).unwrap();
        let at = jiff::Timestamp::UNIX_EPOCH;
        let event = Event { seq: 1, at, conn: 1, replayed: false, name: "x".into(), ns: [].into(), id: None, data };
        let mut told = Vec::new();
        let mut tell = |r: Removal| told.push(format!("{}: {} {} {}", rules.name(r.rule), r.place, r.bytes, r.head));
        let Record::Event(event) = rules.apply(Record::Event(event), &mut tell) else { unreachable!() };
        (event.data, told)
    }

    #[test]
    fn what_is_named_goes_and_the_rest_stays_to_the_letter() {
        let data = r#"{"n": 1.50, "messages":[ {"content":"hi \u00e9 anna@x.org!","id":1},{"content":["a",{"b":2}]}],"e":"bob@y.org"}"#;
        let (left, told) = redacted(&["messages[*].content"], &[r"\w+@\w+\.org"], Data::Json(data.into()));
        let expected = r#"{"n": 1.50, "messages":[ {"content":"***","id":1},{"content":"***"}],"e":"***"}"#;
        assert_eq!(left, Data::Json(expected.into()));
        assert_eq!(
            told,
            [
                r#"path messages[*].content: messages[0].content 23 "hi \u00e9 anna@x.org!""#,
                r#"path messages[*].content: messages[1].content 13 […"#,
                r"pattern \w+@\w+\.org: e 9 bob@y.org",
            ]
        );
        // Once is enough.
        let (again, told) = redacted(&["messages[*].content"], &[r"\w+@\w+\.org"], left.clone());
        assert!(again == left && told.is_empty(), "{told:?}");
        let (left, _) = redacted(
            &["**.b"],
            &["4[0-9]{3}"],
            Data::Json(r#"[{"b":[1]},{"a":{"b":{}}},14321,{"x4999":"z4111"}]"#.into()),
        );
        assert_eq!(left, Data::Json(r#"[{"b":"***"},{"a":{"b":"***"}},"***",{"x***":"z***"}]"#.into()));
    }

    #[test]
    fn keys_go_unasked_and_are_not_shown() {
        let key = "lsv2_pt_0123456789abcdef0123456789abcdef_0123456789";
        let data = format!(
            r#"{{"k":"is {key}.","token":"short","n":{{"token":7}},"u":"https://me:pw@host/x","h":"Bearer abcdefghijklmnopqrstu"}}"#
        );
        let (left, told) = redacted(&[], &[], Data::Json(data.into()));
        let expected = r#"{"k":"is ***.","token":"***","n":{"token":7},"u":"https***host/x","h":"***"}"#;
        assert_eq!(left, Data::Json(expected.into()));
        assert!(told.len() == 4 && told.iter().all(|line| line.ends_with('…')), "{told:?}");
        // Nor where a rule of the person's own takes them out.
        let all = format!(r#"{{"t":"see {key} and more","n":{{"password":"hunter2"}},"password":"hunter2"}}"#);
        let (left, told) = redacted(&["t", "n", "**.password"], &["hunter2"], Data::Json(all.into()));
        assert_eq!(left, Data::Json(r#"{"t":"***","n":"***","password":"***"}"#.into()));
        let shown = ["path t: t 66 \"see *** and more\"…", "path n: n 22 {…", "fields password: password 9 …"];
        assert_eq!(told, shown);
    }

    #[test]
    fn what_is_no_json_goes_where_paths_could_not_find_anything() {
        let odd = || Data::Malformed("name: anna".into());
        assert_eq!(redacted(&["name"], &[], odd()).0, Data::Malformed("***".into()));
        assert_eq!(redacted(&[], &["anna"], odd()).0, Data::Malformed("name: ***".into()));
        let large = Data::TooLarge { size: 9, head: "[\"anna".into() };
        assert_eq!(redacted(&["x"], &[], large).0, Data::TooLarge { size: 9, head: "***".into() });
        let deep = "[".repeat(10_000) + "\"anna\"" + &"]".repeat(10_000);
        let (Data::Json(left), told) = redacted(&[], &["anna"], Data::Json(deep.as_str().into())) else { panic!() };
        assert!(left.len() == deep.len() - 1 && told.len() == 1);
        for (path, pattern) in [("a..b", "x"), ("a", "("), ("a", "x*")] {
            assert!(Rules::new(&[path.into()], &[pattern.into()]).is_err(), "{path} {pattern}");
        }
    }
}
