//! The models that messages name, to attribute their token usage.

use crate::json::scan::Peek;
use crate::projection::Message;
use crate::protocol::Payload;
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

    /// Returns the model of a message in the event.
    pub fn model(&mut self, message: &Message) -> Option<Cow<'a, str>> {
        let payload = self.payload;
        let json = Peek::head(payload.json?, usize::MAX);
        if payload.name == "messages" && !payload.enveloped {
            let mut items = json.items();
            let message = items.next()?;
            return model(message).or_else(|| items.next()?.get("ls_model_name")?.string());
        }
        self.by_id.get_or_insert_with(|| models_by_id(payload, json)).get(message.id.as_deref()?).cloned()
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
    messages.into_iter().filter_map(|message| Some((message.get("id")?.string()?, model(message)?))).collect()
}

/// Returns the model that a message names in its `response_metadata`.
fn model(message: Peek<'_>) -> Option<Cow<'_, str>> {
    message.get("response_metadata")?.pick(["model_name", "model"]).into_iter().flatten().next()?.string()
}
