//! A global allocator that counts what each thread asks for.
//!
//! A crate of its own because an allocator cannot be written without `unsafe`, which the program forbids. The crate that the other
//! measurements of allocations use is no good beside timings: it takes a lock of its own at each call, and grows
//! memory only by copying. This one adds two numbers.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

#[global_allocator]
static COUNTING: Counting = Counting;

thread_local! {
    static ASKED: Cell<Asked> = const { Cell::new(Asked { times: 0, bytes: 0 }) };
}

/// What a thread has asked for since it began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Asked {
    /// How often memory was asked for, or for more in place of what there was.
    pub times: u64,
    /// How much.
    pub bytes: u64,
}

/// What this thread has asked for so far.
pub fn asked() -> Asked {
    ASKED.get()
}

impl std::ops::Sub for Asked {
    type Output = Asked;

    fn sub(self, before: Asked) -> Asked {
        Asked {
            times: self.times - before.times,
            bytes: self.bytes - before.bytes,
        }
    }
}

impl std::ops::AddAssign for Asked {
    fn add_assign(&mut self, more: Asked) {
        self.times += more.times;
        self.bytes += more.bytes;
    }
}

struct Counting;

fn count(bytes: usize) {
    // A thread that ends may still ask for memory: nobody reads its count any more.
    let _ = ASKED.try_with(|asked| {
        let Asked { times, bytes: sum } = asked.get();
        asked.set(Asked {
            times: times + 1,
            bytes: sum + bytes as u64,
        });
    });
}

// SAFETY: every call goes on to the system's allocator as it came, and counting neither allocates nor panics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        unsafe { System.realloc(old, layout, size) }
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        unsafe { System.dealloc(old, layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_thread_asks_for_is_counted() {
        let before = asked();
        let mut list: Vec<u64> = Vec::with_capacity(4);
        list.extend([1, 2, 3, 4]);
        assert_eq!(
            asked() - before,
            Asked {
                times: 1,
                bytes: 32
            }
        );
        list.push(5);
        assert_eq!((asked() - before).times, 2);
    }
}
