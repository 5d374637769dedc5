//! The exact variables of a struct, all groups of them.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use samestep_wire::{BitReader, BitWriter, Wire, encode_to_vec};

use super::declared::{DeclarationError, Together};
use super::group::Group;
use super::message::{Body, MAX_CHANGE, Message, Refusal};
use super::sequence::{Seat, Sequence};
use super::{ChangeId, Declared, Exactness};
use crate::fields::{Access, SharedFields};
use crate::id::{Owner, PeerId};
use crate::replicator::{Recipient, View};

/// What became of a change of an exact variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangeOutcome {
    /// It was made, once, and everyone in sync has it.
    Made,
    /// It was not made.
    Refused(Refusal),
    /// The program was out of the room before it heard: it may have been made, once.
    Unknown,
}

/// What a program is in the room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemberRole {
    /// It is none of its members, present or absent.
    Stranger,
    /// It watches, and changes nothing.
    Watches,
    /// It plays, or serves.
    Plays,
}

/// Groups in one struct.
const GROUP_LIMIT: usize = 256;

/// Bytes kept per peer until their term is known.
const HELD_LIMIT: usize = 256 << 10;

/// How soon what was not answered is said again. A silent member is waited for a little longer than silence is allowed by default, so that members that have
/// vanished are away before.
const REMINDER: Duration = Duration::from_millis(400);

/// How often settled values that are not exact are sent.
const SETTLED_PAUSE: Duration = Duration::from_millis(100);

/// One program's part in keeping the exact [`Variable`](super::Variable)s of a struct the same everywhere.
///
/// The struct is handed to every call and must always be the same, as with a [`Replicator`](crate::Replicator), which keeps the other fields. [`poll`](Variables::poll) gives
/// messages to send, and [`handle`](Variables::handle) takes those that arrive. In a mesh requests go to the owner, in a hosted room to the host.
#[derive(Debug, Default)]
pub struct Variables {
    sequences: Vec<Shared>,
    /// Where the program is: the room, and its place in it.
    place: Option<([u8; 16], PeerId)>,
    life: u64,
    term: Option<u64>,
    held: BTreeMap<PeerId, (usize, Vec<Message>)>,
    out: VecDeque<(Recipient, Vec<u8>)>,
    next_release: Duration,
    changed: bool,
    refused: u64,
}

#[derive(Debug)]
struct Shared {
    owner: Owner,
    sequence: Sequence,
    reminded: Option<Duration>,
    /// What had been reached.
    progress: Option<(u64, u64, usize)>,
}

impl Variables {
    /// Begins to keep the exact variables of `fields` the same. To be called after [`Replicator::new`](crate::Replicator::new), which declares the owners.
    pub fn new<S: SharedFields + ?Sized>(fields: &mut S) -> Result<Variables, DeclarationError> {
        let mut groups: Vec<(Together, Owner, Declared)> = Vec::new();
        let mut result = Ok(());
        let mut index = 0;
        fields.for_each(&mut |field| {
            let (owner, declared) = (field.owner(), field.mark().declared);
            index += 1;
            let Some(variable) = field.variable() else {
                if declared != Declared::default() {
                    result = Err(DeclarationError::NotAVariable);
                }
                return;
            };
            if let Some(contradiction) = declared.contradiction() {
                result = Err(contradiction);
            }
            if declared.exactness == Exactness::Inexact {
                return;
            }
            let together = Together::of(&declared, owner, index);
            let number = groups.iter().position(|(known, ..)| *known == together);
            let number = number.unwrap_or_else(|| {
                groups.push((together, owner, declared));
                groups.len() - 1
            });
            let (_, with, like) = &groups[number];
            let shows_alike = like.shows_certain() == declared.shows_certain();
            if *with != owner || !shows_alike || like.order != declared.order {
                result = Err(DeclarationError::NotAlike);
            }
            if groups.len() > GROUP_LIMIT {
                result = Err(DeclarationError::TooMany);
                return;
            }
            let link = variable.link();
            (link.group, link.next) = (number as u16, 1);
            // From now on a change is a request.
            field.mark().access = Access::Mine;
        });
        result?;
        let sequences = groups.into_iter().map(|(_, owner, declared)| Shared {
            owner,
            sequence: Sequence::new(declared.shows_certain()),
            reminded: None,
            progress: None,
        });
        Ok(Variables {
            sequences: sequences.collect(),
            ..Variables::default()
        })
    }

    /// Takes note of where the program is: in which room, and with which `life` it has come there, a random number. Who is in another room, or another member of this one, takes what
    /// the others have; who is alone there has gone on alone, and keeps what it has.
    pub fn on_place(&mut self, view: &View<'_>, room: [u8; 16], life: u64) {
        let place = Some((room, view.me));
        if self.place == place {
            return;
        }
        if self.place.is_some() {
            let keeps = view.others.is_empty();
            for shared in &mut self.sequences {
                shared.sequence.on_other_room(keeps);
            }
            self.held.clear();
            self.term = None;
        }
        (self.place, self.life) = (place, life);
    }

