//! Turns an error response (status, headers, body) into an [`ApiError`] with an explanation for the user.

use crate::prelude::*;
use jiff::fmt::rfc2822::DateTimeParser;
use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, DATE, HeaderMap, HeaderValue, LOCATION, RETRY_AFTER};
use runtail_core::config;

/// Maximum length of a detail, in columns.
const MAX_DETAIL: usize = 600;
/// Maximum number of fields to list.
const MAX_FIELDS: usize = 40;
/// Headers with a request id, the most specific first.
const REQUEST_IDS: [&str; 6] = [
    "x-request-id",
    "x-correlation-id",
    "x-amzn-requestid",
    "x-amzn-trace-id",
    "x-cloud-trace-context",
    "cf-ray",
];

/// Which of the two services the request was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    Control,
    Agent,
}

/// The facts about a request that hints need.
#[derive(Debug, Clone, Copy)]
pub struct About {
    pub plane: Service,
    /// Whether it was the deployments list.
    pub is_list: bool,
    /// The credentials that were sent.
    pub shown: Shown,
    /// Whether a workspace was sent.
    pub has_workspace: bool,
}

/// The credentials of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    Nothing,
    Key,
    Token,
    Both,
}

impl Shown {
    /// Returns its word in messages.
    pub fn word(self) -> &'static str {
        match self {
            Shown::Nothing | Shown::Key => "key",
            Shown::Token => "token",
            Shown::Both => "key, or the token,",
        }
    }
}

/// Returns the server's request id, if there is one.
pub fn request_id(headers: &HeaderMap) -> Option<String> {
    let value = REQUEST_IDS
        .iter()
        .find_map(|name| headers.get(*name))?
        .to_str()
        .ok()?;
    Some(text::fit(&text::clean(value.trim()), 80).into_owned()).filter(|id| !id.is_empty())
}

/// Returns the error of an unexpected status.
pub fn refusal(
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    mut at: Place,
    about: About,
) -> ApiError {
    at.request_id = request_id(headers);
    if status.is_redirection() {
        return redirect(status, headers, at);
    }
    let mut said = read(headers, body);
    // The body of a success is a record with secrets, not a reason.
    if said.detail.is_empty() || (status.is_success() && !is_html(headers, body)) {
        said.detail = status.to_string();
    }
    let detail = said.detail;
    let asked = || {
        let wish = headers.get(RETRY_AFTER).and_then(|v| v.to_str().ok());
        // A date is by the server's own clock, which may differ by hours.
        let date = |v: &HeaderValue| DateTimeParser::new().parse_timestamp(v.to_str().ok()?).ok();
        let now = headers
            .get(DATE)
            .and_then(date)
            .unwrap_or_else(jiff::Timestamp::now);
        wish.and_then(|v| super::retry::retry_after(v, now))
    };
    if status.is_server_error() {
        at.retry_after = asked();
    }
    let kind = match status.as_u16() {
        401 => Kind::Unauthorized,
        403 => Kind::Forbidden,
        404 => Kind::NotFound,
        409 => Kind::Conflict,
        code @ (400 | 422) => {
            at.status = Some(code);
            Kind::Invalid(said.fields)
        }
        429 => Kind::RateLimited(asked()),
        code @ 500..=599 => Kind::Server(code),
        code => Kind::Status(code),
    };
    let hint = hint(&kind, &detail, &at, about);
    ApiError {
        kind,
        at,
        detail,
        hint,
    }
}

/// Returns the error of a body that is not JSON.
pub fn not_json(
    headers: &HeaderMap,
    body: &[u8],
    why: &serde_json::Error,
    mut at: Place,
) -> ApiError {
    at.request_id = request_id(headers);
    let (detail, hint) = if is_html(headers, body) {
        (html_detail(body), None)
    } else if body.is_empty() {
        ("an empty response instead of JSON".to_string(), None)
    } else {
        let hint = "the server may be of an unsupported kind or version".to_string();
        (
            format!("unexpected response: {}", text::clean(&why.to_string())),
            Some(hint),
        )
    };
    ApiError {
        kind: Kind::Protocol,
        at,
        detail,
        hint,
    }
}

