//! Two builds of a provider in turns, so that both have the same of a machine that is busy now and then.

use std::io::Write;
use std::path::Path;

use super::{Group, Plan, Progress, Ready, RunOptions, cut_short, on_a_runtime};
use crate::LoadtestError;
use crate::provider::ProviderOptions;
use crate::results::Results;

/// Runs every plan [`RunOptions::repeat`] times against the provider that `earlier` starts and the one of the options, both of
/// which are up all the time, in turns: the earlier one first, then second, and so on. Blocks the calling thread, which must
/// not be one of an asynchronous runtime. The results of the options' provider, and those of the earlier one.
///
/// # Errors
/// As [`run`](super::run); [`LoadtestError::Options`] where the options name a running provider, which has no earlier one.
pub fn run_in_turns(
    options: &RunOptions,
    earlier: &Path,
    progress: &mut (dyn Write + Send),
) -> Result<(Results, Results), LoadtestError> {
    options.check()?;
    if options.provider.target.is_some() {
        let reason = "two builds take turns only where both are started here, without a target";
        return Err(LoadtestError::Options(reason.into()));
    }
    if options.agents.is_some() {
        let reason = "agents serve one provider at a time: leave --agents or --beside out";
        return Err(LoadtestError::Options(reason.into()));
    }
    options.watch.plan(&options.title, || options.names(2));
    on_a_runtime(async {
        let (mut now, mut before) = (options.results(), options.results());
        before.title.push_str(", the earlier build");
        for group in &options.groups {
            let ended = run_group(options, group, earlier, (&mut now, &mut before, &mut *progress)).await;
            // An error after the first runs is told by the results.
            if cut_short(&mut now, ended)? {
                // It may be the earlier build that was ended by a rule.
                now.partial = before.aborted().or(now.partial);
                before.partial.clone_from(&now.partial);
                break;
            }
        }
        Ok((now, before))
    })
}

/// Both providers and the plans. Whether a signal ended it early.
async fn run_group(
    options: &RunOptions,
    group: &Group,
    earlier: &Path,
    (now, before, progress): (&mut Results, &mut Results, &mut (dyn Write + Send)),
) -> Result<bool, LoadtestError> {
    let provider = ProviderOptions { program: earlier.to_owned(), ..options.provider.clone() };
    let of_before = RunOptions { provider, ..options.clone() };
    let mut of_before = of_before.ready(group, progress).await?;
    let mut of_now = match options.ready(group, progress).await {
        Ok(ready) => ready,
        Err(error) => {
            of_before.end(progress).await;
            return Err(error);
        }
    };
    let terminal = options.terminal;
    let loaded = take_turns(
        (&mut of_now, &mut of_before),
        (&group.plans, options.repeat),
        (now, before, (&mut *progress, terminal)),
    )
    .await;
    let stopped = of_now.is_stopped() || of_before.is_stopped();
    of_now.end(progress).await;
    of_before.end(progress).await;
    loaded.map(|()| stopped)
}

async fn take_turns(
    (of_now, of_before): (&mut Ready, &mut Ready),
    (plans, repeat): (&[Plan], usize),
    (now, before, (progress, terminal)): (&mut Results, &mut Results, Progress<'_>),
) -> Result<(), LoadtestError> {
    now.provider = of_now.description().await?;
    before.provider = of_before.description().await?;
    now.environment = of_now.environment().await;
    before.environment = of_before.environment().await;
    for plan in plans {
        for number in 1..=repeat.max(1) {
            // Whoever is second may find a warmer machine: each is second every other time.
            for earlier in [number % 2 == 1, number % 2 == 0] {
                let (ready, results) =
                    if earlier { (&mut *of_before, &mut *before) } else { (&mut *of_now, &mut *now) };
                let run = ready.run_repeat(plan, (number, repeat), (&mut *progress, terminal)).await?;
                results.runs.push(run);
                if ready.is_stopped() {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}
