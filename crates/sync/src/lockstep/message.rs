//! What the peers of a lockstep game say to each other.

mod words;

use core::time::Duration;

pub(super) use crate::bytes::{Bytes, put, put_signed};
use crate::timeline::{Change, Timeline, VoiceId};
use crate::{PeerId, PlayerId, Tick};
pub(super) use words::Words;

/// Ticks a single span may cover.
const MAX_SPAN: u64 = 4096;
/// Changes a single span may hold.
const MAX_CHANGES: u64 = 8192;
/// A span is split where it gets longer than this, so that each goes into a packet.
pub(super) const SPLIT_BYTES: usize = 1000;

/// One message, read where it lies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Message<'a> {
    /// Everything that is done in some ticks, as far as a voice speaks for it.
    Span(Span<'a>),
    /// What the sender's players do, as soon as possible: for the authority that puts it into turns.
    Inputs(Entries<'a>),
    /// How the sender gets on.
    Report(Report),
    /// Check value of the sender's state.
    Check { tick: Tick, checksum: u64 },
    /// Say that again: what a voice said from this tick on.
    Want { voice: VoiceId, from: Tick },
    /// How much the sender knows of a voice that is gone, and all of it that may be missing elsewhere.
    Have { span: Span<'a> },
    /// A voice is gone: what do you know of it?
    Recall(VoiceId),
    /// That voice is not gone: listen to it again.
    Alive(VoiceId),
    /// The voice that is gone said this much, and no more.
    End { span: Span<'a> },
    /// Your state differs: ask this peer for what is right.
    Diverged { tick: Tick, ask: PeerId },
    /// Check values of the parts of the sender's state: what differs there? With none, the whole state is wanted.
    Leaves { tick: Tick, tree: &'a [u8] },
    /// What differs, as it should be.
    Rows {
        tick: Tick,
        checksum: u64,
        rows: &'a [u8],
    },
    /// The sender's state is right again; words about what was wrong.
    Repaired { tick: Tick, words: &'a [u8] },
    /// The whole state, to go on from.
    Checkpoint(&'a [u8]),
    /// The sender's player passes the initiative on.
    EndTurn(PlayerId),
    /// What you said is known up to here; the host went on without you so many times.
    Heard {
        upto: Tick,
        times: u64,
        /// From the host to the farthest other guest.
        beyond: Duration,
    },
    /// You were not heard: of these ticks this counts, and the host went on without you so many times.
    Instead { times: u64, span: Span<'a> },
    /// What others said: the host passes it on.
    Words(Words<'a>),
    /// The sender knows what counts instead of its words.
    Granted { times: u64 },
}

/// What a voice says about the ticks from `from` to `to`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Span<'a> {
    pub voice: VoiceId,
    pub slip: Duration,
    pub from: Tick,
    pub to: Tick,
    /// Whether to go ahead of what is known, if the authority says so.
    pub predicting: bool,
    pub initiative: Option<PlayerId>,
    pub changes: Vec<(Tick, Change)>,
    /// Encoded entries: ticks with inputs, then the inputs of each.
    pub entries: Entries<'a>,
}

/// Inputs, sorted by tick and player, as they lie in a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Entries<'a>(&'a [u8]);

/// How a peer gets on with what another says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Report {
    /// Simulated up to here.
    pub tick: Tick,
    /// Ticks it could have simulated, but has not.
    pub behind: u64,
    /// The least time by which what you said was early (late if negative) in a while, in µs, and the tick it was said for.
    pub slack: Option<(i64, Tick)>,
}

pub(super) fn put_voice(out: &mut Vec<u8>, voice: VoiceId) {
    put(out, voice.peer.0.into());
    put(out, voice.incarnation);
}

impl Bytes<'_> {
    /// Whose words they are.
    pub(super) fn voice(&mut self) -> Option<VoiceId> {
        Some(VoiceId {
            peer: self.peer()?,
            incarnation: self.number()?,
        })
    }
}

impl<'a> Message<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Option<Message<'a>> {
        let (&tag, rest) = bytes.split_first()?;
        let mut r = Bytes(rest);
        let message = match tag {
            0 => Self::Span(Span::read(&mut r)?),
            1 => Self::Inputs(Entries(r.rest())),
            2 => Self::Report(Report {
                tick: r.tick()?,
                behind: r.number()?,
                slack: match r.number()? {
                    0 => None,
                    _ => Some((r.signed()?, r.tick()?)),
                },
            }),
            3 => Self::Check {
                tick: r.tick()?,
                checksum: r.fixed()?,
            },
            4 => Self::Want {
                voice: r.voice()?,
                from: r.tick()?,
            },
            5 => Self::Have {
                span: Span::read(&mut r)?,
            },
            6 => Self::End {
                span: Span::read(&mut r)?,
            },
            7 => Self::Diverged {
                tick: r.tick()?,
                ask: r.peer()?,
            },
            8 => Self::Leaves {
                tick: r.tick()?,
                tree: r.rest(),
            },
            9 => Self::Rows {
                tick: r.tick()?,
                checksum: r.fixed()?,
                rows: r.rest(),
            },
            10 => Self::Repaired {
                tick: r.tick()?,
                words: r.rest(),
            },
            11 => Self::Checkpoint(r.rest()),
            12 => Self::EndTurn(r.player()?),
            13 => Self::Recall(r.voice()?),
            14 => Self::Alive(r.voice()?),
            15 => Self::Heard {
                upto: r.tick()?,
                times: r.number()?,
                beyond: Duration::from_millis(r.number()?.min(10_000)),
            },
            16 => Self::Instead {
                times: r.number()?,
                span: Span::read(&mut r)?,
            },
            17 => Self::Granted { times: r.number()? },
            18 => Self::Words(Words::read(r.rest())?),
            _ => return None,
        };
        r.0.is_empty().then_some(message)
    }

    pub(super) fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write_to(&mut out);
        out
    }

    pub(super) fn write_to(&self, out: &mut Vec<u8>) {
        match self {
            Self::Span(span) => {
                out.push(0);
                span.write(out);
            }
            Self::Inputs(entries) => {
                out.push(1);
                out.extend_from_slice(entries.0);
            }
            Self::Report(report) => {
                out.push(2);
                put(out, report.tick.0);
                put(out, report.behind);
                match report.slack {
                    None => out.push(0),
                    Some((slack, tick)) => {
                        out.push(1);
                        put_signed(out, slack);
                        put(out, tick.0);
                    }
                }
            }
            Self::Check { tick, checksum } => {
                out.push(3);
                put(out, tick.0);
                out.extend_from_slice(&checksum.to_le_bytes());
            }
            Self::Want { voice, from } => {
                out.push(4);
                put_voice(out, *voice);
                put(out, from.0);
            }
            Self::Have { span } => {
                out.push(5);
                span.write(out);
            }
            Self::End { span } => {
                out.push(6);
                span.write(out);
            }
            Self::Diverged { tick, ask } => {
                out.push(7);
                put(out, tick.0);
                put(out, ask.0.into());
            }
            Self::Leaves { tick, tree } => {
                out.push(8);
                put(out, tick.0);
                out.extend_from_slice(tree);
            }
            Self::Rows {
                tick,
                checksum,
                rows,
            } => {
                out.push(9);
                put(out, tick.0);
                out.extend_from_slice(&checksum.to_le_bytes());
                out.extend_from_slice(rows);
            }
            Self::Repaired { tick, words } => {
                out.push(10);
                put(out, tick.0);
                out.extend_from_slice(words);
            }
            Self::Checkpoint(bytes) => {
                out.push(11);
                out.extend_from_slice(bytes);
            }
            Self::EndTurn(player) => {
                out.push(12);
                put(out, player.0.into());
            }
            Self::Heard {
                upto,
                times,
                beyond,
            } => {
                out.push(15);
                put(out, upto.0);
                put(out, *times);
                put(out, beyond.as_millis() as u64);
            }
            Self::Instead { times, span } => {
                out.push(16);
                put(out, *times);
                span.write(out);
            }
            Self::Words(words) => {
                out.push(18);
                out.extend_from_slice(words.0);
            }
            Self::Granted { times } => {
                out.push(17);
                put(out, *times);
            }
            Self::Alive(voice) => {
                out.push(14);
                put_voice(out, *voice);
            }
            Self::Recall(voice) => {
                out.push(13);
                put_voice(out, *voice);
            }
        }
    }
}

impl<'a> Span<'a> {
    pub(super) fn read(r: &mut Bytes<'a>) -> Option<Span<'a>> {
        let voice = r.voice()?;
        let slip = Duration::from_micros(r.number()?.min(1 << 50));
        let from = r.tick()?;
        let ticks = r.number().filter(|ticks| *ticks <= MAX_SPAN)?;
        let word = r.number()?;
        let predicting = word & 1 == 1;
        let initiative = match word >> 1 {
            0 => None,
            player => Some(PlayerId(u16::try_from(player - 1).ok()?)),
        };
        let count = r.number().filter(|count| *count <= MAX_CHANGES)?;
        let mut changes = Vec::new();
        for _ in 0..count {
            let tick = from + r.number().filter(|after| *after <= 2 * MAX_SPAN)?;
            let change = match r.number()? {
                0 => Change::Join(r.player()?),
                1 => Change::Leave(r.player()?),
                2 => {
                    let voice = r.voice()?;
                    let mut players = Vec::new();
                    for _ in 0..r.number().filter(|count| *count <= 64)? {
                        players.push(r.player()?);
                    }
                    Change::Voice(voice, players)
                }
                _ => return None,
            };
            changes.push((tick, change));
        }
        let entries = Entries(r.rest());
        Some(Span {
            voice,
            slip,
            from,
            to: from + ticks,
            predicting,
            initiative,
            changes,
            entries,
        })
    }

    /// About how many bytes this takes.
    pub(super) fn len(&self) -> usize {
        let changes = self.changes.iter().map(|(_, change)| match change {
            Change::Join(_) | Change::Leave(_) => 6,
            Change::Voice(_, players) => 16 + 3 * players.len(),
        });
        24 + changes.sum::<usize>() + self.entries.0.len()
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        put_voice(out, self.voice);
        put(out, self.slip.as_micros() as u64);
        put(out, self.from.0);
        put(out, self.to.since(self.from));
        let initiative = self.initiative.map_or(0, |player| u64::from(player.0) + 1);
        put(out, initiative << 1 | u64::from(self.predicting));
        put(out, self.changes.len() as u64);
        for (tick, change) in &self.changes {
            put(out, tick.since(self.from));
            match change {
                Change::Join(player) => {
                    put(out, 0);
                    put(out, player.0.into());
                }
                Change::Leave(player) => {
                    put(out, 1);
                    put(out, player.0.into());
                }
                Change::Voice(voice, players) => {
                    put(out, 2);
                    put_voice(out, *voice);
                    put(out, players.len() as u64);
                    players.iter().for_each(|player| put(out, player.0.into()));
                }
            }
        }
        out.extend_from_slice(self.entries.0);
    }
}

impl<'a> Entries<'a> {
    /// Calls back with every input: ticks after the first, player, input. Stops with `None` where it is malformed.
    pub(super) fn each(&self, mut tell: impl FnMut(u64, PlayerId, &'a [u8])) -> Option<()> {
        let mut r = Bytes(self.0);
        let mut tick = 0u64;
        while !r.0.is_empty() {
            tick = tick.checked_add(r.number()?)?;
            let (mut player, mut len) = (0u64, 0usize);
            for _ in 0..r.number()? {
                let head = r.number()?;
                player = player.checked_add(head >> 1)?;
                if head & 1 == 1 {
                    len = usize::try_from(r.number()?).ok()?;
                }
                let input = r.take(len)?;
                tell(tick, PlayerId(u16::try_from(player).ok()?), input);
                player += 1;
            }
            tick += 1;
        }
        Some(())
    }

    pub(super) fn encoded(bytes: &'a [u8]) -> Entries<'a> {
        Entries(bytes)
    }
}

/// Writes the inputs of some ticks; `of` says whose. Returns where it stopped because that is long enough.
pub(super) fn write_entries(
    timeline: &Timeline,
    from: Tick,
    to: Tick,
    of: impl Fn(PlayerId) -> bool,
    most: usize,
    out: &mut Vec<u8>,
) -> Tick {
    let mut since = from;
    let mut tick = from;
    while tick < to {
        if out.len() > most || tick.since(from) >= MAX_SPAN {
            return tick;
        }
        if let Some(inputs) = timeline.inputs(tick)
            && !inputs.is_empty()
        {
            let count = inputs.entries().filter(|(player, _)| of(*player)).count();
            if count > 0 {
                put(out, tick.since(since));
                put(out, count as u64);
                write_tick(inputs.entries().filter(|(player, _)| of(*player)), out);
                since = tick.next();
            }
        }
        tick = tick.next();
    }
    to
}

/// Writes the inputs of one tick.
fn write_tick<'a>(entries: impl Iterator<Item = (PlayerId, &'a [u8])>, out: &mut Vec<u8>) {
    let (mut next, mut len) = (0u64, 0);
    for (player, input) in entries {
        let differs = input.len() != len;
        put(
            out,
            ((u64::from(player.0) - next) << 1) | u64::from(differs),
        );
        if differs {
            len = input.len();
            put(out, len as u64);
        }
        out.extend_from_slice(input);
        next = u64::from(player.0) + 1;
    }
}

/// Writes inputs that have no ticks yet: one after the other for each player.
pub(super) fn write_inputs(pending: &[(PlayerId, Vec<Vec<u8>>)], out: &mut Vec<u8>) {
    let most = pending.iter().map(|(_, inputs)| inputs.len()).max();
    for at in 0..most.unwrap_or(0) {
        let of_tick = || {
            pending
                .iter()
                .filter_map(move |(player, inputs)| Some((*player, inputs.get(at)?.as_slice())))
        };
        put(out, 0);
        put(out, of_tick().count() as u64);
        write_tick(of_tick(), out);
    }
}

#[cfg(test)]
mod tests;
