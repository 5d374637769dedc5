//! The sound card of a computer.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use rodio::buffer::SamplesBuffer;
use rodio::cpal::ErrorKind;
use rodio::{DeviceSinkBuilder, MixerDeviceSink};

use super::synth::RATE;
use super::{Speaker, complain};

/// Sounds that wait for the device. While it is slow, more are dropped.
const WAITING: usize = 32;

/// The default device. A thread opens it with the first sound and keeps it: a device that fails or hangs costs the sound, and nothing else.
#[derive(Default)]
pub struct SoundCard {
    voices: Option<SyncSender<Voice>>,
}

/// A sound to play.
struct Voice {
    samples: Arc<[f32]>,
    volume: f32,
}

impl Speaker for SoundCard {
    fn play(&mut self, samples: &Arc<[f32]>, volume: f32) {
        let voices = self.voices.get_or_insert_with(|| {
            let (sender, voices) = sync_channel(WAITING);
            let spawned = thread::Builder::new()
                .name("sound".into())
                .spawn(move || play_all(&voices));
            if let Err(error) = spawned {
                complain(&error.to_string());
            }
            sender
        });
        // Without a device nobody receives; while it hangs the channel is full. Both are silence.
        let _ = voices.try_send(Voice {
            samples: Arc::clone(samples),
            volume,
        });
    }
}

/// Plays what comes until the window closes. Returns at once if there is no device.
fn play_all(voices: &Receiver<Voice>) {
    // ALSA prints whole paragraphs about a missing device; one line of ours is enough.
    #[cfg(target_os = "linux")]
    let _alsa = alsa::Output::local_error_handler();
    let device = match open() {
        Ok(device) => device,
        Err(error) => return complain(&error.to_string()),
    };
    let (one, rate) = (NonZero::<u16>::MIN, NonZero::new(RATE));
    let rate = rate.expect("there are samples in a second");
    for Voice { samples, volume } in voices {
        let samples: Vec<f32> = samples.iter().map(|sample| sample * volume).collect();
        device.mixer().add(SamplesBuffer::new(one, rate, samples));
    }
}

fn open() -> Result<MixerDeviceSink, rodio::DeviceSinkError> {
    let mut has_failed = false;
    let mut device = DeviceSinkBuilder::from_default_device()?
        .with_error_callback(move |error| {
            // A busy machine is late now and then. Anything else is worth a line, once.
            if error.kind() != ErrorKind::Xrun && !std::mem::replace(&mut has_failed, true) {
                complain(&error.to_string());
            }
        })
        .open_stream()?;
    device.log_on_drop(false);
    Ok(device)
}
