//! The ways in which a room changes.

use samestep_wire::Wire;

use crate::address::Address;
use crate::agreement::Incarnation;
use crate::config::Profile;
use crate::event::LeaveReason;
use crate::id::{MemberKey, MessageKind, NetworkId, Owner, PeerId, PlayerId};
use crate::room::{
    Ban, NetworkObject, PeerInfo, PeerKind, Phase, PlayerInfo, Presence, Room, Settings,
};
use crate::session::AgreedPassword;

/// The number of departed peers that are remembered.
const DEPARTED: usize = 64;

/// Bans that a room remembers.
const MAX_BANS: usize = 256;

/// Network objects in a room, and those of a peer that is not its authority.
const MAX_OBJECTS: usize = 4000;
const MAX_OBJECTS_OF_GUEST: usize = 1000;

/// One change. Applied by every member, in the same order.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub(crate) enum Change {
    /// Admits a peer, which begins to load.
    Joined(Newcomer),
    /// A peer that was away is back and loads again.
    Returned {
        peer: PeerId,
        sponsor: PeerId,
        sponsor_address: Option<Address>,
        address: Option<Address>,
        incarnation: Incarnation,
        /// For a peer that restarted: the numbers to count from, beyond all proposals of its former incarnation.
        #[wire(varint)]
        count_from: Option<[u32; 2]>,
    },
    /// A peer has loaded.
    InSync { peer: PeerId },
    /// A peer vanished; its slot is kept.
    Away { peer: PeerId },
    /// A peer has left for good.
    Left { peer: PeerId, reason: LeaveReason },
    /// A peer is sent away and not let in again until this session time, in microseconds: neither by its key nor from this address.
    Banned {
        peer: PeerId,
        address: Option<Address>,
        #[wire(varint)]
        until_us: u64,
        #[wire(max_len = 255)]
        words: String,
    },
    /// The name or colour of a player changes.
    Profile { player: PlayerId, profile: Profile },
    /// A player is ready, or no longer.
    Ready { player: PlayerId, ready: bool },
    /// New settings: nobody is ready for these yet.
    Settings(Settings),
    /// The game will begin.
    Start {
        #[wire(varint)]
        at_us: u64,
    },
    /// A peer votes that the game is over.
    EndVote { peer: PeerId, vote: u64 },
    /// The game is over.
    End { result: Vec<u8> },
    /// The room returns to the set-up phase.
    Rematch,
    /// Another peer becomes the authority.
    Authority { peer: PeerId },
    /// A peer becomes the tie-breaker.
    TieBreaker { peer: PeerId },
    /// An object gets a network id.
    Named(NetworkObject),
    /// A network id is freed.
    Unnamed { id: NetworkId },
    /// A confirmed action.
    Command {
        from: PeerId,
        kind: MessageKind,
        #[wire(max_len = 65_536)]
        payload: Vec<u8>,
    },
    /// An action was denied; only the requesting peer learns the reason.
    Denial,
    /// The room is closed.
    Closed {
        #[wire(max_len = 255)]
        words: String,
    },
    /// Who joins a mesh needs another password.
    Password { password: AgreedPassword },
    /// These guests of a hosted room stand by to take the host's place, at these addresses.
    Standbys {
        #[wire(max_len = 8)]
        standbys: Vec<(PeerId, Option<Address>)>,
    },
    /// A peer saw another break the rules.
    Reported {
        by: PeerId,
        against: PeerId,
        #[wire(max_len = 255)]
        words: String,
    },
    /// In a mesh whose game has an authority: a record of the game, which leads up to a tick.
    Played {
        #[wire(varint)]
        tick: u64,
        #[wire(max_len = 16_777_216)]
        record: Vec<u8>,
    },
}

impl Change {
    /// Whether it may change the room: a record of the game does not.
    pub(crate) fn is_of_room(&self) -> bool {
        !matches!(self, Change::Played { .. })
    }
}

/// A peer that is admitted.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub(crate) struct Newcomer {
    pub(crate) peer: PeerId,
    pub(crate) kind: PeerKind,
    pub(crate) sponsor: PeerId,
    /// The address at which the sponsor was reached.
    pub(crate) sponsor_address: Option<Address>,
    pub(crate) address: Option<Address>,
    pub(crate) key: MemberKey,
    pub(crate) incarnation: Incarnation,
    #[wire(max_len = 64)]
    pub(crate) players: Vec<(PlayerId, Profile)>,
}

