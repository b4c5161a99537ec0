//! The one HTTP client: who may be sent a key, what goes into every request, how answers are read within bounds.

use super::agent_server::Quirks;
use super::answer::{self, About, Plane, Shown};
use super::body::{MOST_UNPACKED, Unread, is_too_costly, read_body, read_head};
use super::connections::Connections;
use super::journal::{Journal, Noted, Outcome};
use super::keyless::Keyless;
use super::rows::Row;
use super::{ApiError, EventStream, Kind, Place, Retry, network, stream};
use bytes::Bytes;
use reqwest::header::{self, HeaderMap, HeaderValue};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use runtail_core::config::{self, Profile};
use runtail_core::model::{KEY_PLACE, PlainRequest, Secrets, TOKEN_PLACE, secret_texts};
use runtail_core::text;
use secrecy::{ExposeSecret, SecretString};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a plain request may take in all; every official client uses the same (control-plane reference §10).
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the head of a stream's answer may take. The stream itself has no limit.
const STREAM_HEAD_TIMEOUT: Duration = Duration::from_secs(60);
/// The limit of calls that have none of their own: `max_answer` applies to all.
pub(super) const MAX_BODY: usize = usize::MAX;
/// Largest part of a refusal's body that is read.
const MAX_REFUSAL: usize = 64 << 10;
/// Over how long the requests that waited while a server wanted to be left alone are spread.
const QUIET_SPREAD: Duration = Duration::from_secs(1);
/// The headers that say who asks (contract §5).
const API_KEY: &str = "x-api-key";
const AUTHORIZATION: &str = "authorization";
const WORKSPACE: &str = "x-tenant-id";
/// Seconds from which on two clocks differ.
const SKEW: i64 = 20;
/// Shortest secret that is searched for in messages, in bytes.
const MIN_SECRET: usize = 6;

/// The HTTP client of one profile. Cheap to clone; all clones share connections and the list of trusted origins.
#[derive(Clone)]
pub struct Http(Arc<Inner>);

struct Inner {
    profile: String,
    key: Option<SecretString>,
    bearer: Option<SecretString>,
    workspace: Option<String>,
    /// Why nothing may be written, where that is so.
    sealed: Option<String>,
    journal: Journal,
    allow_http: bool,
    /// Largest answer that is read, in bytes.
    max_answer: usize,
    /// Origins (scheme, host, port) that may be sent the profile's keys, or anything at all.
    origins: Mutex<HashSet<String>>,
    /// What the server's clock is ahead of ours, in seconds; 0 while it is about right.
    skew: AtomicI64,
    /// Until when the control plane wants to be left alone, after a 429.
    quiet_until: Mutex<Option<Instant>>,
    connections: Connections,
    /// What was learned about each agent server, by its address. Clients are made anew for each request, so it is kept here.
    quirks: Mutex<HashMap<Arc<str>, Arc<Quirks>>>,
}

/// One plain request.
pub(super) struct Call<'a> {
    pub plane: Plane,
    pub method: Method,
    pub url: Url,
    pub body: Option<&'a Value>,
    /// The record that it is about, whose secrets an answer may repeat.
    pub about: Option<&'a Value>,
    /// Statuses that mean success.
    pub expect: &'a [u16],
    pub is_list: bool,
    /// Whether it only reads, so that it may be made again: a GET, or a POST that carries a question.
    pub reads: bool,
    pub retry: Retry,
    /// How long it may take in all.
    pub timeout: Duration,
    /// Largest answer that is read, in bytes; a larger one is [`Kind::TooLarge`].
    pub max_body: usize,
}

/// What is known of an answer before its body, whether it was welcome or not.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub status: u16,
    /// What the server's clock is ahead of ours, in seconds, where it tells the time; 0 where it is about right.
    pub skew: Option<i64>,
    /// Whether the body is said to be a page for a browser.
    pub is_html: bool,
    /// From the request to the head.
    pub took: Duration,
}

