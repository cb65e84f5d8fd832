import type { BaseSessionService } from '@eventloom/core';
import {
  type ConformanceCase,
  conformanceCases,
  type ConformanceOptions,
  type MakeService,
} from '@eventloom/core/conformance';
import { toPromised } from './session-rule.ts';
import { type SessionTransfer, transferRules } from './transfer-rules.ts';

/**
 * Returns cases for any test runner that check that sessions move from one back end to another, and back, without loss. Each case creates
 * two services, exports from one and imports into the other.
 *
 * ```ts
 * for (const { id, title, run } of sessionTransferConformance(makeService, makeService)) test(`${id}: ${title}`, run);
 * ```
 * @throws ConfigurationError for a deviation from a case that does not exist
 */
export function sessionTransferConformance(
  makeSource: MakeService<BaseSessionService>,
  makeTarget: MakeService<BaseSessionService>,
  options: ConformanceOptions = {},
): ConformanceCase[] {
  const makeTransfer: MakeService<SessionTransfer> = async (request) => {
    const source = await makeSource(request);
    try {
      const target = await makeTarget(request);
      return {
        service: { source: toPromised(source.service), target: toPromised(target.service) },
        async close() {
          await target.close?.();
          await source.close?.();
        },
      };
    } catch (error) {
      await source.close?.();
      throw error;
    }
  };
  return conformanceCases(transferRules, makeTransfer, options);
}
