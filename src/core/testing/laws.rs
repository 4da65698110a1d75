//! Laws of the pure core, on made-up fleets.
