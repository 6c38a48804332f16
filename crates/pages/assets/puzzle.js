// Solves the puzzle of a registration: a number behind the page's id and the address, whose digest begins with so many zero
// bits. The form leaves when it is found.
const form = document.querySelector("form[data-puzzle]");
const field = form.querySelector("input[name=puzzle]");
const bits = Number(form.dataset.puzzle);
const encoder = new TextEncoder();

const zeros = (digest) => {
  let count = 0;
  for (const byte of new Uint8Array(digest)) {
    count += byte === 0 ? 8 : Math.clz32(byte) - 24;
    if (byte !== 0) break;
  }
  return count;
};

const solve = async (begin) => {
  for (let number = 0; ; number += 256) {
    const tries = Array.from({ length: 256 }, (_, offset) => number + offset);
    const digests = await Promise.all(tries.map((n) => crypto.subtle.digest("SHA-256", encoder.encode(begin + n))));
    const found = digests.findIndex((digest) => zeros(digest) >= bits);
    if (found >= 0) return tries[found];
  }
};

let solving = false;
form.addEventListener("submit", async (event) => {
  if (field.value) return;
  event.preventDefault();
  if (solving) return;
  solving = true;
  const email = form.querySelector("input[name=email]").value.trim();
  field.value = await solve(`${form.dataset.page}\n${email}\n`);
  form.submit();
});
addEventListener("pageshow", () => {
  solving = false;
  field.value = "";
});
