//! The models that messages name, to attribute their token usage.

use crate::projection::Message;
use crate::projection::messages::stem;
use crate::protocol::Payload;
use runtail_core::json::Peek;
use std::borrow::Cow;
use std::collections::HashMap;

/// The models named in an event. Scans the event once, on demand: a 50 MB state may contain the messages of a hundred
/// branches.
pub(super) struct Models<'p, 'a> {
    payload: &'p Payload<'a>,
    /// The models by message id.
    by_id: Option<HashMap<Cow<'a, str>, Cow<'a, str>>>,
}

impl<'p, 'a> Models<'p, 'a> {
    /// Creates the models of an event.
    pub fn of(payload: &'p Payload<'a>) -> Models<'p, 'a> {
        Models { payload, by_id: None }
    }

    /// Returns the model of a message in the event, and whether the response itself names it. Requests may use a shorter name.
    pub fn model(&mut self, message: &Message) -> Option<(Cow<'a, str>, bool)> {
        let payload = self.payload;
        let json = Peek::head(payload.json?, usize::MAX);
        if payload.name == "messages" && !payload.enveloped {
            let mut items = json.items();
            let message = items.next()?;
            let of_response = model(message).map(|name| (name, true));
            return of_response.or_else(|| Some((items.next()?.get("ls_model_name")?.string()?, false)));
        }
        let by_id = self.by_id.get_or_insert_with(|| models_by_id(payload, json));
        Some((by_id.get(stem(message.id.as_deref()?))?.clone(), true))
    }
}

fn models_by_id<'a>(payload: &Payload<'a>, json: Peek<'a>) -> HashMap<Cow<'a, str>, Cow<'a, str>> {
    let list = |json: Option<Peek<'a>>| json.into_iter().flat_map(Peek::items).collect::<Vec<_>>();
    let messages = match payload.name {
        "messages/partial" | "messages/complete" => list(Some(json)),
        "values" => list(json.get("messages")),
        "updates" => {
            let writes = payload.writes().iter();
            writes.flat_map(|write| list(Peek::head(write.json, usize::MAX).get("messages"))).collect()
        }
        _ => Vec::new(),
    };
    messages.into_iter().filter_map(|message| Some((stem_of(message.get("id")?.string()?), model(message)?))).collect()
}

/// Returns an id without the suffix that some modes add.
fn stem_of(id: Cow<'_, str>) -> Cow<'_, str> {
    match id {
        Cow::Borrowed(id) => Cow::Borrowed(stem(id)),
        Cow::Owned(id) => Cow::Owned(stem(&id).to_string()),
    }
}

/// Returns the model that a message names in its `response_metadata`.
fn model(message: Peek<'_>) -> Option<Cow<'_, str>> {
    message.get("response_metadata")?.pick(["model_name", "model"]).into_iter().flatten().next()?.string()
}