    /// Takes a message from `from`.
    pub fn handle<S: SharedFields + ?Sized>(
        &mut self,
        fields: &mut S,
        view: &View<'_>,
        role_of: &dyn Fn(PeerId) -> MemberRole,
        from: PeerId,
        message: &[u8],
    ) {
        self.on_view(fields, view, role_of);
        let mut r = BitReader::new(message);
        let read = Message::decode(&mut r).and_then(|read| r.finish().map(|()| read));
        match read {
            Ok(read) if from != view.me => self.take(fields, view, role_of, from, read),
            Ok(_) => {}
            Err(_) => self.refused += 1,
        }
    }

    /// The next message to send; call until `None`. What was changed since the last time is requested.
    pub fn poll<S: SharedFields + ?Sized>(
        &mut self,
        now: Duration,
        fields: &mut S,
        view: &View<'_>,
        role_of: &dyn Fn(PeerId) -> MemberRole,
    ) -> Option<(Recipient, Vec<u8>)> {
        if self.out.is_empty() {
            self.on_view(fields, view, role_of);
            self.fill(now, fields, view, role_of);
        }
        self.out.pop_front()
    }

    fn fill<S: SharedFields + ?Sized>(
        &mut self,
        now: Duration,
        fields: &mut S,
        view: &View<'_>,
        role_of: &dyn Fn(PeerId) -> MemberRole,
    ) {
        if now >= self.next_release {
            self.next_release = now + SETTLED_PAUSE;
            release(fields);
        }
        for number in 0..self.sequences.len() {
            self.request(fields, number);
            self.with(fields, view, role_of, number, |sequence, group, seat| {
                sequence.on_view(group, seat);
            });
            self.keep_time(now, fields, view, role_of, number);
            let group = number as u16;
            let sequence = &mut self.sequences[number].sequence;
            while let Some((to, body)) = sequence.poll(&mut Group {
                fields,
                number: group,
            }) {
                let message = Message {
                    term: view.term,
                    group,
                    body,
                };
                let bytes = encode_to_vec(&message).expect("a message within its bounds");
                self.out.push_back((to, bytes));
            }
            self.note(fields, number);
        }
    }

    /// Messages may have been lost: says again at once what was not answered.
    pub fn on_interruption(&mut self) {
        self.held.clear();
        self.out.clear();
        for shared in &mut self.sequences {
            (shared.reminded, shared.progress) = (None, None);
        }
    }

    /// What became of a change; to be asked until `None`. Who does not ask does not mind: only the last thousand of each group are kept.
    pub fn poll_outcome(&mut self) -> Option<(ChangeId, ChangeOutcome)> {
        let mut all = self.sequences.iter_mut().zip(0..);
        all.find_map(|(shared, group)| {
            let (number, outcome) = shared.sequence.poll_outcome()?;
            let outcome = match outcome {
                Some(Ok(())) => ChangeOutcome::Made,
                Some(Err(refusal)) => ChangeOutcome::Refused(refusal),
                None => ChangeOutcome::Unknown,
            };
            Some((ChangeId { group, number }, outcome))
        })
    }

    /// Whether every group has the state of the room.
    pub fn is_complete(&self) -> bool {
        let mut all = self.sequences.iter();
        all.all(|shared| shared.sequence.is_in_step())
    }

    /// Whether something is waited for: an answer, or that everyone has the newest.
    pub fn is_waiting(&self) -> bool {
        let mut all = self.sequences.iter();
        all.any(|shared| shared.sequence.is_waiting())
    }

    /// Whether something has been changed since the last call.
    pub fn take_changed(&mut self) -> bool {
        core::mem::take(&mut self.changed)
    }

