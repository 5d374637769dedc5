//! A tick of a fight allocates nothing once it is under way.

#[path = "game/scene/mod.rs"]
mod scene;

use samestep_playable::Level;
use samestep_rawrlocks::{Controls, RawrlocksConfig};
use samestep_sync::{Events, Input, Inputs, Simulation, Tick};
use scene::Scene;

#[test]
fn a_tick_allocates_nothing() {
    let config = RawrlocksConfig {
        shrink_ticks: 120,
        ..RawrlocksConfig::for_players(1, 10)
    };
    let mut scene = Scene::with_bots(&config, &[Level::Normal; 10]);
    let mut events = Events::new();
    let (mut counted, mut happened) = (0, 0);
    let mut held = [Controls::default(); 10];
    for tick in (0..60 * 60).map(Tick) {
        for (bot, held) in scene.bots.iter_mut().zip(&mut held) {
            *held = bot.decide(tick, &scene.game).unwrap_or(held.predict());
        }
        let inputs = Inputs::new(tick, &scene.players, &held, &[]);
        let game = &mut scene.game;
        let allocated = allocation_counter::measure(|| game.step(&inputs, &mut events));
        // The list of events grows to the most that ever happened in a tick, and is the caller's.
        let emitted = events.drain().count();
        if tick.0 > 60 * 20 && emitted <= happened {
            counted += allocated.count_total;
        }
        happened = happened.max(emitted);
    }
    assert!(happened > 5, "there was a fight");
    assert!(scene.game.round().number > 2, "rounds began anew");
    assert_eq!(counted, 0);
}
