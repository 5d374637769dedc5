// Recordings: saved, opened, looked at.

import assert from 'node:assert/strict';
import { join } from 'node:path';

export const tests = {
  async 'a recording is opened from the sandbox'(bench) {
    const arcade = await bench.open('game=sublockus&model=rollback&players=2&seed=4&net=lan');
    await arcade.play(240);
    await arcade.click('Open as a replay');
    await arcade.until('the replays', ({ tab }) => tab === 'Replays');
    await arcade.frames(30);
    await arcade.away();
    await arcade.screenshot(join(bench.folder, 'replay.png'));
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
    const { widgets } = await arcade.until('the replays', ({ tab }) => tab === 'Replays');
    const button = widgets.find(({ role, label }) => role === 'Button' && /open|choose/i.test(label));
    const [chooser] = await Promise.all([arcade.tab.waitForEvent('filechooser'), arcade.click(button.label)]);
    await chooser.setFiles(file);
    await arcade.frames(60);
    await arcade.away();
    await arcade.screenshot(join(bench.folder, 'replay-file.png'));
  },
};
