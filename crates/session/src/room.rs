//! The room: what everyone in it agrees on.

mod change;
mod names;

use core::net::{IpAddr, SocketAddr};
use core::time::Duration;

use samestep_wire::Wire;

use crate::address::Address;
use crate::agreement::Incarnation;
use crate::config::Profile;
use crate::id::{MemberKey, NetworkId, Owner, PeerId, PlayerId, RoomId};
use crate::session::AgreedPassword;
pub(crate) use change::{Change, Newcomer};
pub(crate) use names::distinct;

/// The replicated state of a room: its peers, players, settings and the phase of the game. It is the same for every member.
///
/// Nobody changes it by hand. Members propose, the authority puts the changes in order, and every member applies the
/// same changes in the same order.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct Room {
    id: RoomId,
    #[wire(max_len = 64)]
    name: String,
    mesh: bool,
    pub(crate) rules: Rules,
    authority: PeerId,
    tie_breaker: PeerId,
    #[wire(varint)]
    next_peer: u16,
    peers: Vec<PeerInfo>,
    players: Vec<PlayerInfo>,
    settings: Settings,
    phase: Phase,
    network_objects: Vec<NetworkObject>,
    /// The last settled proposals of peers that left, in case they come back: the newest last.
    #[wire(max_len = 64)]
    departed: Vec<(MemberKey, [u32; 2])>,
    #[wire(varint)]
    owners_term: u64,
    #[wire(varint)]
    former_owners_term: u64,
    #[wire(varint)]
    games: u32,
    /// The password that was agreed on in a mesh, if it has been changed.
    password: Option<AgreedPassword>,
    /// Who is not let in, the newest last.
    #[wire(max_len = 256)]
    bans: Vec<Ban>,
    /// Guests of a hosted room that stand by to take the host's place.
    #[wire(max_len = 8)]
    standbys: Vec<PeerId>,
}

/// Who is not let in, and until when.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub(crate) struct Ban {
    pub(crate) key: MemberKey,
    /// The address, with any port.
    pub(crate) address: Option<Address>,
    /// Session time in microseconds.
    #[wire(varint)]
    pub(crate) until_us: u64,
    #[wire(max_len = 255)]
    pub(crate) words: String,
}

/// The rules set by the program that opened the room.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub(crate) struct Rules {
    #[wire(varint)]
    pub(crate) capacity: u16,
    #[wire(varint)]
    pub(crate) spectators: u16,
    pub(crate) initial_state: bool,
    /// Players needed if the game begins once all are ready.
    pub(crate) start_with: Option<u16>,
    #[wire(varint)]
    pub(crate) load_grace_us: u64,
    #[wire(varint)]
    pub(crate) rejoin_grace_us: u64,
    #[wire(varint)]
    pub(crate) countdown_us: u64,
    /// How long a member of a mesh may be silent; `None` waits.
    pub(crate) drop_after_us: Option<u64>,
    /// How many standbys a host keeps: whoever takes over keeps as many.
    pub(crate) standbys: u8,
}

/// How a peer takes part.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum PeerKind {
    /// Opened the room and is its authority.
    Host,
    /// Plays in a host's room.
    Client,
    /// Watches.
    Spectator,
    /// Member of a mesh.
    Member,
}

/// Whether a peer is here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum Presence {
    /// Accepted; its initial state is on the way.
    Loading,
    /// Taking part.
    InSync,
    /// Vanished; its slot is kept for a while.
    Away,
}

