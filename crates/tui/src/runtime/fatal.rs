//! Restores the terminal before a signal ends the process at once.
//!
//! A crash, an abort (a failed allocation is one) or an unhandled signal ends the process without destructors and without the
//! panic hook. A signal handler may interrupt anything, so this code allocates nothing, takes no lock and calls only what
//! POSIX allows in a handler.

/// Catches the signals that end a process by default, except those that `signals.rs` handles. An ignored one stays ignored.
#[cfg(unix)]
pub fn catch() {
    unix::catch();
}

/// Does nothing: there are no such signals here.
#[cfg(not(unix))]
pub fn catch() {}

#[cfg(unix)]
mod unix {
    use crate::runtime::terminal;
    use std::cell::UnsafeCell;
    use std::mem::MaybeUninit;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Signals that end a process by default. SIGKILL can't be caught; SIGHUP, SIGINT, SIGQUIT and SIGTERM end the dashboard
    /// normally (`signals.rs`); SIGPIPE is ignored by Rust's runtime.
    const FATAL: [libc::c_int; 13] = [
        libc::SIGABRT,
        libc::SIGSEGV,
        libc::SIGBUS,
        libc::SIGFPE,
        libc::SIGILL,
        libc::SIGSYS,
        libc::SIGTRAP,
        libc::SIGUSR1,
        libc::SIGUSR2,
        libc::SIGALRM,
        libc::SIGVTALRM,
        libc::SIGPROF,
        libc::SIGXCPU,
    ];
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const FATAL_HERE: [libc::c_int; 4] =
        [libc::SIGXFSZ, libc::SIGIO, libc::SIGPWR, libc::SIGSTKFLT];
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const FATAL_HERE: [libc::c_int; 1] = [libc::SIGXFSZ];
    /// All signal numbers are below this one, including those of real-time signals.
    const NUMBERS: usize = 128;

    /// The previous action of each signal, by its number, and whether it was stored.
    struct Before(
        UnsafeCell<[MaybeUninit<libc::sigaction>; NUMBERS]>,
        [AtomicBool; NUMBERS],
    );

    // SAFETY: an entry is written once, before its flag is set, and only read after that.
    unsafe impl Sync for Before {}

    static BEFORE: Before = Before(
        UnsafeCell::new([const { MaybeUninit::uninit() }; NUMBERS]),
        [const { AtomicBool::new(false) }; NUMBERS],
    );

    pub(super) fn catch() {
        for signal in FATAL.into_iter().chain(FATAL_HERE) {
            catch_one(signal);
        }
        #[cfg(any(target_os = "linux", target_os = "android"))]
        for signal in libc::SIGRTMIN()..=libc::SIGRTMAX() {
            catch_one(signal);
        }
    }

    fn catch_one(signal: libc::c_int) {
        let Some(at) = usize::try_from(signal).ok().filter(|at| *at < NUMBERS) else {
            return;
        };
        if BEFORE.1[at].load(Ordering::SeqCst) {
            return;
        }
        // SAFETY: sigaction is plain data for which zeroes are valid. The entry is written before its flag is set, and nothing
        // reads it until then. The handler does only what a handler may do.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(signal, std::ptr::null(), &raw mut before) != 0
                || before.sa_sigaction == libc::SIG_IGN
            {
                return;
            }
            (&mut *BEFORE.0.get())[at].write(before);
            BEFORE.1[at].store(true, Ordering::SeqCst);
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as extern "C" fn(_, _, _) as *const () as usize;
            // On the thread's signal stack, if it has one: its normal stack may have overflowed.
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }

    /// Restores the terminal, and lets the signal end the process.
    extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        terminal::restore_in_handler();
        let at = usize::try_from(signal).unwrap_or(usize::MAX);
        let was_set = BEFORE
            .1
            .get(at)
            .is_some_and(|is_set| is_set.load(Ordering::SeqCst));
        // SAFETY: only calls that are allowed in a handler. The entry was written before this handler was installed.
        unsafe {
            // A fault repeats as soon as this returns, and the previous handler may report it: Rust's handler reports stack
            // overflows. It would ignore a SIGSEGV that another process sent.
            // The codes of faults: those of sent signals are 0 or negative, or above them (macOS).
            let is_sent = info.is_null() || !(1..0x1_0000).contains(&(*info).si_code);
            let is_fault = matches!(
                signal,
                libc::SIGSEGV | libc::SIGBUS | libc::SIGFPE | libc::SIGILL | libc::SIGTRAP
            );
            if is_fault && !is_sent && was_set {
                libc::sigaction(
                    signal,
                    (&*BEFORE.0.get())[at].as_ptr(),
                    std::ptr::null_mut(),
                );
            } else {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            }
        }
    }
}
