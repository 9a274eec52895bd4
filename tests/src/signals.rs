//! Signals in tests that run programs: compiled into each of those that send some.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// Has the child end by a signal as usual, also where this test runs with one ignored, as under `nohup`.
pub(crate) fn heeds_signals(command: &mut Command) {
    let heed = || {
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM] {
            // SAFETY: may be called between `fork` and `exec`; nothing is handled by us.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: what it calls may be called there.
    unsafe { command.pre_exec(heed) };
}
