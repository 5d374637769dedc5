//! Skirmish drawn and played without a screen.

use eframe::egui::{self, Pos2, Rect, Vec2, pos2, vec2};
use samestep_skirmish::{
    Bot, BuildingId, Command, Order, SideId, Skirmish, SkirmishConfig, SkirmishEvent, UnitKind,
};
use samestep_sync::{EntityId, Live, Occurrence, PlayerId, Replicate, Tick, TickInputs, World};

use super::grip::Grip;
use super::units::Detail;
use super::{map_of, spot};
use crate::canvas::Canvas;
use crate::drawn::{Button, Drawn, FADES, Hands, Happened, Pointer, Scene};

const ME: PlayerId = PlayerId(0);
const SCREENS: [Vec2; 5] = [
    vec2(470.0, 300.0),
    vec2(1280.0, 720.0),
    vec2(200.0, 900.0),
    vec2(1.0, 1.0),
    vec2(0.0, 40.0),
];

fn game() -> Skirmish {
    Skirmish::new(&SkirmishConfig::default()).unwrap()
}

/// What bots make of a game; `each` sees every tick with what happened in it.
fn play(game: Skirmish, ticks: u64, mut each: impl FnMut(&Skirmish, &[Occurrence<SkirmishEvent>])) {
    let players: Vec<_> = game.sides().iter().map(|side| side.player).collect();
    let mut bots: Vec<_> = players.iter().map(|player| Bot::new(3, *player)).collect();
    let mut game = Live::new(game);
    let mut inputs = TickInputs::new();
    inputs.set_players(&players);
    for tick in (0..ticks).map(Tick) {
        inputs.clear();
        for bot in &mut bots {
            if let Some(command) = bot.decide(tick, game.state()) {
                inputs.give(bot.player(), &command);
            }
        }
        game.step(tick, &inputs);
        game.settle(tick, &inputs);
        let told: Vec<_> = std::iter::from_fn(|| game.poll_event()).collect();
        each(game.state(), &told);
    }
}

/// Lets one command be carried out.
fn obey(game: &mut Skirmish, command: Command) {
    use samestep_sync::{Events, Inputs, Simulation};
    let players: Vec<_> = game.sides().iter().map(|side| side.player).collect();
    let mut commands = vec![Command::None; players.len()];
    commands[0] = command;
    game.step(
        &Inputs::new(Tick(0), &players, &commands, &[0]),
        &mut Events::new(),
    );
}

/// How many triangles a screen takes, with `truth` as a ghost over it.
fn paint(
    game: &Skirmish,
    truth: &Skirmish,
    viewer: Option<PlayerId>,
    grip: &Grip,
    happened: &[Happened<'_, SkirmishEvent>],
    size: Vec2,
) -> usize {
    let ctx = egui::Context::default();
    let mut triangles = 0;
    let mut output = ctx.run_ui(egui::RawInput::default(), |ui| {
        let rect = Rect::from_min_size(pos2(30.0, 10.0), size);
        let frame = game.frame(viewer, grip, size);
        let mut canvas = Canvas::new(ui.painter(), rect, frame);
        let scene = Scene {
            viewer,
            drawn: game,
            grip,
            happened,
            seconds: 7.3,
        };
        game.paint(&scene, &mut canvas);
        truth.paint_ghost(&scene, &mut canvas);
        triangles = canvas.triangles();
        canvas.finish();
    });
    output.textures_delta.clear();
    triangles
}

/// A screen with hands.
struct Player<'a> {
    game: &'a Skirmish,
    grip: Grip,
}

impl Player<'_> {
    fn new(game: &Skirmish) -> Player<'_> {
        Player {
            game,
            grip: Grip::default(),
        }
    }

    fn hands(&mut self, mut hands: Hands) -> Command {
        let screen = Rect::from_min_size(Pos2::ZERO, vec2(640.0, 360.0));
        let frame = self.game.frame(Some(ME), &self.grip, screen.size());
        hands.seen = Some(frame.seen(screen));
        self.game.hands(ME, &mut self.grip, &hands)
    }

    fn mouse(&mut self, place: Pos2, primary: Button, secondary: Button) -> Command {
        self.hands(Hands {
            pointer: Some(Pointer {
                place,
                primary,
                secondary,
                scroll: 0.0,
            }),
            ..Hands::default()
        })
    }

    fn drag(&mut self, from: Pos2, to: Pos2) -> Command {
        assert_eq!(self.mouse(from, DOWN, UP), Command::None);
        assert_eq!(self.mouse(to, HELD, UP), Command::None);
        self.mouse(to, RELEASED, UP)
    }

    fn order(&mut self, place: Pos2) -> Command {
        self.mouse(place, UP, DOWN)
    }

    fn digit(&mut self, digit: u8) -> Command {
        self.hands(Hands {
            digit: Some(digit),
            ..Hands::default()
        })
    }

    fn act(&mut self, which: usize) -> Command {
        let mut hands = Hands::default();
        hands.actions[which] = DOWN;
        self.hands(hands)
    }
}

