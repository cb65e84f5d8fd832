export { studioFiles } from './studio-files.ts';
