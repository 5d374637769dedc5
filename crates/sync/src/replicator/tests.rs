use super::*;
use crate::fields::Stamp;
use crate::{SharedFields, Synced};

#[derive(Default, SharedFields)]
struct TwoFields {
    #[shared(owner = authority)]
    host: Synced<u8>,
    #[shared(owner = player(1))]
    guest: Synced<String>,
}

const HOST: PeerId = PeerId(0);
const GUEST: PeerId = PeerId(1);

fn owner_of(owner: Owner) -> Option<PeerId> {
    Some(if owner == Owner::Authority {
        HOST
    } else {
        GUEST
    })
}

fn view(me: PeerId) -> View<'static> {
    View {
        me,
        authority: HOST,
        others: if me == HOST { &[GUEST] } else { &[HOST] },
        in_sync: if me == HOST { &[GUEST] } else { &[HOST] },
        is_mesh: false,
        term: 3,
        former_term: 2,
        owner_of: &owner_of,
    }
}

struct TestPeer {
    me: PeerId,
    fields: TwoFields,
    replicator: Replicator,
}

impl TestPeer {
    fn new(me: PeerId) -> TestPeer {
        let mut fields = TwoFields::default();
        let replicator = Replicator::new(&mut fields).unwrap();
        TestPeer {
            me,
            fields,
            replicator,
        }
    }

    fn poll(&mut self) -> Option<Vec<u8>> {
        let message = self.replicator.poll(&mut self.fields, &view(self.me));
        message.map(|(_, bytes)| bytes)
    }

    fn handle(&mut self, from: PeerId, bytes: &[u8]) {
        let view = view(self.me);
        self.replicator.handle(&mut self.fields, &view, from, bytes);
    }
}

fn talk(host: &mut TestPeer, guest: &mut TestPeer) {
    loop {
        if let Some(bytes) = host.poll() {
            guest.handle(HOST, &bytes);
        } else if let Some(bytes) = guest.poll() {
            host.handle(GUEST, &bytes);
        } else {
            return;
        }
    }
}

fn pair() -> (TestPeer, TestPeer) {
    let (mut host, mut guest) = (TestPeer::new(HOST), TestPeer::new(GUEST));
    talk(&mut host, &mut guest);
    (host, guest)
}

#[test]
fn only_the_last_value_is_sent_and_it_is_small() {
    let (mut host, mut guest) = pair();
    for value in 1..=50 {
        host.fields.host.set(value).unwrap();
    }
    let bytes = host.poll().unwrap();
    assert_eq!(bytes.len(), 7, "six bytes and two bits around one of value");
    assert_eq!(host.poll(), None);
    guest.handle(HOST, &bytes);
    assert_eq!(*guest.fields.host, 50);
    assert!(guest.fields.host.take_changed() && guest.replicator.take_changed());
    assert!(!guest.fields.host.take_changed() && !guest.replicator.take_changed());
    assert_eq!(guest.poll(), None, "nobody echoes");
}

#[test]
fn a_newcomer_takes_what_the_room_knows_unless_it_has_set_its_own() {
    let (mut host, mut guest) = pair();
    guest.fields.guest.set("known".into()).unwrap();
    talk(&mut host, &mut guest);
    let mut again = TestPeer::new(GUEST);
    talk(&mut host, &mut again);
    assert_eq!(*again.fields.guest, "known");
    let mut again = TestPeer::new(GUEST);
    again.fields.guest.set("mine".into()).unwrap();
    again.fields.host.set(9).unwrap();
    talk(&mut host, &mut again);
    assert_eq!((*again.fields.host, *host.fields.host), (0, 0));
    assert_eq!(*host.fields.guest, "mine");
}

#[test]
fn nobody_sets_what_is_not_theirs() {
    let (mut host, mut guest) = pair();
    // A guest that believes to be the host.
    let mut liar = TestPeer::new(HOST);
    liar.fields.host.set(66).unwrap();
    while let Some(bytes) = liar.poll() {
        host.handle(GUEST, &bytes);
    }
    assert_eq!(*host.fields.host, 0);
    assert!(host.replicator.refused() > 0);
    // One that goes round the host.
    guest.fields.guest.set("unchecked".into()).unwrap();
    let bytes = guest.poll().unwrap();
    let mut other = TestPeer::new(PeerId(2));
    other.replicator.complete = true;
    other.handle(GUEST, &bytes);
    assert_eq!(*other.fields.guest, "");
}

#[test]
fn any_bytes_are_survived() {
    let (mut host, mut guest) = pair();
    guest
        .fields
        .guest
        .set("something long enough".into())
        .unwrap();
    let bytes = guest.poll().unwrap();
    for bit in 0..bytes.len() * 8 {
        let mut bytes = bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        host.handle(GUEST, &bytes);
        host.handle(GUEST, &bytes[..bit / 8]);
        assert_eq!(*host.fields.host, 0);
    }
}

#[test]
fn what_was_said_too_early_is_kept_up_to_a_limit() {
    let (_, mut guest) = pair();
    let mut early = vec![0; 1000];
    early[0] = 0b1111_1100; // An update of term 63.
    for _ in 0..1000 {
        guest.handle(HOST, &early);
        assert!(guest.replicator.held[&HOST].bytes <= HELD_LIMIT);
    }
    assert!(!guest.replicator.is_complete(), "asks again instead");
}

#[test]
fn messages_are_written_as_the_page_says() {
    let mut fields = TwoFields::default();
    fields.host.set(7).unwrap();
    fields.guest.set("hi".into()).unwrap();
    let stamps = [(5, 2), (3, 9)].map(|(term, count)| Stamp { term, count });
    let mut next = stamps.into_iter();
    fields.for_each(&mut |field| field.mark().stamp = next.next().unwrap());
    let lines = [
        ("shared.update", Kind::Update, 0..2),
        ("shared.everything", Kind::Everything, 0..2),
        ("shared.question", Kind::Question, 0..0),
        ("shared.flush_request", Kind::FlushRequest, 0..2),
        ("shared.flush_reply", Kind::FlushReply, 1..2),
    ];
    let page = include_str!("../../../../WIRE.md");
    let mut missing = String::new();
    for (name, kind, listed) in lines {
        let bytes = encode(&mut fields, kind, 5, &|index, _| listed.contains(&index)).unwrap();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let has_it = |line: &str| {
            let right = line.split_once('=').filter(|(left, _)| left.trim() == name);
            right.is_some_and(|(_, right)| right.split('#').next().unwrap().trim() == hex)
        };
        if !page.lines().any(has_it) {
            missing += &format!("{name} = {hex}\n");
        }
    }
    assert!(missing.is_empty(), "WIRE.md should have:\n{missing}");
}

mod owners;
