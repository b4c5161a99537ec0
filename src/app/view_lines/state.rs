//! What the values view shows of an event.

use crate::stream::Event;
use std::sync::Arc;

/// The state that an event carries: a `state_update` wraps it.
pub fn text(event: &Event) -> Arc<str> {
    #[derive(serde::Deserialize)]
    struct Wrapped<'a> {
        #[serde(borrow)]
        state: Option<&'a serde_json::value::RawValue>,
    }
    let text = event.data.text();
    if &*event.name == "state_update"
        && let Ok(Wrapped { state: Some(state) }) = serde_json::from_str(text)
    {
        return state.get().into();
    }
    text.clone()
}
