//! A part of a recording, as a recording of its own.

use samestep_sync::{Live, Playback, Progress, Recorder, Replay, ReplayHeader, Tick, World};

use crate::drawn::Drawn;

/// A recording that is made while another one is played.
///
/// It begins with a state in the middle of a match. Rules that look back at earlier states find none there; so what was recorded is played along at
/// once, and wherever that leads elsewhere, the right state is put into the clip.
pub(super) struct Clip<G: Drawn> {
    recorder: Recorder,
    echo: Live<G>,
    /// Up to here the rules may look back at what was before the beginning.
    unsure: Tick,
    /// The first tick.
    first: Tick,
}

impl<G: Drawn> Clip<G> {
    /// From here on.
    pub(super) fn begin(playback: &mut Playback<Live<G>>) -> Option<Self> {
        let (tick, state) = (playback.tick(), playback.world_mut().checkpoint());
        let mut recorder = Recorder::new(&ReplayHeader::of::<G>(), tick, &state);
        recorder.on_checksum(tick, playback.world_mut().checksum());
        let mut echo = Live::without_recording(G::placeholder());
        echo.adopt(tick, &state).ok()?;
        Some(Clip {
            recorder,
            echo,
            unsure: Tick(tick.0 + G::PAST + 1),
            first: tick,
        })
    }

    /// The recording went on, from a tick to where it is now.
    pub(super) fn take(
        &mut self,
        before: Tick,
        progress: Progress,
        playback: &mut Playback<Live<G>>,
    ) -> Result<(), String> {
        match progress {
            Progress::Ended => Ok(()),
            Progress::Replaced => self.replace(playback),
            Progress::Stepped => {
                let inputs = playback.inputs();
                self.recorder.on_tick(before, inputs);
                self.echo.step(before, inputs);
                self.echo.confirm(before, inputs);
                while self.echo.poll_event().is_some() {}
                let second = u64::from(G::TICKS_PER_SECOND.max(1));
                let tick = playback.tick();
                if tick <= self.unsure || tick.0.is_multiple_of(second) {
                    self.check(playback)?;
                }
                Ok(())
            }
        }
    }

    /// Notes the checksum here, after making sure that the clip has it too.
    fn check(&mut self, playback: &mut Playback<Live<G>>) -> Result<(), String> {
        let checksum = playback.world_mut().checksum();
        if self.echo.checksum() != checksum {
            self.replace(playback)?;
        }
        self.recorder.on_checksum(playback.tick(), checksum);
        Ok(())
    }

    fn replace(&mut self, playback: &mut Playback<Live<G>>) -> Result<(), String> {
        let (tick, state) = (playback.tick(), playback.world_mut().checkpoint());
        self.recorder.on_checkpoint(tick, &state);
        let adopted = self.echo.adopt(tick, &state);
        adopted.map_err(|error| error.to_string())
    }

    /// As a file. It has been read again.
    pub(super) fn finish(mut self, playback: &mut Playback<Live<G>>) -> Result<Vec<u8>, String> {
        self.check(playback)?;
        let span = self.first..=playback.tick();
        for divergence in playback.replay().divergences() {
            if span.contains(&divergence.tick) {
                self.recorder.on_divergence(divergence);
            }
        }
        self.recorder.finish();
        let bytes = self.recorder.bytes();
        let read = Replay::parse(bytes.clone()).map_err(|error| error.to_string())?;
        match read.end() == playback.tick() && read.damage().is_none() {
            true => Ok(bytes),
            false => Err("the clip cannot be read again: it is too large".into()),
        }
    }
}
