import { type Event, type FunctionCall, getFunctionCalls, getFunctionResponses, REQUEST_INPUT } from 'eventloom';
import type { Story } from '../stage/story.ts';
import { rootAgent } from './agent.ts';

/** What the editor was asked and did not answer. */
function openQuestion(events: readonly Event[]): FunctionCall | undefined {
  const answered = new Set(events.flatMap(getFunctionResponses).map(({ id }) => id));
  return events.flatMap(getFunctionCalls).find(({ id, name }) => name === REQUEST_INPUT && !answered.has(id));
}

/** What the critic thinks, of a draft that names the day and of one that does not. */
const judged = (good: boolean, advice: string) => JSON.stringify({ good, advice });

export const story: Story = {
  agent: rootAgent,
  replies: {
    writer: [
      'We open a library.',
      'Our library opens on Monday.',
      'Our library opens on Monday, and there will be cake.',
    ],
    critic: [judged(false, 'Say when.'), judged(true, ''), judged(true, '')],
  },
  keepsSessions: true,
  resumable: true,
  takes: [['approve'], ['revise'], ['revise', '<what to change>']],
  async tell(stage, [decision, wish = 'Mention the cake.']) {
    if (decision === undefined) {
      await stage.forget();
      await stage.say('Announce our new library.');
      stage.note(
        '',
        'The run waits. Answer it: pnpm example draft-critique-revise approve (or revise "what to change")',
      );
      return;
    }
    const question = openQuestion((await stage.session())?.events ?? []);
    if (!question) {
      stage.note('', 'Nothing waits for an answer: run the example without approve or revise first.');
      return;
    }
    const response = decision === 'approve' ? { approved: true } : { approved: false, wish };
    await stage.send({ functionResponse: { id: question.id ?? '', name: REQUEST_INPUT, response } });
  },
};