    /// Messages that were malformed, or that their sender may not send.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    fn on_view<S: SharedFields + ?Sized>(
        &mut self,
        fields: &mut S,
        view: &View<'_>,
        role_of: &dyn Fn(PeerId) -> MemberRole,
    ) {
        if self.term.replace(view.term) == Some(view.term) {
            return;
        }
        self.out.clear();
        release(fields);
        for number in 0..self.sequences.len() {
            let owner = (view.owner_of)(self.sequences[number].owner);
            let access = match owner == Some(view.me) {
                true => Access::Mine,
                false => Access::Others,
            };
            let group = number as u16;
            let mut group = Group {
                fields,
                number: group,
            };
            group.visit(|_, field| field.mark().access = access);
            self.with(fields, view, role_of, number, |sequence, group, seat| {
                sequence.on_view(group, seat);
            });
        }
        for (from, (_, messages)) in core::mem::take(&mut self.held) {
            for message in messages {
                self.take(fields, view, role_of, from, message);
            }
        }
    }

    fn take<S: SharedFields + ?Sized>(
        &mut self,
        fields: &mut S,
        view: &View<'_>,
        role_of: &dyn Fn(PeerId) -> MemberRole,
        from: PeerId,
        message: Message,
    ) {
        if usize::from(message.group) >= self.sequences.len() {
            self.refused += 1;
        } else if message.term > view.term {
            let (bytes, messages) = self.held.entry(from).or_default();
            let size = 64 + message.body.len();
            if *bytes + size <= HELD_LIMIT {
                *bytes += size;
                messages.push(message);
            }
        } else if message.term == view.term {
            let number = usize::from(message.group);
            self.with(fields, view, role_of, number, |sequence, group, seat| {
                sequence.handle(group, seat, from, message.body);
            });
        }
    }

    /// Lets a sequence do something with its variables, in the room as it is.
    fn with<S: SharedFields + ?Sized>(
        &mut self,
        fields: &mut S,
        view: &View<'_>,
        role_of: &dyn Fn(PeerId) -> MemberRole,
        number: usize,
        act: impl FnOnce(&mut Sequence, &mut Group<'_, S>, &Seat<'_>),
    ) {
        let shared = &mut self.sequences[number];
        let owner = (view.owner_of)(shared.owner);
        let seat = Seat {
            me: view.me,
            sequencer: match view.is_mesh {
                true => owner,
                false => Some(view.authority),
            },
            owner,
            in_sync: view.in_sync,
            least: match view.is_mesh {
                true => view.others.len().div_ceil(2) + 1,
                // What the host has is what counts.
                false => 1,
            },
            term: view.term,
            former_term: view.former_term,
            role_of,
        };
        let mut group = Group {
            fields,
            number: number as u16,
        };
        act(&mut shared.sequence, &mut group, &seat);
        self.changed |= shared.sequence.take_changed();
        self.refused += shared.sequence.take_refused();
    }

    /// What the variables of a group are to know of it.
    fn note<S: SharedFields + ?Sized>(&mut self, fields: &mut S, number: usize) {
        let sequence = &self.sequences[number].sequence;
        let (next, room) = (sequence.next_number(), sequence.room_for_requests());
        let is_certain = sequence.is_certain();
        let number = number as u16;
        Group { fields, number }.visit(|_, field| {
            if let Some(variable) = field.variable() {
                let link = variable.link();
                (link.next, link.room, link.is_certain) = (next, room, is_certain);
            }
        });
    }

    /// Makes one request of all that was changed in a group.
    fn request<S: SharedFields + ?Sized>(&mut self, fields: &mut S, number: usize) {
        let mut group = Group {
            fields,
            number: number as u16,
        };
        let mut steps = 0;
        group.visit(|_, field| steps += field.variable().map_or(0, |v| v.staged()));
        if steps == 0 {
            return;
        }
        let mut buffer = vec![0; MAX_CHANGE];
        let mut w = BitWriter::new(&mut buffer);
        w.write_varint(steps as u64);
        group.visit(|index, field| {
            if let Some(variable) = field.variable() {
                variable.encode_staged(index, &mut w);
            }
        });
        let len = w.finish();
        let sequence = &mut self.sequences[number].sequence;
        match len {
            Ok(len) => {
                buffer.truncate(len);
                sequence.request(self.life, buffer);
            }
            Err(_) => sequence.refuse(Refusal::DoesNotFit),
        }
    }

    /// Reminds others of what they have not answered.
    fn keep_time<S: SharedFields + ?Sized>(
        &mut self,
        now: Duration,
        fields: &mut S,
        view: &View<'_>,
        role_of: &dyn Fn(PeerId) -> MemberRole,
        number: usize,
    ) {
        let shared = &mut self.sequences[number];
        if !shared.sequence.is_waiting() {
            (shared.reminded, shared.progress) = (Some(now), None);
            return;
        }
        let reached = shared.sequence.progress();
        if shared.progress != Some(reached) {
            // It has only just begun to wait, or something has come.
            shared.progress = Some(reached);
            shared.reminded = shared.reminded.map(|_| now);
        }
        let is_due = |at: Duration| now.saturating_sub(at) >= REMINDER;
        if shared.reminded.is_none_or(is_due) {
            shared.reminded = Some(now);
            self.with(fields, view, role_of, number, |sequence, group, seat| {
                sequence.remind(group, seat);
            });
        }
    }
}

/// Lets the settled values that are not exact go out.
fn release<S: SharedFields + ?Sized>(fields: &mut S) {
    fields.for_each(&mut |field| {
        if let Some(variable) = field.variable() {
            variable.release();
        }
    });
}

impl Body {
    /// About how many bytes it takes.
    fn len(&self) -> usize {
        match self {
            Body::Request { change, .. } => change.len(),
            Body::Entry {
                verdict: super::message::Verdict::Change(change),
                ..
            } => change.len(),
            Body::State { state, .. }
            | Body::Reply {
                more: Some((_, state)),
            } => state.values.len() + state.table.len() * 64,
            _ => 0,
        }
    }
}
