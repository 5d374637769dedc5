//! Everything in the tank duel that concerns the network: how a game is opened or joined, and what is done with it in each frame.

use super::rules::{Duel, Event, Keys};
use samestep::netem::Path;
use samestep::prelude::*;
use samestep::resolve;
use samestep::session::{JoinTo, RejoinSecret, Role};
use samestep::sync::{Live, Model, ModelConfig};
use samestep::transport::{Impaired, Udp};
use std::{error::Error, time::Duration};

pub type Tanks = Game<Duel, Box<dyn Model + Send>, Impaired<Udp>>;

/// Joins the game at an address, or opens one at a port, under any model and over a network as bad as one likes.
pub fn enter(
    (address, port): (Option<&str>, u16),
    secret: Option<RejoinSecret>,
    (config, model, path): (SessionConfig, &ModelConfig, &Path),
    duel: Duel,
) -> Result<Tanks, Box<dyn Error>> {
    let mut role = Role::Host;
    if let Some(address) = address {
        let mut join = JoinTo::new(resolve(address)?);
        join.rejoin = secret;
        role = Role::Client(join);
    }
    let transport = Impaired::new(Udp::bind(([0, 0, 0, 0], port).into())?, path, 1)?;
    let (model, world) = (model.build()?, Live::new(duel));
    Ok(Game::over(transport, config, role, model, world)?)
}

/// Plays for a frame, and tells of what happens in the game and in its room. When a duel is won, the host has the next one follow, in the waiting room at once.
pub fn play(
    game: &mut Tanks,
    (keys, frame): (&Keys, Duration),
    mut on_event: impl FnMut(&TimedEvent<Event>),
    mut on_news: impl FnMut(&Tanks, &SessionEvent),
) -> Result<(), GameError> {
    game.set_ready(true);
    game.set_controls(keys);
    game.run_for(frame)?;
    while let Some(event) = game.next_event() {
        on_event(&event);
        let won = event.stage == EventStage::Confirmed && matches!(event.event, Event::DuelWon(_));
        if won && !game.replace_state(game.state().again()) && game.is_authority() {
            game.end(b"");
        }
    }
    while let Some(news) = game.next_news() {
        if let MatchEvent::Session(news) = news {
            on_news(game, &news);
            match news {
                SessionEvent::Ended { .. } if game.is_authority() => game.rematch(),
                SessionEvent::Rematch => drop(game.replace_state(game.state().again())),
                _ => {}
            }
        }
    }
    Ok(())
}
