//! Recognizes secrets by the name of their field or variable: `Authorization`, `X-Api-Key`, `apiKey`, `OPENAI_API_KEY`.

use super::MASK;
use crate::text;

/// The last words of a secret's name, in lower case.
const LAST_WORDS: [&str; 42] = [
    "access_key",
    "access_tokens",
    "account_key",
    "api_key",
    "api_keys",
    "api_tokens",
    "app_key",
    "auth_key",
    "authorization",
    "basic_auth",
    "bearer",
    "client_key",
    "connection_string",
    "cookie",
    "cookies",
    "credential",
    "credentials",
    "db_pass",
    "deploy_key",
    "encryption_key",
    "functions_key",
    "http_auth",
    "jwt",
    "master_key",
    "password_hash",
    "passwords",
    "private_key",
    "private_keys",
    "pwd",
    "refresh_tokens",
    "secret",
    "secret_key",
    "secret_keys",
    "secrets",
    "service_key",
    "shared_key",
    "signing_key",
    "smtp_pass",
    "ssh_key",
    "storage_key",
    "subscription_key",
    "token",
];

/// Ends of a secret's name that are often joined to the word before them.
const ENDS: [&str; 13] = [
    "accesskey",
    "accesstoken",
    "apikey",
    "apitoken",
    "authtoken",
    "clientsecret",
    "passcode",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "refreshtoken",
    "secretkey",
];

/// A `token` after one of these words is a unit of text, not a secret.
const UNITS: [&str; 19] = [
    "input",
    "output",
    "prompt",
    "completion",
    "reasoning",
    "cached",
    "total",
    "max",
    "min",
    "num",
    "per",
    "first",
    "stop",
    "special",
    "eos",
    "bos",
    "pad",
    "unk",
    "sep",
];

/// Maximum length of a name in bytes. Anything longer is a text.
const MAX_NAME: usize = 128;

/// Returns whether the value of a field or variable with this name is a secret.
pub fn is_secret(name: &str) -> bool {
    // A name that contains the mask is a redacted text, not a secret's name.
    if name.len() > MAX_NAME || !has_last_letters(name) || name.contains(MASK) {
        return false;
    }
    let words = words(name);
    let ends = |with: &str| {
        words
            .strip_suffix(with)
            .is_some_and(|before| before.is_empty() || before.ends_with('_'))
    };
    if ends("token") && UNITS.iter().any(|unit| ends(&format!("{unit}_token"))) {
        return false;
    }
    LAST_WORDS.iter().any(|last| ends(last)) || ENDS.iter().any(|end| words.ends_with(end))
}

/// Returns a regular expression that matches the end of every secret's name, and of some other names. A few short ends
/// are searched faster than all names.
pub fn pattern() -> String {
    let all: Vec<&str> = LAST_WORDS
        .iter()
        .chain(&ENDS)
        .chain(&["key", "pass"])
        .copied()
        .collect();
    let is_shortest = |name: &&&str| {
        !all.iter()
            .any(|end| end.len() < name.len() && name.ends_with(end))
    };
    let names = all
        .iter()
        .filter(is_shortest)
        .map(|name| name.replace('_', "[^a-z0-9]{0,2}"));
    format!("(?i:{})", names.collect::<Vec<_>>().join("|"))
}

/// Returns false only if a name doesn't end like a secret's. Most names don't, and this takes no memory.
fn has_last_letters(name: &str) -> bool {
    let end = name
        .trim_end_matches(|c: char| c.is_ascii() && !c.is_ascii_alphabetic())
        .as_bytes();
    let Some(last) = end.last_chunk::<2>() else {
        return false;
    };
    let is_last = |known: &&str| {
        known
            .as_bytes()
            .ends_with(&last.map(|byte| byte.to_ascii_lowercase()))
    };
    !last.is_ascii() || LAST_WORDS.iter().chain(&ENDS).any(is_last)
}

/// Returns the words of a name in lower case, joined by `_`, without a number at the end.
fn words(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 4);
    let mut chars = name.chars().filter(|c| !text::is_invisible(*c)).peekable();
    let mut before = ' ';
    while let Some(c) = chars.next() {
        let begins = match before {
            _ if !c.is_uppercase() => false,
            before if before.is_uppercase() => chars.peek().is_some_and(|next| next.is_lowercase()),
            _ => true,
        };
        if (begins || !c.is_alphanumeric()) && !words.is_empty() && !words.ends_with('_') {
            words.push('_');
        }
        if c.is_alphanumeric() {
            words.extend(c.to_lowercase());
        }
        before = c;
    }
    words.truncate(
        words
            .trim_end_matches(|c: char| c == '_' || c.is_ascii_digit())
            .len(),
    );
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_recognized_in_every_form() {
        for name in [
            "Authorization",
            "authorization",
            "AUTHORIZATION",
            "Proxy-Authorization",
            "X-Api-Key",
            "x-api-key",
            "apiKey",
            "APIKey",
            "apikey",
            "api.key",
            "API KEY",
            "OPENAI_API_KEY",
            "OPENAI_API_KEY_2",
            "aws_secret_access_key",
            "awsSecretAccessKey",
            "secret",
            "secrets",
            "SECRET",
            "passwd",
            "password",
            "PGPASSWORD",
            "dbPassword",
            "client_secret",
            "clientSecret",
            "private_key",
            "privateKey",
            "Private-Key",
            "token",
            "accessToken",
            "access_token",
            "id_token",
            "X-Auth-Token",
            "_authToken",
            "GITHUB_TOKEN",
            "Set-Cookie",
            "credentials",
            "connectionString",
            "AccountKey",
            "Ocp-Apim-Subscription-Key",
            "pass\u{200b}word",
            "jwt",
            "PWD",
        ] {
            assert!(is_secret(name), "{name}: {}", words(name));
        }
        let pattern = regex::Regex::new(&pattern()).unwrap();
        assert!(
            LAST_WORDS
                .iter()
                .chain(&ENDS)
                .all(|name| is_secret(name) && pattern.is_match(name)),
            "{pattern}"
        );
    }

    #[test]
    fn token_counters_and_other_names_are_not_secrets() {
        for name in [
            "input_tokens",
            "output_tokens",
            "total_tokens",
            "max_tokens",
            "maxTokens",
            "token_usage",
            "tokenizer",
            "token_count",
            "input_token_details",
            "output_token_details",
            "prompt_tokens_details",
            "eos_token",
            "tokens",
            "max_token",
            "token_type",
            "key",
            "keys",
            "sort_key",
            "public_key",
            "secret_name",
            "api_key_name",
            "author",
            "keyboard",
            "monkey",
            "authorization_url",
            "session_id",
            "",
            "_",
            "123",
            "client_id",
            "access_key_id",
        ] {
            assert!(!is_secret(name), "{name}: {}", words(name));
        }
    }
}
