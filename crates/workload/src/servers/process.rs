//! A server's process: started, waited for, stopped; for the sake of experiments also killed, paused and started again.
//!
//! ```text
//!   skew ──────── server        stopped in order when its `Process` is dropped
//!     └── pipe ── guard         reads the pipe: skew has ended without a word ⇒ the guard stops the server and removes its folder
//! ```
//!
//! A server is in a process group of its own, so that Ctrl-C at a terminal reaches skew alone, which then decides what ends when.

use super::{Folder, PATIENCE, ServerError, system, tail};
use crate::Url;
use crate::connection::{Connection, Settings, connect};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long a server may take to end in order, before it is ended without.
const FAREWELL: Duration = Duration::from_secs(20);

/// How often a server that was killed is started, if it does not come up at once.
const STARTS: usize = 5;

/// What a guard does: the number of the server, the signal that ends it, its folder. A server that was paused hears nothing else
/// before it goes on, and neither do its children.
const GUARD: &str = r#"
read -r line && exit
kill -CONT "$1" $(cat "/proc/$1/task/$1/children")
kill "$2" "$1"
for second in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    kill -0 "$1" || break
    sleep 1
done
kill -KILL "$1"
rm -rf -- "$3"
"#;

/// A server's process.
pub(super) struct Process {
    name: &'static str,
    command: Command,
    child: Child,
    guard: Option<Child>,
    folder: PathBuf,
    log: PathBuf,
    /// The signal that ends it in order and soon.
    signal: &'static str,
}

impl Process {
    pub(super) fn spawn(
        mut command: Command,
        name: &'static str,
        folder: &Folder,
        signal: &'static str,
    ) -> Result<Process, ServerError> {
        let log = folder.log();
        let file = || File::options().create(true).append(true).open(&log).map_err(system(log.display().to_string()));
        command.stdin(Stdio::null()).stdout(file()?).stderr(file()?);
        set_apart(&mut command);
        let child = command.spawn().map_err(system(name))?;
        let mut process = Process { name, command, child, guard: None, folder: folder.path.clone(), log, signal };
        process.guard = Some(process.guarded().map_err(system("sh"))?);
        Ok(process)
    }

    fn guarded(&self) -> std::io::Result<Child> {
        let mut guard = Command::new("sh");
        guard.args(["-c", GUARD, "guard", &self.child.id().to_string(), self.signal]).arg(&self.folder);
        guard.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        set_apart(&mut guard);
        guard.spawn()
    }

    /// Nothing is left to guard.
    fn dismiss_guard(&mut self) {
        let Some(mut guard) = self.guard.take() else { return };
        // One that is gone already needs no word.
        let _ = guard.stdin.take().map(|mut pipe| pipe.write_all(b"done\n"));
        let _ = guard.wait();
    }

    /// Connects as soon as the server lets us.
    pub(super) fn wait(&mut self, url: &Url) -> Result<Box<dyn Connection>, ServerError> {
        let start = Instant::now();
        let settings = Settings { name: "skew".to_owned(), timeout: Duration::from_secs(10) };
        loop {
            let refusal = match connect(url, &settings) {
                Ok(connection) => return Ok(connection),
                Err(refusal) => refusal,
            };
            if let Some(status) = self.ended() {
                return Err(self.silent(format!("ended with {status}")));
            }
            if start.elapsed() > PATIENCE {
                return Err(self.silent(format!("does not answer: {refusal}")));
            }
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// How it ended, if it has.
    fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    pub(super) fn silent(&self, what: String) -> ServerError {
        ServerError::Silent { name: self.name, what, log: tail(&self.log) }
    }

    /// Further words for the next start.
    pub(super) fn next_time(&mut self, argument: String) {
        self.command.arg(argument);
    }

    /// Ends it at once and unprepared, with the processes that it started.
    pub(super) fn kill(&mut self) {
        self.signal_all("-KILL");
        let _ = self.child.wait();
        self.dismiss_guard();
    }

    /// Starts it again after it was killed, and waits until it answers.
    pub(super) fn restart(&mut self, url: &Url) -> Result<(), ServerError> {
        let mut last = self.silent("was not started".to_owned());
        for _ in 0..STARTS {
            self.child = self.command.spawn().map_err(system(self.name))?;
            self.guard = Some(self.guarded().map_err(system("sh"))?);
            match self.wait(url) {
                Ok(_) => return Ok(()),
                Err(error) => last = error,
            }
            if self.ended().is_none() {
                break;
            }
            // Perhaps a process that it left behind is still about to notice.
            self.dismiss_guard();
            thread::sleep(Duration::from_millis(300));
        }
        Err(last)
    }

    /// Makes it stand still, or go on.
    pub(super) fn pause(&mut self, stands_still: bool) {
        self.signal_all(if stands_still { "-STOP" } else { "-CONT" });
    }

    fn signal_all(&mut self, signal: &str) {
        // The number of a process that has ended may be somebody else's by now.
        if self.ended().is_some() {
            return;
        }
        let number = self.child.id();
        let all: Vec<String> = std::iter::once(number).chain(children(number)).map(|id| id.to_string()).collect();
        // Of those that end meanwhile nobody needs to hear.
        let _ = Command::new("kill").arg(signal).args(all).stderr(Stdio::null()).status();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.ended().is_none() {
            self.pause(false);
            let _ = Command::new("kill").args([self.signal, &self.child.id().to_string()]).status();
        }
        let start = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if start.elapsed() > FAREWELL {
                let _ = self.child.kill();
                break;
            }
            thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.wait();
        self.dismiss_guard();
    }
}

/// The processes that one has started, where the system tells.
fn children(parent: u32) -> Vec<u32> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter(|number| parent_of(Path::new("/proc").join(number.to_string())) == Some(parent)).collect()
}

/// `12 (a name) S 7 …`: who started it is the second word after the name, which may hold anything.
fn parent_of(process: PathBuf) -> Option<u32> {
    let text = fs::read_to_string(process.join("stat")).ok()?;
    text.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(unix)]
fn set_apart(command: &mut Command) {
    std::os::unix::process::CommandExt::process_group(command, 0);
}

#[cfg(not(unix))]
fn set_apart(_: &mut Command) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_the_children_that_it_started() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("sleep runs");
        assert!(children(std::process::id()).contains(&child.id()));
        child.kill().expect("it is ours");
        child.wait().expect("it was killed");
        assert!(!children(std::process::id()).contains(&child.id()));
    }
}
