import { EventloomError } from '@eventloom/core';
import { describe, expect, test } from 'vitest';
import * as adk from './index.ts';

// As a program in JavaScript uses them: without types.
const names = adk as unknown as Readonly<
  Record<string, (new (...params: unknown[]) => object) & ((...params: unknown[]) => unknown)>
>;
const call = (name: string, ...params: unknown[]): unknown => names[name]?.(...params);
const make = (name: string, ...params: unknown[]): object => new (names[name] ?? Object)(...params);

class Silent extends adk.BaseAgent {
  protected override async *runAsyncImpl(): AsyncGenerator<adk.Event, void, void> {}
}
const agent = new Silent({ name: 'silent' });
class Observer extends adk.BasePlugin {}
abstract class Unlisted extends adk.BaseLlm {}
const router = () => 'silent';

describe('a name of the ADK refuses an input that cannot work, and says what to write', () => {
  test.each<[title: string, use: () => unknown, message: string]>([
    [
      'Runner without options',
      () => make('Runner'),
      'Runner: expected an object of options, got nothing; write new Runner({ appName, agent, sessionService })',
    ],
    [
      'InMemoryRunner without options',
      () => make('InMemoryRunner'),
      'InMemoryRunner: expected an object of options, got nothing; write new InMemoryRunner({ agent })',
    ],
    [
      'LLMRegistry.register with a class without names',
      () => adk.LLMRegistry.register(class Nameless {} as never),
      'LLMRegistry.register: Nameless has no list supportedModels with names or patterns; write static override readonly supportedModels = [/^my-model-/]',
    ],
    [
      'LLMRegistry.register with a class that has the empty list of BaseLlm',
      () => adk.LLMRegistry.register(Unlisted as never),
      'LLMRegistry.register: Unlisted has no list supportedModels with names or patterns; write static override readonly supportedModels = [/^my-model-/]',
    ],
    [
      'PluginManager with another value as plugin',
      () => make('PluginManager', [new Observer('o'), 5]),
      'PluginManager: plugins[1]: expected a plugin, got the number 5; write plugins: [new LoggingPlugin()]',
    ],
    [
      'State with another value than an object',
      () => make('State', 5),
      "State: expected an object, got the number 5; write new State({ city: 'Oslo' })",
    ],
    [
      'State with null as its changes',
      () => make('State', {}, null),
      "State: expected an object, got null; write new State({ city: 'Oslo' })",
    ],
    [
      'Workflow with a chain that leads nowhere',
      () => new adk.Workflow({ name: 'w', edges: [['START']] }),
      `Workflow "w": no edge leads from START to a node; write edges: [['START', first]]`,
    ],
    [
      'Graph without edges',
      () => new adk.Graph([]).validate(),
      "no edge leads from START to a node; write edges: [['START', first]]",
    ],
    [
      'node with a misspelt option of its retries',
      () => adk.node(() => 1, { name: 'n', retryConfig: { maxAttempt: 2 } as never }),
      'retryConfig: has no option "maxAttempt"; did you mean "maxAttempts"?',
    ],
    [
      'PluginManager.registerPlugin with a callback that no run calls',
      () => new adk.PluginManager().registerPlugin(Object.assign(new Observer('o'), { beforeContextCompaction() {} })),
      'PluginManager.registerPlugin: plugin "o": beforeContextCompaction is not called, because conversations are shortened outside of the events that plugins see; remove it, and write a summarizer of your own in eventsCompaction to see what is summarized',
    ],
    [
      'a runner with another value as plugin',
      () => new adk.InMemoryRunner({ agent, plugins: [new Observer('o'), {} as never] }),
      'Runner: plugins[1]: expected a plugin, got an object; write plugins: [new LoggingPlugin()]',
    ],
    [
      'FunctionNode with options in place of its parameters',
      () => make('FunctionNode', { name: 'x', handler: () => 1 }),
      "FunctionNode: name: expected a string, got an object; write new FunctionNode('work', (context, input) => …)",
    ],
    [
      'a runner with another value than a list of plugins',
      () => new adk.InMemoryRunner({ agent, plugins: 5 as never }),
      'Runner: plugins: expected a list of plugins, got the number 5; write plugins: [new LoggingPlugin()]',
    ],
    [
      'a runner with an app that has another value as plugin',
      () => new adk.InMemoryRunner({ app: new adk.App({ name: 'app', rootAgent: agent, plugins: [{} as never] }) }),
      'Runner: app: plugins[0]: expected a plugin, got an object; write plugins: [new LoggingPlugin()]',
    ],
    [
      'the models of a runner with a name that no class serves',
      () => new adk.InMemoryRunner({ agent }).models?.('other-1'),
      'LLMRegistry: no class serves the model "other-1"; write LLMRegistry.register(MyModel), or give the agent a model object',
    ],
    [
      'LLMRegistry.register without a class',
      () => adk.LLMRegistry.register('gemini' as never),
      'LLMRegistry.register: expected a class that extends BaseLlm, got a string; write LLMRegistry.register(MyModel)',
    ],
    [
      'RoutedAgent without agents',
      () => make('RoutedAgent', { name: 'r', router }),
      'RoutedAgent: agents: expected agents by name, or a list, got nothing; write agents: { quick, thorough }',
    ],
    [
      'RoutedAgent with another value as agent',
      () => make('RoutedAgent', { name: 'r', router, agents: { quick: 5 } }),
      'RoutedAgent: agents["quick"]: expected an agent, got the number 5; write agents: { quick, thorough }',
    ],
    [
      'RoutedAgent without a router',
      () => make('RoutedAgent', { name: 'r', agents: [agent] }),
      "RoutedAgent: router: expected a function, got nothing; write router: () => 'quick'",
    ],
    [
      'RoutedLlm without models',
      () => make('RoutedLlm', {}),
      'RoutedLlm: models: expected models by name, or a list, got nothing; write models: { quick, thorough }',
    ],
    [
      'JoinNode without options',
      () => make('JoinNode'),
      "JoinNode: expected an object of options, got nothing; write new JoinNode({ name: 'join' })",
    ],
    [
      'JoinNode with a misspelt option',
      () => make('JoinNode', { name: 'join', timeOut: 5 }),
      'JoinNode: has no option "timeOut"; did you mean "timeout"?',
    ],
    [
      'node with a misspelt option',
      () => call('node', agent, { timeOut: 5 }),
      'node: has no option "timeOut"; did you mean "timeout"?',
    ],
    [
      'RequestInput with a number',
      () => make('RequestInput', { message: 5 }),
      "RequestInput: message: expected a string, got the number 5; write message: 'Which city?'",
    ],
    [
      'RequestInput with a misspelt option',
      () => make('RequestInput', { mesage: 'Which?' }),
      'RequestInput: has no option "mesage"; did you mean "message"?',
    ],
    [
      'FileArtifactService without a path',
      () => make('FileArtifactService'),
      "FileArtifactService: expected the path of a folder, got nothing; write new FileArtifactService('artifacts')",
    ],
    [
      'FileArtifactService with an empty path',
      () => make('FileArtifactService', ''),
      "FileArtifactService: expected the path of a folder, got an empty text; write new FileArtifactService('artifacts')",
    ],
    [
      'getSessionServiceFromUri without a URL',
      () => call('getSessionServiceFromUri'),
      "getSessionServiceFromUri: expected a URL, got nothing; write getSessionServiceFromUri('sqlite://sessions.db')",
    ],
    [
      'getArtifactServiceFromUri without a URL',
      () => call('getArtifactServiceFromUri'),
      "getArtifactServiceFromUri: expected a URL, got nothing; write getArtifactServiceFromUri('file://artifacts')",
    ],
    [
      'UnsafeLocalCodeExecutor with an option of another name',
      () => make('UnsafeLocalCodeExecutor', { timeout: 5 }),
      'UnsafeLocalCodeExecutor: has no option "timeout"; did you mean "timeoutSeconds"?',
    ],
    [
      'SecurityPlugin with a policy engine that does nothing',
      () => make('SecurityPlugin', { policyEngine: {} }),
      "SecurityPlugin: policyEngine: expected a policy engine with evaluate, got an object; write policyEngine: { evaluate: async ({ tool }) => ({ outcome: 'ALLOW' }) }",
    ],
    [
      'setLogLevel with a text',
      () => call('setLogLevel', 'x'),
      'setLogLevel: expected a level from 0 to 3, got a string; write setLogLevel(LogLevel.WARN)',
    ],
    [
      'setLogger with an object without methods',
      () => call('setLogger', {}),
      'setLogger: expected a logger with setLogLevel, log, debug, info, warn, error, got an object without setLogLevel; write null for no logger',
    ],
    [
      'AuthHandler without a config',
      () => make('AuthHandler'),
      "AuthHandler: expected an auth config with authScheme and credentialKey, got nothing; write new AuthHandler({ authScheme, rawAuthCredential, credentialKey: 'calendar' })",
    ],
    [
      'LiveRequestQueue.sendContent without content',
      () => new adk.LiveRequestQueue().sendContent(undefined as never),
      "LiveRequestQueue.sendContent: the content has no parts; write { role: 'user', parts: [{ text: 'hello' }] }",
    ],
    [
      'LiveRequestQueue.sendRealtime without a blob',
      () => new adk.LiveRequestQueue().sendRealtime(undefined as never),
      'LiveRequestQueue.sendRealtime: the blob has no data or no mimeType',
    ],
    [
      'toStructuredEvents without an event',
      () => call('toStructuredEvents'),
      'toStructuredEvents: expected an event, got nothing; write toStructuredEvents(event) with an event of a run, or one of createEvent',
    ],
    ...['isFinalResponse', 'getFunctionCalls', 'getFunctionResponses', 'stringifyContent'].map(
      (name): [string, () => unknown, string] => [
        `${name} without an event`,
        () => call(name),
        `${name}: expected an event, got nothing; write ${name}(event)`,
      ],
    ),
  ])('%s', (_title, use, message) => {
    const thrown = errorOf(use);
    expect(EventloomError.isInstance(thrown)).toBe(true);
    expect(String(thrown)).toContain(message);
  });

  test.each<[title: string, use: () => Promise<unknown>, message: string]>([
    [
      'runEphemeral without parameters',
      () => new adk.InMemoryRunner({ agent }).runEphemeral(undefined as never).next(),
      'runEphemeral: expected an object of options, got nothing; write runEphemeral({ userId, newMessage })',
    ],
    [
      'runEphemeral with a misspelt parameter',
      () => new adk.InMemoryRunner({ agent }).runEphemeral({ userId: 'u', message: 'Hi.' } as never).next(),
      'runEphemeral: has no option "message"; did you mean "newMessage"?',
    ],
    [
      'OAuth2CredentialExchanger.exchange without parameters',
      () => new adk.OAuth2CredentialExchanger().exchange(undefined as never),
      'OAuth2CredentialExchanger: authScheme is missing; write exchange({ authScheme, authCredential })',
    ],
    [
      'OAuth2CredentialExchanger.exchange without a credential',
      () => new adk.OAuth2CredentialExchanger().exchange({ authScheme: { type: 'oauth2' } } as never),
      'OAuth2CredentialExchanger: authCredential is missing; write exchange({ authScheme, authCredential })',
    ],
  ])('%s', async (_title, use, message) => {
    const thrown: unknown = await use().catch((error: unknown) => error);
    expect(EventloomError.isInstance(thrown)).toBe(true);
    expect(String(thrown)).toContain(message);
  });
});

