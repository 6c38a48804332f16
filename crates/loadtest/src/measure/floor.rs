//! The floor of a request is its cryptography plus bare HTTP; limits are stated against it.

use symbolon_crypto::Algorithm;

use super::hello::Method;
use crate::scenario::Scenario;

/// What a durable group commit may cost beyond the floor, in µs.
const DURABLE_COMMIT: f64 = 8.0;

/// What a whole login of five requests may cost beyond three times its signatures, in µs.
const LOGIN_BESIDES: f64 = 100.0;

/// What the machine needs at one moment, or over a slice, in µs of CPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Floor {
    /// Of the hello server, with the [method](method_of) of the scenario.
    pub(super) hello: f64,
    pub(super) sign: f64,
}

impl Floor {
    /// The floor of a slice, of those of its parts; nothing of none.
    pub(super) fn mean(floors: &[Self]) -> Self {
        let of =
            |figure: fn(&Self) -> f64| floors.iter().map(figure).sum::<f64>() / floors.len().max(1) as f64;
        Self { hello: of(|floor| floor.hello), sign: of(|floor| floor.sign) }
    }
}

/// A limit in words and in µs of CPU per request.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Limit {
    pub(super) formula: String,
    pub(super) us: f64,
}

/// What a scenario is compared with: bare HTTP with a body, or without one.
pub(super) const fn method_of(scenario: Scenario) -> Method {
    match scenario {
        Scenario::Discovery | Scenario::Silent | Scenario::Userinfo | Scenario::Login => Method::Get,
        Scenario::Introspect
        | Scenario::Exchange
        | Scenario::ClientCredentials
        | Scenario::Refresh
        | Scenario::Code
        | Scenario::LoginEmailCode
        | Scenario::LoginPasskey => Method::Post,
    }
}

/// The limit of a scenario, given how many signatures each answer carried; none where none is stated.
pub(super) fn limit(
    scenario: Scenario,
    algorithm: Algorithm,
    signatures: f64,
    floor: &Floor,
) -> Option<Limit> {
    let rsa = matches!(algorithm, Algorithm::Rs256 | Algorithm::Ps256);
    let hello = match method_of(scenario) {
        Method::Get => "hello GET",
        Method::Post => "hello POST",
    };
    let limit = match scenario {
        Scenario::Discovery | Scenario::Login => return None,
        Scenario::LoginEmailCode | Scenario::LoginPasskey => Limit {
            formula: format!("3 x ({signatures:.0} sign) + {LOGIN_BESIDES:.0}"),
            us: 3.0 * signatures * floor.sign + LOGIN_BESIDES,
        },
        Scenario::Silent | Scenario::Userinfo | Scenario::Introspect => {
            Limit { formula: format!("2.0 x {hello}"), us: 2.0 * floor.hello }
        }
        Scenario::Exchange | Scenario::ClientCredentials | Scenario::Refresh | Scenario::Code => {
            let signing = signatures * floor.sign;
            let signed = format!("{signatures:.0} sign");
            match (rsa, matches!(scenario, Scenario::Refresh | Scenario::Code)) {
                (true, _) => Limit {
                    formula: format!("1.15 x ({signed} + {hello})"),
                    us: 1.15 * (signing + floor.hello),
                },
                (false, true) => Limit {
                    formula: format!("{signed} + 2.0 x {hello} + 8"),
                    us: signing + 2.0 * floor.hello + DURABLE_COMMIT,
                },
                (false, false) => {
                    Limit { formula: format!("{signed} + 2.0 x {hello}"), us: signing + 2.0 * floor.hello }
                }
            }
        }
    };
    Some(limit)
}

/// The middle value; the mean of the two middle ones where their number is even, 0 of none.
pub(super) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = values.get(middle).copied();
    let lower = if values.len().is_multiple_of(2) { middle.checked_sub(1) } else { Some(middle) };
    let lower = lower.and_then(|at| values.get(at).copied());
    match (lower, upper) {
        (Some(lower), Some(upper)) => f64::midpoint(lower, upper),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOOR: Floor = Floor { hello: 9.0, sign: 200.0 };

    fn us(scenario: Scenario, algorithm: Algorithm, signatures: f64) -> f64 {
        limit(scenario, algorithm, signatures, &FLOOR).unwrap().us
    }

    #[test]
    fn limits() {
        assert_eq!(us(Scenario::Silent, Algorithm::Rs256, 0.0), 18.0);
        assert_eq!(us(Scenario::Introspect, Algorithm::EdDsa, 0.0), 18.0);
        assert!((us(Scenario::Exchange, Algorithm::Rs256, 1.0) - 1.15 * 209.0).abs() < 1e-9);
        assert!((us(Scenario::Code, Algorithm::Ps256, 2.0) - 1.15 * 409.0).abs() < 1e-9);
        assert_eq!(us(Scenario::ClientCredentials, Algorithm::Es256, 1.0), 218.0);
        assert_eq!(us(Scenario::Refresh, Algorithm::EdDsa, 2.0), 426.0);
        let formula = |scenario| limit(scenario, Algorithm::EdDsa, 2.0, &FLOOR).map(|limit| limit.formula);
        assert_eq!(formula(Scenario::Userinfo).as_deref(), Some("2.0 x hello GET"));
        assert_eq!(formula(Scenario::Introspect).as_deref(), Some("2.0 x hello POST"));
        assert_eq!(formula(Scenario::Code).as_deref(), Some("2 sign + 2.0 x hello POST + 8"));
        assert_eq!(limit(Scenario::Discovery, Algorithm::Rs256, 0.0, &FLOOR), None);
    }

    #[test]
    fn the_floor_of_a_slice_is_the_mean_of_its_parts() {
        let slow = Floor { hello: 18.0, sign: 400.0 };
        let mean = Floor::mean(&[FLOOR, slow]);
        assert_eq!((mean.hello, mean.sign), (13.5, 300.0));
    }

    #[test]
    fn medians() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median([7.0]), 7.0);
        assert_eq!(median([]), 0.0);
    }
}
