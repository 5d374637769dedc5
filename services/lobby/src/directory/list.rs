//! The list of public rooms: asked for once, a page at a time, or watched, with what changes at most four times a second. Who watches with one filter shares what is sent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{ConnectionId, Directory, Output, ms};
use crate::events::RoomSummary;
use crate::ids::RoomId;
use crate::limits::Origin;
use crate::protocol::MAX_TITLE_CHARS;
use crate::refusal::Refusal;
use crate::room::Room;

/// Most rooms that a watcher sees, or a page has.
pub const MAX_LISTED: usize = 1000;
/// Different filters that are watched.
const FILTERS: usize = 256;
/// How often watchers hear what is new.
const UPDATE: Duration = Duration::from_millis(250);

/// Which rooms of the list are asked for. What is absent does not matter.
#[derive(
    Clone,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    ToSchema,
    IntoParams,
)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Filter {
    /// Rooms of this game.
    pub game: Option<String>,
    /// Of this version of it.
    pub version: Option<String>,
    /// With this text in their titles, whatever its case.
    pub text: Option<String>,
    /// Which somebody can join now (true), or not (false).
    pub open: Option<bool>,
}

impl Filter {
    fn is_sound(&self) -> bool {
        [&self.game, &self.version, &self.text]
            .into_iter()
            .flatten()
            .all(|text| text.chars().count() <= MAX_TITLE_CHARS)
    }

    /// Whether a room is what is asked for.
    fn shows(&self, room: &Room) -> bool {
        let is = |wanted: &Option<String>, text: &str| {
            wanted.as_deref().is_none_or(|wanted| wanted == text)
        };
        let has = |wanted: &str| room.title.to_lowercase().contains(&wanted.to_lowercase());
        room.public
            && is(&self.game, &room.game)
            && is(&self.version, &room.game_version)
            && self.text.as_deref().is_none_or(has)
            && self.open.is_none_or(|open| open == room.summary().open)
    }
}

/// What a watcher of the list hears.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ListMessage {
    /// All rooms that match, once.
    Rooms {
        /// The rooms.
        rooms: Vec<RoomSummary>,
    },
    /// What is new since then.
    Update {
        /// Rooms that are new or have changed.
        changed: Vec<RoomSummary>,
        /// Rooms that match no longer.
        removed: Vec<RoomId>,
    },
    /// The list cannot be watched, and the connection ends.
    Refused {
        /// For programs.
        code: String,
        /// For people.
        words: String,
    },
}

impl ListMessage {
    /// Why the list cannot be watched.
    pub fn refused(refusal: Refusal) -> Self {
        Self::Refused {
            code: refusal.code().into(),
            words: refusal.to_string(),
        }
    }
}

/// Who watches with one filter.
#[derive(Debug, Default)]
struct Watch {
    watchers: BTreeSet<ConnectionId>,
    shown: BTreeSet<RoomId>,
    dirty: BTreeSet<RoomId>,
}

/// Everybody who watches.
#[derive(Debug, Default)]
pub(super) struct Lists {
    watches: BTreeMap<Filter, Watch>,
    of: BTreeMap<ConnectionId, Filter>,
    updated_ms: u64,
}

impl Lists {
    pub(super) fn watchers(&self) -> usize {
        self.of.len()
    }

    pub(super) fn on_changed(&mut self, room: &RoomId) {
        for watch in self.watches.values_mut() {
            watch.dirty.insert(room.clone());
        }
    }

    pub(super) fn forget(&mut self, connection: ConnectionId) {
        let Some(filter) = self.of.remove(&connection) else {
            return;
        };
        if let Some(watch) = self.watches.get_mut(&filter) {
            watch.watchers.remove(&connection);
            if watch.watchers.is_empty() {
                self.watches.remove(&filter);
            }
        }
    }
}

fn frame(message: &ListMessage) -> Arc<str> {
    serde_json::to_string(message).unwrap_or_default().into()
}

impl Directory {
    /// Whether somebody there may read the list, or begin to watch it, now.
    ///
    /// # Errors
    /// [`Refusal::TooOften`].
    pub fn may_browse(&mut self, now: Duration, from: Origin) -> Result<(), Refusal> {
        let allowed = self.browsing.take(ms(now), from);
        allowed.then_some(()).ok_or(Refusal::TooOften)
    }

