//! The door of a room: members come in by their static keys, everybody else by the room's password or a connect token.

use core::fmt;
use core::time::Duration;
use std::net::SocketAddr;

use samestep_proto::{
    CloseReason, ConnectOptions, ConnectionId, Password, PublicKey, RefuseReason, Security,
};
use samestep_wire::Wire;
use zeroize::Zeroize;

use crate::config::Role;
use crate::event::{LeaveReason, SessionEvent};
use crate::id::MemberKey;
use crate::room::Change;
use crate::session::{OtherEnd, Session, Shipped};

/// The longest password that a mesh can change to, in bytes.
const MAX_PASSWORD_BYTES: usize = 255;

/// A password in the log of a mesh. `Debug` does not show it, and it is erased from memory when dropped.
#[derive(Clone, PartialEq, Eq, Wire)]
pub(crate) struct AgreedPassword(#[wire(max_len = 255)] String);

impl fmt::Debug for AgreedPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AgreedPassword(..)")
    }
}

impl Drop for AgreedPassword {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// Why a room keeps its password.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SetPasswordError {
    /// This program is not the authority.
    #[error("only the authority of a room can change its password")]
    NotAuthority,
    /// The password is empty, so everybody knows it.
    #[error("the password is empty: choose one")]
    Empty,
    /// The password is too long.
    #[error("the password is longer than {MAX_PASSWORD_BYTES} bytes: choose a shorter one")]
    TooLong,
    /// The members of a mesh would have to be told it in plain text.
    #[error(
        "the connections of this mesh are not encrypted, so that its members cannot be told a password: open it with encryption"
    )]
    Plain,
}

/// What the door knows beside the room.
#[derive(Debug, Default)]
pub(super) struct Door {
    /// A password that the members of a mesh get as soon as nobody is being sent away, who would learn it too.
    next_password: Option<AgreedPassword>,
    /// The room has asked for more than this program's key: its place is gone.
    is_forgotten: bool,
}

impl Session {
    /// Demands another password of whoever joins from now on, also in a room that had none. Members stay, and return by their keys. Who has been sent
    /// away knows the old one, and can come back with it and another key: change it then.
    ///
    /// Only the authority can. In a mesh every member is told over its connections, and [`PasswordChanged`](SessionEvent::PasswordChanged) says when
    /// this one demands it; if another leads by then, nothing has changed.
    pub fn set_password(
        &mut self,
        now: Duration,
        password: Password,
    ) -> Result<(), SetPasswordError> {
        if !self.leads() {
            return Err(SetPasswordError::NotAuthority);
        }
        match password.as_str().len() {
            0 => return Err(SetPasswordError::Empty),
            1..=MAX_PASSWORD_BYTES => {}
            _ => return Err(SetPasswordError::TooLong),
        }
        if !self.room.is_mesh() {
            let agreed = AgreedPassword(password.as_str().into());
            self.demand(now, password);
            self.ship(now, Shipped::Password(agreed));
            self.emit(SessionEvent::PasswordChanged);
            return Ok(());
        }
        if self.config.protocol.security == Security::Plain {
            return Err(SetPasswordError::Plain);
        }
        self.admissions.door.next_password = Some(AgreedPassword(password.as_str().into()));
        self.tell_password(now);
        Ok(())
    }

    /// Lets whoever holds this key join without password or token, here, until it has left again. For programs that are known by other means: bots of
    /// this machine, guests that a service of the game's own sends.
    pub fn invite(&mut self, key: PublicKey) {
        self.endpoint.trust(key);
    }

    /// Tells the members of a mesh the next password, once nobody is being sent away any more.
    pub(super) fn tell_password(&mut self, now: Duration) {
        if !self.leads() {
            self.admissions.door.next_password = None;
            return;
        }
        let sends_away = self.mesh.has_unwanted(&self.room)
            || self.mesh.awaits(Change::sends_away)
            || self
                .leading
                .wishes
                .iter()
                .any(|(_, change)| change.sends_away());
        if !sends_away
            && self.can_append(now)
            && let Some(password) = self.admissions.door.next_password.take()
        {
            self.append(now, None, Change::Password { password });
        }
    }

    /// Whether a mesh is about to have another password: who shows the old one meanwhile is not let in.
    pub(super) fn is_password_changing(&self) -> bool {
        let is_password = |change: &Change| matches!(change, Change::Password { .. });
        self.admissions.door.next_password.is_some() || self.mesh.awaits(is_password)
    }

    /// Demands the password that the members of a mesh have agreed on, if they have.
    pub(super) fn demand_agreed(&mut self, now: Duration) {
        if let Some(AgreedPassword(password)) = self.room.password() {
            let password = Password::from(password.as_str());
            self.demand(now, password);
        }
    }

