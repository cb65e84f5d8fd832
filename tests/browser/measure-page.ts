/** Prints the size of the page of Studio and its first paint: `pnpm exec node tests/browser/measure-page.ts`. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { createServer } from '@eventloom/server';
import { serve } from '@eventloom/server/node';
import { InMemorySessionService } from '@eventloom/sessions';
import { studio } from '@eventloom/studio';
import { studioFiles } from '@eventloom/studio/node';
import { ScriptedModel } from '@eventloom/testing';
import { openBrowser } from './open-browser.ts';
import { pageBytes } from './page-bytes.ts';

execFileSync(process.execPath, [join(import.meta.dirname, '../../scripts/build-studio.ts')]);
const agent = new LlmAgent({ name: 'helper', model: new ScriptedModel([]) });
const runner = new Runner({ appName: 'app', agent, sessionService: new InMemorySessionService() });
const server = await serve(createServer({ runners: [runner], protocols: [studio({ files: studioFiles() })] }), {
  port: 0,
});
const browser = await openBrowser();
const paints: number[] = [];
for (let round = 0; round < 5; round++) {
  // A new context has an empty cache.
  const page = await browser.newPage();
  await page.goto(`${server.url}/studio/`);
  await page.getByRole('textbox', { name: 'Message' }).waitFor();
  paints.push(await page.evaluate<number>(`performance.getEntriesByName('first-contentful-paint')[0].startTime`));
  await page.close();
}
await browser.close();
await server.shutDown();
const [, , median = 0] = paints.toSorted((a, b) => a - b);
console.log(
  `page: ${(pageBytes() / 1000).toFixed(1)} kB gzip; first contentful paint: ${median.toFixed(0)} ms (median of 5, empty cache)`,
);