/// An answer with a welcome status.
pub(super) struct Answer {
    headers: HeaderMap,
    body: Bytes,
    at: Place,
    /// The keys, and the secrets that were sent: an answer may repeat them, be it welcome or not.
    secrets: Secrets,
    /// The keys, where the answer repeats one and may need it all the same: among the secrets that a record of the control
    /// plane lists, which are sent again as they are and shown to nobody.
    repeated: Option<Secrets>,
}

impl Http {
    /// Makes the client of a profile and fetches its secrets. Reads files and may wait for a command (see
    /// [`config::SecretSource::resolve`]), so it is not for the thread of an async task. No connection is made.
    ///
    /// # Errors
    /// `Kind::Refused` when a key cannot be had; the hint says how to fix it.
    pub fn new(profile: &Profile) -> Result<Http, ApiError> {
        Http::sharing(profile, Journal::default(), Connections::default())
    }

    /// The same, with the journal in which it notes what it sends to change something, and with the connections of others.
    pub fn sharing(profile: &Profile, journal: Journal, connections: Connections) -> Result<Http, ApiError> {
        let fetch = |source: &Option<config::SecretSource>, keys: &str, what: &str| {
            let Some(source) = source else { return Ok(None) };
            source.resolve().map(Some).map_err(|e| ApiError {
                kind: Kind::Refused,
                at: Place { profile: profile.name.clone(), ..Place::default() },
                detail: text::clean(&e.to_string()).into_owned(),
                hint: Some(format!("the profile's {keys} says where the {what} is")),
            })
        };
        let inner = Inner {
            profile: text::clean(&profile.name).into_owned(),
            key: fetch(&profile.key, "api_key_env, api_key_file or api_key_command", "key")?,
            bearer: fetch(&profile.bearer, "bearer_env, bearer_file or bearer_command", "token")?,
            workspace: profile.workspace.clone(),
            sealed: profile.is_read_only().then(|| {
                let why = profile.sealed.as_deref().map(|why| text::clean(why).into_owned());
                why.unwrap_or_else(|| "the profile is read-only".into())
            }),
            journal,
            allow_http: profile.allow_http,
            max_answer: usize::try_from(profile.max_answer.unwrap_or(config::MAX_ANSWER)).unwrap_or(usize::MAX),
            origins: Mutex::default(),
            skew: AtomicI64::new(0),
            quiet_until: Mutex::default(),
            connections,
            quirks: Mutex::default(),
        };
        inner.key.iter().chain(&inner.bearer).for_each(|key| text::keys::guard(key.expose_secret()));
        let http = Http(Arc::new(inner));
        for url in profile.control_plane.iter().chain(profile.agent_servers.iter().map(|(_, url)| url)) {
            http.allow(url);
        }
        Ok(http)
    }

    /// Name of the profile.
    pub fn profile(&self) -> &str {
        &self.0.profile
    }

    /// The same keys for one other control plane and for nothing else; it can only read. Only where a person said so.
    pub(super) fn elsewhere(&self, base: &Url) -> Http {
        let Inner { profile, key, bearer, workspace, .. } = &*self.0;
        let http = Http(Arc::new(Inner {
            profile: profile.clone(),
            key: key.clone(),
            bearer: bearer.clone(),
            workspace: workspace.clone(),
            sealed: Some("it is only asked".into()),
            journal: Journal::default(),
            allow_http: self.0.allow_http,
            max_answer: self.0.max_answer,
            origins: Mutex::default(),
            skew: AtomicI64::new(0),
            quiet_until: Mutex::default(),
            connections: self.0.connections.clone(),
            quirks: Mutex::default(),
        }));
        http.allow(base);
        http
    }

    /// Trusts the origin of an address with this profile's keys: its control plane, its agent servers, and the addresses
    /// that the control plane's own records name.
    pub fn allow(&self, url: &Url) {
        let mut origins = self.0.origins.lock().unwrap_or_else(PoisonError::into_inner);
        origins.insert(url.origin().ascii_serialization());
    }

