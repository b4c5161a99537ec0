//! Output of commands: rows as a table, as one JSON document or as JSON lines; errors go to stderr.

pub mod color;
pub mod log_text;
mod row_fields;
pub mod stream;
mod stream_text;

use crate::output::color::Role;
use crate::output::row_fields::RowField;
use crate::prelude::*;
use runtail_api::UnreadRows;
use runtail_core::secret;
use serde_json::Map;
use std::io::{self, Write};

/// Minimum width of the last column of a table that fits a terminal.
const MIN_LAST: usize = 20;

/// How rows are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people; the default on a terminal.
    Table,
    /// One JSON document.
    Json,
    /// One JSON object per line; the default elsewhere.
    Jsonl,
}

/// The option of the result of an action.
#[derive(Debug, Clone, Default, Args)]
pub struct ResultOutput {
    /// How to print (default: table on a terminal, else jsonl)
    #[arg(short = 'o', long = "output", value_name = "FORMAT", value_enum)]
    pub format: Option<Format>,
}

/// The options of lists and records.
#[derive(Debug, Clone, Default, Args)]
pub struct Output {
    #[command(flatten)]
    pub result: ResultOutput,
    /// Print only these fields, as columns or as JSON: names or paths, separated by commas
    #[arg(long, value_name = "FIELDS", value_delimiter = ',')]
    fields: Vec<RowField>,
}

/// Which rows of a list are printed.
#[derive(Debug, Clone, Copy, Args)]
pub struct Paging {
    /// Maximum number
    #[arg(long, default_value_t = 50)]
    pub limit: usize,
    /// Skip this many
    #[arg(long, default_value_t = 0)]
    pub offset: usize,
}

/// The options of a list that has no others.
#[derive(Debug, Clone, Args)]
pub struct List {
    #[command(flatten)]
    pub paging: Paging,
    #[command(flatten)]
    pub output: Output,
}

/// A column of a table.
pub struct Column {
    title: String,
    cell: Box<dyn Fn(&Value) -> String>,
    role: fn(&str) -> Role,
}

/// Creates a column from its title and the text of its cells. The table sanitizes the text.
pub fn column(title: &str, cell: impl Fn(&Value) -> String + 'static) -> Column {
    Column {
        title: text::clean(title).into_owned(),
        cell: Box::new(cell),
        role: |_| Role::Plain,
    }
}

/// Creates a column with a field of the row, by its JSON pointer.
pub fn field_column(title: &'static str, pointer: &'static str) -> Column {
    column(title, move |row| {
        cell(row.pointer(pointer).unwrap_or(&Value::Null))
    })
}

/// Creates a column with a time.
pub fn time_column(title: &'static str, pointer: &'static str) -> Column {
    column(title, move |row| {
        time(row.pointer(pointer).unwrap_or(&Value::Null))
    })
}

/// Creates a column whose cells are colored by their content.
pub fn status_column(
    title: &'static str,
    role: fn(&str) -> Role,
    cell: impl Fn(&Value) -> String + 'static,
) -> Column {
    Column {
        role,
        ..column(title, cell)
    }
}

impl ResultOutput {
    /// Returns the chosen format, else the default for stdout.
    pub fn format(&self) -> Format {
        let suits = || {
            if io::stdout().is_terminal() {
                Format::Table
            } else {
                Format::Jsonl
            }
        };
        self.format.unwrap_or_else(suits)
    }

    /// Prints rows.
    pub fn rows(&self, rows: &[Value], columns: &[Column]) -> Result<(), Failure> {
        let printed = match self.format() {
            Format::Table => table(rows, columns, color::is_on()),
            Format::Json => {
                let all = Value::Array(rows.to_vec());
                format!("{all:#}\n")
            }
            Format::Jsonl => rows.iter().map(|row| format!("{row}\n")).collect(),
        };
        self.print(&printed)
    }

    /// Prints one object; as a table, one field per line, nested ones as JSON.
    pub fn one(&self, row: &Value) -> Result<(), Failure> {
        let printed = match self.format() {
            Format::Table => fields(row, color::is_on()),
            Format::Json => format!("{row:#}\n"),
            Format::Jsonl => format!("{row}\n"),
        };
        self.print(&printed)
    }

