//! Keeps a host's match in a file, so that a program that was killed goes on with it after a restart.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use samestep_session::{Match, ResumeMatchError};
use samestep_sync::{
    FeedError, Journal, JournalClock, JournalError, JournalHeader, JournalWriter, Model, World,
};

/// How often the time is written at least, while there is something to write.
const CLOCK_EVERY: Duration = Duration::from_millis(50);
/// After a restart the program's clock goes on by this much at least: it must not show a time again that it has shown.
const LEAST_PAUSE: Duration = Duration::from_millis(200);
/// The longest that a program is believed to have been down: a time of day that says more was set by somebody.
const LONGEST_PAUSE: Duration = Duration::from_secs(366 * 24 * 3600);

/// When what was written is forced onto the disk. What was written and not forced survives the end of the program, but not that of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fsync {
    /// Never: the system does it when it likes.
    Never,
    /// At most this long after it was written.
    Every(Duration),
    /// Before anybody is told of it. A tick then takes as long as the disk does.
    Always,
}

/// Settings of a [`JournalFile`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JournalConfig {
    /// When what was written is forced onto the disk. Default: every second.
    pub fsync: Fsync,
    /// How often the file begins anew with a state, so that it stays short and a restart quick. Default: every minute.
    pub state_every: Duration,
}

impl Default for JournalConfig {
    fn default() -> JournalConfig {
        JournalConfig {
            fsync: Fsync::Every(Duration::from_secs(1)),
            state_every: Duration::from_secs(60),
        }
    }
}

/// The file in which a host keeps its match. See [`Game::host_with_journal`](crate::Game::host_with_journal).
///
/// It holds all secrets of the match: only its owner may read it. One program uses it at a time.
#[derive(Debug)]
pub struct JournalFile {
    path: PathBuf,
    config: JournalConfig,
    /// The file as it was found, locked.
    file: Option<File>,
    found: Option<Journal>,
}

/// Why a journal is not used. Nothing has happened to the file.
#[derive(Debug, thiserror::Error)]
pub enum JournalFileError {
    /// It cannot be read.
    #[error(
        "the journal {path} cannot be read: {error}. It is left as it is: move it away to begin anew, or name another file",
        path = path.display()
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: JournalError,
    },
    /// Another program uses it.
    #[error("another program uses the journal {}: end that, or name another file", .0.display())]
    InUse(PathBuf),
    /// It is of another game, another version or another model.
    #[error(
        "the journal {path} is of {found}, and this is {wanted}: start that to go on with it, move it away to begin anew, or name another file",
        path = path.display()
    )]
    OtherGame {
        /// The file.
        path: PathBuf,
        /// What it is of.
        found: String,
        /// What is played here.
        wanted: String,
    },
    /// The ticks in it do not lead to a state.
    #[error(
        "the journal {path} does not lead to a state: {error}. It is left as it is: move it away to begin anew, or name another file",
        path = path.display()
    )]
    Replay {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: FeedError,
    },
    /// The room or the model cannot go on from it.
    #[error(
        "the match in the journal {path} cannot go on: {error}. It is left as it is: move it away to begin anew, or name another file",
        path = path.display()
    )]
    Resume {
        /// The file.
        path: PathBuf,
        /// Why.
        error: ResumeMatchError,
    },
    /// An error of the operating system.
    #[error("the journal {path}: {error}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

impl JournalFile {
    /// Opens the journal at a path, and reads what an earlier program has left in it. A journal that cannot be read is an error, and is left alone.
    pub fn open(
        path: impl AsRef<Path>,
        config: JournalConfig,
    ) -> Result<JournalFile, JournalFileError> {
        let path = path.as_ref().to_path_buf();
        let failed = |error| JournalFileError::Io {
            path: path.clone(),
            error,
        };
        let mut options = OpenOptions::new();
        let mut file = match options.read(true).write(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(JournalFile {
                    path,
                    config,
                    file: None,
                    found: None,
                });
            }
            Err(error) => return Err(failed(error)),
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalFileError::InUse(path)),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        // Nothing was ever written into an empty one.
        let found = match bytes.is_empty() {
            true => None,
            false => match Journal::parse(&bytes) {
                Ok(found) => Some(found),
                Err(error) => return Err(JournalFileError::Unreadable { path, error }),
            },
        };
        Ok(JournalFile {
            path,
            config,
            file: Some(file),
            found,
        })
    }

    /// The match that an earlier program has left; `None` if there is none.
    pub fn found(&self) -> Option<&Journal> {
        self.found.as_ref()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The match that was found, if it is of this game.
    pub(crate) fn take_found(
        &mut self,
        wanted: &JournalHeader,
    ) -> Result<Option<Journal>, JournalFileError> {
        let Some(found) = self.found.take() else {
            return Ok(None);
        };
        if found.header() != wanted {
            return Err(JournalFileError::OtherGame {
                path: self.path.clone(),
                found: described(found.header()),
                wanted: described(wanted),
            });
        }
        if found.torn_bytes() > 0 {
            tracing::warn!(
                bytes = found.torn_bytes(),
                "the end of the journal is not whole, and is cut off"
            );
        }
        Ok(Some(found))
    }

    pub(crate) fn keep(self, header: &JournalHeader) -> JournalKeeper {
        JournalKeeper {
            writer: JournalWriter::new(header),
            path: self.path,
            config: self.config,
            file: self.file,
            program: Vec::new(),
            program_changed: false,
            committed: 0,
            clock_at: Duration::ZERO,
            state_at: Duration::ZERO,
            unsynced_since: None,
            error: None,
        }
    }
}

