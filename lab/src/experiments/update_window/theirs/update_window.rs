//! The update window of the server: the oldest state, the frames since with their times and messages, and the current state.

use std::collections::VecDeque;
use std::time::Duration;

use super::super::field::Field;
use super::state::{State, Steer};

/// The window. Every frame recomputes all of it.
#[derive(Debug)]
pub(super) struct UpdateWindow {
    length: Duration,
    /// The state of the newest frame that is at least as old as the window, and its time.
    oldest: State,
    oldest_time: Duration,
    /// The frames since, in the order of time. The last one is that of the current state.
    frames: VecDeque<Frame>,
    current: State,
    /// Messages that came too late for the window.
    ignored: u64,
    /// States that were computed again.
    recomputed: u64,
}

#[derive(Debug)]
struct Frame {
    time: Duration,
    messages: Vec<Steer>,
}

impl UpdateWindow {
    /// A window of this length; zero for none, where every message counts in the frame in which it is read.
    pub(super) fn new(length: Duration, state: State) -> UpdateWindow {
        UpdateWindow {
            length,
            oldest: state.clone(),
            oldest_time: Duration::ZERO,
            frames: VecDeque::new(),
            current: state,
            ignored: 0,
            recomputed: 0,
        }
    }

    pub(super) fn current(&self) -> &State {
        &self.current
    }

    /// The time up to which everything is settled.
    pub(super) fn settled(&self) -> Duration {
        self.oldest_time
    }

    pub(super) fn ignored(&self) -> u64 {
        self.ignored
    }

    pub(super) fn recomputed(&self) -> u64 {
        self.recomputed
    }

    /// One frame at this time, with the messages that were read in it and what the server itself decided. `settle` is called with each state that
    /// leaves the window and its time. Returns the characters that changed otherwise than clients expect: those that a message was for, and
    /// those that differ after recomputing.
    pub(super) fn frame(
        &mut self,
        now: Duration,
        read: &[(Duration, Steer)],
        decided: &[Steer],
        field: &Field,
        settle: impl FnMut(&State, Duration),
    ) -> Vec<usize> {
        self.frames.push_back(Frame {
            time: now,
            messages: decided.to_vec(),
        });
        let mut changed: Vec<usize> = Vec::new();
        for (stamp, steer) in read {
            if self.assign(*stamp, *steer) {
                changed.push(steer.character);
            }
        }
        let computed = self.recompute(now, field, settle);
        let both = computed.characters.iter().zip(&self.current.characters);
        changed.extend(
            both.enumerate()
                .filter(|(_, (computed, current))| computed != current)
                .map(|(at, _)| at),
        );
        changed.sort_unstable();
        changed.dedup();
        self.current = computed;
        self.go_on(now, field);
        changed
    }

    /// A message counts in the frame that follows its time stamp. False if it is too old for the window.
    fn assign(&mut self, stamp: Duration, steer: Steer) -> bool {
        let newest = self.frames.len() - 1;
        let at = match self.length.is_zero() {
            true => newest,
            false if stamp <= self.oldest_time => {
                self.ignored += 1;
                return false;
            }
            false => self.frames.partition_point(|frame| frame.time < stamp),
        };
        self.frames[at.min(newest)].messages.push(steer);
        true
    }

    /// The current state computed again from the oldest one. The newest state that is older than the window becomes the oldest.
    fn recompute(
        &mut self,
        now: Duration,
        field: &Field,
        mut settle: impl FnMut(&State, Duration),
    ) -> State {
        let mut state = self.oldest.clone();
        let mut time = self.oldest_time;
        let mut leaving = 0;
        for frame in self.frames.iter().take(self.frames.len() - 1) {
            state.update(&frame.messages, (frame.time - time).as_secs_f32(), field);
            self.recomputed += 1;
            time = frame.time;
            if frame.time + self.length <= now {
                leaving += 1;
                self.oldest = state.clone();
                self.oldest_time = frame.time;
                settle(&state, frame.time);
            }
        }
        self.frames.drain(..leaving);
        state
    }

    /// The new current state.
    fn go_on(&mut self, now: Duration, field: &Field) {
        let newest = self.frames.len() - 1;
        let before = match newest.checked_sub(1) {
            Some(before) => self.frames[before].time,
            None => self.oldest_time,
        };
        let seconds = (now - before).as_secs_f32();
        self.current
            .update(&self.frames[newest].messages, seconds, field);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::field::WALK;
    use super::*;

    const FIELD: &str =
        "####################\n#..................#\n#..................#\n####################\n";

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    /// Walks to the right from 160 ms on, and down from the stamp on; the message is read at 250 ms.
    fn walked(window: u64, stamp: u64) -> (UpdateWindow, Vec<usize>) {
        let field = Field::of(FIELD);
        let mut server = UpdateWindow::new(ms(window), State::at(&[[2.0, 1.5]]));
        let steer = |force| Steer {
            character: 0,
            force,
        };
        let mut changed = Vec::new();
        for frame in 1..=26 {
            let now = ms(10 * frame);
            let read: Vec<(Duration, Steer)> = match frame {
                16 => vec![(now, steer([WALK, 0.0]))],
                25 => vec![(ms(stamp), steer([0.0, WALK]))],
                _ => Vec::new(),
            };
            let these = server.frame(now, &read, &[], &field, |_, _| ());
            changed.extend(these.iter().map(|_| frame as usize));
        }
        (server, changed)
    }

    #[test]
    fn a_late_message_counts_in_the_frame_after_its_stamp() {
        // Between the frames at 190 and 200 ms: as if it had been read at 200.
        let (late, changed) = walked(100, 195);
        assert_eq!(changed, [16, 25]);
        let (same, _) = walked(100, 200);
        assert_eq!(late.current(), same.current());
        let (other, _) = walked(100, 201);
        assert_ne!(late.current(), other.current());
        assert!(late.current().characters[0].body.velocity[1] > 1.5);
    }

    #[test]
    fn without_a_window_it_counts_when_it_is_read() {
        let (late, _) = walked(0, 195);
        let (later, _) = walked(0, 250);
        assert_eq!(late.current(), later.current());
        assert!(late.current().characters[0].body.velocity[1] < 1.0);
        assert_eq!(late.recomputed(), 25);
    }

    #[test]
    fn what_is_older_than_the_window_is_ignored() {
        let (server, changed) = walked(100, 120);
        assert_eq!((server.ignored(), changed), (1, vec![16]));
        assert_eq!(server.current().characters[0].body.velocity[1], 0.0);
    }

    #[test]
    fn every_frame_recomputes_all_frames_of_the_window() {
        let (server, _) = walked(100, 200);
        // About ten frames of 10 ms in each of the last sixteen frames, fewer before.
        assert!(
            (190..260).contains(&server.recomputed()),
            "{}",
            server.recomputed()
        );
    }
}
