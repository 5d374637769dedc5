//! A seeded model of a network link: delay, jitter, loss, bursts, duplicates, reordering, rate and queue.
