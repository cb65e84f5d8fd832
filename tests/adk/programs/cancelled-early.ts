import { FunctionTool, InMemorySessionService, LlmAgent, Runner } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program, Tell } from '../stage.ts';

const fetchItems = async (id: string): Promise<string[]> => [`${id}-1`, `${id}-2`, `${id}-3`];

/** A tool that works item by item, and stops when the run is cancelled after the second one. */
function createProcessor(afterItem: (done: number) => void): FunctionTool {
  return new FunctionTool({
    name: 'process_data',
    description: 'Processes data.',
    parameters: z.object({ dataId: z.string() }),
    execute: async ({ dataId }, toolContext) => {
      let processed = 0;
      for (const _item of await fetchItems(dataId)) {
        if (toolContext?.abortSignal?.aborted) return { status: 'cancelled', processed };
        processed += 1;
        afterItem(processed);
      }
      return { status: 'complete', processed };
    },
  });
}

const sessionService = new InMemorySessionService();

async function run(
  tell: Tell,
  tool: FunctionTool,
  abortSignal: AbortSignal,
  afterEvent: () => void = () => {},
): Promise<void> {
  const agent = new LlmAgent({
    name: 'my_agent',
    model: 'gemini-flash-latest',
    instruction: 'Process.',
    tools: [tool],
  });
  const runner = new Runner({ agent, appName: 'my_app', sessionService });
  const session = await sessionService.createSession({ appName: 'my_app', userId: 'ann' });
  let count = 0;
  for await (const event of runner.runAsync({
    userId: session.userId,
    sessionId: session.id,
    newMessage: { role: 'user', parts: [{ text: 'Process the data.' }] },
    abortSignal,
  })) {
    count += 1;
    tell(event);
    afterEvent();
  }
  const stored = await sessionService.getSession({ appName: 'my_app', userId: 'ann', sessionId: session.id });
  tell({ count });
  for (const event of stored?.events ?? []) tell(event);
}

const call = jsonReply(wireResponse({ calls: [{ name: 'process_data', args: { dataId: 'a' } }] }));

const program: Program = {
  replies: [call, call, call, jsonReply(wireResponse('Done.'))],
  async main(tell) {
    const afterFirstEvent = new AbortController();
    await run(
      tell,
      createProcessor(() => {}),
      afterFirstEvent.signal,
      () => afterFirstEvent.abort(),
    );

    let seen = 0;
    const inTool = new AbortController();
    const counting = createProcessor((done) => {
      seen = done;
      if (done === 2) inTool.abort();
    });
    await run(tell, counting, inTool.signal);
    tell(`${seen} items were processed`);

    const unused = new AbortController();
    const either = AbortSignal.any([unused.signal, AbortSignal.timeout(3_600_000)]);
    await run(
      tell,
      createProcessor(() => {}),
      either,
    );
    await run(
      tell,
      createProcessor(() => {}),
      AbortSignal.abort(),
    );
  },
};
export default program;
