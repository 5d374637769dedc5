//! How Samestep is driven: two `Rollback` models and their worlds in virtual time, whose messages arrive so many ticks late.

use std::{collections::VecDeque, error::Error, net::SocketAddr, time::Duration};

use samestep::{
    Driver,
    session::{JoinTo, Match, Role, SessionConfig},
    sync::{InputKind, Length, Live, Member, Model, PeerId, Rollback, RollbackConfig, Roster},
    transport::Udp,
    wire::encode_into,
};

use crate::{control::Control, sockets};

use super::{
    Contender, FRAME,
    game::{Controls, Habit, PLAYERS, Swarm},
};

/// Ticks from an input to its tick; the least there is.
const DELAY: u64 = 1;
/// Frames before the game begins.
const PRELUDE: u64 = 60;
/// Frames before the players do anything: both are in the game by then.
const FIRST_INPUT: u64 = 2 * PRELUDE;

/// The room they are in.
#[derive(Clone, Copy, Default)]
pub struct Mode {
    /// They talk to each other, rather than one to the other who is the host.
    pub is_mesh: bool,
    /// Ticks between two comparisons of the players' states; 0 for none.
    pub check_every: u32,
}

/// Two players whose messages are so long under way that every frame goes back `depth` ticks.
pub struct Pair {
    name: &'static str,
    habit: Habit,
    late: u64,
    frames: u64,
    players: Vec<Player>,
    /// What is under way from each, with the frame in which it arrives.
    way: [VecDeque<(u64, Vec<u8>)>; 2],
    /// What has arrived, to be filled again.
    spare: Vec<Vec<u8>>,
}

struct Player {
    model: Rollback,
    world: Live<Swarm>,
}

impl Pair {
    /// Puts them into one room and lets the game begin.
    pub fn new(
        name: &'static str,
        Mode {
            is_mesh,
            check_every,
        }: Mode,
        depth: u64,
        state: &Swarm,
        habit: Habit,
    ) -> Result<Pair, Box<dyn Error>> {
        let late = depth + DELAY;
        let config = RollbackConfig {
            window: RollbackConfig::default().window.max(depth + 1),
            input_delay: Length::Fixed(DELAY),
            desync_check_interval: check_every.into(),
            ..RollbackConfig::default()
        };
        let mut players = Vec::new();
        for _ in PLAYERS {
            players.push(Player {
                model: Rollback::new(config.clone())?,
                world: Live::without_recording(state.clone()),
            });
        }
        let start = FRAME * PRELUDE as u32;
        for (me, player) in players.iter_mut().enumerate() {
            player
                .model
                .handle_roster(Duration::ZERO, &roster(me, late, is_mesh));
        }
        let [host, guest] = &mut players[..] else {
            unreachable!("there are two");
        };
        let state = host
            .model
            .checkpoint(Duration::ZERO, PeerId(1), &mut host.world);
        guest
            .model
            .adopt(Duration::ZERO, &state, &mut guest.world)?;
        for player in &mut players {
            player.model.handle_start(Duration::ZERO, start);
        }
        let mut pair = Pair {
            name,
            habit,
            late,
            frames: 0,
            players,
            way: Default::default(),
            spare: Vec::new(),
        };
        (0..FIRST_INPUT + 2 * late).for_each(|_| pair.frame());
        Ok(pair)
    }
}

fn roster(me: usize, late: u64, is_mesh: bool) -> Roster {
    let member = |peer: u16| Member {
        peer: PeerId(peer),
        players: vec![PLAYERS[usize::from(peer)]],
        in_sync: true,
        away: false,
        watches: false,
        incarnation: 0,
        loss: 0,
        latency: match usize::from(peer) == me {
            true => Duration::ZERO,
            false => FRAME * late as u32,
        },
    };
    Roster {
        me: PeerId(me as u16),
        authority: PeerId(0),
        is_mesh,
        members: vec![member(0), member(1)],
    }
}

