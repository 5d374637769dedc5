// Plays the page, says what came out, keeps pictures and figures in TARGET/browser.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Arcade, SMALL, launch, serve } from './driver.mjs';
import * as games from './games.mjs';
import * as links from './links.mjs';
import * as network from './network.mjs';
import * as looks from './looks.mjs';
import * as replays from './replays.mjs';
import * as time from './time.mjs';
import * as trouble from './trouble.mjs';

const target = process.env.TARGET;
const folder = join(target, 'browser');
mkdirSync(folder, { recursive: true });

const wanted = process.argv.slice(2);
const parts = { games, network, time, links, replays, trouble, looks };
const tests = Object.entries(parts).flatMap(([part, { tests }]) => Object.entries(tests).map(([name, test]) => [`${part}: ${name}`, test]));
const chosen = tests.filter(([name]) => wanted.every((word) => name.includes(word)));

const server = await serve(join(target, 'debug', 'samestep'));
const browser = await launch();
const figures = [];
let failed = 0;
const began = Date.now();
for (const [name, test] of chosen) {
  const start = Date.now();
  const opened = [];
  const notes = [];
  const bench = {
    browser,
    address: server.address,
    target,
    folder,
    async open(link = '', size = SMALL) {
      const arcade = await Arcade.open(browser, server.address, link, size);
      opened.push(arcade);
      return arcade;
    },
    note: (words) => notes.push(words),
  };
  try {
    await test(bench);
    const errors = opened.flatMap((arcade) => arcade.errors);
    if (errors.length > 0) throw new Error(`the console has errors:\n${errors.join('\n')}`);
    console.log(`    ${name} (${((Date.now() - start) / 1000).toFixed(1)} s)`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED ${name}\n${error.stack}\n${opened.flatMap((arcade) => arcade.errors).join('\n')}`);
    const picture = join(folder, 'failed.png');
    if (opened.length > 0) await opened.at(-1).screenshot(picture).then(() => console.log(picture), () => {});
  }
  for (const words of notes) {
    console.log(`        ${words}`);
    figures.push(words);
  }
  for (const arcade of opened) await arcade.close();
}
await browser.close();
server.stop();
writeFileSync(join(folder, 'figures.txt'), `${figures.join('\n')}\n`);
console.log(`    ${chosen.length - failed} of ${chosen.length} in ${((Date.now() - began) / 1000).toFixed(0)} s; pictures and figures in ${folder}`);
process.exitCode = failed > 0 || chosen.length === 0 ? 1 : 0;
