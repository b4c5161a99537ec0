//! Turns a connection error into an [`ApiError`] with an explanation for the user.

use crate::answer;
use crate::prelude::*;
use std::error::Error;
use std::io;

/// Returns the error of a failed request.
pub fn failure(error: &reqwest::Error, url: &Url, at: Place) -> ApiError {
    let (kind, detail, hint) = explain(error, url);
    let kind = match kind {
        Kind::Network | Kind::Timeout if error.is_connect() => Kind::NoConnection,
        kind => kind,
    };
    ApiError {
        kind,
        at,
        detail: answer::line(&detail),
        hint,
    }
}

fn explain(error: &reqwest::Error, url: &Url) -> (Kind, String, Option<String>) {
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default().unwrap_or_default();
    let network = |detail: String, hint: String| (Kind::Network, detail, Some(hint));
    let tls = find::<rustls::Error>(error).map(|tls| tls_failure(tls, host, port));
    if error.is_builder() {
        let unknown = || {
            (
                format!("could not set up the HTTP client: {}", last(error)),
                None,
            )
        };
        let (detail, hint) = tls.unwrap_or_else(unknown);
        return (Kind::Refused, detail, hint);
    }
    if error.is_dns() {
        return network(
            format!("the name {host} does not resolve"),
            "check the address and the network".into(),
        );
    }
    if let Some((detail, hint)) = tls {
        return (Kind::Network, detail, hint);
    }
    if error.is_timeout() {
        let detail = if error.is_connect() {
            format!("no connection to {host}:{port} in time")
        } else {
            "no response in time".to_string()
        };
        let hint = error
            .is_connect()
            .then(|| "is the host reachable from here (VPN, firewall, proxy)?".to_string());
        return (Kind::Timeout, detail, hint);
    }
    if let Some(broken) = find::<io::Error>(error) {
        match broken.kind() {
            io::ErrorKind::ConnectionRefused => {
                let hint = format!("nothing listens on {host}:{port}; is the server running?");
                return network("connection refused".into(), hint);
            }
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => {
                return (Kind::Network, "the connection was reset".into(), None);
            }
            io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => {
                return network(
                    format!("{host} is unreachable"),
                    "check the network (VPN, firewall)".into(),
                );
            }
            _ => {}
        }
    }
    let cause = http2(&last(error));
    let told = |part: &str| cause.contains(part);
    if told("invalid HTTP") && url.scheme() == "http" {
        return network(
            format!("{host}:{port} does not speak HTTP"),
            "plain http to a TLS port?".into(),
        );
    }
    if told("before message completed") {
        return (
            Kind::Network,
            "the server closed the connection without a response".into(),
            None,
        );
    }
    if told("tunnel") {
        return network(
            format!("the proxy refused the connection: {cause}"),
            "see HTTPS_PROXY and NO_PROXY".into(),
        );
    }
    if error.is_body() || error.is_decode() {
        return (
            Kind::Network,
            format!("the connection broke in the middle of the response: {cause}"),
            None,
        );
    }
    (Kind::Network, cause, None)
}

/// Rewords errors of the HTTP/2 library, which don't say which side failed.
fn http2(cause: &str) -> String {
    const CLOSED: &str = "the server closed the connection";
    const VIOLATED: &str = "the server violated HTTP/2";
    let reworded = [
        (
            "connection error received: not a result of an error",
            CLOSED,
        ),
        ("stream closed because of a broken pipe", CLOSED),
        ("connection error received: ", CLOSED),
        ("stream error received: ", "the server ended the response"),
        ("connection error detected: ", VIOLATED),
        ("stream error detected: ", VIOLATED),
    ];
    let found = reworded
        .iter()
        .find_map(|(start, said)| Some((cause.strip_prefix(start)?, said)));
    match found {
        Some(("", said)) => (*said).to_string(),
        Some((reason, said)) => format!("{said}: {reason}"),
        None => cause.to_string(),
    }
}

/// Returns the cause of a TLS error, and what to do.
pub fn tls_failure(error: &rustls::Error, host: &str, port: u16) -> (String, Option<String>) {
    match error {
        rustls::Error::InvalidMessage(_) => (
            format!("{host}:{port} does not speak TLS"),
            Some("https to a plain http port?".into()),
        ),
        rustls::Error::InvalidCertificate(why) => (
            format!("the certificate of {host} is not trusted: {why}"),
            Some("for a private authority, set SSL_CERT_FILE; is the host correct?".into()),
        ),
        rustls::Error::General(why) => (
            format!("TLS is not possible: {why}"),
            Some(
                "is a certificate store installed (ca-certificates), or SSL_CERT_FILE set?".into(),
            ),
        ),
        other => (format!("TLS with {host}:{port} failed: {other}"), None),
    }
}

/// Returns the innermost cause, the most specific one.
fn last(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    // Only the outermost error would include the URL with its query.
    if std::ptr::addr_eq(cause, error as &dyn Error) {
        "the request failed".into()
    } else {
        cause.to_string()
    }
}

/// Finds a type of error in the chain of causes, also inside I/O errors, which hide what they wrap.
pub fn find<'e, T: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<T>() {
            // The inner error of a wrapping I/O error is more specific.
            let wraps = error
                .downcast_ref::<io::Error>()
                .is_some_and(|e| e.get_ref().is_some());
            if !wraps {
                return Some(found);
            }
        }
        next = match error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
        {
            Some(inner) => Some(inner as &(dyn Error + 'static)),
            None => error.source(),
        };
    }
    None
}
