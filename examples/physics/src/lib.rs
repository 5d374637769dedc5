//! The rules: everyone has a ball in a yard full of crates, and kicks it about.

use rapier2d::prelude::*;
use samestep::prelude::*;
use samestep_sync::Serde;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Half the width of the yard, in metres.
pub const REACH: f32 = 12.0;

/// What a player does in one tick: push to the left or right, and jump.
#[derive(Clone, Default, PartialEq, Debug, Wire)]
pub struct Push {
    /// -1, 0 or 1.
    pub to: i8,
    /// Off the ground, or in the air.
    pub jump: bool,
}

impl Input for Push {
    fn predict(&self) -> Self {
        Push {
            jump: false,
            ..self.clone()
        }
    }

    fn merge(&mut self, late: &Self) -> bool {
        self.jump |= late.jump;
        true
    }
}

/// Everything of Rapier that goes on from tick to tick. What a step needs besides is made in each step.
#[derive(Clone, Serialize, Deserialize)]
pub struct Physics {
    /// Balls, crates and walls.
    pub bodies: RigidBodySet,
    colliders: ColliderSet,
    islands: IslandManager,
    broad_phase: BroadPhaseBvh,
    narrow_phase: NarrowPhase,
    impulse_joints: ImpulseJointSet,
    multibody_joints: MultibodyJointSet,
    soft_bodies: SoftBodySet,
}

impl Physics {
    fn new() -> Physics {
        let mut physics = Physics {
            bodies: RigidBodySet::new(),
            colliders: ColliderSet::new(),
            islands: IslandManager::new(),
            broad_phase: BroadPhaseBvh::default(),
            narrow_phase: NarrowPhase::new(),
            impulse_joints: ImpulseJointSet::new(),
            multibody_joints: MultibodyJointSet::new(),
            soft_bodies: SoftBodySet::new(),
        };
        for (x, y, width, height) in [
            (0.0, -0.5, REACH, 0.5),
            (-REACH - 0.5, 8.0, 0.5, 9.0),
            (REACH + 0.5, 8.0, 0.5, 9.0),
        ] {
            let wall = RigidBodyBuilder::fixed().translation(Vector::new(x, y));
            physics.add(wall, ColliderBuilder::cuboid(width, height));
        }
        for number in 0..12u8 {
            let (column, row) = (number % 4, number / 4);
            let at = Vector::new(f32::from(column) * 1.1 - 1.6, f32::from(row) + 0.5);
            let crates = RigidBodyBuilder::dynamic().translation(at);
            physics.add(crates, ColliderBuilder::cuboid(0.5, 0.5));
        }
        physics
    }

    fn add(&mut self, body: RigidBodyBuilder, collider: ColliderBuilder) -> RigidBodyHandle {
        let body = self.bodies.insert(body);
        self.colliders
            .insert_with_parent(collider, body, &mut self.bodies);
        body
    }

    fn step(&mut self) {
        let parameters = IntegrationParameters {
            dt: 1.0 / 60.0,
            ..IntegrationParameters::default()
        };
        PhysicsPipeline::new().step(
            Vector::new(0.0, -9.81),
            &parameters,
            &mut self.islands,
            &mut self.broad_phase,
            &mut self.narrow_phase,
            &mut self.bodies,
            &mut self.colliders,
            &mut self.impulse_joints,
            &mut self.multibody_joints,
            &mut self.soft_bodies,
            &mut CCDSolver::new(),
            &(),
            &(),
        );
    }
}

/// A body of Rapier in a record: the two numbers of its handle.
struct Handle;

impl FieldWith<RigidBodyHandle> for Handle {
    type Record = (u32, u32);

    fn to_record(value: &RigidBodyHandle) -> (u32, u32) {
        value.into_raw_parts()
    }

    fn from_record((index, generation): (u32, u32)) -> Option<RigidBodyHandle> {
        Some(RigidBodyHandle::from_raw_parts(index, generation))
    }
}

/// A player's ball.
#[derive(Clone, Record)]
pub struct Ball {
    /// The ball in the physics.
    #[field(with = Handle)]
    pub body: RigidBodyHandle,
    /// How often it was kicked off.
    pub jumps: u32,
}

/// The whole state.
#[derive(Clone, Replicate)]
pub struct Yard {
    /// Rapier's world, as a whole.
    pub physics: Opaque<Physics, Serde>,
    /// The ball of each player who ever came.
    pub balls: BTreeMap<PlayerId, Ball>,
}

impl Default for Yard {
    fn default() -> Yard {
        Yard {
            physics: Opaque::new(Physics::new()),
            balls: BTreeMap::new(),
        }
    }
}

impl Yard {
    /// Where a body is.
    pub fn place(&self, body: RigidBodyHandle) -> Option<(f32, f32)> {
        let at = self.physics.bodies.get(body)?.translation();
        Some((at.x, at.y))
    }
}

impl Simulation for Yard {
    type Input = Push;
    type Event = PlayerId;
    const NAME: &'static str = "yard";

    fn step(&mut self, inputs: &Inputs<'_, Push>, events: &mut Events<PlayerId>) {
        let physics = &mut *self.physics;
        for (player, push) in inputs.iter() {
            let ball = self.balls.entry(player).or_insert_with(|| {
                let at = Vector::new(f32::from(player.0 % 8) * 2.0 - 8.0, 6.0);
                let body = RigidBodyBuilder::dynamic().translation(at);
                let ball = ColliderBuilder::ball(0.6).restitution(0.7);
                Ball {
                    body: physics.add(body, ball),
                    jumps: 0,
                }
            });
            let Some(body) = physics.bodies.get_mut(ball.body) else {
                continue;
            };
            if push.to != 0 {
                body.apply_impulse(Vector::new(f32::from(push.to.signum()) * 0.2, 0.0), true);
            }
            if push.jump {
                body.apply_impulse(Vector::new(0.0, 6.0), true);
                ball.jumps += 1;
                events.emit(player);
            }
        }
        physics.step();
    }
}
