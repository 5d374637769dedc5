//! A room in steady state allocates nothing per message, whichever route and delivery the message takes.

#[path = "../benches/traffic/mod.rs"]
mod traffic;

use std::time::Duration;

use samestep_session::{
    Delivery, Match, MessageKind, PeerId, PlayerId, Session, SessionConfig, SessionEvent, To,
};
use samestep_sync::{
    AdoptError, Events, Input, InputKind, Inputs, Live, Model, ModelEvent, Outgoing, Replicate,
    Roster, Simulation, Status, Wire, World,
};
use traffic::{Topology, Traffic};

const KIND: MessageKind = MessageKind(7);
const TICK: Duration = Duration::from_micros(16_667);
const TICKS: usize = 3_000;

fn room(topology: Topology) -> Traffic<Session> {
    let mut room = Traffic::new(
        topology,
        4,
        |role, seed| {
            let config = SessionConfig::new("no allocation", 1).player("Ann");
            Session::new(Duration::ZERO, config, role, seed).expect("the settings are good")
        },
        |event| matches!(event, SessionEvent::Message { .. }),
    );
    room.latency = Duration::from_millis(20);
    room
}

/// Every program sends to everybody it can address, `rounds` times a tick, with every delivery in turn.
fn talk(room: &mut Traffic<Session>, rounds: usize) {
    let payload = [0x5a; 200];
    let targets = [To::Authority, To::Peer(PeerId(2)), To::Others, To::All];
    for tick in 0..TICKS {
        for session in &mut room.programs {
            for round in 0..rounds {
                let delivery = Delivery::ALL[(tick + round) % Delivery::ALL.len()];
                for to in targets {
                    let len = 20 + 30 * delivery as usize;
                    session
                        .send_bytes(room.now, to, delivery, KIND, &payload[..len])
                        .expect("the queues are short");
                }
            }
        }
        room.pass(TICK);
    }
}

/// Allocations of a settled room per `TICKS`, sending a little and sending five times as much.
fn allocations(topology: Topology, cut: Option<[usize; 2]>) -> [u64; 2] {
    let mut room = room(topology);
    room.cut = cut;
    // The clocks' windows are minutes long; queues grow longer than they will be afterwards.
    room.pass(Duration::from_secs(300));
    for rounds in [10, 1, 10, 1] {
        talk(&mut room, rounds);
    }
    [1, 5].map(|rounds| {
        let before = room.received;
        let info = allocation_counter::measure(|| talk(&mut room, rounds));
        assert!(room.received - before > (TICKS * rounds * 35) as u64);
        info.count_total
    })
}

#[test]
fn in_a_hosted_room() {
    assert_eq!(allocations(Topology::Hosted, None), [0, 0]);
}

/// The heartbeats of a mesh and its clock allocate a little as time passes; messages add nothing to that.
#[test]
fn in_a_mesh() {
    let [few, many] = allocations(Topology::Mesh, None);
    assert!(
        many <= few,
        "{few} with few messages, {many} with five times as many"
    );
}

/// Two members that reach each other through another, and try in vain to connect.
#[test]
fn in_a_mesh_with_a_relay() {
    let [few, many] = allocations(Topology::Mesh, Some([1, 2]));
    assert!(
        many <= few + few / 20,
        "{few} with few messages, {many} with five times as many"
    );
}

/// A model that does nothing but send a message with every delivery, once a tick: the host to everybody, guests to the host.
#[derive(Default)]
struct Chatter {
    others: Vec<PeerId>,
    next: Duration,
    waiting: Vec<Outgoing>,
    free: Vec<Outgoing>,
    received: u64,
}

impl Model for Chatter {
    fn name(&self) -> String {
        "chatter".to_string()
    }

    fn handle_roster(&mut self, _: Duration, roster: &Roster) {
        let others = roster.members.iter().map(|member| member.peer);
        let hosts = |peer: PeerId| peer == roster.authority || roster.me == roster.authority;
        let others = others.filter(|peer| *peer != roster.me && hosts(*peer));
        self.others = others.collect();
    }

