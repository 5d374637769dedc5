//! A room in virtual time for the tests of models: messages arrive after a while, or get lost.

use core::time::Duration;

use crate::{
    Cut, Delivery, Departing, Held, Live, Member, Model, PeerId, PlayerId, Rng, Roster, Simulation,
};

/// A program of the room.
pub(crate) struct TestPeer<M, S: Simulation> {
    pub(crate) model: M,
    pub(crate) world: Live<S>,
    pub(crate) here: bool,
}

/// Peers with a player each, whose messages take `delay`; the first is the authority.
pub(crate) struct TestRoom<M, S: Simulation> {
    pub(crate) now: Duration,
    pub(crate) delay: Duration,
    pub(crate) is_mesh: bool,
    pub(crate) authority: u16,
    pub(crate) peers: Vec<TestPeer<M, S>>,
    /// Unreliable messages that get lost, in percent.
    pub(crate) loss: u32,
    /// By how much longer messages may take.
    pub(crate) jitter_ms: u32,
    /// By how much longer messages to and from each peer take.
    pub(crate) farther: Vec<Duration>,
    /// All that was sent to each peer.
    pub(crate) sent: Vec<Vec<Vec<u8>>>,
    pub(crate) messages_sent: usize,
    /// The incarnation of everyone.
    pub(crate) incarnation: u64,
    rng: Rng,
    /// When a message arrives, from whom, and where.
    pub(crate) on_the_way: Vec<(Duration, usize, usize, Vec<u8>)>,
}

impl<M: Model, S: Simulation> TestRoom<M, S> {
    /// Everyone begins with the state of the authority, at `start`.
    pub(crate) fn begin(
        peers: usize,
        is_mesh: bool,
        delay_ms: u64,
        start: Duration,
        game: &S,
        model: impl Fn() -> M,
    ) -> TestRoom<M, S> {
        let peer = |_| TestPeer {
            model: model(),
            world: Live::new(game.clone()),
            here: true,
        };
        let mut room = TestRoom {
            now: Duration::from_secs(1),
            delay: Duration::from_millis(delay_ms),
            is_mesh,
            authority: 0,
            peers: (0..peers).map(peer).collect(),
            loss: 0,
            jitter_ms: 0,
            farther: vec![Duration::ZERO; peers],
            sent: vec![Vec::new(); peers],
            messages_sent: 0,
            incarnation: 1,
            rng: Rng::new(3),
            on_the_way: Vec::new(),
        };
        room.pass_roster_on();
        for to in 1..peers {
            room.hand_over(to);
        }
        for peer in &mut room.peers {
            peer.model.handle_start(room.now, start);
        }
        room
    }

    pub(crate) fn hand_over(&mut self, to: usize) {
        let TestPeer { model, world, .. } = &mut self.peers[usize::from(self.authority)];
        let checkpoint = model.checkpoint(self.now, PeerId(to as u16), world);
        let TestPeer { model, world, .. } = &mut self.peers[to];
        model.adopt(self.now, &checkpoint, world).unwrap();
        self.sent[to].push(checkpoint);
    }

    pub(crate) fn pass_roster_on(&mut self) {
        let members: Vec<Member> = (0..self.peers.len())
            .filter(|at| self.peers[*at].here)
            .map(|at| Member {
                peer: PeerId(at as u16),
                players: vec![PlayerId(at as u16)],
                in_sync: true,
                away: false,
                watches: false,
                incarnation: self.incarnation,
                latency: self.delay,
                loss: self.loss as u8,
            })
            .collect();
        for (at, peer) in self.peers.iter_mut().enumerate() {
            let mut members = members.clone();
            for member in &mut members {
                let there = self.farther[usize::from(member.peer.0)];
                member.latency += self.farther[at] + there;
            }
            let roster = Roster {
                me: PeerId(at as u16),
                authority: PeerId(self.authority),
                is_mesh: self.is_mesh,
                members,
            };
            peer.model.handle_roster(self.now, &roster);
        }
    }

    /// Excludes peers from a mesh, as a room does: everyone who stays is asked what it has of them, and told the most that anybody has.
    pub(crate) fn exclude(&mut self, gone: &[usize], authority: u16) {
        let departing: Vec<Departing> = gone
            .iter()
            .map(|at| Departing {
                peer: PeerId(*at as u16),
                incarnation: self.incarnation,
                above: 0,
            })
            .collect();
        gone.iter().for_each(|at| self.peers[*at].here = false);
        let here = self.peers.iter_mut().filter(|peer| peer.here);
        let held = here.flat_map(|peer| peer.model.hold(self.now, &departing));
        let held: Vec<Held> = held.collect();
        let cuts = departing.iter().map(|departing| {
            let of_it = held.iter().filter(|held| held.peer == departing.peer);
            let most = of_it.max_by_key(|held| held.last);
            Cut {
                peer: departing.peer,
                incarnation: departing.incarnation,
                last: Some(most.map_or(0, |most| most.last)),
                items: most.map_or_else(Vec::new, |most| most.items.clone()),
                was_authority: departing.peer.0 == self.authority,
                keeps_place: false,
                heir: Some((PeerId(authority), self.incarnation)),
            }
        });
        let cuts: Vec<Cut> = cuts.collect();
        for peer in self.peers.iter_mut().filter(|peer| peer.here) {
            peer.model.cut(self.now, &cuts);
        }
        self.authority = authority;
        self.pass_roster_on();
    }

    pub(crate) fn run(&mut self, ms: u64) {
        for _ in 0..ms {
            self.now += Duration::from_millis(1);
            let on_the_way = core::mem::take(&mut self.on_the_way);
            let (due, rest): (Vec<_>, Vec<_>) =
                on_the_way.into_iter().partition(|(at, ..)| *at <= self.now);
            self.on_the_way = rest;
            for (_, from, to, bytes) in due {
                let TestPeer { model, here, .. } = &mut self.peers[to];
                if *here {
                    model.handle_message(self.now, PeerId(from as u16), &bytes);
                }
            }
            for at in 0..self.peers.len() {
                self.advance(at);
            }
        }
    }

    fn advance(&mut self, at: usize) {
        let TestPeer { model, world, here } = &mut self.peers[at];
        if !*here {
            return;
        }
        if model.poll_timeout().is_some_and(|at| at <= self.now) {
            model.advance(self.now, world);
        }
        while let Some(message) = model.poll_message() {
            self.messages_sent += 1;
            for to in message.to {
                let to = usize::from(to.0);
                self.sent[to].push(message.bytes.clone());
                let is_lost = self.rng.below(100) < self.loss;
                if is_lost && message.delivery == Delivery::Unreliable {
                    continue;
                }
                let jitter = Duration::from_millis(self.rng.below(self.jitter_ms + 1).into());
                let farther = self.farther[at] + self.farther[to];
                let arrival = self.now + self.delay + farther + jitter;
                self.on_the_way
                    .push((arrival, at, to, message.bytes.clone()));
            }
        }
    }
}
