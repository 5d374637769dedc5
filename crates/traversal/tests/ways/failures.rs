//! Ways that die and come back.

use crate::nat::NatKind::*;
use crate::world::{World, ms, server};
use samestep_traversal::{Path, RelayConfig, TraversalEvent};

#[test]
fn a_direct_way_that_is_cut_is_replaced_within_half_a_second_and_used_again_when_healed() {
    for kinds in [
        [FullCone, PortRestricted],
        [PortRestricted; 2],
        [Restricted, Symmetric],
    ] {
        for seed in 0..5 {
            let mut world = World::new(kinds, ms(100), 0.0, seed);
            world.start();
            world.run(ms(3000));
            let cut = world.now;
            world.cut = true;
            world.run(ms(7300));
            for program in &world.programs {
                assert_eq!(program.path(), Path::Relayed, "{kinds:?}");
                let gap = program.gap(cut - ms(100), world.now);
                assert!(gap <= ms(500), "{kinds:?}: {gap:?}");
            }
            let healed = world.now;
            world.cut = false;
            world.run(ms(4000));
            for program in &world.programs {
                assert_eq!(program.path(), Path::Direct, "{kinds:?}");
                let back = program.became(Path::Direct, healed).unwrap() - healed;
                assert!(back <= ms(3500), "{kinds:?}: {back:?}");
                let gap = program.gap(healed, world.now);
                assert!(
                    gap <= ms(17),
                    "{kinds:?}: the way back is not noticed: {gap:?}"
                );
            }
        }
    }
}

#[test]
fn a_relay_that_dies_is_noticed_by_none_who_is_direct() {
    let mut world = World::new([Restricted, PortRestricted], ms(100), 0.0, 1);
    world.start();
    world.run(ms(3000));
    let killed = world.now;
    world.relay = None;
    world.run(ms(20_000));
    for program in &world.programs {
        assert_eq!(program.path(), Path::Direct);
        assert!(program.gap(killed, world.now) <= ms(17));
        let peer = program.peer;
        assert_eq!(program.when(TraversalEvent::Lost { peer }, killed), None);
        assert_eq!(program.became(Path::Relayed, killed), None);
        let told = program
            .when(TraversalEvent::RelayLost, killed)
            .expect("told in time");
        assert!(told - killed <= ms(9000), "{:?}", told - killed);
    }
}

#[test]
fn a_relay_that_dies_is_told_to_who_needs_it_within_a_second_and_used_when_it_is_back() {
    let mut world = World::new([Symmetric; 2], ms(100), 0.0, 1);
    world.start();
    world.run(ms(3000));
    let killed = world.now;
    let relay = world.relay.take();
    drop(relay);
    world.run(ms(15_000));
    for program in &world.programs {
        let lost = TraversalEvent::Lost { peer: program.peer };
        let told = program.when(lost, killed).expect("told") - killed;
        assert!(told <= ms(1000), "{told:?}");
        assert!(program.traversal.is_lost(program.peer));
    }
    // It comes back, knows nobody, and lends other addresses, which the lobby passes on.
    let back = world.now;
    world.limit_relay(RelayConfig::new(server().ip()));
    world.run(ms(40_000));
    for program in &world.programs {
        let ready = program
            .when(TraversalEvent::RelayReady, back)
            .expect("lent again");
        let found = TraversalEvent::Found { peer: program.peer };
        let found = program.when(found, back).expect("heard again");
        println!("the relay is used {:?} after it is back", found - back);
        assert!(ready <= found, "{ready:?} {found:?}");
        assert_eq!(program.path(), Path::Relayed);
        assert!(program.gap(found, world.now) <= ms(17));
    }
}

#[test]
fn who_is_silent_on_purpose_keeps_the_way() {
    let mut world = World::new([Restricted, PortRestricted], ms(100), 0.0, 1);
    world.start();
    world.run(ms(3000));
    let quiet = world.now;
    for i in 0..2 {
        let (now, program) = (world.now, &mut world.programs[i]);
        let peer = program.peer;
        program.traversal.set_expected(now, peer, false);
        program.stop_talking();
    }
    world.run(ms(60_000));
    for program in &world.programs {
        assert_eq!(program.path(), Path::Direct);
        assert_eq!(program.became(Path::Relayed, quiet), None);
    }
}

#[test]
fn a_router_that_forgets_its_mappings_is_gone_through_again() {
    for kinds in [
        [FullCone, Restricted],
        [PortRestricted, PortRestricted],
        [Symmetric, Symmetric],
    ] {
        let mut world = World::new(kinds, ms(100), 0.0, 1);
        world.start();
        world.run(ms(3000));
        let (forgot, path) = (world.now, world.programs[0].path());
        world.programs[0].nat.forget();
        world.run(ms(10_000));
        for program in &world.programs {
            let gap = program.gap(forgot - ms(100), world.now);
            println!("{kinds:?}: silent for {gap:?}");
            assert_eq!(program.path(), path, "{kinds:?}");
            assert!(gap <= ms(1500), "{kinds:?}: {gap:?}");
        }
    }
}
