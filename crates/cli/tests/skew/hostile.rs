//! Places that cannot be written, files that would be overwritten, and people who press Ctrl-C.

use crate::{Folder, LOST_UPDATE, Ran, SERIAL};
use std::process::Child;
use std::time::Duration;

/// Ctrl-C, as a terminal sends it.
fn interrupt(child: &Child) {
    let status = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(status.unwrap().success());
}

#[test]
fn nothing_is_written_over_the_input() {
    let folder = Folder::new("over_the_input");
    folder.write("a.txt", LOST_UPDATE);
    let ran = folder.skew(&["check", "a.txt", "--certificate", "./a.txt"]).expect(2);
    assert!(ran.err.contains("which would be lost"), "{}", ran.err);
    let ran = folder.skew(&["convert", "a.txt", "./a.txt", "--to", "native"]).expect(2);
    assert!(ran.err.contains("which would be lost"), "{}", ran.err);
    folder.skew(&["check", "a.txt", "--certificate", "-"]).expect(2);
    assert_eq!(folder.read("a.txt"), LOST_UPDATE);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_told_and_devices_stay_where_they_are() {
    let folder = Folder::new("full_disk");
    folder.write("a.txt", SERIAL);
    // A link of our own: nobody should remove the device if this goes wrong.
    std::os::unix::fs::symlink("/dev/full", folder.path().join("full")).unwrap();
    for arguments in [
        &["convert", "a.txt", "full", "--to", "native"][..],
        &["generate", "-o", "full"],
        &["check", "a.txt", "--certificate", "full"],
    ] {
        let ran = folder.skew(arguments).expect(2);
        assert!(ran.err.contains("No space left"), "{}", ran.err);
        assert!(std::fs::symlink_metadata(folder.path().join("full")).is_ok(), "{arguments:?}");
    }
    assert!(std::path::Path::new("/dev/full").exists());
}

#[test]
#[cfg(unix)]
fn a_link_under_the_name_beside_does_not_lead_to_what_it_leads_to() {
    let folder = Folder::new("link_beside");
    folder.write("a.txt", SERIAL);
    folder.write("victim", "secret\n");
    std::os::unix::fs::symlink("victim", folder.path().join(".out.txt.skew")).unwrap();
    let ran = folder.skew(&["convert", "a.txt", "out.txt", "--to", "notation"]).expect(2);
    assert!(ran.err.contains("out.txt: cannot write it: .out.txt.skew is in the way"), "{}", ran.err);
    assert_eq!(folder.read("victim"), "secret\n");
    assert!(!folder.path().join("out.txt").exists());
}

#[test]
#[cfg(target_os = "linux")]
fn standard_output_is_written_behind_what_is_there() {
    let folder = Folder::new("behind");
    folder.write("a.txt", SERIAL);
    for place in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        folder.write("all.txt", "first\n");
        folder.shell(&format!("skew convert a.txt {place} --to notation >> all.txt")).expect(0);
        assert_eq!(folder.read("all.txt"), format!("first\n{SERIAL}"), "{place}");
    }
}

#[test]
fn what_cannot_be_written_whole_is_not_there() {
    let folder = Folder::new("written_whole");
    folder.write("a.txt", "a: append(x,1); b: r(x,[1])\n");
    folder.skew(&["convert", "a.txt", "out", "--to", "plume"]).expect(2);
    assert!(!folder.path().join("out").exists());
}

#[test]
#[cfg(unix)]
fn ctrl_c_while_waiting_for_input_ends_at_once() {
    let folder = Folder::new("ctrl_c_reading");
    for arguments in [&["check", "-"][..], &["convert", "-", "--to", "native"], &["view", "-"]] {
        let mut child = folder.start(arguments);
        // Held open: waiting for a child closes what it reads from.
        let input = child.stdin.take();
        // Time to set the handler; without it the exit code is none at all, and the test says so.
        std::thread::sleep(Duration::from_millis(500));
        interrupt(&child);
        assert_eq!(child.wait().unwrap().code(), Some(3), "{arguments:?}");
        drop(input);
    }
}

#[test]
#[cfg(unix)]
fn ctrl_c_while_generating_leaves_no_half_file() {
    let folder = Folder::new("ctrl_c_generating");
    let child = folder.start(&["generate", "--transactions", "1000000000", "-o", "made.jsonl"]);
    let (made, begun) = (folder.path().join("made.jsonl"), folder.path().join(".made.jsonl.skew"));
    while !begun.exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    interrupt(&child);
    let ran = Ran::new(child.wait_with_output().unwrap()).expect(3);
    assert!(ran.err.contains("made.jsonl: cannot write it: interrupted\n  nothing of it was written"), "{}", ran.err);
    assert!(!made.exists() && !begun.exists());
}

#[test]
fn without_time_or_budget_the_answer_is_inconclusive() {
    let folder = Folder::new("without_time");
    folder.skew(&["generate", "-q", "--transactions", "3000", "--keys", "30", "-o", "made.jsonl"]).expect(0);
    folder.skew(&["check", "made.jsonl", "--timeout", "0"]).expect(3);
    folder.skew(&["check", "made.jsonl", "--level", "serializable", "--budget", "0"]).expect(3);
}
