//! Bodies of streams, made from a real event of the agent server: each event is one HTTP chunk, and six consecutive events share an
//! id.

/// The content of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// Tokens of an answer with their metadata, 1.1 KB each.
    Tokens,
    /// Small events of 58 bytes.
    Custom,
    /// States of this many bytes.
    States(usize),
}

/// Makes consecutive events.
pub struct Maker {
    body: Body,
    token: (String, String),
    number: u64,
}

impl Maker {
    /// Starts a stream.
    pub fn new(body: Body) -> Maker {
        let capture =
            include_str!("../../tests/captures/agent-messages-tuple.sse").replace("\r\n", "\n");
        let datas = capture
            .split("\n\n")
            .filter(|block| block.starts_with("event: messages\n"));
        let token = datas
            .filter_map(|block| block.split("data: ").nth(1))
            .find(|data| data.contains("Chunk"));
        let token = token
            .and_then(|data| data.lines().next())
            .expect("the capture has a token");
        let (before, after) = token
            .split_once("Let me ")
            .expect("the capture's first words");
        Maker {
            body,
            token: (before.into(), after.into()),
            number: 0,
        }
    }

    /// Adds the next event to a body, as a separate chunk.
    pub fn add(&mut self, to: &mut Vec<u8>) {
        let number = self.number;
        self.number += 1;
        let id = 1_789_000_000_000 + number / 6;
        let block = match self.body {
            Body::Tokens => {
                let (before, after) = &self.token;
                format!(
                    "event: messages\r\ndata: {before}word{number} {after}\r\nid: {id}-0\r\n\r\n"
                )
            }
            Body::Custom => {
                format!("event: custom\r\ndata: {{\"i\":{number}}}\r\nid: {id}-0\r\n\r\n")
            }
            Body::States(size) => {
                let item = |n| format!(r#"{{"n":{n},"text":"{}","list":[1,2,3]}}"#, "x".repeat(80));
                let items: Vec<String> = (0..size / 120).map(item).collect();
                let items = items.join(",");
                format!(
                    "event: values\r\ndata: {{\"turn\":{number},\"items\":[{items}]}}\r\nid: {id}-0\r\n\r\n"
                )
            }
        };
        to.extend_from_slice(format!("{:x}\r\n", block.len()).as_bytes());
        to.extend_from_slice(block.as_bytes());
        to.extend_from_slice(b"\r\n");
    }
}
