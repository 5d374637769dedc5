//! Words across the screen.

use eframe::egui::{self, Align, Color32, Frame, Layout, Margin, RichText, Stroke};
use samestep_sandbox::{Desync, Server};

use crate::icons::{self, Icon};
use crate::theme;

/// How long good news is shown, in seconds.
const GOOD: f64 = 5.0;

/// Words across the screen.
pub struct Banner {
    /// What they say.
    pub words: String,
    kind: Kind,
}

enum Kind {
    /// Something worked; it goes away by itself at this time, once known.
    Good(Option<f64>),
    /// Something did not.
    Bad,
    /// States differ; with a recording, one can look at it.
    Desync(Option<Vec<u8>>),
}

/// Whose state differs, and in what.
fn desync_words(desync: &Desync, server: Server) -> String {
    let report = &desync.report;
    // A server without a player is the first to be numbered.
    let first = u16::from(server == Server::Dedicated);
    let who = match report.peer.0.checked_sub(first) {
        Some(player) => theme::player_name(player.into()),
        None => "The server".into(),
    };
    let mut words = format!("{who}'s state differs at tick {}", report.tick);
    if let Some(found) = &report.difference {
        let entity = found.entity.map(|entity| entity.to_string());
        let field = Some(found.field.clone()).filter(|field| !field.is_empty());
        let place = [Some(found.kind.clone()), entity, field];
        let place = place.into_iter().flatten().collect::<Vec<_>>().join(", ");
        let is_own = desync.found_by.map(theme::player_name).as_ref() == Some(&who);
        let (theirs, others) = match is_own {
            true => (&found.ours, &found.theirs),
            false => (&found.theirs, &found.ours),
        };
        words += &format!(": {place}: {theirs} there, {others} with the others");
    }
    words + "."
}

/// What somebody wants of a banner.
pub enum Answer {
    /// It should go away.
    Close,
    /// To look at a recording.
    Look(Vec<u8>),
}

impl Banner {
    /// Something worked.
    pub fn good(words: String) -> Banner {
        Banner {
            words,
            kind: Kind::Good(None),
        }
    }

    /// Something did not.
    pub fn bad(words: String) -> Banner {
        Banner {
            words,
            kind: Kind::Bad,
        }
    }

    /// States differ.
    pub fn desync(desync: &Desync, server: Server) -> Banner {
        Banner {
            words: desync_words(desync, server),
            kind: Kind::Desync(desync.report.bundle.clone()),
        }
    }

    /// Whether there is a recording to look at.
    pub fn has_recording(&self) -> bool {
        matches!(self.kind, Kind::Desync(Some(_)))
    }

    /// Shows it.
    pub fn ui(&mut self, ui: &mut egui::Ui) -> Option<Answer> {
        let mut answer = self.expire(ui);
        let colour = self.colour();
        let frame = Frame::new()
            .fill(theme::CARD)
            .stroke(Stroke::new(1.0, colour))
            .corner_radius(6)
            .inner_margin(Margin::symmetric(10, 5));
        frame.show(ui, |ui| {
            ui.horizontal(|ui| {
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    let close = icons::button(ui, Icon::Close, "Close the message", false);
                    if close.clicked() {
                        answer = Some(Answer::Close);
                    }
                    if let Kind::Desync(Some(bundle)) = &self.kind
                        && ui.button("Look at it").clicked()
                    {
                        answer = Some(Answer::Look(bundle.clone()));
                    }
                    let words = RichText::new(&self.words).color(colour);
                    ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                        ui.add(egui::Label::new(words).wrap());
                    });
                });
            });
        });
        answer
    }

    fn expire(&mut self, ui: &egui::Ui) -> Option<Answer> {
        let Kind::Good(until) = &mut self.kind else {
            return None;
        };
        let now = ui.input(|input| input.time);
        let until = *until.get_or_insert(now + GOOD);
        ui.ctx().request_repaint_after_secs((until - now) as f32);
        (now > until).then_some(Answer::Close)
    }

    fn colour(&self) -> Color32 {
        match self.kind {
            Kind::Good(_) => theme::TEXT,
            Kind::Bad => theme::WARNING,
            Kind::Desync(_) => theme::WRONG,
        }
    }
}
