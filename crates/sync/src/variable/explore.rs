//! All orders in which messages of a small room can come, be repeated or be lost, while the sequencer dies or is shut out: what is
//! acknowledged stays, nothing is done twice, and all see the same sequence.

use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use super::message::{Body, Refusal, State};
use super::sequence::{Content, Seat, Sequence};
use crate::fields::Stamp;
use crate::id::PeerId;
use crate::replicator::Recipient;
use crate::variable::MemberRole;

/// A list of requests that have been made.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
struct List {
    newest: Vec<u8>,
    shown: Vec<u8>,
}

impl Content for List {
    fn change(&mut self, change: &[u8], _: bool) -> Result<(), Refusal> {
        // Every third is one that does not fit.
        if change[0].is_multiple_of(3) {
            return Err(Refusal::DoesNotFit);
        }
        self.newest.extend(change);
        Ok(())
    }

    fn save(&mut self) -> Vec<u8> {
        self.newest.clone()
    }

    fn load(&mut self, values: &[u8]) -> bool {
        self.newest = values.to_vec();
        true
    }

    fn show(&mut self, values: Option<&[u8]>) {
        self.shown = values.unwrap_or(&self.newest).to_vec();
    }
}

#[derive(Clone, Hash)]
struct Program {
    /// The view that it has come to.
    view: usize,
    sequence: Sequence,
    list: List,
    made: BTreeSet<u8>,
    /// What it had when it came to its view.
    had: Vec<u8>,
    /// Ids in the order of its requests.
    ids: Vec<u8>,
    runs: bool,
}

/// Who is in the room, and who orders.
#[derive(Clone)]
struct View {
    members: Vec<u16>,
    sequencer: u16,
}

/// What a broken rule would do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Broken {
    /// The next sequencer asks nobody.
    NoFlush,
    /// What the sequencer has counts as known to all.
    EarlyAnswers,
    /// Requests are numbered anew in each term.
    NoTable,
    /// Who is waited for no longer need not be outnumbered by those who answer.
    NoMajority,
}

#[derive(Clone)]
struct World<'a> {
    views: &'a [View],
    broken: Option<Broken>,
    programs: Vec<Program>,
    /// What was ever sent: it may come at any time, any number of times, or never.
    network: BTreeSet<(u16, u16, u64, Body)>,
    /// Requests that are still to be made.
    requests: Vec<(u16, u8)>,
    crashes: bool,
    /// Whether the sequencer may cease to wait for others, once.
    loses_patience: bool,
}

