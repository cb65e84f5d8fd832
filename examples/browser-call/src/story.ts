import { ConfigurationError } from '@eventloom/core';
import { shutDownOnSignal } from '@eventloom/server/node';
import { servePage } from './serve-page.ts';

/** The key of Gemini and the output of the story. */
interface Program {
  readonly apiKey: string;
  readonly print: (line: string) => void;
}

// Node warns that type stripping, which makes the page's script, is experimental. The warning does not help users of
// the example.
process.removeAllListeners('warning');
process.on('warning', (warning) => {
  if (warning.name !== 'ExperimentalWarning') console.error(`${warning.name}: ${warning.message}`);
});

/** Serves until Ctrl-C. */
export const story = {
  isServed: true,
  takes: [['<port>']],
  async tell({ apiKey, print }: Program, [port = '8000']: readonly string[]): Promise<void> {
    if (!/^\d{1,5}$/.test(port)) throw new ConfigurationError(`port ${JSON.stringify(port)}: expected a number`);
    const server = await servePage({ apiKey, port: Number(port) });
    const { promise, resolve } = Promise.withResolvers<void>();
    shutDownOnSignal(server, resolve);
    const listener = apiKey === '' ? 'a parrot' : 'Gemini';
    print(`Call ${listener} at http://localhost:${server.port}/ in a browser. Ctrl-C ends it.`);
    await promise;
  },
} as const;
