//! `auth …`: OAuth providers, users' tokens, and authentication.

mod authenticate;
mod providers;
mod tokens;

use crate::prelude::*;

/// Commands of the auth service.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Request a third-party token and print the authorization link
    Authenticate(Box<authenticate::Options>),
    /// Wait until a link from `auth authenticate` is authorized
    Wait(authenticate::WaitOptions),
    /// OAuth providers of the organization
    #[command(subcommand)]
    Providers(providers::Command),
    /// Your own tokens
    #[command(subcommand)]
    Tokens(tokens::Command),
}

pub async fn run(globals: &Globals, command: Command) -> Result<Exit, Failure> {
    let context = Context::load(globals)?;
    match command {
        Command::Authenticate(options) => authenticate::run(&context, *options).await,
        Command::Wait(options) => authenticate::wait(&context, options).await,
        Command::Providers(command) => providers::run(&context, command).await,
        Command::Tokens(command) => tokens::run(&context, command).await,
    }
}
