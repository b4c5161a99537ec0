//! Reads single fields of a JSON text without parsing the rest. Skips other values without validating them, handles
//! truncated text, and doesn't recurse.

use super::{from_str, token_end, unescaped};
use crate::text::parts::head;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Error, Value};
use std::borrow::Cow;
use std::fmt;

/// The text of a JSON value, possibly truncated.
#[derive(Clone, Copy, PartialEq)]
pub struct Peek<'a> {
    text: &'a str,
    whole: bool,
}

/// The fields of an object in order, duplicates included.
#[derive(Debug, Clone, Default)]
pub struct Fields<'a>(pub Vec<(Cow<'a, str>, Peek<'a>)>);

/// Omits the text, which may have 50 MB.
impl fmt::Debug for Peek<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Peek({})", head(self.text, 80))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Peek<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&'de RawValue>::deserialize(deserializer).map(Peek::from)
    }
}

impl<'a> From<&'a RawValue> for Peek<'a> {
    fn from(raw: &'a RawValue) -> Peek<'a> {
        Peek {
            text: raw.get(),
            whole: true,
        }
    }
}

impl<'a> Fields<'a> {
    /// Reads an object.
    ///
    /// # Errors
    /// The text is no JSON object.
    pub fn read(json: &'a str) -> serde_json::Result<Fields<'a>> {
        let fields = from_str::<Peek<'a>>(json)?.object();
        fields.ok_or_else(|| Error::custom("not a JSON object"))
    }

    /// Returns the field with this name: of several, the last.
    pub fn find(&self, name: &str) -> Option<Peek<'a>> {
        let field = self.0.iter().rfind(|(key, _)| key == name);
        field.map(|(_, value)| *value)
    }

    /// Returns the field with this name, unless it is null.
    pub fn get(&self, name: &str) -> Option<Peek<'a>> {
        self.find(name).filter(|value| !value.is_null())
    }

    /// Returns a field as a type; `None` if it has another.
    pub fn read_as<T: Deserialize<'a>>(&self, name: &str) -> Option<T> {
        self.get(name)?.read()
    }

    /// Returns the text of a field.
    pub fn text(&self, name: &str) -> Option<String> {
        self.get(name)?.string().map(Cow::into_owned)
    }

    /// Returns the fields with another value of one, which comes last.
    pub fn with<'b>(self, name: &'b str, value: Peek<'b>) -> Fields<'b>
    where
        'a: 'b,
    {
        let mut fields: Vec<(Cow<'b, str>, Peek<'b>)> = self.0;
        fields.retain(|(key, _)| key != name);
        fields.push((name.into(), value));
        Fields(fields)
    }

    /// Writes the object with the values that a function returns; a field without one is left out.
    pub fn rewritten(&self, value: impl Fn(&str, Peek<'a>) -> Option<Cow<'a, str>>) -> String {
        let written = self.0.iter().filter_map(|(key, old)| {
            Some(format!("{}:{}", Value::from(&**key), value(key, *old)?))
        });
        format!("{{{}}}", written.collect::<Vec<_>>().join(","))
    }

    /// Returns the fields of an object in a field; none of another value.
    pub fn inner(&self, name: &str) -> Fields<'a> {
        self.get(name).and_then(Peek::object).unwrap_or_default()
    }

    /// Returns the members of a list in a field; none of another value.
    pub fn items(&self, name: &str) -> impl Iterator<Item = Peek<'a>> + use<'a> {
        self.get(name).into_iter().flat_map(Peek::items)
    }
}

/// Writes the object with its values as they were received.
impl fmt::Display for Fields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rewritten(|_, value| Some(value.text().into())))
    }
}

impl<'a> Peek<'a> {
    /// Returns the value that is all of a text.
    pub fn of(text: &'a str) -> Peek<'a> {
        Peek::head(text, usize::MAX)
    }

    /// Returns the value at the start of a text, limited to `max` bytes.
    pub fn head(text: &'a str, max: usize) -> Peek<'a> {
        let head = head(text, max);
        Peek {
            text: head.trim_matches(is_space),
            whole: head.len() == text.len(),
        }
    }

    /// Marks the value as truncated.
    pub fn cut(self) -> Peek<'a> {
        Peek {
            whole: false,
            ..self
        }
    }

    /// Returns the text, as received.
    pub fn text(self) -> &'a str {
        self.text
    }

    /// Returns whether the value is not truncated.
    pub fn is_whole(self) -> bool {
        self.whole
    }

