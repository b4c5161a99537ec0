//! TEMP
#![allow(missing_docs)]
use crate::config::ConfigError;
#[derive(Debug, Clone, PartialEq)]
pub struct DeploymentSpec(pub String);
pub enum Format {
    Toml,
    Json,
}
impl DeploymentSpec {
    pub const EXAMPLE: &str = "# A deployment.\nname = \"support-bot\"\nsource = \"github\"\n";
    pub fn parse(text: &str, _: Format, _: Option<&std::path::Path>) -> Result<DeploymentSpec, ConfigError> {
        toml::from_str::<toml::Table>(text)
            .map(|_| DeploymentSpec(text.into()))
            .map_err(|e| ConfigError::new(e.message()))
    }
    pub fn template_of(_: &serde_json::Value) -> String {
        Self::EXAMPLE.into()
    }
}