    fn handle_rate(&mut self, _: Duration, _: PeerId, _: u64) -> bool {
        true
    }

    fn handle_message(&mut self, _: Duration, _: PeerId, message: &[u8]) {
        assert_eq!(message.len(), 100);
        self.received += 1;
    }

    fn advance(&mut self, now: Duration, _: &mut dyn World) {
        if now < self.next {
            return;
        }
        self.next = now + TICK;
        for delivery in [
            Delivery::Unreliable,
            Delivery::Redundant,
            Delivery::ReliableOrdered,
        ] {
            let mut message = self.free.pop().unwrap_or_else(|| Outgoing {
                to: Vec::new(),
                delivery,
                bytes: vec![0x5a; 100],
            });
            message.delivery = delivery;
            message.to.clear();
            message.to.extend_from_slice(&self.others);
            self.waiting.push(message);
        }
    }

    fn poll_message(&mut self) -> Option<Outgoing> {
        self.waiting.pop()
    }

    fn reclaim(&mut self, sent: Outgoing) {
        self.free.push(sent);
    }

    fn poll_timeout(&self) -> Option<Duration> {
        Some(self.next)
    }

    fn input(&mut self, _: Duration, _: PlayerId, _: &[u8], _: InputKind) -> bool {
        true
    }

    fn adopt(&mut self, _: Duration, _: &[u8], _: &mut dyn World) -> Result<(), AdoptError> {
        Ok(())
    }

    fn checkpoint(&mut self, _: Duration, _: PeerId, _: &mut dyn World) -> Vec<u8> {
        Vec::new()
    }

    fn poll_event(&mut self) -> Option<ModelEvent> {
        None
    }

    fn status(&self) -> Status {
        Status::default()
    }

    fn spectator_delay(&self) -> Duration {
        Duration::ZERO
    }

    fn handle_start(&mut self, _: Duration, _: Duration) {}
    fn end_turn(&mut self, _: Duration, _: PlayerId) {}
    fn send_state_to_all(&mut self, _: Duration, _: &mut dyn World) {}

    fn replace_state(&mut self, _: Duration, _: &[u8]) {}
}

#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Steer(u8);

impl Input for Steer {
    fn predict(&self) -> Self {
        self.clone()
    }
}

/// A simulation without rules.
#[derive(Clone, Replicate)]
struct Empty {
    steps: u32,
}

impl Simulation for Empty {
    type Input = Steer;
    type Event = ();
    const NAME: &'static str = "empty";

    fn step(&mut self, _: &Inputs<'_, Steer>, _: &mut Events<()>) {
        self.steps += 1;
    }
}

#[test]
fn in_a_match() {
    let mut room = Traffic::new(
        Topology::Hosted,
        4,
        |role, seed| {
            let config = SessionConfig::new("no allocation", 1).player("Ann");
            let (model, world) = (Chatter::default(), Live::new(Empty { steps: 0 }));
            Match::new(Duration::ZERO, config, role, seed, model, world)
                .expect("the settings are good")
        },
        |_| false,
    );
    let received = |room: &Traffic<Match<_, Chatter>>| -> u64 {
        room.programs.iter().map(|game| game.model().received).sum()
    };
    let play = |room: &mut Traffic<Match<_, Chatter>>, ticks: usize| {
        for tick in 0..ticks {
            for game in &mut room.programs {
                let player = game.session().my_players().next().expect("somebody plays");
                game.input(room.now, player, &Steer(tick as u8));
            }
            room.pass(TICK);
        }
    };
    room.latency = Duration::from_millis(20);
    play(&mut room, 6 * TICKS);
    let before = received(&room);
    let info = allocation_counter::measure(|| play(&mut room, TICKS));
    assert!(received(&room) - before > (TICKS * 17) as u64);
    assert_eq!(info.count_total, 0);
}

/// The counter counts: a test that cannot fail proves nothing.
#[test]
fn joining_does_allocate() {
    let info = allocation_counter::measure(|| drop(room(Topology::Hosted)));
    assert!(info.count_total > 0);
}
