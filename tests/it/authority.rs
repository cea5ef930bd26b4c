//! The law of narrowing: `effective = ceiling ∩ grant ∩ parent ∩ flags`, inside each of them, in whatever order.
//!
//! For capabilities it is shown on every case there is; for directories and hosts against plain models.

mod capabilities;
mod directories;
mod hosts;
mod profiles;
mod rights;
mod text;

use ringfence::authority::{Ceiling, Effective, Flags, Grant, Rights};

/// `effective` of plain rights.
fn effective(ceiling: &Rights, grant: &Rights, parent: &Rights, flags: &Rights) -> Rights {
    let (ceiling, grant, flags) = (Ceiling(ceiling.clone()), Grant(grant.clone()), Flags(flags.clone()));
    Effective::of(&ceiling, &grant, Some(&held(parent)), &flags).rights().clone()
}

/// An agent that holds exactly these rights.
fn held(rights: &Rights) -> Effective {
    Effective::of(&Ceiling(rights.clone()), &Grant(Rights::all()), None, &Flags(Rights::all()))
}

/// Every order of four things.
fn orders<T: Clone>(things: &[T; 4]) -> Vec<[T; 4]> {
    let mut orders = Vec::new();
    for a in 0..4 {
        for b in (0..4).filter(|b| *b != a) {
            for c in (0..4).filter(|c| ![a, b].contains(c)) {
                let d = 6 - a - b - c;
                orders.push([a, b, c, d].map(|index: usize| things[index].clone()));
            }
        }
    }
    assert_eq!(orders.len(), 24);
    orders
}
