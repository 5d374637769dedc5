//! What every way of keeping in step has in common.

use core::time::Duration;

use samestep_wire::Delivery;

use crate::{AdoptError, Difference, PeerId, PlayerId, Tick, World};

/// A way of keeping one simulation in step: who simulates what, and what travels.
///
/// A model does no IO and knows neither the game's types nor the network: it is told who is there ([`handle_roster`](Model::handle_roster)),
/// what arrived and what local players do; it is lent the [`World`] to step; it says what to send. All times are those of the clock that
/// the peers have in common. A session, a test or the lab drives any of them:
///
/// 1. hand over what happened with the `handle_*` calls and [`input`](Model::input);
/// 2. [`advance`](Model::advance) when [`poll_timeout`](Model::poll_timeout) is due, and after anything has arrived;
/// 3. send what [`poll_message`](Model::poll_message) gives, read [`poll_event`](Model::poll_event).
///
/// *Unstable:* more models will bend it.
pub trait Model {
    /// Who is there has changed.
    fn handle_roster(&mut self, now: Duration, roster: &Roster);

    /// Bytes a second that may be sent to a peer without filling queues, as its connection estimates. True if this model cares, and wants to be
    /// told again soon.
    fn handle_rate(&mut self, _now: Duration, _peer: PeerId, _bytes_per_s: u64) -> bool {
        false
    }

    /// The game begins at this time, from the state the world has then.
    fn handle_start(&mut self, now: Duration, at: Duration);

    /// A message of this model arrived. Malformed ones are counted and dropped.
    fn handle_message(&mut self, now: Duration, from: PeerId, message: &[u8]);

    /// What a local player does next, encoded. Returns false if too many wait already, or the player may not act now.
    fn input(&mut self, now: Duration, player: PlayerId, input: &[u8]) -> bool;

    /// The player that holds the initiative passes it on; nothing in games that run in real time.
    fn end_turn(&mut self, now: Duration, player: PlayerId);

    /// Simulates what is due. The only call that steps the world.
    fn advance(&mut self, now: Duration, world: &mut dyn World);

    /// The next message to send.
    fn poll_message(&mut self) -> Option<Outgoing>;

    /// Takes a message back that was sent, so that its memory serves the next. Not needed, but saves allocations.
    fn reclaim(&mut self, sent: Outgoing) {
        drop(sent);
    }

    /// The next thing worth knowing.
    fn poll_event(&mut self) -> Option<ModelEvent>;

    /// Draws into the world what is to be shown at `now`, if that is something else than the world's present state: then it is true.
    fn view(&mut self, _now: Duration, _world: &mut dyn World) -> bool {
        false
    }

    /// From this tick on nothing is simulated any more: something else goes on from there.
    fn stop_at(&mut self, _tick: Tick) {}

    /// When `advance` wants to be called next.
    fn poll_timeout(&self) -> Option<Duration>;

    /// How things stand.
    fn status(&self) -> Status;

    /// How much later than the players spectators see the game; their first state is to reach them no sooner.
    fn spectator_delay(&self) -> Duration;

    /// Everything a newcomer needs to take part from here on.
    fn checkpoint(&mut self, now: Duration, newcomer: PeerId, world: &mut dyn World) -> Vec<u8>;

    /// The authority gives everyone the world's present state in place of theirs, before the game begins.
    fn send_state_to_all(&mut self, now: Duration, world: &mut dyn World);

    /// Begins where a [`checkpoint`](Model::checkpoint) of another peer left off.
    fn adopt(
        &mut self,
        now: Duration,
        checkpoint: &[u8],
        world: &mut dyn World,
    ) -> Result<(), AdoptError>;
}

/// A model around another: every call goes on to the inner model.
pub trait ModelWrapper {
    /// The type of the inner model.
    type Inner: Model + ?Sized;

    /// The inner model.
    fn inner(&self) -> &Self::Inner;

    /// The inner model, to have it do something.
    fn inner_mut(&mut self) -> &mut Self::Inner;

