//! Certificates for test servers.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use std::sync::Arc;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;

/// Creates an authority. Returns its certificate as PEM, and the issuer for other certificates.
pub fn authority() -> (String, Issuer<'static, KeyPair>) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
        .distinguished_name
        .push(DnType::OrganizationName, "Runtail Test Authority");
    let key = KeyPair::generate().unwrap();
    let root = params.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(params, key);
    (root, issuer)
}

/// Creates a TLS configuration for a host name and protocols. Returns the certificate of its authority as PEM, and the
/// configuration.
pub fn server_config(name: &str, protocols: &[&str]) -> (String, Arc<ServerConfig>) {
    let (root, issuer) = authority();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec![name.to_string()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap().der().clone();
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let config = config
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth();
    let mut config = config
        .with_single_cert(vec![certificate], key.into())
        .unwrap();
    config.alpn_protocols = protocols
        .iter()
        .map(|protocol| protocol.as_bytes().to_vec())
        .collect();
    (root, Arc::new(config))
}
