//! Everything that looks at a clock: time limits, Ctrl-C, the stopwatch, the progress line.
//!
//! The checker counts steps and looks at a flag; here the flag is raised, by a sleeping thread or by a signal. It also tells which
//! phase it is in; here somebody looks at the time when it does.

pub(crate) use skew_campaign::parse_duration;

use skew_campaign::{Moment, StopFlags};
use skew_check::Progress;
use skew_view::report::PhaseTime;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

static STOP: AtomicBool = AtomicBool::new(false);
static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static SOMETHING_TO_KEEP: AtomicBool = AtomicBool::new(false);

/// The flag that ends a search early.
pub(crate) fn stop_flag() -> &'static AtomicBool {
    &STOP
}

/// The flags that campaigns look at.
pub(crate) fn flags() -> StopFlags<'static> {
    StopFlags { stop: &STOP, interrupted: &INTERRUPTED }
}

/// Whether the flag is raised.
pub(crate) fn is_stopped() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// Whether somebody pressed Ctrl-C, or asked the process to end.
pub(crate) fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Raises the flag after this time.
pub(crate) fn stop_after(limit: Duration) {
    if limit.is_zero() {
        STOP.store(true, Ordering::Relaxed);
        return;
    }
    std::thread::spawn(move || {
        std::thread::sleep(limit);
        STOP.store(true, Ordering::Relaxed);
    });
}

/// From here on Ctrl-C has to be polite: there are results, or files that are half written.
pub(crate) fn something_to_keep() {
    SOMETHING_TO_KEEP.store(true, Ordering::Relaxed);
}

/// Raises the flag on Ctrl-C, and when the process is asked to end. While nothing was found yet, such as during the reading of a large file or while waiting for standard
/// input, it ends the process at once; so does a second one, for those phases that do not look at the flag.
/// Before that comes the last act.
pub(crate) fn stop_on_interrupt(last_act: fn()) {
    let handler = move || {
        STOP.store(true, Ordering::Relaxed);
        let again = INTERRUPTED.swap(true, Ordering::Relaxed);
        if again || !SOMETHING_TO_KEEP.load(Ordering::Relaxed) {
            last_act();
            std::process::exit(3);
        }
    };
    catch(handler);
}

/// Calls the handler on each signal. Without one Ctrl-C still ends the process, only less politely.
#[cfg(not(unix))]
fn catch(handler: impl Fn() + Send + 'static) {
    let _ = ctrlc::set_handler(handler);
}

#[cfg(unix)]
fn catch(handler: impl Fn() + Send + 'static) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let caught: &[i32] = if is_ignored(SIGHUP) { &[SIGINT, SIGTERM] } else { &[SIGINT, SIGTERM, SIGHUP] };
    if let Ok(mut signals) = signal_hook::iterator::Signals::new(caught) {
        std::thread::spawn(move || signals.forever().for_each(|_| handler()));
    }
}

/// Whether whoever started the process told it to ignore a signal, as nohup does. Where that cannot be known the signal is left as it
/// is, and the answer is yes.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    mask.is_none_or(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Now, by the clock of this machine, without the fraction of a second: it has to be written down.
pub(crate) fn now() -> Moment {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Moment::at_second(i64::try_from(since.as_secs()).unwrap_or_default())
}