    /// What was learned about the agent server at this address.
    pub(super) fn quirks(&self, base: &str) -> Arc<Quirks> {
        let mut known = self.0.quirks.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(base.into()).or_default().clone()
    }

    /// What the server's clock was ahead of ours at the last answer of the control plane; nothing where it is about right.
    pub(super) fn skew(&self) -> jiff::SignedDuration {
        jiff::SignedDuration::from_secs(self.0.skew.load(Ordering::Relaxed))
    }

    /// Sleeps until the control plane may be asked again, where it said 429. Those who wait do not come back together.
    async fn quiet(&self) {
        // It may say so again meanwhile.
        loop {
            let until = *self.0.quiet_until.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(until) = until.filter(|until| *until > Instant::now()) else { return };
            tokio::time::sleep_until(until.into()).await;
            tokio::time::sleep(QUIET_SPREAD.mul_f64(fastrand::f64())).await;
        }
    }

    /// Makes a plain request; one that reads is tried again as the call's policy says, everything else once.
    pub(super) async fn call(&self, call: Call<'_>) -> Result<Answer, ApiError> {
        let mut attempt = 1;
        loop {
            if call.retry.heeds {
                self.quiet().await;
            }
            let error = match self.once(&call, &mut None, None).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let wait = call.reads.then(|| call.retry.wait(&error, attempt, fastrand::f64())).flatten();
            let Some(wait) = wait else { return Err(error) };
            tokio::time::sleep(wait).await;
            attempt += 1;
        }
    }

    /// Makes a request once and tells also what is known of an answer that was not welcome.
    pub(super) async fn probe(&self, call: &Call<'_>) -> (Option<Head>, Result<Answer, ApiError>) {
        let mut head = None;
        let result = self.once(call, &mut head, None).await;
        (head, result)
    }

    /// Makes a request once. A planned change is added to the journal as its preview shows it: with its title, and with
    /// the request masked by all secrets that the plan knows.
    pub(super) async fn once(
        &self,
        call: &Call<'_>,
        head: &mut Option<Head>,
        planned: Option<(&str, Option<&PlainRequest>)>,
    ) -> Result<Answer, ApiError> {
        let at = self.place(&call.method, &call.url);
        if !call.reads {
            self.check_write(&at)?;
        }
        let mut request = self.request(call.plane, &call.method, &call.url, call.reads)?;
        // Unpacked by `read_body`, which has limits, and not by the HTTP client.
        request = request
            .header(header::ACCEPT, "application/json")
            .header(header::ACCEPT_ENCODING, "gzip")
            .timeout(call.timeout);
        if let Some(body) = call.body {
            request = request.json(body);
        }
        let broken = |e: &reqwest::Error| self.scrubbed(network::failure(e, &call.url, at.clone()), call.body);
        let own = || self.shown(call.plane, at.method.clone(), &call.url, call.body);
        let mut noted = (!call.reads).then(|| {
            let (title, shown) = (planned.map(|(title, _)| title), planned.and_then(|(_, shown)| shown));
            self.0.journal.begin(title, &at, shown.cloned().unwrap_or_else(own))
        });
        let began = Instant::now();
        let sent = request.send().await;
        self.trace(&at, began, sent.as_ref().ok());
        if let Some(noted) = &mut noted {
            noted.ended(match &sent {
                Ok(response) => Outcome::Status(response.status().as_u16()),
                Err(e) => Outcome::NoAnswer(broken(e).detail),
            });
        }
        let response = sent.map_err(|e| broken(&e))?;
        self.0.connections.note(&call.url, response.version());
        let skew = clock_skew(response.headers(), jiff::Timestamp::now());
        if let (Plane::Control, Some(skew)) = (call.plane, skew) {
            self.0.skew.store(skew, Ordering::Relaxed);
        }
        let is_html = answer::is_html(response.headers(), b"");
        *head = Some(Head { status: response.status().as_u16(), skew, is_html, took: began.elapsed() });
        if !call.expect.contains(&response.status().as_u16()) {
            let error =
                self.refused(response, at, call.plane, call.is_list, call.body.into_iter().chain(call.about)).await;
            if !error.quiet().is_zero() && call.plane == Plane::Control {
                let until = Instant::now() + error.quiet();
                let mut quiet = self.0.quiet_until.lock().unwrap_or_else(PoisonError::into_inner);
                *quiet = Some(quiet.map_or(until, |q| q.max(until)));
            }
            return Err(error);
        }
        let headers = response.headers().clone();
        let limit = call.max_body.min(self.0.max_answer);
        let too_large = |detail| ApiError { kind: Kind::TooLarge(limit), at: at.clone(), detail, hint: None };
        let body = read_body(response, limit).await.map_err(|why| match why {
            Unread::Broken(e) => broken(&e),
            Unread::Short => {
                let detail = "the connection broke in the middle of the answer: it is shorter than announced".into();
                ApiError { kind: Kind::Network, at: at.clone(), detail, hint: None }
            }
            Unread::TooLarge => too_large(format!("the answer is larger than {}", text::bytes(limit as u64))),
            Unread::Unpacks(wire, unpacked) => too_large(format!(
                "the answer unpacks to more than {MOST_UNPACKED} times its size ({} from {}): the rest was not read",
                text::bytes(unpacked as u64),
                text::bytes(wire as u64)
            )),
            Unread::Undecodable(detail) => ApiError { kind: Kind::Protocol, at: at.clone(), detail, hint: None },
        })?;
        if is_too_costly(&body) {
            return Err(too_large("parsing the answer would take too much memory: it has too many values".into()));
        }
        let (body, repeated) = self.without_keys(body, call.plane);
        Ok(Answer { headers, body, at, secrets: self.secrets(call.body), repeated })
    }

