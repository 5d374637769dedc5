//! Save games: a state in a file.

use samestep_wire::{BitReader, DecodeError};
use thiserror::Error;

use crate::bytes::MAX_COUNT;
use crate::bytes::put;
use crate::digest::of_bytes;
use crate::{Replicate, RestoreError, Simulation, Table, Tick};

/// What every save game begins with.
const MAGIC: [u8; 4] = *b"SSG1";

/// The longest name of a game, in bytes.
const MAX_NAME: usize = 255;

/// Saves a game: all of its state, to the last bit.
///
/// ```
/// # use samestep_sync::{Entities, Events, Input, Inputs, Replicate, Simulation, Tick, Wire};
/// # #[derive(Clone, Debug, Default, PartialEq, Wire)]
/// # struct Key(bool);
/// # impl Input for Key { fn predict(&self) -> Self { self.clone() } }
/// # #[derive(Clone, Replicate)]
/// # struct Garden { trees: Entities<u32>, days: u64 }
/// # impl Simulation for Garden {
/// #     type Input = Key;
/// #     type Event = ();
/// #     const NAME: &'static str = "garden";
/// #     fn step(&mut self, _: &Inputs<'_, Key>, _: &mut Events<()>) { self.days += 1; }
/// # }
/// use samestep_sync::{load_game, save_game};
///
/// let mut garden = Garden { trees: Entities::new(), days: 9 };
/// let oak = garden.trees.insert(120);
///
/// let file = save_game(&garden, Tick(540));
/// let (loaded, tick) = load_game::<Garden>(&file)?;
/// assert_eq!((loaded.trees[oak], loaded.days, tick), (120, 9, Tick(540)));
/// # Ok::<(), samestep_sync::LoadError>(())
/// ```
pub fn save_game<S: Simulation + Replicate>(state: &S, tick: Tick) -> Vec<u8> {
    let mut table = Table::new(S::schema());
    state.extract(&mut table);
    let mut bytes = MAGIC.to_vec();
    let name = S::NAME.as_bytes();
    assert!(
        name.len() <= MAX_NAME,
        "the name of a game has at most {MAX_NAME} bytes"
    );
    put(&mut bytes, name.len() as u64);
    bytes.extend_from_slice(name);
    put(&mut bytes, u64::from(S::VERSION));
    put(&mut bytes, tick.0);
    bytes.extend_from_slice(&table.schema().fingerprint().to_le_bytes());
    bytes.extend_from_slice(&table.encode());
    let check = of_bytes(&bytes);
    bytes.extend_from_slice(&check.to_le_bytes());
    bytes
}

/// Loads what [`save_game`] saved: the state, and the tick it was saved at.
pub fn load_game<S: Simulation + Replicate>(bytes: &[u8]) -> Result<(S, Tick), LoadError> {
    let Some(rest) = bytes.strip_prefix(&MAGIC) else {
        return Err(LoadError::NotASaveGame);
    };
    let (body, check) = bytes
        .split_last_chunk::<8>()
        .filter(|(body, _)| body.len() >= MAGIC.len())
        .ok_or(LoadError::Damaged)?;
    // A fuzzer would not get beyond it.
    if of_bytes(body) != u64::from_le_bytes(*check) && !cfg!(fuzzing) {
        return Err(LoadError::Damaged);
    }
    let mut r = BitReader::new(&rest[..rest.len() - check.len()]);
    let header = Header::read(&mut r).map_err(|_| LoadError::Damaged)?;
    if header.name != S::NAME {
        return Err(LoadError::OtherGame { name: header.name });
    }
    let schema = S::schema();
    if header.version != u64::from(S::VERSION) {
        return Err(LoadError::OtherVersion {
            saved: header.version,
            ours: S::VERSION,
        });
    }
    if header.fingerprint != schema.fingerprint() {
        return Err(LoadError::OtherFields(S::VERSION));
    }
    let rest = r.rest().map_err(|_| LoadError::Damaged)?;
    let table = Table::decode(schema, rest).map_err(|_| LoadError::Damaged)?;
    let state = S::from_table(&table).map_err(LoadError::Invalid)?;
    Ok((state, header.tick))
}

struct Header {
    name: String,
    version: u64,
    tick: Tick,
    fingerprint: u64,
}

impl Header {
    fn read(r: &mut BitReader<'_>) -> Result<Header, DecodeError> {
        let len = r.read_varint()?;
        if len > MAX_NAME as u64 {
            return Err(DecodeError::TooLong);
        }
        let name = core::str::from_utf8(r.read_bytes(len as usize)?);
        Ok(Header {
            name: name.map_err(|_| DecodeError::BadUtf8)?.into(),
            version: r.read_varint()?,
            tick: match r.read_varint()? {
                tick if tick < MAX_COUNT => Tick(tick),
                _ => return Err(DecodeError::OutOfRange),
            },
            fingerprint: r.read_u64()?,
        })
    }
}

