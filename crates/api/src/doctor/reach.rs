//! Checks of a connection step by step: proxy, name, TCP, TLS.

use super::certificate::{self, Certificate, Handshake};
use super::{Check, Fault, Reporter};
use crate::network;
use crate::prelude::*;
use futures::stream::{FuturesUnordered, StreamExt};
use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use runtail_core::config::{self, Profile};
use rustls::ProtocolVersion;
use rustls::pki_types::ServerName;
use std::io;
use std::net::SocketAddr;
use std::time::Instant;
use tokio::net::{TcpStream, lookup_host};
use url::Host;

/// Number of days before a certificate expires from which on to warn.
const EXPIRY_WARNING_DAYS: i64 = 14;

/// Reports every step of a connection; returns whether a request can succeed.
pub(super) async fn examine(desk: &Reporter, url: &Url) -> bool {
    let Some((host, port)) = url.host().zip(url.port_or_known_default()) else {
        return false;
    };
    let address = format!("{host}:{port}");
    if let Some(proxy) = proxy_of(url) {
        return through(desk, &proxy, &address).await;
    }
    let Some(addresses) = resolve(desk, "host", &host.to_string(), port).await else {
        return false;
    };
    let Some(stream) = connect(desk, "connection", &address, &addresses).await else {
        return false;
    };
    if url.scheme() == "https" {
        tls(desk, &host, port, stream).await
    } else {
        true
    }
}

/// Returns the proxy of an address, by the rules of the HTTP client.
fn proxy_of(url: &Url) -> Option<Uri> {
    if url.scheme() == "http" && config::is_loopback(url) {
        return None;
    }
    Some(
        Matcher::from_system()
            .intercept(&url.as_str().parse().ok()?)?
            .uri()
            .clone(),
    )
}

/// Returns the credentials for proxies, which must never be shown.
pub(super) fn proxy_secrets(profile: &Profile) -> Vec<String> {
    let matcher = Matcher::from_system();
    let urls = profile
        .control_plane
        .iter()
        .chain(profile.agent_servers.iter().map(|(_, url)| url));
    let sent = urls.filter_map(|url| {
        let intercept = matcher.intercept(&url.as_str().parse().ok()?)?;
        let basic = intercept.basic_auth().and_then(|value| value.to_str().ok());
        Some(basic?.trim_start_matches("Basic ").to_string())
    });
    let variables = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"]
        .map(|name| [name.to_string(), name.to_lowercase()]);
    let named = variables
        .into_iter()
        .flatten()
        .filter_map(|name| std::env::var(name).ok());
    let passwords = named.filter_map(|text| Url::parse(&text).ok()?.password().map(str::to_string));
    sent.chain(passwords).collect()
}

/// Checks the connection to a proxy. Only the request itself can check what is behind it.
async fn through(desk: &Reporter, proxy: &Uri, target: &str) -> bool {
    let scheme = proxy.scheme_str().unwrap_or("http");
    let Some(host) = proxy.host() else {
        desk.tell(Check::bad(
            Fault::Configuration,
            "proxy",
            "the proxy of the environment has no host",
        ));
        return false;
    };
    let usual = if scheme == "https" { 443 } else { 80 };
    let port = proxy.port_u16().unwrap_or(usual);
    // Only these parts, because the URL may contain a password.
    let shown = format!("{scheme}://{host}:{port}");
    let bare = host.trim_matches(['[', ']']);
    let Some(addresses) = resolve(desk, "proxy", bare, port).await else {
        return false;
    };
    if connect(desk, "proxy", &shown, &addresses).await.is_none() {
        return false;
    }
    desk.tell(
        Check::skipped(
            "TLS",
            format!("{target} is reached through the proxy {shown}, so only the request itself can be checked"),
        )
        .to_do("NO_PROXY lists hosts to reach without the proxy"),
    );
    true
}

async fn resolve(
    desk: &Reporter,
    name: &'static str,
    host: &str,
    port: u16,
) -> Option<Vec<SocketAddr>> {
    let bare = host.trim_matches(['[', ']']);
    let found = tokio::time::timeout(desk.ask.connect_limit, lookup_host((bare, port))).await;
    let problem = match found {
        Ok(Ok(addresses)) => {
            let addresses: Vec<SocketAddr> = addresses.collect();
            if !addresses.is_empty() {
                let shown = addresses
                    .iter()
                    .take(3)
                    .map(|a| a.ip().to_string())
                    .collect::<Vec<_>>()
                    .join(", ");
                let more = if addresses.len() > 3 {
                    format!(" and {} more", addresses.len() - 3)
                } else {
                    String::new()
                };
                // An address needs no resolving.
                if bare.parse::<std::net::IpAddr>().is_err() {
                    desk.tell(Check::good(name, format!("{bare} is {shown}{more}")));
                }
                return Some(addresses);
            }
            "it has no address".to_string()
        }
        Ok(Err(error)) => answered(&error),
        Err(_) => format!(
            "no answer within {}",
            text::duration(desk.ask.connect_limit)
        ),
    };
    desk.tell(
        Check::bad(
            Fault::Network,
            name,
            format!("the name {bare} does not resolve"),
        )
        .seen(problem)
        .likely("a mistyped host, no network, or a name that exists only in another network (VPN)")
        .to_do("check the address in the profile, and the network"),
    );
    None
}

