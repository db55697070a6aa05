import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { CommandCard } from './consolidation'
import type { Marks } from './field'
import { dollars, many, moment, number, shortNames, shortZone } from './format'
import { ask, store } from './store'
import { go, to } from './route'
import type { Detail, Move, NewNode, Replay, Round } from './types'
import { useAsk } from './use'
import { Group } from './waiting'

export function Back({ view, name }: { view: string; name: string }) {
  return <a class="back" href={to(view)} title="Back (Esc)">← {name}</a>
}

export function DecisionView({ id, onMarks }: { id: string; onMarks: (m: Marks | null) => void }) {
  const { value: d, error } = useAsk<Detail>(`api/decision?id=${encodeURIComponent(id)}`)
  const known = store.known !== null // the answer may come before the nodes that it is about
  useEffect(() => {
    if (!d) return
    const goes = d.commands.flatMap((c) => c.goes.map((g) => g.id))
    const takes = [...d.commands.flatMap((c) => c.moves.map((m) => store.rowNamed(m.to)?.id ?? '')), ...d.rounds.flatMap((r) => [...r.nodes.map((n) => n.name), ...r.existing.map((m) => store.rowNamed(m.to)?.id ?? '')])]
    const there = [...goes, ...takes].some((id) => store.row(id))
    onMarks(there ? { goes: new Set(goes), takes: new Set(takes) } : null)
    return () => onMarks(null)
  }, [d, known])
  return (
    <article class="detail">
      <Back view="decisions" name="Decisions" />
      {error ? <p class="problem" role="alert">{error}</p> : null}
      {d ? <Body d={d} replay={d.entry.kind !== 'removal' && store.known?.about.replays ? <ReplayBox id={id} /> : null} /> : error ? null : <p class="empty">Reading the decision…</p>}
    </article>
  )
}

export function PlanView() {
  const { value: d, error, again } = useAsk<Detail>('api/plan')
  return (
    <article class="detail">
      <Back view="waiting" name="Pending" />
      {error ? <p class="problem" role="alert">{error}</p> : null}
      {d ? <Body d={d} replay={<button class="button" onClick={again}>Plan again</button>} /> : error ? null : <p class="empty">Planning…</p>}
    </article>
  )
}

function Body({ d, replay }: { d: Detail; replay: preact.ComponentChildren }) {
  const e = d.entry
  return (
    <>
      <h2>{shortNames(e.title)}</h2>
      <p class="facts">
        {moment(e.at)}{e.trigger ? ` · ${e.trigger}` : ''}{e.price !== 0 ? ` · ${e.price > 0 ? '+' : ''}${dollars(e.price)} per hour` : ''}
      </p>
      {e.kind === 'removal' ? null : <p class="facts small">
        {e.id !== 'now' ? <><code>{e.id}</code> · </> : null}snapshot {d.epoch > 0 ? `${d.epoch}/${d.seq}` : 'listed'}
        {d.machines ? ` · prices ${d.machines}` : ''}{d.build ? ` · build ${d.build}` : ''}
      </p>}
      {e.pools?.length ? <p class="facts">NodePool {e.pools.map((p, i) => <>{i > 0 ? ', ' : ''}<a key={p} href={to('pool', p)}>{p}</a></>)}</p> : null}
      {d.says.map((s) => <p key={s}>{shortNames(s)}</p>)}
      {d.stale.map((s) => <p class="problem" key={s}>{s}</p>)}
      <div class="actions">{replay}</div>
      {d.rounds.map((r, i) => <RoundView key={i} r={r} n={d.rounds.length > 1 ? i + 1 : 0} dry={e.id === 'now'} />)}
      {d.commands.map((c, i) => <CommandCard key={i} c={c} n={i + 1} open={d.commands.length === 1} />)}
      {e.kind === 'disrupt' ? <p class="facts">{many(d.kept, 'node')} stayed.</p> : null}
    </>
  )
}

function RoundView({ r, n, dry }: { r: Round; n: number; dry: boolean }) {
  return (
    <section class="round">
      {n > 0 ? <h3>Plan {n}</h3> : null}
      {r.nodes.length > 0 ? <h3>{many(r.nodes.length, 'new node')}</h3> : null}
      <NewNodes nodes={r.nodes} dry={dry} />
      {r.failed.length > 0 ? <h3>Without capacity</h3> : null}
      <ul class="plainlist">{r.failed.map((f) => <li key={f.name}><b>{f.code}</b>: {f.message} <code>{f.name}</code></li>)}</ul>
      {r.marks.length > 0 ? <p class="facts">Unavailable offerings from then on: {r.marks.join('; ')}</p> : null}
      {r.existing.length > 0 ? <h3>On existing and in-flight nodes</h3> : null}
      <Moves moves={r.existing} />
      {r.unplaced.length > 0 ? <h3>Unschedulable</h3> : null}
      <ul class="cards">{r.unplaced.map((w) => <li key={w.key}><Group w={w} /></li>)}</ul>
    </section>
  )
}