const UP: Button = Button {
    held: false,
    pressed: false,
    released: false,
};
const DOWN: Button = Button {
    held: true,
    pressed: true,
    released: false,
};
const HELD: Button = Button {
    held: true,
    pressed: false,
    released: false,
};
const RELEASED: Button = Button {
    held: false,
    pressed: false,
    released: true,
};

/// The middle of one's soldiers.
fn soldiers(game: &Skirmish) -> Pos2 {
    let own = game.units().as_slice().iter();
    let own = own.filter(|unit| unit.side == SideId(0) && unit.kind.is_soldier());
    let (count, sum) = own.fold((0.0, Vec2::ZERO), |(count, sum), unit| {
        (count + 1.0, sum + spot(unit.place).to_vec2())
    });
    (sum / count).to_pos2()
}

fn hall(game: &Skirmish) -> Pos2 {
    spot(game.sides()[0].home)
}

#[test]
fn a_circle_around_some_makes_them_a_squad_and_around_all_chooses_theirs() {
    let mut game = game();
    let middle = soldiers(&game);
    let mut player = Player::new(&game);
    // All six are squad 1 already.
    let all = player.drag(middle - vec2(6.0, 6.0), middle + vec2(6.0, 6.0));
    assert_eq!((all, player.grip.squad), (Command::None, Some(1)));
    let unit = game.units().as_slice().iter();
    let one = unit.filter(|unit| unit.side == SideId(0) && unit.kind == UnitKind::Spear);
    let one = spot(one.last().unwrap().place);
    let some = player.drag(one - vec2(1.0, 0.0), one + vec2(1.0, 0.0));
    let Command::Select { squad, kinds, .. } = some else {
        panic!("{some:?}");
    };
    assert_eq!((squad, kinds, player.grip.squad), (2, 0b1110, Some(2)));
    // Until that is known, the squad is not given away again.
    let again = player.drag(one - vec2(1.0, 0.0), one + vec2(1.0, 0.0));
    assert!(
        matches!(again, Command::Select { squad: 3, .. }),
        "{again:?}"
    );
    obey(&mut game, some);
    assert!(!game.squads(SideId(0))[2].is_empty());
}

#[test]
fn a_click_chooses_the_squad_of_a_unit() {
    let game = game();
    let worker = game.units().as_slice().iter();
    let worker = worker.filter(|unit| unit.side == SideId(0) && unit.kind == UnitKind::Worker);
    let place = spot(worker.last().unwrap().place);
    let mut player = Player::new(&game);
    player.mouse(place, DOWN, UP);
    player.mouse(place, RELEASED, UP);
    assert_eq!(player.grip.squad, Some(0));
}

#[test]
fn orders_go_to_the_chosen_squad() {
    let game = game();
    let mut player = Player::new(&game);
    let place = pos2(70.4, 20.6);
    let (x, y) = (70, 21);
    let attack = Command::Order {
        squad: 1,
        order: Order::Attack,
        x,
        y,
    };
    assert_eq!(player.order(place), attack);
    let walk = Command::Order {
        squad: 1,
        order: Order::Move,
        x,
        y,
    };
    assert_eq!(player.order(place), walk);
    assert_eq!(player.order(place), attack);
    player.digit(1);
    let mine = spot(game.mines()[0].place);
    let dig = player.order(mine);
    assert!(
        matches!(
            dig,
            Command::Order {
                squad: 0,
                order: Order::Gather,
                ..
            }
        ),
        "{dig:?}"
    );
    player.digit(5);
    assert_eq!(
        player.order(hall(&game)),
        Command::Rally {
            building: BuildingId(0),
            squad: 4
        }
    );
}

