//! A game that is played: a session, a model and a world.

mod controls;
mod cuts;
mod follow;
mod judge;
mod mesh;
mod resume;

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use samestep_proto::{Machine, Transmit};
use samestep_sync::{
    AdoptError, Input, InputKind, Live, Member, Model, ModelEvent, Roster, Simulation, Standby,
    Status, Tick, World,
};
use samestep_wire::decode_exact;

use crate::config::{GameDescription, Role, SessionConfig, SetupError};
use crate::event::{SessionEvent, State};
use crate::id::{MessageKind, PeerId, PlayerId};
use crate::message::encode_reusing;
use crate::room::{PeerKind, Phase, Presence};
use crate::session::Session;
use controls::Controls;
use judge::Strikes;
use mesh::InLog;
pub use resume::ResumeMatchError;

/// Time between two updates of the latencies in the roster.
const LATENCIES_EVERY: Duration = Duration::from_secs(1);
/// Time between two updates of the rates, for models that use them.
const RATES_EVERY: Duration = Duration::from_millis(100);
/// A guest learns of others' joining and leaving at most this often.
const GUESTS_EVERY: Duration = Duration::from_millis(250);
/// A player's number that passes from one program to another is nobody's for so long, so that the rules see the one gone before the other comes.
const VACANT: Duration = Duration::from_millis(250);
/// A host that does not answer for this long, beyond the round trip, may be what a guest waits for.
const ANSWER: Duration = Duration::from_millis(50);
/// The largest change of a latency that the model does not need to know.
const SAME_LATENCY: Duration = Duration::from_micros(500);
/// The same of loss, in percent.
const SAME_LOSS: u8 = 2;

/// One program's part in a game: its [`Session`], the [`Model`] that keeps everyone in step, and the [`World`] that is simulated.
///
/// It is driven like a session (it is a [`Machine`]), and simulates as time passes. A newcomer gets the state first.
///
/// ```
/// use core::time::Duration;
/// use samestep_session::{Match, Role, SessionConfig};
/// use samestep_sync::{Events, Input, Inputs, Live, Lockstep, LockstepConfig, PlayerId, Replicate, Simulation, Tick, Wire};
///
/// #[derive(Clone, Default, PartialEq, Debug, Wire)]
/// struct Jump(bool);
///
/// impl Input for Jump {
///     fn predict(&self) -> Self {
///         Jump(false)
///     }
/// }
///
/// #[derive(Clone, Replicate)]
/// struct Meadow {
///     jumps: u32,
/// }
///
/// impl Simulation for Meadow {
///     type Input = Jump;
///     type Event = ();
///     const NAME: &'static str = "meadow";
///
///     fn step(&mut self, inputs: &Inputs<'_, Jump>, _: &mut Events<()>) {
///         self.jumps += inputs.iter().filter(|(_, jump)| jump.0).count() as u32;
///     }
/// }
///
/// let config = SessionConfig::new("meadow", 1).player("Ann");
/// let model = Lockstep::new(LockstepConfig::default())?;
/// let world = Live::new(Meadow { jumps: 0 });
/// let mut game = Match::new(Duration::ZERO, config, Role::Host, [1; 32], model, world)?;
/// game.session_mut().start(Duration::ZERO);
/// for ms in 0..2000 {
///     let now = Duration::from_millis(ms);
///     game.handle_timeout(now);
///     if ms == 1000 {
///         game.input(now, PlayerId(0), &Jump(true));
///     }
/// }
/// assert!(game.status().tick > Tick(60));
/// assert_eq!(game.world().state().jumps, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Match<W, M> {
    session: Session,
    model: M,
    world: W,
    events: VecDeque<MatchEvent>,
    /// The input that each player of this program sent last, encoded.
    sent_inputs: BTreeMap<PlayerId, Vec<u8>>,
    /// What players of this program hold and press, until a tick samples it.
    controls: Controls,
    /// Memory to encode an input in.
    encoded: Vec<u8>,
    roster: Option<Roster>,
    roster_changed: bool,
    /// When the model gets the roster next, if it has changed by then.
    next_roster: Duration,
    /// The version of the room's members that the roster was made of.
    roster_version: u64,
    /// Numbers of players that have passed from one program to another, and until when they are nobody's.
    vacant: Vec<(PlayerId, Duration)>,
    next_latencies: Duration,
    /// When rates are read next; `None` if the model does not use them.
    next_rates: Option<Duration>,
    /// States that spectators get after the spectator delay.
    delayed: Vec<(Duration, PeerId, Vec<u8>)>,
    /// The exact state of the host, if this program stands by to take its place.
    following: Option<Standby>,
    /// The game in the log of a mesh, if it has an authority.
    in_log: InLog,
    /// What players did against the rules.
    strikes: Strikes,
    /// When the model wants to be called, by this program's clock.
    wake: Option<Duration>,
    /// The last time that passed.
    now: Duration,
}