fn described(header: &JournalHeader) -> String {
    let JournalHeader {
        game,
        version,
        model,
        layout,
        ..
    } = header;
    format!(
        "{game} {version} by {model} (state {:08x})",
        layout.state as u32
    )
}

/// What the program's clock shows after a restart: it goes on by as much as the time of day has.
pub(crate) fn clock_after(clock: JournalClock) -> Duration {
    let pause = time_of_day().saturating_sub(clock.time_of_day);
    clock.now + pause.clamp(LEAST_PAUSE, LONGEST_PAUSE)
}

fn time_of_day() -> Duration {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default()
}

/// Writes the journal of a match that runs.
#[derive(Debug)]
pub(crate) struct JournalKeeper {
    writer: JournalWriter,
    path: PathBuf,
    config: JournalConfig,
    file: Option<File>,
    /// What the program itself keeps.
    program: Vec<u8>,
    program_changed: bool,
    /// The changes of the room that were written.
    committed: u64,
    clock_at: Duration,
    state_at: Duration,
    /// Since when something has not been forced onto the disk.
    unsynced_since: Option<Duration>,
    error: Option<String>,
}

impl JournalKeeper {
    /// Why nothing is written any more.
    pub(crate) fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    pub(crate) fn set_program(&mut self, program: &[u8]) {
        if self.program != program {
            self.program = program.to_vec();
            self.program_changed = true;
        }
    }

    /// Begins a new file with the present state, which then takes the place of the old one.
    pub(crate) fn begin<W: World, M: Model>(
        &mut self,
        now: Duration,
        game: &mut Match<W, M>,
    ) -> io::Result<()> {
        let (state, room) = (game.begin_feed(now), game.session().save_room(now));
        let (Some(state), Some(room)) = (state, room) else {
            let words = "only a host keeps one, and under a model that can be followed";
            return Err(io::Error::other(words));
        };
        self.writer.restart();
        self.write_clock(now);
        self.writer.room(&room);
        self.writer.program(&self.program);
        self.writer.state(&state);
        let mut name = self.path.file_name().unwrap_or_default().to_os_string();
        name.push(".new");
        let draft = self.path.with_file_name(name);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&draft)?;
        file.try_lock().map_err(io::Error::from)?;
        file.write_all(&self.writer.take())?;
        if self.config.fsync != Fsync::Never {
            file.sync_all()?;
        }
        fs::rename(&draft, &self.path)?;
        if self.config.fsync != Fsync::Never {
            sync_folder(&self.path);
        }
        self.file = Some(file);
        self.committed = game.session().log_index();
        (self.state_at, self.program_changed, self.unsynced_since) = (now, false, None);
        Ok(())
    }

    /// Writes what is new. To be called before others are told of it.
    pub(crate) fn write<W: World, M: Model>(&mut self, now: Duration, game: &mut Match<W, M>) {
        if self.error.is_none()
            && let Err(error) = self.try_write(now, game)
        {
            tracing::error!(path = %self.path.display(), %error, "the journal is not written any more");
            self.error = Some(format!("{}: {error}", self.path.display()));
        }
    }

    fn try_write<W: World, M: Model>(
        &mut self,
        now: Duration,
        game: &mut Match<W, M>,
    ) -> io::Result<()> {
        if now >= self.state_at + self.config.state_every || self.writer.has_grown() {
            return self.begin(now, game);
        }
        let Ok(ticks) = game.feed() else {
            return self.begin(now, game);
        };
        let committed = game.session().log_index();
        let room_changed = committed != self.committed;
        if ticks.is_some() || room_changed || self.program_changed {
            if now >= self.clock_at + CLOCK_EVERY {
                self.write_clock(now);
            }
            if room_changed && let Some(room) = game.session().save_room(now) {
                self.writer.room(&room);
                self.committed = committed;
            }
            if std::mem::take(&mut self.program_changed) {
                self.writer.program(&self.program);
            }
            if let Some(ticks) = ticks {
                self.writer.ticks(&ticks);
            }
            if let Some(file) = &mut self.file {
                file.write_all(&self.writer.take())?;
            }
            self.unsynced_since.get_or_insert(now);
        }
        let is_due = self
            .unsynced_since
            .is_some_and(|since| match self.config.fsync {
                Fsync::Never => false,
                Fsync::Every(time) => now >= since + time,
                Fsync::Always => true,
            });
        if is_due && let Some(file) = &self.file {
            file.sync_data()?;
            self.unsynced_since = None;
        }
        Ok(())
    }

    fn write_clock(&mut self, now: Duration) {
        self.clock_at = now;
        self.writer.clock(JournalClock {
            now,
            time_of_day: time_of_day(),
        });
    }

    /// The match is over for good: there is nothing to go on with.
    pub(crate) fn remove(self) {
        if self.error.is_none() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A file that was renamed is there after a power failure only once its folder is on the disk.
fn sync_folder(path: &Path) {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    if let Ok(folder) = File::open(folder.unwrap_or(Path::new("."))) {
        // Not every system can.
        let _ = folder.sync_all();
    }
}
