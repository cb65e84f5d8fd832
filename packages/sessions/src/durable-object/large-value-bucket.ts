/** What is used of an R2 bucket: the binding of a Worker. */
export interface LargeValueBucket {
  put(key: string, value: string): Promise<unknown>;
  get(key: string): Promise<{ text(): Promise<string> } | null>;
  delete(keys: string[]): Promise<void>;
}
