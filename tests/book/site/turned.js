// The theme answers a new mode when the browser says that it has changed, on a busy machine some
// frames late, and a new width 300 ms after it (`debounce`): a timer of the same length that is
// set later ends later. A theme that never answers is a fault, found by the next look. Closed menus
// alone keep the first mode's class; nobody sees them.
mode => new Promise(done => {
  scrollTo(0, 0);
  const late = performance.now() + 20_000;
  requestAnimationFrame(function look() {
    const answered = document.documentElement.dataset.theme === mode;
    if (answered || performance.now() > late) setTimeout(() => done(true), 300);
    else requestAnimationFrame(look);
  });
})