/// How long each phase took.
pub(crate) struct Stopwatch {
    started: Instant,
    current: Option<(&'static str, Instant)>,
    phases: Vec<(&'static str, Duration)>,
}

impl Stopwatch {
    pub(crate) fn new() -> Stopwatch {
        Stopwatch { started: Instant::now(), current: None, phases: Vec::new() }
    }

    /// One phase ends, the next begins.
    pub(crate) fn enter(&mut self, phase: &'static str) {
        self.leave();
        self.current = Some((phase, Instant::now()));
    }

    /// The current phase ends.
    pub(crate) fn leave(&mut self) {
        let Some((phase, since)) = self.current.take() else { return };
        let spent = since.elapsed();
        match self.phases.iter_mut().find(|known| known.0 == phase) {
            Some(known) => known.1 += spent,
            None => self.phases.push((phase, spent)),
        }
    }

    /// Seconds per phase, in the order in which the phases first ended.
    pub(crate) fn phases(&self) -> Vec<PhaseTime> {
        self.phases.iter().map(|&(phase, spent)| PhaseTime { phase, seconds: spent.as_secs_f64() }).collect()
    }

    /// Seconds in all.
    pub(crate) fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }
}

/// The most memory that this process has used, in bytes, where the system tells.
pub(crate) fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// Nobody needs to know what is over before they could read it.
const PATIENCE: Duration = Duration::from_millis(500);
const REDRAW: Duration = Duration::from_millis(200);

#[derive(Default)]
struct Shown {
    file: String,
    doing: String,
    drawn: bool,
    done: bool,
}

/// One line on a terminal that says what is going on, drawn by a thread of its own and gone when it is dropped.
pub(crate) struct ProgressLine {
    shared: Arc<(Mutex<Shown>, Condvar)>,
    drawer: Option<JoinHandle<()>>,
}

impl ProgressLine {
    /// Begins to draw after half a second; never when `visible` is false.
    pub(crate) fn new(visible: bool) -> ProgressLine {
        let shared = Arc::new((Mutex::new(Shown::default()), Condvar::new()));
        let theirs = Arc::clone(&shared);
        let drawer = visible.then(|| std::thread::spawn(move || draw_until_done(&theirs)));
        ProgressLine { shared, drawer }
    }

    /// Names the input that is worked on.
    pub(crate) fn begin(&self, file: &str) {
        let mut shown = lock(&self.shared.0);
        shown.file = skew_view::words::clean(file);
        shown.doing = "read".to_owned();
    }

    /// Makes room for results; the line comes back with the next input.
    pub(crate) fn pause(&self) {
        let mut shown = lock(&self.shared.0);
        shown.file.clear();
        shown.erase();
    }

    /// Names what is being done with it.
    pub(crate) fn tell(&self, progress: Progress) {
        self.say(format!("{} {}", progress.phase.name(), progress.size));
    }

    /// The same in words.
    pub(crate) fn say(&self, doing: String) {
        lock(&self.shared.0).doing = doing;
    }
}

impl Shown {
    fn draw(&mut self, seconds: f64) {
        let line = format!("\r\x1b[K{}: {} ({seconds:.0} s)", self.file, self.doing);
        let _ = io::stderr().write_all(line.as_bytes());
        self.drawn = true;
    }

    fn erase(&mut self) {
        if std::mem::take(&mut self.drawn) {
            let _ = io::stderr().write_all(b"\r\x1b[K");
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        lock(&self.shared.0).done = true;
        self.shared.1.notify_all();
        if let Some(drawer) = self.drawer.take() {
            // A drawer that fell over has nothing to tell either.
            let _ = drawer.join();
        }
    }
}

fn lock(shown: &Mutex<Shown>) -> MutexGuard<'_, Shown> {
    shown.lock().unwrap_or_else(PoisonError::into_inner)
}

fn draw_until_done((shown, woken): &(Mutex<Shown>, Condvar)) {
    let started = Instant::now();
    let mut wait = PATIENCE;
    let mut state = lock(shown);
    while !state.done {
        let (next, timeout) = woken.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner);
        state = next;
        if timeout.timed_out() && !state.done && !state.file.is_empty() {
            state.draw(started.elapsed().as_secs_f64());
            wait = REDRAW;
        }
    }
    state.erase();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_that_comes_back_is_one_phase() {
        let mut watch = Stopwatch::new();
        for phase in ["resolve", "search", "resolve"] {
            watch.enter(phase);
        }
        watch.leave();
        let phases: Vec<&str> = watch.phases().iter().map(|time| time.phase).collect();
        assert_eq!(phases, ["resolve", "search"]);
    }
}
