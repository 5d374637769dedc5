//! The messages of a switch. A model's own message travels with a few bytes behind it, so that nothing is copied.

use super::PlannedChange;
use crate::bytes::{Bytes, Fixed, MAX_COUNT, MessageField, Prefixed, message_layout, put};
use crate::{PlayerId, Tick};

/// The mark of a model's message; below it are six bits of the epoch.
const MODEL: u8 = 0x80;
/// The mark of one behind which the next change is announced.
const ANNOUNCED: u8 = 0x40;
const EPOCH: u8 = 0x3f;
const CHANGE_BYTES: usize = 9;

/// What another peer sent, read where it lies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Received<'a> {
    /// A model's message, of the epoch with these last bits; and the change that ends that epoch, if one is announced.
    Model {
        epoch_bits: u8,
        change: Option<PlannedChange>,
        bytes: &'a [u8],
    },
    /// A message of the switch itself.
    Switch(Message<'a>),
}

/// A message of the switch itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Message<'a> {
    /// The change that ends an epoch.
    PlannedChange { epoch: u64, change: PlannedChange },
    /// The sender has come to an epoch.
    Passed { epoch: u64 },
    /// An epoch to go on in, in place of the one the receiver is in; and before that, the last message of the model before.
    Handover {
        epoch: u64,
        /// Counts what was handed to anybody: the same may come twice.
        number: u64,
        farewell: Prefixed<'a>,
        checkpoint: &'a [u8],
    },
    /// Where an epoch began the state had this checksum, and of the receiver's players this had taken effect.
    Began {
        epoch: u64,
        checksum: Fixed,
        applied: Numbers,
    },
    /// The sender wants to be handed the epoch that the authority is in.
    RequestState,
    /// Of the receiver's players this has taken effect.
    Applied { epoch: u64, applied: Numbers },
}

/// Players and numbers of what they have said.
pub(super) type Numbers = Vec<(PlayerId, u64)>;

/// Puts behind a model's message of which epoch it is, and the change that ends that.
pub(super) fn mark(bytes: &mut Vec<u8>, epoch: u64, change: Option<PlannedChange>) {
    let mut mark = MODEL | (epoch as u8 & EPOCH);
    if let Some(change) = change {
        bytes.extend_from_slice(&change.tick.0.to_le_bytes());
        bytes.push(change.which as u8);
        mark |= ANNOUNCED;
    }
    bytes.push(mark);
}

/// How many epochs after one those are that end in these bits, or before it.
pub(super) fn epochs_after(epoch: u64, bits: u8) -> i8 {
    let after = bits.wrapping_sub(epoch as u8) & EPOCH;
    match after < 32 {
        true => after as i8,
        false => after as i8 - 64,
    }
}

message_layout! {
    Message {
        0 = PlannedChange { epoch, change };
        1 = Passed { epoch };
        2 = Handover { epoch, number, farewell, checkpoint };
        3 = Began { epoch, checksum, applied };
        4 = RequestState;
        5 = Applied { epoch, applied };
    }
}

impl Message<'_> {
    pub(super) fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let tag = self.write_fields(&mut out);
        out.push(tag);
        out
    }
}

impl<'a> Received<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Option<Received<'a>> {
        let (&mark, rest) = bytes.split_last()?;
        if mark & MODEL != 0 {
            return Self::read_model(mark, rest);
        }
        let mut r = Bytes(rest);
        let message = Message::read_fields(mark, &mut r)?;
        r.0.is_empty().then_some(Self::Switch(message))
    }

    fn read_model(mark: u8, rest: &'a [u8]) -> Option<Received<'a>> {
        let (bytes, change) = match mark & ANNOUNCED != 0 {
            false => (rest, None),
            true => {
                let (bytes, announced) =
                    rest.split_at_checked(rest.len().checked_sub(CHANGE_BYTES)?)?;
                let (tick, which) = announced.split_first_chunk()?;
                let change = PlannedChange {
                    tick: Some(u64::from_le_bytes(*tick))
                        .filter(|tick| *tick < MAX_COUNT)
                        .map(Tick)?,
                    which: usize::from(*which.first()?),
                };
                (bytes, Some(change))
            }
        };
        Some(Self::Model {
            epoch_bits: mark & EPOCH,
            change,
            bytes,
        })
    }
}

