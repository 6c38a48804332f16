// The load and what is counted. Warm-up, ramps and plateau are stages of one executor, so that a VU keeps its
// refresh-token families and no request is cut off in between; the time at which an iteration begins tells the stage.

import exec from "k6/execution";
import http from "k6/http";
import { Counter, Trend } from "k6/metrics";
import { randomSeed } from "k6";

import { timer } from "./http.js";
import { algorithm, issuer } from "./seed.js";
import { settings } from "./settings.js";
import { FAILURE_KINDS, Failed, WRONG_KINDS, Wrong } from "./wrong.js";

const { rate, duration, ramp, warmUp, vus, target, instance, instances } = settings;

// Of the plateau alone, but for the last.
const requests = new Counter("requests");
const failures = new Counter("failures");
const wrong = new Counter("wrong");
const latency = new Trend("latency", true);
const errorsBesides = new Counter("errors_besides");

// 400 and 302 may be just what an answer must say: `wrong` and `failures` tell what went wrong.
http.setResponseCallback(null);

// The stages that report and results show; the warm-up goes before them.
export const stages = [
  { from: rate / 2, to: rate, seconds: ramp },
  { from: rate, to: rate, seconds: duration },
  { from: rate, to: 0, seconds: ramp },
].filter((stage) => stage.seconds > 0);

// What this instance sends in the plateau.
export const planned = (rate * duration) / instances;

// Arrivals are at the ends of equal intervals, the last one at the end of the plateau: half an interval more lets it go,
// and tells it from what follows.
const half = instances / rate / 2;

function arrivals() {
  // `timeUnit` divides the rate among the instances, also where it is no multiple of their number.
  const one = { executor: "ramping-arrival-rate", timeUnit: `${instances}s`, gracefulStop: "60s" };
  const all = warmUp > 0 ? [{ from: rate, to: rate, seconds: warmUp }, ...stages] : stages;
  const steps = all.flatMap(({ from, to, seconds }) => [
    { target: Math.round(from), duration: "0s" },
    { target: Math.round(to), duration: `${seconds * 1000}ms` },
  ]);
  if (ramp === 0) steps.push({ target: rate, duration: `${half * 1000}ms` });
  // Nothing is due here: what a busy machine let go late is still sent.
  steps.push({ target: 0, duration: "0s" }, { target: 0, duration: "1s" });
  return { ...one, startRate: Math.round(all[0].from), stages: steps, preAllocatedVUs: vus, maxVUs: vus };
}

function thresholds() {
  const limits = {
    wrong: ["count==0"],
    errors_besides: ["count==0"],
    failures: [`count<=${Math.floor(planned / 1000)}`],
    requests: [`count>=${Math.floor(planned * 0.99)}`],
  };
  for (const kind of WRONG_KINDS) limits[`wrong{kind:${kind}}`] = ["count==0"];
  for (const kind of FAILURE_KINDS) limits[`failures{kind:${kind}}`] = limits.failures;
  return limits;
}

export const options = {
  scenarios: { load: arrivals() },
  thresholds: thresholds(),
  summaryTrendStats: ["min", "avg", "med", "p(75)", "p(90)", "p(95)", "p(99)", "p(99.9)", "max", "count"],
  // A URL with a fresh state in every request would make a time series of each.
  systemTags: ["scenario", "status", "error_code"],
  userAgent: "symbolon-loadtest-k6",
  setupTimeout: "60s",
};

// Asks the provider where its endpoints are, and holds against the seed what the scenario needs: `needs` lists
// endpoints by their names in the metadata, `parts` the seed's lists by name.
export function prepare(needs, parts) {
  if (exec.test.options.executionSegment) {
    throw new Error("--execution-segment does not divide the seed: use INSTANCE and INSTANCES");
  }
  const response = http.get(`${target}/.well-known/openid-configuration`, { timeout: "10s" });
  if (response.status !== 200) {
    throw new Error(`TARGET=${target}: discovery answered ${response.status} ${response.error || ""}`);
  }
  const metadata = response.json();
  if (metadata.issuer !== issuer) {
    throw new Error(`the seed was planted in ${issuer}, and TARGET is ${metadata.issuer}`);
  }
  for (const [name, list] of Object.entries(parts)) {
    if (list.length === 0)
      throw new Error(`the seed holds no ${name}, or too few of them for INSTANCES=${instances}`);
  }
  // Only the paths: the issuer may be another address, as behind a proxy.
  const origin = target.match(/^https?:\/\/[^/]+/)[0];
  const endpoints = {};
  for (const name of needs) {
    if (!metadata[name]) throw new Error(`TARGET=${target} has no ${name}`);
    endpoints[name.replace(/_endpoint$|_uri$/, "")] =
      origin + metadata[name].replace(/^https?:\/\/[^/?]+|\?.*$/g, "");
  }
  endpoints.discovery = `${target}/.well-known/openid-configuration`;
  return { ...endpoints, issuer, algorithm, started: new Date().toISOString().replace(/\.\d+Z$/, "Z") };
}

function inPlateau() {
  const at = (Date.now() - exec.scenario.startTime) / 1000;
  const from = warmUp + ramp + half;
  // Without a ramp nothing follows the plateau: its last iteration may begin late.
  return at >= from && (ramp === 0 || at < from + duration);
}

let seeded = false;
let told = false;

// One iteration: `ask` sends and judges, and throws `Wrong` or `Failed`.
export function visit(ask) {
  if (!seeded) {
    randomSeed(exec.vu.idInInstance * instances + instance);
    seeded = true;
  }
  const plateau = inPlateau();
  timer.reset();
  try {
    ask();
    if (plateau) latency.add(timer.spent());
  } catch (thrown) {
    count(thrown, plateau);
  }
  if (plateau) requests.add(1);
}

function count(thrown, plateau) {
  const known = thrown instanceof Wrong || thrown instanceof Failed;
  const problem = known ? thrown : new Wrong("script", `${thrown} ${thrown.stack || ""}`);
  if (!told) {
    // One example per VU.
    console.error(`${problem instanceof Wrong ? "wrong" : "failed"}: ${problem.kind}: ${problem.detail}`);
    told = true;
  }
  if (!plateau) {
    errorsBesides.add(1);
  } else if (problem instanceof Failed) {
    failures.add(1, { kind: problem.kind });
  } else {
    wrong.add(1, { kind: problem.kind });
    latency.add(timer.spent());
  }
}
