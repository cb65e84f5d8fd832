import { ConfigurationError, type SessionKey, systemPlatform } from '@eventloom/core';
import type { ConformanceRule, ConformanceSubject } from '@eventloom/core/conformance';
import { RunGoesOnError } from '../errors.ts';
import { runName } from '../runs/run-memory.ts';
import type {
  LogMirror,
  RelayedLog,
  RelayHost,
  RelayEnd,
  RunFrame,
  RunPublication,
  RunRelay,
  RunStop,
} from '../runs/run-relay.ts';

type RelayRule = ConformanceRule<RunRelay>;

const KEY: SessionKey = { appName: 'app', userId: 'ann', sessionId: 's' };
const OTHER_KEYS: readonly SessionKey[] = [
  { ...KEY, appName: 'other' },
  { ...KEY, userId: 'bob' },
  { ...KEY, sessionId: 't' },
];

let runs = 0;
const newId = (): string => `e-${++runs}-${systemPlatform.newUuid()}`;

/** A log whose contents the test case sets. */
class SaidLog implements RelayedLog {
  readonly key: SessionKey;
  readonly invocationId: string;
  readonly requestId: string | undefined;
  readonly attempt: number;
  publication: RunPublication | undefined;
  isEnded = false;
  earlyEnd: RunGoesOnError | undefined;
  gonePosition: number;
  lastPosition: number;
  #frames: readonly RunFrame[] = [];

  constructor({ invocationId = newId(), requestId, key = KEY, attempt = 1, begin = 0 }: SaidLogOptions = {}) {
    this.key = key;
    this.invocationId = invocationId;
    this.requestId = requestId;
    this.attempt = attempt;
    this.gonePosition = begin;
    this.lastPosition = begin;
  }

  get chars(): number {
    return this.#frames.reduce((sum, { json }) => sum + json.length, 0);
  }

  framesAfter(position: number, maxChars: number): RunFrame[] {
    const frames: RunFrame[] = [];
    let chars = 0;
    for (const frame of this.#frames) {
      if (frame.position <= position || chars >= maxChars) continue;
      frames.push(frame);
      chars += frame.json.length;
    }
    return frames;
  }

  say(...texts: string[]): void {
    const frames = texts.map((text, index) => frame(this.lastPosition + index + 1, text));
    this.#frames = [...this.#frames, ...frames];
    this.lastPosition += texts.length;
    this.publication?.notify();
  }

  drop(position: number): void {
    this.#frames = this.#frames.filter((frame) => frame.position > position);
    this.gonePosition = position;
  }

  end(earlyEnd?: RunGoesOnError): void {
    this.isEnded = true;
    this.earlyEnd = earlyEnd;
    this.publication?.notify();
  }
}

interface SaidLogOptions {
  readonly invocationId?: string;
  readonly requestId?: string;
  readonly key?: SessionKey;
  readonly attempt?: number;
  readonly begin?: number;
}

function frame(position: number, text: string): RunFrame {
  return { position, json: JSON.stringify({ text }) };
}

/**
 * A mirror that records its calls as lines: texts with their positions, the position up to which frames are no longer kept, and the end.
 */
class NotingMirror implements LogMirror {
  readonly received: string[] = [];
  #waiting: (() => void) | undefined;
  #position: number;

  constructor(position: number) {
    this.#position = position;
  }

