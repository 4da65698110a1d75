#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pouch_fuzz::targets::run("consumers", data));
