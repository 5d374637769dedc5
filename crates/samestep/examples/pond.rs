//! A game in lockstep for several terminals: frogs on a line. Type `l` or `r` to hop, `q` to leave.
use samestep::prelude::*;
use std::{env, error::Error, io, process, sync::mpsc, thread, time::Duration};

/// What one player does in one tick: nothing, or a hop.
#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Hop(i8);

impl Input for Hop {
    fn predict(&self) -> Self {
        Hop(0)
    }
}

#[derive(Clone, PartialEq, Debug, Record)]
struct Frog {
    owner: PlayerId,
    place: i32,
}

/// The whole state of the game, described once: it can be transferred, compared, saved and replayed.
#[derive(Clone, Default, Replicate)]
struct Pond {
    frogs: Entities<Frog>,
}

impl Simulation for Pond {
    type Input = Hop;
    type Event = String;
    const NAME: &'static str = "pond";

    fn step(&mut self, inputs: &Inputs<'_, Hop>, events: &mut Events<String>) {
        self.frogs.retain(|_, frog| inputs.of(frog.owner).is_some());
        for (player, hop) in inputs.iter() {
            let frog = self.frogs.iter_mut().find(|(_, frog)| frog.owner == player);
            match frog {
                Some((_, frog)) if hop.0 != 0 => {
                    frog.place = (frog.place + i32::from(hop.0)).clamp(0, 30);
                    events.emit(format!("{player} hops"));
                }
                Some(_) => {}
                None => {
                    self.frogs.insert(Frog {
                        owner: player,
                        place: 15,
                    });
                    events.emit(format!("{player} is here"));
                }
            }
        }
    }
}

/// `pond host [PORT]` opens a game, `pond join ADDRESS` joins it, also while it runs.
fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let Err(error) = run(&arguments.join(" ")) {
        eprintln!("{error}");
        process::exit(1);
    }
}

fn run(command: &str) -> Result<(), Box<dyn Error>> {
    let usage = "use it as `pond host [PORT]` or `pond join ADDRESS`";
    let (port, role) = match command.split_once(' ') {
        None if command == "host" => (DEFAULT_PORT, Role::Host),
        Some(("host", port)) => (port.parse().map_err(|_| usage)?, Role::Host),
        Some(("join", address)) => (0, Role::Client(JoinTo::new(samestep::resolve(address)?))),
        _ => return Err(usage.into()),
    };
    let hosts = matches!(role, Role::Host);
    let config = SessionConfig::new("pond", 1).player("somebody");
    let model = Lockstep::new(LockstepConfig::default())?;
    let udp = Udp::bind(([0, 0, 0, 0], port).into())?;
    let mut game = Driver::game(udp, config, role, model, Live::new(Pond::default()))?;
    if hosts {
        println!(
            "others join with `pond join ADDRESS:{}`",
            game.local_addr().port()
        );
        let now = game.now();
        game.machine_mut().session_mut().start(now);
    }
    let (keys, typed) = mpsc::channel();
    thread::spawn(move || {
        io::stdin()
            .lines()
            .map_while(Result::ok)
            .try_for_each(|line| keys.send(line))
    });
    loop {
        if let Some(MatchEvent::Session(SessionEvent::Left { reason })) =
            game.drive_for(Duration::from_millis(20))?
        {
            return Err(reason.to_string().into());
        }
        let now = game.now();
        let me = game.machine().session().my_players().next();
        if let (Ok(key), Some(me)) = (typed.try_recv(), me) {
            match key.as_str() {
                "l" => drop(game.machine_mut().input(now, me, &Hop(-1))),
                "r" => drop(game.machine_mut().input(now, me, &Hop(1))),
                "q" => return Ok(game.leave_game("bye", now + Duration::from_secs(1))?),
                _ => println!("type l, r or q"),
            }
        }
        while let Some(event) = game.machine_mut().world_mut().poll_event() {
            let mut line = [b'.'; 31];
            for (_, frog) in game.machine().world().state().frogs.iter() {
                line[frog.place as usize] = b'0' + frog.owner.0 as u8;
            }
            println!("{} {}", String::from_utf8_lossy(&line), event.event);
        }
    }
}