impl Room {
    /// Applies the change at this index of the log. A change that no longer fits the room does nothing: it was proposed
    /// before others that precede it in the log.
    pub(crate) fn apply(&mut self, index: u64, change: &Change) {
        match change {
            Change::Joined(newcomer) => self.add(index, newcomer),
            Change::Returned {
                peer,
                sponsor,
                sponsor_address,
                address,
                incarnation,
                count_from,
            } => {
                self.learn_address(*sponsor, *sponsor_address);
                if let Some(info) = self.peer_mut(*peer) {
                    info.presence = Presence::Loading;
                    info.sponsor = *sponsor;
                    info.address = *address;
                    info.since = index;
                    info.incarnation = *incarnation;
                    info.settled = count_from.unwrap_or(info.settled);
                    self.begin_owners_term(index);
                }
            }
            Change::InSync { peer } => self.set_presence(index, *peer, Presence::InSync),
            Change::Away { peer } => {
                self.set_presence(index, *peer, Presence::Away);
                self.set_ready(|p| p.peer == *peer, false);
            }
            Change::Left { peer, .. } => self.remove(index, *peer),
            Change::Banned {
                peer,
                address,
                until_us,
                words,
            } => {
                if let Some(key) = self.peer(*peer).map(|p| p.key) {
                    self.ban(Ban {
                        key,
                        address: *address,
                        until_us: *until_us,
                        words: words.clone(),
                    });
                }
                self.remove(index, *peer);
            }
            Change::Profile { player, profile } => {
                if let Some(info) = self.players.iter_mut().find(|p| p.id == *player) {
                    info.profile = profile.clone();
                }
            }
            Change::Ready { player, ready } => self.set_ready(|p| p.id == *player, *ready),
            Change::Settings(settings) => {
                self.settings = settings.clone();
                self.set_ready(|_| true, false);
            }
            Change::Start { at_us } => self.phase = Phase::Playing { at_us: *at_us },
            Change::EndVote { peer, vote } => {
                if let Some(info) = self.peer_mut(*peer) {
                    info.end_vote = Some(*vote);
                }
            }
            Change::Reported { by, against, .. } => self.add_report(*by, *against),
            Change::End { result } => {
                self.games += 1;
                self.phase = Phase::Ended {
                    result: result.clone(),
                };
                self.begin_anew();
            }
            Change::Rematch => {
                self.phase = Phase::SetUp;
                self.begin_anew();
            }
            Change::Authority { peer } => self.set_authority(index, *peer),
            Change::Standbys { standbys } => {
                for (peer, address) in standbys {
                    if let Some(info) = self.peer_mut(*peer) {
                        info.address = *address;
                    }
                }
                self.standbys = standbys.iter().map(|(peer, _)| *peer).collect();
            }
            Change::TieBreaker { peer } => self.tie_breaker = *peer,
            Change::Named(thing) => self.add_object(*thing),
            Change::Unnamed { id } => self.network_objects.retain(|t| t.id != *id),
            Change::Password { password } => self.password = Some(password.clone()),
            Change::Command { .. }
            | Change::Denial
            | Change::Closed { .. }
            | Change::Played { .. } => {}
        }
    }

    fn add(&mut self, index: u64, newcomer: &Newcomer) {
        if self.peer(newcomer.peer).is_some() {
            return;
        }
        self.learn_address(newcomer.sponsor, newcomer.sponsor_address);
        self.next_peer = newcomer.peer.0.wrapping_add(1);
        self.begin_owners_term(index);
        let before = self
            .departed
            .iter()
            .position(|(key, _)| *key == newcomer.key);
        let settled = before.map_or([0; 2], |at| self.departed.remove(at).1);
        let at = self.peers.partition_point(|p| p.id < newcomer.peer);
        self.peers.insert(
            at,
            PeerInfo {
                id: newcomer.peer,
                kind: newcomer.kind,
                presence: Presence::Loading,
                address: newcomer.address,
                key: newcomer.key,
                incarnation: newcomer.incarnation,
                since: index,
                sponsor: newcomer.sponsor,
                settled,
                denied: Vec::new(),
                end_vote: None,
                reported_by: Vec::new(),
            },
        );
        for (id, profile) in &newcomer.players {
            let at = self.players.partition_point(|p| p.id < *id);
            self.players.insert(
                at,
                PlayerInfo {
                    id: *id,
                    peer: newcomer.peer,
                    profile: profile.clone(),
                    ready: false,
                },
            );
        }
    }