    /// Reads the value as a type.
    pub fn read<T: Deserialize<'a>>(self) -> Option<T> {
        from_str(self.text).ok()
    }

    /// Returns the fields of an object, to look up several; `None` for other values.
    pub fn object(self) -> Option<Fields<'a>> {
        self.is_object().then(|| Fields(self.fields().collect()))
    }

    /// Returns whether it is `null`.
    pub fn is_null(self) -> bool {
        self.text == "null"
    }

    /// Returns whether it is an object.
    pub fn is_object(self) -> bool {
        self.text.starts_with('{')
    }

    /// Returns whether it is a list.
    pub fn is_list(self) -> bool {
        self.text.starts_with('[')
    }

    /// Returns the decoded text of a string, as far as it is present; `None` for other values.
    pub fn string(self) -> Option<Cow<'a, str>> {
        let inner = self.text.strip_prefix('"')?;
        let inner = if self.whole {
            inner.strip_suffix('"').unwrap_or(inner)
        } else {
            inner
        };
        Some(unescaped(inner))
    }

    /// Returns the value of a number; `None` if it is truncated.
    pub fn number(self) -> Option<f64> {
        self.text.parse().ok().filter(|_| self.whole)
    }

    /// Returns whether it is a string with this text.
    pub fn is(self, word: &str) -> bool {
        self.string().as_deref() == Some(word)
    }

    /// Returns the field with this name: of several, the last.
    pub fn get(self, name: &str) -> Option<Peek<'a>> {
        self.fields()
            .filter(|(key, _)| key == name)
            .last()
            .map(|(_, value)| value)
    }

    /// Returns several fields in one pass.
    pub fn pick<const N: usize>(self, names: [&str; N]) -> [Option<Peek<'a>>; N] {
        let mut found = [None; N];
        for (key, value) in self.fields() {
            keep(&mut found, &names, &key, value);
        }
        found
    }

    /// Returns several fields, and several of the object in the field `of`, in one pass.
    pub fn pick_within<const N: usize, const M: usize>(
        self,
        names: [&str; N],
        of: &str,
        inner_names: [&str; M],
    ) -> ([Option<Peek<'a>>; N], [Option<Peek<'a>>; M]) {
        let (mut found, mut inner) = ([None; N], [None; M]);
        let mut scan = Scan::inside(self, b'{');
        while let Some(key) = scan.next_key() {
            if key != of {
                let Some(value) = scan.next_value() else {
                    break;
                };
                keep(&mut found, &names, &key, value);
                continue;
            }
            let is_object = scan.enter();
            if !is_object && scan.next_value().is_none() {
                break;
            }
            inner = [None; M];
            if !is_object {
                continue;
            }
            while let Some((key, value)) = scan.next_field() {
                keep(&mut inner, &inner_names, &key, value);
            }
            if !matches!(scan.next_byte(), Some(b'}' | b']')) {
                break;
            }
            scan.at += 1;
        }
        (found, inner)
    }

    /// Returns the fields of an object in order; none for other values.
    pub fn fields(self) -> impl Iterator<Item = (Cow<'a, str>, Peek<'a>)> {
        let mut rest = Scan::inside(self, b'{');
        std::iter::from_fn(move || rest.next_field())
    }

    /// Returns the members of a list; none for other values.
    pub fn items(self) -> impl Iterator<Item = Peek<'a>> {
        let mut rest = Scan::inside(self, b'[');
        std::iter::from_fn(move || rest.next_value())
    }
}

/// Keeps the value of a field if it has one of these names.
fn keep<'a>(found: &mut [Option<Peek<'a>>], names: &[&str], key: &str, value: Peek<'a>) {
    if let Some(i) = names.iter().position(|name| *name == key) {
        found[i] = Some(value);
    }
}

/// A position in the text of an object or a list.
struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    fn inside(of: Peek<'a>, opening: u8) -> Scan<'a> {
        let is_container = of.text.as_bytes().first() == Some(&opening);
        Scan {
            text: if is_container { of.text } else { "" },
            at: 1,
        }
    }

    fn next_field(&mut self) -> Option<(Cow<'a, str>, Peek<'a>)> {
        Some((self.next_key()?, self.next_value()?))
    }

    fn next_key(&mut self) -> Option<Cow<'a, str>> {
        self.next_value().filter(|key| key.whole)?.string()
    }

    /// Returns the first byte of the next value, or of the end of the container.
    fn next_byte(&mut self) -> Option<u8> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let is_token = |b: &u8| !b.is_ascii_whitespace() && !matches!(b, b',' | b':');
        self.at += rest.iter().position(is_token)?;
        Some(self.text.as_bytes()[self.at])
    }

    /// Continues inside the next value, if it is an object.
    fn enter(&mut self) -> bool {
        let is_object = self.next_byte() == Some(b'{');
        self.at += usize::from(is_object);
        is_object
    }

    /// Returns the next value. Separators are skipped without validation.
    fn next_value(&mut self) -> Option<Peek<'a>> {
        if matches!(self.next_byte()?, b'}' | b']') {
            return None;
        }
        let bytes = self.text.as_bytes();
        let from = self.at;
        let end = end_of_value(bytes, from);
        self.at = end.unwrap_or(bytes.len());
        Some(Peek {
            text: &self.text[from..self.at],
            whole: end.is_some(),
        })
    }
}

