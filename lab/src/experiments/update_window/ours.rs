//! Hat Hunters under `Rewind`, in virtual time: players who walk about, or into corners.

mod ground;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use samestep_catalog::hat_hunters::{
    Body, Character, Controls, FINE, FORCE, HatHunters, HatHuntersConfig, Heading, MapChoice, ONE,
    Place, Rules,
};
use samestep_netem::{IP_UDP_OVERHEAD_BYTES, Path};
use samestep_session::PlayerId;
use samestep_sim::NodeId;
use samestep_sync::movement::DeadReckoning;
use samestep_sync::{EntityId, Live, Rewind, RewindConfig, Status, Tick, random};

use super::corrections::Corrections;
use super::field::{Field, WIDTH};
use super::played::Played;
use super::walker::{Errand, Walker};
use crate::display::DisplayMatch;
use crate::testmatch::{InputScript, MatchConfig, OPENER, TICK};
use ground::{Ground, body_of, force_of};

/// The settings of a match of ours.
#[derive(Clone, Debug)]
pub(super) struct OurConfig {
    /// The field, as text.
    pub field: &'static str,
    pub players: u16,
    pub ai: u8,
    pub errand: Errand,
    pub path: Path,
    pub model: RewindConfig,
    /// How far off others may be before a movement message is sent, in cells.
    pub threshold: f32,
    pub length: Duration,
    pub settling: Duration,
}

/// Who is shown to move by more than this between two pictures has jumped, in cells: half a width, four times what one walks.
const JUMP: f64 = WIDTH as f64 / 2.0;

/// Plays a match.
pub(super) fn play(config: &OurConfig, seed: u64) -> Result<Played, String> {
    let mut playing = Playing::begin(config, seed)?;
    let ticks = |time: Duration| time.div_duration_f64(TICK) as u64;
    for tick in 1..ticks(config.settling) {
        playing.room.play_until(TICK * tick as u32)?;
    }
    playing.judge();
    for tick in ticks(config.settling).max(1)..=ticks(config.length) {
        playing.room.play_until(TICK * tick as u32)?;
        playing.look();
    }
    Ok(playing.finish())
}

fn game(config: &OurConfig, seed: u64) -> Result<HatHunters, String> {
    let config = HatHuntersConfig {
        seed,
        map: MapChoice::Text(format!("name: Lab\n{}", config.field)),
        // Nobody wins while it is measured: a new round puts everyone somewhere else.
        rules: Rules {
            ai: config.ai,
            stars: 20,
            stars_at_once: 1,
            containers: 0,
            ..Rules::default()
        },
        ..HatHuntersConfig::default()
    };
    HatHunters::new(&config).map_err(|error| error.to_string())
}

/// Everyone steers by where it sees itself.
fn script(config: &OurConfig, seed: u64) -> InputScript<HatHunters> {
    let field = Field::of(config.field);
    let walker = |at: u16| Walker::new(config.errand, random::hash(seed, at.into(), 5));
    let mut walkers: Vec<(Walker, Option<Option<u8>>)> =
        (0..config.players).map(|at| (walker(at), None)).collect();
    // A tick may be asked for more than once.
    let mut answered: BTreeMap<PlayerId, (Tick, Option<Controls>)> = BTreeMap::new();
    Box::new(move |game, tick, player| {
        if let Some((of, answer)) = answered.get(&player)
            && *of == tick
        {
            return *answer;
        }
        let (walker, held) = walkers.get_mut(usize::from(player.0))?;
        let own = game.character_of(player)?;
        let place = cells(own.place()).map(|part| part as f32);
        let heading = walker.decide(TICK * tick.0 as u32, place, &field);
        let answer = (*held != Some(heading)).then(|| Controls::steering(heading.map(Heading)));
        *held = Some(heading);
        answered.insert(player, (tick, answer));
        answer
    })
}

fn cells(place: Place) -> [f64; 2] {
    [place.x, place.y].map(|units| f64::from(units) / f64::from(ONE))
}

/// The force of a character that wears no boots.
fn force(character: &Character) -> Place {
    let heading = character.steering;
    heading.map_or(Place::default(), |heading| heading.way(FORCE))
}

/// A match that is played.
struct Playing<'a> {
    config: &'a OurConfig,
    room: DisplayMatch<HatHunters, Rewind>,
    /// The guests, and the player of each.
    guests: Vec<(NodeId, PlayerId)>,
    own: Vec<Rc<RefCell<OwnNotes>>>,
    all: Rc<RefCell<AllNotes>>,
    /// Where each guest was last shown its own character, in cells.
    shown: Vec<Option<[f64; 2]>>,
    teleports: u64,
    gap: f64,
    /// The values when judging began.
    before: Counters,
}

