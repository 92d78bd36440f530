//! Registered clients of NewtonPIR.

use std::marker::PhantomData;

use papir_core::scheme::{RegisteredSides, SchemeRegistration};

use super::client::NewtonState;
use super::params::{Newton, Variant};
use super::wire::{NewtonKeys, NewtonTicket};

/// The registration of a variant; its clients register if each has an n of its own.
pub struct NewtonRegistration<V>(PhantomData<fn() -> V>);

impl<V: Variant> SchemeRegistration<Newton<V>> for NewtonRegistration<V> {
    const SIDES: Option<RegisteredSides<Newton<V>>> = if V::REGISTERED {
        Some(RegisteredSides::<Newton<V>>::OF_TYPES)
    } else {
        None
    };
    const KEYS_FIT: bool = true;

    type Keys = NewtonKeys;
    type State = NewtonState;
    type Ticket = NewtonTicket;
}
