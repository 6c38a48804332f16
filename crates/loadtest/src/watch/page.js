"use strict";
const course = document.getElementById("course");
const connection = document.getElementById("connection");
// What each part was when it was shown, so that only what has changed is swapped: a table stays scrolled, a text selected.
const shown = new Map();
function show(html) {
  const next = document.createElement("template");
  next.innerHTML = html;
  for (const part of [...next.content.children]) {
    const text = part.outerHTML;
    if (shown.get(part.id) === text) continue;
    shown.set(part.id, text);
    const before = document.getElementById(part.id);
    if (before) before.replaceWith(part);
    else course.append(part);
  }
}
const events = new EventSource("events");
events.addEventListener("open", () => { connection.textContent = ""; });
events.addEventListener("course", event => show(event.data));
events.addEventListener("end", event => {
  events.close();
  show(event.data);
});
events.addEventListener("error", () => {
  connection.textContent = "The load test cannot be reached. What is shown is what it said last.";
});
