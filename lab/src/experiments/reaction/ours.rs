//! From the key to the picture, in ours: Hat Hunters under `Rewind`, a guest who presses keys among players and AI characters.

use std::time::Duration;

use samestep_catalog::hat_hunters::{
    Character, Confirmations, Controls, HatHunters, HatHuntersConfig, HatHuntersEvent, Heading,
    ItemKind, Items, MapChoice, ONE, Place, Purse, Rules, Steer,
};
use samestep_netem::Path;
use samestep_playable::Setup;
use samestep_session::PlayerId;
use samestep_sim::NodeId;
use samestep_sync::{Rewind, RewindConfig, Rng, Tick, random};

use super::screen::Screen;
use crate::display::DisplayMatch;
use crate::experiments::update_window::STUMPS;
use crate::experiments::update_window::field::Field;
use crate::experiments::update_window::theirs::Reactions;
use crate::experiments::update_window::walker::{Errand, Walker};
use crate::testmatch::{MatchConfig, seeing_bots};

/// The settings of a match of ours.
#[derive(Clone, Debug)]
pub(super) struct OurConfig {
    pub players: u16,
    pub ai: u8,
    pub path: Path,
    pub model: RewindConfig,
    pub confirmations: Confirmations,
    pub length: Duration,
    pub settling: Duration,
}

/// The guest who presses keys.
const PRESSER: PlayerId = PlayerId(1);

/// Time between two pictures: those of a screen with 59.94 a second, so that they fall on all moments between two ticks.
const FRAME: Duration = Duration::from_nanos(16_683_350);

/// The time from a key to the next, at least and at most, in ms.
const BETWEEN_KEYS: (u32, u32) = (500, 1_000);

/// Plays a match.
pub(super) fn react(config: &OurConfig, seed: u64) -> Result<Reactions, String> {
    let mut playing = Playing::begin(config, seed)?;
    let mut next = Duration::ZERO;
    while next < config.length {
        playing.room.play_until(next)?;
        playing.frame(next);
        next += FRAME;
    }
    Ok(playing.finish())
}

fn game(config: &OurConfig, seed: u64) -> Result<HatHunters, String> {
    let config = HatHuntersConfig {
        seed,
        map: MapChoice::Text(format!("name: Lab\n{STUMPS}")),
        // Many containers, so that there is something to shoot with, and boxes that do not fill the field.
        rules: Rules {
            ai: config.ai,
            stars: 20,
            rounds: 20,
            containers: 12,
            cooldown: 60,
            box_life: 900,
            items: Items::of(&[ItemKind::Green]),
            ..Rules::default()
        },
        confirmations: config.confirmations,
    };
    HatHunters::new(&config).map_err(|error| error.to_string())
}

/// A match that is played.
struct Playing<'a> {
    config: &'a OurConfig,
    room: DisplayMatch<HatHunters, Rewind>,
    node: NodeId,
    hands: Hands,
    screen: Screen,
    rng: Rng,
    /// The tick of the guest when judging began.
    judged_from: Option<Tick>,
}

/// What the guest is about to do.
#[derive(Debug)]
struct Hands {
    field: Field,
    walker: Walker,
    held: Option<u8>,
    next_key: Duration,
    /// Whether it placed a box last, and shoots next.
    shoots: bool,
    last_box: Option<Place>,
}

impl<'a> Playing<'a> {
    fn begin(config: &'a OurConfig, seed: u64) -> Result<Playing<'a>, String> {
        let room_config = MatchConfig::hosted(config.players, config.path.clone(), 1_000_000_000);
        let settings = config.model.clone();
        Rewind::new(settings.clone()).map_err(|error| error.to_string())?;
        let model = move || Rewind::new(settings.clone()).expect("settings that make sense");
        // The other players are bots.
        let setup = Setup {
            players: config.players,
            size: None,
            seed,
        };
        let (game, script) = (game(config, seed)?, seeing_bots(setup, Some(PRESSER)));
        let mut room = DisplayMatch::open(room_config, 0, seed, game, script, model);
        room.begin(config.players.into())?;
        let node = room
            .guests()
            .find(|node| room.program(*node).player() == Some(PRESSER))
            .ok_or("the guest who presses keys does not play")?;
        Ok(Playing {
            config,
            room,
            node,
            hands: Hands {
                field: Field::of(STUMPS),
                walker: Walker::new(Errand::Wander, random::hash(seed, 1, 5)),
                held: None,
                next_key: config.settling,
                shoots: false,
                last_box: None,
            },
            screen: Screen::new(PRESSER),
            rng: Rng::new(random::hash(seed, 1, 9)),
            judged_from: None,
        })
    }

    /// The guest's program draws a picture, then looks at its keys.
    fn frame(&mut self, now: Duration) {
        let is_judged = now >= self.config.settling;
        if is_judged && self.judged_from.is_none() {
            self.judged_from = Some(self.room.program(self.node).status().tick);
        }
        let Playing {
            room,
            screen,
            hands,
            rng,
            ..
        } = self;
        room.with(self.node, |time, program| {
            let game = program.game_mut().shown(time);
            if is_judged {
                screen.see(now, game);
            }
            if let Some(controls) = hands.decide(now, game, screen, rng) {
                program.give(time, PRESSER, &controls);
            }
        });
    }

    fn finish(self) -> Reactions {
        let mut reactions = self.screen.reactions;
        let since = self.judged_from.unwrap_or_default();
        let counts = |(tick, event): &&(Tick, HatHuntersEvent)| {
            *tick >= since
                && matches!(
                    event,
                    HatHuntersEvent::ItemUsed { .. } | HatHuntersEvent::Bounced { .. }
                )
        };
        let events = self.room.program(self.node).events();
        reactions.predicted = events.predicted().iter().filter(counts).count() as u64;
        reactions.taken_back = events.cancelled().iter().filter(counts).count() as u64;
        reactions
    }
}

impl Hands {
    /// What is pressed or released at a picture, if anything.
    fn decide(
        &mut self,
        now: Duration,
        game: &HatHunters,
        screen: &mut Screen,
        rng: &mut Rng,
    ) -> Option<Controls> {
        let own = game.character_of(PRESSER).filter(|own| !own.is_out)?;
        let purse = game.purse_of(PRESSER)?;
        let mut controls = self.walk(now, game, own, purse);
        if now >= self.next_key && !screen.waits() && !game.round().is_over() {
            let pressed = match self.shoots {
                true => self.shoot(own, purse, rng),
                false => self.place_box(own, purse, game),
            };
            if let Some(pressed) = pressed {
                match pressed.use_item {
                    true => screen.press_shot(now),
                    false => screen.press_box(now),
                }
                let wait = rng.below(BETWEEN_KEYS.1 - BETWEEN_KEYS.0);
                self.next_key = now + Duration::from_millis((BETWEEN_KEYS.0 + wait).into());
                self.shoots = !self.shoots;
                let steer = controls.map_or(Steer::Keep, |controls| controls.steer);
                controls = Some(Controls {
                    steer: match pressed.steer {
                        Steer::Keep => steer,
                        turn => turn,
                    },
                    ..pressed
                });
            }
        }
        controls
    }