/// An event of the room or of the game.
#[derive(Clone, PartialEq, Debug)]
pub enum MatchEvent {
    /// An event of the room.
    Session(SessionEvent),
    /// An event of the model: a desync, its repair, a peer whose machine is too slow, a state taken over.
    Model(ModelEvent),
    /// The state this program was given does not load, so it leaves.
    NotLoaded(AdoptError),
}

impl<W: World, M: Model> Match<W, M> {
    /// Opens or joins a room, as [`Session::new`] does, to play in it. The state of a newcomer is replaced by that of the game.
    pub fn new(
        now: Duration,
        mut config: SessionConfig,
        role: Role,
        seed: [u8; 32],
        model: M,
        mut world: W,
    ) -> Result<Self, SetupError> {
        config.initial_state = true;
        config.description = Some(GameDescription::of(&model, &world));
        config.may_host = config.may_host.map(|may| may && world.begin_twin());
        world.end_twin();
        let session = Session::new(now, config, role, seed)?;
        Ok(Self::with_session(now, session, model, world))
    }

    fn with_session(now: Duration, mut session: Session, model: M, world: W) -> Self {
        session.answer_holds();
        if model.has_authority() {
            session.follow_game();
        }
        Self {
            session,
            model,
            world,
            events: VecDeque::new(),
            sent_inputs: BTreeMap::new(),
            controls: Controls::default(),
            encoded: Vec::new(),
            roster: None,
            roster_changed: true,
            next_roster: now,
            roster_version: 0,
            vacant: Vec::new(),
            next_latencies: now,
            next_rates: Some(now),
            delayed: Vec::new(),
            following: None,
            in_log: InLog::default(),
            strikes: Strikes::default(),
            wake: Some(now),
            now,
        }
    }

    /// Sets what a player of this program holds and presses, as often as the program likes: the next tick that takes inputs samples the latest.
    ///
    /// What was pressed and released between two ticks is not lost: it is [merged](Input::merge) into the latest, or has a tick of its own
    /// before it. Controls that stay as [predicted](Input::predict) cost nothing, and are not among those
    /// [given](samestep_sync::Inputs::given). False if the player does not play here, or too much waits already.
    pub fn set_controls<I: Input>(
        &mut self,
        now: Duration,
        player: PlayerId,
        controls: &I,
    ) -> bool {
        let Some(time) = self.session.time(now) else {
            return false;
        };
        if !self.session.my_players().any(|mine| mine == player) {
            return false;
        }
        let merged = self.controls.merge(player, controls);
        if let Some(separate) = &merged.separate
            && !self.give(now, time, player, separate, InputKind::Command)
        {
            return false;
        }
        if self.is_predicted(player, &merged.controls) {
            self.controls.set(player, None);
            return true;
        }
        let Ok(len) = encode_reusing(&merged.controls, &mut self.encoded) else {
            return false;
        };
        self.controls.set(player, Some(&self.encoded[..len]));
        if self.model.status().takes_input_at.is_none() {
            self.sample_controls(time);
            self.plan(now, time);
        }
        true
    }

