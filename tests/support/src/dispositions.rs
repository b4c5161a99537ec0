//! Signal dispositions of the processes that tests start.
//!
//! A child inherits the signals that its parent ignores: a shell ignores SIGINT for background jobs and `nohup` ignores
//! SIGHUP. Tests that send these signals would then wait forever, so each child starts with the defaults.

use std::process::Command;

/// Makes a child start with the default action for the signals that end a command.
pub fn reset(command: &mut Command) {
    set(
        command,
        libc::SIG_DFL,
        &[libc::SIGINT, libc::SIGHUP, libc::SIGQUIT, libc::SIGTERM],
    );
}

/// Makes a child start like under `nohup`, with SIGHUP ignored.
pub fn nohup(command: &mut Command) {
    reset(command);
    set(command, libc::SIG_IGN, &[libc::SIGHUP]);
}

fn set(command: &mut Command, action: libc::sighandler_t, signals: &'static [i32]) {
    // SAFETY: `signal` is one of the calls that are allowed between fork and exec.
    unsafe {
        std::os::unix::process::CommandExt::pre_exec(command, move || {
            for signal in signals {
                libc::signal(*signal, action);
            }
            Ok(())
        });
    }
}
