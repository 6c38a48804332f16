//! The `symbolon` binary: command line and process.

mod cli;
mod command;
mod process;

use std::process::ExitCode;

fn main() -> ExitCode {
    let matches = cli::command().get_matches();
    match command::run(&matches) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            command::complain(&error);
            error.exit_code()
        }
    }
}
