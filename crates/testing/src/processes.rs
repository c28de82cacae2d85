//! How to end a process and all that it started.
//!
//! A group of its own for each test would be simpler, but then nobody hears Ctrl-C any more. So the tree is read from `/proc`; where there is
//! none, only the process itself is ended.

use std::process::{Command, Stdio};

/// Kills the process and all whose parents lead to it.
pub(crate) fn end_with_children(process: u32) {
    let everybody = parents();
    let mut tree = vec![process];
    let mut at = 0;
    while let Some(&parent) = tree.get(at) {
        tree.extend(everybody.iter().filter(|(_, of)| *of == parent).map(|(child, _)| *child));
        at += 1;
    }
    let mut kill = Command::new("kill");
    kill.arg("-KILL").args(tree.iter().map(u32::to_string));
    // Some may have ended by themselves.
    let _ = kill.stdout(Stdio::null()).stderr(Stdio::null()).status();
}

/// Every process and its parent.
fn parents() -> Vec<(u32, u32)> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    processes.filter_map(|process| Some((process, parent(process)?))).collect()
}

/// The parent of a process: the second field after its name, which stands in parentheses and may contain anything.
fn parent(process: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = status.rsplit_once(") ")?;
    fields.split(' ').nth(1)?.parse().ok()
}
