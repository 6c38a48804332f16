//! Suites: loads one after the other, from a file or a preset.

mod load;
mod preset;

use std::path::Path;

use serde::{Deserialize, Serialize};
use symbolon_crypto::Algorithm;

pub(crate) use load::stages;
pub use load::{Load, ReshardForm, StageForm, Time, plateau};
pub use preset::{Length, preset, presets, shard_sweep};

use crate::LoadtestError;
use crate::run::Group;

/// Loads, in their order.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// What the report calls it.
    pub title: String,
    /// What the provider is to sign with, where nobody says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<Algorithm>,
    /// The loads.
    #[serde(rename = "run")]
    pub loads: Vec<Load>,
}

impl Suite {
    /// Reads a TOML file.
    ///
    /// # Errors
    /// [`LoadtestError::Options`] with the file's name, the place and what is wrong there.
    pub fn read(path: &Path) -> Result<Self, LoadtestError> {
        let refused = |reason: String| LoadtestError::Options(format!("{}: {reason}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
        let mut suite: Self = toml::from_str(&text).map_err(|error| refused(error.to_string()))?;
        let directory = path.parent().unwrap_or(Path::new("."));
        for file in suite.loads.iter_mut().filter_map(|load| load.scenario_file.as_mut()) {
            *file = directory.join(&*file);
        }
        // What contradicts itself is told with its file.
        suite.groups().map_err(|error| refused(error.to_string()))?;
        Ok(suite)
    }

    /// The same as a TOML file, to begin one's own with.
    ///
    /// # Errors
    /// [`LoadtestError::Options`], only for figures that TOML cannot hold.
    pub fn to_toml(&self) -> Result<String, LoadtestError> {
        toml::to_string(self).map_err(|error| LoadtestError::Options(error.to_string()))
    }

    /// The plans, by provider: neighbours with the same number of shards share one, unless one changes it.
    ///
    /// # Errors
    /// [`LoadtestError::Options`] with the number of the run that contradicts itself.
    pub fn groups(&self) -> Result<Vec<Group>, LoadtestError> {
        let mut groups: Vec<Group> = Vec::new();
        for (place, load) in self.loads.iter().enumerate() {
            let refused = |error: LoadtestError| {
                LoadtestError::Options(format!("run {} ({}): {error}", place + 1, load.asks()))
            };
            let plan = load.plan().and_then(|plan| plan.check().map(|()| plan)).map_err(refused)?;
            match groups.last_mut() {
                Some(group)
                    if group.shards == load.shards
                        && group.plans.iter().all(|plan| plan.reshard.is_none()) =>
                {
                    group.plans.push(plan);
                }
                _ => groups.push(Group { shards: load.shards, plans: vec![plan] }),
            }
        }
        Ok(groups)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::run::{Reshard, Traffic};

    const EXAMPLE: &str = r#"
        title = "mornings"
        algorithm = "ES256"

        [[run]]
        scenario = "silent"
        shards = 64
        stages = [{ to = 500, duration = "15s" }, { to = 500, duration = "3m" }, { to = 0, duration = "10s" }]
        thresholds = ["p99_ms<100", "failure_share<=0"]

        [[run]]
        scenario = "userinfo"
        shards = 64
        rate = 3000
        duration = "1m"
        ramp = "5s"
        connections = 128
        threads = 2
        warm_up = "1s"
        reshard = { to = 128, after = "30s" }
        abort_on = ["failure_share>0.05 for 10s"]

        [[run]]
        scenario = "client-credentials"
        closed = true
        duration = "20s"
    "#;

    fn parse(text: &str) -> Result<Vec<Group>, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Suite::read(file.path()).and_then(|suite| suite.groups()).map_err(|error| error.to_string())
    }

    fn is_example(groups: &[Group]) {
        assert_eq!(groups.iter().map(|group| group.shards).collect::<Vec<_>>(), [Some(64), None]);
        let [silent, userinfo] = &groups[0].plans[..] else { panic!("two share a provider") };
        // Two of its own besides the usual two.
        assert_eq!((silent.traffic.rate(), silent.thresholds.len()), (Some(500.0), 4));
        assert_eq!(silent.traffic.duration(), Duration::from_secs(205));
        assert_eq!(userinfo.traffic.plateau(), Duration::from_secs(60));
        assert_eq!(userinfo.traffic.duration(), Duration::from_secs(70));
        assert_eq!((userinfo.connections, userinfo.threads, userinfo.thresholds.len()), (128, 2, 2));
        let rules: Vec<_> = userinfo.abort_on.iter().map(ToString::to_string).collect();
        assert_eq!(rules, ["failure_share>0.05 for 10s"]);
        assert_eq!(userinfo.reshard, Some(Reshard { after: Duration::from_secs(30), to: 128 }));
        assert!(matches!(groups[1].plans[0].traffic, Traffic::Closed(_)));
    }

    #[test]
    fn a_file_says_everything_a_plan_has_and_is_written_as_it_is_read() {
        is_example(&parse(EXAMPLE).unwrap());
        let suite: Suite = toml::from_str(EXAMPLE).unwrap();
        is_example(&parse(&suite.to_toml().unwrap()).unwrap());
    }

    #[test]
    fn a_file_of_scenarios_is_looked_for_beside_the_suite() {
        let directory = tempfile::tempdir().unwrap();
        let own = "[[scenario]]\nname = \"x\"\n[[scenario.request]]\nurl = \"/\"\n";
        std::fs::write(directory.path().join("mine.toml"), own).unwrap();
        let suite = directory.path().join("suite.toml");
        let run = "title = \"x\"\n[[run]]\nscenario_file = \"mine.toml\"\nrate = 1\nduration = \"5s\"\n";
        std::fs::write(&suite, run).unwrap();
        let groups = Suite::read(&suite).and_then(|suite| suite.groups()).unwrap();
        assert_eq!((groups[0].plans[0].work.name(), groups[0].needs_seed()), ("mine", false));
        std::fs::write(&suite, run.replace("mine", "other")).unwrap();
        let told = Suite::read(&suite).err().unwrap().to_string();
        assert!(told.contains("run 1 (") && told.contains("other.toml: No such file"), "{told}");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let one = |rest: &str| parse(&format!("title = \"x\"\n[[run]]\nscenario = \"silent\"\n{rest}"));
        for (rest, why) in [
            ("rate = 5", "run 1 (silent): a duration is missing"),
            ("duration = \"5s\"", "give one of rate, stages and closed"),
            ("rate = 5\nclosed = true\nduration = \"5s\"", "give one of"),
            ("closed = true\nduration = \"5s\"\nramp = \"1s\"", "a ramp goes with a rate"),
            ("duration = \"5s\"\nstages = [{ to = 5, duration = \"1s\" }]", "each stage has its duration"),
            ("rate = -1\nduration = \"5s\"", "a rate must be"),
            ("rate = 1\nduration = \"soon\"", "line 5"),
            ("speed = 1", "unknown field `speed`"),
            ("rate = 1\nduration = \"5s\"\nthresholds = [\"speed<1\"]", "p99_ms"),
            ("rate = 1\nduration = \"5s\"\nconnections = 0", "needs a connection"),
            (
                "rate = 1\nduration = \"5s\"\nonly_thresholds = true",
                "run 1 (silent): only_thresholds = true goes with thresholds",
            ),
            ("rate = 1\nduration = \"5s\"\nabort_on = [\"speed>1\"]", "p99_ms"),
        ] {
            let told = one(rest).err().unwrap();
            assert!(told.contains(why), "{rest}: {told}");
        }
        let none = parse("title = \"x\"\n[[run]]\nrate = 1\nduration = \"1s\"").err().unwrap();
        assert!(none.contains("give one of scenario and scenario_file"), "{none}");
        let missing = one("scenario_file = \"own.toml\"\nrate = 1\nduration = \"1s\"").err().unwrap();
        assert!(missing.contains("give one of scenario and scenario_file"), "{missing}");
        let code = "title = \"x\"\n[[run]]\nscenario = \"code\"\nclosed = true\nduration = \"1s\"";
        assert!(parse(code).err().unwrap().contains("run 1 (code): scenario code needs a rate"));
        let code = "title = \"x\"\n[[run]]\nscenario = \"code\"\nrate = 5\nduration = \"10m\"";
        assert!(parse(code).err().unwrap().contains("scenario code lasts 600 s at most"));
        assert!(parse("title = \"x\"\n[[run]]\nscenario = \"none\"").err().unwrap().contains("none"));
    }
}