    /// Opens a stream of events on an agent server. One attempt; a limit on the head of the answer, none on the stream.
    pub(super) async fn open(
        &self,
        method: Method,
        url: Url,
        body: Option<&Value>,
        last_event_id: Option<&str>,
    ) -> Result<EventStream, ApiError> {
        let at = self.place(&method, &url);
        let writes = method != Method::GET;
        if writes {
            self.check_write(&at)?;
        }
        let mut request = self.request(Plane::Agent, &method, &url, !writes)?;
        request = request
            .header(header::ACCEPT, "text/event-stream")
            .header(header::CACHE_CONTROL, "no-store")
            // A compressed stream comes in bursts, and resuming needs its bytes one by one.
            .header(header::ACCEPT_ENCODING, "identity");
        if let Some(id) = last_event_id {
            let value = HeaderValue::from_str(id)
                .map_err(|_| self.refuse(&at, "the id of the last event cannot be sent in a header".into(), None))?;
            request = request.header("last-event-id", value);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let mut noted = writes.then(|| self.note(&at, Plane::Agent, &url, body));
        let began = Instant::now();
        let sent = tokio::time::timeout(STREAM_HEAD_TIMEOUT, request.send()).await;
        self.trace(&at, began, sent.as_ref().ok().and_then(|sent| sent.as_ref().ok()));
        if let (Some(noted), Ok(sent)) = (&mut noted, &sent) {
            noted.ended(match sent {
                Ok(response) => Outcome::Status(response.status().as_u16()),
                Err(e) => Outcome::NoAnswer(self.scrubbed(network::failure(e, &url, at.clone()), body).detail),
            });
        }
        let response = match sent {
            Ok(Ok(response)) => response,
            Ok(Err(e)) => return Err(self.scrubbed(network::failure(&e, &url, at), body)),
            Err(_) => {
                let detail = format!("no answer within {} s", STREAM_HEAD_TIMEOUT.as_secs());
                return Err(ApiError { kind: Kind::Timeout, at, detail, hint: None });
            }
        };
        if response.status() != StatusCode::OK {
            return Err(self.refused(response, at, Plane::Agent, false, body).await);
        }
        stream::of_response(self, response, url, at).await.map_err(|error| self.scrubbed(error, body))
    }

    /// Starts a request: checks that its target may be spoken to and puts on it what its service expects (contract §5).
    fn request(&self, plane: Plane, method: &Method, url: &Url, reads: bool) -> Result<RequestBuilder, ApiError> {
        let at = self.place(method, url);
        if !matches!(url.scheme(), "http" | "https") {
            return Err(self.refuse(&at, "this address is neither http nor https".into(), None));
        }
        if url.scheme() == "http" && !config::is_loopback(url) && !self.0.allow_http {
            let hint = "use https, or say `allow_http = true` in the profile".to_string();
            return Err(self.refuse(&at, "plain http to another machine is not allowed".into(), Some(hint)));
        }
        let trusted = {
            let origins = self.0.origins.lock().unwrap_or_else(PoisonError::into_inner);
            origins.contains(&url.origin().ascii_serialization())
        };
        if !trusted {
            let detail = format!("{} does not belong to this profile, and its keys stay at home", at.host);
            return Err(self.refuse(&at, detail, None));
        }
        let client = self.0.connections.client(url, reads).map_err(|e| network::failure(&e, url, at.clone()))?;
        let secret = |text: String| {
            let mut value = HeaderValue::from_str(&text).map_err(|_| {
                self.refuse(&at, "what says who asks holds characters that no header can carry".into(), None)
            })?;
            value.set_sensitive(true);
            Ok::<_, ApiError>(value)
        };
        let mut headers = HeaderMap::new();
        let exposed =
            |secret: &Option<SecretString>| secret.as_ref().map_or("", ExposeSecret::expose_secret).to_string();
        for (name, _) in self.identity(plane) {
            let Inner { key, bearer, workspace, .. } = &*self.0;
            let value = match name {
                API_KEY => exposed(key),
                AUTHORIZATION => format!("Bearer {}", exposed(bearer)),
                _ => workspace.clone().unwrap_or_default(),
            };
            headers.insert(name, secret(value)?);
        }
        Ok(client.request(method.clone(), url.clone()).headers(headers))
    }

    /// Where writing is ruled out, nothing that writes gets past here, whoever asks for it.
    pub(super) fn check_write(&self, at: &Place) -> Result<(), ApiError> {
        let Some(why) = &self.0.sealed else { return Ok(()) };
        Err(ApiError { kind: Kind::ReadOnly, at: at.clone(), detail: format!("nothing was sent: {why}"), hint: None })
    }

    /// Begins an entry of the journal.
    fn note(&self, at: &Place, plane: Plane, url: &Url, body: Option<&Value>) -> Noted {
        self.0.journal.begin(None, at, self.shown(plane, at.method.clone(), url, body))
    }

    /// A request as it can be shown: placeholders for keys, masks for secrets.
    pub(super) fn shown(&self, plane: Plane, method: String, url: &Url, body: Option<&Value>) -> PlainRequest {
        let secrets = self.secrets(body);
        let mut body = body.cloned();
        if let Some(body) = &mut body {
            secrets.mask(body);
        }
        let headers = self.identity(plane).into_iter().map(|(name, value)| (name.to_string(), value)).collect();
        PlainRequest { method, url: secrets.scrub(url.as_str()), headers, body }
    }

    /// The headers by which this profile says who it is (contract §5), with placeholders for what is secret.
    ///
    /// The control plane takes a key or a bearer token; an agent server may sit behind a gateway that wants its own token,
    /// so it gets both. The workspace belongs to the control plane alone.
    pub(super) fn identity(&self, plane: Plane) -> Vec<(&'static str, String)> {
        let Inner { key, bearer, workspace, .. } = &*self.0;
        let mut headers = Vec::new();
        if key.is_some() {
            headers.push((API_KEY, KEY_PLACE.to_string()));
        }
        if bearer.is_some() && (key.is_none() || plane == Plane::Agent) {
            headers.push((AUTHORIZATION, TOKEN_PLACE.to_string()));
        }
        if let Some(workspace) = workspace.as_ref().filter(|_| plane == Plane::Control) {
            headers.push((WORKSPACE, text::clean(workspace).into_owned()));
        }
        headers
    }

    /// The same in a word.
    pub(super) fn credentials(&self, plane: Plane) -> Shown {
        let sent = self.identity(plane);
        let has = |header: &str| sent.iter().any(|(name, _)| *name == header);
        match (has(API_KEY), has(AUTHORIZATION)) {
            (false, false) => Shown::Nothing,
            (true, false) => Shown::Key,
            (false, true) => Shown::Token,
            (true, true) => Shown::Both,
        }
    }

    async fn refused<'s>(
        &'s self,
        response: Response,
        at: Place,
        plane: Plane,
        is_list: bool,
        known: impl IntoIterator<Item = &'s Value>,
    ) -> ApiError {
        let about = About { plane, is_list, shown: self.credentials(plane), has_workspace: self.0.workspace.is_some() };
        let (status, headers) = (response.status(), response.headers().clone());
        // The status is what matters; a body that breaks off says nothing and takes nothing away.
        let read = tokio::time::timeout(Duration::from_secs(5), read_head(response, MAX_REFUSAL)).await;
        // Before the body is read and cut: half of a key at a cut would not be found any more.
        let secrets = self.secrets(known);
        let body = secrets.scrub(&String::from_utf8_lossy(&read.unwrap_or_default()));
        answer::refusal(status, &headers, body.as_bytes(), at, about).without(&secrets)
    }

