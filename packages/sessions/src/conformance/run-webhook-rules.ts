import {
  type BeginRunRequest,
  InvalidRequestError,
  RunNotFoundError,
  type RunWebhook,
  SessionBusyError,
  SessionNotFoundError,
  UnfinishedRunError,
} from '@eventloom/core';
import { openRun } from './open-runs.ts';
import { KEY, OTHER_KEY, sampleEvent } from './samples.ts';
import type { SessionRule, Subject } from './session-rule.ts';

const URL_1 = 'https://hooks.example/one?of=ends';
const URL_2 = 'https://hooks.example/two';
const { appName } = KEY;

/** Begins a run with a webhook, and ends it. */
async function endedRun({ service }: Subject, invocationId: string, id: string, key = KEY): Promise<void> {
  await service.getOrCreateSession(key);
  const { lease } = await service.beginRun({ ...key, invocationId, onBusy: 'reject' });
  await service.releaseLease(lease);
  await service.putRunWebhook({ ...key, id, invocationId, url: URL_1 });
}

async function idsOf(
  { service }: Subject,
  request: { readonly userId?: string; readonly includeOpen?: boolean; readonly limit?: number } = {},
): Promise<string[]> {
  return (await service.listRunWebhooks({ appName, ...request })).map(({ id }) => id);
}

async function only({ service, expect }: Subject): Promise<RunWebhook> {
  const [webhook] = await service.listRunWebhooks({ appName });
  return expect.present('the webhook', webhook);
}

