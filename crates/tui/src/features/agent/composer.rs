//! The composer of a run: its assistant, input, thread and stream modes.

use crate::input::key::{Code, Key};
use crate::session::msg::{ServerRef, StreamTarget};
use crate::session::run::{Origin, Warning, Where};
use crate::widgets::text_input::{Problem, TextInput};
use runtail_core::model::{Assistant, RunCreate};
use runtail_stream::{RUN_MODES, Target};
use serde_json::Value;
use std::sync::Arc;

/// The fields, in tab order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The assistant to run.
    Assistant,
    /// The thread to run on.
    Where,
    /// The stream modes.
    Modes,
    Input,
}

const FIELDS: [Field; 4] = [Field::Assistant, Field::Where, Field::Modes, Field::Input];

/// The stream modes that are initially chosen.
const INITIAL_MODES: [&str; 4] = ["messages-tuple", "updates", "values", "custom"];

/// A run being composed.
#[derive(Debug, Clone)]
pub struct Composer {
    pub server: ServerRef,
    /// The field with the focus.
    pub field: Field,
    /// The ids and labels of the listed assistants.
    pub assistants: Vec<(String, String)>,
    /// The index of the chosen assistant.
    pub assistant: usize,
    /// The typed name of an assistant, for servers that can't list theirs.
    pub typed_assistant: TextInput,
    /// The assistant to choose once the list is loaded, by id or by graph.
    initial_assistant: Option<String>,
    /// The thread that the composer was opened from.
    pub thread: Option<String>,
    /// The thread to run on.
    pub place: Where,
    /// Stream modes, then `subgraphs`.
    pub modes: Vec<(&'static str, bool)>,
    /// The mode under the cursor.
    pub mode_at: usize,
    /// The consequence of a new run on the thread.
    warning: Option<Warning>,
    /// The input as JSON.
    pub input: TextInput,
    /// The problem of the input, checked while typing so that invalid input is never sent.
    pub problem: Option<Problem>,
}

impl Composer {
    /// Creates a composer with an example input.
    pub fn new(server: ServerRef, assistants: &[Assistant], from: Origin) -> Self {
        let Origin { thread, assistant: initial_assistant, place, warning } = from;
        let default = if thread.is_some() { Where::ThisThread } else { Where::NewThread };
        let place = place.unwrap_or(default);
        let mut modes: Vec<(&str, bool)> = RUN_MODES.map(|mode| (mode, INITIAL_MODES.contains(&mode))).to_vec();
        modes.push(("subgraphs", true));
        let mut composer = Composer {
            server,
            field: Field::Input,
            assistants: Vec::new(),
            assistant: 0,
            typed_assistant: TextInput::line(""),
            initial_assistant,
            thread,
            place,
            modes,
            mode_at: 0,
            warning,
            input: TextInput::default(),
            problem: None,
        };
        composer.offer(assistants);
        composer.set_input("{\"messages\": [{\"role\": \"user\", \"content\": \"\"}]}");
        let (row, col) = composer.input.cursor();
        composer.input.set_cursor(row, col - 4);
        composer
    }

    /// Sets the listed assistants, and chooses the initial one.
    pub fn offer(&mut self, assistants: &[Assistant]) {
        let label = |a: &Assistant| {
            let name = a.name.as_deref().filter(|n| !n.is_empty()).unwrap_or(&a.graph_id);
            if name == a.graph_id { name.to_string() } else { format!("{name} ({})", a.graph_id) }
        };
        self.assistants = assistants.iter().map(|a| (a.assistant_id.clone(), label(a))).collect();
        self.assistants.sort_by(|a, b| a.1.cmp(&b.1));
        // A thread's metadata names the assistant; on some servers only the graph.
        let at = |id: &str| self.assistants.iter().position(|(i, _)| i == id);
        let by_graph = |graph: &str| at(&assistants.iter().find(|a| a.graph_id == graph)?.assistant_id);
        self.assistant = self.initial_assistant.as_deref().and_then(|w| at(w).or_else(|| by_graph(w))).unwrap_or(0);
    }

