//! A second decoder of server-sent events, written line by line from the standard (WHATWG HTML, 9.2.6) only: slow, simple, and
//! without any code in common with Runtail's own decoder.

/// The content of a stream.
#[derive(Debug, Default, PartialEq)]
pub struct Stream {
    /// Its events.
    pub events: Vec<Event>,
    /// Number of comment lines.
    pub comments: usize,
}

/// An event.
#[derive(Debug, PartialEq)]
pub struct Event {
    /// Its type.
    pub name: String,
    /// Its data.
    pub data: String,
    /// Its own id. (In the standard an id persists for later events; resuming needs to know which event had it.)
    pub id: Option<String>,
}

/// Decodes a whole stream.
pub fn events(bytes: &[u8]) -> Stream {
    let text = String::from_utf8_lossy(bytes);
    // A leading byte order mark is dropped.
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut stream = Stream::default();
    let (mut name, mut data, mut id) = (String::new(), String::new(), None);
    for line in lines(text) {
        if line.is_empty() {
            // "If the data buffer is an empty string, set the data buffer and the event type buffer to the empty string and return."
            if !data.is_empty() {
                data.pop();
                let name = if name.is_empty() {
                    "message".to_string()
                } else {
                    name.clone()
                };
                stream.events.push(Event {
                    name,
                    data: data.clone(),
                    id: id.clone(),
                });
            }
            name.clear();
            data.clear();
            id = None;
            continue;
        }
        if line.starts_with(':') {
            stream.comments += 1;
            continue;
        }
        let (field, value) = match line.find(':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, ""),
        };
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => name = value.to_string(),
            "data" => {
                data.push_str(value);
                data.push('\n');
            }
            "id" if !value.contains('\0') => id = (!value.is_empty()).then(|| value.to_string()),
            _ => {}
        }
    }
    stream
}

/// The lines that end with CR LF, LF or CR. Text after the last line end is incomplete.
fn lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(end) = rest.find(['\r', '\n']) {
        lines.push(&rest[..end]);
        let length = if rest[end..].starts_with("\r\n") {
            2
        } else {
            1
        };
        rest = &rest[end + length..];
    }
    lines
}
