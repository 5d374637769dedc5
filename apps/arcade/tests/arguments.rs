//! The program on a command line.

use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_samestep-arcade");
    let mut command = Command::new(program);
    command.args(arguments).output().expect("it starts")
}

#[test]
fn nonsense_is_refused_in_words() {
    for (arguments, words) in [
        (&["--loud"][..], "no such option"),
        (&["holiday"], "no such file"),
        (&["game=chess"], "no game"),
        (&["model=telepathy"], "there are lockstep"),
        (&["net=lan", "seed=3"], "one link"),
    ] {
        let output = run(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
}

#[test]
fn help_is_given() {
    let output = run(&["--help"]);
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("Usage"));
}
