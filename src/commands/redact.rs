//! `redact FILE`: writes a copy of a recording without sensitive data.

use crate::commands::replay;
use crate::context::unwarned;
use crate::prelude::*;
use runtail_core::config::SecretSource;
use runtail_core::secret;
use runtail_stream::projection::{Found, Joined, Removal, Rules};
use runtail_stream::{Chain, LineParser, Lines, ReadError, Record, RecordingFile, write_record};
use secrecy::ExposeSecret;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};

/// Bytes of lines to collect before writing, and of a pipe to copy before yielding.
const CHUNK: usize = 1 << 20;
/// Number of lines between two yields.
const TURN: u64 = 1024;

/// Options of `redact`.
#[derive(Debug, Args)]
#[command(after_help = PROMISE)]
pub struct Options {
    /// The recording, gzip or not
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The new recording (default: FILE with .redacted before its ending); gzip if its name ends in .gz
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Remove the values at this path of an event's data, such as messages[*].content; **.email is that field anywhere
    #[arg(long = "path", value_name = "PATH")]
    paths: Vec<String>,
    /// Remove what this regular expression matches, in each string and in each message that was streamed token by token
    #[arg(long = "pattern", value_name = "REGEX")]
    patterns: Vec<String>,
    /// Print what would be removed, and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// What is always removed.
const PROMISE: &str = "\
Always removed:
  - values of fields with a secret's name, in any spelling: Authorization, X-Api-Key, apiKey, OPENAI_API_KEY, \
password, client_secret, token, cookie, … Strings, numbers, lists and objects are removed; true, false and null are kept.
  - keys of LangSmith, OpenAI, Anthropic, other AI services, Hugging Face, GitHub, GitLab, AWS, Azure, Google, Slack, \
Stripe, Square, Shopify, SendGrid, Twilio, npm, PyPI, Docker Hub, DigitalOcean, Vault, Notion, Linear and Supabase; JSON web \
tokens, bearer tokens, logins in URLs and of curl, private keys
  - the keys of the configuration, also as base64 or hex

JSON in strings is read as JSON. Messages that were streamed token by token are joined first, and no event keeps a part of \
a secret. Escape sequences and invisible characters in a secret don't hide it. Other secrets need --path or --pattern.";

pub async fn run(globals: &Globals, options: &Options) -> Result<Exit, Failure> {
    let rules = Rules::new(&options.paths, &options.patterns).map_err(Failure::usage)?;
    let unread = |e: io::Error| replay::unread(&options.file, &e);
    let mut file = seekable(File::open(&options.file).map_err(unread)?)
        .await
        .map_err(unread)?;
    let to = options
        .to
        .clone()
        .unwrap_or_else(|| redacted(&options.file));
    let name = text::clean(&to.to_string_lossy()).into_owned();
    guard_keys(globals);
    let (found, last) = join(
        &rules,
        Lines::new(file.try_clone().map_err(unread)?).map_err(unread)?,
    )
    .await?;
    // Only now: an input that is no recording leaves no file.
    let mut new = if options.dry_run {
        None
    } else {
        Some(RecordingFile::create(&to).map_err(|error| Failure::of_file("", &name, &error))?)
    };
    file.rewind().map_err(unread)?;
    let mut lines = Lines::new(file).map_err(unread)?;
    let not_written = |e: io::Error| Failure::failed(format!("cannot write {name}: {e}"));
    let mut work = Work {
        counts: vec![(0, 0); rules.len()],
        ..Work::default()
    };
    while lines.number() < last && lines.advance().map_err(broken)? {
        work.line(&mut lines, &rules, &found, options.dry_run);
        if work.out.len() > CHUNK {
            work.bring(new.as_mut()).map_err(not_written)?;
        }
        if lines.number().is_multiple_of(TURN) {
            tokio::task::yield_now().await;
        }
    }
    work.bring(new.as_mut()).map_err(not_written)?;
    if let Some(new) = new {
        new.finish().map_err(not_written)?;
    }
    // Skip lines that were added after the first pass.
    let has_grown = lines.number() == last && lines.advance().map_err(broken)?;
    warn(&lines, &work, &found, has_grown);
    let mut told = work.sums(&rules);
    if !options.dry_run {
        told.push_str(&format!("wrote {name}, seal {}\n", work.chain.seal_text()));
    }
    output::print(&text::clean_lines(&told), false)?;
    Ok(Exit::Done)
}

fn broken(error: io::Error) -> Failure {
    Failure::failed(ReadError::Io(error).to_string())
}

/// Reads the recording once and joins the texts that were streamed in pieces. Returns what to remove from them, and the
/// number of the last line.
async fn join(rules: &Rules, mut lines: Lines) -> Result<(Found, u64), Failure> {
    let (mut joined, mut parser) = (Joined::new(rules), LineParser::default());
    let mut is_recording = false;
    while lines.advance().map_err(broken)? {
        if let Ok(Some(record)) = lines.parse(&mut parser) {
            is_recording = true;
            joined.read(lines.number(), &record);
        }
        if lines.number().is_multiple_of(TURN) {
            tokio::task::yield_now().await;
        }
    }
    if !is_recording {
        return Err(Failure::failed(
            "this is not a recording: it contains no records",
        ));
    }
    let found = joined.finish();
    if found.is_over_limit() {
        return Err(Failure::failed(
            "more secrets are spread over tokens than fit in memory, so nothing was written; \
             remove those messages as a whole with --path",
        ));
    }
    Ok((found, lines.number()))
}

/// Returns a file that can be read twice: a pipe is copied to an unnamed temporary file.
async fn seekable(mut file: File) -> io::Result<File> {
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    let path = std::env::temp_dir().join(format!("runtail-{}", uuid::Uuid::new_v4()));
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut copy = options.open(&path)?;
    std::fs::remove_file(&path)?;
    let mut chunk = vec![0; CHUNK];
    loop {
        match file.read(&mut chunk)? {
            0 => break,
            read => copy.write_all(&chunk[..read])?,
        }
        tokio::task::yield_now().await;
    }
    copy.rewind()?;
    Ok(copy)
}

/// Adds the keys of the configuration and of the environment to the rules, in every spelling.
fn guard_keys(globals: &Globals) {
    let config = unwarned(globals).unwrap_or_else(|error| {
        let why = text::clean_lines(&error.to_string()).into_owned();
        output::complain(format!(
            "runtail: cannot read the configuration, so its keys are not removed: {why}"
        ));
        Config::default()
    });
    let of_env = Config::from_env(|name| std::env::var(name).ok());
    for profile in config.profiles.iter().chain(&of_env) {
        for source in profile.key.iter().chain(&profile.bearer) {
            let why = match source {
                // The command may ask for a password.
                SecretSource::Command(_) => {
                    "it comes from a command, which redact doesn't run".to_string()
                }
                SecretSource::Keyring(_) => {
                    "it is in the keychain, which redact doesn't open".to_string()
                }
                source => match source.resolve() {
                    Ok(key) => {
                        secret::keys::guard(key.expose_secret());
                        continue;
                    }
                    Err(error) => error.to_string(),
                },
            };
            let line = format!(
                "runtail: the key of profile {} is not removed: {why}",
                profile.name
            );
            output::complain(text::clean(&line));
        }
    }
}

/// Reports what could not be redacted or was skipped.
fn warn(lines: &Lines, work: &Work, found: &Found, has_grown: bool) {
    if lines.was_truncated() {
        output::complain(
            "runtail: the recording ends in the middle of a line; the lines before it were redacted",
        );
    }
    if has_grown {
        output::complain(
            "runtail: the recording grew while it was read; the new lines were skipped",
        );
    }
    if work.left_out > 0 {
        let lines = text::count(work.left_out);
        output::complain(format!(
            "runtail: {lines} lines that are not records were skipped"
        ));
    }
    if found.is_partial() {
        output::complain(
            "runtail: the streamed messages are too large to join at once, so they were searched in parts; \
             a secret that is streamed across two parts may remain",
        );
    }
}

#[derive(Default)]
struct Work {
    parser: LineParser,
    chain: Chain,
    out: Vec<u8>,
    /// Number of matches and their bytes, by rule.
    counts: Vec<(u64, u64)>,
    left_out: u64,
}

impl Work {
    /// Redacts the next line. A preview only lists what would be removed.
    fn line(&mut self, lines: &mut Lines, rules: &Rules, found: &Found, is_preview: bool) {
        let record = match lines.parse(&mut self.parser) {
            Ok(Some(record)) => record,
            Ok(None) if lines.was_truncated() => return,
            Ok(None) | Err(_) => {
                self.left_out += 1;
                return;
            }
        };
        let of = match &record {
            Record::Event(event) => format!("event {}", event.seq),
            _ => format!("line {}", lines.number()),
        };
        let (counts, out) = (&mut self.counts, &mut self.out);
        let record = rules.apply(record, found.of(lines.number()), &mut |gone: Removal| {
            if let Some((places, bytes)) = counts.get_mut(gone.rule) {
                *places += 1;
                *bytes += gone.bytes as u64;
            }
            if is_preview {
                let (size, rule) = (
                    text::bytes(gone.bytes as u64),
                    text::clean(rules.name(gone.rule)),
                );
                out.extend(
                    format!("{of}  {}  {size}  {rule}  {}\n", gone.place, gone.head).bytes(),
                );
            }
        });
        if !is_preview {
            let from = self.out.len();
            // Writing to memory can't fail.
            let _ = write_record(&mut self.out, &record);
            self.chain.seal(&mut self.out, from);
        }
    }

