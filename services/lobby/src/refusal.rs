//! `Refusal`: why a lobby does not do what it is asked, with a code for programs and words for people.

use serde::Serialize;
use utoipa::ToSchema;

/// Why a request was refused. Its code is the variant's name in small letters with underscores.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, ToSchema, thiserror::Error,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Refusal {
    /// The message is no request.
    #[error("this is no request that this lobby knows: see /v1/openapi.json")]
    Malformed,
    /// The name cannot be shown.
    #[error("a name is 1 to 24 letters, digits, spaces between words and -_.'!?+*#@&()[]~")]
    BadName,
    /// A field of the request exceeds its limit.
    #[error("a field is too long, too many or cannot be shown: see the limits in /v1/openapi.json")]
    BadField,
    /// There is no such room, or it has gone.
    #[error("there is no such room; it may have ended")]
    UnknownRoom,
    /// No room has this code.
    #[error("no room has this code: check it with who invited you")]
    UnknownCode,
    /// There is no such member in the room.
    #[error("there is no such member in this room; it may have been away for too long: join again")]
    UnknownMember,
    /// Somebody else has this name.
    #[error("somebody has this name: choose another")]
    NameTaken,
    /// A member of the room has this key.
    #[error("a member of this room has your key: leave there first, or use another key")]
    KeyTaken,
    /// The room has no place left.
    #[error("the room is full")]
    Full,
    /// The room is private.
    #[error("the room is private: ask its members for its code")]
    Private,
    /// The room asks for a password, and none or another was given.
    #[error("the room asks for another password")]
    WrongPassword,
    /// The secret is not the member's.
    #[error("this is not the secret that the member joined with")]
    WrongSecret,
    /// The member was banned from the room.
    #[error("you are banned from this room")]
    Banned,
    /// Only the owner may do this.
    #[error("only the owner of the room may do this")]
    NotOwner,
    /// The game has started.
    #[error("the room's game has started: wait until it is over")]
    Started,
    /// The game has not started.
    #[error("the room's game has not started yet")]
    NotStarted,
    /// Somebody is not ready.
    #[error("somebody is away or not ready yet")]
    NotReady,
    /// There are too few members.
    #[error("there are fewer members than the game needs")]
    TooFew,
    /// The host of the game has left.
    #[error("the host of the game has left: the owner can reopen the room")]
    HostGone,
    /// A connection that is no member asked for what members do, or one that is joined again.
    #[error("say first who you are, once: create, join or attach")]
    NotNow,
    /// Too many requests.
    #[error("too many requests from you or your address: wait a little")]
    TooOften,
    /// The lobby is full.
    #[error("the lobby has no place for this now: try again later")]
    Busy,
    /// The store cannot be reached.
    #[error("the lobby's store cannot be reached, and the request may or may not count: ask again")]
    Unavailable,
    /// The client did not read or say something in time.
    #[error("you did not read or answer in time: attach again")]
    TooSlow,
}

impl Refusal {
    /// Every one, for metrics and documentation.
    pub const ALL: [Self; 24] = [
        Self::Malformed,
        Self::BadName,
        Self::BadField,
        Self::UnknownRoom,
        Self::UnknownCode,
        Self::UnknownMember,
        Self::NameTaken,
        Self::KeyTaken,
        Self::Full,
        Self::Private,
        Self::WrongPassword,
        Self::WrongSecret,
        Self::Banned,
        Self::NotOwner,
        Self::Started,
        Self::NotStarted,
        Self::NotReady,
        Self::TooFew,
        Self::HostGone,
        Self::NotNow,
        Self::TooOften,
        Self::Busy,
        Self::Unavailable,
        Self::TooSlow,
    ];

    /// The code, as it travels.
    pub fn code(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::BadName => "bad_name",
            Self::BadField => "bad_field",
            Self::UnknownRoom => "unknown_room",
            Self::UnknownCode => "unknown_code",
            Self::UnknownMember => "unknown_member",
            Self::NameTaken => "name_taken",
            Self::KeyTaken => "key_taken",
            Self::Full => "full",
            Self::Private => "private",
            Self::WrongPassword => "wrong_password",
            Self::WrongSecret => "wrong_secret",
            Self::Banned => "banned",
            Self::NotOwner => "not_owner",
            Self::Started => "started",
            Self::NotStarted => "not_started",
            Self::NotReady => "not_ready",
            Self::TooFew => "too_few",
            Self::HostGone => "host_gone",
            Self::NotNow => "not_now",
            Self::TooOften => "too_often",
            Self::Busy => "busy",
            Self::Unavailable => "unavailable",
            Self::TooSlow => "too_slow",
        }
    }

    /// The status of an HTTP answer.
    pub fn status(self) -> u16 {
        match self {
            Self::Malformed | Self::BadName | Self::BadField => 400,
            Self::WrongPassword
            | Self::WrongSecret
            | Self::Banned
            | Self::NotOwner
            | Self::Private => 403,
            Self::UnknownRoom | Self::UnknownCode | Self::UnknownMember => 404,
            Self::TooSlow => 408,
            Self::TooOften => 429,
            Self::Busy | Self::Unavailable => 503,
            _ => 409,
        }
    }

    /// Whether a guess was wrong: these are limited for each address.
    pub fn is_wrong_guess(self) -> bool {
        matches!(
            self,
            Self::UnknownCode | Self::WrongPassword | Self::WrongSecret
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_travel_as_they_are_named() {
        for refusal in Refusal::ALL {
            let travels = serde_json::to_value(refusal).unwrap();
            assert_eq!(travels, refusal.code());
            assert!((400..600).contains(&refusal.status()));
        }
    }
}
