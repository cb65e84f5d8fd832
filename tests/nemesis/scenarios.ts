import { setTimeout as pause } from 'node:timers/promises';
import type { Arena } from './arena.ts';
import type { AttackedServer } from './attacked-server.ts';
import type { MessageKind } from './attacked-agent.ts';
import { APP_NAMES, type BackEndName, LEASE_MS } from './back-ends.ts';
import { type ClientSession, follow, type Frame, send } from './client.ts';
import { isStreamed, LIVE_SESSION, WEBHOOK_SESSION } from './find-faults.ts';
import { call } from './live-client.ts';
import { startCuttingProxy } from './cutting-proxy.ts';
import { startWebhookReceiver } from './webhook-receiver.ts';

/** The size of a scenario. */
export interface ScenarioSize {
  /** Number of consecutive attacks on the same store. */
  readonly rounds: number;
  /** Number of sessions with messages during each attack. */
  readonly sessions: number;
}

/** A repeated attack on servers that clients use. */
export interface Scenario {
  readonly backEnds: readonly BackEndName[];
  /** The rounds that the tests of the repository play. Other back ends are attacked only by command. */
  readonly testRounds: Partial<Readonly<Record<BackEndName, number>>>;
  play(arena: Arena, size: ScenarioSize): Promise<void>;
}

const ALL: readonly BackEndName[] = ['sqlite', 'postgres', 'durable-objects', 'wrangler-dev'];
const NODE: readonly BackEndName[] = ['sqlite', 'postgres'];
const KINDS: readonly MessageKind[] = ['chat', 'tools', 'steps', 'crew', 'plan', 'risk', 'safe', 'pay', 'wait'];

/** Kinds of messages for which no agent asks a person: those of calls, and of runs that are cancelled. */
const SPOKEN: readonly MessageKind[] = ['chat', 'tools', 'steps', 'crew', 'plan'];

/** The users of the sessions. */
export const USERS = ['user-0', 'user-1', 'user-2'];

/** Returns a session of a round. Each round has the same sessions, so that their histories grow. */
function sessionOf(index: number): ClientSession {
  const appName = APP_NAMES[index % APP_NAMES.length] ?? 'front';
  return { appName, userId: USERS[index % USERS.length] ?? '', sessionId: `s${Math.floor(index / 2)}` };
}

/**
 * Sends a message in each session. Resolves when each client knows the outcome, or stops asking.
 *
 * @param hangsUp true to disconnect after a random frame
 */
async function talkInAll(arena: Arena, sessions: number, hangsUp = false): Promise<void> {
  const { random, manners } = arena;
  const talks = Array.from({ length: sessions }, (_, index) => {
    const leaveAfter = hangsUp ? random.between(0, 9) : undefined;
    return arena.talk(sessionOf(index), random.pick(KINDS), { manner: random.pick(manners), leaveAfter });
  });
  await Promise.all(talks);
}

/** Clients disconnect after any number of frames. There is no other attack. */
async function dropClients(arena: Arena, { rounds, sessions }: ScenarioSize): Promise<void> {
  await arena.start();
  for (let round = 0; round < rounds; round++) await talkInAll(arena, sessions, true);
}

/**
 * `kill -9` at any point of a run, of one process after the other. The next process starts, and the next messages
 * arrive, at once.
 */
async function killServers(arena: Arena, { rounds, sessions }: ScenarioSize): Promise<void> {
  const startNext = (isLast: boolean): Promise<AttackedServer> =>
    arena.start({ dieAt: isLast ? 0 : arena.random.between(1, 12 * sessions) });
  const talks = new Set<Promise<void>>();
  let server = await startNext(false);
  for (let round = 1; round <= rounds; round++) {
    if (talks.size < 2) {
      const talk = talkInAll(arena, sessions).finally(() => talks.delete(talk));
      talks.add(talk);
    }
    await Promise.race([server.ended, Promise.all(talks)]);
    await server.signal('SIGKILL');
    server = await startNext(round === rounds);
  }
  await Promise.all(talks);
}

