/** The server of a test run, or the reason why there is none. Tests that do not need it run in any case. */
export type ProvidedPostgres =
  | { readonly url: string; readonly failure?: undefined }
  | { readonly url?: undefined; readonly failure: string };

declare module 'vitest' {
  interface ProvidedContext {
    readonly postgres: ProvidedPostgres;
  }
}
