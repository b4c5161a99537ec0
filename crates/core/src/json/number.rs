//! Numbers as they are written, and as they would be sent.

use super::tokens;
use serde_json::Number;

/// Returns the numbers of a JSON text as they are written.
pub fn numbers(json: &str) -> impl Iterator<Item = &str> {
    tokens(json.as_bytes())
        .map(|token| &json[token])
        .filter(|token| token.starts_with(|c: char| c == '-' || c.is_ascii_digit()))
}

/// Returns a number as it would be sent, if that differs; it is empty if the number can't be sent.
pub fn rounded(number: &str) -> Option<String> {
    let Ok(sent) = serde_json::from_str::<Number>(number) else {
        return Some(String::new());
    };
    let is_integer = !number.contains(['.', 'e', 'E']);
    let becomes = sent.to_string();
    let stays = decimal(number).is_some_and(|own| Some(own) == decimal(&becomes));
    (!stays || is_integer && sent.is_f64()).then_some(becomes)
}

/// Returns the sign, the significant digits and the exponent of a number; `None` if the exponent is too large to compare.
fn decimal(number: &str) -> Option<(bool, String, i64)> {
    let (is_negative, number) = match number.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, number),
    };
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return Some((is_negative, String::new(), 0));
    }
    let exponent: i64 = exponent.parse().ok()?;
    let places = i64::try_from(digits.len() - significant.len()).ok()?
        - i64::try_from(fraction.len()).ok()?;
    Some((
        is_negative,
        significant.to_string(),
        exponent.checked_add(places)?,
    ))
}
