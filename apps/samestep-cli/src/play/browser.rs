//! The browser of whoever sits at this machine.

use std::process::{Command, Stdio};

/// Has the browser show an address; false if there is none.
pub fn open(address: &str) -> bool {
    let Some(mut command) = opener() else {
        return false;
    };
    let quiet = command
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let Ok(mut child) = quiet.spawn() else {
        return false;
    };
    std::thread::spawn(move || child.wait());
    true
}

fn opener() -> Option<Command> {
    if cfg!(windows) {
        let mut command = Command::new("rundll32");
        command.arg("url.dll,FileProtocolHandler");
        return Some(command);
    }
    if cfg!(target_os = "macos") {
        return Some(Command::new("open"));
    }
    // Without a screen this would take the terminal for a browser that shows only text.
    let screens = ["DISPLAY", "WAYLAND_DISPLAY"];
    let has_screen = screens
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    has_screen.then(|| Command::new("xdg-open"))
}
