//! The inputs of people: keyboard and mouse.

use eframe::egui::{Event, InputState, Key, MouseWheelUnit, PointerButton, Pos2, Rect};

use crate::drawn::{Button, HumanInput, Pointer};

/// Which keys somebody plays with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// W A S D, and the mouse.
    One,
    /// The arrow keys.
    Two,
    /// I J K L.
    Three,
    /// The number pad. Windows do not tell it from the digits above the letters, which therefore do as well.
    Four,
}

impl Layout {
    /// All of them, in the order in which those who share a screen get them.
    pub const ALL: [Layout; 4] = [Layout::One, Layout::Two, Layout::Three, Layout::Four];

    /// What it is called on the screen.
    pub fn title(self) -> &'static str {
        match self {
            Layout::One => "WASD + mouse",
            Layout::Two => "Arrow keys",
            Layout::Three => "I J K L",
            Layout::Four => "Number pad",
        }
    }
}

/// What a key is for.
#[derive(Clone, Copy)]
enum Use {
    Left,
    Right,
    Up,
    Down,
    Action(usize),
}

/// What the keys are for.
const KEYS: [(Key, Layout, Use); 35] = [
    (Key::A, Layout::One, Use::Left),
    (Key::D, Layout::One, Use::Right),
    (Key::W, Layout::One, Use::Up),
    (Key::S, Layout::One, Use::Down),
    (Key::F, Layout::One, Use::Action(0)),
    (Key::C, Layout::One, Use::Action(1)),
    (Key::E, Layout::One, Use::Action(2)),
    (Key::Q, Layout::One, Use::Action(3)),
    (Key::ArrowLeft, Layout::Two, Use::Left),
    (Key::ArrowRight, Layout::Two, Use::Right),
    (Key::ArrowUp, Layout::Two, Use::Up),
    (Key::ArrowDown, Layout::Two, Use::Down),
    (Key::Comma, Layout::Two, Use::Action(0)),
    (Key::Period, Layout::Two, Use::Action(1)),
    (Key::Minus, Layout::Two, Use::Action(2)),
    (Key::Slash, Layout::Two, Use::Action(2)),
    (Key::ShiftRight, Layout::Two, Use::Action(3)),
    (Key::Enter, Layout::Two, Use::Action(3)),
    (Key::J, Layout::Three, Use::Left),
    (Key::L, Layout::Three, Use::Right),
    (Key::I, Layout::Three, Use::Up),
    (Key::K, Layout::Three, Use::Down),
    (Key::U, Layout::Three, Use::Action(0)),
    (Key::H, Layout::Three, Use::Action(1)),
    (Key::O, Layout::Three, Use::Action(2)),
    (Key::P, Layout::Three, Use::Action(3)),
    (Key::Num4, Layout::Four, Use::Left),
    (Key::Num6, Layout::Four, Use::Right),
    (Key::Num8, Layout::Four, Use::Up),
    (Key::Num5, Layout::Four, Use::Down),
    (Key::Num2, Layout::Four, Use::Down),
    (Key::Num7, Layout::Four, Use::Action(0)),
    (Key::Num1, Layout::Four, Use::Action(1)),
    (Key::Num9, Layout::Four, Use::Action(2)),
    (Key::Num3, Layout::Four, Use::Action(3)),
];

/// What games call the keys, and which those are in each layout.
const NAMES: [(&str, [&str; 4]); 8] = [
    (
        "Directions",
        ["W A S D", "Arrow keys", "I J K L", "8 4 5 6"],
    ),
    ("Left, right", ["A, D", "Left, right", "J, L", "4, 6"]),
    ("Up", ["W", "Up", "I", "8"]),
    ("Down", ["S", "Down", "K", "5 or 2"]),
    ("Action 1", ["F or left button", "Comma", "U", "7"]),
    ("Action 2", ["C or right button", "Period", "H", "1"]),
    ("Action 3", ["E", "Minus or slash", "O", "9"]),
    ("Action 4", ["Q", "Right shift or enter", "P", "3"]),
];

/// Which keys those are in a layout that a game names.
pub fn keys(names: &str, layout: Layout) -> String {
    let found = NAMES.iter().find(|(name, _)| names.starts_with(name));
    match (found, layout) {
        (Some((name, keys)), Layout::One) => names.replace(name, keys[0]),
        (Some((_, keys)), layout) => keys[layout as usize].to_string(),
        // The mouse and the digits.
        (None, Layout::One) => names.into(),
        (None, _) => String::new(),
    }
}

