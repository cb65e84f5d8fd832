import {
  createEvent,
  type Context,
  type Event,
  InMemoryRunner,
  LlmAgent,
  type LlmAgentConfig,
  type LlmRequest,
  type Session,
  type ToolConfirmation,
} from '@google/adk';
import { createUserContent, type FinishReason, type GroundingMetadata, Modality } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

// The compiler checks these functions: their lines compile for @google/adk too.

function sourcesOf(event: Event): (string | undefined)[] {
  const metadata: GroundingMetadata | undefined = event.groundingMetadata;
  const titles = event.groundingMetadata?.groundingChunks?.map((chunk) => chunk.web?.title) ?? [];
  return [...titles, ...(metadata?.webSearchQueries ?? [])];
}

function reasonOf(event: Event): string {
  const reason: FinishReason | undefined = event.finishReason;
  return reason ?? 'none';
}

function edit(event: Event): void {
  event.author = 'editor';
  event.branch = 'a.b';
  event.partial = false;
  event.content = createUserContent('Edited.');
  event.customMetadata = { ...event.customMetadata, edited: true };
  event.longRunningToolIds = [];
}

function shorten(session: Session): void {
  session.events = session.events.filter((event) => event.author !== 'user');
}

function declarationsIn(request: LlmRequest): number {
  request.toolsDict = { ...request.toolsDict };
  request.liveConnectConfig.responseModalities = [Modality.AUDIO];
  const { tools = [] } = request.config ?? {};
  return tools.flatMap((tool) => ('functionDeclarations' in tool ? (tool.functionDeclarations ?? []) : [])).length;
}

export function confirmationOf(context: Context): ToolConfirmation | undefined {
  const confirmation: ToolConfirmation | undefined = context.toolConfirmation;
  return confirmation;
}

const config: LlmAgentConfig = { name: 'editor', model: 'gemini-flash-latest' };
config.instruction = 'Edit.';

const program: Program = {
  replies: [jsonReply(wireResponse('A text.'))],
  async main(tell) {
    config.beforeModelCallback = ({ request }) => {
      tell(`declares ${declarationsIn(request)}`);
      return undefined;
    };
    const runner = new InMemoryRunner({ agent: new LlmAgent(config), appName: 'texts' });
    const key = { appName: 'texts', userId: 'ann' };
    const { id: sessionId } = await runner.sessionService.createSession(key);
    for await (const event of runner.runAsync({ ...key, sessionId, newMessage: createUserContent('Write.') })) {
      tell([reasonOf(event), ...sourcesOf(event)]);
      const [part] = event.content?.parts ?? [];
      if (part) part.text = 'Changed.';
      tell(`reads ${event.content?.parts?.[0]?.text}`);
    }
    const session = await runner.sessionService.getSession({ ...key, sessionId });
    if (session) shorten(session);
    tell(`keeps ${session?.events.length}`);
    const list = await runner.sessionService.listSessions(key);
    tell(`counts ${list.totalItems}`);
    const event = createEvent({ author: 'clerk' });
    edit(event);
    tell({ ...event, id: 'e', timestamp: 1 });
  },
};
export default program;
