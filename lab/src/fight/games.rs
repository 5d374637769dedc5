//! The games that are played with inputs known beforehand: how their inputs are numbered, and what is seen of their characters.

use samestep_catalog::hat_hunters::{
    self, Controls as HunterControls, HEADINGS, HatHunters, HatHuntersConfig, HatHuntersEvent,
    MAX_HUNTERS, Rules, Steer,
};
use samestep_catalog::rawrlocks::{
    self, Controls as RawrlocksControls, Rawrlocks, RawrlocksConfig, RawrlocksEvent,
};
use samestep_catalog::sublockus::{self, Angle, Controls, Sublockus, SublockusEvent};
use samestep_playable::Playable;
use samestep_sync::{EntityId, PlayerId};

use super::paths::{CharacterSample, UNITS};

/// A game whose inputs can bear a number that is seen in what others are shown of a player's character.
pub trait MarkedGame: Playable {
    /// The numbers there are, from 1 on. Whoever did something is seen to have done it if the number shown is the same, or one of the half that follow it.
    const TAGS: u16;

    /// The most players who have a character; others watch, and are not judged.
    const CHARACTERS: u16;

    /// The input with a number, which changes it a little; `None` if it can bear none.
    fn mark(input: Self::Input, tag: u16) -> Option<Self::Input>;

    /// The number that an input bears.
    fn tag(input: &Self::Input) -> Option<u16>;

    /// The character of a player, as far as this state may know whose is whose.
    fn character(&self, player: PlayerId) -> Option<EntityId>;

    /// A character; `None` if it is dead or waits.
    fn sample(&self, character: EntityId) -> Option<CharacterSample>;

    /// The player whom an event hurts.
    fn hurt(&self, event: &Self::Event) -> Option<PlayerId>;
}

const _: () = assert!(sublockus::ONE == UNITS && hat_hunters::ONE == UNITS);
const _: () = assert!(HEADINGS == rawrlocks::HEADINGS);

/// Numbers are in the last six bits of where somebody aims, which they change by a third of a degree.
const AIM_TAGS: u16 = 64;

impl MarkedGame for Sublockus {
    const TAGS: u16 = AIM_TAGS - 1;
    const CHARACTERS: u16 = u16::MAX;

    fn mark(input: Controls, tag: u16) -> Option<Controls> {
        let aim = Angle(input.aim.0 - input.aim.0 % AIM_TAGS + tag);
        Some(Controls { aim, ..input })
    }

    fn tag(input: &Controls) -> Option<u16> {
        Some(input.aim.0 % AIM_TAGS)
    }

    fn character(&self, player: PlayerId) -> Option<EntityId> {
        let mut characters = self.characters().iter();
        let own = characters.find(|(_, character)| character.player == player);
        own.map(|(id, _)| id)
    }

    fn sample(&self, character: EntityId) -> Option<CharacterSample> {
        let own = self.characters().get(character)?;
        let is_there = own.health > 0 && own.is_in(self.clock());
        is_there.then(|| CharacterSample {
            id: character,
            place: [own.place().x, own.place().y],
            tag: own.aim.0 % AIM_TAGS,
        })
    }

    fn hurt(&self, event: &SublockusEvent) -> Option<PlayerId> {
        match event {
            SublockusEvent::Hit { victim, .. } => Some(*victim),
            _ => None,
        }
    }
}

/// Numbers are in the last two bits of a heading, which they change by a sixteenth of a turn at most, as much as keys for eight directions do.
const HEADING_TAGS: u8 = 4;

impl MarkedGame for HatHunters {
    const TAGS: u16 = HEADING_TAGS as u16;
    const CHARACTERS: u16 = MAX_HUNTERS;

    fn mark(input: HunterControls, tag: u16) -> Option<HunterControls> {
        let Steer::Towards(heading) = input.steer else {
            return None;
        };
        Some(HunterControls {
            steer: Steer::Towards(heading.turned(turn_to_tag(heading.0, tag))),
            ..input
        })
    }

    fn tag(input: &HunterControls) -> Option<u16> {
        match input.steer {
            Steer::Towards(heading) => Some(heading_tag(heading.0)),
            Steer::Keep | Steer::Stop => None,
        }
    }

    fn character(&self, player: PlayerId) -> Option<EntityId> {
        self.hunter(player).map(|hunter| hunter.character)
    }

    fn sample(&self, character: EntityId) -> Option<CharacterSample> {
        let own = self.characters().get(character)?;
        (!own.is_out).then(|| CharacterSample {
            id: character,
            place: [own.place().x, own.place().y],
            tag: heading_tag(own.look.0),
        })
    }

    fn hurt(&self, event: &HatHuntersEvent) -> Option<PlayerId> {
        match event {
            HatHuntersEvent::Hit { victim, .. } => self.player_of(*victim),
            _ => None,
        }
    }
}

impl MarkedGame for Rawrlocks {
    const TAGS: u16 = HEADING_TAGS as u16;
    const CHARACTERS: u16 = rawrlocks::MAX_PLAYERS;

    fn mark(input: RawrlocksControls, tag: u16) -> Option<RawrlocksControls> {
        let heading = input.walk?;
        let walk = Some(heading.turned(turn_to_tag(heading.0, tag)));
        Some(RawrlocksControls { walk, ..input })
    }

    fn tag(input: &RawrlocksControls) -> Option<u16> {
        input.walk.map(|heading| heading_tag(heading.0))
    }

    fn character(&self, player: PlayerId) -> Option<EntityId> {
        let mut avatars = self.avatars().iter();
        let own = avatars.find(|(_, avatar)| avatar.player == player);
        own.map(|(id, _)| id)
    }

    fn sample(&self, character: EntityId) -> Option<CharacterSample> {
        let own = self.avatars().get(character)?;
        own.is_alive().then(|| CharacterSample {
            id: character,
            place: [own.place().x, own.place().y].map(|along| along * UNITS / rawrlocks::RADIUS),
            tag: own.walk.map_or(0, |heading| heading_tag(heading.0)),
        })
    }

    fn hurt(&self, event: &RawrlocksEvent) -> Option<PlayerId> {
        match event {
            RawrlocksEvent::Hit { victim, .. } => Some(*victim),
            _ => None,
        }
    }
}

/// A match of Rawrlocks.
pub fn brawl(seed: u64, players: u16) -> Result<Rawrlocks, String> {
    let config = RawrlocksConfig::for_players(seed, players);
    Rawrlocks::new(&config).map_err(|error| error.to_string())
}

fn heading_tag(heading: u8) -> u16 {
    u16::from(heading % HEADING_TAGS) + 1
}

/// By how many of 32 directions a heading is turned so that it bears a number.
fn turn_to_tag(heading: u8, tag: u16) -> i8 {
    let turn = (tag as u8 - 1 + HEADINGS - heading) % HEADING_TAGS;
    turn as i8 - if turn > 2 { HEADING_TAGS as i8 } else { 0 }
}

/// A match of Hat Hunters in which nobody wins while it is measured: a new round puts everyone somewhere else.
pub fn hunt(seed: u64) -> Result<HatHunters, String> {
    let config = HatHuntersConfig {
        seed,
        rules: Rules {
            stars: 20,
            ..Rules::default()
        },
        ..HatHuntersConfig::default()
    };
    HatHunters::new(&config).map_err(|error| error.to_string())
}
