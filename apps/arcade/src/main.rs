//! The arcade in a window.

use eframe::egui;
use samestep_arcade::app::Arcade;
use samestep_sandbox::Scenario;

fn main() -> eframe::Result {
    let link = std::env::args().nth(1).unwrap_or_default();
    let scenario = match Scenario::from_link(&link) {
        Ok(scenario) => scenario,
        Err(error) => {
            eprintln!("samestep-arcade: {error}");
            std::process::exit(2);
        }
    };
    let options = eframe::NativeOptions {
        viewport: egui::ViewportBuilder::default().with_inner_size([1280.0, 720.0]),
        ..Default::default()
    };
    eframe::run_native(
        "Samestep",
        options,
        Box::new(move |_| Ok(Box::new(Arcade::new(&scenario)))),
    )
}
