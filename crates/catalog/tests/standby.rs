//! Every game under every model: whoever follows the authority has its exact state, and goes on in its place.

use std::time::Duration;

use samestep_catalog::{NAMES, Visitor, visit};
use samestep_playable::{Bots, Playable, Setup};
use samestep_sync::{
    InputKind, Live, Member, Model, ModelKind, PeerId, PlayerId, RoomKind, Roster, Standby, Tick,
    TickInputs, World,
};

const TICKS: u64 = 180;

fn roster(players: u16) -> Roster {
    let me = Member {
        peer: PeerId(0),
        players: (0..players).map(PlayerId).collect(),
        in_sync: true,
        away: false,
        watches: false,
        incarnation: 1,
        latency: Duration::ZERO,
        loss: 0,
    };
    Roster {
        me: PeerId(0),
        authority: PeerId(0),
        is_mesh: false,
        members: vec![me],
    }
}

struct Follow(ModelKind);

impl Visitor for Follow {
    type Output = ();

    fn visit<G: Playable>(self) {
        let what = format!("{} by {}", G::NAME, self.0.name);
        if !G::supports(self.0) {
            return;
        }
        let setup = Setup::default_of::<G>(7);
        let mut model = self.0.config().build().unwrap();
        let mut world = Live::new(G::begin(&setup).unwrap());
        let (mut bots, mut inputs) = (Bots::<G>::new(&setup), TickInputs::new());
        let tick_time = Duration::from_secs(1) / G::TICKS_PER_SECOND;
        let mut now = Duration::from_secs(1);
        model.handle_roster(now, &roster(setup.players));
        model.handle_start(now, now);
        let (mut standby, mut copy) = (Standby::new(), Live::new(G::placeholder()));
        let mut compared = 0;
        for step in 0..TICKS {
            now += tick_time;
            let tick = model.status().tick;
            inputs.clear();
            bots.act(world.state(), tick, &mut inputs);
            for (player, input) in inputs.entries() {
                model.input(now, player, input, InputKind::Controls);
            }
            model.advance(now, &mut world);
            while model.poll_message().is_some() {}
            // Whoever follows begins in the middle.
            if step == TICKS / 3 {
                let record = model.begin_feed(now, &mut world).expect(&what);
                standby.handle(&record, &mut copy).expect(&what);
            } else if step > TICKS / 3 {
                if let Some(record) = model.feed(&mut world).expect(&what) {
                    standby.handle(&record, &mut copy).expect(&what);
                }
            } else {
                continue;
            }
            let confirmed = model.status().confirmed_tick;
            assert_eq!(standby.tick(), Some(confirmed), "{what}");
            let theirs = match world.tick() == confirmed {
                true => Some(world.checksum()),
                false => world.checksum_at(confirmed),
            };
            if let Some(theirs) = theirs {
                assert_eq!(copy.checksum(), theirs, "{what} at {confirmed}");
                compared += 1;
            }
        }
        assert!(compared > TICKS / 2, "{what}: compared {compared} times");
        let reached = standby.tick().unwrap();
        assert!(reached > Tick(TICKS / 2), "{what}: at {reached}");

        // The authority is gone for two seconds.
        now += Duration::from_secs(2);
        let mut next = self.0.config().build().unwrap();
        next.handle_roster(now, &roster(setup.players));
        let handover = standby.handover().unwrap();
        next.take_over(now, handover, &mut copy).expect(&what);
        for _ in 0..60 {
            now += tick_time;
            next.advance(now, &mut copy);
            while next.poll_message().is_some() {}
        }
        let tick = next.status().confirmed_tick;
        assert!(tick > reached + 30, "{what}: {reached} to {tick}");
        assert!(tick < reached + 100, "{what}: {reached} to {tick}");
    }
}

#[test]
fn whoever_follows_has_the_exact_state_in_every_game_and_model() {
    for kind in ModelKind::ALL {
        if kind.rooms.iter().all(|room| *room == RoomKind::Mesh) {
            continue;
        }
        for name in NAMES {
            visit(name, Follow(*kind)).expect("it is listed");
        }
    }
}
