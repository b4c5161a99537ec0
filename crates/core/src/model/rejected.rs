//! The fields that a graph rejected, from the text of its error.

use crate::text;

/// Fields that are read of one error, and bytes of it.
const MAX_FIELDS: usize = 8;
const MAX_TEXT: usize = 16 << 10;

/// Returns the fields that a validation error of pydantic names, each with what is wrong: a line with the field's path, then an
/// indented one with the rule, then its type in brackets.
pub fn rejected_fields(error: &str) -> Vec<(String, String)> {
    let text = text::head(error, MAX_TEXT);
    let mut lines = text
        .lines()
        .skip_while(|line| !line.contains(" validation error"))
        .skip(1)
        .peekable();
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        let is_path = !line.is_empty() && !line.starts_with(char::is_whitespace);
        let rule = lines
            .peek()
            .filter(|rule| is_path && rule.starts_with("  "));
        let Some(rule) = rule
            .and_then(|rule| rule.trim().split(" [type=").next())
            .filter(|rule| !rule.is_empty())
        else {
            continue;
        };
        found.push((text::seen(line.trim(), 60), text::seen(rule, 200)));
        if found.len() == MAX_FIELDS {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_validation_error_are_named() {
        // Captured from the Python server (acting/run-bad-context), with a second field.
        let error = "ValidationError: 2 validation errors for Ctx\nmodel\n  Input should be 'small' or 'large' [type=literal_error, \
                     input_value='nope', input_type=str]\n    For further information visit https://errors.pydantic.dev/2.14/v/literal_error\n\
                     customer.name\n  Field required [type=missing, input_value={}, input_type=dict]\n    For further information";
        let expected = [
            ("model", "Input should be 'small' or 'large'"),
            ("customer.name", "Field required"),
        ]
        .map(|(field, rule)| (field.to_string(), rule.to_string()));
        assert_eq!(rejected_fields(error), expected);
        assert!(
            rejected_fields("ValueError: boom\nmodel\n  x").is_empty()
                && rejected_fields("").is_empty()
        );
    }
}
