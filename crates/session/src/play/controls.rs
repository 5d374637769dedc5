//! Controls that wait for the tick that samples them.

use core::time::Duration;
use std::collections::BTreeMap;

use samestep_sync::{Input, PlayerId};
use samestep_wire::decode_exact;

/// The latest controls of each player of this program, encoded, until a tick takes them.
#[derive(Default)]
pub(super) struct Controls {
    waiting: BTreeMap<PlayerId, Vec<u8>>,
    /// The time of the tick that took controls last: a tick takes them once, also while it cannot be made.
    taken_for: Option<Duration>,
}

/// Controls of a player, with those before that no tick has sampled yet.
#[derive(PartialEq, Debug)]
pub(super) struct Merged<I> {
    /// What could not be merged and would be lost: it needs a tick of its own, before the others.
    pub separate: Option<I>,
    pub controls: I,
}

impl Controls {
    /// Merges newer controls of a player with those that wait: what was pressed since the last tick stays pressed.
    pub(super) fn merge<I: Input>(&self, player: PlayerId, newer: &I) -> Merged<I> {
        let waiting = self.waiting.get(&player);
        let older = waiting.and_then(|bytes| decode_exact::<I>(bytes).ok());
        let mut controls = newer.clone();
        let mut separate = None;
        if let Some(older) = older.filter(|older| older != newer)
            && !controls.merge(&older)
        {
            controls = newer.clone();
            // The newer controls take the place of those that are only held.
            separate = Some(older).filter(|older| older.predict() != *older);
        }
        Merged { separate, controls }
    }

    /// The controls that a player's next tick takes; `None` if it takes what is predicted anyway.
    pub(super) fn set(&mut self, player: PlayerId, controls: Option<&[u8]>) {
        match controls {
            Some(bytes) => self.waiting.insert(player, bytes.to_vec()),
            None => self.waiting.remove(&player),
        };
    }

    /// Takes the controls of all players if the tick that takes inputs at `takes_input_at` (or whenever they come) is due and has none yet.
    pub(super) fn take_due(
        &mut self,
        takes_input_at: Option<Duration>,
        time: Duration,
    ) -> BTreeMap<PlayerId, Vec<u8>> {
        match takes_input_at {
            Some(at) if at > time || self.taken_for == Some(at) => BTreeMap::new(),
            _ => {
                self.taken_for = takes_input_at;
                core::mem::take(&mut self.waiting)
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use samestep_sync::Wire;
    use samestep_wire::encode_to_vec;

    use super::*;

    #[derive(Clone, Copy, Default, PartialEq, Debug, Wire)]
    struct Pad {
        left: bool,
        fire: bool,
    }

    impl Input for Pad {
        fn predict(&self) -> Self {
            Pad {
                fire: false,
                ..*self
            }
        }

        fn merge(&mut self, late: &Self) -> bool {
            self.fire |= late.fire;
            true
        }
    }

    /// The same without a way to merge.
    #[derive(Clone, Copy, Default, PartialEq, Debug, Wire)]
    struct Key(u8);

    impl Input for Key {
        fn predict(&self) -> Self {
            Key(self.0.min(9))
        }
    }

    const ME: PlayerId = PlayerId(3);
    const AT: Option<Duration> = Some(Duration::from_millis(16));

    fn waiting<I: Input>(controls: I) -> Controls {
        let mut waiting = Controls::default();
        waiting.set(ME, Some(&encode_to_vec(&controls).unwrap()));
        waiting
    }

    #[test]
    fn the_latest_win_and_what_was_pressed_stays_pressed() {
        let pressed = Pad {
            left: true,
            fire: true,
        };
        let merged = waiting(pressed).merge(ME, &Pad::default());
        let controls = Pad {
            left: false,
            fire: true,
        };
        let separate = None;
        assert_eq!(merged, Merged { separate, controls });
    }

    #[test]
    fn what_cannot_be_merged_gets_a_tick_of_its_own_unless_it_is_only_held() {
        let edge = waiting(Key(20)).merge(ME, &Key(1));
        assert_eq!((edge.separate, edge.controls), (Some(Key(20)), Key(1)));
        let held = waiting(Key(2)).merge(ME, &Key(1));
        assert_eq!((held.separate, held.controls), (None, Key(1)));
        let same = waiting(Key(20)).merge(ME, &Key(20));
        assert_eq!(same.separate, None);
    }

    #[test]
    fn a_tick_takes_them_once_and_not_before_its_time() {
        let mut controls = waiting(Key(1));
        assert!(controls.take_due(AT, Duration::from_millis(15)).is_empty());
        assert_eq!(controls.take_due(AT, Duration::from_millis(16)).len(), 1);
        controls.set(ME, Some(&[2]));
        assert!(controls.take_due(AT, Duration::from_millis(20)).is_empty());
        let next = Some(Duration::from_millis(32));
        assert_eq!(controls.take_due(next, Duration::from_millis(33)).len(), 1);
        controls.set(ME, Some(&[2]));
        assert_eq!(controls.take_due(None, Duration::ZERO).len(), 1);
    }
}