/// One program taking part.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct PeerInfo {
    /// Its id.
    pub id: PeerId,
    /// How it takes part.
    pub kind: PeerKind,
    /// Whether it is here.
    pub presence: Presence,
    /// Its address; only in a mesh, and of standbys.
    pub(crate) address: Option<Address>,
    /// The static key by which it is known: whoever else says to be this peer is not believed.
    pub(crate) key: MemberKey,
    /// Its present run as a member, or its last one.
    pub(crate) incarnation: Incarnation,
    /// The log's index at which it joined or came back: a later one is another incarnation.
    #[wire(varint)]
    pub(crate) since: u64,
    /// The member it joined through.
    pub(crate) sponsor: PeerId,
    /// The last of its proposals that became a change, in each lane.
    #[wire(varint)]
    pub(crate) settled: [u32; 2],
    /// The last of its actions that were denied, so that it learns of them after an absence.
    #[wire(max_len = 128, varint)]
    pub(crate) denied: Vec<u32>,
    /// Its vote that the game is over: a hash of the result.
    pub(crate) end_vote: Option<u64>,
    /// Who saw it break the rules.
    #[wire(max_len = 255)]
    pub(crate) reported_by: Vec<PeerId>,
}

/// A player of the room.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct PlayerInfo {
    /// Its id.
    pub id: PlayerId,
    /// The program it plays on.
    pub peer: PeerId,
    /// Name and colour, different from everybody else's.
    pub profile: Profile,
    /// Ready to begin with the settings as they are.
    pub ready: bool,
}

/// What is agreed before a game.
#[derive(Clone, PartialEq, Eq, Debug, Default, Wire)]
pub struct Settings {
    /// The map.
    #[wire(max_len = 255)]
    pub map: String,
    /// The mode.
    #[wire(max_len = 255)]
    pub mode: String,
    /// Further settings of the game's own.
    #[wire(max_len = 255)]
    pub values: Vec<(String, String)>,
}

/// How far the game is.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub enum Phase {
    /// Settings are agreed on, players get ready.
    SetUp,
    /// The game begins, or began, at this time of the common clock.
    Playing {
        /// Session time in microseconds.
        #[wire(varint)]
        at_us: u64,
    },
    /// Over, with a result all know.
    Ended {
        /// As agreed.
        result: Vec<u8>,
    },
}

impl Phase {
    /// When the game begins or began, in session time.
    pub fn start(&self) -> Option<Duration> {
        match self {
            Self::Playing { at_us } => Some(Duration::from_micros(*at_us)),
            _ => None,
        }
    }
}

/// Something that has a network id.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub struct NetworkObject {
    /// Its network id.
    pub id: NetworkId,
    /// What it is, in the game's own numbers.
    #[wire(varint)]
    pub kind: u16,
    /// Its owner.
    pub owner: Owner,
}

impl Room {
    pub(crate) fn new(id: RoomId, name: &str, mesh: bool, rules: Rules) -> Self {
        Self {
            id,
            name: name.into(),
            mesh,
            rules,
            authority: PeerId(0),
            tie_breaker: PeerId(0),
            next_peer: 0,
            peers: Vec::new(),
            players: Vec::new(),
            settings: Settings::default(),
            phase: Phase::SetUp,
            network_objects: Vec::new(),
            departed: Vec::new(),
            owners_term: 0,
            former_owners_term: 0,
            games: 0,
            password: None,
            bans: Vec::new(),
            standbys: Vec::new(),
        }
    }

    /// Why a key, or an address, is not let in at a time of the common clock, if it is not.
    pub(crate) fn ban_of(
        &self,
        time: Duration,
        key: &MemberKey,
        ip: Option<IpAddr>,
    ) -> Option<&Ban> {
        let is_meant = |ban: &&Ban| {
            let banned = ban.address.map(|address| SocketAddr::from(address).ip());
            ban.key == *key || (ip.is_some() && banned == ip)
        };
        let lasts = |ban: &&Ban| u128::from(ban.until_us) > time.as_micros();
        self.bans.iter().filter(lasts).find(is_meant)
    }

    pub(crate) fn set_id(&mut self, id: RoomId) {
        self.id = id;
    }

    /// A member goes on without the others: the room has another id, and the member is another incarnation.
    pub(crate) fn go_on_as(&mut self, id: RoomId, peer: PeerId, incarnation: Incarnation) {
        self.id = id;
        if let Some(info) = self.peer_mut(peer) {
            info.incarnation = incarnation;
        }
    }

