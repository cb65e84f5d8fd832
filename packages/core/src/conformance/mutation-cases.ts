import type { ConformanceCase, MakeService } from './conformance-cases.ts';
import { ConformanceError } from './errors.ts';

/** A service with a deliberate fault, which a suite must find. */
export interface Mutant<S> {
  /** Id of the case that must fail. */
  readonly breaks: string;
  /** The fault: completes the sentence "finds a service that …". */
  readonly how: string;
  readonly make: MakeService<S>;
}

/**
 * Returns cases that prove that a suite finds faults: one for each mutant, which passes if the case of the rule that
 * the mutant breaks fails; and one which fails if a rule has no mutant.
 */
export function mutationCases<S>(
  suite: (make: MakeService<S>) => readonly ConformanceCase[],
  mutants: readonly Mutant<S>[],
): ConformanceCase[] {
  const found = mutants.map(({ breaks, how, make }) => ({
    id: breaks,
    title: `finds a service that ${how}`,
    run: () => expectFailure(suite(make), breaks),
  }));
  const broken = new Set(mutants.map(({ breaks }) => breaks));
  return [
    ...found,
    {
      id: 'mutants',
      title: 'every rule has a mutant',
      async run() {
        const rules = suite(() => Promise.reject(new TypeError('not called'))).map(({ id }) => id);
        const unbroken = rules.filter((id) => !broken.has(id));
        if (unbroken.length > 0) throw new ConformanceError('mutants', 'rules without a mutant', [], unbroken);
      },
    },
  ];
}

async function expectFailure(cases: readonly ConformanceCase[], breaks: string): Promise<void> {
  const found = cases.find(({ id }) => id === breaks);
  if (!found) throw new ConformanceError(breaks, 'the suite', 'a case of this id', undefined);
  try {
    await found.run();
  } catch (error) {
    if (ConformanceError.isInstance(error) && error.rule === breaks) return;
    throw error;
  }
  throw new ConformanceError(breaks, 'the case', 'a failure', undefined);
}

/** Returns the target with some of its methods replaced. */
export function overlay<T extends object>(target: T, methods: Partial<T>): T {
  return new Proxy(target, {
    get(_, name) {
      const found: unknown = Reflect.get(methods, name) ?? Reflect.get(target, name);
      return typeof found === 'function' ? found.bind(target) : found;
    },
  });
}
