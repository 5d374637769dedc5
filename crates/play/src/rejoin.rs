//! The secret with which a player comes back to its place after a crash.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use samestep::session::RejoinSecret;

use crate::folder::state_folder;

/// A file that holds the secret while its game is played. It is locked, so that a second program of the same user does not take the place of the
/// first, and removed when the player leaves: what is found is of a program that crashed or was killed.
pub(crate) struct RejoinFile {
    path: PathBuf,
    file: File,
}

impl RejoinFile {
    /// Opens the file, and returns what an earlier program has left in it. `None` if another program plays with it.
    pub(crate) fn open(path: &Path) -> io::Result<Option<(RejoinFile, Option<RejoinSecret>)>> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let mut text = String::new();
        // What is no text was not written here.
        let _ = file.read_to_string(&mut text);
        let path = path.to_path_buf();
        Ok(Some((RejoinFile { path, file }, parse(text.trim()))))
    }

    /// Keeps the secret.
    pub(crate) fn write(&mut self, secret: RejoinSecret) -> io::Result<()> {
        let text: String = secret.0.iter().map(|byte| format!("{byte:02x}")).collect();
        self.file.rewind()?;
        self.file.set_len(0)?;
        writeln!(self.file, "{text}")?;
        self.file.sync_all()
    }

    /// The player has left: nobody comes back.
    pub(crate) fn remove(self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn parse(text: &str) -> Option<RejoinSecret> {
    let mut secret = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (at, byte) in secret.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(RejoinSecret(secret))
}

/// Where the secret of a player is kept: in the user's state directory, by game, address and name.
pub(crate) fn default_path(game: &str, address: SocketAddr, name: &str) -> Option<PathBuf> {
    let plain = |text: String| -> String {
        let keep = |letter: char| {
            if letter.is_alphanumeric() {
                letter
            } else {
                '-'
            }
        };
        text.chars().map(keep).collect()
    };
    let file = format!(
        "rejoin-{game}-{}-{}",
        plain(address.to_string()),
        plain(name.into())
    );
    Some(state_folder()?.join(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_there_again_unless_its_program_still_runs_or_has_left() {
        let folder = std::env::temp_dir().join(format!("samestep-rejoin-{}", std::process::id()));
        let path = folder.join("state/rejoin-game");
        let (mut first, before) = RejoinFile::open(&path).unwrap().unwrap();
        assert_eq!(before, None);
        first.write(RejoinSecret([7; 32])).unwrap();
        first.write(RejoinSecret([0xa5; 32])).unwrap();
        assert!(RejoinFile::open(&path).unwrap().is_none(), "it is in use");
        drop(first);
        let (second, before) = RejoinFile::open(&path).unwrap().unwrap();
        assert_eq!(before, Some(RejoinSecret([0xa5; 32])));
        second.remove();
        assert_eq!(RejoinFile::open(&path).unwrap().unwrap().1, None);
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(parse("zz"), None);
        assert_eq!(parse(&"é".repeat(32)), None);
    }
}
