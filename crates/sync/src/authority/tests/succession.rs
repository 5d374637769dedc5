//! An authority is followed, and another program takes its place.

use samestep_wire::encode_to_vec;

use super::test_network::{TestNetwork, Walk, WalkingGame};
use crate::test_room::TestPeer;
use crate::{
    FeedError, InputKind, Live, Model, NotFed, PlayerId, Rewind, Snapshot, Standby, StateSync,
    Tick, World,
};

/// A network whose authority is followed.
struct Followed<M> {
    network: TestNetwork<M>,
    standby: Standby,
    world: Live<WalkingGame>,
    /// Whether records get through.
    is_fed: bool,
    compared: u64,
    /// The signals that each player has given.
    given: [u32; 3],
}

impl<M: Model> Followed<M> {
    fn new(model: impl Fn() -> M) -> Followed<M> {
        let game = WalkingGame::new(50);
        let mut network = TestNetwork::new(3, 30, &game, model);
        network.run(700);
        let mut followed = Followed {
            network,
            standby: Standby::new(),
            world: Live::new(WalkingGame::new(0)),
            is_fed: true,
            compared: 0,
            given: [0; 3],
        };
        followed.begin();
        followed
    }

    fn begin(&mut self) {
        let now = self.network.now;
        let TestPeer { model, world, .. } = &mut self.network.peers[0];
        let before = world.checksum();
        let record = model.begin_feed(now, world).expect("it is the authority");
        assert_eq!(world.checksum(), before, "it goes on as if nothing were");
        self.standby.handle(&record, &mut self.world).unwrap();
        self.compare();
    }

    fn run(&mut self, ms: u64) {
        for _ in 0..ms {
            self.network.run(1);
            let TestPeer { model, world, here } = &mut self.network.peers[0];
            if self.is_fed && *here {
                if let Some(record) = model.feed(world).unwrap() {
                    self.standby.handle(&record, &mut self.world).unwrap();
                }
                self.compare();
            }
        }
    }

    /// The standby has exactly what the authority has, up to the last tick that is final.
    fn compare(&mut self) {
        let TestPeer { model, world, .. } = &mut self.network.peers[0];
        let confirmed = model.status().confirmed_tick;
        assert_eq!(self.standby.tick(), Some(confirmed));
        let theirs = world.checksum_at(confirmed);
        let theirs = theirs.unwrap_or_else(|| world.checksum());
        assert_eq!(self.world.checksum(), theirs, "at {confirmed}");
        self.compared += 1;
    }

    /// A player gives a signal, which counts exactly once.
    fn signal(&mut self, at: usize) {
        let input = Walk {
            walk: (at as i8) - 1,
            signal: true,
        };
        let bytes = encode_to_vec(&input).unwrap();
        let now = self.network.now;
        let model = &mut self.network.peers[at].model;
        if model.input(now, PlayerId(at as u16), &bytes, InputKind::Command) {
            self.given[at] += 1;
        }
    }

    fn signals(&mut self, ms: u64) {
        for step in 0..ms {
            self.run(1);
            if step % 23 == 0 {
                self.signal(1);
                self.signal(2);
            }
        }
    }

    /// The authority is gone, and the second program takes its place with the standby's world.
    fn take_over(&mut self) {
        let network = &mut self.network;
        network.peers[0].here = false;
        network.authority = 1;
        network.pass_roster_on();
        let handover = self.standby.handover().unwrap().clone();
        let TestPeer { model, world, .. } = &mut network.peers[1];
        core::mem::swap(world, &mut self.world);
        model.take_over(network.now, &handover, world).unwrap();
        assert_eq!(model.status().tick, handover.tick());
    }

    /// All signals of those who are left have counted once, and everyone knows.
    fn settle(&mut self) {
        self.network.walk(1, 0, false);
        self.network.walk(2, 0, false);
        self.run(2000);
        for at in [1, 2] {
            for player in [1, 2] {
                let state = self.network.peers[at].world.state();
                let walker = state.walker(PlayerId(player)).unwrap();
                let given = self.given[usize::from(player)];
                assert_eq!(walker.signals, given, "of {player} at {at}");
            }
            assert_eq!(self.network.place(at, 1), self.network.place(1, 1));
            assert_eq!(self.network.place(at, 2), self.network.place(1, 2));
        }
    }
}

/// The authority falls silent at different moments: inputs are on their way, wait for their ticks, or are in them.
fn plays_on<M: Model>(model: impl Fn() -> M) {
    for at in [1500, 1503, 1507, 1512, 1516, 1521] {
        plays_on_after(at, &model);
    }
}

fn plays_on_after<M: Model>(at: u64, model: impl Fn() -> M) {
    let mut followed = Followed::new(model);
    (followed.network.loss, followed.network.jitter_ms) = (5, 20);
    followed.signals(at);
    assert!(followed.compared > 1000);
    // The authority falls silent, and it takes a while until that is noticed.
    followed.network.peers[0].here = false;
    followed.signals(400);
    followed.take_over();
    followed.signals(1000);
    let tick = followed.network.peers[1].model.status().tick;
    assert!(tick > Tick(150), "{tick}");
    (followed.network.loss, followed.network.jitter_ms) = (0, 0);
    followed.settle();
}

