import {
  type BaseSessionService,
  type Event,
  EventloomError,
  getFunctionCalls,
  getFunctionResponses,
  type Part,
  type SessionKey,
  ShuttingDownError,
} from '@eventloom/core';
import { findLooseEnds, Runner, type RunAsyncParams } from '@eventloom/runner';
import { createServer } from '@eventloom/server';
import { type FixedPlatform, fixedPlatform } from '@eventloom/testing';
import { createSeededRandom, type SeededRandom } from '../nemesis/seeded-random.ts';
import { type AgentPlan, generateAgent } from './agent-plan.ts';
import { buildAgent } from './build-agent.ts';
import { checkHistory, type HistoryCall, readCalls } from './check-history.ts';
import { mortalService, type MortalService } from './mortal-service.ts';
import { World } from './world.ts';

/** The disturbance of a run: its process is killed, its user aborts it, its reader leaves, its server shuts down. */
type Disturbance = 'none' | 'kill' | 'abort' | 'leave' | 'shutdown';

/** The end of a run for its reader. */
interface Outcome {
  readonly disturbance: Disturbance;
  readonly end: 'done' | 'killed' | 'left' | { readonly error: unknown };
  readonly invocationId: string | undefined;
  readonly events: readonly Event[];
}

/** The result of a play. */
export interface Play {
  readonly plan: AgentPlan;
  /** One sentence for each fault; empty if every promise held. */
  readonly faults: readonly string[];
  /** A line for each run that was played. */
  readonly log: readonly string[];
  readonly events: readonly Event[];
}

/** The agents of a play, and where they run. */
interface Stage {
  readonly plan: AgentPlan;
  readonly random: SeededRandom;
  readonly platform: FixedPlatform;
  readonly service: BaseSessionService;
  readonly isResumable: boolean;
}

/**
 * Plays a conversation with the agents of a seed: messages, answers in any order, some of them twice, resumed, closed
 * and cancelled runs, each in a process of its own that may be killed at any commit. In between, the session is copied
 * at any event, and everything that waits in the copy is answered. In the end nothing disturbs any more and everything
 * is answered. After each run the whole session is checked. The same seed plays the same conversation.
 */
export async function playConversation(
  seed: number,
  createService: (platform: FixedPlatform) => BaseSessionService,
): Promise<Play> {
  const random = createSeededRandom(seed);
  const plan = generateAgent(random);
  const platform = createPlatform();
  const stage = { plan, random, platform, service: createService(platform), isResumable: random.next() < 0.9 };
  const conversation = new Conversation(stage, 'first');
  try {
    await conversation.play();
  } catch (error) {
    conversation.faults.push(`the play failed: ${error instanceof Error ? error.stack : String(error)}`);
  }
  const { faults, log } = conversation;
  return { plan, faults, log, events: await conversation.events() };
}

class Conversation {
  readonly faults: string[] = [];
  readonly log: string[] = [];
  readonly #stage: Stage;
  readonly #plan: AgentPlan;
  readonly #random: SeededRandom;
  readonly #platform: FixedPlatform;
  readonly #world: World;
  readonly #service: BaseSessionService;
  readonly #isResumable: boolean;
  readonly #user: { readonly userId: string; readonly sessionId: string };
  readonly #key: SessionKey;
  /** The events that were copied from another conversation. */
  readonly #copied: readonly Event[];
  /** Runs that were cancelled, also after their end, because calls of theirs waited. */
  readonly #cancelled = new Set<string>();
  /** Runs whose reader left, which ends them. */
  readonly #left = new Set<string>();
  /** Runs that may be open, because their process was killed or shut down. */
  #unfinished = new Set<string>();
  #answers = 0;

  constructor(stage: Stage, sessionId: string, copied: readonly Event[] = []) {
    this.#stage = stage;
    this.#plan = stage.plan;
    this.#random = stage.random;
    this.#platform = stage.platform;
    this.#world = new World(stage.platform);
    this.#service = stage.service;
    this.#isResumable = stage.isResumable;
    this.#user = { userId: 'ann', sessionId };
    this.#key = { appName: 'app', ...this.#user };
    this.#copied = copied;
  }

