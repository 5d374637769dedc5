//! A match under any model, and everything that was noted of it.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use samestep_catalog::sublockus::{ArenaChoice, Builtin, Sublockus, SublockusConfig};
use samestep_netem::Path;
use samestep_session::PlayerId;
use samestep_sim::{NodeId, Topology};
use samestep_sync::{EntityId, Live, Model, Simulation, Status, Tick};

use super::pictures::PictureLog;
use super::verdicts::VerdictLog;
use super::{
    CharacterSample, Correction, MarkedGame, PredictedPath, ScriptedGame, ScriptedInputs, TruePath,
};
use crate::display::{ShownMatch, ShownWorld};
use crate::parameters::Case;
use crate::stats::Samples;
use crate::testmatch::{MatchConfig, OPENER, PlayedWorld, TICK};

/// The settings of a match.
#[derive(Clone, Debug)]
pub struct FightConfig {
    /// The number of players, one to a program, the host's among them.
    pub players: u16,
    /// The links from each guest to the host and back.
    pub path: Path,
    /// The rate of the line that carries everything the host sends, in bit/s.
    pub uplink_bps: u64,
    /// How long it lasts.
    pub length: Duration,
    /// The first part of it, which is not judged.
    pub settling: Duration,
}

impl FightConfig {
    /// The match of a case, with a fast line for the host.
    pub fn of(case: &Case, path: Path) -> FightConfig {
        FightConfig {
            players: case.number("players") as u16,
            path,
            uplink_bps: 1_000_000_000,
            length: case.seconds("seconds"),
            settling: case.seconds("settling_s"),
        }
    }

    /// A game with the inputs of bots that played it alone.
    pub fn rehearsed<G: MarkedGame>(&self, game: G, seed: u64) -> ScriptedGame<G> {
        ScriptedGame::rehearsed(game, seed, self.players, self.ticks())
    }

    fn ticks(&self) -> u64 {
        self.length.div_duration_f64(TICK) as u64
    }
}

/// The behaviour of the players of Sublockus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FightScenario {
    /// They fight, as bots have done before.
    Fight,
    /// They run and jump, and do nothing to each other.
    Stroll,
    /// The first guest runs and jumps; the others stand.
    Alone,
}

impl FightScenario {
    fn game(self, players: u16, seed: u64) -> Result<Sublockus, String> {
        let fight = SublockusConfig::free_for_all(seed, players);
        let config = match self {
            FightScenario::Fight => fight,
            // Nothing there that hurts, or that two could want.
            FightScenario::Stroll | FightScenario::Alone => SublockusConfig {
                arena: ArenaChoice::Builtin(Builtin::Cellar),
                items: false,
                ..fight
            },
        };
        Sublockus::new(&config).map_err(|error| error.to_string())
    }

    /// The game with what its players do.
    pub fn scripted(
        self,
        setting: &FightConfig,
        seed: u64,
    ) -> Result<ScriptedGame<Sublockus>, String> {
        let players = setting.players;
        let game = self.game(players, seed)?;
        let strolled = || ScriptedInputs::strolled(seed, players, setting.ticks());
        let inputs = match self {
            FightScenario::Fight => return Ok(setting.rehearsed(game, seed)),
            FightScenario::Stroll => strolled(),
            FightScenario::Alone => strolled().only(PlayerId(1)),
        };
        Ok(ScriptedGame { game, inputs })
    }
}

/// A match.
#[derive(Debug)]
pub struct Played {
    /// The host first.
    pub programs: Vec<PlayerRecord>,
    /// How far from each other the same character was in two programs' pictures at the same time, in blocks.
    pub apart: Samples,
    /// The judged time, in s.
    pub seconds: f64,
    /// The ticks in which players were hurt.
    pub(super) hurt: Vec<(Tick, PlayerId)>,
    /// The true path of each player's character: as recorded if the world records, else as the authority had it first.
    truth: Vec<TruePath>,
}

/// The measurements of one program.
#[derive(Debug, Default)]
pub struct PlayerRecord {
    /// From its player's inputs to the first state that shows them, in states after the one that there was.
    pub own_ticks: Samples,
    /// From its player's inputs to the first picture of its own that shows them, in ms.
    pub own_ms: Samples,
    /// From others' inputs to its first picture that shows them, in ms.
    pub others_ms: Samples,
    /// From its player's shots to its first picture that shows what came of them, in ms, where another part of the game decides that.
    pub verdict_ms: Samples,
    /// The distance of its own character as drawn from its true path, in blocks.
    pub own_astray: Samples,
    /// The same distance of other characters.
    pub others_astray: Samples,
    /// How the model stood when judging began, and at the end.
    pub status: (Status, Status),
    /// Bytes sent and received, headers included.
    pub bytes: (u64, u64),
    /// Work in the time of a tick, in ms of the processor.
    pub work_ms: Option<f64>,
    /// The path that it simulated of its own character.
    predicted: PredictedPath,
}

