//! Fields whose owner changes: whatever a survivor had of the former owner, nobody goes back behind it.

use super::*;

/// A field of the authority and one of player 1.
#[derive(Default, SharedFields)]
struct Scores {
    #[shared(owner = authority)]
    round: Synced<u32>,
    #[shared(owner = player(1))]
    score: Synced<u32>,
}

struct Member {
    fields: Scores,
    replicator: Replicator,
    /// What the program saw of the score, without repetitions.
    seen: Vec<u32>,
}

impl Member {
    fn new() -> Member {
        let mut fields = Scores::default();
        let replicator = Replicator::new(&mut fields).unwrap();
        let seen = vec![0];
        Member {
            fields,
            replicator,
            seen,
        }
    }
}

/// A room in which everyone knows the newest term at once, and messages are delivered in order.
struct TestRoom {
    is_mesh: bool,
    term: u64,
    authority: u16,
    owner_of_score: u16,
    members: BTreeMap<u16, Member>,
    /// A member whose state is still on its way.
    loading: Option<u16>,
    /// A member that hears everything and says nothing.
    silent: Option<u16>,
    /// Messages that were sent and not delivered: sender, receiver, bytes.
    network: VecDeque<(u16, u16, Vec<u8>)>,
}

impl TestRoom {
    /// `members` programs, of which peer 0 is the authority and `owner` has the score, which is 4 everywhere.
    fn new(is_mesh: bool, members: u16, owner: u16) -> TestRoom {
        let mut room = TestRoom {
            is_mesh,
            term: 1,
            authority: 0,
            owner_of_score: owner,
            members: (0..members).map(|peer| (peer, Member::new())).collect(),
            loading: None,
            silent: None,
            network: VecDeque::new(),
        };
        room.settle();
        room.set(owner, 4);
        room.settle();
        room.assert_score(4);
        room
    }

