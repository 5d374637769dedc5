//! Tells the lab which compiler made it: figures are reported with it.

use std::process::Command;

fn main() {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let output = Command::new(rustc).arg("--version").output().ok();
    let text = output.and_then(|output| String::from_utf8(output.stdout).ok());
    let version = text.filter(|text| text.starts_with("rustc"));
    let version = version
        .as_deref()
        .map_or("rustc of unknown version", str::trim);
    println!("cargo::rustc-env=SAMESTEP_RUSTC={version}");
    println!("cargo::rerun-if-changed=build.rs");
}
