//! A game delay that follows the two peers that are farthest apart.

use super::duel::DuelRoom;
use super::*;

/// The delays of all peers.
fn delays(room: &DuelRoom) -> Vec<Duration> {
    let peers = room.peers.iter().filter(|peer| peer.here);
    peers.map(|peer| peer.model.game_delay()).collect()
}

fn rollbacks(room: &DuelRoom) -> u64 {
    let peers = room.peers.iter();
    peers.map(|peer| peer.model.status().rollbacks).sum()
}

/// Plays for a while and returns the largest change of a delay, for each millisecond.
fn play(room: &mut DuelRoom, seed: u64, seconds: u64) -> Duration {
    let mut largest = Duration::ZERO;
    for at in 0..seconds * 20 {
        let before = delays(room);
        room.fight_on(seed + at, 50);
        let steps = delays(room).into_iter().zip(before);
        let step = steps.map(|(after, before)| after.abs_diff(before)).max();
        largest = largest.max(step.unwrap_or_default() / 50);
    }
    largest
}

#[test]
fn all_have_the_delay_of_the_worst_pair_and_it_moves_gradually() {
    let mut room = DuelRoom::of(4, true, 30, EventDelay::default);
    room.run(2500);
    for (latency_ms, seed) in [(30, 1), (120, 1000), (10, 2000)] {
        room.delay = ms(latency_ms);
        room.pass_roster_on();
        // Batches are up to 400 ms apart, and what the delay falls to is known as late.
        let step = play(&mut room, seed, 20);
        assert!(step <= Duration::from_micros(150), "{step:?}");
        let needed = ms(latency_ms.max(20));
        for delay in delays(&room) {
            let beyond = delay.checked_sub(needed);
            assert!(beyond.is_some_and(|beyond| beyond < ms(10)), "{delay:?}");
        }
        let before = rollbacks(&room);
        play(&mut room, seed + 500, 10);
        let after = rollbacks(&room);
        assert_eq!(after, before, "at {latency_ms} ms all is in time");
    }
    room.run(500);
    room.assert_same();
}

#[test]
fn jitter_is_allowed_for() {
    for (mesh, most) in [(true, 110), (false, 220)] {
        let mut room = DuelRoom::of(3, mesh, 40, EventDelay::default);
        room.jitter_ms = 30;
        room.run(3000);
        play(&mut room, 1, 5);
        let before = rollbacks(&room);
        let shots = room.fight(9, 20_000) as u64;
        let repaired = rollbacks(&room) - before;
        assert!(
            repaired <= shots / 20,
            "{repaired} of {shots}, mesh: {mesh}"
        );
        let delays = delays(&room);
        assert!(delays.iter().all(|delay| *delay < ms(most)), "{delays:?}");
        room.run(500);
        room.assert_same();
    }
}

#[test]
fn one_far_peer_among_nine_near_ones_costs_them_no_more_than_the_bound() {
    let mut room = DuelRoom::of(10, true, 20, EventDelay::default);
    room.farther[7] = ms(400);
    room.pass_roster_on();
    room.run(3000);
    play(&mut room, 3, 5);
    for (at, peer) in room.peers.iter().enumerate() {
        let status = peer.model.status();
        assert!(peer.model.game_delay() <= ms(300), "{status:?}");
        assert_eq!(status.stalled_ticks, 0);
        if at != 7 {
            assert_eq!(status.waiting_for, Some(PeerId(7)), "{at}");
        }
    }
    // A game sets the bound that it can bear.
    let bounded = || {
        let (min, max) = (ms(20), ms(80));
        EventDelay::new(EventDelayConfig {
            delay: GameDelay::Dynamic { min, max },
            ..EventDelayConfig::default()
        })
        .unwrap()
    };
    let mut room = DuelRoom::of(10, true, 20, bounded);
    room.farther[7] = ms(100);
    room.pass_roster_on();
    room.run(3000);
    play(&mut room, 4, 5);
    assert!(delays(&room).iter().all(|delay| *delay <= ms(80)));
    assert_eq!(room.peers[2].model.status().waiting_for, Some(PeerId(7)));
    room.farther[7] = Duration::ZERO;
    room.pass_roster_on();
    play(&mut room, 5, 10);
    assert_eq!(room.peers[2].model.status().waiting_for, None);
    assert!(delays(&room).iter().all(|delay| *delay <= ms(30)));
    room.run(500);
    room.assert_same();
}
