//! A game with an authority in a mesh: its leader puts the final ticks into the room's log, and every member follows them there.
//!
//! The log says in one order who the authority is and what has been played, so that at every entry all members have the same exact state. Whoever is elected
//! next has it too, and goes on from there: nobody has to be asked for a state. A tick is certain once its entry is decided.

use core::time::Duration;
use std::collections::VecDeque;

use crate::control::Control;
use crate::event::State;
use crate::id::PeerId;
use crate::room::Change;
use crate::session::Session;

/// Entries that wait for the game to take them.
const MAX_LOGGED: usize = 4096;
/// Ticks are kept out of the log for so long, at most, for the view to change.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// What the log says about the game.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Logged {
    /// Ticks that are final, or a state.
    Record(Vec<u8>),
    /// This member decides from here on.
    Authority(PeerId),
}

/// A game in the log of a mesh.
#[derive(Debug, Default)]
pub(super) struct GameLog {
    /// Whether a game is played here that has an authority.
    is_played: bool,
    /// Whether this leader has appended that it is the authority, and whether that is decided.
    has_claimed: bool,
    decides: bool,
    /// Since when nothing is put into it, because the view is about to change.
    paused_at: Option<Duration>,
    /// What the game has not taken yet, with its index.
    logged: VecDeque<(u64, Logged)>,
    /// The entries of the game by index, and the first tick after each.
    marks: VecDeque<(u64, u64)>,
    /// The first tick that is not certain.
    certain: Option<u64>,
    /// Whether somebody cannot follow, and has asked for a state.
    is_state_wanted: bool,
}

impl GameLog {
    pub(super) fn is_played(&self) -> bool {
        self.is_played
    }

    /// This program has opened the room: it is the authority from the beginning.
    pub(super) fn on_founded(&mut self) {
        (self.has_claimed, self.decides) = (true, true);
    }

    /// This program leads, or does so no longer. What it had put into the log may be lost.
    pub(super) fn on_leadership(&mut self) {
        (self.has_claimed, self.decides) = (false, false);
    }

    /// Whether this leader has to say that it is the authority, also if it has been before: it goes on from what the log holds by then.
    pub(super) fn wants_claim(&self) -> bool {
        self.is_played && !self.has_claimed
    }

    pub(super) fn on_claimed(&mut self) {
        self.has_claimed = true;
    }

    fn push(&mut self, index: u64, logged: Logged) {
        if !self.is_played {
            return;
        }
        if self.logged.len() == MAX_LOGGED {
            // It begins anew with a state.
            self.logged.clear();
        }
        self.logged.push_back((index, logged));
    }
}

impl Session {
    /// A game is played that has an authority: in a mesh it is followed from now on.
    pub(crate) fn follow_game(&mut self) {
        self.mesh.game.is_played = self.role.is_mesh();
    }

    /// Whether a game in the log of this room is followed.
    pub(crate) fn follows_game(&self) -> bool {
        self.mesh.game.is_played && self.room.is_mesh()
    }

    /// Whether the game's state is still to come: what the log says follows that.
    pub(crate) fn awaits_game_state(&self) -> bool {
        self.inbox.is_loading()
    }

    /// Whether this program may put ticks into the log now: it leads, and the log says that it is the authority. While the view is about to change it lets
    /// the others catch up.
    pub(crate) fn may_log_game(&mut self, now: Duration) -> bool {
        let follows = self.follows_game();
        let leads = self.state == State::InSync && self.leads() && self.mesh.game.decides;
        let Some(agreement) = self.mesh.agreement.as_ref().filter(|_| follows && leads) else {
            return false;
        };
        let game = &mut self.mesh.game;
        if !agreement.is_to_change(now) {
            game.paused_at = None;
            return true;
        }
        let paused_at = *game.paused_at.get_or_insert(now);
        let is_over = now >= paused_at + LONGEST_PAUSE;
        if is_over {
            game.paused_at = None;
        }
        is_over
    }

    /// As the authority: puts a record of the game into the log, which leads up to a tick.
    pub(crate) fn log_game(&mut self, now: Duration, record: Vec<u8>, tick: u64) {
        self.append(now, None, Change::Played { tick, record });
    }

    /// What the log says next about the game, with its index.
    pub(crate) fn next_logged(&mut self) -> Option<(u64, Logged)> {
        self.mesh.game.logged.pop_front()
    }

    /// The game is in the log up to a tick.
    pub(super) fn on_played(&mut self, index: u64, tick: u64, record: Vec<u8>) {
        if !self.room.is_mesh() {
            return;
        }
        let game = &mut self.mesh.game;
        game.marks.push_back((index, tick));
        if game.marks.len() > MAX_LOGGED {
            game.marks.pop_front();
        }
        game.push(index, Logged::Record(record));
    }

    /// The log says who decides.
    pub(super) fn on_game_authority(&mut self, index: u64, peer: PeerId) {
        if self.room.is_mesh() {
            self.mesh.game.decides = self.mesh.leads() && Some(peer) == self.me;
            self.mesh.game.push(index, Logged::Authority(peer));
        }
    }

    /// What has become certain.
    pub(super) fn settle_game(&mut self) {
        if self.mesh.game.marks.is_empty() {
            return;
        }
        let survives = self.mesh.survives(self.own.incarnation);
        let game = &mut self.mesh.game;
        while let Some((index, tick)) = game.marks.front()
            && *index <= survives
        {
            game.certain = Some(*tick);
            game.marks.pop_front();
        }
    }

    /// The first tick that may still be lost; `None` if the game is not in the log.
    pub(super) fn game_certain(&self) -> Option<u64> {
        self.mesh.game.certain.filter(|_| self.follows_game())
    }

    /// The game here cannot follow: asks the leader for a state.
    pub(crate) fn want_game_state(&mut self, now: Duration) {
        match self.leader.filter(|leader| Some(*leader) != self.me) {
            Some(leader) => {
                let ability = Control::Ability {
                    is_ready: false,
                    step_us: 0,
                    upstream: 0,
                };
                self.send_control(now, leader, &ability);
            }
            None => self.on_game_state_wanted(),
        }
    }

    /// A member cannot follow.
    pub(super) fn on_game_state_wanted(&mut self) {
        self.mesh.game.is_state_wanted = true;
    }

    /// Whether somebody has asked for a state since this was called last.
    pub(crate) fn take_game_state_wanted(&mut self) -> bool {
        core::mem::take(&mut self.mesh.game.is_state_wanted)
    }
}
