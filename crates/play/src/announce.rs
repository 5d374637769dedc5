//! Lets a room be found in the local network, for as long as the program runs.

use std::error::Error;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use samestep::session::discovery::{Announcement, MAX_ANSWER_BYTES, Responder, ResponderId};
use samestep::transport::{LanListener, now};

/// Answers queries on a thread of its own, so that the round trips others measure are those of the network.
pub struct Announcer {
    /// `None` while the room is hidden.
    responder: Arc<Mutex<Option<Responder>>>,
    id: ResponderId,
    port: u16,
}

/// The interval at which new network interfaces are detected.
const REFRESH: Duration = Duration::from_secs(5);

impl Announcer {
    /// Listens at a discovery port; answers nothing before [`Announcer::say`]. A room that is only `local` does not answer other machines,
    /// which could not join it.
    pub fn start(port: u16, local: bool) -> Result<Announcer, Box<dyn Error>> {
        let mut listener = LanListener::bind(port)?;
        let announcer = Announcer {
            responder: Arc::default(),
            id: ResponderId(random()?),
            port: listener.port(),
        };
        let responder = Arc::clone(&announcer.responder);
        thread::spawn(move || {
            // A socket that fails ends the thread; the room goes on and can be joined by its address.
            while answer(&mut listener, &responder, local).is_ok() {}
        });
        Ok(announcer)
    }

    /// The discovery port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Answers queries with this from now on, or not at all.
    pub fn say(&self, announcement: Option<Announcement>) {
        let mut responder = self.responder.lock().expect("nobody panics with the lock");
        match (announcement, responder.as_mut()) {
            (None, _) => *responder = None,
            (Some(announcement), Some(responder)) => {
                let _ = responder.set_announcement(announcement);
            }
            (Some(announcement), None) => *responder = Responder::new(self.id, announcement).ok(),
        }
    }
}

fn answer(
    listener: &mut LanListener,
    responder: &Mutex<Option<Responder>>,
    local: bool,
) -> std::io::Result<()> {
    listener.refresh();
    let refresh = now() + REFRESH;
    let mut buf = [0; MAX_ANSWER_BYTES];
    while now() < refresh {
        while let Some(query) = listener.recv()? {
            let from = query.from;
            if local && !from.ip().is_loopback() {
                continue;
            }
            let mut responder = responder.lock().expect("nobody panics with the lock");
            let answer = responder
                .as_mut()
                .and_then(|responder| responder.handle_query(now(), from, query.bytes, &mut buf));
            drop(responder);
            if let Some(len) = answer {
                listener.reply(from, &buf[..len]);
            }
        }
        listener.wait(Some(refresh))?;
    }
    Ok(())
}

/// A random id.
pub fn random() -> Result<u64, Box<dyn Error>> {
    random_bytes().map(u64::from_le_bytes)
}

/// As many random bytes as asked for.
pub(crate) fn random_bytes<const N: usize>() -> Result<[u8; N], Box<dyn Error>> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| format!("no randomness: {error}"))?;
    Ok(bytes)
}
