//! The payloads of an agent server's events, each declared once, with what servers do differently. They are borrowed from the
//! event's text, hold only the fields that are used, and forgive what is odd: a field of another type counts as missing.
//!
//! An event's payload is parsed at most once, when the first projection needs it ([`Parsed`]). Messages have their own forms
//! (`projection/pair.rs`, `projection/blocks.rs`), because most events are tokens.

use crate::bounded;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::cell::OnceCell;

/// The parsed payload of one event.
#[derive(Default)]
pub(crate) struct Parsed<'a> {
    pub metadata: OnceCell<Option<Metadata<'a>>>,
    pub task: OnceCell<Option<Task<'a>>>,
    pub debug: OnceCell<Option<Debug<'a>>>,
    pub checkpoint: OnceCell<Option<Checkpoint<'a>>>,
    pub state_update: OnceCell<Option<StateUpdate<'a>>>,
    pub phase: OnceCell<Option<Phase<'a>>>,
}

/// `metadata`: a run began, or, on a thread's stream of the Python server, ended (`{"status": "run_done"}`). JavaScript names no
/// attempt.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Metadata<'a> {
    #[serde(borrow)]
    pub run_id: Text<'a>,
    #[serde(borrow)]
    pub status: Text<'a>,
    pub attempt: Number,
}

impl Metadata<'_> {
    /// The number of the attempt, from 1.
    pub fn attempt(&self) -> u64 {
        self.attempt.0.and_then(|n| u64::try_from(n).ok()).unwrap_or(1).max(1)
    }

    /// Whether the run is over.
    pub fn is_done(&self) -> bool {
        self.status.is("run_done")
    }
}

/// `tasks`, and the payload of `debug` with the types `task` and `task_result`: a node was started or has ended. Only a start
/// has `triggers`, only an end `result`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Task<'a> {
    #[serde(borrow)]
    pub id: Text<'a>,
    #[serde(borrow)]
    pub name: Text<'a>,
    #[serde(borrow)]
    pub triggers: Option<&'a RawValue>,
    #[serde(borrow)]
    pub result: Option<&'a RawValue>,
    /// Every task that is done has one, mostly null.
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub interrupts: Option<&'a RawValue>,
}

/// `debug`: the type (`task`, `task_result`, `checkpoint`), the step, the server's time and the payload of that type.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Debug<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    pub step: Number,
    #[serde(borrow)]
    pub timestamp: Text<'a>,
    #[serde(borrow)]
    pub payload: Option<&'a RawValue>,
}

/// `checkpoints`, the payload of `debug` with the type `checkpoint`, and the state in a `state_update`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Checkpoint<'a> {
    /// JavaScript's short form has the step here.
    step: Number,
    metadata: Option<CheckpointMetadata>,
    #[serde(borrow)]
    pub values: Option<&'a RawValue>,
    #[serde(borrow)]
    pub next: Option<&'a RawValue>,
    /// Python tells the ids of the tasks that are next.
    #[serde(borrow)]
    pub tasks: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
struct CheckpointMetadata {
    #[serde(default)]
    step: Number,
}

impl Checkpoint<'_> {
    /// The number of the step that is over.
    pub fn step(&self) -> Option<i64> {
        self.metadata.as_ref().and_then(|metadata| metadata.step.0).or(self.step.0)
    }
}

/// `state_update` on a thread's stream: the state after an edit or a run.
#[derive(Debug, Deserialize)]
pub(crate) struct StateUpdate<'a> {
    #[serde(borrow)]
    pub state: &'a RawValue,
}

/// The second dialect's `lifecycle` and `tools`: the life of a graph, and of tools.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Phase<'a> {
    #[serde(borrow)]
    pub event: Text<'a>,
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub tool_call_id: Text<'a>,
    #[serde(borrow)]
    pub tool_name: Text<'a>,
}

/// A name, an id or another word, or nothing where there is something else. It is bounded, since it may be kept.
///
/// Half a surrogate pair, which JavaScript servers send when they cut an emoji in two, costs one character and not the event.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Text<'a>(pub Option<Cow<'a, str>>);

impl Text<'_> {
    pub fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    pub fn is(&self, other: &str) -> bool {
        self.0.as_deref() == Some(other)
    }

    /// The text, where it is not empty.
    pub fn some(&self) -> Option<&str> {
        self.0.as_deref().filter(|t| !t.is_empty())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Text(text(<&'de RawValue>::deserialize(deserializer)?).map(bounded)))
    }
}

/// A text of any length, else empty.
#[derive(Debug, Default)]
pub(crate) struct LongText<'a>(pub Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for LongText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(LongText(text(<&'de RawValue>::deserialize(deserializer)?).unwrap_or_default()))
    }
}

/// A whole number, or nothing where there is something else: an odd one costs only itself.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Number(pub Option<i64>);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Number(<&'de RawValue>::deserialize(deserializer)?.get().parse().ok()))
    }
}

/// The text that a raw value is, if it is one.
pub(crate) fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inner = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    let whole = serde_json::from_str::<String>(raw.get());
    Some(Cow::Owned(whole.unwrap_or_else(|_| unescape(inner))))
}

/// Unescapes what serde refuses: lone surrogates become U+FFFD.
pub(crate) fn unescape(text: &str) -> String {
    let mut units: Vec<u16> = Vec::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            units.extend(c.encode_utf16(&mut [0; 2]).iter());
            continue;
        }
        let unit = match chars.next() {
            Some('n') => 0x0a,
            Some('t') => 0x09,
            Some('r') => 0x0d,
            Some('b') => 0x08,
            Some('f') => 0x0c,
            Some('u') => {
                let hex: String = chars.by_ref().take(4).collect();
                u16::from_str_radix(&hex, 16).unwrap_or(0xfffd)
            }
            Some(other) => other as u32 as u16,
            None => break,
        };
        units.push(unit);
    }
    String::from_utf16_lossy(&units)
}