    fn print(&self, printed: &str) -> Result<(), Failure> {
        print(printed, self.format() != Format::Table)
    }
}

impl Output {
    /// Returns the chosen format, else the default for stdout.
    pub fn format(&self) -> Format {
        self.result.format()
    }

    /// Returns whether a table with the columns of its command is printed.
    pub fn has_own_columns(&self) -> bool {
        self.format() == Format::Table && self.fields.is_empty()
    }

    /// Prints the chosen fields of rows.
    ///
    /// # Errors
    /// No row has one of them.
    pub fn rows(&self, rows: &[Value], columns: &[Column]) -> Result<(), Failure> {
        if self.fields.is_empty() {
            return self.result.rows(rows, columns);
        }
        let columns: Vec<Column> = self.fields.iter().map(RowField::column).collect();
        self.result
            .rows(&row_fields::select(rows, &self.fields)?, &columns)
    }

    /// Prints the rows of a list, and reports on stderr those that couldn't be read.
    ///
    /// # Errors
    /// The list may be incomplete; the rows are printed.
    pub fn listing(&self, listing: &Listing<Value>, columns: &[Column]) -> Result<(), Failure> {
        report_unread(&listing.unread);
        self.rows(&listing.items, columns)?;
        let incomplete = listing.incomplete.clone();
        incomplete.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Prints rows of a list whose rows have a `command`: the table has it below each row, and fits a terminal.
    pub fn rows_with_commands(&self, rows: &[Value], columns: &[Column]) -> Result<(), Failure> {
        if !self.has_own_columns() {
            return self.rows(rows, columns);
        }
        let is_colored = color::is_on();
        let commands: Vec<String> = rows
            .iter()
            .map(|row| text::clean(&cell(&row["command"])).into_owned())
            .collect();
        self.result.print(&with_commands(
            &fitted(rows, columns, is_colored, width()),
            &commands,
            is_colored,
        ))
    }

    /// Prints the chosen fields of one object.
    ///
    /// # Errors
    /// It doesn't have one of them.
    pub fn one(&self, row: &Value) -> Result<(), Failure> {
        match self.fields.as_slice() {
            [] => self.result.one(row),
            chosen => row_fields::select(std::slice::from_ref(row), chosen)?
                .iter()
                .try_for_each(|row| self.result.one(row)),
        }
    }
}

/// Returns a row of a control plane with its profile and region added and secrets masked.
pub fn placed(profile: &Profile, mut row: Value) -> Value {
    runtail_core::model::mask_record(&mut row);
    let mut fields = Map::new();
    fields.insert("profile".into(), profile.name.clone().into());
    fields.insert("region".into(), profile.region.clone().into());
    match row {
        Value::Object(own) => {
            for (name, value) in own {
                fields.entry(name).or_insert(value);
            }
        }
        other => {
            fields.insert("value".into(), other);
        }
    }
    Value::Object(fields)
}

/// Returns a field as a cell: strings without quotes, nothing for null, the rest as JSON.
pub fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns a status as a cell: the word, or "no status".
pub fn status(value: &Value) -> String {
    match value {
        Value::String(word) if !word.trim().is_empty() => word.clone(),
        Value::Null | Value::String(_) => "no status".into(),
        odd => format!("no status ({odd})"),
    }
}

/// Returns a time as a cell, in UTC to the minute.
pub fn time(value: &Value) -> String {
    match value.as_str().and_then(runtail_core::model::parse_time) {
        Some(at) => at.strftime("%Y-%m-%d %H:%MZ").to_string(),
        None => cell(value),
    }
}

/// Returns an age as a cell. `now` is the time by the server's clock; a time in the future counts as now.
pub fn age(made: &Value, now: Timestamp) -> String {
    let Some(made) = made.as_str().and_then(runtail_core::model::parse_time) else {
        return String::new();
    };
    text::age_since(made, now)
}

/// Reports the rows of a list that couldn't be read.
pub fn report_unread(unread: &UnreadRows) {
    unread
        .sentence()
        .iter()
        .for_each(|unread| complain(format!("warning: {unread}")));
}

/// Writes a line to stderr and ignores errors, because there is no other place to report them.
pub fn complain(line: impl AsRef<str>) {
    let _ = writeln!(io::stderr(), "{}", text::clean_lines(line.as_ref()));
}

/// Writes data to stdout. If the pipe is closed, the command ends quietly.
pub fn print(data: &str, is_json: bool) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    // In a pipe too, because its reader may print it on a terminal.
    let safe = if is_json {
        text::json(data)
    } else {
        secret::keys::without(data)
    };
    match out.write_all(safe.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Err(Failure::new(Exit::Done, "")),
        Err(e) => Err(Failure::failed(format!("cannot write to stdout: {e}"))),
    }
}

