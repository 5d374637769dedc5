//! A game on the whole terminal: waiting room, picture, score table, chat, figures.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use samestep_play::{Playing, Stage, Table};
use samestep_playable::{Key, Playable};

use crate::terminal::Terminal;
use samestep_play::failure::Failure;

/// How long the network is waited for at once.
const MOMENT: Duration = Duration::from_millis(5);
/// Between two pictures.
const PICTURE: Duration = Duration::from_millis(40);
/// Lines of chat and news that stay on the screen.
const CHAT: usize = 4;
/// Those that are kept for the waiting room, where there is more room.
const KEPT: usize = 40;

/// Plays on the terminal until it is over, or somebody leaves.
pub fn show<G: Playable>(playing: &mut Playing<G>) -> Result<(), Failure> {
    let mut screen = Screen::<G>::default();
    let mut terminal = Terminal::open();
    let mut next_picture = Instant::now();
    loop {
        playing.run_for(MOMENT)?;
        while playing.next_event().is_some() {}
        let mut keys = Vec::new();
        while let Some(key) = terminal.key() {
            screen.press(playing, key, &mut keys);
        }
        if let Some(me) = playing.me().filter(|_| playing.is_by_hand()) {
            let controls = playing.state().typed(me, &mut screen.hands, &keys);
            playing.set_controls(me, &controls);
        }
        screen.chat.extend(playing.lines());
        let old = screen.chat.len().saturating_sub(KEPT);
        screen.chat.drain(..old);
        if playing.is_finished() || terminal.is_interrupted() {
            return Ok(());
        }
        if Instant::now() >= next_picture {
            next_picture = Instant::now() + PICTURE;
            let (columns, lines) = terminal.size();
            terminal.draw(&screen.paint(playing, columns, lines));
        }
    }
}

/// What the screen keeps beside the game.
struct Screen<G: Playable> {
    hands: G::Hands,
    chat: VecDeque<String>,
    /// The line that is being typed.
    typing: Option<String>,
    shows_table: bool,
    shows_keys: bool,
    /// Whether to leave is asked for.
    asks: bool,
}

impl<G: Playable> Default for Screen<G> {
    fn default() -> Self {
        Self {
            hands: G::Hands::default(),
            chat: VecDeque::new(),
            typing: None,
            shows_table: false,
            shows_keys: false,
            asks: false,
        }
    }
}

impl<G: Playable> Screen<G> {
    /// Takes a key; those that are the game's go to `keys`.
    fn press(&mut self, playing: &mut Playing<G>, key: Key, keys: &mut Vec<Key>) {
        if let Some(line) = &mut self.typing {
            match key {
                Key::Char(character) => line.push(character),
                Key::Backspace => drop(line.pop()),
                Key::Enter => {
                    playing.say(&std::mem::take(line));
                    self.typing = None;
                }
                Key::Escape | Key::Interrupt => self.typing = None,
                _ => {}
            }
            return;
        }
        if std::mem::take(&mut self.asks) {
            if matches!(key, Key::Char('y') | Key::Interrupt) {
                playing.quit();
            }
            return;
        }
        match (key, playing.stage()) {
            (Key::Enter | Key::Char('t'), _) => self.typing = Some(String::new()),
            (Key::Tab, _) => self.shows_table ^= true,
            (Key::Char('?'), _) => self.shows_keys ^= true,
            (Key::Escape | Key::Interrupt, _) => self.asks = true,
            (key, Stage::Playing) => keys.push(key),
            (Key::Char('r'), Stage::Waiting) => {
                let ready = playing.is_ready() != Some(true);
                playing.set_ready(ready);
            }
            (Key::Char('s'), Stage::Waiting) => playing.start(),
            (Key::Char(digit @ '1'..='9'), Stage::Waiting) => {
                playing.next_value((digit as u8 - b'1').into());
            }
            (Key::Char('n'), Stage::Over) => playing.end_or_rematch(),
            _ => {}
        }
    }

    fn paint(&self, playing: &mut Playing<G>, columns: usize, lines: usize) -> Vec<String> {
        let below = CHAT + 2;
        let height = lines.saturating_sub(below).max(1);
        let mut picture = match playing.stage() {
            Stage::Joining => vec![String::new(), "  joining …".into()],
            Stage::Waiting => waiting_room(playing),
            Stage::Playing => self.game(playing, columns, height),
            Stage::Over => ending(playing),
        };
        picture.truncate(height);
        picture.resize(height, String::new());
        let newest = self.chat.len().saturating_sub(CHAT);
        let chat = self.chat.iter().skip(newest);
        picture.extend(chat.map(|line| cut(&format!(" {line}"), columns)));
        picture.resize(height + CHAT, String::new());
        picture.push(format!(
            "\x1b[2m{}",
            cut(&format!(" {}", playing.figures()), columns)
        ));
        picture.push(self.prompt(playing, columns));
        picture
    }

