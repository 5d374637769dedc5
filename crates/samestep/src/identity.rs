//! Keeps a program's static key in a file, so that others know it again after a restart.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use samestep_session::Identity;

use crate::driver::seed;

/// The static key in a file, which only its owner may read. Without a file a new key is made and kept there.
///
/// Give it to `SessionConfig::protocol` as its `identity`. Two programs in one room need two keys.
pub fn keep_identity(path: impl AsRef<Path>) -> io::Result<Identity> {
    let path = path.as_ref();
    kept(path).map_err(|error| {
        let words = format!("the key in {} cannot be kept: {error}", path.display());
        io::Error::new(error.kind(), words)
    })
}

fn kept(path: &Path) -> io::Result<Identity> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        read => return parse(&read?),
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let secret = seed()?;
    // Another program may start at the same time: the file appears with all of its content, for one of them.
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{:08x}", u32::from_le_bytes(first(&seed()?))));
    let draft = path.with_file_name(name);
    let written = write_new(&draft, &secret).and_then(|()| fs::hard_link(&draft, path));
    let _ = fs::remove_file(&draft);
    match written {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => parse(&fs::read(path)?),
        written => written.map(|()| Identity::from_secret(secret)),
    }
}

/// Writes a file that only its owner may read.
fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

fn first(bytes: &[u8; 32]) -> [u8; 4] {
    std::array::from_fn(|at| bytes[at])
}

fn parse(content: &[u8]) -> io::Result<Identity> {
    let secret = content.try_into();
    let damaged = |_| io::Error::other("it has not 32 bytes; remove it to get a new key");
    secret.map(Identity::from_secret).map_err(damaged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_stays_the_same_whoever_makes_it() {
        let folder = std::env::temp_dir().join(format!("samestep-identity-{}", std::process::id()));
        let path = folder.join("state/identity");
        let keys: Vec<_> = std::thread::scope(|scope| {
            let keep = || keep_identity(&path).unwrap().public_key();
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(keep)).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
        assert_eq!(keep_identity(&path).unwrap().public_key(), keys[0]);
        let files = fs::read_dir(path.parent().unwrap()).unwrap();
        assert_eq!(files.count(), 1, "no drafts are left");
        fs::write(&path, "short").unwrap();
        let error = keep_identity(&path).unwrap_err().to_string();
        assert!(
            error.contains("identity cannot be kept: it has not 32 bytes"),
            "{error}"
        );
        fs::remove_dir_all(&folder).unwrap();
        // Where there can be no folder.
        let error = keep_identity("/dev/null/identity").unwrap_err().to_string();
        assert!(
            error.starts_with("the key in /dev/null/identity cannot be kept"),
            "{error}"
        );
    }
}
