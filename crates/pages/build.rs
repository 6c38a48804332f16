//! Turns the Fluent files in `texts/` into static tables, so that a page looks nothing up when it is made.

#[path = "build/catalogue.rs"]
mod catalogue;
#[path = "build/tables.rs"]
mod tables;

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

use catalogue::{Catalogue, Mistake};

/// The languages of the files, English first: it says which texts there are and of which kind.
const LANGUAGES: [&str; 6] = ["en", "de", "es", "fr", "ja", "ar"];

fn main() -> ExitCode {
    println!("cargo:rerun-if-changed=texts");
    println!("cargo:rerun-if-changed=build");
    match write_tables() {
        Ok(mistakes) if mistakes.is_empty() => ExitCode::SUCCESS,
        Ok(mistakes) => {
            for mistake in mistakes {
                println!("cargo:warning={mistake}");
                eprintln!("{mistake}");
            }
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("the texts could not be read or written: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Writes `texts.rs` into the build's directory, unless a file has a mistake.
fn write_tables() -> std::io::Result<Vec<Mistake>> {
    let mut mistakes = Vec::new();
    let mut catalogues = Vec::new();
    for language in LANGUAGES {
        let file = format!("texts/{language}.ftl");
        let source = fs::read_to_string(&file)?;
        let (catalogue, found) = Catalogue::read(language, &format!("crates/pages/{file}"), &source);
        mistakes.extend(found);
        catalogues.push(catalogue);
    }
    if let Some((english, others)) = catalogues.split_first() {
        mistakes.extend(others.iter().flat_map(|other| other.differences(english)));
    }
    let directory = env::var_os("OUT_DIR").unwrap_or_default();
    fs::write(Path::new(&directory).join("texts.rs"), tables::rust(&catalogues))?;
    Ok(mistakes)
}
