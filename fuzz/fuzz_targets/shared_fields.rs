//! Whatever a member of the room says, it sets its own fields only, and of exact variables it changes what it may change.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use samestep_sync::{
    Owner, PeerId, Replicator, SharedFields, MemberRole, Synced, Variable, Variables, View,
};

const HOST: PeerId = PeerId(0);
const LIAR: PeerId = PeerId(1);
const OTHER: PeerId = PeerId(2);

#[derive(Default, SharedFields)]
struct Fields {
    #[shared(owner = authority)]
    host: Synced<Vec<(u16, bool)>>,
    #[shared(owner = player(1))]
    liar: Synced<String>,
    #[shared(owner = player(2))]
    other: Synced<Option<f32>>,
    #[shared(owner = player(2), exact)]
    others_alone: Variable<u8>,
    #[shared(owner = player(2), exact, settled, changed_by = all)]
    of_all: Variable<Vec<u16>>,
    #[shared(owner = player(1), exact, linearisable)]
    liars: Variable<String>,
}

fn owner_of(owner: Owner) -> Option<PeerId> {
    Some(match owner {
        Owner::Authority => HOST,
        owner if owner == Owner::player(1) => LIAR,
        _ => OTHER,
    })
}

fuzz_target!(|input: (bool, bool, Vec<(u8, &[u8])>)| {
    let (is_mesh, is_host, messages) = input;
    let me = if is_host { HOST } else { OTHER };
    let everyone = [HOST, LIAR, OTHER];
    let others: Vec<_> = everyone.into_iter().filter(|&peer| peer != me).collect();
    let view = |term| View {
        me,
        authority: HOST,
        others: &others,
        in_sync: &others,
        is_mesh,
        term,
        former_term: term - 1,
        owner_of: &owner_of,
    };
    let role_of = |peer| match everyone.contains(&peer) {
        true => MemberRole::Plays,
        false => MemberRole::Stranger,
    };
    let mut fields = Fields::default();
    let mut replicator = Replicator::new(&mut fields).expect("small values");
    let mut variables = Variables::new(&mut fields).expect("sound declarations");
    variables.on_place(&view(1), [0; 16], 7);
    fields.other.set(Some(1.0)).expect("before it is shared");
    // Who comes to own fields among others asks them for the values, and may be lied to: it is there from the first term.
    let alone = View {
        others: &[],
        in_sync: &[],
        ..view(1)
    };
    while replicator.poll(&mut fields, &alone).is_some() {}
    let (mut term, mut now) = (1, Duration::ZERO);
    for (choice, bytes) in messages {
        term += u64::from(choice % 4 == 0);
        now += Duration::from_millis(u64::from(choice));
        let view = view(term);
        if choice % 2 == 0 {
            replicator.handle(&mut fields, &view, LIAR, bytes);
            while replicator.poll(&mut fields, &view).is_some() {}
        } else {
            variables.handle(&mut fields, &view, &role_of, LIAR, bytes);
            let mut polled = 0;
            while variables.poll(now, &mut fields, &view, &role_of).is_some() {
                polled += 1;
                assert!(polled < 10_000, "it never ends");
            }
            while variables.poll_outcome().is_some() {}
        }
        assert!(fields.host.is_empty());
        assert_eq!(*fields.other, Some(1.0));
        assert!(is_mesh || is_host || fields.liar.is_empty());
        // In a hosted room the liar does not order what the host orders.
        if !is_mesh && !is_host {
            assert_eq!(*fields.others_alone, 0);
            assert!(fields.of_all.is_empty() && fields.liars.is_empty());
        }
    }
});
