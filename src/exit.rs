//! How a command ends: exit codes (CLI.md) and failures.

use crate::prelude::*;
use runtail_core::config::ConfigError;
use runtail_stream::is_endpoint_missing;
use std::io;
use std::process::ExitCode;

/// Exit codes that other programs may rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// 0: done.
    Done,
    /// 1: it failed, or was not found.
    Failed,
    /// 2: usage or configuration.
    Usage,
    /// 3: not allowed.
    Forbidden,
    /// 4: the deadline was reached.
    Deadline,
    /// 5: the network gave up.
    Network,
    /// 130: interrupted by the user.
    Interrupted,
    /// 128 plus the number of the signal.
    Signal(u8),
}

impl Exit {
    /// Returns the number.
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Forbidden => 3,
            Exit::Deadline => 4,
            Exit::Network => 5,
            Exit::Interrupted => 130,
            Exit::Signal(number) => 128 + number,
        }
    }

    /// Returns the code of a failed request. Temporary server errors count as network errors.
    pub fn of(error: &ApiError) -> Exit {
        match error.kind {
            Kind::Unauthorized | Kind::Forbidden | Kind::ReadOnly => Exit::Forbidden,
            Kind::Refused | Kind::NoKey => Exit::Usage,
            // The server refused the change: the network is fine.
            Kind::RateLimited(_) if error.at.is_write => Exit::Failed,
            _ if error.is_transient() => Exit::Network,
            _ => Exit::Failed,
        }
    }
}

/// Reports what is missing in a list that was printed nevertheless. The first failure sets the exit code.
pub fn report_missing(failures: &[ApiError], notes: &[String]) -> Exit {
    for error in failures {
        Failure::from(error.clone()).report();
    }
    for note in notes {
        crate::output::complain(format!("runtail: {note}"));
    }
    failures.first().map_or(Exit::Done, Exit::of)
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// Why a command failed.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// The message for stderr.
    pub message: String,
}

impl Failure {
    /// Creates a failure.
    pub fn new(exit: Exit, message: impl Into<String>) -> Failure {
        Failure {
            exit,
            message: message.into(),
        }
    }

    /// Creates a usage or configuration error.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Usage, message)
    }

    /// Creates the error of something that failed, or that doesn't exist.
    pub fn failed(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Failed, message)
    }

    /// A new file of an option that could not be created.
    pub fn of_file(option: &str, name: &str, error: &io::Error) -> Failure {
        Failure::usage(match error.kind() {
            io::ErrorKind::AlreadyExists => {
                format!("{option}{name} already exists and was not changed")
            }
            _ => format!("{option}cannot write {name}: {error}"),
        })
    }

    /// Creates the error of an optional call: a missing route means "not offered".
    pub fn of_optional(error: ApiError, what: &str) -> Failure {
        if !error.may_lack_call() {
            return error.into();
        }
        // The error's own hint is for calls that every agent server has.
        let error = ApiError {
            hint: None,
            ..error
        };
        Failure::failed(format!("{what}: not offered by this server ({error})"))
    }

    /// Writes the message to stderr, if there is one: a closed pipe has none.
    pub fn report(&self) {
        if self.message.is_empty() {
            return;
        }
        crate::output::complain(format!("runtail: {}", self.message));
    }
}

/// Returns the result of a call that every known agent server has. It is not part of the contract, so an unknown server
/// may not offer it.
///
/// # Errors
/// The call's own error, or "not offered".
pub async fn offered<T>(
    server: &AgentServer,
    answer: Result<T, ApiError>,
    what: &str,
) -> Result<T, Failure> {
    match answer {
        Ok(answer) => Ok(answer),
        Err(error)
            if matches!(
                is_endpoint_missing(server, &mut None, &error).await,
                Ok(true)
            ) =>
        {
            Err(Failure::of_optional(error, what))
        }
        Err(error) => Err(error.into()),
    }
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Failure {
        Failure::new(Exit::of(&error), error.to_string())
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Failure {
        Failure::usage(error.to_string())
    }
}
