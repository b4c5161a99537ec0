//! The settings of a deployment, from a file and from options. Options override the file.

use crate::prelude::*;
use runtail_core::config::SecretRef;
use runtail_core::model::{DeploymentSpec, Format};

/// The fields of a deployment as options.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Settings (override the file)")]
pub struct Fields {
    /// Branch, or tag as refs/tags/NAME
    #[arg(long, value_name = "REF", value_parser = filled)]
    repo_ref: Option<String>,
    /// Path of the graph configuration in the repository
    #[arg(long, value_name = "PATH", value_parser = filled)]
    config_path: Option<String>,
    /// Image to run; a digest pins it
    #[arg(long, value_name = "IMAGE", value_parser = filled)]
    image: Option<String>,
    /// Path of an uploaded source, as returned by the service
    #[arg(long, value_name = "PATH", value_parser = filled)]
    tarball: Option<String>,
    /// Whether a push to the branch builds a revision
    #[arg(long, value_name = "BOOL")]
    build_on_push: Option<bool>,
    /// Resources; replaces the whole set
    #[arg(long, value_name = "JSON|@FILE")]
    resource_spec: Option<String>,
    /// A secret to set, by reference (repeatable): NAME=env:VARIABLE or NAME=file:PATH
    #[arg(long = "secret", value_name = "NAME=REFERENCE")]
    secrets: Vec<String>,
    /// A secret to remove (repeatable); an update keeps all others
    #[arg(long = "remove-secret", value_name = "NAME")]
    remove_secrets: Vec<String>,
    /// Remove all secrets that are not given
    #[arg(long)]
    replace_secrets: bool,
    /// Address of the repository
    #[arg(long, value_name = "URL", value_parser = filled)]
    repo_url: Option<String>,
    /// Display name
    #[arg(long, value_name = "NAME", value_parser = filled)]
    display_name: Option<String>,
    /// Address of the agent server, for deployments from your own images
    #[arg(long, value_name = "URL", value_parser = filled)]
    custom_url: Option<String>,
    /// Install command (JavaScript)
    #[arg(long, value_name = "COMMAND", value_parser = filled)]
    install_command: Option<String>,
    /// Build command (JavaScript)
    #[arg(long, value_name = "COMMAND", value_parser = filled)]
    build_command: Option<String>,
    /// Whether calls go through the gateway
    #[arg(long, value_name = "BOOL")]
    route_through_gateway: Option<bool>,
    /// The source of this revision, if it differs from the deployment's
    #[arg(long, value_name = "SOURCE", value_parser = ["github", "internal_docker", "internal_source"])]
    revision_source: Option<String>,
    /// A package that the service tracks (repeatable): NAME:VERSION
    #[arg(long = "tracked-package", value_name = "PACKAGE", value_parser = filled)]
    tracked_packages: Vec<String>,
}

/// Reads the settings of a deployment: a file, or `-` for stdin.
pub async fn document(path: &Path) -> Result<DeploymentSpec, Failure> {
    let (text, path) = input::document(path).await?;
    let path = path.unwrap_or(Path::new("(stdin)"));
    let format = Format::of(Some(path), &text);
    Ok(DeploymentSpec::parse(&text, format, Some(path))?)
}

impl Fields {
    /// Applies the options.
    pub fn apply(self, spec: &mut DeploymentSpec) -> Result<(), Failure> {
        let text = |value: Option<String>| value.map(Value::from);
        let flag = |value: Option<bool>| value.map(Value::from);
        let packages = Some(self.tracked_packages)
            .filter(|all| !all.is_empty())
            .map(Value::from);
        for (at, value) in [
            (["source_revision_config", "repo_ref"], text(self.repo_ref)),
            (
                ["source_revision_config", "langgraph_config_path"],
                text(self.config_path),
            ),
            (["source_revision_config", "image_uri"], text(self.image)),
            (
                ["source_revision_config", "source_tarball_path"],
                text(self.tarball),
            ),
            (["source_config", "build_on_push"], flag(self.build_on_push)),
            (["source_config", "repo_url"], text(self.repo_url)),
            (["source_config", "custom_url"], text(self.custom_url)),
            (
                ["source_config", "install_command"],
                text(self.install_command),
            ),
            (["source_config", "build_command"], text(self.build_command)),
            (["", "display_name"], text(self.display_name)),
            (
                ["", "route_through_gateway"],
                flag(self.route_through_gateway),
            ),
            (["", "revision_source"], text(self.revision_source)),
            (["", "tracked_packages"], packages),
        ] {
            if let Some(value) = value {
                spec.set(at, value);
            }
        }
        if let Some(given) = self.resource_spec {
            let (text, title) = match given.strip_prefix('@') {
                Some(path) => (input::file_text(Path::new(path))?, PathBuf::from(path)),
                None => (given, PathBuf::from("--resource-spec")),
            };
            spec.set_resources(&text, &title)?;
        }
        let mut named = Vec::new();
        for given in &self.secrets {
            let (name, secret) = secret(given)?;
            if named.contains(&name) {
                return Err(Failure::usage(format!(
                    "--secret {} is given twice: keep one of them",
                    text::clean(name)
                )));
            }
            named.push(name);
            spec.set_secret(name, secret);
        }
        spec.remove_secrets.extend(self.remove_secrets);
        spec.replace_secrets |= self.replace_secrets;
        Ok(())
    }
}

/// Parses `NAME=REFERENCE`.
fn secret(given: &str) -> Result<(&str, SecretRef), Failure> {
    let (name, reference) = given.split_once('=').unwrap_or_default();
    let option = format!("--secret {name}");
    let secret = crate::fields::secret(option.trim_end(), "NAME=", reference)?;
    Ok((name, secret))
}
