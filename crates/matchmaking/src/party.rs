//! Parties of friends: somebody opens one and gives its code to others, who come in by it.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::id::PlayerId;

/// The letters of codes: none that is taken for another, no vowels that make words.
const LETTERS: &[u8; 24] = b"BCDFGHJKLMNPQRSTVWXZ4679";
const CODE_LETTERS: u32 = 8;

/// What a friend types to come in: 8 letters, of 110 thousand million combinations. Whoever knows it may join, so the lobby limits how often an address guesses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PartyCode(u64);

impl PartyCode {
    fn count() -> u64 {
        (LETTERS.len() as u64).pow(CODE_LETTERS)
    }
}

impl fmt::Display for PartyCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base = LETTERS.len() as u64;
        for place in (0..CODE_LETTERS).rev() {
            let letter = LETTERS[(self.0 / base.pow(place) % base) as usize];
            write!(f, "{}", char::from(letter))?;
        }
        Ok(())
    }
}

impl FromStr for PartyCode {
    type Err = PartyError;

    fn from_str(text: &str) -> Result<Self, PartyError> {
        if text.len() != CODE_LETTERS as usize {
            return Err(PartyError::NoCode);
        }
        text.bytes().try_fold(Self(0), |code, letter| {
            let upper = letter.to_ascii_uppercase();
            let value = LETTERS.iter().position(|known| *known == upper);
            let value = value.ok_or(PartyError::NoCode)? as u64;
            Ok(Self(code.0 * LETTERS.len() as u64 + value))
        })
    }
}

/// Limits of [`Parties`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartiesConfig {
    /// Most members of a party.
    pub max_members: usize,
    /// Most parties.
    pub max_parties: usize,
}

impl Default for PartiesConfig {
    fn default() -> Self {
        Self {
            max_members: 16,
            max_parties: 20_000,
        }
    }
}

/// All parties. Who changes one cancels the ticket it waits with, if there is one: the members of a ticket are those of the party when it queued.
#[derive(Debug, Default)]
pub struct Parties {
    config: PartiesConfig,
    /// Its members, the leader first.
    parties: BTreeMap<PartyCode, Vec<PlayerId>>,
    of: BTreeMap<PlayerId, PartyCode>,
}

impl Parties {
    /// None yet.
    pub fn new(config: PartiesConfig) -> Self {
        Self {
            config,
            ..Self::default()
        }
    }

    /// Opens a party that this player leads. `random` makes its code: 64 bits that nobody can foresee.
    ///
    /// # Errors
    /// [`PartyError::InParty`], [`PartyError::Full`], or [`PartyError::Taken`] if the code belongs to another: try other bits.
    pub fn open(&mut self, leader: PlayerId, random: u64) -> Result<PartyCode, PartyError> {
        if self.of.contains_key(&leader) {
            return Err(PartyError::InParty);
        }
        if self.parties.len() >= self.config.max_parties {
            return Err(PartyError::Full);
        }
        let code = PartyCode(random % PartyCode::count());
        if self.parties.contains_key(&code) {
            return Err(PartyError::Taken);
        }
        self.parties.insert(code, vec![leader]);
        self.of.insert(leader, code);
        Ok(code)
    }

    /// A friend comes in.
    ///
    /// # Errors
    /// [`PartyError`] says why not.
    pub fn join(&mut self, player: PlayerId, code: PartyCode) -> Result<&[PlayerId], PartyError> {
        if self.of.contains_key(&player) {
            return Err(PartyError::InParty);
        }
        let members = self.parties.get_mut(&code).ok_or(PartyError::Unknown)?;
        if members.len() >= self.config.max_members {
            return Err(PartyError::Full);
        }
        members.push(player);
        self.of.insert(player, code);
        Ok(members)
    }

    /// Somebody leaves, or its connection is lost. The next member leads when the leader goes; a party without members ends. False if the player is in none.
    pub fn leave(&mut self, player: PlayerId) -> bool {
        let Some(code) = self.of.remove(&player) else {
            return false;
        };
        if let Some(members) = self.parties.get_mut(&code) {
            members.retain(|member| *member != player);
            if members.is_empty() {
                self.parties.remove(&code);
            }
        }
        true
    }

    /// The leader sends a member away.
    ///
    /// # Errors
    /// [`PartyError::NotLeader`] if another leads, [`PartyError::Unknown`] if the player is not in the party.
    pub fn remove(&mut self, leader: PlayerId, player: PlayerId) -> Result<(), PartyError> {
        let members = self.members(leader);
        if members.first() != Some(&leader) {
            return Err(PartyError::NotLeader);
        }
        if !members.contains(&player) {
            return Err(PartyError::Unknown);
        }
        self.leave(player);
        Ok(())
    }

    /// The members of a player's party, the leader first: the one who queues for all. Empty if it is in none.
    pub fn members(&self, player: PlayerId) -> &[PlayerId] {
        let code = self.of.get(&player);
        let members = code.and_then(|code| self.parties.get(code));
        members.map_or(&[], Vec::as_slice)
    }
}

/// Why a party does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartyError {
    /// The text is no code.
    #[error("a party's code has {CODE_LETTERS} letters and digits, such as BCDF4679")]
    NoCode,
    /// There is no such party or member.
    #[error("there is no such party or member: ask for the code again")]
    Unknown,
    /// The player is in a party.
    #[error("leave your party first")]
    InParty,
    /// There is no room.
    #[error("there is no room for another member or party")]
    Full,
    /// The code belongs to another party.
    #[error("this code is taken: draw another")]
    Taken,
    /// Only the leader may do that.
    #[error("only the leader of the party can do that")]
    NotLeader,
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: PlayerId = PlayerId(1);
    const B: PlayerId = PlayerId(2);
    const C: PlayerId = PlayerId(3);

    #[test]
    fn friends_come_in_by_the_code() {
        let mut parties = Parties::new(PartiesConfig::default());
        let code = parties.open(A, 0x1234_5678_9abc_def0).unwrap();
        let text = code.to_string();
        assert_eq!(text.len(), 8);
        assert_eq!(text.to_lowercase().parse(), Ok(code));
        assert_eq!(parties.join(B, code), Ok(&[A, B][..]));
        assert_eq!(parties.join(B, code), Err(PartyError::InParty));
        assert_eq!(parties.open(B, 5), Err(PartyError::InParty));
        assert_eq!(
            parties.open(C, 0x1234_5678_9abc_def0),
            Err(PartyError::Taken)
        );
        assert_eq!(parties.remove(B, A), Err(PartyError::NotLeader));
        assert!(parties.leave(A));
        assert_eq!(parties.members(B), [B], "the next one leads");
        parties.join(C, code).unwrap();
        assert_eq!(parties.remove(B, C), Ok(()));
        assert_eq!(parties.remove(B, C), Err(PartyError::Unknown));
        assert!(parties.leave(B) && !parties.leave(B));
        assert_eq!(parties.join(C, code), Err(PartyError::Unknown));
    }

    #[test]
    fn what_is_no_code_is_refused() {
        for text in ["", "BCDF467", "BCDF46790", "AEIOU011", "ÄÖÜß"] {
            assert_eq!(text.parse::<PartyCode>(), Err(PartyError::NoCode), "{text}");
        }
    }

    #[test]
    fn parties_have_limits() {
        let mut parties = Parties::new(PartiesConfig {
            max_members: 2,
            max_parties: 1,
        });
        let code = parties.open(A, 1).unwrap();
        parties.join(B, code).unwrap();
        assert_eq!(parties.join(C, code), Err(PartyError::Full));
        assert_eq!(parties.open(C, 2), Err(PartyError::Full));
    }
}