/// What a guest notes of its own character.
#[derive(Debug, Default)]
struct OwnNotes {
    corrections: Corrections,
    last: Option<OwnSample>,
}

/// A character after a call.
#[derive(Clone, Copy, Debug)]
struct OwnSample {
    tick: Tick,
    body: Body,
    steering: Option<Heading>,
    corrections: u64,
}

/// What the authority notes of all characters: the movement messages that dead reckoning would send.
#[derive(Debug, Default)]
struct AllNotes {
    reached: Option<Tick>,
    senders: BTreeMap<EntityId, (DeadReckoning, u64)>,
    reckoned: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    ticks: u64,
    recomputed: u64,
    late: u64,
    refused: u64,
    bytes: u64,
}

impl OwnNotes {
    fn note(&mut self, live: &Live<HatHunters>, status: &Status, player: PlayerId) {
        let state = live.state();
        let Some(own) = state.character_of(player) else {
            self.last = None;
            return;
        };
        let is = OwnSample {
            tick: live.tick(),
            body: own.body,
            steering: own.steering,
            corrections: status.corrections,
        };
        if let Some(was) = self.last.replace(is) {
            if was.corrections != is.corrections {
                self.correct(state, own, was, is);
            }
            if was.steering != is.steering {
                self.corrections.turn();
            }
        }
    }

    /// How far it is from where it would be without what was just learnt.
    fn correct(&mut self, state: &HatHunters, own: &Character, was: OwnSample, is: OwnSample) {
        let mut expected = was.body;
        for _ in 0..is.tick.since(was.tick) {
            expected = expected.advance(force(own), &state.field());
        }
        let by = cells(expected.place.to(is.body.place));
        let per_second = 60.0 / f64::from(FINE * ONE);
        let velocity = [expected.velocity.x, expected.velocity.y];
        self.corrections
            .push(by, velocity.map(|part| f64::from(part) * per_second));
    }
}

impl AllNotes {
    fn note(&mut self, live: &Live<HatHunters>, threshold: f32) {
        if self.reached.is_some_and(|reached| reached >= live.tick()) {
            return;
        }
        self.reached = Some(live.tick());
        let state = live.state();
        let ground = Ground(state.field());
        for (id, character) in state.characters().iter() {
            let sender = self.senders.entry(id);
            let (sender, sent) =
                sender.or_insert_with(|| (DeadReckoning::new(threshold * ONE as f32), 0));
            let body = body_of(character.body);
            let message = sender.advance(&ground, body, force_of(force(character)));
            *sent += u64::from(message.is_some());
            let error = f64::from(sender.error(body)) / f64::from(ONE);
            self.reckoned = self.reckoned.max(error);
        }
    }
}

