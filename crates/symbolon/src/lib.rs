//! The command line and the process of the `symbolon` binary.

mod cli;
mod command;
mod process;

use std::process::ExitCode;

/// Fuzz targets for what the commands read.
#[cfg(any(test, feature = "fuzz"))]
pub mod fuzz {
    pub use crate::command::import_file;
}

/// Runs the command that the arguments of this process name. The code is 0 where it did what it was asked for, 2 for a mistake of
/// the caller, and 1 for any other error, which is told on standard error.
pub fn run() -> ExitCode {
    let matches = cli::command().get_matches();
    match command::run(&matches) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            command::complain(&error);
            error.exit_code()
        }
    }
}
