//! One program's part in a room.

mod action;
mod admit;
mod agree;
mod apply;
mod beats;
mod contact;
mod cuts;
mod door;
mod feed;
mod game_log;
mod inbox;
mod joining;
mod life;
mod links;
mod origin;
mod patience;
mod permission;
mod propose;
mod prove;
mod receive;
mod report;
mod resume;
mod send;
mod setup;
mod standbys;
mod take_over;
mod tick;
mod time;

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use samestep_proto::{AcceptConfig, Config, Endpoint, Identity, Machine, PublicKey, Transmit};

use crate::agreement::Incarnation;
use crate::bounds::us;
use crate::channels::channels;
use crate::config::{Role, SessionConfig, SetupError, Silence, StartRule};
use crate::event::{SessionEvent, State};
use crate::id::{MemberKey, MessageKind, Owner, PeerId, PlayerId, RejoinSecret};
use crate::log::Entry;
use crate::payload::{BufferPool, Payload};
use crate::room::{Change, Newcomer, PeerKind, Room, Rules};
use crate::secret::Secrets;
use action::Acts;
pub use action::Verdict;
use admit::Admissions;
use agree::Mesh;
use contact::Contact;
pub use contact::{PeerRoute, PeerStats};
pub(crate) use door::AgreedPassword;
pub use door::SetPasswordError;
use feed::HostedLog;
pub(crate) use game_log::Logged;
use inbox::Inbox;
use joining::Joining;
use links::Links;
use propose::{Askers, Proposals};
pub use resume::ResumeError;
pub use send::{SendError, To};
use standbys::Standbys;
pub(crate) use standbys::{Shipment, Shipped};
use tick::Timers;
use time::CommonTime;

/// One program's part in a room: a server, a hosting player, a client, a spectator or a member of a mesh.
///
/// It does no IO: drive it like an [`Endpoint`], which it contains. Hand over datagrams and the time, send what
/// [`poll_transmit`](Self::poll_transmit) gives, read [`poll_event`](Self::poll_event). `now` must be the same clock
/// throughout and not run backwards.
///
/// ```
/// use core::time::Duration;
/// use samestep_session::{JoinTo, Role, Session, SessionConfig, SessionEvent};
///
/// let (here, there) = ("10.0.0.1:1".parse()?, "10.0.0.2:2".parse()?);
/// let now = Duration::ZERO;
/// let config = SessionConfig::new("example", 1);
/// let mut host = Session::new(now, config.clone().player("Ann"), Role::Host, [1; 32])?;
/// let join = Role::Client(JoinTo::new(here));
/// let mut client = Session::new(now, config.player("Bo"), join, [2; 32])?;
///
/// let mut buf = [0; 1200];
/// for step in 0..10 {
///     let now = Duration::from_millis(step);
///     while let Some(sent) = client.poll_transmit(now, &mut buf) {
///         host.handle_datagram(now, there, &mut buf[..sent.len]);
///     }
///     while let Some(sent) = host.poll_transmit(now, &mut buf) {
///         client.handle_datagram(now, here, &mut buf[..sent.len]);
///     }
/// }
/// let events: Vec<_> = core::iter::from_fn(|| client.poll_event()).collect();
/// assert!(events.contains(&SessionEvent::InSync));
/// let names: Vec<_> = client.room().players().iter().map(|p| &p.profile.name).collect();
/// assert_eq!(names, ["Ann", "Bo"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Session {
    endpoint: Endpoint,
    config: SessionConfig,
    role: Role,
    state: State,
    /// This program's id in the room, and what it is known by.
    me: Option<PeerId>,
    own: OwnMember,
    room: Room,
    /// The host, or who leads the mesh, as far as known.
    leader: Option<PeerId>,
    /// The log of a hosted room, and the agreement of a mesh.
    hosted: HostedLog,
    mesh: Mesh,
    standbys: Standbys,
    links: Links,
    joining: Joining,
    admissions: Admissions,
    leading: Leading,
    requests: Requests,
    clock: CommonTime,
    inbox: Inbox,
    timers: Timers,
    traffic: Traffic,
}

/// What a program is in a room, beside its id.
struct OwnMember {
    identity: Identity,
    /// This run of the program as a member.
    incarnation: Incarnation,
    /// The log's index at which this incarnation began.
    since_index: u64,
    secrets: Secrets,
    /// The number of the next network object that this program names.
    next_object: u32,
}

