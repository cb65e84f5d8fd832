import {
  contentText,
  type Event,
  type FunctionCall,
  getFunctionCalls,
  getFunctionResponses,
  type LlmRequest,
  REQUEST_INPUT,
} from 'eventloom';
import { COMMAND } from '../stage/command.ts';
import type { Story } from '../stage/story.ts';
import { rootAgent } from './agent.ts';

/** Returns the question to the editor that has no answer yet. */
function openQuestion(events: readonly Event[]): FunctionCall | undefined {
  const answered = new Set(events.flatMap(getFunctionResponses).map(({ id }) => id));
  return events.flatMap(getFunctionCalls).find(({ id, name }) => name === REQUEST_INPUT && !answered.has(id));
}

/** Replies by the draft and the advice in state, because a later process continues after the request of an earlier one. */
function draft({ config }: LlmRequest): string {
  const [, last = '', advice = ''] =
    /Your last draft: (.*)\nWhat is wrong with it: (.*)/.exec(String(config.systemInstruction)) ?? [];
  if (last === '') return 'We open a library.';
  return advice === 'Say when.' ? 'Our library opens on Monday.' : `${last} (${advice})`;
}

function judge({ contents }: LlmRequest): string {
  const isDated = contentText(contents.at(-1)).includes('on Monday');
  return JSON.stringify(isDated ? { good: true, advice: '' } : { good: false, advice: 'Say when.' });
}

export const story: Story = {
  agent: rootAgent,
  replies: { writer: [draft, draft], critic: [judge, judge] },
  keepsSessions: true,
  resumable: true,
  takes: [['approve'], ['revise'], ['revise', '<what to change>']],
  async tell(stage, [decision, wish = 'Mention the cake.']) {
    const question = async (): Promise<FunctionCall | undefined> => openQuestion((await stage.session())?.events ?? []);
    if (decision === undefined) {
      await stage.forget();
      await stage.say('Announce our new library.');
    } else {
      const { id } = (await question()) ?? {};
      if (id === undefined) {
        stage.note('', 'Nothing waits for an answer: run the example without approve or revise first.');
        return;
      }
      const response = decision === 'approve' ? { approved: true } : { approved: false, wish };
      await stage.send({ functionResponse: { id, name: REQUEST_INPUT, response } });
    }
    if (await question()) {
      const command = `${COMMAND} draft-critique-revise`;
      stage.note('', `The run waits. Answer it: ${command} approve (or revise "what to change")`);
    }
  },
};
