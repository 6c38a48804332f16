//! What the gate and the runs say, as JUnit's XML, which CI systems show as tests.

use std::fmt::Write as _;

use super::{Gate, Verdict};
use crate::report;
use crate::results::Results;

/// One test case for each run, which fails where the run did, and one for each figure that was compared.
pub fn junit(results: &Results, gate: Option<&Gate>) -> String {
    let runs = results.runs.iter().filter(|run| !run.probe);
    let mut cases: Vec<(String, String, Option<String>)> = Vec::new();
    for run in runs {
        let failed = (!run.passed()).then(|| report::reasons(run).join(" "));
        cases.push(("runs".to_owned(), run.name.clone(), failed));
    }
    for finding in gate.iter().flat_map(|gate| &gate.findings) {
        let failed = (finding.verdict != Verdict::Held).then(|| finding.told());
        cases.push(("compared".to_owned(), format!("{}: {}", finding.run, finding.figure), failed));
    }
    for name in gate.iter().flat_map(|gate| &gate.unknown) {
        let failed = "there is no earlier run of this name".to_owned();
        cases.push(("compared".to_owned(), name.clone(), Some(failed)));
    }
    if let Some(partial) = &results.partial {
        cases.push(("runs".to_owned(), "everything was run".to_owned(), Some(partial.clone())));
    }
    let failures = cases.iter().filter(|(_, _, failed)| failed.is_some()).count();
    let mut page = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{failures}\" \
         timestamp=\"{}\">\n",
        report::escaped(&results.title),
        cases.len(),
        report::escaped(results.started.trim_end_matches('Z')),
    );
    for (class, name, failed) in &cases {
        let _ = write!(page, "<testcase classname=\"{class}\" name=\"{}\"", report::escaped(name));
        let _ = match failed {
            None => writeln!(page, "/>"),
            Some(why) => writeln!(page, "><failure message=\"{}\"/></testcase>", report::escaped(why)),
        };
    }
    page.push_str("</testsuite>\n</testsuites>\n");
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn every_run_is_a_case_and_every_reason_is_told() {
        let mut results = sample::full();
        results.title = "a <suite>".into();
        let page = junit(&results, None);
        assert!(page.contains("<testsuite name=\"a &lt;suite&gt;\" tests=\"23\" failures=\"3\""), "{page}");
        assert!(page.contains("message=\"Run exchange 3000/s, 8 shards: 7 wrong answers"), "{page}");
        assert_eq!(page.matches("<testcase").count(), 23);
    }
}
