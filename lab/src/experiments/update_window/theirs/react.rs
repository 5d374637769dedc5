//! From the key to the picture, in theirs: one client over a network, and what it waits for.

use std::collections::BTreeMap;
use std::time::Duration;

use samestep_netem::IP_UDP_OVERHEAD_BYTES;
use samestep_sync::{Rng, random};

use super::client::Client;
use super::network::Wire;
use super::state::{State, Steer};
use super::things::{Ask, Decided, Flight, Kind, Met, Things, touches};
use super::update_window::UpdateWindow;
use super::{CHARACTER, FRAME, FromClient, FromServer, HEADER, TheirConfig};
use crate::experiments::update_window::field::Field;
use crate::experiments::update_window::walker::{Walker, direction};
use crate::stats::Samples;

/// What was seen to happen so long ago, and was not said by the server, did not happen there.
const LONG_AGO: Duration = Duration::from_secs(2);

/// From the key, or from what is seen to happen, to the picture that shows what comes of it.
#[derive(Clone, Debug, Default)]
pub(in crate::experiments) struct Reactions {
    /// In ms.
    pub delays: BTreeMap<Kind, Samples>,
    /// Keys of which nothing came: the message was too old for the window, or the cell was taken.
    pub lost: u64,
    pub keys: u64,
    /// Projectiles and bounces that were shown before the authority knew of them, and those that it did not confirm. Theirs has no way to take one back.
    pub predicted: u64,
    pub taken_back: u64,
}

/// A message in either direction that has to arrive.
#[derive(Clone, Copy, Debug)]
enum Event {
    Asked(Ask),
    Decided(Decided),
}

/// Plays with one client for a while. It walks about; in turn it places a box, and shoots at the box.
pub(in crate::experiments) fn react(config: &TheirConfig, seed: u64) -> Result<Reactions, String> {
    let mut game = Game::begin(config, seed)?;
    let mut next = [FRAME, FRAME + FRAME / 3];
    while next[0].min(next[1]) < config.length {
        let side = usize::from(next[1] < next[0]);
        let now = next[side];
        let jitter = f64::from(game.rng.below(2_000)) / 1e6 - 1e-3;
        next[side] = now + Duration::from_secs_f64(FRAME.as_secs_f64() + jitter);
        match side {
            0 => game.server_frame(now),
            _ => game.client_frame(now),
        }
    }
    Ok(game.finish())
}

struct Game<'a> {
    config: &'a TheirConfig,
    field: Field,
    rng: Rng,
    server: UpdateWindow,
    things: Things,
    client: Client,
    movement: (Wire<FromClient>, Wire<FromServer>),
    events: (Wire<Event>, Wire<Event>),
    screen: Screen,
    reactions: Reactions,
}

/// The things as the client shows them, and what it waits for.
#[derive(Debug)]
struct Screen {
    boxes: Vec<(i32, i32)>,
    flights: Vec<Flight>,
    star: [f32; 2],
    item: [f32; 2],
    /// When keys were pressed whose picture is awaited.
    keys: BTreeMap<u64, (Kind, Duration)>,
    /// When the own character was seen to touch the star and the item first and last, and when projectiles were seen to hit boxes.
    touched: [Option<(Duration, Duration)>; 2],
    hit: BTreeMap<(i32, i32), Duration>,
    pressed: u64,
    next_key: Duration,
    last: Duration,
}

