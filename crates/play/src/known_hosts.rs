//! The keys of hosts that were joined before: trust on first use.

use std::fs::{self, File};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;

use samestep::session::PublicKey;

use crate::folder::state_folder;

/// What is remembered of the host at one address: a line `ADDRESS KEY` in the file `known-hosts` of the user's state directory.
pub struct KnownHosts {
    path: PathBuf,
    address: SocketAddr,
}

impl KnownHosts {
    /// What is remembered of an address. `None` for addresses of this machine, where nobody is in between and ports change hands, and where the
    /// system names no state directory.
    pub fn open(address: SocketAddr) -> Option<KnownHosts> {
        if address.ip().to_canonical().is_loopback() {
            return None;
        }
        let path = state_folder()?.join("known-hosts");
        Some(KnownHosts { path, address })
    }

    /// The key that was found there before.
    pub fn key(&self) -> Option<PublicKey> {
        let text = fs::read_to_string(&self.path).ok()?;
        let key = |line: &str| {
            let (address, key) = line.split_once(' ')?;
            let is_it = address.parse() == Ok(self.address);
            is_it.then(|| key.trim().parse().ok()).flatten()
        };
        text.lines().find_map(key)
    }

    /// Remembers a key. Returns whether it is new here. What was remembered of the address stays: it would have been insisted on.
    pub fn remember(&self, key: PublicKey) -> io::Result<bool> {
        if self.key().is_some() {
            return Ok(false);
        }
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = File::options().create(true).append(true).open(&self.path)?;
        writeln!(file, "{} {key}", self.address)?;
        Ok(true)
    }

    /// What to do if the host has another key than the one remembered.
    pub fn advice(&self) -> String {
        let (address, path) = (self.address, self.path.display());
        format!(
            "the host at {address} has another key than before. If you know that it was set up anew, remove its line from {path} and join again; \
             if not, somebody may be in its place"
        )
    }
}

#[cfg(test)]
mod tests {
    use samestep::session::Identity;

    use super::*;

    #[test]
    fn a_key_is_remembered_with_its_address() {
        let folder = std::env::temp_dir().join(format!("samestep-known-{}", std::process::id()));
        let at = |port| KnownHosts {
            path: folder.join("state/known-hosts"),
            address: ([192, 0, 2, 1], port).into(),
        };
        let key = |seed| Identity::from_secret([seed; 32]).public_key();
        assert_eq!(at(1).key(), None);
        assert!(at(1).remember(key(1)).unwrap());
        assert!(!at(1).remember(key(1)).unwrap());
        assert!(at(2).remember(key(2)).unwrap());
        assert!(!at(2).remember(key(3)).unwrap(), "the first is kept");
        assert_eq!(at(1).key(), Some(key(1)));
        assert_eq!(at(2).key(), Some(key(2)));
        let lines = fs::read_to_string(&at(1).path).unwrap();
        assert_eq!(lines.lines().count(), 2, "{lines}");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn nothing_is_remembered_of_this_machine() {
        for address in ["127.0.0.1:5", "[::1]:5", "[::ffff:127.0.0.1]:5"] {
            assert!(KnownHosts::open(address.parse().unwrap()).is_none());
        }
    }
}
