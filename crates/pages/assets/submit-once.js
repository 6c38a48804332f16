// A second click or Enter while a form is on its way is dropped: the application would be called back twice. A page that
// the browser takes out of its cache may send its form again.
let sent = false;
addEventListener("submit", (event) => {
  if (sent) event.preventDefault();
  sent = true;
});
addEventListener("pageshow", () => {
  sent = false;
});
