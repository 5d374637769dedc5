//! A tick of a fight allocates nothing once it is under way.

#[path = "game/scene/mod.rs"]
mod scene;

use samestep_sublockus::{Controls, SublockusConfig};
use samestep_sync::{Events, Input, Inputs, Simulation, Tick};
use scene::Scene;

#[test]
fn a_tick_allocates_nothing() {
    let mut scene = Scene::with_bots(&SublockusConfig::free_for_all(1, 32), 32);
    let mut events = Events::new();
    let (mut counted, mut happened) = (0, 0);
    let mut held = [Controls::default(); 32];
    for tick in (0..60 * 40).map(Tick) {
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
    assert_eq!(counted, 0);
}
