//! Tests of `rekey`.
