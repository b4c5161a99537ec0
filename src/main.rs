//! From arguments to an exit code.

use clap::Parser;
use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    runtail::cli::run(runtail::cli::Args::parse()).await
}
