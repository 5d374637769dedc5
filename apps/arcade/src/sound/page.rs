//! The sound of a page.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use wasm_bindgen::prelude::*;
use web_sys::AudioContext;

use super::synth::RATE;
use super::{Speaker, complain};

/// What a user does before a browser lets a page be heard.
const GESTURES: [&str; 2] = ["pointerdown", "keydown"];

/// The page's own audio. Browsers forbid it before the user has clicked or pressed a key, so that it is created then; until then nothing is heard.
pub struct PageSpeaker {
    audio: Rc<RefCell<Audio>>,
}

enum Audio {
    /// The user has not touched the page yet.
    Forbidden,
    Allowed(AudioContext),
    /// The browser has none.
    Missing,
}

impl PageSpeaker {
    /// Waits for the first gesture.
    pub fn new() -> PageSpeaker {
        let audio = Rc::new(RefCell::new(Audio::Forbidden));
        let opened = Rc::clone(&audio);
        let open = Closure::<dyn Fn()>::new(move || open(&mut opened.borrow_mut()));
        let open = open.into_js_value();
        if let Some(window) = web_sys::window() {
            for gesture in GESTURES {
                // Before anything on the page takes the event.
                let listened = window.add_event_listener_with_callback_and_bool(
                    gesture,
                    open.unchecked_ref(),
                    true,
                );
                if let Err(error) = listened {
                    complain(&format!("{error:?}"));
                }
            }
        }
        PageSpeaker { audio }
    }
}

/// Creates the audio, or wakes it up where the browser has put it to sleep.
fn open(audio: &mut Audio) {
    match audio {
        Audio::Forbidden => {
            *audio = match AudioContext::new() {
                Ok(context) => Audio::Allowed(context),
                Err(error) => {
                    complain(&format!("{error:?}"));
                    Audio::Missing
                }
            };
        }
        // The promise that it will be heard is not waited for.
        Audio::Allowed(context) => drop(context.resume()),
        Audio::Missing => {}
    }
}

impl Speaker for PageSpeaker {
    fn play(&mut self, samples: &Arc<[f32]>, volume: f32) {
        let Audio::Allowed(context) = &*self.audio.borrow() else {
            return;
        };
        // What a browser refuses is not heard; it has said why in its console.
        drop(play(context, samples, volume));
    }
}

fn play(context: &AudioContext, samples: &[f32], volume: f32) -> Result<(), JsValue> {
    let buffer = context.create_buffer(1, samples.len() as u32, RATE as f32)?;
    buffer.copy_to_channel(samples, 0)?;
    let (source, gain) = (context.create_buffer_source()?, context.create_gain()?);
    source.set_buffer(Some(&buffer));
    gain.gain().set_value(volume);
    source.connect_with_audio_node(&gain)?;
    gain.connect_with_audio_node(&context.destination())?;
    source.start()
}
