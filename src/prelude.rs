//! What most commands use.

pub(crate) use crate::act::{self, Act, Approval, Sending};
pub(crate) use crate::consent::Yes;
pub(crate) use crate::context::{Context, Site};
pub(crate) use crate::exit::{Exit, Failure};
pub(crate) use crate::fields::filled;
pub(crate) use crate::globals::Globals;
pub(crate) use crate::output::{
    self, Column, Format, Output, ResultOutput, cell, color, column, complain, field_column,
    placed, status_column, time_column,
};
pub(crate) use crate::signals::Signals;
pub(crate) use crate::{input, resolve};
pub(crate) use clap::{Args, Subcommand, ValueEnum};
pub(crate) use futures::future::join_all;
pub(crate) use jiff::Timestamp;
pub(crate) use runtail_api::{
    AgentServer, ApiError, ControlPlane, Kind, Listing, Retry, ThreadIntent, text_of,
};
pub(crate) use runtail_core::config::{Config, Profile};
pub(crate) use runtail_core::text;
pub(crate) use serde_json::{Value, json};
pub(crate) use std::io::IsTerminal;
pub(crate) use std::path::{Path, PathBuf};
pub(crate) use std::time::Duration;
