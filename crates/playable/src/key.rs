//! The keys of a terminal.

/// A key that was pressed on a terminal. Terminals do not tell when a key is released.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Key {
    /// A letter, a digit, a sign, or the space.
    Char(char),
    /// An arrow.
    Left,
    /// An arrow.
    Right,
    /// An arrow.
    Up,
    /// An arrow.
    Down,
    /// The enter key.
    Enter,
    /// The tabulator.
    Tab,
    /// The backspace.
    Backspace,
    /// The escape key.
    Escape,
    /// Ctrl-C or Ctrl-D.
    Interrupt,
}