/** SIGTERM during runs. The next process starts, and the next messages arrive, at once. */
async function terminateServers(arena: Arena, { rounds, sessions }: ScenarioSize): Promise<void> {
  await arena.start();
  for (let round = 0; round < rounds; round++) {
    const [server] = arena.running;
    const answered = talkInAll(arena, sessions);
    await pause(arena.random.between(1, 200));
    const ended = server?.signal('SIGTERM');
    await arena.start();
    await Promise.all([ended, talkInAll(arena, sessions), answered]);
  }
}

/**
 * A process is stopped until its leases have expired. Another one takes over, if the back end allows several, and then
 * the first one continues.
 */
async function stopServers(arena: Arena, { rounds, sessions }: ScenarioSize): Promise<void> {
  const isAlone = !NODE.includes(arena.backEnd.name);
  await arena.start();
  for (let round = 0; round < rounds; round++) {
    const [server] = arena.running;
    const answered = talkInAll(arena, sessions);
    await pause(arena.random.between(1, 200));
    await server?.signal('SIGSTOP');
    const next = isAlone ? undefined : await arena.start();
    const meanwhile = isAlone ? talkInAll(arena, sessions) : undefined;
    await pause(2 * LEASE_MS);
    await server?.signal('SIGCONT');
    await Promise.all([talkInAll(arena, sessions), answered, meanwhile]);
    if (next) await (round % 2 === 0 ? server : next)?.signal('SIGKILL');
  }
}

/** Two processes serve the same sessions, and clients disconnect. */
async function shareSessions(arena: Arena, { rounds, sessions }: ScenarioSize): Promise<void> {
  await Promise.all([arena.start(), arena.start()]);
  for (let round = 0; round < rounds; round++)
    await Promise.all([talkInAll(arena, sessions), talkInAll(arena, sessions, true)]);
}

/**
 * `kill -9` of one of two processes at any point of a run. Clients ask the other one at once: they follow, send again, cancel, or send the
 * next message, while it takes over.
 */
async function killHosts(arena: Arena, { rounds, sessions }: ScenarioSize): Promise<void> {
  const { random } = arena;
  const talks: Promise<void>[] = [];
  // The other process takes the runs over before the relay reports that their process is lost.
  const relayLeaseMs = 5 * LEASE_MS;
  let other = await arena.start({ relayLeaseMs });
  for (let round = 0; round < rounds; round++) {
    const host = await arena.start({ relayLeaseMs, dieAt: random.between(1, 12 * sessions) });
    for (let index = 0; index < sessions; index++) {
      const session = sessionOf(index);
      talks.push(arena.talk(session, random.pick(KINDS), { manner: random.pick(arena.manners), server: host }));
      if (index % 2 === 1) continue;
      // In a session of its own, so that the run does not wait for another one when it is cancelled.
      const cancelled = { ...session, sessionId: `cancelled-${round}-${index}` };
      const cancelAfterMs = random.between(1, 300);
      talks.push(arena.talk(cancelled, random.pick(SPOKEN), { manner: 'follow', cancelAfterMs, server: host }));
    }
    await Promise.race([host.ended, Promise.all(talks)]);
    await host.signal('SIGKILL');
    // Sometimes the process that took over is lost as well.
    if (round % 2 === 0) continue;
    const next = await arena.start({ relayLeaseMs });
    await other.signal('SIGKILL');
    other = next;
  }
  await Promise.all(talks);
}

/** The connections of two processes to the store are ended repeatedly. */
async function loseConnections(arena: Arena, { rounds, sessions }: ScenarioSize): Promise<void> {
  await Promise.all([arena.start(), arena.start()]);
  for (let round = 0; round < rounds; round++) {
    const answered = talkInAll(arena, sessions);
    for (let again = 0; again < 3; again++) {
      await pause(arena.random.between(1, 100));
      await arena.backEnd.attacks.endConnections?.();
    }
    await answered;
  }
}

/** The store is stopped and started again. */
async function restartStore(arena: Arena, { rounds, sessions }: ScenarioSize): Promise<void> {
  await Promise.all([arena.start(), arena.start()]);
  for (let round = 0; round < rounds; round++) {
    const answered = talkInAll(arena, sessions);
    await pause(arena.random.between(1, 150));
    await arena.backEnd.attacks.restart?.();
    await Promise.all([talkInAll(arena, sessions), answered]);
  }
}

