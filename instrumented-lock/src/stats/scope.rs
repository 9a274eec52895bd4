//! [`Scope`]: what a thread is doing, in a word.

/// Operations that are told apart, and one more number for all others.
pub(crate) const OPERATIONS: usize = 127;
pub(crate) const OTHER_OPERATIONS: u8 = 128;

/// Numbers of operations, with 0 for none.
pub(crate) const NUMBERS: usize = OTHER_OPERATIONS as usize + 1;

/// What a thread is doing: in the low eight bits the number of an operation, above it that of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scope(u64);

const MEASUREMENT: u32 = 8;

impl Scope {
    pub(crate) const NONE: Scope = Scope(0);

    #[inline(always)]
    pub(crate) fn to_bits(self) -> u64 {
        self.0
    }

    #[inline(always)]
    pub(crate) fn from_bits(bits: u64) -> Self {
        Scope(bits)
    }

    /// The number of the operation; 0 for none.
    #[inline(always)]
    pub(crate) fn operation(self) -> u8 {
        (self.0 & 0xff) as u8
    }

    /// The number of the measurement, which is that of an outer one too if it is no less; 0 for none.
    #[inline(always)]
    pub(crate) fn measurement(self) -> u64 {
        self.0 >> MEASUREMENT
    }

    /// The operation alone.
    pub(crate) fn of_operation(operation: u8) -> Self {
        Scope(u64::from(operation))
    }

    /// The measurement alone.
    pub(crate) fn of_measurement(measurement: u64) -> Self {
        Scope(measurement << MEASUREMENT)
    }

    #[inline(always)]
    pub(crate) fn with_operation(self, operation: u8) -> Self {
        Scope(self.0 & !0xff | u64::from(operation))
    }

    pub(crate) fn with_measurement(self, measurement: u64) -> Self {
        Scope(u64::from(self.operation()) | measurement << MEASUREMENT)
    }
}
