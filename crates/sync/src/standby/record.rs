//! The records that an authority writes: what it takes to go on beside the world, a state now and then, and the log of its world.

use core::time::Duration;
use std::collections::VecDeque;

use crate::bytes::{Bytes, MessageField, Prefixed, put};
use crate::input::Attendance;
use crate::{PeerId, PlayerId, Tick};

/// Layout of a record.
const LAYOUT: u8 = 1;
/// Players and peers, at most.
const MAX_MEMBERS: u64 = 65_536;
/// Inputs of a client that are in the state though earlier ones are not, at most.
const MAX_BEYOND: u64 = 4096;

/// What it takes to go on as the authority, beside the world: its tick and schedule, who takes part, and which inputs of whom are in the state.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Handover {
    pub(crate) tick: Tick,
    /// When the game began; `None` if it has not.
    pub(crate) start: Option<Duration>,
    pub(crate) schedule_offset: Duration,
    pub(crate) attendance: Attendance,
    pub(crate) accepted: Vec<AcceptedInputs>,
    /// The inputs of the last ticks before this one, as far as they were followed. They are not part of a record.
    pub(crate) recent: VecDeque<RecentInput>,
}

/// An input, and the tick that it is in.
pub(crate) type RecentInput = (Tick, PlayerId, Vec<u8>);

impl Handover {
    /// The tick that is simulated next.
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// When the game began, by the common clock; `None` if it has not.
    pub fn start(&self) -> Option<Duration> {
        self.start
    }

    /// Which inputs of each client are in the state.
    pub fn accepted(&self) -> &[AcceptedInputs] {
        &self.accepted
    }
}

/// Which inputs of a client are in a state: the client gives the others again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AcceptedInputs {
    /// The client.
    pub peer: PeerId,
    /// Counts the states that it was given to begin with; its inputs are numbered from each of them on.
    pub epoch: u8,
    /// All inputs before this number are in the state.
    pub before: u64,
    /// So are these, which are later ones, in ascending order.
    pub beyond: Vec<u64>,
}

impl AcceptedInputs {
    /// Whether an input is in the state.
    pub fn contains(&self, number: u64) -> bool {
        number < self.before || self.beyond.contains(&number)
    }

    /// Writes all but the peer.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.push(self.epoch);
        put(out, self.before);
        put(out, self.beyond.len() as u64);
        let mut last = self.before;
        for number in &self.beyond {
            put(out, number - last);
            last = *number;
        }
    }

    pub(crate) fn read(peer: PeerId, r: &mut Bytes<'_>) -> Option<AcceptedInputs> {
        let (epoch, before) = (r.byte()?, r.count()?);
        let (mut beyond, mut last) = (Vec::new(), before);
        for _ in 0..r.number().filter(|count| *count <= MAX_BEYOND)? {
            last = last.checked_add(r.number().filter(|more| *more <= MAX_BEYOND)?)?;
            beyond.push(last);
        }
        let is_near = last - before <= MAX_BEYOND;
        is_near.then_some(AcceptedInputs {
            peer,
            epoch,
            before,
            beyond,
        })
    }
}

/// A record, read where it lies.
#[derive(Debug)]
pub(super) struct Record<'a> {
    pub handover: Handover,
    /// The tick of a state, and the state as it was [kept](crate::World::keep).
    pub state: Option<(Tick, &'a [u8])>,
    pub log: &'a [u8],
}

