//! A shooting range: players who run and jump, and others who shoot at them.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use samestep_catalog::sublockus::{
    Ability, ArenaChoice, Character, Controls, Place, Sublockus, SublockusConfig, SublockusEvent,
};
use samestep_netem::Path;
use samestep_session::PlayerId;
use samestep_sim::NodeId;
use samestep_sync::{Rng, StateSync, StateSyncConfig, Tick, random};
use samestep_wire::encode_to_vec;

use super::liar::{Claim, Claims, Liar};
use super::shot::{Aimed, aim, bolt, choose, hit_by, verdict};
use crate::display::DisplayMatch;
use crate::fight::Wanderer;
use crate::testmatch::{MatchConfig, OPENER, TICK};

/// The settings of a match.
#[derive(Clone, Debug)]
pub(super) struct RangeConfig {
    /// The number of shooters, who join first. All others, the host among them, run and jump.
    pub shooters: u16,
    /// How many run and jump.
    pub targets: u16,
    pub path: Path,
    pub model: StateSyncConfig,
    pub cheat: Cheat,
    pub length: Duration,
    pub settling: Duration,
}

/// The false claims of shooters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cheat {
    /// Shooters are honest.
    None,
    /// Shooters claim that every shot has hit.
    Hits,
    /// Shooters claim the view time at which a target was in the line of fire, if there was one within the last second.
    Sights,
}

/// A shot, as its shooter and the authority have it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shot {
    shooter: PlayerId,
    aimed: Aimed,
    /// The player whom it hits in the view of the shooter.
    pub seen: Option<PlayerId>,
    /// The player whom it hit, by the authority.
    pub hit: Option<PlayerId>,
    /// Whether it was fired at all.
    pub fired: bool,
}

impl Shot {
    /// Whether both say the same.
    pub(super) fn agrees(&self) -> bool {
        self.seen == self.hit
    }

    /// Whether it passed within a radius of the edge.
    pub(super) fn is_close(&self) -> bool {
        self.aimed.is_close
    }
}

/// The shots of a match.
#[derive(Debug)]
pub(super) struct Shots {
    pub shots: Vec<Shot>,
    /// The share of shooters that were informed that they are judged by the authority's own view.
    pub beyond: f64,
    /// How much later than the authority's present they saw others at the end, in ms, mean.
    pub delay_ms: f64,
}

/// Ticks of which it is remembered where everybody was.
const REMEMBERED: usize = 60;

/// A range in use.
struct Range {
    room: DisplayMatch<Sublockus, Liar>,
    config: RangeConfig,
    /// The player at each node.
    players: Vec<PlayerId>,
    rngs: Vec<Rng>,
    wanderers: Vec<Wanderer>,
    held: Vec<Controls>,
    shots: Vec<Shot>,
    claims: Claims,
    past: Rc<RefCell<PastPlaces>>,
}

type PastPlaces = VecDeque<(Tick, Vec<(PlayerId, Place)>)>;

/// Shoots for a while.
pub(super) fn shoot(config: &RangeConfig, seed: u64) -> Result<Shots, String> {
    let mut range = Range::open(config, seed)?;
    let ticks = |time: Duration| time.div_duration_f64(TICK) as u64;
    for tick in 1..=ticks(config.length) {
        range.room.play_until(TICK * tick as u32)?;
        range.act(tick, tick >= ticks(config.settling));
    }
    // What was shot last arrives.
    let end = config.length + Duration::from_secs(2);
    range.room.play_until(end)?;
    Ok(range.finish())
}

impl Range {
    fn open(config: &RangeConfig, seed: u64) -> Result<Range, String> {
        let players = config.shooters + config.targets;
        let game = game(seed)?;
        let room_config = MatchConfig::hosted(players, config.path.clone(), 1_000_000_000);
        let claims = Claims::default();
        let (settings, claimed) = (config.model.clone(), claims.clone());
        let model = move || {
            let honest = StateSync::new(settings.clone()).expect("settings that make sense");
            Liar::new(honest, claimed.clone())
        };
        let nothing = Box::new(|_: &Sublockus, _, _| None);
        let mut room = DisplayMatch::open(room_config, 0, seed, game, nothing, model);
        room.begin(players.into())?;
        let of = room.nodes().map(|node| room.program(node).player());
        let of: Option<Vec<PlayerId>> = of.collect();
        let past: Rc<RefCell<PastPlaces>> = Rc::default();
        let seen = past.clone();
        room.with(OPENER, |_, program| {
            program.set_probe(move |_, live, _| {
                let mut past = seen.borrow_mut();
                if past.back().is_none_or(|(last, _)| *last < live.tick()) {
                    let all = live.state().characters().as_slice().iter();
                    let places = all.map(|character| (character.player, character.place()));
                    past.push_back((live.tick(), places.collect()));
                }
                if past.len() > REMEMBERED {
                    past.pop_front();
                }
            });
        });
        let each = |of: u64| (0..players).map(move |at| random::hash(seed, at.into(), of));
        Ok(Range {
            room,
            config: config.clone(),
            players: of.ok_or("somebody in the room does not play")?,
            rngs: each(3).map(Rng::new).collect(),
            wanderers: each(4).map(Wanderer::new).collect(),
            held: vec![Controls::default(); players.into()],
            shots: Vec::new(),
            claims,
            past,
        })
    }

