//! What an attacker sends, tried wherever it could be taken.

mod algorithms;
mod called_addresses;
mod parameters;
mod redirect_uris;
mod replays;