    /// A page of the list, in the order of the rooms' ids.
    ///
    /// # Errors
    /// [`Refusal::BadField`] for a filter that is too long.
    pub fn rooms(
        &self,
        filter: &Filter,
        after: Option<&RoomId>,
        limit: usize,
    ) -> Result<Vec<RoomSummary>, Refusal> {
        if !filter.is_sound() {
            return Err(Refusal::BadField);
        }
        let from = after.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
        let rooms = self
            .rooms
            .range::<RoomId, _>((from, std::ops::Bound::Unbounded));
        let shown = rooms
            .map(|(_, mirror)| &mirror.room)
            .filter(|room| filter.shows(room));
        Ok(shown
            .take(limit.min(MAX_LISTED))
            .map(|room| room.summary())
            .collect())
    }

    /// Somebody watches the list: it gets all that match, then what changes.
    ///
    /// # Errors
    /// [`Refusal::Busy`] if too many different filters are watched, [`Refusal::BadField`] for one that is too long.
    pub fn handle_watch(
        &mut self,
        connection: ConnectionId,
        filter: Filter,
    ) -> Result<(), Refusal> {
        if !self.connections.contains_key(&connection) {
            return Ok(());
        }
        if self.lists.watches.len() >= FILTERS && !self.lists.watches.contains_key(&filter) {
            return Err(Refusal::Busy);
        }
        // Those who watch already hear what is new before this one is told all.
        if self.lists.watches.contains_key(&filter) {
            self.flush(&filter);
        }
        let rooms = match self.lists.watches.get(&filter) {
            Some(watch) => {
                let shown = watch.shown.iter().filter_map(|id| self.rooms.get(id));
                shown.map(|mirror| mirror.room.summary()).collect()
            }
            None => self.rooms(&filter, None, MAX_LISTED)?,
        };
        self.lists.forget(connection);
        let watch = self.lists.watches.entry(filter.clone()).or_default();
        watch.watchers.insert(connection);
        if watch.shown.is_empty() {
            watch.shown = rooms.iter().map(|room| room.id.clone()).collect();
        }
        self.lists.of.insert(connection, filter);
        let frame = frame(&ListMessage::Rooms { rooms });
        self.outputs.push_back(Output::Tell {
            to: vec![connection],
            frame,
        });
        Ok(())
    }

    /// Tells watchers what is new, now and then.
    pub(super) fn flush_lists(&mut self, now: Duration) {
        if ms(now) < self.lists.updated_ms + ms(UPDATE) {
            return;
        }
        self.lists.updated_ms = ms(now);
        let dirty = self
            .lists
            .watches
            .iter()
            .filter(|(_, watch)| !watch.dirty.is_empty());
        let filters: Vec<_> = dirty.map(|(filter, _)| filter.clone()).collect();
        for filter in filters {
            self.flush(&filter);
        }
    }

    fn flush(&mut self, filter: &Filter) {
        let Some(watch) = self.lists.watches.get_mut(filter) else {
            return;
        };
        let (mut changed, mut removed) = (Vec::new(), Vec::new());
        let was_full = watch.shown.len() >= MAX_LISTED;
        let mut show = |watch: &mut Watch, id: &RoomId, room: &Room| {
            if watch.shown.contains(id) || watch.shown.len() < MAX_LISTED {
                watch.shown.insert(id.clone());
                changed.push(room.summary());
            }
        };
        for id in std::mem::take(&mut watch.dirty) {
            match self
                .rooms
                .get(&id)
                .filter(|mirror| filter.shows(&mirror.room))
            {
                Some(mirror) => show(watch, &id, &mirror.room),
                None if watch.shown.remove(&id) => removed.push(id),
                None => {}
            }
        }
        // Rooms that had no place in the list move up.
        if was_full && !removed.is_empty() {
            for (id, mirror) in &self.rooms {
                if watch.shown.len() < MAX_LISTED
                    && !watch.shown.contains(id)
                    && filter.shows(&mirror.room)
                {
                    show(watch, id, &mirror.room);
                }
            }
        }
        if changed.is_empty() && removed.is_empty() {
            return;
        }
        let to = watch.watchers.iter().copied().collect();
        let frame = frame(&ListMessage::Update { changed, removed });
        self.outputs.push_back(Output::Tell { to, frame });
    }
}
