//! The whole terminal: taken over, drawn on, given back as it was.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use samestep_playable::Key;

pub struct Terminal {
    keys: Receiver<Key>,
    /// A key that came while waiting.
    waiting: Option<Key>,
    interrupted: Arc<AtomicBool>,
    /// Held for its end: it gives back the keyboard.
    _keyboard: Keyboard,
}

/// The other screen, without a cursor and without wrapping.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
const LEAVE: &str = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";

/// A flag that is raised when somebody presses Ctrl-C, or another program asks this one to stop.
pub fn interruption() -> Arc<AtomicBool> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&interrupted);
    // Without it Ctrl-C ends the program the hard way, which is better than not starting.
    let _ = ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed));
    interrupted
}

impl Terminal {
    /// Takes the terminal over until dropped.
    pub fn open() -> Self {
        let interrupted = interruption();
        let keyboard = Keyboard::single_keys();
        let (sender, keys) = sync_channel(64);
        // It ends with the program, or when nobody listens any more.
        thread::spawn(move || {
            let mut bytes = [0; 64];
            while let Ok(len @ 1..) = std::io::stdin().lock().read(&mut bytes) {
                if keys_in(&bytes[..len]).any(|key| sender.send(key).is_err()) {
                    return;
                }
            }
        });
        write(ENTER);
        Self {
            keys,
            waiting: None,
            interrupted,
            _keyboard: keyboard,
        }
    }

    /// The next key pressed, if any.
    pub fn key(&mut self) -> Option<Key> {
        self.waiting.take().or_else(|| self.keys.try_recv().ok())
    }

    /// Waits that long, or for a key.
    pub fn wait(&mut self, time: Duration) {
        if self.waiting.is_some() {
            return;
        }
        match self.keys.recv_timeout(time) {
            Ok(key) => self.waiting = Some(key),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => thread::park_timeout(time),
        }
    }

    /// Whether somebody pressed Ctrl-C, or another program asked this one to stop.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Columns and lines.
    pub fn size(&self) -> (usize, usize) {
        size().unwrap_or((80, 24))
    }

    /// Shows these lines, and nothing else, in one piece.
    pub fn draw(&mut self, lines: &[String]) {
        let mut text = String::from("\x1b[?2026h\x1b[H");
        for (at, line) in lines.iter().enumerate() {
            if at > 0 {
                text += "\r\n";
            }
            text += line;
            text += "\x1b[0m\x1b[K";
        }
        text += "\x1b[J\x1b[?2026l";
        write(&text);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        write(LEAVE);
    }
}

/// A terminal that is gone is not worth an error.
fn write(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// The keys behind some bytes: arrows come as three, letters in UTF-8.
fn keys_in(bytes: &[u8]) -> impl Iterator<Item = Key> + '_ {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        loop {
            let (key, len) = match rest {
                [] => return None,
                [0x1b, b'[' | b'O', b'A', ..] => (Some(Key::Up), 3),
                [0x1b, b'[' | b'O', b'B', ..] => (Some(Key::Down), 3),
                [0x1b, b'[' | b'O', b'C', ..] => (Some(Key::Right), 3),
                [0x1b, b'[' | b'O', b'D', ..] => (Some(Key::Left), 3),
                [0x1b, b'[' | b'O', _, ..] => (None, 3),
                [0x1b, b'[' | b'O'] => (None, 2),
                [0x1b, ..] => (Some(Key::Escape), 1),
                [3 | 4, ..] => (Some(Key::Interrupt), 1),
                [b'\r' | b'\n', ..] => (Some(Key::Enter), 1),
                [b'\t', ..] => (Some(Key::Tab), 1),
                [8 | 0x7f, ..] => (Some(Key::Backspace), 1),
                _ => character(rest),
            };
            rest = &rest[len..];
            if key.is_some() {
                return key;
            }
        }
    })
}

/// The first character, and how many bytes it takes; bytes that are none are passed over.
fn character(bytes: &[u8]) -> (Option<Key>, usize) {
    let longest = bytes.len().min(4);
    let first = (1..=longest).find_map(|len| std::str::from_utf8(&bytes[..len]).ok());
    let first = first.and_then(|text| text.chars().next());
    match first {
        Some(first) if first.is_control() => (None, first.len_utf8()),
        Some(first) => (Some(Key::Char(first)), first.len_utf8()),
        None => (None, 1),
    }
}

#[cfg(unix)]
fn size() -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_col > 0).then_some((size.ws_col.into(), size.ws_row.into()))
}

#[cfg(not(unix))]
fn size() -> Option<(usize, usize)> {
    None
}

/// A keyboard that gives each key at once and shows none, until dropped.
#[cfg(unix)]
struct Keyboard(Option<rustix::termios::Termios>);

#[cfg(unix)]
impl Keyboard {
    fn single_keys() -> Self {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let stdin = std::io::stdin();
        let Ok(before) = tcgetattr(&stdin) else {
            return Self(None);
        };
        let mut single = before.clone();
        single.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        let set = tcsetattr(&stdin, OptionalActions::Now, &single);
        Self(set.is_ok().then_some(before))
    }
}

#[cfg(unix)]
impl Drop for Keyboard {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};
        if let Some(before) = &self.0 {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
        }
    }
}

#[cfg(not(unix))]
struct Keyboard;

#[cfg(not(unix))]
impl Keyboard {
    fn single_keys() -> Self {
        Self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_apart() {
        let keys: Vec<_> =
            keys_in("x \x1b[A\x1b[D\x1bOC\x1b[5é\n\t\x7f\x03\x01q".as_bytes()).collect();
        let expected = [
            Key::Char('x'),
            Key::Char(' '),
            Key::Up,
            Key::Left,
            Key::Right,
            Key::Char('é'),
            Key::Enter,
            Key::Tab,
            Key::Backspace,
            Key::Interrupt,
            Key::Char('q'),
        ];
        assert_eq!(keys, expected);
        assert_eq!(keys_in(b"\x1b").collect::<Vec<_>>(), [Key::Escape]);
        assert_eq!(keys_in(b"\x1b[").collect::<Vec<_>>(), []);
        assert_eq!(keys_in(b"\xff\xc3").collect::<Vec<_>>(), []);
    }
}
