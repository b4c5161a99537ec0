//! Secrets: the names of their fields, the patterns of keys, the secrets of records, and the configured keys. Screens, tables, logs, hooks and
//! `redact` all mask by these.

mod field_names;
pub mod keys;
pub mod patterns;
mod record;

pub use field_names::is_secret as is_secret_name;
use field_names::pattern as name_pattern;
pub use keys::MASK;
pub(crate) use record::{REFERENCES, holds_secrets, is_masked, is_secret};
pub use record::{Secrets, mask_record, mask_secrets, secret_texts};

use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// A pattern whose group is the login in an address: `user:password` in `https://user:password@host`, also with slashes in
/// the password. Digits before the slash are a port.
const LOGIN: &str = r#":\\*/\\*/(?:([^\s/?\#"'<>\\]+)|([^\s/?\#"'<>\\:@\[]+:[0-9]*[^\s0-9/?\#"'<>\\@][^\s"'<>\\@]*))@"#;

static LOGINS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(LOGIN).ok());

/// Returns the ranges of logins in the addresses of a text.
pub fn logins(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    // Most texts have none, and finding that out is faster than the pattern.
    if text.contains('@')
        && let Some(pattern) = &*LOGINS
    {
        let groups = pattern
            .captures_iter(text)
            .filter_map(|found| found.iter().skip(1).flatten().next());
        found.extend(groups.map(|login| login.range()));
    }
    found
}