/** The store refuses writes for a while, shorter or longer than a lease: a frozen database, a full disk. */
async function blockStore(arena: Arena, { rounds, sessions }: ScenarioSize): Promise<void> {
  const { attacks } = arena.backEnd;
  await arena.start();
  for (let round = 0; round < rounds; round++) {
    const answered = talkInAll(arena, sessions);
    await pause(arena.random.between(1, 150));
    attacks.block?.(arena.running);
    const meanwhile = talkInAll(arena, sessions);
    await pause(round % 2 === 0 ? LEASE_MS / 3 : 2 * LEASE_MS);
    attacks.unblock?.(arena.running);
    await Promise.all([answered, meanwhile]);
  }
}

/**
 * Clients cancel their runs, while the process is killed at any point, or the store refuses writes for a while. A run
 * that is reported as cancelled never continues.
 */
async function cancelRuns(arena: Arena, { rounds, sessions }: ScenarioSize): Promise<void> {
  const { random, backEnd } = arena;
  for (let round = 0; round < rounds; round++) {
    const isKilled = round % 2 === 0 || !backEnd.attacks.block;
    const server = await arena.start({ dieAt: isKilled ? random.between(1, 12 * sessions) : 0 });
    const answered = Promise.all(
      Array.from({ length: sessions }, (_, index) => {
        const cancelAfterMs = random.between(1, 300);
        return arena.talk(sessionOf(index), random.pick(SPOKEN), { manner: 'follow', cancelAfterMs });
      }),
    );
    if (!isKilled) {
      await pause(random.between(1, 150));
      backEnd.attacks.block?.(arena.running);
      await pause(random.pick([LEASE_MS / 3, 2 * LEASE_MS]));
      backEnd.attacks.unblock?.(arena.running);
    }
    await Promise.race([answered, server.ended]);
    await server.signal('SIGKILL');
    const last = await arena.start();
    await answered;
    if (round < rounds - 1) await last.signal('SIGKILL');
  }
}

/** Each message is sent to two processes at once, and again after both were killed. */
async function repeatMessages(arena: Arena, { rounds, sessions }: ScenarioSize): Promise<void> {
  const { random } = arena;
  for (let round = 0; round < rounds; round++) {
    const isAlone = !NODE.includes(arena.backEnd.name);
    const first = await arena.start({ dieAt: random.between(1, 12 * sessions) });
    const servers = [first, isAlone ? first : await arena.start()];
    const answered = Promise.all(
      Array.from({ length: sessions }, (_, index) =>
        arena.repeat(sessionOf(index), arena.newMessage(random.pick(KINDS)), servers),
      ),
    );
    await Promise.race([answered, first.ended]);
    await Promise.all(servers.map((server) => server.signal('SIGKILL')));
    const last = await arena.start();
    await answered;
    if (round < rounds - 1) await last.signal('SIGKILL');
  }
}

/** Returns a session with an agent that asks people; the agents of `crew` ask nobody. */
function askingSession(index: number): ClientSession {
  return { ...sessionOf(index), appName: index % 2 === 0 ? 'front' : 'front-once' };
}

/** Repeats answers to agents' requests in the same way. */
async function repeatAnswers(arena: Arena, { rounds, sessions }: ScenarioSize): Promise<void> {
  const { random } = arena;
  const isAlone = !NODE.includes(arena.backEnd.name);
  for (let round = 0; round < rounds; round++) {
    const asking = await arena.start();
    const asked = await Promise.all(
      Array.from({ length: sessions }, (_, index) =>
        arena.ask(askingSession(index), random.pick(['pay', 'wait', 'safe'])),
      ),
    );
    await asking.signal('SIGKILL');
    const first = await arena.start({ dieAt: random.between(1, 6 * sessions) });
    const servers = [first, isAlone ? first : await arena.start()];
    const answered = Promise.all(
      asked.map(async (message, index) => message && (await arena.repeat(askingSession(index), message, servers))),
    );
    await Promise.race([answered, first.ended]);
    await Promise.all(servers.map((server) => server.signal('SIGKILL')));
    const last = await arena.start();
    await answered;
    if (round < rounds - 1) await last.signal('SIGKILL');
  }
}

