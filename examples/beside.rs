//! Two models side by side: a town in lockstep, in which everyone builds, and a hunt by snapshots, which only the host knows whole.
//!
//! `host [PORT]` and `join ADDRESS`. Type h to hunt, b to build a house for ten pelts. What the hunt brings, the town gets.
use samestep::prelude::*;
use samestep::session::{JoinTo, Role};
use samestep::sync::{Beside, Both, Either, Live};
use samestep::transport::Udp;
use samestep::{Arguments, DEFAULT_PORT, Driver, resolve};
use std::{error::Error, io, sync::mpsc, thread, time::Duration};

/// The host's player, who alone says in the town what the hunt has brought.
const HERALD: PlayerId = PlayerId(0);

#[derive(Clone, Default, PartialEq, Debug, Wire)]
enum Order {
    #[default]
    Nothing,
    Build,
    Store(u32),
}

impl Input for Order {
    fn predict(&self) -> Self {
        Order::Nothing
    }
}

#[derive(Clone, Default, Replicate)]
struct Town {
    pelts: u32,
    houses: u32,
}

impl Simulation for Town {
    type Input = Order;
    type Event = String;
    const NAME: &'static str = "town";

    fn step(&mut self, inputs: &Inputs<'_, Order>, events: &mut Events<String>) {
        for (player, order) in inputs.given() {
            match order {
                Order::Store(pelts) => self.pelts += pelts,
                Order::Build if self.pelts >= 10 => {
                    self.pelts -= 10;
                    self.houses += 1;
                    events.emit(format!("{player} builds house {}", self.houses));
                }
                _ => {}
            }
        }
    }

    fn allows(&self, player: PlayerId, order: &Order) -> bool {
        player == HERALD || !matches!(order, Order::Store(_))
    }
}

#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Hunt(bool);

impl Input for Hunt {
    fn predict(&self) -> Self {
        Hunt(false)
    }
}

#[derive(Clone, Replicate)]
struct Forest {
    rng: Rng,
}

impl Simulation for Forest {
    type Input = Hunt;
    type Event = u32;
    const NAME: &'static str = "forest";

    fn step(&mut self, inputs: &Inputs<'_, Hunt>, events: &mut Events<u32>) {
        for _ in inputs.given().filter(|(_, hunt)| hunt.0) {
            events.emit(5 + self.rng.below(10));
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::from_env()?;
    let usage = "use it as `host [PORT]` or `join ADDRESS`";
    let (role, port) = match arguments.words()[..] {
        ["host"] => (Role::Host, DEFAULT_PORT),
        ["host", port] => (Role::Host, port.parse().map_err(|_| usage)?),
        ["join", address] => (Role::Client(JoinTo::new(resolve(address)?)), 0),
        _ => return Err(usage.into()),
    };
    let hosts = matches!(role, Role::Host);
    let model = Beside::new(Lockstep::default(), Snapshot::default());
    let forest = Forest { rng: Rng::new(1) };
    let world = Both::new(Live::new(Town::default()), Live::new(forest));
    let udp = Udp::bind(([0, 0, 0, 0], port).into())?;
    let config = SessionConfig::new("town", 1).player("somebody");
    let mut game = Driver::game(udp, config, role, model, world)?;
    println!("This is port {}.", game.local_addr().port());
    if hosts {
        let now = game.now();
        game.machine_mut().session_mut().start(now);
    }

    let (send, typed) = mpsc::channel();
    thread::spawn(move || {
        let mut lines = io::stdin().lines().map_while(Result::ok);
        lines.try_for_each(|line| send.send(line))
    });
    loop {
        while let Some(event) = game.drive_for(Duration::from_millis(20))? {
            if let MatchEvent::Session(SessionEvent::Left { reason }) = event {
                return Err(reason.to_string().into());
            }
        }
        let now = game.now();
        while let Some(event) = game.machine_mut().world_mut().first.poll_event() {
            println!("tick {} of the town: {}", event.tick, event.event);
        }
        while let Some(event) = game.machine_mut().world_mut().second.poll_event() {
            println!("The hunt brings {} pelts.", event.event);
            if hosts {
                let store = Either::<Order, Hunt>::First(Order::Store(event.event));
                game.machine_mut().input(now, HERALD, &store);
            }
        }
        let input: Either<Order, Hunt> = match typed.try_recv().as_deref() {
            Ok("h") => Either::Second(Hunt(true)),
            Ok("b") => Either::First(Order::Build),
            Ok(_) | Err(mpsc::TryRecvError::Empty) => continue,
            Err(mpsc::TryRecvError::Disconnected) => {
                return Ok(game.leave_game("bye", now + Duration::from_secs(2))?);
            }
        };
        let me = game.machine().session().my_players().next();
        if !me.is_some_and(|me| game.machine_mut().input(now, me, &input)) {
            println!("Not yet: the game has not begun here.");
        }
    }
}
