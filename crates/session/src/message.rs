//! Messages that mean something.
