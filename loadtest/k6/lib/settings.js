// What the environment says. Everything is looked at before the first request, so that a mistake names itself.

const UNITS = { ms: 0.001, s: 1, m: 60, h: 3600 };

// Seconds of a time such as `90s`, `1m30s` or `500ms`.
export function seconds(text) {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
  if (parts.length === 0 || parts.map((part) => part[0]).join("") !== text) {
    throw new Error(`${text} is no time: write 90s, 1m30s or 500ms`);
  }
  return parts.reduce((sum, [, number, unit]) => sum + Number(number) * UNITS[unit], 0);
}

function time(name, usual) {
  try {
    return seconds(__ENV[name] || usual);
  } catch (error) {
    throw new Error(`${name}: ${error.message}`);
  }
}

function whole(name, usual) {
  const text = __ENV[name] || usual;
  if (text === undefined || !/^[1-9]\d{0,8}$/.test(text)) {
    throw new Error(`${name}=${text || ""}: a whole number above 0 is needed`);
  }
  return Number(text);
}

// A relative path counts from where k6 was started, not from the script.
export function path(name, usual) {
  const given = __ENV[name] || usual;
  return given.startsWith("/") || !__ENV.PWD ? given : `${__ENV.PWD}/${given}`;
}

function read() {
  const settings = {
    // Requests per second of all instances together.
    rate: whole("RATE"),
    duration: time("DURATION", "30s"),
    ramp: time("RAMP", "0s"),
    warmUp: time("WARM_UP", "2s"),
    // Of this instance: at most so many requests are in flight.
    vus: whole("VUS", "64"),
    target: (__ENV.TARGET || "http://127.0.0.1:8080").replace(/\/+$/, ""),
    summary: path("SUMMARY", "summary.json"),
    instance: whole("INSTANCE", "1"),
    instances: whole("INSTANCES", "1"),
  };
  if (!/^https?:\/\/[^/]+/.test(settings.target)) {
    throw new Error(`TARGET=${settings.target}: an http or https URL is needed`);
  }
  if (settings.duration < 1) {
    throw new Error("DURATION: the plateau needs a second at least");
  }
  if (settings.instance > settings.instances) {
    throw new Error(`INSTANCE=${settings.instance}: there are INSTANCES=${settings.instances}, counted from 1`);
  }
  return settings;
}

export const settings = read();
