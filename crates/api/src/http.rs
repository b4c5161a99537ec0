//! The HTTP client: which hosts may receive a key, headers of every request, limits of responses.

use crate::answer::{self, About, Shown};
use crate::body::{MOST_UNPACKED, Unread, is_too_costly, read_body, read_head};
use crate::connections::{Connections, lock};
use crate::journal::{Journal, Outcome};
use crate::keyless::SecretRedactor;
use crate::prelude::*;
use crate::quirks::Quirks;
use crate::response::{Head, MAX_REFUSAL, clock_skew};
use crate::{EventStream, Retry, network, stream};
use bytes::Bytes;
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use reqwest::{RequestBuilder, Response, StatusCode};
use runtail_core::config::{self, Profile};
use runtail_core::model::{KEY_PLACE, PlainRequest, TOKEN_PLACE, secret_texts};
use runtail_core::secret;
use secrecy::{ExposeSecret, SecretString};
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

/// Timeout of a plain request; the same as in all official clients (control-plane reference §10).
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout of the head of a stream. The stream itself has none.
const STREAM_HEAD_TIMEOUT: Duration = Duration::from_secs(60);
/// No limit besides `max_answer`, which applies to all calls.
pub const MAX_BODY: usize = usize::MAX;
/// Time over which the requests that waited for a rate limit are spread.
const QUIET_SPREAD: Duration = Duration::from_secs(1);
/// The headers with credentials (contract §5).
const API_KEY: &str = "x-api-key";
const AUTHORIZATION: &str = "authorization";
const WORKSPACE: &str = "x-tenant-id";
/// Minimum length, in bytes, of a secret to search for in messages.
const MIN_SECRET: usize = 6;

/// The HTTP client of one profile. Cheap to clone; all clones share connections and the list of trusted origins.
#[derive(Clone)]
pub struct Http(Arc<Inner>);

struct Inner {
    profile: String,
    key: Option<SecretString>,
    bearer: Option<SecretString>,
    workspace: Option<String>,
    /// Why writing is not allowed, if so.
    sealed: Option<String>,
    journal: Journal,
    allow_http: bool,
    only_local: bool,
    /// Maximum size of a response, in bytes.
    max_answer: usize,
    /// Origins (scheme, host, port) that may receive requests and the profile's keys.
    origins: Mutex<HashSet<String>>,
    /// The server's clock offset in seconds; 0 if it is small.
    skew: AtomicI64,
    /// When the control plane's rate limit ends, after a 429.
    quiet_until: Mutex<Option<Instant>>,
    connections: Connections,
    /// Quirks of each agent server, by its address. Kept here because a client is created for each request.
    quirks: Mutex<HashMap<Arc<str>, Arc<Quirks>>>,
}

/// One plain request.
pub struct Call<'a> {
    pub plane: Service,
    pub method: Method,
    pub url: Url,
    pub body: Option<&'a Value>,
    /// The target's record, whose secrets a response may repeat.
    pub about: Option<&'a Value>,
    /// Success statuses.
    pub expect: &'a [u16],
    pub is_list: bool,
    /// Whether it only reads, so that it may be retried: a GET, or a POST such as a search.
    pub reads: bool,
    pub retry: Retry,
    pub timeout: Duration,
    /// Maximum size of the response, in bytes; a larger one is [`Kind::TooLarge`].
    pub max_body: usize,
}

impl<'a> Call<'a> {
    /// A request that is made once, without a body. Only a GET reads.
    pub fn new(plane: Service, method: Method, url: Url) -> Call<'a> {
        Call {
            plane,
            reads: method == Method::GET,
            method,
            url,
            body: None,
            about: None,
            expect: &[200],
            is_list: false,
            retry: Retry::NONE,
            timeout: REQUEST_TIMEOUT,
            max_body: MAX_BODY,
        }
    }
}

impl Http {
    /// Creates the client of a profile and fetches its secrets. Reads files and may wait for a command (see
    /// [`config::SecretSource::resolve`]), so don't call it on an async thread. Makes no connection.
    ///
    /// # Errors
    /// `Kind::NoKey` if a key can't be read; the hint says how to fix it.
    pub fn new(profile: &Profile) -> Result<Http, ApiError> {
        Http::sharing(profile, Journal::default(), Connections::default())
    }

