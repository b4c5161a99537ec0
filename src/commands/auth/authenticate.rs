//! `auth authenticate` and `auth wait`: print the authorization link and the result, never the token.

use crate::commands::collections;
use crate::fields::{Fields, Kind};
use crate::prelude::*;
use runtail_api::AuthWaited;
use runtail_core::catalog::{AUTHENTICATION, Field};
use runtail_core::config::parse_duration;
use runtail_core::model::{AuthAnswer, AuthAuthenticateRequest, AuthStatus, shell_word};
use runtail_tui::runtime::open_link;

#[derive(Debug, Clone)]
struct Authentication;

impl Kind for Authentication {
    const FIELDS: &'static [Field] = AUTHENTICATION;
}

/// Options of `auth authenticate`. Missing options are not sent, so the server's defaults apply.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Exit codes: 0 completed · 1 someone has to act first (pending, connection_required, token_expired), or the link has \
expired · 2 usage · 3 not allowed · 4 the deadline of --wait was reached · 5 the network gave up. The answer is printed with \
0, 1 and 4, without its token.")]
pub struct Options {
    #[command(flatten)]
    fields: Fields<Authentication, true>,
    /// Open the link in the browser
    #[arg(long)]
    open: bool,
    /// Wait until someone authorizes
    #[arg(long)]
    wait: bool,
    /// When to give up waiting
    #[arg(long, default_value = "5m", value_parser = duration, requires = "wait")]
    timeout: Duration,
    #[command(flatten)]
    output: ResultOutput,
}

/// Options of `auth wait`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Exit codes: 0 completed · 1 the link has expired, or is unknown · 2 usage · 3 not allowed · 4 the deadline was reached · 5 the \
network gave up.")]
pub struct WaitOptions {
    /// The auth_id from `auth authenticate`, or PROFILE/ID
    #[arg(value_name = "ID")]
    auth_id: String,
    /// When to give up
    #[arg(long, default_value = "5m", value_parser = duration)]
    timeout: Duration,
    #[command(flatten)]
    output: ResultOutput,
}

fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).ok_or_else(|| "expected a duration such as 60s or 5m".to_string())
}

pub async fn run(context: &Context, options: Options) -> Result<Exit, Failure> {
    let fields = options.fields.document().await?.fields;
    let request = AuthAuthenticateRequest { fields };
    let (site, control) = collections::only_site(context).await?;
    let first = control.authenticate(&request).await?;
    print_answer(&first);
    if let Some(url) = first.url() {
        if options.wait {
            // The result is printed at the end as one object, but the link is needed before.
            complain(format!("open this link to authorize:\n  {url}"));
        }
        if options.open
            && let Err(why) = open_link(url).await
        {
            complain(format!("warning: {why}; open {url} in a browser"));
        }
    }
    let (mut shown, mut exit) = (first.clone(), exit_of(&first));
    if options.wait && first.status() != AuthStatus::Completed {
        let Some(auth_id) = first.auth_id() else {
            options.output.one(&placed(&site.profile, shown.row))?;
            let why = "nothing to wait for: the server returned no auth_id";
            return Err(Failure::new(exit, why));
        };
        let (last, ended) = wait_for(&control, auth_id, options.timeout).await?;
        exit = ended;
        last.into_iter().for_each(|last| shown.follow(last));
    }
    options.output.one(&placed(&site.profile, shown.row))?;
    Ok(exit)
}

pub async fn wait(context: &Context, options: WaitOptions) -> Result<Exit, Failure> {
    let (profiles, auth_id) = resolve::narrowed(context, &options.auth_id);
    let context = Context {
        profiles,
        ..context.clone()
    };
    let (Site { profile, .. }, control) = collections::only_site(&context).await?;
    let (last, exit) = wait_for(&control, auth_id, options.timeout).await?;
    if let Some(last) = last {
        options.output.one(&placed(&profile, last.row))?;
    }
    Ok(exit)
}

/// Waits and returns the last answer; none if the deadline came first.
async fn wait_for(
    control: &ControlPlane,
    auth_id: &str,
    timeout: Duration,
) -> Result<(Option<AuthAnswer>, Exit), Failure> {
    let trouble = |error: &ApiError| complain(format!("note: still waiting: {error}"));
    match control.wait_for_auth(auth_id, timeout, trouble).await? {
        AuthWaited::Ended(answer) => {
            print_answer(&answer);
            let exit = exit_of(&answer);
            Ok((Some(answer), exit))
        }
        AuthWaited::Deadline => {
            let (after, id) = (text::duration(timeout), shell_word(auth_id));
            complain(format!(
                "runtail: not authorized within {after}; the link may still be valid: runtail auth wait {id}"
            ));
            Ok((None, Exit::Deadline))
        }
    }
}

/// Prints what a status means and what to do next.
fn print_answer(answer: &AuthAnswer) {
    let status = answer.status();
    complain(format!("{}: {}", answer.word(), status.meaning()));
    let id = || shell_word(answer.auth_id().unwrap_or_default());
    let next = match (status, answer.url()) {
        (AuthStatus::Completed, _) if answer.has_token => {
            "A token was returned (not shown).".to_string()
        }
        (AuthStatus::Pending, _) if answer.auth_id().is_some() => {
            format!(
                "--open opens it; --wait waits for it, as does: runtail auth wait {}",
                id()
            )
        }
        (AuthStatus::ConnectionRequired | AuthStatus::TokenExpired, Some(_)) => {
            "The link leads to the next step; --open opens it.".to_string()
        }
        (AuthStatus::ConnectionRequired, None) => {
            "Without --check-only the server returns a link.".to_string()
        }
        (AuthStatus::TokenExpired, None) => "--force-new requests a new one.".to_string(),
        (AuthStatus::NotFound, _) => "`runtail auth authenticate` returns a new link.".to_string(),
        _ => return,
    };
    complain(format!("  {next}"));
}

fn exit_of(answer: &AuthAnswer) -> Exit {
    if answer.status() == AuthStatus::Completed {
        Exit::Done
    } else {
        Exit::Failed
    }
}