/// Returns the end of the value that begins at `from`; `None` if it is truncated.
fn end_of_value(json: &[u8], from: usize) -> Option<usize> {
    if !matches!(json[from], b'{' | b'[') {
        let end = token_end(json, from)?;
        // The rest of a number or a word may be missing.
        return (end < json.len() || json[from] == b'"').then_some(end);
    }
    // Of the tokens in a container, only strings and brackets matter.
    let (mut at, mut depth) = (from, 0_usize);
    loop {
        match *json.get(at)? {
            b'"' => at = token_end(json, at)?,
            b'{' | b'[' => (at, depth) = (at + 1, depth + 1),
            b'}' | b']' => (at, depth) = (at + 1, depth - 1),
            _ => at += 1,
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SAMPLE: &str = r#"{"a": [1, {"b":"}]\"é"}], "k\ney":null,"n":-1.5e3 ,"s":"Krak\u00f3w"}"#;

    #[test]
    fn fields_are_found() {
        let json = Peek::head(SAMPLE, 1000);
        let fields: Vec<_> = json
            .fields()
            .map(|(key, value)| (key.into_owned(), value.text()))
            .collect();
        let expected = [
            ("a", r#"[1, {"b":"}]\"é"}]"#),
            ("k\ney", "null"),
            ("n", "-1.5e3"),
            ("s", r#""Krak\u00f3w""#),
        ];
        assert_eq!(
            fields
                .iter()
                .map(|(key, value)| (&**key, *value))
                .collect::<Vec<_>>(),
            expected
        );
        let [a, n, none] = json.pick(["a", "n", "x"]);
        assert_eq!(
            a.unwrap().items().map(Peek::text).collect::<Vec<_>>(),
            ["1", r#"{"b":"}]\"é"}"#]
        );
        assert_eq!((n.unwrap().number(), none), (Some(-1500.0), None));
        assert_eq!(json.get("s").unwrap().string().as_deref(), Some("Kraków"));
        assert_eq!(
            Peek::head("[]", 9).fields().count() + Peek::head("7", 9).items().count(),
            0
        );
    }

    #[test]
    fn truncated_values_are_marked() {
        let json = Peek::head(r#"{"a":1,"b":{"c":"long text"},"d":2}"#, 20);
        let fields: Vec<_> = json.fields().collect();
        assert_eq!(
            (&*fields[1].0, fields[1].1.text(), fields[1].1.is_whole()),
            ("b", r#"{"c":"lon"#, false)
        );
        let inner = fields[1].1.get("c").unwrap();
        assert_eq!(
            (inner.string().as_deref(), inner.is_whole(), fields.len()),
            (Some("lon"), false, 2)
        );
    }

    #[test]
    fn deep_nesting_does_not_overflow_the_stack() {
        let deep = "[".repeat(100_000);
        assert_eq!(Peek::head(&deep, usize::MAX).items().count(), 1);
        let deep = format!(
            "{{\"a\":{}{},\"b\":1}}",
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        assert_eq!(Peek::head(&deep, usize::MAX).get("b").unwrap().text(), "1");
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::btree_map(".{0,5}", inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect()))
            ]
        })
    }

    proptest! {
        #[test]
        fn agrees_with_serde(value in json(), pretty in any::<bool>()) {
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
            let peek = Peek::head(&text, usize::MAX);
            let read = |p: Peek<'_>| serde_json::from_str::<Value>(p.text()).unwrap();
            let fields: Vec<(String, Value)> = peek.fields().map(|(k, v)| (k.into_owned(), read(v))).collect();
            let expected = value.as_object().cloned().unwrap_or_default().into_iter().collect::<Vec<_>>();
            prop_assert_eq!(fields, expected);
            let items: Vec<Value> = peek.items().map(read).collect();
            prop_assert_eq!(items, value.as_array().cloned().unwrap_or_default());
        }

        #[test]
        fn fields_of_an_inner_object_are_picked_in_the_same_pass(a in json(), b in json(), is_first in any::<bool>(), max in 0usize..200) {
            let inner = format!(r#""p":{{"x":{a},"y":[{b}]}}"#);
            let text = match is_first {
                true => format!(r#"{{"p":{a}, {inner} ,"a":{b}}}"#),
                false => format!(r#"{{"a":{a},{inner},"p":{b},"b":1}}"#),
            };
            for max in [max, usize::MAX] {
                let peek = Peek::head(&text, max);
                let (outer, inner) = peek.pick_within(["a", "b"], "p", ["x", "y"]);
                prop_assert_eq!(outer, peek.pick(["a", "b"]));
                prop_assert_eq!(inner, peek.get("p").map_or([None; 2], |p| p.pick(["x", "y"])));
            }
        }

        #[test]
        fn any_text_can_be_scanned(text in "[\\[\\]{}\":,\\\\ an0é]{0,40}", max in 0usize..50) {
            let peek = Peek::head(&text, max);
            for (key, value) in peek.fields() {
                prop_assert!(key.len() <= text.len() * 3 && value.text().len() <= max);
            }
            peek.pick_within(["a"], "n", ["a"]);
            for value in peek.items() {
                let _ = (value.string(), value.number(), value.fields().count());
            }
        }
    }
}