/** Maximum number of bytes of an answer after which its connection is cut. */
const CUT_WITHIN = 6000;

/**
 * Clients follow a run from each of its events, through a proxy that cuts the connection after any byte, and reconnect
 * with the number of their last event. Each sees every event once, in order, from any process.
 */
async function cutConnections(arena: Arena, { rounds }: ScenarioSize): Promise<void> {
  const isAlone = !NODE.includes(arena.backEnd.name);
  // A host that is slow does not lose its runs: each reader is to see all of its frames.
  const leaseMs = 300_000;
  const hosts = [await arena.start({ leaseMs }), ...(isAlone ? [] : [await arena.start({ leaseMs })])];
  const [host] = hosts;
  if (!host) return;
  const proxies = await Promise.all(hosts.map(({ url }) => startCuttingProxy(url, arena.random, CUT_WITHIN)));
  // Without a relay, only the process of the run has its chunks.
  const reachable = arena.backEnd.name === 'sqlite' ? proxies.slice(0, 1) : proxies;
  for (let round = 0; round < rounds; round++) {
    const session = sessionOf(2 * round);
    const readers: Promise<{ readonly index: number; readonly id: string | undefined; readonly seen: Frame[] }>[] = [];
    const startReader = async (index: number, id: string | undefined, invocationId: string) => {
      const { url } = reachable[index % reachable.length] ?? host;
      return { index, id, seen: await followThrough(arena, url, session, invocationId, id) };
    };
    let index = 0;
    const onFrame = ({ id }: Frame, invocationId: string): void => {
      // One workerd serves all readers beside the runs.
      if (index++ % (isAlone ? 8 : 1) === 0) readers.push(startReader(index, id, invocationId));
    };
    const whole = await arena.tell(
      // A run with many chunks, and one with many stored events.
      send(host.url, session, {
        text: `${round % 2 === 0 ? 'long' : 'steps'} c${round}`,
        requestId: `c${round}`,
        onFrame,
      }),
    );
    // The other readers begin when the run has ended.
    for (const [at, { id }] of whole.frames.entries()) {
      const reader = startReader(at + 1, id, whole.invocationId ?? '');
      readers.push(reader);
      if (isAlone) await reader;
    }
    for (const reader of await Promise.all(readers))
      addFaultOfReader(arena, reader.id, reader.seen, whole.frames.slice(reader.index), !isAlone);
  }
  if (proxies.every(({ cuts }) => cuts === 0)) arena.addFault('no connection was cut');
  for (const proxy of proxies) await proxy[Symbol.asyncDispose]();
}

const numbersOf = (frames: readonly Frame[]): string => frames.map(({ id }) => id).join();

/**
 * Adds a fault if a reader did not see all frames.
 *
 * @param hasChunks false if chunks may be dropped: their stored events come instead
 */
function addFaultOfReader(
  arena: Arena,
  id: string | undefined,
  seen: readonly Frame[],
  frames: readonly Frame[],
  hasChunks: boolean,
): void {
  const seenIds = new Set(seen.map((frame) => frame.id));
  const expected = frames.filter((frame) => hasChunks || isStreamed(frame.event) || seenIds.has(frame.id));
  if (JSON.stringify(seen) === JSON.stringify(expected)) return;
  arena.addFault(`behind ${id}, a reader saw ${numbersOf(seen)} instead of ${numbersOf(expected)}`);
}

async function followThrough(
  arena: Arena,
  url: string,
  session: ClientSession,
  invocationId: string,
  lastEventId: string | undefined,
): Promise<Frame[]> {
  const seen: Frame[] = [];
  for (let attempt = 0; attempt < 200; attempt++) {
    const answer = await arena.tell(follow(url, session, invocationId, seen.at(-1)?.id ?? lastEventId));
    seen.push(...answer.frames);
    const isToAskAgain =
      answer.end.kind === 'cut' || (answer.end.kind === 'error' && answer.end.code === 'RUN_GOES_ON');
    if (!isToAskAgain) break;
  }
  return seen;
}

/** The number of points between two kills from which on `killAtEachPoint` plays only messages of one kind. */
const SHORT_STRIDE = 5;