    /// The same, with a journal for its write requests, and with shared connections.
    pub fn sharing(
        profile: &Profile,
        journal: Journal,
        connections: Connections,
    ) -> Result<Http, ApiError> {
        let fetch = |source: &Option<config::SecretSource>, keys: &str, what: &str| {
            let Some(source) = source else {
                return Ok(None);
            };
            source.resolve().map(Some).map_err(|e| ApiError {
                kind: Kind::NoKey,
                at: Place::of(&profile.name),
                detail: text::clean(&e.to_string()).into_owned(),
                hint: Some(format!("the {what} comes from {keys} in the profile")),
            })
        };
        let inner = Inner {
            profile: text::clean(&profile.name).into_owned(),
            key: fetch(
                &profile.key,
                "api_key_env, api_key_file, api_key_command or api_key_keyring",
                "key",
            )?,
            bearer: fetch(
                &profile.bearer,
                "bearer_env, bearer_file, bearer_command or bearer_keyring",
                "token",
            )?,
            workspace: profile.workspace.clone(),
            sealed: profile.is_read_only().then(|| {
                let why = profile
                    .sealed
                    .as_deref()
                    .map(|why| text::clean(why).into_owned());
                why.unwrap_or_else(|| "the profile is read-only".into())
            }),
            journal,
            allow_http: profile.allow_http,
            only_local: profile.only_local,
            max_answer: usize::try_from(profile.max_answer.unwrap_or(config::MAX_ANSWER))
                .unwrap_or(usize::MAX),
            origins: Mutex::default(),
            skew: AtomicI64::new(0),
            quiet_until: Mutex::default(),
            connections,
            quirks: Mutex::default(),
        };
        inner
            .key
            .iter()
            .chain(&inner.bearer)
            .for_each(|key| secret::keys::guard(key.expose_secret()));
        let http = Http(Arc::new(inner));
        for url in profile
            .control_plane
            .iter()
            .chain(profile.agent_servers.iter().map(|(_, url)| url))
        {
            http.allow(url);
        }
        Ok(http)
    }

    /// Returns the profile's name.
    pub fn profile(&self) -> &str {
        &self.0.profile
    }

    /// Trusts the origin of an address with this profile's keys: its control plane, its agent servers, and the addresses
    /// that the control plane's own records name.
    pub fn allow(&self, url: &Url) {
        lock(&self.0.origins).insert(url.origin().ascii_serialization());
    }

    /// Returns the quirks of the agent server at this address.
    pub(super) fn quirks(&self, base: &str) -> Arc<Quirks> {
        lock(&self.0.quirks).entry(base.into()).or_default().clone()
    }

    /// Returns the control plane's clock offset at its last response; nothing if it is small.
    pub(super) fn skew(&self) -> jiff::SignedDuration {
        jiff::SignedDuration::from_secs(self.0.skew.load(Ordering::Relaxed))
    }

    /// Sleeps until the control plane's rate limit ends, with jitter.
    async fn quiet(&self) {
        // The limit may have been extended.
        loop {
            let until = *lock(&self.0.quiet_until);
            let Some(until) = until.filter(|until| *until > Instant::now()) else {
                return;
            };
            tokio::time::sleep_until(until.into()).await;
            tokio::time::sleep(QUIET_SPREAD.mul_f64(fastrand::f64())).await;
        }
    }

