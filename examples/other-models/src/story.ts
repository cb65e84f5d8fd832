import { getFunctionCalls, InMemoryRunner, isFinalResponse, stringifyContent } from 'eventloom';
import { createGuide } from './agent.ts';
import { openFakeModelServer } from './fake-model-server.ts';

interface Stage {
  readonly print: (line: string) => void;
}

export const story = {
  isServed: true,
  async tell({ print }: Stage): Promise<void> {
    const near = await openFakeModelServer([
      { name: 'get_time', args: { city: 'Lisbon' } },
      'It is a quarter to eleven in Lisbon.',
      503,
    ]);
    const far = await openFakeModelServer(['About three hours by train.']);
    try {
      const runner = new InMemoryRunner({ agent: createGuide(near.url, far.url), autoCreateSession: true });
      for (const text of ['What time is it in Lisbon?', 'And how far is Porto?']) {
        print(`you ${text}`);
        const newMessage = { role: 'user', parts: [{ text }] };
        const runConfig = { streamingMode: 'sse' } as const;
        for await (const event of runner.runAsync({ userId: 'ann', sessionId: 's', newMessage, runConfig })) {
          if (event.partial === true) continue;
          for (const { name, args } of getFunctionCalls(event)) print(`guide → ${name} ${JSON.stringify(args)}`);
          if (!isFinalResponse(event)) continue;
          const { fallback } = event.customMetadata ?? {};
          print(`guide ${stringifyContent(event)}${fallback === undefined ? '' : ` ${JSON.stringify(fallback)}`}`);
        }
      }
    } finally {
      await near.close();
      await far.close();
    }
  },
} as const;