    /// Tells the diagnostics of a request: where it went and what came, never a header, a body or a query.
    fn trace(&self, at: &Place, began: Instant, answered: Option<&Response>) {
        let Place { profile, method, host, path, .. } = at;
        let ms = began.elapsed().as_millis();
        match answered {
            Some(response) => {
                let status = response.status().as_u16();
                let request_id = self.secrets(None).scrub(&answer::request_id(response.headers()).unwrap_or_default());
                tracing::debug!(%profile, %method, %host, %path, status, ms, %request_id, "request");
            }
            None => tracing::debug!(%profile, %method, %host, %path, ms, "request without an answer"),
        }
    }

    pub(super) fn refuse(&self, at: &Place, detail: String, hint: Option<String>) -> ApiError {
        ApiError { kind: Kind::Refused, at: at.clone(), detail, hint }
    }

    /// Where a request goes, for errors: no query, since that may carry what somebody searched for.
    pub(super) fn place(&self, method: &Method, url: &Url) -> Place {
        Place {
            profile: self.0.profile.clone(),
            method: method.to_string(),
            host: url.origin().ascii_serialization(),
            path: text::clean(url.path()).into_owned(),
            ..Place::default()
        }
    }

    /// Takes out of an error whatever was repeated of the keys, and of the secrets in the body that was sent.
    fn scrubbed(&self, error: ApiError, sent: Option<&Value>) -> ApiError {
        error.without(&self.secrets(sent))
    }

