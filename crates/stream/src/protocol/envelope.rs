//! The second dialect's envelope, `{"type":"event","method":…,"params":{"namespace":…,"data":…}}`.

use super::Text;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// An envelope. Its method is what other servers put in the event's name.
#[derive(Deserialize)]
pub(crate) struct Envelope<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    pub method: &'a str,
    #[serde(borrow)]
    pub params: Params<'a>,
}

/// The namespace and the payload proper, with what lies beside it.
#[derive(Deserialize)]
pub(crate) struct Params<'a> {
    #[serde(default, borrow)]
    pub namespace: Vec<Cow<'a, str>>,
    #[serde(borrow)]
    pub data: &'a RawValue,
    #[serde(default, borrow)]
    pub node: Text<'a>,
    #[serde(default, borrow)]
    pub interrupts: Option<&'a RawValue>,
}

impl<'a> Envelope<'a> {
    /// Reads an envelope of an event; nothing where the text is none.
    pub fn read(text: &'a str) -> Option<Envelope<'a>> {
        // Cheap to rule out: an envelope begins with its own few fields.
        let head = &text.as_bytes()[..text.len().min(200)];
        if !head.starts_with(b"{") || memchr::memmem::find(head, b"\"method\"").is_none() {
            return None;
        }
        serde_json::from_str(text).ok().filter(|envelope: &Envelope<'_>| envelope.kind.is("event"))
    }
}
