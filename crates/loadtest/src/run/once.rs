//! One run of a plan: what it needs is fetched, the load goes on between two readings of the provider's figures, and the results
//! are put together.

use std::io::Write;
use std::sync::Arc;

use serde_json::json;

use super::before::Before;
use super::generators::Generators;
use super::plan::{CODE_SECONDS, Plan, Reshard};
use super::watch::Watchers;
use super::watched::Watched;
use super::{Progress, figures};
use crate::admin::{self, Admin};
use crate::client::Timeouts;
use crate::executor::{Load, Stop};
use crate::machine::Busy;
use crate::provider::Provider;
use crate::results::{self, Repeat, Run};
use crate::scenario::Mix;
use crate::scrape::{Between, Page};
use crate::seed::{Family, Seed, harvest_codes};
use crate::watch::Watch;
use crate::{LoadtestError, clock};

/// The run, and the refresh-token families that came out of it.
pub(super) async fn run_plan(
    (plan, repeat): (&Plan, Option<Repeat>),
    ((provider, before_it), seed, stop, watch): ((&Provider, Option<&Before>), &Arc<Seed>, &Stop, &Watch),
    mut generators: Generators<'_>,
    (progress, terminal): Progress<'_>,
) -> Result<(Run, Vec<Family>), LoadtestError> {
    let lasts = plan.whole() + plan.timeout;
    plan.work.check_seed(seed, clock::unix_seconds() + lasts.as_secs())?;
    let codes = plan.work.codes(plan);
    if codes > 0 {
        obtain_codes(codes, seed, progress).await?;
    }
    let shards = match plan.work.shards() {
        Some(path) if seed.target.admin_secret.is_some() => shards(seed, path).await,
        _ => None,
    };
    let mix = plan.work.mix(seed);
    let mut name = plan.name(shards);
    if mix == Some(Mix::Pure) {
        name.push_str(", valid tokens only");
    }
    name.push_str(&repeat.map(|repeat| repeat.to_string()).unwrap_or_default());
    let before = scrape(provider).await?;
    let load = Load {
        threads: plan.threads,
        warm_up: plan.warm_up,
        pid: provider.pid,
        stop: stop.clone(),
        timeouts: Timeouts { request: plan.timeout, ..Timeouts::default() },
        ..seed.target.load()
    };
    let mut watchers = Watchers::of(plan, &name, (provider, stop), (progress, terminal))?;
    let prepared = generators.prepare(plan, seed, &load, &mut watchers).await?;
    let (idle_since, began) = (Busy::now(), clock::utc());
    let mut begun = Run { name: name.clone(), mix, shards, ..figures::begun(plan) };
    plan.work.add_to(&mut begun, &[]);
    watchers.live.begin(Watched::begin(watch, begun, plan, generators.are_here()));
    let loading = generators.run(prepared, plan, load, &mut watchers);
    let resharding = reshard(plan, (seed, before_it), stop);
    let (loaded, resharded) = tokio::join!(loading, resharding);
    let (mut loaded, seen) = (loaded?, watchers.end());
    let ended = clock::utc();
    let busy = idle_since.zip(Busy::now()).filter(|_| generators.are_here());
    let busy = busy.and_then(|(before, now)| now.cores_since(&before));
    let families = std::mem::take(&mut loaded.families);
    let after = scrape(provider).await?;
    let server = before.zip(after).map(|(before, after)| Between(&before, &after).figures());
    let plan = &Plan { threads: loaded.threads, ..plan.clone() };
    let mut run = figures::run(plan, &loaded.outcome, seen.timeline, server)?;
    (run.name, run.mix, run.shards, run.reshard) = (name, mix, shards, resharded?);
    (run.machine_busy_cores, run.began, run.ended) = (busy, began, ended);
    figures::carried(&mut run, &seed.target.peer, loaded.outcome.connections.open);
    (run.soak, run.aborted) = (seen.soak, seen.aborted);
    plan.work.add_to(&mut run, &loaded.outcome.journeys);
    loaded.tell_agents(&mut run);
    run.thresholds = plan.thresholds.iter().map(|rule| rule.judge(&run)).collect();
    run.thresholds.extend(run.soak.iter().flat_map(results::Soak::thresholds));
    run.thresholds.extend(plan.work.judge(&run));
    Ok((run, families))
}

/// Codes for a whole plan, obtained before it.
async fn obtain_codes(
    count: usize,
    seed: &Arc<Seed>,
    progress: &mut (dyn Write + Send),
) -> Result<(), LoadtestError> {
    if seed.target.admin_secret.is_some() {
        let lifetime = json!({ "lifetimes": { "code": CODE_SECONDS } });
        Admin::connect(&seed.target).await?.change(admin::SETTINGS, &lifetime).await?;
    }
    writeln!(progress, "obtaining {count} codes")?;
    harvest_codes(seed, count).await
}

/// A number of shards; nothing if the provider does not say.
async fn shards(seed: &Seed, path: &'static str) -> Option<u32> {
    let answer = Admin::connect(&seed.target).await.ok()?.show(path).await.ok()?;
    u32::try_from(answer.get("shards")?.as_u64()?).ok()
}

/// Changes the number of shards when the plan says so. What it was is noted where it is to be put back.
async fn reshard(
    plan: &Plan,
    (seed, before): (&Seed, Option<&Before>),
    stop: &Stop,
) -> Result<Option<results::Reshard>, LoadtestError> {
    let (Some(Reshard { after, to }), Some(path)) = (plan.reshard, plan.work.shards()) else {
        return Ok(None);
    };
    let began = clock::now();
    tokio::time::sleep(after).await;
    if stop.is_stopped() {
        return Ok(None);
    }
    let changed = async {
        let mut admin = Admin::connect(&seed.target).await?;
        if let Some(before) = before {
            let now = admin.show(path).await?;
            let shards = now.get("shards").ok_or_else(|| LoadtestError::Refused {
                what: path,
                status: 200,
                detail: "it does not say how many shards there are".into(),
            })?;
            before.note_shards(path, shards)?;
        }
        admin.replace(path, &json!({ "shards": to })).await?;
        Ok(Some(results::Reshard { at: clock::now().duration_since(began).as_secs_f64(), to }))
    };
    // Without the change the rest of the load would show nothing.
    changed.await.inspect_err(|_: &LoadtestError| stop.stop())
}

/// The provider's figures; none where it does not tell any.
async fn scrape(provider: &Provider) -> Result<Option<Page>, LoadtestError> {
    match &provider.metrics {
        Some(url) => Page::fetch(url, &provider.way).await.map(Some),
        None => Ok(None),
    }
}