    /// The password that was agreed on in a mesh, if it has been changed.
    pub(crate) fn password(&self) -> Option<&AgreedPassword> {
        self.password.as_ref()
    }

    /// The guests of a hosted room that stand by to take the host's place.
    pub fn standbys(&self) -> &[PeerId] {
        &self.standbys
    }

    /// The number by which this room differs from every other one, also from the one it went on from.
    pub fn id(&self) -> &RoomId {
        &self.id
    }

    /// The room's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether everyone talks to everyone.
    pub fn is_mesh(&self) -> bool {
        self.mesh
    }

    /// Players the room holds.
    pub fn capacity(&self) -> usize {
        usize::from(self.rules.capacity)
    }

    /// The peer that orders the changes: the host, or the leader of a mesh.
    pub fn authority(&self) -> PeerId {
        self.authority
    }

    /// The tie-breaker: the member whose half goes on if the members fall into two equal parts.
    pub fn tie_breaker(&self) -> PeerId {
        self.tie_breaker
    }

    /// All peers by id, including those that are away.
    pub fn peers(&self) -> &[PeerInfo] {
        &self.peers
    }

    /// A peer.
    pub fn peer(&self, id: PeerId) -> Option<&PeerInfo> {
        let at = self.peers.binary_search_by_key(&id, |p| p.id).ok()?;
        Some(&self.peers[at])
    }

    pub(crate) fn peer_mut(&mut self, id: PeerId) -> Option<&mut PeerInfo> {
        let at = self.peers.binary_search_by_key(&id, |p| p.id).ok()?;
        Some(&mut self.peers[at])
    }

    /// Peers that are here: loading or in sync.
    pub fn present(&self) -> impl Iterator<Item = &PeerInfo> {
        self.peers.iter().filter(|p| p.presence != Presence::Away)
    }

    /// Whether a peer is here.
    pub fn is_present(&self, id: PeerId) -> bool {
        self.peer(id).is_some_and(|p| p.presence != Presence::Away)
    }

    /// All players, by id.
    pub fn players(&self) -> &[PlayerInfo] {
        &self.players
    }

    /// A player.
    pub fn player(&self, id: PlayerId) -> Option<&PlayerInfo> {
        let at = self.players.binary_search_by_key(&id, |p| p.id).ok()?;
        Some(&self.players[at])
    }

    /// A peer's players.
    pub fn players_of(&self, peer: PeerId) -> impl Iterator<Item = &PlayerInfo> {
        self.players.iter().filter(move |p| p.peer == peer)
    }

    /// What is agreed for the next game.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// How far the game is.
    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    /// How many games have ended in this room.
    pub fn games(&self) -> u32 {
        self.games
    }

    /// The objects that were given a network id while playing.
    pub fn network_objects(&self) -> &[NetworkObject] {
        &self.network_objects
    }

    /// Which peer may change what this owner owns: the same answer on every member with the same room.
    ///
    /// What belongs to an absent peer is taken over by one that is in sync: by the host in a host's room, in a
    /// mesh by the members in turn, so that the load is spread.
    pub fn owner_of(&self, owner: Owner) -> Option<PeerId> {
        let (wanted, turn) = match owner {
            Owner::Authority => (Some(self.authority), 0),
            Owner::Player(player) => (self.player(player).map(|p| p.peer), player.0),
            Owner::Peer(peer) => (Some(peer), peer.0),
        };
        if let Some(peer) = wanted.filter(|peer| self.is_present(*peer)) {
            return Some(peer);
        }
        if !self.mesh {
            return Some(self.authority);
        }
        let heirs: Vec<PeerId> = self
            .peers
            .iter()
            .filter(|p| p.presence == Presence::InSync)
            .map(|p| p.id)
            .collect();
        let heir = usize::from(turn).checked_rem(heirs.len())?;
        Some(heirs[heir])
    }