impl<'a> Game<'a> {
    fn begin(config: &'a TheirConfig, seed: u64) -> Result<Game<'a>, String> {
        let field = Field::of(&config.field);
        let state = State::at(&config.places[..1]);
        let walker = Walker::new(config.errand, random::hash(seed, 1, 5));
        let links = |of| {
            let links = config.path.links(random::hash(seed, of, 6));
            links.map_err(|error| error.to_string())
        };
        let (movement, events) = (links(1)?, links(2)?);
        let things = Things::new(&field, random::hash(seed, 1, 8));
        Ok(Game {
            config,
            rng: Rng::new(random::hash(seed, 1, 9)),
            server: UpdateWindow::new(config.window, state.clone()),
            client: Client::new(0, walker, &state, config),
            movement: (Wire::new(movement.0), Wire::new(movement.1)),
            events: (Wire::new(events.0), Wire::new(events.1)),
            screen: Screen {
                boxes: Vec::new(),
                flights: Vec::new(),
                star: things.star,
                item: things.item,
                keys: BTreeMap::new(),
                touched: [None; 2],
                hit: BTreeMap::new(),
                pressed: 0,
                next_key: config.settling,
                last: Duration::ZERO,
            },
            things,
            field,
            reactions: Reactions::default(),
        })
    }

    /// How long a sender waits for an acknowledgement.
    fn resend_after(&self) -> Duration {
        self.config.path.up.latency + self.config.path.down.latency + 2 * FRAME
    }

    fn server_frame(&mut self, now: Duration) {
        let read = self.movement.0.poll(now);
        let read: Vec<(Duration, Steer)> = read.iter().map(|m| (m.stamp, m.steer)).collect();
        for event in self.events.0.poll(now) {
            match event {
                // What is older than the window is ignored.
                Event::Asked(ask) if ask.stamp > self.server.settled() => self.things.ask(ask),
                _ => {}
            }
        }
        let (things, field) = (&mut self.things, &self.field);
        let mut decided = Vec::new();
        let changed = self.server.frame(now, &read, &[], field, |state, time| {
            decided.extend(things.settle(state, time, field));
        });
        let after = self.resend_after();
        for decided in decided {
            self.events
                .1
                .send_reliably(now, 30, after, Event::Decided(decided));
        }
        for character in changed {
            let of = self.server.current().characters[character];
            let message = FromServer {
                stamp: now,
                character,
                body: of.body,
                force: of.force,
            };
            self.movement.1.send(now, HEADER + CHARACTER, message);
        }
    }

    fn client_frame(&mut self, now: Duration) {
        for event in self.events.1.poll(now) {
            if let Event::Decided(decided) = event {
                self.show(now, decided);
            }
        }
        // It collects, in turn.
        let goal = match self.screen.pressed % 8 {
            0..4 => self.screen.star,
            _ => self.screen.item,
        };
        self.client.seek(now, goal);
        let arrived = self.movement.1.poll(now);
        let message = self.client.frame(now, arrived, self.config, &self.field);
        if let Some(message) = message {
            self.movement.0.send(now, HEADER + CHARACTER, message);
        }
        self.see(now);
        if now >= self.screen.next_key {
            self.press(now);
        }
    }

    /// The picture changes as the server says.
    fn show(&mut self, now: Duration, decided: Decided) {
        let since = match decided {
            Decided::Box { number, cell } => {
                self.screen.boxes.push(cell);
                self.screen.keys.remove(&number)
            }
            Decided::Projectile { number, flight } => {
                self.screen.flights.push(flight);
                self.screen.keys.remove(&number)
            }
            Decided::Collected { kind, next, .. } => {
                let is_star = kind == Kind::Star;
                *(if is_star {
                    &mut self.screen.star
                } else {
                    &mut self.screen.item
                }) = next;
                let touched = self.screen.touched[usize::from(!is_star)].take();
                touched.map(|(since, _)| (kind, since))
            }
            Decided::Removed { cell } => {
                self.screen.boxes.retain(|other| *other != cell);
                // Its projectile was shown as late as the box disappears: it may hit later.
                let hit = self.screen.hit.remove(&cell);
                // One that was long ago has missed on the server.
                let hit = hit.filter(|at| now - *at < LONG_AGO);
                Some((Kind::BoxRemoved, hit.unwrap_or(now)))
            }
        };
        if let Some((kind, since)) = since {
            self.note(kind, since, now);
        }
    }

    fn note(&mut self, kind: Kind, since: Duration, now: Duration) {
        let ms = (now - since).as_secs_f64() * 1e3;
        self.reactions.delays.entry(kind).or_default().push(ms);
    }

    /// What is seen to happen, before the server has said so. A bounce is predicted: it shows in the frame in which it happens.
    fn see(&mut self, now: Duration) {
        let seconds = (now - self.screen.last).as_secs_f32();
        let place = self.client.own_place();
        let screen = &mut self.screen;
        for (at, thing) in [screen.star, screen.item].into_iter().enumerate() {
            if touches(place, thing) {
                let (_, last) = screen.touched[at].get_or_insert((now, now));
                *last = now;
            }
            // Who touched it long ago has not touched it on the server.
            screen.touched[at].take_if(|(_, last)| now - *last > LONG_AGO);
        }
        let mut bounced = 0;
        screen.flights.retain_mut(|flight| {
            match flight.advance(seconds, &self.field, &screen.boxes) {
                Met::Nothing => {}
                Met::Wall => bounced += 1,
                Met::Box(cell) => {
                    screen.hit.entry(cell).or_insert(now);
                    return false;
                }
            }
            !flight.is_over()
        });
        let last = std::mem::replace(&mut screen.last, now);
        for _ in 0..bounced {
            self.note(Kind::Bounce, last, now);
        }
    }

    /// A box, then a shot at it, and so on.
    fn press(&mut self, now: Duration) {
        let screen = &mut self.screen;
        let wait = 900 + self.rng.below(900);
        screen.next_key = now + Duration::from_millis(wait.into());
        screen.pressed += 1;
        let kind = match screen.pressed % 2 {
            1 => Kind::Box,
            _ => Kind::Projectile,
        };
        let place = self.client.own_place();
        let towards = match screen.boxes.last() {
            Some(cell) => {
                let way = [
                    cell.0 as f32 + 0.5 - place[0],
                    cell.1 as f32 + 0.5 - place[1],
                ];
                let length = way[0].hypot(way[1]).max(1e-3);
                way.map(|part| part / length)
            }
            None => direction(Some(self.rng.below(32) as u8)),
        };
        let ask = Ask {
            number: screen.pressed,
            stamp: self.client.stamp(now),
            character: 0,
            kind,
            towards,
        };
        screen.keys.insert(ask.number, (kind, now));
        self.reactions.keys += 1;
        let after = self.resend_after();
        let bytes = HEADER + IP_UDP_OVERHEAD_BYTES;
        self.events
            .0
            .send_reliably(now, bytes, after, Event::Asked(ask));
    }

    fn finish(mut self) -> Reactions {
        // The last ones may still be on their way.
        let recent = self.config.length.saturating_sub(Duration::from_secs(3));
        let lost = self.screen.keys.values().filter(|(_, at)| *at < recent);
        self.reactions.lost = lost.count() as u64;
        self.reactions
    }
}

#[cfg(test)]
mod tests {
    use samestep_netem::{LinkConfig, Path};

