//! `parking_lot` 0.11, measured: [0.12](parking_lot_012), whose interface has all that of 0.11.

pub use parking_lot_012::*;