/// Prints a path: unchanged in a pipe, sanitized on a terminal.
pub fn print_path(path: &Path) -> Result<(), Failure> {
    let path = path.display().to_string();
    let shown = if io::stdout().is_terminal() {
        text::clean(&path)
    } else {
        (&path).into()
    };
    print(&format!("{shown}\n"), false)
}

/// Returns a cell with spaces up to a width.
pub fn padded(cell: &str, width: usize) -> String {
    format!(
        "{cell}{}",
        " ".repeat(width.saturating_sub(text::width(cell)))
    )
}

/// Returns the width of the widest cell.
pub fn widest<S: AsRef<str>>(cells: impl IntoIterator<Item = S>) -> usize {
    let widths = cells.into_iter().map(|cell| text::width(cell.as_ref()));
    widths.max().unwrap_or_default()
}

/// Returns the width of the terminal that stdout is, if it is one.
pub fn width() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    crossterm::terminal::size()
        .ok()
        .map(|(columns, _)| usize::from(columns))
        .filter(|columns| *columns > 0)
}

fn table(rows: &[Value], columns: &[Column], is_colored: bool) -> String {
    fitted(rows, columns, is_colored, None)
}

/// Inserts the commands below the rows of a table.
fn with_commands(table: &str, commands: &[String], is_colored: bool) -> String {
    let mut lines = table.lines();
    let mut out: String = lines
        .next()
        .map(|titles| format!("{titles}\n"))
        .unwrap_or_default();
    for (line, command) in lines.zip(commands) {
        let command = Role::Dim.paint_if(is_colored, command);
        out.push_str(&format!("{line}\n  {command}\n"));
    }
    out
}