    /// It walks to an item, and with one to a star.
    fn walk(
        &mut self,
        now: Duration,
        game: &HatHunters,
        own: &Character,
        purse: &Purse,
    ) -> Option<Controls> {
        let here = own.place();
        let nearest = |places: &mut dyn Iterator<Item = Place>| {
            places.min_by_key(|place| (here.distance(*place), *place))
        };
        let goal = match purse.item {
            None => nearest(&mut game.containers().iter().map(|(_, it)| it.cell.middle())),
            Some(_) => nearest(&mut game.stars().iter().map(|(_, star)| star.place)),
        };
        if let Some(goal) = goal {
            self.walker.seek(now, cells(goal));
        }
        let heading = self.walker.decide(now, cells(here), &self.field);
        let turns = std::mem::replace(&mut self.held, heading) != heading;
        turns.then(|| Controls::steering(heading.map(Heading)))
    }

    /// Shoots at the last box, or anywhere, if there is something to shoot with.
    fn shoot(&mut self, own: &Character, purse: &Purse, rng: &mut Rng) -> Option<Controls> {
        purse.item?;
        let at_box = self.last_box.take();
        let at_box = at_box.and_then(|place| Heading::of(own.place().to(place)));
        let heading = at_box.unwrap_or(Heading(rng.below(32) as u8));
        // The walk goes on as soon as it turns again.
        self.held = Some(heading.0);
        Some(Controls {
            use_item: true,
            ..Controls::steering(Some(heading))
        })
    }

    /// Places a box if it may, and walks: who stands does not leave the cell.
    fn place_box(&mut self, own: &Character, purse: &Purse, game: &HatHunters) -> Option<Controls> {
        let may = game.clock() >= purse.box_from && own.silhouette.is_none();
        own.steering.filter(|_| may)?;
        self.last_box = Some(own.place().cell().middle());
        Some(Controls {
            place_box: true,
            ..Controls::default()
        })
    }
}

fn cells(place: Place) -> [f32; 2] {
    [place.x, place.y].map(|units| units as f32 / ONE as f32)
}

#[cfg(test)]
mod tests {
    use samestep_netem::LinkConfig;
    use samestep_sync::Confirmation;

    use super::*;
    use crate::experiments::update_window::theirs::Kind;

    fn reactions(confirmations: Confirmations) -> Reactions {
        let config = OurConfig {
            players: 3,
            ai: 8,
            path: Path::symmetric(LinkConfig {
                latency: Duration::from_millis(50),
                ..LinkConfig::default()
            }),
            model: RewindConfig::default(),
            confirmations,
            length: Duration::from_secs(40),
            settling: Duration::from_secs(4),
        };
        react(&config, 3).unwrap()
    }

    fn median(reactions: &Reactions, kind: Kind) -> f64 {
        let delays = reactions.delays.get(&kind);
        let delays = delays.unwrap_or_else(|| panic!("{kind:?} never happened"));
        delays.sorted().percentile(50.0).unwrap()
    }

    #[test]
    fn what_is_predicted_shows_at_once_and_the_rest_when_the_window_is_over() {
        let reactions = reactions(Confirmations::default());
        for kind in [Kind::Projectile, Kind::Bounce] {
            assert!(median(&reactions, kind) < 34.0, "{kind:?}: {reactions:?}");
        }
        for kind in [Kind::Star, Kind::Item, Kind::BoxRemoved] {
            assert!(median(&reactions, kind) > 60.0, "{kind:?}: {reactions:?}");
        }
        assert!(
            reactions.keys > 20 && reactions.lost * 4 < reactions.keys,
            "{reactions:?}"
        );
        assert!(
            reactions.predicted > 20 && reactions.taken_back <= 1,
            "{reactions:?}"
        );
    }

    #[test]
    fn who_waits_for_the_authority_waits_for_the_way_there_and_back() {
        let reactions = reactions(Confirmations::all(Confirmation::AtOnce));
        assert!(
            median(&reactions, Kind::Projectile) > 100.0,
            "{reactions:?}"
        );
        assert!(median(&reactions, Kind::Star) > 80.0, "{reactions:?}");
        assert_eq!(reactions.predicted, 0);
    }
}
