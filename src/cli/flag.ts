import type { Draft, ServerSettings } from '../server/settings.ts';

/** Triton's headings, in the order in which help prints them. */
export const flagGroups = [
  'Global',
  'Server',
  'Logging',
  'Model Repository',
  'HTTP',
  'GRPC',
  'WebSocket',
  'Sagemaker',
  'Vertex',
  'Metrics',
  'Tracing',
  'Backend',
  'Repository Agent',
  'Response Cache',
  'Rate Limiter',
  'Memory/Device Management',
  'DEPRECATED',
] as const;

export type FlagGroup = (typeof flagGroups)[number];

export interface Flag {
  /** Without the dashes. */
  readonly name: string;
  readonly group: FlagGroup;
  /** What follows the name, for help: `integer`; `''` for a flag without value. */
  readonly argument: string;
  /** The default as help prints it: Triton's, where the flag is Triton's. */
  readonly default: string;
  readonly repeatable: boolean;
  readonly description: string;
  readonly support: Support;
  /** Reads one value into the settings. @throws UsageError */
  readonly apply: (value: string, settings: Draft<ServerSettings>) => void;
}

export type Support =
  | { readonly kind: 'built' }
  /** Triton has it, Weir not yet: only values that ask for what Weir does anyway are accepted. */
  | { readonly kind: 'not built'; readonly accepted: readonly string[] }
  /** Checked and accepted, and a warning says why it changes nothing. */
  | { readonly kind: 'no effect'; readonly reason: string };

type FlagText = Pick<Flag, 'name' | 'group' | 'argument' | 'default' | 'description'> & { readonly repeatable?: true };

export const built = (text: FlagText & Pick<Flag, 'apply'>): Flag => ({ repeatable: false, ...text, support: { kind: 'built' } });

export const notBuilt = (text: FlagText & { readonly accepted?: readonly string[] }): Flag => ({
  repeatable: false,
  ...text,
  support: { kind: 'not built', accepted: text.accepted ?? [] },
  apply: () => undefined,
});

export const noEffect = (text: FlagText & Pick<Flag, 'apply'> & { readonly reason: string }): Flag => ({
  repeatable: false,
  ...text,
  support: { kind: 'no effect', reason: text.reason },
});
