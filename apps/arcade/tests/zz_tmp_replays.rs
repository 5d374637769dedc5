use samestep_arcade::registry;
use samestep_sandbox::Scenario;
#[test]
fn make() {
    for (name, link, steps, meddle) in [
        ("sub", "game=sublockus&model=lockstep&players=4&net=lan", 1800, false),
        ("sub-desync", "game=sublockus&model=lockstep&players=4&net=lan", 400, true),
        ("ski", "game=skirmish&model=lockstep&players=4&net=lan&size=1000", 1200, false),
        ("ski-desync", "game=skirmish&model=lockstep&players=3&net=lan", 900, true),
        ("eva", "game=evaluation&model=lockstep&players=3&net=lan", 1200, false),
        ("eva-desync", "game=evaluation&model=lockstep&players=3&net=lan", 400, true),
    ] {
        let scenario = Scenario::from_link(link).unwrap();
        let mut show = (registry::game(&scenario.game).unwrap().open)(&scenario).unwrap();
        (0..steps).for_each(|_| show.step());
        let bytes = if meddle {
            show.meddle(1);
            (0..600).find_map(|_| { show.step(); show.desyncs().iter().find_map(|d| d.report.bundle.clone()) }).unwrap()
        } else { show.recording() };
        std::fs::write(format!("/tmp/replays/{name}.replay"), &bytes).unwrap();
        if name == "sub" { std::fs::write("/tmp/replays/cut.replay", &bytes[..bytes.len() * 2 / 3]).unwrap(); }
    }
}
