//! Bit-level encoding for game networking: ranges, quantised floats, varints, delta coding.
