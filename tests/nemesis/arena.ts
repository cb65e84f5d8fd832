import { type Event, getFunctionCalls, type OnBusy, type Part } from '@eventloom/core';
import { setTimeout as pause } from 'node:timers/promises';
import type { MessageKind } from './attacked-agent.ts';
import type { AttackedServer } from './attacked-server.ts';
import type { BackEnd, BackEndName, StartOptions } from './back-ends.ts';
import {
  type Answer,
  begin,
  cancel,
  type CancelledRun,
  type ClientSession,
  follow,
  type Message,
  send,
} from './client.ts';
import { findFaults } from './find-faults.ts';
import type { WebhookMessage } from './webhook-receiver.ts';
import { createSeededRandom, type SeededRandom } from './seeded-random.ts';

/**
 * Behaviour of a client whose connection breaks: `follow` reconnects at the address of the run, `resend` sends the
 * message again with the same `requestId`, `leave` never asks again.
 */
export type Manner = 'follow' | 'resend' | 'leave';

/** Options of a client. */
export interface TalkOptions {
  readonly manner: Manner;
  /** Disconnects after this number of frames, and continues as its kind of client does. */
  readonly leaveAfter?: number | undefined;
  readonly onBusy?: OnBusy | undefined;
  /** Cancels the run after this time, in milliseconds, and repeats that until the server says that it has ended. */
  readonly cancelAfterMs?: number | undefined;
  /** The server of the first request. Default: any. */
  readonly server?: AttackedServer | undefined;
}

/**
 * Time for which a client tries again, in milliseconds: longer than 40 consecutive processes live, because a message
 * may not get its session before the last of them. A process takes seconds to start on a busy machine.
 */
const TIMEOUT_MS = 480_000;
/** Time that runs have to end after the last attack, in milliseconds. A Durable Object wakes up 20 seconds after it was lost. */
const SETTLE_MS = 120_000;
/** Time before a client asks again, in milliseconds. One workerd serves all: clients that ask sooner keep the processor from the runs. */
const ASK_AGAIN_MS: Readonly<Record<BackEndName, number>> = {
  sqlite: 40,
  postgres: 40,
  'durable-objects': 500,
  'wrangler-dev': 500,
};

/** Servers on one store, their clients, and the observed behaviour of both. */
export class Arena implements AsyncDisposable {
  readonly backEnd: BackEnd;
  readonly random: SeededRandom;
  /** Behaviours of the clients of `talkInAll`. */
  readonly manners: readonly Manner[];
  /** The answers that clients got. */
  readonly answers: Answer[] = [];
  /** The runs that were reported as cancelled. */
  readonly cancelled: CancelledRun[] = [];
  /** The webhooks that were received. */
  webhooks: readonly WebhookMessage[] = [];
  readonly #servers: AttackedServer[] = [];
  readonly #faults: string[] = [];
  #tokens = 0;

  constructor(backEnd: BackEnd, seed: number, manners: readonly Manner[] = ['follow', 'resend', 'leave']) {
    this.backEnd = backEnd;
    this.manners = manners;
    this.random = createSeededRandom(seed);
  }

  /** Running servers, the oldest first, including stopped ones. */
  get running(): AttackedServer[] {
    return this.#servers.filter(({ hasEnded }) => !hasEnded);
  }

  async start(options?: StartOptions): Promise<AttackedServer> {
    const server = await this.backEnd.start(options);
    this.#servers.push(server);
    return server;
  }

  /** Records the answers to a client. */
  async tell(answer: Promise<Answer>): Promise<Answer> {
    const answered = await answer;
    this.answers.push(answered);
    return answered;
  }

  /** Records a fault. */
  addFault(fault: string): void {
    this.#faults.push(fault);
  }

