//! The endpoints that clients call without a person: each in a file named by its RFC's word. [`ENDPOINTS`] are their
//! rows in the endpoint table.

mod backchannel_authentication;
mod claim_definition;
mod client;
mod device_authorization;
mod discovery;
mod dpop;
mod endpoints;
mod introspect;
mod par;
mod registration;
mod revoke;
mod signed_answer;
mod token;
mod userinfo;

pub use endpoints::ENDPOINTS;

#[cfg(test)]
mod tests {
    use symbolon_app::http::Call;

    use super::{introspect, token, userinfo};

    fn size<'a, F>(_handler: impl Fn(&'a mut Call) -> F) -> usize {
        size_of::<F>()
    }

    /// Each is allocated for one request: what is larger than a kilobyte leaves the allocator's fast path.
    #[test]
    fn the_futures_of_the_loaded_endpoints_are_small() {
        let sizes =
            [size(token::token), size(userinfo::userinfo), size(introspect::introspect), size_of::<Call>()];
        assert!(sizes.iter().all(|size| *size <= 1_024), "{sizes:?}");
    }
}
