//! A tick of a battle allocates nothing once it is under way.

#[path = "game/scene/mod.rs"]
mod scene;

use samestep_skirmish::{Bot, SkirmishConfig};
use samestep_sync::{Events, Inputs, Simulation, Tick};
use scene::Scene;

#[test]
fn a_tick_allocates_nothing() {
    let config = SkirmishConfig::battle(1, 40, 4000);
    let mut scene = Scene::with_bots(&config);
    let mut events = Events::new();
    let all: Vec<u16> = (0..40).collect();
    let (mut counted, mut happened) = (0, 0);
    for tick in (0..60 * 40).map(Tick) {
        let decide = |bot: &mut Bot| bot.decide(tick, &scene.game).unwrap_or_default();
        let commands: Vec<_> = scene.bots.iter_mut().map(decide).collect();
        let inputs = Inputs::new(tick, &scene.players, &commands, &all);
        let game = &mut scene.game;
        let allocated = allocation_counter::measure(|| game.step(&inputs, &mut events));
        // The list of events grows to the most that ever happened in a tick, and is the caller's.
        let emitted = events.drain().count();
        if tick.0 > 60 * 10 && emitted <= happened {
            counted += allocated.count_total;
        }
        happened = happened.max(emitted);
    }
    assert!(happened > 5, "there was a battle");
    assert_eq!(counted, 0);
}
