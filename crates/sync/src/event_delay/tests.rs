//! Event delay between models alone, in virtual time.

mod duel;
mod following;

use core::time::Duration;

use super::*;
use crate::{Model, PeerId, PlayerId, Tick};
use duel::DuelRoom;

const TICK: Duration = Duration::from_nanos(16_666_667);

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn constant(delay_ms: u64) -> EventDelay {
    EventDelay::new(EventDelayConfig {
        delay: GameDelay::Constant(ms(delay_ms)),
        ..EventDelayConfig::default()
    })
    .unwrap()
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let refused = |change: fn(&mut EventDelayConfig)| {
        let mut config = EventDelayConfig::default();
        change(&mut config);
        EventDelay::new(config).unwrap_err()
    };
    assert_eq!(
        refused(|it| it.delay = GameDelay::Constant(Duration::from_secs(3))),
        EventDelayError::Delay
    );
    let (min, max) = (ms(2), ms(1));
    let reversed = GameDelay::Dynamic { min, max };
    let config = EventDelayConfig {
        delay: reversed,
        ..EventDelayConfig::default()
    };
    assert_eq!(EventDelay::new(config).unwrap_err(), EventDelayError::Delay);
    assert_eq!(
        refused(|it| it.packets_per_second = 0),
        EventDelayError::Packets
    );
    assert_eq!(
        refused(|it| it.repair_window = 901),
        EventDelayError::RepairWindow
    );
    assert_eq!(
        refused(|it| it.repair_window = 3),
        EventDelayError::RepairWindow
    );
    let lockstep = EventDelayError::Lockstep(LockstepError::Keep);
    assert_eq!(refused(|it| it.keep = 40_000), lockstep);
}

#[test]
fn within_the_delay_everyone_judges_every_shot_alike_at_once() {
    for (peers, latency_ms) in [(2, 5), (2, 25), (2, 50), (5, 50)] {
        let mut room = DuelRoom::of(peers, true, latency_ms, || constant(50));
        room.run(3000);
        let shots = room.fight(1, 20_000);
        let verdicts = room.verdicts();
        assert!(
            shots > 100 && verdicts.shots == shots,
            "{shots} {verdicts:?}"
        );
        assert!(verdicts.hits > 10, "{verdicts:?}");
        assert_eq!(
            verdicts.disagreements, 0,
            "{peers} {latency_ms}: {verdicts:?}"
        );
        for peer in &room.peers {
            let status = peer.model.status();
            assert_eq!(
                (status.rollbacks, status.stalled_ticks),
                (0, 0),
                "{status:?}"
            );
            assert_eq!(status.waiting_for, None);
        }
        room.assert_same();
    }
}

#[test]
fn an_input_takes_effect_after_the_delay_on_all_peers_in_the_same_instant() {
    let mut room = DuelRoom::of(3, true, 30, || constant(50));
    room.run(3007);
    for round in 0..40 {
        let (made, at) = (room.now, round % 3);
        let before = room.shots_seen();
        room.shoot(at);
        while room.shots_seen() == before {
            room.run(1);
        }
        assert_eq!(room.shots_seen(), vec![before[0] + 1; 3], "all at once");
        let took = room.now - made;
        // A turn is closed up to a tick later, and a little earlier than its delay requires.
        let most = ms(50) + TICK + TICK / 4 + ms(1);
        assert!((ms(50)..=most).contains(&took), "{took:?}");
        room.run(40 + round as u64);
    }
    let told = room.peers[0].model.status().delay;
    assert!(told.abs_diff(ms(50) + TICK * 3 / 4) < ms(1), "{told:?}");
}

#[test]
fn beyond_the_delay_nobody_waits_and_late_inputs_are_repaired() {
    for (mesh, latency_ms) in [(true, 100), (true, 250), (false, 60)] {
        let mut room = DuelRoom::of(3, mesh, latency_ms, || constant(50));
        room.run(3000);
        room.fight(2, 20_000);
        room.run(1000);
        room.assert_on_time();
        room.assert_same();
        let verdicts = room.verdicts();
        assert!(verdicts.disagreements > 0, "{verdicts:?}");
        for peer in &room.peers {
            // 250 ms are 15 ticks, of which the delay hides three; inputs that are missing meanwhile make saved states rarer.
            let status = peer.model.status();
            assert!(status.max_rollback_depth <= 20, "{status:?}");
        }
        let guest = room.peers[2].model.status();
        assert!(
            guest.rollbacks > 20 && guest.waiting_for.is_some(),
            "{guest:?}"
        );
    }
}

