//! Lays out the arcade as a page that a browser can open: the program compiled to WebAssembly, what binds it to the browser, and the parts that are
//! written by hand.
//!
//! ```text
//! samestep-page PROGRAM.wasm PARTS FOLDER
//! ```
//!
//! - `PROGRAM.wasm` is `samestep-arcade`, compiled for `wasm32-unknown-unknown`.
//! - `PARTS` is a folder whose files are copied: `apps/arcade/page`, with `index.html`, `start.js`, `style.css` and the icon.
//! - `FOLDER` gets all of it, and `arcade.js` with `arcade_bg.wasm` besides.
//!
//! Binding takes a while and is left out if neither the program nor this one has changed since. `scripts/page` compiles and calls this; `samestep play`
//! serves the folder. It is a program of its own because what binds is a large dependency that nothing else needs.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use wasm_bindgen_cli_support::Bindgen;

/// What the bound program is called in the page: `arcade.js` and `arcade_bg.wasm`.
const NAME: &str = "arcade";

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [program, parts, folder] = &arguments[..] else {
        eprintln!("samestep-page PROGRAM.wasm PARTS FOLDER");
        return ExitCode::from(2);
    };
    match lay_out(program, parts, folder) {
        Ok(bytes) => {
            println!(
                "    {}: {:.1} MB of program",
                folder.display(),
                bytes as f64 / 1e6
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("samestep-page: {error}");
            ExitCode::from(2)
        }
    }
}

/// Answers with the program's size.
fn lay_out(program: &Path, parts: &Path, folder: &Path) -> Result<u64, Box<dyn Error>> {
    fs::create_dir_all(folder).map_err(|error| words(folder, &error))?;
    let bound = folder.join(format!("{NAME}_bg.wasm"));
    let compiled = changed(program).ok_or_else(|| {
        format!(
            "{} is not there: compile the program first",
            program.display()
        )
    })?;
    let newest = std::env::current_exe()
        .ok()
        .and_then(|itself| changed(&itself))
        .map_or(compiled, |itself| itself.max(compiled));
    if changed(&bound).is_none_or(|bound| bound <= newest) {
        bind(program, folder)?;
    }
    for part in fs::read_dir(parts).map_err(|error| words(parts, &error))? {
        let part = part?.path();
        let Some(name) = part.file_name().filter(|_| part.is_file()) else {
            continue;
        };
        fs::copy(&part, folder.join(name)).map_err(|error| words(&part, &error))?;
    }
    Ok(fs::metadata(&bound)
        .map_err(|error| words(&bound, &error))?
        .len())
}

/// When a file was last written.
fn changed(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).and_then(|about| about.modified()).ok()
}

fn bind(program: &Path, folder: &Path) -> Result<(), Box<dyn Error>> {
    let mut bindgen = Bindgen::new();
    bindgen
        .input_path(program)
        .out_name(NAME)
        .web(true)?
        .typescript(false)
        .remove_producers_section(true);
    bindgen
        .generate(folder)
        .map_err(|error| format!("binding {}: {error:#}", program.display()).into())
}

fn words(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_gets_words() {
        let folder = std::env::temp_dir().join(format!("samestep-page-{}", std::process::id()));
        let error = lay_out(&folder.join("no.wasm"), &folder, &folder).unwrap_err();
        assert!(
            error.to_string().contains("compile the program first"),
            "{error}"
        );
        fs::remove_dir_all(folder).unwrap();
    }
}
