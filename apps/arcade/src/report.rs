//! What the program shows, for tests that look at it from outside.

use std::fmt::Write as _;

use eframe::egui::{self, FullOutput, Rect};
use samestep_sandbox::Gauge;

use crate::sandbox::SandboxTab;

/// What the program shows.
pub struct Report<'a> {
    /// The tab's title.
    pub tab: &'a str,
    /// Frames per second.
    pub frame_rate: f64,
    /// The sandbox.
    pub sandbox: &'a SandboxTab,
    /// Everything that has a label.
    pub widgets: &'a [Widget],
}

/// The number of newest samples of a gauge in a report.
const SAMPLES: usize = 50;

impl Report<'_> {
    /// As JSON.
    pub fn to_json(&self) -> String {
        let mut out = Writer::default();
        let sandbox = self.sandbox;
        let live = sandbox.live_match();
        let scenario = live.scenario();
        out.open("", '{');
        out.text("tab", self.tab);
        out.number("frame_rate", self.frame_rate);
        out.number("steps", live.steps() as f64);
        out.number("shown_step", sandbox.shown_step() as f64);
        out.text("game", &scenario.game);
        out.text("model", live.model(live.steps()).name);
        out.text("next_model", live.next_model().map_or("", |kind| kind.name));
        out.text("server", scenario.server.name());
        out.text("seed", &scenario.seed.to_string());
        out.number("players", scenario.players() as f64);
        out.text("link", &scenario.to_link());
        out.flag("paused", sandbox.is_paused());
        out.text("checksum", &format!("{:016x}", live.checksum()));
        out.text("banner", sandbox.banner());
        out.open("gauges", '[');
        for player in 0..scenario.players() {
            let gauges = live.gauges(player);
            out.open("", '{');
            out.number("player", player as f64);
            out.number("samples", gauges.taken() as f64);
            for gauge in Gauge::ALL {
                let latest = gauges.latest(gauge).unwrap_or_default();
                out.number(gauge.name(), f64::from(latest));
            }
            out.close('}');
        }
        out.close(']');
        out.open("series", '{');
        for gauge in Gauge::ALL {
            out.open(gauge.name(), '[');
            for player in 0..scenario.players() {
                let series = live.gauges(player).series(gauge);
                let forgotten = series.len().saturating_sub(SAMPLES);
                out.open("", '[');
                series
                    .skip(forgotten)
                    .for_each(|sample| out.number("", f64::from(sample)));
                out.close(']');
            }
            out.close(']');
        }
        out.close('}');
        out.number("desyncs", live.desyncs().len() as f64);
        out.open("widgets", '[');
        for widget in self.widgets {
            out.open("", '{');
            out.text("label", &widget.label);
            out.text("role", &widget.role);
            out.text("value", &widget.value);
            out.flag("enabled", widget.enabled);
            out.number("x", f64::from(widget.rect.min.x));
            out.number("y", f64::from(widget.rect.min.y));
            out.number("w", f64::from(widget.rect.width()));
            out.number("h", f64::from(widget.rect.height()));
            out.close('}');
        }
        out.close(']');
        out.close('}');
        out.text
    }
}

/// Something on the screen that has a label.
#[derive(Clone, PartialEq, Debug)]
pub struct Widget {
    /// What it is called.
    pub label: String,
    /// What it is: a button, a slider.
    pub role: String,
    /// What it is set to, if it is set to something.
    pub value: String,
    /// Whether it does anything.
    pub enabled: bool,
    /// Where it is, in points.
    pub rect: Rect,
}

/// Notes what is on the screen, from the first time on that somebody asks.
#[derive(Default)]
pub struct Widgets {
    seen: Vec<Widget>,
}

impl Widgets {
    /// What was on the screen in the last frame.
    pub fn of(ctx: &egui::Context) -> Vec<Widget> {
        ctx.enable_accesskit();
        let seen = ctx.with_plugin(|widgets: &mut Widgets| widgets.seen.clone());
        seen.unwrap_or_default()
    }
}

impl egui::Plugin for Widgets {
    fn debug_name(&self) -> &'static str {
        "widgets"
    }

    fn output_hook(&mut self, _ctx: &egui::Context, output: &mut FullOutput) {
        let Some(update) = &output.platform_output.accesskit_update else {
            return;
        };
        let labelled = update.nodes.iter().filter_map(|(_, node)| {
            let bounds = node.bounds()?;
            let (min, max) = ((bounds.x0, bounds.y0), (bounds.x1, bounds.y1));
            let value = node.numeric_value().map(|value| value.to_string());
            Some(Widget {
                label: node.label().or(node.value())?.to_string(),
                role: format!("{:?}", node.role()),
                value: value
                    .or(node.value().map(str::to_string))
                    .unwrap_or_default(),
                enabled: !node.is_disabled(),
                rect: Rect::from_min_max(
                    egui::pos2(min.0 as f32, min.1 as f32),
                    egui::pos2(max.0 as f32, max.1 as f32),
                ),
            })
        });
        self.seen = labelled.collect();
    }
}

/// JSON, as it comes.
#[derive(Default)]
struct Writer {
    text: String,
    /// Something stands before what comes next.
    follows: bool,
}

impl Writer {
    fn key(&mut self, key: &str) {
        if std::mem::replace(&mut self.follows, true) {
            self.text.push(',');
        }
        if !key.is_empty() {
            self.quote(key);
            self.text.push(':');
        }
    }

    fn open(&mut self, key: &str, bracket: char) {
        self.key(key);
        self.text.push(bracket);
        self.follows = false;
    }

    fn close(&mut self, bracket: char) {
        self.text.push(bracket);
        self.follows = true;
    }

    fn text(&mut self, key: &str, value: &str) {
        self.key(key);
        self.quote(value);
    }

    fn number(&mut self, key: &str, value: f64) {
        self.key(key);
        match value.is_finite() {
            true => write!(self.text, "{value}").expect("there is memory"),
            false => self.text.push_str("null"),
        }
    }

    fn flag(&mut self, key: &str, value: bool) {
        self.key(key);
        self.text.push_str(if value { "true" } else { "false" });
    }

    fn quote(&mut self, value: &str) {
        self.text.push('"');
        for letter in value.chars() {
            match letter {
                '"' | '\\' => self.text.extend(['\\', letter]),
                letter if letter.is_control() => {
                    write!(self.text, "\\u{:04x}", letter as u32).expect("there is memory");
                }
                letter => self.text.push(letter),
            }
        }
        self.text.push('"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_json() {
        let mut out = Writer::default();
        out.open("", '{');
        out.text("words", "a \"b\"\\\n");
        out.open("numbers", '[');
        out.number("", 1.5);
        out.number("", f64::NAN);
        out.close(']');
        out.flag("yes", true);
        out.close('}');
        let expected = r#"{"words":"a \"b\"\\\u000a","numbers":[1.5,null],"yes":true}"#;
        assert_eq!(out.text, expected);
    }
}