    /// Gives a command of a player of this program: every command has a tick of its own, exactly once and in the order in which they were given.
    /// False if the player may not act now, or too many wait already.
    pub fn command<I: Input>(&mut self, now: Duration, player: PlayerId, command: &I) -> bool {
        let time = self.session.time(now);
        time.is_some_and(|time| self.give(now, time, player, command, InputKind::Command))
    }

    /// Gives a player's next input at once, for those who keep the ticks themselves: once a tick, as a bot in the lab does. What is
    /// [predicted](Input::predict) anyway is not sent. False if the player may not act now, or too many wait already.
    pub fn input<I: Input>(&mut self, now: Duration, player: PlayerId, input: &I) -> bool {
        let Some(time) = self.session.time(now) else {
            return false;
        };
        self.is_predicted(player, input) || self.give(now, time, player, input, InputKind::Controls)
    }

    fn give<I: Input>(
        &mut self,
        now: Duration,
        time: Duration,
        player: PlayerId,
        input: &I,
        kind: InputKind,
    ) -> bool {
        let Ok(len) = encode_reusing(input, &mut self.encoded) else {
            return false;
        };
        let encoded = core::mem::take(&mut self.encoded);
        let taken = self.give_encoded(time, player, &encoded[..len], kind);
        self.encoded = encoded;
        self.plan(now, time);
        taken
    }

    fn give_encoded(
        &mut self,
        time: Duration,
        player: PlayerId,
        input: &[u8],
        kind: InputKind,
    ) -> bool {
        let taken = self.model.input(time, player, input, kind);
        if taken {
            let sent = self.sent_inputs.entry(player).or_default();
            sent.clear();
            sent.extend_from_slice(input);
        }
        taken
    }

    /// Gives the model the controls that the next tick takes, if that is due.
    fn sample_controls(&mut self, time: Duration) {
        if self.controls.is_empty() {
            return;
        }
        let takes_input_at = self.model.status().takes_input_at;
        for (player, controls) in self.controls.take_due(takes_input_at, time) {
            if !self.give_encoded(time, player, &controls, InputKind::Controls) {
                // Too much waits: the next tick tries again.
                self.controls.set(player, Some(&controls));
            }
        }
    }

    /// Whether everyone predicts this input anyway, from the next tick on and until another is sent.
    fn is_predicted<I: Input>(&self, player: PlayerId, input: &I) -> bool {
        let last = self.sent_inputs.get(&player);
        let last = last.and_then(|bytes| decode_exact::<I>(bytes).ok());
        last.is_some_and(|last| last.predict() == *input) && input.predict() == *input
    }

    /// A player of this program passes the initiative on, in a game without real time.
    pub fn end_turn(&mut self, now: Duration, player: PlayerId) {
        if let Some(time) = self.session.time(now) {
            self.model.end_turn(time, player);
            self.plan(now, time);
        }
    }

    /// Has the model draw into the world the state to show at `now`. Returns false if that is the world's present state.
    pub fn draw(&mut self, now: Duration) -> bool {
        let time = self.session.time(now);
        time.is_some_and(|time| self.model.view(time, &mut self.world))
    }

    /// The world of this program.
    pub fn world(&self) -> &W {
        &self.world
    }

    /// The world of this program, to read its events. Changing its state causes a desync.
    pub fn world_mut(&mut self) -> &mut W {
        &mut self.world
    }

    /// The status of the model. While a guest's host does not answer, no other peer is named as the one waited for: all comes through the host.
    pub fn status(&self) -> Status {
        let mut status = self.model.status();
        let unanswered = self.session.host_unanswered(self.now);
        if unanswered.is_some_and(|time| time > ANSWER) {
            let host = self.session.room().authority();
            status.waiting_for = self.session.is_host_silent().then_some(host);
        }
        status
    }

    /// The model.
    pub fn model(&self) -> &M {
        &self.model
    }

