//! Skirmish played by hand.

use eframe::egui::{Pos2, Rect, Vec2, pos2, vec2};
use samestep_catalog::skirmish::{
    BuildingId, Command, Order, SideId, Skirmish, SkirmishConfig, UnitKind,
};
use samestep_sync::{Events, Inputs, PlayerId, Simulation, Tick};

use super::super::view_state::ViewState;
use super::super::{map_of, spot};
use super::{ME, game, paint};
use crate::drawn::{Button, Drawn, HumanInput, Pointer};

/// Lets one command be carried out.
fn obey(game: &mut Skirmish, command: Command) {
    let players: Vec<_> = game.sides().iter().map(|side| side.player).collect();
    let mut commands = vec![Command::None; players.len()];
    commands[0] = command;
    game.step(
        &Inputs::new(Tick(0), &players, &commands, &[0]),
        &mut Events::new(),
    );
}

/// A screen that a person plays on.
struct Player<'a> {
    game: &'a Skirmish,
    view_state: ViewState,
}

impl Player<'_> {
    fn new(game: &Skirmish) -> Player<'_> {
        Player {
            game,
            view_state: ViewState::default(),
        }
    }

    fn human_input(&mut self, mut human: HumanInput) -> Command {
        let screen = Rect::from_min_size(Pos2::ZERO, vec2(640.0, 360.0));
        let frame = self.game.frame(Some(ME), &self.view_state, screen.size());
        human.seen = Some(frame.seen(screen));
        self.game.human_input(ME, &mut self.view_state, &human)
    }

    fn mouse(&mut self, place: Pos2, primary: Button, secondary: Button) -> Command {
        self.human_input(HumanInput {
            pointer: Some(Pointer {
                place,
                primary,
                secondary,
                scroll: 0.0,
            }),
            ..HumanInput::default()
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
        self.human_input(HumanInput {
            digit: Some(digit),
            ..HumanInput::default()
        })
    }

    fn act(&mut self, which: usize) -> Command {
        let mut human = HumanInput::default();
        human.actions[which] = DOWN;
        self.human_input(human)
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
    assert_eq!((all, player.view_state.squad), (Command::None, Some(1)));
    let unit = game.units().as_slice().iter();
    let mut one = unit.filter(|unit| unit.side == SideId(0) && unit.kind == UnitKind::Spear);
    let one = spot(one.next_back().unwrap().place);
    let some = player.drag(one - vec2(1.0, 0.0), one + vec2(1.0, 0.0));
    let Command::Select { squad, kinds, .. } = some else {
        panic!("{some:?}");
    };
    assert_eq!(
        (squad, kinds, player.view_state.squad),
        (2, 0b1110, Some(2))
    );
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
    let mut worker = worker.filter(|unit| unit.side == SideId(0) && unit.kind == UnitKind::Worker);
    let place = spot(worker.next_back().unwrap().place);
    let mut player = Player::new(&game);
    player.mouse(place, DOWN, UP);
    player.mouse(place, RELEASED, UP);
    assert_eq!(player.view_state.squad, Some(0));
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
    assert_eq!(player.view_state.squad, Some(2));
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
    let words = |player: &Player<'_>| {
        player
            .view_state
            .note
            .as_ref()
            .map(|note| note.words.clone())
    };
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
        player.view_state.is_making = true;
        player.mouse(*place, UP, UP);
        let command = player.digit(5);
        let mut after = game.clone();
        obey(&mut after, command);
        let is_begun = after.buildings().len() > game.buildings().len();
        // The person does only what the rules allow.
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
        .frame(Some(ME), &player.view_state, vec2(640.0, 360.0))
        .centre;
    let sent = player.act(1);
    let (x, y) = (seen.x.round() as u16, seen.y.round() as u16);
    assert!(
        matches!(sent, Command::Order { x: to_x, y: to_y, .. } if (to_x, to_y) == (x, y)),
        "{sent:?}"
    );
}

/// The input at `tick` of a person who wants to win against a passive player.
fn conquer(player: &mut Player<'_>, tick: u64) -> Command {
    let game = player.game;
    let goal = game.buildings().iter();
    let mut goal = goal.filter(|building| building.side == Some(SideId(1)));
    let map = map_of(game);
    match (tick % 120, goal.next()) {
        (0, _) if tick < 9000 => {
            player.view_state.is_making = true;
            player.digit(2)
        }
        (20, _) if tick < 2000 => {
            player.view_state.is_making = true;
            player.digit(1)
        }
        (40, Some(_)) if tick > 4000 => {
            player.view_state.is_making = false;
            // As large a circle as there is, around the home.
            let home = spot(game.sides()[0].home);
            let from = map.clamp(home - vec2(40.0, 40.0));
            player.drag(from, home + vec2(40.0, 40.0))
        }
        (60, Some(building)) if tick > 4000 => player.order(spot(building.place)),
        _ => player.human_input(HumanInput::default()),
    }
}

#[test]
fn a_whole_game_can_be_won_by_hand() {
    let (mut game, mut view_state) = (game(), ViewState::default());
    let players = [ME, PlayerId(1)];
    for tick in 0..30_000 {
        let mut player = Player {
            game: &game,
            view_state,
        };
        let commands = [conquer(&mut player, tick), Command::None];
        view_state = player.view_state;
        let inputs = Inputs::new(Tick(tick), &players, &commands, &[0]);
        game.step(&inputs, &mut Events::new());
        if game.winner().is_some() {
            break;
        }
    }
    assert_eq!(game.winner(), Some(ME));
    let screen = vec2(640.0, 360.0);
    paint(&game, &game, Some(PlayerId(1)), &view_state, &[], screen);
    assert_eq!(game.caption(Some(PlayerId(1))), "Player 1 has won");
}
