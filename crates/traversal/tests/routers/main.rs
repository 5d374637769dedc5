//! Real routers: hosts, routers and a relay in network namespaces, address translation by nftables, real processes and sockets.
//!
//! Needs the right to make namespaces (root), `ip` and `nft`. Where they are missing the tests say so and pass, but not in CI.
#![cfg(all(target_os = "linux", feature = "transport"))]

mod network;
mod process;
mod talker;

use network::{Network, can_run, has_coturn};
use process::{PATIENCE, Process};
use std::collections::VecDeque;
use std::time::Duration;

const KINDS: [&str; 4] = ["full cone", "restricted", "port-restricted", "symmetric"];

#[test]
#[ignore = "the others run it inside of namespaces"]
fn program() {
    let words = std::env::var("SAMESTEP_PROGRAM").expect("which one");
    talker::run(&words).expect("it runs to its end");
}

fn ms_of(text: &str) -> u64 {
    text.parse().expect("a number of milliseconds")
}

/// Both start; returns when the slower side heard the other first.
fn start(programs: &mut [Process; 2]) -> u64 {
    let descriptions = [0, 1].map(|i| programs[i].expect("description"));
    for (program, description) in programs.iter_mut().zip(descriptions.iter().rev()) {
        program.say(&format!("start {description}"));
    }
    let firsts = programs.each_mut().map(|program| {
        // The events before it count too.
        let mut before = VecDeque::new();
        let first = loop {
            let line = program.expect("");
            match line.strip_prefix("first ") {
                Some(first) => break ms_of(first),
                None => before.push_back(line),
            }
        };
        program.seen = before;
        first
    });
    firsts[0].max(firsts[1])
}

#[test]
fn every_pair_of_real_routers() {
    if !can_run() {
        return;
    }
    let mut direct = 0;
    for one in KINDS {
        for other in KINDS {
            let network = Network::new([one, other]);
            let (_relay, mut programs) = network.programs();
            let first = start(&mut programs);
            let restricted = [one, other]
                .iter()
                .all(|kind| *kind == "symmetric" || *kind == "port-restricted");
            let meets = !restricted || one == other && one == "port-restricted";
            let time = if meets {
                PATIENCE
            } else {
                Duration::from_millis(1500)
            };
            let best = programs
                .each_mut()
                .map(|program| program.within("path Direct", time));
            let best = best.map(|best| best.map(|best| ms_of(&best)));
            println!("{one} x {other}: first {first} ms, direct {best:?} ms");
            assert_eq!(
                best.map(|best| best.is_some()),
                [meets; 2],
                "{one} x {other}"
            );
            assert!(first <= 300, "{one} x {other}: {first}");
            assert!(
                best.iter().flatten().all(|best| *best <= 500),
                "{one} x {other}: {best:?}"
            );
            direct += u32::from(meets);
        }
    }
    assert_eq!(direct, 13);
}

#[test]
fn a_real_way_is_cut_and_healed_and_a_real_relay_killed() {
    if !can_run() {
        return;
    }
    let network = Network::new(["restricted", "port-restricted"]);
    let (relay, mut programs) = network.programs();
    start(&mut programs);
    for program in &mut programs {
        program.expect("settled");
        program.say("gap");
        program.expect("gap");
    }
    network.cut();
    for program in &mut programs {
        program.expect("path Relayed");
    }
    let gaps = programs.each_mut().map(|program| {
        program.say("gap");
        ms_of(&program.expect("gap"))
    });
    println!("cut: silent for {gaps:?} ms");
    assert!(gaps.iter().all(|gap| *gap <= 500), "{gaps:?}");
    network.heal();
    for program in &mut programs {
        program.expect("settled");
    }
    drop(relay);
    for program in &mut programs {
        assert_eq!(program.within("lost", Duration::from_secs(3)), None);
        program.say("gap");
        let gap = ms_of(&program.expect("gap"));
        println!("healed, then the relay killed: silent for {gap} ms");
        assert!(gap <= 200, "{gap}");
    }
}

#[test]
fn a_real_relay_is_killed_that_is_needed() {
    if !can_run() {
        return;
    }
    let network = Network::new(["symmetric", "symmetric"]);
    let (relay, mut programs) = network.programs();
    start(&mut programs);
    for program in &mut programs {
        program.say("gap");
        program.expect("gap");
    }
    drop(relay);
    for program in &mut programs {
        assert!(
            program.within("lost", Duration::from_secs(1)).is_some(),
            "told within a second"
        );
    }
}

#[test]
fn coturn_serves_as_well_as_our_relay() {
    if !can_run() || !has_coturn() {
        return;
    }
    for (kinds, direct) in [
        (["symmetric", "symmetric"], false),
        (["restricted", "port-restricted"], true),
    ] {
        let network = Network::new(kinds);
        let _coturn = network.coturn();
        let mut programs = network.talkers();
        let first = start(&mut programs);
        let best = programs
            .each_mut()
            .map(|program| program.within("path Direct", Duration::from_millis(1500)));
        println!("coturn, {kinds:?}: first {first} ms, direct {best:?} ms");
        assert!(first <= 300, "{first}");
        assert_eq!(best.map(|best| best.is_some()), [direct; 2]);
    }
}
