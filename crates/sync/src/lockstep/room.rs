//! The room as the model sees it: who takes part, and how their inputs travel.

use core::time::Duration;

use super::Pace;
use crate::timeline::SourceId;
use crate::{Member, PeerId, PlayerId, Roster};

/// How inputs travel from a player to everyone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Topology {
    /// The authority is the only input source: it puts everyone's inputs into its turns, and nobody waits for anybody else.
    #[default]
    Sequenced,
    /// Every peer is an input source, and the host relays the batches of each to the others.
    Hub,
    /// Every peer is an input source and sends its batches to everyone.
    Mesh,
}

impl Topology {
    fn decide(roster: Option<&Roster>, predicts: bool, pace: Pace) -> Topology {
        match roster.map(|roster| roster.is_mesh) {
            _ if pace != Pace::RealTime => Topology::Sequenced,
            Some(true) => Topology::Mesh,
            _ if !predicts => Topology::Sequenced,
            Some(false) => Topology::Hub,
            None => Topology::Mesh,
        }
    }
}

/// The roster, and what follows from it.
#[derive(Debug)]
pub(super) struct Room {
    pub(super) roster: Option<Roster>,
    /// Decided when the roster or the settings change.
    pub(super) topology: Topology,
    /// Whether this program only observes.
    pub(super) is_spectator: bool,
}

impl Room {
    pub(super) fn new(pace: Pace) -> Room {
        Room {
            roster: None,
            topology: Topology::decide(None, false, pace),
            is_spectator: false,
        }
    }

    /// Takes over a roster and returns the one before.
    pub(super) fn set_roster(&mut self, roster: &Roster) -> Option<Roster> {
        self.is_spectator = roster.member(roster.me).is_some_and(|me| me.watches);
        self.roster.replace(roster.clone())
    }

    /// Decides the topology anew: the roster, the pace or the prediction has changed.
    pub(super) fn decide_topology(&mut self, predicts: bool, pace: Pace) {
        self.topology = Topology::decide(self.roster.as_ref(), predicts, pace);
    }

    pub(super) fn is_sequenced(&self) -> bool {
        self.topology == Topology::Sequenced
    }

    pub(super) fn is_mesh(&self) -> bool {
        self.roster.as_ref().is_some_and(|roster| roster.is_mesh)
    }

    pub(super) fn is_hub(&self) -> bool {
        self.topology == Topology::Hub
    }

    pub(super) fn me(&self) -> Option<PeerId> {
        self.roster.as_ref().map(|roster| roster.me)
    }

    pub(super) fn authority(&self) -> Option<PeerId> {
        self.roster.as_ref().map(|roster| roster.authority)
    }

    pub(super) fn is_authority(&self) -> bool {
        let roster = self.roster.as_ref();
        roster.is_some_and(|roster| roster.me == roster.authority)
    }

    /// The authority, if that is another peer.
    pub(super) fn other_authority(&self) -> Option<PeerId> {
        self.authority().filter(|_| !self.is_authority())
    }

    pub(super) fn members(&self) -> impl Iterator<Item = &Member> + Clone {
        self.roster.iter().flat_map(|roster| &roster.members)
    }

    /// Members that have the state and play.
    pub(super) fn playing(&self) -> impl Iterator<Item = &Member> + Clone {
        self.members()
            .filter(|member| member.in_sync && !member.watches)
    }

    /// All peers but this one.
    pub(super) fn others(&self) -> impl Iterator<Item = &Member> + Clone {
        let me = self.me();
        self.members().filter(move |member| Some(member.peer) != me)
    }

    /// Players of the members that play, in ascending order.
    pub(super) fn players(&self) -> Vec<PlayerId> {
        let players = self.playing().flat_map(|member| &member.players);
        let mut players: Vec<PlayerId> = players.copied().collect();
        players.sort_unstable();
        players
    }

    /// Whether a player has a place in the room, even if it is not here now.
    pub(super) fn keeps_place_of(&self, player: PlayerId) -> bool {
        self.members()
            .any(|member| member.players.contains(&player))
    }

    /// A peer as an input source, in its present incarnation.
    pub(super) fn source_id(&self, peer: PeerId) -> Option<SourceId> {
        let incarnation = self.roster.as_ref()?.member(peer)?.incarnation;
        Some(SourceId { peer, incarnation })
    }

    pub(super) fn authority_source(&self) -> Option<SourceId> {
        self.source_id(self.authority()?)
    }

    /// The maximum one-way latency from here, as far as known.
    pub(super) fn max_latency(&self) -> Duration {
        let latencies = self.members().map(|member| member.latency);
        latencies.max().unwrap_or_default()
    }

    /// The maximum loss from here, in percent, as far as known.
    pub(super) fn max_loss(&self) -> u8 {
        self.members().map(|member| member.loss).max().unwrap_or(0)
    }

    /// The two playing peers with the highest latency from here, and their latencies.
    pub(super) fn two_farthest(&self) -> Option<[(PeerId, Duration); 2]> {
        let mut farthest = [(self.me()?, Duration::ZERO); 2];
        let playing = self.others().filter(|other| !other.away && !other.watches);
        for member in playing {
            if member.latency > farthest[0].1 {
                farthest = [(member.peer, member.latency), farthest[0]];
            } else if member.latency > farthest[1].1 {
                farthest[1] = (member.peer, member.latency);
            }
        }
        Some(farthest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roster(is_mesh: bool, latencies_ms: &[u64]) -> Roster {
        let members = latencies_ms.iter().zip(0..).map(|(ms, at)| Member {
            peer: PeerId(at),
            players: vec![PlayerId(10 - at)],
            in_sync: at != 3,
            away: false,
            watches: at == 2,
            incarnation: 7,
            latency: Duration::from_millis(*ms),
            loss: at as u8,
        });
        Roster {
            me: PeerId(1),
            authority: PeerId(0),
            is_mesh,
            members: members.collect(),
        }
    }

    #[test]
    fn topology_follows_from_roster_prediction_and_pace() {
        let turns = Pace::Initiative { ticks: 5 };
        for (is_mesh, predicts, pace, topology) in [
            (false, false, Pace::RealTime, Topology::Sequenced),
            (false, true, Pace::RealTime, Topology::Hub),
            (true, false, Pace::RealTime, Topology::Mesh),
            (true, true, Pace::RealTime, Topology::Mesh),
            (true, true, turns, Topology::Sequenced),
            (false, true, turns, Topology::Sequenced),
        ] {
            let mut room = Room::new(pace);
            room.set_roster(&roster(is_mesh, &[0]));
            room.decide_topology(predicts, pace);
            assert_eq!(room.topology, topology);
        }
    }

    #[test]
    fn a_roster_says_who_plays_and_who_is_far() {
        let mut room = Room::new(Pace::RealTime);
        assert_eq!((room.me(), room.two_farthest()), (None, None));
        room.set_roster(&roster(false, &[30, 0, 90, 50, 70]));
        assert!(!room.is_spectator);
        assert_eq!(room.players(), [PlayerId(6), PlayerId(9), PlayerId(10)]);
        assert_eq!(room.max_latency(), Duration::from_millis(90));
        let [first, second] = room.two_farthest().unwrap();
        assert_eq!((first.0, second.0), (PeerId(4), PeerId(3)));
        assert_eq!(room.authority_source().unwrap().incarnation, 7);
        assert_eq!(room.other_authority(), Some(PeerId(0)));
    }
}