/** Rules about the webhooks of runs. */
export const runWebhookRules: readonly SessionRule[] = [
  {
    id: 'webhook.listed',
    title: 'A webhook is listed with 0 attempts once its run has ended.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession(KEY);
      const lease = await openRun(subject, 'e-1');
      await service.putRunWebhook({ ...KEY, id: 'msg 1', invocationId: 'e-1', url: URL_1 });
      expect.same('the webhooks listed while the run is open', await idsOf(subject), []);
      expect.same('the webhooks including those of open runs', await idsOf(subject, { includeOpen: true }), ['msg 1']);
      await service.releaseLease(lease, { keepRunOpen: true });
      expect.same('the webhooks listed while the run is left open', await idsOf(subject), []);
      await service.releaseLease(await openRun(subject, 'e-1', { continues: true }));
      const expected = { ...KEY, id: 'msg 1', invocationId: 'e-1', url: URL_1, attempts: 0, dueMs: 0 };
      expect.same('the webhook', await only(subject), expected);
      const next = await openRun(subject, 'e-2');
      expect.same('the webhooks listed while another run is open', await idsOf(subject), ['msg 1']);
      await service.releaseLease(next);
    },
  },
  {
    id: 'webhook.of-run',
    title: 'Storing a webhook of a run that the session does not have is RunNotFoundError, and nothing is stored.',
    async check(subject) {
      const { service, expect } = subject;
      const put = (invocationId: string, key = KEY) =>
        service.putRunWebhook({ ...key, id: 'msg', invocationId, url: URL_1 });
      await expect.rejects('a webhook of a missing session', put('e-1'), RunNotFoundError);
      await service.createSession(KEY);
      await service.createSession(OTHER_KEY);
      await service.releaseLease(await openRun(subject, 'e-1', { requestId: 'r-1' }));
      await expect.rejects('a webhook of an unknown run', put('e-2'), RunNotFoundError);
      await expect.rejects('a webhook of a request id', put('r-1'), RunNotFoundError);
      await expect.rejects('a run of another session', put('e-1', OTHER_KEY), RunNotFoundError);
      expect.same('the listed webhooks', await idsOf(subject, { includeOpen: true }), []);
    },
  },
  {
    id: 'webhook.replaced',
    title: 'A webhook replaces the earlier one of the same run and URL, with 0 attempts.',
    async check(subject) {
      const { service, expect } = subject;
      await endedRun(subject, 'e-1', 'msg 1');
      await service.changeRunWebhook(await only(subject), { attempts: 2, dueMs: 5 });
      await service.putRunWebhook({ ...KEY, id: 'msg 1', invocationId: 'e-1', url: URL_1 });
      expect.same('its attempts, stored again', (await only(subject)).attempts, 0);
      await service.putRunWebhook({ ...KEY, id: 'msg 2', invocationId: 'e-1', url: URL_1 });
      await service.putRunWebhook({ ...KEY, id: 'msg 3', invocationId: 'e-1', url: URL_2 });
      await endedRun(subject, 'e-2', 'msg 4');
      await endedRun(subject, 'e-1', 'msg 5', OTHER_KEY);
      expect.same('the listed webhooks', await idsOf(subject), ['msg 2', 'msg 3', 'msg 4', 'msg 5']);
    },
  },
  {
    id: 'webhook.begun',
    title: 'beginRun stores its webhook only if the run begins, and a run that continues keeps its earlier webhooks.',
    async check(subject) {
      const { service, expect } = subject;
      const listed = () => idsOf(subject, { includeOpen: true });
      const begin = (id: string, request: Partial<BeginRunRequest> = {}) =>
        openRun(subject, 'e-1', { webhook: { id, url: URL_1 }, ...request });
      const missing = { ...KEY, sessionId: 'missing' };
      await expect.rejects('beginRun in a missing session', begin('msg 0', missing), SessionNotFoundError);
      await service.createSession(KEY);
      const lease = await begin('msg 1', { message: sampleEvent('first') });
      expect.same('the webhooks of the run', await listed(), ['msg 1']);
      await expect.rejects('beginRun in a busy session', begin('msg 2'), SessionBusyError);
      await service.releaseLease(lease, { keepRunOpen: true });
      await expect.rejects(
        'beginRun beside an open run',
        openRun(subject, 'e-2', { webhook: { id: 'msg 2', url: URL_1 } }),
        UnfinishedRunError,
      );
      expect.same('the webhooks after refused calls of beginRun', await listed(), ['msg 1']);
      await service.releaseLease(await begin('msg 3', { continues: true }));
      expect.same('the webhooks after a run that continues', await listed(), ['msg 1', 'msg 3']);
      const created = { ...KEY, sessionId: 'created' };
      await service.releaseLease(await begin('msg 4', { ...created, create: true, message: sampleEvent('second') }));
      expect.same('the webhook of a created session', await listed(), ['msg 1', 'msg 3', 'msg 4']);
      const [first] = await service.listRunWebhooks({ appName });
      const expected = { ...KEY, id: 'msg 1', invocationId: 'e-1', url: URL_1, attempts: 0, dueMs: 0 };
      expect.same('the webhook', first, expected);
    },
  },
  {
    id: 'webhook.forgotten',
    title: 'Releasing a live lease with forget removes these webhooks, and those of forgotten runs.',
    async check(subject) {
      const { service, expect } = subject;
      await endedRun(subject, 'e-1', 'msg 1');
      const begin = (invocationId: string, id: string, continues = false) =>
        openRun(subject, invocationId, { continues, webhook: { id, url: URL_2 } });
      const again = await begin('e-1', 'msg 2', true);
      await service.releaseLease(again, { forget: ['msg 2'] });
      expect.same('the webhooks of a run that continued', await idsOf(subject), ['msg 1']);
      const lost = await begin('e-2', 'msg 3');
      await service.releaseLease(lost, { keepRunOpen: true });
      const last = await begin('e-2', 'msg 4', true);
      await service.releaseLease(lost, { forget: ['e-2'] });
      expect.same('the webhooks after a stale release', await idsOf(subject, { includeOpen: true }), [
        'msg 1',
        'msg 3',
        'msg 4',
      ]);
      await service.releaseLease(last, { forget: ['e-2'] });
      expect.same('the webhooks after the run was forgotten', await idsOf(subject), ['msg 1']);
    },
  },
  {
    id: 'webhook.order',
    title: 'Webhooks are listed by due time and then by id, up to the limit, and of one user if the request names one.',
    async check(subject) {
      const { service, expect } = subject;
      for (const id of ['c', 'a', 'b', 'd']) await endedRun(subject, `e-${id}`, id);
      await endedRun(subject, 'e-1', 'x', { ...KEY, userId: 'stranger' });
      await endedRun(subject, 'e-1', 'y', { ...KEY, appName: 'other app' });
      for (const webhook of await service.listRunWebhooks({ appName })) {
        if (webhook.id === 'a') await service.changeRunWebhook(webhook, { attempts: 1, dueMs: 2000 });
        if (webhook.id === 'b') await service.changeRunWebhook(webhook, { attempts: 1, dueMs: 1000 });
      }
      expect.same('all', await idsOf(subject), ['c', 'd', 'x', 'b', 'a']);
      expect.same('the first', await idsOf(subject, { limit: 3 }), ['c', 'd', 'x']);
      expect.same('the webhooks of a user', await idsOf(subject, { userId: 'stranger' }), ['x']);
      const none = async () => service.listRunWebhooks({ appName, limit: 0 });
      await expect.rejects('a limit of 0', none(), InvalidRequestError);
    },
  },
  {
    id: 'webhook.changed-once',
    title:
      'Of concurrent changes of a webhook only one succeeds: a change is refused if the webhook was changed after it was listed.',
    async check(subject) {
      const { service, expect } = subject;
      await endedRun(subject, 'e-1', 'msg');
      const before = await only(subject);
      const change = { attempts: 1, dueMs: 1000 };
      const both = await Promise.all([1, 2].map(async () => service.changeRunWebhook(before, change)));
      expect.same('the number of successful changes', both.filter(Boolean).length, 1);
      expect.same('the webhook', await only(subject), { ...before, ...change });
      expect.same('removing the webhook by its old version', await service.changeRunWebhook(before, undefined), false);
      const now = await only(subject);
      expect.same('changing only the due time', await service.changeRunWebhook(now, { attempts: 1, dueMs: 7 }), true);
      expect.same('a late change', await service.changeRunWebhook(now, change), false);
      expect.same('removing the webhook', await service.changeRunWebhook(await only(subject), undefined), true);
      expect.same('the remaining webhooks', await idsOf(subject), []);
      expect.same('changing a removed webhook', await service.changeRunWebhook({ ...now, dueMs: 7 }, change), false);
    },
  },
  {
    id: 'webhook.deleted',
    title: 'Deleting a session removes only its own webhooks.',
    async check(subject) {
      const { service, expect } = subject;
      await endedRun(subject, 'e-1', 'msg 1');
      await endedRun(subject, 'e-1', 'msg 2', OTHER_KEY);
      const webhook = expect.present('the webhook', (await service.listRunWebhooks({ appName }))[0]);
      await service.deleteSession(KEY);
      expect.same('the listed webhooks', await idsOf(subject, { includeOpen: true }), ['msg 2']);
      await service.createSession(KEY);
      expect.same('the listed webhooks of the new session', await idsOf(subject, { includeOpen: true }), ['msg 2']);
      const changed = await service.changeRunWebhook(webhook, { attempts: 1, dueMs: 1 });
      expect.same('changing a webhook of the deleted session', changed, false);
    },
  },
];