/** Names that only the runtime constructs or calls, with values that it checked itself. */
const OF_THE_RUNTIME =
  /Error$|^(?:ActiveStreamingTool|BaseCodeExecutor|CallbackContext|Context|NodeContext|ToolContext|hasTrailingCodeExecutionResult|mergeStates)$/;
const VALUES: readonly (readonly unknown[])[] = [[], [null], [5], ['x'], [{}], [[]], [() => 1]];

describe('an argument of any kind', () => {
  const functions = Object.entries(names).filter(
    ([name, value]) => typeof value === 'function' && !OF_THE_RUNTIME.test(name),
  );

  test.each(functions)('of %s fails with a code, or not at all', async (name, value) => {
    const isClass =
      /^(?:class|function [A-Z])/.test(Function.prototype.toString.call(value)) || /^[A-Z][a-z]/.test(name);
    const uncoded: unknown[] = [];
    for (const params of VALUES)
      try {
        // An agent that loads a page or waits for a message does not settle.
        const made: unknown = isClass ? Reflect.construct(value, params) : value(...params);
        if (made instanceof Promise) await Promise.race([made, Promise.resolve()]);
      } catch (error) {
        if (!EventloomError.isInstance(error)) uncoded.push([params, error]);
      }
    expect(uncoded).toEqual([]);
  });
});

function errorOf(use: () => unknown): unknown {
  try {
    return use();
  } catch (error) {
    return error;
  }
}
