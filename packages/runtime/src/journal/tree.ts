import type { RuntimeEvent } from "../protocol/event-record.ts";

/** An event with its parent and its children. */
export interface EventNode {
  readonly event: RuntimeEvent;
  /** The event that ended it, if there is one. */
  end?: RuntimeEvent;
  readonly children: EventNode[];
}

const ENDINGS = new Set(["completed", "failed", "cancelled", "dead_lettered"]);

/** The tree task → agent → turn → tool_call, rebuilt from `parent_id` alone (spec 1, Events). */
export function buildTree(events: Iterable<RuntimeEvent>): EventNode[] {
  const roots: EventNode[] = [];
  const nodes = new Map<string, EventNode>();
  for (const event of events) {
    const parent = event.parent_id === null ? undefined : nodes.get(event.parent_id);
    if (parent !== undefined && isEndOf(event, parent.event)) {
      parent.end = event;
      continue;
    }
    const node: EventNode = { event, children: [] };
    nodes.set(event.event_id, node);
    (parent?.children ?? roots).push(node);
  }
  return roots;
}

/** `turn.completed` ends `turn.started`; a call refused before it started ends nothing and is a separate node. */
function isEndOf(event: RuntimeEvent, start: RuntimeEvent): boolean {
  const [what, happened = ""] = event.type.split(".");
  return what === start.type.split(".")[0] && ENDINGS.has(happened);
}
