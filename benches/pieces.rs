//! The cost of each part of reading a stream: `cargo bench --bench pieces`. Bodies are made from events of the
//! real server.

use bytes::Bytes;
use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use futures::StreamExt;
use runtail_api::ApiError;
use runtail_core::text;
use runtail_stream::projection::Projections;
use runtail_stream::{
    Connection, Decoder, Event, Frame, Framer, Item, Outcome, Record, Replayed, RunState, Seq,
    SourceOptions, Transport, follow, framed, is_json, write_record,
};

fn main() {
    divan::main();
}

/// What is read: tokens of an answer with their metadata, small events, or a state.
#[derive(Debug, Clone, Copy)]
enum Body {
    Tokens,
    Custom,
    State,
}

const BODIES: [Body; 3] = [Body::Tokens, Body::Custom, Body::State];

impl Body {
    /// One HTTP chunk for each event, as the server sends them.
    fn chunks(self) -> Vec<Bytes> {
        let block = |name: &str, data: &str, n: usize| {
            Bytes::from(format!(
                "event: {name}\r\ndata: {data}\r\nid: {}-0\r\n\r\n",
                1_789_000_000_000 + n / 6
            ))
        };
        match self {
            Body::Custom => (0..20_000)
                .map(|n| block("custom", &format!(r#"{{"i":{n}}}"#), n))
                .collect(),
            Body::State => {
                let item = |n| format!(r#"{{"n":{n},"text":"{}","list":[1,2,3]}}"#, "x".repeat(80));
                let items: Vec<String> = (0..40_000).map(item).collect();
                vec![block(
                    "values",
                    &format!(r#"{{"items":[{}]}}"#, items.join(",")),
                    0,
                )]
            }
            Body::Tokens => {
                let capture = include_str!("../tests/captures/agent-messages-tuple.sse")
                    .replace("\r\n", "\n");
                let datas = capture
                    .split("\n\n")
                    .filter(|block| block.starts_with("event: messages\n"));
                let token = datas
                    .filter_map(|block| block.split("data: ").nth(1))
                    .find(|data| data.contains("Chunk"));
                let token = token.unwrap_or_default().lines().next().unwrap_or_default();
                (0..20_000)
                    .map(|n| {
                        block(
                            "messages",
                            &token.replace("Let me ", &format!("word{n} ")),
                            n,
                        )
                    })
                    .collect()
            }
        }
    }

    fn events(self) -> Vec<Event> {
        let mut events = Vec::new();
        read(self.chunks(), |event| events.push(event));
        events
    }
}

fn size(chunks: &[Bytes]) -> BytesCount {
    BytesCount::new(chunks.iter().map(Bytes::len).sum::<usize>())
}

fn read(chunks: Vec<Bytes>, mut take: impl FnMut(Event)) {
    let (mut framer, mut decoder, mut seq) = (Framer::new(64 << 20), Decoder::default(), 0);
    for chunk in chunks {
        framer.push(chunk);
        while let Some(frame) = framer.next_frame() {
            if let Frame::Block(block) = frame
                && let Some(event) = decoder.decode(block)
            {
                seq += 1;
                take(event.at(Seq(seq), jiff::Timestamp::UNIX_EPOCH, 1, false));
            }
        }
    }
}

#[divan::bench(args = BODIES)]
fn framer(bencher: Bencher, body: Body) {
    let chunks = body.chunks();
    bencher
        .counter(size(&chunks))
        .counter(ItemsCount::new(chunks.len()))
        .with_inputs(|| chunks.clone())
        .bench_values(|chunks| {
            let mut framer = Framer::new(64 << 20);
            let mut blocks = 0;
            for chunk in chunks {
                framer.push(chunk);
                while framer.next_frame().is_some() {
                    blocks += 1;
                }
            }
            blocks
        });
}

#[divan::bench(args = BODIES)]
fn framer_and_decoder(bencher: Bencher, body: Body) {
    let chunks = body.chunks();
    bencher
        .counter(size(&chunks))
        .counter(ItemsCount::new(chunks.len()))
        .with_inputs(|| chunks.clone())
        .bench_values(|chunks| read(chunks, drop));
}

#[divan::bench(args = BODIES)]
fn json(bencher: Bencher, body: Body) {
    let events = body.events();
    let size: usize = events.iter().map(|event| event.data.text().len()).sum();
    bencher
        .counter(BytesCount::new(size))
        .counter(ItemsCount::new(events.len()))
        .bench(|| events.iter().all(|event| is_json(event.data.text())));
}

#[divan::bench(args = BODIES)]
fn lines(bencher: Bencher, body: Body) {
    let records: Vec<Record> = body.events().into_iter().map(Record::Event).collect();
    let mut out = Vec::new();
    records
        .iter()
        .for_each(|record| write_record(&mut out, record).expect("memory takes all"));
    bencher
        .counter(BytesCount::new(out.len()))
        .counter(ItemsCount::new(records.len()))
        .bench_local(|| {
            out.clear();
            records
                .iter()
                .for_each(|record| write_record(&mut out, record).expect("memory takes all"));
        });
}

#[divan::bench(args = BODIES)]
fn harmless(bencher: Bencher, body: Body) {
    let mut out = Vec::new();
    body.events()
        .into_iter()
        .for_each(|event| write_record(&mut out, &Record::Event(event)).expect("memory takes all"));
    let lines = String::from_utf8(out).expect("text");
    bencher
        .counter(BytesCount::new(lines.len()))
        .bench(|| text::json(&lines).len());
}

#[divan::bench(args = BODIES)]
fn projections(bencher: Bencher, body: Body) {
    let items: Vec<Item> = body
        .events()
        .into_iter()
        .map(|event| Item::Record(Record::Event(event)))
        .collect();
    bencher
        .counter(ItemsCount::new(items.len()))
        .with_inputs(Projections::default)
        .bench_refs(|projections| {
            items.iter().for_each(|item| projections.apply(item));
        });
}

/// Ids of events, which decide how a source detects repeated ones.
#[derive(Debug, Clone, Copy)]
enum Ids {
    Distinct,
    One,
    TwoInTurns,
}

/// A server that sends one body and then reports that the run has ended.
struct OneBody(Bytes);

impl Transport for OneBody {
    async fn connect(&mut self, _: Option<&str>, max_event: usize) -> Result<Connection, ApiError> {
        let chunks: Vec<_> = (0..self.0.len()).step_by(64 << 10).collect();
        let body = self.0.clone();
        let chunk = move |at: usize| Ok(body.slice(at..body.len().min(at + (64 << 10))));
        let body = framed(futures::stream::iter(chunks).map(chunk).boxed(), max_event);
        Ok(Connection {
            status: 200,
            thread_id: None,
            run_id: None,
            answered: None,
            past: Replayed::Unknown,
            body,
        })
    }

    async fn run_state(&mut self, _error: Option<&str>) -> Result<RunState, ApiError> {
        Ok(RunState::Finished(Outcome::Success, None))
    }
}

/// A replay of 300,000 events, in which repeated events are detected. `One` may take 1.5 times as long as `Distinct`.
#[divan::bench(args = [Ids::Distinct, Ids::One, Ids::TwoInTurns], sample_count = 5, sample_size = 1)]
fn replay(bencher: Bencher, ids: Ids) {
    const EVENTS: usize = 300_000;
    let id = |n: usize| match ids {
        Ids::Distinct => 1_789_000_000_000 + n,
        Ids::One => 1_789_000_000_000,
        Ids::TwoInTurns => 1_789_000_000_000 + n % 2,
    };
    let text: String = (0..EVENTS)
        .map(|n| format!("event: custom\ndata: {{\"i\":{n}}}\nid: {}-0\n\n", id(n)))
        .collect();
    let body = Bytes::from(text);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    bencher.counter(ItemsCount::new(EVENTS)).bench_local(|| {
        runtime.block_on(async {
            let (sender, mut receiver) = tokio::sync::mpsc::channel(8);
            let options = SourceOptions {
                first_after: Some("-".into()),
                ..SourceOptions::default()
            };
            let source = tokio::spawn(follow(OneBody(body.clone()), options, sender));
            let mut events = 0;
            while let Some(items) = receiver.recv().await {
                events += items
                    .iter()
                    .filter(|item| matches!(item, Item::Record(Record::Event(_))))
                    .count();
            }
            source.await.expect("the source ends");
            assert_eq!(events, EVENTS);
        });
    });
}
