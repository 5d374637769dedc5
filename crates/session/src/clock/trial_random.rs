//! Clocks over links with anything wrong with them.

use samestep_netem::{Distribution, LinkConfig, Loss, Rng, Spike};

use super::trial::{Trial, detour, link, ms};

/// Any jitter up to 10 ms, loss up to 20 %, spikes, reordering or none, a change of route of up to 100 ms in one or both
/// directions and back, drift up to 100 ppm, silence, any rate of exchanges.
fn any(rng: &mut Rng) -> Trial {
    let distribution = Distribution::ALL[rng.range(0..5) as usize];
    let mut base = LinkConfig {
        keep_order: rng.chance(0.3),
        ..link(1.0 + 100.0 * rng.f64(), 10.0 * rng.f64(), distribution)
    };
    if rng.chance(0.5) {
        base.loss = Loss::Bernoulli(0.2 * rng.f64());
    }
    if rng.chance(0.5) {
        base.spikes.push(Spike {
            chance: 0.08 * rng.f64(),
            min: ms(20.0),
            max: ms(20.0 + 100.0 * rng.f64()),
        });
    }
    let longer = 5.0 + 95.0 * rng.f64();
    let (up, down) = match rng.range(0..5) {
        0 => (0.0, 0.0),
        1 => (longer, 0.0),
        2 => (0.0, longer),
        3 => (longer, longer),
        _ => (longer, longer * rng.f64()),
    };
    let from = 5.0 + 70.0 * rng.f64();
    let until = from + 20.0 + 70.0 * rng.f64();
    Trial {
        up: detour(&base, up, from, until),
        down: detour(&base, down, from, until),
        drift_ppm: 100.0 * (2.0 * rng.f64() - 1.0),
        offset: 20_000.0 * (2.0 * rng.f64() - 1.0),
        seconds: 180.0,
        rate: if rng.chance(0.5) {
            0.0
        } else {
            2.0 + 58.0 * rng.f64()
        },
        silence: if rng.chance(0.2) {
            (50.0, 70.0)
        } else {
            (0.0, 0.0)
        },
    }
}

#[test]
fn whatever_happens_the_clock_is_within_a_few_milliseconds() {
    let mut errors = Vec::new();
    for seed in 0..100 {
        let course = any(&mut Rng::new(seed)).run(seed);
        assert_eq!(course.backwards, 0, "seed {seed}");
        let worst = course.worst(10.0);
        assert!(worst <= 7.0, "seed {seed}: {worst} ms");
        errors.push(worst);
    }
    errors.sort_by(f64::total_cmp);
    assert!(errors[50] <= 1.0 && errors[90] <= 3.0, "{errors:?}");
}
