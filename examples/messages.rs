//! Messages, and actions that are confirmed: applied once by everyone in the same order, or denied once to who asked.
//!
//! `host [PORT]` and `join ADDRESS`; without a host `mesh [PORT]` and `peer ADDRESS`. Type a number to buy so many apples, anything else to talk.
use samestep::prelude::*;
use samestep::session::{Handlers, JoinTo, Role, To};
use samestep::transport::Udp;
use samestep::{Arguments, DEFAULT_PORT, Driver, resolve};
use std::{error::Error, io, sync::mpsc, thread, time::Duration};

#[derive(Clone, Wire, Message)]
struct Chat {
    #[wire(max_len = 200)]
    text: String,
}

#[derive(Clone, Wire, Message, Action)]
#[action(command = Sold)]
struct Buy {
    apples: u32,
}

/// What comes of it, as the authority decides: also who came later learns what is left.
#[derive(Clone, Wire)]
struct Sold {
    apples: u32,
    left: u32,
}

struct Shop {
    apples: u32,
}

/// What is done about each type: the same on the authority, on the others, and for the authority's own player.
fn handlers() -> Result<Handlers<Shop>, Box<dyn Error>> {
    let mut handlers = Handlers::new();
    handlers.on(|_, call, chat: Chat| println!("{} says: {}", call.from, chat.text))?;
    handlers
        .confirmed::<Buy>()?
        .resolve(|shop: &mut Shop, _, Buy { apples }| {
            let left = shop.apples.checked_sub(apples);
            let left = left.ok_or(format!("only {} are left", shop.apples))?;
            Ok(Sold { apples, left })
        })
        .applied(|shop, call, sold| {
            println!("{} buys {}: {} are left", call.from, sold.apples, sold.left);
            shop.apples = sold.left;
        })
        .denied(|_, _, why| println!("Denied: {}.", why.unwrap_or_default()));
    Ok(handlers)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::from_env()?;
    let usage = "use it as `host [PORT]`, `join ADDRESS`, `mesh [PORT]` or `peer ADDRESS`";
    let (role, port) = match arguments.words()[..] {
        ["host"] => (Role::Host, DEFAULT_PORT),
        ["mesh"] => (Role::Introducer, DEFAULT_PORT),
        ["host", port] => (Role::Host, port.parse().map_err(|_| usage)?),
        ["mesh", port] => (Role::Introducer, port.parse().map_err(|_| usage)?),
        ["join", address] => (Role::Client(JoinTo::new(resolve(address)?)), 0),
        ["peer", address] => (Role::Peer(JoinTo::new(resolve(address)?)), 0),
        _ => return Err(usage.into()),
    };
    let config = SessionConfig::new("shop", 1).player("somebody");
    let mut room = Driver::session(Udp::bind(([0, 0, 0, 0], port).into())?, config, role)?;
    println!("This is port {}.", room.local_addr().port());
    let (mut handlers, mut shop) = (handlers()?, Shop { apples: 10 });

    let (send, typed) = mpsc::channel();
    thread::spawn(move || {
        let mut lines = io::stdin().lines().map_while(Result::ok);
        lines.try_for_each(|line| send.send(line))
    });
    loop {
        while let Some(event) = room.drive_for(Duration::from_millis(20))? {
            let now = room.now();
            match event {
                SessionEvent::InSync => println!("You are in the room."),
                SessionEvent::Left { reason } => return Err(reason.to_string().into()),
                event => drop(handlers.handle(now, room.machine_mut(), &mut shop, &event)),
            }
        }
        let now = room.now();
        match typed.try_recv() {
            Ok(text) => match text.parse() {
                Ok(apples) => drop(room.machine_mut().request(now, &Buy { apples })?),
                Err(_) => room.machine_mut().send(now, To::Others, &Chat { text })?,
            },
            Err(mpsc::TryRecvError::Empty) => {}
            Err(mpsc::TryRecvError::Disconnected) => {
                return Ok(room.leave("bye", now + Duration::from_secs(2))?);
            }
        }
    }
}