    /// The change at this index of the log may change owners.
    fn begin_owners_term(&mut self, index: u64) {
        self.former_owners_term = core::mem::replace(&mut self.owners_term, index);
    }

    fn set_authority(&mut self, index: u64, peer: PeerId) {
        let before = core::mem::replace(&mut self.authority, peer);
        self.begin_owners_term(index);
        if !self.mesh && before != peer {
            self.standbys.retain(|standby| *standby != peer);
            for (peer, kind) in [(before, PeerKind::Client), (peer, PeerKind::Host)] {
                if let Some(info) = self.peer_mut(peer) {
                    info.kind = kind;
                }
            }
        }
    }

    fn remove(&mut self, index: u64, peer: PeerId) {
        self.remember(peer);
        self.peers.retain(|p| p.id != peer);
        self.players.retain(|p| p.peer != peer);
        self.begin_owners_term(index);
    }

    fn ban(&mut self, ban: Ban) {
        self.bans.retain(|known| known.key != ban.key);
        if self.bans.len() == MAX_BANS {
            self.bans.remove(0);
        }
        self.bans.push(ban);
    }

    fn add_object(&mut self, thing: NetworkObject) {
        if self.network_objects.len() >= MAX_OBJECTS
            && let Some(at) = self.object_of_departed()
        {
            self.network_objects.remove(at);
        }
        let at = self
            .network_objects
            .binary_search_by_key(&thing.id, |t| t.id);
        match at {
            Ok(at) => self.network_objects[at] = thing,
            Err(at) => self.network_objects.insert(at, thing),
        }
    }

    /// The first object whose peer has left for good: when ids run out, these are freed.
    fn object_of_departed(&self) -> Option<usize> {
        let has_left = |object: &NetworkObject| matches!(object.owner, Owner::Peer(peer) if self.peer(peer).is_none());
        self.network_objects.iter().position(has_left)
    }

    /// Whether a peer may name another object.
    pub(crate) fn may_name(&self, peer: PeerId) -> bool {
        let of_it = |object: &&NetworkObject| object.owner == Owner::Peer(peer);
        let count = self.network_objects.iter().filter(of_it).count();
        let has_share = peer == self.authority || count < MAX_OBJECTS_OF_GUEST;
        let fits = self.network_objects.len() < MAX_OBJECTS || self.object_of_departed().is_some();
        has_share && fits
    }

    /// A peer that left may come back as a new one and repeat proposals that were settled long ago.
    fn remember(&mut self, peer: PeerId) {
        if let Some(info) = self.peer(peer) {
            let of = (info.key, info.settled);
            if self.departed.len() == DEPARTED {
                self.departed.remove(0);
            }
            self.departed.push(of);
        }
    }

    /// The program that opened a mesh learns its own address from those that connected to it.
    fn learn_address(&mut self, peer: PeerId, address: Option<Address>) {
        if self.mesh
            && let Some(info) = self.peer_mut(peer)
        {
            info.address = info.address.or(address);
        }
    }

    fn set_presence(&mut self, index: u64, peer: PeerId, presence: Presence) {
        if let Some(info) = self.peer_mut(peer) {
            info.presence = presence;
            self.begin_owners_term(index);
        }
    }

    fn set_ready(&mut self, whose: impl Fn(&PlayerInfo) -> bool, ready: bool) {
        for player in self.players.iter_mut().filter(|p| whose(p)) {
            player.ready = ready;
        }
    }

    fn begin_anew(&mut self) {
        self.set_ready(|_| true, false);
        for peer in &mut self.peers {
            peer.end_vote = None;
        }
    }
}

