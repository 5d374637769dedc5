//! Which guests stand by: by what they say they can, and announced to all.

use core::time::Duration;
use std::collections::BTreeMap;

use tracing::info;

use crate::address::Address;
use crate::agreement::{Ability, Demand, Hosted, HostedConfig, Incarnation, choose_standbys};
use crate::id::PeerId;
use crate::room::{Change, PeerKind, Presence};
use crate::session::Session;
use crate::session::agree::{member, room_number};

/// Time between two looks at who should stand by.
pub(super) const CHOOSE_EVERY: Duration = Duration::from_millis(500);
/// A guest that was sent the state to follow from gets it again after so long without an answer.
const BASE_AGAIN: Duration = Duration::from_secs(10);
/// What a host has to do, until it is known better.
const DEMAND: Demand = Demand {
    step: Duration::from_millis(10),
    upstream: 32_000,
};

/// A guest that could host, as the host knows it.
#[derive(Clone, Copy, Debug)]
pub(in crate::session) struct Candidate {
    pub(super) incarnation: Incarnation,
    /// Whether it follows.
    pub(super) is_ready: bool,
    pub(super) step: Duration,
    pub(super) upstream: u64,
    /// When it was sent what to follow from.
    pub(super) asked_at: Option<Duration>,
}

/// Whom the host chooses from.
#[derive(Debug, Default)]
pub(in crate::session) struct Choosing {
    pub(super) candidates: BTreeMap<PeerId, Candidate>,
    /// Guests that wait for the state to follow from.
    pub(super) bases_wanted: Vec<PeerId>,
    pub(super) next_choice: Duration,
    /// Whether the game cannot be followed.
    is_impossible: bool,
}

impl Choosing {
    pub(super) fn forget(&mut self) {
        self.candidates.clear();
        self.bases_wanted.clear();
    }
}

impl Session {
    /// Guests that the host keeps ready to take its place, in the order in which they would.
    pub fn standbys(&self) -> &[PeerId] {
        self.room.standbys()
    }

    /// How many standbys this host wants.
    pub(in crate::session) fn standbys_wanted(&self) -> usize {
        let accept = self.config.protocol.accept.as_ref();
        // Who could not ask a lobby would let everybody in.
        let by_lobby = accept.is_some_and(|accept| accept.lobby_key.is_some());
        match !self.standbys.choosing.is_impossible && !by_lobby && !self.room.is_mesh() {
            true => usize::from(self.room.rules.standbys),
            false => 0,
        }
    }

    /// The game cannot be followed: there are no standbys.
    pub(crate) fn forgo_standbys(&mut self) {
        self.standbys.choosing.is_impossible = true;
        self.standbys.choosing.bases_wanted.clear();
    }

    /// A guest says whether it could host, or does follow.
    pub(in crate::session) fn on_ability(
        &mut self,
        now: Duration,
        from: PeerId,
        is_ready: bool,
        step: Duration,
        upstream: u64,
    ) {
        if self.room.is_mesh() {
            return self.on_game_state_wanted();
        }
        let Some(incarnation) = self.room.peer(from).map(|p| p.incarnation) else {
            return;
        };
        let before = self.standbys.choosing.candidates.get(&from);
        let before = before.filter(|known| known.incarnation == incarnation);
        let asked_at = before.and_then(|known| known.asked_at);
        // It follows no longer: it has to be given a state anew.
        let fell_out = before.is_some_and(|known| known.is_ready) && !is_ready;
        let candidate = Candidate {
            incarnation,
            is_ready,
            step,
            upstream,
            asked_at: asked_at.filter(|_| !fell_out),
        };
        self.standbys.choosing.candidates.insert(from, candidate);
        self.standbys.choosing.next_choice = now;
        self.wake_at(now);
    }

