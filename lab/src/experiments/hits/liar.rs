//! A cheating client: state synchronisation whose outgoing messages claim hits or other view times.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use samestep_catalog::sublockus::{Ability, Place, SublockusEvent};
use samestep_session::PlayerId;
use samestep_sync::{Delivery, Model, ModelWrapper, Outgoing, StateSync, Tick, ViewTime};

/// The claims of a client, by player and encoded input.
pub(super) type Claims = Rc<RefCell<BTreeMap<(PlayerId, Vec<u8>), Claim>>>;

/// A false claim about a shot.
#[derive(Clone, Copy, Debug)]
pub(super) enum Claim {
    /// The shot has hit this player: the client sends the event as the authority would.
    Hit(PlayerId),
    /// Its player saw the others as they were at this tick.
    Seen(Tick),
}

/// The model of an honest client, whose messages are forged before they are sent.
pub(super) struct Liar {
    honest: StateSync,
    claims: Claims,
    forged: VecDeque<Outgoing>,
}

impl Liar {
    pub(super) fn new(honest: StateSync, claims: Claims) -> Liar {
        Liar {
            honest,
            claims,
            forged: VecDeque::new(),
        }
    }

    /// Changes the view times of shots in a message of inputs, and queues messages that claim hits.
    fn forge(&mut self, message: &mut Outgoing) {
        let claims = self.claims.borrow();
        let Some(inputs) = InputMessage::read(&message.bytes).filter(|_| !claims.is_empty()) else {
            return;
        };
        let mut out = inputs.head.to_vec();
        for entry in &inputs.entries {
            let claim = claims.get(&(entry.player, entry.input.to_vec()));
            let mut view_time = entry.view_time;
            match claim {
                Some(Claim::Seen(tick)) => {
                    view_time = Some(ViewTime {
                        before: *tick,
                        after: *tick,
                        fraction: 0,
                    });
                }
                Some(Claim::Hit(victim)) => self.forged.push_back(Outgoing {
                    to: message.to.clone(),
                    delivery: Delivery::ReliableOrdered,
                    bytes: hit_message(inputs.tick, entry.player, *victim),
                }),
                None => {}
            }
            entry.write(inputs.tick, view_time, &mut out);
        }
        message.bytes = out;
    }
}

/// An update as the authority sends it, with the event that a bolt has hit.
fn hit_message(tick: Tick, by: PlayerId, victim: PlayerId) -> Vec<u8> {
    let hit = SublockusEvent::Hit {
        victim,
        by: Some(by),
        ability: Some(Ability::Bolt),
        damage: 38,
        place: Place::default(),
    };
    let hit = samestep_wire::encode_to_vec(&hit).unwrap_or_default();
    let mut out = vec![0, 1];
    put(&mut out, tick.0);
    // No schedule offset, no acknowledgement, no judgement and no slack; the events of one tick follow.
    out.extend([0, 0, 0]);
    put(&mut out, 2);
    put(&mut out, 1);
    put(&mut out, 1);
    put(&mut out, 1);
    put(&mut out, 1);
    put(&mut out, hit.len() as u64);
    out.extend(hit);
    out
}

/// The message in which a client sends its inputs, as sync's `authority/message.rs` writes it.
struct InputMessage<'a> {
    /// Everything before the inputs.
    head: &'a [u8],
    tick: Tick,
    entries: Vec<InputEntry<'a>>,
}

/// The input of a player for a tick.
struct InputEntry<'a> {
    player: PlayerId,
    tick: Tick,
    view_time: Option<ViewTime>,
    is_command: bool,
    input: &'a [u8],
}

/// The tag of messages with inputs.
const INPUTS: u8 = 2;

