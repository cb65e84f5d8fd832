export type { StudioFilesOptions } from './studio-files.ts';
export { studioFiles } from './studio-files.ts';
