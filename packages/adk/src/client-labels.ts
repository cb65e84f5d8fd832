import { ConfigurationError } from '@eventloom/core';
import { describeKind } from '@eventloom/core/internal';
import { requireArgument } from './check-arguments.ts';

/** Returns the labels of the client library. Eventloom sends no labels of its own to models. */
export function getClientLabels(): string[] {
  return [`eventloom-adk/${version}`, 'gl-typescript'];
}

/** The version of `@google/adk` whose names this package has. */
export const version = '2.0.0';

/**
 * Runs `callback`. Eventloom sends no labels to models, so the label has no effect.
 * @throws ConfigurationError for an empty label, and without a function
 */
export function runWithClientLabel<T>(clientLabel: string, callback: () => T): T {
  if (typeof clientLabel !== 'string' || clientLabel.trim() === '')
    throw new ConfigurationError(
      `runWithClientLabel: clientLabel: expected a non-empty string, got ${describeKind(clientLabel)}; write runWithClientLabel('my-app', () => …)`,
    );
  requireArgument(
    typeof callback === 'function',
    'runWithClientLabel',
    'a function',
    callback,
    "runWithClientLabel('my-app', () => …)",
  );
  return callback();
}