impl<'a> InputMessage<'a> {
    fn read(message: &'a [u8]) -> Option<InputMessage<'a>> {
        let mut rest = message.strip_prefix(&[INPUTS])?.get(1..)?;
        let r = &mut rest;
        let tick = Tick(number(r)?);
        if number(r)? > 0 {
            let bytes = number(r)? as usize;
            *r = r.get(bytes..)?;
        }
        let (_, _, count) = (number(r)?, number(r)?, number(r)?);
        let head = &message[..message.len() - r.len()];
        let mut entries = Vec::new();
        for _ in 0..count {
            let player = PlayerId(number(r)? as u16);
            let of = Tick((tick.0 as i64 + signed(r)?) as u64);
            let start = number(r)?;
            let view_time = match start & 1 == 1 {
                true => {
                    let before = Tick((of.0 as i64 - signed(r)?) as u64);
                    let (after, part) = (Tick(before.0 + number(r)?), number(r)? as u16);
                    Some(ViewTime {
                        before,
                        after,
                        fraction: part,
                    })
                }
                false => None,
            };
            let (input, more) = r.split_at_checked((start >> 2) as usize)?;
            *r = more;
            entries.push(InputEntry {
                player,
                tick: of,
                view_time,
                is_command: start & 2 != 0,
                input,
            });
        }
        Some(InputMessage {
            head,
            tick,
            entries,
        })
    }
}

impl InputEntry<'_> {
    fn write(&self, newest: Tick, view_time: Option<ViewTime>, out: &mut Vec<u8>) {
        put(out, self.player.0.into());
        put_signed(out, self.tick.0 as i64 - newest.0 as i64);
        let length = (self.input.len() as u64) << 2 | u64::from(self.is_command) << 1;
        put(out, length | u64::from(view_time.is_some()));
        if let Some(view_time) = view_time {
            put_signed(out, self.tick.0 as i64 - view_time.before.0 as i64);
            put(out, view_time.after.since(view_time.before));
            put(out, view_time.fraction.into());
        }
        out.extend_from_slice(self.input);
    }
}

fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn signed(bytes: &mut &[u8]) -> Option<i64> {
    let value = number(bytes)?;
    Some((value >> 1) as i64 ^ -((value & 1) as i64))
}

fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn put_signed(out: &mut Vec<u8>, value: i64) {
    put(out, ((value << 1) ^ (value >> 63)) as u64);
}

impl ModelWrapper for Liar {
    type Inner = StateSync;

    fn inner(&self) -> &StateSync {
        &self.honest
    }

    fn inner_mut(&mut self) -> &mut StateSync {
        &mut self.honest
    }

    fn next_message(&mut self) -> Option<Outgoing> {
        if let Some(forged) = self.forged.pop_front() {
            return Some(forged);
        }
        let mut message = self.honest.poll_message()?;
        self.forge(&mut message);
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_inputs_survives_reading_and_writing() {
        let (newest, tick) = (Tick(1000), Tick(1003));
        let mut message = vec![INPUTS, 7];
        put(&mut message, newest.0);
        put(&mut message, 90);
        put(&mut message, 2);
        message.extend([1, 2]);
        for value in [998, 40, 2] {
            put(&mut message, value);
        }
        let view_time = Some(ViewTime {
            before: Tick(990),
            after: Tick(993),
            fraction: 400,
        });
        let inputs: [(&[u8], Option<ViewTime>); 2] = [(&[5, 6, 7, 8], view_time), (&[9], None)];
        for (input, view_time) in inputs {
            let entry = InputEntry {
                player: PlayerId(3),
                tick,
                view_time,
                is_command: view_time.is_none(),
                input,
            };
            entry.write(newest, view_time, &mut message);
        }
        let read = InputMessage::read(&message).unwrap();
        assert_eq!((read.tick, read.entries.len()), (newest, 2));
        assert_eq!(read.entries[0].view_time, view_time);
        let mut again = read.head.to_vec();
        for entry in &read.entries {
            entry.write(read.tick, entry.view_time, &mut again);
        }
        assert_eq!(again, message);
        assert!(InputMessage::read(&[1, 2, 3]).is_none());
    }
}
