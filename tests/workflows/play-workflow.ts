import { type Event, getFunctionCalls, InMemoryRunner } from '@eventloom/adk';
import type { FunctionCall, Part } from '@eventloom/core';
import { findLooseEnds } from '@eventloom/runner';
import { createSeededRandom, type SeededRandom } from '../nemesis/seeded-random.ts';
import { buildWorkflow, LATE_RESULT } from './build-workflow.ts';
import { generateWorkflow, type WorkflowPlan } from './workflow-plan.ts';

/** The result of one play of a workflow. */
export interface Played {
  /** The work of its nodes, models and tools, and the outputs of its nodes, in order. */
  readonly steps: readonly string[];
  readonly messages: number;
}

/** A workflow of a seed, played with pauses and without. */
export interface Comparison {
  readonly plan: WorkflowPlan;
  readonly withPauses: Played;
  readonly withoutPauses: Played;
  /** Steps that only one of both has. */
  readonly faults: readonly string[];
}

interface OpenCall {
  readonly id: string;
  readonly name: string;
  readonly message: string;
}

/** Plays the workflow of a seed with pauses and without, and compares the steps. */
export async function compareWorkflow(seed: number): Promise<Comparison> {
  const random = createSeededRandom(seed);
  const plan = generateWorkflow(random);
  const withoutPauses = await playWorkflow(plan, false, random);
  const withPauses = await playWorkflow(plan, true, random);
  return { plan, withPauses, withoutPauses, faults: compareSteps(withoutPauses.steps, withPauses.steps) };
}

/** Returns the steps that are missing in the play with pauses, and those that only it has. The order of steps does not count. */
export function compareSteps(withoutPauses: readonly string[], withPauses: readonly string[]): string[] {
  const count = (steps: readonly string[]) => Map.groupBy(steps, (step) => step);
  const expected = count(withoutPauses);
  const found = count(withPauses);
  const faults: string[] = [];
  for (const step of new Set([...expected.keys(), ...found.keys()])) {
    const [without, with_] = [expected.get(step)?.length ?? 0, found.get(step)?.length ?? 0];
    if (without !== with_) faults.push(`${step}: ${without} times without pauses, ${with_} times with pauses`);
  }
  return faults;
}

/**
 * Plays a conversation: a message, and then answers to one or two of the open questions at a time, until none is open.
 * @param approves decides on each approval, by its number
 */
export async function playWorkflow(
  plan: WorkflowPlan,
  pauses: boolean,
  random: SeededRandom,
  approves: (number: number) => boolean = () => true,
): Promise<Played> {
  const steps: string[] = [];
  const agent = buildWorkflow(plan, { pauses, note: (step) => steps.push(step) });
  const resumable = random.next() < 0.5 ? { resumabilityConfig: { isResumable: true } } : {};
  const runner = new InMemoryRunner({ agent, appName: 'app', ...resumable });
  const user = { appName: 'app', userId: 'ann', sessionId: 's' };
  await runner.sessionService.createSession(user);
  const open = new Map<string, OpenCall>();
  let approvals = 0;
  const answerTo = ({ id, name, message }: OpenCall): Part => {
    open.delete(id);
    const response =
      name === 'adk_request_confirmation'
        ? { confirmed: approves(++approvals) }
        : name === 'adk_request_input'
          ? { result: message }
          : LATE_RESULT;
    return { functionResponse: { id, name, response } };
  };
  let parts: Part[] = [{ text: 'Go' }];
  for (let messages = 1; ; messages++) {
    try {
      for await (const event of runner.runAsync({ ...user, newMessage: { role: 'user', parts } })) {
        const path = event.nodeInfo?.path ?? '';
        // The output of a question is in an event of its node only if it is not the answer.
        if (event.output !== undefined && !/question\d+(@\d+)?$/.test(path))
          steps.push(`${path} has the output ${JSON.stringify(event.output)}`);
        if (event.errorCode !== undefined) steps.push(`${event.author} fails: ${event.errorMessage}`);
        for (const call of openCallsOf(event)) open.set(call.id, call);
      }
    } catch (error) {
      steps.push(`the run fails: ${String(error)}`);
      return { steps, messages };
    }
    if (open.size === 0) {
      for (const looseEnd of await findLooseEnds(runner.sessionService, user))
        steps.push(`a loose end: ${JSON.stringify(looseEnd)}`);
      return { steps, messages };
    }
    if (messages === 200) {
      steps.push('the workflow asks for ever');
      return { steps, messages };
    }
    const calls = [...open.values()];
    const first = random.between(0, calls.length - 1);
    const chosen = calls.slice(first, first + random.between(1, 2));
    const answers = chosen.map(answerTo);
    const [only, ...others] = calls;
    const isText = only?.name === 'adk_request_input' && others.length === 0 && random.next() < 0.4;
    parts = isText ? [{ text: only.message }] : answers;
  }
}

/** The calls of an event that wait for a person or a client. Those of agents and workflows wait for what these do. */
function openCallsOf(event: Event): OpenCall[] {
  const isOpen = ({ id = '', name = '' }: FunctionCall): boolean =>
    event.longRunningToolIds?.includes(id) === true && /^(adk|use)_/.test(name);
  return getFunctionCalls(event)
    .filter(isOpen)
    .map(({ id = '', name = '', args }) => ({ id, name, message: String(args?.['message']) }));
}
