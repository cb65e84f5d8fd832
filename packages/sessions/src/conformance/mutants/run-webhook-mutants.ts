import type { RunWebhook } from '@eventloom/core';
import type { RunWebhookPage } from '../../session-driver.ts';
import { brokenDriver, type SessionMutant } from './mutant.ts';

export const runWebhookMutants: readonly SessionMutant[] = [
  brokenDriver('webhook.listed', 'lists webhooks of open runs', (driver) => ({
    listRunWebhooks: (page) => driver.listRunWebhooks({ ...page, includeOpen: true }),
  })),
  brokenDriver('webhook.listed', 'never lists webhooks of open runs', (driver) => ({
    listRunWebhooks: (page) => driver.listRunWebhooks({ ...page, includeOpen: false }),
  })),
  brokenList('webhook.listed', 'drops the query of the URL', (webhooks) =>
    webhooks.map((webhook) => ({ ...webhook, url: webhook.url.split('?')[0] ?? '' })),
  ),
  brokenDriver('webhook.of-run', 'accepts a webhook of an unknown run', (driver) => ({
    putRunWebhook: (webhook) => driver.putRunWebhook(webhook) || true,
  })),
  brokenDriver('webhook.of-run', 'accepts a request id as the run id', (driver) => ({
    putRunWebhook(webhook) {
      const run = driver.findRun(webhook, webhook.invocationId);
      return driver.putRunWebhook({ ...webhook, invocationId: run?.invocationId ?? '' });
    },
  })),
  brokenDriver('webhook.replaced', 'does not replace a webhook', (driver) => ({
    putRunWebhook(webhook) {
      const page = { ...webhook, includeOpen: true, limit: 1000 };
      const isSame = (one: RunWebhook): boolean =>
        one.sessionId === webhook.sessionId && one.invocationId === webhook.invocationId && one.url === webhook.url;
      return driver.listRunWebhooks(page).some(isSame) || driver.putRunWebhook(webhook);
    },
  })),
  brokenDriver('webhook.replaced', 'stores one webhook per run', (driver) => ({
    putRunWebhook: (webhook) => driver.putRunWebhook({ ...webhook, url: 'https://hooks.example/' }),
  })),
  brokenDriver('webhook.begun', 'begins a run without its webhook', (driver) => ({
    beginRun: (claim) => driver.beginRun({ ...claim, webhook: undefined }),
  })),
  brokenDriver('webhook.begun', 'stores the webhook of a beginRun that is refused', (driver) => ({
    beginRun(claim) {
      if (claim.webhook) driver.putRunWebhook(claim.webhook);
      return driver.beginRun({ ...claim, webhook: undefined });
    },
  })),
  brokenDriver('webhook.begun', 'replaces the earlier webhook of a run that continues', (driver) => ({
    beginRun(claim) {
      const outcome = driver.beginRun(claim);
      if (claim.webhook && outcome.status === 'taken') driver.putRunWebhook(claim.webhook);
      return outcome;
    },
  })),
  brokenDriver('webhook.forgotten', 'keeps the webhook of a beginRun that is undone', (driver) => ({
    releaseLease: (lease, keepRunOpen, changes) =>
      driver.releaseLease(lease, keepRunOpen, {
        ...changes,
        forget: changes?.forget?.filter((id) => !id.startsWith('msg')),
      }),
  })),
  brokenList('webhook.order', 'orders by id', (webhooks) => webhooks.toSorted((a, b) => (a.id < b.id ? -1 : 1))),
  brokenList('webhook.order', 'applies the limit before the order', (webhooks, { limit }) =>
    limit < webhooks.length + 1 ? webhooks.slice(-limit + 1) : webhooks,
  ),
  brokenDriver('webhook.order', 'lists webhooks of all users', (driver) => ({
    listRunWebhooks: (page) => driver.listRunWebhooks({ ...page, userId: undefined }),
  })),
  brokenDriver('webhook.changed-once', 'overwrites a concurrent change', (driver) => ({
    changeRunWebhook(webhook, change) {
      const page = { ...webhook, includeOpen: true, limit: 1000 };
      const now = driver.listRunWebhooks(page).find(({ id }) => id === webhook.id);
      return now !== undefined && driver.changeRunWebhook(now, change);
    },
  })),
  brokenDriver('webhook.changed-once', 'compares only the number of attempts', (driver) => ({
    changeRunWebhook(webhook, change) {
      const page = { ...webhook, includeOpen: true, limit: 1000 };
      const now = driver.listRunWebhooks(page).find(({ id }) => id === webhook.id);
      return now?.attempts === webhook.attempts && driver.changeRunWebhook(now, change);
    },
  })),
  brokenDriver('webhook.deleted', 'keeps the webhooks of a deleted session', (driver) => {
    const kept: RunWebhook[] = [];
    return {
      deleteSession(key) {
        const page = { ...key, includeOpen: true, limit: 1000 };
        kept.push(...driver.listRunWebhooks(page).filter(({ sessionId }) => sessionId === key.sessionId));
        driver.deleteSession(key);
      },
      listRunWebhooks: (page) => [...kept, ...driver.listRunWebhooks(page)],
    };
  }),
];

/** Creates a mutant that lists wrong webhooks. */
function brokenList(
  breaks: string,
  how: string,
  change: (webhooks: RunWebhook[], page: RunWebhookPage) => RunWebhook[],
): SessionMutant {
  return brokenDriver(breaks, how, (driver) => ({
    listRunWebhooks: (page) => change(driver.listRunWebhooks(page), page),
  }));
}
