#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| symbolon::fuzz::import_file(data));
