//! A pool of byte buffers: what is kept (queued, reordered, resent) is copied into one of these and given back.

/// Buffers kept for reuse.
const KEPT: usize = 1024;
/// Room of a new one: most messages fit, so that buffers seldom grow.
const NEW: usize = 256;
/// Larger ones are freed instead.
const LARGEST_KEPT: usize = 4096;

/// The pool.
#[derive(Debug, Default)]
pub struct Buffers {
    free: Vec<Vec<u8>>,
}

impl Buffers {
    /// An empty buffer.
    pub fn take(&mut self) -> Vec<u8> {
        self.free.pop().unwrap_or_else(|| Vec::with_capacity(NEW))
    }

    /// A buffer with these bytes.
    pub fn copy(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut buffer = self.take();
        buffer.extend_from_slice(bytes);
        buffer
    }

    /// Gives a buffer back.
    pub fn put(&mut self, mut buffer: Vec<u8>) {
        if self.free.len() < KEPT && buffer.capacity() > 0 && buffer.capacity() <= LARGEST_KEPT {
            buffer.clear();
            self.free.push(buffer);
        }
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.free.iter().map(Vec::capacity).sum()
    }
}
