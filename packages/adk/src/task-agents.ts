import {
  type BaseAgent,
  ConfigurationError,
  type Event,
  type FunctionDeclaration,
  type InvocationContext,
  type RunAsyncToolRequest,
  type ToolProcessLlmRequest,
} from '@eventloom/core';
import { Calls, isRecord, type SessionCall } from '@eventloom/core/internal';
import { isLlmAgent, type LlmAgent } from '@eventloom/llm-agent';
import { ValueSchema } from '@eventloom/tools';
import { OpenCallTool } from './open-call-tool.ts';

const REQUEST = {
  type: 'object',
  properties: { request: { type: 'string', description: 'The task, with everything that the agent has to know.' } },
  required: ['request'],
};
const NOTE = 'A specialized agent does this task. Do not call another tool in the same reply.';

/**
 * The tool with which an agent hands a task to a sub-agent with `mode: 'task'` or `'single_turn'`, as in adk-python 2.
 * Its call stays open until the sub-agent has a result; `runTasks` runs the sub-agent.
 */
export class TaskAgentTool extends OpenCallTool {
  readonly agent: LlmAgent;
  readonly #input: ValueSchema;

  constructor(agent: LlmAgent) {
    super({ name: agent.name, description: `${agent.description}\n${NOTE}`.trim() });
    this.agent = agent;
    this.#input = new ValueSchema(agent.inputSchema ?? REQUEST, `agent "${agent.name}": inputSchema`);
  }

  override _getDeclaration(): FunctionDeclaration {
    return { name: this.name, description: this.description, parametersJsonSchema: this.#input.json };
  }

  /** Adds the tool to the request. @throws ConfigurationError in a live run, in which no task starts */
  override processLlmRequest(request: ToolProcessLlmRequest): Promise<void> | void {
    const { agentName, invocationContext } = request.toolContext;
    if (invocationContext.liveRequestQueue)
      throw new ConfigurationError(
        `agent "${agentName}": a live run starts no task of the sub-agent "${this.name}"; leave its mode out, or write tools: [new AgentTool({ agent: ${this.name} })]`,
      );
    return super.processLlmRequest(request);
  }

  override async runAsync({ args }: RunAsyncToolRequest): Promise<unknown> {
    const checked = await this.#input.check(args);
    return 'issues' in checked
      ? { error: `the arguments of ${this.name} are not valid: ${checked.issues.join('; ')}` }
      : undefined;
  }
}

/** Returns the tools for those sub-agents that do tasks. A tool of the same name takes precedence. */
export function taskAgentTools(subAgents: readonly BaseAgent[] = [], tools: readonly unknown[] = []): TaskAgentTool[] {
  const names = new Set(tools.map((tool) => (isRecord(tool) ? tool['name'] : undefined)));
  return subAgents
    .filter((agent) => isLlmAgent(agent) && agent.mode !== undefined)
    .filter(({ name }) => !names.has(name))
    .map((agent) => new TaskAgentTool(agent as LlmAgent));
}

/**
 * Runs the turn of an agent whose sub-agents do tasks. A sub-agent with an open call comes first: the message of the
 * user is for it. Its result is the response of the call, with which the agent's turn continues. Ends when a sub-agent
 * waits for the user.
 *
 * @param runTurn runs the agent's own turn, until its model has answered or a task was called
 */
export async function* runTasks(
  context: InvocationContext,
  tools: readonly TaskAgentTool[],
  runTurn: () => AsyncGenerator<Event, void, void>,
): AsyncGenerator<Event, void, void> {
  for (;;) {
    for (const call of openTasks(context, tools)) {
      const agent = tools.find(({ name }) => name === call.call.name)?.agent;
      if (!agent) continue;
      if (findOutput(context, agent, call) === undefined) yield* context.runAgent(agent, { isolationScope: call.id });
      const output = findOutput(context, agent, call);
      if (output === undefined) return;
      const response = isRecord(output) ? output : { result: output };
      const parts = [{ functionResponse: { id: call.id, name: call.call.name ?? '', response } }];
      yield context.createEvent({ content: { role: 'user', parts } });
    }
    // The turn paused for tasks that are done now.
    context.endPause();
    yield* runTurn();
    if (context.endInvocation || openTasks(context, tools).length === 0) return;
  }
}

/** Returns the open calls of tasks that the agent of the context made, oldest first. */
function openTasks(context: InvocationContext, tools: readonly TaskAgentTool[]): SessionCall[] {
  const { agent, invocation } = context;
  const names = new Set(tools.map(({ name }) => name));
  return Calls.of(invocation).all.filter(
    ({ call, event, branch, responses, isImported }) =>
      responses.length === 0 &&
      !isImported &&
      event.author === agent.name &&
      branch === context.branch &&
      names.has(call.name ?? ''),
  );
}

/**
 * Returns the result of the task that a call handed over; undefined while there is none. An interrupted run may have
 * stored the result and not the response.
 */
function findOutput({ session }: InvocationContext, { name }: LlmAgent, { id, eventIndex }: SessionCall): unknown {
  for (let at = session.events.length - 1; at > eventIndex; at--) {
    const event = session.events[at];
    if (event?.isolationScope === id && event.author === name && event.output !== undefined) return event.output;
  }
  return undefined;
}
