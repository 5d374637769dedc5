// What goes wrong, and what is said then.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { LARGE } from './driver.mjs';

export const tests = {
  async 'states that differ are found'(bench) {
    const arcade = await bench.open('game=sublockus&model=lockstep&players=2&seed=2&net=lan');
    await arcade.play(60);
    await arcade.click('Tamper with the state of player 1');
    await arcade.until('a desync', ({ desyncs }) => desyncs > 0);
    await arcade.away();
    await arcade.screenshot(join(bench.folder, 'desync.png'));
    await arcade.click('Look at it');
    const both = ({ tab, widgets }) => tab === 'Replays' && ['Ours', 'Theirs'].every((label) => widgets.some((widget) => widget.label === label));
    const { widgets } = await arcade.until('both worlds', both);
    assert.ok(widgets.some(({ label }) => /\d+ fields? differs?/.test(label)), 'what differs is listed');
    await arcade.away();
    await arcade.screenshot(join(bench.folder, 'desync-worlds-1280x720.png'));
    await arcade.tab.setViewportSize(LARGE);
    await arcade.frames(10);
    await arcade.screenshot(join(bench.folder, 'desync-worlds-1920x1080.png'));
  },

  async 'without WebGL there are words'(bench) {
    const tab = await bench.browser.newPage();
    await tab.addInitScript(() => { HTMLCanvasElement.prototype.getContext = () => null; });
    await tab.goto(bench.address);
    await tab.waitForSelector('#cover.failed');
    assert.match(await tab.textContent('#words'), /WebGL.*--native/s);
    await tab.close();
  },

  async 'a program that stops says so'(bench) {
    const tab = await bench.browser.newPage();
    await tab.route('**/arcade_bg.wasm', (route) => route.fulfill({ status: 200, contentType: 'application/wasm', body: 'nonsense' }));
    await tab.goto(bench.address);
    await tab.waitForSelector('#cover.failed');
    assert.match(await tab.textContent('#words'), /could not be started/);
    await tab.unroute('**/arcade_bg.wasm');
    await tab.reload();
    await tab.waitForFunction(() => window.samestep_report?.());
    await tab.evaluate(() => window.samestep_failed('an example'));
    assert.match(await tab.textContent('#words'), /an example/);
    await tab.close();
  },
};