/**
 * A process is killed at each point of a run, one after the other, for each kind of message; the next message of the
 * same session arrives at once. Each point has its own session. With more than one round, some points are skipped.
 */
async function killAtEachPoint(arena: Arena, { rounds: stride }: ScenarioSize): Promise<void> {
  const messages = [...KINDS.map((kind) => ({ kind, app: 'front' })), { kind: 'chat', app: 'crew' } as const];
  for (const { kind, app } of stride < SHORT_STRIDE ? messages : messages.filter((each) => each.kind === 'tools')) {
    const names = [app, `${app}-once`];
    for (const appName of names) {
      for (let at = 1; ; at += stride) {
        const session = { appName, userId: USERS[at % USERS.length] ?? '', sessionId: `${kind}-${at}` };
        const server = await arena.start({ dieAt: at });
        const answered = arena.talk(session, kind, { manner: 'follow' });
        await Promise.race([server.ended, answered]);
        const hasDied = server.hasEnded;
        await server.signal('SIGKILL');
        const next = await arena.start();
        await Promise.all([arena.talk(session, 'tools', { manner: 'resend' }), answered]);
        await next.signal('SIGKILL');
        if (!hasDied) break;
      }
    }
  }
}

/** Time before a webhook whose attempt was killed is sent again, plus the time of the attempt, in milliseconds. */
const WEBHOOK_MS = 240_000;

/**
 * A process is killed at each point from the start of a run to the delivery of its webhook. Every second client does
 * not ask again: the webhook is stored with the run. With more than one round, some points are skipped.
 */
async function killBeforeWebhooks(arena: Arena, { rounds: stride }: ScenarioSize): Promise<void> {
  await using receiver = await startWebhookReceiver();
  arena.webhooks = receiver.messages;
  const { origin: webhooksTo } = receiver;
  const all: Promise<void>[] = [];
  for (const kind of ['chat', 'tools'] as const) {
    for (const appName of ['front', 'front-once']) {
      for (let at = 1; ; at += stride) {
        const session = {
          appName,
          userId: USERS[at % USERS.length] ?? '',
          sessionId: `${WEBHOOK_SESSION}${kind}-${at}`,
        };
        const received = receiver.received(session);
        all.push(received);
        const server = await arena.start({ dieAt: at, webhooksTo });
        const begun = arena.begin(session, kind, `${webhooksTo}/ends`, at % 2 === 1);
        await Promise.race([server.ended, received]);
        const hasDied = server.hasEnded;
        await server.signal('SIGKILL');
        const next = await arena.start({ webhooksTo });
        await begun;
        await Promise.race([received, pause(5 * LEASE_MS)]);
        await next.signal('SIGKILL');
        if (!hasDied) break;
      }
    }
  }
  await arena.start({ webhooksTo });
  await Promise.race([Promise.all(all), pause(WEBHOOK_MS, undefined, { ref: false })]);
}

/** A run is followed from each of its events after its process died: the next process serves the stored events. */
async function followAfterRestart(arena: Arena, { rounds }: ScenarioSize): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const session = sessionOf(round);
    const first = await arena.start();
    // Readers of `crew` get events of agents that run as tools.
    const kind: MessageKind = round % 2 === 0 ? 'crew' : 'steps';
    const whole = await arena.tell(send(first.url, session, { text: `${kind} f${round}`, requestId: `f${round}` }));
    await first.signal('SIGKILL');
    const next = await arena.start();
    const { invocationId = '' } = whole;
    for (const [index, { id }] of [{ id: undefined }, ...whole.frames].entries()) {
      const seen = await followThrough(arena, next.url, session, invocationId, id);
      addFaultOfReader(arena, id, seen, whole.frames.slice(index), false);
    }
    if (round < rounds - 1) await next.signal('SIGKILL');
  }
}

/** Maximum number of bytes of a call after which its connection is cut. */
const CUT_CALL_WITHIN = 20_000;

/**
 * Calls over `/run_live` whose clients lose their connection after any byte, consecutive processes that are killed at
 * any point, and concurrent messages to the sessions of the calls.
 */
