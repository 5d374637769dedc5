//! The journal of a game that is opened: its options, and what this program itself keeps in it.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use samestep::wire::{Wire, decode_exact, encode_to_vec};
use samestep::{Fsync, JournalConfig, JournalFile};

use crate::failure::{Failure, Kind};

/// Options of who keeps the game that it opens in a journal.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Journal")]
pub struct JournalArguments {
    /// Keep the match in this file, and go on with the one in it after a crash: the file is removed when the game is closed
    #[arg(long, value_name = "FILE")]
    pub journal: Option<PathBuf>,
    /// When the journal is forced onto the disk: never, always, or so many milliseconds later at most. A crash of the program alone loses nothing
    #[arg(long, value_name = "never|always|MS", default_value = "1000", value_parser = fsync, requires = "journal")]
    pub fsync: Fsync,
}

impl JournalArguments {
    /// Opens the journal, if there is to be one.
    pub(crate) fn open(&self) -> Result<Option<JournalFile>, Failure> {
        let Some(path) = &self.journal else {
            return Ok(None);
        };
        let config = JournalConfig {
            fsync: self.fsync,
            ..JournalConfig::default()
        };
        let opened = JournalFile::open(path, config);
        let opened = opened.map_err(|error| Failure::new(Kind::Other, error.to_string()));
        opened.map(Some)
    }
}

fn fsync(text: &str) -> Result<Fsync, String> {
    match text {
        "never" => Ok(Fsync::Never),
        "always" => Ok(Fsync::Always),
        ms => match ms.parse() {
            Ok(ms @ 1..=3_600_000) => Ok(Fsync::Every(Duration::from_millis(ms))),
            _ => Err("never, always, or milliseconds up to an hour".into()),
        },
    }
}

/// What a program that opened a game finds again after a restart.
#[derive(Clone, PartialEq, Eq, Debug, Default, Wire)]
pub(crate) struct Kept {
    /// The seed that the matches' states follow from.
    pub seed: u64,
    /// How many matches have ended.
    pub matches: u32,
    /// The secrets of the bots, by which they return to their places.
    #[wire(max_len = 4096)]
    pub bots: Vec<[u8; 32]>,
}

impl Kept {
    pub(crate) fn encode(&self) -> Vec<u8> {
        encode_to_vec(self).unwrap_or_default()
    }

    /// What was kept in a journal; `None` if there is no match in it, or another program wrote it.
    pub(crate) fn of(journal: Option<&JournalFile>) -> Option<Kept> {
        decode_exact(journal?.found()?.program()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_found_again() {
        let kept = Kept {
            seed: u64::MAX,
            matches: 3,
            bots: vec![[7; 32], [9; 32]],
        };
        assert_eq!(decode_exact::<Kept>(&kept.encode()), Ok(kept));
        assert_eq!(fsync("never"), Ok(Fsync::Never));
        assert_eq!(fsync("20"), Ok(Fsync::Every(Duration::from_millis(20))));
        assert!(fsync("0").is_err() && fsync("soon").is_err());
    }
}
