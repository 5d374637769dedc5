//! A report of what the program shows, for tests from outside.

use eframe::egui::{self, FullOutput, Rect};
use samestep_sandbox::Gauge;
use serde_json::{Value, json};

use crate::sandbox::SandboxTab;

/// The visible state of the program.
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
        let sandbox = self.sandbox;
        let live = sandbox.live_match();
        let scenario = live.scenario();
        let gauges = (0..scenario.players()).map(|player| {
            let gauges = live.gauges(player);
            let mut latest = json!({ "player": player, "samples": gauges.taken() });
            for gauge in Gauge::ALL {
                latest[gauge.name()] = json!(gauges.latest(gauge).unwrap_or_default());
            }
            latest
        });
        let series = Gauge::ALL.map(|gauge| {
            let of_players = (0..scenario.players()).map(|player| {
                let series = live.gauges(player).series(gauge);
                let forgotten = series.len().saturating_sub(SAMPLES);
                series.skip(forgotten).collect::<Value>()
            });
            (gauge.name(), of_players.collect::<Value>())
        });
        let widgets = self.widgets.iter().map(|widget| {
            json!({
                "label": widget.label,
                "role": widget.role,
                "value": widget.value,
                "enabled": widget.enabled,
                "x": widget.rect.min.x,
                "y": widget.rect.min.y,
                "w": widget.rect.width(),
                "h": widget.rect.height(),
            })
        });
        json!({
            "tab": self.tab,
            "frame_rate": self.frame_rate,
            "steps": live.steps(),
            "shown_step": sandbox.shown_step(),
            "game": scenario.game,
            "model": live.model(live.steps()).name,
            "next_model": live.next_model().map_or("", |kind| kind.name),
            "server": scenario.server.name(),
            "seed": scenario.seed.to_string(),
            "players": scenario.players(),
            "link": scenario.to_link(),
            "paused": sandbox.is_paused(),
            "checksum": format!("{:016x}", live.checksum()),
            "banner": sandbox.banner(),
            "gauges": gauges.collect::<Value>(),
            "series": Value::from_iter(series),
            "desyncs": live.desyncs().len(),
            "widgets": widgets.collect::<Value>(),
        })
        .to_string()
    }
}

/// Something on the screen that has a label.
#[derive(Clone, PartialEq, Debug)]
pub struct Widget {
    /// The label.
    pub label: String,
    /// The role: a button, a slider.
    pub role: String,
    /// The value, if it has one.
    pub value: String,
    /// Whether it does anything.
    pub enabled: bool,
    /// Where it is, in points.
    pub rect: Rect,
}

/// Records the widgets on the screen, from the first request on.
#[derive(Default)]
pub struct Widgets {
    seen: Vec<Widget>,
}

impl Widgets {
    /// The widgets of the last frame.
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
