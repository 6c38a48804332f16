// Leads on from the signed-out page when the frames of all applications have loaded, or after two seconds.
const to = document.body.dataset.leadsOnTo;
const frames = [...document.querySelectorAll("iframe")];
// Frames that loaded before this script ran say so no more; they count by their answers after it, or by the time.
const loaded = frames.map((frame) => new Promise((resolve) => frame.addEventListener("load", resolve, { once: true })));
const complete = new Promise((resolve) => {
  if (document.readyState === "complete") resolve();
  else addEventListener("load", resolve, { once: true });
});
const late = new Promise((resolve) => setTimeout(resolve, 2000));
// The page is complete when its frames are.
Promise.race([Promise.all(loaded), complete, late]).then(() => {
  document.body.dataset.state = "told";
  if (to) location.replace(to);
});