/// Returns the error of a redirect. Redirects are never followed, because the key would be sent along. The error names the
/// target without its query.
fn redirect(status: StatusCode, headers: &HeaderMap, at: Place) -> ApiError {
    let target = headers
        .get(LOCATION)
        .and_then(|v| v.to_str().ok())
        .unwrap_or_default();
    let target = target.split(['?', '#']).next().unwrap_or_default();
    let target = match target.split_once("://") {
        // Remove a user and password from the address, too.
        Some((scheme, rest)) => format!(
            "{scheme}://{}",
            rest.rsplit_once('@').map_or(rest, |(_, host)| host)
        ),
        None => target.to_string(),
    };
    let detail = match text::clean(&target) {
        target if target.is_empty() => format!(
            "the server answered {}, a redirect without a target",
            status.as_u16()
        ),
        target => format!(
            "the server answered {}, a redirect to {}",
            status.as_u16(),
            text::fit(&target, 200)
        ),
    };
    let hint =
        "redirects are not followed, to protect your keys: use the final address in the profile"
            .to_string();
    ApiError {
        kind: Kind::Protocol,
        at,
        detail,
        hint: Some(hint),
    }
}

/// Returns the likely cause of an error and what to do. It matches the texts that the official clients match (control-plane
/// reference §1, §6, §10).
fn hint(kind: &Kind, detail: &str, at: &Place, about: About) -> Option<String> {
    let control = about.plane == Service::Control;
    let detail = detail.to_lowercase();
    let says = |text: &str| detail.contains(text);
    let word = about.shown.word();
    let text = match kind {
        Kind::Unauthorized => return Some(not_accepted(about)),
        Kind::Forbidden if says("requires workspace specification") && about.has_workspace => {
            "the profile's workspace was rejected: is its id correct?"
        }
        Kind::Forbidden if says("requires workspace specification") => {
            return Some(format!(
                "this {word} belongs to a whole organization: set `workspace` in the profile"
            ));
        }
        Kind::Forbidden if says("not enabled") => {
            let page = Url::parse(&format!("{}{}", at.host, at.path))
                .ok()
                .and_then(|url| config::deployments_page(&url));
            let page = page
                .map(|page| format!(": see {page}, where it can be enabled"))
                .unwrap_or_default();
            return Some(format!(
                "this is not part of the organization's plan, or not enabled{page}"
            ));
        }
        Kind::Forbidden if control => {
            return Some(format!(
                "permission denied: is the {word} from this region and workspace, and does it have the permission?"
            ));
        }
        Kind::Forbidden => {
            return Some(format!(
                "permission denied: does this {word} have the permission?"
            ));
        }
        Kind::NotFound if about.is_list && !control => {
            "this is not an agent server: is the path of the address correct?"
        }
        Kind::NotFound if about.is_list => {
            "is the address correct? The address of an agent server, such as `langgraph dev`, is set as \
             `agent_server` instead of `url`; a self-hosted control plane is under /api-host; for a server that can't \
             list deployments, pin their ids with `deployments = […]` in the profile"
        }
        Kind::Conflict if says("tracing project") => {
            "a deleted deployment with this name left its tracing project: choose another name, or delete that \
             project; `deployments delete --delete-tracing-project` deletes it too the next time"
        }
        Kind::Invalid(_) if says("listener_id' is required") => {
            "deployments of this organization run on its own clusters: `runtail listeners list` shows them, and \
             set one as source_config.listener_id"
        }
        Kind::Invalid(_) if says("scale to zero") => {
            "choose another source_config.deployment_type, such as \"dev\" or \"prod\""
        }
        Kind::Invalid(fields)
            if fields
                .iter()
                .any(|f| f.starts_with("path.") && f.to_lowercase().contains("uuid")) =>
        {
            "the server's ids are UUIDs, and this is not one: is it a name, or a wrong id?"
        }
        Kind::Status(405) if control => {
            "the prefix may be wrong: a self-hosted control plane is under /api-host"
        }
        Kind::Status(405) => "is this the address of an agent server?",
        Kind::Server(502..=504) => "the server, or a proxy in front of it, is not ready",
        _ => return None,
    };
    Some(text.to_string())
}

