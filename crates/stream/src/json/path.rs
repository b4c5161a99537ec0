//! JSON paths such as `messages[-1].tool_calls[].name`, `a["b c"]` and `*.status`.

use super::index::{JsonIndex, Kind};
use runtail_core::json::{self, Peek};

/// Maximum number of values that a path selects in an event, so that `[]` on a list of a million stays fast.
const MAX_SELECTED: usize = 10_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    steps: Vec<Step>,
}

/// The step of a path that selects nothing.
pub struct MissingStep<'a> {
    /// Its number, from 0.
    pub depth: usize,
    /// The values that were selected before it.
    pub within: Vec<Peek<'a>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Key(String),
    /// Counted from the end if it is negative.
    Index(i64),
    /// All members of a list, all values of an object.
    Any,
}

impl Path {
    /// Parses a path; `None` if the text is not a path.
    pub fn parse(text: &str) -> Option<Path> {
        let mut steps = Vec::new();
        let mut rest = text.strip_prefix('$').unwrap_or(text);
        rest = rest.strip_prefix('.').unwrap_or(rest);
        while !rest.is_empty() {
            if let Some(inner) = rest.strip_prefix('[') {
                let (step, after) = match inner.strip_prefix('"') {
                    Some(quoted) => {
                        let (key, after) = quoted.split_once('"')?;
                        (Step::Key(key.to_string()), after.strip_prefix(']')?)
                    }
                    None => {
                        let (index, after) = inner.split_once(']')?;
                        let any = matches!(index, "" | "*");
                        (
                            if any {
                                Step::Any
                            } else {
                                Step::Index(index.trim().parse().ok()?)
                            },
                            after,
                        )
                    }
                };
                steps.push(step);
                rest = after;
            } else {
                let end = rest.find(['.', '[']).unwrap_or(rest.len());
                let key = &rest[..end];
                if key.is_empty() {
                    return None;
                }
                steps.push(if key == "*" {
                    Step::Any
                } else {
                    Step::Key(key.to_string())
                });
                rest = &rest[end..];
            }
            if let Some(after) = rest.strip_prefix('.') {
                if after.is_empty() || after.starts_with('[') {
                    return None;
                }
                rest = after;
            }
        }
        (!steps.is_empty()).then_some(Path { steps })
    }

    /// Returns whether it selects one value at most: it has no `*` and no `[]`.
    pub fn is_single(&self) -> bool {
        !self.steps.contains(&Step::Any)
    }

    /// Returns whether it selects a node of a document, starting at the root or, if `from_anywhere`, at any value.
    pub fn selects(&self, doc: &JsonIndex, node: u32, from_anywhere: bool) -> bool {
        let mut at = node;
        for step in self.steps.iter().rev() {
            match doc.parent(at) {
                Some(parent) if step.selects(doc, parent, at) => at = parent,
                _ => return false,
            }
        }
        from_anywhere || doc.parent(at).is_none()
    }

    /// Returns the raw values that it selects.
    pub(crate) fn find<'a>(&self, root: Peek<'a>) -> Vec<Peek<'a>> {
        self.walk(root).unwrap_or_default()
    }

    /// Returns the raw values that it selects, at least one.
    ///
    /// # Errors
    /// The first step that selects nothing.
    pub fn walk<'a>(&self, root: Peek<'a>) -> Result<Vec<Peek<'a>>, MissingStep<'a>> {
        let mut at = vec![root];
        for (depth, step) in self.steps.iter().enumerate() {
            let mut next = Vec::new();
            for raw in &at {
                step.select(*raw, &mut next);
                if next.len() >= MAX_SELECTED {
                    break;
                }
            }
            if next.is_empty() {
                return Err(MissingStep { depth, within: at });
            }
            at = next;
        }
        Ok(at)
    }

    /// Returns the key of a step; none for one that is an index or selects all.
    pub fn key(&self, depth: usize) -> Option<&str> {
        match self.steps.get(depth)? {
            Step::Key(key) => Some(key),
            Step::Index(_) | Step::Any => None,
        }
    }

    /// Returns false only if it selects nothing in a text, because one of its keys doesn't occur there.
    pub(crate) fn may_be_in(&self, text: &str) -> bool {
        self.steps.iter().all(|step| match step {
            Step::Key(key) if key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') => {
                memchr::memmem::find(text.as_bytes(), key.as_bytes()).is_some()
            }
            _ => true,
        })
    }
}