    use super::super::tests::config;
    use super::*;
    use crate::experiments::update_window::walker::Errand;

    fn median(reactions: &Reactions, kind: Kind) -> f64 {
        let delays = reactions.delays.get(&kind);
        let delays = delays.unwrap_or_else(|| panic!("{kind:?} never happened"));
        delays.sorted().percentile(50.0).unwrap()
    }

    #[test]
    fn what_must_not_be_taken_back_waits_for_the_window_and_a_bounce_does_not() {
        let config = TheirConfig {
            length: Duration::from_secs(60),
            ..config(100, 25, Errand::Wander)
        };
        let reactions = react(&config, 3).unwrap();
        // The window, the way back, and a frame here and there.
        let shot = median(&reactions, Kind::Projectile);
        assert!((125.0..180.0).contains(&shot), "{shot}");
        assert!(median(&reactions, Kind::Bounce) < 20.0);
        for kind in [Kind::Box, Kind::Star, Kind::Item] {
            assert!(median(&reactions, kind) > 80.0, "{kind:?}");
        }
        // Both the projectile and what it does are late by as much.
        let removed = median(&reactions, Kind::BoxRemoved);
        assert!(removed < 60.0, "{removed}");
    }

    #[test]
    fn a_key_that_comes_after_the_window_is_lost() {
        let mut config = config(100, 150, Errand::Wander);
        config.path = Path::symmetric(LinkConfig {
            latency: Duration::from_millis(150),
            ..LinkConfig::default()
        });
        let reactions = react(&config, 3).unwrap();
        assert!(reactions.lost * 2 > reactions.keys, "{reactions:?}");
    }
}
