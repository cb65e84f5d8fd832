import { contentText, type LlmRequest } from 'eventloom';
import type { Story } from '../stage/story.ts';
import { rootAgent } from './agent.ts';

const check = (request: string) => ({ name: 'fact_checker', args: { request } });

/** Replies to the two concurrent calls of the agent, whose order is not fixed. */
function lookUpOrJudge({ contents }: LlmRequest) {
  const building = /Eiffel/.test(contentText(contents[0])) ? 'Eiffel Tower' : 'Cologne Cathedral';
  if (contents.length === 1) return { calls: [{ name: 'look_up_height', args: { building } }] };
  return { chunks: building === 'Eiffel Tower' ? ['TRUE: ', 'it is 330 m high.'] : ['FALSE: ', 'it is 157 m high.'] };
}

export const story: Story = {
  agent: rootAgent,
  replies: {
    editor: [
      { calls: [check('The Eiffel Tower is 330 m high.'), check('Cologne Cathedral is 175 m high.')] },
      'The Eiffel Tower is 330 m high, Cologne Cathedral 157 m.',
    ],
    fact_checker: [lookUpOrJudge, lookUpOrJudge, lookUpOrJudge, lookUpOrJudge],
  },
  async tell(stage) {
    await stage.say('The Eiffel Tower is 330 m high, Cologne Cathedral 175 m.');
  },
};