  mirror(frames: readonly RunFrame[], gonePosition: number): void {
    if (gonePosition > this.#position) this.received.push(`gone ${gonePosition}`);
    for (const { position, json } of frames)
      this.received.push(`${position} ${(JSON.parse(json) as { text: string }).text}`);
    this.#position = frames.at(-1)?.position ?? Math.max(this.#position, gonePosition);
    this.#waiting?.();
  }

  mirrorEnded(end: RelayEnd): void {
    this.received.push(end.kind);
    this.#waiting?.();
  }

  /** Resolves with the lines once this line has arrived. */
  async until(line: string): Promise<readonly string[]> {
    while (!this.received.includes(line)) await new Promise<void>((resolve) => void (this.#waiting = resolve));
    return this.received;
  }
}

/** One server: its relay, and the runs that the relay asked it to stop. */
class Server implements RelayHost {
  readonly platform = systemPlatform;
  readonly keepRunsMs = 60_000;
  readonly relay: RunRelay;
  readonly stops: string[] = [];
  readonly logs = new Map<string, SaidLog>();
  #onStop: (() => void) | undefined;

  constructor(relay: RunRelay) {
    this.relay = relay;
    relay.attach(this);
  }

  report(): void {}

  /** Ends the run immediately when the relay asks for it. */
  stop(key: SessionKey, invocationId: string, stop: RunStop): void {
    const log = this.logs.get(runName(key, invocationId));
    if (!log) return;
    this.stops.push(`${stop} ${invocationId}`);
    if (!log.isEnded) log.end();
    if (stop === 'forget') log.publication?.forget();
    this.#onStop?.();
  }

  async stopped(): Promise<void> {
    while (this.stops.length === 0) await new Promise<void>((resolve) => void (this.#onStop = resolve));
  }

  /** Publishes a log, and waits until every process can find it. */
  async publish(options: SaidLogOptions = {}, ...texts: string[]): Promise<SaidLog> {
    const log = new SaidLog(options);
    this.logs.set(runName(log.key, log.invocationId), log);
    log.publication = this.relay.publish(log);
    await log.publication.announced;
    if (texts.length > 0) log.say(...texts);
    return log;
  }

  follow({ key, invocationId }: RelayedLog, position = 0): NotingMirror & { leave: () => void } {
    const mirror = new NotingMirror(position);
    return Object.assign(mirror, { leave: this.relay.follow(key, invocationId, position, mirror) });
  }
}

async function twoServers(subject: ConformanceSubject<RunRelay>): Promise<readonly [Server, Server]> {
  return [new Server(subject.service), new Server(await subject.another())];
}

/** The rules that a relay must follow between processes. */
export const relayRules: readonly RelayRule[] = [
  {
    id: 'attach.once',
    title: 'A relay belongs to one server: attaching a second one throws ConfigurationError.',
    async check({ service, expect }) {
      const server = new Server(service);
      await expect.rejects(
        'the second attach',
        Promise.resolve().then(() => service.attach(server)),
        ConfigurationError,
      );
    },
  },
  {
    id: 'find.announced',
    title: 'A run is found in every process once it is announced, with its attempt and its positions.',
    async check(subject) {
      const [here, there] = await twoServers(subject);
      const log = await here.publish({ attempt: 7, begin: 40 });
      const found = await there.relay.find(KEY, log.invocationId);
      subject.expect.same('the run', found, {
        invocationId: log.invocationId,
        attempt: 7,
        gonePosition: 40,
        lastPosition: 40,
      });
    },
  },
  {
    id: 'find.unknown',
    title: 'A run that no process published is undefined.',
    async check(subject) {
      const [, there] = await twoServers(subject);
      subject.expect.same('the run', await there.relay.find(KEY, newId()), undefined);
    },
  },
  {
    id: 'find.request',
    title:
      'A run is found by the id of its request, under the key of its session, unless another run has that invocation id.',
    async check(subject) {
      const [here, there] = await twoServers(subject);
      const [first, second] = [newId(), newId()];
      await here.publish({ invocationId: first, requestId: `r-${first}` });
      await here.publish({ invocationId: second, requestId: first });
      const find = async (id: string, key = KEY) => (await there.relay.find(key, id))?.invocationId;
      subject.expect.same('the run of the request', await find(`r-${first}`), first);
      subject.expect.same('the run of the invocation id', await find(first), first);
      for (const key of OTHER_KEYS)
        subject.expect.same(`the run of ${JSON.stringify(key)}`, await find(`r-${first}`, key), undefined);
    },
  },
  {
    id: 'find.copies',
    title: 'Of several runs of one request, a run that is in progress in another process is found first.',
    async check(subject) {
      const [here, there] = await twoServers(subject);
      const [first, second] = [newId(), newId()];
      await here.publish({ invocationId: first, requestId: `r-${first}` });
      await there.publish({ invocationId: second, requestId: `r-${first}` });
      subject.expect.same('the run found here', (await here.relay.find(KEY, `r-${first}`))?.invocationId, second);
      subject.expect.same('the run found there', (await there.relay.find(KEY, `r-${first}`))?.invocationId, first);
    },
  },
  {
    id: 'find.lost-copy',
    title:
      'Of several runs of one request, a run in progress is found before one whose process lost it, in every process.',
    async check(subject) {
      const [here, there] = await twoServers(subject);
      for (const isLostFirst of [true, false]) {
        const requestId = newId();
        const lose = async () => {
          const lost = await there.publish({ requestId }, 'one');
          lost.end(new RunGoesOnError('the server is shutting down'));
          await here.follow(lost).until('lost');
        };
        if (isLostFirst) await lose();
        const live = await here.publish({ requestId });
        if (!isLostFirst) await lose();
        for (const { relay } of [here, there])
          subject.expect.same('the run', (await relay.find(KEY, requestId))?.invocationId, live.invocationId);
      }
    },
  },
  {
    id: 'find.session',
    title: "A run is found under its session's key only.",
    async check(subject) {
      const [here, there] = await twoServers(subject);
      const { invocationId } = await here.publish();
      subject.expect.present('the run', await there.relay.find(KEY, invocationId));
      for (const key of OTHER_KEYS) {
        subject.expect.same(`the run of ${JSON.stringify(key)}`, await there.relay.find(key, invocationId), undefined);
      }
    },
  },
  {
    id: 'publish.same-id',
    title: 'Runs of two sessions with the same invocation id are separate: each is followed and ended by itself.',
    async check(subject) {
      const [here, there] = await twoServers(subject);
      const invocationId = newId();
      const key = { ...KEY, sessionId: newId() };
      const first = await here.publish({ invocationId }, 'one');
      const second = await here.publish({ invocationId, key, attempt: 2 }, 'uno', 'due');
      const [ofFirst, ofSecond] = [there.follow(first), there.follow(second)];
      await ofFirst.until('1 one');
      await ofSecond.until('2 due');
      await there.relay.cancel(key, invocationId);
      subject.expect.same('the frames of the ended run', await ofSecond.until('ended'), ['1 uno', '2 due', 'ended']);
      subject.expect.same('the other run has ended', first.isEnded, false);
      first.say('two');
      await ofFirst.until('2 two');
      await there.relay.forgetSession(key);
      subject.expect.present('the other run', await there.relay.find(KEY, invocationId));
      first.end();
      subject.expect.same('the frames of the other run', await ofFirst.until('ended'), ['1 one', '2 two', 'ended']);
    },
  },
  {
    id: 'follow.frames',
    title: 'A mirror gets every frame once, in order, with its position and its text, and then the end.',
    async check(subject) {
      const [here, there] = await twoServers(subject);
      const log = await here.publish({}, 'one', 'two — “zwei”');
      const mirror = there.follow(log);
      await mirror.until('2 two — “zwei”');
      log.say('three');
      await mirror.until('3 three');
      log.say('four', 'five');
      log.end();
      const expected = ['1 one', '2 two — “zwei”', '3 three', '4 four', '5 five', 'ended'];
      subject.expect.same('the received frames', await mirror.until('ended'), expected);
      const found = await there.relay.find(KEY, log.invocationId);
      const { invocationId } = log;
      const expectedRun = { invocationId, attempt: 1, gonePosition: 0, lastPosition: 5, end: { kind: 'ended' } };
      subject.expect.same('the run', found, expectedRun);
    },
  },
  {
    id: 'follow.position',
    title: 'A mirror gets the frames after its position, also of a run that has ended.',
    async check(subject) {
      const [here, there] = await twoServers(subject);
      const log = await here.publish({}, 'one', 'two', 'three');
      log.end();
      await there.follow(log).until('ended');
      subject.expect.same('behind 2', await there.follow(log, 2).until('ended'), ['3 three', 'ended']);
      subject.expect.same('behind 3', await there.follow(log, 3).until('ended'), ['ended']);
    },
  },
  {
    id: 'follow.several',
    title: 'Each of several mirrors gets all frames, in every process.',
    async check(subject) {
      const [here, there] = await twoServers(subject);
      const log = await here.publish({}, 'one');
      const mirrors = [there.follow(log), there.follow(log), here.follow(log)];
      for (const mirror of mirrors) await mirror.until('1 one');
      log.say('two');
      log.end();
      for (const mirror of mirrors) {
        subject.expect.same('the received frames', await mirror.until('ended'), ['1 one', '2 two', 'ended']);
      }
    },
  },
  {
    id: 'follow.leave',
    title: 'A mirror gets nothing after it was closed.',
    async check(subject) {
      const [here, there] = await twoServers(subject);
      const log = await here.publish({}, 'one');
      const [left, stays] = [there.follow(log), there.follow(log)];
      await left.until('1 one');
      await stays.until('1 one');
      left.leave();
      log.say('two');
      log.end();
      await stays.until('ended');
      subject.expect.same('the received frames', left.received, ['1 one']);
    },
  },
  {
    id: 'follow.gone',
    title: 'A mirror gets the position up to which frames are no longer kept.',
    async check(subject) {
      const [here, there] = await twoServers(subject);
      const log = new SaidLog();
      here.logs.set(log.invocationId, log);
      log.say('one', 'two', 'three');
      log.drop(2);
      log.publication = here.relay.publish(log);
      await log.publication.announced;
      log.end();
      subject.expect.same('the received frames', await there.follow(log).until('ended'), [
        'gone 2',
        '3 three',
        'ended',
      ]);
    },
  },
  {
    id: 'end.lost',
    title: 'A log that ends while its run continues is reported as lost, not as ended, to mirrors and to find.',
    async check(subject) {
      const [here, there] = await twoServers(subject);
      const log = await here.publish({}, 'one');
      const mirror = there.follow(log);
      await mirror.until('1 one');
      log.end(new RunGoesOnError('the server is shutting down'));
      subject.expect.same('the received frames', await mirror.until('lost'), ['1 one', 'lost']);
      const found = await there.relay.find(KEY, log.invocationId);
      subject.expect.same('the reported end', found?.end?.kind, 'lost');
    },
  },
  {
    id: 'publish.later',
    title: 'A later attempt of a run replaces everything that was published before.',
    async check(subject) {
      const [here, there] = await twoServers(subject);
      const before = await here.publish({ attempt: 3 }, 'one');
      before.end();
      await there.follow(before).until('ended');
      const { invocationId } = before;
      const log = await there.publish({ invocationId, attempt: 4, begin: 10 }, 'two');
      const mirror = here.follow(log, 10);
      await mirror.until('11 two');
      log.end();
      subject.expect.same('the received frames', await mirror.until('ended'), ['11 two', 'ended']);
      const found = await here.relay.find(KEY, invocationId);
      subject.expect.same('the attempt', found?.attempt, 4);
    },
  },
  {
    id: 'publish.unpublished',
    title:
      'A mirror of a lost attempt gets the frames of the later attempt, and the position up to which frames were never published.',
    async check(subject) {
      const [here, there] = await twoServers(subject);
      const lost = await here.publish({ attempt: 3 }, 'one');
      const { invocationId } = lost;
      const mirror = here.follow(lost);
      await mirror.until('1 one');
      const log = await there.publish({ invocationId, attempt: 4, begin: 10 });
      subject.expect.same('the found positions', await here.relay.find(KEY, invocationId), {
        invocationId,
        attempt: 4,
        gonePosition: 10,
        lastPosition: 10,
      });
      log.say('two');
      await mirror.until('11 two');
      log.say('three');
      log.end();
      const expected = ['1 one', 'gone 10', '11 two', '12 three', 'ended'];
      subject.expect.same('the received frames', await mirror.until('ended'), expected);
    },
  },
  {
    id: 'publish.earlier',
    title:
      'A process that publishes an earlier attempt, for example after it was frozen, does not affect the later attempt.',
    async check(subject) {
      const [here, there] = await twoServers(subject);
      const log = await there.publish({ attempt: 5, begin: 10 }, 'later');
      const { invocationId } = log;
      await here.follow(log, 10).until('11 later');
      const frozen = await here.publish({ invocationId, attempt: 4 }, 'earlier');
      frozen.end();
      log.say('and more');
      log.end();
      subject.expect.same('the received frames', await here.follow(log, 10).until('ended'), [
        '11 later',
        '12 and more',
        'ended',
      ]);
      subject.expect.same('the attempt', (await here.relay.find(KEY, invocationId))?.attempt, 5);
    },
  },
  {
    id: 'publication.forget',
    title: 'A forgotten run cannot be found, and its followers get its end.',
    async check(subject) {
      const [here, there] = await twoServers(subject);
      const log = await here.publish({}, 'one');
      const mirror = there.follow(log);
      await mirror.until('1 one');
      log.publication?.forget();
      log.end();
      subject.expect.same('the received frames', await mirror.until('ended'), ['1 one', 'ended']);
      subject.expect.same('the run', await there.relay.find(KEY, log.invocationId), undefined);
    },
  },
  {
    id: 'publication.forget.asks-nobody',
    title: 'A host that forgets its own run is not asked to stop it, because it may be about to resume the run.',
    async check(subject) {
      const [here, there] = await twoServers(subject);
      const log = await here.publish({}, 'one');
      const mirror = there.follow(log);
      await mirror.until('1 one');
      log.publication?.forget();
      log.end();
      await mirror.until('ended');
      const last = await here.publish();
      await there.relay.cancel(KEY, last.invocationId);
      await here.stopped();
      subject.expect.same('the requested stops', [...new Set(here.stops)], [`cancel ${last.invocationId}`]);
    },
  },
  {
    id: 'cancel.host',
    title: 'The host of a run is asked to end that run, possibly more than once, and no other run.',
    async check(subject) {
      const [here, there] = await twoServers(subject);
      const log = await here.publish({}, 'one');
      const other = await here.publish({}, 'one');
      const mirror = there.follow(log);
      await mirror.until('1 one');
      await there.relay.cancel(KEY, log.invocationId);
      await mirror.until('ended');
      subject.expect.same('the requested stops', [...new Set(here.stops)], [`cancel ${log.invocationId}`]);
      subject.expect.same('the other run has ended', other.isEnded, false);
    },
  },
  {
    id: 'cancel.ended',
    title: 'Ending a run that has ended, is unknown, or belongs to another session has no effect.',
    async check(subject) {
      const [here, there] = await twoServers(subject);
      const ended = await here.publish({}, 'one');
      ended.end();
      await there.follow(ended).until('ended');
      const running = await here.publish();
      await there.relay.cancel(KEY, newId());
      await there.relay.cancel(KEY, ended.invocationId);
      for (const key of OTHER_KEYS) await there.relay.cancel(key, running.invocationId);
      const last = await here.publish();
      await there.relay.cancel(KEY, last.invocationId);
      await here.stopped();
      subject.expect.same('the requested stops', [...new Set(here.stops)], [`cancel ${last.invocationId}`]);
    },
  },
  {
    id: 'forget.session',
    title: 'Deleting a session ends its runs in every process and removes them; runs of other sessions stay.',
    async check(subject) {
      const [here, there] = await twoServers(subject);
      const key = { ...KEY, sessionId: newId() };
      const other = { ...KEY, sessionId: newId() };
      const ended = await here.publish({ key }, 'one');
      ended.end();
      await there.follow(ended).until('ended');
      const running = await here.publish({ key });
      const stays = await here.publish({ key: other });
      await there.relay.forgetSession(key);
      subject.expect.same('the run has ended when it settles', running.isEnded, true);
      for (const { invocationId } of [ended, running]) {
        subject.expect.same('a run of it', await there.relay.find(key, invocationId), undefined);
      }
      subject.expect.present('a run of another session', await there.relay.find(other, stays.invocationId));
      subject.expect.same('the run of another session has ended', stays.isEnded, false);
    },
  },
];
