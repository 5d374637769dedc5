//! The program as somebody uses it: clicks, keys and sliders, without a screen.

mod choices;
mod keyboard;
mod network;
mod report;
mod sound;
mod time;
mod trouble;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use eframe::egui::accesskit::Role;
use eframe::egui::{self, Key};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use samestep_arcade::any_match::AnyMatch;
use samestep_arcade::app::{Arcade, Opening};
use samestep_arcade::platform::{File, Platform};
use samestep_arcade::sound::Speaker;

/// A platform that only records its calls.
#[derive(Default)]
struct Noted {
    link: RefCell<String>,
    saved: RefCell<Vec<File>>,
    opened: RefCell<Option<Result<File, String>>>,
    seconds: Cell<f64>,
    /// The volume of every sound that was played.
    sounds: Rc<RefCell<Vec<f32>>>,
    remembered: RefCell<Option<String>>,
    /// How much later it is each time somebody looks.
    passes: Cell<f64>,
}

struct Around(Rc<Noted>);

struct Loudspeaker(Rc<RefCell<Vec<f32>>>);

impl Speaker for Loudspeaker {
    fn play(&mut self, _samples: &Arc<[f32]>, volume: f32) {
        self.0.borrow_mut().push(volume);
    }
}

impl Platform for Around {
    fn set_link(&self, link: &str) {
        *self.0.link.borrow_mut() = link.into();
    }

    fn share_address(&self, link: &str) -> String {
        format!("somewhere#{link}")
    }

    fn save(&self, name: &str, bytes: &[u8]) -> Result<String, String> {
        let (name, bytes) = (name.to_string(), bytes.to_vec());
        self.0.saved.borrow_mut().push(File { name, bytes });
        Ok("noted".into())
    }

    fn has_chooser(&self) -> bool {
        false
    }

    fn open_file(&self) {}

    fn read_dropped(&self, _file: egui::DroppedFileHandle) {}

    fn opened(&self) -> Option<Result<File, String>> {
        self.0.opened.borrow_mut().take()
    }

    fn seconds(&self) -> f64 {
        let now = self.0.seconds.get();
        self.0.seconds.set(now + self.0.passes.get());
        now
    }

    fn speaker(&self) -> Box<dyn Speaker> {
        Box::new(Loudspeaker(Rc::clone(&self.0.sounds)))
    }

    fn remember(&self, _name: &str, text: &str) {
        *self.0.remembered.borrow_mut() = Some(text.into());
    }

    fn remembered(&self, _name: &str) -> Option<String> {
        self.0.remembered.borrow().clone()
    }
}

/// The program in front of somebody who uses it.
struct User {
    harness: Harness<'static, Arcade>,
    platform: Rc<Noted>,
}

impl User {
    fn opens(link: &str) -> User {
        Self::opens_at(link, [1280.0, 720.0])
    }

    fn opens_at(link: &str, size: [f32; 2]) -> User {
        let platform = Rc::new(Noted::default());
        let theirs = Box::new(Around(platform.clone()));
        let opening = Opening::Link(link.into());
        let mut harness = Harness::builder()
            .with_size(size)
            .with_step_dt(1.0 / 60.0)
            .build_eframe(|cc| Arcade::new(cc, opening, theirs));
        harness.step();
        User { harness, platform }
    }

    /// Lets so many frames pass, each a sixtieth of a second.
    fn waits(&mut self, frames: usize) -> &mut User {
        self.harness.run_steps(frames);
        self
    }

    /// Clicks on something by its name.
    fn clicks(&mut self, name: &str) -> &mut User {
        self.clicks_a(Role::Button, name)
    }

    fn clicks_a(&mut self, role: Role, name: &str) -> &mut User {
        self.harness.get_by_role_and_label(role, name).click();
        self.waits(2)
    }

    /// Sets a slider.
    fn sets(&mut self, name: &str, value: f64) -> &mut User {
        let slider = self.harness.get_by_role_and_label(Role::Slider, name);
        slider.set_value_accesskit(value);
        self.waits(2)
    }

    fn presses(&mut self, key: Key) -> &mut User {
        self.harness.key_press(key);
        self.waits(2)
    }

    /// Whether something of that name can be seen.
    fn sees(&self, name: &str) -> bool {
        self.harness.query_all_by_label(name).next().is_some()
    }

    fn live_match(&self) -> &dyn AnyMatch {
        self.harness.state().sandbox().live_match()
    }

    fn shown_step(&self) -> u64 {
        self.harness.state().sandbox().shown_step()
    }

    fn is_paused(&self) -> bool {
        self.harness.state().sandbox().is_paused()
    }

    fn banner(&self) -> String {
        self.harness.state().sandbox().banner().into()
    }

    fn link(&self) -> String {
        self.live_match().scenario().to_link()
    }
}
