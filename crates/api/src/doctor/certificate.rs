//! A TLS handshake that inspects the certificate, trusted or not.

use crate::connections::lock;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, ProtocolVersion, SignatureScheme};
use rustls_platform_verifier::Verifier;
use std::io;
use std::sync::{Arc, Mutex};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use x509_parser::prelude::{FromDer, X509Certificate};

/// Fields of a certificate. Its texts are external.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Certificate {
    /// Who issued it.
    pub issuer: String,
    /// Start of its validity, in seconds of Unix time.
    pub begins: i64,
    /// End of its validity.
    pub ends: i64,
}

/// The result of a handshake.
pub(super) struct Handshake {
    /// The negotiated version.
    pub result: Result<Option<ProtocolVersion>, io::Error>,
    /// The server's certificate, if it sent a readable one.
    pub certificate: Option<Certificate>,
}

/// Makes a TLS handshake as the HTTP client would: same cryptography, same trust. Sends no data.
pub(super) async fn shake(name: ServerName<'static>, stream: TcpStream) -> Handshake {
    let failed = |e: rustls::Error| Handshake {
        result: Err(io::Error::other(e)),
        certificate: None,
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = match CertRecorder::new(provider.clone()) {
        Ok(verifier) => Arc::new(verifier),
        Err(e) => return failed(e),
    };
    let config =
        match ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions() {
            // "Dangerous" because it could trust anything; this one delegates to the platform's verifier.
            Ok(config) => config
                .dangerous()
                .with_custom_certificate_verifier(verifier.clone())
                .with_no_client_auth(),
            Err(e) => return failed(e),
        };
    let result = TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await;
    let seen = lock(&verifier.seen).take();
    Handshake {
        result: result.map(|stream| stream.get_ref().1.protocol_version()),
        certificate: seen.and_then(|der| read(&der)),
    }
}

fn read(der: &[u8]) -> Option<Certificate> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let issuer = certificate.issuer();
    // The organization is more familiar; the common name of an authority is often a number.
    let mut names = issuer.iter_organization().chain(issuer.iter_common_name());
    let issuer = names
        .find_map(|name| name.as_str().ok())
        .unwrap_or("an issuer without a name")
        .to_string();
    let validity = certificate.validity();
    Some(Certificate {
        issuer,
        begins: validity.not_before.timestamp(),
        ends: validity.not_after.timestamp(),
    })
}

/// Wraps the platform's certificate verifier and remembers the certificate.
#[derive(Debug)]
struct CertRecorder {
    judge: Verifier,
    seen: Mutex<Option<Vec<u8>>>,
}

impl CertRecorder {
    fn new(provider: Arc<CryptoProvider>) -> Result<CertRecorder, Error> {
        Ok(CertRecorder {
            judge: Verifier::new(provider)?,
            seen: Mutex::default(),
        })
    }
}

impl ServerCertVerifier for CertRecorder {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        *lock(&self.seen) = Some(end_entity.to_vec());
        self.judge
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
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