  async events(): Promise<readonly Event[]> {
    return (await this.#service.getSession(this.#key))?.events ?? [];
  }

  async play(): Promise<void> {
    await this.#service.createSession(this.#key);
    await this.#run(message('Begin'), this.#pickDisturbance());
    for (let step = 1; step <= 6 && this.faults.length === 0; step++) {
      if (this.#random.next() < 0.3) await this.#fork(`fork ${step}`);
      await this.#step(`Message ${step}`);
    }
    await this.#end();
  }

  /** Answers everything, and checks what came of all answers and calls. */
  async #end(): Promise<void> {
    await this.#finish();
    if (this.faults.length > 0) return;
    const events = await this.events();
    this.#checkEffects(events);
    this.#checkAnswers(events);
  }

  /** Copies the session at one of its events, and plays the end of the copy. */
  async #fork(sessionId: string): Promise<void> {
    const events = await this.events();
    if (events.length === 0) return;
    const count = this.#random.between(1, events.length);
    const server = createServer({ runners: [this.#runner()], onUnfinishedRuns: 'leave', platform: this.#platform });
    const { appName, userId } = this.#key;
    const body = JSON.stringify({ afterEventId: events[count - 1]?.id, sessionId });
    const url = `http://localhost/apps/${appName}/users/${userId}/sessions/${this.#key.sessionId}/fork`;
    const answering = Promise.resolve(server.fetch(new Request(url, { method: 'POST', body })));
    const { status } = await this.#passUntil(answering);
    if (status !== 200) throw new TypeError(`the fork was answered with ${status}`);
    const fork = new Conversation(this.#stage, sessionId, events.slice(0, count));
    for (const run of this.#cancelled) fork.#cancelled.add(run);
    await fork.#check({ disturbance: 'none', end: 'done', invocationId: undefined, events: [] });
    await fork.#end();
    const { faults, log } = fork;
    this.log.push(`${sessionId} after event ${count}`, ...log.map((line) => `  ${line}`));
    if (faults.length > 0) this.log.push(describeHistory(await fork.events()));
    this.faults.push(...faults.map((fault) => `${sessionId} after event ${count}: ${fault}`));
  }

  async #step(text: string): Promise<void> {
    const random = this.#random;
    const disturbance = this.#pickDisturbance();
    const [open] = await this.#openRuns();
    const waiting = await this.#waitingCalls();
    const choice = random.next();
    if (open !== undefined) {
      if (choice < 0.5) return this.#run({ invocationId: open }, disturbance);
      if (choice < 0.65)
        return this.#run({ ...message(text), runConfig: { onOpenRun: random.pick(['finish', 'close']) } }, disturbance);
      if (choice < 0.8 && waiting.length > 0) return this.#run(this.#answersTo(waiting.slice(-1)), disturbance);
      return this.#endRun(choice < 0.9 ? 'closeRun' : 'cancelRun', open);
    }
    if (waiting.length === 0 || choice < 0.15) return this.#run(message(text), disturbance);
    const { invocationId } = random.pick(waiting);
    if (choice < 0.2) return this.#endRun('closeRun', invocationId);
    if (choice < 0.25) return this.#endRun('cancelRun', invocationId);
    const own = waiting.filter((call) => call.invocationId === invocationId);
    const first = random.between(0, own.length - 1);
    const answers = this.#answersTo(own.slice(first, first + random.between(1, 3)));
    await this.#run(answers, disturbance);
    // A person clicks twice, or two people answer.
    if (random.next() < 0.25) await this.#run(answers, 'none');
  }

  /** Lets all runs end, and answers everything that waits. */
  async #finish(): Promise<void> {
    for (let round = 0; this.faults.length === 0; round++) {
      if (round > 2000) this.faults.push('the conversation does not end');
      const [open] = await this.#openRuns();
      const [waiting] = await this.#waitingCalls();
      if (open !== undefined) {
        if (this.#isResumable) await this.#run({ invocationId: open }, 'none');
        else await this.#endRun('closeRun', open);
      } else if (waiting) {
        await this.#run(this.#answersTo([waiting]), 'none');
        if ((await this.#waitingCalls()).some(({ id, branch }) => id === waiting.id && branch === waiting.branch))
          this.faults.push(`the call ${waiting.id} of ${waiting.name} on "${waiting.branch}" takes no answer`);
      } else return;
    }
  }

  #pickDisturbance(): Disturbance {
    return this.#random.pick(['none', 'none', 'none', 'none', 'kill', 'kill', 'kill', 'abort', 'leave', 'shutdown']);
  }

  /** Makes the answers to calls. Three of four approvals are given. */
  #answersTo(calls: readonly HistoryCall[]): RunAsyncParams {
    const parts = calls.map(({ id, name }): Part => {
      const result = `answer-${++this.#answers}`;
      const response = name === 'adk_request_confirmation' ? { confirmed: this.#random.next() < 0.75 } : { result };
      return { functionResponse: { id, name, response } };
    });
    return { ...this.#user, newMessage: { role: 'user', parts } };
  }

  /** The runner of a new process. */
  #runner(process?: MortalService): Runner {
    return new Runner({
      appName: 'app',
      agent: buildAgent(this.#plan, new World(this.#platform, this.#world, process?.isDead)),
      sessionService: process?.service ?? this.#service,
      platform: this.#platform,
      resumable: this.#isResumable,
      runConfig: { maxLlmCalls: 60 },
    });
  }

  /** Plays a run in a process of its own, and checks the session after it. */
  async #run(params: Omit<RunAsyncParams, 'userId' | 'sessionId'>, disturbance: Disturbance): Promise<void> {
    const random = this.#random;
    const process =
      disturbance === 'kill'
        ? mortalService(this.#service, random.between(1, random.next() < 0.5 ? 12 : 40), random.next() < 0.5)
        : undefined;
    const cutAfter = disturbance === 'none' || disturbance === 'kill' ? Infinity : random.between(1, 8);
    const controller = new AbortController();
    const runner = this.#runner(process);
    const stream = runner.runAsync({ ...this.#user, ...params, abortSignal: controller.signal });
    const events: Event[] = [];
    const read = async (): Promise<Outcome['end']> => {
      for await (const event of stream) {
        events.push(event);
        if (events.length < cutAfter) continue;
        if (disturbance === 'leave') return 'left';
        controller.abort(disturbance === 'shutdown' ? new ShuttingDownError('The server stops.') : undefined);
      }
      return 'done';
    };
    const reading = read().catch((error: unknown) => ({ error }));
    const end = await this.#passUntil(
      process ? Promise.race([reading, process.died.then(() => 'killed' as const)]) : reading,
    );
    if (end === 'left' && stream.invocationId !== undefined) this.#left.add(stream.invocationId);
    // The lease of a dead process expires.
    if (end === 'killed') this.#platform.advance(120_000);
    await this.#check({ disturbance, end, invocationId: stream.invocationId, events });
    const { newMessage } = params;
    const what =
      typeof newMessage === 'object' ? newMessage.parts?.map(describePart).join(', ') : (newMessage ?? 'resume');
    this.log.push(`${what}, ${disturbance}: ${describeEnd(end)}, ${events.length} events, run ${stream.invocationId}`);
  }

  async #endRun(how: 'closeRun' | 'cancelRun', invocationId: string): Promise<void> {
    const runner = this.#runner();
    const params = { ...this.#user, invocationId };
    await this.#passUntil(
      how === 'closeRun' ? runner.closeRun({ ...params, reason: 'No longer needed.' }) : runner.cancelRun(params),
    );
    if (how === 'cancelRun') this.#cancelled.add(invocationId);
    this.log.push(`${how} ${invocationId}`);
    await this.#check({ disturbance: 'none', end: 'left', invocationId: undefined, events: [] });
  }

  /** Lets time pass until a promise is settled. */
  async #passUntil<T>(promise: Promise<T>): Promise<T> {
    let isSettled = false;
    const settle = (): void => void (isSettled = true);
    promise.then(settle, settle);
    for (let turn = 0; !isSettled; turn++) {
      if (turn > 6000) throw new TypeError('the run neither ends nor waits');
      for (let count = 0; count < 3 && !isSettled; count++) await new Promise((resolve) => setImmediate(resolve));
      if (!isSettled) this.#platform.advance(50);
    }
    return promise;
  }

  async #openRuns(): Promise<string[]> {
    const { runs } = await this.#service.listOpenRuns({ appName: 'app' });
    const own = runs.filter(({ sessionId }) => sessionId === this.#key.sessionId);
    return own.map(({ invocationId }) => invocationId);
  }

  async #waitingCalls(): Promise<HistoryCall[]> {
    const { calls } = readCalls(await this.events());
    return calls.filter(({ isLongRunning, responses }) => isLongRunning && responses.length === 0);
  }

  async #check({ disturbance, end, invocationId, events }: Outcome): Promise<void> {
    const stored = await this.events();
    const open = await this.#openRuns();
    const ids = new Set(stored.map(({ id }) => id));
    const say = (fault: string): void => void this.faults.push(fault);
    for (const event of events)
      if (!event.partial && event.content && !ids.has(event.id)) say(`an event of ${event.author} was not stored`);
    const isOpen = open.includes(invocationId ?? '');
    if (end === 'done' && isOpen) say('a run is done for its reader, and open');
    if (typeof end === 'object') {
      if (!EventloomError.isInstance(end.error)) say(`an error has no code: ${String(end.error)}`);
      const hasBegun = stored.some((event) => event.invocationId === invocationId);
      if (hasBegun && isOpen && disturbance !== 'shutdown' && !this.#unfinished.has(invocationId ?? ''))
        say('a run has failed for its reader, and is open');
    }
    if (end !== 'killed' && disturbance !== 'shutdown')
      for (const run of open) if (!this.#unfinished.has(run)) say(`the run ${run} is open although nobody was killed`);
    this.#unfinished = new Set(open);
    if (open.length > 0) return;
    for (const looseEnd of await findLooseEnds(this.#service, this.#key))
      say(`a loose end: ${JSON.stringify(looseEnd)}`);
    for (const fault of checkHistory(stored, this.#isResumable, this.#cancelled)) say(fault);
  }

  /**
   * Checks that the answers that were taken reached a model, a tool or a node, and that what was approved was done.
   * Answers do not reach anybody in a run that failed, was left or was ended, or in which calls were cancelled or
   * interrupted.
   */
  #checkAnswers(events: readonly Event[]): void {
    const disturbed = new Set(this.#left);
    for (const [run, own] of Map.groupBy(events, ({ invocationId }) => invocationId)) {
      const isCut = /"error":"(cancelled|interrupted)"/.test(JSON.stringify(own));
      if (isCut || own.some(({ errorCode }) => errorCode !== undefined)) disturbed.add(run);
    }
    const { calls } = readCalls(events);
    const copied = new Set(this.#copied.map(({ id }) => id));
    for (const call of calls) {
      const answer = call.responses.find(({ author }) => author === 'user');
      const about = calls.find(({ id, branch }) => id === call.about && branch === call.branch);
      const runs = [call, ...call.responses, ...(about?.responses ?? [])].map(({ invocationId }) => invocationId);
      if (!answer || copied.has(answer.id) || runs.some((run) => disturbed.has(run))) continue;
      const response = getFunctionResponses(answer).find(({ id }) => id === call.id)?.response;
      const text = /answer-\d+/.exec(JSON.stringify(response))?.[0];
      if (text !== undefined && !this.#world.seen.has(text)) this.faults.push(`nobody has seen ${text}`);
      if (response?.['confirmed'] === true && !this.#world.effects.some(({ callId }) => callId === call.about))
        this.faults.push(`the call ${call.about} was approved, and has not run`);
    }
  }

  /**
   * Checks that no tool had its effect more often than it was called. Idempotent tools, and those of nodes, may have it
   * again. Calls that have their result in the copied events must not have it at all.
   */
  #checkEffects(events: readonly Event[]): void {
    const done = readCalls(this.#copied).calls.filter(({ id, responses }) =>
      responses.some((response) => hasResult(response, id)),
    );
    const keysDone = done.map(({ name, branch, id }) => keyOf(name, branch, id));
    const { calls } = readCalls(events);
    const called = Map.groupBy(calls, ({ name, branch, id }) => keyOf(name, branch, id));
    const acted = Map.groupBy(this.#world.effects, ({ tool, branch, callId }) => keyOf(tool, branch, callId));
    const repeatable = new Set(
      JSON.stringify(this.#plan).match(/(?<="kind":"work","name":")\w+(?=","idempotent":true)/g),
    );
    for (const [key, effects] of acted) {
      const all = called.get(key)?.length ?? 0;
      const count = all - keysDone.filter((each) => each === key).length;
      if (all > 0 && effects.length > count && !repeatable.has(effects[0]?.tool ?? ''))
        this.faults.push(`a tool ran ${effects.length} times for ${count} calls: ${key}`);
    }
  }
}

/** A platform without real timers, so that a play is the same each time. */
function createPlatform(): FixedPlatform {
  const platform = fixedPlatform();
  return { ...platform, schedule: (delayMs, callback) => platform.schedule(Math.max(1, delayMs), callback) };
}

const keyOf = (name: string, branch: string, id: string): string => `${name} on "${branch}" with the id ${id}`;

/** True for an event with the result of this call, as the tools of a plan return it. */
function hasResult(event: Event, callId: string): boolean {
  const response = getFunctionResponses(event).find(({ id }) => id === callId)?.response ?? {};
  return ['worked', 'paid', 'confirmed', 'inputs', 'status'].some((key) => key in response);
}

const message = (text: string) => ({ newMessage: { parts: [{ text }] } });

function describePart({ text, functionResponse }: Part): string {
  return functionResponse ? `answer to ${functionResponse.id} of ${functionResponse.name}` : (text ?? '');
}

function describeEnd(end: Outcome['end']): string {
  return typeof end === 'object' ? String(end.error) : end;
}

/** Renders a history for people: a line for each event. */
export function describeHistory(events: readonly Event[]): string {
  return events
    .map((event) => {
      const { invocationId, author, branch = '', object = '', errorCode = '' } = event;
      const calls = getFunctionCalls(event).map(({ id, name }) => `calls ${name} ${id}`);
      const responses = getFunctionResponses(event).map(
        ({ id, name, response }) => `response of ${name} ${id} ${JSON.stringify(response)}`,
      );
      const texts = event.content?.parts?.flatMap(({ text }) => text ?? []) ?? [];
      const waiting = event.longRunningToolIds?.length ? ` (waiting: ${event.longRunningToolIds.join(', ')})` : '';
      const what = [...texts, ...calls, ...responses, object, errorCode].filter((each) => each !== '').join('; ');
      return `${invocationId.slice(-4)} ${author} [${branch}] ${what}${waiting}`;
    })
    .join('\n');
}