const DIGITS: [Key; 10] = [
    Key::Num0,
    Key::Num1,
    Key::Num2,
    Key::Num3,
    Key::Num4,
    Key::Num5,
    Key::Num6,
    Key::Num7,
    Key::Num8,
    Key::Num9,
];

/// What is a notch of a wheel that counts in points.
const NOTCH: f32 = 50.0;

/// What keyboard and mouse do. What was pressed is known until a step has [taken](Keyboard::taken) it, however short it was.
#[derive(Default)]
pub struct Keyboard {
    layouts: [KeyStates; 4],
    digit: Option<u8>,
    at: Option<Pos2>,
    mouse: [Button; 2],
    scroll: f32,
}

#[derive(Default)]
struct KeyStates {
    /// Left, right, up, down.
    directions: [Button; 4],
    actions: [Button; 4],
}

impl KeyStates {
    fn button(&mut self, what: Use) -> &mut Button {
        match what {
            Use::Left => &mut self.directions[0],
            Use::Right => &mut self.directions[1],
            Use::Up => &mut self.directions[2],
            Use::Down => &mut self.directions[3],
            Use::Action(at) => &mut self.actions[at],
        }
    }

    fn buttons(&mut self) -> impl Iterator<Item = &mut Button> {
        self.directions.iter_mut().chain(&mut self.actions)
    }
}

impl Keyboard {
    /// Notes what happened since the last frame. While somebody types, keys mean letters; the mouse counts while it is over a player's
    /// screen.
    pub fn read(&mut self, input: &InputState, is_typing: bool, over_screen: bool) {
        for event in &input.events {
            self.on(event, is_typing, over_screen);
        }
        self.at = input.pointer.latest_pos();
    }

    fn on(&mut self, event: &Event, is_typing: bool, over_screen: bool) {
        match event {
            Event::Key {
                key,
                physical_key,
                pressed,
                repeat: false,
                modifiers,
            } => {
                let is_command = modifiers.ctrl || modifiers.command || modifiers.alt;
                let key = physical_key.unwrap_or(*key);
                self.on_key(key, *pressed && !is_typing && !is_command, *pressed);
            }
            Event::PointerButton {
                button, pressed, ..
            } => {
                let at = match button {
                    PointerButton::Primary => 0,
                    PointerButton::Secondary => 1,
                    _ => return,
                };
                match pressed {
                    true if over_screen => press(&mut self.mouse[at]),
                    true => {}
                    false => release(&mut self.mouse[at]),
                }
            }
            Event::MouseWheel { unit, delta, .. } if over_screen => {
                self.scroll += match unit {
                    MouseWheelUnit::Point => delta.y / NOTCH,
                    MouseWheelUnit::Line | MouseWheelUnit::Page => delta.y,
                };
            }
            Event::WindowFocused(false) => self.let_go(),
            _ => {}
        }
    }

    fn on_key(&mut self, key: Key, counts: bool, pressed: bool) {
        for (_, layout, what) in KEYS.into_iter().filter(|(other, ..)| *other == key) {
            let button = self.layouts[layout as usize].button(what);
            match (counts, pressed) {
                (true, _) => press(button),
                (false, false) => release(button),
                (false, true) => {}
            }
        }
        let digit = DIGITS.iter().position(|digit| *digit == key);
        if let Some(digit) = digit.filter(|_| counts) {
            self.digit = Some(digit as u8);
        }
    }

    /// Nobody holds anything any more.
    fn let_go(&mut self) {
        let keys = self.layouts.iter_mut().flat_map(KeyStates::buttons);
        keys.chain(&mut self.mouse).for_each(release);
    }

    /// The input of the person on these keys whose screen is at `rect`.
    pub fn human_input(&self, layout: Layout, rect: Rect) -> HumanInput {
        let keys = &self.layouts[layout as usize];
        let [left, right, up, down] = keys.directions.map(|button| button.held || button.pressed);
        let mut human = HumanInput {
            left,
            right,
            up,
            down,
            actions: keys.actions,
            ..HumanInput::default()
        };
        if layout == Layout::One {
            human.digit = self.digit;
            human.pointer = self.pointer(rect);
            for (action, button) in human.actions.iter_mut().zip(self.mouse) {
                action.held |= button.held;
                action.pressed |= button.pressed;
                action.released |= button.released;
            }
        }
        human
    }

    /// The mouse, while it is over the screen or was pressed there.
    fn pointer(&self, rect: Rect) -> Option<Pointer> {
        let [primary, secondary] = self.mouse;
        let is_busy = |button: Button| button.held || button.pressed || button.released;
        let at = self.at?;
        let is_meant = rect.contains(at) || is_busy(primary) || is_busy(secondary);
        is_meant.then(|| Pointer {
            place: rect.clamp(at),
            primary,
            secondary,
            scroll: self.scroll,
        })
    }