/// Explains a 401: no credentials were sent, or they are unknown there.
fn not_accepted(about: About) -> String {
    let control = about.plane == Service::Control;
    let text = match about.shown {
        Shown::Nothing => {
            "no key was sent: set api_key_env, api_key_file, api_key_command or api_key_keyring in the profile, or a \
             token with bearer_env, bearer_file, bearer_command or bearer_keyring; --url sends none"
        }
        Shown::Key if control => "the key was rejected: is it revoked, or from another region?",
        Shown::Key => "the key was rejected: is it revoked, or from another workspace?",
        Shown::Token if control => {
            "the token was rejected: has it expired, or is it from another region?"
        }
        Shown::Token => "the token was rejected: has it expired?",
        Shown::Both => {
            "the key and the token were rejected: is the key revoked, or has the token expired?"
        }
    };
    text.to_string()
}

/// Returns the message of a body in one line, and the fields that it names.
#[derive(Debug, Default, PartialEq)]
struct ErrorBody {
    detail: String,
    fields: Vec<String>,
}

fn read(headers: &HeaderMap, body: &[u8]) -> ErrorBody {
    if let Ok(value) = json::from_str::<Value>(&String::from_utf8_lossy(body)) {
        return of_json(&value);
    }
    let detail = if is_html(headers, body) {
        html_detail(body)
    } else {
        line(&String::from_utf8_lossy(body))
    };
    ErrorBody {
        detail,
        fields: Vec::new(),
    }
}

/// Parses the error formats of the services (control-plane reference §10, agent-server reference §6 "Errors").
fn of_json(value: &Value) -> ErrorBody {
    let plain = |text: &str| ErrorBody {
        detail: line(text),
        fields: Vec::new(),
    };
    match (&value["detail"], &value["error"], &value["message"]) {
        (Value::String(text), _, _) => of_schema_text(text),
        (Value::Array(items), _, _) if !items.is_empty() => {
            let fields: Vec<String> = items.iter().take(MAX_FIELDS).map(field).collect();
            ErrorBody {
                detail: of_fields(fields.len()),
                fields,
            }
        }
        (detail @ Value::Object(_), _, _) => match &detail["message"] {
            Value::String(text) => plain(text),
            _ => plain(&detail.to_string()),
        },
        (_, Value::Object(error), message) => match error.get("issues") {
            Some(Value::Array(issues)) => {
                let mut fields = Vec::new();
                zod(issues, &mut fields);
                ErrorBody {
                    detail: of_fields(fields.len()),
                    fields,
                }
            }
            _ => match (error.get("message"), message) {
                (Some(Value::String(text)), _) | (None, Value::String(text)) => plain(text),
                _ => plain(&value.to_string()),
            },
        },
        (_, _, Value::String(message)) => plain(message),
        (_, Value::String(error), _) => plain(error),
        _ => match value {
            Value::String(text) => plain(text),
            Value::Null => ErrorBody::default(),
            other => plain(&other.to_string()),
        },
    }
}

