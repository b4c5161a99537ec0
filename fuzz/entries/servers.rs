//! Responses of both services, from the bytes on the wire to the screen: a local server sends them, the clients read them, and the
//! dashboard shows them.

use super::answers;
use super::hostile::World;
use futures::StreamExt;
use jiff::SignedDuration;
use runtail_api::{
    AgentServer, Connections, ControlPlane, DeploymentQuery, Http, Journal, LogAsk, ThreadQuery,
};
use runtail_core::config::Profile;
use runtail_stream::{Item, Record, SnapshotLoader, SnapshotScope};
use runtail_tui::session::msg::{
    Described, Effect, EffectResult, NextPoll, Subscription, SubscriptionEvent, SubscriptionId,
    SubscriptionKind, ThreadsRead,
};
use runtail_tui::session::record_list::RecordQuery;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

/// Keys that open a screen and request its data.
const PLACES: [&str; 11] = [
    "",
    "<Tab>",
    "l",
    "b",
    "d",
    "<Enter>",
    "<Enter>v",
    "<Enter><Enter>",
    ":integrations<Enter>",
    "<Enter>:crons<Enter>",
    "<Enter>:store<Enter>",
];
/// Responses to one input; an endless list would be read for long.
const MAX_RESPONSES: usize = 24;

/// What the server sends next, and how often.
static NEXT: Mutex<(Vec<u8>, usize)> = Mutex::new((Vec::new(), 0));

/// The server, the clients' runtime, and their shared connections.
static SERVER: LazyLock<(String, tokio::runtime::Runtime, Connections)> = LazyLock::new(|| {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    std::thread::spawn(move || listener.incoming().flatten().for_each(serve));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    (url, runtime, Connections::default())
});

/// Reads a request and sends the next response. One request per connection.
fn serve(mut client: TcpStream) {
    let Ok(copy) = client.try_clone() else { return };
    let (mut reader, mut line, mut length) = (BufReader::new(copy), String::new(), 0);
    while reader.read_line(&mut line).is_ok_and(|n| n > 2) {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        line.clear();
    }
    let _ = reader.take(length).read_to_end(&mut Vec::new());
    let mut next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
    let bytes: &[u8] = if next.1 > 0 {
        &next.0
    } else {
        b"HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n"
    };
    let _ = client.write_all(bytes);
    next.1 = next.1.saturating_sub(1);
}

/// Returns the bytes as a whole response with its head, or as the body of an ordinary one.
fn response(flags: u8, data: &[u8]) -> Vec<u8> {
    if flags & 7 == 7 {
        return data.to_vec();
    }
    let status = [200, 200, 200, 200, 200, 404, 422][usize::from(flags & 7)];
    let kind = if flags & 8 == 0 {
        "application/json"
    } else {
        "text/event-stream"
    };
    let gzip = if flags & 16 == 0 {
        ""
    } else {
        "content-encoding: gzip\r\n"
    };
    let mut all = format!(
        "HTTP/1.1 {status} x\r\ncontent-type: {kind}\r\n{gzip}connection: close\r\ncontent-length: {}\r\n\r\n",
        data.len()
    )
    .into_bytes();
    all.extend_from_slice(data);
    all
}

/// Opens a screen of the dashboard while a server answers every request with these bytes.
pub fn http(data: &[u8]) {
    let (head, data) = data.split_at(data.len().min(2));
    let (place, flags) = (
        head.first().copied().unwrap_or(0),
        head.get(1).copied().unwrap_or(0),
    );
    *NEXT.lock().unwrap_or_else(PoisonError::into_inner) = (response(flags, data), MAX_RESPONSES);
    let (url, runtime, connections) = &*SERVER;
    let url: url::Url = url.parse().expect("an address");
    let http = Http::sharing(&Profile::default(), Journal::default(), connections.clone())
        .expect("a client");
    let clients = Clients {
        control: ControlPlane::new(http.clone(), url.clone()),
        agent: AgentServer::new(http, url),
    };
    let mut world = World::new((100, 30));
    let place = PLACES[usize::from(place) % PLACES.len()];
    for key in runtail_tui::input::key::parse_keys(place).expect("keys") {
        world.keys(&key.to_string());
        runtime.block_on(clients.answer_all(&mut world));
        world.look();
    }
    runtime.block_on(clients.answer_all(&mut world));
    world.look();
    for keys in ["<Down><Enter>", "d", "<End>w", "<Esc>", "9"] {
        world.keys(keys);
        runtime.block_on(clients.answer_all(&mut world));
        world.look();
    }
    answers::records(data);
}

/// The clients for this server.
struct Clients {
    control: ControlPlane,
    agent: AgentServer,
}

impl Clients {
    /// Sends everything that the dashboard requests to the server.
    async fn answer_all(&self, world: &mut World) {
        for effect in std::mem::take(&mut world.asked) {
            if let Some(done) = self.done(&effect).await {
                world.dash.done(done);
            }
        }
        world.dash.relayout();
        for sub in world.dash.subscriptions() {
            if let Some(answer) = self.answer(&sub, world).await {
                world
                    .dash
                    .feed(runtail_tui::session::msg::Msg::Subscription {
                        key: sub.key,
                        epoch: sub.epoch,
                        event: answer,
                    });
            }
        }
        world.answer_once("", true);
    }

