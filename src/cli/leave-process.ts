/** How the process ends. */
export interface Ending {
  readonly status: 0 | 1;
  /** False while a worker thread may still be inside native code. */
  readonly threadsEnded: boolean;
}

/**
 * Ends the process. While a worker is inside native code `process.exit` waits for it and then aborts with a signal's status; another program in
 * place of this one ends every thread at once, and gives the status.
 */
export const leaveProcess = ({ status, threadsEnded }: Ending): never => {
  if (threadsEnded) process.exit(status);
  if (process.execve !== undefined) process.execve('/bin/sh', ['sh', '-c', `exit ${status}`], {});
  process.kill(process.pid, 'SIGKILL');
  throw new Error('a killed process goes no further');
};