/// Writes a record: with a state, if there is one at the handover's tick, else with a log that leads there.
pub(crate) fn write_record(handover: &Handover, state: Option<&[u8]>, log: &[u8]) -> Vec<u8> {
    let mut out = vec![LAYOUT, u8::from(state.is_some())];
    put(&mut out, handover.tick.0);
    let start = handover
        .start
        .map_or(0, |start| start.as_micros() as u64 + 1);
    put(&mut out, start);
    put(&mut out, handover.schedule_offset.as_micros() as u64);
    put(&mut out, handover.attendance.players.len() as u64);
    for player in &handover.attendance.players {
        put(&mut out, player.0.into());
    }
    put(&mut out, handover.attendance.away.len() as u64);
    for (player, since) in &handover.attendance.away {
        put(&mut out, player.0.into());
        put(&mut out, since.0);
    }
    put(&mut out, handover.accepted.len() as u64);
    for accepted in &handover.accepted {
        put(&mut out, accepted.peer.0.into());
        accepted.write(&mut out);
    }
    if let Some(state) = state {
        Prefixed(state).write(&mut out);
    }
    out.extend_from_slice(log);
    out
}

impl<'a> Record<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Option<Record<'a>> {
        let mut r = Bytes(bytes);
        let layout = r.byte()?;
        let has_state = r.byte().filter(|flag| *flag <= 1)? == 1;
        if layout != LAYOUT {
            return None;
        }
        let tick = r.tick()?;
        let start = r.time()?.checked_sub(Duration::from_micros(1));
        let schedule_offset = r.time()?;
        let mut attendance = Attendance::default();
        for _ in 0..members(&mut r)? {
            let player: PlayerId = r.player()?;
            if attendance
                .players
                .last()
                .is_some_and(|last| *last >= player)
            {
                return None;
            }
            attendance.players.push(player);
        }
        for _ in 0..members(&mut r)? {
            let (player, since) = (r.player()?, r.tick()?);
            if attendance.away.last().is_some_and(|last| last.0 >= player) {
                return None;
            }
            attendance.away.push((player, since));
        }
        let mut accepted = Vec::new();
        for _ in 0..members(&mut r)? {
            let peer = r.peer()?;
            accepted.push(AcceptedInputs::read(peer, &mut r)?);
        }
        let state = match has_state {
            true => Some((tick, Prefixed::read(&mut r)?.0)),
            false => None,
        };
        let log = r.rest();
        // A state is that of the record's own tick, so nothing leads on from it.
        if has_state && !log.is_empty() {
            return None;
        }
        Some(Record {
            handover: Handover {
                tick,
                start,
                schedule_offset,
                attendance,
                accepted,
                recent: VecDeque::new(),
            },
            state,
            log,
        })
    }
}

fn members(r: &mut Bytes<'_>) -> Option<u64> {
    r.number().filter(|count| *count <= MAX_MEMBERS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Handover {
        Handover {
            tick: Tick(900),
            start: Some(Duration::from_micros(1_200_000)),
            schedule_offset: Duration::from_micros(77),
            attendance: Attendance {
                players: vec![PlayerId(0), PlayerId(3)],
                away: vec![(PlayerId(1), Tick(850))],
            },
            accepted: vec![AcceptedInputs {
                peer: PeerId(4),
                epoch: 2,
                before: 31,
                beyond: vec![33, 34],
            }],
            recent: VecDeque::new(),
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let handover = example();
        let bytes = write_record(&handover, Some(b"state"), &[]);
        let record = Record::read(&bytes).unwrap();
        assert_eq!(record.handover, handover);
        assert_eq!(record.state, Some((Tick(900), &b"state"[..])));
        let bytes = write_record(&handover, None, b"log");
        let record = Record::read(&bytes).unwrap();
        assert_eq!((record.state, record.log), (None, &b"log"[..]));
    }

    #[test]
    fn what_is_cut_off_or_out_of_order_is_refused() {
        let bytes = write_record(&example(), Some(b"state"), &[]);
        for len in 0..bytes.len() {
            assert!(Record::read(&bytes[..len]).is_none(), "{len}");
        }
        let mut handover = example();
        handover.attendance.players.reverse();
        assert!(Record::read(&write_record(&handover, None, &[])).is_none());
        let mut handover = example();
        handover.accepted[0].beyond = vec![31 + MAX_BEYOND + 1];
        assert!(Record::read(&write_record(&handover, None, &[])).is_none());
    }
}
