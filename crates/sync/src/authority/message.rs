//! The messages between an authority and its clients.

use core::time::Duration;

use crate::bytes::{Bytes, MAX_COUNT, MessageField, message_layout, put, put_signed};
use crate::{InputKind, PlayerId, Tick, ViewTime};

/// Inputs in one message at most, and how many a client puts into one.
const MAX_ENTRIES: u64 = 256;
pub(super) const ENTRIES_AT_ONCE: usize = 64;
/// The longest input.
const MAX_INPUT: u64 = 4096;
/// Ticks of events in one message at most.
const MAX_EVENT_TICKS: u64 = 4096;

/// One message, read where it lies.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Message<'a> {
    /// A snapshot's first part with events and acknowledgements, from the authority.
    Update(Update<'a>),
    /// A further packet part of the snapshot, from the authority, of this epoch.
    Part(u8, &'a [u8]),
    /// Inputs and acknowledgements, from a client.
    Inputs(InputMessage<'a>),
    /// The whole state that a client may see, to begin with.
    State(&'a [u8]),
}

/// What the authority sends with each snapshot.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Update<'a> {
    /// Counts how often the recipient was given a state to begin with.
    pub epoch: u8,
    /// The state is that at this tick.
    pub tick: Tick,
    /// How far the schedule has moved.
    pub schedule_offset: Duration,
    /// Inputs before this number have been received.
    pub acknowledged: u64,
    /// Whether the client is beyond lag compensation: its shots are judged by the present state.
    pub beyond_compensation: bool,
    /// The minimum time by which inputs for this tick were early (late if negative), in µs.
    pub slack: Option<(Tick, i64)>,
    /// From an authority with an update window.
    pub rewind: Option<RewindReport<'a>>,
    /// Events that the client has not acknowledged.
    pub events: EventBatch<'a>,
    /// The first part of the state.
    pub part: &'a [u8],
}

/// What an authority with an update window tells beside the state.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct RewindReport<'a> {
    /// For how many ticks inputs are accepted.
    pub window: u16,
    /// The numbers of inputs that came after their tick had left the window, in ascending order. They stand here for a while.
    pub refused: Vec<u64>,
    /// The number of the first early event below.
    pub first: u64,
    /// Events confirmed before their ticks are final, as far as the client has not acknowledged them.
    pub early: Vec<EarlyEvent<'a>>,
}

/// An event that is confirmed before its tick is final.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct EarlyEvent<'a> {
    pub tick: Tick,
    pub bytes: &'a [u8],
}

/// Events of the ticks from `since` to `upto`.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct EventBatch<'a> {
    pub since: Tick,
    pub upto: Tick,
    pub entries: Vec<TickEvents<'a>>,
}

/// The events of one tick.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct TickEvents<'a> {
    pub tick: Tick,
    pub count: usize,
    pub bytes: &'a [u8],
}

/// What a client sends.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct InputMessage<'a> {
    /// The epoch of the state it began with.
    pub epoch: u8,
    /// The tick of its newest inputs.
    pub tick: Tick,
    /// The newest part of the stream it has decoded, and which before that.
    pub parts: Option<(u32, u128)>,
    /// Events before this tick have been received.
    pub events: Tick,
    /// Early events before this number have been received.
    pub early: u64,
    /// The number of the first input.
    pub first: u64,
    pub entries: Vec<InputEntry<'a>>,
}

/// A player's input for a tick.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct InputEntry<'a> {
    pub player: PlayerId,
    pub tick: Tick,
    pub view_time: Option<ViewTime>,
    pub kind: InputKind,
    pub input: &'a [u8],
}

impl InputMessage<'_> {
    /// The tick before which all inputs of its sender are known with this message. A full one may leave some out.
    pub(super) fn reaches(&self) -> Tick {
        match self.entries.last() {
            Some(last) if self.entries.len() >= ENTRIES_AT_ONCE => last.tick,
            _ => self.tick.next(),
        }
    }
}

message_layout! {
    Message {
        0 = Update(update);
        1 = Part(epoch, part);
        2 = Inputs(inputs);
        3 = State(state);
    }
}

impl<'a> Message<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Option<Message<'a>> {
        let (&tag, rest) = bytes.split_first()?;
        Self::read_fields(tag, &mut Bytes(rest))
    }

    pub(super) fn write_to(&self, out: &mut Vec<u8>) {
        let at = out.len();
        out.push(0);
        out[at] = self.write_fields(out);
    }
}