async function killCalls(arena: Arena, { rounds, sessions }: ScenarioSize): Promise<void> {
  const { random } = arena;
  const talks: Promise<unknown>[] = [];
  let calls = 0;
  let waiting = 0;
  for (let round = 0; round <= rounds; round++) {
    const server = await arena.start({ dieAt: round === rounds ? 0 : random.between(1, 12 * sessions) });
    await using proxy = await startCuttingProxy(server.url || 'http://127.0.0.1:9', random, CUT_CALL_WITHIN);
    const answered = Promise.all(
      Array.from({ length: sessions }, async (_, index) => {
        const session = { ...askingSession(index), sessionId: `${LIVE_SESSION}${index}` };
        for (let again = 0; again < 3 && !server.hasEnded; again++) {
          const texts = [0, 1, 2].map(() => `${random.pick(SPOKEN)} call-${++calls}`);
          await arena.tell(call(random.between(0, 2) === 0 ? server.url : proxy.url, session, texts));
        }
        // Processes that die soon answer fewer messages than arrive: those of all rounds would exceed the number that
        // may wait for a session.
        if (waiting >= 2 * sessions) return;
        waiting++;
        await arena.talk(session, random.pick(SPOKEN), { manner: 'resend' });
        waiting--;
      }),
    );
    talks.push(answered);
    await Promise.race([answered, server.ended]);
    if (round < rounds) await server.signal('SIGKILL');
  }
  await Promise.all(talks);
}

/** All scenarios by name. */
export const SCENARIOS = {
  'dropped-clients': { backEnds: ALL, testRounds: { sqlite: 3, postgres: 3, 'durable-objects': 2 }, play: dropClients },
  'killed-servers': {
    backEnds: ALL,
    testRounds: { sqlite: 6, postgres: 2, 'durable-objects': 1, 'wrangler-dev': 1 },
    play: killServers,
  },
  'terminated-servers': { backEnds: NODE, testRounds: { sqlite: 2, postgres: 1 }, play: terminateServers },
  'stopped-servers': {
    backEnds: ALL,
    testRounds: { sqlite: 1, postgres: 1, 'durable-objects': 1 },
    play: stopServers,
  },
  'two-servers': { backEnds: NODE, testRounds: { sqlite: 2, postgres: 2 }, play: shareSessions },
  'killed-hosts': { backEnds: NODE, testRounds: { sqlite: 2, postgres: 3 }, play: killHosts },
  'lost-connections': { backEnds: ['postgres'], testRounds: { postgres: 1 }, play: loseConnections },
  'restarted-store': { backEnds: ['postgres'], testRounds: { postgres: 1 }, play: restartStore },
  'blocked-store': { backEnds: ALL, testRounds: { sqlite: 2, postgres: 2 }, play: blockStore },
  // The tests fill the disk of SQLite only: another store needs a file system of its own, which few users may mount.
  'full-disk': { backEnds: ['postgres'], testRounds: {}, play: blockStore },
  'repeated-messages': {
    backEnds: ALL,
    testRounds: { sqlite: 1, postgres: 1, 'durable-objects': 1 },
    play: repeatMessages,
  },
  'repeated-answers': { backEnds: ALL, testRounds: { sqlite: 1, postgres: 1 }, play: repeatAnswers },
  'killed-calls': {
    backEnds: ALL,
    testRounds: { sqlite: 2, postgres: 1, 'durable-objects': 1 },
    play: killCalls,
  },
  'killed-at-each-point': { backEnds: NODE, testRounds: { sqlite: 5 }, play: killAtEachPoint },
  'cancelled-runs': { backEnds: ALL, testRounds: { sqlite: 2 }, play: cancelRuns },
  'killed-before-webhooks': { backEnds: ALL, testRounds: { sqlite: 8 }, play: killBeforeWebhooks },
  'followed-after-restart': {
    backEnds: ALL,
    testRounds: { sqlite: 3, postgres: 1, 'durable-objects': 1 },
    play: followAfterRestart,
  },
  'cut-connections': {
    backEnds: ALL,
    testRounds: { sqlite: 2, postgres: 2, 'durable-objects': 2 },
    play: cutConnections,
  },
} as const satisfies Record<string, Scenario>;
