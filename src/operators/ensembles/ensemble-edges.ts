import type { GraphEdge } from '../../streams/inference/model-graph.ts';
import { stageName } from './ensemble.ts';
import type { EnsembleGraph } from './ensemble-graph.ts';

/** Who hands which tensor to whom in an ensemble. `entry` is the stage that its inputs come from. */
export const ensembleEdges = (graph: EnsembleGraph, entry: string): readonly GraphEdge[] => {
  const writers = graph.wires.map(() => entry);
  for (const step of graph.steps) for (const { wire } of step.outputs) writers[wire] = stageName(step);
  const edge = (wire: number, to: string): GraphEdge => ({
    from: writers[wire] ?? entry,
    to,
    tensor: graph.wires[wire]?.name ?? '',
  });
  const steps = graph.steps.toSorted((a, b) => a.index - b.index);
  return [
    ...(entry === 'request' ? [] : [{ from: 'request', to: entry }]),
    ...steps.flatMap((step) => step.inputs.map(({ wire }) => edge(wire, stageName(step)))),
    ...graph.outputs.map(({ wire }) => edge(wire, 'response')),
  ];
};
