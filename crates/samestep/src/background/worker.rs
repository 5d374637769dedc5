//! What the session's thread does.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use samestep_session::{MessageKind, SendError, Session, SessionEvent};
use samestep_transport::Udp;

use super::desk::Desk;
use super::shared::Follower;
use crate::driver::Driver;

/// Events kept until the program reads them; then the oldest are forgotten.
const EVENT_LIMIT: usize = 1024;

/// How long the thread may sleep: nothing depends on it, because it is woken.
const IDLE: Duration = Duration::from_secs(1);

/// How soon what could not be sent is tried again.
const RETRY: Duration = Duration::from_millis(10);

/// How soon what is shared is looked at again while something of it is not answered.
const REMINDER: Duration = Duration::from_millis(100);

/// How long saying goodbye may take.
const FAREWELL: Duration = Duration::from_secs(2);

/// The thread's side.
pub struct Worker {
    driver: Driver<Udp, Session>,
    desk: Arc<Desk>,
    followers: Vec<Box<dyn Follower>>,
    was_complete: bool,
}

impl Worker {
    pub fn new(driver: Driver<Udp, Session>, desk: Arc<Desk>) -> Worker {
        Worker {
            driver,
            desk,
            followers: Vec::new(),
            was_complete: false,
        }
    }

    pub fn run(mut self) {
        if let Err(error) = self.work() {
            self.desk.lock().failure = Some(format!("the socket failed: {error}"));
        }
    }

    fn work(&mut self) -> io::Result<()> {
        loop {
            self.desk.waker.on_awake();
            let farewell = self.take_orders();
            let mut next = self.driver.now() + IDLE;
            if self.flush().is_err() {
                next = self.driver.now() + RETRY;
            } else if self.followers.iter().any(|follower| follower.is_waiting()) {
                next = self.driver.now() + REMINDER;
            }
            if let Some(words) = farewell {
                return self.driver.leave(&words, self.driver.now() + FAREWELL);
            }
            // What is shared may have become complete without an event: a host has nobody to ask.
            self.publish_completeness();
            let mut event = self.driver.drive_once(next)?;
            let (mut said, mut happened) = (false, false);
            while let Some(next) = event {
                match next {
                    SessionEvent::Message { .. } => said = true,
                    _ => happened = true,
                }
                self.on_event(next);
                event = self.driver.machine_mut().poll_event();
            }
            if happened {
                self.publish();
            } else if said {
                self.desk.news.notify_all();
            }
        }
    }

    fn take_orders(&mut self) -> Option<String> {
        let (jobs, newcomers, farewell) = {
            let mut board = self.desk.lock();
            let jobs = std::mem::take(&mut board.jobs);
            let newcomers = std::mem::take(&mut board.newcomers);
            board.complete &= newcomers.is_empty();
            (jobs, newcomers, board.farewell.clone())
        };
        let changed = !jobs.is_empty() || !newcomers.is_empty();
        self.followers.extend(newcomers);
        let now = self.driver.now();
        for job in jobs {
            job(now, self.driver.machine_mut());
        }
        if changed {
            self.publish();
        }
        farewell
    }

    fn flush(&mut self) -> Result<(), SendError> {
        let now = self.driver.now();
        let mut result = Ok(());
        for follower in &mut self.followers {
            result = result.and(follower.flush(now, self.driver.machine_mut()));
        }
        result
    }

    fn on_event(&mut self, event: SessionEvent) {
        let now = self.driver.now();
        for follower in &mut self.followers {
            follower.handle(now, self.driver.machine_mut(), &event);
        }
        let is_shared = matches!(&event, SessionEvent::Message { kind, .. } if [MessageKind::SHARED, MessageKind::VARIABLES].contains(kind));
        let mut board = self.desk.lock();
        if let SessionEvent::Left { reason } = &event {
            board.left = Some(reason.clone());
        }
        if !is_shared {
            if board.events.len() == EVENT_LIMIT {
                board.events.pop_front();
            }
            board.events.push_back(event);
        }
    }

    fn publish_completeness(&mut self) {
        let complete = self.followers.iter().all(|follower| follower.is_complete());
        if complete != self.was_complete {
            self.publish();
        }
    }

    /// Publishes the state of the session to the program.
    fn publish(&mut self) {
        let session = self.driver.machine();
        self.was_complete = self.followers.iter().all(|follower| follower.is_complete());
        let mut board = self.desk.lock();
        board.state = session.state().clone();
        board.me = session.me();
        board.players = session.room().players().to_vec();
        board.complete = self.was_complete;
        drop(board);
        self.desk.news.notify_all();
    }
}

/// Wakes all waiting callers, however the thread ends.
impl Drop for Worker {
    fn drop(&mut self) {
        let mut board = self.desk.lock();
        board.has_ended = true;
        if thread::panicking() {
            board.failure = Some("the session's thread panicked".into());
        }
        let jobs = std::mem::take(&mut board.jobs);
        drop(board);
        drop(jobs);
        self.desk.news.notify_all();
        for follower in &mut self.followers {
            follower.on_end();
        }
    }
}
