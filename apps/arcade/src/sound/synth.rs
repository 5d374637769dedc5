//! A small synthesiser: turns the description of a sound into samples. It knows no device and no clock.

use std::f32::consts::TAU;

/// Samples per second of everything that is played.
pub const RATE: u32 = 44_100;

/// A sound: notes, together or one after the other.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sound(pub &'static [Note]);

/// A note: a wave whose pitch slides and whose loudness rises and falls away.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Note {
    wave: Wave,
    /// Seconds after the sound begins.
    at: f32,
    /// Seconds.
    length: f32,
    /// Seconds until it is loudest.
    attack: f32,
    /// Of its largest sample: 0 to 1.
    loudness: f32,
    /// In hertz, at the beginning and at the end. It slides by the same interval in the same time.
    pitch: [f32; 2],
}

/// The shape of a note's vibration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wave {
    /// Soft: a whistle, a bell.
    Sine,
    /// Between the two others: a flute.
    Triangle,
    /// Hard: an old computer.
    Square,
    /// A random value that changes at the note's pitch: a crack, a rustle, a rumble.
    Noise,
}

impl Note {
    /// A note of this pitch and length, which begins at once.
    pub const fn new(wave: Wave, pitch: f32, length: f32) -> Note {
        Note {
            wave,
            at: 0.0,
            length,
            attack: 0.004,
            loudness: 0.4,
            pitch: [pitch, pitch],
        }
    }

    /// The same, sliding to another pitch.
    pub const fn to(mut self, pitch: f32) -> Note {
        self.pitch[1] = pitch;
        self
    }

    /// The same, so many seconds later.
    pub const fn at(mut self, seconds: f32) -> Note {
        self.at = seconds;
        self
    }

    /// The same with so many seconds until it is loudest.
    pub const fn attack(mut self, seconds: f32) -> Note {
        self.attack = seconds;
        self
    }

    /// The same, so loud.
    pub const fn loud(mut self, loudness: f32) -> Note {
        self.loudness = loudness;
        self
    }

    /// How loud it is at a time since it began: it rises evenly, then falls away to nothing.
    fn envelope(&self, seconds: f32) -> f32 {
        if seconds < self.attack {
            return self.loudness * seconds / self.attack;
        }
        let left = (self.length - seconds) / (self.length - self.attack).max(f32::EPSILON);
        self.loudness * left.clamp(0.0, 1.0).powi(2)
    }

    fn add_to(&self, samples: &mut [f32], seed: u32) {
        let first = count(self.at);
        let ratio = self.pitch[1] / self.pitch[0];
        let mut noise = Noise(seed);
        let mut value = noise.next();
        let mut phase = 0.0;
        for (nth, sample) in samples.iter_mut().skip(first).enumerate() {
            let seconds = nth as f32 / RATE as f32;
            let part = seconds / self.length;
            if part >= 1.0 {
                break;
            }
            let wave = match self.wave {
                Wave::Sine => (phase * TAU).sin(),
                Wave::Triangle => 1.0 - 4.0 * (phase - 0.5).abs(),
                Wave::Square => {
                    if phase < 0.5 {
                        0.6
                    } else {
                        -0.6
                    }
                }
                Wave::Noise => value,
            };
            *sample += wave * self.envelope(seconds);
            phase += self.pitch[0] * ratio.powf(part) / RATE as f32;
            if phase >= 1.0 {
                value = noise.next();
            }
            phase = phase.fract();
        }
    }
}

impl Sound {
    /// How long it is, in seconds.
    pub fn length(&self) -> f32 {
        let ends = self.0.iter().map(|note| note.at + note.length);
        ends.fold(0.0, f32::max)
    }

    /// Its samples, from -1 to 1, [`RATE`] to a second. The same description always gives the same samples.
    pub fn render(&self) -> Vec<f32> {
        let mut samples = vec![0.0; count(self.length())];
        for (note, seed) in self.0.iter().zip(1..) {
            note.add_to(&mut samples, seed);
        }
        // Notes that are loud together are bent, not cut off.
        samples
            .iter_mut()
            .for_each(|sample| *sample = sample.tanh());
        samples
    }
}

