//! Bounded memory.

/// One endpoint's memory stays below its limit.
#[derive(Clone, Copy, Debug)]
pub struct BoundedMemory {
    limit_bytes: usize,
    peak_bytes: usize,
}

impl BoundedMemory {
    /// Allows this many bytes.
    pub fn new(limit_bytes: usize) -> BoundedMemory {
        BoundedMemory {
            limit_bytes,
            peak_bytes: 0,
        }
    }

    /// Allows more or less from now on.
    pub fn set_limit(&mut self, limit_bytes: usize) {
        self.limit_bytes = limit_bytes;
    }

    /// The endpoint holds this many bytes.
    pub fn on_measured(&mut self, bytes: usize) -> Result<(), String> {
        self.peak_bytes = self.peak_bytes.max(bytes);
        match bytes <= self.limit_bytes {
            true => Ok(()),
            false => Err(format!("holds {bytes} bytes, {} allowed", self.limit_bytes)),
        }
    }

    /// The most it ever held.
    pub fn peak_bytes(&self) -> usize {
        self.peak_bytes
    }
}