impl<'a> World<'a> {
    fn new(views: &'a [View], requests: &[(u16, u8)], crashes: bool) -> World<'a> {
        let program = |_| Program {
            view: 0,
            sequence: Sequence::new(true),
            list: List::default(),
            made: BTreeSet::new(),
            had: Vec::new(),
            ids: Vec::new(),
            runs: true,
        };
        let mut world = World {
            views,
            broken: None,
            programs: (0..views[0].members.len()).map(program).collect(),
            network: BTreeSet::new(),
            requests: requests.to_vec(),
            crashes,
            loses_patience: false,
        };
        // The first term begins well.
        for _ in 0..8 {
            for at in 0..world.programs.len() as u16 {
                world.act(at, |_, _, _| {});
            }
            for (from, to, _, body) in core::mem::take(&mut world.network) {
                world.act(to, |sequence, list, seat| {
                    sequence.handle(list, seat, PeerId(from), body);
                });
            }
        }
        world.network.clear();
        world
    }

    fn act(&mut self, at: u16, act: impl FnOnce(&mut Sequence, &mut List, &Seat<'_>)) {
        let broken = self.broken;
        let program = &mut self.programs[usize::from(at)];
        let view = &self.views[program.view];
        let term = program.view as u64 + 1;
        let others: Vec<PeerId> = view.members.iter().map(|n| PeerId(*n)).collect();
        let others: Vec<PeerId> = others.into_iter().filter(|p| p.0 != at).collect();
        let waited_for: &[PeerId] = match broken {
            Some(Broken::NoFlush) if program.view > 0 => &[],
            Some(Broken::EarlyAnswers) if program.view == 0 => &[],
            _ => &others,
        };
        let seat = Seat {
            me: PeerId(at),
            sequencer: Some(PeerId(view.sequencer)),
            owner: Some(PeerId(view.sequencer)),
            in_sync: waited_for,
            least: match broken {
                Some(Broken::NoMajority) => 1,
                _ => view.members.len() / 2 + 1,
            },
            term,
            former_term: term - 1,
            role_of: &|_| match broken == Some(Broken::NoTable) && term > 1 {
                true => MemberRole::Stranger,
                false => MemberRole::Plays,
            },
        };
        program.sequence.on_view(&mut program.list, &seat);
        act(&mut program.sequence, &mut program.list, &seat);
        program.sequence.on_view(&mut program.list, &seat);
        while let Some((to, body)) = program.sequence.poll(&mut program.list) {
            let to = match to {
                Recipient::Others => others.clone(),
                Recipient::Peer(peer) => vec![peer],
            };
            for to in to {
                self.network.insert((at, to.0, term, body.clone()));
            }
        }
        program.sequence.take_refused();
        while let Some((number, outcome)) = program.sequence.poll_outcome() {
            let id = program.ids[number as usize - 1];
            let expected = match id % 3 {
                0 => Err(Refusal::DoesNotFit),
                _ => Ok(()),
            };
            assert_eq!(outcome, Some(expected), "request {id}");
            program.made.insert(id);
        }
    }

    /// Everything that can happen next.
    fn next(&self) -> Vec<World<'a>> {
        let mut next = Vec::new();
        for (index, &(at, id)) in self.requests.iter().enumerate() {
            if self.requests[..index]
                .iter()
                .any(|(before, _)| *before == at)
            {
                continue;
            }
            if self.programs[usize::from(at)].runs {
                let mut world = self.clone();
                world.requests.remove(index);
                world.programs[usize::from(at)].ids.push(id);
                world.act(at, |sequence, _, _| {
                    sequence.request(u64::from(at) + 7, vec![id]);
                });
                next.push(world);
            }
        }
        for (from, to, term, body) in &self.network {
            let program = &self.programs[usize::from(*to)];
            if program.runs && program.view as u64 + 1 == *term {
                let mut world = self.clone();
                world.act(*to, |sequence, list, seat| {
                    sequence.handle(list, seat, PeerId(*from), body.clone());
                });
                next.push(world);
            }
        }
        let shut_out = self.programs.iter().any(|program| program.view > 0);
        for (at, program) in self.programs.iter().enumerate() {
            let is_next_member = self
                .views
                .get(program.view + 1)
                .is_some_and(|view| view.members.contains(&(at as u16)));
            if program.runs && is_next_member {
                let mut world = self.clone();
                world.programs[at].view += 1;
                world.programs[at].had = world.programs[at].list.newest.clone();
                world.act(at as u16, |_, _, _| {});
                next.push(world);
            }
            if program.runs && self.loses_patience && !program.sequence.is_certain() {
                let mut world = self.clone();
                world.loses_patience = false;
                for _ in 0..super::sequence::REMINDERS {
                    world.act(at as u16, |sequence, list, seat| {
                        sequence.remind(list, seat)
                    });
                }
                next.push(world);
            }
            if program.runs && at == 0 && self.crashes && !shut_out {
                let mut world = self.clone();
                world.programs[at].runs = false;
                next.push(world);
            }
        }
        next
    }

    /// What must hold at any time.
    fn judge(&self) -> Result<(), String> {
        let newest = self.programs.iter().map(|program| program.view).max();
        let leading = self.programs.iter().enumerate().find(|(at, program)| {
            Some(program.view) == newest
                && usize::from(self.views[program.view].sequencer) == *at
                && program.sequence.is_in_step()
        });
        for program in &self.programs {
            let ids: BTreeSet<u8> = program.list.newest.iter().copied().collect();
            if ids.len() != program.list.newest.len() {
                return Err(format!("{:?}: done twice", program.list.newest));
            }
            if !program.list.newest.starts_with(&program.list.shown) {
                return Err(format!(
                    "{:?} does not continue what was shown",
                    program.list
                ));
            }
            let Some((_, leading)) = leading else {
                continue;
            };
            // Who was told counts, wherever it is now; so does what was shown as certain, and what a member in sync had.
            let done = &leading.list.newest;
            let told = program.made.iter().filter(|id| *id % 3 != 0);
            let had = program.had.iter().filter(|_| program.view == leading.view);
            for id in told.chain(&program.list.shown).chain(had) {
                if !done.contains(id) {
                    return Err(format!("{id} is not in {done:?}"));
                }
            }
            let in_step = program.view == leading.view && program.sequence.is_in_step();
            if in_step && !done.starts_with(&program.list.newest) {
                return Err(format!("{:?} beside {done:?}", program.list.newest));
            }
        }
        Ok(())
    }

    fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.programs, &self.network, &self.requests).hash(&mut hasher);
        hasher.finish()
    }
}