#[test]
fn loss_and_reordering_corrupt_nothing_and_stop_nobody() {
    for mesh in [true, false] {
        let mut room = DuelRoom::of(4, mesh, 20, || constant(80));
        (room.loss, room.jitter_ms) = (20, 40);
        room.pass_roster_on();
        room.run(3000);
        let shots = room.fight(3, 20_000);
        room.assert_on_time();
        (room.loss, room.jitter_ms) = (0, 0);
        room.run(2000);
        room.assert_same();
        let confirmed = room.confirmed_shots();
        assert_eq!(confirmed[0].len(), shots);
        assert!(confirmed.iter().all(|of_one| *of_one == confirmed[0]));
    }
}

#[test]
fn one_who_vanishes_stops_nobody_before_or_after_the_room_notices() {
    for gone in [0, 2] {
        let mut room = DuelRoom::of(4, true, 20, || constant(50));
        room.run(3000);
        room.fight(4, 2000);
        room.peers[gone].here = false;
        for second in 0..9 {
            room.fight_on(50 + second, 1000);
            room.assert_on_time();
            let status = room.peers[3].model.status();
            let named = (second > 1).then_some(PeerId(gone as u16));
            assert_eq!(status.waiting_for, named.or(status.waiting_for));
        }
        room.exclude(&[gone], if gone == 0 { 1 } else { 0 });
        room.fight(5, 3000);
        room.run(500);
        room.assert_on_time();
        for at in (0..4).filter(|at| *at != gone) {
            let status = room.peers[at].model.status();
            assert_eq!(status.waiting_for, None, "{status:?}");
            assert!(status.tick.since(status.confirmed_tick) < 20, "{status:?}");
            let present = &room.peers[at].world.state().walkers;
            assert_eq!(present.len(), 3);
        }
        room.assert_same();
    }
}

#[test]
fn one_who_joins_late_takes_part() {
    for mesh in [true, false] {
        let mut room = DuelRoom::of(4, mesh, 40, EventDelay::default);
        room.peers[3].here = false;
        room.pass_roster_on();
        room.run(3000);
        room.fight(6, 3000);
        room.peers[3].here = true;
        room.hand_over(3);
        room.pass_roster_on();
        room.run(1000);
        let before = room.peers[0].world.state().shots;
        for _ in 0..5 {
            assert!(room.shoot(3));
            room.run(300);
        }
        room.fight(7, 3000);
        room.run(1000);
        assert!(room.peers[0].world.state().shots >= before + 5);
        room.assert_same();
    }
}

#[test]
fn inputs_after_a_pause_do_not_take_effect_in_the_past() {
    let mut room = DuelRoom::of(2, true, 20, || constant(50));
    room.run(3000);
    room.peers[1].here = false;
    room.run(3000);
    room.peers[1].here = true;
    let (now, tick) = (room.now, room.peers[0].model.status().tick);
    assert!(room.shoot(1));
    room.run(1000);
    let confirmed = room.confirmed_shots();
    assert_eq!(confirmed[0], confirmed[1]);
    let [(at, _)] = confirmed[0][..] else {
        panic!("{confirmed:?}");
    };
    assert!(at > tick, "{at} {tick} {now:?}");
    assert_eq!(room.peers[0].model.status().rollbacks, 0);
    room.assert_same();
}

#[test]
fn packets_leave_at_once_for_inputs_and_seldom_without() {
    let mut room = DuelRoom::of(2, true, 20, || constant(50));
    room.run(4000);
    let idle = room.count_packets(10_000);
    assert!((20..=50).contains(&idle), "{idle} in ten seconds");
    let sent = room.messages_sent;
    room.shoot(0);
    // The turn is closed within a tick.
    room.run(17);
    assert!(room.messages_sent > sent, "at once");
}

#[test]
fn what_others_say_of_the_delay_is_bounded_and_taken_from_players_alone() {
    let mut room = DuelRoom::of(2, true, 20, EventDelay::default);
    room.run(3000);
    // Tag 22, a need of 2^49 µs, a delay of 2^49 µs.
    let mut announcement = vec![22];
    for _ in 0..2 {
        announcement.extend([0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1]);
    }
    let now = room.now;
    let model = &mut room.peers[0].model;
    model.handle_message(now, PeerId(1), &announcement);
    assert_eq!(model.status().refused, 0);
    model.handle_message(now, PeerId(7), &announcement);
    model.handle_message(now, PeerId(1), &announcement[..9]);
    assert_eq!(model.status().refused, 2);
    room.run(100);
    let delay = room.peers[0].model.game_delay();
    assert!(delay < ms(60), "it grows gradually: {delay:?}");
    room.run(5000);
    assert!(room.peers[0].model.game_delay() <= ms(300));
    let mut rollback = crate::Rollback::default();
    rollback.handle_message(now, PeerId(1), &announcement);
    assert_eq!(rollback.status().refused, 1);
    let shot = room.shoot(1);
    room.run(1000);
    assert!(shot && room.peers[0].world.state().shots == 1);
    assert_eq!(
        room.peers[0].world.state().walkers.as_slice()[0].player,
        PlayerId(0)
    );
    assert!(room.peers[0].model.status().confirmed_tick > Tick(400));
}
