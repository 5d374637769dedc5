// Loads the program, says how far that is, and starts it. Whatever goes wrong is said in words over the page.

import init, { play } from './arcade.js';

const cover = document.getElementById('cover');
const words = document.getElementById('words');
const progress = document.getElementById('progress');
const canvas = document.getElementById('arcade');

/** Says why there is nothing to see. What was said first is the cause of what follows. */
function fail(text) {
  if (cover.classList.contains('failed')) return;
  words.textContent = text;
  cover.classList.add('failed');
  cover.hidden = false;
}

/** For the program, if it cannot go on. */
window.samestep_failed = (text) => fail(`The program has stopped, which is a mistake in it:\n${text}\nLoad the page again to begin anew.`);

/** A response like this one which moves the bar as it arrives. */
function watched(response) {
  const total = Number(response.headers.get('content-length'));
  let arrived = 0;
  const count = new TransformStream({
    transform(part, out) {
      arrived += part.byteLength;
      if (total > 0) progress.value = Math.min(arrived / total, 1);
      else progress.removeAttribute('value');
      out.enqueue(part);
    },
    flush() {
      words.textContent = 'Starting …';
      progress.removeAttribute('value');
    },
  });
  return new Response(response.body.pipeThrough(count), { headers: { 'content-type': 'application/wasm' } });
}

/** Whether there is WebGL. The program gets what is asked for here: edges are smooth by themselves, and without a graphics card smoothing all of it takes long. */
function hasWebGl() {
  const options = { antialias: false, depth: false, stencil: false };
  return (canvas.getContext('webgl2', options) ?? canvas.getContext('webgl', options)) !== null;
}

async function start() {
  if (typeof WebAssembly !== 'object') {
    return fail('This page is a program in WebAssembly, which this browser does not run. A current Firefox, Chrome, Edge or Safari does.');
  }
  if (!hasWebGl()) {
    return fail('This page draws with WebGL, which this browser does not offer: perhaps hardware acceleration is switched off in its settings, or the graphics driver is blocked.\n'
      + 'The same program in a window: samestep play --native');
  }
  const response = await fetch('arcade_bg.wasm');
  if (!response.ok) {
    return fail(`The program could not be loaded: ${response.status} ${response.statusText}`);
  }
  await init({ module_or_path: watched(response) });
  await play(canvas);
  cover.hidden = true;
  canvas.focus();
}

window.addEventListener('error', (event) => {
  if (event.error instanceof WebAssembly.RuntimeError) window.samestep_failed(event.message);
});
canvas.addEventListener('webglcontextlost', () => fail('The browser has taken back the graphics of this page, as it does when memory runs short.\nLoad the page again.'));
start().catch((error) => {
  console.error(error);
  fail(`The program could not be started: ${error?.message ?? error}`);
});