export function Moves({ moves }: { moves: Move[] }) {
  if (moves.length === 0) return null
  return (
    <ul class="moves">
      {moves.map((m) => {
        const row = store.rowNamed(m.to)
        return (
          <li key={m.to}>
            <details>
              <summary data-item><span class="count">{m.pods.length}</span> {m.pods.length === 1 ? 'pod' : 'pods'} to <code>{shortNames(m.to)}</code></summary>
              <p class="names">{m.pods.join(', ')}</p>
              {row ? <button class="plain" onClick={() => go('node', row.id)}>Open the node</button> : null}
            </details>
          </li>
        )
      })}
    </ul>
  )
}

// NewNodes shows nodes that are alike as one card.
export function NewNodes({ nodes, dry }: { nodes: NewNode[]; dry: boolean }) {
  const groups = new Map<string, NewNode[]>()
  for (const node of nodes) {
    const key = [node.pool, node.type, node.zone, node.capacity, node.price, node.launched].join('|')
    groups.set(key, [...(groups.get(key) ?? []), node])
  }
  return <ul class="cards">{[...groups].map(([key, alike]) => <li key={key}><NewNodeCard alike={alike} dry={dry} /></li>)}</ul>
}

function NewNodeCard({ alike, dry }: { alike: NewNode[]; dry: boolean }) {
  const node = alike[0]!
  const types = node.types.slice(0, 24)
  const pods = alike.reduce((sum, n) => sum + n.pods.length, 0)
  return (
    <details class="card node">
      <summary data-item>
        <span class="title">{alike.length > 1 ? `${alike.length} × ` : ''}{node.type} <span class={`cap ${node.capacity}`}>{node.capacity}</span></span>
        <span class="money">{dollars(node.price)}/h{alike.length > 1 ? ' each' : ''}</span>
        <span class="more">{[node.pool, shortZone(node.zone), many(pods, 'pod')].filter(Boolean).join(' · ')}
          {!dry && !node.launched ? <span class="tag warn">not launched</span> : null}
        </span>
      </summary>
      <dl class="pairs">
        <dt>Other types</dt><dd>{node.types.length > 1 ? <>{types.join(', ')}{node.types.length > types.length ? ` and ${node.types.length - types.length} more` : ''}, cheapest first</> : 'nothing else'}</dd>
        <dt>Zones</dt><dd>{node.zones.map(shortZone).join(', ')}</dd>
        <dt>Capacity types</dt><dd>{node.capacities.join(', ')}</dd>
      </dl>
      <ul class="plainlist">
        {alike.slice(0, 40).map((n) => (
          <li key={n.name}>
            {store.row(n.name) ? <a href={to('node', n.name)}>{n.name}</a> : <code>{n.name}</code>} <span class="dim">for {n.requests.join(', ')}</span>
            <p class="names">{n.pods.slice(0, 40).join(', ')}{n.pods.length > 40 ? ` and ${number(n.pods.length - 40)} more` : ''}</p>
          </li>
        ))}
      </ul>
      {alike.length > 40 ? <p class="facts">and {number(alike.length - 40)} more</p> : null}
    </details>
  )
}

function ReplayBox({ id }: { id: string }) {
  const [state, set] = useState<{ busy?: boolean; value?: Replay; error?: string }>({})
  const run = () => {
    set({ busy: true })
    ask<Replay>(`api/replay?id=${encodeURIComponent(id)}`, { method: 'POST' }).then(
      (value) => set({ value }),
      (error: unknown) => set({ error: error instanceof Error ? error.message : String(error) }),
    )
  }
  useLayoutEffect(() => {
    const key = (e: KeyboardEvent) => {
      if (e.key === 'r' && !(e.target instanceof HTMLInputElement) && !e.ctrlKey && !e.metaKey) run()
    }
    addEventListener('keydown', key)
    return () => removeEventListener('keydown', key)
  }, [id])
  return (
    <div class="replay">
      <button class="button" onClick={run} disabled={state.busy} title="Replay it from the same input (r)">{state.busy ? 'Replaying…' : 'Replay'}</button>
      <p role="status" aria-live="polite">
        {state.error ? <span class="bad">{state.error}</span> : null}
        {state.value ? <Verdict r={state.value} /> : null}
      </p>
      {state.value && state.value.differences.length > 0 ? <ul class="plainlist diff">{state.value.differences.map((line) => <li key={line}>{line}</li>)}</ul> : null}
    </div>
  )
}

function Verdict({ r }: { r: Replay }) {
  if (r.identical) return <span class="good">Identical: the same input gives the same plan, byte for byte.</span>
  return <span class="warn">{r.recorded === r.build ? 'The plan differs.' : `This build (${r.build || 'unknown'}) decides differently from that one (${r.recorded || 'unknown'}).`}</span>
}
