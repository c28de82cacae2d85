//! A command with everything that it starts: they are interrupted and ended together.
//!
//! ```text
//!   sh -c 'server & pytest'      a group of its own
//!     ├── server                 Ctrl-C ──> INT to all ── grace ──> TERM to all ── grace ──> KILL to all
//!     └── pytest                 the command ends by itself ──> TERM to what it left behind: its database is gone
//! ```
//!
//! A command at a terminal stays in our group: in another one it could not read what is typed. There Ctrl-C reaches it without us, and what
//! it leaves behind is its own affair.

use crate::StopFlags;
use std::collections::BTreeSet;
use std::io;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often somebody looks whether the command has ended.
const GLANCE: Duration = Duration::from_millis(5);
/// How long a command that is asked to end may take.
const GRACE: Duration = Duration::from_secs(2);

/// Groups that are there, for whoever has to leave at once.
static GROUPS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

fn groups() -> MutexGuard<'static, BTreeSet<u32>> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends every command that runs, without asking it.
pub fn kill_all() {
    groups().iter().for_each(|group| send(*group, true, Message::Kill));
}

/// What a command is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Message {
    /// Somebody pressed Ctrl-C.
    Interrupt,
    /// Please end.
    Terminate,
    /// FamilyEnd.
    Kill,
}

/// Why a command is waited for no longer.
#[derive(Debug)]
pub enum FamilyEnd {
    /// It has ended.
    Status(ExitStatus),
    /// It took too long.
    TooLate,
    /// Somebody pressed Ctrl-C.
    Interrupted,
    /// Nobody wants to know any more.
    GivenUp,
}

/// A command that runs.
pub struct Family<'a> {
    child: Child,
    has_group: bool,
    stop: StopFlags<'a>,
}

impl<'a> Family<'a> {
    /// Starts a command; whether it may read from our terminal.
    pub fn start(mut command: Command, reads_terminal: bool, stop: StopFlags<'a>) -> io::Result<Family<'a>> {
        let has_group = cfg!(unix) && !reads_terminal;
        if has_group {
            set_apart(&mut command);
        }
        let child = command.spawn()?;
        if has_group {
            groups().insert(child.id());
        }
        Ok(Family { child, has_group, stop })
    }

    /// Waits for the command to end; one that is interrupted, too slow or not wanted any more is ended.
    pub fn wait(mut self, limit: Option<Duration>, is_given_up: impl Fn() -> bool) -> io::Result<FamilyEnd> {
        let started = Instant::now();
        let mut interrupted: Option<Instant> = None;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(if self.stop.is_interrupted() { FamilyEnd::Interrupted } else { FamilyEnd::Status(status) });
            }
            if self.stop.is_interrupted() {
                if interrupted.is_none() && self.has_group {
                    self.tell(Message::Interrupt);
                }
                if interrupted.get_or_insert_with(Instant::now).elapsed() >= GRACE {
                    return self.end().map(|()| FamilyEnd::Interrupted);
                }
            } else if is_given_up() {
                return self.end().map(|()| FamilyEnd::GivenUp);
            } else if limit.is_some_and(|limit| started.elapsed() >= limit) {
                return self.end().map(|()| FamilyEnd::TooLate);
            }
            std::thread::sleep(GLANCE);
        }
    }

    /// Asks the command to end, and ends it if it does not.
    fn end(&mut self) -> io::Result<()> {
        self.tell(Message::Terminate);
        let asked = Instant::now();
        while self.child.try_wait()?.is_none() {
            if asked.elapsed() >= GRACE {
                self.tell(Message::Kill);
                return self.child.wait().map(|_| ());
            }
            std::thread::sleep(GLANCE);
        }
        Ok(())
    }

    fn tell(&self, message: Message) {
        send(self.child.id(), self.has_group, message);
    }
}

impl Drop for Family<'_> {
    fn drop(&mut self) {
        if self.has_group {
            self.tell(Message::Terminate);
            groups().remove(&self.child.id());
        }
    }
}

#[cfg(unix)]
fn set_apart(command: &mut Command) {
    std::os::unix::process::CommandExt::process_group(command, 0);
}

#[cfg(not(unix))]
fn set_apart(_: &mut Command) {}

/// Tells a process, or the group that it began. One that has just ended by itself is as good.
#[cfg(unix)]
fn send(process: u32, group: bool, message: Message) {
    use nix::sys::signal::{Signal, kill, killpg};
    let Ok(process) = i32::try_from(process) else { return };
    let process = nix::unistd::Pid::from_raw(process);
    let signal = match message {
        Message::Interrupt => Signal::SIGINT,
        Message::Terminate => Signal::SIGTERM,
        Message::Kill => Signal::SIGKILL,
    };
    let _ = if group { killpg(process, signal) } else { kill(process, signal) };
}

/// Where there are no signals, the one way to end a process is a command.
#[cfg(not(unix))]
fn send(process: u32, _: bool, message: Message) {
    if message != Message::Interrupt {
        let _ = Command::new("taskkill").args(["/F", "/T", "/PID", &process.to_string()]).output();
    }
}
