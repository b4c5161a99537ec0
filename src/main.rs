//! From arguments to an exit code.

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = runtail::cli::Args::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(e) => {
            eprintln!("runtail: cannot start: {e}");
            return ExitCode::FAILURE;
        }
    };
    let exit = runtime.block_on(runtail::cli::run(args));
    // What still waits for a server or for stdin must not hold the shell's prompt back.
    runtime.shutdown_background();
    exit
}
