// Hands the authorization response to the page around this frame, on this origin only.
if (window.parent !== window) {
  window.parent.postMessage({ type: "symbolon-silent-callback", search: window.location.search }, window.location.origin);
}