impl Contender for Pair {
    fn name(&self) -> &'static str {
        self.name
    }

    fn frame(&mut self) {
        let now = Duration::from_nanos(FRAME.as_nanos() as u64 * self.frames);
        for (me, Player { model, world }) in self.players.iter_mut().enumerate() {
            let other = PeerId(1 - me as u16);
            let back = &mut self.way[1 - me];
            while back.front().is_some_and(|(at, _)| *at <= self.frames)
                && let Some((_, message)) = back.pop_front()
            {
                model.handle_message(now, other, &message);
                self.spare.push(message);
            }
            if let Some(tick) = self.frames.checked_sub(FIRST_INPUT) {
                let controls = self.habit.controls(PLAYERS[me], tick);
                let mut bytes = [0; 8];
                let len = encode_into(&controls, &mut bytes).expect("controls are two bytes");
                model.input(now, PLAYERS[me], &bytes[..len], InputKind::Controls);
            }
            model.advance(now, world);
            while let Some(message) = model.poll_message() {
                let mut bytes = self.spare.pop().unwrap_or_default();
                bytes.clear();
                bytes.extend_from_slice(&message.bytes);
                self.way[me].push_back((self.frames + self.late, bytes));
                model.reclaim(message);
            }
            while model.poll_event().is_some() {}
        }
        self.frames += 1;
    }

    fn steps(&self) -> u64 {
        let statuses = self.players.iter().map(|player| player.model.status());
        statuses
            .map(|status| status.tick.0 + status.resimulated)
            .sum()
    }
}

/// A game over UDP as it comes: encrypted, with checks and a recording.
pub type Game = Driver<Udp, Match<Live<Swarm>, Rollback>>;

/// Opens a room, or joins the one at `host`.
pub fn game(host: Option<SocketAddr>, state: Swarm) -> Result<Game, Box<dyn Error>> {
    let role = match host {
        None => Role::Host,
        Some(host) => Role::Client(JoinTo::new(host)),
    };
    let udp = Udp::bind(sockets::ANY)?;
    let config = SessionConfig::new("swarm", 1).player("player");
    let model = Rollback::new(RollbackConfig::default())?;
    Ok(Driver::game(udp, config, role, model, Live::new(state))?)
}

/// Plays in real time until told to stop. Gives the ticks that were simulated again per second.
pub fn play(
    control: &Control,
    me: usize,
    mut game: Game,
    habit: Habit,
) -> Result<f64, Box<dyn Error>> {
    let (mut given, mut last) = (0, Controls::default());
    let mut begun = None;
    while !control.is_stopped() {
        let until = game.now() + FRAME / 8;
        while game.drive(until)?.is_some() {}
        let now = game.now();
        let players = game.machine().session().room().players().len();
        if me == 0 && begun.is_none() && players == PLAYERS.len() {
            game.machine_mut().session_mut().start(now);
        }
        let status = game.machine().status();
        if status.tick.0 > given {
            if control.connected() == 0 {
                control.on_connected();
            }
            begun.get_or_insert((status.tick.0, status.resimulated));
            given = status.tick.0;
            let controls = habit.controls(PLAYERS[me], given);
            if controls != last {
                game.machine_mut().input(now, PLAYERS[me], &controls);
                last = controls;
            }
        }
    }
    let status = game.machine().status();
    let (tick, again) = begun.unwrap_or_default();
    let ticks = status.tick.0.saturating_sub(tick).max(1) as f64;
    Ok((status.resimulated - again) as f64 / ticks / FRAME.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_frame_rolls_back_and_both_end_with_the_true_state() {
        for is_mesh in [false, true] {
            play_and_compare(Mode {
                is_mesh,
                check_every: 60,
            });
        }
    }

    fn play_and_compare(mode: Mode) {
        let state = Swarm::new(10_240);
        let mut pair = Pair::new("samestep", mode, 5, &state, Habit::Restless).unwrap();
        let before = pair.steps();
        (0..100).for_each(|_| pair.frame());
        assert_eq!(pair.steps() - before, 2 * 100 * (5 + 1));
        pair.habit = Habit::Still;
        (0..20).for_each(|_| pair.frame());
        let mut truth = state.clone();
        let first = FIRST_INPUT - PRELUDE + DELAY;
        let last = first + pair.frames - 20 - FIRST_INPUT;
        for tick in 0..pair.players[0].world.state().ticks() {
            let controls = |player| match (first..last).contains(&tick) {
                true => Habit::Restless.controls(player, tick - first),
                false => Controls::default(),
            };
            truth.simulate(PLAYERS.map(controls));
        }
        for player in &pair.players {
            assert!(
                *player.world.state() == truth,
                "at {:?}",
                player.model.status()
            );
        }
    }
}
