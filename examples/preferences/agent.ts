import { FunctionTool, LlmAgent } from 'eventloom';
import * as z from 'zod';

const remember = new FunctionTool({
  name: 'remember',
  description: 'Remembers what the user likes, for good.',
  parameters: z.object({ what: z.string() }),
  execute: ({ what }, { state }) => {
    state.set('user:likes', what); // all sessions of this user
    state.set('app:updates', state.get('app:updates', 0) + 1); // all users of the app
    state.set('lastTopic', what); // this session
    state.set('temp:source', 'the user'); // this run; stored nowhere
    return { status: 'remembered' };
  },
});

const forget = new FunctionTool({
  name: 'forget',
  description: 'Forgets what the user likes.',
  execute: (_args, { state }) => {
    if (!state.has('user:likes')) return { status: 'there is nothing to forget' };
    state.remove('user:likes');
    return { status: 'forgotten' };
  },
});

export const rootAgent = new LlmAgent({
  name: 'waiter',
  model: 'gemini-flash-latest',
  instruction: 'Recommend a dish. The user likes: {user:likes?}. Last talked about: {lastTopic?}.',
  tools: [remember, forget],
});