#[test]
fn units_are_trained_one_more_with_each_press() {
    let mut game = game();
    let mut player = Player::new(&game);
    player.mouse(hall(&game), UP, UP);
    player.act(2);
    let train = |kind, count| Command::Train {
        building: BuildingId(u16::from(kind != UnitKind::Worker)),
        kind,
        count,
    };
    assert_eq!(player.digit(2), train(UnitKind::Spear, 1));
    assert_eq!(player.act(3), train(UnitKind::Spear, 2));
    assert_eq!(player.digit(1), train(UnitKind::Worker, 1));
    // Digits choose squads again.
    player.act(2);
    assert_eq!(player.digit(3), Command::None);
    assert_eq!(player.grip.squad, Some(2));
    obey(&mut game, train(UnitKind::Spear, 2));
    assert_eq!(game.buildings()[1].queue, 2);
}

#[test]
fn what_cannot_be_built_is_said() {
    let config = SkirmishConfig {
        gold: 160,
        ..SkirmishConfig::default()
    };
    let game = Skirmish::new(&config).unwrap();
    let mut player = Player::new(&game);
    let words = |player: &Player<'_>| player.grip.note.as_ref().map(|note| note.words.clone());
    let home = hall(&game);
    player.act(2);
    player.mouse(home, UP, UP);
    assert_eq!(player.digit(5), Command::None);
    assert_eq!(words(&player).unwrap(), "Too near to another building.");
    assert_eq!(player.digit(6), Command::None);
    assert_eq!(words(&player).unwrap(), "A hall costs 400 gold.");
    player.mouse(home + vec2(40.0, 0.0), UP, UP);
    assert_eq!(player.digit(5), Command::None);
    assert!(words(&player).unwrap().starts_with("Build within 24"));
    let free = (0..16).map(|turn| home + Vec2::angled(turn as f32 / 2.5) * 20.0);
    let builds = free.filter(|place| {
        player.grip.is_making = true;
        player.mouse(*place, UP, UP);
        let command = player.digit(5);
        let mut after = game.clone();
        obey(&mut after, command);
        let is_begun = after.buildings().len() > game.buildings().len();
        // What the hands do is what the rules allow.
        assert_eq!(is_begun, command != Command::None);
        is_begun
    });
    assert!(builds.count() > 3);
}

#[test]
fn hands_without_a_mouse_act_in_the_middle_of_the_screen() {
    let game = game();
    let mut player = Player::new(&game);
    let seen = game
        .frame(Some(ME), &player.grip, vec2(640.0, 360.0))
        .centre;
    let sent = player.act(1);
    let (x, y) = (seen.x.round() as u16, seen.y.round() as u16);
    assert!(
        matches!(sent, Command::Order { x: to_x, y: to_y, .. } if (to_x, to_y) == (x, y)),
        "{sent:?}"
    );
}

/// What hands do who want to win against somebody who does nothing, at the moment `tick`.
fn conquer(player: &mut Player<'_>, tick: u64) -> Command {
    let game = player.game;
    let goal = game.buildings().iter();
    let mut goal = goal.filter(|building| building.side == Some(SideId(1)));
    let map = map_of(game);
    match (tick % 120, goal.next()) {
        (0, _) if tick < 9000 => {
            player.grip.is_making = true;
            player.digit(2)
        }
        (20, _) if tick < 2000 => {
            player.grip.is_making = true;
            player.digit(1)
        }
        (40, Some(_)) if tick > 4000 => {
            player.grip.is_making = false;
            // As large a circle as there is, around the home.
            let home = spot(game.sides()[0].home);
            let from = map.clamp(home - vec2(40.0, 40.0));
            player.drag(from, home + vec2(40.0, 40.0))
        }
        (60, Some(building)) if tick > 4000 => player.order(spot(building.place)),
        _ => player.hands(Hands::default()),
    }
}

#[test]
fn a_whole_game_can_be_won_by_hand() {
    use samestep_sync::{Events, Inputs, Simulation};
    let (mut game, mut grip) = (game(), Grip::default());
    let players = [ME, PlayerId(1)];
    for tick in 0..30_000 {
        let mut player = Player { game: &game, grip };
        let commands = [conquer(&mut player, tick), Command::None];
        grip = player.grip;
        let inputs = Inputs::new(Tick(tick), &players, &commands, &[0]);
        game.step(&inputs, &mut Events::new());
        if game.winner().is_some() {
            break;
        }
    }
    assert_eq!(game.winner(), Some(ME));
    let screen = vec2(640.0, 360.0);
    paint(&game, &game, Some(PlayerId(1)), &grip, &[], screen);
    assert_eq!(game.caption(Some(PlayerId(1))), "Player 1 has won");
}

#[test]
fn frames_stay_on_the_map_at_any_size() {
    let game = game();
    for screen in SCREENS {
        for viewer in [None, Some(ME), Some(PlayerId(9))] {
            let frame = game.frame(viewer, &Grip::default(), screen);
            assert!(map_of(&game).contains(frame.centre), "{frame:?}");
            assert!(frame.size.min_elem() >= 1.0, "{frame:?}");
        }
    }
}

