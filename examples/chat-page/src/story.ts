import { shutDownOnSignal } from '@eventloom/server/node';
import { ConfigurationError } from 'eventloom';
import { EchoModel } from './echo-model.ts';
import { serveChat } from './serve-chat.ts';

interface Stage {
  readonly apiKey: string;
  readonly print: (line: string) => void;
}

// Node warns that type stripping, which makes the page's script, is experimental. The warning does not help users of
// the example.
process.removeAllListeners('warning');
process.on('warning', (warning) => {
  if (warning.name !== 'ExperimentalWarning') console.error(`${warning.name}: ${warning.message}`);
});

/** Serves the chat until Ctrl-C. */
export const story = {
  isServed: true,
  takes: [['<port>']],
  async tell({ apiKey, print }: Stage, [port = '8000']: readonly string[]): Promise<void> {
    if (!/^\d{1,5}$/.test(port)) throw new ConfigurationError(`port ${JSON.stringify(port)}: expected a number`);
    const replies = apiKey === '' ? { model: new EchoModel() } : { apiKey };
    const server = await serveChat({ ...replies, port: Number(port) });
    const { promise, resolve } = Promise.withResolvers<void>();
    shutDownOnSignal(server, resolve);
    print(`Open http://localhost:${server.port}/chat in a browser. Ctrl-C ends it.`);
    await promise;
  },
} as const;
