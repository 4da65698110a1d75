//! pouch.
fn main() {}