    /// Returns a line for each rule that removed something.
    fn sums(&self, rules: &Rules) -> String {
        let mut told = String::new();
        for (rule, (places, bytes)) in self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, (places, _))| *places > 0)
        {
            let places = format!(
                "{} {}",
                text::count(*places),
                text::plural(*places, "place")
            );
            told.push_str(&format!(
                "{places}, {}: {}\n",
                text::bytes(*bytes),
                rules.name(rule)
            ));
        }
        if told.is_empty() {
            told.push_str("nothing to remove\n");
        }
        told
    }

    fn bring(&mut self, new: Option<&mut RecordingFile>) -> io::Result<()> {
        match new {
            Some(new) => new.write(&self.out)?,
            // A preview without a reader is not printed.
            None => drop(output::print(&String::from_utf8_lossy(&self.out), false)),
        }
        self.out.clear();
        Ok(())
    }
}

/// `a.jsonl.gz` becomes `a.redacted.jsonl.gz`.
fn redacted(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let dot = name
        .char_indices()
        .skip(1)
        .find(|(_, c)| *c == '.')
        .map_or(name.len(), |(at, _)| at);
    let (stem, ending) = name.split_at(dot);
    file.with_file_name(format!("{stem}.redacted{ending}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_endings() {
        for (from, to) in [
            ("x/a.jsonl.gz", "x/a.redacted.jsonl.gz"),
            ("a.jsonl", "a.redacted.jsonl"),
            ("a", "a.redacted"),
            (".a", ".a.redacted"),
            ("é.x", "é.redacted.x"),
        ] {
            assert_eq!(redacted(Path::new(from)), Path::new(to));
        }
    }
}
