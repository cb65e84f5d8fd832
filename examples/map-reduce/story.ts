import { contentText, type LlmRequest } from 'eventloom';
import type { Story } from '../stage/story.ts';
import { documents, rootAgent } from './agent.ts';

/** Replies for concurrent readers: each line is about the document that the reader got. */
function readAloud({ contents }: LlmRequest): string {
  const asked = contentText(contents.at(-1));
  return `Found in ${documents.find(({ title }) => asked.includes(title))?.title ?? 'nothing'}.`;
}

export const story: Story = {
  agent: rootAgent,
  replies: {
    reader: documents.map(() => readAloud),
    editor: ['Bicycles did well in spring and less so in summer. What sold best in autumn were lights.'],
  },
  async tell(stage) {
    await stage.say('How did the year go?');
  },
};
