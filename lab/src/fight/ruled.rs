//! A fight in two parts: everyone owns its movement, and one host decides the rules.

mod rules;

use std::time::Duration;

use samestep_catalog::sublockus::{Act, Controls, Sublockus, SublockusConfig, SublockusEvent};
use samestep_session::{Match, PlayerId};
use samestep_sim::Topology;
use samestep_sync::{Beside, Both, Either, Live, Model, Rollback, StateSync, TimedEvent};

use super::played::play_in;
use super::{FightConfig, FightScenario, Played, ScriptedGame};
use crate::display::ShownWorld;
use crate::testmatch::PlayedWorld;
use rules::{Order, REFEREE, Rules, Standing};

/// How characters move, and what becomes of their shots.
///
/// The movement is that of Sublockus where nobody can be hurt. Every attack there is a shot here. Who has fallen walks on, but neither shoots nor is hit.
type RuledFight = Both<Live<Sublockus>, Live<Rules>>;
type Given = Either<Controls, Order>;
/// Newcomers cannot be hurt for this long, which is as long as there may be: in ticks.
const A_DAY: u32 = 24 * 60 * 60 * 60;

/// Plays the fight of the other models in a mesh: its movement under rollback, its rules by state synchronisation under the one who leads the room.
pub fn play_ruled(setting: &FightConfig, seed: u64) -> Result<Played, String> {
    let ScriptedGame { inputs, .. } = FightScenario::Fight.scripted(setting, seed)?;
    let peaceful = SublockusConfig {
        grace: A_DAY,
        items: false,
        ..SublockusConfig::free_for_all(seed, setting.players)
    };
    let movement = Sublockus::new(&peaceful).map_err(|error| error.to_string())?;
    let world = move || {
        let rules = Live::without_recording(Rules::new(&movement));
        // The true paths are those of the recording: whoever predicts has others' wrong at first.
        Both::new(Live::new(movement.clone()), rules)
    };
    let model = || Beside::new(Rollback::default(), StateSync::default());
    play_in(setting, Topology::Mesh, inputs, world, seed, model)
}

impl PlayedWorld for RuledFight {
    type Game = Sublockus;

    fn state(&self) -> &Sublockus {
        self.first.state()
    }

    fn give<M: Model>(
        game: &mut Match<Self, M>,
        now: Duration,
        player: PlayerId,
        controls: &Controls,
    ) -> bool {
        let movement = Controls {
            cast: None,
            act: Act::None,
            ..*controls
        };
        let moved = game.input(now, player, &Given::First(movement));
        let shot = Self::shoots(controls).then(|| Order {
            shot: Some(controls.aim),
            places: Vec::new(),
        });
        moved & shot.is_none_or(|shot| game.input(now, player, &Given::Second(shot)))
    }
}

impl ShownWorld for RuledFight {
    fn live(&self) -> &Live<Sublockus> {
        &self.first
    }

    fn poll_event(&mut self) -> Option<TimedEvent<SublockusEvent>> {
        // What the rules say is seen in their state.
        while self.second.poll_event().is_some() {}
        self.first.poll_event()
    }

    fn shown<M: Model>(game: &mut Match<Self, M>, now: Duration) -> &Sublockus {
        game.draw(now);
        game.world().first.drawn()
    }

    /// Who leads the room tells the rules where everyone is.
    fn on_tick<M: Model>(game: &mut Match<Self, M>, now: Duration) {
        if game.session().me() != Some(game.session().room().authority()) {
            return;
        }
        let state = game.world().first.state();
        let there = state.characters().as_slice().iter();
        let there = there.filter(|character| character.is_in(state.clock()));
        let places = there.map(|character| Standing {
            player: character.player,
            x: character.place().x,
            y: character.place().y,
        });
        let order = Order {
            shot: None,
            places: places.collect(),
        };
        game.input(now, REFEREE, &Given::Second(order));
    }

    fn shoots(controls: &Controls) -> bool {
        controls.cast.is_some_and(|ability| ability.is_attack())
    }

    fn decided(&self, player: PlayerId) -> Option<u16> {
        let fighter = self.second.drawn().fighter(player);
        Some(fighter.map_or(0, |fighter| fighter.decided))
    }
}

#[cfg(test)]
mod tests {
    use samestep_netem::{LinkConfig, Path};

    use super::*;

    #[test]
    fn ones_own_movement_shows_at_once_and_what_came_of_a_shot_after_a_round_trip() {
        let setting = FightConfig {
            players: 4,
            path: Path::symmetric(LinkConfig {
                latency: Duration::from_millis(50),
                ..LinkConfig::default()
            }),
            uplink_bps: 1_000_000_000,
            length: Duration::from_secs(10),
            settling: Duration::from_secs(2),
        };
        let played = play_ruled(&setting, 4).unwrap();
        for (at, guest) in (1..).zip(played.guests()) {
            assert!(guest.own_ms.len() > 10, "{guest:?}");
            let own = guest.own_ms.sorted();
            assert!(own.percentile(50.0) < Some(50.0), "{guest:?}");
            assert!(guest.verdict_ms.len() > 2, "{guest:?}");
            assert!(guest.verdict_ms.mean() > Some(100.0), "{guest:?}");
            assert!(guest.verdict_ms.mean() < Some(250.0), "{guest:?}");
            assert!(played.corrections(at).is_empty(), "{guest:?}");
        }
        let host = &played.programs[0];
        assert!(host.verdict_ms.mean() < Some(60.0), "{host:?}");
        assert!(played.hurt.is_empty(), "the movement hurts nobody");
    }
}