impl<'a> MessageField<'a> for Update<'a> {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(self.epoch);
        put(out, self.tick.0);
        put(out, self.schedule_offset.as_micros() as u64);
        put(out, self.acknowledged);
        out.push(
            u8::from(self.beyond_compensation)
                | u8::from(self.slack.is_some()) << 1
                | u8::from(self.rewind.is_some()) << 2,
        );
        if let Some((tick, us)) = self.slack {
            put_signed(out, tick.0 as i64 - self.tick.0 as i64);
            put_signed(out, us);
        }
        if let Some(rewind) = &self.rewind {
            rewind.write(self, out);
        }
        self.events.write(self.tick, out);
        out.extend_from_slice(self.part);
    }

    fn read(r: &mut Bytes<'a>) -> Option<Self> {
        let (epoch, tick) = (r.byte()?, r.tick()?);
        let schedule_offset = r.time()?;
        let acknowledged = r.count()?;
        let flags = r.number().filter(|flags| *flags < 8)?;
        let slack = match flags & 2 != 0 {
            true => Some((near(tick, r.signed()?)?, r.slack_us()?)),
            false => None,
        };
        let rewind = match flags & 4 != 0 {
            true => Some(RewindReport::read(tick, acknowledged, r)?),
            false => None,
        };
        Some(Self {
            epoch,
            tick,
            schedule_offset,
            acknowledged,
            beyond_compensation: flags & 1 != 0,
            slack,
            rewind,
            events: EventBatch::read(tick, r)?,
            part: r.rest(),
        })
    }
}

impl<'a> RewindReport<'a> {
    fn write(&self, update: &Update<'_>, out: &mut Vec<u8>) {
        put(out, self.window.into());
        put(out, self.refused.len() as u64);
        for number in &self.refused {
            put(out, update.acknowledged.saturating_sub(*number));
        }
        put(out, self.first);
        put(out, self.early.len() as u64);
        for event in &self.early {
            put(out, update.tick.since(event.tick));
            put(out, event.bytes.len() as u64);
            out.extend_from_slice(event.bytes);
        }
    }

    fn read(tick: Tick, acknowledged: u64, r: &mut Bytes<'a>) -> Option<Self> {
        let window = u16::try_from(r.number()?).ok()?;
        let mut refused = Vec::new();
        for _ in 0..r.number().filter(|count| *count <= MAX_ENTRIES)? {
            refused.push(acknowledged.checked_sub(r.number()?)?);
        }
        let first = r.count()?;
        let mut early = Vec::new();
        for _ in 0..r.number().filter(|count| *count <= MAX_ENTRIES)? {
            let tick = Tick(tick.0.checked_sub(r.number()?)?);
            let len = usize::try_from(r.number()?).ok()?;
            let bytes = r.take(len)?;
            early.push(EarlyEvent { tick, bytes });
        }
        Some(Self {
            window,
            refused,
            first,
            early,
        })
    }
}

impl<'a> EventBatch<'a> {
    fn write(&self, tick: Tick, out: &mut Vec<u8>) {
        put(out, tick.since(self.upto));
        put(out, self.upto.since(self.since));
        put(out, self.entries.len() as u64);
        let mut last = self.since;
        for tick_events in &self.entries {
            put(out, tick_events.tick.since(last));
            put(out, tick_events.count as u64);
            put(out, tick_events.bytes.len() as u64);
            out.extend_from_slice(tick_events.bytes);
            last = tick_events.tick;
        }
    }

    fn read(tick: Tick, r: &mut Bytes<'a>) -> Option<Self> {
        let upto = Tick(tick.0.checked_sub(r.number()?)?);
        let since = Tick(upto.0.checked_sub(r.number()?)?);
        let mut entries = Vec::new();
        let mut last = since;
        for _ in 0..r.number().filter(|count| *count <= MAX_EVENT_TICKS)? {
            let tick = last + r.count()?;
            let count = usize::try_from(r.number()?).ok()?;
            let len = usize::try_from(r.number()?).ok()?;
            let bytes = r.take(len)?;
            // Events may take no bytes, but not for ever.
            if tick >= upto || count > MAX_EVENT_TICKS as usize {
                return None;
            }
            entries.push(TickEvents { tick, count, bytes });
            last = tick;
        }
        Some(Self {
            since,
            upto,
            entries,
        })
    }
}

