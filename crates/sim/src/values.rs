//! Short forms for reading JSON values and locks.

use serde_json::{Map, Value};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A JSON object.
pub type Object = Map<String, Value>;

/// Returns a text; an empty one for other values.
pub fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Returns an object; an empty one for other values.
pub fn object_of(value: &Value) -> Object {
    value.as_object().cloned().unwrap_or_default()
}

/// Returns the fields of an object; none for other values.
pub fn fields_of(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// Returns the items of a list; none for other values.
pub fn items_of(value: &Value) -> impl DoubleEndedIterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Returns the texts of a list; none for other values.
pub fn texts_of(value: &Value) -> Vec<String> {
    let texts = items_of(value).filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

/// Locks; the data of a thread that panicked is used as it is.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
