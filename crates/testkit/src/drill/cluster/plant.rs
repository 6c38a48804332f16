//! Plants violations: does behind the nodes' backs what they must never do. A drill that does not find these is
//! useless.

use std::time::Duration;

use super::faults::redis::primaries;
use super::{Cluster, DATABASE, DEADLINE, Fault};
use crate::drill::deliveries::MOST_COPIES;
use crate::drill::{Dice, unix_micros};

/// How long the load goes on between the two parts of a violation.
const BETWEEN: Duration = Duration::from_secs(3);

/// A part of a violation.
type Work = fn(&Cluster) -> Result<(), String>;

/// A violation that is planted.
pub struct Plant {
    name: &'static str,
    /// Texts in the reports of violations, by any of which it is found.
    pub found_as: &'static [&'static str],
    /// Whether it is about what the nodes deliver.
    pub is_of_deliveries: bool,
    /// What is noted first, while the load goes on.
    first: Option<Work>,
    work: Work,
}

/// One violation of each kind.
pub fn all_plants() -> Vec<Plant> {
    let plant = |name, found_as, work| Plant { name, found_as, is_of_deliveries: false, first: None, work };
    let mut plants = vec![
        plant("codes-redeemed-twice", &["code that gives tokens once at most"], |cluster| {
            // The first byte of a stored code says whether it was used.
            each_key(cluster, "{*}c:*", |key| ["SETRANGE", key, "0", "F"].map(str::to_owned).to_vec())
        }),
        plant("devices-redeemed-twice", &["device code that was used"], |cluster| {
            // By which call a device's code was redeemed.
            each_key(cluster, "{*}d:*", |key| ["HDEL", key, "t"].map(str::to_owned).to_vec())
        }),
        plant("proofs-used-twice", &["proof that was used"], |cluster| {
            sql(cluster, "DELETE FROM assertion_marks")
        }),
        plant("revocations-forgotten", &["revoked access token"], |cluster| {
            cluster.postgres.psql(DATABASE, "DELETE FROM tombstones");
            for kind in ["t", "g", "s"] {
                each_key(cluster, &format!("{{*}}{kind}:*"), delete)?;
            }
            Ok(())
        }),
        plant("sessions-lost", &["live session"], |cluster| each_key(cluster, "{*}r:*", delete)),
        plant("families-lost", &["rotation:", "rotation, raced:", "newest refresh token:"], |cluster| {
            cluster.postgres.psql(DATABASE, "DELETE FROM families");
            Ok(())
        }),
    ];
    plants.extend(plants_of_people());
    plants
}

/// What people signed in by counts again, and what was to be delivered does not come, or too often.
fn plants_of_people() -> [Plant; 4] {
    [
        Plant {
            name: "second-factors-rewound",
            found_as: &["recovery code that was used", "code of a generator that was used"],
            is_of_deliveries: false,
            first: Some(|cluster| sql(cluster, "CREATE TABLE earlier AS SELECT * FROM authenticators")),
            work: |cluster| {
                let rewind = "UPDATE authenticators a SET document = e.document FROM earlier e
                    WHERE a.issuer = e.issuer AND a.user_id = e.user_id";
                sql(cluster, rewind)?;
                sql(cluster, "DROP TABLE earlier")
            },
        },
        Plant {
            name: "mailed-codes-used-twice",
            found_as: &["code by mail that was used"],
            is_of_deliveries: false,
            first: None,
            // To whom a code was mailed stays: without, it would lead nowhere.
            work: |cluster| sql(cluster, "UPDATE email_codes SET tries = 0"),
        },
        Plant {
            name: "deliveries-lost",
            found_as: &["mail that was acknowledged never came", "logout token never came"],
            is_of_deliveries: true,
            first: Some(go_away),
            work: |cluster| {
                let lost = sql(cluster, "DELETE FROM deliveries");
                cluster.people.inbox.set_away(false);
                lost
            },
        },
        Plant {
            name: "mail-sent-again-and-again",
            found_as: &["mail that came twice at most"],
            is_of_deliveries: true,
            first: Some(go_away),
            work: |cluster| {
                sql(cluster, "CREATE TABLE earlier AS SELECT * FROM deliveries WHERE kind = 'mail'")?;
                cluster.people.inbox.set_away(false);
                let again = "INSERT INTO deliveries SELECT * FROM earlier ON CONFLICT DO NOTHING";
                let (inbox, began) = (&cluster.people.inbox, unix_micros());
                while !inbox.copies().values().any(|copies| *copies > MOST_COPIES) {
                    if u128::from(unix_micros() - began) > DEADLINE.as_micros() {
                        return Err("no mail that was queued again was sent again".to_owned());
                    }
                    sql(cluster, again)?;
                    cluster.make_deliveries_due();
                    std::thread::sleep(BETWEEN / 6);
                }
                sql(cluster, "DROP TABLE earlier")
            },
        },
    ]
}

fn go_away(cluster: &Cluster) -> Result<(), String> {
    cluster.people.inbox.set_away(true);
    Ok(())
}

fn sql(cluster: &Cluster, text: &str) -> Result<(), String> {
    cluster.postgres.psql(DATABASE, text);
    Ok(())
}

impl Fault for Plant {
    fn name(&self) -> &'static str {
        self.name
    }

    fn lasts(&self) -> Duration {
        if self.first.is_some() { BETWEEN } else { Duration::ZERO }
    }

    fn not_before(&self) -> usize {
        // By then there are records of each kind, however slow the machine is.
        1_500
    }

    fn begin(&mut self, cluster: &mut Cluster, _dice: &mut Dice) -> Result<(), String> {
        self.first.unwrap_or(self.work)(cluster)
    }

    fn heal(&mut self, cluster: &mut Cluster) -> Result<(), String> {
        if self.first.is_some() { (self.work)(cluster) } else { Ok(()) }
    }
}

fn delete(key: &str) -> Vec<String> {
    ["DEL", key].map(str::to_owned).to_vec()
}

/// Sends a command for every key that matches `pattern`, to the primary that holds it.
fn each_key(cluster: &Cluster, pattern: &str, command: fn(&str) -> Vec<String>) -> Result<(), String> {
    let mut changed = 0;
    for primary in primaries(cluster) {
        for key in cluster.redis.try_cli(primary, &["KEYS", pattern])?.lines() {
            let command = command(key);
            let words: Vec<&str> = command.iter().map(String::as_str).collect();
            cluster.redis.try_cli(primary, &words)?;
            changed += 1;
        }
    }
    if changed == 0 { Err(format!("no key is like {pattern}")) } else { Ok(()) }
}