    /// Replaces the input.
    pub fn set_input(&mut self, text: &str) {
        self.input = TextInput::new(text);
        self.check();
    }

    /// Takes over the input of an earlier composer, with its history of edits.
    pub fn restore(&mut self, input: TextInput) {
        self.input = input;
        self.check();
    }

    fn check(&mut self) {
        self.problem = match serde_json::from_str::<Value>(&self.input.text()) {
            Ok(_) => None,
            Err(_) if self.input.text().trim().is_empty() => {
                Some(Problem { line: 1, column: 1, message: "type the input as JSON: {…}".into() })
            }
            Err(e) => {
                let text = e.to_string();
                let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(m, _)| m).to_string();
                Some(Problem { line: e.line().max(1), column: e.column().max(1), message })
            }
        };
    }

    /// Moves the focus by a number of fields.
    pub fn next_field(&mut self, by: isize) {
        let at = FIELDS.iter().position(|f| *f == self.field).unwrap_or(0) as isize;
        self.field = FIELDS[(at + by).rem_euclid(FIELDS.len() as isize) as usize];
    }

    fn places(&self) -> Vec<Where> {
        let mut places = vec![Where::NewThread, Where::Stateless];
        if self.thread.is_some() {
            places.insert(0, Where::ThisThread);
        }
        places
    }

    /// Handles a key that triggers no action.
    pub fn key(&mut self, key: Key) {
        let back = matches!(key.code, Code::Left | Code::Up);
        let forward = matches!(key.code, Code::Right | Code::Down) || key == Key::char(' ');
        match self.field {
            Field::Assistant if self.assistants.is_empty() && key.code != Code::Enter => self.typed_assistant.key(key),
            Field::Assistant if !self.assistants.is_empty() && (back || forward) => {
                let n = self.assistants.len();
                self.assistant = (self.assistant + if back { n - 1 } else { 1 }) % n;
            }
            Field::Where if back || forward => {
                let places = self.places();
                let at = places.iter().position(|p| *p == self.place).unwrap_or(0);
                self.place = places[(at + if back { places.len() - 1 } else { 1 }) % places.len()];
            }
            Field::Modes => match key.code {
                Code::Left | Code::Up => self.mode_at = (self.mode_at + self.modes.len() - 1) % self.modes.len(),
                Code::Right | Code::Down => self.mode_at = (self.mode_at + 1) % self.modes.len(),
                Code::Char(' ') | Code::Enter => {
                    let mode = &mut self.modes[self.mode_at];
                    mode.1 = !mode.1;
                }
                _ => {}
            },
            Field::Input => self.edit(key),
            _ if key.code == Code::Enter => self.next_field(1),
            _ => {}
        }
    }

    fn edit(&mut self, key: Key) {
        self.input.key(key);
        self.check();
    }

    /// Inserts pasted text.
    pub fn paste(&mut self, text: &str) {
        match self.field {
            Field::Input => {
                self.input.insert(text);
                self.check();
            }
            Field::Assistant if self.assistants.is_empty() => self.typed_assistant.insert(text),
            _ => {}
        }
    }

    /// Returns the id of the chosen assistant.
    pub fn chosen(&self) -> Option<String> {
        self.assistants.get(self.assistant).map(|(id, _)| id.clone())
    }

    /// Returns the warning about a run on the chosen thread.
    pub fn warning(&self) -> Option<Warning> {
        self.warning.filter(|_| self.place == Where::ThisThread)
    }

    /// Returns the chosen modes, without `subgraphs`.
    pub fn chosen_modes(&self) -> Vec<String> {
        self.modes.iter().filter(|(name, on)| *on && *name != "subgraphs").map(|(name, _)| name.to_string()).collect()
    }