fn count(seconds: f32) -> usize {
    (seconds * RATE as f32) as usize
}

/// Numbers that look like chance (xorshift).
struct Noise(u32);

impl Noise {
    /// From -1 to 1.
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(0x9e37_79b1) ^ 0x6a09_e667;
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0 as f32 / u32::MAX as f32 * 2.0 - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often the samples go from below to above zero.
    fn crossings(samples: &[f32]) -> usize {
        let pairs = samples.windows(2);
        pairs.filter(|pair| pair[0] < 0.0 && pair[1] >= 0.0).count()
    }

    fn loudest(samples: &[f32]) -> f32 {
        samples
            .iter()
            .fold(0.0, |loudest, sample| loudest.max(sample.abs()))
    }

    #[test]
    fn a_note_has_its_pitch_and_its_length() {
        for wave in [Wave::Sine, Wave::Triangle, Wave::Square] {
            let notes: &[Note] = &[Note::new(wave, 440.0, 0.5)];
            let samples = Sound(Box::leak(notes.into())).render();
            assert_eq!(samples.len(), RATE as usize / 2);
            assert!(crossings(&samples).abs_diff(220) <= 1, "{wave:?}");
        }
    }

    #[test]
    fn a_slide_rises_by_the_same_interval_in_the_same_time() {
        const SLIDE: Sound = Sound(&[Note::new(Wave::Sine, 200.0, 1.0).to(800.0)]);
        let samples = SLIDE.render();
        let (first, second) = samples.split_at(samples.len() / 2);
        // An octave in each half: as many again.
        let (first, second) = (crossings(first), crossings(second));
        assert!(first.abs_diff(144) <= 2, "{first}");
        assert!(second.abs_diff(2 * first) <= 3, "{first} {second}");
    }

    #[test]
    fn it_begins_and_ends_in_silence_and_is_loudest_after_the_attack() {
        const SOFT: Sound = Sound(&[Note::new(Wave::Sine, 500.0, 0.4).attack(0.1).loud(0.5)]);
        let samples = SOFT.render();
        let part = |from: f32, to: f32| loudest(&samples[count(from)..count(to)]);
        assert!(part(0.0, 0.005) < 0.03 && part(0.39, 0.4) < 0.03);
        assert!(part(0.09, 0.11) > 0.4);
        assert!(part(0.2, 0.22) < part(0.1, 0.12));
    }

    #[test]
    fn noise_is_as_rough_as_its_pitch_is_high_and_always_the_same() {
        const HISS: Sound = Sound(&[Note::new(Wave::Noise, 8_000.0, 0.5)]);
        const RUMBLE: Sound = Sound(&[Note::new(Wave::Noise, 200.0, 0.5)]);
        let (hiss, rumble) = (HISS.render(), RUMBLE.render());
        assert!(crossings(&hiss) > 10 * crossings(&rumble));
        let mean = hiss.iter().sum::<f32>() / hiss.len() as f32;
        assert!(mean.abs() < 0.02, "{mean}");
        assert_eq!(hiss, HISS.render());
    }

    #[test]
    fn notes_follow_each_other_and_never_exceed_the_range() {
        const TWO: Sound = Sound(&[
            Note::new(Wave::Square, 300.0, 0.1).loud(1.0),
            Note::new(Wave::Sine, 900.0, 0.1).loud(1.0),
            Note::new(Wave::Sine, 600.0, 0.1).at(0.2),
        ]);
        let samples = TWO.render();
        assert_eq!(samples.len(), count(0.3));
        assert!(loudest(&samples) <= 1.0);
        assert_eq!(loudest(&samples[count(0.1)..count(0.2)]), 0.0, "a pause");
        assert!(loudest(&samples[count(0.2)..]) > 0.2);
    }
}
