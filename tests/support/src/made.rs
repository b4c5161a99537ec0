//! Small records of servers, as tests make them.

use jiff::Timestamp;
use runtail_api::{ApiError, Kind, Place};
use runtail_core::model::{Consent, NewRevision, PlainRequest, Preview};
use runtail_stream::{Data, Event, Item, Record, Seq};

/// Returns an event of the main graph.
pub fn event(seq: u64, at: Timestamp, name: &str, json: &str) -> Event {
    Event {
        seq: Seq(seq),
        at,
        conn: 1,
        replayed: false,
        name: name.into(),
        ns: [].into(),
        id: None,
        data: Data::Json(json.into()),
    }
}

/// Returns the first connection of a stream.
pub fn connected(at: Timestamp) -> Item {
    Item::Record(Record::Open {
        at,
        conn: 1,
        status: 200,
        resumed_after: None,
    })
}

/// Returns the error of a request.
pub fn error(kind: Kind, detail: &str) -> ApiError {
    ApiError {
        kind,
        at: Place::default(),
        detail: detail.into(),
        hint: None,
    }
}

/// Returns a request without a body.
pub fn request(method: &str, url: &str) -> PlainRequest {
    PlainRequest {
        method: method.into(),
        url: url.into(),
        headers: Vec::new(),
        body: None,
    }
}

/// Returns a preview of one request, without a target, changes and notes.
pub fn preview(title: &str, profile: &str, request: PlainRequest, consent: Consent) -> Preview {
    Preview {
        title: title.into(),
        profile: profile.into(),
        target: None,
        request,
        then: Vec::new(),
        changes: Vec::new(),
        revision: NewRevision::NotAsked,
        branch: None,
        notes: Vec::new(),
        consent,
    }
}
