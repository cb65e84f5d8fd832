import {
  type BaseTool,
  ConfigurationError,
  contentText,
  createEvent,
  createEventActions,
  EventloomError,
  type FunctionCall,
  StorageError,
  toError,
  ToolContext,
} from '@eventloom/core';
import {
  checkOptions,
  confirmationOf,
  contextInTime,
  describeKind,
  inputRequestOf,
  isBaseTool,
  isRecord,
  isToolResult,
  jsonOrText,
  type LedgerOutcome,
  type ObservedOperation,
  personRequests,
  reportTo,
  runInTime,
  runUnderLedger,
} from '@eventloom/core/internal';
import { toToolResponse } from '@eventloom/llm-agent/internal';
import { requireArgument } from '../check-arguments.ts';
import { BaseNode, type BaseNodeConfig, isContent, NODE_OPTIONS } from './base-node.ts';
import type { AdkNodeContext } from './node-context.ts';

/** Options of a tool node. */
export type ToolNodeConfig = Partial<BaseNodeConfig>;

/**
 * A node that calls a tool. Its input are the arguments: an object, or its JSON. Its output is the result of the tool,
 * `{ error }` if the tool throws.
 */
export class ToolNode extends BaseNode {
  readonly tool: BaseTool;

  /** @throws ConfigurationError for a long-running tool, and for an option that is unknown or invalid */
  constructor(tool: BaseTool, config: ToolNodeConfig = {}) {
    requireArgument(isBaseTool(tool), 'ToolNode', 'a tool', tool, 'new ToolNode(new FunctionTool({ … }))');
    if (new.target === ToolNode) checkOptions(`ToolNode "${tool.name}"`, NODE_OPTIONS, config);
    super({ ...config, name: config.name ?? tool.name, rerunOnResume: config.rerunOnResume ?? true });
    if (tool.isLongRunning)
      throw new ConfigurationError(
        `ToolNode "${this.name}": the tool is long-running; write a function node that yields new RequestInput({ message })`,
      );
    this.tool = tool;
  }

  protected override async *runImpl(context: AdkNodeContext, input: unknown): AsyncGenerator<unknown, void, void> {
    const { tool } = this;
    const { invocationContext, place } = context;
    const args = toArgs(this.name, input);
    const id = `${context.nodePath}:${context.runId}`;
    const answered = place.questions.map((call) => [call, context.resumeInputs[call.id ?? '']] as const);
    const toolContext = new ToolContext({
      invocationContext: tool.timeoutMs === undefined ? invocationContext : contextInTime(invocationContext),
      functionCallId: id,
      requests: place.questions,
      tool,
      toolConfirmation: answered
        .map(([call, given]) => confirmationOf(call, isRecord(given) ? given : undefined))
        .findLast((each) => each !== undefined),
      inputs: new Map(answered.flatMap(([call, given]) => toInput(call, given))),
    });
    await toolContext.loadGivenCredentials();
    const { executionId, invocation, invocationId } = invocationContext;
    // Two calls of a workflow as a tool have nodes with the same paths.
    const entryId = `${executionId}/${id}#${place.activation}+${place.questions.length}`;
    const before = invocation.resumedLog
      ? (await invocation.ledger.listToolCalls(invocationId)).find((entry) => entry.entryId === entryId)
      : undefined;
    const ran = await runUnderLedger(invocationContext, { entryId, name: tool.name }, before, tool, {
      toolContext,
      runTool: () => {
        const operation = invocation.operations?.start({ kind: 'tool', context: toolContext, name: tool.name, args });
        const work = (): Promise<LedgerOutcome> => runTool(tool, args, toolContext, operation);
        return operation ? operation.around(work, ({ response }) => response) : work();
      },
    });
    const { response = {}, parts, actions = createEventActions() } = ran;
    const requests = personRequests(invocationContext, [{ id, name: tool.name, args }], actions).flat();
    if (requests.length > 0) {
      const longRunningToolIds = requests.flatMap(({ functionCall }) => functionCall?.id ?? []);
      const { stateDelta, removedState, artifactDelta } = actions;
      const changes = { stateDelta, artifactDelta, ...(removedState ? { removedState } : {}) };
      yield createEvent({ content: { role: 'model', parts: requests }, longRunningToolIds, actions: changes });
      return;
    }
    const functionResponse = { id, name: tool.name, response, ...(parts ? { parts: [...parts] } : {}) };
    yield createEvent({ content: { role: 'user', parts: [{ functionResponse }] }, actions, output: response });
  }
}

/** Returns the answer to a request for input, with the key of the request; empty for another request, and without an answer. */
function toInput(call: FunctionCall, given: unknown): [string, unknown][] {
  const request = inputRequestOf(call);
  return request && given !== undefined ? [[request.key, given]] : [];
}

/** Runs a tool with the callbacks of plugins. The result of a tool that throws is `{ error }`. */
async function runTool(
  tool: BaseTool,
  toolArgs: Record<string, unknown>,
  toolContext: ToolContext,
  operation: ObservedOperation | undefined,
): Promise<LedgerOutcome> {
  const { plugins } = toolContext.invocationContext;
  let result: unknown = await plugins.first('beforeToolCallback', { tool, toolArgs, toolContext });
  try {
    const { timeoutMs } = tool;
    const request = { args: toolArgs, toolContext };
    result ??= await (timeoutMs === undefined ? tool.runAsync(request) : runInTime(tool, timeoutMs, request));
  } catch (thrown) {
    if (toolContext.abortSignal.aborted || StorageError.isInstance(thrown)) throw thrown;
    operation?.failWith(thrown);
    const error = toError(thrown);
    result = await plugins.first('onToolErrorCallback', { tool, toolArgs, toolContext, error });
    // Clients read the output, and the error of an agent may quote what its model threw only for the program.
    const text = tool.calledAgent && EventloomError.isInstance(error) ? error.publicMessage : error.message;
    result ??= { error: text || error.name };
  }
  // Plugins see the result of the tool, of any type; the declared type is that of the ADK.
  const given = isToolResult(result) ? result.response : result;
  const returned = given as Record<string, unknown>;
  result = (await plugins.first('afterToolCallback', { tool, toolArgs, toolContext, result: returned })) ?? result;
  const response = toToolResponse(tool.name, result);
  if ('fault' in response) {
    reportTo(toolContext.invocationContext.platform, response.fault);
    operation?.failWith(response.fault);
  }
  return { response: response.response, parts: response.parts, actions: createEventActions(toolContext.actions) };
}

/** Returns the input as the arguments of a tool. @throws ConfigurationError for an input that is not an object */
function toArgs(owner: string, input: unknown): Record<string, unknown> {
  const text = isContent(input) ? contentText(input) : input;
  const value = typeof text === 'string' ? (text.trim() === '' ? {} : jsonOrText(text)) : text;
  if (value === null || value === undefined) return {};
  if (isRecord(value)) return structuredClone(value);
  throw new ConfigurationError(
    `ToolNode "${owner}": input: expected an object with the arguments of the tool, got ${describeKind(input)}; put a function node before it that returns one`,
  );
}