impl Played {
    /// The corrections of a program's own character, and whether each shows a hit that was not predicted.
    pub fn corrections(&self, program: usize) -> Vec<(Correction, bool)> {
        let corrections = self.programs[program]
            .predicted
            .corrections(&self.truth[program]);
        let by_blow = |correction: &Correction| {
            let fresh = correction.since..=correction.known;
            let own = |(tick, victim): &(Tick, PlayerId)| {
                usize::from(victim.0) == program && fresh.contains(&tick.next())
            };
            self.hurt.iter().any(own)
        };
        corrections
            .into_iter()
            .map(|correction| (correction, by_blow(&correction)))
            .collect()
    }

    /// For how long a program's own character was simulated otherwise than it was, in ms, each time.
    pub fn wrong_for(&self, program: usize) -> Vec<f64> {
        self.programs[program]
            .predicted
            .wrong_for(&self.truth[program])
    }

    /// The records of all programs but the host's.
    pub fn guests(&self) -> &[PlayerRecord] {
        &self.programs[1..]
    }
}

/// Plays a match through a host.
pub fn play<G: MarkedGame, M: Model>(
    setting: &FightConfig,
    scripted: ScriptedGame<G>,
    seed: u64,
    model: impl Fn() -> M + 'static,
) -> Result<Played, String> {
    let ScriptedGame { game, inputs } = scripted;
    // Everyone would record the same.
    let world = move || Live::without_recording(game.clone());
    play_in(setting, Topology::Hosted, inputs, world, seed, model)
}

/// Plays a match in a room of some topology, where everyone begins with such a world.
pub(super) fn play_in<W: ShownWorld<Game: MarkedGame>, M: Model>(
    setting: &FightConfig,
    topology: Topology,
    inputs: ScriptedInputs<InputOf<W>>,
    world: impl Fn() -> W + 'static,
    seed: u64,
    model: impl Fn() -> M + 'static,
) -> Result<Played, String> {
    let config = MatchConfig {
        topology,
        ..MatchConfig::hosted(setting.players, setting.path.clone(), setting.uplink_bps)
    };
    let script = inputs.clone().script();
    let room = ShownMatch::open_in(config, 0, seed, world, script, model);
    let mut playing = Playing::begin(room, inputs, setting.players)?;
    let settling = setting.settling.div_duration_f64(TICK) as u64;
    for tick in 1..settling {
        playing.play(tick)?;
    }
    playing.judge();
    for tick in settling.max(1)..=setting.ticks() {
        playing.play(tick)?;
    }
    let seconds = setting
        .length
        .saturating_sub(setting.settling)
        .as_secs_f64();
    playing.finish(seconds)
}

/// The paths that programs record by themselves.
#[derive(Default)]
struct Notes {
    truth: Vec<TruePath>,
    predicted: Vec<PredictedPath>,
}

/// What the players of a world's game give.
type InputOf<W> = <<W as PlayedWorld>::Game as Simulation>::Input;

/// A match that is played.
struct Playing<W: ShownWorld<Game: MarkedGame>, M: Model> {
    room: ShownMatch<W, M>,
    inputs: ScriptedInputs<InputOf<W>>,
    /// Everyone in the room, those who watch included.
    members: u16,
    /// At which node each player is who has a character.
    nodes: Vec<NodeId>,
    /// The first line that nobody has given yet.
    next: usize,
    notes: Rc<RefCell<Notes>>,
    pictures: Vec<PictureLog>,
    verdicts: Vec<VerdictLog>,
    programs: Vec<PlayerRecord>,
    apart: Samples,
    judged: bool,
}

impl<W: ShownWorld<Game: MarkedGame>, M: Model> Playing<W, M> {
    fn begin(
        mut room: ShownMatch<W, M>,
        inputs: ScriptedInputs<InputOf<W>>,
        members: u16,
    ) -> Result<Playing<W, M>, String> {
        let players = members.min(W::Game::CHARACTERS);
        room.begin(members.into())?;
        // Players are numbered as they come, which need not be as they asked.
        let at = |player| {
            room.nodes()
                .find(|node| room.program(*node).player() == Some(player))
        };
        let nodes = (0..players).map(PlayerId).map(at);
        let nodes: Option<Vec<NodeId>> = nodes.collect();
        Ok(Playing {
            nodes: nodes.ok_or("somebody in the room does not play")?,
            room,
            inputs,
            members,
            next: 0,
            notes: Rc::default(),
            pictures: (0..players)
                .map(|_| PictureLog::new(players.into(), W::Game::TAGS))
                .collect(),
            verdicts: vec![VerdictLog::default(); players.into()],
            programs: (0..players).map(|_| PlayerRecord::default()).collect(),
            apart: Samples::new(),
            judged: false,
        })
    }

