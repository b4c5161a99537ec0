//! Parses a pasted or typed target: an id, a page of the LangSmith console, a URL of an agent server, an event number, a time.

use runtail_core::config::is_loopback;
use runtail_stream::EventNumber;
use url::Url;

/// A target.
#[derive(Debug, Clone, PartialEq)]
pub enum Address {
    /// An event of the stream, by its number.
    Event(EventNumber),
    /// A time of day in the user's time zone: hours, minutes, seconds.
    Time(u8, u8, u8),
    /// An id of any object.
    Id(String),
    /// The page of a deployment, or of one of its revisions.
    Deployment {
        id: String,
        /// The revision's id.
        revision: Option<String>,
        /// The host of the URL.
        host: String,
    },
    /// A thread or a run.
    Thread {
        /// The agent server, if the text names one.
        server: Option<Url>,
        /// The thread's id.
        thread: String,
        /// The run's id.
        run: Option<String>,
    },
    /// An assistant of an agent server.
    Assistant {
        server: Url,
        /// The assistant's id.
        assistant: String,
    },
    /// An agent server.
    Server(Url),
    /// A URL that Runtail can't show.
    Elsewhere(Url),
}

/// Parses a target; `None` for any other text, such as a command.
pub fn read(text: &str) -> Option<Address> {
    let text = text.trim();
    if let Some(number) = text
        .strip_prefix('#')
        .unwrap_or(text)
        .parse()
        .ok()
        .filter(|_| !text.starts_with('+'))
    {
        return Some(Address::Event(EventNumber(number)));
    }
    if let Some(time) = time(text) {
        return Some(time);
    }
    if is_id(text) {
        return Some(Address::Id(text.to_string()));
    }
    if let Some((thread, run)) = text
        .split_once('/')
        .filter(|(thread, run)| is_uuid(thread) && is_id(run))
    {
        return Some(Address::Thread {
            server: None,
            thread: thread.to_string(),
            run: Some(run.to_string()),
        });
    }
    let url = Url::parse(text)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())?;
    Some(of_url(&url))
}

/// `14:02` or `14:02:58`.
fn time(text: &str) -> Option<Address> {
    let parts: Vec<&str> = text.split(':').collect();
    let part = |n: usize, below: u8| {
        let text = parts.get(n).copied().unwrap_or("0");
        text.parse()
            .ok()
            .filter(|number| *number < below && (1..=2).contains(&text.len()))
    };
    let time = || Some(Address::Time(part(0, 24)?, part(1, 60)?, part(2, 60)?));
    if matches!(parts.len(), 2 | 3) {
        time()
    } else {
        None
    }
}

/// Returns whether a text is a UUID with dashes, or looks like an id of an event or a message: one long word with a digit and
/// a dash.
pub(crate) fn is_id(text: &str) -> bool {
    is_uuid(text)
        || text.len() >= 12
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
            && text.bytes().any(|b| b.is_ascii_digit())
            && text.contains('-')
}

fn is_uuid(text: &str) -> bool {
    let dash = |at: usize| matches!(at, 8 | 13 | 18 | 23);
    text.len() == 36
        && text.bytes().enumerate().all(|(at, b)| {
            if dash(at) {
                b == b'-'
            } else {
                b.is_ascii_hexdigit()
            }
        })
}

