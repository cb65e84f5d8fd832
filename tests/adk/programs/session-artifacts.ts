import { BaseAgent, createEvent, type Event, InMemoryRunner, type InvocationContext } from '@google/adk';
import { createUserContent } from '@google/genai';
import type { Program } from '../stage.ts';

class Clerk extends BaseAgent {
  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const { artifactService: files, invocationId } = context;
    await files?.saveArtifact({ filename: 'memo.txt', artifact: { text: 'First.' } });
    const version = await files?.saveArtifact({ filename: 'memo.txt', artifact: { text: 'Second.' } });
    const first = await files?.loadArtifact({ filename: 'memo.txt', version: 0 });
    const names = await files?.listArtifactKeys();
    const versions = await files?.listVersions('memo.txt');
    await files?.deleteArtifact('memo.txt');
    const left = await files?.listArtifactKeys();
    const text = JSON.stringify({ version, first, names, versions, left });
    yield createEvent({ invocationId, author: this.name, content: { role: 'model', parts: [{ text }] } });
  }

  protected override async *runLiveImpl(): AsyncGenerator<Event, void, void> {
    yield* [];
  }
}

const program: Program = {
  replies: [],
  async main(tell) {
    const runner = new InMemoryRunner({ agent: new Clerk({ name: 'clerk' }), appName: 'office' });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'office', userId: 'ann' });
    const newMessage = createUserContent('Write memos.');
    for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) tell(event);
  },
};
export default program;
