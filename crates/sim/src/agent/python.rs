//! Values as Python shows them in error messages.

use crate::agent::prelude::*;

/// The name of a value's type in Python.
pub fn python_type(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "list",
        Value::Object(_) => "dict",
        Value::String(_) => "str",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "int",
        Value::Null => "NoneType",
    }
}

/// A value as Python's `repr` shows it.
pub fn python_repr(value: &Value) -> String {
    match value {
        Value::Null => "None".into(),
        Value::Bool(yes) => (if *yes { "True" } else { "False" }).into(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
        Value::Array(list) => format!(
            "[{}]",
            list.iter().map(python_repr).collect::<Vec<_>>().join(", ")
        ),
        Value::Object(map) => {
            let items: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("'{key}': {}", python_repr(value)))
                .collect();
            format!("{{{}}}", items.join(", "))
        }
    }
}