/// Goes through everything that can happen. Returns how many states there are, or what went wrong.
fn explore(world: World<'_>, limit: usize) -> Result<usize, String> {
    let mut seen = BTreeSet::from([world.digest()]);
    let mut open = vec![world];
    while let Some(world) = open.pop() {
        world.judge()?;
        for next in world.next() {
            if seen.insert(next.digest()) {
                open.push(next);
            }
        }
        assert!(seen.len() <= limit, "more than {limit} states");
    }
    Ok(seen.len())
}

fn view(members: &[u16], sequencer: u16) -> View {
    View {
        members: members.to_vec(),
        sequencer,
    }
}

#[test]
fn every_order_of_messages_keeps_the_promises() {
    let dies = |rest: &[u16]| vec![view(&[0, 1, 2], 0), view(rest, rest[0])];
    let cases = [
        // The sequencer of two dies, or hands over to the other.
        (
            vec![view(&[0, 1], 0), view(&[1], 1)],
            vec![(1, 1), (1, 2), (0, 4)],
            true,
        ),
        (
            vec![view(&[0, 1], 0), view(&[0, 1], 1)],
            vec![(1, 1), (0, 3)],
            false,
        ),
        // That of three dies, alone or with another, or is shut out and goes on for itself.
        (dies(&[1, 2]), vec![(2, 1), (1, 2)], true),
        (dies(&[2, 1]), vec![(1, 1), (1, 3)], true),
        (dies(&[1]), vec![(2, 1), (1, 2)], true),
        (dies(&[1, 2]), vec![(2, 1), (0, 2)], false),
        // It hands over to one that hands over, too.
        (
            vec![view(&[0, 1], 0), view(&[0, 1], 1), view(&[0, 1], 0)],
            vec![(1, 1)],
            false,
        ),
    ];
    let mut states = 0;
    for (number, (views, requests, crashes)) in cases.iter().enumerate() {
        let world = World::new(views, requests, *crashes);
        let result = explore(world, 2_000_000);
        println!("{number}: {result:?}");
        states += result.unwrap_or_else(|what| panic!("case {number}: {what}"));
    }
    assert!(states > 10_000, "{states}");
}

/// The one that ceases to wait is cut off, or one of the others is, or the sequencer dies and whoever collects does so.
#[test]
fn who_ceases_to_wait_keeps_the_promises() {
    for (requests, crashes) in [
        (vec![(0, 1)], false),
        (vec![(2, 1)], false),
        (vec![(1, 1)], true),
    ] {
        let views = [view(&[0, 1, 2], 0), view(&[1, 2], 1)];
        let mut world = World::new(&views, &requests, crashes);
        world.loses_patience = true;
        let result = explore(world, 2_000_000);
        println!("{requests:?}, crashes {crashes}: {result:?}");
        result.unwrap_or_else(|what| panic!("{requests:?}, crashes {crashes}: {what}"));
    }
}

