//! SCRAM-SHA-256 (RFC 5802, RFC 7677): a client proves that it knows the password without saying it.
//!
//! ```text
//!   client   n,,n=,r=<its nonce>
//!   server   r=<both nonces>,s=<salt>,i=4096
//!   client   c=biws,r=<both nonces>,p=<proof>      the key of the client, hidden under a signature of all of the above
//!   server   v=<signature>                          the server knows the password too
//! ```
//!
//! The salt and the nonce come from the caller, who has real chance. Passwords are ASCII, so they need no preparation.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// The name of the mechanism.
pub(crate) const MECHANISM: &str = "SCRAM-SHA-256";
const ITERATIONS: u32 = 4096;

type Hash = [u8; 32];

fn signed(key: &[u8], parts: &[&[u8]]) -> Hash {
    // A key of any length is a key.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return [0; 32] };
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

fn mixed(left: Hash, right: Hash) -> Hash {
    std::array::from_fn(|place| left[place] ^ right[place])
}

/// The password with its salt, stirred so often that guessing is slow.
fn salted(password: &str, salt: &[u8]) -> Hash {
    let mut round = signed(password.as_bytes(), &[salt, &1u32.to_be_bytes()]);
    let mut result = round;
    for _ in 1..ITERATIONS {
        round = signed(password.as_bytes(), &[&round]);
        result = mixed(result, round);
    }
    result
}

/// An exchange that waits for the proof.
pub(crate) struct Exchange {
    salted: Hash,
    nonce: String,
    /// What the proof and our signature are about, up to the client's last message.
    said: String,
    /// How the client's binding to a channel begins, which it has to repeat.
    header: String,
}

impl Exchange {
    /// Answers the client's first message: the exchange and what to say.
    pub(crate) fn begin(password: &str, first: &str, salt: &[u8], nonce: &[u8]) -> Option<(Exchange, String)> {
        let mut parts = first.splitn(3, ',');
        let (binding, identity, bare) = (parts.next()?, parts.next()?, parts.next()?);
        if !matches!(binding, "n" | "y") {
            return None;
        }
        let theirs = bare.split(',').find_map(|part| part.strip_prefix("r="))?;
        let nonce = format!("{theirs}{}", STANDARD.encode(nonce));
        let answer = format!("r={nonce},s={},i={ITERATIONS}", STANDARD.encode(salt));
        let header = format!("{binding},{identity},");
        let exchange = Exchange { salted: salted(password, salt), said: format!("{bare},{answer}"), nonce, header };
        Some((exchange, answer))
    }

    /// Looks at the client's proof: what to say to one that knows the password.
    pub(crate) fn end(&self, last: &str) -> Option<String> {
        let (unproved, proof) = last.rsplit_once(",p=")?;
        let expected = format!("c={},r={}", STANDARD.encode(&self.header), self.nonce);
        let proof: Hash = STANDARD.decode(proof).ok()?.try_into().ok()?;
        let said = format!("{},{unproved}", self.said);
        let stored: Hash = Sha256::digest(signed(&self.salted, &[b"Client Key"])).into();
        let key = mixed(proof, signed(&stored, &[said.as_bytes()]));
        let found: Hash = Sha256::digest(key).into();
        // All bytes are compared, so that the time it takes tells nothing.
        let wrong = found.iter().zip(&stored).fold(0, |wrong, (one, other)| wrong | (one ^ other));
        (unproved == expected && wrong == 0).then(|| {
            let server_key = signed(&self.salted, &[b"Server Key"]);
            format!("v={}", STANDARD.encode(signed(&server_key, &[said.as_bytes()])))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7677, whose server nonce is taken as it is.
    fn example() -> Exchange {
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let (mut exchange, _) = Exchange::begin("pencil", "n,,n=user,r=rOprNGfwEbeRWgbNEkqO", &salt, b"").unwrap();
        exchange.nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0".to_owned();
        exchange.said = format!("n=user,r=rOprNGfwEbeRWgbNEkqO,r={},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", exchange.nonce);
        exchange
    }

    #[test]
    fn the_example_of_the_standard_is_accepted() {
        let last = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
        assert_eq!(example().end(last).as_deref(), Some("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="));
    }

    #[test]
    fn a_wrong_proof_or_another_nonce_is_not() {
        let nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let wrong = "p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVA=";
        assert_eq!(example().end(&format!("c=biws,r={nonce},{wrong}")), None);
        let right = "p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
        assert_eq!(example().end(&format!("c=biws,r=x{nonce},{right}")), None);
        assert_eq!(example().end("nonsense"), None);
        assert!(Exchange::begin("pencil", "p=tls-unique,,n=,r=a", b"s", b"n").is_none());
    }
}