#[test]
fn a_battle_is_drawn_at_any_time_and_size() {
    let game = Skirmish::new(&SkirmishConfig::battle(2, 3, 240)).unwrap();
    let begin = game.clone();
    let mut lately: Vec<(u64, Occurrence<SkirmishEvent>)> = Vec::new();
    let mut now = 0;
    play(game, 20 * 60, |game, told| {
        now += 1;
        lately.extend(told.iter().map(|told| (now, told.clone())));
        lately.retain(|(then, _)| (now - then) as f32 / 60.0 <= FADES);
        if now % 120 != 0 {
            return;
        }
        let happened = lately.iter().rev().map(|(then, told)| Happened {
            ago: (now - then) as f32 / 60.0,
            stage: told.stage,
            was_predicted: false,
            event: &told.event,
        });
        let happened: Vec<_> = happened.collect();
        for (at, size) in SCREENS.into_iter().enumerate() {
            let viewer = [
                Some(ME),
                Some(PlayerId(2)),
                None,
                Some(PlayerId(9)),
                Some(ME),
            ][at];
            paint(game, &begin, viewer, &Grip::default(), &happened, size);
        }
    });
}

#[test]
fn four_thousand_units_on_four_screens_take_few_triangles() {
    let game = Skirmish::new(&SkirmishConfig::battle(1, 4, 4000)).unwrap();
    let begin = game.clone();
    let mut battle = None;
    play(game, 15 * 60, |game, _| battle = Some(game.clone()));
    let battle = battle.unwrap();
    assert!(battle.units().len() > 3800);
    // Wherever one looks from; and everything at once.
    let mut all = 0;
    for player in (0..4).map(PlayerId) {
        let grip = Grip::default();
        all += paint(
            &battle,
            &battle,
            Some(player),
            &grip,
            &[],
            vec2(470.0, 300.0),
        );
    }
    assert!(all < 40_000, "{all} triangles");
    let whole = paint(
        &battle,
        &battle,
        None,
        &Grip::default(),
        &[],
        vec2(1900.0, 1000.0),
    );
    assert!(whole < 40_000, "{whole} triangles");
    // A ghost of everybody, all of them elsewhere.
    let ghosts = paint(
        &battle,
        &begin,
        None,
        &Grip::default(),
        &[],
        vec2(500.0, 500.0),
    );
    assert!(ghosts < 60_000, "{ghosts} triangles");
}

#[test]
fn units_get_simpler_as_they_get_smaller_or_more() {
    assert_eq!(Detail::of(3.0, 10), Detail::Dots);
    assert_eq!(Detail::of(5.0, 10), Detail::Shapes);
    assert_eq!(Detail::of(12.0, 500), Detail::Figures);
    assert_eq!(Detail::of(12.0, 16_000), Detail::Shapes);
}

#[test]
fn a_ghost_is_drawn_only_where_it_differs() {
    let game = game();
    let mut other = game.clone();
    let count = |truth| {
        paint(
            &game,
            truth,
            Some(ME),
            &Grip::default(),
            &[],
            vec2(640.0, 360.0),
        )
    };
    let same = count(&game);
    let id = *game.units().ids().first().unwrap();
    other.unit_mut(id).unwrap().place.x += 3 * samestep_skirmish::ONE;
    assert!((1..=12).contains(&(count(&other) - same)));
}

#[test]
fn differing_parts_of_the_state_can_be_pointed_at() {
    let game = game();
    let row = |row: u32| EntityId::from_number(row + 1);
    for kind in Skirmish::schema().kinds() {
        let kind = &*kind.name;
        let entity = match kind {
            "units" => game.units().ids().first().copied(),
            _ => row(0),
        };
        let place = game.place_of(kind, entity);
        assert_eq!(place.is_none(), kind == "globals", "{kind}");
        assert!(place.is_none_or(|place| map_of(&game).contains(place)));
        assert_eq!(game.place_of(kind, row(1_000_000)), None, "{kind}");
    }
    assert_eq!(
        game.place_of("mines", row(1)),
        Some(spot(game.mines()[1].place))
    );
}

#[test]
fn the_caption_says_how_a_player_stands() {
    let game = game();
    let caption = game.caption(Some(PlayerId(1)));
    assert!(
        caption.starts_with("200 gold · 12 units · 0 killed"),
        "{caption}"
    );
    assert_eq!(game.caption(None), "24 units");
}
