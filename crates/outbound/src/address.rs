//! Which addresses are public: reachable over the Internet, and nobody's own network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address belongs to the public Internet, by the registries of special-purpose addresses (RFC 6890, RFC 8190).
/// IPv6 addresses that stand for an IPv4 address are public if that one is.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let is_special = match address.octets() {
        // "This network", private use, loopback, link-local: RFC 791, RFC 1918, RFC 1122, RFC 3927.
        [0 | 10 | 127, ..] | [172, 16..=31, ..] | [192, 168, ..] | [169, 254, ..] => true,
        // Shared between a provider and its customers (RFC 6598).
        [100, 64..=127, ..] => true,
        // Protocol assignments and the relays of 6to4 (RFC 6890, RFC 7526).
        [192, 0, 0, _] | [192, 88, 99, _] => true,
        // Documentation and benchmarks (RFC 5737, RFC 2544).
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] | [198, 18..=19, ..] => true,
        // Multicast, reserved, broadcast (RFC 5771, RFC 1112, RFC 919).
        [224..=255, ..] => true,
        _ => false,
    };
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        // The addresses of NAT64 (RFC 6052 section 2.1), which DNS64 gives out for public names.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            let [[a, b], [c, d]] = [high, low].map(u16::to_be_bytes);
            is_public_v4(Ipv4Addr::new(a, b, c, d))
        }
        // Protocol assignments, Teredo among them (RFC 2928, RFC 4380): 2001::/23.
        [0x2001, 0..=0x1ff, ..] => false,
        // 6to4 (RFC 3056) leads to any IPv4 address.
        [0x2002, ..] => false,
        // Documentation (RFC 3849, RFC 9637).
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        // Everything else that is global unicast (RFC 4291 section 2.4) is 2000::/3 today.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_special_is_not_public() {
        for text in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:a9fe:a9fe",
            "64:ff9b::7f00:1",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::8.8.8.8",
            "100::1",
            "2001::1",
            "2001:1ff::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff:0fff::1",
            "5f00::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn the_rest_is_public() {
        for text in [
            "1.1.1.1",
            "8.8.8.8",
            "11.0.0.1",
            "100.63.255.255",
            "100.128.0.1",
            "126.255.255.255",
            "128.0.0.1",
            "172.15.255.255",
            "172.32.0.1",
            "192.0.1.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2001:200::1",
            "2001:4860:4860::8888",
            "2606:4700::1111",
            "3fff:1000::1",
        ] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }
}