/// Shortens the schema errors of the Python agent server: the first paragraph is the problem, `On instance["field"]` its
/// place; between them is the schema, and after them the whole input.
fn of_schema_text(text: &str) -> ErrorBody {
    let Some((head, tail)) = text.split_once("\n\nFailed validating") else {
        return ErrorBody {
            detail: line(text),
            fields: Vec::new(),
        };
    };
    let path = tail
        .split("\n\nOn instance")
        .nth(1)
        .and_then(|rest| rest.split_once(":\n"))
        .map_or("", |(path, _)| path);
    let path = path
        .replace("[\"", ".")
        .replace("\"]", "")
        .replace('[', ".")
        .replace(']', "");
    let field = match path.trim_start_matches('.') {
        "" => line(head),
        path => format!("{}: {}", line(path), line(head)),
    };
    ErrorBody {
        detail: of_fields(1),
        fields: vec![field],
    }
}

/// Formats an item of FastAPI's list: `{loc: [str|int], msg, type}`. `input` is skipped, because it repeats the request.
fn field(item: &Value) -> String {
    let place: Vec<String> = match &item["loc"] {
        Value::Array(parts) => parts
            .iter()
            .map(|p| p.as_str().map_or_else(|| p.to_string(), str::to_string))
            .collect(),
        _ => Vec::new(),
    };
    let message = match (&item["msg"], &item["type"], item) {
        (Value::String(msg), _, _) => msg.clone(),
        (_, Value::String(kind), _) => kind.clone(),
        (_, _, Value::String(text)) => text.clone(),
        (_, _, other) => other.to_string(),
    };
    match place.join(".") {
        place if place.is_empty() => line(&message),
        place => line(&format!("{place}: {message}")),
    }
}

/// Formats Zod's issues. A union's own error says nothing, so its first alternative's error is used.
fn zod(issues: &[Value], fields: &mut Vec<String>) {
    for issue in issues {
        if let Some(Value::Array(inner)) = issue["unionErrors"].get(0).map(|first| &first["issues"])
        {
            zod(inner, fields);
            continue;
        }
        if fields.len() < MAX_FIELDS {
            fields.push(field(
                &serde_json::json!({"loc": issue["path"], "msg": issue["message"]}),
            ));
        }
    }
}

fn of_fields(count: usize) -> String {
    match count {
        1 => "the server rejected a field".to_string(),
        n => format!("the server rejected {n} fields"),
    }
}

pub fn is_html(headers: &HeaderMap, body: &[u8]) -> bool {
    let named = headers
        .get(CONTENT_TYPE)
        .is_some_and(|v| v.as_bytes().to_ascii_lowercase().starts_with(b"text/html"));
    let head: String = String::from_utf8_lossy(&body[..body.len().min(64)])
        .trim_start()
        .to_lowercase();
    named || head.starts_with("<!doctype html") || head.starts_with("<html")
}

pub fn html_detail(body: &[u8]) -> String {
    let page = String::from_utf8_lossy(&body[..body.len().min(16 * 1024)]);
    let lower = page.to_ascii_lowercase();
    let title = lower.find("<title>").and_then(|start| {
        let end = lower[start..].find("</title>")? + start;
        let title = line(page.get(start + 7..end)?);
        (!title.is_empty()).then_some(title)
    });
    match title {
        Some(title) => {
            format!("HTML instead of JSON (“{title}”): wrong URL or a proxy/login page?")
        }
        None => "HTML instead of JSON: wrong URL or a proxy/login page?".to_string(),
    }
}