    /// The next message to send: the inner model's, unless the wrapper sends another in its place.
    fn next_message(&mut self) -> Option<Outgoing> {
        self.inner_mut().poll_message()
    }
}

/// A model that is chosen while the program runs.
impl<M: Model + ?Sized> ModelWrapper for Box<M> {
    type Inner = M;

    fn inner(&self) -> &M {
        self
    }

    fn inner_mut(&mut self) -> &mut M {
        self
    }
}

impl<W: ModelWrapper> Model for W {
    fn handle_roster(&mut self, now: Duration, roster: &Roster) {
        self.inner_mut().handle_roster(now, roster);
    }

    fn handle_rate(&mut self, now: Duration, peer: PeerId, bytes_per_s: u64) -> bool {
        self.inner_mut().handle_rate(now, peer, bytes_per_s)
    }

    fn handle_start(&mut self, now: Duration, at: Duration) {
        self.inner_mut().handle_start(now, at);
    }

    fn handle_message(&mut self, now: Duration, from: PeerId, message: &[u8]) {
        self.inner_mut().handle_message(now, from, message);
    }

    fn input(&mut self, now: Duration, player: PlayerId, input: &[u8]) -> bool {
        self.inner_mut().input(now, player, input)
    }

    fn end_turn(&mut self, now: Duration, player: PlayerId) {
        self.inner_mut().end_turn(now, player);
    }

    fn advance(&mut self, now: Duration, world: &mut dyn World) {
        self.inner_mut().advance(now, world);
    }

    fn poll_message(&mut self) -> Option<Outgoing> {
        self.next_message()
    }

    fn reclaim(&mut self, sent: Outgoing) {
        self.inner_mut().reclaim(sent);
    }

    fn poll_event(&mut self) -> Option<ModelEvent> {
        self.inner_mut().poll_event()
    }

    fn view(&mut self, now: Duration, world: &mut dyn World) -> bool {
        self.inner_mut().view(now, world)
    }

    fn stop_at(&mut self, tick: Tick) {
        self.inner_mut().stop_at(tick);
    }

    fn poll_timeout(&self) -> Option<Duration> {
        self.inner().poll_timeout()
    }

    fn status(&self) -> Status {
        self.inner().status()
    }

    fn spectator_delay(&self) -> Duration {
        self.inner().spectator_delay()
    }

    fn checkpoint(&mut self, now: Duration, newcomer: PeerId, world: &mut dyn World) -> Vec<u8> {
        self.inner_mut().checkpoint(now, newcomer, world)
    }

    fn send_state_to_all(&mut self, now: Duration, world: &mut dyn World) {
        self.inner_mut().send_state_to_all(now, world);
    }

    fn adopt(
        &mut self,
        now: Duration,
        checkpoint: &[u8],
        world: &mut dyn World,
    ) -> Result<(), AdoptError> {
        self.inner_mut().adopt(now, checkpoint, world)
    }
}

/// Who takes part, as far as a model needs to know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Roster {
    /// This program.
    pub me: PeerId,
    /// The host, or the leader of a mesh.
    pub authority: PeerId,
    /// Whether everyone talks to everyone.
    pub is_mesh: bool,
    /// Everyone, this program included, in ascending order of their ids.
    pub members: Vec<Member>,
}

impl Roster {
    /// A member by its id.
    pub fn member(&self, peer: PeerId) -> Option<&Member> {
        let at = self
            .members
            .binary_search_by_key(&peer, |member| member.peer)
            .ok()?;
        self.members.get(at)
    }
}

/// One program that takes part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// Its id.
    pub peer: PeerId,
    /// Who plays there, in ascending order.
    pub players: Vec<PlayerId>,
    /// Whether it has the game's state.
    pub in_sync: bool,
    /// Whether it has vanished, and its place is kept.
    pub away: bool,
    /// Whether it only watches.
    pub watches: bool,
    /// The incarnation of the peer, as in SWIM: another number each time it comes back after it was away.
    pub incarnation: u64,
    /// One way to it from here, as far as known.
    pub latency: Duration,
    /// Packets that get lost on the way to it, in percent, as far as known.
    pub loss: u8,
}

