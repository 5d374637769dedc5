//! The interface of all models.

use core::time::Duration;

use samestep_wire::Delivery;

use crate::{
    AdoptError, Cut, Departing, Difference, Handover, Held, InputKind, NotFed, PeerId, PlayerId,
    Tick, World,
};

/// A model keeps one simulation in step: it decides who simulates what, and what is sent.
///
/// A model does no IO and knows neither the game's types nor the network. The caller hands it the roster ([`handle_roster`](Model::handle_roster)),
/// the messages that arrive and the inputs of local players, and lends it the [`World`] to step; the model returns messages to send. All
/// times are those of the peers' common clock. A session, a test or the lab drives a model like this:
///
/// 1. hand over events with the `handle_*` calls and [`input`](Model::input);
/// 2. [`advance`](Model::advance) when [`poll_timeout`](Model::poll_timeout) is due, and after anything has arrived;
/// 3. send what [`poll_message`](Model::poll_message) gives, read [`poll_event`](Model::poll_event).
///
/// *Unstable:* more models will bend it.
pub trait Model {
    /// The name of the model, which everyone in a room must share: [`ModelKind::name`](crate::ModelKind::name), if it is one of those.
    fn name(&self) -> String;

    /// The roster has changed.
    fn handle_roster(&mut self, now: Duration, roster: &Roster);

    /// The bytes per second that a peer's connection carries without filling queues, as estimated. Returns whether this model uses the rate and wants
    /// updates of it.
    fn handle_rate(&mut self, _now: Duration, _peer: PeerId, _bytes_per_s: u64) -> bool {
        false
    }

    /// The game begins at time `at`, from the state that the world has then.
    fn handle_start(&mut self, now: Duration, at: Duration);

    /// A message of this model arrived. Malformed ones are counted and dropped.
    fn handle_message(&mut self, now: Duration, from: PeerId, message: &[u8]);

    /// Takes the next input of a local player, encoded. Returns false if too many wait already, or the player may not act now.
    fn input(&mut self, now: Duration, player: PlayerId, input: &[u8], kind: InputKind) -> bool;

    /// The player that holds the initiative passes it on. Does nothing in real-time games.
    fn end_turn(&mut self, now: Duration, player: PlayerId);

    /// Simulates what is due. The only call that steps the world.
    fn advance(&mut self, now: Duration, world: &mut dyn World);

    /// The next message to send.
    fn poll_message(&mut self) -> Option<Outgoing>;

    /// Takes back a message that was sent, to reuse its memory. Optional: it saves allocations.
    fn reclaim(&mut self, sent: Outgoing) {
        drop(sent);
    }

    /// The next event.
    fn poll_event(&mut self) -> Option<ModelEvent>;

    /// Draws the state to show at `now` into the world. Returns false if that is the world's present state.
    fn view(&mut self, _now: Duration, _world: &mut dyn World) -> bool {
        false
    }

    /// Simulates no tick from this one on: another model goes on from there.
    fn stop_at(&mut self, _tick: Tick) {}

    /// When `advance` wants to be called next.
    fn poll_timeout(&self) -> Option<Duration>;

    /// The state and the counters of the model.
    fn status(&self) -> Status;

    /// How much later than the players spectators see the game; their first state must not reach them sooner.
    fn spectator_delay(&self) -> Duration;

    /// How long the acknowledgement of an unreliable packet may wait for one to travel with: zero for the connections' own setting.
    fn ack_patience(&self) -> Duration {
        Duration::ZERO
    }

    /// A checkpoint: everything a newcomer needs to take part from here on.
    fn checkpoint(&mut self, now: Duration, newcomer: PeerId, world: &mut dyn World) -> Vec<u8>;

    /// The authority sends everyone the world's present state in place of theirs, before the game begins.
    fn send_state_to_all(&mut self, now: Duration, world: &mut dyn World);

    /// The authority replaces everyone's state by that of a world's [checkpoint](World::checkpoint) while the game runs, before one and the same tick
    /// everywhere: what happened in the ticks before is confirmed as ever.
    fn replace_state(&mut self, now: Duration, checkpoint: &[u8]);

    /// Begins where a [`checkpoint`](Model::checkpoint) of another peer left off.
    fn adopt(
        &mut self,
        now: Duration,
        checkpoint: &[u8],
        world: &mut dyn World,
    ) -> Result<(), AdoptError>;

    /// At the authority: the exact state of the last tick that is final, with all that it takes to go on from there, as a record for a
    /// [`Standby`](crate::Standby). [`feed`](Model::feed) has what follows. `None` if this program is not the authority, or the model or the
    /// world cannot be followed.
    fn begin_feed(&mut self, _now: Duration, _world: &mut dyn World) -> Option<Vec<u8>> {
        None
    }

    /// At the authority: the ticks that have become final since the last record, as the next one; `None` if there are none. Call it after
    /// [`advance`](Model::advance) and before its messages are sent: then nobody knows of a tick that is not in a record.
    fn feed(&mut self, _world: &mut dyn World) -> Result<Option<Vec<u8>>, NotFed> {
        Err(NotFed)
    }

