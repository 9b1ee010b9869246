import { createLog, type ServerLog } from '../telemetry/log.ts';
import type { LogSettings } from './settings.ts';

/** @throws the file system's error when the log file cannot be opened */
export const openLog = ({ file, ...settings }: LogSettings): ServerLog => createLog({ ...settings, file: file === '' ? undefined : file });
