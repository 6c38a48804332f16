//! Applications are told of logouts: Back-Channel Logout, Front-Channel Logout, Session Management.

mod application;
mod back_channel;
mod by_time;
mod delivery;
mod front_channel;
mod session_management;
