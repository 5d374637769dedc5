//! How ggrs is driven: two sessions whose packets arrive so many frames late, and requests carried out as its examples do.

use std::{cell::RefCell, collections::VecDeque, rc::Rc, time::Duration};

use ggrs::{
    Config, GgrsError, GgrsRequest, InputStatus, Message, NonBlockingSocket, P2PSession,
    PlayerType, PredictRepeatLast, SessionBuilder, SessionState,
};
use samestep::sync::{Events, Inputs, Simulation, Tick};

use super::{
    Contender,
    game::{Controls, Habit, PLAYERS, Swarm},
};

/// The types of this game, as ggrs wants them. Peers are known by their numbers.
pub struct Types;

impl Config for Types {
    type Input = Controls;
    type InputPredictor = PredictRepeatLast;
    type State = Swarm;
    type Address = usize;
}

/// ggrs waits for the other at this many frames; its own default.
pub const WINDOW: usize = 8;

/// A session of player `me` with the other one.
pub fn session(
    me: usize,
    window: usize,
    sparse: bool,
    socket: impl NonBlockingSocket<usize> + 'static,
) -> Result<P2PSession<Types>, GgrsError> {
    let mut builder = SessionBuilder::<Types>::new()
        .with_max_prediction_window(window)
        .with_sparse_saving_mode(sparse)
        // The contenders take turns: one that waits for its turn has not vanished.
        .with_disconnect_timeout(Duration::from_secs(600))
        .with_disconnect_notify_delay(Duration::from_secs(600));
    for player in 0..PLAYERS.len() {
        let kind = match player == me {
            true => PlayerType::Local,
            false => PlayerType::Remote(player),
        };
        builder = builder.add_player(kind, player)?;
    }
    builder.start_p2p_session(socket)
}

/// One player's game.
pub struct Game {
    state: Swarm,
    events: Events<()>,
    /// Ticks simulated so far.
    pub steps: u64,
}

impl Game {
    /// Begins.
    pub fn new(state: Swarm) -> Game {
        Game {
            state,
            events: Events::new(),
            steps: 0,
        }
    }

    /// Carries out what the session asks for.
    pub fn handle_requests(&mut self, requests: Vec<GgrsRequest<Types>>) {
        for request in requests {
            match request {
                GgrsRequest::SaveGameState { cell, frame } => {
                    cell.save(frame, Some(self.state.clone()), None);
                }
                GgrsRequest::LoadGameState { cell, .. } => {
                    self.state = cell.load().expect("what is to be loaded was saved");
                }
                GgrsRequest::AdvanceFrame { inputs } => self.step(&inputs),
            }
        }
    }

    fn step(&mut self, inputs: &[(Controls, InputStatus)]) {
        let controls = [inputs[0].0, inputs[1].0];
        let inputs = Inputs::new(Tick(self.steps), &PLAYERS, &controls, &[]);
        self.state.step(&inputs, &mut self.events);
        self.steps += 1;
    }
}

/// Messages under way, with the frame in which they arrive.
type Way = Rc<RefCell<VecDeque<(u64, Message)>>>;

/// Carries messages in memory, as they are: neither encoded nor copied into the kernel, which is not what is measured.
struct Late {
    other: usize,
    frames: u64,
    now: Rc<RefCell<u64>>,
    out: Way,
    back: Way,
}

impl NonBlockingSocket<usize> for Late {
    fn send_to(&mut self, message: &Message, _: &usize) {
        let at = *self.now.borrow() + self.frames;
        self.out.borrow_mut().push_back((at, message.clone()));
    }

    fn receive_all_messages(&mut self) -> Vec<(usize, Message)> {
        let now = *self.now.borrow();
        let mut back = self.back.borrow_mut();
        let due = back.iter().take_while(|(at, _)| *at <= now).count();
        let due = back.drain(..due);
        due.map(|(_, message)| (self.other, message)).collect()
    }
}

/// Two players whose packets are `depth` frames under way.
pub struct Pair {
    name: &'static str,
    habit: Habit,
    now: Rc<RefCell<u64>>,
    players: Vec<(P2PSession<Types>, Game)>,
    frames: u64,
}

impl Pair {
    /// Connects them.
    pub fn new(
        name: &'static str,
        sparse: bool,
        depth: u64,
        state: &Swarm,
        habit: Habit,
    ) -> Result<Pair, GgrsError> {
        let now = Rc::new(RefCell::new(0));
        let ways: [Way; 2] = Default::default();
        // It stops one frame before its window is full.
        let window = WINDOW.max(depth as usize + 1);
        let mut players = Vec::new();
        for me in 0..PLAYERS.len() {
            let socket = Late {
                other: 1 - me,
                frames: depth,
                now: Rc::clone(&now),
                out: Rc::clone(&ways[me]),
                back: Rc::clone(&ways[1 - me]),
            };
            let session = session(me, window, sparse, socket)?;
            players.push((session, Game::new(state.clone())));
        }
        let mut pair = Pair {
            name,
            habit,
            now,
            players,
            frames: 0,
        };
        while (pair.players.iter())
            .any(|(session, _)| session.current_state() != SessionState::Running)
        {
            *pair.now.borrow_mut() += 1;
            for (session, _) in &mut pair.players {
                session.poll_remote_clients();
            }
        }
        Ok(pair)
    }
}

impl Contender for Pair {
    fn name(&self) -> &'static str {
        self.name
    }

    fn frame(&mut self) {
        *self.now.borrow_mut() += 1;
        for (me, (session, game)) in self.players.iter_mut().enumerate() {
            session.events().for_each(drop);
            let controls = self.habit.controls(PLAYERS[me], self.frames);
            let added = session.add_local_input(me, controls);
            let advanced = added.and_then(|()| session.advance_frame());
            game.handle_requests(
                advanced.expect("both are connected and neither is too far ahead"),
            );
        }
        self.frames += 1;
    }

    fn steps(&self) -> u64 {
        self.players.iter().map(|(_, game)| game.steps).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_frame_rolls_back_and_both_end_with_the_true_state() {
        for (sparse, resimulated) in [(false, 5), (true, 6)] {
            let mut truth = Swarm::new(10_240);
            let mut pair = Pair::new("ggrs", sparse, 5, &truth, Habit::Restless).unwrap();
            (0..100).for_each(|_| pair.frame());
            let before = pair.steps();
            (0..100).for_each(|_| pair.frame());
            assert_eq!(pair.steps() - before, 2 * 100 * (resimulated + 1));
            pair.habit = Habit::Still;
            (0..20).for_each(|_| pair.frame());
            for tick in 0..200 {
                truth.simulate(PLAYERS.map(|player| Habit::Restless.controls(player, tick)));
            }
            (0..20).for_each(|_| truth.simulate([Controls::default(); 2]));
            for (_, game) in &pair.players {
                assert_eq!(game.state, truth);
            }
        }
    }
}