fn of_url(url: &Url) -> Address {
    let segments: Vec<&str> = url
        .path_segments()
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .collect();
    // The path segment after a word.
    let after = |word: &str| {
        let at = segments.iter().rposition(|part| *part == word)?;
        segments.get(at + 1).map(|part| part.to_string())
    };
    let query = |name: &str| {
        url.query_pairs()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
    };
    let host = url.host_str().unwrap_or_default().to_string();
    // A Studio URL has the agent server in its query, and the thread in its path or query.
    if let Some(server) = query("baseUrl").and_then(|base| Url::parse(&base).ok()) {
        let thread = query("threadId")
            .or_else(|| after("thread"))
            .or_else(|| after("threads"));
        return match thread.filter(|id| is_id(id)) {
            Some(thread) => Address::Thread {
                server: Some(base_of(&server, 0)),
                thread,
                run: query("runId"),
            },
            None => Address::Server(base_of(&server, 0)),
        };
    }
    if segments.contains(&"host")
        && let Some(id) = after("deployments").filter(|id| is_id(id))
    {
        return Address::Deployment {
            id,
            revision: after("revisions").filter(|id| is_id(id)),
            host,
        };
    }
    if is_console(&host) {
        // A page of traces: `…/t/<thread>` or `…/r/<run>`. A run has the same id as on the agent server.
        let thread = after("threads")
            .or_else(|| after("t"))
            .filter(|id| is_id(id));
        return match (thread, after("r").filter(|id| is_id(id))) {
            (Some(thread), run) => Address::Thread {
                server: None,
                thread,
                run,
            },
            (None, Some(run)) => Address::Id(run),
            (None, None) => Address::Elsewhere(url.clone()),
        };
    }
    // A URL of an agent server: the part before the first known word is its base.
    let known = ["threads", "assistants", "runs", "info", "docs", "ok"];
    let own = segments
        .iter()
        .position(|part| known.contains(part))
        .unwrap_or(segments.len());
    let server = base_of(url, segments.len() - own);
    match (
        after("threads").filter(|id| is_id(id)),
        after("assistants").filter(|id| is_id(id)),
    ) {
        (Some(thread), _) => Address::Thread {
            server: Some(server),
            thread,
            run: after("runs").filter(|id| is_id(id)),
        },
        (None, Some(assistant)) => Address::Assistant { server, assistant },
        (None, None) if own < segments.len() || segments.is_empty() => Address::Server(server),
        (None, None) => Address::Elsewhere(url.clone()),
    }
}

/// Returns whether a host is a LangSmith console.
fn is_console(host: &str) -> bool {
    host == "smith.langchain.com" || host.ends_with(".smith.langchain.com")
}

/// Returns a URL without its last path segments, query and fragment.
fn base_of(url: &Url, parts: usize) -> Url {
    let mut base = url.clone();
    base.set_query(None);
    base.set_fragment(None);
    if let Ok(mut path) = base.path_segments_mut() {
        path.pop_if_empty();
        for _ in 0..parts {
            path.pop();
        }
        path.pop_if_empty();
    }
    base
}

