//! The store of an agent server: items in namespaces.

use crate::output::List;
use crate::prelude::*;
use runtail_api::ResourceIntent;
use serde_json::Map;

/// Columns of a value in a table.
const VALUE: usize = 100;

/// Commands for the store.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the namespaces that have items
    Namespaces(Namespaces),
    /// List the items below a namespace
    Search(Search),
    /// Show one item
    Get(Item),
    /// Write an item, and replace its value if it exists
    Put(Put),
    /// Delete an item
    Delete(Delete),
}

/// Options of `store namespaces`.
#[derive(Debug, Args)]
#[command(mut_arg("limit", |limit| limit.default_value("100")))]
pub struct Namespaces {
    /// Only those below this one: labels separated by dots
    #[arg(value_name = "PREFIX")]
    prefix: Option<String>,
    /// Maximum number of labels; longer namespaces are cut
    #[arg(long, value_name = "N")]
    depth: Option<usize>,
    #[command(flatten)]
    list: List,
}

/// Options of `store search`.
#[derive(Debug, Args)]
pub struct Search {
    /// The namespace: labels separated by dots (default: all)
    #[arg(value_name = "PREFIX")]
    prefix: Option<String>,
    /// Sort by similarity to this text, on servers with a configured index; others ignore it
    #[arg(long, value_name = "TEXT")]
    query: Option<String>,
    /// Only items whose value has this field (repeatable); V is JSON, else a text
    #[arg(long, value_name = "K=V")]
    filter: Vec<String>,
    #[command(flatten)]
    list: List,
}

/// The place of an item.
#[derive(Debug, Args)]
pub struct At {
    /// The namespace: labels separated by dots
    #[arg(value_name = "NAMESPACE")]
    namespace: String,
    /// The item's key
    #[arg(value_name = "KEY")]
    key: String,
}

/// Options of `store get`.
#[derive(Debug, Args)]
pub struct Item {
    #[command(flatten)]
    at: At,
    #[command(flatten)]
    output: Output,
}

/// Options of `store put`.
#[derive(Debug, Args)]
#[command(after_long_help = PUT)]
pub struct Put {
    #[command(flatten)]
    at: At,
    /// The value, a JSON object; @FILE reads a file, - reads stdin
    #[arg(value_name = "JSON|@FILE|-")]
    value: String,
    #[command(flatten)]
    sending: Sending,
}

const PUT: &str = "\
The whole value is replaced; the preview shows the difference to the present one. Nothing is sent if the item changes after the \
preview. The store keeps no history.

Exit codes: 0 written, or it has this value already · 1 not offered, changed since the preview, or the server refused · 2 not a JSON \
object, or a label with a dot · 3 not allowed, or read-only · 5 the reply was lost.";

/// Options of `store delete`.
#[derive(Debug, Args)]
pub struct Delete {
    #[command(flatten)]
    at: At,
    #[command(flatten)]
    yes: Yes,
    #[command(flatten)]
    sending: Sending,
}

pub async fn run(globals: &Globals, command: Command) -> Result<Exit, Failure> {
    let context = Context::load(globals)?;
    let (site, server) = resolve::agent_server(&context).await?;
    let (intent, sending, approval) = match command {
        Command::Namespaces(Namespaces {
            prefix,
            depth,
            list: List { paging, output },
        }) => {
            let all = server
                .store_namespaces(
                    &labels(prefix.as_deref()),
                    depth,
                    paging.limit,
                    paging.offset,
                )
                .await?;
            let rows = all
                .items
                .iter()
                .map(|namespace| json!({"namespace": namespace}))
                .collect();
            output.listing(
                &Listing::new(rows, all.unread),
                &[column("NAMESPACE", namespace)],
            )?;
            return Ok(Exit::Done);
        }
        Command::Search(Search {
            prefix,
            query,
            filter,
            list: List { paging, output },
        }) => {
            let filter = equal(&filter)?;
            let prefix = labels(prefix.as_deref());
            let rows = server
                .store_items(
                    &prefix,
                    query.as_deref(),
                    filter.as_ref(),
                    paging.limit,
                    paging.offset,
                )
                .await?;
            let columns = [
                column("NAMESPACE", namespace),
                field_column("KEY", "/key"),
                time_column("UPDATED", "/updated_at"),
                column("VALUE", |row| {
                    text::fit(&text::clean(&cell(&row["value"])), VALUE).into_owned()
                }),
            ];
            output.listing(&rows, &columns)?;
            return Ok(Exit::Done);
        }
        Command::Get(Item { at, output }) => {
            let namespace = labels(Some(&at.namespace));
            if namespace.is_empty() {
                return Err(Failure::usage("the namespace is empty"));
            }
            let item = server.store_item(&namespace, &at.key).await?;
            if item.is_null() {
                let name = text::clean(&format!("{} {}", at.namespace, at.key)).into_owned();
                return Err(Failure::failed(format!("there is no item {name}")));
            }
            output.one(&item)?;
            return Ok(Exit::Done);
        }
        Command::Put(Put { at, value, sending }) => {
            let value = input::json("the value", &value).await?;
            let namespace = labels(Some(&at.namespace));
            let intent = ResourceIntent::PutItem {
                namespace,
                key: at.key,
                value,
                edited_from: None,
            };
            (intent, sending, Approval::NotNeeded)
        }
        Command::Delete(Delete { at, yes, sending }) => {
            let intent = ResourceIntent::DeleteItem {
                namespace: labels(Some(&at.namespace)),
                key: at.key,
            };
            (intent, sending, Approval::Yes(yes))
        }
    };
    let act = Act {
        context: &context,
        site: &site,
        sending: &sending,
        approval,
    };
    act.run_resource_intent(&server, &intent).await
}

/// Labels can't contain dots, so dots separate them.
fn labels(namespace: Option<&str>) -> Vec<String> {
    let namespace = namespace.unwrap_or_default();
    if namespace.is_empty() {
        Vec::new()
    } else {
        namespace.split('.').map(str::to_string).collect()
    }
}

fn namespace(row: &Value) -> String {
    let labels = row["namespace"].as_array().into_iter().flatten();
    labels
        .map(|label| {
            label
                .as_str()
                .map_or_else(|| label.to_string(), str::to_string)
        })
        .collect::<Vec<_>>()
        .join(".")
}

/// Reads the filters. Servers support equality; the Python server fails at operators.
fn equal(filters: &[String]) -> Result<Option<Value>, Failure> {
    let mut fields = Map::new();
    for filter in filters {
        let Some((name, value)) = filter.split_once('=').filter(|(name, _)| !name.is_empty())
        else {
            return Err(Failure::usage(format!(
                "--filter {}: expected K=V",
                text::clean(filter)
            )));
        };
        let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
        fields.insert(name.to_string(), value);
    }
    Ok((!fields.is_empty()).then_some(Value::Object(fields)))
}
