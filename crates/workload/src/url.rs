//! Where a server is: `postgresql://user:password@host:port/database` or `mysql://…`.
//!
//! ```
//! use skew_workload::Url;
//! let url: Url = "postgres://ann:s%2Fcret@[::1]:5433/bank".parse()?;
//! assert_eq!((url.host.as_str(), url.port, url.database.as_str()), ("::1", 5433, "bank"));
//! assert_eq!(url.password.as_deref(), Some("s/cret"));
//! assert_eq!(url.to_string(), "postgresql://ann@[::1]:5433/bank");
//! assert_eq!(url.with_password(), "postgresql://ann:s%2Fcret@[::1]:5433/bank");
//! # Ok::<(), skew_workload::BadUrl>(())
//! ```
//!
//! What is left out has the default of the server: its port, this machine, the user that it comes with. A URL is shown without
//! its password, and with the scheme that all libraries know: SQLAlchemy refuses `postgres://`.

use skew_value::Dialect;
use std::fmt;
use std::str::FromStr;

/// A server, a user and a database.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    /// What is spoken there.
    pub dialect: Dialect,
    /// Who connects.
    pub user: String,
    /// With which password, if any.
    pub password: Option<String>,
    /// A name or an address, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The database that tables are made in.
    pub database: String,
}

/// Text that is not the URL of a server.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{url}` is not the URL of a server: {what}; write postgresql://user:password@host:port/database or mysql://…")]
pub struct BadUrl {
    url: String,
    what: String,
}

impl FromStr for Url {
    type Err = BadUrl;

    fn from_str(text: &str) -> Result<Url, BadUrl> {
        parse(text).map_err(|what| BadUrl { url: without_password(text), what })
    }
}

fn parse(text: &str) -> Result<Url, String> {
    let (scheme, rest) = text.split_once("://").ok_or("there is no `://`")?;
    let dialect = match scheme {
        "postgres" | "postgresql" => Dialect::Postgres,
        "mysql" | "mariadb" => Dialect::MySql,
        other => return Err(format!("`{other}` is neither `postgres` nor `mysql`")),
    };
    // No message repeats what stands between the scheme and the path: a part of it may be a password that was written wrongly.
    if rest.contains(['?', '#']) {
        return Err("what follows a `?` or `#` is not understood; in a password write %3F and %23".to_owned());
    }
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (credentials, place) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (user, password) = match credentials.split_once(':') {
        Some((user, password)) => (user, Some(decode(password)?)),
        None => (credentials, None),
    };
    let (host, port) = host_and_port(place, dialect)?;
    let default_user = if dialect == Dialect::Postgres { "postgres" } else { "root" };
    let user = if user.is_empty() { default_user.to_owned() } else { decode(user)? };
    let database = match (path, dialect) {
        ("", Dialect::Postgres) => user.clone(),
        ("", Dialect::MySql) => return Err("it names no database".to_owned()),
        _ if path.contains(['/', '@']) => {
            return Err("what follows the first `/` is no name of a database; in a password write %2F".to_owned());
        }
        _ => decode(path)?,
    };
    Ok(Url { dialect, user, password, host, port, database })
}

fn host_and_port(place: &str, dialect: Dialect) -> Result<(String, u16), String> {
    let (host, port) = match place.strip_prefix('[') {
        Some(address) => {
            let (address, rest) = address.split_once(']').ok_or("a `[` is not closed")?;
            let port = rest.strip_prefix(':');
            if port.is_none() && !rest.is_empty() {
                return Err("something follows the address".to_owned());
            }
            (address, port)
        }
        None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
    };
    let default_port = if dialect == Dialect::Postgres { 5432 } else { 3306 };
    let port = match port {
        None | Some("") => default_port,
        Some(digits) => {
            digits.parse().map_err(|_| "the port is no number up to 65535; in a password write %2F for `/`")?
        }
    };
    let host = if host.is_empty() { "127.0.0.1".to_owned() } else { decode(host)? };
    Ok((host, port))
}

/// The text with `%2F` and its like put back.
fn decode(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
        let (high, low) = (digit(), digit());
        let (Some(high), Some(low)) = (high, low) else {
            return Err("a `%` is not followed by two hexadecimal digits".to_owned());
        };
        bytes.push((high * 16 + low) as u8);
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
}

/// An error message is read by many.
fn without_password(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    match rest.rsplit_once('@') {
        Some((credentials, place)) => {
            let user = credentials.split(':').next().unwrap_or_default();
            format!("{scheme}://{user}@{place}")
        }
        // A password without a place is one all the same.
        None => match rest.split_once(':') {
            Some((user, port)) if !port.starts_with(|letter: char| letter.is_ascii_digit()) => {
                format!("{scheme}://{user}:…")
            }
            _ => text.to_owned(),
        },
    }
}

/// As it is shown: whoever prints options for debugging shows no password.
impl fmt::Debug for Url {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl fmt::Display for Url {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.with_credentials(&self.user))
    }
}

impl Url {
    /// For whoever connects: the password is in it.
    pub fn with_password(&self) -> String {
        match &self.password {
            Some(password) => self.with_credentials(&format!("{}:{}", self.user, encode(password))),
            None => self.to_string(),
        }
    }

    fn with_credentials(&self, credentials: &str) -> String {
        let scheme = if self.dialect == Dialect::Postgres { "postgresql" } else { "mysql" };
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        format!("{scheme}://{credentials}@{host}:{}/{}", self.port, self.database)
    }
}

/// A text as part of a URL.
fn encode(text: &str) -> String {
    let escape = |byte: u8| match byte.is_ascii_alphanumeric() {
        true => (byte as char).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn what_is_left_out_has_the_default_of_the_server() {
        assert_eq!(url("postgres://").to_string(), "postgresql://postgres@127.0.0.1:5432/postgres");
        assert_eq!(url("postgresql://ann@db").to_string(), "postgresql://ann@db:5432/ann");
        assert_eq!(url("mysql:///bank").to_string(), "mysql://root@127.0.0.1:3306/bank");
        assert_eq!(url("mysql://:@h:/bank").password.as_deref(), Some(""));
    }

    #[test]
    fn names_and_passwords_may_hold_any_letter() {
        let url = url("mysql://a%40b:c%3a%2f@d@[fe80::1]:33/e%20f");
        assert_eq!((url.user.as_str(), url.database.as_str()), ("a@b", "e f"));
        assert_eq!((url.password.as_deref(), url.host.as_str(), url.port), (Some("c:/@d"), "fe80::1", 33));
    }

    #[test]
    fn what_is_no_url_is_refused_without_showing_the_password() {
        let refused = ["bank", "http://h/b", "mysql://h", "mysql://h/a/b", "mysql://h/b?c=d", "mysql://h:x/b"];
        for text in refused.into_iter().chain(["mysql://[::1/b", "mysql://[::1]x/b", "mysql://h/%4", "mysql://h/%ff"]) {
            assert!(text.parse::<Url>().is_err(), "{text}");
        }
        let error = "mysql://ann:secret@h".parse::<Url>().expect_err("it names no database");
        assert!(error.to_string().contains("mysql://ann@h"), "{error}");
        let wrong = ["ann:secret@h", "ann:secret", "ann:x/secret@h/b", "ann:x?secret@h/b", "ann:x#secret@h/b"];
        for rest in wrong.into_iter().chain(["ann:x/y/secret@h/b", "ann:x@secret@h"]) {
            let error = format!("mysql://{rest}").parse::<Url>().expect_err("no URL");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        assert!(!format!("{:?}", url("mysql://ann:secret@h/b")).contains("secret"));
    }
}