/// Returns one sanitized line of limited length.
pub fn line(foreign: &str) -> String {
    let joined = foreign.split_whitespace().collect::<Vec<_>>().join(" ");
    text::fit(&text::clean(&joined), MAX_DETAIL).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn details(body: &str) -> (String, Vec<String>) {
        let details = read(&HeaderMap::new(), body.as_bytes());
        (details.detail, details.fields)
    }

    #[test]
    fn error_details_are_read_from_every_body_shape() {
        let one = |text: &str| (text.to_string(), Vec::<String>::new());
        let refused = |fields: &[&str]| {
            (
                of_fields(fields.len()),
                fields.iter().map(|f| f.to_string()).collect(),
            )
        };
        for (body, expected) in [
            (
                r#"{"detail":"Deployment ID 1 not found."}"#,
                one("Deployment ID 1 not found."),
            ),
            (
                r#"{"detail":[{"loc":["body","source_config","repo_url"],"msg":"Field required","type":"missing","input":"canary"}]}"#,
                refused(&["body.source_config.repo_url: Field required"]),
            ),
            (
                r#"{"detail":[{"loc":["body","secrets",2,"name"],"msg":"too short","type":"x"},{"msg":"alone"},"odd"]}"#,
                refused(&["body.secrets.2.name: too short", "alone", "odd"]),
            ),
            (
                r#"{"error":"not_found","message":"No such thread","details":null}"#,
                one("No such thread"),
            ),
            (r#"{"error":"unauthorized"}"#, one("unauthorized")),
            (r#"{"detail":{"message":"deep"}}"#, one("deep")),
            (
                r#"{"success":false,"error":{"message":"plain"}}"#,
                one("plain"),
            ),
            (
                "Thread with ID 0 not found\n",
                one("Thread with ID 0 not found"),
            ),
            ("two\nlines\u{1b}[31m", one("two lines")),
            ("", one("")),
            ("null", one("")),
            (r#"{"detail":[]}"#, one(r#"{"detail":[]}"#)),
            (r#""a bare text""#, one("a bare text")),
            (
                "<html><head><title>Sign in</title>",
                one("HTML instead of JSON (“Sign in”): wrong URL or a proxy/login page?"),
            ),
        ] {
            assert_eq!(details(body), expected, "{body}");
        }
    }

    #[test]
    fn retry_after_dates_use_the_servers_clock() {
        let about = About {
            plane: Service::Agent,
            is_list: false,
            shown: Shown::Key,
            has_workspace: false,
        };
        let mut headers = HeaderMap::new();
        // The server's clock is years off.
        headers.insert(DATE, "Sat, 21 Nov 2009 10:00:00 GMT".parse().unwrap());
        headers.insert(
            RETRY_AFTER,
            "Sat, 21 Nov 2009 10:00:07 GMT".parse().unwrap(),
        );
        let error = refusal(
            StatusCode::SERVICE_UNAVAILABLE,
            &headers,
            b"",
            Place::default(),
            about,
        );
        assert_eq!(error.asked(), Some(std::time::Duration::from_secs(7)));
    }

    #[test]
    fn captured_error_bodies_are_parsed() {
        // Captured from langgraph-api 0.16.7 and @langchain/langgraph-api 1.5.1.
        let python = r#"{"detail":"\"banana\" is not valid under any of the schemas listed in the 'anyOf' keyword\n\nFailed validating \"anyOf\" in schema[\"components\"][\"schemas\"][\"RunCreateStateful\"][\"properties\"][\"stream_mode\"]\n\nOn instance[\"stream_mode\"]:\n    \"banana\""}"#;
        let expected = "stream_mode: \"banana\" is not valid under any of the schemas listed in the 'anyOf' keyword";
        assert_eq!(details(python).1, [expected]);
        let python = r#"{"detail":"\"assistant_id\" is a required property\n\nFailed validating \"required\" in schema[\"x\"]\n\nOn instance:\n    {\"input\":{\"a\":\"canary\"}}"}"#;
        assert_eq!(
            details(python).1,
            ["\"assistant_id\" is a required property"]
        );
        let js = r#"{"success":false,"error":{"issues":[{"code":"invalid_union","unionErrors":[{"issues":[{"code":"invalid_type","expected":"string","received":"undefined","path":["assistant_id"],"message":"Required"}],"name":"ZodError"},{"issues":[{"path":["assistant_id"],"message":"Required"}],"name":"ZodError"}],"path":["assistant_id"],"message":"Invalid input"}],"name":"ZodError"}}"#;
        assert_eq!(details(js).1, ["assistant_id: Required"]);
    }
}