/// Formats a table whose last column is shortened so that the lines fit a width, down to a minimum.
fn fitted(rows: &[Value], columns: &[Column], is_colored: bool, width: Option<usize>) -> String {
    let mut cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            columns
                .iter()
                .map(|column| text::clean(&(column.cell)(row)).into_owned())
                .collect()
        })
        .collect();
    if let (Some(width), Some(last)) = (width, columns.len().checked_sub(1)) {
        let longest = |i: usize| {
            cells
                .iter()
                .map(|row| text::width(&row[i]))
                .chain([text::width(&columns[i].title)])
                .max()
        };
        let before: usize = (0..last)
            .filter_map(longest)
            .map(|longest| longest + 2)
            .sum();
        let room = width.saturating_sub(before).max(MIN_LAST);
        cells
            .iter_mut()
            .for_each(|row| row[last] = text::fit(&row[last], room).into_owned());
    }
    let widths: Vec<usize> = (0..columns.len())
        .map(|i| {
            cells
                .iter()
                .map(|row| text::width(&row[i]))
                .chain([text::width(&columns[i].title)])
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut out = String::new();
    let titles = columns.iter().map(|column| column.title.clone()).collect();
    for (number, row) in std::iter::once(&titles).chain(&cells).enumerate() {
        let mut line = String::new();
        // Padding is written before the next cell, so no line ends with spaces.
        let mut blanks = 0;
        for ((cell, width), column) in row.iter().zip(&widths).zip(columns) {
            if !cell.is_empty() {
                line.extend(std::iter::repeat_n(' ', blanks));
                blanks = 0;
                let role = if number == 0 {
                    Role::Dim
                } else {
                    (column.role)(cell)
                };
                line.push_str(&role.paint_if(is_colored, cell));
            }
            blanks += width.saturating_sub(text::width(cell)) + 2;
        }
        out.push_str(&line);
        out.push('\n');
    }
    out
}

fn fields(row: &Value, is_colored: bool) -> String {
    let Value::Object(fields) = row else {
        return format!("{}\n", text::clean(&cell(row)));
    };
    let width = fields
        .keys()
        .map(|name| text::width(&text::clean(name)))
        .max()
        .unwrap_or(0);
    let mut out = String::new();
    for (name, value) in fields {
        let name = text::clean(name);
        let pad = " ".repeat(width.saturating_sub(text::width(&name)) + 2);
        let name = Role::Dim.paint_if(is_colored, &name);
        let line = format!("{name}{pad}{}", text::clean(&cell(value)));
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tables_are_aligned_and_clean() {
        let rows = [
            json!({"name": "日本", "n": 1}),
            json!({"name": "a\u{1b}[31m\nb", "n": null}),
        ];
        let columns = [
            column("NAME", |row| cell(&row["name"])),
            column("N", |row| cell(&row["n"])),
        ];
        assert_eq!(table(&rows, &columns, false), "NAME  N\n日本  1\na⏎b\n");
        assert_eq!(
            fields(&json!({"id": "x", "longer": {"a": [1]}}), false),
            "id      x\nlonger  {\"a\":[1]}\n"
        );
    }

    #[test]
    fn last_column_fits_the_width_and_commands_follow_their_rows() {
        let rows = [
            json!({"name": "a", "text": "x".repeat(90)}),
            json!({"name": "bcd", "text": "y"}),
        ];
        let columns = [
            column("NAME", |row| cell(&row["name"])),
            column("TEXT", |row| cell(&row["text"])),
        ];
        let wide = fitted(&rows, &columns, false, Some(40));
        assert!(
            wide.lines().all(|line| text::width(line) <= 40) && wide.contains(&"x".repeat(30)),
            "{wide}"
        );
        // The last column keeps a minimum.
        assert!(fitted(&rows, &columns, false, Some(10)).contains(&"x".repeat(19)));
        let commands = ["run a".to_string(), "run b".to_string()];
        let shown = with_commands(&fitted(&rows, &columns, false, Some(30)), &commands, false);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(
            (lines[2], lines[3], lines[4], lines.len()),
            ("  run a", "bcd   y", "  run b", 5)
        );
    }

    #[test]
    fn headers_and_status_words_are_colored() {
        let rows = [
            json!({"status": "error", "n": "1"}),
            json!({"status": "idle"}),
            json!({"status": "a\u{1b}[31m"}),
        ];
        let columns = || {
            let status = status_column("STATUS", color::of_thread, |row| cell(&row["status"]));
            [status, column("N", |row| cell(&row["n"]))]
        };
        let colored = table(&rows, &columns(), true);
        let expected = "\u{1b}[2mSTATUS\u{1b}[0m  \u{1b}[2mN\u{1b}[0m\n\u{1b}[1;31merror\u{1b}[0m   1\n\
                        \u{1b}[32midle\u{1b}[0m\n\u{1b}[2ma\u{1b}[0m\n";
        assert_eq!(colored, expected);
        let plain = colored
            .replace("\u{1b}[2m", "")
            .replace("\u{1b}[1;31m", "")
            .replace("\u{1b}[32m", "");
        assert_eq!(
            plain.replace("\u{1b}[0m", ""),
            table(&rows, &columns(), false)
        );
        assert_eq!(
            fields(&json!({"id": "x"}), true),
            "\u{1b}[2mid\u{1b}[0m  x\n"
        );
        for (status, role) in [
            ("DEPLOYED_WITH_WARNINGS", Role::Good),
            ("BUILD_FAILED", Role::Failed),
            ("QUEUED", Role::Moving),
            ("INTERRUPTED", Role::Ended),
            ("UNDEPLOYED", Role::Dim),
        ] {
            assert_eq!(color::of_revision(status), role, "{status}");
        }
        assert_eq!(
            (
                color::of_thread("interrupted"),
                color::of_run("interrupted")
            ),
            (Role::Waiting, Role::Ended)
        );
    }

    #[test]
    fn rows_say_where_they_are_from() {
        let profile = Profile {
            name: "p".into(),
            region: Some("us".into()),
            ..Profile::default()
        };
        let row = placed(
            &profile,
            json!({"id": "1", "odd": null, "secrets": [{"name": "A", "value": "canary"}]}),
        );
        assert_eq!(
            row.to_string(),
            r#"{"profile":"p","region":"us","id":"1","odd":null,"secrets":[{"name":"A","value":"***"}]}"#
        );
    }
}
