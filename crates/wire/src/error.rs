use core::fmt;

/// Why what was written cannot be sent; reported once, by [`BitWriter::finish`](crate::BitWriter::finish).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// The buffer is too small.
    Overflow,
    /// An integer lies outside its declared range.
    OutOfRange,
    /// A string or list is longer than its declared maximum.
    TooLong,
    /// Values are nested deeper than [`MAX_DEPTH`](crate::MAX_DEPTH).
    TooDeep,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EncodeError::Overflow => "the buffer is too small",
            EncodeError::OutOfRange => "an integer is outside its range",
            EncodeError::TooLong => "a string or list is longer than its maximum",
            EncodeError::TooDeep => "values are nested too deeply",
        })
    }
}

impl core::error::Error for EncodeError {}

/// Why bytes were refused. After an error the reader's position is unspecified but never past the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes end before the value does.
    Truncated,
    /// An integer or quantised float lies outside its declared range.
    OutOfRange,
    /// A varint uses more groups than its value needs, or does not fit 64 bits.
    Overlong,
    /// An enum names a variant that does not exist.
    UnknownVariant,
    /// A string or list claims to be longer than its declared maximum.
    TooLong,
    /// A string is not UTF-8.
    BadUtf8,
    /// Values are nested deeper than [`MAX_DEPTH`](crate::MAX_DEPTH).
    TooDeep,
    /// A padding bit is set.
    Padding,
    /// Bytes are left over after the value.
    Trailing,
    /// Borrowed bytes were asked for between two byte boundaries: a mistake in the reading code.
    Unaligned,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DecodeError::Truncated => "the bytes end too early",
            DecodeError::OutOfRange => "a number is outside its range",
            DecodeError::Overlong => "a varint is longer than its value needs",
            DecodeError::UnknownVariant => "an enum variant is unknown",
            DecodeError::TooLong => "a string or list is longer than its maximum",
            DecodeError::BadUtf8 => "a string is not UTF-8",
            DecodeError::TooDeep => "values are nested too deeply",
            DecodeError::Padding => "padding is not zero",
            DecodeError::Trailing => "bytes are left over",
            DecodeError::Unaligned => "bytes were read off a byte boundary",
        })
    }
}

impl core::error::Error for DecodeError {}