    /// Rises whenever a peer comes or goes, so that messages of an earlier owner can be told from those of a later one.
    pub fn owners_term(&self) -> u64 {
        self.owners_term
    }

    /// [`owners_term`](Room::owners_term) before it last rose: who saw that one has missed no owner.
    pub fn former_owners_term(&self) -> u64 {
        self.former_owners_term
    }

    /// How many more players fit.
    pub(crate) fn free_places(&self) -> usize {
        self.capacity().saturating_sub(self.players.len())
    }

    pub(crate) fn free_spectator_places(&self) -> usize {
        let taken = self
            .peers
            .iter()
            .filter(|p| p.kind == PeerKind::Spectator)
            .count();
        usize::from(self.rules.spectators).saturating_sub(taken)
    }

    /// The lowest free player ids, for `count` newcomers.
    pub(crate) fn lowest_free(&self, count: usize) -> Vec<PlayerId> {
        (0..u16::MAX)
            .map(PlayerId)
            .filter(|id| self.player(*id).is_none())
            .take(count)
            .collect()
    }

    /// The id of the next newcomer: ids are counted round, so that one is used again as late as can be, and never while a peer or a network object has
    /// it. `None` if all are in use.
    pub(crate) fn free_peer(&self) -> Option<PeerId> {
        let named = |peer: PeerId| {
            let object = |object: &NetworkObject| matches!(object.id, NetworkId::Dynamic { by, .. } | NetworkId::Connection(by) if by == peer);
            self.network_objects.iter().any(object)
        };
        let ids = (0..=u16::MAX).map(|after| PeerId(self.next_peer.wrapping_add(after)));
        ids.into_iter()
            .find(|peer| self.peer(*peer).is_none() && !named(*peer))
    }

    /// Whether a peer that is not known here may have joined after everything that is: its id is one of the next half (serial number arithmetic, RFC
    /// 1982).
    pub(crate) fn is_peer_to_come(&self, peer: PeerId) -> bool {
        let after = peer.0.wrapping_sub(self.next_peer);
        self.peer(peer).is_none() && after <= u16::MAX / 2
    }

    /// Whether everyone who plays and is not away is ready, and there are enough.
    pub(crate) fn all_ready(&self) -> bool {
        let present = || self.players.iter().filter(|p| self.is_present(p.peer));
        self.rules.start_with.is_some_and(|least| {
            self.phase == Phase::SetUp
                && present().count() >= usize::from(least).max(1)
                && present().all(|p| p.ready)
        })
    }

    /// Notes that a peer has reported another; once.
    pub(crate) fn add_report(&mut self, by: PeerId, against: PeerId) {
        let is_here = self.peer(by).is_some() && by != against;
        if let Some(info) = self.peer_mut(against).filter(|_| is_here)
            && !info.reported_by.contains(&by)
            && info.reported_by.len() < 255
        {
            info.reported_by.push(by);
        }
    }

    /// The members of a mesh that have reported another, if these are more than half of those who take part, itself included.
    pub(crate) fn convicted_by(&self, peer: PeerId) -> Option<usize> {
        let takes_part =
            |p: &&PeerInfo| p.presence == Presence::InSync && p.kind != PeerKind::Spectator;
        let here: Vec<PeerId> = self.peers.iter().filter(takes_part).map(|p| p.id).collect();
        let reports = &self.peer(peer)?.reported_by;
        let votes = here.iter().filter(|p| reports.contains(p)).count();
        (self.is_mesh() && votes * 2 > here.len()).then_some(votes)
    }

    /// The result that more than half of those in sync agree on, if they do.
    pub(crate) fn agreed_end(&self) -> Option<u64> {
        let here: Vec<&PeerInfo> = self
            .peers
            .iter()
            .filter(|p| p.presence == Presence::InSync && p.kind != PeerKind::Spectator)
            .collect();
        here.iter().filter_map(|p| p.end_vote).find(|vote| {
            let votes = here.iter().filter(|p| p.end_vote == Some(*vote)).count();
            votes * 2 > here.len()
        })
    }
}
