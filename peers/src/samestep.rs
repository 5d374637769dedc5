use crate::{
    control::Control,
    library::Mode,
    load::{Load, Service},
};
use std::{error::Error, net::SocketAddr, sync::Arc};
pub fn serve(
    _: &Arc<Control>,
    _: Mode,
    _: usize,
    _: bool,
    _: Service,
) -> Result<(), Box<dyn Error>> {
    Err("not yet".into())
}
pub fn connect(
    _: &Arc<Control>,
    _: Mode,
    _: SocketAddr,
    _: bool,
    _: Load,
) -> Result<(), Box<dyn Error>> {
    Err("not yet".into())
}
