import { InMemoryRunner, LlmAgent, SequentialAgent } from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

const model = 'gemini-flash-latest';
const templates = [
  'One: {topic}. Two: {{topic}}. Three: {{{topic}}}.',
  'Spaces: { topic } and {{ user:name }}. Optional: {missing?}, {{missing?}}.',
  'Other: {"city": "<name>", "n": {count}}, {not-a-name}, {}, {1st}, {other:key}, {topic} {topic?}.',
  'Values: {count}, {list}, {nested}, {nothing}, {no}, {empty}.',
  'File: {artifact.note.txt}; {artifact.none.txt?}.',
];
const readers = templates.map(
  (instruction, at) => new LlmAgent({ name: `reader_${at}`, model, instruction, includeContents: 'none' }),
);
const agent = new SequentialAgent({ name: 'readers', subAgents: readers });
const failing = new LlmAgent({ name: 'failing', model, instruction: 'Missing: {{missing}}.' });

const program: Program = {
  // Each reply repeats the line of the instruction that has the template.
  replies: templates.map((template) => ({ body }) => {
    const start = template.slice(0, template.indexOf(':'));
    const text = body.systemInstruction?.parts?.map((part) => part.text).join('\n\n') ?? '';
    return jsonReply(wireResponse(text.split('\n').find((line) => line.startsWith(start)) ?? text));
  }),
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'braces' });
    const state = {
      topic: 'cats {and} dogs',
      'user:name': 'Ann',
      count: 3,
      list: [1, 'two'],
      nested: { a: { b: true } },
      nothing: null,
      no: false,
      empty: '',
    };
    const key = { appName: 'braces', userId: 'ann', sessionId: 'one' };
    await runner.sessionService.createSession({ ...key, state });
    await runner.artifactService?.saveArtifact({ ...key, filename: 'note.txt', artifact: { text: 'A note.' } });
    const newMessage = createUserContent('Read.');
    for await (const event of runner.runAsync({ userId: 'ann', sessionId: 'one', newMessage })) tell(event);
    const failingRunner = new InMemoryRunner({ agent: failing, appName: 'braces' });
    await failingRunner.sessionService.createSession(key);
    try {
      for await (const { errorCode } of failingRunner.runAsync({ userId: 'ann', sessionId: 'one', newMessage }))
        tell(`failed: ${errorCode !== undefined}`);
    } catch {
      tell('thrown');
    }
  },
};
export default program;