/// Tries all addresses concurrently; the first connection wins.
async fn connect(
    desk: &Reporter,
    name: &'static str,
    target: &str,
    addresses: &[SocketAddr],
) -> Option<TcpStream> {
    let began = Instant::now();
    let mut tries: FuturesUnordered<_> = addresses
        .iter()
        .map(|a| async move { (a, TcpStream::connect(a).await) })
        .collect();
    let mut problems = Vec::new();
    let limit = tokio::time::sleep(desk.ask.connect_limit);
    tokio::pin!(limit);
    loop {
        tokio::select! {
            biased;
            tried = tries.next() => match tried {
                Some((_, Ok(stream))) => {
                    desk.tell(Check::good(name, format!("to {target} in {}ms", began.elapsed().as_millis())));
                    return Some(stream);
                }
                Some((address, Err(error))) => problems.push(format!("{}: {}", address.ip(), answered(&error))),
                None => break,
            },
            () = &mut limit => {
                problems.push(format!("no answer within {}", text::duration(desk.ask.connect_limit)));
                break;
            }
        }
    }
    let refused = problems.iter().any(|p| p.contains("refused"));
    let mut check = Check::bad(Fault::Network, name, format!("no connection to {target}"));
    check.evidence = problems;
    desk.tell(if refused {
        check
            .likely("nothing listens there")
            .to_do("check that the server is running and that the port is correct")
    } else {
        check
            .likely("a firewall, or a network that this machine can't reach")
            .to_do("is a VPN, or a proxy in HTTPS_PROXY, needed?")
    });
    None
}

async fn tls(desk: &Reporter, host: &Host<&str>, port: u16, stream: TcpStream) -> bool {
    let name = match host {
        Host::Domain(name) => ServerName::try_from(name.to_string()).ok(),
        Host::Ipv4(ip) => Some(ServerName::from(std::net::IpAddr::from(*ip))),
        Host::Ipv6(ip) => Some(ServerName::from(std::net::IpAddr::from(*ip))),
    };
    let Some(name) = name else {
        desk.tell(Check::bad(
            Fault::Configuration,
            "TLS",
            format!("{host} is not a valid name for a certificate"),
        ));
        return false;
    };
    let Ok(shaken) =
        tokio::time::timeout(desk.ask.connect_limit, certificate::shake(name, stream)).await
    else {
        let limit = text::duration(desk.ask.connect_limit);
        desk.tell(
            Check::bad(
                Fault::Network,
                "TLS",
                format!("{host}:{port} accepts the connection but sends nothing for {limit}"),
            )
            .likely("a firewall or proxy, or another kind of server at this port"),
        );
        return false;
    };
    let Handshake {
        result,
        certificate,
    } = shaken;
    let now = Timestamp::now().as_second();
    match result {
        Ok(version) => {
            desk.tell(trusted(version, certificate.as_ref(), now));
            true
        }
        Err(error) => {
            let (found, hint) = match network::find::<rustls::Error>(&error) {
                Some(tls) => network::tls_failure(tls, &host.to_string(), port),
                None => (
                    format!(
                        "TLS with {host}:{port} was interrupted: {}",
                        answered(&error)
                    ),
                    None,
                ),
            };
            desk.tell(untrusted(found, hint, certificate.as_ref(), now));
            false
        }
    }
}

fn trusted(version: Option<ProtocolVersion>, certificate: Option<&Certificate>, now: i64) -> Check {
    let version = match version {
        Some(ProtocolVersion::TLSv1_3) => "TLS 1.3",
        Some(ProtocolVersion::TLSv1_2) => "TLS 1.2",
        _ => "TLS",
    };
    let Some(certificate) = certificate else {
        return Check::good("TLS", version);
    };
    let days = (certificate.ends - now) / 86400;
    let found = format!(
        "{version}, certificate by {}, valid for another {days} days",
        certificate.issuer
    );
    if days < EXPIRY_WARNING_DAYS {
        Check::warn("TLS", found)
            .likely("it expires soon, and then connections fail")
            .to_do("inform the server's operator")
    } else {
        Check::good("TLS", found)
    }
}

fn untrusted(
    found: String,
    hint: Option<String>,
    certificate: Option<&Certificate>,
    now: i64,
) -> Check {
    let mut check = Check::bad(Fault::Network, "TLS", found);
    if let Some(certificate) = certificate {
        let day = |second| {
            Timestamp::from_second(second)
                .map_or_else(|_| "?".into(), |t| t.strftime("%Y-%m-%d").to_string())
        };
        let (begins, ends) = (day(certificate.begins), day(certificate.ends));
        check = check.seen(format!(
            "certificate by {}, valid from {begins} to {ends}",
            certificate.issuer
        ));
        if now < certificate.begins || now > certificate.ends {
            let today = day(now);
            return check
                .likely(format!(
                    "the certificate is not valid today ({today}), or this machine's clock is wrong"
                ))
                .to_do("check the clock, or inform the server's operator");
        }
    }
    check.cause = hint;
    check
}

/// Returns the system's message without its error number.
fn answered(error: &io::Error) -> String {
    let said = error.to_string();
    said.split(" (os error")
        .next()
        .unwrap_or_default()
        .to_string()
}
