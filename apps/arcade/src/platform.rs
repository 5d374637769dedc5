//! The differences between a window and a page.

use eframe::egui::DroppedFileHandle;

use crate::sound::{Mute, Speaker};

/// A file that was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct File {
    /// Its name, without the folders.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// The platform that the program runs on: a window or a page.
pub trait Platform {
    /// The sandbox has come to be another: the address should say so.
    fn set_link(&self, link: &str);

    /// The address that shows the same to another user.
    fn share_address(&self, link: &str) -> String;

    /// Saves a file; says where, or why not.
    fn save(&self, name: &str, bytes: &[u8]) -> Result<String, String>;

    /// Whether the user can choose a file in a dialog. If not, a path has to be typed.
    fn has_chooser(&self) -> bool;

    /// Lets the user choose a file, which is [opened](Self::opened) later.
    fn open_file(&self);

    /// Reads a file that was dropped onto the program, which is [opened](Self::opened) later.
    fn read_dropped(&self, file: DroppedFileHandle);

    /// A file that was chosen or dropped, or why it could not be read.
    fn opened(&self) -> Option<Result<File, String>>;

    /// Seconds since any time in the past.
    fn seconds(&self) -> f64;

    /// What sounds are played with. Default: nothing is heard.
    fn speaker(&self) -> Box<dyn Speaker> {
        Box::new(Mute)
    }

    /// Remembers a short text under a name until the program is opened again, if that is possible. Default: it is not.
    fn remember(&self, _name: &str, _text: &str) {}

    /// What was remembered under a name.
    fn remembered(&self, _name: &str) -> Option<String> {
        None
    }
}

/// A window of its own.
#[cfg(not(target_arch = "wasm32"))]
pub struct Window {
    began: std::time::Instant,
    read: std::cell::RefCell<Vec<Result<File, String>>>,
}

#[cfg(not(target_arch = "wasm32"))]
impl Window {
    /// That of this program.
    #[expect(clippy::new_without_default, reason = "the time it begins matters")]
    pub fn new() -> Window {
        Window {
            began: std::time::Instant::now(),
            read: std::cell::RefCell::default(),
        }
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Platform for Window {
    fn set_link(&self, _link: &str) {}

    fn share_address(&self, link: &str) -> String {
        link.into()
    }

    fn save(&self, name: &str, bytes: &[u8]) -> Result<String, String> {
        let folder = std::env::current_dir().unwrap_or_default();
        let path = free_path(&folder, name);
        match std::fs::write(&path, bytes) {
            Ok(()) => Ok(format!("saved as {}", path.display())),
            Err(error) => Err(format!("{} was not saved: {error}", path.display())),
        }
    }

    fn has_chooser(&self) -> bool {
        false
    }

    fn open_file(&self) {}

    fn read_dropped(&self, file: DroppedFileHandle) {
        let name = file.path().file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        let read = match file.bytes() {
            Ok(bytes) => Ok(File { name, bytes }),
            Err(error) => Err(format!("{name} could not be read: {error}")),
        };
        self.read.borrow_mut().push(read);
    }

    fn opened(&self) -> Option<Result<File, String>> {
        self.read.borrow_mut().pop()
    }

    fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    fn speaker(&self) -> Box<dyn Speaker> {
        Box::new(crate::sound::SoundCard::default())
    }

    /// In a file of the user's state directory. Where there is none, or it cannot be written, nothing is remembered.
    fn remember(&self, name: &str, text: &str) {
        let Some(folder) = samestep_play::state_folder() else {
            return;
        };
        let made = std::fs::create_dir_all(&folder);
        let _ = made.and_then(|()| std::fs::write(folder.join(name), format!("{text}\n")));
    }

    fn remembered(&self, name: &str) -> Option<String> {
        let folder = samestep_play::state_folder()?;
        std::fs::read_to_string(folder.join(name)).ok()
    }
}

/// A path in a folder at which there is nothing yet: with a number before the ending, if need be.
#[cfg(not(target_arch = "wasm32"))]
fn free_path(folder: &std::path::Path, name: &str) -> std::path::PathBuf {
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let numbered = (2..).map(|number| format!("{stem}-{number}.{ending}"));
    let mut names = std::iter::once(name.to_string()).chain(numbered);
    let free = names.find(|name| !folder.join(name).exists());
    folder.join(free.expect("numbers never end"))
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_not_overwritten() {
        let folder = std::env::temp_dir().join(format!("samestep-arcade-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for expected in ["match.replay", "match-2.replay", "match-3.replay"] {
            let path = free_path(&folder, "match.replay");
            assert_eq!(path, folder.join(expected));
            std::fs::write(path, [1]).unwrap();
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