    async fn done(&self, effect: &Effect) -> Option<EffectResult> {
        Some(match effect {
            Effect::FetchInfo(server) => {
                EffectResult::Info(server.clone(), self.agent.info().await)
            }
            Effect::FetchAssistants(server) => {
                EffectResult::Assistants(server.clone(), self.agent.assistants(50, 0).await)
            }
            Effect::Describe(what) => {
                EffectResult::Described(what.clone(), self.record(what).await)
            }
            Effect::Browse(number, _, of) => {
                EffectResult::Browsed(*number, self.control.collection(of).await)
            }
            Effect::ListRecords(number, _, query) => {
                let rows = match query {
                    RecordQuery::Versions(assistant) => {
                        self.agent.assistant_versions(assistant).await
                    }
                    RecordQuery::Crons => self.agent.crons(50, 0).await,
                    RecordQuery::Namespaces(prefix) => {
                        let all = self.agent.store_namespaces(prefix, None, 50, 0).await;
                        all.map(|all| {
                            runtail_api::Listing::new(
                                all.items.into_iter().map(Into::into).collect(),
                                all.unread,
                            )
                        })
                    }
                    RecordQuery::Items(namespace) => {
                        self.agent.store_items(namespace, None, None, 50, 0).await
                    }
                };
                EffectResult::RecordsListed(*number, query.clone(), rows)
            }
            Effect::LoadThread(number, thread) | Effect::LoadWaitingThread(number, thread) => {
                EffectResult::ThreadLoaded(
                    *number,
                    self.agent.load_thread(&thread.id).await.map(Box::new),
                )
            }
            _ => return None,
        })
    }

    async fn record(&self, what: &Described) -> Result<Arc<str>, runtail_api::ApiError> {
        let mut row = match what {
            Described::Thread(_, id) => self.agent.thread_row(id).await?,
            Described::Deployment(_, id, _) => self.control.deployment_row(id).await?,
            Described::Run(_, thread, run) => self.agent.run_row(thread, run).await?,
            Described::Schemas(_, assistant) => self.agent.assistant_schemas(assistant).await?,
            Described::Graph(_, assistant) => self.agent.whole_graph(assistant).await?,
            Described::Revision(of) => {
                self.control
                    .revision_row(&of.deployment, &of.revision)
                    .await?
            }
        };
        runtail_core::model::mask_record(&mut row);
        Ok(row.to_string().into())
    }

    async fn answer(&self, sub: &Subscription, world: &mut World) -> Option<SubscriptionEvent> {
        let at = world.dash.now;
        let next = NextPoll::At(at + SignedDuration::from_secs(4));
        Some(match (&sub.key, &sub.what) {
            (SubscriptionId::Deployments(_), _) => {
                // A failed list keeps the existing deployments, so there is something to open.
                let items = self
                    .control
                    .deployments(&DeploymentQuery::default())
                    .await
                    .ok()?;
                let result = Ok(runtail_api::Listing::new(items, Default::default()));
                let skew = self.control.skew();
                SubscriptionEvent::Deployments {
                    result,
                    is_truncated: false,
                    skew,
                    took: Duration::ZERO,
                    next,
                }
            }
            (SubscriptionId::Newest(_), _) => {
                let deployment = sub.params.newest.first()?.deployment.clone();
                SubscriptionEvent::Newest {
                    revision: self.control.revision(&deployment, "r").await,
                    deployment,
                }
            }
            (SubscriptionId::Watch(of), _) => SubscriptionEvent::Watched(
                self.control.revision(&of.deployment, &of.revision).await,
                next,
            ),
            (SubscriptionId::Revisions(_, id), _) => {
                SubscriptionEvent::Revisions(self.control.revisions(id, 50).await, next)
            }
            (SubscriptionId::Log(..), SubscriptionKind::Log(_, scope, filter)) => {
                let ask = LogAsk {
                    limit: 50,
                    ..LogAsk::default()
                };
                let page = self.control.log_page(scope, filter, &ask).await;
                let lines = page.map(|page| page.rows.into_iter().map(Into::into).collect());
                SubscriptionEvent::Lines {
                    lines,
                    incomplete: true,
                }
            }
            (SubscriptionId::Threads(_), _) => SubscriptionEvent::Threads(ThreadsRead::all(
                self.agent.threads(&ThreadQuery::default()).await,
            )),
            (SubscriptionId::ThreadStatuses(_), _) => {
                let of = sub.params.statuses.first()?.clone();
                let status = self.agent.listed_status(&of.thread, &of.facts).await;
                SubscriptionEvent::ThreadStatus { of, status }
            }
            (SubscriptionId::Runs(_, thread), _) => {
                SubscriptionEvent::Runs(self.agent.runs(thread, 50).await)
            }
            (SubscriptionId::Stream(_), _) => return self.thread_page(world).await,
            _ => return None,
        })
    }

    /// A thread from the server's records and from its stream.
    async fn thread_page(&self, world: &mut World) -> Option<SubscriptionEvent> {
        let mut loaded = Vec::new();
        let loader = SnapshotLoader::new(self.agent.clone(), "t".into(), 1 << 20);
        loader
            .load(SnapshotScope::All, |snapshot| loaded.push(snapshot))
            .await;
        for snapshot in loaded {
            world.items(|seq| {
                vec![Item::Record(Record::Event(
                    snapshot.into_event(runtail_stream::Seq(seq)),
                ))]
            });
        }
        let mut stream = self.agent.join_run("t", "r", &[], None).await.ok()?;
        let mut bytes = Vec::new();
        while let Some(Ok(chunk)) = stream.body.next().await {
            bytes.extend_from_slice(&chunk);
        }
        world.bytes(&bytes);
        None
    }
}
