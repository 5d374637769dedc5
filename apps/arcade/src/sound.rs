//! Sounds: which are heard, how loud, and the switch for them.
//!
//! A game says how its events sound ([`Drawn::sound`]); [`Sounds`] plays each event once and hands the samples to a [`Speaker`].

#[cfg(target_arch = "wasm32")]
mod page;
#[cfg(not(target_arch = "wasm32"))]
mod sound_card;
pub mod synth;

use std::collections::VecDeque;
use std::sync::Arc;

use eframe::egui::{self, Pos2};
use samestep_sync::{EventStage, PlayerId};

use crate::drawn::Drawn;
use crate::icons::{self, Icon};
use crate::platform::Platform;
use crate::theme;

#[cfg(target_arch = "wasm32")]
pub use page::PageSpeaker;
#[cfg(not(target_arch = "wasm32"))]
pub use sound_card::SoundCard;
pub use synth::{Note, Sound, Wave};

/// For how long a sound counts whose event was cancelled, in seconds: the next of its kind is the same event, predicted anew.
const CANCELLED: f64 = 0.5;
/// The same sound so soon, in seconds, would only be louder.
const AT_ONCE: f64 = 0.03;
/// What is quieter is not played.
const FAINTEST: f32 = 0.03;
/// The name under which the platform remembers switch and volume.
const REMEMBERED: &str = "sound";

/// Plays samples: a sound card, a page, or nothing.
pub trait Speaker {
    /// Plays samples, [`synth::RATE`] to a second, this loud: 0 to 1. It returns at once, and what cannot be played is not heard.
    fn play(&mut self, samples: &Arc<[f32]>, volume: f32);
}

/// A platform without sound.
pub struct Mute;

impl Speaker for Mute {
    fn play(&mut self, _samples: &Arc<[f32]>, _volume: f32) {}
}

/// Says once why nothing is heard.
pub(crate) fn complain(why: &str) {
    let words = format!("there is no sound: {why}");
    #[cfg(not(target_arch = "wasm32"))]
    eprintln!("samestep-arcade: {words}");
    #[cfg(target_arch = "wasm32")]
    web_sys::console::log_1(&words.into());
}

/// How an event sounds to a listener.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Heard {
    /// The sound.
    pub sound: &'static Sound,
    /// From 0, nothing, to 1.
    pub volume: f32,
}

impl Heard {
    /// Heard wherever one is.
    pub fn everywhere(sound: &'static Sound) -> Heard {
        Heard { sound, volume: 1.0 }
    }

    /// Comes from a place: at `reach` it is half as loud, at three times that distance a tenth. Whoever is nowhere hears everything.
    pub fn from(sound: &'static Sound, place: Pos2, listener: Option<Pos2>, reach: f32) -> Heard {
        let far = listener.map_or(0.0, |listener| listener.distance(place) / reach);
        let volume = 1.0 / (1.0 + far * far);
        Heard { sound, volume }
    }
}

/// An event as far as it is heard.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cue {
    /// How it sounds.
    pub heard: Heard,
    /// Whether it is predicted, confirmed or cancelled.
    pub stage: EventStage,
    /// Whether it was reported before, as predicted.
    pub was_predicted: bool,
}

impl Cue {
    /// An event of a game, to those who share a screen, as loud as to the one who hears it best. `None` if nobody of them hears it.
    pub fn of<G: Drawn>(
        state: &G,
        listeners: &[PlayerId],
        event: &samestep_sync::TimedEvent<G::Event>,
    ) -> Option<Cue> {
        if !listeners.is_empty() && !state.perceives(listeners, &event.event) {
            return None;
        }
        let to = |listener| state.sound(&event.event, listener);
        let each = listeners.iter().filter_map(|listener| to(Some(*listener)));
        let loudest = each.max_by(|one, other| one.volume.total_cmp(&other.volume));
        let heard = if listeners.is_empty() {
            to(None)
        } else {
            loudest
        };
        heard.map(|heard| Cue {
            heard,
            stage: event.stage,
            was_predicted: event.stage != EventStage::Predicted && event.predicted.is_some(),
        })
    }
}

