//! Where programs of the same user keep what they remember.

use std::path::PathBuf;

/// The folder of these games in the user's state directory; `None` if the system names none. It may not exist yet.
pub fn state_folder() -> Option<PathBuf> {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    Some(state.or_else(home)?.join("samestep"))
}
