#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| symbolon_testkit::fuzz::dpop_proof(data));
