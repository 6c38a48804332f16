// summary.json: what `symbolon loadtest report --from-k6` reads.

import { planned, stages } from "./load.js";
import { settings } from "./settings.js";
import { FAILURE_KINDS, WRONG_KINDS } from "./wrong.js";

const VERSION = 1;
const FIGURES = {
  min: "min",
  mean: "avg",
  p50: "med",
  p75: "p(75)",
  p90: "p(90)",
  p95: "p(95)",
  p99: "p(99)",
  p999: "p(99.9)",
  max: "max",
};

// For k6's handleSummary.
export function summary(scenario, { metrics, state, setup_data: target }) {
  const counted = (name) => (metrics[name] ? metrics[name].values.count : 0);
  const byKind = (name, kinds) => {
    const found = kinds.map((kind) => [kind, counted(`${name}{kind:${kind}}`)]);
    return Object.fromEntries(found.filter(([, count]) => count > 0));
  };
  if (!target) return { stderr: "the run did not begin: there is no summary\n" };
  const requests = counted("requests");
  const { rate, duration, ramp, warmUp, vus, instance, instances } = settings;
  const written = {
    symbolon_k6: VERSION,
    scenario,
    started: target.started,
    issuer: target.issuer,
    algorithm: target.algorithm,
    rate,
    seconds: duration,
    warm_up_seconds: warmUp,
    stages,
    vus,
    instance,
    instances,
    // Less than planned where the run was cut short.
    planned_seconds: warmUp + 2 * ramp + duration,
    ran_seconds: state.testRunDurationMs / 1000,
    requests,
    failures: counted("failures"),
    wrong: counted("wrong"),
    // k6 counts dropped iterations of the whole run; what the plateau lacks cannot be more than that.
    missed: Math.min(counted("dropped_iterations"), Math.max(0, Math.round(planned) - requests)),
    errors_besides: counted("errors_besides"),
    latency_ms: latencies(metrics.latency),
    failure_kinds: byKind("failures", FAILURE_KINDS),
    wrong_kinds: byKind("wrong", WRONG_KINDS),
  };
  return { [settings.summary]: `${JSON.stringify(written, null, 2)}\n`, stdout: text(written) };
}

function latencies(metric) {
  if (!metric) return null;
  const figures = {};
  for (const [name, stat] of Object.entries(FIGURES)) {
    if (metric.values[stat] === undefined) {
      throw new Error(`K6_SUMMARY_TREND_STATS or --summary-trend-stats leave out ${stat}`);
    }
    figures[name] = metric.values[stat];
  }
  return figures;
}

function text(written) {
  const { scenario, rate, seconds, requests, failures, wrong, missed, errors_besides: besides } = written;
  const lines = [
    `${scenario} ${rate}/s for ${seconds} s: ${requests} requests, ${failures} failed, ${wrong} wrong, ${missed} missed`,
  ];
  if (besides > 0) lines.push(`  ${besides} failed or wrong outside of the plateau`);
  const kinds = Object.entries({ ...written.wrong_kinds, ...written.failure_kinds });
  for (const [kind, count] of kinds) lines.push(`  ${count} × ${kind}`);
  const latency = written.latency_ms;
  if (latency) {
    const shown = ["p50", "p95", "p99", "p999", "max"].map((name) => `${name} ${latency[name].toFixed(2)}`);
    lines.push(`  latency in ms, from sending: ${shown.join(", ")}`);
  }
  return `${lines.join("\n")}\n`;
}
