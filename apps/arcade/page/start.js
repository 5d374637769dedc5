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

/** Prepares the canvas for the program, which then gets this very context; false without WebGL. */
function prepareGraphics() {
  // Edges are smooth by themselves; smoothing everything doubles the work where there is no graphics card.
  const options = { antialias: false, depth: false, stencil: false };
  const graphics = canvas.getContext('webgl2', options) ?? canvas.getContext('webgl', options);
  if (graphics === null) return false;
  // Most of what is drawn has a plain colour, which egui looks up in the white corner of a texture. Not to look there saves a third of the work.
  const look = 'vec4 texture_in_gamma = texture2D(u_sampler, v_tc);';
  const lookIfNeeded = 'vec4 texture_in_gamma = vec4(1.0); if (v_tc != vec2(0.0)) { texture_in_gamma = texture2D(u_sampler, v_tc); }';
  const compile = graphics.shaderSource.bind(graphics);
  graphics.shaderSource = (shader, text) => compile(shader, text.replace(look, lookIfNeeded));
  return true;
}

async function start() {
  if (typeof WebAssembly !== 'object') {
    return fail('This page is a program in WebAssembly, which this browser does not run. A current Firefox, Chrome, Edge or Safari does.');
  }
  if (!prepareGraphics()) {
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
