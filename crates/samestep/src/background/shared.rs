//! The program's end of something shared in the background.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use samestep_session::{NetworkId, SendError, Session, SessionEvent, ShareError, Shared};
use samestep_sync::{ChangeId, ChangeOutcome, SharedFields};

use super::desk::Desk;

/// A struct of [`Synced`](samestep_sync::Synced) fields that a [`Background`](crate::Background) session keeps the same
/// everywhere. Clones share the same fields.
pub struct SharedHandle<S> {
    slot: Arc<Slot<S>>,
    desk: Arc<Desk>,
}

struct Slot<S> {
    state: Mutex<SlotState<S>>,
    news: Condvar,
}

struct SlotState<S> {
    shared: Shared<S>,
    /// How often others have changed something.
    changes: u64,
    has_ended: bool,
}

impl<S> Slot<S> {
    fn lock(&self) -> MutexGuard<'_, SlotState<S>> {
        // A program that panicked in `write` has set some fields and not others: each is whole.
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn wait<'a>(
        &self,
        state: MutexGuard<'a, SlotState<S>>,
        time: Option<Duration>,
    ) -> MutexGuard<'a, SlotState<S>> {
        match time {
            Some(time) => match self.news.wait_timeout(state, time) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            },
            None => self.news.wait(state).unwrap_or_else(|e| e.into_inner()),
        }
    }
}

impl<S: SharedFields + Send + 'static> SharedHandle<S> {
    pub(super) fn new(
        id: NetworkId,
        fields: S,
        desk: Arc<Desk>,
    ) -> Result<SharedHandle<S>, ShareError> {
        let slot = Slot {
            state: Mutex::new(SlotState {
                shared: Shared::new(id, fields)?,
                changes: 0,
                has_ended: false,
            }),
            news: Condvar::new(),
        };
        Ok(SharedHandle {
            slot: Arc::new(slot),
            desk,
        })
    }

    pub(super) fn follower(&self) -> Box<dyn Follower> {
        Box::new(self.slot.clone())
    }

    /// Looks at the fields as they are now. Keep it short: the session waits meanwhile.
    pub fn read<R>(&self, look: impl FnOnce(&S) -> R) -> R {
        look(&self.slot.lock().shared)
    }

    /// Sets fields; the others get them at once, those set together together.
    pub fn write<R>(&self, change: impl FnOnce(&mut S) -> R) -> R {
        let result = change(&mut self.slot.lock().shared);
        self.slot.news.notify_all();
        self.desk.wake();
        result
    }

    /// What became of a change of an exact variable, to be asked until `None`. Who does not ask does not mind.
    pub fn poll_outcome(&self) -> Option<(ChangeId, ChangeOutcome)> {
        self.slot.lock().shared.poll_outcome()
    }

    /// Calls `show` now, and again whenever somebody else has changed a field, on a thread of its own, until the session ends.
    /// Changes that come while it is busy are shown together.
    pub fn watch(&self, mut show: impl FnMut(&SharedHandle<S>) + Send + 'static) {
        let handle = self.clone();
        thread::spawn(move || {
            let mut seen = None;
            loop {
                let mut state = handle.slot.lock();
                while seen == Some(state.changes) {
                    if state.has_ended {
                        return;
                    }
                    state = handle.slot.wait(state, None);
                }
                seen = Some(state.changes);
                drop(state);
                show(&handle);
            }
        });
    }

    /// Waits until the fields are as wanted, and says whether they are, or whether time is up or the session has ended.
    pub fn wait_until(&self, timeout: Duration, mut wanted: impl FnMut(&S) -> bool) -> bool {
        let deadline = Instant::now() + timeout;
        let mut state = self.slot.lock();
        loop {
            if wanted(&state.shared) {
                return true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || state.has_ended {
                return false;
            }
            state = self.slot.wait(state, Some(left));
        }
    }
}

impl<S> Clone for SharedHandle<S> {
    fn clone(&self) -> SharedHandle<S> {
        SharedHandle {
            slot: self.slot.clone(),
            desk: self.desk.clone(),
        }
    }
}

/// The thread's end.
pub trait Follower: Send {
    fn handle(&mut self, now: Duration, session: &mut Session, event: &SessionEvent);
    fn flush(&mut self, now: Duration, session: &mut Session) -> Result<(), SendError>;
    fn is_complete(&self) -> bool;
    /// Whether it has to be flushed again soon, even if nothing happens.
    fn is_waiting(&self) -> bool;
    fn on_end(&mut self);
}

impl<S: SharedFields + Send> Follower for Arc<Slot<S>> {
    fn handle(&mut self, now: Duration, session: &mut Session, event: &SessionEvent) {
        let mut state = self.lock();
        state.shared.handle(now, session, event);
        if state.shared.take_changed() {
            state.changes += 1;
            self.news.notify_all();
        }
    }

    fn flush(&mut self, now: Duration, session: &mut Session) -> Result<(), SendError> {
        let mut state = self.lock();
        let result = state.shared.flush(now, session);
        // Messages that came too early may have been waiting for a change of the room.
        if state.shared.take_changed() {
            state.changes += 1;
            self.news.notify_all();
        }
        result
    }

    fn is_complete(&self) -> bool {
        self.lock().shared.is_complete()
    }

    fn is_waiting(&self) -> bool {
        self.lock().shared.is_waiting()
    }

    fn on_end(&mut self) {
        self.lock().has_ended = true;
        self.news.notify_all();
    }
}
