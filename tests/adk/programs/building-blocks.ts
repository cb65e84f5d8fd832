import {
  BaseLlm,
  type BaseLlmConnection,
  BasePlugin,
  createSession,
  FunctionTool,
  Gemini,
  InMemoryRunner,
  InMemorySessionService,
  type InvocationContext,
  LiveRequestQueue,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
  LLMRegistry,
  LoggingPlugin,
  PluginManager,
  type ReadonlyContext,
  State,
} from '@google/adk';
import type { Content } from '@google/genai';
import { z } from 'zod';
import type { Program } from '../stage.ts';

/** A model that repeats the last message, and asks for one if there is none. */
class Echo extends BaseLlm {
  static override readonly supportedModels: (string | RegExp)[] = [/^echo-.*/];

  override async *generateContentAsync(request: LlmRequest): AsyncGenerator<LlmResponse, void> {
    this.maybeAppendUserContent(request);
    const last = request.contents.at(-1);
    yield { content: { role: 'model', parts: [{ text: `${last?.role}: ${last?.parts?.[0]?.text?.slice(0, 5)}` }] } };
  }

  override async connect(): Promise<BaseLlmConnection> {
    throw new Error('not live');
  }
}

class Greeter extends BasePlugin {
  override async onUserMessageCallback({ userMessage }: { userMessage: Content }): Promise<Content | undefined> {
    return { role: 'user', parts: [{ text: `Hello, ${userMessage.parts?.[0]?.text}` }] };
  }
}

const add = new FunctionTool({
  name: 'add',
  description: 'Adds one.',
  parameters: z.object({ to: z.number() }),
  execute: ({ to }) => to + 1,
});

const program: Program = {
  replies: [],
  async main(tell) {
    // Agents
    const child = new LlmAgent({
      name: 'child',
      instruction: 'Be {mood}.',
      globalInstruction: () => 'Be brief.',
      tools: [add],
      outputSchema: z.object({ n: z.number() }),
      beforeModelCallback: [() => undefined],
    });
    const root = new LlmAgent({ name: 'root', model: 'gemini-flash-latest', subAgents: [child] });
    const context = {} as ReadonlyContext;
    tell([child.canonicalModel.model, (await child.canonicalTools()).map(({ name }) => name), root.subAgents.length]);
    tell([await child.canonicalInstruction(context), await child.canonicalGlobalInstruction(context)]);
    tell([child.canonicalBeforeModelCallbacks.length, child.canonicalAfterToolCallbacks.length]);
    tell([child.validateOutput({ n: 1 }), child.disallowTransferToParent, child.disallowTransferToPeers]);
    try {
      child.validateOutput({ n: 'one' });
    } catch {
      tell('the value does not match');
    }

    // Models
    LLMRegistry.register(Echo);
    const echo = LLMRegistry.newLlm('echo-1');
    const request: LlmRequest = { contents: [], config: {}, liveConnectConfig: {}, toolsDict: {} };
    for await (const { content } of echo.generateContentAsync(request)) tell(content?.parts?.[0]?.text?.slice(0, 6));
    const runner = new InMemoryRunner({ agent: new LlmAgent({ name: 'echo', model: 'echo-2' }) });
    const newMessage = { role: 'user', parts: [{ text: 'hello' }] };
    for await (const event of runner.runEphemeral({ userId: 'ann', newMessage })) tell(event);
    const gemini = new Gemini({ model: 'gemini-flash-latest', apiKey: 'key', useInteractionsApi: false });
    tell([gemini.useInteractionsApi, gemini.apiBackend]);

    // Live requests
    const queue = new LiveRequestQueue();
    queue.send({ content: newMessage });
    queue.send({ activityStart: {} });
    const [first, second, third] = [queue.get(), queue.get(), queue.get()];
    queue.sendRealtime({ data: 'AAAA', mimeType: 'audio/pcm' });
    queue.send({ activityEnd: {} });
    queue.close();
    for (const each of [first, second, third]) tell(Object.keys(await each).toSorted());
    for await (const each of queue) tell(Object.keys(each));
    tell([await queue.get(), await queue.get()]);

    // Plugins
    const plugins = new PluginManager();
    plugins.registerPlugin(new LoggingPlugin());
    plugins.registerPlugin(new Greeter('greeter'));
    tell([plugins.hasPlugins, plugins.getPlugin('greeter')?.name, plugins.getPlugin('other') ?? 'none']);
    const invocationContext = {} as InvocationContext;
    tell(
      await new PluginManager([new Greeter('one')]).runOnUserMessageCallback({
        userMessage: newMessage,
        invocationContext,
      }),
    );
    try {
      plugins.registerPlugin(new Greeter('greeter'));
    } catch {
      tell('the name is taken');
    }
    runner.pluginManager.registerPlugin(new Greeter('later'));
    for await (const event of runner.runEphemeral({ userId: 'ann', newMessage })) tell(event);

    // State and sessions
    const delta: Record<string, unknown> = { b: 2 };
    const state = new State({ a: 1 }, delta);
    state.set('c', 3);
    state.update({ d: 4 });
    tell([state.get('a'), state.get('b'), state.get('x', 5), state.has('c'), state.hasDelta(), new State().hasDelta()]);
    tell({ delta, record: state.toRecord() });
    tell([createSession({ id: 's', appName: 'app', userId: 'ann' }).id]);
    tell([runner.sessionService instanceof InMemorySessionService, new Greeter('one') instanceof BasePlugin]);
    tell([echo instanceof BaseLlm, gemini instanceof BaseLlm, state instanceof State]);
  },
};
export default program;
