//! A strict parser of the exposition format, and what it says about our pages.

use std::collections::{BTreeMap, HashMap, HashSet};

use symbolon_figures::HistogramSet;

use super::*;

/// A parsed page: samples by name and labels (as written), and the type of each family.
#[derive(Debug, Default)]
pub(crate) struct Page {
    samples: HashMap<(String, BTreeMap<String, String>), f64>,
    types: HashMap<String, String>,
}

impl Page {
    pub(crate) fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let labels = labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        self.samples.get(&(name.to_owned(), labels)).copied()
    }

    pub(crate) fn families(&self) -> usize {
        self.types.len()
    }

    pub(crate) fn type_of(&self, family: &str) -> Option<&str> {
        self.types.get(family).map(String::as_str)
    }
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_' || b == b':')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b':')
}

/// Parses `{a="b",c="d"}` and gives what follows.
fn parse_labels(text: &str) -> (BTreeMap<String, String>, &str) {
    let mut labels = BTreeMap::new();
    let mut rest = text;
    loop {
        let (name, tail) = rest.split_once("=\"").expect("label name");
        assert!(is_name(name) && !name.contains(':'), "label name {name:?}");
        let mut value = String::new();
        let mut chars = tail.char_indices();
        let end = loop {
            match chars.next().expect("closed label value") {
                (end, '"') => break end,
                (_, '\\') => match chars.next().expect("escape").1 {
                    'n' => value.push('\n'),
                    c @ ('\\' | '"') => value.push(c),
                    other => panic!("escape {other:?}"),
                },
                (_, other) => value.push(other),
            }
        };
        assert!(labels.insert(name.to_owned(), value).is_none(), "label {name} twice");
        rest = &tail[end + 1..];
        match rest.split_at(1) {
            (",", tail) => rest = tail,
            ("}", tail) => return (labels, tail),
            (other, _) => panic!("after a label: {other:?}"),
        }
    }
}

fn family_of<'a>(sample: &'a str, kind: &str) -> Option<&'a str> {
    match kind {
        "histogram" => ["_bucket", "_sum", "_count"].iter().find_map(|suffix| sample.strip_suffix(suffix)),
        _ => Some(sample),
    }
}

/// Parses a page and fails on anything that the format does not allow.
pub(crate) fn parse(text: &str) -> Page {
    assert!(text.is_empty() || text.ends_with('\n'), "the last line must end");
    let mut page = Page::default();
    let mut helped = HashSet::new();
    let mut current = (String::new(), String::new());
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, help) = help.split_once(' ').expect("help text");
            assert!(!help.is_empty() && helped.insert(name.to_owned()), "HELP of {name} once, with a text");
            continue;
        }
        if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').expect("type");
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{kind}");
            assert!(is_name(name) && helped.contains(name));
            assert!(page.types.insert(name.to_owned(), kind.to_owned()).is_none(), "{name} started twice");
            current = (name.to_owned(), kind.to_owned());
            continue;
        }
        let name_end = line.find(['{', ' ']).expect("a value");
        let (name, rest) = line.split_at(name_end);
        assert!(is_name(name), "{line}");
        assert_eq!(family_of(name, &current.1), Some(current.0.as_str()), "{line} is outside its family");
        let (labels, rest) = match rest.strip_prefix('{') {
            Some(labels) => parse_labels(labels),
            None => (BTreeMap::new(), rest),
        };
        let value: f64 = rest.strip_prefix(' ').expect("a space").parse().expect("a number");
        assert!(value >= 0.0, "{line}");
        assert!(page.samples.insert((name.to_owned(), labels), value).is_none(), "{line} twice");
    }
    check_histograms(&page);
    page
}

/// Buckets are cumulative, and the last one is the count.
fn check_histograms(page: &Page) {
    type Series<'a> = HashMap<(&'a str, Vec<(&'a str, &'a str)>), Vec<(f64, f64)>>;
    let mut series: Series<'_> = HashMap::new();
    for ((name, labels), value) in &page.samples {
        if let Some(family) = name.strip_suffix("_bucket") {
            let le = labels.get("le").expect("a bucket has a bound").replace("+Inf", "inf");
            let others = labels.iter().filter(|(k, _)| *k != "le").map(|(k, v)| (k.as_str(), v.as_str()));
            series.entry((family, others.collect())).or_default().push((le.parse().unwrap(), *value));
        }
    }
    for ((family, labels), mut buckets) in series {
        buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert!(buckets.is_sorted_by(|a, b| a.1 <= b.1), "{family} {labels:?} is not cumulative");
        let last = buckets.last().unwrap();
        assert!(last.0.is_infinite());
        assert_eq!(page.value(&format!("{family}_count"), &labels), Some(last.1));
        assert!(page.value(&format!("{family}_sum"), &labels).is_some());
    }
}

#[test]
fn values_and_labels_survive_the_format() {
    let mut page = Exposition::new();
    page.family("a_total", MetricType::Counter, "Back\\slash,\nnew line and \"quotes\".");
    page.count(&[("path", "a\\b\"c\nd"), ("x", "{}=,")], u64::from(u32::MAX));
    page.family("b_seconds", MetricType::Gauge, "Seconds.");
    page.seconds(&[], 1_500_000_001);
    let text = page.finish();
    assert!(text.contains("# HELP a_total Back\\\\slash,\\nnew line and \"quotes\".\n"), "{text}");
    let page = parse(&text);
    assert_eq!(page.value("a_total", &[("path", "a\\b\"c\nd"), ("x", "{}=,")]), Some(4_294_967_295.0));
    assert_eq!(page.value("b_seconds", &[]), Some(1.500_000_001));
}

#[test]
fn histograms_are_cumulative_seconds() {
    static BOUNDS: [u64; 3] = [5_000, 10_000_000, 10_000_000_000];
    let set = HistogramSet::new(&BOUNDS, 1);
    for value in [1, 5_000, 6_000, 11_000_000_000] {
        set.record(0, value);
    }
    let mut page = Exposition::new();
    page.family("h_seconds", MetricType::Histogram, "A histogram.");
    page.histogram(&[("kind", "code")], &set.snapshot(0));
    let page = parse(&page.finish());
    let bucket = |le| page.value("h_seconds_bucket", &[("kind", "code"), ("le", le)]);
    assert_eq!(
        [bucket("0.000005"), bucket("0.01"), bucket("10"), bucket("+Inf")],
        [Some(2.0), Some(3.0), Some(3.0), Some(4.0)]
    );
    assert_eq!(page.value("h_seconds_sum", &[("kind", "code")]), Some(11.000_011_001));
    assert_eq!(page.value("h_seconds_count", &[("kind", "code")]), Some(4.0));
}

#[test]
fn seconds_are_exact() {
    for (nanoseconds, text) in
        [(0, "0"), (1, "0.000000001"), (500_000, "0.0005"), (2_000_000_000, "2"), (1_234_000_000, "1.234")]
    {
        let mut written = String::new();
        write_seconds(&mut written, nanoseconds);
        assert_eq!(written, text);
    }
}

#[test]
#[should_panic(expected = "outside its family")]
fn the_parser_refuses_samples_outside_their_family() {
    parse("# HELP a b\n# TYPE a counter\nb 1\n");
}

#[test]
#[should_panic(expected = "is not cumulative")]
fn the_parser_refuses_buckets_that_fall() {
    let head = "# HELP a b\n# TYPE a histogram\n";
    parse(&format!("{head}a_bucket{{le=\"1\"}} 2\na_bucket{{le=\"+Inf\"}} 1\na_sum 1\na_count 1\n"));
}