    /// Everything before this does not count.
    fn judge(&mut self) {
        self.judged = true;
        let players = self.nodes.len();
        *self.notes.borrow_mut() = Notes {
            truth: vec![TruePath::default(); players],
            predicted: vec![PredictedPath::default(); players],
        };
        for (at, &node) in self.nodes.iter().enumerate() {
            let (notes, elapsed) = (self.notes.clone(), self.room.elapsed());
            let opens = node == OPENER;
            self.room.with(node, |now, program| {
                program.count_work();
                program.forget();
                program.set_probe(move |time, live, status| {
                    let mut notes = notes.borrow_mut();
                    let own = sample_of(live.state(), PlayerId(at as u16), None);
                    let at_time = elapsed + time.saturating_sub(now);
                    notes.predicted[at].note(at_time, live.tick(), status, own);
                    if opens {
                        for player in 0..players {
                            let sample = sample_of(live.state(), PlayerId(player as u16), None);
                            notes.truth[player].note(live.tick(), sample);
                        }
                    }
                });
            });
            let program = &mut self.programs[at];
            program.status.0 = self.room.program(node).status();
            program.bytes = traffic(&self.room, node);
        }
    }

    /// Plays on to the end of a tick, and looks at everyone's picture.
    fn play(&mut self, tick: u64) -> Result<(), String> {
        let time = TICK * tick as u32;
        self.room.play_until(time)?;
        let lines = &self.inputs.lines()[self.next..];
        for line in lines.iter().take_while(|line| line.tick.0 < tick) {
            self.next += 1;
            let player = usize::from(line.player.0);
            let Some(node) = self.nodes.get(player) else {
                continue;
            };
            let phase = f64::from(node.0) / f64::from(self.members);
            let at = TICK * line.tick.0 as u32 + TICK.mul_f64(phase);
            if W::shoots(&line.input) {
                self.verdicts[player].expect(at, self.judged);
            }
            let Some(tag) = W::Game::tag(&line.input) else {
                continue;
            };
            for pictures in self.pictures.iter_mut().filter(|_| self.judged) {
                pictures.expect(player, at, tag);
            }
        }
        if self.judged {
            self.look(time);
        }
        Ok(())
    }

    fn look(&mut self, time: Duration) {
        let authority = self.room.program(OPENER).game().world().live();
        let present = authority.tick();
        // A program may not know whose characters the others are.
        let players = (0..self.nodes.len() as u16).map(PlayerId);
        let players = players.map(|player| (player, authority.state().character(player)));
        let players: Vec<(PlayerId, Option<EntityId>)> = players.collect();
        let mut pictures: Vec<Vec<Option<CharacterSample>>> = Vec::new();
        for (at, &node) in self.nodes.iter().enumerate() {
            let picture = self.room.with(node, |now, program| {
                let game = W::shown(program.game_mut(), now);
                let players = players.iter();
                players
                    .map(|(player, character)| sample_of(game, *player, *character))
                    .collect::<Vec<_>>()
            });
            let decided = self.room.program(node).game().world();
            if let Some(decided) = decided.decided(PlayerId(at as u16)) {
                self.verdicts[at].see(time, decided);
            }
            self.pictures[at].see(time, present, &picture);
            pictures.push(picture);
        }
        for (at, picture) in pictures.iter().enumerate() {
            for other in &pictures[at + 1..] {
                let both = picture.iter().zip(other);
                let both = both.filter_map(|(one, other)| one.as_ref()?.distance(*other.as_ref()?));
                both.for_each(|apart| self.apart.push(apart));
            }
        }
    }

    fn finish(mut self, seconds: f64) -> Result<Played, String> {
        for (program, &node) in self.programs.iter_mut().zip(&self.nodes) {
            let played = self.room.program(node);
            program.status.1 = played.status();
            let work = played.work().map(|work| work.total().as_secs_f64());
            program.work_ms = work.map(|work| work * 1e3 * TICK.as_secs_f64() / seconds);
            let (before, after) = (program.bytes, traffic(&self.room, node));
            program.bytes = (after.0 - before.0, after.1 - before.1);
        }
        let authority = self.room.program(OPENER);
        let confirmed = authority.events().confirmed().iter();
        let hurt =
            confirmed.filter_map(|(tick, event)| Some((*tick, authority.state().hurt(event)?)));
        let hurt = hurt.collect();
        let Notes { truth, predicted } = self.notes.take();
        let world = authority.game().world();
        let truth = match world.live().recorder() {
            Some(recorder) => TruePath::recorded(recorder.bytes(), world.state(), truth.len())?,
            None => truth,
        };
        for (at, predicted) in predicted.into_iter().enumerate() {
            let (program, pictures) = (&mut self.programs[at], &mut self.pictures[at]);
            program.own_ticks = pictures.own_ticks(at, &predicted);
            (program.own_ms, program.others_ms) = pictures.delays(at);
            (program.own_astray, program.others_astray) = pictures.astray(at, &truth);
            program.verdict_ms = std::mem::take(&mut self.verdicts[at]).into_delays();
            program.predicted = predicted;
        }
        Ok(Played {
            programs: self.programs,
            apart: self.apart,
            seconds,
            hurt,
            truth,
        })
    }
}