  /** Returns the server of a request: any running one. */
  #pickServer(): AttackedServer | undefined {
    const { running } = this;
    return running.length > 0 ? this.random.pick(running) : undefined;
  }

  /**
   * Sends a message in a session as a client that wants an answer, and answers the requests of agents. Resolves when
   * the client knows the outcome, or stops asking.
   */
  async talk(session: ClientSession, kind: MessageKind, options: TalkOptions): Promise<void> {
    const message = { ...this.newMessage(kind), onBusy: options.onBusy };
    const { cancelAfterMs } = options;
    const cancelled = cancelAfterMs === undefined ? undefined : this.#cancel(session, message, cancelAfterMs);
    const answer = await this.#pursue(session, message, options);
    await cancelled;
    const events = answer?.frames.map(({ event }) => event) ?? [];
    const parts = answersTo(events);
    if (parts.length === 0 || options.manner === 'leave') return;
    await this.#pursue(session, { parts, requestId: `${message.requestId}-answer` }, { manner: options.manner });
  }

  /**
   * Begins a run with a webhook without reading it. Resolves when the client knows the run.
   *
   * @param leaves true for a client that never asks again
   */
  async begin(session: ClientSession, kind: MessageKind, webhookUrl: string, leaves: boolean): Promise<void> {
    const message = this.newMessage(kind);
    const giveUp = performance.now() + TIMEOUT_MS;
    while (performance.now() < giveUp) {
      const server = this.#pickServer();
      const invocationId = server && (await begin(server.url, session, message, webhookUrl));
      if (invocationId !== undefined || (server && leaves)) return;
      await pause(ASK_AGAIN_MS[this.backEnd.name]);
    }
    this.addFault(`a run with a webhook (${message.text}) was not begun`);
  }

  async #cancel(session: ClientSession, { requestId = '' }: Message, afterMs: number): Promise<void> {
    await pause(afterMs);
    const giveUp = performance.now() + TIMEOUT_MS;
    while (performance.now() < giveUp) {
      const server = this.#pickServer();
      const run = server && (await cancel(server.url, session, requestId));
      if (run) return void this.cancelled.push(run);
      await pause(ASK_AGAIN_MS[this.backEnd.name]);
    }
    this.addFault(`the run of ${requestId} could not be cancelled`);
  }

  /** Returns a message with a new token. */
  newMessage(kind: MessageKind): Message {
    const token = `m${++this.#tokens}`;
    return { text: `${kind} ${token}`, requestId: `r-${token}` };
  }

  /** Sends a message for which an agent makes a request to a person. Returns the answer to send. */
  async ask(session: ClientSession, kind: 'pay' | 'wait' | 'safe'): Promise<Message | undefined> {
    const message = this.newMessage(kind);
    const answer = await this.#pursue(session, message, { manner: 'resend' });
    const parts = answersTo(answer?.frames.map(({ event }) => event) ?? []);
    return parts.length === 0 ? undefined : { parts, requestId: `${message.requestId}-answer` };
  }

  /**
   * Sends a message to each of these servers at once with one `requestId`, as clients without an answer do, and again
   * after it was answered.
   */
  async repeat(session: ClientSession, message: Message, servers: readonly AttackedServer[]): Promise<void> {
    const sendTo = (server?: AttackedServer) => this.#pursue(session, message, { manner: 'resend', server });
    await Promise.all(servers.map(sendTo));
    const answer = await sendTo();
    const runs = new Set(
      this.answers.flatMap((each) =>
        each.requestId === message.requestId && each.frames.length > 0 ? each.invocationId : [],
      ),
    );
    if (runs.size > 1) this.addFault(`"${message.requestId}" was reported as ${runs.size} runs`);
    if (answer?.frames.length === 0)
      this.addFault(
        `"${message.requestId}" was answered with no event when it was sent again: ${JSON.stringify(answer.end)}`,
      );
  }

  /** Sends a message and asks until the client knows the outcome. Returns the last answer. */
  async #pursue(session: ClientSession, message: Message, options: TalkOptions): Promise<Answer | undefined> {
    const { manner, leaveAfter } = options;
    const timeoutMs = TIMEOUT_MS;
    const giveUp = performance.now() + timeoutMs;
    let server = options.server ?? this.#pickServer();
    let answer: Answer | undefined;
    let invocationId: string | undefined;
    let lastId: string | undefined;
    let isFirst = true;
    while (performance.now() < giveUp) {
      if (server && isFirst) answer = await send(server.url, session, { ...message, leaveAfter });
      else if (server && manner === 'follow' && invocationId !== undefined)
        answer = await follow(server.url, session, invocationId, lastId);
      else if (server) answer = await send(server.url, session, message);
      if (answer) {
        this.answers.push(answer);
        if (isFinal(answer) || manner === 'leave') return answer;
        isFirst = false;
        invocationId = answer.invocationId ?? invocationId;
        lastId = answer.frames.findLast(({ id }) => id !== undefined)?.id ?? lastId;
        // The run was never stored: the message is sent again.
        if (answer.end.kind === 'error' && answer.end.code === 'RUN_NOT_FOUND') invocationId = undefined;
      }
      await pause(ASK_AGAIN_MS[this.backEnd.name]);
      server = this.#pickServer();
    }
    this.addFault(`a client (${message.text ?? 'answers'}) got no end for ${timeoutMs} ms`);
    return answer;
  }

  /** Waits for the runs to end, stops all servers and returns the faults. */
  async findFaults(): Promise<string[]> {
    const server = this.running[0] ?? (await this.start());
    const giveUp = performance.now() + SETTLE_MS;
    let faults: string[];
    do {
      await pause(ASK_AGAIN_MS[this.backEnd.name]);
      const sessions = await this.backEnd.readSessions(server);
      faults = await findFaults({
        sessions,
        answers: this.answers,
        ran: this.backEnd.ran(),
        cancelled: this.cancelled,
        webhooks: this.webhooks,
      });
    } while (faults.length > 0 && performance.now() < giveUp);
    await this[Symbol.asyncDispose]();
    return [...this.#faults, ...this.#servers.flatMap((each) => each.faults()), ...faults];
  }

  /** Ends all servers. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.running.map((server) => server.signal('SIGKILL')));
  }

  /** Number of servers that were started. */
  get started(): number {
    return this.#servers.length;
  }

  /** The failures that the servers reported. */
  get reports(): string[] {
    return this.#servers.flatMap(({ reports }) => reports);
  }
}

/** True if the client knows the outcome of its run. */
function isFinal({ end }: Answer): boolean {
  if (end.kind === 'completed' || end.kind === 'nothing') return true;
  if (end.kind !== 'error') return false;
  return ![
    'RUN_GOES_ON',
    'SESSION_BUSY',
    'SERVER_BUSY',
    'USER_LIMIT',
    'SHUTTING_DOWN',
    'STORAGE_UNAVAILABLE',
    'USER_OBJECT',
    'RUN_NOT_BEGUN',
    'RUN_RELAY',
    'RUN_NOT_FOUND',
  ].includes(end.code);
}

/** Returns function responses to the requests in events: confirmations and late results. */
function answersTo(events: readonly Event[]): Part[] {
  return events.flatMap((event) =>
    getFunctionCalls(event).flatMap(({ id = '', name = '' }): Part[] => {
      if (!event.longRunningToolIds?.includes(id)) return [];
      const response = name === 'adk_request_confirmation' ? { confirmed: true } : { done: true };
      return [{ functionResponse: { id, name, response } }];
    }),
  );
}
