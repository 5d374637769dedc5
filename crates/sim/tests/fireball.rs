//! Fireballs thrown at a walker: how far two peers agree on what is hit, under event delay and under the published designs it grew out of.
//!
//! One peer's character walks along a line, the other's throws a fireball across it, so that one in three hits. Both judge by what they simulate, and the
//! first verdict of each counts, before any correction. The published figures (a peer-to-peer action game with a delay of 50 ms, two real machines)
//! have the noise of these machines: 3 ms between executions.

#[path = "fireball/designs.rs"]
mod designs;
#[path = "fireball/ours.rs"]
mod ours;
#[path = "fireball/scenario.rs"]
mod scenario;

use std::time::Duration;

use designs::Design;
use samestep_netem::{Jitter, LinkConfig, Loss};
use scenario::{Outcome, max, mean};

const TRIES: u64 = 200;
const DELAY: Duration = Duration::from_millis(50);

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

fn show(what: &str, outcome: &Outcome) {
    println!(
        "{what}: {:.1} % of {} agreed, {} hits, apart {:.2} of at most {:.2} units, throws {:.1} of at most {:.1} ms",
        outcome.agreement(),
        outcome.tries,
        outcome.hits,
        mean(&outcome.apart),
        max(&outcome.apart),
        mean(&outcome.throw_apart_ms),
        max(&outcome.throw_apart_ms),
    );
}

#[test]
fn within_the_delay_both_judge_every_try_alike_in_the_same_place() {
    for latency_ms in [25, 50] {
        for seed in [1, 2] {
            let outcome = ours::play(DELAY, &link(latency_ms), TRIES, seed).unwrap();
            show(&format!("ours, {latency_ms} ms, seed {seed}"), &outcome);
            assert!(outcome.hits > TRIES / 5, "{} hits", outcome.hits);
            assert_eq!(outcome.agreed, outcome.tries);
            assert_eq!(max(&outcome.apart), 0.0);
            assert!(max(&outcome.throw_apart_ms) <= 3.0);
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
        let delay = Duration::from_millis(delay_ms);
        let outcome = ours::play(delay, &link(latency_ms), TRIES, 3).unwrap();
        show(
            &format!("ours, delay {delay_ms}, {latency_ms} ms"),
            &outcome,
        );
        assert!(outcome.agreement() >= published);
    }
    let outcome = ours::play(DELAY, &bad_link(25), TRIES, 4).unwrap();
    show("ours, 25 ms, a bad link", &outcome);
    assert!(outcome.agreement() >= 99.0);
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
        let delay = Duration::from_millis(delay_ms);
        let outcome = designs::play(Design::Position, delay, &link(latency_ms), 1000, 5).unwrap();
        show(
            &format!("theirs, delay {delay_ms}, {latency_ms} ms"),
            &outcome,
        );
        let off = (outcome.agreement() - agreement).abs();
        assert!(off <= 8.0, "{off} from {agreement} %");
        let off = (mean(&outcome.apart) - apart).abs();
        assert!(off <= 1.0 + apart / 10.0, "{off} from {apart} units");
    }
}

/// The three designs that were discussed beside it: all do within the delay, none beyond it, and those that send no absolute places suffer from loss.
#[test]
fn the_designs_that_were_discussed_compare() {
    for design in [Design::History, Design::Pairs, Design::Frames] {
        let near = designs::play(design, DELAY, &link(25), 500, 6).unwrap();
        show(&format!("{design:?}, 25 ms"), &near);
        assert!(near.agreement() >= 97.0);
        let far = designs::play(design, DELAY, &link(250), 500, 7).unwrap();
        show(&format!("{design:?}, 250 ms"), &far);
        assert!(far.agreement() <= 80.0);
        let bad = designs::play(design, DELAY, &bad_link(25), 500, 8).unwrap();
        show(&format!("{design:?}, 25 ms, a bad link"), &bad);
    }
}
