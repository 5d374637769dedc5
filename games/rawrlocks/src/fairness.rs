//! Which inputs no unmodified program gives. Speed, damage and who owns what are not claimed by anybody here: everyone works them out by the same rules from what players
//! press, and a walk that is none of the 32 headings is no input at all.

use samestep_sync::{Breach, PlayerId};

use crate::controls::Controls;
use crate::place::{ONE, Place};
use crate::rawrlocks::Rawrlocks;

/// Farther from the centre than any screen shows: an arena has at most 1000 yards, and a picture reaches a little beyond it.
const FARTHEST: i32 = 2500 * ONE;
/// A program that does not know yet that its player has cast asks again, for as long as an input takes to its effect and the effect back: a second is ample.
const UNAWARE: u32 = 60;
/// A program may expect the end of a cooldown too early by as much as its last cast came late.
const TOO_EARLY: u32 = 18;

/// How an input breaks the rules, by the state before its tick.
pub(crate) fn judge(game: &Rawrlocks, player: PlayerId, controls: &Controls) -> Option<Breach> {
    let cursor = controls.cursor.place();
    if cursor.distance(Place::CENTRE) > FARTHEST {
        return Some(Breach::Impossible("it aims farther than anybody sees"));
    }
    let ability = controls.cast?;
    let avatar = game.avatar_of(player).filter(|avatar| avatar.is_alive())?;
    let left = avatar.ready[ability as usize].saturating_sub(game.clock);
    let stats = ability.stats();
    let since = (stats.cast_ticks + stats.cooldown).saturating_sub(left);
    let is_cooling = left > TOO_EARLY && since > UNAWARE;
    is_cooling.then_some(Breach::Implausible("it casts what is still cooling down"))
}

#[cfg(test)]
mod tests {
    use samestep_sync::{Events, Inputs, Simulation, Tick};

    use super::*;
    use crate::ability::Ability;
    use crate::config::RawrlocksConfig;
    use crate::controls::Cursor;

    #[test]
    fn what_is_cooling_down_is_not_cast_and_nobody_aims_beyond_the_world() {
        let config = RawrlocksConfig {
            break_ticks: 0,
            ..RawrlocksConfig::for_players(1, 2)
        };
        let mut game = Rawrlocks::new(&config).unwrap();
        let (players, held) = ([PlayerId(0), PlayerId(1)], [Controls::default(); 2]);
        for tick in (0..5).map(Tick) {
            let inputs = Inputs::new(tick, &players, &held, &[]);
            game.step(&inputs, &mut Events::new());
        }
        let me = PlayerId(0);
        let cast = Controls::casting(Ability::Fireball, Place::CENTRE);
        assert_eq!(game.judge(me, &cast), None, "it is ready");
        let clock = game.clock();
        let set = |game: &mut Rawrlocks, left| {
            game.avatar_mut(me).expect("plays").ready = [clock + left; 4];
        };
        set(&mut game, 90);
        assert_eq!(
            game.judge(me, &cast),
            None,
            "it may not know that it has cast"
        );
        set(&mut game, 10);
        assert_eq!(
            game.judge(me, &cast),
            None,
            "it may have cast a little later"
        );
        set(&mut game, 25);
        assert!(matches!(
            game.judge(me, &cast),
            Some(Breach::Implausible(_))
        ));
        let farther = Controls {
            cursor: Cursor { x: i16::MAX, y: 0 },
            ..Controls::default()
        };
        assert!(matches!(
            game.judge(me, &farther),
            Some(Breach::Impossible(_))
        ));
    }
}