    /// The model, for its own commands.
    pub fn model_mut(&mut self) -> &mut M {
        self.wake = Some(Duration::ZERO);
        &mut self.model
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The session, to start the game, chat, leave. Its events come from here.
    pub fn session_mut(&mut self) -> &mut Session {
        self.wake = Some(Duration::ZERO);
        &mut self.session
    }

    /// Replaces the state by that of a [checkpoint](World::checkpoint) while the room is being set up: the authority loads a save game, and everyone
    /// gets it. After a game, whose ticks go on, that happens before one and the same tick everywhere, a moment later.
    ///
    /// False if this program is not the authority, the game has begun, or it is no checkpoint of this game.
    pub fn load(&mut self, now: Duration, checkpoint: &[u8]) -> bool {
        let setting_up = *self.session.room().phase() == Phase::SetUp;
        if !self.session.is_authority() || !setting_up {
            return false;
        }
        let (status, time) = (self.model.status(), self.session.time(now));
        if let (true, Some(time)) = (status.running, time) {
            self.model.replace_state(time, checkpoint);
        } else if self.world.adopt(status.tick, checkpoint).is_err() {
            return false;
        } else if let Some(time) = time {
            self.model.send_state_to_all(time, &mut self.world);
        }
        self.pump(now);
        true
    }

    /// Takes a datagram that arrived at `now`.
    pub fn handle_datagram(&mut self, now: Duration, from: SocketAddr, datagram: &mut [u8]) {
        self.session.handle_datagram(now, from, datagram);
        self.pump(now);
    }

    /// Lets time pass.
    pub fn handle_timeout(&mut self, now: Duration) {
        self.session.handle_timeout(now);
        self.pump(now);
    }

    /// The next datagram to send, as [`Session::poll_transmit`].
    pub fn poll_transmit(&mut self, now: Duration, buf: &mut [u8]) -> Option<Transmit> {
        self.session.poll_transmit(now, buf)
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called next.
    pub fn poll_timeout(&mut self) -> Option<Duration> {
        let delayed = self.delayed.iter().map(|(at, ..)| *at).min();
        [self.session.poll_timeout(), self.wake, delayed]
            .into_iter()
            .flatten()
            .min()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<MatchEvent> {
        self.events.pop_front()
    }

    /// Moves messages and events between session, model and world.
    fn pump(&mut self, now: Duration) {
        self.now = now;
        self.take_events(now);
        self.follow_log(now);
        self.provide_delayed(now);
        let Some(time) = self.session.time(now) else {
            self.wake = None;
            return;
        };
        let changed = self.roster_changed && now >= self.next_roster;
        if changed || now >= self.next_latencies {
            self.update_roster(now, time);
        }
        if self.next_rates.is_some_and(|at| at <= now) {
            self.update_rates(now, time);
        }
        let certain = self.session.certain_before().map(Tick);
        self.world.set_certain(certain);
        let plays = matches!(self.session.state(), State::InSync);
        let due = self.wake.is_none_or(|wake| wake <= now)
            || self.model.poll_timeout().is_some_and(|at| at <= time);
        if plays && due {
            self.sample_controls(time);
            self.model.advance(time, &mut self.world);
        }
        self.judge(now);
        self.session.set_patience(self.model.ack_patience());
        self.ship(now, time);
        self.log_ticks(now, time);
        self.follow(now);
        self.send(now);
        self.plan(now, time);
        // Messages to oneself, and events that sending has caused.
        self.take_events(now);
    }

    /// Schedules the next call of the model; the common time is `time` now.
    fn plan(&mut self, now: Duration, time: Duration) {
        let plays = matches!(self.session.state(), State::InSync);
        let at = self.model.poll_timeout().filter(|_| plays);
        self.wake = at.map(|at| now + at.saturating_sub(time));
    }

    fn on_event(&mut self, now: Duration, event: SessionEvent) {
        let time = self.session.time(now);
        match &event {
            SessionEvent::Message {
                from,
                kind: MessageKind::MODEL,
                payload,
            } => {
                if let Some(time) = time {
                    self.model.handle_message(time, *from, payload);
                }
                return;
            }
            SessionEvent::StateWanted { peer } => {
                self.provide(now, *peer);
                return;
            }
            SessionEvent::InitialState { state } => {
                self.adopt(now, state);
                return;
            }
            SessionEvent::Starting { at } => {
                self.update_roster(now, time.unwrap_or_default());
                self.model.handle_start(time.unwrap_or_default(), *at);
            }
            SessionEvent::AuthorityChanged { authority } => self.on_authority(now, *authority),
            SessionEvent::HostSilent { .. } | SessionEvent::HostHeard => {}
            _ => self.roster_changed = true,
        }
        self.events.push_back(MatchEvent::Session(event));
    }

    /// Gives the state to a newcomer.
    fn provide(&mut self, now: Duration, peer: PeerId) {
        let time = self.session.time(now).unwrap_or_default();
        if self.session.follows_game() {
            return self.provide_followed(now, peer);
        }
        self.update_roster(now, time);
        let watches = self
            .session
            .room()
            .peer(peer)
            .is_some_and(|peer| peer.kind == PeerKind::Spectator);
        let state = self.model.checkpoint(time, peer, &mut self.world);
        let delay = self.model.spectator_delay();
        if watches && !delay.is_zero() {
            self.delayed.retain(|(_, waiting, _)| *waiting != peer);
            self.delayed.push((now + delay, peer, state));
            return;
        }
        self.session.provide_state(now, peer, &state);
    }

    fn provide_delayed(&mut self, now: Duration) {
        while let Some(at) = self.delayed.iter().position(|(at, ..)| *at <= now) {
            let (_, peer, state) = self.delayed.swap_remove(at);
            self.session.provide_state(now, peer, &state);
        }
    }

    /// Takes over the state of the game that was joined.
    fn adopt(&mut self, now: Duration, state: &[u8]) {
        let time = self.session.time(now).unwrap_or_default();
        let adopted = match self.session.follows_game() {
            true => self.adopt_followed(now, state),
            false => {
                self.update_roster(now, time);
                self.model.adopt(time, state, &mut self.world)
            }
        };
        self.sent_inputs.clear();
        match adopted {
            Ok(()) => self.session.loaded(now),
            Err(error) => {
                self.session.leave(now, &error.to_string());
                self.events.push_back(MatchEvent::NotLoaded(error));
            }
        }
        self.roster_changed = true;
    }

    /// Hands the model the roster, if it or the latencies in it have changed.
    fn update_roster(&mut self, now: Duration, time: Duration) {
        self.roster_changed = false;
        self.next_latencies = now + LATENCIES_EVERY;
        let Some(me) = self.session.me() else {
            return;
        };
        let authority = self.game_authority();
        let room = self.session.room();
        let is_mesh = room.is_mesh();
        if !is_mesh && me != authority {
            self.next_roster = now + GUESTS_EVERY;
        }
        let path_to = |peer: PeerId| {
            let matters = peer != me && (is_mesh || me == authority || peer == authority);
            let stats = matters
                .then(|| self.session.carrier_stats(now, peer))
                .flatten();
            stats.map_or((Duration::ZERO, 0), |stats| {
                (stats.rtt / 2, (stats.loss * 100.0).round() as u8)
            })
        };
        if let Some(roster) = &mut self.roster
            && roster.me == me
            && self.roster_version == room.owners_term()
            && self.vacant.is_empty()
        {
            let mut changed = false;
            for member in &mut roster.members {
                let (latency, loss) = path_to(member.peer);
                let farther =
                    latency.abs_diff(member.latency) > SAME_LATENCY.max(member.latency / 8);
                if farther || loss.abs_diff(member.loss) > SAME_LOSS {
                    (member.latency, member.loss, changed) = (latency, loss, true);
                }
            }
            if changed {
                self.model.handle_roster(time, roster);
            }
            return;
        }
        self.roster_version = room.owners_term();
        let mut members: Vec<Member> = room
            .peers()
            .iter()
            .map(|peer| {
                let (latency, loss) = path_to(peer.id);
                Member {
                    peer: peer.id,
                    players: Vec::new(),
                    in_sync: peer.presence == Presence::InSync,
                    away: peer.presence == Presence::Away,
                    watches: peer.kind == PeerKind::Spectator,
                    incarnation: peer.since,
                    latency,
                    loss,
                }
            })
            .collect();
        members.sort_by_key(|member| member.peer);
        self.vacant.retain(|(_, until)| *until > now);
        let before = self.roster.iter().flat_map(|roster| &roster.members);
        let before: BTreeMap<PlayerId, PeerId> = before
            .flat_map(|member| member.players.iter().map(|player| (*player, member.peer)))
            .collect();
        for player in room.players() {
            if before
                .get(&player.id)
                .is_some_and(|peer| *peer != player.peer)
            {
                self.vacant.push((player.id, now + VACANT));
            }
            if let Ok(at) = members.binary_search_by_key(&player.peer, |member| member.peer) {
                match self.vacant.iter().any(|vacant| vacant.0 == player.id) {
                    true => members[at].in_sync = false,
                    false => members[at].players.push(player.id),
                }
            }
        }
        self.roster_changed |= !self.vacant.is_empty();
        members
            .iter_mut()
            .for_each(|member| member.players.sort_unstable());
        let roster = Roster {
            me,
            authority,
            is_mesh,
            members,
        };
        let incarnation = |roster: &Roster| roster.member(me).map(|me| me.incarnation);
        if self.roster.as_ref().and_then(incarnation) != incarnation(&roster) {
            // Another incarnation has sent no inputs yet.
            self.sent_inputs.clear();
        }
        if self.roster.as_ref() != Some(&roster) {
            self.model.handle_roster(time, &roster);
            self.roster = Some(roster);
        }
    }

    /// Hands the model the rates that connections offer.
    fn update_rates(&mut self, now: Duration, time: Duration) {
        let mut cares = true;
        let members = self.roster.iter().flat_map(|roster| &roster.members);
        for member in members {
            if let Some(rate) = self.session.available_rate(member.peer) {
                cares = self.model.handle_rate(time, member.peer, rate);
            }
        }
        self.next_rates = cares.then_some(now + RATES_EVERY);
    }

    /// Sends the model's messages, and passes its events on.
    fn send(&mut self, now: Duration) {
        while let Some(message) = self.model.poll_message() {
            // The model itself asks again for what does not get through.
            self.session.send_bytes_to_many(
                now,
                &message.to,
                message.delivery,
                MessageKind::MODEL,
                &message.bytes,
            );
            self.model.reclaim(message);
        }
        while let Some(event) = self.model.poll_event() {
            match &event {
                ModelEvent::Adopted { .. } => self.sent_inputs.clear(),
                ModelEvent::TooSlow { peer, .. } => {
                    self.session
                        .kick(now, *peer, "the machine is too slow for this game");
                }
                ModelEvent::Desync(_) | ModelEvent::Repaired { .. } => {}
            }
            self.events.push_back(MatchEvent::Model(event));
        }
    }
}

impl<S: Simulation, M: Model> Match<Live<S>, M> {
    /// The state to draw at `now`, which moves smoothly; under a model where only the authority simulates, it lies a little
    /// in the past.
    pub fn shown(&mut self, now: Duration) -> &S {
        match self.draw(now) {
            true => self.world.drawn(),
            false => self.world.shown(now),
        }
    }
}

impl<W: World, M: Model> Machine for Match<W, M> {
    type Event = MatchEvent;

    fn handle_datagram(&mut self, now: Duration, from: SocketAddr, datagram: &mut [u8]) {
        Match::handle_datagram(self, now, from, datagram);
    }

    fn handle_timeout(&mut self, now: Duration) {
        Match::handle_timeout(self, now);
    }

    fn poll_transmit(&mut self, now: Duration, buf: &mut [u8]) -> Option<Transmit> {
        Match::poll_transmit(self, now, buf)
    }

    fn poll_timeout(&mut self) -> Option<Duration> {
        Match::poll_timeout(self)
    }

    fn poll_event(&mut self) -> Option<MatchEvent> {
        Match::poll_event(self)
    }

    fn max_packet(&self) -> usize {
        self.session.config().protocol.max_packet
    }
}
