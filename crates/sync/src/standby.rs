//! Primary-backup replication of an authority by log shipping: whoever follows holds its exact state, and can take its place.
//!
//! The authority exports its exact state once, and from then on the inputs of every tick that is final. Rules are deterministic, so a [`Standby`]
//! that simulates these ticks holds the same state, secrets included, under every model. It goes on as the authority from the last tick it has: the
//! last that was final. What was still open there, as in the update window of [`Rewind`](crate::Rewind), is played again.
//!
//! State machine replication: Fred B. Schneider, *Implementing Fault-Tolerant Services Using the State Machine Approach*, 1990.

mod ledger;
mod log;
mod record;

use std::collections::VecDeque;
use std::sync::Arc;

use thiserror::Error;

pub(crate) use ledger::InputLedger;
pub(crate) use log::TickLog;
use log::{LogItem, items};
use record::Record;
pub use record::{AcceptedInputs, Handover};
pub(crate) use record::{RecentInput, write_record};

use crate::replay::ticks::{BodyItem, TicksReader};
use crate::{AdoptError, Tick, TickInputs, World};

/// Ticks whose inputs are remembered: clients may lag behind by less.
const RECENT: u64 = 300;

/// Follows an authority: takes its records, and simulates along in a world that it is lent.
///
/// The authority's model writes the records ([`Model::begin_feed`](crate::Model::begin_feed), [`Model::feed`](crate::Model::feed)). When the
/// authority is gone, another program's model takes its place with the world ([`Model::take_over`](crate::Model::take_over)).
///
/// ```
/// use core::time::Duration;
/// use samestep_sync::{Live, Member, Model, PeerId, PlayerId, Roster, Standby, StateSync, Tick, World};
/// # use samestep_sync::{Events, Input, InputKind, Inputs, Replicate, Simulation, Wire};
/// # #[derive(Clone, Default, PartialEq, Debug, Wire)]
/// # struct Row(u8);
/// # impl Input for Row {
/// #     fn predict(&self) -> Self {
/// #         Row(0)
/// #     }
/// # }
/// # #[derive(Clone, Default, Replicate)]
/// # struct Boat {
/// #     metres: u32,
/// # }
/// # impl Simulation for Boat {
/// #     type Input = Row;
/// #     type Event = ();
/// #     const NAME: &'static str = "boat";
/// #     fn step(&mut self, inputs: &Inputs<'_, Row>, _: &mut Events<()>) {
/// #         self.metres += inputs.iter().map(|(_, row)| u32::from(row.0)).sum::<u32>();
/// #     }
/// # }
///
/// let me = Member { peer: PeerId(0), players: vec![PlayerId(0)], in_sync: true, away: false, watches: false, incarnation: 1, latency: Duration::ZERO, loss: 0 };
/// let roster = Roster { me: PeerId(0), authority: PeerId(0), is_mesh: false, members: vec![me] };
/// let (mut host, mut at_host) = (StateSync::default(), Live::new(Boat::default()));
/// host.handle_roster(Duration::ZERO, &roster);
/// host.handle_start(Duration::ZERO, Duration::ZERO);
///
/// // Elsewhere: another process, or after a restart.
/// let (mut standby, mut at_standby) = (Standby::new(), Live::new(Boat::default()));
/// let state = host.begin_feed(Duration::ZERO, &mut at_host).expect("it is the authority");
/// standby.handle(&state, &mut at_standby)?;
/// for ms in 0..1000 {
///     let now = Duration::from_millis(ms);
///     if ms == 500 {
///         host.input(now, PlayerId(0), &[3], InputKind::Controls);
///     }
///     host.advance(now, &mut at_host);
///     if let Some(ticks) = host.feed(&mut at_host)? {
///         standby.handle(&ticks, &mut at_standby)?;
///     }
/// }
/// assert_eq!(at_standby.checksum(), at_host.checksum());
///
/// // The host is gone: the game goes on where it was.
/// let now = Duration::from_secs(3);
/// let mut next = StateSync::default();
/// next.handle_roster(now, &roster);
/// next.take_over(now, standby.handover().expect("it has a state"), &mut at_standby)?;
/// next.advance(now, &mut at_standby);
/// assert_eq!(at_standby.state().metres, 3);
/// assert!(next.status().tick >= Tick(60));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Standby {
    handover: Option<Handover>,
    inputs: TickInputs,
}

impl Standby {
    /// Follows nobody yet: the first record has to hold a state.
    pub fn new() -> Standby {
        Standby::default()
    }

    /// What it takes to go on from here beside the world; `None` as long as no state has come, and after an error.
    pub fn handover(&self) -> Option<&Handover> {
        self.handover.as_ref()
    }

    /// The tick that is simulated next.
    pub fn tick(&self) -> Option<Tick> {
        self.handover.as_ref().map(Handover::tick)
    }

    /// A record for somebody else to follow from: the exact state that this one has come to, in the world it is lent. `None` as long as no state has come.
    pub fn base(&self, world: &mut dyn World) -> Option<Vec<u8>> {
        let state = world.keep();
        Some(write_record(self.handover.as_ref()?, Some(&state), &[]))
    }