/// Why a save game does not load.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// It does not begin like one.
    #[error("this is no save game: choose another file")]
    NotASaveGame,
    /// Bytes are missing or changed.
    #[error("the save game is damaged: copy it again, or load an earlier one")]
    Damaged,
    /// It is one of another game.
    #[error("this is a save game of {name:?}: load it there")]
    OtherGame {
        /// That game.
        name: String,
    },
    /// It was saved by other rules.
    #[error(
        "the save game is of version {saved} of the rules, this is version {ours}: load it with the program that saved it"
    )]
    OtherVersion {
        /// The version of the rules it was saved by.
        saved: u64,
        /// The version of the rules that should load it.
        ours: u32,
    },
    /// It was saved by the same version of the rules, with a state that consists of other fields.
    #[error(
        "the save game's state has other fields than this program's version {0}: load it with the program that saved it"
    )]
    OtherFields(u32),
    /// It is whole, but holds no state of this game.
    #[error("the save game does not load: {0}")]
    Invalid(RestoreError),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Entities, Events, Input, Inputs, Record, Rng, Wire};

    #[derive(Clone, Debug, Default, PartialEq, Wire)]
    struct Nothing;

    impl Input for Nothing {
        fn predict(&self) -> Self {
            Nothing
        }
    }

    #[derive(Clone, Copy, PartialEq, Debug, Record)]
    struct Unit {
        at: (f32, f32),
        is_hidden: bool,
    }

    macro_rules! game {
        ($name:ident, $title:literal, $version:literal, { $($field:ident: $type:ty),* }) => {
            #[derive(Clone, Debug, PartialEq, Replicate)]
            struct $name {
                $($field: $type),*
            }

            impl Simulation for $name {
                type Input = Nothing;
                type Event = ();
                const NAME: &'static str = $title;
                const VERSION: u32 = $version;

                fn step(&mut self, _: &Inputs<'_, Nothing>, _: &mut Events<()>) {}
            }
        };
    }

    game!(Game, "game", 1, { units: Entities<Unit>, rng: Rng });
    game!(LaterVersion, "game", 2, { units: Entities<Unit>, rng: Rng });
    game!(OtherFields, "game", 1, { units: Vec<Unit>, rng: Rng });
    game!(OtherGame, "other", 1, { units: Entities<Unit>, rng: Rng });

    fn game() -> Game {
        let mut rng = Rng::new(1);
        let mut units = Entities::new();
        for _ in 0..200 {
            units.insert(Unit {
                at: (rng.unit(), rng.unit()),
                is_hidden: rng.chance(0.1),
            });
        }
        Game { units, rng }
    }

    #[test]
    fn a_game_goes_on_where_it_was_saved() {
        let game = game();
        let file = save_game(&game, Tick(77));
        assert_eq!(load_game(&file), Ok((game, Tick(77))));
    }

    #[test]
    fn errors_say_what_is_wrong() {
        let file = save_game(&game(), Tick(77));
        let said = |error: LoadError| ToString::to_string(&error);
        assert_eq!(
            said(load_game::<OtherGame>(&file).unwrap_err()),
            "this is a save game of \"game\": load it there"
        );
        assert!(said(load_game::<LaterVersion>(&file).unwrap_err()).contains("version 1"));
        assert!(said(load_game::<OtherFields>(&file).unwrap_err()).contains("other fields"));
        assert_eq!(load_game::<Game>(b""), Err(LoadError::NotASaveGame));
        assert_eq!(load_game::<Game>(b"PNG..."), Err(LoadError::NotASaveGame));
        assert_eq!(load_game::<Game>(b"SSG1"), Err(LoadError::Damaged));
        assert_eq!(load_game::<Game>(b"SSG1....."), Err(LoadError::Damaged));
    }

    #[test]
    fn any_damage_is_noticed() {
        let file = save_game(&game(), Tick(77));
        for at in MAGIC.len()..file.len() {
            let mut damaged = file.clone();
            damaged[at] ^= 1 << (at % 8);
            assert_eq!(load_game::<Game>(&damaged), Err(LoadError::Damaged));
            assert_eq!(load_game::<Game>(&file[..at]), Err(LoadError::Damaged));
        }
    }

    #[test]
    fn a_check_value_that_fits_does_not_make_it_valid() {
        let file = save_game(&game(), Tick(77));
        let mut rng = Rng::new(2);
        for _ in 0..2000 {
            let mut forged = file[..file.len() - 8].to_vec();
            let at = 4 + rng.below(forged.len() as u32 - 4) as usize;
            forged[at] = rng.next_u32() as u8;
            let check = of_bytes(&forged);
            forged.extend_from_slice(&check.to_le_bytes());
            let _ = load_game::<Game>(&forged);
        }
    }
}