    /// Takes the keys out of an answer that repeats them, before anybody reads it. Costs one look for each of them.
    fn without_keys(&self, body: Bytes, plane: Plane) -> (Bytes, Option<Secrets>) {
        let keys = self.secrets(None);
        let clean = Keyless::whole(&keys, &body);
        match (clean, plane) {
            (None, _) => (body, None),
            (Some(clean), Plane::Agent) => (clean, None),
            (Some(_), Plane::Control) => (body, Some(keys)),
        }
    }

    /// The keys, and the secrets in what is known: the body that was sent, the record that it is about.
    pub(super) fn secrets<'s>(&'s self, known: impl IntoIterator<Item = &'s Value>) -> Secrets {
        let Inner { key, bearer, .. } = &*self.0;
        let keys = key.iter().chain(bearer).map(|key| key.expose_secret());
        Secrets::new(keys.chain(known.into_iter().flat_map(secret_texts)), MIN_SECRET)
    }
}

/// What a server's clock is ahead of ours by its `Date` (RFC 9110 §6.6.1), in seconds. A small difference is the way and
/// the second's rounding, and counts as none.
fn clock_skew(headers: &HeaderMap, now: jiff::Timestamp) -> Option<i64> {
    let date = headers.get(header::DATE)?.to_str().ok()?;
    let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(date).ok()?;
    let ahead = date.as_second() - now.as_second();
    Some(if ahead.abs() < SKEW { 0 } else { ahead })
}

