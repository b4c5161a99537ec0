//! Fake keys of every kind that look real. They are generated when a test runs, so that no file of the repository contains one.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Generates keys from a seed.
pub struct Keys(fastrand::Rng);

impl Keys {
    pub fn new(seed: u64) -> Keys {
        Keys(fastrand::Rng::with_seed(seed))
    }

    /// Returns random characters with at least one digit.
    pub fn of(&mut self, alphabet: &str, length: usize) -> String {
        let letters: Vec<char> = alphabet.chars().collect();
        let mut text: String = (1..length)
            .filter_map(|_| self.0.choice(&letters))
            .collect();
        text.insert(text.len() / 2, '7');
        text
    }

    pub fn letters(&mut self, length: usize) -> String {
        self.of(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
            length,
        )
    }

    pub fn hex(&mut self, length: usize) -> String {
        self.of("0123456789abcdef", length)
    }

    /// Returns a private key in PEM with random content.
    pub fn private_key(&mut self) -> String {
        let lines: Vec<String> = (0..4).map(|_| self.letters(64)).collect();
        format!(
            "-----BEGIN RSA {0}-----\n{1}\n-----END RSA {0}-----",
            "PRIVATE KEY",
            lines.join("\n")
        )
    }

    /// Returns a key of each kind: the name of the kind, the prefix, and the secret part.
    pub fn all(&mut self) -> Vec<(&'static str, String, String)> {
        let web_token = |keys: &mut Keys| {
            let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
            let body = format!("{{\"sub\":\"{}\",\"iat\":1516239022}}", keys.letters(12));
            format!(
                "{}.{}.{}",
                part(r#"{"alg":"HS256","typ":"JWT"}"#),
                part(&body),
                keys.letters(43)
            )
        };
        let upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
        vec![
            (
                "LangSmith",
                ["lsv2", "_pt_"].concat(),
                format!("{}_{}", self.hex(32), self.hex(10)),
            ),
            ("old LangSmith", ["ls", "__"].concat(), self.hex(32)),
            (
                "OpenAI",
                ["sk-", "proj-"].concat(),
                [
                    self.letters(20),
                    ["T3Blb", "kFJ"].concat(),
                    self.letters(20),
                ]
                .concat(),
            ),
            (
                "Anthropic",
                ["sk-", "ant-api03-"].concat(),
                self.letters(40),
            ),
            ("Groq", ["gs", "k_"].concat(), self.letters(40)),
            ("Hugging Face", ["h", "f_"].concat(), self.letters(34)),
            ("GitHub", ["gh", "p_"].concat(), self.letters(36)),
            ("GitLab", ["glp", "at-"].concat(), self.letters(20)),
            ("AWS", ["AK", "IA"].concat(), self.of(upper, 16)),
            (
                "Slack",
                ["xo", "xb-"].concat(),
                format!(
                    "{}-{}-{}",
                    "123456789012",
                    "123456789012",
                    self.of("abcdef0123456789", 24)
                ),
            ),
            ("Google", ["AI", "za"].concat(), self.letters(35)),
            ("Google client", ["GOC", "SPX-"].concat(), self.letters(28)),
            (
                "Azure",
                ["Account", "Key="].concat(),
                format!("{}==", self.letters(86)),
            ),
            ("Stripe", ["sk_", "live_"].concat(), self.letters(24)),
            (
                "SendGrid",
                "SG.".into(),
                format!("{}.{}", self.letters(22), self.letters(43)),
            ),
            ("Twilio", "AC".into(), self.hex(32)),
            ("npm", ["np", "m_"].concat(), self.letters(36)),
            (
                "PyPI",
                ["pypi-", "AgEIcHlw", "aS5vcmc"].concat(),
                self.letters(80),
            ),
            ("web token", String::new(), web_token(self)),
            ("bearer", "Authorization: Bearer ".into(), self.letters(32)),
            (
                "login",
                "https://user:".into(),
                format!("{}@host.example/x", self.letters(20)),
            ),
            ("Square", ["sq0", "csp-"].concat(), self.letters(43)),
            ("Square token", ["EA", "AA"].concat(), self.letters(60)),
            ("Vault", ["hv", "s."].concat(), self.letters(92)),
            ("DigitalOcean", ["dop", "_v1_"].concat(), self.hex(64)),
            ("Docker Hub", ["dckr", "_pat_"].concat(), self.letters(27)),
            ("Shopify", ["shp", "at_"].concat(), self.hex(32)),
            ("Notion", ["secr", "et_"].concat(), self.letters(43)),
            ("new Notion", ["nt", "n_"].concat(), self.letters(46)),
            ("Linear", ["lin", "_api_"].concat(), self.letters(40)),
            ("Supabase", ["sb", "p_"].concat(), self.hex(40)),
            ("curl", "curl -s -u me:".into(), self.letters(12)),
            ("Mailchimp", String::new(), format!("{}-us12", self.hex(32))),
        ]
    }
}