impl<'a> MessageField<'a> for InputMessage<'a> {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(self.epoch);
        put(out, self.tick.0);
        match self.parts {
            None => put(out, 0),
            Some((latest, before)) => {
                put(out, u64::from(latest) + 1);
                // Mostly all of them: the number of bytes, and of those what is missing.
                let missing = !before;
                let bytes = 16 - missing.leading_zeros() as usize / 8;
                put(out, bytes as u64);
                out.extend_from_slice(&missing.to_le_bytes()[..bytes]);
            }
        }
        put(out, self.events.0);
        put(out, self.first);
        put(out, self.entries.len() as u64);
        for entry in &self.entries {
            put(out, entry.player.0.into());
            put_signed(out, entry.tick.0 as i64 - self.tick.0 as i64);
            let is_command = u64::from(entry.kind == InputKind::Command);
            let has_view_time = u64::from(entry.view_time.is_some());
            put(
                out,
                (entry.input.len() as u64) << 2 | is_command << 1 | has_view_time,
            );
            if let Some(view_time) = entry.view_time {
                put_signed(out, entry.tick.0 as i64 - view_time.before.0 as i64);
                put(out, view_time.after.since(view_time.before));
                put(out, view_time.fraction.into());
            }
            out.extend_from_slice(entry.input);
        }
        if self.early > 0 {
            put(out, self.early);
        }
    }

    fn read(r: &mut Bytes<'a>) -> Option<Self> {
        let (epoch, tick) = (r.byte()?, r.tick()?);
        let parts = match r.number()? {
            0 => None,
            latest => {
                let latest = u32::try_from(latest - 1).ok()?;
                let bytes = r.number().filter(|bytes| *bytes <= 16)? as usize;
                let mut missing = [0; 16];
                missing[..bytes].copy_from_slice(r.take(bytes)?);
                Some((latest, !u128::from_le_bytes(missing)))
            }
        };
        let (events, first) = (r.tick()?, r.count()?);
        let mut entries = Vec::new();
        for _ in 0..r.number().filter(|count| *count <= MAX_ENTRIES)? {
            let player = r.player()?;
            let tick = near(tick, r.signed()?)?;
            let head = r.number()?;
            let len = Some(head >> 2).filter(|len| *len <= MAX_INPUT)?;
            let kind = match head & 2 != 0 {
                true => InputKind::Command,
                false => InputKind::Controls,
            };
            let view_time = match head & 1 != 0 {
                true => {
                    let before = near(tick, r.signed()?.checked_neg()?)?;
                    let after = before + r.count()?;
                    let part = u16::try_from(r.number()?).ok()?;
                    Some(ViewTime {
                        before,
                        after,
                        fraction: part,
                    })
                }
                false => None,
            };
            entries.push(InputEntry {
                player,
                tick,
                view_time,
                kind,
                input: r.take(len as usize)?,
            });
        }
        let early = match r.0.is_empty() {
            true => 0,
            false => r.count()?,
        };
        Some(Self {
            epoch,
            tick,
            parts,
            events,
            early,
            first,
            entries,
        })
    }
}

/// A tick so many ticks later or earlier.
fn near(tick: Tick, by: i64) -> Option<Tick> {
    let near = i64::try_from(tick.0).ok()?.checked_add(by)?;
    let near = u64::try_from(near).ok().filter(|near| *near < MAX_COUNT);
    near.map(Tick)
}

#[cfg(test)]
mod tests {

    use super::*;

    fn write(message: &Message<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        message.write_to(&mut out);
        out
    }

    fn examples() -> [Vec<u8>; 5] {
        let update = Message::Update(Update {
            epoch: 1,
            schedule_offset: Duration::from_micros(77),
            tick: Tick(900),
            acknowledged: 33,
            beyond_compensation: true,
            slack: Some((Tick(903), -4_000)),
            rewind: None,
            events: EventBatch {
                since: Tick(880),
                upto: Tick(899),
                entries: vec![TickEvents {
                    tick: Tick(881),
                    count: 2,
                    bytes: b"ab",
                }],
            },
            part: b"part",
        });
        let inputs = Message::Inputs(InputMessage {
            epoch: 1,
            tick: Tick(905),
            parts: Some((70, !0b101)),
            events: Tick(880),
            early: 13,
            first: 31,
            entries: vec![InputEntry {
                player: PlayerId(3),
                tick: Tick(904),
                view_time: Some(ViewTime {
                    before: Tick(891),
                    after: Tick(894),
                    fraction: 50_000,
                }),
                kind: InputKind::Controls,
                input: b"left",
            }],
        });
        let Message::Update(rewound) = update.clone() else {
            unreachable!("it was just made");
        };
        let rewound = Message::Update(Update {
            rewind: Some(RewindReport {
                window: 6,
                refused: vec![29, 31],
                first: 12,
                early: vec![EarlyEvent {
                    tick: Tick(897),
                    bytes: b"cd",
                }],
            }),
            ..rewound
        });
        let [part, state] = [Message::Part(1, b"x"), Message::State(b"state")];
        [update, rewound, inputs, part, state].map(|message| {
            let bytes = write(&message);
            assert_eq!(Message::read(&bytes), Some(message));
            bytes
        })
    }

    #[test]
    fn messages_are_read_as_they_were_written() {
        for bytes in examples() {
            assert!(bytes.len() < 40, "{} bytes", bytes.len());
        }
    }

    #[test]
    fn damaged_messages_are_refused_or_others() {
        for bytes in examples() {
            for cut in 0..bytes.len() {
                let _ = Message::read(&bytes[..cut]);
            }
            for at in 0..bytes.len() {
                for flip in [1u8, 0x80, 0xff] {
                    let mut damaged = bytes.clone();
                    damaged[at] ^= flip;
                    let _ = Message::read(&damaged);
                }
            }
        }
        assert_eq!(Message::read(&[]), None);
        assert_eq!(Message::read(&[9, 0]), None);
    }
}