impl<'a> Playing<'a> {
    fn begin(config: &'a OurConfig, seed: u64) -> Result<Playing<'a>, String> {
        let room_config = MatchConfig::hosted(config.players, config.path.clone(), 1_000_000_000);
        let settings = config.model.clone();
        Rewind::new(settings.clone()).map_err(|error| error.to_string())?;
        let model = move || Rewind::new(settings.clone()).expect("settings that make sense");
        let (game, script) = (game(config, seed)?, script(config, seed));
        let mut room = DisplayMatch::open(room_config, 0, seed, game, script, model);
        room.begin(config.players.into())?;
        let guests = room
            .guests()
            .map(|node| Some((node, room.program(node).player()?)));
        let guests: Option<Vec<(NodeId, PlayerId)>> = guests.collect();
        let guests = guests.ok_or("somebody in the room does not play")?;
        Ok(Playing {
            config,
            own: guests.iter().map(|_| Rc::default()).collect(),
            shown: vec![None; guests.len()],
            guests,
            room,
            all: Rc::default(),
            teleports: 0,
            gap: 0.0,
            before: Counters::default(),
        })
    }

    /// Everything before this does not count.
    fn judge(&mut self) {
        for ((node, player), notes) in self.guests.iter().zip(&self.own) {
            let (player, notes) = (*player, notes.clone());
            self.room.with(*node, |_, program| {
                program.set_probe(move |_, live, status| {
                    notes.borrow_mut().note(live, status, player);
                });
            });
        }
        let (all, threshold) = (self.all.clone(), self.config.threshold);
        self.room.with(OPENER, |_, program| {
            program.set_probe(move |_, live, _| all.borrow_mut().note(live, threshold));
        });
        self.before = self.counters();
    }

    fn counters(&self) -> Counters {
        let rewound = self.room.program(OPENER).game().model().rewound();
        let bytes = self.guests.iter().map(|(node, _)| {
            let traffic = self.room.traffic(OPENER, *node);
            traffic.wire_bytes_sent()
        });
        Counters {
            ticks: self.room.program(OPENER).status().tick.0,
            recomputed: rewound.recomputed,
            late: rewound.late,
            refused: rewound.refused,
            bytes: bytes.sum(),
        }
    }

    /// Looks at the picture of every guest.
    fn look(&mut self) {
        for (at, (node, player)) in self.guests.iter().enumerate() {
            let player = *player;
            let place = |game: &HatHunters| Some(cells(game.character_of(player)?.place()));
            let shown = self
                .room
                .with(*node, |now, program| place(program.game_mut().shown(now)));
            let is = place(self.room.program(OPENER).state());
            if let Some((shown, is)) = shown.zip(is) {
                self.gap = self.gap.max(distance(shown, is));
            }
            let before = std::mem::replace(&mut self.shown[at], shown);
            if let Some((before, shown)) = before.zip(shown) {
                self.teleports += u64::from(distance(before, shown) > JUMP);
            }
        }
    }

    fn finish(self) -> Played {
        let seconds = (self.config.length - self.config.settling).as_secs_f64();
        let client_seconds = seconds * self.guests.len() as f64;
        let mut corrections = Corrections::default();
        for notes in &self.own {
            corrections.append(&notes.borrow().corrections);
        }
        let (before, after) = (self.before, self.counters());
        let all = self.all.borrow();
        let rates: Vec<f64> = all
            .senders
            .values()
            .map(|(_, sent)| *sent as f64 / seconds)
            .collect();
        let (late, refused) = (after.late - before.late, after.refused - before.refused);
        let everything = Live::checkpoint_of(self.room.program(OPENER).state().clone()).len();
        let ticks = (after.ticks - before.ticks).max(1) as f64;
        Played {
            client_seconds,
            corrections,
            teleports: self.teleports,
            gap: self.gap,
            messages: rates.iter().sum::<f64>() / rates.len().max(1) as f64,
            most_messages: rates.iter().copied().fold(0.0, f64::max),
            reckoned: all.reckoned,
            incremental: (after.bytes - before.bytes) as f64 / client_seconds,
            full: (everything + IP_UDP_OVERHEAD_BYTES) as f64 * ticks / seconds,
            ignored: refused as f64 * 100.0 / (late + refused).max(1) as f64,
            recomputed: (after.recomputed - before.recomputed) as f64 / ticks,
        }
    }
}

fn distance(a: [f64; 2], b: [f64; 2]) -> f64 {
    (a[0] - b[0]).hypot(a[1] - b[1])
}

#[cfg(test)]
mod tests {
    use samestep_netem::LinkConfig;
    use samestep_sync::WindowLength;

    use super::*;

    fn config(window: u64, errand: Errand) -> OurConfig {
        OurConfig {
            field: super::super::EDGES,
            players: 3,
            ai: 4,
            errand,
            path: Path::symmetric(LinkConfig {
                latency: Duration::from_millis(50),
                ..LinkConfig::default()
            }),
            model: RewindConfig {
                window: WindowLength::Fixed(Duration::from_millis(window)),
                ..RewindConfig::default()
            },
            threshold: 0.03,
            length: Duration::from_secs(12),
            settling: Duration::from_secs(4),
        }
    }

    #[test]
    fn late_inputs_are_counted_when_they_were_made() {
        let played = play(&config(100, Errand::Wander), 3).unwrap();
        assert!(played.corrections.total.len() > 20, "{played:?}");
        assert!(played.recomputed > 0.0);
        assert!(played.corrections.across.mean() < Some(0.02), "{played:?}");
        assert_eq!(played.teleports, 0);
        assert!(played.reckoned <= 0.0301, "{}", played.reckoned);
        assert!(played.incremental < played.full);
    }

    #[test]
    fn nobody_jumps_at_the_edge_of_an_obstacle() {
        let played = play(&config(100, Errand::Edge), 4).unwrap();
        assert_eq!(played.teleports, 0, "{played:?}");
    }
}