/// The sounds of a window: plays every event once, as loud as the switch says.
pub struct Sounds {
    speaker: Box<dyn Speaker>,
    is_on: bool,
    /// 0 to 1.
    volume: f32,
    /// Samples of the sounds that have been played, by description.
    rendered: Vec<(&'static Sound, Arc<[f32]>)>,
    /// What was played within [`AT_ONCE`], and what was cancelled within [`CANCELLED`], with the times.
    played: VecDeque<(f64, &'static Sound)>,
    cancelled: VecDeque<(f64, &'static Sound)>,
}

impl Sounds {
    /// Sounds through the speaker of this platform, as loud as it was remembered there.
    pub fn new(platform: &dyn Platform) -> Sounds {
        let text = platform.remembered(REMEMBERED).unwrap_or_default();
        let (is_on, volume) = parse(&text).unwrap_or((true, 0.5));
        Sounds {
            speaker: platform.speaker(),
            is_on,
            volume,
            rendered: Vec::new(),
            played: VecDeque::new(),
            cancelled: VecDeque::new(),
        }
    }

    /// Whether they are switched on.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Switches them on or off.
    pub fn switch(&mut self, platform: &dyn Platform) {
        self.is_on ^= true;
        self.remember(platform);
    }

    fn remember(&self, platform: &dyn Platform) {
        let word = if self.is_on { "on" } else { "off" };
        platform.remember(REMEMBERED, &format!("{word} {:.2}", self.volume));
    }

    /// Plays an event if it is new. `now` is in seconds.
    ///
    /// What is confirmed after it was predicted has been heard. What was cancelled has been heard too, so that the next event with that sound, shortly
    /// after, is silent: almost always it is the same one, predicted again a few ticks later.
    pub fn take(&mut self, now: f64, cue: Cue) {
        let Heard { sound, volume } = cue.heard;
        self.played.retain(|(at, _)| now - at < AT_ONCE);
        self.cancelled.retain(|(at, _)| now - at < CANCELLED);
        match cue.stage {
            EventStage::Cancelled => return self.cancelled.push_back((now, sound)),
            EventStage::Confirmed if cue.was_predicted => return,
            EventStage::Confirmed | EventStage::Predicted => {}
        }
        let is_same = |(_, other): &(f64, &Sound)| *other == sound;
        if let Some(at) = self.cancelled.iter().position(is_same) {
            self.cancelled.remove(at);
            return;
        }
        if self.played.iter().any(is_same) {
            return;
        }
        self.played.push_back((now, sound));
        let volume = volume * self.volume;
        if self.is_on && volume >= FAINTEST {
            let samples = self.samples(sound);
            self.speaker.play(&samples, volume);
        }
    }

    fn samples(&mut self, sound: &'static Sound) -> Arc<[f32]> {
        let known = self.rendered.iter().find(|(other, _)| *other == sound);
        if let Some((_, samples)) = known {
            return Arc::clone(samples);
        }
        let samples: Arc<[f32]> = sound.render().into();
        self.rendered.push((sound, Arc::clone(&samples)));
        samples
    }

    /// The switch, and the volume beside it.
    pub fn ui(&mut self, ui: &mut egui::Ui, platform: &dyn Platform) {
        let (icon, name) = match self.is_on {
            true => (Icon::Sound, "Switch sound off"),
            false => (Icon::Silence, "Switch sound on"),
        };
        let mut slider = |ui: &mut egui::Ui| {
            let slider = egui::Slider::new(&mut self.volume, 0.05..=1.0);
            let response = ui
                .add_enabled_ui(self.is_on, |ui| theme::slider(ui, 56.0, slider, "Volume"))
                .inner;
            response.drag_stopped() || response.lost_focus()
        };
        let switch = |ui: &mut egui::Ui| {
            let button = icons::button(ui, icon, name, false);
            button.on_hover_text(format!("{name} (M)")).clicked()
        };
        // The switch comes first, in whichever direction things are laid out.
        let (is_set, is_clicked) = match ui.layout().prefer_right_to_left() {
            true => (slider(ui), switch(ui)),
            false => {
                let is_clicked = switch(ui);
                (slider(ui), is_clicked)
            }
        };
        if is_clicked {
            self.switch(platform);
        }
        if is_set {
            self.remember(platform);
        }
    }
}

/// Switch and volume as they are remembered.
fn parse(text: &str) -> Option<(bool, f32)> {
    let (word, volume) = text.trim().split_once(' ')?;
    let is_on = match word {
        "on" => true,
        "off" => false,
        _ => return None,
    };
    let volume: f32 = volume.parse().ok()?;
    (0.0..=1.0).contains(&volume).then_some((is_on, volume))
}

#[cfg(test)]
mod tests;