    /// Demands what the former host of a room demanded.
    pub(super) fn demand_secretly(&mut self, now: Duration, password: AgreedPassword) {
        let password = Password::from(password.0.as_str());
        self.demand(now, password);
    }

    /// The password that newcomers need, for standbys.
    pub(super) fn agreed_password(&self) -> Option<AgreedPassword> {
        let password = self.config.password_as(&self.role)?;
        Some(AgreedPassword(password.as_str().into()))
    }

    fn demand(&mut self, now: Duration, password: Password) {
        match &mut self.role {
            Role::Client(join) | Role::Spectator(join) | Role::Peer(join) => join.password = None,
            Role::Host | Role::Introducer => {}
        }
        self.config.password = Some(password.clone());
        // An empty one is not agreed on.
        let _ = self.endpoint.set_password(Some(password));
        self.close_on_strangers(now);
    }

    /// Hangs up on everybody who came in by the old password and is no member yet.
    fn close_on_strangers(&mut self, now: Duration) {
        let is_member = |id: &ConnectionId| {
            let key = self.links.keys.get(id).map(PublicKey::as_bytes);
            self.room.peers().iter().any(|peer| Some(&peer.key) == key)
        };
        let strangers = self.links.connections.iter().filter(|(id, end)| {
            let waits = matches!(end, OtherEnd::Stranger { .. } | OtherEnd::Newcomer { .. });
            waits && !is_member(id)
        });
        let strangers: Vec<ConnectionId> = strangers.map(|(id, _)| *id).collect();
        for id in strangers {
            self.on_newcomer_gone(id);
            self.links.give_up(id);
            let words = "the password was changed meanwhile";
            self.endpoint.close(now, id, 0, words);
        }
    }

    /// Admits a member by its key alone.
    pub(super) fn trust(&mut self, key: &MemberKey) {
        if let Ok(key) = PublicKey::from_bytes(*key)
            && key != self.public_key()
        {
            self.endpoint.trust(key);
        }
    }

    fn distrust(&mut self, key: &MemberKey) {
        if let Ok(key) = PublicKey::from_bytes(*key) {
            self.endpoint.distrust(&key);
        }
    }

    /// Who leaves by this change, which is about to be applied, is no member any more.
    pub(super) fn distrust_leaver(&mut self, change: &Change) {
        if let Change::Left { peer, .. } | Change::Banned { peer, .. } = change
            && let Some(key) = self.room.peer(*peer).map(|p| p.key)
        {
            self.distrust(&key);
        }
    }

    /// Begins to trust a room's members, in place of those of the room as it was known before.
    pub(super) fn trust_members(&mut self, before: &[MemberKey]) {
        for key in before {
            self.distrust(key);
        }
        let members: Vec<MemberKey> = self.room.peers().iter().map(|p| p.key).collect();
        for key in &members {
            self.trust(key);
        }
        self.admissions.door.is_forgotten = false;
    }

    /// What this program brings along to where the room is. Who returns to a known key needs no more than its own.
    pub(super) fn credentials(&self, address: SocketAddr) -> ConnectOptions {
        let server_key = self.key_at(address);
        if self.returns_to(server_key) {
            return ConnectOptions {
                server_key,
                ..ConnectOptions::default()
            };
        }
        ConnectOptions {
            password: self.config.password_as(&self.role),
            token: self.config.token.clone(),
            server_key,
            ..ConnectOptions::default()
        }
    }

    /// Whether this program expects to be let in by its key where this key is known.
    fn returns_to(&self, server_key: Option<PublicKey>) -> bool {
        let rejoins = self.role.join().is_some_and(|join| join.rejoin.is_some());
        server_key.is_some() && (self.me.is_some() || rejoins) && !self.admissions.door.is_forgotten
    }

    /// Whether the room asks a program for more that returned by its key alone; the next attempt brings it along.
    pub(super) fn is_asked_for_more(&mut self, reason: &CloseReason) -> bool {
        let asks = matches!(
            reason,
            CloseReason::Refused(RefuseReason::PasswordRequired | RefuseReason::TokenRequired)
        );
        // The keys of a room in which this program has been are known.
        let home = self.role.join().and_then(|join| self.key_at(join.address));
        let returned =
            self.returns_to(home) || self.me.is_some() && !self.admissions.door.is_forgotten;
        let has = self.config.token.is_some() || self.config.password_as(&self.role).is_some();
        self.admissions.door.is_forgotten |= asks && returned && has;
        asks && returned && has
    }
}

impl Change {
    /// Whether it sends somebody away.
    pub(crate) fn sends_away(&self) -> bool {
        match self {
            Self::Banned { .. } => true,
            Self::Left { reason, .. } => matches!(reason, LeaveReason::Kicked(_)),
            _ => false,
        }
    }
}