/// What a leader has to decide, and by when.
#[derive(Default)]
struct Leading {
    askers: Askers,
    /// Changes that it makes as soon as it can.
    wishes: VecDeque<(PeerId, Change)>,
    /// Since when each peer has been away or loading, on this program's clock.
    absent_since: BTreeMap<PeerId, Duration>,
    /// When somebody last asked for the slot of a peer that is away.
    reclaimed_at: BTreeMap<PeerId, Duration>,
}

/// What this program has asked of the authority.
#[derive(Default)]
struct Requests {
    proposals: Proposals,
    acts: Acts,
}

/// The messages that pass through.
#[derive(Default)]
struct Traffic {
    /// Messages that a host forwards for others, by number.
    sequenced: u32,
    malformed: u64,
    refused: u64,
    buffers: BufferPool,
    scratch: Scratch,
    #[cfg(any(fuzzing, feature = "hostile"))]
    false_relay: crate::hostile::FalseRelay,
}

/// Buffers for the work on one message, kept for the next.
#[derive(Default)]
struct Scratch {
    /// A value, encoded.
    encoded: Vec<u8>,
    /// A message with its envelope.
    sealed: Vec<u8>,
    /// Messages that one that arrived has made deliverable.
    ready: Vec<(MessageKind, Payload)>,
    /// Peers that a search for a route has reached: see [`contact::next_hop`].
    reached: Vec<(PeerId, PeerId)>,
}

/// The other end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OtherEnd {
    /// A peer that has not sent its hello yet.
    Stranger { until: Duration },
    /// The member this program wants to join through.
    Sponsor,
    /// A newcomer whose admission is being decided.
    Newcomer { key: MemberKey },
    /// Says to be a member of the mesh that this program does not know yet: the change may still be in flight.
    Linking {
        from: PeerId,
        incarnation: Incarnation,
        until: Duration,
    },
    /// A member of a mesh this program is connecting to.
    Dialled(PeerId),
    /// A peer of the room.
    Peer(PeerId),
    /// Between a standby of a hosted room and another guest.
    Standby(PeerId),
    /// A connection that is given up: messages that still arrive are ignored.
    Gone,
}

impl Session {
    /// Opens a room or begins to join one; [`InSync`](SessionEvent::InSync) or [`Left`](SessionEvent::Left) tells how that
    /// ends. Keys and secrets follow from `seed`: take it from the operating system, or from a test's seed.
    pub fn new(
        now: Duration,
        config: SessionConfig,
        role: Role,
        seed: [u8; 32],
    ) -> Result<Self, SetupError> {
        config.check(&role)?;
        let mut secrets = Secrets::new(seed);
        let mut protocol = protocol(&config, &role);
        let rejoin = role.join().and_then(|join| join.rejoin);
        let identity = match (rejoin, protocol.identity.take()) {
            (Some(secret), _) => Identity::from_secret(secret.0),
            (None, Some(identity)) => identity,
            (None, None) => Identity::from_secret(secrets.next()),
        };
        protocol.identity = Some(identity.clone());
        let endpoint = Endpoint::new(protocol, secrets.next()).map_err(SetupError::Protocol)?;
        let room_id = secrets.next_room_id();
        let room = Room::new(room_id, &config.room_name, role.is_mesh(), rules(&config));
        let incarnation = secrets.next_incarnation();
        let admissions = Admissions::new(secrets.next());
        let clock = CommonTime::new(now, &config.clock, &role);
        let mut session = Self {
            endpoint,
            role,
            state: State::Connecting,
            me: None,
            mesh: Mesh::new(&room),
            standbys: Standbys::default(),
            room,
            leader: None,
            hosted: HostedLog::default(),
            links: Links::default(),
            joining: Joining::default(),
            leading: Leading::default(),
            requests: Requests::default(),
            clock,
            inbox: Inbox::default(),
            timers: Timers::new(now),
            traffic: Traffic::default(),
            own: OwnMember {
                identity,
                incarnation,
                since_index: 0,
                next_object: 0,
                secrets,
            },
            admissions,
            config,
        };
        match session.role.join() {
            None => session.open(now),
            Some(join) => {
                let address = join.address;
                let doors: Vec<SocketAddr> = join.doors.iter().map(|(door, _)| *door).collect();
                session.know_doors(now, doors);
                session
                    .dial_home(now, address)
                    .map_err(SetupError::Connect)?;
            }
        }
        Ok(session)
    }

