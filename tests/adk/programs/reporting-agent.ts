import {
  BaseAgent,
  createEvent,
  createEventActions,
  type Event,
  getFunctionCalls,
  getFunctionResponses,
  InMemoryRunner,
  type InvocationContext,
  isFinalResponse,
  stringifyContent,
} from '@google/adk';
import { createUserContent } from '@google/genai';
import type { Program } from '../stage.ts';

/** An agent without a model: it calls a tool, saves two files, and answers. */
class Reporter extends BaseAgent {
  constructor() {
    super({ name: 'reporter', description: 'Writes the report of a quarter.' });
  }

  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const { invocationId, branch, artifactService } = context;
    const shared = { invocationId, author: this.name, ...(branch && { branch }) };
    const call = { id: 'call-1', name: 'save_report', args: { name: 'report.md' } };
    yield createEvent({ ...shared, content: { role: 'model', parts: [{ functionCall: call }] } });
    const artifactDelta: Record<string, number> = {};
    let versions: number[] = [];
    let keys: string[] = [];
    let [first, latest]: (string | undefined)[] = [];
    if (artifactService) {
      const draft = { filename: 'report.md', artifact: { text: 'Draft' }, customMetadata: { stage: 'draft' } };
      const version = await artifactService.saveArtifact(draft);
      artifactDelta['report.md'] = await artifactService.saveArtifact({
        filename: 'report.md',
        artifact: { text: 'Final' },
      });
      artifactDelta['user:theme.json'] = await artifactService.saveArtifact({
        filename: 'user:theme.json',
        artifact: { text: '{}' },
      });
      first = (await artifactService.loadArtifact({ filename: 'report.md', version }))?.text;
      latest = (await artifactService.loadArtifact({ filename: 'report.md' }))?.text;
      versions = await artifactService.listVersions('report.md');
      keys = await artifactService.listArtifactKeys();
    }
    const response = { versions, keys, first, latest };
    yield createEvent({
      ...shared,
      content: { role: 'user', parts: [{ functionResponse: { id: 'call-1', name: 'save_report', response } }] },
      actions: createEventActions({ stateDelta: { saved: versions.length }, artifactDelta }),
    });
    yield createEvent({
      ...shared,
      content: { role: 'model', parts: [{ text: 'The report is saved.' }] },
      actions: createEventActions({ stateDelta: { turns: 1 } }),
    });
  }

  protected override async *runLiveImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    yield* this.runAsyncImpl(context);
  }
}

const program: Program = {
  replies: [],
  async main(tell) {
    const runner = new InMemoryRunner({ agent: new Reporter(), appName: 'reports' });
    const session = await runner.sessionService.createSession({
      appName: 'reports',
      userId: 'ann',
      state: { turns: 0 },
    });
    const newMessage = createUserContent('Write the report.');
    for await (const event of runner.runAsync({ userId: session.userId, sessionId: session.id, newMessage })) {
      tell(event);
      const { artifactDelta } = event.actions;
      const calls = getFunctionCalls(event).map(({ name }) => name);
      const responses = getFunctionResponses(event).map(({ name }) => name);
      tell({ artifactDelta, calls, responses, final: isFinalResponse(event), text: stringifyContent(event) });
    }
    const after = await runner.sessionService.getSession({ appName: 'reports', userId: 'ann', sessionId: session.id });
    tell({ state: after?.state });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'reports', userId: 'ann' });
    tell({ keys: await runner.artifactService?.listArtifactKeys({ appName: 'reports', userId: 'ann', sessionId }) });
  },
};
export default program;
