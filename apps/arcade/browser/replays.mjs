// Recordings: saved, opened, looked at.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { LARGE } from './driver.mjs';

/** The tick that is shown; none without a recording. */
function tick({ widgets }) {
  const slider = widgets.find(({ role, label }) => role === 'Slider' && label === 'Tick');
  return slider && Number(slider.value);
}

async function verify(arcade) {
  await arcade.click('Verify');
  await arcade.until('every checksum agrees', ({ widgets }) => widgets.some(({ label }) => /^\d+ checksums? agrees?$/.test(label)));
}

export const tests = {
  async 'a recording of the sandbox is opened, played, scrubbed, verified'(bench) {
    const arcade = await bench.open('game=sublockus&model=rollback&players=2&seed=4&net=lan');
    await arcade.play(240);
    await arcade.click('Open as a replay');
    await arcade.until('the replays', (report) => report.tab === 'Replays' && tick(report) === 0);
    await arcade.click('On by a tick');
    await arcade.until('the next tick', (report) => tick(report) === 1);
    await arcade.click('To the end');
    const end = tick(await arcade.until('the end', (report) => tick(report) > 200));
    await arcade.click('Back by a tick');
    await arcade.until('the tick before', (report) => tick(report) === end - 1);
    await arcade.click('To the beginning');
    await arcade.click('Play');
    await arcade.until('it plays', (report) => tick(report) > 30);
    await verify(arcade);
    await arcade.away();
    await arcade.screenshot(join(bench.folder, 'replay-1280x720.png'));
    await arcade.tab.setViewportSize(LARGE);
    await arcade.frames(10);
    await arcade.screenshot(join(bench.folder, 'replay-1920x1080.png'));
    await arcade.click('Sandbox');
    await arcade.until('the sandbox', ({ tab }) => tab === 'Sandbox');
  },

  async 'a recording is saved and opened again'(bench) {
    const arcade = await bench.open('game=skirmish&model=lockstep&players=2&seed=4&net=lan');
    await arcade.play(120);
    const [download] = await Promise.all([arcade.tab.waitForEvent('download'), arcade.click('Save recording')]);
    const file = join(bench.folder, download.suggestedFilename());
    await download.saveAs(file);
    await arcade.click('Replays');
    await arcade.until('the replays', ({ tab }) => tab === 'Replays');
    const [chooser] = await Promise.all([arcade.tab.waitForEvent('filechooser'), arcade.click('Open a file…')]);
    await chooser.setFiles(file);
    await arcade.until('the file', (report) => tick(report) === 0);
    await verify(arcade);
    await arcade.away();
    await arcade.screenshot(join(bench.folder, 'replay-file.png'));
  },

  async 'a file that is no recording gets words'(bench) {
    const arcade = await bench.open();
    await arcade.click('Replays');
    const [chooser] = await Promise.all([arcade.tab.waitForEvent('filechooser'), arcade.click('Open a file…')]);
    await chooser.setFiles({ name: 'holiday.jpg', mimeType: 'image/jpeg', buffer: Buffer.from('not a recording') });
    const said = ({ widgets }) => widgets.some(({ label }) => label.includes('holiday.jpg'));
    await arcade.until('words about it', said);
    assert.equal((await arcade.report()).tab, 'Replays');
  },
};
