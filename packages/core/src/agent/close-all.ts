/** Closes one after the other, all of them whatever one of them throws. @throws what the first threw that failed */
export async function closeAll(all: Iterable<{ close(): Promise<void> | void }>): Promise<void> {
  const failures: unknown[] = [];
  for (const each of all) {
    try {
      await each.close();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
