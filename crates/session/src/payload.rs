//! The content of messages, in buffers that a session uses again.

use core::fmt;
use core::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

/// The smallest buffer, in bytes: most messages of a game fit in any buffer.
const MIN_BUFFER: usize = 512;
/// Buffers that are kept; more than this many are freed.
const MAX_BUFFERS: usize = 1024;
/// The largest buffer that is kept, in bytes.
const MAX_BUFFER: usize = 16_384;

/// The content of a message. It reads like a slice of bytes.
///
/// Its memory comes from the session that received it and returns there when the payload is dropped, so that messages cost no allocation.
#[derive(Default)]
pub struct Payload {
    buffer: Vec<u8>,
    /// The content begins here: what comes before it was the message's envelope.
    start: usize,
    pool: Option<BufferPool>,
}

impl Payload {
    /// Leaves out the first bytes.
    pub(crate) fn skip(&mut self, bytes: usize) {
        self.start = (self.start + bytes).min(self.buffer.len());
    }
}

impl Deref for Payload {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.buffer[self.start..]
    }
}

impl DerefMut for Payload {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[self.start..]
    }
}

impl From<Vec<u8>> for Payload {
    fn from(buffer: Vec<u8>) -> Self {
        Self {
            buffer,
            start: 0,
            pool: None,
        }
    }
}

impl Clone for Payload {
    fn clone(&self) -> Self {
        match &self.pool {
            Some(pool) => pool.payload(self),
            None => Self::from(self.to_vec()),
        }
    }
}

impl Drop for Payload {
    fn drop(&mut self) {
        if let Some(pool) = &self.pool {
            pool.give_back(core::mem::take(&mut self.buffer));
        }
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Payload {}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Buffers that are free. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct BufferPool(Arc<Mutex<Vec<Vec<u8>>>>);

impl BufferPool {
    /// A payload with this content.
    pub(crate) fn payload(&self, content: &[u8]) -> Payload {
        let free = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut buffer = free.unwrap_or_else(|| Vec::with_capacity(content.len().max(MIN_BUFFER)));
        buffer.extend_from_slice(content);
        Payload {
            buffer,
            start: 0,
            pool: Some(self.clone()),
        }
    }

    fn give_back(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if buffer.capacity() <= MAX_BUFFER && free.len() < MAX_BUFFERS {
            free.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_payload_lends_its_memory_to_the_next() {
        let pool = BufferPool::default();
        let first = pool.payload(b"a long message");
        let memory = first.as_ptr();
        drop(first);
        let mut second = pool.payload(b"envelope and");
        assert_eq!(second.as_ptr(), memory);
        second.skip(9);
        assert_eq!(*second, *b"and");
        assert_eq!(second.clone(), second);
        assert_ne!(second.clone().as_ptr(), second.as_ptr());
    }

    #[test]
    fn large_buffers_are_freed() {
        let pool = BufferPool::default();
        drop(pool.payload(&[0; MAX_BUFFER + 1]));
        assert!(pool.0.lock().unwrap().is_empty());
    }
}
