// Pause, single steps, looking back, the same again.

import assert from 'node:assert/strict';
import { pause } from './driver.mjs';
import { native } from './games.mjs';

export const tests = {
  async 'pause, step, look back, go on'(bench) {
    const link = 'game=sublockus&model=rollback&players=2&seed=3&net=lte';
    const arcade = await bench.open(link);
    await arcade.play(90);
    await arcade.click('Pause');
    const paused = await arcade.until('it stands still', (report) => report.paused);
    await pause(400);
    assert.equal((await arcade.report()).steps, paused.steps);

    await arcade.click('Step');
    const stepped = await arcade.until('one step', ({ steps }) => steps === paused.steps + 1);
    assert.equal(stepped.checksum, native(bench, link, stepped.steps));

    await arcade.drag('Time', 0.4);
    const back = await arcade.report();
    assert.ok(back.shown_step < back.steps - 10, `shown is ${back.shown_step} of ${back.steps}`);
    await arcade.click('Back to now');
    await arcade.until('the newest is shown', (report) => report.shown_step === report.steps);

    await arcade.drag('Time', 0.5);
    const { shown_step: at } = await arcade.report();
    await arcade.click('Go on from here');
    const again = await arcade.until('it goes on from there', (report) => report.shown_step === report.steps);
    assert.ok(again.steps >= at, `${again.steps} after ${at}`);
    assert.equal(again.checksum, native(bench, link, again.steps), 'going on from there is the same match');
  },

  async 'the keyboard stops and restarts time'(bench) {
    const link = 'game=skirmish&model=lockstep&players=2&seed=9&net=lan';
    const arcade = await bench.open(link);
    await arcade.play(60);
    await arcade.key('Space');
    const paused = await arcade.until('it stands still', (report) => report.paused);
    await arcade.click('Restart');
    await arcade.until('it begins again', ({ steps }) => steps < paused.steps);
    const { paused: still } = await arcade.report();
    if (still) await arcade.key('Space');
    const report = await arcade.play(40);
    assert.equal(report.checksum, native(bench, link, report.steps), 'the same seed, the same match');
  },
};
