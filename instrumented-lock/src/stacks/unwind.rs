//! Addresses of a stack, and what they are called: by the crate `backtrace`.

use crate::snapshot::Frame;
use std::borrow::Cow;
use std::ffi::c_void;
use std::path::Path;
use std::ptr;

/// Writes the return addresses of the caller's stack, the innermost first. Returns how many.
pub(super) fn trace(frames: &mut [usize]) -> usize {
    let mut n = 0;
    let mut add = |frame: &backtrace::Frame| {
        let Some(slot) = frames.get_mut(n) else {
            return false;
        };
        *slot = frame.ip().addr();
        n += 1;
        n < frames.len()
    };
    #[cfg(unix)]
    // SAFETY: on Unix this is one call of the system's unwinder, which may be called from any number of threads at
    // a time. The synchronised function takes a lock around it that a child of `fork` may find taken for ever.
    unsafe {
        backtrace::trace_unsynchronized(&mut add);
    }
    #[cfg(not(unix))]
    backtrace::trace(&mut add);
    n
}

/// The functions at these return addresses; where the compiler has put one into another, both. Files have the paths
/// that the program has.
pub(super) fn names(addresses: &[usize]) -> Vec<Frame> {
    let mut frames = Vec::new();
    for &address in addresses {
        let before = frames.len();
        let pointer = ptr::without_provenance_mut::<c_void>(address);
        backtrace::resolve(pointer, |symbol| {
            let Some(name) = symbol.name() else {
                return;
            };
            let file = symbol.filename().map(Path::to_string_lossy);
            frames.push(Frame {
                function: format!("{name:#}"),
                file: file.map(Cow::into_owned),
                line: symbol.lineno(),
            });
        });
        if frames.len() == before {
            frames.push(Frame {
                function: format!("{address:#x}"),
                file: None,
                line: None,
            });
        }
    }
    frames
}
