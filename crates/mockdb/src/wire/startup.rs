//! How a connection begins.
//!
//! ```text
//!   SSLRequest, GSSENCRequest ── 'N': not here ──> StartupMessage ── password? ── settings, key ── Z
//!   CancelRequest ── the other connection's statement is stopped; nothing is answered
//! ```
//!
//! First messages are heard on a thread of their own, because the one that serves may be at work on the very statement to cancel.
//!
//! Any user and any database are welcome: there is one database, whatever it is called.

use super::adversary::Visit;
use super::client::{WireClient, protocol_violation};
use super::hall::Hall;
use super::line::{Gone, Line, ParkedLine};
use super::message::{self, Malformed, Message, Startup};
use super::reply::Severity;
use super::scram::{Exchange, MECHANISM};
use super::settings;
use super::walk::Walking;
use crate::connection::Connection;
use crate::parameter::cut;
use skew_value::{SqlError, SqlState};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::runtime::Handle;

/// The session of a client without a name.
const NAMELESS: &str = "client";
/// How often, and how long, an old connection of the same name is waited for.
const NAME_GLANCES: usize = 20;
const NAME_GLANCE: Duration = Duration::from_millis(5);

/// Hears the first message at the door: a client is led to the thread that serves, who wants to cancel a statement is obeyed at once.
pub(crate) async fn receive(hall: Arc<Hall>, stream: TcpStream, inside: Handle) {
    // Small answers are waited for: they are sent at once.
    let _ = stream.set_nodelay(true);
    let mut line = Line::new(stream);
    let visit = Visit::begin(hall.adversary.as_ref());
    hall.walking.iter().for_each(Walking::stir);
    let Ok(Some((minor, parameters))) = first_message(&hall, &mut line).await else { return };
    if let Ok(line) = line.park() {
        inside.spawn(serve(hall, line, visit, (minor, parameters)));
    }
}

/// Serves a client from its first message to its last.
async fn serve(hall: Arc<Hall>, line: ParkedLine, visit: Visit, (minor, parameters): (u16, StartupParameters)) {
    let Ok(line) = line.resume() else { return };
    if let Ok(mut client) = connect(hall, line, visit, minor, &parameters).await {
        // Whichever way it goes, the client is dropped and what it left open is rolled back.
        let _ = client.serve().await;
        let _ = client.line.flush().await;
    }
}

type StartupParameters = Vec<(String, String)>;

async fn first_message(hall: &Hall, line: &mut Line) -> Result<Option<(u16, StartupParameters)>, Gone> {
    loop {
        let bytes = match line.receive(message::length_of_startup).await? {
            Ok(bytes) => bytes,
            Err(malformed) => return refuse(line, &protocol_violation(malformed.0)).await,
        };
        match message::decode_startup(&bytes) {
            Ok(Startup::Tls | Startup::Gss) => line.replies.bare(b'N'),
            Ok(Startup::Cancel { process, secret }) => {
                hall.cancel(process, secret);
                return Ok(None);
            }
            Ok(Startup::Connect { minor, parameters }) => return Ok(Some((minor, parameters))),
            Err(malformed) => return refuse(line, &protocol_violation(malformed.0)).await,
        }
    }
}

async fn refuse<T>(line: &mut Line, error: &SqlError) -> Result<T, Gone> {
    line.replies.error(Severity::Fatal, error, "");
    line.flush().await?;
    Err(Gone)
}

/// Where sessions are told apart by name in all runs: a client that has closed its connection and opens another one may be here before the
/// old one is seen to be gone, and is not a second one of its name.
async fn wait_for_name(hall: &Hall, name: &str) {
    for _ in 0..NAME_GLANCES {
        if hall.gate.is_none() || !hall.database.work().store.is_connected(name) {
            return;
        }
        tokio::time::sleep(NAME_GLANCE).await;
    }
}

async fn connect(
    hall: Arc<Hall>,
    mut line: Line,
    visit: Visit,
    minor: u16,
    parameters: &StartupParameters,
) -> Result<WireClient, Gone> {
    let find = |name: &str| parameters.iter().find(|one| one.0 == name).map(|one| one.1.as_str());
    let Some(user) = find("user").filter(|user| !user.is_empty()) else {
        let message = "no PostgreSQL user name specified in startup packet";
        return refuse(&mut line, &SqlError::new(SqlState("28000"), message)).await;
    };
    let options: Vec<&str> =
        parameters.iter().map(|one| one.0.as_str()).filter(|name| name.starts_with("_pq_.")).collect();
    if minor > 0 || !options.is_empty() {
        line.replies.negotiate_version(&options);
    }
    if let Some(password) = &hall.settings.password {
        authenticate(&mut line, user, password).await?;
    }
    line.replies.authentication(0, &[]);
    let database = find("database").filter(|name| !name.is_empty()).unwrap_or(user);
    let process = hall.next_process();
    let name = match find("application_name").filter(|name| !name.is_empty()) {
        Some(name) => cut(name).to_owned(),
        // Whoever comes later is not the same one again, which would go on with its session.
        None if hall.gate.is_some() && process > 1 => format!("{NAMELESS}:{process}"),
        None => NAMELESS.to_owned(),
    };
    wait_for_name(&hall, &name).await;
    let mut connection = {
        let mut database = hall.database.work();
        let dialect = database.dialect;
        Connection::open(&mut database, &name, dialect)
    };
    connection.session_mut().set_identity(user, database, process);
    let secret = i32::from_be_bytes(chance());
    let mut client = WireClient::new(Arc::clone(&hall), (line, visit), process, secret, connection);
    let set = settings::begin(&mut client.connection, &mut hall.database.work(), user, &wanted_settings(parameters));
    if let Err(error) = set {
        return refuse(&mut client.line, &error).await;
    }
    tracing::debug!(client = process, user, database, "connected");
    client.line.replies.backend_key(process, secret);
    Ok(client)
}