    fn game(&self, playing: &mut Playing<G>, columns: usize, height: usize) -> Vec<String> {
        let me = playing.me();
        let mut lines = Vec::new();
        if self.shows_keys {
            lines.extend(keys::<G>());
        }
        if self.shows_table {
            lines.extend(table(&playing.table(), me.map(|me| me.0)));
        }
        let height = height.saturating_sub(lines.len()).max(2);
        let state = playing.shown();
        lines.extend(match me {
            Some(me) => state.own_picture(me, &self.hands, columns, height),
            None => state.picture(None, columns, height),
        });
        lines
    }

    fn prompt(&self, playing: &Playing<G>, columns: usize) -> String {
        let words = match (&self.typing, self.asks, playing.stage()) {
            (Some(line), _, _) => {
                format!(" say: {line}▏   Enter sends · Esc cancels · /help lists commands")
            }
            (None, true, _) => " leave the game? y leaves, any other key stays".into(),
            (None, false, Stage::Waiting) if playing.is_host() => {
                " r ready · s start · 1 to 9 change a setting · Enter chat · Esc leave".into()
            }
            (None, false, Stage::Waiting) => " r ready · Enter chat · Esc leave".into(),
            (None, false, Stage::Over) if playing.is_host() => {
                " n another match · Enter chat · Esc leave".into()
            }
            (None, false, Stage::Over) => " Enter chat · Esc leave".into(),
            (None, false, _) => " ? keys · Tab scores · Enter chat · Esc leave".into(),
        };
        let words = cut(&words, columns);
        format!("\x1b[7m{words:<columns$}\x1b[0m")
    }
}

/// Who is there, whether they are ready, and what is going to be played.
fn waiting_room<G: Playable>(playing: &Playing<G>) -> Vec<String> {
    let me = playing.me();
    let mut lines = vec![
        format!(
            " \x1b[1m{}\x1b[0m · {} · waiting room",
            G::TITLE,
            playing.room_name()
        ),
        String::new(),
        " Players".into(),
    ];
    for row in playing.table().rows {
        let mark = match (row.is_away, row.is_ready) {
            (true, _) => "away ",
            (_, true) => "ready",
            _ => "  …  ",
        };
        let you = if Some(row.player) == me { " (you)" } else { "" };
        lines.push(format!("   {mark}  {}{you}", row.name));
    }
    lines.extend([String::new(), " The match".into()]);
    if playing.is_host() {
        for (at, (name, value)) in playing.choices().iter().enumerate() {
            lines.push(format!("   {} {name:<9} {value}", at + 1));
        }
    } else {
        for (name, value) in playing.settings() {
            lines.push(format!("   {name:<9} {value}"));
        }
    }
    lines.extend([String::new(), " Keys in the match".into()]);
    lines.extend(keys::<G>());
    lines
}

/// The table of a match that has ended.
fn ending<G: Playable>(playing: &Playing<G>) -> Vec<String> {
    let me = playing.me().map(|me| me.0);
    let mut lines = vec![format!(" \x1b[1mThe match is over\x1b[0m"), String::new()];
    lines.extend(table(&playing.table(), me));
    lines
}

fn keys<G: Playable>() -> Vec<String> {
    let keys = G::TERMINAL_KEYS.iter();
    keys.map(|(keys, what)| format!("   {keys:<16} {what}"))
        .collect()
}

/// The score table with names; one's own row is bright.
fn table(table: &Table, me: Option<u16>) -> Vec<String> {
    let names = table.rows.iter().map(|row| row.name.chars().count());
    let width = names.max().unwrap_or(0).max(6);
    let columns: String = table
        .columns
        .iter()
        .map(|name| format!("{name:>9}"))
        .collect();
    let head = format!("      {:<width$}{columns}", "player");
    let rows = table.rows.iter().map(|row| {
        let figures: String = row
            .figures
            .iter()
            .map(|figure| format!("{figure:>9}"))
            .collect();
        let away = if row.is_away { "  away" } else { "" };
        let strong = if Some(row.player.0) == me {
            "\x1b[1m"
        } else {
            ""
        };
        format!(
            "{strong}   {:>2} {:<width$}{figures}{away}\x1b[0m",
            row.player.0, row.name
        )
    });
    std::iter::once(head).chain(rows).collect()
}

/// So many characters at most.
fn cut(text: &str, columns: usize) -> String {
    text.chars().take(columns).collect()
}