    /// Goes on as the authority in the place of another, with the world of a [`Standby`](crate::Standby) that followed it, or with that of a
    /// journal. The roster has to say already that this program is the authority.
    fn take_over(
        &mut self,
        _now: Duration,
        _handover: &Handover,
        _world: &mut dyn World,
    ) -> Result<(), AdoptError> {
        Err(AdoptError::Malformed(
            "this model cannot take over from another authority".to_string(),
        ))
    }

    /// Whether one program decides and the others are told. In a mesh everyone then follows that program's ticks in the room's log, and goes on from there
    /// when the room elects another: as the authority by [`take_over`](Model::take_over), as a client by [`go_on`](Model::go_on).
    fn has_authority(&self) -> bool {
        false
    }

    /// Goes on as a client of another authority, with what everyone followed: the exact state is that of the world's [second world](World::with_twin), at the
    /// handover's tick. The new authority begins from the same, so nothing need be sent. The roster has to name it already.
    fn go_on(
        &mut self,
        _now: Duration,
        _handover: &Handover,
        _world: &mut dyn World,
    ) -> Result<(), AdoptError> {
        Err(AdoptError::Malformed(
            "this model has no authority to follow".to_string(),
        ))
    }

    /// In a mesh that is about to exclude members: takes nothing more of these from now on, and of everyone else again. Returns what it has of
    /// each, if it has anything. A model whose copies need no common end of what a member sent returns nothing.
    fn hold(&mut self, _now: Duration, _departing: &[Departing]) -> Vec<Held> {
        Vec::new()
    }

    /// The members of a mesh have changed: where what the excluded ones sent ends. Everyone else is no longer [held back](Model::hold).
    fn cut(&mut self, _now: Duration, _cuts: &[Cut]) {}
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
    fn name(&self) -> String {
        self.inner().name()
    }

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

    fn input(&mut self, now: Duration, player: PlayerId, input: &[u8], kind: InputKind) -> bool {
        self.inner_mut().input(now, player, input, kind)
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

    fn ack_patience(&self) -> Duration {
        self.inner().ack_patience()
    }

    fn checkpoint(&mut self, now: Duration, newcomer: PeerId, world: &mut dyn World) -> Vec<u8> {
        self.inner_mut().checkpoint(now, newcomer, world)
    }

    fn send_state_to_all(&mut self, now: Duration, world: &mut dyn World) {
        self.inner_mut().send_state_to_all(now, world);
    }

    fn replace_state(&mut self, now: Duration, checkpoint: &[u8]) {
        self.inner_mut().replace_state(now, checkpoint);
    }

    fn adopt(
        &mut self,
        now: Duration,
        checkpoint: &[u8],
        world: &mut dyn World,
    ) -> Result<(), AdoptError> {
        self.inner_mut().adopt(now, checkpoint, world)
    }

    fn begin_feed(&mut self, now: Duration, world: &mut dyn World) -> Option<Vec<u8>> {
        self.inner_mut().begin_feed(now, world)
    }

    fn feed(&mut self, world: &mut dyn World) -> Result<Option<Vec<u8>>, NotFed> {
        self.inner_mut().feed(world)
    }

    fn take_over(
        &mut self,
        now: Duration,
        handover: &Handover,
        world: &mut dyn World,
    ) -> Result<(), AdoptError> {
        self.inner_mut().take_over(now, handover, world)
    }

    fn has_authority(&self) -> bool {
        self.inner().has_authority()
    }

    fn go_on(
        &mut self,
        now: Duration,
        handover: &Handover,
        world: &mut dyn World,
    ) -> Result<(), AdoptError> {
        self.inner_mut().go_on(now, handover, world)
    }

    fn hold(&mut self, now: Duration, departing: &[Departing]) -> Vec<Held> {
        self.inner_mut().hold(now, departing)
    }

    fn cut(&mut self, now: Duration, cuts: &[Cut]) {
        self.inner_mut().cut(now, cuts);
    }
}

/// The participants of a room, as far as a model needs to know them.
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
    /// The one-way delay to it, as far as known.
    pub latency: Duration,
    /// The loss of packets to it, in percent, as far as known.
    pub loss: u8,
}

/// A message of a model for the same model of another peer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outgoing {
    /// The recipients, who all get the same. In a hosted room a guest reaches the host alone: nothing is passed on to other guests.
    pub to: Vec<PeerId>,
    /// The delivery.
    pub delivery: Delivery,
    /// The encoded message.
    pub bytes: Vec<u8>,
}

/// An event of a model.
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

/// A report of a state that differs.
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
    /// The peer whose inputs a stalled simulation waits for; under [`EventDelay`](crate::EventDelay), which does not stall, the peer whose inputs are
    /// overdue.
    pub waiting_for: Option<PeerId>,
    /// Ticks by which this machine is behind what it could have simulated.
    pub behind: u64,
    /// When the next tick takes the inputs of the players here, on the common clock: controls are sampled then. `None` if that follows no
    /// clock.
    pub takes_input_at: Option<Duration>,
    /// The delay that a player here feels: from an input to the state that shows it, on average and as measured lately. Beside it a picture waits
    /// for its frame. Zero before the game runs, for who only watches, and where no clock makes time pass.
    pub delay: Duration,
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
    /// Inputs that came after their tick had left the update window, so far: on the authority everyone's, elsewhere one's own. They were refused
    /// and given again.
    pub inputs_too_late: u64,
    /// A description of the last thing that went wrong.
    pub trouble: Option<String>,
}