    /// Opens the room with this program as its first peer and leader.
    fn open(&mut self, now: Duration) {
        let me = PeerId(0);
        self.me = Some(me);
        self.leader = Some(me);
        self.room.apply(0, &Change::Authority { peer: me });
        let names: Vec<_> = self.config.players.clone();
        let mut players = Vec::new();
        for (at, asked) in names.iter().enumerate() {
            let others = players.iter().map(|(_, profile)| profile);
            let profile = crate::room::distinct(asked, others);
            players.push((PlayerId(at as u16), profile));
        }
        let joined = Change::Joined(self.newcomer(me, players));
        self.clock.keeper.open(now, me);
        if self.role.is_mesh() {
            // The room begins with its founder in it; the first view says that it is in sync.
            let origin = None;
            let change = joined;
            self.apply(now, 0, Entry { origin, change });
            let member = agree::member(self.own.incarnation, me);
            self.state = State::Loading;
            self.mesh.found(now, &self.room, member);
            return self.pump_agreement(now);
        }
        for change in [joined, Change::InSync { peer: me }] {
            self.append(now, None, change);
        }
    }

    fn newcomer(&self, peer: PeerId, players: Vec<(PlayerId, crate::config::Profile)>) -> Newcomer {
        Newcomer {
            peer,
            kind: self.kind(),
            sponsor: peer,
            sponsor_address: None,
            address: None,
            key: *self.own.identity.public_key().as_bytes(),
            incarnation: self.own.incarnation,
            players,
        }
    }

    fn kind(&self) -> PeerKind {
        match self.role {
            Role::Host => PeerKind::Host,
            Role::Client(_) => PeerKind::Client,
            Role::Spectator(_) => PeerKind::Spectator,
            Role::Introducer | Role::Peer(_) => PeerKind::Member,
        }
    }

    /// Takes a datagram that arrived at `now`. It is decrypted in place.
    pub fn handle_datagram(&mut self, now: Duration, from: SocketAddr, datagram: &mut [u8]) {
        let _span = self.span();
        let by = self.endpoint.handle_datagram(now, from, datagram);
        self.pump(now);
        if let Some(by) = by {
            self.read_exchanges(now, by);
        }
        if self.joining.host_silent {
            self.watch_host(now);
        }
    }

    /// Lets time pass. Call it when `poll_timeout` is due; calling it more often does no harm.
    pub fn handle_timeout(&mut self, now: Duration) {
        let _span = self.span();
        if self.endpoint.poll_timeout().is_some_and(|at| at <= now) {
            self.endpoint.handle_timeout(now);
        }
        self.pump(now);
        if self.timers.wake.is_some_and(|at| at <= now) {
            self.on_time(now);
        }
    }

    /// When `handle_timeout` wants to be called next.
    pub fn poll_timeout(&mut self) -> Option<Duration> {
        match (self.endpoint.poll_timeout(), self.timers.wake) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Fills `buf`, which holds at least `max_packet` bytes, with the next datagram to send. Call until `None`.
    pub fn poll_transmit(&mut self, now: Duration, buf: &mut [u8]) -> Option<Transmit> {
        self.endpoint.poll_transmit(now, buf)
    }

    /// The next event.
    ///
    /// Questions ([`Request`](SessionEvent::Request), [`Check`](SessionEvent::Check)) come after everything that has
    /// happened, so that they are decided with all of it in view.
    pub fn poll_event(&mut self) -> Option<SessionEvent> {
        self.inbox.poll()
    }

    /// The state of this program.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The room as agreed. Empty until [`Joined`](SessionEvent::Joined).
    pub fn room(&self) -> &Room {
        &self.room
    }

    /// This program's id, once it has been accepted.
    pub fn me(&self) -> Option<PeerId> {
        self.me
    }

    /// The players on this program.
    pub fn my_players(&self) -> impl Iterator<Item = PlayerId> {
        let me = self.me;
        self.room
            .players()
            .iter()
            .filter(move |p| Some(p.peer) == me)
            .map(|p| p.id)
    }

    /// Whether this program is the authority, which orders the changes: the host, or the leader of a mesh.
    pub fn is_authority(&self) -> bool {
        self.leads()
            && self.me == Some(self.room.authority())
            && matches!(self.state, State::InSync | State::Loading)
    }

    /// Whether this program may change what this owner owns.
    pub fn owns(&self, owner: Owner) -> bool {
        self.me.is_some() && self.room.owner_of(owner) == self.me
    }

    /// How far the room's log has been applied here: equal numbers mean equal rooms.
    pub fn log_index(&self) -> u64 {
        match self.room.is_mesh() {
            true => self.mesh.index(),
            false => self.hosted.log.last(),
        }
    }

    /// The secret to pass to [`JoinTo::rejoin`](crate::JoinTo::rejoin), to take the same slot again after a restart.
    pub fn rejoin_secret(&self) -> RejoinSecret {
        RejoinSecret(*self.own.identity.secret())
    }

    /// The static key by which others know this program: a host's is part of how its room is named.
    pub fn public_key(&self) -> PublicKey {
        self.own.identity.public_key()
    }

    /// The settings.
    pub fn config(&self) -> &SessionConfig {
        &self.config
    }

    /// The part this program takes.
    pub fn role(&self) -> &Role {
        &self.role
    }

    /// The protocol underneath.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Whether everybody has heard what this program had to say, and nothing more will be: after leaving, the program can
    /// end.
    pub fn is_quiet(&self) -> bool {
        matches!(self.state, State::Left(_)) && self.endpoint.is_quiet()
    }

    /// The number of malformed messages of other programs, which were dropped.
    pub fn malformed(&self) -> u64 {
        self.traffic.malformed
    }

    /// The number of messages that their senders may not send, or that found no room, which were dropped.
    pub fn refused(&self) -> u64 {
        self.traffic.refused
    }

    /// The span that the session's log lines are in.
    fn span(&self) -> tracing::span::EnteredSpan {
        tracing::info_span!("session", me = self.me.map(|me| me.0)).entered()
    }

    fn emit(&mut self, event: SessionEvent) {
        event.log();
        self.inbox.push(event);
    }

    /// Makes sure `on_time` is called by then.
    fn wake_at(&mut self, at: Duration) {
        self.timers.wake_at(at);
    }

    fn leads(&self) -> bool {
        match self.room.is_mesh() {
            true => self.me.is_some() && self.mesh.leads(),
            false => matches!(self.role, Role::Host),
        }
    }
}

impl Machine for Session {
    type Event = SessionEvent;