    fn with<R>(&mut self, peer: u16, act: impl FnOnce(&mut Member, &View<'_>) -> R) -> R {
        let (authority, score) = (PeerId(self.authority), PeerId(self.owner_of_score));
        let owner_of = move |owner| match owner {
            Owner::Authority => Some(authority),
            _ => Some(score),
        };
        let others = self.members.keys().filter(|other| **other != peer);
        let others: Vec<_> = others.map(|peer| PeerId(*peer)).collect();
        let in_sync = others.iter().copied();
        let in_sync: Vec<_> = in_sync.filter(|p| Some(p.0) != self.loading).collect();
        let view = View {
            me: PeerId(peer),
            authority,
            others: &others,
            in_sync: &in_sync,
            is_mesh: self.is_mesh,
            term: self.term,
            former_term: self.term - 1,
            owner_of: &owner_of,
        };
        let member = self.members.get_mut(&peer).unwrap();
        let result = act(member, &view);
        let score = *member.fields.score;
        if member.seen.last() != Some(&score) {
            member.seen.push(score);
        }
        result
    }

    /// Sends what the member has to say.
    fn poll(&mut self, peer: u16) {
        if self.loading == Some(peer) || self.silent == Some(peer) {
            return;
        }
        loop {
            let message = self.with(peer, |member, view| {
                member.replicator.poll(&mut member.fields, view)
            });
            let Some((to, bytes)) = message else { return };
            let to = match to {
                Recipient::Peer(to) => vec![to.0],
                Recipient::Others => self
                    .members
                    .keys()
                    .copied()
                    .filter(|m| *m != peer)
                    .collect(),
            };
            let sent = to.into_iter().map(|to| (peer, to, bytes.clone()));
            self.network.extend(sent);
        }
    }

    fn deliver(&mut self, (from, to, bytes): (u16, u16, Vec<u8>)) {
        if self.members.contains_key(&to) {
            self.with(to, |member, view| {
                let (replicator, fields) = (&mut member.replicator, &mut member.fields);
                replicator.handle(fields, view, PeerId(from), &bytes);
            });
        }
    }

    /// Delivers everything, until nobody has anything to say.
    fn settle(&mut self) {
        loop {
            for peer in self.members.keys().copied().collect::<Vec<_>>() {
                self.poll(peer);
            }
            let Some(packet) = self.network.pop_front() else {
                return;
            };
            self.deliver(packet);
        }
    }

    fn set(&mut self, peer: u16, score: u32) {
        self.with(peer, |member, _| member.fields.score.set(score).unwrap());
    }

    fn score(&self, peer: u16) -> u32 {
        *self.members[&peer].fields.score
    }

    /// The owner sets the score, and only these receive it.
    fn set_for(&mut self, score: u32, receivers: &[u16]) {
        let owner = self.owner_of_score;
        self.set(owner, score);
        self.poll(owner);
        for packet in core::mem::take(&mut self.network) {
            if receivers.contains(&packet.1) {
                self.deliver(packet);
            }
        }
    }

    fn depart(&mut self, peer: u16) {
        self.members.remove(&peer);
        self.network
            .retain(|(from, to, _)| *from != peer && *to != peer);
    }

    #[track_caller]
    fn assert_score(&self, score: u32) {
        for peer in self.members.keys() {
            assert_eq!(self.score(*peer), score, "at {peer}");
        }
    }

    /// Scores only ever rise in these tests: whoever saw one fall went back to an older value.
    #[track_caller]
    fn assert_nobody_went_back(&self) {
        for (peer, member) in &self.members {
            let seen = &member.seen;
            assert!(seen.is_sorted(), "{peer} saw {seen:?}");
        }
    }
}

#[test]
fn an_heir_does_not_overwrite_what_another_survivor_had() {
    let mut room = TestRoom::new(true, 4, 3);
    room.set_for(5, &[2]);
    assert_eq!((room.score(1), room.score(2)), (4, 5));
    room.depart(3);
    (room.term, room.owner_of_score) = (2, 1);
    room.settle();
    room.assert_score(5);
    room.assert_nobody_went_back();
    room.set(1, 6);
    room.settle();
    room.assert_score(6);
}

#[test]
fn what_an_heir_sets_meanwhile_comes_after() {
    let mut room = TestRoom::new(true, 4, 3);
    room.set_for(5, &[2]);
    room.depart(3);
    (room.term, room.owner_of_score) = (2, 1);
    room.poll(1);
    room.set(1, 6);
    room.settle();
    room.assert_score(6);
    room.assert_nobody_went_back();
}

#[test]
fn two_departures_in_a_row_lose_nothing() {
    let mut room = TestRoom::new(true, 5, 4);
    room.set_for(5, &[2]);
    room.depart(4);
    (room.term, room.owner_of_score) = (2, 1);
    // The heir departs while it asks.
    room.poll(1);
    room.depart(1);
    (room.term, room.owner_of_score) = (3, 3);
    room.settle();
    room.assert_score(5);

    // This one departs when it has told one member of its claim.
    (room.term, room.owner_of_score) = (4, 2);
    room.settle();
    room.set_for(6, &[3]);
    room.depart(2);
    (room.term, room.owner_of_score) = (5, 0);
    room.settle();
    room.assert_score(6);
    room.assert_nobody_went_back();
}

#[test]
fn a_new_host_takes_what_any_guest_had() {
    let mut room = TestRoom::new(false, 4, 0);
    room.set(0, 5);
    room.poll(0);
    for packet in core::mem::take(&mut room.network) {
        if packet.1 == 2 {
            room.deliver(packet);
        }
    }
    room.depart(0);
    (room.term, room.authority, room.owner_of_score) = (2, 1, 1);
    room.settle();
    room.assert_score(5);
    room.assert_nobody_went_back();
}

#[test]
fn a_new_host_gets_what_a_guest_had_told_the_former_one_alone() {
    let mut room = TestRoom::new(false, 4, 3);
    room.set_for(5, &[0]);
    room.depart(0);
    (room.term, room.authority) = (2, 1);
    room.settle();
    room.assert_score(5);
    room.assert_nobody_went_back();
}

#[test]
fn a_newcomer_that_has_nothing_holds_nobody_up() {
    let mut room = TestRoom::new(true, 4, 3);
    room.set_for(5, &[2]);
    room.depart(3);
    room.members.insert(4, Member::new());
    (room.term, room.owner_of_score) = (2, 1);
    room.settle();
    room.assert_score(5);
    room.assert_nobody_went_back();

    // It loads, and says nothing yet.
    room.members.insert(5, Member::new());
    room.loading = Some(5);
    (room.term, room.owner_of_score) = (3, 2);
    room.settle();
    assert!(!room.members[&2].replicator.is_collecting());
}

#[test]
fn a_newcomer_that_owns_a_field_takes_what_any_member_had() {
    let mut room = TestRoom::new(true, 4, 3);
    room.set_for(5, &[2]);
    room.depart(3);
    room.members.insert(4, Member::new());
    (room.term, room.owner_of_score) = (2, 4);
    room.settle();
    room.assert_score(5);
    room.assert_nobody_went_back();
}

#[test]
fn what_was_set_and_not_sent_before_another_became_the_owner_is_kept() {
    let mut room = TestRoom::new(true, 3, 2);
    room.set(2, 5);
    (room.term, room.owner_of_score) = (2, 1);
    room.settle();
    room.assert_score(5);
    room.assert_nobody_went_back();
}

#[test]
fn a_host_that_stays_asks_nobody_when_a_player_leaves() {
    let mut room = TestRoom::new(false, 4, 3);
    room.set_for(5, &[0]);
    room.depart(3);
    (room.term, room.owner_of_score) = (2, 0);
    room.poll(0);
    assert!(!room.members[&0].replicator.is_collecting());
    room.settle();
    room.assert_score(5);
}

#[test]
fn a_host_takes_over_whose_room_has_forgotten_the_newest_terms() {
    let mut room = TestRoom::new(false, 4, 0);
    room.term = 9;
    room.settle();
    room.set_for(5, &[2]);
    room.depart(0);
    (room.term, room.authority, room.owner_of_score) = (7, 1, 1);
    room.settle();
    room.assert_score(5);
    room.set(1, 6);
    room.settle();
    room.assert_score(6);
    room.assert_nobody_went_back();
}

#[test]
fn a_silent_member_is_not_waited_for_twice() {
    let mut room = TestRoom::new(true, 4, 3);
    room.silent = Some(0);
    room.depart(3);
    (room.term, room.owner_of_score) = (2, 1);
    room.settle();
    room.set(1, 6);
    room.settle();
    assert!(room.members[&1].replicator.is_collecting());
    assert_eq!(room.score(2), 4);
    room.with(1, |member, view| member.replicator.stop_waiting(view));
    room.settle();
    room.assert_score(6);

    (room.term, room.owner_of_score) = (3, 2);
    room.settle();
    room.with(2, |member, view| member.replicator.stop_waiting(view));
    (room.term, room.owner_of_score) = (4, 1);
    room.settle();
    room.set(1, 7);
    room.settle();
    room.assert_score(7);

    // It is heard again.
    room.silent = None;
    room.with(0, |member, _| {
        member.replicator.on_interruption(&mut member.fields)
    });
    room.settle();
    room.silent = Some(0);
    (room.term, room.owner_of_score) = (5, 2);
    room.settle();
    (room.term, room.owner_of_score) = (6, 1);
    room.settle();
    assert!(room.members[&1].replicator.is_collecting());
}

#[test]
fn a_reply_counts_once_for_what_is_inherited_and_for_earlier_terms() {
    let mut room = TestRoom::new(true, 4, 3);
    room.depart(3);
    (room.term, room.owner_of_score) = (2, 1);
    room.poll(1);
    room.network.clear();
    let refused = room.members[&1].replicator.refused();
    let lie = |term, count, score| {
        let mut liar = Member::new();
        liar.fields.round.set(66).unwrap();
        liar.fields.score.set(score).unwrap();
        let stamp = Stamp { term, count };
        let fields = &mut liar.fields;
        fields.for_each(&mut |field| field.mark().stamp = stamp);
        encode(fields, Kind::FlushReply, 2, &|_, _| true).unwrap()
    };
    room.deliver((0, 1, lie(2, 999, 66)));
    assert_eq!(room.score(1), 4, "nobody but the heir sets in its term");
    room.deliver((0, 1, lie(1, 999, 67)));
    assert_eq!(room.score(1), 4, "its reply has been taken");
    room.deliver((3, 1, lie(1, 999, 68)));
    assert_eq!(room.score(1), 4, "it is not in the room");
    room.deliver((2, 1, lie(1, u64::MAX, 69)));
    assert_eq!(
        room.score(1),
        69,
        "the former owner's last value is anybody's to say"
    );
    assert_eq!(*room.members[&1].fields.round, 0, "not inherited");
    assert_eq!(room.members[&1].replicator.refused() - refused, 3);
    room.set(1, 70);
    room.settle();
    room.assert_score(70);
}
