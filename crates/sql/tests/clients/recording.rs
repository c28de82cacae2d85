//! The log of a PostgreSQL server that clients talked to.
//!
//! ```text
//!   psql|2 LOG:  statement: SELECT n.nspname,        who, and how many messages into the session
//!   <tab>c.relname …                                 a line further on
//!   knex|6 LOG:  execute <unnamed>: insert … $1
//!   knex|6 DETAIL:  parameters: $1 = '1', $2 = NULL  of the statement before
//!   2026-11-16 02:15:43 UTC [7] LOG:  statement: …   the same, as the server writes it when nobody tells it otherwise
//! ```

/// What one client sent.
pub(crate) struct Recording {
    /// Which client.
    pub(crate) client: String,
    /// The statements in their order.
    pub(crate) sent: Vec<Sent>,
    /// The whole text, to tell what the server made up from what the client sent.
    pub(crate) text: String,
}

/// A statement with the values of its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    /// The statement as it is counted.
    pub(crate) text: String,
    /// Its parameters.
    pub(crate) parameters: Vec<Option<String>>,
}

impl Recording {
    pub(crate) fn new(client: &str) -> Recording {
        Recording { client: client.to_owned(), sent: Vec::new(), text: String::new() }
    }

    /// More of the same client, on the same database.
    pub(crate) fn extend(&mut self, log: &str) {
        self.text.push_str(log);
        for message in messages(log) {
            if let Some(parameters) = message.strip_prefix("DETAIL:  parameters: ") {
                if let Some(last) = self.sent.last_mut() {
                    last.parameters = values(parameters);
                }
            } else if let Some(statement) = message.strip_prefix("LOG:  statement: ") {
                self.send(statement);
            } else if let Some(named) = message.strip_prefix("LOG:  execute ")
                && let Some((_, statement)) = named.split_once(": ")
            {
                self.send(statement);
            }
        }
    }

    fn send(&mut self, statement: &str) {
        let text = statement.trim().to_owned();
        self.sent.push(Sent { text, parameters: Vec::new() });
    }
}

/// The messages of a log, without who sent them.
fn messages(log: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in log.lines() {
        match (line.strip_prefix('\t'), found.last_mut()) {
            (Some(further), Some(last)) => {
                last.push('\n');
                last.push_str(further);
            }
            _ => {
                // Whoever sent it stands before the kind of the message.
                let kind = ["LOG:  ", "DETAIL:  "].into_iter().filter_map(|kind| line.find(kind)).min();
                found.push(kind.map_or(String::new(), |place| line[place..].to_owned()));
            }
        }
    }
    found
}

/// `$1 = 'it''s', $2 = NULL`.
fn values(written: &str) -> Vec<Option<String>> {
    let mut values = Vec::new();
    let mut rest = written;
    while let Some((_, behind)) = rest.split_once(" = ") {
        if let Some(quoted) = behind.strip_prefix('\'') {
            let mut value = String::new();
            let mut letters = quoted.char_indices().peekable();
            let mut end = quoted.len();
            while let Some((place, letter)) = letters.next() {
                if letter != '\'' {
                    value.push(letter);
                } else if letters.next_if(|(_, next)| *next == '\'').is_some() {
                    value.push('\'');
                } else {
                    end = place + 1;
                    break;
                }
            }
            values.push(Some(value));
            rest = &quoted[end..];
        } else {
            values.push(None);
            rest = behind.strip_prefix("NULL").unwrap_or(behind);
        }
    }
    values
}

impl Sent {
    /// The statement with its parameters written into it, for who takes only text; numbers of things that the recorded server had are
    /// looked up by name.
    pub(crate) fn with_values(&self) -> String {
        let mut text = self.told();
        for (place, value) in self.parameters.iter().enumerate().rev() {
            let written = value.as_ref().map_or("NULL".to_owned(), |value| format!("'{}'", value.replace('\'', "''")));
            text = text.replace(&format!("${}", place + 1), &written);
        }
        text
    }

    /// The statement; psql's numbers are those of the server it was recorded on.
    pub(crate) fn told(&self) -> String {
        self.text.replace("'16385'", "to_regclass('public.p')")
    }
}