    /// Returns the request, or why it is not valid yet.
    pub fn target(&self) -> Result<StreamTarget, String> {
        let chosen = self.assistants.get(self.assistant).map(|(id, _)| id.as_str());
        let typed = self.typed_assistant.text();
        let typed = Some(typed.trim()).filter(|name| !name.is_empty());
        let Some(assistant_id) = chosen.or(typed) else {
            return Err("Which assistant? This server lists none; type an assistant or graph name.".into());
        };
        let value: Value = serde_json::from_str(&self.input.text()).map_err(|_| match &self.problem {
            Some(p) => {
                format!(
                    "The input is not valid JSON: line {}, column {}: {}. Nothing was sent.",
                    p.line, p.column, p.message
                )
            }
            None => "The input is not valid JSON. Nothing was sent.".to_string(),
        })?;
        let modes = self.chosen_modes();
        if modes.is_empty() {
            return Err("Choose at least one stream mode.".into());
        }
        let body = RunCreate {
            assistant_id: assistant_id.to_string(),
            input: Some(value),
            stream_mode: modes,
            stream_subgraphs: self.modes.iter().any(|(name, on)| *name == "subgraphs" && *on),
            stream_resumable: true,
            on_disconnect: Some("continue".into()),
            ..RunCreate::default()
        };
        let on = match (self.place, &self.thread) {
            (Where::ThisThread, Some(thread)) => Target::Thread(thread.clone()),
            (Where::ThisThread | Where::NewThread, _) => Target::NewThread,
            (Where::Stateless, _) => Target::Stateless,
        };
        Ok(StreamTarget::Start { on, body: Arc::new(body) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn composer() -> Composer {
        let server = ServerRef { profile: "p".into(), name: "s".into(), url: "http://x".into() };
        let agent = Assistant { assistant_id: "a-1".into(), graph_id: "agent".into(), ..Assistant::default() };
        Composer::new(server, &[agent], Origin::default())
    }

    fn type_text(composer: &mut Composer, text: &str) {
        for c in text.chars() {
            composer.key(Key::char(c));
        }
    }

    #[test]
    fn typed_text_becomes_the_input_of_the_run() {
        let mut composer = composer();
        type_text(&mut composer, "hello");
        let Ok(StreamTarget::Start { body, on: Target::NewThread }) = composer.target() else { panic!() };
        assert_eq!(body.input, Some(json!({"messages": [{"role": "user", "content": "hello"}]})));
        assert!(body.stream_resumable && body.stream_subgraphs);
    }

    #[test]
    fn an_unlisted_assistant_can_be_typed() {
        let server = ServerRef { profile: "p".into(), name: "s".into(), url: "http://x".into() };
        let mut composer = Composer::new(server, &[], Origin::default());
        assert!(composer.target().unwrap_err().contains("type an assistant"));
        composer.next_field(-3);
        assert_eq!(composer.field, Field::Assistant);
        type_text(&mut composer, "agents");
        composer.key(Key::plain(Code::Backspace));
        let Ok(StreamTarget::Start { body, .. }) = composer.target() else { panic!() };
        assert_eq!(body.assistant_id, "agent");
        // A list that arrives later takes precedence.
        let chat = Assistant { assistant_id: "a-1".into(), graph_id: "chat".into(), ..Assistant::default() };
        composer.offer(&[chat]);
        let Ok(StreamTarget::Start { body, .. }) = composer.target() else { panic!() };
        assert_eq!(body.assistant_id, "a-1");
    }

    #[test]
    fn invalid_json_is_reported_with_its_position() {
        let mut composer = composer();
        composer.set_input("{\n  \"a\": 1,\n  oops\n}");
        let problem = composer.problem.clone().unwrap();
        assert_eq!((problem.line, problem.column), (3, 3));
        assert!(composer.target().unwrap_err().contains("line 3, column 3"));
    }
}