/// A player's character; `known` is the one that the authority says it is.
pub(super) fn sample_of<G: MarkedGame>(
    game: &G,
    player: PlayerId,
    known: Option<EntityId>,
) -> Option<CharacterSample> {
    let character = game.character(player).or(known)?;
    game.sample(character)
}

/// Bytes that a member has sent and received, headers included.
fn traffic<W: ShownWorld, M: Model>(room: &ShownMatch<W, M>, node: NodeId) -> (u64, u64) {
    let others = room.nodes().filter(|other| *other != node);
    let both = others.map(|other| {
        let (to, from) = (room.traffic(node, other), room.traffic(other, node));
        let overhead = samestep_netem::IP_UDP_OVERHEAD_BYTES as u64;
        let received = from.bytes_received + from.datagrams_received * overhead;
        (to.wire_bytes_sent(), received)
    });
    both.fold((0, 0), |sum, more| (sum.0 + more.0, sum.1 + more.1))
}

#[cfg(test)]
mod tests {
    use samestep_netem::LinkConfig;
    use samestep_sync::{Lockstep, LockstepConfig, Rewind, StateSync, StateSyncConfig};

    use super::super::hunt;
    use super::*;

    fn setting(players: u16) -> FightConfig {
        FightConfig {
            players,
            path: Path::symmetric(LinkConfig {
                latency: Duration::from_millis(40),
                ..LinkConfig::default()
            }),
            uplink_bps: 1_000_000_000,
            length: Duration::from_secs(5),
            settling: Duration::from_secs(2),
        }
    }

    #[test]
    fn who_predicts_sees_what_it_does_at_once_and_others_later() {
        let model = || StateSync::new(StateSyncConfig::default()).unwrap();
        let setting = setting(3);
        let scripted = FightScenario::Stroll.scripted(&setting, 4).unwrap();
        let played = play(&setting, scripted, 4, model).unwrap();
        let guest = &played.guests()[0];
        assert_eq!(guest.own_ticks.max(), Some(1.0));
        assert!(guest.own_ms.len() > 10 && guest.own_ms.mean() < Some(35.0));
        assert!(guest.others_ms.mean() > Some(60.0));
        assert!(guest.own_astray.max() < Some(0.01));
        assert!((0..3).all(|program| played.corrections(program).is_empty()));
        assert!(played.apart.mean() > Some(0.0));
    }

    #[test]
    fn in_lockstep_all_see_the_same_and_their_own_inputs_later() {
        let model = || Lockstep::new(LockstepConfig::default()).unwrap();
        let setting = setting(3);
        let scripted = FightScenario::Fight.scripted(&setting, 4).unwrap();
        let played = play(&setting, scripted, 4, model).unwrap();
        let own = |program: &PlayerRecord| program.own_ms.sorted().percentile(50.0);
        assert!(played.guests().iter().all(|guest| own(guest) > Some(80.0)));
        for program in &played.programs {
            assert!(own(program) > Some(20.0));
            assert!(program.bytes.0 > 1_000 && program.work_ms.is_some());
        }
        assert!((0..3).all(|program| played.corrections(program).is_empty()));
    }

    #[test]
    fn hunters_are_recognised_though_nobody_is_told_who_they_are_and_who_watches_is_not_judged() {
        let setting = setting(5);
        let scripted = setting.rehearsed(hunt(4).unwrap(), 4);
        let played = play(&setting, scripted, 4, Rewind::default).unwrap();
        assert_eq!(played.programs.len(), 4);
        for guest in played.guests() {
            assert!(guest.own_ms.len() > 3, "{guest:?}");
            assert!(guest.own_ms.max() < Some(40.0), "{guest:?}");
            assert!(guest.others_ms.len() > 10, "{guest:?}");
            assert!(guest.others_ms.mean() > Some(60.0), "{guest:?}");
            assert!(guest.own_astray.max() < Some(0.1), "{guest:?}");
        }
    }
}