    /// Everyone does something.
    fn act(&mut self, tick: u64, shoot: bool) {
        for node in self.room.nodes() {
            let at = usize::from(node.0);
            let moved = self.wanderers[at].decide(tick);
            if let Some(controls) = moved {
                self.held[at] = controls;
            }
            let is_shooter = (1..=self.config.shooters).contains(&node.0);
            if is_shooter && shoot && self.shoot(node) {
                continue;
            }
            if moved.is_some() {
                let (player, held) = (self.players[at], self.held[at]);
                self.room
                    .with(node, |now, program| program.give(now, player, &held));
            }
        }
    }

    /// Whether somebody has shot.
    fn shoot(&mut self, node: NodeId) -> bool {
        let at = usize::from(node.0);
        let (rng, held) = (&mut self.rngs[at], self.held[at]);
        let (shooters, player) = (usize::from(self.config.shooters), self.players[at]);
        let shooters = &self.players[1..=shooters];
        let is_target = |other: PlayerId| !shooters.contains(&other);
        let tried = self.room.with(node, |now, program| {
            let state = program.game().world().state();
            let (own, clock) = (state.character_of(player).copied(), state.clock());
            // What is drawn is what was seen last, also where nothing is shot.
            let seen = program.game_mut().shown(now);
            let own = own.filter(|own| own.can_cast(Ability::Bolt, clock))?;
            let target = choose(rng, seen, &own, is_target).filter(|_| rng.chance(0.2))?;
            let aimed = aim(rng, own.place(), target.place());
            let controls = bolt(held, aimed.angle);
            let shot = Shot {
                shooter: player,
                aimed,
                seen: verdict(seen, &own, controls),
                hit: None,
                fired: false,
            };
            Some((shot, own, controls, seen.clone()))
        });
        let Some((shot, own, controls, seen)) = tried else {
            return false;
        };
        self.claim(&own, controls, &seen);
        self.room.with(node, |now, program| {
            program.give(now, player, &controls);
        });
        self.shots.push(shot);
        true
    }

    /// Lies about a shot that is about to be given.
    fn claim(&mut self, own: &Character, controls: Controls, seen: &Sublockus) {
        let is_target = |other: &&Character| other.player != own.player;
        let claim = match self.config.cheat {
            Cheat::None => None,
            Cheat::Hits => {
                let somebody = seen.characters().as_slice().iter().find(is_target);
                somebody.map(|victim| Claim::Hit(victim.player))
            }
            Cheat::Sights => {
                let past = self.past.borrow();
                let would_hit = |(_, places): &&(Tick, Vec<(PlayerId, Place)>)| {
                    let mut then = seen.clone();
                    for (player, place) in places {
                        if let Some(character) = then.character_mut(*player) {
                            character.body.place = *place;
                        }
                    }
                    verdict(&then, own, controls).is_some()
                };
                let found = past.iter().rev().find(would_hit);
                found.map(|(tick, _)| Claim::Seen(*tick))
            }
        };
        if let (Some(claim), Ok(input)) = (claim, encode_to_vec(&controls)) {
            self.claims.borrow_mut().insert((own.player, input), claim);
        }
    }

    fn finish(mut self) -> Shots {
        let mut fired: BTreeMap<(PlayerId, u16), VecDeque<Option<PlayerId>>> = BTreeMap::new();
        let confirmed = self.room.program(OPENER).events().confirmed();
        for (tick, event) in confirmed {
            let SublockusEvent::Cast {
                player,
                ability: Ability::Bolt,
                aim,
                ..
            } = event
            else {
                continue;
            };
            let same = confirmed.iter().filter(|(other, _)| other == tick);
            let hit = same.clone().find_map(|(_, event)| hit_by(event, *player));
            fired.entry((*player, aim.0)).or_default().push_back(hit);
        }
        for shot in &mut self.shots {
            let of = fired.get_mut(&(shot.shooter, shot.aimed.angle.0));
            if let Some(hit) = of.and_then(VecDeque::pop_front) {
                (shot.hit, shot.fired) = (hit, true);
            }
        }
        let shooters = (1..=self.config.shooters).map(NodeId);
        let statuses: Vec<_> = shooters
            .map(|node| self.room.program(node).status())
            .collect();
        let count = statuses.len().max(1) as f64;
        let beyond = statuses
            .iter()
            .filter(|status| status.beyond_lag_compensation);
        let delay = statuses
            .iter()
            .map(|status| status.interpolation_delay.as_secs_f64() * 1e3);
        Shots {
            shots: self.shots,
            beyond: beyond.count() as f64 / count,
            delay_ms: delay.sum::<f64>() / count,
        }
    }
}

/// A wide arena with ledges to jump on, in which players respawn at once.
fn game(seed: u64) -> Result<Sublockus, String> {
    const RANGE: &str = "name: Range

############################################
#                                          #
#                                          #
#    S        S          S         S       #
#  -----    -----      -----     -----     #
#                                          #
#                                          #
#        S         S          S       S    #
#      -----     -----      -----   -----  #
#                                          #
#                                          #
#    S        S          S         S       #
############################################
";
    let config = SublockusConfig {
        seed,
        arena: ArenaChoice::Text(RANGE.into()),
        grace: 0,
        respawn: 1,
        shelter: 45,
        items: false,
        ..SublockusConfig::default()
    };
    Sublockus::new(&config).map_err(|error| error.to_string())
}
