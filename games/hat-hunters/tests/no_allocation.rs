//! A tick allocates nothing once a match is under way.

#[path = "game/scene/mod.rs"]
mod scene;

use samestep_hat_hunters::{Controls, HatHuntersConfig, Mode};
use samestep_sync::{Events, Input, Inputs, Simulation, Tick, UpdateWindow};
use scene::Scene;

#[test]
fn a_tick_allocates_nothing() {
    for (mode, window) in [(Mode::Bushes, 0), (Mode::Elimination, 6), (Mode::Stars, 6)] {
        let mut config = HatHuntersConfig::in_mode(1, mode);
        config.rules.rounds = 20;
        config.rules.ai = 40;
        let mut scene = Scene::with_bots(&config, 4);
        let mut events = Events::new();
        let (mut counted, mut happened) = (0, 0);
        let mut held = [Controls::default(); 4];
        for tick in (0..60 * 60).map(Tick) {
            for (bot, held) in scene.bots.iter_mut().zip(&mut held) {
                *held = bot.decide(tick, &scene.game).unwrap_or(held.predict());
            }
            let window = UpdateWindow {
                ticks: window,
                predicting: false,
            };
            let inputs = Inputs::new(tick, &scene.players, &held, &[]).with_window(window);
            let game = &mut scene.game;
            let allocated = allocation_counter::measure(|| game.step(&inputs, &mut events));
            // The list of events grows to the most that ever happened in a tick, and is the caller's.
            let emitted = events.drain().count();
            if tick.0 > 60 && emitted <= happened {
                counted += allocated.count_total;
            }
            happened = happened.max(emitted);
        }
        assert!(happened > 2, "something happened");
        assert_eq!(counted, 0, "{mode:?}");
    }
}
