// What the server sends: see feed.go, row.go, pending.go, decision.go, dryrun.go and node.go. Money is micro-dollars per hour,
// CPU milli-CPU, memory MiB, times Unix seconds.

export type NodeState = 'launching' | 'joining' | 'ready' | 'unready' | 'tainted' | 'draining'

export interface Row {
  id: string
  n: string
  p: string
  z: string
  t: string
  c: string
  s: NodeState
  u: number
  uh: number
  m: number
  mh: number
  k: number
  d: number
  b: number
  w?: string
}

export interface Totals {
  nodes: Partial<Record<NodeState, number>>
  others: number
  bound: number
  waiting: number
  cpu: number
  cpuHas: number
  memory: number
  memoryHas: number
  price: number
  unpriced: number
}

export interface PoolReason { pools: string[]; code: string; message: string; remedy?: string }

export interface Waiting {
  key: string
  workload: string
  how: 'unplaced' | 'new' | 'node' | 'next' | 'other'
  pods: number
  names: string[]
  since: number
  why: string
  remedy?: string
  code?: string
  reasons: PoolReason[]
  cpu: number
  memory: number
}

export interface Entry {
  id: string
  kind: 'provision' | 'disrupt' | 'removal'
  at: number
  title: string
  trigger?: string
  pods: number
  nodes: number
  failed: number
  left: number
  price: number
  pools?: string[]
  by?: string
}

export interface Point { t: number; d: number }

export interface About {
  cluster: string
  from: string
  live: boolean
  at: number
  heartbeat: number
  span: number
  replays: boolean
  stopped: string[]
  warnings: string[]
  problem?: string
}

export interface State {
  v: number
  about: About
  totals: Totals
  nodes: Row[]
  waiting: Waiting[]
  entries: Entry[]
  prices: Point[]
}

export interface Delta {
  v: number
  about?: About
  totals?: Totals
  nodes?: Row[]
  gone?: string[]
  waiting?: Waiting[]
  entries?: Entry[]
  prices?: Point[]
  curve?: Point[]
}

export interface Move { to: string; pods: string[] }

export interface NewNode {
  name: string
  pool: string
  type: string
  zone: string
  capacity: string
  price: number
  launched: boolean
  types: string[]
  zones: string[]
  capacities: string[]
  requests: string[]
  pods: string[]
}

export interface Command {
  reason: string
  goes: { id: string; name: string; pool: string; type: string; zone: string; capacity: string; price: number; pods: number }[]
  comes: NewNode[]
  moves: Move[]
  pods: number
  savings: number
}

export interface KeptNode { id: string; name: string; reasons: { code: string; message: string }[] }

export interface DryRun {
  at: number
  before: number
  after: number
  pods: number
  again?: number
  commands: Command[]
  kept: { code: string; nodes: KeptNode[] }[]
  stopped: string[]
}

export interface Saving { at: number; before: number; after: number; nodes: number }

export interface Pool {
  name: string
  class: string
  weight: number
  replicas: number | null
  nodes: number
  price: number
  policy: string
  consolidateAfter: string
  expireAfter: string
  requirements: string[]
  taints: string[]
  limits: { resource: string; used: string; limit: string; share: number }[]
  budgets: string[]
  allowed: { reasons: string[]; most: number; busy: number; of: number; until?: number; problem?: string }[]
  conditions: { type: string; met: boolean; message: string }[]
}

export interface Round {
  nodes: NewNode[]
  existing: Move[]
  unplaced: Waiting[]
  failed: { name: string; code: string; message: string }[]
  marks: string[]
}

export interface Detail {
  entry: Entry
  epoch: number
  seq: number
  build: string
  machines: string
  stale: string[]
  rounds: Round[]
  commands: Command[]
  kept: number
  says: string[]
}

export interface Replay {
  identical: boolean
  recorded: string
  build: string
  differences: string[]
}

export interface PodWhy { line: string; code: string; events: { at: number; text: string; decision?: string }[] }

export interface Launch {
  decision: string
  at: number
  trigger: string
  for: string
  plannedPrice: number
  zones?: string[]
  capacityTypes?: string[]
  acceptableTypes: number
  alternatives?: { instanceType: string; zone?: string; capacityType?: string; pricePerHour?: number; chosen?: boolean }[]
  refused?: { offer: string; reason: string }[]
  rounds: number
}

export interface NodeDetail {
  row: Row
  why: string
  birth: Launch | null
  claim: string
  claimState: string
  instance: string
  image: string
  decision: string
  command: string
  drift: string
  taints: string[]
  conditions: string[]
  times: { what: string; at: number }[]
  stays: { code: string; message: string }[]
  pods: { name: string; owner: string; cpu: number; memory: number; daemon: boolean }[]
}