    /// A step has taken notice of it all.
    pub fn taken(&mut self) {
        let keys = self.layouts.iter_mut().flat_map(KeyStates::buttons);
        for button in keys.chain(&mut self.mouse) {
            (button.pressed, button.released) = (false, false);
        }
        self.digit = None;
        self.scroll = 0.0;
    }
}

fn press(button: &mut Button) {
    button.held = true;
    button.pressed = true;
}

fn release(button: &mut Button) {
    button.released |= button.held;
    button.held = false;
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::{Modifiers, pos2};

    fn key(key: Key, pressed: bool) -> Event {
        Event::Key {
            key,
            physical_key: None,
            pressed,
            repeat: false,
            modifiers: Modifiers::NONE,
        }
    }

    fn screen() -> Rect {
        Rect::from_min_max(pos2(0.0, 0.0), pos2(100.0, 100.0))
    }

    #[test]
    fn a_key_that_was_pressed_shortly_is_known_until_a_step_took_it() {
        let mut keyboard = Keyboard::default();
        keyboard.on(&key(Key::W, true), false, false);
        keyboard.on(&key(Key::W, false), false, false);
        keyboard.on(&key(Key::E, true), false, false);
        keyboard.on(&key(Key::E, false), false, false);
        let human = keyboard.human_input(Layout::One, screen());
        assert!(human.up && human.actions[2].pressed && human.actions[2].released);
        assert!(!human.actions[2].held);
        keyboard.taken();
        assert_eq!(
            keyboard.human_input(Layout::One, screen()),
            HumanInput::default()
        );
    }

    #[test]
    fn keys_are_called_by_their_names() {
        assert_eq!(keys("Directions, wheel", Layout::One), "W A S D, wheel");
        assert_eq!(keys("Directions, wheel", Layout::Two), "Arrow keys");
        assert_eq!(keys("1 to 6", Layout::One), "1 to 6");
        assert_eq!(keys("1 to 6", Layout::Two), "");
        assert_eq!(keys("Directions", Layout::Four), "8 4 5 6");
    }

    #[test]
    fn what_is_held_goes_on() {
        let mut keyboard = Keyboard::default();
        keyboard.on(&key(Key::ArrowLeft, true), false, false);
        keyboard.taken();
        assert!(keyboard.human_input(Layout::Two, screen()).left);
        assert!(!keyboard.human_input(Layout::One, screen()).left);
        keyboard.on(&Event::WindowFocused(false), false, false);
        assert!(!keyboard.human_input(Layout::Two, screen()).left);
    }

    #[test]
    fn four_at_one_keyboard_share_no_key() {
        for (at, (key, layout, _)) in KEYS.iter().enumerate() {
            let mut before = KEYS[..at].iter();
            let other = before.find(|(other, ..)| other == key);
            assert_eq!(
                other.map(|(_, layout, _)| layout),
                None,
                "{key:?} {layout:?}"
            );
        }
        let mut keyboard = Keyboard::default();
        for pressed in [Key::W, Key::ArrowDown, Key::J, Key::Num6] {
            keyboard.on(&key(pressed, true), false, false);
        }
        let [one, two, three, four] =
            Layout::ALL.map(|layout| keyboard.human_input(layout, screen()));
        assert!(one.up && two.down && three.left && four.right);
        assert!(!one.left && !two.right && !three.down && !four.up);
    }

    #[test]
    fn letters_that_are_typed_move_nobody() {
        let mut keyboard = Keyboard::default();
        keyboard.on(&key(Key::A, true), true, false);
        assert!(!keyboard.human_input(Layout::One, screen()).left);
    }

    #[test]
    fn the_mouse_counts_where_it_was_pressed() {
        let press = |pressed| Event::PointerButton {
            pos: pos2(10.0, 10.0),
            button: PointerButton::Primary,
            pressed,
            modifiers: Modifiers::NONE,
        };
        let mut keyboard = Keyboard {
            at: Some(pos2(300.0, 20.0)),
            ..Keyboard::default()
        };
        keyboard.on(&press(true), false, false);
        assert_eq!(keyboard.human_input(Layout::One, screen()).pointer, None);
        keyboard.on(&press(true), false, true);
        let human = keyboard.human_input(Layout::One, screen());
        assert!(human.actions[0].pressed);
        assert_eq!(
            human.pointer.map(|pointer| pointer.place),
            Some(pos2(100.0, 20.0))
        );
        assert_eq!(keyboard.human_input(Layout::Two, screen()).pointer, None);
    }
}
