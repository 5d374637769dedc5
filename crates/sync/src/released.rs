//! Players whose place in the room was given up, until the game has seen them gone.
//!
//! The room gives a free place to the next newcomer, whose player then has the same number. Who only compared numbers would not notice that somebody left,
//! and the newcomer would go on with the other's character and score.

use std::collections::BTreeSet;

use crate::input::Attendance;
use crate::{PeerId, PlayerId, Roster};

/// Players that have left, though somebody else may have their number already.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ReleasedPlayers(BTreeSet<PlayerId>);

impl ReleasedPlayers {
    /// Notes who had a place in one roster and has not kept it in the next. Peer ids are not given again so soon, so that they tell owners apart.
    pub(crate) fn note(&mut self, before: &Roster, roster: &Roster) {
        let owned = before.members.iter().flat_map(owners);
        let kept: BTreeSet<(PlayerId, PeerId)> = roster.members.iter().flat_map(owners).collect();
        let released = owned.filter(|owned| !kept.contains(owned));
        self.0.extend(released.map(|(player, _)| player));
    }

    /// The game simulates a tick with this attendance: who is neither present nor away in it is gone for all.
    pub(crate) fn on_attendance(&mut self, attendance: &Attendance) {
        self.0.retain(|player| attendance.knows(*player));
    }

    /// It is announced from which tick on a player is gone: whoever has its number then is another.
    pub(crate) fn take(&mut self, player: PlayerId) -> bool {
        self.0.remove(&player)
    }

    pub(crate) fn contains(&self, player: PlayerId) -> bool {
        self.0.contains(&player)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// A roster as it was between those who left and whoever came in their place.
    pub(crate) fn without(&self, roster: &Roster) -> Roster {
        let mut without = roster.clone();
        for member in &mut without.members {
            member.players.retain(|player| !self.0.contains(player));
        }
        without
    }
}

fn owners(member: &crate::Member) -> impl Iterator<Item = (PlayerId, PeerId)> {
    member.players.iter().map(|player| (*player, member.peer))
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::Member;

    /// A room in which each of these peers has a player.
    fn roster(players: &[(u16, u16)]) -> Roster {
        let members = players.iter().map(|(peer, player)| Member {
            peer: PeerId(*peer),
            players: vec![PlayerId(*player)],
            in_sync: true,
            away: false,
            watches: false,
            incarnation: 1,
            latency: Duration::ZERO,
            loss: 0,
        });
        Roster {
            me: PeerId(0),
            authority: PeerId(0),
            is_mesh: false,
            members: members.collect(),
        }
    }

    #[test]
    fn a_number_that_is_given_again_is_another_player() {
        let mut released = ReleasedPlayers::default();
        released.note(&roster(&[(0, 0), (1, 1)]), &roster(&[(0, 0), (2, 1)]));
        assert!(released.contains(PlayerId(1)) && !released.contains(PlayerId(0)));
        let between = released.without(&roster(&[(0, 0), (2, 1)]));
        assert_eq!(between.members[0].players, [PlayerId(0)]);
        assert_eq!(between.members[1].players, []);

        let mut attendance = Attendance::default();
        attendance.join(PlayerId(0));
        attendance.join(PlayerId(1));
        released.on_attendance(&attendance);
        assert!(released.contains(PlayerId(1)), "the game has it still");
        attendance.leave(PlayerId(1));
        released.on_attendance(&attendance);
        assert!(released.is_empty());
    }

    #[test]
    fn who_is_away_keeps_its_number() {
        let (here, mut away) = (roster(&[(0, 0), (1, 1)]), roster(&[(0, 0), (1, 1)]));
        away.members[1].away = true;
        let mut released = ReleasedPlayers::default();
        released.note(&here, &away);
        assert!(released.is_empty());
        released.note(&away, &roster(&[(0, 0)]));
        assert!(released.take(PlayerId(1)));
        assert!(!released.take(PlayerId(1)));
    }
}