/// The last ticks of the authority have not reached the standby: the game goes on without them, and inputs that were in them are given again.
fn goes_on_from_an_earlier_tick<M: Model>(model: impl Fn() -> M) {
    let mut followed = Followed::new(model);
    followed.signals(1000);
    followed.is_fed = false;
    followed.signals(300);
    followed.network.peers[0].here = false;
    followed.signals(200);
    followed.take_over();
    followed.signals(500);
    followed.settle();
}

#[test]
fn the_game_goes_on_with_snapshots() {
    plays_on(Snapshot::default);
    goes_on_from_an_earlier_tick(Snapshot::default);
}

#[test]
fn the_game_goes_on_with_state_sync() {
    plays_on(StateSync::default);
    goes_on_from_an_earlier_tick(StateSync::default);
}

#[test]
fn the_game_goes_on_with_rewind() {
    plays_on(Rewind::default);
    goes_on_from_an_earlier_tick(Rewind::default);
}

#[test]
fn whoever_took_over_can_be_followed_too() {
    let mut followed = Followed::new(StateSync::default);
    followed.signals(500);
    followed.take_over();
    let now = followed.network.now;
    let TestPeer { model, world, .. } = &mut followed.network.peers[1];
    let (mut standby, mut copy) = (Standby::new(), Live::new(WalkingGame::new(0)));
    let record = model.begin_feed(now, world).unwrap();
    standby.handle(&record, &mut copy).unwrap();
    // Nobody has come back yet: what is known of their inputs is passed on.
    let before = followed.standby.handover().unwrap();
    assert_eq!(standby.handover().unwrap().attendance, before.attendance);
    assert!(!before.accepted().is_empty());
    for accepted in before.accepted() {
        let after = standby.handover().unwrap().accepted();
        let same = after.iter().find(|after| after.peer == accepted.peer);
        assert!(same.is_some(), "{after:?} {accepted:?}");
    }
}

#[test]
fn who_comes_and_goes_is_the_same_there() {
    let mut followed = Followed::new(StateSync::default);
    followed.run(200);
    followed.network.peers[2].here = false;
    followed.network.pass_roster_on();
    followed.run(300);
    assert_eq!(followed.world.state().walker(PlayerId(2)), None);
    followed.network.peers[2].here = true;
    followed.network.pass_roster_on();
    followed.network.hand_over(2);
    followed.run(300);
    assert!(followed.world.state().walker(PlayerId(2)).is_some());
    // A state that takes the place of the present one does so there too.
    let other = Live::checkpoint_of(WalkingGame::new(7));
    let now = followed.network.now;
    followed.network.peers[0].model.replace_state(now, &other);
    followed.run(300);
    assert_eq!(followed.world.state().blinking.len(), 7);
}

#[test]
fn only_an_authority_is_followed_and_only_one_takes_over() {
    let mut followed = Followed::new(StateSync::default);
    followed.run(100);
    let handover = followed.standby.handover().unwrap().clone();
    let now = followed.network.now;
    let TestPeer { model, world, .. } = &mut followed.network.peers[1];
    assert_eq!(model.begin_feed(now, world), None);
    assert_eq!(model.feed(world), Err(NotFed));
    assert!(model.take_over(now, &handover, world).is_err());
}

#[test]
fn damaged_records_change_nothing_and_never_panic() {
    let mut followed = Followed::new(Rewind::default);
    followed.signals(300);
    let now = followed.network.now;
    let TestPeer { model, world, .. } = &mut followed.network.peers[0];
    let state = model.begin_feed(now, world).unwrap();
    followed.network.run(100);
    let TestPeer { model, world, .. } = &mut followed.network.peers[0];
    let ticks = model.feed(world).unwrap().unwrap();

    let mut copy = Live::new(WalkingGame::new(0));
    let mut standby = Standby::new();
    assert_eq!(standby.handle(&ticks, &mut copy), Err(FeedError::NoState));
    let untouched = copy.checksum();
    for record in [&state, &ticks] {
        for len in 0..record.len() {
            let mut standby = Standby::new();
            let handled = standby.handle(&record[..len], &mut copy);
            assert!(handled.is_err(), "{len} of {}", record.len());
            assert_eq!(standby.handover(), None);
        }
    }
    assert_eq!(copy.checksum(), untouched);
    for at in 0..ticks.len() {
        for bit in [0x01, 0x10, 0x80, 0xff] {
            let mut standby = Standby::new();
            standby.handle(&state, &mut copy).unwrap();
            let mut damaged = ticks.clone();
            damaged[at] ^= bit;
            // Whatever it says: it is refused, or it is a record.
            let _ = standby.handle(&damaged, &mut copy);
        }
    }
    // The same ticks twice do not follow each other.
    let mut standby = Standby::new();
    standby.handle(&state, &mut copy).unwrap();
    standby.handle(&ticks, &mut copy).unwrap();
    let tick = standby.tick().unwrap();
    let again = standby.handle(&ticks, &mut copy);
    assert_eq!(again, Err(FeedError::Gap { tick }));
    assert_eq!(standby.tick(), None);
}