    /// Makes a plain request. Reads are retried by the call's policy, all others are made once.
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
            let wait = call
                .reads
                .then(|| call.retry.wait(&error, attempt, fastrand::f64()))
                .flatten();
            let Some(wait) = wait else { return Err(error) };
            tokio::time::sleep(wait).await;
            attempt += 1;
        }
    }

    /// Makes a request once and returns also the head of an error response.
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
        let answer = self.attempt(call, head, planned).await;
        answer.map_err(ApiError::maybe_applied)
    }

    async fn attempt(
        &self,
        call: &Call<'_>,
        head: &mut Option<Head>,
        planned: Option<(&str, Option<&PlainRequest>)>,
    ) -> Result<Answer, ApiError> {
        // `read_body` decompresses with limits, instead of the HTTP client.
        let headers = [
            (header::ACCEPT, "application/json"),
            (header::ACCEPT_ENCODING, "gzip"),
        ];
        let (at, response, took) = self.send(call, headers, None, planned).await?;
        self.0.connections.note(&call.url, response.version());
        let skew = clock_skew(response.headers(), jiff::Timestamp::now());
        if let (Service::Control, Some(skew)) = (call.plane, skew) {
            self.0.skew.store(skew, Ordering::Relaxed);
        }
        let is_html = answer::is_html(response.headers(), b"");
        *head = Some(Head {
            status: response.status().as_u16(),
            skew,
            is_html,
            took,
        });
        if !call.expect.contains(&response.status().as_u16()) {
            let error = self.refused(response, at, call).await;
            if !error.quiet().is_zero() && call.plane == Service::Control {
                let until = Instant::now() + error.quiet();
                let mut quiet = lock(&self.0.quiet_until);
                *quiet = Some(quiet.map_or(until, |q| q.max(until)));
            }
            return Err(error);
        }
        let headers = response.headers().clone();
        let limit = call.max_body.min(self.0.max_answer);
        let broken = |kind, detail: String| ApiError::new(kind, at.clone(), detail);
        let too_large = |detail| broken(Kind::TooLarge(limit), detail);
        let body = read_body(response, limit).await.map_err(|why| match why {
            Unread::Broken(e) => self.broken(&e, call, at.clone()),
            Unread::Short => {
                let detail = "the connection broke in the middle of the response: it is shorter than its content-length";
                broken(Kind::Network, detail.into())
            }
            Unread::TooLarge => too_large(format!("the response is larger than {}", text::bytes(limit as u64))),
            Unread::Unpacks(wire, unpacked) => too_large(format!(
                "the response decompresses to more than {MOST_UNPACKED} times its size ({} from {}); the rest was not read",
                text::bytes(unpacked as u64),
                text::bytes(wire as u64)
            )),
            Unread::Undecodable(detail) => broken(Kind::Protocol, detail),
        })?;
        if is_too_costly(&body) {
            return Err(too_large(
                "parsing the response would take too much memory: it has too many values".into(),
            ));
        }
        let (body, repeated) = self.without_keys(body, call.plane);
        Ok(Answer {
            headers,
            body,
            at,
            secrets: self.secrets(call.body),
            repeated,
        })
    }

    /// Opens an event stream on an agent server. One attempt, with a timeout for the head only.
    pub(super) async fn open(
        &self,
        method: Method,
        url: Url,
        body: Option<&Value>,
        last_event_id: Option<&str>,
    ) -> Result<EventStream, ApiError> {
        let call = Call {
            body,
            timeout: STREAM_HEAD_TIMEOUT,
            ..Call::new(Service::Agent, method, url)
        };
        let headers = [
            (header::ACCEPT, "text/event-stream"),
            (header::CACHE_CONTROL, "no-store"),
            // A compressed stream arrives in bursts, and resuming needs every byte.
            (header::ACCEPT_ENCODING, "identity"),
        ];
        let resumed = Some(last_event_id);
        let (at, response, _) = self.send(&call, headers, resumed, None).await?;
        if response.status() != StatusCode::OK {
            return Err(self.refused(response, at, &call).await);
        }
        stream::of_response(self, response, call.url, at)
            .await
            .map_err(|error| error.without(&self.secrets(body)))
    }

    /// Sends a request once, and adds a write to the journal. A stream, which may be resumed after an event, has a timeout
    /// for its head only.
    async fn send<const N: usize>(
        &self,
        call: &Call<'_>,
        headers: [(HeaderName, &'static str); N],
        stream: Option<Option<&str>>,
        planned: Option<(&str, Option<&PlainRequest>)>,
    ) -> Result<(Place, Response, Duration), ApiError> {
        let at = Place {
            is_write: !call.reads,
            ..self.place(&call.method, &call.url)
        };
        if !call.reads {
            self.check_write(&at)?;
        }
        let mut request = self.request(call.plane, &call.method, &call.url, call.reads)?;
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some(id) = stream.flatten() {
            let value = HeaderValue::from_str(id).map_err(|_| {
                self.refuse(
                    &at,
                    "the id of the last event can't be sent in a header".into(),
                    None,
                )
            })?;
            request = request.header("last-event-id", value);
        }
        if let Some(body) = call.body {
            request = request
                .header(header::CONTENT_TYPE, "application/json")
                .body(self.written(&at, body)?);
        }
        let patience = match stream {
            Some(_) => call.timeout,
            None => {
                request = request.timeout(call.timeout);
                Duration::MAX
            }
        };
        let own = || self.shown(call.plane, at.method.clone(), &call.url, call.body);
        let mut noted = (!call.reads).then(|| {
            let (title, shown) = planned.unzip();
            let shown = shown.flatten().cloned().unwrap_or_else(own);
            self.0.journal.begin(title, &at, shown)
        });
        let began = Instant::now();
        let sent = tokio::time::timeout(patience, request.send()).await;
        self.trace(
            &at,
            began,
            sent.as_ref().ok().and_then(|sent| sent.as_ref().ok()),
        );
        let Ok(sent) = sent else {
            let detail = format!("no answer within {} s", patience.as_secs());
            return Err(ApiError::new(Kind::Timeout, at, detail));
        };
        let sent = sent.map_err(|e| self.broken(&e, call, at.clone()));
        if let Some(noted) = &mut noted {
            noted.ended(match &sent {
                Ok(response) => Outcome::Status(response.status().as_u16()),
                Err(error) => Outcome::NoAnswer(error.detail.clone()),
            });
        }
        Ok((at, sent?, began.elapsed()))
    }

    fn broken(&self, error: &reqwest::Error, call: &Call<'_>, at: Place) -> ApiError {
        network::failure(error, &call.url, at).without(&self.secrets(call.body))
    }

    /// Starts a request: checks its target and adds the headers of its service (contract §5).
    fn request(
        &self,
        plane: Service,
        method: &Method,
        url: &Url,
        reads: bool,
    ) -> Result<RequestBuilder, ApiError> {
        let at = self.place(method, url);
        if !matches!(url.scheme(), "http" | "https") {
            return Err(self.refuse(&at, "this address is neither http nor https".into(), None));
        }
        if self.0.only_local && !config::is_loopback(url) {
            return Err(self.refuse(
                &at,
                "this server is not simulated; nothing was sent".into(),
                None,
            ));
        }
        if url.scheme() == "http" && !config::is_loopback(url) && !self.0.allow_http {
            let hint = "use https, or say `allow_http = true` in the profile".to_string();
            return Err(self.refuse(
                &at,
                "plain http to another machine is not allowed".into(),
                Some(hint),
            ));
        }
        if !lock(&self.0.origins).contains(&url.origin().ascii_serialization()) {
            let detail = format!(
                "refusing to send this profile's key to {}: the host is not part of the profile",
                at.host
            );
            return Err(self.refuse(&at, detail, None));
        }
        let client = self
            .0
            .connections
            .client(url, reads)
            .map_err(|e| network::failure(&e, url, at.clone()))?;
        let secret = |text: String| {
            let mut value = HeaderValue::from_str(&text).map_err(|_| {
                self.refuse(
                    &at,
                    "the key or the token contains characters that are not allowed in a header"
                        .into(),
                    None,
                )
            })?;
            value.set_sensitive(true);
            Ok::<_, ApiError>(value)
        };
        let mut headers = HeaderMap::new();
        let exposed = |secret: &Option<SecretString>| {
            secret
                .as_ref()
                .map_or("", ExposeSecret::expose_secret)
                .to_string()
        };
        for (name, _) in self.identity(plane) {
            let Inner {
                key,
                bearer,
                workspace,
                ..
            } = &*self.0;
            let value = match name {
                API_KEY => exposed(key),
                AUTHORIZATION => format!("Bearer {}", exposed(bearer)),
                _ => workspace.clone().unwrap_or_default(),
            };
            headers.insert(name, secret(value)?);
        }
        Ok(client.request(method.clone(), url.clone()).headers(headers))
    }

    /// Refuses every write request of a read-only profile.
    pub(super) fn check_write(&self, at: &Place) -> Result<(), ApiError> {
        let Some(why) = &self.0.sealed else {
            return Ok(());
        };
        let detail = format!("nothing was sent: {why}");
        Err(ApiError::new(Kind::ReadOnly, at.clone(), detail))
    }

    /// Returns a request for display: placeholders for keys, masks for secrets.
    pub(super) fn shown(
        &self,
        plane: Service,
        method: String,
        url: &Url,
        body: Option<&Value>,
    ) -> PlainRequest {
        let secrets = self.secrets(body);
        let mut body = body.cloned();
        if let Some(body) = &mut body {
            secrets.mask(body);
        }
        let headers = self
            .identity(plane)
            .into_iter()
            .map(|(name, value)| (name.to_string(), value))
            .collect();
        PlainRequest {
            method,
            url: secrets.scrub(url.as_str()),
            headers,
            body,
        }
    }

    /// Returns the credential headers of this profile (contract §5), with placeholders for secrets.
    ///
    /// The control plane takes a key or a bearer token. An agent server may be behind a gateway with its own token, so it gets
    /// both. The workspace is only for the control plane.
    pub(super) fn identity(&self, plane: Service) -> Vec<(&'static str, String)> {
        let Inner {
            key,
            bearer,
            workspace,
            ..
        } = &*self.0;
        let mut headers = Vec::new();
        if key.is_some() {
            headers.push((API_KEY, KEY_PLACE.to_string()));
        }
        if bearer.is_some() && (key.is_none() || plane == Service::Agent) {
            headers.push((AUTHORIZATION, TOKEN_PLACE.to_string()));
        }
        if let Some(workspace) = workspace.as_ref().filter(|_| plane == Service::Control) {
            headers.push((WORKSPACE, text::clean(workspace).into_owned()));
        }
        headers
    }

    /// Returns the same in one word.
    pub(super) fn credentials(&self, plane: Service) -> Shown {
        let sent = self.identity(plane);
        let has = |header: &str| sent.iter().any(|(name, _)| *name == header);
        match (has(API_KEY), has(AUTHORIZATION)) {
            (false, false) => Shown::Nothing,
            (true, false) => Shown::Key,
            (false, true) => Shown::Token,
            (true, true) => Shown::Both,
        }
    }

    async fn refused(&self, response: Response, at: Place, call: &Call<'_>) -> ApiError {
        let about = About {
            plane: call.plane,
            is_list: call.is_list,
            shown: self.credentials(call.plane),
            has_workspace: self.0.workspace.is_some(),
        };
        let (status, headers) = (response.status(), response.headers().clone());
        // The status is enough; an incomplete body is ignored.
        let read =
            tokio::time::timeout(Duration::from_secs(5), read_head(response, MAX_REFUSAL)).await;
        // Before the body is truncated, because half a key would not be found.
        let secrets = self.secrets(call.body.into_iter().chain(call.about));
        let body = secrets.scrub(&String::from_utf8_lossy(&read.unwrap_or_default()));
        answer::refusal(status, &headers, body.as_bytes(), at, about).without(&secrets)
    }

    /// Logs a request: its target and its result, never a header, a body or a query.
    fn trace(&self, at: &Place, began: Instant, answered: Option<&Response>) {
        let Place {
            profile,
            method,
            host,
            path,
            ..
        } = at;
        let ms = began.elapsed().as_millis();
        match answered {
            Some(response) => {
                let status = response.status().as_u16();
                let request_id = self
                    .secrets(None)
                    .scrub(&answer::request_id(response.headers()).unwrap_or_default());
                tracing::debug!(%profile, %method, %host, %path, status, ms, %request_id, "request");
            }
            None => {
                tracing::debug!(%profile, %method, %host, %path, ms, "request without a response")
            }
        }
    }

    pub(super) fn refuse(&self, at: &Place, detail: String, hint: Option<String>) -> ApiError {
        ApiError {
            kind: Kind::Refused,
            at: at.clone(),
            detail,
            hint,
        }
    }

    /// Returns the body of a request. What was received goes back exactly as it was.
    fn written(&self, at: &Place, body: &Value) -> Result<String, ApiError> {
        let written = body.to_string();
        if json::has_mark(&written)
            && let Some(place) = json::half_in(body)
        {
            let detail = format!(
                "nothing was sent: half of a character in {}",
                text::clean(&place)
            );
            return Err(self.refuse(at, detail, Some(json::HALF_HINT.into())));
        }
        Ok(json::written(&written).into_owned())
    }

    /// Returns a request's target for errors, without its query, which may contain a search text.
    pub(super) fn place(&self, method: &Method, url: &Url) -> Place {
        Place {
            profile: self.0.profile.clone(),
            method: method.to_string(),
            host: url.origin().ascii_serialization(),
            path: text::clean(url.path()).into_owned(),
            ..Place::default()
        }
    }

    /// Removes keys from a response that repeats them. Costs one search per key.
    fn without_keys(&self, body: Bytes, plane: Service) -> (Bytes, Option<Secrets>) {
        let keys = self.secrets(None);
        let clean = SecretRedactor::whole(&keys, &body);
        match (clean, plane) {
            (None, _) => (body, None),
            (Some(clean), Service::Agent) => (clean, None),
            (Some(_), Service::Control) => (body, Some(keys)),
        }
    }

    /// Returns the keys, and the secrets in the sent body and in the target's record.
    pub(super) fn secrets<'s>(&'s self, known: impl IntoIterator<Item = &'s Value>) -> Secrets {
        let Inner { key, bearer, .. } = &*self.0;
        let keys = key.iter().chain(bearer).map(|key| key.expose_secret());
        Secrets::new(
            keys.chain(known.into_iter().flat_map(secret_texts)),
            MIN_SECRET,
        )
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

/// Returns an address below a base, with its segments encoded. Empty segments and dots are refused, because they would
/// address something else.
pub fn join(http: &Http, method: &Method, base: &Url, parts: &[&str]) -> Result<Url, ApiError> {
    let mut url = base.clone();
    if let Some(part) = parts
        .iter()
        .find(|p| matches!(**p, "" | "." | "..") || p.chars().any(char::is_control))
    {
        let at = http.place(method, base);
        return Err(http.refuse(&at, format!("\"{}\" is not an id", text::clean(part)), None));
    }
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(parts);
    }
    Ok(url)
}
