// Every image is there, or is known not to be; nothing fades or slides any more.
() => [...document.images].every(i => i.complete)
  && document.getAnimations().every(a => a.playState !== "running")
