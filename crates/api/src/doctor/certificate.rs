//! A TLS handshake whose certificate is looked at, whether it is trusted or not.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, ProtocolVersion, SignatureScheme};
use rustls_platform_verifier::Verifier;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use x509_parser::prelude::{FromDer, X509Certificate};

/// What a certificate says of itself. Its texts are foreign.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Certificate {
    /// Who issued it.
    pub issuer: String,
    /// From when it is good, in seconds of Unix time.
    pub begins: i64,
    /// Until when.
    pub ends: i64,
}

/// A handshake, done or failed.
pub(super) struct Handshake {
    /// The version that was agreed on.
    pub result: Result<Option<ProtocolVersion>, io::Error>,
    /// The server's certificate, where it showed one that can be read.
    pub certificate: Option<Certificate>,
}

/// Shakes hands as the HTTP client would: the same cryptography, the same trust. Nothing is sent over the connection.
pub(super) async fn shake(name: ServerName<'static>, stream: TcpStream) -> Handshake {
    let failed = |e: rustls::Error| Handshake { result: Err(io::Error::other(e)), certificate: None };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = match Witness::new(provider.clone()) {
        Ok(verifier) => Arc::new(verifier),
        Err(e) => return failed(e),
    };
    let config = match ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions() {
        // "Dangerous" since it could trust anything; this one trusts what the platform's own trusts.
        Ok(config) => config.dangerous().with_custom_certificate_verifier(verifier.clone()).with_no_client_auth(),
        Err(e) => return failed(e),
    };
    let result = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
    let seen = verifier.seen.lock().unwrap_or_else(PoisonError::into_inner).take();
    Handshake {
        result: result.map(|stream| stream.get_ref().1.protocol_version()),
        certificate: seen.and_then(|der| read(&der)),
    }
}

fn read(der: &[u8]) -> Option<Certificate> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let issuer = certificate.issuer();
    // The organisation is what a person knows; the common name of an authority is often a number.
    let mut names = issuer.iter_organization().chain(issuer.iter_common_name());
    let issuer = names.find_map(|name| name.as_str().ok()).unwrap_or("an issuer without a name").to_string();
    let validity = certificate.validity();
    Some(Certificate { issuer, begins: validity.not_before.timestamp(), ends: validity.not_after.timestamp() })
}

/// The platform's own judge of certificates, with a witness who remembers what was shown.
#[derive(Debug)]
struct Witness {
    judge: Verifier,
    seen: Mutex<Option<Vec<u8>>>,
}

impl Witness {
    fn new(provider: Arc<CryptoProvider>) -> Result<Witness, Error> {
        Ok(Witness { judge: Verifier::new(provider)?, seen: Mutex::default() })
    }
}

impl ServerCertVerifier for Witness {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(end_entity.to_vec());
        self.judge.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.judge.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.judge.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.judge.supported_verify_schemes()
    }
}
