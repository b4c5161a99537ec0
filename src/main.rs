//! From arguments to an exit code.

mod act;
mod args;
mod commands;
mod complete;
mod consent;
mod context;
mod dispatch;
mod evidence;
mod exit;
mod fields;
mod globals;
mod help;
mod input;
mod log;
mod output;
mod prelude;
mod recorder;
mod resolve;
mod signals;

use std::process::ExitCode;

/// File descriptors needed to start: for the runtime, the terminal and a first connection. Libraries panic without them.
#[cfg(unix)]
const FILES: usize = 32;

fn main() -> ExitCode {
    complete::answer();
    let args = args::Args::read();
    runtail_api::identify_as(format!("runtail/{}", args::VERSION));
    #[cfg(unix)]
    if let Err(e) = (0..FILES)
        .map(|_| std::fs::File::open("/dev/null"))
        .collect::<Result<Vec<_>, _>>()
        && matches!(e.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
    {
        eprintln!("runtail: cannot start: {e}");
        return ExitCode::FAILURE;
    }
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    if args.follows_one_stream() {
        // The connection and its reader alternate at every chunk; on two threads they would wake each other.
        builder.worker_threads(1);
    }
    let runtime = match builder.enable_all().build() {
        Ok(runtime) => runtime,
        Err(e) => {
            eprintln!("runtail: cannot start: {e}");
            return ExitCode::FAILURE;
        }
    };
    let exit = runtime.block_on(dispatch::run(args));
    // Tasks that wait for a server or for stdin must not delay the exit.
    runtime.shutdown_background();
    exit
}
