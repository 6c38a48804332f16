// The same load as the others, by k6: a POST, which no client repeats by itself after a reset, with a body, because k6 sends
// an empty one in chunks.
import http from 'k6/http';
import { Counter } from 'k6/metrics';

const outcomes = {};
for (const name of ['right', 'refused', 'timeout', 'reset', 'other']) {
  outcomes[name] = new Counter(name);
}

export const options = {
  discardResponseBodies: true,
  summaryTrendStats: ['count', 'p(50)', 'p(90)', 'p(99)', 'max'],
  scenarios: {
    load: {
      executor: 'constant-arrival-rate',
      rate: Number(__ENV.RATE),
      timeUnit: '1s',
      duration: `${__ENV.SECONDS}s`,
      preAllocatedVUs: 400,
      gracefulStop: '10s',
    },
  },
};

// https://grafana.com/docs/k6/latest/javascript-api/error-codes/
const ERRORS = { 1050: 'timeout', 1220: 'reset' };

export default function () {
  const response = http.post(`${__ENV.TARGET}/thing`, 'x', { timeout: `${__ENV.TIMEOUT}s` });
  const name = { 200: 'right', 503: 'refused' }[response.status] || ERRORS[response.error_code] || 'other';
  outcomes[name].add(1);
}

export function handleSummary(data) {
  return { 'k6.json': JSON.stringify(data.metrics) };
}
