//! The evaluation game as a [`Playable`].

use samestep_playable::{Choices, Key, Playable, Score, Script, Setting, Setup, Sizes};
use samestep_sync::{EntityId, PlayerId, Tick};

use crate::terminal;
use crate::{COLOURS, Command, Evaluation, WORLD, script};

const SIZES: Sizes = Sizes {
    unit: "entities",
    min: 2,
    max: 16_000,
    default: 1024,
    load: 1024,
};

const SETTINGS: &[Setting] = &[Setting {
    name: "entities",
    about: "how many there are",
    values: &["1024", "4096", "16000", "256"],
    is_file: false,
}];

/// How many entities a key commands, and how far one moves the cursor.
const RUN: usize = 32;
const STEP: u16 = 32;

/// The cursor, and how many of a player's entities have been sent.
#[derive(Clone, Copy, Debug)]
pub struct Hands {
    cursor: (u16, u16),
    sent: usize,
}

impl Default for Hands {
    fn default() -> Self {
        Self {
            cursor: (WORLD / 2, WORLD / 2),
            sent: 0,
        }
    }
}

impl Playable for Evaluation {
    const TITLE: &'static str = "Evaluation";
    const ABOUT: &'static str =
        "entities that walk about and are sent here and there: a load to measure with";
    const PLAYERS: u16 = 8;
    const SIZES: Option<Sizes> = Some(SIZES);

    const SETTINGS: &'static [Setting] = SETTINGS;
    const SCORES: &'static [&'static str] = &["entities"];
    const TERMINAL_KEYS: &'static [(&'static str, &'static str)] = &[
        ("w a s d, arrows", "move the cursor"),
        ("space", "send the next 32 entities there"),
        ("1 to 8", "paint the 32 sent last"),
    ];

    type Hands = Hands;
    /// The seed and the player: with the tick they determine what a bot does.
    type Bot = (u64, PlayerId);

    fn begin(setup: &Setup) -> Result<Self, String> {
        // Entities move as fast as possible while most are still on their way, so that there is something to see.
        Ok(Self::begin_measured(setup)?.with_speed(0.25))
    }

    fn begin_with(setup: &Setup, choices: &Choices) -> Result<Self, String> {
        choices.check(Self::TITLE, SETTINGS)?;
        let size = choices.number("entities")?.flatten().or(setup.size);
        Self::begin(&Setup { size, ..*setup })
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        vec![("entities", self.entities().len().to_string())]
    }

    fn scores(&self) -> Vec<Score> {
        let players = self.players().into_iter();
        let score = |player| Score {
            player,
            figures: vec![self.share_of(player).map_or(0, |own| own.len()) as i64],
        };
        players.map(score).collect()
    }

    fn bot(setup: &Setup, player: PlayerId) -> Self::Bot {
        (setup.seed, player)
    }

    fn decide(&self, (seed, player): &mut Self::Bot, tick: Tick) -> Option<Command> {
        script(*seed, *player, tick, self)
    }

    fn tamper(&mut self) {
        if let Some(entity) = self.entity_mut(0) {
            entity.colour = (entity.colour + 1) % COLOURS;
        }
    }

    fn picture(&self, _: Option<PlayerId>, columns: usize, lines: usize) -> Vec<String> {
        terminal::picture(self, columns, lines)
    }

    fn typed(&self, player: PlayerId, hands: &mut Hands, keys: &[Key]) -> Command {
        let Some(own) = self.share_of(player).filter(|own| !own.is_empty()) else {
            return Command::None;
        };
        let mut command = Command::None;
        for key in keys {
            let (x, y) = hands.cursor;
            let more = |at: u16| (at + STEP).min(WORLD - 1);
            let first = own.start + hands.sent.saturating_sub(RUN) % own.len();
            match key {
                Key::Char('a') | Key::Left => hands.cursor.0 = x.saturating_sub(STEP),
                Key::Char('d') | Key::Right => hands.cursor.0 = more(x),
                Key::Char('w') | Key::Up => hands.cursor.1 = y.saturating_sub(STEP),
                Key::Char('s') | Key::Down => hands.cursor.1 = more(y),
                Key::Char(' ') => {
                    let first = own.start + hands.sent % own.len();
                    hands.sent += RUN;
                    command = Command::Move {
                        first: first as u16,
                        count: (own.end - first).min(RUN) as u8,
                        x,
                        y,
                    };
                }
                Key::Char(digit @ '1'..='8') => {
                    command = Command::Paint {
                        first: first as u16,
                        count: (own.end - first).min(RUN) as u8,
                        colour: (*digit as u8 - b'1') % COLOURS,
                    };
                }
                _ => {}
            }
        }
        command
    }

    fn own_picture(
        &self,
        player: PlayerId,
        hands: &Hands,
        columns: usize,
        lines: usize,
    ) -> Vec<String> {
        let mut picture = self.picture(Some(player), columns, lines);
        let (x, y) = hands.cursor;
        picture[0] += &format!(", cursor at {x}, {y} of {WORLD}");
        picture
    }

    fn positions(&self, positions: &mut Vec<(EntityId, (f32, f32))>) {
        let entities = (0..).zip(self.entities());
        positions
            .extend(entities.map(|(number, entity)| (EntityId::fixed(number), entity.position)));
    }

    fn begin_measured(setup: &Setup) -> Result<Self, String> {
        let entities = setup.size.unwrap_or(SIZES.default);
        if setup.players == 0 || entities > 1 << 16 {
            return Err(
                "the evaluation game is for one player or more, and 65,536 entities at most".into(),
            );
        }
        Ok(Evaluation::new(
            setup.seed,
            setup.players,
            entities as usize,
        ))
    }

    /// The script needs no rehearsal: what a player does depends on no other player.
    fn script(setup: &Setup) -> Result<Script<Self>, String> {
        let seed = setup.seed;
        Ok(Box::new(move |game, tick, player| {
            script(seed, player, tick, game)
        }))
    }
}