impl Answer {
    /// Reads the body as JSON.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        let read = match &self.repeated {
            None => text::depth::parse(&self.body),
            Some(keys) => text::depth::parse::<Value>(&self.body).and_then(|mut value| {
                keys.take_out(&mut value);
                serde_json::from_value(value)
            }),
        };
        read.map_err(|e| {
            // Before it is cut, as in a refusal.
            let head = String::from_utf8_lossy(&self.body[..self.body.len().min(MAX_REFUSAL)]);
            let head = self.secrets.scrub(&head);
            answer::not_json(&self.headers, head.as_bytes(), &e, self.at.clone()).without(&self.secrets)
        })
    }

    /// Reads the rows of a list, each as received: those of the field, which may be missing if there are none, or the plain
    /// array of older installations.
    pub fn rows(&self, field: &str) -> Result<Vec<Row>, ApiError> {
        match self.body.trim_ascii_start().first() {
            Some(b'{') => match self.json::<HashMap<String, Row>>()?.remove(field) {
                None => Ok(Vec::new()),
                Some(value) if value.get() == "null" => Ok(Vec::new()),
                Some(rows) => {
                    serde_json::from_str(rows.get()).map_err(|_| self.odd(&format!("`{field}` is not a list")))
                }
            },
            Some(b'[') | None => self.json(),
            Some(_) => self.json().and_then(|_: IgnoredAny| Err(self.odd("it is not a list"))),
        }
    }

    /// The same where the answer may also be empty: then it is null.
    pub fn maybe_json(&self) -> Result<Value, ApiError> {
        if self.body.is_empty() { Ok(Value::Null) } else { self.json() }
    }

    /// Whether a list goes on after this page, where the server says so.
    pub fn has_next_page(&self) -> bool {
        self.headers.contains_key("x-pagination-next")
    }

    /// The server's name for the request, if it gave one, without what it was sent.
    pub fn request_id(&self) -> Option<String> {
        Some(self.secrets.scrub(&answer::request_id(&self.headers)?))
    }

    /// The error that an answer of an unexpected shape is.
    pub fn odd(&self, why: &str) -> ApiError {
        let mut at = self.at.clone();
        at.request_id = answer::request_id(&self.headers);
        let detail = format!("an answer that is not understood: {}", answer::line(why));
        ApiError { kind: Kind::Protocol, at, detail, hint: None }.without(&self.secrets)
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http")
            .field("profile", &self.0.profile)
            .field("key", &self.0.key.is_some())
            .field("bearer", &self.0.bearer.is_some())
            .finish_non_exhaustive()
    }
}

/// An address below a base, its parts encoded. Parts come from people and servers: an empty one, or one of dots, would
/// address something else than was meant.
pub(super) fn join(http: &Http, method: &Method, base: &Url, parts: &[&str]) -> Result<Url, ApiError> {
    let mut url = base.clone();
    if let Some(part) = parts.iter().find(|p| matches!(**p, "" | "." | "..") || p.chars().any(char::is_control)) {
        let at = http.place(method, base);
        return Err(http.refuse(&at, format!("\"{}\" is not an identifier", text::clean(part)), None));
    }
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(parts);
    }
    Ok(url)
}