impl NetworkObject {
    /// An object created by a peer, which stays its owner on record when it leaves: [`Room::owner_of`] returns the present one.
    pub(crate) fn of(peer: PeerId, id: NetworkId, kind: u16) -> Self {
        Self {
            id,
            kind,
            owner: Owner::Peer(peer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agreement::{Member, NextView, Slot};
    use crate::room::Rules;

    fn room(mesh: bool, peers: u16) -> Room {
        let mut room = Room::new(
            [1; 16],
            "test",
            mesh,
            Rules {
                capacity: 8,
                spectators: 2,
                initial_state: false,
                start_with: Some(2),
                load_grace_us: 0,
                rejoin_grace_us: 0,
                countdown_us: 0,
                drop_after_us: None,
                standbys: 0,
            },
        );
        for n in 0..peers {
            let newcomer = Newcomer {
                peer: PeerId(n),
                kind: PeerKind::Member,
                sponsor: PeerId(0),
                sponsor_address: None,
                address: None,
                key: [n as u8; 32],
                incarnation: Incarnation(u64::from(n) + 1),
                players: vec![(PlayerId(n), Profile::named("x"))],
            };
            room.apply(u64::from(2 * n) + 1, &Change::Joined(newcomer));
            room.apply(u64::from(2 * n) + 2, &Change::InSync { peer: PeerId(n) });
        }
        room
    }

    #[test]
    fn what_the_dropped_owned_falls_to_those_who_are_here() {
        let mut room = room(true, 4);
        let owners: Vec<Owner> = (0..4).map(|n| Owner::Player(PlayerId(n))).collect();
        room.apply(20, &Change::Away { peer: PeerId(1) });
        assert_eq!((room.former_owners_term(), room.owners_term()), (8, 20));
        for owner in &owners {
            assert!(room.is_present(room.owner_of(*owner).unwrap()));
        }
        assert_eq!(room.owner_of(owners[2]), Some(PeerId(2)));
        room.apply(21, &Change::InSync { peer: PeerId(1) });
        assert_eq!(room.owner_of(owners[1]), Some(PeerId(1)));
    }

    #[test]
    fn a_hosts_room_falls_back_to_the_host() {
        let mut room = room(false, 3);
        let left = Change::Left {
            peer: PeerId(2),
            reason: LeaveReason::Silent,
        };
        room.apply(20, &left);
        assert_eq!(room.owner_of(Owner::Player(PlayerId(2))), Some(PeerId(0)));
        assert_eq!(room.lowest_free(2), [PlayerId(2), PlayerId(3)]);
    }

    #[test]
    fn new_settings_want_everybodys_consent_again() {
        let mut room = room(false, 2);
        for n in 0..2 {
            let player = PlayerId(n);
            room.apply(
                9,
                &Change::Ready {
                    player,
                    ready: true,
                },
            );
        }
        assert!(room.all_ready());
        room.apply(10, &Change::Settings(Settings::default()));
        assert!(!room.all_ready());
    }

    #[test]
    fn a_view_says_who_is_here() {
        let mut room = room(true, 3);
        let member = |n: u16, incarnation| Member {
            incarnation: Incarnation(incarnation),
            slot: Slot(n),
        };
        let next = |members: Vec<Member>| NextView {
            tie_breaker: members[0].incarnation,
            owner: members[0].incarnation,
            members,
            cuts: Vec::new(),
        };
        let of_former_life = vec![member(1, 2), member(2, 77)];
        let changes = room.changes_of_view(&next(of_former_life));
        let away = [0, 2].map(|n| Change::Away { peer: PeerId(n) });
        assert_eq!(changes[..2], away);
        assert_eq!(changes[2], Change::TieBreaker { peer: PeerId(1) });
        changes.iter().for_each(|change| room.apply(20, change));
        assert_eq!(room.tie_breaker(), PeerId(1));
        let back = room.changes_of_view(&next(vec![member(1, 2), member(0, 1)]));
        assert_eq!(back[0], Change::InSync { peer: PeerId(0) });
    }

    #[test]
    fn a_ban_holds_for_the_key_and_the_address_until_its_time() {
        let mut room = room(true, 2);
        let address: core::net::SocketAddr = "10.0.0.9:7".parse().unwrap();
        let banned = Change::Banned {
            peer: PeerId(1),
            address: Some(address.into()),
            until_us: 5_000_000,
            words: "enough".into(),
        };
        room.apply(20, &banned);
        assert!(room.peer(PeerId(1)).is_none());
        let at = core::time::Duration::from_secs;
        assert!(room.ban_of(at(4), &[1; 32], None).is_some());
        assert!(room.ban_of(at(4), &[9; 32], Some(address.ip())).is_some());
        assert!(room.ban_of(at(4), &[9; 32], None).is_none());
        assert!(room.ban_of(at(5), &[1; 32], None).is_none());
    }
}
