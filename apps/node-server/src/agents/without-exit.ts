import { syncBuiltinESMExports } from 'node:module';
import { AgentLoadError } from '../errors.ts';

/**
 * Does something during which `process.exit` ends nothing: it throws where it is called, and fails what is done here, also when that
 * catches it. One at a time.
 * @throws AgentLoadError when `process.exit` was called
 */
export async function withoutExit<T>(act: () => Promise<T>): Promise<T> {
  const called = Promise.withResolvers<never>();
  // Nobody waits for it when what is done never ends.
  called.promise.catch(() => undefined);
  const before = Object.getOwnPropertyDescriptor(process, 'exit') ?? {};
  const exit = (code?: number | string | null): never => {
    const error = new AgentLoadError(`called process.exit(${code ?? ''}) while it was loaded`);
    called.reject(error);
    throw error;
  };
  replaceExit({ ...before, value: exit });
  try {
    // The first of the two that is settled wins: the one in front, when both are.
    return await Promise.race([called.promise, act()]);
  } finally {
    replaceExit(before);
  }
}

function replaceExit(property: PropertyDescriptor): void {
  Object.defineProperty(process, 'exit', property);
  // For those who import it by name.
  syncBuiltinESMExports();
}
