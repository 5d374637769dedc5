//! The initiative: in a game without real time one player after the other acts.

use crate::PlayerId;

/// Which player may act, and whether it has ended its turn.
#[derive(Debug, Default)]
pub(super) struct Initiative {
    /// `None` in real time, and before the first turn.
    pub(super) holder: Option<PlayerId>,
    pub(super) turn_ended: bool,
}

impl Initiative {
    pub(super) fn may_act(&self, player: PlayerId) -> bool {
        self.holder.is_none_or(|holder| holder == player)
    }

    /// A player ends its turn. False if the turn is not its own, or over already.
    pub(super) fn end_turn(&mut self, player: PlayerId) -> bool {
        let ends = self.holder == Some(player) && !self.turn_ended;
        self.turn_ended |= ends;
        ends
    }

    /// Whether the turn is over: its holder has ended it, or is gone.
    pub(super) fn is_over(&self, players: &[PlayerId]) -> bool {
        let gone = self.holder.is_none_or(|holder| !players.contains(&holder));
        self.turn_ended || gone
    }

    /// Gives the initiative to the next of these players, which are in ascending order.
    pub(super) fn pass(&mut self, players: &[PlayerId]) {
        let after = self.holder.map_or(0, |holder| {
            players.partition_point(|player| *player <= holder)
        });
        self.holder = players.get(after).or(players.first()).copied();
        self.turn_ended = false;
    }

    /// Takes the end of the turn of a local player, to be sent to the authority.
    pub(super) fn take_ended(&mut self) -> Option<PlayerId> {
        let player = self.holder.filter(|_| self.turn_ended)?;
        *self = Initiative::default();
        Some(player)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_passes_in_the_order_of_the_players_and_over_those_who_left() {
        let mut initiative = Initiative::default();
        let all = [1, 4, 7].map(PlayerId);
        assert!(initiative.may_act(PlayerId(4)) && initiative.is_over(&all));
        initiative.pass(&all);
        assert_eq!(initiative.holder, Some(PlayerId(1)));
        assert!(!initiative.may_act(PlayerId(4)) && !initiative.end_turn(PlayerId(4)));
        assert!(initiative.end_turn(PlayerId(1)) && !initiative.end_turn(PlayerId(1)));
        initiative.pass(&all);
        assert!(initiative.is_over(&[PlayerId(1), PlayerId(7)]));
        initiative.pass(&[PlayerId(1), PlayerId(7)]);
        assert_eq!(initiative.holder, Some(PlayerId(7)));
        initiative.pass(&all);
        assert_eq!(initiative.holder, Some(PlayerId(1)));
    }
}