/// Everything somebody needs to begin in an epoch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Checkpoint<'a> {
    pub(super) epoch: u64,
    pub(super) which: usize,
    /// The change that ends the epoch, if one is announced.
    pub(super) change: Option<PlannedChange>,
    /// What has taken effect of the receiver's players.
    pub(super) applied: Numbers,
    /// The model's own checkpoint.
    pub(super) model: &'a [u8],
}

impl<'a> Checkpoint<'a> {
    pub(super) fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, self.epoch);
        put(&mut out, self.which as u64);
        match self.change {
            None => put(&mut out, 0),
            Some(change) => {
                put(&mut out, 1);
                change.write(&mut out);
            }
        }
        self.applied.write(&mut out);
        out.extend_from_slice(self.model);
        out
    }

    pub(super) fn read(bytes: &'a [u8]) -> Option<Checkpoint<'a>> {
        let mut r = Bytes(bytes);
        Some(Checkpoint {
            epoch: r.count()?,
            which: usize::try_from(r.number()?).ok()?,
            change: match r.number()? {
                0 => None,
                1 => Some(PlannedChange::read(&mut r)?),
                _ => return None,
            },
            applied: Numbers::read(&mut r)?,
            model: r.rest(),
        })
    }
}

impl MessageField<'_> for PlannedChange {
    fn read(r: &mut Bytes<'_>) -> Option<Self> {
        Some(PlannedChange {
            tick: r.tick()?,
            which: usize::try_from(r.number()?).ok()?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        put(out, self.tick.0);
        put(out, self.which as u64);
    }
}

impl MessageField<'_> for Numbers {
    fn read(r: &mut Bytes<'_>) -> Option<Self> {
        let count = r.number().filter(|count| *count <= 64)?;
        (0..count)
            .map(|_| Some((r.player()?, r.count()?)))
            .collect()
    }

    fn write(&self, out: &mut Vec<u8>) {
        put(out, self.len() as u64);
        for (player, number) in self {
            put(out, player.0.into());
            put(out, *number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGE: PlannedChange = PlannedChange {
        tick: Tick(70_000),
        which: 3,
    };

    #[test]
    fn messages_come_back_as_written() {
        let applied = Numbers::from([(PlayerId(3), 1), (PlayerId(500), 1 << 40)]);
        let messages = [
            Message::PlannedChange {
                epoch: 900,
                change: CHANGE,
            },
            Message::Passed { epoch: 901 },
            Message::Handover {
                epoch: 901,
                number: 300,
                farewell: Prefixed(b"bye"),
                checkpoint: b"state",
            },
            Message::Began {
                epoch: 901,
                checksum: Fixed(u64::MAX),
                applied: applied.clone(),
            },
            Message::RequestState,
            Message::Applied { epoch: 1, applied },
        ];
        for message in messages {
            let bytes = message.write();
            assert_eq!(Received::read(&bytes), Some(Received::Switch(message)));
            for end in 0..bytes.len() {
                let _ = Received::read(&bytes[..end]);
            }
        }
    }

    #[test]
    fn a_models_message_comes_back_with_what_was_put_behind_it() {
        for (epoch_bits, change, bytes) in [(63, None, &b"abc"[..]), (0, Some(CHANGE), b"")] {
            let mut marked = bytes.to_vec();
            mark(&mut marked, u64::from(epoch_bits), change);
            let message = Received::Model {
                epoch_bits,
                change,
                bytes,
            };
            assert_eq!(Received::read(&marked), Some(message));
        }
    }

    #[test]
    fn a_checkpoint_comes_back_as_written() {
        for change in [None, Some(CHANGE)] {
            let checkpoint = Checkpoint {
                epoch: 7,
                which: 2,
                change,
                applied: Numbers::from([(PlayerId(3), 44)]),
                model: b"the rest",
            };
            let bytes = checkpoint.write();
            assert_eq!(Checkpoint::read(&bytes), Some(checkpoint));
            for end in 0..bytes.len() {
                let _ = Checkpoint::read(&bytes[..end]);
            }
        }
    }

    #[test]
    fn epochs_are_told_apart_by_their_last_bits() {
        for epoch in [0u64, 5, 63, 64, 1000] {
            for after in -20..=20i64 {
                let Some(other) = epoch.checked_add_signed(after) else {
                    continue;
                };
                let mut bytes = Vec::new();
                mark(&mut bytes, other, None);
                let Some(Received::Model { epoch_bits, .. }) = Received::read(&bytes) else {
                    panic!("a model's message");
                };
                assert_eq!(i64::from(epochs_after(epoch, epoch_bits)), after);
            }
        }
    }
}
