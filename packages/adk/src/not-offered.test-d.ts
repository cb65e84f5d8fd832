import { expectTypeOf, test } from 'vitest';
import type { NotOffered, VertexAiMemoryBankService, VertexAiSessionServiceOptions } from './index.ts';
import { VertexAiSessionService } from './index.ts';

type Advice = NotOffered<'write DatabaseSessionService, or a SessionDriver over the service'>;

test('the compiler shows what to write for values, classes as types, and types that are not offered', () => {
  expectTypeOf(VertexAiSessionService).toEqualTypeOf<Advice>();
  expectTypeOf<VertexAiSessionService>().toEqualTypeOf<Advice>();
  expectTypeOf<VertexAiSessionServiceOptions>().toEqualTypeOf<Advice>();
  expectTypeOf<VertexAiMemoryBankService['advice']>().toExtend<string>();
  // @ts-expect-error A name that is not offered cannot be constructed.
  void (() => new VertexAiSessionService({ projectId: 'p' }));
});
