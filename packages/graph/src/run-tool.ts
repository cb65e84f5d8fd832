import {
  type BaseTool,
  type Event,
  type EventActions,
  type FunctionCall,
  type InvocationContext,
  type JsonObject,
  type JsonValue,
  type Part,
  REQUEST_INPUT,
  RunAbortedError,
  StorageError,
  type ToolContext,
  toError,
} from '@eventloom/core';
import {
  type AbortGuard,
  confirmationOf,
  contextInTime,
  describeKind,
  isEmptyActions,
  personRequests,
  refusalOf,
  runInTime,
} from '@eventloom/core/internal';
import { AttemptToolContext } from './attempt-context.ts';
import { NodeError } from './errors.ts';
import { frozen, toOutput } from './json-values.ts';
import type { AskedQuestion } from './graph-record.ts';
import type { NodeOutcome } from './node-outcome.ts';
import type { NodeRun } from './node-run.ts';

/**
 * Runs one attempt of a tool node under the session's tool ledger: see `runUnderLedger`. The tool may ask people, as it may under a model.
 */
export async function runTool(
  run: NodeRun,
  tool: BaseTool,
  input: JsonValue | undefined,
  guard: AbortGuard,
): Promise<NodeOutcome> {
  const { questions } = run;
  if (questions.some(({ answer }) => answer === undefined)) return { isWaiting: true };
  const args = toArgs(run.node.name, input);
  const refusal = questions.map(({ call, answer: given }) => refusalOf(call, given)).find((each) => each !== undefined);
  if (refusal) return { isWaiting: false, output: frozen(refusal) };
  // A call that continues with answers has its own ledger entry; the entry of the call before does not matter.
  const call = questions.length === 0 ? run.id : `${run.id}+${questions.length}`;
  const check = (): void => {
    if (toolContext.hasReturned) throw new RunAbortedError(`node "${run.node.name}": this attempt has ended`);
  };
  const context = run.beginAttempt().withAbort(guard);
  const params = {
    invocationContext: tool.timeoutMs === undefined ? context : contextInTime(context),
    functionCallId: run.id,
    toolConfirmation: questions
      .map(({ call: question, answer: given }) => confirmationOf(question, given))
      .findLast((each) => each !== undefined),
    inputs: inputsIn(questions),
    requests: questions.map(({ call: question }) => question),
    tool,
    listener: {
      progress: (output: JsonValue) => run.events.emitToolProgress(run.id, tool.name, output),
      event: (event: Event) => run.post(event),
    },
  };
  const toolContext: AttemptToolContext = new AttemptToolContext(params, check);
  return run.ledger.runTool(call, tool, toolContext, () => runAttempt(run, tool, args, toolContext, guard));
}

/** Runs the tool, which may ask people. */
async function runAttempt(
  run: NodeRun,
  tool: BaseTool,
  args: JsonObject,
  toolContext: ToolContext,
  guard: AbortGuard,
): Promise<NodeOutcome> {
  const { invocationContext: context } = toolContext;
  await toolContext.loadGivenCredentials();
  const operation = context.invocation.operations?.start({ kind: 'tool', context: toolContext, name: tool.name, args });
  const work = (): Promise<unknown> => answer(run, tool, args, toolContext, guard);
  const result = await (operation ? operation.around(work, (returned) => returned) : work());
  const { actions } = toolContext;
  const requests = questionsIn(context, { id: run.id, name: tool.name, args }, actions);
  if (toolContext.isPaused || requests.length > 0) {
    if (!context.isResumable)
      throw new NodeError(run.node.name, 'its tool waits for an answer; start the run with `resumable: true`');
    return toolContext.isPaused ? { isWaiting: true } : { isWaiting: true, questions: requests };
  }
  const output = toOutput(run.node.name, result);
  const changed = isEmptyActions(actions) ? undefined : actions;
  return { isWaiting: false, output, actions: changed };
}

function toArgs(nodeName: string, input: JsonValue | undefined): JsonObject {
  if (input === undefined || input === null) return {};
  // Copy the input, because plugins and tools may change their arguments and other nodes share the input.
  if (typeof input === 'object' && !Array.isArray(input)) return structuredClone(input);
  throw new NodeError(
    nodeName,
    `input: expected an object with the arguments of the tool, got ${describeKind(input)}; add a function node before it that returns one`,
  );
}

/** Runs the tool with the plugin callbacks around it. */
async function answer(
  run: NodeRun,
  tool: BaseTool,
  toolArgs: JsonObject,
  toolContext: ToolContext,
  guard: AbortGuard,
): Promise<unknown> {
  const { plugins } = run.context;
  let result: unknown = plugins.has('beforeToolCallback')
    ? await plugins.first('beforeToolCallback', { tool, toolArgs, toolContext })
    : undefined;
  try {
    const { timeoutMs } = tool;
    const request = { args: toolArgs, toolContext };
    result ??= await guard.until(
      Promise.resolve(timeoutMs === undefined ? tool.runAsync(request) : runInTime(tool, timeoutMs, request)),
    );
  } catch (thrown) {
    // Plugins are not asked about a StorageError, as when a model calls the tool: no answer replaces a failed write.
    if (guard.signal.aborted || StorageError.isInstance(thrown) || !plugins.has('onToolErrorCallback')) throw thrown;
    const error = toError(thrown);
    const instead = await plugins.first('onToolErrorCallback', { tool, toolArgs, toolContext, error });
    if (!instead) throw thrown;
    result = instead;
  }
  if (toolContext.isPaused || !plugins.has('afterToolCallback')) return result;
  // The output of a graph called as a tool is frozen, and plugins may change the result.
  if (tool.calledAgent && Object.isFrozen(result)) result = structuredClone(result);
  // Plugins see the result of the tool, of any type; the declared type is that of the ADK.
  const given = { tool, toolArgs, toolContext, result: result as Record<string, unknown> };
  return (await plugins.first('afterToolCallback', given)) ?? result;
}

/** Removes the requests to people from a tool's actions, and returns them as parts. */
function questionsIn(context: InvocationContext, call: FunctionCall, actions: EventActions): Part[] {
  const requests = personRequests(context, [call], actions).flat();
  delete actions.requestedAuthConfigs;
  delete actions.requestedToolConfirmations;
  delete actions.requestedInputs;
  return requests;
}

function inputsIn(questions: readonly AskedQuestion[]): ReadonlyMap<string, unknown> {
  const inputs = questions.filter(({ call }) => call.name === REQUEST_INPUT);
  return new Map(inputs.map(({ key, answer: given }) => [key, given?.['result']]));
}
