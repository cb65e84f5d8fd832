import { type LlmRequest, REQUEST_CONFIRMATION } from 'eventloom';
import { COMMAND } from '../stage/command.ts';
import type { Story } from '../stage/story.ts';
import { rootAgent } from './agent.ts';
import { openQuestions } from './open-questions.ts';

/** Replies by the stored session, because the answer comes to another process than the request. */
function refundOrReport({ contents }: LlmRequest) {
  const response = contents.at(-1)?.parts?.[0]?.functionResponse?.response;
  if (!response) return { calls: [{ name: 'refund', args: { customer: 'Ann', euros: 120 } }] };
  return response['error'] === undefined ? 'Ann has her 120 EUR back.' : 'I did not pay anything back.';
}

export const story: Story = {
  agent: rootAgent,
  replies: { cashier: [refundOrReport] },
  keepsSessions: true,
  takes: [['approve'], ['reject']],
  async tell(stage, [decision]) {
    const waiting = async () => openQuestions((await stage.session())?.events ?? []);
    if (decision === undefined) {
      await stage.forget();
      await stage.say('Give Ann her 120 EUR back.');
    } else {
      const [question] = await waiting();
      if (!question) {
        stage.note('', 'Nothing waits for an answer: run the example without approve or reject first.');
        return;
      }
      const response = { confirmed: decision === 'approve' };
      await stage.send({ functionResponse: { id: question.id ?? '', name: REQUEST_CONFIRMATION, response } });
    }
    if ((await waiting()).length > 0) {
      const command = `${COMMAND} human-approval`;
      stage.note('', `The run has ended, and the question is stored. Answer it: ${command} approve (or reject)`);
    }
  },
};