#[test]
fn broken_rules_are_found() {
    for (broken, rest) in [
        (Broken::NoFlush, vec![1, 2]),
        (Broken::EarlyAnswers, vec![1]),
        (Broken::NoTable, vec![1, 2]),
        (Broken::NoMajority, vec![1, 2]),
    ] {
        let views = [view(&[0, 1, 2], 0), view(&rest, 1)];
        let requester = match broken {
            Broken::NoMajority => 0,
            _ => 2,
        };
        let mut world = World::new(&views, &[(requester, 1)], broken != Broken::NoMajority);
        world.loses_patience = broken == Broken::NoMajority;
        world.broken = Some(broken);
        let result = explore(world, 100_000);
        assert!(result.is_err(), "{broken:?} is not found");
    }
}

/// What one member of two or three sees of its room.
fn seat(me: PeerId, sequencer: PeerId, in_sync: &[PeerId], term: u64) -> Seat<'_> {
    Seat {
        me,
        sequencer: Some(sequencer),
        owner: Some(sequencer),
        in_sync,
        least: in_sync.len() / 2 + 1,
        term,
        former_term: term - 1,
        role_of: &|_| MemberRole::Plays,
    }
}

fn state(values: &[u8]) -> State {
    State {
        table: Vec::new(),
        values: values.to_vec(),
    }
}

/// A sequencer that was cut off has made a change that never became certain. It comes back, is sent the state, and then hears that less than this state is certain.
#[test]
fn what_was_never_certain_in_an_earlier_term_is_not_shown_in_a_later_one() {
    let (me, other) = (PeerId(0), PeerId(1));
    let (mut sequence, mut list) = (Sequence::new(true), List::default());
    let others = [other];
    let leads = seat(me, me, &others, 1);
    sequence.on_view(&mut list, &leads);
    sequence.handle(&mut list, &leads, other, Body::Reply { more: None });
    sequence.request(7, vec![1]);
    sequence.on_view(&mut list, &leads);
    assert_eq!((&list.newest[..], &list.shown[..]), (&[1][..], &[][..]));

    let follows = seat(me, other, &others, 3);
    sequence.on_view(&mut list, &follows);
    let (count, state) = (4, state(&[2, 4, 5]));
    let newer = Body::State { count, state };
    sequence.handle(&mut list, &follows, other, newer);
    sequence.handle(&mut list, &follows, other, Body::Certain { count: 3 });
    assert!(list.newest.starts_with(&list.shown), "{list:?}");
    sequence.handle(&mut list, &follows, other, Body::Certain { count: 4 });
    assert_eq!(list.shown, [2, 4, 5]);
}

/// The sequencer falls silent before a newcomer has the state, and the only other member that has it leaves before the room gives up the sequencer.
#[test]
fn a_newcomer_has_what_was_certain_from_a_member_that_leaves() {
    let (gone, leaves, stranger, me) = (PeerId(0), PeerId(1), PeerId(2), PeerId(3));
    let (mut sequence, mut list) = (Sequence::new(true), List::default());
    let others = [gone, leaves];
    let follows = seat(me, gone, &others, 1);
    sequence.on_view(&mut list, &follows);
    sequence.remind(&mut list, &follows);
    let said: Vec<_> = std::iter::from_fn(|| sequence.poll(&mut list)).collect();
    let asks = |(to, body): &(Recipient, Body)| {
        *to == Recipient::Peer(leaves) && matches!(body, Body::Collect { .. })
    };
    assert!(said.iter().any(asks), "{said:?}");

    let reply = |values: &[u8], count| Body::Reply {
        more: Some((Stamp { term: 1, count }.into(), state(values))),
    };
    sequence.handle(&mut list, &follows, stranger, reply(&[8, 8], 9));
    sequence.handle(&mut list, &follows, leaves, reply(&[2, 4], 3));
    assert_eq!(
        list,
        List::default(),
        "only the sequencer says what there is"
    );

    sequence.on_view(&mut list, &seat(me, me, &[], 2));
    assert!(sequence.is_certain());
    assert_eq!(list.shown, [2, 4]);
}