impl Step {
    /// Returns whether it selects this member of a container.
    fn selects(&self, doc: &JsonIndex, parent: u32, member: u32) -> bool {
        match self {
            Step::Key(key) => doc
                .key(member)
                .is_some_and(|raw| json::decoded(raw) == **key),
            Step::Index(index) => {
                let from = if *index < 0 {
                    i64::from(doc.children_count(parent))
                } else {
                    0
                };
                doc.kind(parent) == Kind::Array
                    && index.checked_add(from) == Some(doc.index(member).into())
            }
            Step::Any => true,
        }
    }

    /// Adds the members of a value that it selects.
    fn select<'a>(&self, raw: Peek<'a>, into: &mut Vec<Peek<'a>>) {
        let is_list = raw.is_list();
        match self {
            Step::Key(key) if !is_list => {
                into.extend(raw.get(key));
            }
            Step::Index(index) if is_list => {
                let from_end = || {
                    let count = raw.items().count();
                    count.checked_sub(usize::try_from(index.unsigned_abs()).ok()?)
                };
                let at = if *index < 0 {
                    from_end()
                } else {
                    usize::try_from(*index).ok()
                };
                into.extend(at.and_then(|at| raw.items().nth(at)));
            }
            Step::Any if is_list => into.extend(raw.items()),
            Step::Any => into.extend(raw.fields().map(|(_, value)| value)),
            Step::Key(_) | Step::Index(_) => {}
        }
        into.truncate(MAX_SELECTED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_select_existing_values() {
        let text = r#"{"a":{"b c":[{"n":1},{"n":[2,3]}]},"x":null,"caf\u00e9":"y"}"#;
        let root: Peek<'_> = serde_json::from_str(text).unwrap();
        let at = |path: &str| -> Vec<&str> {
            let path = Path::parse(path).unwrap_or_else(|| panic!("{path}"));
            assert!(path.find(root).is_empty() || path.may_be_in(text));
            path.find(root).into_iter().map(Peek::text).collect()
        };
        assert_eq!(at(r#"a["b c"][0].n"#), ["1"]);
        assert_eq!(at(r#"$.a["b c"][-1].n[]"#), ["2", "3"]);
        assert_eq!(at(r#"a.*[*].n"#), ["1", "[2,3]"]);
        assert_eq!(at("x"), ["null"]);
        assert_eq!(at(".café"), ["\"y\""]);
        for missing in [
            "b",
            "a[0]",
            "x.y",
            r#"a["b c"][2]"#,
            r#"a["b c"][-3]"#,
            "x[-9223372036854775808]",
        ] {
            assert!(at(missing).is_empty(), "{missing}");
        }
        for invalid in [
            "", "$", ".", "a.", "a..b", "[", "[x]", "a[\"b", "a[\"b\"", "a.[0]",
        ] {
            assert_eq!(Path::parse(invalid), None, "{invalid}");
        }
    }

    #[test]
    fn documents_and_raw_values_select_the_same() {
        let text = r#"{"a":{"b c":[{"n":1},{"n":[2,3]}]},"x":null,"caf\u00e9":{"n":"y"}}"#;
        let doc = JsonIndex::new(std::sync::Arc::<str>::from(text));
        let root: Peek<'_> = serde_json::from_str(text).unwrap();
        for path in [
            r#"a["b c"][0].n"#,
            "a.*[-1].n[]",
            "x",
            "café",
            "*",
            "a[0]",
            "n",
            "[0]",
            "*.n",
            "café.n",
        ] {
            let path = Path::parse(path).unwrap();
            let selected = (0..doc.len())
                .filter(|n| path.selects(&doc, *n, false))
                .map(|n| doc.value(n));
            let found: Vec<_> = path.find(root).into_iter().map(Peek::text).collect();
            assert_eq!(selected.collect::<Vec<_>>(), found, "{path:?}");
        }
        let n = Path::parse("n").unwrap();
        assert_eq!(
            (0..doc.len())
                .filter(|node| n.selects(&doc, *node, true))
                .count(),
            3
        );
    }

    #[test]
    fn deep_and_broad_json_is_searched_quickly() {
        let deep = format!("{}1{}", r#"{"a":["#.repeat(10_000), "]}".repeat(10_000));
        let root: Peek<'_> = serde_json::from_str(&deep).unwrap();
        assert_eq!(Path::parse("a[0].a[0].a").unwrap().find(root).len(), 1);
        let broad = format!("[{}0]", "0,".repeat(50_000));
        let root: Peek<'_> = serde_json::from_str(&broad).unwrap();
        assert_eq!(Path::parse("[]").unwrap().find(root).len(), MAX_SELECTED);
    }
}
