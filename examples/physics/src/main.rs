//! Balls and crates for a few terminals: `host` in one, `join ADDRESS` in the others. a and d push, w jumps, q leaves.

use samestep::prelude::*;
use samestep_physics::{Push, REACH, Yard};
use std::{error::Error, io, io::Read, sync::mpsc, thread, time::Duration};

fn main() -> Result<(), Box<dyn Error>> {
    let config = SessionConfig::new("yard", 1).player("somebody");
    let mut game = Game::from_args(config, Rollback::default(), Yard::default())?;
    let (press, pressed) = mpsc::channel();
    thread::spawn(move || {
        let mut keys = io::BufReader::new(io::stdin())
            .bytes()
            .map_while(Result::ok);
        keys.try_for_each(|key| press.send(key))
    });
    loop {
        game.run_for(Duration::from_millis(40))?;
        let mut push = Push::default();
        loop {
            match pressed.try_recv() {
                Ok(b'a') => push.to = -1,
                Ok(b'd') => push.to = 1,
                Ok(b'w') => push.jump = true,
                Ok(b'q') | Err(mpsc::TryRecvError::Disconnected) => return Ok(game.leave("bye")?),
                Ok(_) => {}
                Err(mpsc::TryRecvError::Empty) => break,
            }
        }
        game.set_controls(&push);
        draw(game.shown());
    }
}

/// A character for every half metre.
fn draw(yard: &Yard) {
    const ROWS: usize = 24;
    let mut picture = [[' '; 4 * REACH as usize]; ROWS];
    for (handle, body) in yard
        .physics
        .bodies
        .iter()
        .filter(|(_, body)| body.is_dynamic())
    {
        let at = body.translation();
        let (column, row) = (((at.x + REACH) * 2.0) as usize, (at.y * 2.0) as usize);
        let owner = yard.balls.iter().find(|(_, ball)| ball.body == handle);
        if let Some(place) = picture.get_mut(row).and_then(|row| row.get_mut(column)) {
            *place = owner.map_or('#', |(player, _)| (b'0' + player.0 as u8 % 10) as char);
        }
    }
    print!("\x1b[H");
    for row in picture.iter().rev() {
        println!("{}\x1b[K", row.iter().collect::<String>());
    }
}
