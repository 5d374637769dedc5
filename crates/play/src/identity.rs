//! The static key of this user's games, by which others know them again.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use samestep::session::Identity;

use crate::folder::state_folder;

/// The key of the games that this user opens, made with the first one; `None` if it cannot be kept: then each has a new one.
pub(crate) fn own_identity(secret: [u8; 32]) -> Option<Identity> {
    kept(&state_folder()?.join("identity"), secret).ok()
}

/// The key in a file, which only its owner may read; without a file it is made of `secret`.
fn kept(path: &Path, secret: [u8; 32]) -> io::Result<Identity> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(mut file) => {
            file.write_all(&secret)?;
            file.sync_all()?;
            Ok(Identity::from_secret(secret))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let secret = fs::read(path)?.try_into();
            let damaged = |_| io::Error::other("not 32 bytes");
            secret.map(Identity::from_secret).map_err(damaged)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_stays_the_same() {
        let folder = std::env::temp_dir().join(format!("samestep-identity-{}", std::process::id()));
        let path = folder.join("state/identity");
        let first = kept(&path, [1; 32]).unwrap().public_key();
        assert_eq!(kept(&path, [2; 32]).unwrap().public_key(), first);
        fs::write(&path, "short").unwrap();
        assert!(kept(&path, [3; 32]).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }
}
