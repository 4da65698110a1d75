//! Region: what becomes of one region, from its claims and what is published of it.

pub mod brake;
pub mod carry;
pub mod change;
mod compare;
pub mod draft;
mod pack;
pub mod published;
pub mod rekey;
mod unsigned;
