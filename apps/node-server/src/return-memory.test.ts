import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { returnMemory } from './return-memory.ts';

const LOADED = 300 * 1024 * 1024;
const collect = vi.fn();
let server = { runsInFlight: 0 };
let rss: ReturnType<typeof vi.spyOn>;

/** Sets the resident memory that the process reports. */
function take(bytes: number): void {
  rss.mockReturnValue(bytes);
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('gc', collect.mockClear());
  rss = vi.spyOn(process.memoryUsage, 'rss');
  server = { runsInFlight: 0 };
  take(100 * 1024 * 1024);
});
afterEach(() => {
  vi.clearAllTimers();
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

test('memory is returned once after two idle checks', () => {
  returnMemory(server, 10);
  take(LOADED);
  server.runsInFlight = 1;
  vi.advanceTimersByTime(100);
  server.runsInFlight = 0;
  vi.advanceTimersByTime(10);
  expect(collect).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1_000);
  expect(collect).toHaveBeenCalledExactlyOnceWith({ type: 'major', execution: 'sync', flavor: 'last-resort' });
});

test('nothing happens if little memory is used or gc is not exposed', () => {
  returnMemory(server, 10);
  vi.advanceTimersByTime(100);
  vi.stubGlobal('gc', undefined);
  returnMemory(server, 10);
  take(100);
  vi.advanceTimersByTime(100);
  expect(collect).not.toHaveBeenCalled();
});
