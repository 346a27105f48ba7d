// The theme answers a new mode within a frame, and a new width 300 ms after it (`debounce`): a
// timer of the same length that is set later ends later. Closed menus alone keep the first mode's
// class; nobody sees them.
() => new Promise(done => {
  scrollTo(0, 0);
  requestAnimationFrame(() => setTimeout(() => done(true), 300));
})
