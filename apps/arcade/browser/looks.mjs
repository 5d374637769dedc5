// Pictures to look at, at both sizes.

import { join } from 'node:path';
import { LARGE, SMALL } from './driver.mjs';

const SCENES = {
  'sublockus-state-sync': 'game=sublockus&model=state-sync&players=4&seed=3&net=lte',
  'sublockus-rollback': 'game=sublockus&model=rollback&players=2&seed=3&net=intercontinental',
  'hat-hunters-state-sync': 'game=hat-hunters&model=state-sync&players=4&seed=3&net=lte',
  'rawrlocks-rollback': 'game=rawrlocks&model=rollback&players=4&seed=3&net=lte',
  'skirmish-lockstep': 'game=skirmish&model=lockstep&players=3&seed=5&net=bad-wifi',
  'skirmish-snapshot': 'game=skirmish&model=snapshot&players=2&seed=5&net=broadband',
  'evaluation-state-sync': 'game=evaluation&model=state-sync&players=2&seed=1&net=lte',
};

export const tests = {
  async 'pictures at 1280x720 and 1920x1080'(bench) {
    const arcade = await bench.open();
    for (const [name, link] of Object.entries(SCENES)) {
      await arcade.tab.setViewportSize(SMALL);
      await arcade.go(link);
      await arcade.until('some seconds', ({ steps, link: now }) => now.includes(link.split('&').slice(0, 4).join('&')) && steps > 240);
      for (const size of [SMALL, LARGE]) {
        await arcade.tab.setViewportSize(size);
        await arcade.frames(10);
        await arcade.away();
        await arcade.screenshot(join(bench.folder, `${name}-${size.width}x${size.height}.png`));
      }
    }
  },
};
