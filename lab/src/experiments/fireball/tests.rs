use std::time::Duration;

use samestep_netem::{Jitter, LinkConfig, Loss};
use samestep_sync::GameDelay;

use super::designs::{self, Design};
use super::ours;
use super::scenario::Outcome;

fn link(latency_ms: u64) -> LinkConfig {
    LinkConfig {
        latency: Duration::from_millis(latency_ms),
        ..LinkConfig::default()
    }
}

/// A link that loses every tenth packet and has 10 ms of jitter.
fn bad_link(latency_ms: u64) -> LinkConfig {
    LinkConfig {
        loss: Loss::Bernoulli(0.1),
        jitter: Jitter {
            amount: Duration::from_millis(10),
            ..Jitter::default()
        },
        ..link(latency_ms)
    }
}

fn ours(delay_ms: u64, link: &LinkConfig, tries: u64, seed: u64) -> Outcome {
    let delay = GameDelay::Constant(Duration::from_millis(delay_ms));
    ours::play(delay, [link, link], tries, seed, false).unwrap()
}

fn theirs(design: Design, delay_ms: u64, link: &LinkConfig, tries: u64, seed: u64) -> Outcome {
    let delay = Duration::from_millis(delay_ms);
    designs::play(design, delay, [link, link], tries, seed).unwrap()
}

#[test]
fn within_the_delay_both_judge_every_try_alike_in_the_same_place() {
    for latency_ms in [25, 50] {
        for seed in [1, 2] {
            let outcome = ours(50, &link(latency_ms), 200, seed);
            assert!(outcome.hits > 200 / 5, "{} hits", outcome.hits);
            assert_eq!(outcome.agreed, outcome.tries);
            assert!(outcome.apart.max() <= Some(0.1), "{:?}", outcome.apart);
            assert!(outcome.events_apart_ms.max() <= Some(1.0));
        }
    }
}

#[test]
fn beyond_the_delay_and_without_one_agreement_is_no_less_than_published() {
    for (delay_ms, latency_ms, published) in [
        (50, 100, 90.0),
        (50, 250, 44.0),
        (0, 25, 94.3),
        (0, 50, 90.8),
    ] {
        let outcome = ours(delay_ms, &link(latency_ms), 200, 3);
        assert!(outcome.agreement() >= published);
    }
    let outcome = ours(50, &bad_link(25), 200, 4);
    assert!(outcome.agreement() >= 99.0, "{}", outcome.agreement());
}

/// The design that was built, without the noise of real machines, is near its published figures where latency decides.
#[test]
fn the_published_design_is_near_its_figures() {
    for (delay_ms, latency_ms, agreement, apart) in [
        (50, 25, 99.79, 0.47),
        (50, 50, 99.62, 0.86),
        (50, 100, 90.0, 9.9),
        (50, 250, 44.0, 37.0),
        (0, 25, 94.3, 5.0),
        (0, 50, 90.8, 9.7),
    ] {
        let outcome = theirs(Design::Position, delay_ms, &link(latency_ms), 1000, 5);
        let off = (outcome.agreement() - agreement).abs();
        assert!(off <= 8.0, "{off} from {agreement} %");
        let off = (outcome.apart.mean().unwrap() - apart).abs();
        assert!(off <= 1.0 + apart / 10.0, "{off} from {apart} units");
    }
}

/// The three designs that were discussed beside it: all do within the delay, none beyond it, and those that send no absolute places suffer from loss.
#[test]
fn the_designs_that_were_discussed_compare() {
    for design in [Design::History, Design::Pairs, Design::Frames] {
        let near = theirs(design, 50, &link(25), 500, 6).agreement();
        assert!(near >= 97.0, "{design:?}: {near}");
        let far = theirs(design, 50, &link(250), 500, 7).agreement();
        assert!(far <= 80.0, "{design:?}: {far}");
        let bad = theirs(design, 50, &bad_link(25), 500, 8).agreement();
        assert!((90.0..100.0).contains(&bad), "{design:?}: {bad}");
    }
}
