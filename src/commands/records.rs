//! The shared commands of listeners and OAuth providers: get, create, update and delete.

use crate::act::Confirm;
use crate::commands::collections;
use crate::fields::{Fields, Kind};
use crate::prelude::*;
use runtail_core::catalog::{Collection, Service, ServiceChange};
use runtail_core::config::Document;
use runtail_core::model::Intent;
use std::marker::PhantomData;

/// A kind of record of the control plane.
pub trait Record: Kind {
    const OF: Collection;
    /// The name and the help of the argument that names a record.
    const ID: [&'static str; 2];
    /// The end of the help of `--file`.
    const FILE: &'static str;
}

/// A record.
#[derive(Debug, Args)]
pub struct Id<R: Record> {
    #[arg(value_name = R::ID[0], help = R::ID[1])]
    id: String,
    #[arg(skip)]
    record: PhantomData<R>,
}

/// Options of `get`.
#[derive(Debug, Args)]
pub struct Get<R: Record> {
    #[command(flatten)]
    of: Id<R>,
    #[command(flatten)]
    output: Output,
}

/// Options of `create`.
#[derive(Debug, Args)]
pub struct Create<R: Record> {
    #[arg(short, long, value_name = "FILE", help = format!("What to create, as TOML or JSON, - for stdin{}", R::FILE))]
    file: Option<PathBuf>,
    #[command(flatten)]
    fields: Fields<R, true>,
    #[command(flatten)]
    sending: Sending,
}

/// Options of `update`.
#[derive(Debug, Args)]
pub struct Update<R: Record> {
    #[command(flatten)]
    of: Id<R>,
    #[arg(short, long, value_name = "FILE", help = format!("What to change, as TOML or JSON, - for stdin{}", R::FILE))]
    file: Option<PathBuf>,
    #[command(flatten)]
    fields: Fields<R, false>,
    #[command(flatten)]
    sending: Sending,
}

/// Options of `delete`.
#[derive(Debug, Args)]
pub struct Delete<R: Record> {
    #[command(flatten)]
    of: Id<R>,
    #[command(flatten)]
    confirm: Confirm,
    #[command(flatten)]
    sending: Sending,
}

impl<R: Record> Get<R> {
    pub async fn run(self, context: &Context) -> Result<Exit, Failure> {
        collections::get(context, &R::OF, &self.of.id, &self.output).await
    }
}

impl<R: Record> Create<R> {
    pub async fn run(self, context: &Context, what: Service) -> Result<Exit, Failure> {
        let document = match self.file {
            Some(file) => read(&what, &file).await?,
            None => self.fields.document().await?,
        };
        let change = ServiceChange { what, document };
        make(context, change, (&self.sending, Approval::NotNeeded)).await
    }
}

impl<R: Record> Update<R> {
    pub async fn run(
        self,
        context: &Context,
        what: fn(String) -> Service,
    ) -> Result<Exit, Failure> {
        let document = match self.file {
            Some(file) => read(&what(String::new()), &file).await?,
            None => self.fields.document().await?,
        };
        let how = (&self.sending, Approval::NotNeeded);
        make_on(context, &R::OF, &self.of.id, (what, document), how).await
    }
}

impl<R: Record> Delete<R> {
    pub async fn run(
        self,
        context: &Context,
        what: fn(String) -> Service,
    ) -> Result<Exit, Failure> {
        let how = (
            &self.sending,
            Approval::Name(self.confirm.confirm.as_deref()),
        );
        let what = (what, Document::default());
        make_on(context, &R::OF, &self.of.id, what, how).await
    }
}

/// Reads the document of a change from a file, or from stdin for `-`.
async fn read(what: &Service, file: &Path) -> Result<Document, Failure> {
    let (text, path) = input::document(file).await?;
    Ok(what.clone().read(&text, path)?.document)
}

/// Makes a change in the only profile with a control plane.
pub async fn make(
    context: &Context,
    change: ServiceChange,
    (sending, approval): (&Sending, Approval<'_>),
) -> Result<Exit, Failure> {
    let (site, _) = collections::only_site(context).await?;
    let act = Act {
        context,
        site: &site,
        sending,
        approval,
    };
    act.run_intent(&Intent::Service(Box::new(change)), None)
        .await
}

/// Makes a change to a record by its id, or PROFILE/ID, in the profile that has it.
pub async fn make_on(
    context: &Context,
    of: &Collection,
    id: &str,
    (what, document): (fn(String) -> Service, Document),
    how: (&Sending, Approval<'_>),
) -> Result<Exit, Failure> {
    let (profiles, id) = resolve::narrowed(context, id);
    let mut profiles = collections::with_control_plane(profiles)?;
    if profiles.len() > 1 {
        profiles = vec![collections::only_member(profiles, of, id).await?.0];
    }
    let context = Context {
        profiles,
        ..context.clone()
    };
    let what = what(id.to_string());
    make(&context, ServiceChange { what, document }, how).await
}
