// A program that writes its sessions, memories, artifacts and credentials to places of its own.
import {
  type AppendEventRequest,
  type ArtifactVersion,
  type AuthConfig,
  type AuthCredential,
  AuthCredentialTypes,
  type BaseArtifactService,
  type BaseCredentialService,
  type BaseMemoryService,
  BaseSessionService,
  type Context,
  type CreateSessionRequest,
  createSession,
  type DeleteArtifactRequest,
  type DeleteSessionRequest,
  type Event,
  FunctionTool,
  type GetSessionRequest,
  type ListArtifactKeysRequest,
  type ListSessionsRequest,
  type ListSessionsResponse,
  type ListVersionsRequest,
  LlmAgent,
  LOAD_MEMORY,
  type LoadArtifactRequest,
  LongRunningFunctionTool,
  Runner,
  type SaveArtifactRequest,
  type SearchMemoryRequest,
  type SearchMemoryResponse,
  type Session,
} from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Content, Part } from '@google/genai';
import type { Program } from '../stage.ts';

/** Keeps sessions as JSON, as a service over a table of texts does. */
class JsonSessions extends BaseSessionService {
  readonly rows = new Map<string, string>();

  override async createSession({ appName, userId, sessionId, state }: CreateSessionRequest): Promise<Session> {
    const id = sessionId ?? `${userId}-${this.rows.size + 1}`;
    const session = createSession({ id, appName, userId, state: { ...state }, events: [], lastUpdateTime: Date.now() });
    this.rows.set(id, JSON.stringify(session));
    return session;
  }
  override async getSession({ sessionId }: GetSessionRequest): Promise<Session | undefined> {
    const row = this.rows.get(sessionId);
    return row === undefined ? undefined : (JSON.parse(row) as Session);
  }
  override async listSessions({ appName }: ListSessionsRequest): Promise<ListSessionsResponse> {
    const all = [...this.rows.values()].map((row) => JSON.parse(row) as Session);
    const sessions = all.filter((session) => session.appName === appName).map((each) => ({ ...each, events: [] }));
    return { sessions, page: 1, limit: 50, totalItems: sessions.length, totalPages: 1 };
  }
  override async deleteSession({ sessionId }: DeleteSessionRequest): Promise<void> {
    this.rows.delete(sessionId);
  }
  override async appendEvent({ session, event }: AppendEventRequest): Promise<Event> {
    await super.appendEvent({ session, event });
    session.lastUpdateTime = Date.now();
    this.rows.set(session.id, JSON.stringify(session));
    return event;
  }
}

class NoteMemory implements BaseMemoryService {
  readonly added: string[] = [];

  async addSessionToMemory(session: Session): Promise<void> {
    this.added.push(session.id);
  }
  async searchMemory({ query }: SearchMemoryRequest): Promise<SearchMemoryResponse> {
    const content = { role: 'user', parts: [{ text: `Ann likes ${query}.` }] };
    return { memories: [{ content, author: 'user', timestamp: '2026-01-01T00:00:00Z' }] };
  }
}

class ListArtifacts implements BaseArtifactService {
  readonly files = new Map<string, Part[]>();

  async saveArtifact({ filename, artifact }: SaveArtifactRequest): Promise<number> {
    const versions = this.files.get(filename) ?? [];
    this.files.set(filename, versions);
    return versions.push(artifact) - 1;
  }
  async loadArtifact({ filename, version = -1 }: LoadArtifactRequest): Promise<Part | undefined> {
    return this.files.get(filename)?.at(version);
  }
  async listArtifactKeys(_request: ListArtifactKeysRequest): Promise<string[]> {
    return [...this.files.keys()];
  }
  async deleteArtifact({ filename }: DeleteArtifactRequest): Promise<void> {
    this.files.delete(filename);
  }
  async listVersions({ filename }: ListVersionsRequest): Promise<number[]> {
    return [...(this.files.get(filename) ?? []).keys()];
  }
  async listArtifactVersions(request: ListVersionsRequest): Promise<ArtifactVersion[]> {
    return (await this.listVersions(request)).map((version) => ({ version }));
  }
  async getArtifactVersion({ version = 0 }: LoadArtifactRequest): Promise<ArtifactVersion | undefined> {
    return { version };
  }
}

class OneKey implements BaseCredentialService {
  async loadCredential(_authConfig: AuthConfig, _toolContext: Context): Promise<AuthCredential | undefined> {
    return { authType: AuthCredentialTypes.API_KEY, apiKey: 'k1' };
  }
  async saveCredential(_authConfig: AuthConfig, _toolContext: Context): Promise<void> {}
}

const note = new FunctionTool({
  name: 'note',
  description: 'Writes a note.',
  execute: async (_input: unknown, context?: Context) => {
    context?.state.set('notes', 1);
    context?.state.set('user:tea', true);
    context?.state.set('temp:now', true);
    const version = await context?.saveArtifact('note.txt', { text: 'Buy tea.' });
    return { version, names: await context?.listArtifacts() };
  },
});
const approve = new LongRunningFunctionTool({
  name: 'approve',
  description: 'Asks the manager.',
  execute: () => ({ status: 'pending' }),
});

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'note', args: {} }] })),
    jsonReply(wireResponse('Noted.')),
    jsonReply(wireResponse({ calls: [{ name: 'load_memory', args: { query: 'tea' } }] })),
    jsonReply(wireResponse('You like tea.')),
    jsonReply(wireResponse({ calls: [{ name: 'approve', args: {} }] })),
    jsonReply(wireResponse('I asked.')),
    jsonReply(wireResponse('It is approved.')),
  ],
  async main(tell) {
    const sessionService = new JsonSessions();
    const memoryService = new NoteMemory();
    const start = () =>
      new Runner({
        appName: 'notes',
        agent: new LlmAgent({ name: 'writer', model: 'gemini-flash-latest', tools: [note, LOAD_MEMORY, approve] }),
        sessionService,
        memoryService,
        artifactService: new ListArtifacts(),
        credentialService: new OneKey(),
      });
    const { id: sessionId } = await sessionService.createSession({ appName: 'notes', userId: 'ann' });
    let asked = { id: '', name: '' };
    const say = async (runner: Runner, newMessage: Content): Promise<void> => {
      for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) {
        tell(event);
        const [call] = event.longRunningToolIds?.length ? (event.content?.parts ?? []) : [];
        if (call?.functionCall) asked = { id: call.functionCall.id ?? '', name: call.functionCall.name ?? '' };
      }
    };
    const runner = start();
    for (const text of ['Write it down.', 'What do I like?', 'Ask the manager.'])
      await say(runner, { role: 'user', parts: [{ text }] });
    // Another runner over the same service continues the session.
    const response = { status: 'approved' };
    await say(start(), { role: 'user', parts: [{ functionResponse: { ...asked, response } }] });

    const stored = await sessionService.getSession({ appName: 'notes', userId: 'ann', sessionId });
    tell({ sessionId, state: { ...stored?.state }, events: stored?.events.length });
    if (stored) await memoryService.addSessionToMemory(stored);
    const { sessions } = await runner.sessionService.listSessions({ appName: 'notes', userId: 'ann' });
    tell({ added: memoryService.added, listed: sessions.map(({ id }) => id) });
    await runner.sessionService.deleteSession({ appName: 'notes', userId: 'ann', sessionId });
    tell({ rows: sessionService.rows.size });
  },
};
export default program;
