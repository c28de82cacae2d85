//! The line to a client: whole messages in, bytes out, and whether anybody is still there.
//!
//! ```text
//!   socket ──> incoming: what arrived, message by message          at most a message and a read-ahead
//!   socket <── replies:  what is to be sent                        at most [`MOST_UNSENT`] before somebody waits for the client
//! ```
//!
//! A client that sends without reading fills its own buffers and then waits; one that asks without reading makes us wait with its
//! answer, and nobody else. Neither makes us remember more.

use super::message::{self, Malformed};
use super::reply::Replies;
use std::io;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// So much is collected before it is sent.
const MOST_UNSENT: usize = 64 << 10;
/// So much is read while the client's last message is still being answered.
const MOST_AHEAD: usize = 64 << 10;

/// So much is read at once.
const ONE_READ: usize = 8 << 10;

/// The client is not there any more, or makes no sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Gone;

/// A line.
pub(crate) struct Line {
    stream: TcpStream,
    incoming: Vec<u8>,
    /// How much of `incoming` is done with.
    done: usize,
    /// What is to be sent.
    pub(crate) replies: Replies,
}

/// A line that nobody listens at, on its way from one thread to another.
pub(crate) struct ParkedLine {
    stream: std::net::TcpStream,
    incoming: Vec<u8>,
    replies: Replies,
}

impl ParkedLine {
    /// The line, for the thread that calls this.
    pub(crate) fn resume(self) -> io::Result<Line> {
        let ParkedLine { stream, incoming, replies } = self;
        Ok(Line { stream: TcpStream::from_std(stream)?, incoming, done: 0, replies })
    }
}

impl Line {
    /// Leaves the line for another thread, with what has arrived and what is to be sent.
    pub(crate) fn park(mut self) -> io::Result<ParkedLine> {
        self.incoming.drain(..self.done);
        Ok(ParkedLine { stream: self.stream.into_std()?, incoming: self.incoming, replies: self.replies })
    }

    pub(crate) fn new(stream: TcpStream) -> Line {
        Line { stream, incoming: Vec::new(), done: 0, replies: Replies::default() }
    }

    /// The next message, its length and (from the second on) its letter included.
    pub(crate) async fn receive(
        &mut self,
        length_of: fn(&[u8]) -> Result<Option<usize>, Malformed>,
    ) -> Result<Result<Vec<u8>, Malformed>, Gone> {
        loop {
            let arrived = &self.incoming[self.done..];
            match length_of(arrived) {
                Err(malformed) => return Ok(Err(malformed)),
                Ok(Some(length)) if length <= arrived.len() => {
                    let message = arrived[..length].to_vec();
                    self.done += length;
                    return Ok(Ok(message));
                }
                Ok(_) => {
                    // Whoever waits for our answer before sending more has to get it.
                    self.flush().await?;
                    self.read().await?;
                }
            }
        }
    }

    /// The next message of a client that is connected.
    pub(crate) async fn receive_message(&mut self) -> Result<Result<Vec<u8>, Malformed>, Gone> {
        self.receive(message::length_of).await
    }

    async fn read(&mut self) -> Result<(), Gone> {
        self.incoming.drain(..std::mem::take(&mut self.done));
        if self.incoming.is_empty() && self.incoming.capacity() > MOST_AHEAD {
            self.incoming = Vec::new();
        }
        self.incoming.reserve(ONE_READ);
        match self.stream.read_buf(&mut self.incoming).await {
            Ok(0) | Err(_) => Err(Gone),
            Ok(_) => Ok(()),
        }
    }

    /// Returns when the client has gone; meanwhile what it sends is kept, up to a limit.
    pub(crate) async fn hung_up(&mut self) {
        while self.incoming.len() - self.done < MOST_AHEAD {
            if self.read().await.is_err() {
                return;
            }
        }
        std::future::pending().await
    }

    /// Sends what there is.
    pub(crate) async fn flush(&mut self) -> Result<(), Gone> {
        if self.replies.len() > 0 {
            let sent = self.stream.write_all(self.replies.bytes()).await;
            self.replies.clear();
            sent.map_err(|_| Gone)?;
        }
        Ok(())
    }

    /// Sends what there is if it is much; returns when the client has taken it.
    pub(crate) async fn flush_much(&mut self) -> Result<(), Gone> {
        if self.replies.len() >= MOST_UNSENT {
            self.flush().await?;
            // A socket that takes all at once would never let others go on.
            tokio::task::yield_now().await;
        }
        Ok(())
    }
}