    /// The host looks who should stand by.
    pub(in crate::session) fn choose(&mut self, now: Duration) {
        if now < self.standbys.choosing.next_choice || self.standbys.passing.leaving.is_some() {
            return;
        }
        self.standbys.choosing.next_choice = now + CHOOSE_EVERY;
        let wanted = self.standbys_wanted();
        let core = self.standbys.core.as_ref();
        let standing: Vec<Incarnation> = core
            .iter()
            .flat_map(|core| core.view().incarnations())
            .filter(|who| *who != self.own.incarnation)
            .collect();
        let present: Vec<(PeerId, Ability)> = self
            .room
            .peers()
            .iter()
            .filter(|p| p.presence == Presence::InSync && p.kind != PeerKind::Spectator)
            .filter_map(|p| {
                let known = self.standbys.choosing.candidates.get(&p.id);
                let known = known.filter(|known| known.incarnation == p.incarnation);
                // A standby of the former host is one until it says what it can.
                let stands = standing.contains(&p.incarnation);
                let (step, upstream) = match known {
                    // Who has only just met this host has not measured yet what it could send.
                    Some(known) if known.upstream == 0 => (known.step, DEMAND.upstream),
                    Some(known) => (known.step, known.upstream),
                    None if stands => (DEMAND.step, DEMAND.upstream),
                    None => return None,
                };
                self.links.contacts.get(&p.id)?.connection?;
                let ability = Ability {
                    who: p.incarnation,
                    step,
                    upstream,
                    latency: self.latency(p.id),
                };
                Some((p.id, ability))
            })
            .collect();
        let abilities: Vec<Ability> = present.iter().map(|(_, ability)| *ability).collect();
        let chosen = choose_standbys(&DEMAND, &abilities, &standing, wanted);
        let peer_of =
            |who: Incarnation| present.iter().find(|(_, a)| a.who == who).map(|(p, _)| *p);
        let chosen: Vec<(PeerId, Incarnation)> = chosen
            .into_iter()
            .filter_map(|who| Some((peer_of(who)?, who)))
            .collect();
        if self.standbys.core.is_none() {
            let Some(me) = self.me.filter(|_| !chosen.is_empty()) else {
                return;
            };
            let number = room_number(self.room.id());
            let me = member(self.own.incarnation, me);
            let core = Hosted::found(now, HostedConfig::default(), number, me);
            self.standbys.core = Some(Box::new(core));
        }
        for (peer, _) in &chosen {
            let Some(candidate) = self.standbys.choosing.candidates.get_mut(peer) else {
                continue;
            };
            let waits = candidate.asked_at.is_some_and(|at| now < at + BASE_AGAIN);
            if !candidate.is_ready && !waits {
                candidate.asked_at = Some(now);
                self.standbys.choosing.bases_wanted.push(*peer);
            }
        }
        if !self.room.rules.initial_state && self.wants_base() {
            self.provide_base(now, None);
        }
        let is_ready = |peer: &PeerId| {
            let candidate = self.standbys.choosing.candidates.get(peer);
            candidate.is_some_and(|candidate| candidate.is_ready)
        };
        let ready = chosen
            .iter()
            .filter(|(peer, who)| is_ready(peer) || standing.contains(who))
            .map(|(peer, who)| member(*who, *peer));
        let ready: Vec<_> = ready.collect();
        let mut now_standing: Vec<Incarnation> = ready.iter().map(|m| m.incarnation).collect();
        now_standing.sort_unstable();
        let mut before = standing;
        before.sort_unstable();
        if now_standing != before
            && let Some(core) = &mut self.standbys.core
        {
            core.want_standbys(now, ready);
        }
    }

    /// The host tells everyone who stands by, and where.
    pub(in crate::session) fn announce_standbys(&mut self, now: Duration) {
        let Some(core) = &self.standbys.core else {
            return;
        };
        let others = core.view().members.iter();
        let others = others.map(|m| PeerId(m.slot.0));
        let others = others.filter(|peer| Some(*peer) != self.me);
        let address = |peer: PeerId| -> Option<Address> {
            let connection = self.links.contacts.get(&peer)?.connection?;
            self.endpoint.peer_address(connection).map(Into::into)
        };
        let standbys: Vec<(PeerId, Option<Address>)> =
            others.map(|peer| (peer, address(peer))).collect();
        let same = standbys
            .iter()
            .map(|(peer, _)| peer)
            .eq(self.room.standbys());
        if !same && self.leads() {
            info!(count = standbys.len(), "standbys announced");
            self.append(now, None, Change::Standbys { standbys });
        }
    }
}