/// Returns whether two URLs name the same agent server. All loopback names are equal.
pub fn is_same_server(one: &Url, other: &Url) -> bool {
    let plain = |url: &Url| url.path().trim_end_matches('/').to_string();
    let host = one.host() == other.host() || is_loopback(one) && is_loopback(other);
    host && one.scheme() == other.scheme()
        && one.port_or_known_default() == other.port_or_known_default()
        && plain(one) == plain(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const A: &str = "01a1fbb5-61b4-7dcf-8d3a-000000009775";
    const B: &str = "22222222-2222-4222-8222-222222222222";

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn every_form_of_a_target_is_parsed() {
        let deployment = |revision: Option<&str>, host: &str| Address::Deployment {
            id: A.into(),
            revision: revision.map(str::to_string),
            host: host.into(),
        };
        let thread = |server: Option<&str>, run: Option<&str>| Address::Thread {
            server: server.map(url),
            thread: A.into(),
            run: run.map(str::to_string),
        };
        let cases = [
            ("#123".to_string(), Address::Event(EventNumber(123))),
            ("123".into(), Address::Event(EventNumber(123))),
            ("14:02:58".into(), Address::Time(14, 2, 58)),
            ("9:05".into(), Address::Time(9, 5, 0)),
            (format!(" {A} "), Address::Id(A.into())),
            (format!("{A}/{B}"), thread(None, Some(B))),
            (
                "1763725371234-0".into(),
                Address::Id("1763725371234-0".into()),
            ),
            (
                "lc_run--019a-bc".into(),
                Address::Id("lc_run--019a-bc".into()),
            ),
            (
                format!("https://smith.langchain.com/o/{B}/host/deployments/{A}"),
                deployment(None, "smith.langchain.com"),
            ),
            (
                format!(
                    "https://eu.smith.langchain.com/o/{B}/host/deployments/{A}/revisions/{B}?tab=1#x"
                ),
                deployment(Some(B), "eu.smith.langchain.com"),
            ),
            (
                format!("https://ls.corp/tools/o/1/host/deployments/{A}"),
                deployment(None, "ls.corp"),
            ),
            (
                format!("https://smith.langchain.com/o/{B}/projects/p/{B}/t/{A}"),
                thread(None, None),
            ),
            (
                format!("https://smith.langchain.com/o/{B}/projects/p/{B}/r/{A}?poll=true"),
                Address::Id(A.into()),
            ),
            (
                format!(
                    "https://smith.langchain.com/studio/?baseUrl=http://127.0.0.1:2024&threadId={A}"
                ),
                thread(Some("http://127.0.0.1:2024/"), None),
            ),
            (
                format!(
                    "https://smith.langchain.com/studio/thread/{A}?baseUrl=https%3A%2F%2Fbot.us.langgraph.app"
                ),
                thread(Some("https://bot.us.langgraph.app/"), None),
            ),
            (
                "https://smith.langchain.com/studio/?baseUrl=http://localhost:2024".into(),
                Address::Server(url("http://localhost:2024/")),
            ),
            (
                format!("http://localhost:2024/threads/{A}"),
                thread(Some("http://localhost:2024/"), None),
            ),
            (
                format!("http://h:1/own/prefix/threads/{A}/runs/{B}/stream?x=1"),
                thread(Some("http://h:1/own/prefix"), Some(B)),
            ),
            (
                format!("http://h:1/threads/{A}/runs/stream"),
                thread(Some("http://h:1/"), None),
            ),
            (
                format!("http://h:1/assistants/{A}/graph"),
                Address::Assistant {
                    server: url("http://h:1/"),
                    assistant: A.into(),
                },
            ),
            (
                "http://h:1/info".into(),
                Address::Server(url("http://h:1/")),
            ),
            ("https://h/".into(), Address::Server(url("https://h/"))),
            (
                "https://example.com/a/page".into(),
                Address::Elsewhere(url("https://example.com/a/page")),
            ),
            (
                "https://smith.langchain.com/settings".into(),
                Address::Elsewhere(url("https://smith.langchain.com/settings")),
            ),
        ];
        for (text, wanted) in cases {
            assert_eq!(read(&text), Some(wanted), "{text}");
        }
        for none in [
            "",
            "theme",
            "theme mono",
            "25:00",
            "1:2:3:4",
            "-1",
            "+1",
            "support-bot",
            "file:///etc",
            "nightly-etl-2",
        ] {
            assert_eq!(
                read(none).filter(|a| !matches!(a, Address::Id(_))),
                None,
                "{none}"
            );
        }
        assert_eq!(read("support-bot"), None);
    }

    #[test]
    fn different_urls_can_name_the_same_server() {
        let same = |a, b| is_same_server(&url(a), &url(b));
        assert!(same("http://localhost:2024", "http://127.0.0.1:2024/"));
        assert!(same("https://a/x/", "https://a:443/x"));
        assert!(!same("https://a/x", "https://a/y") && !same("https://a", "http://a:443"));
        assert!(!same("http://localhost:2024", "http://127.0.0.1:2025"));
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_without_panicking(text in "\\PC{0,60}", path in "[a-z/0-9?=&%:-]{0,60}") {
            let _ = read(&text);
            let _ = read(&format!("https://smith.langchain.com/{path}"));
            let _ = read(&format!("http://h/{path}"));
        }
    }
}