    /// Takes a record of the authority. The world becomes that of the last tick in it. After an error the authority has to begin anew with a state.
    ///
    /// A malformed record changes nothing in the world.
    pub fn handle(&mut self, record: &[u8], world: &mut dyn World) -> Result<(), FeedError> {
        let before = self.handover.take();
        let mut record = Record::read(record).ok_or(FeedError::Malformed)?;
        let mut tick = match (&record.state, &before) {
            (Some(state), _) => state.0,
            (None, Some(before)) => before.tick(),
            (None, None) => return Err(FeedError::NoState),
        };
        self.check(tick, &record)?;
        if let Some((tick, state)) = record.state {
            world.come_back(tick, state)?;
        }
        let mut recent = match record.state {
            Some(_) => VecDeque::new(),
            None => before.map_or_else(VecDeque::new, |before| before.recent),
        };
        let mut replacement: Option<(Tick, Arc<[u8]>)> = None;
        for item in items(record.log) {
            match item.ok_or(FeedError::Malformed)? {
                LogItem::Ticks(body) => {
                    let mut reader = TicksReader::new(body).map_err(|_| FeedError::Malformed)?;
                    while let Some(item) = self.read(&mut reader, body)? {
                        match item {
                            BodyItem::Tick(at) => {
                                let replaced = replacement.take_if(|(when, _)| *when == at);
                                let checkpoint = replaced.map(|(_, checkpoint)| checkpoint);
                                self.inputs.set_replacement(checkpoint);
                                world.step(at, &self.inputs);
                                world.confirm(at, &self.inputs);
                                let inputs = self.inputs.entries();
                                recent.extend(inputs.map(|(player, i)| (at, player, i.to_vec())));
                                tick = at.next();
                            }
                            BodyItem::Checksum(at, expected) if at == tick => {
                                if world.checksum() != expected {
                                    return Err(FeedError::Diverged { tick });
                                }
                                world.record_checksum(at, expected);
                            }
                            // Of a tick that is over.
                            BodyItem::Checksum(..) => {}
                        }
                    }
                }
                LogItem::State(at, state) => {
                    world.come_back(at, state)?;
                    tick = at;
                }
                LogItem::Replacement(at, checkpoint) => {
                    replacement = Some((at, checkpoint.into()));
                }
            }
        }
        let is_old = |input: &RecentInput| input.0.0 + RECENT < tick.0;
        while recent.front().is_some_and(is_old) {
            recent.pop_front();
        }
        record.handover.recent = recent;
        self.handover = Some(record.handover);
        Ok(())
    }

    /// Goes through a record without a world: are all parts whole, and do the ticks follow each other up to the one that it names?
    fn check(&mut self, from: Tick, record: &Record<'_>) -> Result<(), FeedError> {
        let (mut tick, mut count) = (from, 0);
        for item in items(record.log) {
            match item.ok_or(FeedError::Malformed)? {
                LogItem::Ticks(body) => {
                    let mut reader = TicksReader::new(body).map_err(|_| FeedError::Malformed)?;
                    while let Some(item) = self.read(&mut reader, body)? {
                        let BodyItem::Tick(at) = item else {
                            continue;
                        };
                        if at != tick {
                            return Err(FeedError::Gap { tick });
                        }
                        tick = at.next();
                        count += 1;
                        if count > TickLog::MAX_TICKS {
                            return Err(FeedError::Malformed);
                        }
                    }
                }
                LogItem::State(at, _) => tick = at,
                LogItem::Replacement(at, _) if at == tick => {}
                LogItem::Replacement(..) => return Err(FeedError::Malformed),
            }
        }
        match tick == record.handover.tick() {
            true => Ok(()),
            false => Err(FeedError::Gap { tick }),
        }
    }

    fn read(
        &mut self,
        reader: &mut TicksReader,
        body: &[u8],
    ) -> Result<Option<BodyItem>, FeedError> {
        let read = reader.read(body, &mut self.inputs);
        read.map_err(|_| FeedError::Malformed)
    }
}

/// Why a record of an authority was not taken.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum FeedError {
    /// The bytes are not a record.
    #[error("not a record of an authority: are both ends of the same version?")]
    Malformed,
    /// Nothing has come before that these ticks could follow.
    #[error("there is no state that these ticks could follow: begin with a state")]
    NoState,
    /// The ticks do not follow each other.
    #[error("the ticks from {tick} on are missing: begin with a state")]
    Gap {
        /// The tick that was expected.
        tick: Tick,
    },
    /// The same inputs lead to another state here.
    #[error(
        "the state at tick {tick} is not the authority's: is it the same version of the game? `samestep sync-test` finds rules that are not deterministic"
    )]
    Diverged {
        /// The tick that differs.
        tick: Tick,
    },
    /// The state cannot be taken over.
    #[error(transparent)]
    Adopt(#[from] AdoptError),
}

/// Nothing is logged: the program is not the authority, nobody has begun a feed, or too much has waited to be taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("nothing is fed: begin with a state")]
pub struct NotFed;
