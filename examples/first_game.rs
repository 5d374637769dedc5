//! Light cycles for two to four terminals: `host` in one, `join ADDRESS` in the others. Keep off all trails.
use samestep::prelude::*;
use std::{error::Error, io, io::Read, process::Command, sync::mpsc, thread, time::Duration};

const WIDTH: i16 = 38; // Where a row ends the next begins, and after the last the first.
const CELLS: i16 = 20 * WIDTH;
const FLOOR: u8 = 235;
const COLOURS: [u8; 4] = [208, 39, 77, 170];

/// What a player does in one tick: press a key, or nothing.
#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Key(u8);

impl Input for Key {
    fn predict(&self) -> Self {
        Key(0) // What others are assumed to do until it is known.
    }
}

/// The whole state of the game, the same in all terminals.
#[derive(Clone, Default, Replicate)]
struct Arena {
    cells: Vec<u8>,
    bikes: [(i16, i16); 4], // Where each is, and by how many cells it moves.
    crashes: [u32; 4],
    riders: u32,
    pause: u32,
}

impl Simulation for Arena {
    type Input = Key;
    type Event = ();
    const NAME: &'static str = "light cycles";
    const TICKS_PER_SECOND: u32 = 12;

    /// The rules of one tick. A round begins when somebody came or left, and a second after a crash.
    fn step(&mut self, inputs: &Inputs<'_, Key>, _: &mut Events<()>) {
        let riders = inputs.players().len() as u32;
        if riders != self.riders || self.pause == 12 {
            (self.riders, self.pause, self.cells) = (riders, 12, vec![FLOOR; CELLS as usize]);
            self.bikes = [2, 7, 12, 17].map(|row| (row * WIDTH + 4, 1));
        }
        let rides = self.pause == 0;
        self.pause = self.pause.saturating_sub(1);
        for (player, key) in inputs.iter() {
            let number = usize::from(player.0) % 4;
            let (place, way) = &mut self.bikes[number];
            self.cells[*place as usize] = COLOURS[number];
            *way = match key.0 {
                b'w' | b'A' => -WIDTH,
                b's' | b'B' => WIDTH,
                b'd' | b'C' => 1,
                b'a' | b'D' => -1,
                _ => *way,
            };
            if rides {
                *place = (*place + *way).rem_euclid(CELLS);
                if self.cells[*place as usize] != FLOOR {
                    self.crashes[number] += 1;
                    self.pause = 24;
                }
            }
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut config = SessionConfig::new("light cycles", 1).player("rider");
    config.capacity = 4;
    let mut game = Game::from_args(config, Rollback::default(), Arena::default())?;
    let stty = |how: &str| Command::new("stty").args(how.split(' ')).status().ok();
    stty("-icanon -echo -isig"); // Keys come one by one, unseen, and Ctrl-C is one of them.
    let end = play(&mut game);
    stty("icanon echo isig");
    end
}

fn play(game: &mut Game<Arena, Rollback>) -> Result<(), Box<dyn Error>> {
    let (press, pressed) = mpsc::channel();
    let mut keys = io::stdin().bytes().map_while(Result::ok);
    thread::spawn(move || keys.try_for_each(|key| press.send(key)));
    loop {
        game.run_for(Duration::from_millis(40))?;
        for key in pressed.try_iter() {
            match key {
                b'q' | 3 => return Ok(()),
                27 | b'[' => {} // An arrow key is these two and a letter from A to D.
                _ => drop(game.command(&Key(key))),
            }
        }
        print!("\x1b[H");
        for row in game.shown().cells.chunks(WIDTH as usize) {
            row.iter().for_each(|cell| print!("\x1b[48;5;{cell}m  "));
            println!("\x1b[0m\x1b[K");
        }
        let (crashes, port) = (game.state().crashes, game.local_addr().port());
        println!("Crashes {crashes:?}. Steer with w a s d, q leaves. This is port {port}.\x1b[J");
    }
}
