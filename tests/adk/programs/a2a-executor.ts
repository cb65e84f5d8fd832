import { A2AAgentExecutor, FunctionTool, InMemorySessionService, LlmAgent } from '@google/adk';
import type { Message, Task, TaskStatusUpdateEvent } from '@a2a-js/sdk';
import { type ExecutionEventBus, RequestContext } from '@a2a-js/sdk/server';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

const pay = new FunctionTool({
  name: 'pay',
  description: 'Pays an amount.',
  parameters: z.object({ euros: z.number() }),
  requireConfirmation: true,
  execute: ({ euros }) => ({ paid: euros }),
});
const clerk = new LlmAgent({ name: 'clerk', model: 'gemini-flash-latest', description: 'Pays.', tools: [pay] });

const program: Program = {
  replies: [
    jsonReply(wireResponse('Good day.')),
    jsonReply(wireResponse({ calls: [{ name: 'pay', args: { euros: 3 } }] })),
  ],
  async main(tell) {
    const sessionService = new InMemorySessionService();
    const executor = new A2AAgentExecutor({
      runner: () => ({ agent: clerk, appName: 'desk', sessionService }),
      beforeExecuteCallback: async ({ contextId }) => tell({ begin: contextId }),
      afterEventCallback: async ({ userId }, { author }, change) => tell({ userId, author, change: change?.kind }),
      afterExecuteCallback: async ({ appName }, { status }, error) => tell({ appName, end: status.state, error }),
    });
    let asked: { id?: string; name?: string } = {};
    let task: Task | undefined;
    const bus = {
      publish(event: Message | Task | TaskStatusUpdateEvent | { kind: 'artifact-update' }) {
        tell({ published: event.kind, state: 'status' in event ? event.status.state : undefined });
        if (!('status' in event) || event.status.state !== 'input-required') return;
        const { taskId, contextId, status } = event as TaskStatusUpdateEvent;
        task = { kind: 'task', id: taskId, contextId, status };
        for (const part of status.message?.parts ?? [])
          if (part.kind === 'data') asked = { id: part.data['id'] as string, name: part.data['name'] as string };
      },
    } as ExecutionEventBus;
    const send = (taskId: string, parts: Message['parts'], continued?: Task): Promise<void> => {
      const userMessage: Message = { kind: 'message', messageId: taskId, role: 'user', parts };
      return executor.execute(new RequestContext(userMessage, taskId, 'c', continued), bus);
    };
    await send('t1', [{ kind: 'text', text: 'Hello.' }]);
    await send('t2', [{ kind: 'text', text: 'Pay 3.' }]);
    tell(asked.name);
    // The text is not an answer to the request, so the task still waits.
    await send('t2', [{ kind: 'text', text: 'Why?' }], task);
    const { sessionId, userId, appName } = { sessionId: 'c', userId: 'A2A_USER_c', appName: 'desk' };
    const session = await sessionService.getSession({ appName, userId, sessionId });
    tell({ authors: session?.events.map(({ author }) => author) });
    await executor.cancelTask('t2').catch((error: unknown) => tell(`refused: ${error instanceof Error}`));
  },
};
export default program;
