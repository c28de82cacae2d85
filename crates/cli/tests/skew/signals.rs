//! What tests rely on, whoever started them: `nohup` ignores SIGHUP, a shell without a terminal ignores SIGINT in what it starts behind
//! its back, and whoever is started inherits that.
//!
//! A process that has a handler for a signal starts others that hear it. So what is ignored gets a handler that does nothing, which is as
//! good as ignoring it.

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Once};

static ONCE: Once = Once::new();

/// Sees to it that programs that tests start hear the signals that tests send.
pub(crate) fn let_children_hear_all() {
    ONCE.call_once(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = mask.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or(0);
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
            if mask >> (signal - 1) & 1 == 1 {
                signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false))).unwrap();
            }
        }
    });
}

/// Tests that send signals, each started as `nohup` and `sh` in the background would.
#[test]
#[cfg(target_os = "linux")]
fn tests_do_not_depend_on_who_started_them() {
    let this = std::env::current_exe().unwrap();
    for test in [
        "serve::a_terminal_that_goes_ends_a_server_unless_it_was_told_to_ignore_it",
        "campaign::an_interrupt_reaches_the_command",
    ] {
        let line = "trap '' HUP INT QUIT TERM; exec \"$0\" --exact \"$1\"";
        let ran = Command::new("sh")
            .args(["-c", line])
            .arg(&this)
            .arg(test)
            .env("SKEW_TEST_APART", "-ignoring")
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success() && told.contains("1 passed"), "{told}");
    }
}
