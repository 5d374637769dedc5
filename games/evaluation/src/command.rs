//! The commands of players, and the scripted players of an experiment.

use samestep_sync::{Input, PlayerId, Tick, Wire, random};

use crate::entity::{COLOURS, WORLD};
use crate::rules::Evaluation;

/// Commands that [`script`] gives per second and player.
pub const COMMANDS_PER_SECOND: u32 = 8;

/// The command of a player in one tick: mostly none.
///
/// It applies to `count` entities from number `first` on, those among them that are the player's own. It takes 6 bytes at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Wire)]
pub enum Command {
    /// Nothing.
    #[default]
    None,
    /// They walk to a place.
    Move {
        /// The first entity's number.
        first: u16,
        /// How many.
        #[wire(range = 1..=32)]
        count: u8,
        /// Where to.
        #[wire(range = 0..=1023)]
        x: u16,
        /// Where to.
        #[wire(range = 0..=1023)]
        y: u16,
    },
    /// They change their colour.
    Paint {
        /// The first entity's number.
        first: u16,
        /// How many.
        #[wire(range = 1..=32)]
        count: u8,
        /// Which one.
        #[wire(range = 0..=7)]
        colour: u8,
    },
}

impl Input for Command {
    fn predict(&self) -> Self {
        Command::None
    }
}

/// The scripted players of an experiment: two commands in any fifteen ticks, at different ticks for each player.
///
/// A player without entities gives commands too, which do nothing: it is the same load.
pub fn script(seed: u64, player: PlayerId, tick: Tick, game: &Evaluation) -> Option<Command> {
    let phase = random::hash(seed, u64::from(player.0), u64::MAX) % 15;
    if (tick.0 + phase) * 2 % 15 >= 2 {
        return None;
    }
    let dice = random::hash(seed, tick.0, u64::from(player.0));
    let bits = |from: u32, below: u64| ((dice >> from) & 0xffff) % below;
    let own = game.share_of(player).unwrap_or_default();
    let len = own.len().max(1) as u64;
    let at = bits(0, len);
    let count = 1 + bits(16, 8).min(len - at - 1) as u8;
    let first = (own.start as u64 + at) as u16;
    Some(match bits(20, 4) {
        0 => Command::Paint {
            first,
            count,
            colour: bits(32, u64::from(COLOURS)) as u8,
        },
        _ => Command::Move {
            first,
            count,
            x: bits(32, u64::from(WORLD)) as u16,
            y: bits(48, u64::from(WORLD)) as u16,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_commands_a_second_spread_over_the_ticks() {
        let game = Evaluation::new(5, 40, 1024);
        let mut at_tick = [0; 60];
        for player in (0..40).map(PlayerId) {
            let mut given = 0;
            for tick in 0..600 {
                if script(5, player, Tick(tick), &game).is_some() {
                    given += 1;
                    at_tick[(tick % 60) as usize] += 1;
                }
            }
            assert_eq!(given, 10 * COMMANDS_PER_SECOND);
        }
        // 40 players × 80 commands over 60 ticks: 53 each, were it perfectly even.
        assert!(at_tick.iter().all(|given| (10..=140).contains(given)));
    }

    #[test]
    fn players_command_their_own() {
        let game = Evaluation::new(5, 7, 1000);
        for player in (0..7).map(PlayerId) {
            for tick in (0..600).map(Tick) {
                let (Some(Command::Move { first, count, .. })
                | Some(Command::Paint { first, count, .. })) = script(5, player, tick, &game)
                else {
                    continue;
                };
                for number in first..first + u16::from(count) {
                    assert_eq!(game.entity(number).map(|e| e.player), Some(player));
                }
            }
        }
    }
}
