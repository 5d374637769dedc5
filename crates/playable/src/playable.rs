//! The trait that every game implements.

use samestep_sync::{EntityId, ModelKind, PlayerId, Simulation, Tick};

use crate::key::Key;
use crate::script::{Script, rehearse};
use crate::settings::{Choices, Level, Setting};

/// A game that can be played without a window.
pub trait Playable: Simulation<Input: Send> + Send {
    /// The name on the screen; [`Simulation::NAME`] is the one in links and on command lines.
    const TITLE: &'static str;
    /// A few words about what kind of game it is.
    const ABOUT: &'static str;
    /// The default number of players.
    const PLAYERS: u16;
    /// How many can play at one screen, each with keys of its own: more than one only if all of them see the same picture.
    const SHARED_SCREEN: u16 = 1;
    /// The sizes the game can have; `None` if it has only one.
    const SIZES: Option<Sizes> = None;

    /// The model it is played by unless another is chosen: a [`ModelKind::name`].
    const MODEL: &'static str = "rollback";
    /// What can be set about a match.
    const SETTINGS: &'static [Setting] = &[];
    /// The columns of the score table.
    const SCORES: &'static [&'static str] = &[];
    /// What the keys do on a terminal, as (keys, effect). Enter, `t`, Tab and `q` are the program's own.
    const TERMINAL_KEYS: &'static [(&'static str, &'static str)] = &[];

    /// The state of a bot.
    type Bot: Send + 'static;
    /// What is kept of a player's keys on a terminal: what still counts as held, a cursor.
    type Hands: Default + Send + 'static;

    /// Creates the initial state. The error is a sentence that says what is possible.
    fn begin(setup: &Setup) -> Result<Self, String>;

    /// Creates the initial state with these settings. The error is a sentence that says what is possible.
    fn begin_with(setup: &Setup, choices: &Choices) -> Result<Self, String> {
        choices.check(Self::TITLE, Self::SETTINGS)?;
        Self::begin(setup)
    }

    /// The settings of this match, as (name, value): everyone who has the state knows them.
    fn settings(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// The score table, the best first.
    fn scores(&self) -> Vec<Score> {
        Vec::new()
    }

    /// Whether the match is decided: nothing changes the score table from here on.
    fn is_over(&self) -> bool {
        false
    }

    /// Creates a bot for one of the players.
    fn bot(setup: &Setup, player: PlayerId) -> Self::Bot;

    /// Creates a bot that plays so well.
    fn bot_at(setup: &Setup, player: PlayerId, _level: Level) -> Self::Bot {
        Self::bot(setup, player)
    }

    /// Returns the input of a bot that sees this state; `None` leaves its last input in force.
    fn decide(&self, bot: &mut Self::Bot, tick: Tick) -> Option<Self::Input>;

    /// Whether the game can be played under this model.
    fn supports(_model: ModelKind) -> bool {
        true
    }

    /// Changes the state behind the rules' back, so that a desync can be demonstrated.
    fn tamper(&mut self);

    /// Draws the state for a terminal in at most that many columns and lines: what `viewer` sees, or everything.
    fn picture(&self, viewer: Option<PlayerId>, columns: usize, lines: usize) -> Vec<String>;

    /// Returns the input of a person who sees this state and has pressed these keys of a terminal since it was asked last, which is every tick or
    /// less often.
    fn typed(&self, player: PlayerId, hands: &mut Self::Hands, keys: &[Key]) -> Self::Input;

    /// Draws the state for a person who plays it on a terminal: the [picture](Self::picture), and what its hands have chosen.
    fn own_picture(
        &self,
        player: PlayerId,
        _hands: &Self::Hands,
        columns: usize,
        lines: usize,
    ) -> Vec<String> {
        self.picture(Some(player), columns, lines)
    }

    /// Appends the position of everything that moves, in units of the game and in ascending order of the ids: corrections are measured with it.
    fn positions(&self, positions: &mut Vec<(EntityId, (f32, f32))>);

    /// Creates the initial state of a measured match, which may differ from what is pleasant to watch.
    fn begin_measured(setup: &Setup) -> Result<Self, String> {
        Self::begin(setup)
    }

    /// Creates the script of a measured match: inputs that are the same under every model, so that models can be compared.
    fn script(setup: &Setup) -> Result<Script<Self>, String> {
        rehearse(setup, Self::decide)
    }

    /// Creates some state that is about to be replaced, for example by the first one of a replay.
    fn placeholder() -> Self {
        Self::begin(&Setup::default_of::<Self>(0)).expect("a game can begin with its defaults")
    }
}

/// A row of the score table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Score {
    /// Whose it is.
    pub player: PlayerId,
    /// A figure for each of [`Playable::SCORES`].
    pub figures: Vec<i64>,
}

/// What a match is set up from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setup {
    /// The number of players; their ids are 0, 1, 2 and so on.
    pub players: u16,
    /// The size, for games that have [`Playable::SIZES`].
    pub size: Option<u32>,
    /// The seed of all randomness: the same seed gives the same initial state.
    pub seed: u64,
}

impl Setup {
    /// The default set-up of a game.
    pub fn default_of<G: Playable>(seed: u64) -> Setup {
        Setup {
            players: G::PLAYERS,
            size: None,
            seed,
        }
    }
}

/// The sizes a game can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// What is counted, in the plural.
    pub unit: &'static str,
    /// The smallest size.
    pub min: u32,
    /// The largest size.
    pub max: u32,
    /// The size of a match that is watched.
    pub default: u32,
    /// The size of a match that keeps a processor busy, for checks of the computation.
    pub load: u32,
}
