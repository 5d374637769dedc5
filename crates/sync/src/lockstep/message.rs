//! The messages of lockstep and rollback: section 10 of WIRE.md.

mod relayed;

use core::time::Duration;

use crate::bytes::message_layout;
pub(super) use crate::bytes::{Bytes, Fixed, MessageField, put, put_signed};
use crate::outbox::Outbox;
use crate::timeline::{Change, SourceId, Timeline};
use crate::{Delivery, PeerId, PlayerId, Tick};
pub(super) use relayed::RelayedBatches;

/// Ticks a single batch may cover.
const MAX_BATCH_TICKS: u64 = 4096;
/// Changes a single batch may hold.
const MAX_CHANGES: u64 = 8192;
/// The tag of a whole state.
pub(super) const CHECKPOINT_TAG: u8 = 11;
/// A batch is split where it gets longer than this, so that each goes into a packet.
pub(super) const SPLIT_BYTES: usize = 1000;

/// One message, borrowed from its bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Message<'a> {
    /// The inputs of a source in some ticks.
    InputBatch(InputBatch<'a>),
    /// Inputs of the sender's players without ticks, for the authority that sequences them.
    Inputs(EncodedInputs<'a>),
    /// How the sender gets on with the receiver's inputs.
    Report(Report),
    /// Checksum of the sender's state.
    Checksum { tick: Tick, checksum: Fixed },
    /// The sender misses the inputs of a source from a tick on.
    ResendRequest { source: SourceId, from: Tick },
    /// The last inputs of a departed source, and where it ends.
    SourceEnd { batch: InputBatch<'a> },
    /// The receiver's state differs: this peer has the right one.
    DesyncNotice { tick: Tick, ask: PeerId },
    /// The checksum tree of the sender's state, to find out what differs.
    ChecksumTree { tick: Tick, tree: &'a [u8] },
    /// The rows that differ, as they should be.
    Rows {
        tick: Tick,
        checksum: Fixed,
        rows: &'a [u8],
    },
    /// The sender has corrected its state; a description of the difference.
    Repaired { tick: Tick, description: &'a [u8] },
    /// The sender requests the whole state, if the receiver's is of a later tick than this one.
    StateRequest { tick: Tick },
    /// A whole state, to go on from.
    Checkpoint(&'a [u8]),
    /// A player of the sender passes the initiative on.
    EndTurn(PlayerId),
    /// How far the host knows the receiver's inputs.
    InputAck(InputAck),
    /// The host has substituted the receiver's inputs: in these ticks this counts.
    InputSubstitution {
        substitutions: u64,
        batch: InputBatch<'a>,
    },
    /// Batches of other sources, relayed by the host.
    RelayedBatches(RelayedBatches<'a>),
    /// The sender knows of the substitution of its inputs, and has given none to ticks before `resume`.
    SubstitutionAck { substitutions: u64, resume: Tick },
    /// The state of this checkpoint takes the place of everyone's before a tick.
    Replacement { tick: Tick, checkpoint: &'a [u8] },
    /// How the sender gets on with the inputs of another guest, for the host to pass on.
    RelayedReport { source: SourceId, report: Report },
    /// How long inputs take to reach the sender, and how long it delays its own.
    DelayAnnouncement(DelayAnnouncement),
}

/// The inputs of a source in the ticks from `from` to `to`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct InputBatch<'a> {
    pub source: SourceId,
    pub schedule_offset: Duration,
    pub from: Tick,
    pub to: Tick,
    /// Whether to predict: everyone follows the authority.
    pub predicting: bool,
    pub initiative: Option<PlayerId>,
    /// Who comes and goes, from `from` on.
    pub changes: Vec<(Tick, Change)>,
    pub entries: EncodedInputs<'a>,
}

/// Inputs, sorted by tick and player: ticks that have some, then the inputs of each.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct EncodedInputs<'a>(&'a [u8]);

/// How a peer gets on with another's inputs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Report {
    /// The sender's confirmed tick.
    pub tick: Tick,
    /// Ticks by which the sender's machine is behind what it could have simulated.
    pub behind: u64,
    /// By how many µs the receiver's batches were early (late if negative), at least, since the last report, and for which tick.
    pub slack: Option<(i64, Tick)>,
}

/// What a peer says about the delay that all have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct DelayAnnouncement {
    /// What the longest path to the sender requires; from a host, the longest path of all.
    pub need: Duration,
    /// The delay that the sender uses.
    pub delay: Duration,
}

/// How far a host knows a guest's inputs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct InputAck {
    /// The first tick whose inputs are not known.
    pub upto: Tick,
    /// How many times the host has substituted them.
    pub substitutions: u64,
    /// The one-way delay from the host to the farthest other guest.
    pub beyond_host: Duration,
}

message_layout! {
    Message {
        0 = InputBatch(batch);
        1 = Inputs(entries);
        2 = Report(report);
        3 = Checksum { tick, checksum };
        4 = ResendRequest { source, from };
        6 = SourceEnd { batch };
        7 = DesyncNotice { tick, ask };
        8 = ChecksumTree { tick, tree };
        9 = Rows { tick, checksum, rows };
        10 = Repaired { tick, description };
        11 = Checkpoint(checkpoint);
        12 = EndTurn(player);
        15 = InputAck(acknowledgement);
        16 = InputSubstitution { substitutions, batch };
        17 = SubstitutionAck { substitutions, resume };
        18 = RelayedBatches(batches);
        19 = StateRequest { tick };
        20 = Replacement { tick, checkpoint };
        21 = RelayedReport { source, report };
        22 = DelayAnnouncement(announcement);
    }
}

impl<'a> Message<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Option<Message<'a>> {
        let (&tag, rest) = bytes.split_first()?;
        let mut r = Bytes(rest);
        let message = Self::read_fields(tag, &mut r)?;
        r.0.is_empty().then_some(message)
    }

    /// Puts the message among those to be sent.
    pub(super) fn push_to(
        &self,
        outbox: &mut Outbox,
        to: impl IntoIterator<Item = PeerId>,
        delivery: Delivery,
    ) {
        let message = outbox.message(to, delivery, |out| self.write_to(out));
        outbox.push(message);
    }

    pub(super) fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write_to(&mut out);
        out
    }

    pub(super) fn write_to(&self, out: &mut Vec<u8>) {
        let at = out.len();
        out.push(0);
        out[at] = self.write_fields(out);
    }
}

impl MessageField<'_> for SourceId {
    fn read(r: &mut Bytes<'_>) -> Option<Self> {
        Some(SourceId {
            peer: r.peer()?,
            incarnation: r.count()?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        put(out, self.peer.0.into());
        put(out, self.incarnation);
    }
}

impl MessageField<'_> for Report {
    fn read(r: &mut Bytes<'_>) -> Option<Self> {
        Some(Report {
            tick: r.tick()?,
            behind: r.count()?,
            slack: match r.number()? {
                0 => None,
                _ => Some((r.slack_us()?, r.tick()?)),
            },
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        put(out, self.tick.0);
        put(out, self.behind);
        put(out, self.slack.is_some().into());
        if let Some((slack, tick)) = self.slack {
            put_signed(out, slack);
            put(out, tick.0);
        }
    }
}

impl MessageField<'_> for DelayAnnouncement {
    fn read(r: &mut Bytes<'_>) -> Option<Self> {
        Some(DelayAnnouncement {
            need: r.time()?,
            delay: r.time()?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        put(out, self.need.as_micros() as u64);
        put(out, self.delay.as_micros() as u64);
    }
}

impl MessageField<'_> for InputAck {
    fn read(r: &mut Bytes<'_>) -> Option<Self> {
        Some(InputAck {
            upto: r.tick()?,
            substitutions: r.count()?,
            beyond_host: Duration::from_millis(r.number()?.min(10_000)),
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        put(out, self.upto.0);
        put(out, self.substitutions);
        put(out, self.beyond_host.as_millis() as u64);
    }
}

impl<'a> MessageField<'a> for EncodedInputs<'a> {
    fn read(r: &mut Bytes<'a>) -> Option<Self> {
        Some(EncodedInputs(r.rest()))
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0);
    }
}

impl<'a> MessageField<'a> for InputBatch<'a> {
    fn read(r: &mut Bytes<'a>) -> Option<InputBatch<'a>> {
        let source = SourceId::read(r)?;
        let schedule_offset = r.time()?;
        let from = r.tick()?;
        let ticks = r.number().filter(|ticks| *ticks <= MAX_BATCH_TICKS)?;
        let flags = r.number()?;
        let predicting = flags & 1 == 1;
        let initiative = match flags >> 1 {
            0 => None,
            player => Some(PlayerId(u16::try_from(player - 1).ok()?)),
        };
        let count = r.number().filter(|count| *count <= MAX_CHANGES)?;
        let mut changes = Vec::new();
        for _ in 0..count {
            let tick = from + r.number().filter(|after| *after <= 2 * MAX_BATCH_TICKS)?;
            let change = match r.number()? {
                0 => Change::Join(r.player()?),
                1 => Change::Leave(r.player()?),
                2 => {
                    let source = SourceId::read(r)?;
                    Change::Source(source, read_players(r, 64)?)
                }
                3 => Change::Away(r.player()?),
                4 => Change::State,
                _ => return None,
            };
            changes.push((tick, change));
        }
        let entries = EncodedInputs(r.rest());
        Some(InputBatch {
            source,
            schedule_offset,
            from,
            to: from + ticks,
            predicting,
            initiative,
            changes,
            entries,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.source.write(out);
        put(out, self.schedule_offset.as_micros() as u64);
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
                Change::Source(source, players) => {
                    put(out, 2);
                    source.write(out);
                    put_players(out, players);
                }
                Change::Away(player) => {
                    put(out, 3);
                    put(out, player.0.into());
                }
                Change::State => put(out, 4),
            }
        }
        out.extend_from_slice(self.entries.0);
    }
}

impl InputBatch<'_> {
    /// About how many bytes this takes.
    pub(super) fn len(&self) -> usize {
        let changes = self.changes.iter().map(|(_, change)| match change {
            Change::Join(_) | Change::Leave(_) | Change::Away(_) => 6,
            Change::Source(_, players) => 16 + 3 * players.len(),
            Change::State => 4,
        });
        24 + changes.sum::<usize>() + self.entries.0.len()
    }
}

impl<'a> EncodedInputs<'a> {
    /// Visits every input: ticks after the first, player, input. Stops with `None` where the encoding is malformed.
    pub(super) fn each(&self, mut visit: impl FnMut(u64, PlayerId, &'a [u8])) -> Option<()> {
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
                visit(tick, PlayerId(u16::try_from(player).ok()?), input);
                player += 1;
            }
            tick = tick.checked_add(1)?;
        }
        Some(())
    }

    pub(super) fn encoded(bytes: &'a [u8]) -> EncodedInputs<'a> {
        EncodedInputs(bytes)
    }
}

pub(super) fn put_players(out: &mut Vec<u8>, players: &[PlayerId]) {
    put(out, players.len() as u64);
    players.iter().for_each(|player| put(out, player.0.into()));
}

/// Reads at most `max` players.
pub(super) fn read_players(r: &mut Bytes<'_>, max: u64) -> Option<Vec<PlayerId>> {
    let count = r.number().filter(|count| *count <= max)?;
    (0..count).map(|_| r.player()).collect()
}

/// Encodes the inputs of some ticks, of the players that `of` selects. Returns the tick at which `max_bytes` were reached.
pub(super) fn encode_inputs(
    timeline: &Timeline,
    from: Tick,
    to: Tick,
    of: impl Fn(PlayerId) -> bool,
    max_bytes: usize,
    out: &mut Vec<u8>,
) -> Tick {
    let mut since = from;
    let mut tick = from;
    while tick < to {
        if out.len() > max_bytes || tick.since(from) >= MAX_BATCH_TICKS {
            return tick;
        }
        if let Some(inputs) = timeline.inputs(tick)
            && !inputs.is_empty()
        {
            let count = inputs.entries().filter(|(player, _)| of(*player)).count();
            if count > 0 {
                put(out, tick.since(since));
                put(out, count as u64);
                encode_tick(inputs.entries().filter(|(player, _)| of(*player)), out);
                since = tick.next();
            }
        }
        tick = tick.next();
    }
    to
}

/// Encodes the inputs of one tick.
fn encode_tick<'a>(entries: impl Iterator<Item = (PlayerId, &'a [u8])>, out: &mut Vec<u8>) {
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

/// Encodes inputs that have no ticks yet: one after the other for each player.
pub(super) fn encode_pending(pending: &[(PlayerId, Vec<Vec<u8>>)], out: &mut Vec<u8>) {
    let max = pending.iter().map(|(_, inputs)| inputs.len()).max();
    for at in 0..max.unwrap_or(0) {
        let of_tick = || {
            pending
                .iter()
                .filter_map(move |(player, inputs)| Some((*player, inputs.get(at)?.as_slice())))
        };
        put(out, 0);
        put(out, of_tick().count() as u64);
        encode_tick(of_tick(), out);
    }
}

#[cfg(test)]
mod tests;
