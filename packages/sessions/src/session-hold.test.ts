import { expect, test } from 'vitest';
import type { LeaseClaim, LeaseTicket } from './lease-claim.ts';
import { type SessionHold, takeLease, withdrawTicket } from './session-hold.ts';

const KEY = { appName: 'app', userId: 'user', sessionId: 'session' };
const TTL = 1000;

function heldSession(): SessionHold {
  return { epoch: 1, leaseUntilMs: 5000 };
}

/** Claims at a time, with the given ticket or without one, and returns the outcome. */
function claimAt(hold: SessionHold, nowMs: number, ticket?: Partial<LeaseTicket>, takeOver = false) {
  const claim: LeaseClaim = {
    ...KEY,
    nowMs,
    ttlMs: 100,
    takeOver,
    ticket: ticket && { id: 'a', sinceMs: 0, ttlMs: TTL, ...ticket },
  };
  const outcome = takeLease(hold, claim);
  return outcome.status === 'busy' ? `busy until ${outcome.freeAtMs}` : outcome.status;
}

test('the ticket with the lower id is the first of two tickets with the same time', () => {
  const hold = heldSession();
  claimAt(hold, 4500, { id: 'b' });
  claimAt(hold, 4500, { id: 'a' });
  expect(claimAt(hold, 5000, { id: 'b' })).toBe('busy until 5500');
  expect(claimAt(hold, 5000, { id: 'a' })).toBe('taken');
  expect(claimAt(hold, 5100, { id: 'b' })).toBe('taken');
  expect(hold.tickets).toBeUndefined();
});

test('a claim without a ticket comes after every ticket that has not expired', () => {
  const hold = heldSession();
  claimAt(hold, 4500, { sinceMs: 4500 });
  expect(claimAt(hold, 5499)).toBe('busy until 5500');
  expect(claimAt(hold, 5500)).toBe('taken');
});

test('a takeover ignores tickets', () => {
  const hold = heldSession();
  claimAt(hold, 4500, { id: 'a' });
  expect(claimAt(hold, 4600, undefined, true)).toBe('taken');
});

test('a ticket is renewed after half of its time, and expired tickets are removed', () => {
  const hold = heldSession();
  claimAt(hold, 0, { id: 'gone' });
  claimAt(hold, 3000, { id: 'a' });
  const { tickets } = hold;
  claimAt(hold, 3500, { id: 'a' });
  expect(hold.tickets).toBe(tickets);
  claimAt(hold, 3501, { id: 'a' });
  expect(hold.tickets).toEqual([{ id: 'a', sinceMs: 0, untilMs: 4501 }]);
});

test('a withdrawn ticket does not delay claims', () => {
  const hold = heldSession();
  claimAt(hold, 4500, { id: 'a' });
  withdrawTicket(hold, 'another');
  expect(claimAt(hold, 5000)).toBe('busy until 5500');
  withdrawTicket(hold, 'a');
  expect(claimAt(hold, 5000)).toBe('taken');
});
