//! A recorded match of any game, as the player and the panels see it.

use std::collections::VecDeque;

use eframe::egui::{Painter, Rect};
use samestep_sync::{
    Deviation, Divergence, Live, Playback, PlayerId, Progress, Replay, Table, Tick, TimedEvent,
    World,
};

use super::clip::Clip;
use super::compare::Compared;
use super::lens::Lens;
use super::state;
use crate::canvas::Canvas;
use crate::drawn::{Drawn, FADES, RecentEvent, Scene};

/// A recorded match, whichever game it is of.
pub trait RecordedMatch {
    /// The replay.
    fn replay(&self) -> &Replay;
    /// The tick it is at.
    fn tick(&self) -> Tick;
    /// The players seen so far.
    fn players(&self) -> &[PlayerId];
    /// Goes on by one tick, or to the next state in the recording.
    fn step(&mut self) -> Result<Progress, String>;
    /// Goes towards a tick, but simulates at most so many; says whether it is there.
    fn approach(&mut self, tick: Tick, most: u64) -> Result<bool, String>;
    /// Compares with the checksum that was recorded for this tick, if there is one.
    fn check(&mut self) -> Option<Result<(), Deviation>>;
    /// Checksum of the state here.
    fn checksum(&mut self) -> u64;
    /// The steps from here on go into a recording of their own.
    fn begin_clip(&mut self);
    /// The recording that was begun; it has been seen to play as this one does.
    fn finish_clip(&mut self) -> Result<Vec<u8>, String>;
    /// The state here, as JSON.
    fn state_as_json(&mut self) -> String;
    /// Both worlds of a divergence, which must have been found at this tick.
    fn compare(&mut self, divergence: &Divergence) -> Result<Compared, String>;
    /// The caption of a player, or of the match.
    fn caption(&self, viewer: Option<PlayerId>) -> String;
    /// Draws what a player sees, or everything.
    fn paint(&self, viewer: Option<PlayerId>, lens: &Lens, painter: &Painter, rect: Rect);
}

/// Plays a replay of a game. The error is a message for the user.
pub fn play<G: Drawn>(replay: Replay) -> Result<Box<dyn RecordedMatch>, String> {
    let checked = replay.header().check::<G>();
    checked.map_err(|error| error.to_string())?;
    let world = Live::without_recording(G::placeholder());
    let playback = Playback::new(replay, world);
    let playback = playback.map_err(|error| error.to_string())?;
    let mut playing = ReplayedMatch {
        playback,
        players: Vec::new(),
        lately: VecDeque::new(),
        clip: None,
        view_state: G::ViewState::default(),
    };
    playing.look();
    Ok(Box::new(playing))
}

struct ReplayedMatch<G: Drawn> {
    playback: Playback<Live<G>>,
    /// In ascending order.
    players: Vec<PlayerId>,
    /// The recent events, the newest last.
    lately: VecDeque<TimedEvent<G::Event>>,
    clip: Option<Clip<G>>,
    view_state: G::ViewState,
}

impl<G: Drawn> ReplayedMatch<G> {
    /// Records the players and the events of a step.
    fn look(&mut self) {
        let tick = self.playback.tick();
        while let Some(occurred) = self.playback.world_mut().poll_event() {
            self.lately.push_back(occurred);
        }
        let fades = (FADES * G::TICKS_PER_SECOND as f32) as u64;
        self.lately
            .retain(|occurred| occurred.tick < tick && tick.since(occurred.tick) <= fades);
        for player in self.playback.inputs().players() {
            if let Err(place) = self.players.binary_search(player) {
                self.players.insert(place, *player);
            }
        }
    }

    fn state(&self) -> &G {
        self.playback.world().state()
    }
}

impl<G: Drawn> RecordedMatch for ReplayedMatch<G> {
    fn replay(&self) -> &Replay {
        self.playback.replay()
    }

    fn tick(&self) -> Tick {
        self.playback.tick()
    }

    fn players(&self) -> &[PlayerId] {
        &self.players
    }

    fn step(&mut self) -> Result<Progress, String> {
        let before = self.tick();
        let progress = self.playback.step().map_err(|error| error.to_string())?;
        self.look();
        if let Some(clip) = &mut self.clip {
            clip.take(before, progress, &mut self.playback)?;
        }
        Ok(progress)
    }

    fn approach(&mut self, tick: Tick, most: u64) -> Result<bool, String> {
        let before = self.tick();
        let there = self.playback.approach(tick, most);
        let there = there.map_err(|error| error.to_string())?;
        if self.tick() < before {
            // The events before the tick it was rewound to are unknown.
            self.lately.clear();
        }
        self.look();
        Ok(there)
    }

    fn check(&mut self) -> Option<Result<(), Deviation>> {
        self.playback.check()
    }

    fn checksum(&mut self) -> u64 {
        self.playback.world_mut().checksum()
    }

    fn begin_clip(&mut self) {
        self.clip = Clip::begin(&mut self.playback);
    }

    fn finish_clip(&mut self) -> Result<Vec<u8>, String> {
        let clip = self.clip.take().ok_or("no clip was begun")?;
        clip.finish(&mut self.playback)
    }

    fn state_as_json(&mut self) -> String {
        let (tick, checksum) = (self.tick(), self.checksum());
        let mut table = Table::new(G::schema());
        self.state().extract(&mut table);
        state::to_json(self.replay().header(), tick, checksum, &table)
    }

    fn compare(&mut self, divergence: &Divergence) -> Result<Compared, String> {
        let (tick, played) = (self.tick(), self.checksum());
        Compared::new(self.state(), tick, played, divergence)
    }

    fn caption(&self, viewer: Option<PlayerId>) -> String {
        self.state().caption(viewer)
    }

    fn paint(&self, viewer: Option<PlayerId>, lens: &Lens, painter: &Painter, rect: Rect) {
        let (tick, per_second) = (self.tick(), G::TICKS_PER_SECOND as f32);
        let recent = self.lately.iter().rev().map(|occurred| RecentEvent {
            ago: tick.since(occurred.tick) as f32 / per_second,
            stage: occurred.stage,
            was_predicted: false,
            event: &occurred.event,
        });
        let recent: Vec<_> = recent.collect();
        let scene = Scene {
            viewer,
            sharing: &[],
            drawn: self.state(),
            view_state: &self.view_state,
            recent: &recent,
            names: &[],
            seconds: tick.0 as f32 / per_second,
        };
        let frame = self.state().frame(viewer, &self.view_state, rect.size());
        let mut canvas = Canvas::new(painter, rect, lens.frame(frame, rect));
        self.state().paint(&scene, &mut canvas);
        canvas.finish();
    }
}
