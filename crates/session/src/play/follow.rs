//! A game that outlives its host: the host ships what it takes to go on, whoever stands by follows, and one of them takes over.

use core::time::Duration;

use samestep_sync::{AdoptError, Model, Standby, World};
use tracing::warn;

use crate::id::PeerId;
use crate::play::{Match, MatchEvent};
use crate::session::Shipment;

impl<W: World, M: Model> Match<W, M> {
    /// As the host: ships the ticks that have become final, and the state to those who are to follow.
    pub(super) fn ship(&mut self, now: Duration, time: Duration) {
        if self.session.ships()
            && let Ok(Some(record)) = self.model.feed(&mut self.world)
        {
            let tick = self.model.status().confirmed_tick;
            self.session.ship_record(now, record, tick.0);
        }
        if self.session.wants_base() {
            self.update_roster(now, time);
            match self.model.begin_feed(time, &mut self.world) {
                Some(state) => self.session.provide_base(now, Some(state)),
                None => self.session.forgo_standbys(),
            }
        }
    }

    /// As a standby: follows what the host has shipped.
    pub(super) fn follow(&mut self, now: Duration) {
        while let Some(shipment) = self.session.next_shipment() {
            let followed = match shipment {
                Shipment::State(state) => self.begin_following(&state),
                Shipment::Record(record) => self.follow_record(&record),
            };
            if let Err(error) = followed {
                warn!(error, "the host cannot be followed");
                self.following = None;
                self.world.end_twin();
                self.session.cannot_follow(now);
            }
        }
    }

    pub(super) fn begin_following(&mut self, state: &[u8]) -> Result<(), String> {
        if !self.world.begin_twin() {
            return Err("this game has no second world to follow with".to_owned());
        }
        self.following = Some(Standby::new());
        self.follow_record(state)
    }

    pub(super) fn follow_record(&mut self, record: &[u8]) -> Result<(), String> {
        let Some(standby) = &mut self.following else {
            return Ok(());
        };
        let mut followed = Ok(());
        self.world
            .with_twin(&mut |twin| followed = standby.handle(record, twin));
        followed.map_err(|error| error.to_string())
    }

    /// Another program is the authority. If it is this one, it goes on with the state that it followed.
    pub(super) fn on_authority(&mut self, now: Duration, authority: PeerId) {
        if self.session.follows_game() {
            // The log says when that is so.
            self.roster_changed = true;
            return;
        }
        if self.session.room().is_mesh() || Some(authority) != self.session.me() {
            if !self.session.room().is_mesh() {
                self.world.doubt();
            }
            // What the new one says may follow at once.
            let time = self.session.time(now).unwrap_or_default();
            return self.update_roster(now, time);
        }
        self.follow(now);
        let Some(standby) = self.following.take() else {
            return;
        };
        if let Err(error) = self.take_over(now, standby) {
            self.session.leave(now, &error.to_string());
            self.events.push_back(MatchEvent::NotLoaded(error));
        }
    }

    fn take_over(&mut self, now: Duration, standby: Standby) -> Result<(), AdoptError> {
        let Some(handover) = standby.handover() else {
            let words = "the state of the host is not known".to_owned();
            return Err(AdoptError::Malformed(words));
        };
        let time = self.session.time(now).unwrap_or_default();
        self.roster = None;
        self.update_roster(now, time);
        let mut state = Vec::new();
        self.world.with_twin(&mut |twin| state = twin.keep());
        self.world.end_twin();
        self.world.come_back(handover.tick(), &state)?;
        self.model.take_over(time, handover, &mut self.world)?;
        // Those who followed the former host have what leads up to here: they go on with what follows.
        if self.model.begin_feed(time, &mut self.world).is_none() {
            self.session.forgo_standbys();
        }
        self.wake = Some(now);
        Ok(())
    }
}
