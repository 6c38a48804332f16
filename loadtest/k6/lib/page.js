// The login form in a page, as a browser would find it. Only what such pages are made of is understood: forms, and
// inputs with quoted attributes.

const ENTITIES = {
  lt: "<",
  gt: ">",
  quot: '"',
  amp: "&",
  "#60": "<",
  "#62": ">",
  "#34": '"',
  "#39": "'",
  "#38": "&",
};

function attribute(tag, name) {
  const found = tag.match(new RegExp(`\\s${name}="([^"]*)"`));
  return found && found[1].replace(/&([a-z]+|#\d+);/g, (whole, entity) => ENTITIES[entity] || whole);
}

function read(form) {
  const action = attribute(form.slice(0, form.indexOf(">")), "action");
  const found = { action, hidden: {}, username: null, password: null };
  for (const [tag] of form.matchAll(/<input[^>]*>/g)) {
    const [type, name] = [attribute(tag, "type") || "text", attribute(tag, "name")];
    if (!name) continue;
    if (type === "hidden") found.hidden[name] = attribute(tag, "value") || "";
    if (type === "password") found.password = name;
    if (type === "text" || type === "email") found.username = found.username || name;
  }
  return found;
}

// The first form that asks for a name and a password: where it goes, its hidden fields by name, the names of the two.
export function loginForm(page) {
  const forms = [...page.matchAll(/<form\b[^]*?<\/form/g)].map(([form]) => read(form));
  return forms.find(({ username, password }) => username && password);
}
