//! What SOPS and age write, read by pouch: the codec against public vectors and the real programs, and
//! encrypted sources as a user has them.

mod attacks;
mod codec;
pub mod sources;
