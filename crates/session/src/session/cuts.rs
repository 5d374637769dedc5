//! What members of a mesh send each other outside the log, and a game needs to end at the same item for everyone: the flush of the agreement in a session.
//!
//! Before a view excludes a member, the agreement asks what everyone who stays has of it (`agreement/flush.rs`). A game that is [played](crate::Match) answers with
//! what its model holds; a session alone has nothing to hold. A model knows members by id and incarnation in the room, the agreement by its own
//! incarnations: the translation is kept here, for as long as a view or the room has the member.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use samestep_sync::{Cut, Departing, Held};

use crate::agreement::{Cut as Decided, Flush, Holding, Incarnation, Item, Member, View};
use crate::id::PeerId;
use crate::room::Room;
use crate::session::Session;

/// A member as a model knows it: its id, and the log's index at which it came.
type Identity = (PeerId, u64);

/// What the game is asked and told about what members send.
#[derive(Debug, Default)]
pub(super) struct Cuts {
    /// Whether a game answers.
    answers: bool,
    identities: BTreeMap<Incarnation, Identity>,
    /// The members of the view that was shown last.
    members: Vec<Member>,
    /// The question that is not answered yet.
    asked: Option<Flush>,
    /// For each view the cuts that came with it.
    decided: VecDeque<Vec<Cut>>,
}

impl Cuts {
    /// Begins with a view that is not shown.
    pub(super) fn begin(&mut self, view: &View, room: &Room) {
        self.members.clone_from(&view.members);
        self.asked = None;
        self.note(room);
    }

    /// Whether a game is played, and answers.
    pub(super) fn is_played(&self) -> bool {
        self.answers
    }

    /// Remembers who the members of a room are.
    pub(super) fn note(&mut self, room: &Room) {
        let peers = room.peers().iter();
        self.identities
            .extend(peers.map(|peer| (peer.incarnation, (peer.id, peer.since))));
    }

    /// Another view is in force, and the room as it is has its members. What is asked in the view before needs no answer.
    fn on_view(&mut self, view: &View, decided: Vec<Decided>, room: &Room) {
        self.asked = None;
        let identity = |who: Incarnation| self.identities.get(&who).copied();
        // Who goes on alone has another incarnation in another room, and is the same to its game.
        let stays: Vec<Identity> = view.incarnations().filter_map(identity).collect();
        let before = core::mem::replace(&mut self.members, view.members.clone());
        let gone = before
            .iter()
            .filter(|member| !view.contains(member.incarnation));
        let heir = identity(view.owner);
        let cuts = gone.filter_map(|member| {
            let (peer, incarnation) = identity(member.incarnation)?;
            let cut = decided.iter().find(|cut| cut.owner == member.incarnation);
            let items = cut.map_or(&[][..], |cut| &cut.items);
            Some(Cut {
                peer,
                incarnation,
                last: cut.map(|cut| cut.last),
                items: items.iter().map(|item| item.0.clone()).collect(),
                was_authority: room.authority() == peer,
                // Who said farewell leaves the room next.
                keeps_place: room.peer(peer).is_some() && !cut.is_some_and(|cut| cut.left),
                heir,
            })
        });
        let cuts = cuts.filter(|cut| !stays.contains(&(cut.peer, cut.incarnation)));
        let cuts: Vec<Cut> = cuts.collect();
        if self.answers {
            self.decided.push_back(cuts);
        }
        let is_here = |who: &Incarnation| {
            let mut peers = room.peers().iter();
            view.contains(*who) || peers.any(|peer| peer.incarnation == *who)
        };
        self.identities.retain(|who, _| is_here(who));
    }
}

impl Session {
    /// A game answers from now on for what members send it.
    pub(crate) fn answer_holds(&mut self) {
        self.mesh.cuts.answers = true;
        if let Some(agreement) = &mut self.mesh.agreement {
            agreement.set_cuts(true);
        }
    }

    /// The agreement asks what there is of members that are about to be excluded.
    pub(super) fn on_flush(&mut self, now: Duration, flush: Flush) {
        self.mesh.cuts.asked = Some(flush);
        if !self.mesh.cuts.answers {
            self.answer_hold(now, Vec::new());
        }
    }

    /// Another view is in force, and the room has changed by it.
    pub(super) fn on_cuts(&mut self, view: &View, cuts: Vec<Decided>) {
        self.mesh.cuts.on_view(view, cuts, &self.room);
    }

    /// The cuts of the next view that the game has not been told.
    pub(crate) fn poll_cuts(&mut self) -> Option<Vec<Cut>> {
        self.mesh.cuts.decided.pop_front()
    }

    /// The members that the game is to hold back now: everyone else is released. To be answered at once.
    pub(crate) fn members_to_hold(&self) -> Option<Vec<Departing>> {
        let cuts = &self.mesh.cuts;
        let owners = cuts.asked.as_ref()?.owners.iter();
        let departing = owners.filter_map(|(who, above)| {
            let (peer, incarnation) = *cuts.identities.get(who)?;
            Some(Departing {
                peer,
                incarnation,
                above: *above,
            })
        });
        Some(departing.collect())
    }

    /// Answers what the game holds back.
    pub(crate) fn answer_hold(&mut self, now: Duration, held: Vec<Held>) {
        let cuts = &mut self.mesh.cuts;
        let Some(flush) = cuts.asked.take() else {
            return;
        };
        let identities = &cuts.identities;
        let owners = flush.owners.iter();
        let holdings = owners.filter_map(|(owner, _)| {
            let (peer, _) = identities.get(owner)?;
            let held = held.iter().find(|held| held.peer == *peer)?;
            Some(Holding {
                owner: *owner,
                last: held.last,
                items: held.items.iter().cloned().map(Item).collect(),
            })
        });
        let holdings = holdings.collect();
        if let Some(agreement) = &mut self.mesh.agreement {
            agreement.answer_flush(now, &flush, holdings);
        }
        self.pump_agreement(now);
    }
}