/// The settings of a startup message, those in `options` included.
fn wanted_settings(parameters: &StartupParameters) -> StartupParameters {
    let mut wanted = StartupParameters::new();
    for (name, value) in parameters {
        match name.as_str() {
            "user" | "database" | "replication" => {}
            "options" => wanted.extend(parse_options(value)),
            name if name.starts_with("_pq_.") => {}
            name => wanted.push((name.to_owned(), value.clone())),
        }
    }
    wanted
}

/// `-c name=value --name=value`; a backslash keeps a blank in a value.
fn parse_options(text: &str) -> StartupParameters {
    let mut words: Vec<String> = vec![String::new()];
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        let last = words.len() - 1;
        match letter {
            '\\' => words[last].extend(letters.next()),
            letter if letter.is_ascii_whitespace() => words.push(String::new()),
            letter => words[last].push(letter),
        }
    }
    let assignments = words.iter().filter_map(|word| {
        let word = word.strip_prefix("--").or_else(|| word.strip_prefix("-c")).unwrap_or(word);
        word.split_once('=')
    });
    assignments.map(|(name, value)| (name.replace('-', "_"), value.to_owned())).collect()
}

/// Bytes that nobody can guess. Without a source of chance there are none, and the zeroes that are left only weaken a cancel key: a
/// salt of zeroes is still a salt.
fn chance<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    let _ = getrandom::fill(&mut bytes);
    bytes
}

async fn authenticate(line: &mut Line, user: &str, password: &str) -> Result<(), Gone> {
    line.replies.authentication(10, format!("{MECHANISM}\0\0").as_bytes());
    match prove(line, password).await? {
        Some(last) => {
            line.replies.authentication(12, last.as_bytes());
            Ok(())
        }
        None => {
            let message = format!("password authentication failed for user \"{user}\"");
            refuse(line, &SqlError::new(SqlState("28P01"), message)).await
        }
    }
}

/// The exchange; what to say to a client that knows the password.
async fn prove(line: &mut Line, password: &str) -> Result<Option<String>, Gone> {
    let Some(first) = initial_response(&password_message(line).await?) else { return Ok(None) };
    let begun = Exchange::begin(password, &first, &chance::<16>(), &chance::<18>());
    let Some((exchange, answer)) = begun else { return Ok(None) };
    line.replies.authentication(11, answer.as_bytes());
    let last = password_message(line).await?;
    Ok(std::str::from_utf8(&last).ok().and_then(|last| exchange.end(last)))
}

async fn password_message(line: &mut Line) -> Result<Vec<u8>, Gone> {
    let Ok(bytes) = line.receive(length_of_password).await? else { return Err(Gone) };
    match message::decode(bytes[0], &bytes[5..]) {
        Ok(Message::Password(body)) => Ok(body),
        _ => refuse(line, &protocol_violation("expected SASL response")).await,
    }
}

/// Who is not connected yet may not make us remember much.
fn length_of_password(bytes: &[u8]) -> Result<Option<usize>, Malformed> {
    match message::length_of(bytes)? {
        Some(length) if length > message::LONGEST_STARTUP => Err(Malformed("invalid message length")),
        length => Ok(length),
    }
}

/// `SCRAM-SHA-256\0 length:4 message`.
fn initial_response(body: &[u8]) -> Option<String> {
    let end = body.iter().position(|byte| *byte == 0)?;
    let message = body.get(end + 5..)?;
    (&body[..end] == MECHANISM.as_bytes()).then(|| String::from_utf8(message.to_vec()).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_settings() {
        let found = parse_options("-c statement_timeout=5s --search-path=a\\ b  -cgeqo=off");
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(found, [pair("statement_timeout", "5s"), pair("search_path", "a b"), pair("geqo", "off")]);
    }

    #[test]
    fn long_names_are_cut_between_letters() {
        assert_eq!(cut("psql"), "psql");
        assert_eq!(cut(&"ä".repeat(40)).len(), 62);
    }
}