    fn handle_datagram(&mut self, now: Duration, from: SocketAddr, datagram: &mut [u8]) {
        Session::handle_datagram(self, now, from, datagram);
    }

    fn handle_timeout(&mut self, now: Duration) {
        Session::handle_timeout(self, now);
    }

    fn poll_transmit(&mut self, now: Duration, buf: &mut [u8]) -> Option<Transmit> {
        Session::poll_transmit(self, now, buf)
    }

    fn poll_timeout(&mut self) -> Option<Duration> {
        Session::poll_timeout(self)
    }

    fn poll_event(&mut self) -> Option<SessionEvent> {
        Session::poll_event(self)
    }

    fn max_packet(&self) -> usize {
        self.endpoint.config().max_packet
    }
}

impl core::fmt::Debug for Session {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Session")
            .field("me", &self.me)
            .field("state", &self.state)
            .field("leader", &self.leader)
            .field("log", &self.log_index())
            .finish_non_exhaustive()
    }
}

fn rules(config: &SessionConfig) -> Rules {
    Rules {
        capacity: config.capacity as u16,
        spectators: config.spectators.min(4096) as u16,
        initial_state: config.initial_state,
        start_with: match config.start {
            StartRule::AllReady { players } => Some(players.min(4096) as u16),
            StartRule::AtOnce | StartRule::ByAuthority => None,
        },
        load_grace_us: us(config.load_grace),
        rejoin_grace_us: us(config.rejoin_grace),
        countdown_us: us(config.countdown),
        drop_after_us: match config.silence {
            Silence::Drop { after } => Some(us(after)),
            Silence::Wait => None,
        },
        standbys: config.standbys.unwrap_or(0).min(7) as u8,
    }
}

/// The settings of the endpoint a session runs on.
fn protocol(config: &SessionConfig, role: &Role) -> Config {
    let mut protocol = config.protocol.clone();
    protocol.channels = channels();
    protocol.accept = match role {
        Role::Client(_) if config.may_host == Some(true) => Some(accept(config, role)),
        Role::Client(_) | Role::Spectator(_) => None,
        Role::Host | Role::Introducer | Role::Peer(_) => Some(accept(config, role)),
    };
    protocol
}

/// How connections are accepted.
fn accept(config: &SessionConfig, role: &Role) -> AcceptConfig {
    let accept = config.protocol.accept.clone().unwrap_or_default();
    // A few more than the room holds, so that the room itself can refuse a newcomer when it is full.
    let capacity = config.capacity + config.spectators + 16;
    AcceptConfig {
        capacity,
        per_address: accept.per_address.max(capacity),
        password: config.password_as(role),
        ..accept
    }
}
