import type { TestProject } from 'vitest/node';
import type { ProvidedPostgres } from './provided-postgres.ts';
import { startPostgres } from './start-postgres.ts';

/** Provides the tests with a PostgreSQL: that of the environment variable EVENTLOOM_TEST_POSTGRES, or a temporary one. */
export default async function providePostgres(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const provide = (postgres: ProvidedPostgres): void => project.provide('postgres', postgres);
  const url = process.env['EVENTLOOM_TEST_POSTGRES'];
  if (url) {
    provide({ url });
    return undefined;
  }
  try {
    const postgres = await startPostgres();
    provide({ url: postgres.url });
    return () => postgres.stop();
  } catch (error) {
    provide({ failure: error instanceof Error ? error.message : String(error) });
    return undefined;
  }
}
