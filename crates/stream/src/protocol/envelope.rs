//! The envelope of the v2 protocol, `{"type":"event","method":…,"params":{"namespace":…,"data":…}}`.

use super::Text;
use runtail_core::json;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// An envelope. Its method corresponds to the event name of other streams.
#[derive(Deserialize)]
pub(crate) struct Envelope<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    pub method: &'a str,
    #[serde(borrow)]
    pub params: Params<'a>,
}

/// The namespace, the payload, and the fields next to it.
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
    /// Parses the envelope of an event. Returns nothing if the text is not one.
    pub fn read(text: &'a str) -> Option<Envelope<'a>> {
        // A cheap check first: an envelope begins with its own few fields.
        let head = &text.as_bytes()[..text.len().min(200)];
        if !head.starts_with(b"{") || memchr::memmem::find(head, b"\"method\"").is_none() {
            return None;
        }
        json::from_str(text)
            .ok()
            .filter(|envelope: &Envelope<'_>| envelope.kind.is("event"))
    }
}
