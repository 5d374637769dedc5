//! Everyone moves a box: the smallest game, to set beside those of other libraries. `host` in one terminal, `join ADDRESS` in others.
use samestep::prelude::*;
use std::{collections::BTreeMap, error::Error, io, io::Read, sync::mpsc, thread, time::Duration};

const WIDTH: i16 = 40;
const HEIGHT: i16 = 12;

/// A step of a box in one tick.
#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Step {
    x: i8,
    y: i8,
}

impl Input for Step {
    fn predict(&self) -> Self {
        Step::default()
    }
}

#[derive(Clone, Default, Replicate)]
struct Floor {
    boxes: BTreeMap<PlayerId, (i16, i16)>,
}

impl Simulation for Floor {
    type Input = Step;
    type Event = ();
    const NAME: &'static str = "boxes";

    fn step(&mut self, inputs: &Inputs<'_, Step>, _: &mut Events<()>) {
        for (player, step) in inputs.iter() {
            let (x, y) = self.boxes.entry(player).or_default();
            *x = (*x + i16::from(step.x.signum())).clamp(0, WIDTH - 1);
            *y = (*y + i16::from(step.y.signum())).clamp(0, HEIGHT - 1);
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let config = SessionConfig::new("boxes", 1).player("somebody");
    let mut game = Game::from_args(config, Rollback::default(), Floor::default())?;
    println!("This is port {}.", game.local_addr().port());
    let (press, pressed) = mpsc::channel();
    let mut keys = io::stdin().bytes().map_while(Result::ok);
    thread::spawn(move || keys.try_for_each(|key| press.send(key)));
    loop {
        game.run_for(Duration::from_millis(20))?;
        loop {
            let (x, y) = match pressed.try_recv() {
                Ok(b'w') => (0, -1),
                Ok(b's') => (0, 1),
                Ok(b'a') => (-1, 0),
                Ok(b'd') => (1, 0),
                Ok(_) => continue,
                Err(mpsc::TryRecvError::Empty) => break,
                Err(mpsc::TryRecvError::Disconnected) => return Ok(game.leave("bye")?),
            };
            game.command(&Step { x, y });
        }
        draw(game.shown());
    }
}

fn draw(floor: &Floor) {
    print!("\x1b[H");
    for y in 0..HEIGHT {
        let at = |x| floor.boxes.values().any(|place| *place == (x, y));
        let row: String = (0..WIDTH).map(|x| if at(x) { '#' } else { '.' }).collect();
        println!("{row}\x1b[K");
    }
}