/// A message of a model for the same model of another peer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outgoing {
    /// For whom: the same for all of them.
    pub to: Vec<PeerId>,
    /// How.
    pub delivery: Delivery,
    /// What.
    pub bytes: Vec<u8>,
}

/// Something a model wants known.
#[derive(Clone, PartialEq, Debug)]
pub enum ModelEvent {
    /// A peer's state differs from that of the others: on that peer itself, and on the authority.
    Desync(DesyncReport),
    /// A peer that differed is the same as the others again.
    Repaired {
        /// Who.
        peer: PeerId,
        /// From this tick on.
        tick: Tick,
        /// Bytes of the state that travelled to it; known to that peer alone.
        bytes: usize,
    },
    /// A peer's machine is too slow, and the policy says to drop it.
    TooSlow {
        /// Who.
        peer: PeerId,
        /// How far behind it is.
        ticks_behind: u64,
    },
    /// The game's state was replaced by the authority's: a save game was loaded, or this peer was too far behind.
    Adopted {
        /// The tick it goes on from.
        tick: Tick,
    },
}

/// What is known about a state that differs.
#[derive(Clone, PartialEq, Debug)]
pub struct DesyncReport {
    /// Whose state differs from that of most.
    pub peer: PeerId,
    /// The check that showed it.
    pub tick: Tick,
    /// The first difference: entity, field, both values. `None` while only the checksums are known.
    pub difference: Option<Difference>,
    /// A recording that plays from the last check at which all was well to this one; only on the peer that differed.
    pub bundle: Option<Vec<u8>>,
}

impl core::fmt::Display for DesyncReport {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} differs at tick {}", self.peer, self.tick)?;
        match &self.difference {
            Some(difference) => write!(f, ": {difference}"),
            None => Ok(()),
        }
    }
}

/// The state and the counters of a model.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Status {
    /// The tick of the world: the predicted one where the model predicts.
    pub tick: Tick,
    /// The confirmed tick: nothing before it can change any more.
    pub confirmed_tick: Tick,
    /// Whether the world has a state and a beginning.
    pub running: bool,
    /// Ticks that were due while the simulation stalled, so far.
    pub stalled_ticks: u64,
    /// The peer whose inputs a stalled simulation waits for.
    pub waiting_for: Option<PeerId>,
    /// Ticks by which this machine is behind what it could have simulated.
    pub behind: u64,
    /// Input delay, in ticks: from the end of a turn to its first tick, as this program schedules its own.
    pub input_delay: u64,
    /// Ticks of the newest turn.
    pub turn_length: u64,
    /// Playout delay: how much later than the common schedule this program simulates.
    pub playout_delay: Duration,
    /// Whether ticks are simulated before all their inputs are known.
    pub predicting: bool,
    /// How often a prediction was wrong and ticks were resimulated, so far.
    pub rollbacks: u64,
    /// Ticks that were resimulated, so far.
    pub resimulated: u64,
    /// The maximum number of ticks resimulated at once, so far.
    pub max_rollback_depth: u64,
    /// Interpolation delay: how much later than the authority's present the others are shown.
    pub interpolation_delay: Duration,
    /// How far ahead of the authority's present one's own inputs are given.
    pub lead: Duration,
    /// How often the authority's state differed from what was simulated here, so far.
    pub corrections: u64,
    /// Whether this program is too far away for lag compensation: its shots are judged by the authority's present, so show how far to aim ahead.
    pub beyond_lag_compensation: bool,
    /// Desyncs detected so far.
    pub desyncs: u64,
    /// Messages that were malformed or from a peer that may not send them.
    pub refused: u64,
    /// The player that holds the initiative, in a game without real time.
    pub initiative: Option<PlayerId>,
    /// Inputs that were not taken because too many waited.
    pub inputs_refused: u64,
    /// A description of the last thing that went wrong.
    pub trouble: Option<String>,
}
