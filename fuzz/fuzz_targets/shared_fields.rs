//! Whatever a member of the room says, it sets its own fields only.
#![no_main]

use libfuzzer_sys::fuzz_target;
use samestep_sync::{Owner, PeerId, Replicator, SharedFields, Synced, View};

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
    let mut fields = Fields::default();
    let mut replicator = Replicator::new(&mut fields).expect("small values");
    fields.other.set(Some(1.0)).expect("before it is shared");
    let mut term = 1;
    for (later, bytes) in messages {
        term += u64::from(later % 4 == 0);
        replicator.handle(&mut fields, &view(term), LIAR, bytes);
        while replicator.poll(&mut fields, &view(term)).is_some() {}
        assert!(fields.host.is_empty());
        assert_eq!(*fields.other, Some(1.0));
        assert!(is_mesh || is_host || fields.liar.is_empty());
    }
});
