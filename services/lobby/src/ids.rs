//! The names of things in a lobby: rooms, members, lobbies, invite codes, and the names that players give themselves.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::refusal::Refusal;

/// Letters that nobody confuses: without I, L, O, 0 and 1. 31 of them.
const CLEAR: &[u8; 31] = b"ABCDEFGHJKMNPQRSTUVWXYZ23456789";
/// 79 random bits: nobody guesses the id of a private room.
const ROOM_LETTERS: usize = 16;
/// 39 random bits: with ten thousand rooms and ten tries, one guess in ten million is right.
const CODE_LETTERS: usize = 8;
/// Longest name of a member, in characters.
pub const MAX_NAME_CHARS: usize = 24;

/// `count` letters from random bytes. The bias of 256 modulo 31 costs a hundredth of a bit.
fn letters(random: &[u8], count: usize) -> String {
    let letter = |byte: &u8| char::from(CLEAR[usize::from(*byte) % CLEAR.len()]);
    random.iter().take(count).map(letter).collect()
}

/// What somebody typed, without what does not count: case, spaces and hyphens.
fn normalised(text: &str, count: usize) -> Option<String> {
    let typed = text
        .chars()
        .filter(|c| !matches!(c, ' ' | '-'))
        .take(count + 1);
    let text: String = typed.map(|c| c.to_ascii_uppercase()).collect();
    let all_clear = text.bytes().all(|byte| CLEAR.contains(&byte));
    (text.len() == count && all_clear).then_some(text)
}

/// A room: 16 letters and digits. Never used twice.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "String", into = "String")]
#[schema(value_type = String, example = "K7QF3MXPWZ2HB8RT")]
pub struct RoomId(String);

/// What lets somebody into a room whose address it does not know: 8 letters and digits. Case, spaces and hyphens do not count.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "String", into = "String")]
#[schema(value_type = String, example = "K7QF-3MXP")]
pub struct InviteCode(String);

/// One run of a lobby's program, by which its members are known to be there as long as it lives.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LobbyId(String);

/// A member of a room, counted from 1 in the order of joining. Never used twice in a room.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(transparent)]
pub struct MemberId(pub u32);

impl RoomId {
    /// The room that these random bytes name.
    pub fn from_random(random: [u8; ROOM_LETTERS]) -> Self {
        Self(letters(&random, ROOM_LETTERS))
    }

    /// Its letters.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl InviteCode {
    /// The code that these random bytes make.
    pub fn from_random(random: [u8; CODE_LETTERS]) -> Self {
        Self(letters(&random, CODE_LETTERS))
    }

    /// Its letters, without the hyphen.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl LobbyId {
    /// The run that these random bytes name.
    pub fn from_random(random: [u8; ROOM_LETTERS]) -> Self {
        Self(letters(&random, ROOM_LETTERS))
    }

    /// The run with this name, as it stands in the store.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Its letters.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RoomId {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        normalised(text, ROOM_LETTERS)
            .map(Self)
            .ok_or(Refusal::UnknownRoom)
    }
}

impl FromStr for InviteCode {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        normalised(text, CODE_LETTERS)
            .map(Self)
            .ok_or(Refusal::UnknownCode)
    }
}

impl TryFrom<String> for RoomId {
    type Error = Refusal;

    fn try_from(text: String) -> Result<Self, Refusal> {
        text.parse()
    }
}

impl TryFrom<String> for InviteCode {
    type Error = Refusal;

    fn try_from(text: String) -> Result<Self, Refusal> {
        text.parse()
    }
}

impl From<RoomId> for String {
    fn from(id: RoomId) -> Self {
        id.0
    }
}

impl From<InviteCode> for String {
    fn from(code: InviteCode) -> Self {
        code.to_string()
    }
}

impl fmt::Display for RoomId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for InviteCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (head, tail) = self.0.split_at(CODE_LETTERS / 2);
        write!(f, "{head}-{tail}")
    }
}

/// A code lets people in, so logs do not have it.
impl fmt::Debug for InviteCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InviteCode")
    }
}

impl fmt::Display for MemberId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The name that a player gives itself: 1 to 24 letters, digits, single inner spaces and some punctuation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "String", into = "String")]
#[schema(value_type = String, example = "Ada")]
pub struct Name(String);

impl Name {
    /// What makes two names the same: the small letters.
    pub fn folded(&self) -> String {
        self.0.to_lowercase()
    }

    /// The name as it is shown.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Name {
    type Error = Refusal;

    fn try_from(text: String) -> Result<Self, Refusal> {
        let known = |c: char| c.is_alphanumeric() || " -_.'!?+*#@&()[]~".contains(c);
        let sound = !text.is_empty()
            && text.chars().count() <= MAX_NAME_CHARS
            && text.trim() == text
            && !text.contains("  ")
            && text.chars().all(known);
        sound.then_some(Self(text)).ok_or(Refusal::BadName)
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

/// Whether a text can be shown to others as it is: without control characters and what turns or hides the letters around it.
pub(crate) fn is_showable(text: &str) -> bool {
    text.chars().all(|c| {
        !c.is_control()
            && !matches!(u32::from(c), 0xAD | 0x61C | 0x180E | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F | 0xFEFF | 0xFFF9..=0xFFFB | 0xE0000..=0xE0FFF)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_read_as_people_type_them() {
        let code = InviteCode::from_random([7, 200, 31, 0, 1, 2, 3, 255]);
        let shown = code.to_string();
        assert_eq!(shown.len(), 9);
        for typed in [
            shown.clone(),
            shown.to_lowercase(),
            shown.replace('-', " "),
            shown.replace('-', ""),
        ] {
            assert_eq!(typed.parse(), Ok(code.clone()), "{typed}");
        }
        for typed in ["", "K7QF-3MX", "K7QF-3MXPP", "K7QF-3MX0", "K7QF-3MXÄ"] {
            assert_eq!(
                typed.parse::<InviteCode>(),
                Err(Refusal::UnknownCode),
                "{typed}"
            );
        }
        assert!(!format!("{code:?}").contains(&shown));
    }

    #[test]
    fn names_are_what_can_be_read() {
        let name = |text: &str| Name::try_from(text.to_owned());
        for good in [
            "Ada",
            "ada lovelace",
            "Ängström 2",
            "太郎",
            "a",
            "x".repeat(24).as_str(),
        ] {
            assert!(name(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            " ",
            " Ada",
            "Ada ",
            "a  b",
            "a\nb",
            "a\u{200b}b",
            "\u{202e}ada",
            "x".repeat(25).as_str(),
        ] {
            assert_eq!(name(bad), Err(Refusal::BadName), "{bad:?}");
        }
        assert_eq!(name("ADA").unwrap().folded(), name("ada").unwrap().folded());
    }
}
