//! Suggests the nearest known name for an unknown one.

/// Longer names are not compared: they are not misspellings.
const LONGEST: usize = 80;

/// The nearest known name, if it is near enough to be what was meant.
pub(super) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > LONGEST {
        return None;
    }
    let last = name.rsplit('.').next().unwrap_or(name);
    let nearness = |candidate: &str| {
        let whole = strsim::normalized_damerau_levenshtein(name, candidate);
        // The right key in the wrong table.
        let end = candidate.rsplit('.').next().unwrap_or(candidate);
        let part =
            if last == end { 0.7 } else { 0.9 * strsim::normalized_damerau_levenshtein(last, candidate) };
        whole.max(part)
    };
    let scored = known.map(|candidate| (nearness(candidate), candidate));
    let best = scored.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (best.0 >= 0.6).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_find_what_was_meant() {
        let known = || ["listen", "management_listen", "log.level", "tls.key_file"].into_iter();
        for (slip, meant) in [
            ("lisen", "listen"),
            ("log.levle", "log.level"),
            ("server.listen", "listen"),
            ("key_file", "tls.key_file"),
        ] {
            assert_eq!(nearest(slip, known()), Some(meant), "{slip}");
        }
        assert_eq!(nearest("postgres", known()), None);
        assert_eq!(nearest(&"listen".repeat(40), known()), None);
    }
}
