//! The vectors of `glam` as records: a cell for each component, under its name.

use crate::digest::Digest;
use crate::record::{Describe, InvalidCell, Record};

macro_rules! by_component {
    ($($type:ident: $number:ty, $make:ident($($component:ident $place:literal),*);)*) => {$(
        impl Record for glam::$type {
            const CELLS: usize = [$($place),*].len();

            fn describe(into: &mut Describe) {
                $(
                    into.enter(stringify!($component));
                    <$number>::describe(into);
                    into.leave();
                )*
            }

            #[inline]
            fn store(&self, cells: &mut [u64]) {
                $(self.$component.store(&mut cells[$place..=$place]);)*
            }

            #[inline]
            fn load(cells: &[u64]) -> Result<Self, InvalidCell> {
                Ok(glam::$type::$make($(
                    <$number>::load(&cells[$place..=$place]).map_err(|e| e.after($place))?,
                )*))
            }

            #[inline]
            fn digest(&self, digest: &mut Digest) {
                $(self.$component.digest(digest);)*
            }
        }
    )*};
}

by_component! {
    Vec2: f32, new(x 0, y 1);
    Vec3: f32, new(x 0, y 1, z 2);
    Vec3A: f32, new(x 0, y 1, z 2);
    Vec4: f32, new(x 0, y 1, z 2, w 3);
    Quat: f32, from_xyzw(x 0, y 1, z 2, w 3);
    DVec2: f64, new(x 0, y 1);
    DVec3: f64, new(x 0, y 1, z 2);
    DVec4: f64, new(x 0, y 1, z 2, w 3);
    DQuat: f64, from_xyzw(x 0, y 1, z 2, w 3);
    IVec2: i32, new(x 0, y 1);
    IVec3: i32, new(x 0, y 1, z 2);
    IVec4: i32, new(x 0, y 1, z 2, w 3);
    UVec2: u32, new(x 0, y 1);
    UVec3: u32, new(x 0, y 1, z 2);
    UVec4: u32, new(x 0, y 1, z 2, w 3);
}
